/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     dst[i][j] = (x[i][j] - mean) / sqrt(variance + eps) gain[j] +
 *               bias[j], x = src + residual, with the mean and the variance of
 *               row i; with RMS the mean is 0; sum = x where it is asked for.
 *               One item a row, three sweeps over it.
 * Arguments:    src of DT, dst of OT, residual (`added`) of MT, sum of ST: rows
 *               x cols from off_..., with strides ..._ld and ..._step, those of
 *               the residual may be 0; gain of GT, bias of BT: cols, with
 *               steps; results may be a view of an operand. scale 1, eps, rows,
 *               cols. Lengths in elements.
 * Launch:       global >= rows in one dimension, any local size.
 * Local memory: none.
 * -D:           DT OT MT VW 1 (normalization/row_access.clh), RMS GT BT ST
 *               (normalization/norm.clh).
 * Needs:        nothing.
 * Cost:         8 rows cols flop; 3 reads and 1 write of each element.
 * Source:       Chan, Golub, LeVeque 1983: two passes, corrected; Kahan 1965
 *               for the sums, so that their length does not show. */
#ifndef VW
#define VW 1
#endif
#include "common/types.clh"
#include "normalization/norm.clh"
#include "normalization/row_reference.clh"

#define TO_CENTER(j) add(&one, at(r, j, src_step) - first);
#define TO_SUMS(j)                                                            \
    const float d = at(r, j, src_step) - center;                              \
    add(&one, d);                                                             \
    add(&square, d * d);
#define PUT(j)                                                                \
    const float x = at(r, j, src_step);                                       \
    float y = (x - s.center - s.mean) * s.factor;                             \
    SCALE(j)                                                                  \
    SHIFT(j)                                                                  \
    KEEP(j)                                                                   \
    RESULTS(1, , r, (j)*dst_step, y, j);
#if GT >= 0
#define SCALE(j) y *= LOAD(GT, b.gain, (j)*gain_step);
#else
#define SCALE(j)
#endif
#if BT >= 0
#define SHIFT(j) y += LOAD(BT, b.bias, (j)*bias_step);
#else
#define SHIFT(j)
#endif
#if ST >= 0
#define KEEP(j) STORE(ST, b.sum, (j)*sum_step, x);
#else
#define KEEP(j)
#endif

__kernel void norm_ref(NORM_PARAMS, const ulong src_step, const ulong dst_step,
                       const ulong sum_step, const ulong gain_step,
                       const ulong bias_step)
{
    const ulong i = get_global_id(0);
    if (i >= rows)
        return;
    const struct row r = ROW(i);
    const struct beside b = BESIDE(r);
    struct sum one = {0.0f, 0.0f}, square = {0.0f, 0.0f};
    float center = 0.0f;
#if !RMS
    const float first = at(r, 0, src_step);
    FOR_COLS(TO_CENTER)
    center = first + one.sum / (float)cols;
    one = (struct sum){0.0f, 0.0f};
#endif
    FOR_COLS(TO_SUMS)
    const struct stats all = {center, one.sum, square.sum};
    const struct scaling s = scaling_of(all, cols, eps);
    FOR_COLS(PUT)
}
