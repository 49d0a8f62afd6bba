/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      the gradients of a convolution, the plainest way: an item has
 *               one element, whose sum is in the order of the loops.
 *                 conv_data_ref     in = alpha data + beta in, from filters
 *                                   and the gradient of out
 *                 conv_filters_ref  filters = alpha gradient + beta filters,
 *                                   from in and the gradient of out
 * Arguments     in, out: base, offset, strides along n, c, h, w, in elements;
 *               any strides. filters: base, offset, strides likewise.
 *               n images, 0: the sum is empty; h w, w of in; p, q of out; cg
 *               channels and kg filters of a group, the latter 0: empty; r, s;
 *               stride and dilation along h and w; padding above and left.
 *               beta == 0: the result is not read. The rest: gemm/gemm.clh
 * Launch        any local size of one row; conv_data_ref: global (h w rounded
 *               up to the local size, c, n); conv_filters_ref: (r s likewise,
 *               cg, k)
 * Local memory  none
 * -D            TA (what is read), TC (the result), TY: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n k p q cg r s flop, and a division for each term of
 *               conv_data_ref where a stride is more than 1
 * Source        the definition */
#ifndef XL_VW
#define XL_VW 2
#endif
#include "gemm/gemm.clh"

#define SIZES                                                                 \
    ulong n, ulong hw, ulong w, ulong p, ulong q, ulong cg, ulong kg,         \
        ulong r, ulong s, ulong stride_h, ulong stride_w, ulong dilation_h,   \
        ulong dilation_w, ulong pad_top, ulong pad_left

/* Positions before the first are beyond the last: unsigned. */
__kernel void conv_data_ref(__global ELEM(TC) *in, ulong off_in, ulong sn,
                            ulong sc, ulong sh, ulong sw,
                            __global const ELEM(TA) *filters,
                            ulong off_filters, ulong fk, ulong fc, ulong fr,
                            ulong fs, __global const ELEM(TA) *out,
                            ulong off_out, ulong on, ulong oc, ulong op,
                            ulong oq, SIZES, GEMM_LAST_PARAMS)
{
    const ulong pixel = get_global_id(0);
    const ulong c = get_global_id(1);
    const ulong image = get_global_id(2);
    if (pixel >= hw)
        return;
    const ulong y = pixel / w, x = pixel - y * w, group = c / cg;
    filters += off_filters + group * kg * fk + (c - group * cg) * fc;
    out += off_out + image * on + group * kg * oc;
    SUM sum = 0;
    for (ulong i = 0; i < r; i++) {
        const ulong down = y + pad_top - i * dilation_h, row = down / stride_h;
        if (row >= p || row * stride_h != down)
            continue;
        for (ulong j = 0; j < s; j++) {
            const ulong across = x + pad_left - j * dilation_w,
                        col = across / stride_w;
            if (col >= q || col * stride_w != across)
                continue;
            for (ulong k = 0; k < kg; k++)
                sum = MUL_ADD(
                    LOAD(TA, out, k * oc + row * op + col * oq),
                    LOAD(TA, filters, k * fk + i * fr + j * fs), sum);
        }
    }
    const ulong at = off_in + image * sn + c * sc + y * sh + x * sw;
    const VALUEV(1, TY) v = GEMM_Y(1, sum, in, at);
    GEMM_STORE(1, , in, at, v, image, c, pixel);
}

__kernel void conv_filters_ref(__global const ELEM(TA) *in, ulong off_in,
                               ulong sn, ulong sc, ulong sh, ulong sw,
                               __global ELEM(TC) *filters, ulong off_filters,
                               ulong fk, ulong fc, ulong fr, ulong fs,
                               __global const ELEM(TA) *out, ulong off_out,
                               ulong on, ulong oc, ulong op, ulong oq, SIZES,
                               GEMM_LAST_PARAMS)
{
    const ulong tap = get_global_id(0);
    const ulong c = get_global_id(1);
    const ulong k = get_global_id(2);
    if (tap >= r * s)
        return;
    const ulong i = tap / s, j = tap - i * s, h = hw / w;
    in += off_in + (k / kg * cg + c) * sc;
    out += off_out + k * oc;
    SUM sum = 0;
    for (ulong image = 0; image < n; image++) {
        for (ulong row = 0; row < p; row++) {
            const ulong y = row * stride_h + i * dilation_h - pad_top;
            if (y >= h)
                continue;
            for (ulong col = 0; col < q; col++) {
                const ulong x = col * stride_w + j * dilation_w - pad_left;
                if (x < w)
                    sum = MUL_ADD(
                        LOAD(TA, out, image * on + row * op + col * oq),
                        LOAD(TA, in, image * sn + y * sh + x * sw), sum);
            }
        }
    }
    const ulong at = off_filters + k * fk + c * fc + i * fr + j * fs;
    const VALUEV(1, TY) v = GEMM_Y(1, sum, filters, at);
    GEMM_STORE(1, , filters, at, v, k, c, tap);
}
