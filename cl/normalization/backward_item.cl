/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradient of a softmax, its logarithm or a norm of rows
 *               (normalization/backward.clh), by single items with explicit
 *               vectors: for devices whose cores run one work-group at a time
 *               and whose local memory is ordinary memory.
 *
 *   MODE 4  rows_backward_rows: `each` rows a group, which stay in the core's
 *           cache between sweeps.
 *   MODE 5  rows_backward_long: a row a group, in two sweeps.
 *   MODE 6  rows_backward_sum, rows_backward_put: the two sweeps in two
 *           launches, each over chunks, for few long rows.
 *           In MODE 5 and 6 the center is the mean of the first SPAN elements
 *           of a row or chunk.
 * Arguments:    as of normalization/backward.cl; MODE 4: each.
 * Launch:       1-D, local 1. Groups: MODE 4 ceil(rows / each); MODE 5 rows;
 *               MODE 6 rows n_chunks.
 * Local memory: none.
 * -D:           VW 1 2 4 8 16; VA VT DT OT MT MU NORM LOG KEEP RMS GT GA;
 *               STREAM 1: results are stored past the caches, where rows are
 *               aligned.
 * Needs:        nothing.
 * Cost:         4 rows cols flop, of a norm 14; two reads, one write; MODE 5, 6
 *               two reads more.
 * Source:       the derivative; Chan, Golub, LeVeque 1983 for the variance;
 *               Kahan 1965 for the sums. */
#include "common/types.clh"
#include "normalization/backward.clh"
#include "normalization/row_items.clh"

#ifndef MODE
#define MODE 4
#endif

/* The mean of the first n elements, near enough. */
static inline float center_of(const struct row r, const uint n)
{
#if !NORM || RMS
    return 0.0f;
#else
    const float one = LOAD(DT, r.src, 0);
    FV run = (FV)(0.0f);
    for (uint j = 0; j < n; j += VW)
        run += inside(r, j, x_of(r, j) - one);
    return one + SUM_OF(run) / (float)n;
#endif
}

static inline struct sums sum_row(const struct row r, const gain_row gain,
                                  const float center)
{
    struct sum all[TERMS];
    struct sums s;
    for (uint t = 0; t < TERMS; t++)
        all[t] = (struct sum){(FV)(0.0f), (FV)(0.0f)};
    for (uint first = 0; first < r.n; first += SPAN) {
        struct terms run;
        for (uint t = 0; t < TERMS; t++)
            run.of[t] = (FV)(0.0f);
        for (uint j = first; j < min(first + SPAN, r.n); j += VW) {
            FETCH_AHEAD(r, j);
            add_terms(&run, r, j, x_of(r, j), G_OF(r, gain, j), center);
        }
        for (uint t = 0; t < TERMS; t++)
            add(&all[t], run.of[t]);
    }
    s.center = center;
    for (uint t = 0; t < TERMS; t++)
        s.of[t] = SUM_OF(all[t].sum);
    return s;
}

static inline void put_row(const struct row r, const gain_row gain,
                           const struct whole w)
{
    for (uint j = 0; j < r.n; j += VW) {
        FETCH_AHEAD(r, j);
        put_out(r, j, gradient_of(r, w, x_of(r, j), G_OF(r, gain, j)));
    }
}

#if MODE == 4
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows_backward_rows(BACKWARD_PARAMS, const ulong each)
{
    const ulong begin = xl_group_id(0) * each, end = min(begin + each, rows);
    for (ulong i = begin; i < end; i++) {
        const struct row r = ROW(i);
        const struct whole w = WHOLE(sum_row(r, GAIN(r), center_of(r, r.n)));
        KEEP_ROW(kept, i, w);
        put_row(r, GAIN(r), w);
    }
}

#elif MODE == 5
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows_backward_long(BACKWARD_PARAMS)
{
    const struct row r = ROW(xl_group_id(0));
    const struct whole w =
        WHOLE(sum_row(r, GAIN(r), center_of(r, min(r.n, (uint)SPAN))));
    KEEP_ROW(kept, r.i, w);
    put_row(r, GAIN(r), w);
}

#elif MODE == 6
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows_backward_sum(BACKWARD_PARAMS, __global float *sums,
                       const uint n_chunks, const uint chunk)
{
    const ulong at = xl_group_id(0), i = at / n_chunks;
    const struct row r = CHUNK(i, at - i * n_chunks);
    put_words(sums, at,
              sum_row(r, GAIN(r), center_of(r, min(r.n, (uint)SPAN))));
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows_backward_put(BACKWARD_PARAMS, __global const float *sums,
                       const uint n_chunks, const uint chunk)
{
    const ulong at = xl_group_id(0), i = at / n_chunks;
    struct sums all;
    all.center = CENTER_OF_WORDS(sums, i * n_chunks);
    for (uint t = 0; t < TERMS; t++)
        all.of[t] = 0.0f;
    for (uint c = 0; c < n_chunks; c++)
        add_words(&all, sums, i * n_chunks + c, CHUNK_ELEMS(c));
    const struct whole w = WHOLE(all);
    const struct row r = CHUNK(i, at - i * n_chunks);
    if (r.first == 0)
        KEEP_ROW(kept + rows * n_chunks * WORDS, i, w);
    put_row(r, GAIN(r), w);
}
#endif
