/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      dst = alpha sum + beta dst for a box of up to 7 dimensions, the
 *               sum over `parts` boxes of src: filters that are rotated, images
 *               whose order changes, results that are woven together or added.
 * Arguments     src, dst: base, offset, strides along the 7 dimensions, in
 *               elements; a negative one wraps. items: elements of a row; n1,
 *               n3, n5, n6: sizes of these dimensions. mask: bit i3 n5 + i5 is
 *               0 where src counts as 0. parts, part: number of boxes, elements
 *               from one to the next. beta == 0: dst is not read. An element
 *               of the last dimension is a vector. The rest: gemm/gemm.clh
 * Launch        global (items rounded up to the local size, i2 n3 + i3,
 *               i0 n1 + i1), an item has i6 + n6 (i5 + n5 i4) along the first;
 *               so i2, i0 and i4 end where the launch does
 * Local memory  none
 * -D            TA (src), TC (dst), TY: gemm/gemm.clh; VW 1, 2, 4, 8: elements of
 *               a vector, of whose multiples all begin
 * Needs         OpenCL C 1.2; double for f64
 * Cost          src once, dst once or twice
 * Source        own */
#ifndef XL_VW
#define XL_VW 2
#endif
#ifndef VW
#define VW 1
#endif
#include "gemm/gemm.clh"

#define STRIDES(x)                                                            \
    ulong x##0, ulong x##1, ulong x##2, ulong x##3, ulong x##4, ulong x##5,   \
        ulong x##6

/* A division takes as long as many copies. */
#define OVER(i, n) ((n) == 1 ? (i) : (i) / (n))

__kernel void conv_rearrange(__global const ELEM(TA) *src, ulong off_src,
                             STRIDES(s), __global ELEM(TC) *dst,
                             ulong off_dst, STRIDES(d), uint items, uint n1,
                             uint n3, uint n5, uint n6, ulong mask,
                             ulong parts, ulong part, GEMM_LAST_PARAMS)
{
    const uint item = get_global_id(0);
    const uint row = get_global_id(1), box = get_global_id(2);
    if (item >= items)
        return;
    const uint line = OVER(item, n6), i6 = item - line * n6;
    const uint i4 = OVER(line, n5), i5 = line - i4 * n5;
    const uint i2 = row / n3, i3 = row - i2 * n3;
    const uint i0 = box / n1, i1 = box - i0 * n1;
    const ulong from = off_src + i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3 +
                       i4 * s4 + i5 * s5 + i6 * s6;
    const ulong at = off_dst + i0 * d0 + i1 * d1 + i2 * d2 + i3 * d3 +
                     i4 * d4 + i5 * d5 + i6 * d6;
    SUMV(VW) sum = (SUMV(VW))(0);
    if (mask >> (i3 * n5 + i5 & 63) & 1) {
        sum = LOADVA(VW, TA, src, from);
        for (ulong i = 1; i < parts; i++)
            sum += LOADVA(VW, TA, src, from + i * part);
    }
    const VALUEV(VW, TY) y = GEMM_YA(VW, sum, dst, at);
    GEMM_STORE(VW, A, dst, at, y, box, row, item);
}
