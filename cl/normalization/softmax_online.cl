/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a softmax over rows (normalization/softmax_reference.cl), by work-groups.
 *
 *   MODE 1  softmax_online_held: LANES items hold a row in registers, WG/LANES
 *           rows a group; one read and one write.
 *   MODE 2  softmax_online_shared: n_chunks groups hold a row, SPAN = WG HELD
 *           VW elements each; one read and one write. Each publishes its sum
 *           and collects the others'. One that is still absent after a while
 *           is computed by the item that needs it: no item waits for a group that may
 *           never run beside it, so no order of groups is relied on. The words
 *           in `sums` are written by atomics, each with the one value it can
 *           have, so no fence is relied on either (GE-25). softmax_online_clear sets them before.
 *   MODE 3  softmax_online_sum, then softmax_online_norm: chunks of any size
 *           in two launches; two reads and one write.
 *
 *           An item keeps a running shift and the sum of exp under it, and
 *           rescales the sum when the shift moves; pairs merge likewise.
 * Arguments:    ROW_PARAMS: src of DT, dst of OT, rows x cols, contiguous
 *               columns, rows aligned to VW elements if VA; mask of MT. MODE 2, 3:
 *               sums, 2 words a chunk; n_chunks of a row; chunk, its elements
 *               (MODE 2: SPAN).
 * Launch:       1-D, local WG. Groups: MODE 1 ceil(rows LANES / WG); MODE 2, 3
 *               rows n_chunks.
 * Local memory: 8 ROOM (common/reduce.clh), 4 more in MODE 2.
 * -D:           WG power of two; LANES power of two <= WG (MODE 2, 3: WG);
 *               HELD 1..32 vectors an item; VW 1 2 4 8; VA VT DT OT MT MU LOG.
 * Needs:        32-bit global atomics (OpenCL C 1.1) in MODE 2.
 * Cost:         5 rows cols flop; bytes: one read, one write; MODE 3 a second
 *               read.
 * Source:       Milakov, Gimelshein 2018, arXiv:1805.02867. */
#include "common/types.clh"
#include "common/subgroup.clh"
#include "normalization/softmax.clh"
#include "common/reduce.clh"

#ifndef MODE
#define MODE 1
#endif
#ifndef HELD
#define HELD 4
#endif
#define SPAN (WG * HELD * VW)

/* The sum of exp(x[h] - shift), pairwise; x[h] becomes what is kept of it. */
static inline float exp_held(FV *x, const float shift)
{
    FV even = exp(x[0] - shift), odd = (FV)(0.0f);
    x[0] = kept_of(x[0], even);
#pragma unroll
    for (uint h = 1; h < HELD; h++) {
        const FV e = exp(x[h] - shift);
        x[h] = kept_of(x[h], e);
        if (h % 2)
            odd += e;
        else
            even += e;
    }
    return SUM_OF(even + odd);
}

/* Vectors `first`, `first + step`, ... of a row; their largest value. */
static inline float hold(const struct row r, FV *x, const uint first,
                         const uint step XL_PROLOGUE_PARAMS)
{
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        x[h] = get(r, (first + h * step) * VW XL_PROLOGUE_ARGS);
    FV top = x[0];
#pragma unroll
    for (uint h = 1; h < HELD; h++)
        top = fmax(top, x[h]);
    return MAX_OF(top);
}

#if MODE == 1
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void softmax_online_held(ROW_PARAMS)
{
    __local float for_max[ROOM], for_sum[ROOM];
    const uint lane = get_local_id(0) % LANES;
    const ulong i = xl_group_id(0) * (WG / LANES) + get_local_id(0) / LANES;
    /* Past the last row the last one is read again, and not written. */
    const struct row r = ROW(min(i, rows - 1));
    FV x[HELD];
    const float top =
        lanes_max(hold(r, x, lane, LANES XL_PROLOGUE_ARGS), for_max);
    const float shift = shift_of(top), part = exp_held(x, shift);
    const float share = share_of(lanes_sum(part, for_sum));
    if (i >= rows)
        return;
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        if (FULL || (lane + h * LANES) * VW < r.n)
            put(r, (lane + h * LANES) * VW,
                result_of(x[h], shift, share) XL_EPILOGUE_ARGS);
}

#else /* MODE 2, 3 */

/* A shift and the sum of exp under it. */
struct pair {
    float shift, sum;
};

/* Merge, for shifts that are -inf too: 0 exp(-inf) is 0, NaN stays NaN. */
static inline float sum_under(const struct pair p, const float top)
{
    return p.sum * exp(p.shift - shift_of(top));
}

static inline struct pair over_group(const struct pair p,
                                     __local float *for_max,
                                     __local float *for_sum)
{
    const float top = lanes_max(p.shift, for_max);
    return (struct pair){top, lanes_sum(sum_under(p, top), for_sum)};
}

#if MODE == 3
/* Of a chunk, by the whole group. */
static inline struct pair sum_chunk(const struct row r, __local float *for_max,
                                    __local float *for_sum XL_PROLOGUE_PARAMS)
{
    struct pair p = {-INFINITY, 0.0f};
    for (uint first = 0; first < r.n; first += SPAN) {
        FV x[HELD];
        const float top =
            hold(r, x, first / VW + get_local_id(0), WG XL_PROLOGUE_ARGS);
        if (top > p.shift + SLACK) {
            p.sum = sum_under(p, top);
            p.shift = top;
        }
        p.sum += exp_held(x, shift_of(p.shift));
    }
    return over_group(p, for_max, for_sum);
}

static inline void norm_chunk(const struct row r,
                              const struct pair whole HOOK_PARAMS)
{
    const float shift = shift_of(whole.shift), share = share_of(whole.sum);
    for (uint first = 0; first < r.n; first += SPAN) {
        FV x[HELD];
        const uint at = first / VW + get_local_id(0);
#pragma unroll
        for (uint h = 0; h < HELD; h++)
            x[h] = get(r, (at + h * WG) * VW XL_PROLOGUE_ARGS);
#pragma unroll
        for (uint h = 0; h < HELD; h++)
            if ((at + h * WG) * VW < r.n)
                put(r, (at + h * WG) * VW,
                    result_of_x(x[h], shift, share) XL_EPILOGUE_ARGS);
    }
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void softmax_online_sum(ROW_PARAMS, __global float *sums, const uint n_chunks,
                        const uint chunk)
{
    __local float for_max[ROOM], for_sum[ROOM];
    const ulong g = xl_group_id(0), i = g / n_chunks, c = g - i * n_chunks;
    const struct pair p =
        sum_chunk(CHUNK(i, c), for_max, for_sum XL_PROLOGUE_ARGS);
    if (get_local_id(0) == 0)
        vstore2((float2)(p.shift, p.sum), g, sums);
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void softmax_online_norm(ROW_PARAMS, __global const float *sums,
                         const uint n_chunks, const uint chunk)
{
    __local float for_max[ROOM], for_sum[ROOM];
    /* Last chunks first: they are what a cache still has. */
    const ulong g = rows * n_chunks - 1 - xl_group_id(0), i = g / n_chunks;
    struct pair p = {-INFINITY, 0.0f};
    for (uint c = get_local_id(0); c < n_chunks; c += WG) {
        const float2 q = vload2(i * n_chunks + c, sums);
        const float top = fmax(p.shift, q.x);
        p.sum = sum_under(p, top) + sum_under((struct pair){q.x, q.y}, top);
        p.shift = top;
    }
    norm_chunk(CHUNK(i, g - i * n_chunks),
               over_group(p, for_max, for_sum) HOOK_ARGS);
}

#elif MODE == 2
/* No shift is NaN and no sum is this NaN: the word of a sum not there yet. */
#define ABSENT 0xffffffffu
#define NAN_WORD 0x7fc00000u
/* How often a group looks for a missing sum before it computes it: about the
 * time in which a device fills all its registers from memory, several times;
 * and how often it looks for sure. */
#define LOOKS 256
#define SURE_LOOK 16

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void softmax_online_clear(__global uint *sums, const ulong n)
{
    if (get_global_id(0) < n)
        sums[get_global_id(0)] = ABSENT;
}

static inline void publish(const struct pair p, volatile __global uint *at)
{
    if (get_local_id(0) > 0)
        return;
    atomic_xchg(at, as_uint(p.shift));
    atomic_xchg(at + 1, isnan(p.sum) ? NAN_WORD : as_uint(p.sum));
}

/* A pair's words; false when they are not both there. A plain look may see
 * "absent" for too long, never a wrong word; a sure one, by atomics, is slow
 * and gets in the way of others. */
static inline bool look(volatile __global uint *at, struct pair *p,
                        const bool is_sure)
{
    const uint shift = is_sure ? atomic_or(at, 0u) : at[0];
    const uint sum = is_sure ? atomic_or(at + 1, 0u) : at[1];
    *p = (struct pair){as_float(shift), as_float(sum)};
    return shift != ABSENT && sum != ABSENT;
}

/* This item's share of a row's n pairs, merged; the number of the first that
 * is absent, or n. */
static inline uint collect(volatile __global uint *at, const uint n,
                           struct pair *p)
{
    *p = (struct pair){-INFINITY, 0.0f};
    for (uint c = get_local_id(0); c < n; c += WG) {
        struct pair q;
        bool there = look(at + 2 * c, &q, false);
        for (uint k = 1; k <= LOOKS && !there; k++)
            there = look(at + 2 * c, &q, k % SURE_LOOK == 0);
        if (!there)
            return c;
        const float top = fmax(p->shift, q.shift);
        p->sum = sum_under(*p, top) + sum_under(q, top);
        p->shift = top;
    }
    return n;
}

/* A chunk's pair once more, to the same bit, with few registers: the chunk is
 * read twice. */
static inline struct pair sum_again(const struct row r, __local float *for_max,
                                    __local float *for_sum XL_PROLOGUE_PARAMS)
{
    const uint lane = get_local_id(0);
    FV most = (FV)(-INFINITY), even = (FV)(0.0f), odd = (FV)(0.0f);
    for (uint h = 0; h < HELD; h++)
        most = fmax(most, get(r, (lane + h * WG) * VW XL_PROLOGUE_ARGS));
    const float top = lanes_max(MAX_OF(most), for_max);
    for (uint h = 0; h < HELD; h++) {
        const FV e =
            exp(get(r, (lane + h * WG) * VW XL_PROLOGUE_ARGS) - shift_of(top));
        if (h % 2)
            odd += e;
        else
            even += e;
    }
    return (struct pair){top, lanes_sum(SUM_OF(even + odd), for_sum)};
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void softmax_online_shared(ROW_PARAMS, volatile __global uint *sums,
                           const uint n_chunks, const uint chunk)
{
    __local float for_max[ROOM], for_sum[ROOM];
    __local uint absent;
    const ulong i = xl_group_id(0) / n_chunks;
    const uint lane = get_local_id(0), mine = xl_group_id(0) - i * n_chunks;
    volatile __global uint *row_sums = sums + 2 * i * n_chunks;
    const struct row r = CHUNK(i, mine);
    FV x[HELD];
    const float top =
        lanes_max(hold(r, x, lane, WG XL_PROLOGUE_ARGS), for_max);
    const float part = exp_held(x, shift_of(top));
    publish((struct pair){top, lanes_sum(part, for_sum)}, row_sums + 2 * mine);
    struct pair p;
    uint c;
    do {
        if (lane == 0)
            absent = n_chunks;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_min(&absent, collect(row_sums, n_chunks, &p));
        barrier(CLK_LOCAL_MEM_FENCE);
        c = absent;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (c < n_chunks)
            publish(sum_again(CHUNK(i, c), for_max, for_sum XL_PROLOGUE_ARGS),
                    row_sums + 2 * c);
    } while (c < n_chunks);
    const struct pair whole = over_group(p, for_max, for_sum);
    const float shift = shift_of(whole.shift), share = share_of(whole.sum);
    /* Of this chunk's exp to the row's; 0 if the chunk is all -inf. */
    const float factor = LOG ? share : exp(top - shift) * share;
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        if ((lane + h * WG) * VW < r.n)
            put(r, (lane + h * WG) * VW,
                result_of(x[h], shift, factor) XL_EPILOGUE_ARGS);
}
#endif
#endif /* MODE */
