/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, on matrix instructions of
 *               four warps, whose left operand is W in registers and whose
 *               right one is TM rows of A. The last warp's first item copies
 *               blocks of columns into a ring of ST stages; WR times WK groups
 *               of four warps multiply them, 64 rows of W each:
 *
 *                           columns, a stage
 *                         +---------+---------+--
 *                 64 rows |  four 0 |  four 2 |       WR = WK = 2
 *                 64 rows |  four 1 |  four 3 |
 *                         +---------+---------+--
 *
 *               Codes become exact pairs of 16-bit floats (quantised/pairs.clh)
 *               in the order in which they leave a word; A is in that order
 *               too (quantised/nvidia/order.clh). Sums of codes that share a
 *               scale are multiplied by it in f32; with ROUNDED weights are
 *               rounded to f16 ahead of the product. The sums of WK are added
 *               in order; with CUT those of PARTS of the stages go to scratch,
 *               which gemm/skinny_join.cl adds in order.
 * Arguments:    head: numbers, named below; their 128 bytes also align the map
 *               behind them (NV-32). W: pointer and map of rank 3, boxes of
 *               ROW_BYTES by ROWS, not swizzled. scratch: sums,
 *               [part][row of A][row of W]; A as quantised/nvidia/order.cl
 *               leaves it. PRODUCT_PARAMS (quantised/product.clh), of which
 *               A is not used.
 * Launch:       3-D, local (ITEMS, 1, 1); groups: ceil(n / ROWS),
 *               PARTS, ceil(m / TM).
 * Local memory: LOCAL_BYTES.
 * -D:           TM 16, 32, 64, 128, 256; WR, WK; ST; CUT; ROUNDED, of A in f16;
 *               GROUP_UNITS: quantised/skinny.cl, of int4 a multiple of 4;
 *               quantised/product.clh, FORMAT 0 or 8, TA 1 or 2;
 *               XL_SPIN_LIMIT: common/nvidia/tma.clh
 * Needs:        sm_90a
 * Cost:         2 m n k flop; W is read once for each TM rows of A, A once for
 *               each ROWS rows of W.
 * Source:       PTX ISA 9.0, 9.7.15; NV-30, NV-32; Frantar et al. 2024,
 *               "MARLIN". */
#define XL_MMA_PTX 1
#ifndef WR
#define WR 4
#define WK 1
#endif
#ifndef ST
#define ST 4
#endif
#ifndef CUT
#define CUT 0
#endif
#ifndef ROUNDED
#define ROUNDED 0
#endif
#include "quantised/nvidia/order.clh"
#include "quantised/right.clh"

#define TN TM
#define TI TA
#define UA 0
#define UB 0
#include "common/nvidia/tma.clh"
#include "common/nvidia/warp.clh"
#include "common/nvidia/wgmma_ptx.clh"

#define PLACE_W as_int2(head.s0) /* byte in its row, row */
#define STAGES (uint)head.s1     /* of all columns */
#define AT_A head.s2             /* first byte of A in scratch */

#define FOURS (WR * WK)
#define CONSUMERS (128 * FOURS)
/* Beside two fours of many sums the producer has four warps, most of whose
 * registers go to these (NV-29). */
#define MORE (FOURS == 2 && TM >= 128)
#define ITEMS (CONSUMERS + (MORE ? 128 : 32))
#define ROWS (64 * WR)
#define A_BYTES (WK * BLOCK_A)
#define PART_W (ROWS * ROW_BYTES)
#define STAGE (A_BYTES + WK * PART_W)
#define PITCH (ROWS + 4) /* no bank conflicts */
#define SUMS_BYTES (4 * WK * TM * PITCH)
#define BARS_AT (ST * STAGE > SUMS_BYTES ? ST * STAGE : SUMS_BYTES)
#define LOCAL_BYTES (BARS_AT + 2 * ST * 8)

/* -- codes to operands ---------------------------------------------------- */

#if ROUNDED
#define SCALED(pair, by) mma_pair_mul_add(pair, by, 0)
#define SUMS all
#define FIRST 1
#else
#define SCALED(pair, by) (pair)
#define SUMS d
#define FIRST 0
#endif

/* The operands of two instructions, of a word of codes of both of the item's
 * rows. They are there before wg_open(). */
#define EXPAND(e, v, w)                                                       \
    uint e##_0 = SCALED(low_codes(v, TWICE(0xfu), zero.x), by.x),             \
         e##_1 = SCALED(low_codes(w, TWICE(0xfu), zero.y), by.y),             \
         e##_2 = SCALED(high_codes(v, zero.x), by.x),                         \
         e##_3 = SCALED(high_codes(w, zero.y), by.y),                         \
         e##_4 = SCALED(low_codes((v) >> 8, TWICE(0xfu), zero.x), by.x),      \
         e##_5 = SCALED(low_codes((w) >> 8, TWICE(0xfu), zero.y), by.y),      \
         e##_6 = SCALED(high_codes((v) >> 8, zero.x), by.x),                  \
         e##_7 = SCALED(high_codes((w) >> 8, zero.y), by.y);                  \
    __asm volatile(""                                                         \
                   : "+r"(e##_0), "+r"(e##_1), "+r"(e##_2), "+r"(e##_3),      \
                     "+r"(e##_4), "+r"(e##_5), "+r"(e##_6), "+r"(e##_7))
/* 16 bytes from the block to 16 columns of it. */
#define STEP_OF(c) ((c) / 4 * (SPAN_A / 16) + (c) % 4 * 2)
#define MULTIPLY(sums, c, e, more)                                            \
    WG_MULTIPLY_FOUR(128, TM, sums, e##_0, e##_1, e##_2, e##_3, b,            \
                     STEP_OF(c), 0, more);                                    \
    WG_MULTIPLY_FOUR(128, TM, sums, e##_4, e##_5, e##_6, e##_7, b,            \
                     STEP_OF((c) + 1), 0, 1)

#define ADD_GROUP(d, g)                                                       \
    all##g##_0 = MUL_ADD(scale.x, d##g##_0, all##g##_0);                      \
    all##g##_1 = MUL_ADD(scale.x, d##g##_1, all##g##_1);                      \
    all##g##_2 = MUL_ADD(scale.y, d##g##_2, all##g##_2);                      \
    all##g##_3 = MUL_ADD(scale.y, d##g##_3, all##g##_3);

#if FORMAT == 0
/* Word t of block u of a row, at an even address. */
#define CODES(row, u)                                                         \
    ((u) % 2 ? *(__local const uint *)((row) + 18 * (u) + 2)                  \
             : *(__local const ushort *)((row) + 18 * (u) + 2) |              \
                   (uint)*(__local const ushort *)((row) + 18 * (u) + 4)      \
                       << 16)
#define BITS(row, u) *(__local const ushort *)((row) + 18 * (u))
#define BLOCK(d, u)                                                           \
    do {                                                                      \
        const uint2 zero = (uint2)8;                                          \
        const SCALE_BITS bits[2] = {                                          \
            BITS(lo, u), BITS(lo + 8 * ROW_BYTES, u)};                        \
        BY(bits);                                                             \
        const uint x = CODES(lo + 4 * t, u);                                  \
        const uint y = CODES(lo + 8 * ROW_BYTES + 4 * t, u);                  \
        EXPAND(e, x, y);                                                      \
        wg_open();                                                            \
        MULTIPLY(d, 2 * (u), e, FIRST);                                       \
        wg_close();                                                           \
    } while (0)
#define ADD(d, u)                                                             \
    do {                                                                      \
        const float2 scale =                                                  \
            (float2)(unit_scale(lo + 18 * (u), 0, 0),                         \
                     unit_scale(lo + 8 * ROW_BYTES + 18 * (u), 0, 0));        \
        WG_GROUPS(ADD_GROUP, d)                                               \
    } while (0)
/* Block u, while the sums of the one before are added. */
#define NEXT_BLOCK(d, u, before)                                              \
    BLOCK(d, u);                                                              \
    WG_WAIT_BUT_ONE(before);                                                  \
    ADD(before, (u) - 1)
#define ROUNDED_BLOCK(u)                                                      \
    BLOCK(all, u);                                                            \
    wg_wait_but_one()
#define ONE_BLOCK(u)                                                          \
    BLOCK(d, u);                                                              \
    WG_WAIT(d);                                                               \
    ADD(d, u)
#else
/* Word i of both rows. */
#define WORD(e, i, more)                                                      \
    EXPAND(e, x.s##i, y.s##i);                                                \
    wg_open();                                                                \
    MULTIPLY(SUMS, 2 * (i), e, more);                                         \
    wg_close()
/* Scales, as stored, and zeros of both rows in a block of columns, loaded a
 * stage before they are used. of: row j0, behind which they are. */
struct own {
    SCALE_BITS scale[2];
    uchar zero[2];
};
INLINED struct own load_own(const struct weights *of, const uint rows[2],
                            const uint block, const uint units,
                            const uint group)
{
    const uint at = group_of(min(block * (COLS / 32), units - 1), group);
    const uint groups = units / group;
    struct own x;
    #pragma unroll
    for (uint i = 0; i < 2; i++) {
        __global const SCALE_BITS *scale =
            (__global const SCALE_BITS *)of->scale;
        x.scale[i] = scale[rows[i] * groups + at];
        x.zero[i] = ZEROS ? of->zero[rows[i] * ((groups + 1) / 2) + at / 2] >>
                                at % 2 * 4 & 15
                          : 8;
    }
    return x;
}
#endif
#if ROUNDED
#define BY(bits) const uint2 by = (uint2)(TWICE((bits)[0]), TWICE((bits)[1]))
#else
#define BY(bits)
#endif

#define KEEP_GROUP(d, g)                                                      \
    {                                                                         \
        __local float *to_ = kept + 8 * (g) * PITCH;                          \
        to_[0] = d##g##_0;                                                    \
        to_[PITCH] = d##g##_1;                                                \
        to_[8] = d##g##_2;                                                    \
        to_[PITCH + 8] = d##g##_3;                                            \
    }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
qgemm_wgmma(const ulong16 head, __global const uchar *w, struct xl_map w_map,
            __global uchar *restrict scratch, PRODUCT_PARAMS)
{
    __local uchar mem[LOCAL_BYTES] __attribute__((aligned(1024)));
    const uint lid = (uint)get_local_id(0), lane = lid % 32, t = lane % 4;
    const uint ring = XL_LOCAL(mem);
    const uint full = ring + BARS_AT, empty = full + ST * 8;
    const uint j0 = (uint)get_group_id(0) * ROWS;
    const uint part = (uint)get_group_id(1), parts = (uint)get_num_groups(1);
    const uint first = part * STAGES / parts,
               end = (part + 1) * STAGES / parts;
    const uint four = xl_warpgroup(lid);
    XL_MAP(map, qgemm_wgmma, 1);
    if (lid == CONSUMERS) {
        xl_map_fetch(map);
        for (uint s = 0; s < ST; s++) {
            xl_bar_init(full + s * 8, 1);
            xl_bar_init(empty + s * 8, CONSUMERS / 32);
        }
        xl_bar_publish();
    }
    xl_named_sync(0, ITEMS);

    if (four == FOURS) {
#if MORE
        XL_GIVE_REGISTERS(40);
#endif
        if (lid > CONSUMERS)
            return;
        __global const uchar *from =
            scratch + AT_A + (ulong)get_group_id(2) * STAGES * A_BYTES;
        const int2 place = PLACE_W;
        uint s = 0, phase = 1;
        #pragma unroll 1
        for (uint u = first; u < end; u++) {
            const uint to = ring + s * STAGE, bar = full + s * 8;
            xl_bar_wait(empty + s * 8, phase);
            xl_bar_expect(bar, STAGE);
            #pragma unroll
            for (uint p = 0; p < WK; p++)
                xl_box_load(to + A_BYTES + p * PART_W, map, bar,
                            place.x + (int)((u * WK + p) * ROW_BYTES),
                            place.y + (int)j0, 0);
            xl_line_load(to, from + (ulong)u * A_BYTES, A_BYTES, bar);
            if (++s == ST) {
                s = 0;
                phase ^= 1;
            }
        }
        return;
    }

#if MORE
    XL_TAKE_REGISTERS(232);
#endif
    WG_SUMS(all);
#if !ROUNDED
    WG_SUMS(d);
#endif
#if FORMAT == 0 && !ROUNDED && TM <= 64
    WG_SUMS(f);
#endif
    const uint p = four / WR;
    const uint row = four % WR * 64 + lid / 32 % 4 * 16 + lane / 4;
#if FORMAT >= 8
    const struct weights of = WEIGHTS_ROW(j0);
    const uint rows[2] = {min(row, n - 1 - j0), min(row + 8, n - 1 - j0)};
    struct own own = load_own(&of, rows, first * WK + p, units, group);
#endif
    uint s = 0, phase = 0;
    #pragma unroll 1
    for (uint u = first; u < end; u++) {
        const uint b =
            WG_LOW(ring, 16) + (s * STAGE + p * BLOCK_A) / 16;
        __local const uchar *lo =
            mem + s * STAGE + A_BYTES + p * PART_W + row * ROW_BYTES;
#if FORMAT >= 8
        const struct own next =
            load_own(&of, rows, (u + 1) * WK + p, units, group);
#endif
        xl_bar_wait(full + s * 8, phase);
#if FORMAT == 0
#if ROUNDED
        BLOCK(all, 0);
        ROUNDED_BLOCK(1);
        ROUNDED_BLOCK(2);
        ROUNDED_BLOCK(3);
        ROUNDED_BLOCK(4);
        ROUNDED_BLOCK(5);
        ROUNDED_BLOCK(6);
        ROUNDED_BLOCK(7);
        WG_WAIT(all);
#elif TM <= 64
        BLOCK(d, 0);
        NEXT_BLOCK(f, 1, d);
        NEXT_BLOCK(d, 2, f);
        NEXT_BLOCK(f, 3, d);
        NEXT_BLOCK(d, 4, f);
        NEXT_BLOCK(f, 5, d);
        NEXT_BLOCK(d, 6, f);
        NEXT_BLOCK(f, 7, d);
        WG_WAIT(f);
        ADD(f, 7);
#else
        ONE_BLOCK(0);
        ONE_BLOCK(1);
        ONE_BLOCK(2);
        ONE_BLOCK(3);
        ONE_BLOCK(4);
        ONE_BLOCK(5);
        ONE_BLOCK(6);
        ONE_BLOCK(7);
#endif
#else
        const uint2 zero = (uint2)(own.zero[0], own.zero[1]);
        BY(own.scale);
        const uint4 x = *(__local const uint4 *)(lo + 16 * t);
        const uint4 y =
            *(__local const uint4 *)(lo + 8 * ROW_BYTES + 16 * t);
        WORD(e, 0, FIRST);
        WORD(g, 1, 1);
        WORD(h, 2, 1);
        WORD(i, 3, 1);
        WG_WAIT(SUMS);
#endif
        xl_bar_arrive(empty + s * 8, lane == 0);
#if FORMAT >= 8
#if !ROUNDED
        const float2 scale =
            (float2)(SCALE_OF(own.scale[0]), SCALE_OF(own.scale[1]));
        WG_GROUPS(ADD_GROUP, d)
#endif
        own = next;
#endif
        if (++s == ST) {
            s = 0;
            phase ^= 1;
        }
    }

    /* The ring's memory has the sums: [p][row of A][row of W]. */
    xl_named_sync(1, CONSUMERS);
    __local float *sums = (__local float *)mem;
    __local float *kept = sums + (p * TM + 2 * t) * PITCH + row;
    WG_GROUPS(KEEP_GROUP, all)
    xl_named_sync(1, CONSUMERS);
    const uint i0 = (uint)get_group_id(2) * TM;
#if CUT
    __global float *to = (__global float *)scratch + (ulong)part * m * n;
#endif
    #pragma unroll 1
    for (uint v = lid; v < ROWS * TM; v += CONSUMERS) {
        const uint r = v % ROWS, i = v / ROWS;
        float x = 0;
        #pragma unroll
        for (uint q = 0; q < WK; q++)
            x += sums[(q * TM + i) * PITCH + r];
        if (j0 + r >= n || i0 + i >= m)
            continue;
#if CUT
        to[(ulong)(i0 + i) * n + j0 + r] = x;
#else
        STORE_C(i0 + i, j0 + r, x, 0);
#endif
    }
}
