/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradient of a softmax, its logarithm or a norm of rows
 *               (normalization/backward.clh), by work-groups.
 *
 *   MODE 1  rows_backward_held: LANES items hold x and g of a row in
 *           registers, WG/LANES rows a group; one read of each, one write.
 *   MODE 3  rows_backward_sum, then rows_backward_put: chunks of any size in
 *           two launches; two reads and one write. The center of a chunk is
 *           the mean of its first WG VW elements.
 * Arguments:    BACKWARD_PARAMS: src of DT, dst of OT, added of MT: rows x
 *               cols, contiguous columns, rows aligned to VW elements if VA, of
 *               `added` if MU is 2; gain of GT: cols. MODE 3: sums, WORDS a
 *               chunk; n_chunks of a row; chunk, its elements. `kept` begins
 *               behind these words.
 * Launch:       1-D, local WG. Groups: MODE 1 ceil(rows LANES / WG); MODE 3
 *               rows n_chunks.
 * Local memory: 4 TERMS ROOM (common/reduce.clh), of a norm 4 ROOM more.
 * -D:           WG power of two; LANES power of two <= WG (MODE 3: WG); HELD
 *               1..32 vectors an item holds of each; VW 1 2 4 8; VA VT DT OT
 *               MT MU NORM LOG KEEP RMS GT GA.
 * Needs:        nothing.
 * Cost:         4 rows cols flop, of a norm 14; bytes: MODE 1 two reads, one
 *               write; MODE 3 two reads more.
 * Source:       the derivative; Chan, Golub, LeVeque 1983 for the variance. */
#include "common/types.clh"
#include "common/subgroup.clh"
#include "normalization/backward.clh"
#include "common/reduce.clh"

#ifndef MODE
#define MODE 1
#endif
#ifndef HELD
#define HELD 4
#endif

#if NORM
#define ROOMS                                                                 \
    __local float for_center[ROOM];                                           \
    __local float4 for_sums[ROOM];
#else
#define ROOMS __local float for_sums[ROOM];
#define for_center 0
#endif

/* The sums of LANES items. */
#if NORM
static inline struct sums over_lanes(const struct sums s, __local float4 *room)
{
    const float4 all =
        lanes_sum_4((float4)(s.of[0], s.of[1], s.of[2], s.of[3]), room);
    return (struct sums){s.center, {all.x, all.y, all.z, all.w}};
}
#else
static inline struct sums over_lanes(const struct sums s, __local float *room)
{
    return (struct sums){0.0f, {lanes_sum(s.of[0], room)}};
}
#endif

static inline struct sums sums_of(const struct terms t, const float center)
{
    struct sums s;
    s.center = center;
#pragma unroll
    for (uint k = 0; k < TERMS; k++)
        s.of[k] = SUM_OF(t.of[k]);
    return s;
}

static inline struct terms no_terms(void)
{
    struct terms t;
#pragma unroll
    for (uint k = 0; k < TERMS; k++)
        t.of[k] = (FV)(0.0f);
    return t;
}

/* The mean of n elements of a row near enough, from the sum of this item's
 * distances from the first one. */
#if NORM && !RMS
#define CENTER(r, sum, n) (get_src(r, 0) + lanes_sum(sum, for_center) / (n))
#else
#define CENTER(r, sum, n) 0.0f
#endif
static inline float get_src(const struct row r, const uint i)
{
    return LOAD(DT, r.src, i);
}

#if MODE == 1
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void rows_backward_held(BACKWARD_PARAMS)
{
    ROOMS
    const uint lane = get_local_id(0) % LANES;
    const ulong i = xl_group_id(0) * (WG / LANES) + get_local_id(0) / LANES;
    /* Past the last row the last one is read again, and not written. */
    const struct row r = ROW(min(i, rows - 1));
    FV x[HELD], g[HELD], run = (FV)(0.0f);
    struct terms t = no_terms();
#pragma unroll
    for (uint h = 0; h < HELD; h++) {
        const uint at = (lane + h * LANES) * VW;
        x[h] = x_of(r, at);
        g[h] = G_OF(r, GAIN(r), at);
    }
#if NORM && !RMS
    const float first = get_src(r, 0);
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        run += inside(r, (lane + h * LANES) * VW, x[h] - first);
#endif
    const float center = CENTER(r, SUM_OF(run), (float)r.n);
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        add_terms(&t, r, (lane + h * LANES) * VW, x[h], g[h], center);
    const struct whole w = WHOLE(over_lanes(sums_of(t, center), for_sums));
    if (i >= rows)
        return;
    if (lane == 0)
        KEEP_ROW(kept, i, w);
#pragma unroll
    for (uint h = 0; h < HELD; h++)
        if ((lane + h * LANES) * VW < r.n)
            put(r, (lane + h * LANES) * VW, gradient_of(r, w, x[h], g[h]));
}

#elif MODE == 3
#define SPAN (WG * VW)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void rows_backward_sum(BACKWARD_PARAMS, __global float *sums,
                       const uint n_chunks, const uint chunk)
{
    ROOMS
    const ulong at = xl_group_id(0), row = at / n_chunks;
    const struct row r = CHUNK(row, at - row * n_chunks);
    const uint begin = get_local_id(0) * VW;
    struct terms t = no_terms();
    FV run = (FV)(0.0f);
#if NORM && !RMS
    run = inside(r, begin, x_of(r, begin) - get_src(r, 0));
#endif
    const float center = CENTER(r, SUM_OF(run), (float)min(r.n, (uint)SPAN));
#pragma unroll HELD
    for (uint j = begin; j < r.n; j += SPAN)
        add_terms(&t, r, j, x_of(r, j), G_OF(r, GAIN(r), j), center);
    const struct sums s = over_lanes(sums_of(t, center), for_sums);
    if (get_local_id(0) == 0)
        put_words(sums, at, s);
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void rows_backward_put(BACKWARD_PARAMS, __global const float *sums,
                       const uint n_chunks, const uint chunk)
{
    ROOMS
    /* Last chunks first: they are what a cache still has. */
    const ulong at = rows * n_chunks - 1 - xl_group_id(0), row = at / n_chunks;
    struct sums part =
        sums_of(no_terms(), CENTER_OF_WORDS(sums, row * n_chunks));
    for (uint c = get_local_id(0); c < n_chunks; c += WG)
        add_words(&part, sums, row * n_chunks + c, CHUNK_ELEMS(c));
    const struct whole w = WHOLE(over_lanes(part, for_sums));
    const struct row r = CHUNK(row, at - row * n_chunks);
    if (get_local_id(0) == 0 && r.first == 0)
        KEEP_ROW(kept + rows * n_chunks * WORDS, row, w);
#pragma unroll HELD
    for (uint j = get_local_id(0) * VW; j < r.n; j += SPAN)
        put(r, j, gradient_of(r, w, x_of(r, j), G_OF(r, GAIN(r), j)));
}
#endif
