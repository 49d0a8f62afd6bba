/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a softmax over rows (softmax_ref.cl), by work-groups.
 *
 *   MODE 1  softmax_online_held: LANES items hold a row in registers, WG/LANES
 *           rows a group; one read and one write.
 *   MODE 2  softmax_online_fused: rows too long for that are cut into chunks
 *           of BLOCKS x SPAN elements (SPAN = WG HELD VW). Even groups sum a
 *           chunk, odd ones normalise one, `ahead` chunks behind, so that the
 *           second read finds the chunk in the last-level cache:
 *
 *             sum  0 1 2 .. ahead | ahead+1     ahead+2     ...
 *             norm                |          0           1  ...   -> groups
 *
 *           A group that wants a sum which is not there yet computes it
 *           itself: nobody waits, so no order of groups is relied on, and the
 *           words in `sums` are each written and read by atomics alone.
 *           softmax_online_clear sets them before.
 *   MODE 3  softmax_online_sum, then softmax_online_norm: the same in two
 *           launches, for in-place rows and for rows beyond any cache.
 *
 *           An item keeps a running shift and the sum of exp under it, and
 *           rescales the sum when the shift moves; pairs merge likewise.
 * Arguments:    ROW_PARAMS: src, dst of DT, rows x cols, contiguous columns,
 *               rows aligned to VW elements if VA; mask of MT. MODE 2, 3: sums,
 *               2 words a chunk; n_chunks of a row; chunk, its elements.
 * Launch:       1-D, local WG. Groups: MODE 1 ceil(rows LANES / WG); MODE 2
 *               2 rows n_chunks; MODE 3 rows n_chunks.
 * Local memory: 8 ROOM (reduce.clh), 4 more in MODE 2.
 * -D:           WG power of two; LANES power of two <= WG (MODE 2, 3: WG);
 *               HELD 1..16 vectors an item; VW 1 2 4 8; VA VT DT MT MU.
 * Needs:        32-bit global atomics (OpenCL C 1.1) in MODE 2.
 * Cost:         5 rows cols flop; bytes: one read, one write; MODE 2, 3 a
 *               second read, from the cache if it is there.
 * Source:       Milakov, Gimelshein 2018, arXiv:1805.02867. */
#include "types.clh"
#include "softmax.clh"
#include "reduce.clh"

#ifndef MODE
#define MODE 1
#endif
#ifndef HELD
#define HELD 4
#endif
#define SPAN (WG * HELD * VW)

/* x[h] -> exp(x[h] - shift); their sum, pairwise. */
static inline float exp_held(FV *x, const float shift)
{
    FV even = exp(x[0] - shift), odd = (FV)(0.0f);
    x[0] = even;
#pragma unroll
    for (uint h = 1; h < HELD; h++) {
        x[h] = exp(x[h] - shift);
        if (h % 2)
            odd += x[h];
        else
            even += x[h];
    }
    return SUM_OF(even + odd);
}

/* Vectors `first`, `first + step`, ... of a row; their largest value. */
static inline float hold(const struct row r, FV *x, const uint first, const uint step)
{
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        x[h] = get(r, (first + h * step) * VW);
    FV top = x[0];
#pragma unroll
    for (uint h = 1; h < HELD; h++)
        top = fmax(top, x[h]);
    return MAX_OF(top);
}

#if MODE == 1
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void softmax_online_held(ROW_PARAMS)
{
    __local float for_max[ROOM], for_sum[ROOM];
    const uint lane = get_local_id(0) % LANES;
    const ulong i = xl_group_id(0) * (WG / LANES) + get_local_id(0) / LANES;
    /* Past the last row the last one is read again, and not written. */
    const struct row r = ROW(min(i, rows - 1));
    FV x[HELD];
    const float top = lanes_max(hold(r, x, lane, LANES), for_max);
    const float part = exp_held(x, shift_of(top));
    const float share = share_of(lanes_sum(part, for_sum));
    if (i >= rows)
        return;
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        if ((lane + h * LANES) * VW < r.n)
            put(r, (lane + h * LANES) * VW, x[h] * share);
}

#else /* MODE 2, 3 */

/* Chunk c of row i. */
#define CHUNK(i, c)                                                           \
    part_of((struct row)ROW(i), (c) * (ulong)chunk,                           \
            (uint)min((ulong)chunk, cols - (c) * (ulong)chunk))

/* A shift and the sum of exp under it. */
struct pair {
    float shift, sum;
};

/* Merge, for shifts that are -inf too: 0 exp(-inf) is 0, NaN stays NaN. */
static inline float sum_under(const struct pair p, const float top)
{
    return p.sum * exp(p.shift - shift_of(top));
}

static inline struct pair over_group(const struct pair p, __local float *for_max,
                              __local float *for_sum)
{
    const float top = lanes_max(p.shift, for_max);
    return (struct pair){top, lanes_sum(sum_under(p, top), for_sum)};
}

/* Of a chunk, by the whole group. */
static inline struct pair sum_chunk(const struct row r, __local float *for_max,
                             __local float *for_sum)
{
    struct pair p = {-INFINITY, 0.0f};
    for (uint first = 0; first < r.n; first += SPAN) {
        FV x[HELD];
        const float top = hold(r, x, first / VW + get_local_id(0), WG);
        if (top > p.shift + SLACK) {
            p.sum = sum_under(p, top);
            p.shift = top;
        }
        p.sum += exp_held(x, shift_of(p.shift));
    }
    return over_group(p, for_max, for_sum);
}

static inline void norm_chunk(const struct row r, const struct pair whole)
{
    const float shift = shift_of(whole.shift), share = share_of(whole.sum);
    for (uint first = 0; first < r.n; first += SPAN) {
        FV x[HELD];
        const uint at = first / VW + get_local_id(0);
#pragma unroll
        for (uint h = 0; h < HELD; h++)
            x[h] = get(r, (at + h * WG) * VW);
#pragma unroll
        for (uint h = 0; h < HELD; h++)
            if ((at + h * WG) * VW < r.n)
                put(r, (at + h * WG) * VW, exp(x[h] - shift) * share);
    }
}
#endif

#if MODE == 3
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void softmax_online_sum(ROW_PARAMS, __global float *sums, const uint n_chunks,
                        const uint chunk)
{
    __local float for_max[ROOM], for_sum[ROOM];
    const ulong g = xl_group_id(0);
    const struct pair p = sum_chunk(CHUNK(g / n_chunks, g % n_chunks), for_max,
                                    for_sum);
    if (get_local_id(0) == 0)
        vstore2((float2)(p.shift, p.sum), g, sums);
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void softmax_online_norm(ROW_PARAMS, __global const float *sums,
                         const uint n_chunks, const uint chunk)
{
    __local float for_max[ROOM], for_sum[ROOM];
    /* Last chunks first: they are what a cache still has. */
    const ulong g = rows * n_chunks - 1 - xl_group_id(0);
    struct pair p = {-INFINITY, 0.0f};
    for (uint c = get_local_id(0); c < n_chunks; c += WG) {
        const float2 q = vload2(g / n_chunks * n_chunks + c, sums);
        const float top = fmax(p.shift, q.x);
        p.sum = sum_under(p, top) + sum_under((struct pair){q.x, q.y}, top);
        p.shift = top;
    }
    norm_chunk(CHUNK(g / n_chunks, g % n_chunks),
               over_group(p, for_max, for_sum));
}
#endif

#if MODE == 2
/* No shift is NaN and no sum is this NaN: the word of a sum not there yet. */
#define ABSENT 0xffffffffu
#define NAN_WORD 0x7fc00000u
/* How often a group looks for a missing sum before it computes it: some
 * microseconds, in which the group that has it in hand ends. */
#define LOOKS 64

__kernel void softmax_online_clear(__global uint *sums, const ulong n)
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

/* A pair's words; false when they are not both there. */
static inline bool look(volatile __global uint *at, struct pair *p)
{
    const uint shift = atomic_or(at, 0u), sum = atomic_or(at + 1, 0u);
    *p = (struct pair){as_float(shift), as_float(sum)};
    return shift != ABSENT && sum != ABSENT;
}

/* This item's share of a row's n pairs, merged; the number of the first that
 * is absent, or n. */
static inline uint collect(volatile __global uint *at, const uint n, struct pair *p)
{
    *p = (struct pair){-INFINITY, 0.0f};
    for (uint c = get_local_id(0); c < n; c += WG) {
        struct pair q;
        bool there = look(at + 2 * c, &q);
        for (uint k = 0; k < LOOKS && !there; k++)
            there = look(at + 2 * c, &q);
        if (!there)
            return c;
        const float top = fmax(p->shift, q.shift);
        p->sum = sum_under(*p, top) + sum_under(q, top);
        p->shift = top;
    }
    return n;
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void softmax_online_fused(ROW_PARAMS, volatile __global uint *sums,
                          const uint n_chunks, const uint chunk,
                          const ulong ahead)
{
    __local float for_max[ROOM], for_sum[ROOM];
    __local uint absent;
    const ulong g = xl_group_id(0), n = rows * n_chunks;
    /* `ahead` sums, then a sum and a norm in turn, then the norms left. */
    const ulong turn = g - ahead, n_turns = 2 * (n - ahead);
    const bool sums_up = g < ahead || (turn < n_turns && turn % 2 == 0);
    const ulong at = g < ahead         ? g
                     : turn >= n_turns ? turn - (n - ahead)
                     : sums_up         ? ahead + turn / 2
                                       : turn / 2;
    const ulong i = at / n_chunks;
    volatile __global uint *row_sums = sums + 2 * i * n_chunks;
    struct pair p;
    if (sums_up) {
        publish(sum_chunk(CHUNK(i, at % n_chunks), for_max, for_sum),
                sums + 2 * at);
        return;
    }
    uint c;
    do {
        if (get_local_id(0) == 0)
            absent = n_chunks;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_min(&absent, collect(row_sums, n_chunks, &p));
        barrier(CLK_LOCAL_MEM_FENCE);
        c = absent;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (c < n_chunks)
            publish(sum_chunk(CHUNK(i, c), for_max, for_sum),
                    row_sums + 2 * c);
    } while (c < n_chunks);
    norm_chunk(CHUNK(i, at % n_chunks), over_group(p, for_max, for_sum));
}
#endif
