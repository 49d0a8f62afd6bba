/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      to[z][i][l] = from[z](i, l): an operand of GEMM, contiguous
 *               along k, filled up with zeros to whole lines
 * Arguments     from: element (i, l) of product z, of `extent` by k, at off +
 *               z step + i sx + l sk; to: words, product z from first + z
 *               to_step on, lines of `line` words, a multiple of 4
 * Launch        3-D: 32 x 8 items a tile of 32 words (128 bytes) each way:
 *               tiles along i, along l, products
 * Local memory  UNIT 0: none; else 132 * 32 * E bytes, E elements in a word
 * -D            BYTES of an element: 1 2 4; UNIT: `from` is contiguous along k
 *               (0), across (1), neither (2); WORDS: its lines begin on words
 *               (1), or may not (0)
 * Needs         OpenCL C 1.2, work-groups of 256
 * Cost          no flop; the operand is read and written once
 * Source        the definition; blocks of E x E elements are transposed in
 *               registers, so that local memory is accessed in words */
#ifndef BYTES
#define BYTES 1
#endif
#ifndef UNIT
#define UNIT 1
#endif
#ifndef WORDS
#define WORDS 1
#endif
#include "common/types.clh"

#define SIDE 32 /* words of a tile */
#define ROWS 8
#define E (4 / BYTES)
#define PITCH (SIDE + 1) /* no two of a row, nor of a column, in one bank */

#if BYTES == 1
typedef uchar elem;
#elif BYTES == 2
typedef ushort elem;
#else
typedef uint elem;
#endif

/* Elements i, i + 1, ... of a line of n elements with stride `step`, as a
 * word; elements past the end are 0. whole: no element is past the end. */
static inline uint word_at(__global const elem *line, const ulong step,
                           const ulong i, const ulong n, const bool whole)
{
    uint word = 0;
#if WORDS
    if (whole || i + E <= n)
        return *(__global const uint *)(line + i);
#endif
    #pragma unroll
    for (uint e = 0; e < E; e++) {
        const uint x = line[(whole ? i + e : min(i + e, n - 1)) * step];
        word |= (whole || i + e < n ? x : 0u) << (8 * BYTES * e);
    }
    return word;
}

/* A tile of the operand in its own layout, and the size of the operand from
 * the tile's corner on. */
struct lines {
    __global const elem *from;
    ulong apart, step; /* strides of lines, of elements */
    ulong count, n;    /* number of lines, elements of each */
};

/* An item's share of a tile: E consecutive lines, then E lines ROWS E further
 * on; of each line the word with its lane's number. */
#define SHARE (SIDE * E / ROWS)
#define LINE(j) (((j) / E * ROWS + (uint)get_local_id(1)) * E + (j) % E)

static inline void load_share(uint *share, const struct lines *x,
                              const bool whole)
{
    const uint at = get_local_id(0) * E;
    #pragma unroll
    for (uint j = 0; j < SHARE; j++) {
        const ulong i = LINE(j);
        share[j] = whole || (i < x->count && at < x->n)
                       ? word_at(x->from + i * x->apart, x->step, at, x->n,
                                 whole)
                       : 0;
    }
}

#if UNIT != 0
/* Transposes a block of E x E elements in registers: words of E lines become
 * words of E elements. */
static inline void transpose_block(uint *w)
{
#if BYTES == 1
    const uint4 t = as_uint4(
        as_uchar16((uint4)(w[0], w[1], w[2], w[3])).s048c159d26ae37bf);
    w[0] = t.x;
    w[1] = t.y;
    w[2] = t.z;
    w[3] = t.w;
#elif BYTES == 2
    const uint2 t = as_uint2(as_ushort4((uint2)(w[0], w[1])).s0213);
    w[0] = t.x;
    w[1] = t.y;
#endif
}

/* Row r of the tile holds element ELEMENT(r). */
#define ELEMENT(r) ((r) % SIDE * E + (r) / SIDE)

static inline void store_transposed(__local uint *tile, uint *share)
{
    const uint lane = get_local_id(0);
    #pragma unroll
    for (uint j = 0; j < SHARE; j += E) {
        transpose_block(share + j);
        #pragma unroll
        for (uint e = 0; e < E; e++)
            tile[(e * SIDE + lane) * PITCH + LINE(j) / E] = share[j + e];
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(SIDE, ROWS, 1))) void
gemm_turn(__global const elem *restrict from, const ulong off, const ulong sx,
          const ulong sk, const ulong step, const ulong extent, const ulong k,
          __global uint *restrict to, const ulong first, const ulong to_step,
          const ulong line)
{
    const ulong i0 = xl_group_id(0) * SIDE * E, l0 = xl_group_id(1) * SIDE * E;
    const ulong z = xl_group_id(2);
    const ulong word = xl_group_id(1) * SIDE + get_local_id(0);
    from += off + z * step + i0 * sx + l0 * sk;
    to += first + z * to_step + i0 * line + word;
#if UNIT == 0
    const struct lines x = {from, sx, 1, extent - i0, k - l0};
#else
    const struct lines x = {from, sk, sx, k - l0, extent - i0};
#endif
    uint share[SHARE];
    if (x.count >= SIDE * E && x.n >= SIDE * E)
        load_share(share, &x, true);
    else
        load_share(share, &x, false);
#if UNIT == 0
#define ELEMENT_OF(j) LINE(j)
#define WORD_OF(j) share[j]
#else
    __local uint tile[E * SIDE * PITCH];
    store_transposed(tile, share);
    barrier(CLK_LOCAL_MEM_FENCE);
#define ROW(j) ((j) * ROWS + (uint)get_local_id(1))
#define ELEMENT_OF(j) ELEMENT(ROW(j))
#define WORD_OF(j) tile[ROW(j) * PITCH + get_local_id(0)]
#endif
    #pragma unroll
    for (uint j = 0; j < SHARE; j++) {
        const ulong i = ELEMENT_OF(j);
        if (i0 + i < extent && word < line)
            to[i * line] = WORD_OF(j);
    }
}
