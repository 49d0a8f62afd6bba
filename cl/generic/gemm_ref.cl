/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = alpha A B + beta C, the plainest way: the truth on a
 *               device against which other kernels are looked at.
 * Arguments     each matrix: base, offset, row stride, column stride, in
 *               elements; any strides. A is m x k, B is k x n, C is m x n.
 *               beta == 0: C is not read.
 * Launch        global (n rounded up to the local size, m); any local size.
 * Local memory  none
 * -D            TA: dtype of A and B; TC: dtype of C (types.clh)
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; A and B are read n and m times
 * Source        the definition */
#include "types.clh"

#ifndef TA
#define TA 0
#endif
#ifndef TC
#define TC 0
#endif

__kernel void gemm_ref(__global const ELEM(TA) *a, ulong off_a, ulong rs_a,
                       ulong cs_a, __global const ELEM(TA) *b, ulong off_b,
                       ulong rs_b, ulong cs_b, __global ELEM(TC) *c,
                       ulong off_c, ulong rs_c, ulong cs_c, ulong n, ulong k,
                       float alpha, float beta)
{
    const ulong i = get_global_id(1);
    const ulong j = get_global_id(0);
    if (j >= n)
        return;
    a += off_a + i * rs_a;
    b += off_b + j * cs_b;
    float sum = 0.0f;
    for (ulong l = 0; l < k; l++)
        sum = fma(LOAD(TA, a, l * cs_a), LOAD(TA, b, l * rs_b), sum);
    const ulong at = off_c + i * rs_c + j * cs_c;
    sum *= alpha;
    if (beta != 0.0f)
        sum = fma(beta, LOAD(TC, c, at), sum);
    STORE(TC, c, at, sum);
}
