/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) by the systolic matrix
 *               instruction of a sub-group, without local memory: A and B were
 *               packed into tiles of it (gemm/intel/dpas_pack.cl), which block
 *               reads load. A sub-group has RM x RN tiles of sums in its
 *               registers, a work-group SM x SN sub-groups, which share what
 *               they read in the cache:
 *
 *                             TN = SN RN DPAS_N
 *                          +----+----+
 *                          |  B [k]  |
 *                          +----+----+
 *                   +-----++----+----+
 *     TM =          |A [k]||    |    |
 *     SM RM DPAS_M  |     |+----+----+
 *                   +-----++----+----+
 *
 *               The packed operands are zero past the edges of the matrices,
 *               so that only the store looks at them.
 *
 *               WINDOWS: rows of A are windows of images (gemm/windows/
 *               windows.clh), read where they lie, TK channels of a pixel at a
 *               time: an item locates a row or more, block reads load what
 *               it points to, and a mask clears pixels outside of the image.
 *               To pack windows of r x s would write and read the images r s
 *               times: lib/ops/gemm/engines/dpas.c
 *               WINDOWS 3: k counts windows, of images that were copied in
 *               pairs (gemm/windows/copy.cl), and columns of B are their
 *               elements: a word is one of both images, a block read loads
 *               those of RN instructions, and an item locates a window
 * Arguments     a, off_a, apart_a: packed A, in words; product z begins apart_a z
 *               words behind off_a. b likewise; then TILE_PARAMS
 *               (gemm/tile_order.clh). WINDOWS: a, off_a: images, in elements;
 *               struct windows; of 3 in place of b
 * Launch        1-D; local DPAS_LANES SM SN; global that times the tiles of all
 *               products
 * Local memory  none (XL_DPAS_EMULATED: 256 bytes a sub-group)
 * -D            RM at most 6, RN at most 4; SM SN; TM, TN: as above; TK a
 *               multiple of DPAS_K, to which k was padded; GR:
 *               gemm/tile_order.clh; WINDOWS: 0 (the
 *               default): none; then TK divides the channels of a pixel and is
 *               DPAS_K or twice that; 3: TK is a multiple of 2 DPAS_LANES, RN
 *               DPAS_N divides the words of a pixel; TA, TC, TY, BATCH, EPILOGUE: gemm/gemm.clh; DPAS_LANES, XL_DPAS_...:
 *               common/intel/dpas.clh
 * Needs         the instruction, or its emulation, which any device runs
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read
 * Source        IN-15 */
#ifndef RM
#define RM 4
#define RN 2
#define SM 2
#define SN 2
#define TM 64
#define TN 32
#define TK 32
#endif
#ifndef TA
#define TA 1
#endif
#ifndef WINDOWS
#define WINDOWS 0
#endif
#define XL_VW 2
#define DPAS_T TA
#if WINDOWS == 3
#define DPAS_COLUMNS RN
#define DPAS_STEPS (DPAS_LANES / 8)
#elif WINDOWS
#define DPAS_STEPS (TK * ELEM_BYTES(TA) / 32)
#endif
#include "gemm/gemm.clh"
#include "gemm/tile_order.clh"
#include "common/intel/dpas.clh"

#define ITEMS (DPAS_LANES * SM * SN)

#if WINDOWS
#include "gemm/windows/windows.clh"
#define CHUNK 16 /* bytes of windows.clh */
#endif

#if WINDOWS == 1 || WINDOWS == 2
/* Rows of a sub-group that an item locates. */
#define LOCATED ((RM * DPAS_M + DPAS_LANES - 1) / DPAS_LANES)

struct rows {
    struct window at[LOCATED];
    struct tap tap;
    uint from[LOCATED], mask[LOCATED];
    __global const uchar *images;
};

DPAS_INLINED void locate_rows(struct rows *x, const struct windows *v,
                              const uint first, const uint lines)
{
    DPAS_UNROLL
    for (uint i = 0; i < LOCATED; i++)
        x->at[i] = locate_window(v, first + i * DPAS_LANES, lines);
    x->tap = locate_tap(v, 0);
}

/* Where the next TK elements of the rows are. */
DPAS_INLINED void next_elements(struct rows *x, const struct windows *v)
{
    const struct pixel pixel = pixel_of(v, &x->tap);
    DPAS_UNROLL
    for (uint i = 0; i < LOCATED; i++) {
        x->mask[i] = PIXEL_BYTES(v, x->at[i], pixel) > 0 ? UINT_MAX : 0;
        x->from[i] = PIXEL_AT(x->at[i], pixel) * CHUNK & x->mask[i];
    }
    next_tap(v, &x->tap);
}

#define A_PARAMS                                                              \
    __global const uchar *restrict a, const ulong off_a,                      \
        const struct windows images
#define BEGIN_A()                                                             \
    struct rows rows;                                                         \
    rows.images = a + (off_a + GEMM_AT_A(p.z)) * ELEM_BYTES(TA);              \
    locate_rows(&rows, &images, (uint)p.m0 + sm * RM * DPAS_M + team.lane,    \
                (uint)m)
#define LOCATE_A() next_elements(&rows, &images)
#define NEXT_A()
#define LOAD_A(i, to)                                                          \
    dpas_gather_a(&team, rows.images, rows.from[(i) * DPAS_M / DPAS_LANES],   \
                  rows.mask[(i) * DPAS_M / DPAS_LANES],                       \
                  (i) * DPAS_M % DPAS_LANES, to)
#else
#define A_PARAMS                                                              \
    __global const uchar *restrict a, const uint off_a, const uint apart_a
#define BEGIN_A()                                                             \
    DPAS_CURSOR ga =                                                          \
        DPAS_BEGIN(a, off_a + p.z * apart_a +                                 \
                          ((uint)p.m0 / DPAS_M + sm * RM) * n_steps *         \
                              DPAS_A_BYTES);                                  \
    const uint end_a = (uint)(size_t)ga + n_steps * RM * DPAS_A_BYTES
#define LOCATE_A()
#define LOAD_A(i, to)                                                         \
    DPAS_UNROLL                                                               \
    for (uint l = 0; l < DPAS_STEPS; l++)                                     \
        (to)[l] = dpas_load_a(                                                \
            &team, DPAS_AT(a, ga, (l * RM + (i)) * DPAS_A_BYTES))
#define NEXT_A() ga += DPAS_STEPS * RM * DPAS_A_BYTES
#endif

/* Columns of a sub-group are of one pixel of the windows. */
#if WINDOWS == 3
#define B_PARAMS                                                              \
    __global const uchar *restrict b, const ulong off_b,                      \
        const struct windows images
#define BEGIN_B()                                                             \
    __global const uchar *gb = b + (off_b + GEMM_AT_B(p.z)) * ELEM_BYTES(TA); \
    const struct tap tap = locate_tap(                                        \
        &images, ((uint)p.n0 + sn * RN * DPAS_N) * 4 / CHUNK);                \
    const struct pixel pixel = pixel_of(&images, &tap)
#define NEXT_B()
#define LOAD_B(s, to)                                                         \
    do {                                                                      \
        const struct window at = locate_window(                               \
            &images, (s) * DPAS_WORDS + team.lane, (uint)k / DPAS_PACK);      \
        const uint mask = PIXEL_BYTES(&images, at, pixel) > 0 ? UINT_MAX : 0; \
        const uint from = PIXEL_AT(at, pixel) * CHUNK & mask;                 \
        DPAS_UNROLL                                                           \
        for (uint l = 0; l < DPAS_STEPS; l++)                                 \
            dpas_gather_b(&team, gb, from, mask, l * DPAS_WORDS, (to)[l]);    \
    } while (0)
#else
#define B_PARAMS                                                              \
    __global const uchar *restrict b, const uint off_b, const uint apart_b
#define BEGIN_B()                                                             \
    DPAS_CURSOR gb =                                                          \
        DPAS_BEGIN(b, off_b + p.z * apart_b +                                 \
                          ((uint)p.n0 / DPAS_N + sn * RN) * n_steps *         \
                              DPAS_B_BYTES)
#define LOAD_B(s, to)                                                         \
    DPAS_UNROLL                                                               \
    for (uint l = 0; l < DPAS_STEPS; l++) {                                   \
        DPAS_UNROLL                                                           \
        for (uint j = 0; j < RN; j++)                                         \
            (to)[l][j] = dpas_load_b(                                         \
                &team, DPAS_AT(b, gb, (l * RN + j) * DPAS_B_BYTES));          \
    }
#define NEXT_B() gb += DPAS_STEPS * RN * DPAS_B_BYTES
#endif

/* Where both operands are packed, the place in A serves as the counter. */
#if WINDOWS
#define EACH_STEP for (uint s = 0; s < n_steps; s += DPAS_STEPS)
#else
#define EACH_STEP while ((uint)(size_t)ga != end_a)
#endif

/* A tile of sums, row by row, so that one address is alive at a time. Written
 * out: what a compiler does not unroll, since it is long, leaves the sums in
 * memory. */
#define STORE_ROW(i, j, e)                                                    \
    if (row0 + i * DPAS_M + e < p.rest_m)                                     \
        GEMM_STORE(1, , c, to, GEMM_Y(1, sum[i][j].s##e, c, to), p.z,         \
                   p.m0 + row0 + i * DPAS_M + e, p.n0 + col);                 \
    to += rs_c;
#define STORE_TILE(i, j)                                                      \
    if (i < RM) {                                                             \
        STORE_ROW(i, j, 0)                                                    \
        STORE_ROW(i, j, 1)                                                    \
        STORE_ROW(i, j, 2)                                                    \
        STORE_ROW(i, j, 3)                                                    \
        STORE_ROW(i, j, 4)                                                    \
        STORE_ROW(i, j, 5)                                                    \
        STORE_ROW(i, j, 6)                                                    \
        STORE_ROW(i, j, 7)                                                    \
    }
#define STORE_COLUMN(j)                                                       \
    if (j < RN) {                                                             \
        const uint col = (sn * RN + j) * DPAS_N + team.lane;                  \
        const uint row0 = sm * RM * DPAS_M;                                   \
        ulong to = off_c + GEMM_AT_C(p.z) + (p.m0 + row0) * rs_c +            \
                   (p.n0 + col) * cs_c;                                       \
        if (col < p.rest_n) {                                                 \
            STORE_TILE(0, j) STORE_TILE(1, j) STORE_TILE(2, j)                \
            STORE_TILE(3, j) STORE_TILE(4, j) STORE_TILE(5, j)                \
        }                                                                     \
    }

/* The RM tiles of A of a sub-group at a step along k are beside each other, then
 * those of the next step; so the RN of B. */
__kernel DPAS_ATTRIBUTE __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void gemm_dpas(A_PARAMS, B_PARAMS, TILE_PARAMS)
{
    DPAS_TEAM(team, ITEMS);
    const struct tile p = locate_tile(GROUP, tiles_m, tiles_n, m, n);
    const uint sm = team.number % SM, sn = team.number / SM;
    const uint n_steps = (uint)((k - 1) / TK + 1) * (TK / DPAS_K);
    BEGIN_A();
    BEGIN_B();
    dpas_c sum[RM][RN];
    DPAS_UNROLL
    for (uint i = 0; i < RM; i++) {
        DPAS_UNROLL
        for (uint j = 0; j < RN; j++)
            sum[i][j] = 0;
    }
    EACH_STEP {
        dpas_a fa[DPAS_STEPS];
        dpas_b fb[DPAS_STEPS][RN];
        LOAD_B(s, fb);
        LOCATE_A();
        DPAS_UNROLL
        for (uint i = 0; i < RM; i++) {
            LOAD_A(i, fa);
            DPAS_UNROLL
            for (uint l = 0; l < DPAS_STEPS; l++) {
                DPAS_UNROLL
                for (uint j = 0; j < RN; j++)
                    dpas(&team, &sum[i][j], fa[l], fb[l][j]);
            }
        }
        NEXT_A();
        NEXT_B();
    }

    STORE_COLUMN(0)
    STORE_COLUMN(1)
    STORE_COLUMN(2)
    STORE_COLUMN(3)
}
