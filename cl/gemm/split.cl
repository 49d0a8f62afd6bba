/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      an operand X of f32 as a sum of planes P0, P1, ...
 *               of a narrower type with a factor for each line, X = factor (P0
 *               + P1 + ...). A line, a row of A or a column of B, runs along
 *               k. The factor is the power of two with which the largest of P0
 *               is in [2^TOP, 2^(TOP + 1)), or less where that factor would be
 *               subnormal: the remainder is below all bits of X then. P0 is X
 *               / factor, rounded, P1 what is left of it, rounded, ...
 *
 *                 STEP 0  gemm_split_clear    the words and the flag: 0
 *                 STEP 1  gemm_split_lines    contiguous along k: a group
 *                                             reads its line, then again from
 *                                             the cache, and writes planes
 *                 STEP 2  gemm_split_largest  contiguous across: a word
 *                                             a line,
 *                                             the bits of its largest value
 *                 STEP 3  gemm_split_across   their planes
 *
 *               Step 3 begins with the patches that step 2 read last, since
 *               the cache holds those. What is not finite sets the flag.
 * Arguments     STEP 0: words: base, place, number. Else x: base, offset,
 *               stride from line to line, along k, in elements; lines; k;
 *               words: base, the flag's place, the lines' (not of step 1).
 *               Then, not in step 2: factors: base, place; planes: base,
 *               place, elements from one to the next, from line to line (step
 *               3: from k to k); how far k is filled up with zeros, a multiple
 *               of DEPTH. Vectors of VX in planes are aligned
 * Launch        groups of WG. STEP 0: an item a word; STEP 1: a group a line;
 *               STEP 2, 3: a group COLS VX lines by DEPTH of k, 2-D
 * Local memory  STEP 1: 4 WG bytes; STEP 2: 4 VX WG; STEP 3: none
 * -D            STEP; FOR: the variant; PLANES 2, 3; TP their dtype
 *               1, 2; VX 1, 2, 4: vectors of X that are aligned and divide its
 *               contiguous size
 * Needs         OpenCL C 1.2
 * Cost          4 bytes of an element read, in steps 2 and 3 twice; 2 PLANES
 *               written
 * Source        Ootomo and Yokota 2022 (f16 parts, scaled); Henry, Tang and
 *               Heinecke 2019 (bf16 parts) */
#ifndef STEP
#define STEP 1
#endif
#ifndef PLANES
#define PLANES 2
#define TP 1
#endif
#ifndef VX
#define VX 1
#endif
#define WG 256
#define COLS 32  /* items along x in steps 2 and 3 */
#define DEPTH 64 /* rows of their patches */
#define ROWS (WG / COLS)

#define TOP 14    /* values that round up to 2^15 are still f16 */
#define LEAST 15u /* the least exponent, by f32's bits: factors are normal */
#define INFINITE 0x7f800000u

#include "common/types.clh"

#if VX == 1
#define VN
#elif VX == 2
#define VN 2
#else
#define VN 4
#endif
typedef XL_CAT(float, VN) vec;
typedef XL_CAT(uint, VN) words_vec;
typedef XL_CAT(ushort, VN) part_vec;

#define AS_FLOATS(x) XL_CAT(as_float, VN)(x)
#define WORDS_OF(x) (XL_CAT(as_uint, VN)(x) & 0x7fffffffu)
#if VX == 1
#define WORDS_AT(p) (*(p))
#else
#define WORDS_AT(p) XL_CAT(vload, VN)(0, p)
#endif

/* -- largest magnitudes --------------------------------------------------- */

#if VX == 1
#define LARGEST(w) (w)
#elif VX == 2
#define LARGEST(w) max((w).s0, (w).s1)
#else
#define LARGEST(w) max(max((w).s0, (w).s1), max((w).s2, (w).s3))
#endif

/* Sets the flag if a line is not finite. */
static inline void set_flag(__global uint *flag, uint word)
{
    if (word >= INFINITE)
        atomic_max(flag, 1u);
}

/* -- planes --------------------------------------------------------------- */

/* A line's factor by its word, as bits, and the inverse. */
#define FACTOR(word) ((max((word) >> 23, LEAST) - TOP) << 23)
#define INVERSE(word) ((254 + TOP - max((word) >> 23, LEAST)) << 23)

/* Rounds to the planes' type, and back. */
#if TP == 1
static inline part_vec to_part(vec x)
{
    part_vec bits;
    XL_CAT4(vstore_half, VN, _rte, )(x, 0, (half *)&bits);
    return bits;
}
static inline vec from_part(part_vec bits)
{
    return XL_CAT(vload_half, VN)(0, (const half *)&bits);
}
#else
#define to_part(x) XL_CAT(xl_to_bf16_, VX)(x)
#define from_part(bits) XL_CAT(xl_from_bf16_, VX)(bits)
#endif

static inline void store_planes(__global ushort *planes, ulong at, ulong plane,
                                vec x)
{
    #pragma unroll
    for (uint p = 0; p < PLANES; p++) {
        const part_vec bits = to_part(x);
        *(__global part_vec *)(planes + at + p * plane) = bits;
        x -= from_part(bits);
    }
}

#define X_PARAMS                                                              \
    __global const float *x, ulong off_x, ulong sx, ulong sk, ulong lines,    \
        ulong k, __global uint *words, ulong flag, ulong at_words
#define PLANE_PARAMS                                                          \
    __global float *factors, ulong at_factors, __global ushort *planes,       \
        ulong at_planes, ulong plane, ulong ld, ulong depth

#if STEP == 0
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
gemm_split_clear(__global uint *words, ulong at, ulong n)
{
    const ulong i = get_global_id(0);
    if (i < n)
        words[at + i] = 0;
}
#endif

/* -- operands contiguous along k ------------------------------------------ */

#if STEP == 1
/* The largest word over the group. */
static inline uint max_over_group(uint word, __local uint *room)
{
    const uint lid = (uint)get_local_id(0);
    room[lid] = word;
    for (uint n = WG / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < n)
            room[lid] = max(room[lid], room[lid + n]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return room[0];
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
gemm_split_lines(X_PARAMS, PLANE_PARAMS)
{
    __local uint room[WG];
    const ulong line = xl_group_id(0);
    const ulong first = get_local_id(0) * VX;
    words_vec most = (words_vec)(0);
    x += off_x + line * sx;
    #pragma unroll 4
    for (ulong i = first; i < k; i += WG * VX)
        most = max(most, WORDS_OF(LOADVA(VX, 0, x, i * sk)));
    const uint word = max_over_group(LARGEST(most), room);
    const float inverse = as_float(INVERSE(word));
    planes += at_planes + line * ld;
    #pragma unroll 4
    for (ulong i = first; i < depth; i += WG * VX) {
        vec v = (vec)(0);
        if (i < k)
            v = LOADVA(VX, 0, x, i * sk);
        store_planes(planes, i, plane, v * inverse);
    }
    if (first == 0) {
        factors[at_factors + line] = as_float(FACTOR(word));
        set_flag(words + flag, word);
    }
}
#endif

/* -- operands contiguous across ------------------------------------------- */

/* The item's first line, and its row in the patch. */
#define LINE ((xl_group_id(0) * COLS + get_local_id(0) % COLS) * VX)
#define ROW ((uint)get_local_id(0) / COLS)

#if STEP == 2
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
gemm_split_largest(X_PARAMS)
{
    __local words_vec room[WG];
    const uint lid = (uint)get_local_id(0);
    const ulong k0 = xl_group_id(1) * DEPTH + ROW;
    words_vec most = (words_vec)(0);
    x += off_x + min(LINE, lines - VX) * sx;
    #pragma unroll
    for (uint r = 0; r < DEPTH; r += ROWS) {
        if (k0 + r < k)
            most = max(most, WORDS_OF(LOADVA(VX, 0, x, (k0 + r) * sk)));
    }
    room[lid] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong line = xl_group_id(0) * (COLS * VX) + lid;
    if (lid >= COLS * VX || line >= lines)
        return;
    __local const uint *column = (__local const uint *)room + lid;
    uint word = 0;
    #pragma unroll
    for (uint r = 0; r < ROWS; r++)
        word = max(word, column[r * COLS * VX]);
    atomic_max(words + at_words + line, word);
    set_flag(words + flag, word);
}
#endif

#if STEP == 3
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
gemm_split_across(X_PARAMS, PLANE_PARAMS)
{
    const ulong line = LINE;
    const ulong k0 = depth - (xl_group_id(1) + 1) * DEPTH + ROW;
    const bool is_line = line < lines;
    words_vec word = (words_vec)(0);
    if (line >= ld)
        return;
    if (is_line)
        word = WORDS_AT(words + at_words + line);
    const vec inverse = AS_FLOATS(INVERSE(word));
    x += off_x + line * sx;
    planes += at_planes + line;
    #pragma unroll
    for (uint r = 0; r < DEPTH; r += ROWS) {
        vec v = (vec)(0);
        if (is_line && k0 + r < k)
            v = LOADVA(VX, 0, x, (k0 + r) * sk);
        store_planes(planes, (k0 + r) * ld, plane, v * inverse);
    }
    if (is_line && k0 == 0)
        STOREV(VX, 0, factors, at_factors + line,
               AS_FLOATS(FACTOR(word)));
}
#endif
