/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradients of a norm's scale and bias: over all rows the
 *               sums of g y and of g, g the gradient of its result, y = (x -
 *               mean) factor.
 *
 *   norm_backward_columns: an item sums N VW columns over a slice of rows.
 *   norm_backward_join: adds the slices of a column, LY items each.
 * Arguments:    BACKWARD_PARAMS (normalization/backward.clh), with any strides
 *               of columns if VW is 1: src_step, added_step. at_kept: the
 *               first of `kept`'s 3 floats a row; at_parts: of the slices'
 *               sums, cols floats of g y, then of g. slice: its rows; n_slices.
 *               to_gain, to_bias of GO, BO: cols, from off_..., with steps.
 * Launch:       columns: 2-D, local (LX, 1), groups ceil(cols / (LX N VW)) x
 *               n_slices. join: local LX LY, groups ceil(cols / LX).
 * Local memory: join: 8 LX LY bytes.
 * -D:           STEP 1 columns, 2 join; LX LY N; GO BO: dtypes, -1: none; VW VA
 *               VT DT MT MU; NORM 1.
 * Needs:        nothing.
 * Cost:         5 rows cols flop; one read of src and of g.
 * Source:       Kahan 1965 for the sums, so that their length does not show. */
#define NORM 1
#include "common/types.clh"
#include "common/subgroup.clh"
#include "normalization/backward.clh"

#ifndef STEP
#define STEP 1
#endif
#ifndef LX
#define LX 64
#endif
#ifndef LY
#define LY 1
#endif
#ifndef N
#define N 1
#endif
#ifndef GO
#define GO (-1)
#endif
#ifndef BO
#define BO (-1)
#endif

#if STEP == 1
/* The last vector may be partly past the end. */
static inline void put_part(__global float *to, const uint j, const uint n,
                            const FV x)
{
    float one[VW];
#if VW == 1
    one[0] = x;
#else
    XL_CAT(vstore, VW)(x, 0, one);
#endif
#pragma unroll
    for (uint k = 0; k < VW; k++)
        if (j + k < n)
            to[j + k] = one[k];
}

__kernel __attribute__((reqd_work_group_size(LX, 1, 1))) XL_OF_WIDTH
void norm_backward_columns(BACKWARD_PARAMS, const ulong src_step,
                           const ulong at_kept, const ulong at_parts,
                           const ulong slice)
{
    const ulong s = xl_group_id(1), end = min((s + 1) * slice, rows);
    const uint first = (uint)(xl_group_id(0) * LX + get_local_id(0)) * N * VW;
    struct sum gain_sum[N], bias_sum[N];
#pragma unroll
    for (uint k = 0; k < N; k++)
        gain_sum[k] = bias_sum[k] = (struct sum){(FV)(0.0f), (FV)(0.0f)};
    for (ulong i = s * slice; i < end; i++) {
        const struct row r = ROW(i);
        const float3 of = vload3(i, kept + at_kept);
#pragma unroll
        for (uint k = 0; k < N; k++) {
            const uint j = first + k * VW;
#if VW == 1
            const ulong at = min(j, r.n - 1);
            const float x = LOAD(DT, r.src, at * src_step),
                        g = LOAD(MT, r.added, at * r.added_step);
#else
            const FV x = x_of(r, j), g = grad_of(r, j);
#endif
            add(&gain_sum[k], (x - of.x - of.y) * of.z * g);
            add(&bias_sum[k], g);
        }
    }
    __global float *parts = kept + at_parts + 2 * s * cols;
#pragma unroll
    for (uint k = 0; k < N; k++) {
        put_part(parts, first + k * VW, (uint)cols, gain_sum[k].sum);
        put_part(parts + cols, first + k * VW, (uint)cols, bias_sum[k].sum);
    }
}

#else
#if GO >= 0
#define GO_ELEM ELEM(GO)
#else
#define GO_ELEM float
#endif
#if BO >= 0
#define BO_ELEM ELEM(BO)
#else
#define BO_ELEM float
#endif

__kernel __attribute__((reqd_work_group_size(LX * LY, 1, 1))) XL_OF_WIDTH
void norm_backward_join(__global const float *kept, const ulong at_parts,
                        const ulong cols, const uint n_slices,
                        __global GO_ELEM *to_gain, __global BO_ELEM *to_bias,
                        const ulong off_gain, const ulong off_bias,
                        const ulong gain_step, const ulong bias_step)
{
    __local float2 room[LX * LY];
    const uint item = get_local_id(0);
    const ulong j = xl_group_id(0) * LX + item % LX, at = min(j, cols - 1);
    __global const float *parts = kept + at_parts;
    float2 sum = (float2)(0.0f), lost = (float2)(0.0f);
    for (uint s = item / LX; s < n_slices; s += LY) {
        const float2 term = (float2)(parts[2 * s * cols + at],
                                     parts[(2 * s + 1) * cols + at]) - lost;
        const float2 next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    room[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= LX || j >= cols)
        return;
    for (uint k = 1; k < LY; k++)
        sum += room[item + k * LX];
#if GO >= 0
    STORE(GO, to_gain, off_gain + j * gain_step, sum.x);
#endif
#if BO >= 0
    STORE(BO, to_bias, off_bias + j * bias_step, sum.y);
#endif
}
#endif
