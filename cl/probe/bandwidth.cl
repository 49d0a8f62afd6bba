/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     random:  dst[i] = mix(i + seed), incompressible words
 *               read:    the sum of all words that an item reads; stored only
 *                        if it is `key`, which the host computes for item 0,
 *                        so that no load can be removed and no store disturbs
 *               write:   dst[i] = scramble(i), incompressible at 3 operations
 *               copy:    dst[i] = src[i], `rounds` times; each round moves the
 *                        block by `hop` < blocks, so that the near cache of a
 *                        unit does not hold what the next round reads
 *               triad:   dst[i] = src[i] + factor * other[i]
 *               All on 32-bit integers: every bit pattern is valid, and none
 *               is slow.
 * Arguments:    src, other, dst: blocks * WG * count * VEC words. count: a
 *               multiple of UNROLL.
 * Launch:       one dimension, blocks * WG items, groups of WG. A group
 *               handles one block, with items interleaved, VEC words each:
 *
 *                 block b   | item 0 | item 1 | ... | item WG-1 | item 0 | ...
 *
 *               With WG 1 an item has one contiguous run, which is best on
 *               CPUs.
 * Local memory: none.
 * -D:           WG      items of a group
 *               VEC     words of one access: 1 2 4 8 16
 *               UNROLL  accesses in flight
 *               PAST    1: write, copy and triad store past the caches; CPUs
 *               APART   1: the UNROLL reads in flight are count / UNROLL
 *                       accesses of an item apart, for prefetchers that follow
 *                       a few streams each at its own pace; else adjacent
 *               ONLY    compile only this kernel: 1 random, 2 read, 3 write,
 *                       4 copy, 5 triad; 0 all. Drivers that keep binaries
 *                       compile all kernels
 * Needs:        nothing.
 * Cost:         read, write 4, copy 8, triad 12 bytes per word and round.
 * Source:       mix: common/vector.clh. */
#ifndef WG
#define WG 64
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef PAST
#define PAST 0
#endif
#ifndef APART
#define APART 0
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define WANTED(n) (ONLY == 0 || ONLY == n)

#if PAST && !defined(XL_IS_CPU)
#define XL_IS_CPU 1
#endif

#include "common/prefetch.clh"
#include "common/vector.clh"

#if PAST
#define PUT(x, p) XL_STREAM(x, p)
#else
#define PUT(x, p) (*(p) = (x))
#endif

/* The first access of this item in a block; buffers have fewer than 2^32
 * words. */
#define START(block, count)                                                   \
    ((block) * WG * (count) + (uint)get_global_id(0) % WG)
#define BLOCK ((uint)get_global_id(0) / WG)

#if WANTED(1)
__kernel void random(__global words *restrict dst, const uint count,
                     const uint seed)
{
    const uint start = START(BLOCK, count);
    for (uint j = 0; j < count; j++) {
        const uint at = start + j * WG;
        words x = (words)(at * VEC + seed) + IOTA;
        dst[at] = MIX(x);
    }
}
#endif

#if WANTED(2)
__kernel void read(__global const words *restrict src,
                   __global uint *restrict kept, const uint count,
                   const uint key)
{
    const uint start = START(BLOCK, count);
    words sum = (words)(0);
    for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++) {
            const uint at = APART ? j / UNROLL + u * (count / UNROLL) : j + u;
            sum += src[start + at * WG];
        }
    }
    const uint total = SUM(sum);
    if (total == key)
        kept[0] = total;
}
#endif

#if WANTED(3)
__kernel void write(__global words *restrict dst, const uint count)
{
    const uint start = START(BLOCK, count);
    for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++) {
            const uint at = start + (j + u) * WG;
            const words x = ((words)(at * VEC) + IOTA) * 0x9e3779b1u;
            PUT(x ^ (x >> 15), dst + at);
        }
    }
}
#endif

#if WANTED(4)
__kernel void copy(__global const words *restrict src,
                   __global words *restrict dst, const uint count,
                   const uint blocks, const uint hop, const uint rounds)
{
    uint block = BLOCK;
    for (uint r = 0; r < rounds; r++) {
        const uint start = START(block, count);
        for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
            for (uint u = 0; u < UNROLL; u++) {
                const uint at = start + (j + u) * WG;
                PUT(src[at], dst + at);
            }
        }
        block += hop;
        block -= block >= blocks ? blocks : 0;
    }
}
#endif

#if WANTED(5)
__kernel void triad(__global const words *restrict src,
                    __global const words *restrict other,
                    __global words *restrict dst, const uint count,
                    const uint factor)
{
    const uint start = START(BLOCK, count);
    for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++) {
            const uint at = start + (j + u) * WG;
            PUT(src[at] + factor * other[at], dst + at);
        }
    }
}
#endif
