/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     item i's sum of words of a read-only table: i, plus in
 *               iteration t the words
 *
 *                 base + (i * stride + t * hop) mod 2^lg_span + u * GAP
 *
 *               for u < UNROLL. With stride 0 all items of a group read the
 *               same word, with 1 adjacent items read adjacent words, with
 *               larger strides words on separate cache lines.
 * Arguments:    out: one word per item. table: random words, 2^lg_span +
 *               (UNROLL - 1) * GAP of them from `base` on. hop: odd.
 *               iterations: of the loop.
 * Launch:       one dimension, groups of WG.
 * Local memory: none.
 * -D:           WG      items of a group
 *               SPACE   memory of the table: 0 constant memory, 1 global
 * Needs:        nothing.
 * Cost:         4 UNROLL bytes per iteration and item.
 * Source:       CUDA C++ Programming Guide, "Constant memory": one word at a
 *               time, broadcast to all that read it. */
#ifndef WG
#define WG 64
#endif
#ifndef SPACE
#define SPACE 0
#endif
#define UNROLL 8
#define GAP 33 /* words: loads are not merged */

#if SPACE == 0
#define TABLE __constant uint *
#else
#define TABLE __global const uint *
#endif

__kernel void constant_read(__global uint *restrict out, TABLE restrict table,
                            const uint base, const uint lg_span,
                            const uint stride, const uint hop,
                            const uint iterations)
{
    const uint item = (uint)(get_global_id(0) % WG);
    const uint mask = (1u << lg_span) - 1;
    uint at = (item * stride) & mask, sum = item;
    for (uint t = 0; t < iterations; t++) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum += table[base + at + u * GAP];
        at = (at + hop) & mask;
    }
    out[get_global_id(0)] = sum;
}
