/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     dst[offset + i] = word for 0 <= i < n.
 * Arguments:    dst: 32-bit words, any length; offset, n in words.
 * Launch:       one dimension, any size; items take consecutive chunks on
 *               CPUs (CHUNK = 1) and interleaved words elsewhere.
 * Local memory: none.
 * -D:           CHUNK  0: item i takes words i, i + items, ...
 *                      1: item i takes the i-th equal part
 * Needs:        nothing.
 * Cost:         4 n bytes written.
 * Source:       GE-06: the driver's own fill fails on large buffers. */
#ifndef CHUNK
#define CHUNK 0
#endif

__kernel void fill(__global uint *restrict dst, const ulong offset,
                   const uint word, const ulong n)
{
    const ulong items = get_global_size(0), item = get_global_id(0);
#if CHUNK
    const ulong each = (n + items - 1) / items;
    const ulong end = min(n, (item + 1) * each);
    for (ulong i = item * each; i < end; i++)
        dst[offset + i] = word;
#else
    for (ulong i = item; i < n; i += items)
        dst[offset + i] = word;
#endif
}
