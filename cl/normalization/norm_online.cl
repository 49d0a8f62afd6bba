/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a norm of rows (normalization/norm_reference.cl), by
 *               work-groups.
 *
 *   MODE 1  norm_online_held: LANES items hold a row in registers, WG/LANES
 *           rows a group; one read and one write.
 *   MODE 3  norm_online_sum, then norm_online_norm: chunks of any size in two
 *           launches; two reads and one write. The center of a chunk is the
 *           mean of its first SPAN elements.
 * Arguments:    NORM_PARAMS: src of DT, dst of OT, rows x cols, contiguous
 *               columns, rows aligned to VW elements if VA; residual of MT,
 *               sum of ST likewise; gain of GT, bias of BT: cols. MODE 3: sums,
 *               3 words a chunk; n_chunks of a row; chunk, its elements.
 * Launch:       1-D, local WG. Groups: MODE 1 ceil(rows LANES / WG); MODE 3
 *               rows n_chunks.
 * Local memory: 12 ROOM (common/reduce.clh).
 * -D:           WG power of two; LANES power of two <= WG (MODE 3: WG); HELD
 *               1..32 vectors an item; VW 1 2 4 8; VA VT DT OT MT MU RMS GT BT
 *               GA ST.
 * Needs:        nothing.
 * Cost:         8 rows cols flop; bytes: one read, one write; MODE 3 a second
 *               read.
 * Source:       Chan, Golub, LeVeque 1983: two passes, corrected. */
#include "common/types.clh"
#include "common/subgroup.clh"
#include "normalization/norm.clh"
#include "common/reduce.clh"

#ifndef MODE
#define MODE 1
#endif
#ifndef HELD
#define HELD 4
#endif
#define SPAN (WG * HELD * VW)

/* Vectors `first`, `first + step`, ... of a row. */
static inline void hold(const struct row r, FV *x, const uint first,
                        const uint step)
{
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        x[h] = get(r, (first + h * step) * VW);
}

/* The mean of row r's first elements, one vector x of each of LANES items, near
 * enough: that of the distances from the first element, `one`, so that equal
 * values have none. */
static inline float center_of(const struct row r, const FV x, const float one,
                              const uint lane, __local float *room)
{
#if RMS
    return 0.0f;
#else
    const FV run = inside(r, lane * VW, x - one);
    const float n = FULL ? LANES * VW : min(r.n, (uint)(LANES * VW));
    return one + lanes_sum(SUM_OF(run), room) / n;
#endif
}

/* Of what this item holds: the sums of x - center and of its square. */
static inline float2 sums_held(const struct row r, const FV *x,
                               const float center,
                               const uint first, const uint step)
{
    FV run = (FV)(0.0f), squares = (FV)(0.0f);
#pragma unroll
    for (uint h = 0; h < HELD; h++) {
        const FV d = inside(r, (first + h * step) * VW, x[h] - center);
        run += d;
        squares = FMA(d, d, squares);
    }
    return (float2)(SUM_OF(run), SUM_OF(squares));
}

static inline void put_held(const struct row r, const struct beside b,
                            const FV *x, const struct scaling s,
                            const uint first, const uint step)
{
#pragma unroll
    for (uint h = 0; h < HELD; h++) {
        const uint i = (first + h * step) * VW;
        if (FULL || i < r.n) {
            put_sum(r, b, i, x[h]);
            put(r, i, result_of(x[h] - s.center, s, columns_of(b, i, r.n)));
        }
    }
}

#if MODE == 1
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void norm_online_held(NORM_PARAMS)
{
    __local float for_center[ROOM];
    __local float2 for_sums[ROOM];
    const uint lane = get_local_id(0) % LANES;
    const ulong i = xl_group_id(0) * (WG / LANES) + get_local_id(0) / LANES;
    /* Past the last row the last one is read again, and not written. */
    const struct row r = ROW(min(i, rows - 1));
    const struct beside b = BESIDE(r);
    FV x[HELD];
    hold(r, x, lane, LANES);
    const float center =
        center_of(r, x[0], get_1(r, 0), lane, for_center);
    const float2 sums =
        lanes_sum_2(sums_held(r, x, center, lane, LANES), for_sums);
    const struct stats s = {center, sums.x, sums.y};
    const float n = FULL ? LANES * HELD * VW : r.n;
    if (i < rows)
        put_held(r, b, x, scaling_of(s, n, eps), lane, LANES);
}

#elif MODE == 3
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void norm_online_sum(NORM_PARAMS, __global float *sums, const uint n_chunks,
                     const uint chunk)
{
    __local float for_center[ROOM];
    __local float2 for_sums[ROOM];
    const ulong g = xl_group_id(0), row = g / n_chunks;
    const struct row r = CHUNK(row, g - row * n_chunks);
    const uint lane = get_local_id(0);
    FV x[HELD];
    hold(r, x, lane, WG);
    const float center =
        center_of(r, x[0], get_1(r, 0), lane, for_center);
    float2 part = sums_held(r, x, center, lane, WG);
    for (uint first = SPAN; first < r.n; first += SPAN) {
        const uint at = first / VW + lane;
        hold(r, x, at, WG);
        part += sums_held(r, x, center, at, WG);
    }
    const float2 all = lanes_sum_2(part, for_sums);
    if (lane == 0)
        vstore3((float3)(center, all), g, sums);
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void norm_online_norm(NORM_PARAMS, __global const float *sums,
                      const uint n_chunks, const uint chunk)
{
    __local float2 for_sums[ROOM];
    /* Last chunks first: they are what a cache still has. */
    const ulong g = rows * n_chunks - 1 - xl_group_id(0), row = g / n_chunks;
    const float center = sums[3 * row * n_chunks];
    float2 part = (float2)(0.0f);
    for (uint c = get_local_id(0); c < n_chunks; c += WG) {
        const struct stats s = chunk_stats(sums, row * n_chunks, c, center,
                                           CHUNK_ELEMS(c));
        part += (float2)(s.sum, s.squares);
    }
    const float2 all = lanes_sum_2(part, for_sums);
    const struct stats whole = {center, all.x, all.y};
    const struct scaling s = scaling_of(whole, cols, eps);
    const struct row r = CHUNK(row, g - row * n_chunks);
    const struct beside b = BESIDE(r);
    for (uint first = 0; first < r.n; first += SPAN) {
        FV x[HELD];
        const uint at = first / VW + get_local_id(0);
        hold(r, x, at, WG);
        put_held(r, b, x, s, at, WG);
    }
}
#endif
