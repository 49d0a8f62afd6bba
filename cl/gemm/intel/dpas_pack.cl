/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      an operand of GEMM in tiles of the systolic matrix
 *               instruction, LINES beside each other along x (m of A, n of B),
 *               then those of the next step along k, then of the next LINES,
 *               filled up with zeros:
 *
 *               SIDE 0, A    word DPAS_WORDS i + w: row i of the tile
 *               SIDE 1, B    word DPAS_N w + i: column i
 *
 *               where w counts the words of DPAS_PACK elements along k. PAIRS:
 *               the two of a word are a pixel of two images, k counts the
 *               pixels of `each` images, `per_image` of one
 * Arguments     from: element (i, l) of product z, of `extent` by k, at off +
 *               z step + i sx + l sk; PAIRS: at off + step (image) + i sx + sk
 *               (pixel), of `images` in all; to: words, product z from first + z
 *               to_step on; lines of `line` words, a tile along x each
 * Launch        3-D: a word each, `line` along x; tiles along x; products
 * Local memory  none
 * -D            SIDE; LINES (1, the default) divides the tiles along x;
 *               PAIRS: 0 (the default), 1; DPAS_LANES, DPAS_T:
 *               common/intel/dpas.clh
 * Needs         OpenCL C 1.2
 * Cost          no flop; the operand is read and written once
 * Source        the definition */
#ifndef SIDE
#define SIDE 0
#endif
#ifndef LINES
#define LINES 1
#endif
#ifndef PAIRS
#define PAIRS 0
#endif
#include "common/intel/dpas.clh"

#if DPAS_T == 5
typedef uchar elem;
#else
typedef ushort elem;
#endif
#if SIDE == 0
#define EXTENT DPAS_M
#define TILE_WORDS DPAS_A_WORDS
#define INDEX(t) ((t) / DPAS_WORDS)
#define WORD(t) ((t) % DPAS_WORDS)
#else
#define EXTENT DPAS_N
#define TILE_WORDS DPAS_B_WORDS
#define INDEX(t) ((t) % DPAS_N)
#define WORD(t) ((t) / DPAS_N)
#endif

#if PAIRS
#define PAIRS_PARAMS                                                          \
    , const uint each, const uint images, const uint per_image
#else
#define PAIRS_PARAMS
#endif

__kernel void gemm_dpas_pack(__global const elem *restrict from,
                             const ulong off, const ulong sx, const ulong sk,
                             const ulong step, const ulong extent,
                             const ulong k, __global uint *restrict to,
                             const ulong first, const ulong to_step,
                             const ulong line PAIRS_PARAMS)
{
    const ulong at = get_global_id(0);
    const ulong tile = get_global_id(1), z = get_global_id(2);
    const uint t = (uint)(at % TILE_WORDS);
    const ulong i = tile * EXTENT + INDEX(t);
    const ulong l = at / TILE_WORDS * DPAS_K + WORD(t) * DPAS_PACK;
    uint word = 0;
    if (at >= line)
        return;
    if (i < extent) {
#if PAIRS
        const uint pixel = (uint)(l / DPAS_PACK), pair = pixel / per_image;
        const uint image = (uint)z * each + pair * DPAS_PACK;
        const ulong apart = step, left = l < k ? images - image : 0;
        from += off + image * step + i * sx + (pixel - pair * per_image) * sk;
#else
        const ulong apart = sk, left = max(k, l) - l;
        from += off + z * step + i * sx + l * sk;
#endif
        for (uint j = 0; j < DPAS_PACK; j++) {
            if (j < left)
                word |= (uint)from[j * apart] << (j * (32 / DPAS_PACK));
        }
    }
    const uint beside = (uint)(tile % LINES);
    to[first + z * to_step + (tile - beside) * line +
       (at / TILE_WORDS * LINES + beside) * TILE_WORDS + t] = word;
}
