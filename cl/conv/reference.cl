/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out), the
 *               plainest way: the truth on a device against which other
 *               kernels are looked at.
 * Arguments     in, out: base, offset, strides along n, c, h, w, in elements;
 *               any strides. filters: base, offset, strides likewise.
 *               h, w of in; q of out; cg channels and kg filters of a group;
 *               r, s; stride and dilation along h and w; padding above and
 *               left. beta == 0: out is not read. The rest: gemm/gemm.clh
 * Launch        global (p q rounded up to the local size, k, n); any local
 *               size of one row
 * Local memory  none
 * -D            FIRST 1: channels are the epilogue's rows, 0: its columns;
 *               TA (in, filters), TC (out), TY, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n k p q cg r s flop; each element of in is read up to
 *               r s kg times
 * Source        the definition */
#ifndef XL_VW
#define XL_VW 2
#endif
#ifndef FIRST
#define FIRST 1
#endif
#include "gemm/gemm.clh"

__kernel void conv_ref(__global const ELEM(TA) *in, ulong off_in, ulong sn,
                       ulong sc, ulong sh, ulong sw,
                       __global const ELEM(TA) *filters, ulong off_filters,
                       ulong fk, ulong fc, ulong fr, ulong fs,
                       __global ELEM(TC) *out, ulong off_out, ulong on,
                       ulong oc, ulong op, ulong oq, ulong h, ulong w,
                       ulong pixels, ulong q, ulong cg, ulong kg, ulong r,
                       ulong s, ulong stride_h, ulong stride_w,
                       ulong dilation_h, ulong dilation_w, ulong pad_top,
                       ulong pad_left, GEMM_LAST_PARAMS)
{
    const ulong pixel = get_global_id(0);
    const ulong k = get_global_id(1);
    const ulong n = get_global_id(2);
    if (pixel >= pixels)
        return;
    const ulong row = pixel / q, col = pixel - row * q;
    in += off_in + n * sn + k / kg * cg * sc;
    filters += off_filters + k * fk;
    SUM sum = 0;
    for (ulong c = 0; c < cg; c++) {
        for (ulong i = 0; i < r; i++) {
            /* Above the image is beyond any image: unsigned. */
            const ulong y = row * stride_h + i * dilation_h - pad_top;
            for (ulong j = 0; j < s; j++) {
                const ulong x = col * stride_w + j * dilation_w - pad_left;
                if (y < h && x < w)
                    sum = MUL_ADD(
                        LOAD(TA, in, c * sc + y * sh + x * sw),
                        LOAD(TA, filters, c * fc + i * fr + j * fs), sum);
            }
        }
    }
    const ulong at = off_out + n * on + k * oc + row * op + col * oq;
    const VALUEV(1, TY) y = GEMM_Y(1, sum, out, at);
#if FIRST
    GEMM_STORE(1, , out, at, y, n, k, pixel);
#else
    GEMM_STORE(1, , out, at, y, n, pixel, k);
#endif
}
