/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha S + beta C) where S are the sums of tiles
 *               that gemm/nvidia/wgmma.cl left in parts. A warp adds 16 rows
 *               and 16 columns; where there are many parts, SETS warps add as
 *               many each, in order of k, and the first adds their sums in this
 *               order
 * Arguments     head; C; scratch; the rest: gemm/gemm.clh
 * Launch        local 512, global 32 SETS times the blocks of the tiles that
 *               were cut, rounded up; 1-D
 * Local memory  32768
 * -D            as gemm/nvidia/wgmma.cl, CUT 1
 * Needs         OpenCL C 1.2
 * Cost          each part read once
 * Source        Osama et al. 2023, section 4, with a second launch for the
 *               sums (GE-25, NV-76) */
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

#define WARPS 16
#define BLOCKS ((TN + 15) / 16)

__kernel __attribute__((reqd_work_group_size(WARPS * 32, 1, 1))) void
gemm_wgmma_join(const ulong16 head,
                __global ELEM(TC) *restrict c SCRATCH_PARAMS, GEMM_LAST_PARAMS)
{
    __local SUM mem[WARPS * KEPT_WORDS] __attribute__((aligned(16)));
    const uint lid = (uint)get_local_id(0), lane = lid % 32, warp = lid / 32;
    const uint set = warp % SETS;
    const uint at = ((uint)xl_group_id(0) * WARPS + warp) / SETS;
    const uint tile = at / (TM / 16 * BLOCKS), rest = at % (TM / 16 * BLOCKS);
    const uint strip = rest / BLOCKS, block = rest % BLOCKS;
    const uint units = COUNTS.y;
    const uint first = group_of(tile * units, CUTS);
    const uint last = group_of((tile + 1) * units - 1, CUTS);
    /* Else one group computed the whole tile. */
    const bool is_cut = CUTS.x + tile < COUNTS.x && first < last;
    const uint n = is_cut ? last - first + 1 : 0;
    __global const sums4 *parts = (__global const sums4 *)(scratch + AT_SUMS);
    __local SUM *kept = mem + warp * KEPT_WORDS;
    sums4 sum[2] = {0, 0};
#if FLAG
    if (scratch[AT_FLAG] != 0)
        return;
#endif
    #pragma unroll 4
    for (uint i = n * set / SETS; i < n * (set + 1) / SETS; i++) {
        #pragma unroll
        for (uint g = 0; g < 2 && block * 2 + g < TN / 8; g++)
            sum[g] += parts[SUMS_AT(first + i + tile, strip / 4, block * 2 + g,
                                    strip % 4 * 32 + lane)];
    }
    if (set > 0) {
        ((__local sums4 *)kept)[lane] = sum[0];
        ((__local sums4 *)kept)[32 + lane] = sum[1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (set == 0) {
        for (uint i = 1; i < SETS; i++) {
            __local const sums4 *more =
                (__local const sums4 *)(kept + i * KEPT_WORDS);
            sum[0] += more[lane];
            sum[1] += more[32 + lane];
        }
        keep_sums(kept, lane, 0, sum[0].x, sum[0].y, sum[0].z, sum[0].w);
        keep_sums(kept, lane, 1, sum[1].x, sum[1].y, sum[1].z, sum[1].w);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_cut || set > 0)
        return;
    const struct tile p = locate_tile(CUTS.x + tile, GRID, INVERSE);
    BLOCK_OF(b, p, OFF_C, LINE_C, SIZES, AT_ROWS, AT_COLS);
    b.row = strip * 16;
    b.col = block * 16;
    b.rest.y = min(b.rest.y, b.col + 16);
    store_block(kept, lane, c, &b SCALED_ARGS, GEMM_STORE_ARGS);
}
