/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     A in the order of quantised/nvidia/order.clh: blocks of COLS
 *               columns of TM rows behind one another, those of the first TM
 *               rows first. What is behind A's last row or column is 0.
 * Arguments:    A, m x k, contiguous columns, rows at multiples of 16 bytes:
 *               offset of the first element, elements from row to row; m; k, a
 *               multiple of 8; blocks of a row; the result, offset of its
 *               first byte.
 * Launch:       2-D: at least an item for each 32 columns of the blocks; rows,
 *               a multiple of TM; any local size of one row.
 * Local memory: none.
 * -D:           FORMAT, TM: quantised/nvidia/order.clh.
 * Needs:        OpenCL C 1.2.
 * Cost:         A is read and written once.
 * Source:       Frantar et al. 2024, "MARLIN" (there W is in such an order). */
#include "quantised/nvidia/order.clh"

__kernel void qgemm_order(__global const ushort *restrict a, const ulong off_a,
                          const ulong rs_a, const uint m, const uint k,
                          const uint blocks, __global uchar *restrict to,
                          const ulong off_to)
{
    const uint u = (uint)get_global_id(0), i = (uint)get_global_id(1);
    const uint block = u / (COLS / 32), run = u % (COLS / 32);
    ushort x[32];
    if (block >= blocks)
        return;
    #pragma unroll
    for (uint t = 0; t < 4; t++) {
        const uint col = block * COLS + RUN_COL(run, t);
        const ushort8 part =
            i < m && col < k
                ? *(__global const ushort8 *)(a + off_a + i * rs_a + col)
                : (ushort8)0;
        vstore8(part, t, x);
    }
    to += off_to + ((ulong)(i / TM) * blocks + block) * BLOCK_A;
    #pragma unroll
    for (uint q = 0; q < 4; q++) {
        ushort8 y;
        #pragma unroll
        for (uint t = 0; t < 4; t++) {
            ((ushort *)&y)[2 * t] = x[RUN_ELEM(t, q, 0)];
            ((ushort *)&y)[2 * t + 1] = x[RUN_ELEM(t, q, 1)];
        }
        *(__global ushort8 *)(to + PIECE_AT(i % TM, 4 * run + q)) = y;
    }
}
