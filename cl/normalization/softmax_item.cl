/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a softmax over rows (normalization/softmax_reference.cl), by single items with
 *               explicit vectors: for devices whose cores run one work-group
 *               at a time and whose local memory is ordinary memory.
 *
 *   MODE 4  softmax_item_rows: `each` rows a group. A private copy, which
 *           stays in the core's cache, has a row's values x, then their exp
 *           (with LOG still x); while the results are written, the next row is
 *           read in their place, and its maximum found.
 *   MODE 5  softmax_item_long: a row a group, in two sweeps: running shift and
 *           sum, then exp again.
 *   MODE 6  softmax_item_sum, softmax_item_norm: the two sweeps in two
 *           launches, each over chunks, for few long rows.
 * Arguments:    ROW_PARAMS: src of DT, dst of OT, rows x cols, contiguous
 *               columns; mask of MT. MODE 4: each. MODE 6: sums, 2 words a chunk;
 *               n_chunks of a row; chunk, its elements.
 * Launch:       1-D, local 1. Groups: MODE 4 ceil(rows / each); MODE 5 rows;
 *               MODE 6 rows n_chunks.
 * Local memory: none.
 * -D:           VW 1 2 4 8 16; VA VT DT OT MT MU LOG; ROW_MAX: most columns of
 *               MODE 4, a multiple of VW; STREAM 1: results are stored past the
 *               caches, where rows are aligned and there is no epilogue.
 * Needs:        nothing.
 * Cost:         5 rows cols flop; one read, one write; MODE 5, 6 two reads.
 * Source:       Milakov, Gimelshein 2018, arXiv:1805.02867; Kahan 1965. */
#include "common/exp.clh"
#include "common/types.clh"
#include "normalization/softmax.clh"
#include "normalization/row_items.clh"

#ifndef MODE
#define MODE 4
#endif
/* exp_below(x, shift, c) is c e^(x - shift), rescale(from, to) e^(from - to).
 * With XL_HAS_TIMES_EXP2 products of shifts with log2(e) are rounded, which
 * cancels out in a quotient, but not in the logarithm of a sum. */
#if XL_HAS_TIMES_EXP2 && VW == 16 && !LOG
/* Beyond, a product with log2(e) is off by more than 1. There x - shift is
 * exact where its exp counts. */
#define FAR 0x1p24f
#define TIMES_LOG2_E(T, x, shift)                                             \
    (fabs(shift) < FAR                                                        \
         ? fma(x, (T)(XL_LOG2_E), (T)(-(XL_LOG2_E * (shift))))                \
         : ((x) - (shift)) * (T)(XL_LOG2_E))
static inline FV exp_below(const FV x, const float shift, const float c)
{
    return xl_times_exp2_16(TIMES_LOG2_E(FV, x, shift), c);
}
static inline float rescale(const float from, const float to)
{
    return from == -INFINITY ? 0.0f
                             : exp2(TIMES_LOG2_E(float, from, to) -
                                    TIMES_LOG2_E(float, from, from));
}
#else
static inline FV exp_below(const FV x, const float shift, const float c)
{
    return XL_CAT(xl_small_exp_, VW)(x - shift) * c;
}
static inline float rescale(const float from, const float to)
{
    return xl_small_exp_1(from - to);
}
#endif

/* As max, where the first is never NaN; one instruction on most. */
static inline FV larger(const FV top, const FV x)
{
    return x > top ? x : top;
}

#if MODE == 4
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_item_rows(ROW_PARAMS, const ulong each)
{
    FV held[ROW_MAX / VW];
    const ulong begin = xl_group_id(0) * each, end = min(begin + each, rows);
    struct row r = ROW(begin);
    FV top = (FV)(-INFINITY);
    for (uint j = 0; j < r.n; j += VW) {
        held[j / VW] = get(r, j XL_PROLOGUE_ARGS);
        top = larger(top, held[j / VW]);
    }
    for (ulong i = begin; i < end; i++) {
        const struct row next = ROW(min(i + 1, end - 1));
        const float shift = shift_of(MAX_OF(top));
        struct sum s = {(FV)(0.0f), (FV)(0.0f)};
        for (uint first = 0; first < r.n; first += SPAN) {
            FV run = (FV)(0.0f);
            for (uint j = first; j < min(first + SPAN, r.n); j += VW) {
                const FV e = exp_below(held[j / VW], shift, 1.0f);
                held[j / VW] = kept_of(held[j / VW], e);
                run += e;
                XL_AHEAD(next.src + j);
            }
            add(&s, run);
        }
        const float share = share_of(SUM_OF(s.sum));
        top = (FV)(-INFINITY);
        for (uint j = 0; j < r.n; j += VW) {
            const FV kept = held[j / VW], x = get(next, j XL_PROLOGUE_ARGS);
            held[j / VW] = x;
            top = larger(top, x);
            put_out(r, j, result_of(kept, shift, share) XL_EPILOGUE_ARGS);
        }
        r = next;
    }
}

#else /* MODE 5, 6 */

/* A shift and the sum of exp under it. */
struct pair {
    float shift, sum;
};

/* The sum of exp(x - shift) of up to SPAN values from `first` on, and their
 * largest value; wrong where that exceeds the shift by more than SLACK. */
static inline FV sum_span(const struct row r, const uint first,
                          const float shift, FV *top XL_PROLOGUE_PARAMS)
{
    const uint end = min(first + SPAN, r.n);
    FV run = (FV)(0.0f);
    *top = (FV)(-INFINITY);
    for (uint j = first; j < end; j += VW) {
        FETCH_AHEAD(r, j);
        const FV x = get(r, j XL_PROLOGUE_ARGS);
        *top = larger(*top, x);
        run += exp_below(x, shift, 1.0f);
    }
    return run;
}

/* The shift is rarely raised: a span is summed under the one so far, and once
 * more where it was too low. */
static inline struct pair sum_row(const struct row r XL_PROLOGUE_PARAMS)
{
    float shift = -INFINITY;
    struct sum s = {(FV)(0.0f), (FV)(0.0f)};
    for (uint first = 0; first < r.n; first += SPAN) {
        FV tops;
        FV run = sum_span(r, first, shift_of(shift), &tops XL_PROLOGUE_ARGS);
        const float top = MAX_OF(tops);
        if (top > shift + SLACK) {
            const float factor = rescale(shift, shift_of(top));
            s.sum *= factor;
            s.lost *= factor;
            shift = top;
            run = sum_span(r, first, shift_of(shift), &tops XL_PROLOGUE_ARGS);
        }
        add(&s, run);
    }
    return (struct pair){shift, SUM_OF(s.sum)};
}

static inline void norm_row(const struct row r,
                            const struct pair p HOOK_PARAMS)
{
    /* A NaN reaches every result by x too: AVX-512's NaN 2^-inf is 0 (CP-33). */
    const float shift = isnan(p.sum) ? NAN : shift_of(p.shift);
    const float share = share_of(p.sum);
    for (uint j = 0; j < r.n; j += VW) {
        FETCH_AHEAD(r, j);
        const FV x = get(r, j XL_PROLOGUE_ARGS);
        const FV y = LOG ? result_of(x, shift, share)
                         : exp_below(x, shift, share);
        put_out(r, j, y XL_EPILOGUE_ARGS);
    }
}
#endif

#if MODE == 5
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_item_long(ROW_PARAMS)
{
    const struct row r = ROW(xl_group_id(0));
    norm_row(r, sum_row(r XL_PROLOGUE_ARGS) HOOK_ARGS);
}
#endif

#if MODE == 6
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_item_sum(ROW_PARAMS, __global float *sums, const uint n_chunks,
                      const uint chunk)
{
    const ulong g = xl_group_id(0), i = g / n_chunks, c = g - i * n_chunks;
    const struct pair p = sum_row(CHUNK(i, c) XL_PROLOGUE_ARGS);
    vstore2((float2)(p.shift, p.sum), g, sums);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_item_norm(ROW_PARAMS, __global const float *sums,
                       const uint n_chunks, const uint chunk)
{
    const ulong g = xl_group_id(0), i = g / n_chunks, base = i * n_chunks;
    struct pair p = {-INFINITY, 0.0f};
    for (uint c = 0; c < n_chunks; c++)
        p.shift = fmax(p.shift, sums[2 * (base + c)]);
    for (uint c = 0; c < n_chunks; c++) {
        const float2 q = vload2(base + c, sums);
        p.sum += q.y * rescale(q.x, shift_of(p.shift));
    }
    norm_row(CHUNK(i, g - base), p HOOK_ARGS);
}
#endif
