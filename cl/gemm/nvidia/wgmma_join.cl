/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha S + beta C) where S are the sums of tiles
 *               that gemm/nvidia/wgmma.cl left in parts, added in order of k
 * Arguments     head; C; scratch; the rest: gemm/gemm.clh
 * Launch        local 128, global that times 64 x 32 blocks of the tiles that
 *               were cut; 1-D
 * Local memory  8192
 * -D            as gemm/nvidia/wgmma.cl, CUT 1
 * Needs         OpenCL C 1.2
 * Cost          each part read once
 * Source        Osama et al. 2023, section 4, with a second launch for the
 *               sums (GE-25) */
#ifndef CUT
#define CUT 1
#endif
#include "gemm/nvidia/wgmma_tile.clh"

/* The group that computes a stage, counted over all tiles that are cut. */
static inline uint group_of(uint unit, uint4 cuts)
{
    const uint longer = cuts.w * (cuts.z + 1);
    return unit < longer ? unit / (cuts.z + 1)
                         : cuts.w + (unit - longer) / cuts.z;
}

#define BLOCKS ((TN + 31) / 32)

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
gemm_wgmma_join(const ulong16 head,
                __global ELEM(TC) *restrict c SCRATCH_PARAMS, GEMM_LAST_PARAMS)
{
    __local SUM mem[4 * KEPT_WORDS] __attribute__((aligned(16)));
    const uint lid = (uint)get_local_id(0), lane = lid % 32;
    const uint at = (uint)xl_group_id(0);
    const uint tile = at / (TM / 64 * BLOCKS), rest = at % (TM / 64 * BLOCKS);
    const uint slab = rest / BLOCKS, block = rest % BLOCKS;
    const uint units = COUNTS.y;
    const uint first = group_of(tile * units, CUTS);
    const uint last = group_of((tile + 1) * units - 1, CUTS);
    __global const sums4 *parts = (__global const sums4 *)(scratch + AT_SUMS);
    __local SUM *kept = mem + lid / 32 * KEPT_WORDS;
#if FLAG
    if (scratch[AT_FLAG] != 0)
        return;
#endif
    if (first == last)
        return; /* one group computed the whole tile */
    #pragma unroll
    for (uint i = 0; i < 4; i++) {
        const uint g = block * 4 + i;
        if (g < TN / 8) {
            sums4 sum = parts[SUMS_AT(first + tile, slab, g, lid)];
            for (uint part = first + 1; part <= last; part++)
                sum += parts[SUMS_AT(part + tile, slab, g, lid)];
            keep_sums(kept, lane, i, sum.x, sum.y, sum.z, sum.w);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const struct tile p = locate_tile(CUTS.x + tile, GRID, INVERSE);
    BLOCK_OF(b, p, OFF_C, LINE_C, SIZES, AT_ROWS, AT_COLS);
    b.row = slab * 64 + lid / 32 * 16;
    b.col = block * 32;
    store_block(kept, lane, c, &b SCALED_ARGS, GEMM_STORE_ARGS);
}
