/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the sum of all words that an item reads; stored only if it is
 *               `key`, which the host computes for item 0, so that no load
 *               can be removed and no store disturbs. A group reads
 *               `iterations` blocks one after the other, wrapping at the end
 *               of the set; groups start `hop` blocks apart:
 *
 *                 block    0   1   2   3   4   5   6   7
 *                 group 0  ------->
 *                 group 1  ->                  ---------
 *                 group 2          ------->
 *
 *               A small set is soon in every unit's first cache; a large one
 *               is evicted before a group returns to it.
 * Arguments:    src: blocks * WG * 4 * VEC random words. kept: one word. hop
 *               < blocks.
 * Launch:       one dimension, groups of WG.
 * Local memory: none.
 * -D:           WG      items of a group
 *               VEC     words of one access: 1 2 4 8 16
 * Needs:        nothing.
 * Cost:         iterations * WG * 4 * VEC * 4 bytes per group.
 * Source:       none. */
#ifndef WG
#define WG 64
#endif
#include "common/vector.clh"

__kernel void sweep(__global const words *restrict src,
                    __global uint *restrict kept, const uint blocks,
                    const uint hop, const uint iterations, const uint key)
{
    const uint group = (uint)get_global_id(0) / WG;
    uint block = (uint)(((ulong)group * hop) % blocks);
    /* A sum per access, so that no addition waits for another. */
    words a = (words)(0), b = a, c = a, d = a;
    for (uint t = 0; t < iterations; t++) {
        __global const words *at =
            src + block * (WG * 4) + (uint)get_global_id(0) % WG;
        a += at[0];
        b += at[WG];
        c += at[2 * WG];
        d += at[3 * WG];
        block = block + 1 < blocks ? block + 1 : 0;
    }
    const words sum = (a + b) + (c + d);
    const uint total = SUM(sum);
    if (total == key)
        kept[0] = total;
}
