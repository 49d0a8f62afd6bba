/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha S + beta C), S the sum over parts of k of
 *               what gemm/skinny.cl or gemm/skinny_thread.cl left, in order.
 * Arguments     parts: sums, [product][part][row][column], ld columns to a
 *               row, `lines` rows; C as in gemm/tiled.cl. The rest:
 *               gemm/gemm.clh
 * Launch        3-D: an item for each SPAN columns of a row, rows, products of
 *               the batch; any local size of one row
 * Local memory  none
 * -D            SPAN; TA, TC, TY, BATCH, OWN_ROWS, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          n_parts m n additions; the parts are read once
 * Source        the definition */
#ifndef SPAN
#define SPAN 1
#endif
#ifndef XL_VW
#define XL_VW 2
#endif
#include "gemm/gemm.clh"

__kernel void gemm_skinny_join(__global const SUM *restrict parts,
                               ulong n_parts, ulong lines, ulong ld,
                               __global ELEM(TC) *restrict c, ulong off_c,
                               ulong rs_c, ulong cs_c, ulong m, ulong n,
                               GEMM_LAST_PARAMS)
{
    const ulong i = get_global_id(1), z = get_global_id(2);
    const ulong j0 = get_global_id(0) * SPAN;
#if OWN_ROWS
    if (i >= GEMM_USED_M(z, 0, m))
        return;
    n = GEMM_USED_N(z, 0, n);
#endif
    parts += (z * n_parts * lines + i) * ld;
    for (ulong j = j0; j < j0 + SPAN && j < n; j++) {
        SUM x = 0;
        for (ulong q = 0; q < n_parts; q++)
            x += parts[q * lines * ld + j];
        const ulong at = off_c + GEMM_AT_C(z) + i * rs_c + j * cs_c;
        GEMM_STORE(1, , c, at, GEMM_Y(1, x, c, at), z, i, j);
    }
}
