/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     add: c[i] = a[i] + b[i] in f32, rounded the same on all
 *               devices.
 * Arguments:    a, b, c: n floats.
 * Launch:       one dimension, groups of WG. A group handles one run of WG *
 *               count floats, with items interleaved; elements beyond n are
 *               skipped.
 * Local memory: none.
 * -D:           WG  items of a group
 * Needs:        nothing.
 * Cost:         1 flop and 12 bytes per element.
 * Source:       STREAM's sum. */
#ifndef WG
#define WG 64
#endif

__kernel void add(__global const float *restrict a,
                  __global const float *restrict b, __global float *restrict c,
                  const uint n, const uint count)
{
    const uint group = (uint)get_global_id(0) / WG;
    const uint start = group * WG * count + (uint)get_global_id(0) % WG;
    for (uint j = 0; j < count; j++) {
        const uint i = start + j * WG;
        if (i < n)
            c[i] = a[i] + b[i];
    }
}
