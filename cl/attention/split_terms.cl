/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     k and v of f32 as terms of f16: attention/split_terms.clh.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh): rows of k and v are
 *               contiguous and begin at multiples of 16 bytes; terms.
 * Launch:       3-D, local (256, 1, 1): a group a block of BK keys of k or v;
 *               2; heads of k times n_batch.
 * Local memory: 4 bytes.
 * -D:           BK; attention/attention.clh, D a multiple of 8.
 * Needs:        OpenCL C 1.2.
 * Cost:         k and v are read and written once.
 * Source:       Ootomo and Yokota 2022. */
#define MMA_T 1
#define TERMS 1
#include "attention/lines.clh"
#include "attention/split_terms.clh"
#include "common/subgroup.clh"

#ifndef BK
#define BK 64
#endif
enum { WG = 256, W = 4 };
#define CELLS (DP / W) /* vectors of a row */
#define HELD ((BK * CELLS + WG - 1) / WG)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH
void attention_terms(ATTENTION_PARAMS, __global ushort *terms)
{
    __local uint largest[1];
    const uint item = (uint)get_local_id(0), which = (uint)xl_group_id(1);
    const uint n_kv_heads = (uint)n.n_heads / (uint)n.share;
    const uint z = (uint)xl_group_id(2);
    const uint b = z / n_kv_heads, g = z % n_kv_heads;
    const uint n_blocks = (uint)((n.n_kv + BK - 1) / BK);
    const ulong j0 = xl_group_id(0) * BK;
    const struct view view = which ? at.v : at.k;
    __global const float *from = (which ? v : k) + ROW_AT(view, b, g, j0);
    __global ushort *head = terms + z * HEAD_ELEMS(n_blocks);
    __global ushort *to = head + which * KEYS_ELEMS(n_blocks) +
                          j0 * TERM_ELEMS;
    float4 x[HELD];
    uint word = 0;
    if (item == 0)
        largest[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (uint i = 0; i < HELD; i++) {
        const uint cell = i * WG + item, row = cell / CELLS;
        const uint col = cell % CELLS * W;
        x[i] = (float4)(0.0f);
        if (row < BK && j0 + row < n.n_kv && col < D)
            x[i] = *(__global const float4 *)(from + row * view.row + col);
        word = max(word, largest_word(x[i]));
    }
    atomic_max(largest, word);
    barrier(CLK_LOCAL_MEM_FENCE);
    word = largest[0];
    #pragma unroll
    for (uint i = 0; i < HELD; i++) {
        const uint cell = i * WG + item, row = cell / CELLS;
        const uint col = cell % CELLS * W;
        const struct terms t = terms_of(x[i] * INVERSE(word));
        if (row >= BK)
            continue;
        *(__global ushort4 *)(to + row * TERM_ELEMS + col) = t.high;
        *(__global ushort4 *)(to + row * TERM_ELEMS + DP + col) = t.low;
    }
    if (item == 0)
        ((__global float *)(FACTORS_OF(n_blocks, head) + xl_group_id(0)))
            [which] = FACTOR(word);
}
