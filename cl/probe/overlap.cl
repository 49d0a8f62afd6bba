/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     work: out[i] = x after `iterations` of x = x * x + 2 i + 1 in
 *               32-bit integers, from x = in[i]: a kernel of a chosen
 *               duration that no compiler can shorten, since the map is
 *               quadratic, and whose result is wrong if `in` came too late.
 * Arguments:    in, out: words `first` to first + groups * WG * count; i is
 *               counted from word 0. They do not overlap.
 * Launch:       one dimension, groups of WG. A group handles one run of WG *
 *               count words, with items interleaved.
 * Local memory: none.
 * -D:           WG  items of a group
 * Needs:        nothing.
 * Cost:         2 iterations integer operations and 8 bytes per word.
 * Source:       the host computes the same to check it (transfers.c). */
#ifndef WG
#define WG 64
#endif

__kernel void work(__global const uint *restrict in, __global uint *restrict out,
                   const uint first, const uint count, const uint iterations)
{
    const uint lane = (uint)get_global_id(0) % WG;
    const uint start = first + (uint)get_global_id(0) / WG * WG * count + lane;
    for (uint j = 0; j < count; j++) {
        const uint i = start + j * WG;
        const uint c = 2 * i + 1;
        uint x = in[i];
        for (uint t = 0; t < iterations; t++)
            x = x * x + c;
        out[i] = x;
    }
}
