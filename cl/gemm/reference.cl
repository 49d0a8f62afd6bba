/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C), by the definition:
 *               the result on a device with which others are compared.
 * Arguments     each matrix: base, offset, row stride, column stride, in
 *               elements; any strides. A is m x k, B is k x n, C is m x n.
 *               beta == 0: C is not read. The rest: gemm/gemm.clh
 * Launch        global (n rounded up to the local size, m, products of the
 *               batch); any local size of one row
 * Local memory  none
 * -D            TA, TB, TC, TY, BATCH, OWN_ROWS (0, 1), EPILOGUE:
 *               gemm/gemm.clh; scales: gemm/scales.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 m n k flop; A and B are read n and m times
 * Source        the definition */
#ifndef XL_VW
#define XL_VW 2
#endif
#include "gemm/gemm.clh"

__kernel void gemm_ref(__global const ELEM(TA) *a, ulong off_a, ulong rs_a,
                       ulong cs_a, __global const ELEM(TB) *b, ulong off_b,
                       ulong rs_b, ulong cs_b, __global ELEM(TC) *c,
                       ulong off_c, ulong rs_c, ulong cs_c, ulong n, ulong k,
                       GEMM_LAST_PARAMS)
{
    const ulong z = get_global_id(2);
    const ulong i = get_global_id(1);
    const ulong j = get_global_id(0);
    if (j >= n)
        return;
#if OWN_ROWS
    if (GEMM_USED(z, i, 1) == 0)
        return;
#endif
    a += off_a + GEMM_AT_A(z) + i * rs_a;
    b += off_b + GEMM_AT_B(z) + j * cs_b;
    GEMM_SCALES_BASE;
    GEMM_SCALES(z);
    SUM sum = 0;
    for (ulong l = 0; l < k; l++)
        sum = MUL_ADD(GEMM_SCALED_A(1, 0, LOAD(TA, a, l * cs_a), i, l),
                      GEMM_SCALED_B(1, 0, LOAD(TB, b, l * rs_b), j, l), sum);
    const ulong at = off_c + GEMM_AT_C(z) + i * rs_c + j * cs_c;
    GEMM_STORE(1, , c, at, GEMM_Y(1, sum, c, at), z, i, j);
}
