/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     a checksum of the words that an item reads, s = rotate(s, 1)
 *               + word; stored only if it is `key`, which the host computes
 *               for item 0, so that no load can be removed and no store
 *               disturbs. The rotation keeps compilers for CPUs from merging
 *               loads into one gather instruction. The word of access i:
 *
 *               stride:  row r = i mod 2^lg_rows, pass p = i / 2^lg_rows: word
 *                        r * stride + frac(p * 0.618...) * stride + offset.
 *                        Adjacent items are `stride` apart; later passes fill
 *                        the gaps, in golden-ratio order, so that what a pass
 *                        fetched around a word is evicted before another pass
 *                        comes near:
 *
 *                          stride 8   0 . . . . . . . 0 . . . . . . . 0
 *                                     0 . . . 1 . . . 0 . . . 1 . . . 0
 *
 *               vector:  words i * VEC .. i * VEC + VEC - 1 in one access.
 *               gather:  word permute(i): a bijection of 2^lg_rows words that
 *                        looks random; there is no index array.
 * Arguments:    src: random words. kept: one word. count: accesses per item,
 *               a multiple of UNROLL; the other arguments as above. 2^lg_rows
 *               >= WG * UNROLL, so that the accesses of one loop iteration
 *               are in one pass and cost one addition each.
 * Launch:       one dimension, groups of WG; a group makes WG * count
 *               consecutive accesses, with items interleaved.
 * Local memory: none.
 * -D:           WG, VEC (of vector: 1 2 4 8 16), UNROLL; ONLY: compile only
 *               this kernel: 1 stride, 2 vector, 3 gather; 0 all.
 * Needs:        nothing.
 * Cost:         stride, gather 4, vector 4 VEC useful bytes per access.
 * Source:       golden-ratio sequences: J. H. Conway's three-gap theorem. */
#ifndef WG
#define WG 64
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define WANTED(n) (ONLY == 0 || ONLY == n)

#include "common/vector.clh"

#define GOLDEN 0x9e3779b9u

/* The number of this item's first access; the next is WG further. */
#define FIRST(count)                                                          \
    ((uint)(get_global_id(0) / WG) * WG * (count) +                           \
     (uint)get_global_id(0) % WG)

#if WANTED(1)
__kernel void stride(__global const uint *restrict src,
                     __global uint *restrict kept, const uint count,
                     const uint key, const uint lg_rows, const uint step,
                     const uint offset)
{
    const uint first = FIRST(count), mask = (1u << lg_rows) - 1;
    uint sum = 0;
    for (uint j = 0; j < count; j += UNROLL) {
        const uint i = first + j * WG;
        const uint gap = mul_hi((i >> lg_rows) * GOLDEN, step);
        const uint at = (i & mask) * step + gap + offset;
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum = rotate(sum, 1u) + src[at + u * WG * step];
    }
    if (sum == key)
        kept[0] = sum;
}
#endif

#if WANTED(2)
__kernel void vector(__global const words *restrict src,
                     __global uint *restrict kept, const uint count,
                     const uint key)
{
    const uint first = FIRST(count);
    words sum = (words)(0);
    for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum = rotate(sum, (words)(1)) + src[first + (j + u) * WG];
    }
    const uint total = SUM(sum);
    if (total == key)
        kept[0] = total;
}
#endif

#if WANTED(3)
/* Multiplications by odd factors and right shifts with xor are bijections of
 * lg bits. */
static inline uint permute(uint i, const uint lg)
{
    const uint mask = (1u << lg) - 1, half_lg = (lg + 1) / 2;
    i = (i * 0x2c1b3c6du + 0x5bd1e995u) & mask;
    i ^= i >> half_lg;
    i = (i * 0x297a2d39u) & mask;
    i ^= i >> half_lg;
    i = (i * 0x7feb352du) & mask;
    return i ^ (i >> half_lg);
}

__kernel void gather(__global const uint *restrict src,
                     __global uint *restrict kept, const uint count,
                     const uint key, const uint lg_rows)
{
    const uint first = FIRST(count);
    uint sum = 0;
    for (uint j = 0; j < count; j += UNROLL) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum = rotate(sum, 1u) +
                  src[permute(first + (j + u) * WG, lg_rows)];
    }
    if (sum == key)
        kept[0] = sum;
}
#endif
