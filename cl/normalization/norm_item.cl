/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a norm of rows (normalization/norm_reference.cl), by single
 *               items with explicit vectors: for devices whose cores run one
 *               work-group at a time and whose local memory is ordinary memory.
 *
 *   MODE 4  norm_item_rows: `each` rows a group. A private copy, which stays
 *           in the core's cache, has a row's values x; while the results are
 *           written, the next row is read in their place.
 *   MODE 5  norm_item_long: HELD rows a group, in two sweeps, the second one
 *           over all of them side by side.
 *   MODE 6  norm_item_sum, norm_item_norm: the two sweeps in two launches,
 *           each over chunks, for few long rows.
 *           In MODE 5 and 6 the center is the mean of the first SPAN elements
 *           of a row or chunk.
 * Arguments:    NORM_PARAMS: src of DT, dst of OT, rows x cols, contiguous
 *               columns; residual of MT, sum of ST likewise; gain of GT, bias
 *               of BT: cols. MODE 4: each. MODE 6: sums, 3 words a chunk;
 *               n_chunks of a row; chunk, its elements.
 * Launch:       1-D, local 1. Groups: MODE 4 ceil(rows / each); MODE 5
 *               ceil(rows / HELD); MODE 6 rows n_chunks.
 * Local memory: none.
 * -D:           VW 1 2 4 8 16; VA VT DT OT MT MU RMS GT BT GA ST; ROW_MAX: most
 *               columns of MODE 4, a multiple of VW; HELD: rows of MODE 5
 *               whose vectors an item holds; STREAM 1: results are
 *               stored past the caches, where rows are aligned.
 * Needs:        nothing.
 * Cost:         8 rows cols flop; one read, one write; MODE 5, 6 two reads.
 * Source:       Chan, Golub, LeVeque 1983: two passes, corrected; Kahan 1965. */
#include "common/types.clh"
#include "normalization/norm.clh"
#include "normalization/row_items.clh"

#ifndef MODE
#define MODE 4
#endif
#ifndef HELD
#define HELD 1
#endif

/* Sums of distances from the center. */
struct sums {
    struct sum one, square;
};

static inline struct stats stats_of(const struct sums *s, const float center)
{
    return (struct stats){center, SUM_OF(s->one.sum), SUM_OF(s->square.sum)};
}

static inline void write(const struct row r, const struct beside b,
                         const uint j, const FV x, const struct scaling s,
                         const struct columns c)
{
    put_sum(r, b, j, x);
    put_out(r, j, result_of(x - s.center, s, c));
}

#if MODE == 4
static inline float center_of(const struct row r, const FV *held)
{
#if RMS
    return 0.0f;
#else
    const float one = get_1(r, 0);
    FV run = (FV)(0.0f);
    for (uint j = 0; j < r.n; j += VW)
        run += inside(r, j, held[j / VW] - one);
    return one + SUM_OF(run) / (float)r.n;
#endif
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_item_rows(NORM_PARAMS, const ulong each)
{
    FV held[ROW_MAX / VW];
    const ulong begin = xl_group_id(0) * each, end = min(begin + each, rows);
    struct row r = ROW(begin);
    for (uint j = 0; j < r.n; j += VW)
        held[j / VW] = get(r, j);
    for (ulong i = begin; i < end; i++) {
        const struct row next = ROW(min(i + 1, end - 1));
        const struct beside b = BESIDE(r);
        const float center = center_of(r, held);
        struct sums s = {{(FV)(0.0f), (FV)(0.0f)}, {(FV)(0.0f), (FV)(0.0f)}};
        for (uint first = 0; first < r.n; first += SPAN) {
            FV run = (FV)(0.0f), squares = (FV)(0.0f);
            for (uint j = first; j < min(first + SPAN, r.n); j += VW) {
                const FV d = inside(r, j, held[j / VW] - center);
                run += d;
                squares += d * d;
                XL_AHEAD(next.src + j);
            }
            add(&s.one, run);
            add(&s.square, squares);
        }
        const struct scaling scale_of_row =
            scaling_of(stats_of(&s, center), r.n, eps);
        for (uint j = 0; j < r.n; j += VW) {
            const FV x = held[j / VW];
            held[j / VW] = get(next, j);
            write(r, b, j, x, scale_of_row, columns_of(b, j, r.n));
        }
        r = next;
    }
}

#else /* MODE 5, 6 */

static inline float center_of(const struct row r)
{
#if RMS
    return 0.0f;
#else
    const float one = get_1(r, 0);
    const uint n = min(r.n, (uint)SPAN);
    FV run = (FV)(0.0f);
    for (uint j = 0; j < n; j += VW)
        run += inside(r, j, get(r, j) - one);
    return one + SUM_OF(run) / (float)n;
#endif
}

static inline struct stats sum_row(const struct row r)
{
    const float center = center_of(r);
    struct sums s = {{(FV)(0.0f), (FV)(0.0f)}, {(FV)(0.0f), (FV)(0.0f)}};
    for (uint first = 0; first < r.n; first += SPAN) {
        FV run = (FV)(0.0f), squares = (FV)(0.0f);
        for (uint j = first; j < min(first + SPAN, r.n); j += VW) {
            FETCH_AHEAD(r, j);
            const FV d = inside(r, j, get(r, j) - center);
            run += d;
            squares += d * d;
        }
        add(&s.one, run);
        add(&s.square, squares);
    }
    return stats_of(&s, center);
}

/* The second sweep over `n` rows side by side, n a constant: the scale and bias
 * of a column are read once for all of them. */
static inline void norm_rows(const struct row *r, const struct beside *b,
                             const struct scaling *s, const uint n)
{
    for (uint j = 0; j < r->n; j += VW) {
        const struct columns c = columns_of(*b, j, r->n);
#pragma unroll
        for (uint k = 0; k < n; k++) {
            FETCH_AHEAD(r[k], j);
            write(r[k], b[k], j, get(r[k], j), s[k], c);
        }
    }
}
#endif

#if MODE == 5
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_item_long(NORM_PARAMS)
{
    struct row r[HELD];
    struct beside b[HELD];
    struct scaling s[HELD];
    const ulong first = xl_group_id(0) * HELD;
    const uint n = (uint)min((ulong)HELD, rows - first);
#pragma unroll
    for (uint k = 0; k < HELD; k++) {
        r[k] = (struct row)ROW(min(first + k, rows - 1));
        b[k] = (struct beside)BESIDE(r[k]);
    }
    for (uint k = 0; k < n; k++)
        s[k] = scaling_of(sum_row(r[k]), r[k].n, eps);
    if (n == HELD) {
        norm_rows(r, b, s, HELD);
        return;
    }
    for (uint k = 0; k < n; k++)
        norm_rows(r + k, b + k, s + k, 1);
}
#endif

#if MODE == 6
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_item_sum(NORM_PARAMS, __global float *sums, const uint n_chunks,
                   const uint chunk)
{
    const ulong g = xl_group_id(0), i = g / n_chunks;
    const struct stats s = sum_row(CHUNK(i, g - i * n_chunks));
    vstore3((float3)(s.center, s.sum, s.squares), g, sums);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_item_norm(NORM_PARAMS, __global const float *sums,
                    const uint n_chunks, const uint chunk)
{
    const ulong g = xl_group_id(0), i = g / n_chunks, base = i * n_chunks;
    struct stats whole = {sums[3 * base], 0.0f, 0.0f};
    for (uint c = 0; c < n_chunks; c++) {
        const struct stats s =
            chunk_stats(sums, base, c, whole.center, CHUNK_ELEMS(c));
        whole.sum += s.sum;
        whole.squares += s.squares;
    }
    const struct row r = CHUNK(i, g - base);
    const struct beside b = BESIDE(r);
    const struct scaling scale_of_row = scaling_of(whole, cols, eps);
    norm_rows(&r, &b, &scale_of_row, 1);
}
#endif
