/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradients of attention as in crosslane/attention.h, a row
 *               by one item.
 *                 STEP 1  grad_q of a query, over its keys
 *                 STEP 2  grad_k of a key, over the heads that read it and
 *                         their queries
 *                 STEP 3  grad_v, likewise
 * Arguments:    BACKWARD_PARAMS (attention/backward.clh), any strides; rows =
 *               n_batch n_heads n_q, or n_batch n_kv_heads n_kv.
 * Launch:       global >= rows in one dimension, any local size.
 * Local memory: none.
 * -D:           STEP; DT D CAP MT SLOPES (attention/attention.clh).
 * Needs:        nothing.
 * Cost:         6 D, 6 D and 4 D flop for each key that a row sees.
 * Source:       the definition. */
#include "attention/backward.clh"
#include "attention/columns.clh"

#ifndef STEP
#define STEP 1
#endif

/* Row i of head h of sequence b. */
#define START(x, b, h, i) x + ROW_AT(at.x, b, h, i)
#define GRAD(x, b, h, i) grad_##x + ROW_AT(grad.x, b, h, i)

/* The weight of query i of head h for key j of head g. */
#define WEIGHT(r, j)                                                          \
    weight_of(r,                                                              \
              product(START(q, b, h, i), at.q.col, START(k, b, g, j),         \
                      at.k.col),                                              \
              j, lse[ROW_AT(at.lse, b, h, i)])
/* grad_o of query i by a row of another operand. */
#define BY_GRAD_O(x, head, line)                                              \
    product(GRAD(o, b, h, i), grad.o.col, START(x, b, head, line), at.x.col)

#define CLEAR(c) sums[c] = 0.0f;
#define ADD(c) sums[c] += w * LOAD(DT, from, (c) * step);
#define PUT(c) STORE(DT, to, (c) * step, sums[c] * factor);

#if STEP == 1
__kernel void attention_backward_ref_q(BACKWARD_PARAMS, const ulong rows)
{
    const ulong row = get_global_id(0);
    if (row >= rows)
        return;
    const ulong i = row % n.n_q, b = row / n.n_q / n.n_heads;
    const ulong h = row / n.n_q % n.n_heads, g = h / n.share;
    const struct row r = ROW(b, h, i);
    const float delta = BY_GRAD_O(o, h, i), factor = scale;
    ulong step = at.k.col;
    float sums[D];
    FOR_COLUMNS(CLEAR)
    for (ulong j = r.first; j < r.last; j++) {
        __global const ELEM(DT) *from = START(k, b, g, j);
        const float w = grad_of(WEIGHT(r, j), BY_GRAD_O(v, g, j), delta);
        FOR_COLUMNS(ADD)
    }
    __global ELEM(DT) *to = GRAD(q, b, h, i);
    step = grad.q.col;
    FOR_COLUMNS(PUT)
}
#else
#if STEP == 2
#define KERNEL attention_backward_ref_k
#else
#define KERNEL attention_backward_ref_v
#endif
__kernel void KERNEL(BACKWARD_PARAMS, const ulong rows)
{
    const ulong row = get_global_id(0);
    if (row >= rows)
        return;
    const ulong n_kv_heads = n.n_heads / n.share;
    const ulong j = row % n.n_kv, b = row / n.n_kv / n_kv_heads;
    const ulong g = row / n.n_kv % n_kv_heads;
    const struct keys seen = queries_of(n, j, j);
    float sums[D];
    FOR_COLUMNS(CLEAR)
    for (ulong h = g * n.share; h < (g + 1) * n.share; h++)
        for (ulong i = seen.first; i < seen.last; i++) {
            const struct row r = ROW(b, h, i);
#if STEP == 2
            __global const ELEM(DT) *from = START(q, b, h, i);
            const ulong step = at.q.col;
            const float w = grad_of(WEIGHT(r, j), BY_GRAD_O(v, g, j),
                                    BY_GRAD_O(o, h, i));
#else
            __global const ELEM(DT) *from = GRAD(o, b, h, i);
            const ulong step = grad.o.col;
            const float w = WEIGHT(r, j).p;
#endif
            FOR_COLUMNS(ADD)
        }
#if STEP == 2
    __global ELEM(DT) *to = GRAD(k, b, g, j);
    const ulong step = grad.k.col;
    const float factor = scale;
#else
    __global ELEM(DT) *to = GRAD(v, b, g, j);
    const ulong step = grad.v.col;
    const float factor = 1.0f;
#endif
    FOR_COLUMNS(PUT)
}
#endif
