/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h, a row by one item: a
 *               sweep over its keys for the largest score, one for weights and
 *               sums.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), any strides; rows =
 *               n_batch n_heads n_q.
 * Launch:       global >= rows in one dimension, any local size.
 * Local memory: none.
 * -D:           those of attention/attention.clh.
 * Needs:        nothing.
 * Cost:         6 D flop for each key that a row sees.
 * Source:       the definition. */
#include "attention/attention.clh"
#include "attention/columns.clh"

#define SCORE(j)                                                              \
    score(r,                                                                  \
          K_SCALED(product(q, at.q.col, k + KEY_AT(at.k, b, j), at.k.col), b, \
                   g, j),                                                     \
          j XL_PROLOGUE_ARGS)
#define CLEAR(c) sums[c] = 0.0f;
#define ADD(c) sums[c] += value * LOAD(KT, v, v_at + (c) * at.v.col);
#define PUT(c) STORE(OT, o, (c) * at.o.col, sums[c] * share);

__kernel void attention_ref(ATTENTION_PARAMS, const ulong rows)
{
    COPY_SIZES
    const ulong row = get_global_id(0);
    if (row >= rows)
        return;
    const ulong i = row % n.n_q, b = row / n.n_q / n.n_heads;
    const ulong h = row / n.n_q % n.n_heads, g = h / n.share;
    SEQUENCE(b);
    if (i >= n.n_q)
        return;
    const struct row r = ROW(b, h, i);
    q += ROW_AT(at.q, b, h, i);
    k += KEYS_AT(at.k, b, g);
    v += KEYS_AT(at.v, b, g);
    o += ROW_AT(at.o, b, h, i);
    float top = SINK(b, h), sums[D];
    FOR_COLUMNS(CLEAR)
    for (ulong j = r.first; j < r.last; j++)
        top = fmax(top, SCORE(j));
    const float shift = shift_of(top);
    float sum = exp(SINK(b, h) - shift);
    for (ulong j = r.first; j < r.last; j++) {
        const float weight = exp(SCORE(j) - shift);
        const float value = V_SCALED(weight, b, g, j);
        const ulong v_at = KEY_AT(at.v, b, j);
        sum += weight;
        FOR_COLUMNS(ADD)
    }
    const float share = share_of(sum);
    FOR_COLUMNS(PUT)
    STORE_LSE(b, h, i, shift, sum);
}
