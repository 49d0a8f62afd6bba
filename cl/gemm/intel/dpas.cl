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
 * Arguments     a, off_a, apart_a: packed A, in words; product z begins apart_a z
 *               words behind off_a. b likewise; then TILE_PARAMS
 *               (gemm/tile_order.clh)
 * Launch        1-D; local DPAS_LANES SM SN; global that times the tiles of all
 *               products
 * Local memory  none (XL_DPAS_EMULATED: 256 bytes a sub-group)
 * -D            RM, RN 1, 2 or 4; SM SN; TM, TN: as above; TK a multiple of DPAS_K, to
 *               which k was padded; GR: gemm/tile_order.clh; TA, TC, TY,
 *               BATCH, EPILOGUE: gemm/gemm.clh; DPAS_LANES, XL_DPAS_...:
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
#define XL_VW 2
#define DPAS_T TA
#include "gemm/gemm.clh"
#include "gemm/tile_order.clh"
#include "common/intel/dpas.clh"

#define ITEMS (DPAS_LANES * SM * SN)

/* A tile of sums, row by row, so that one address is alive at a time. Written
 * out up to 4 x 4 of them: what a compiler does not unroll, since it is long,
 * leaves the sums in memory. */
#define STORE_ROW(i, j, e)                                                    \
    if (row0 + i * DPAS_M + e < p.rest_m)                                     \
        GEMM_STORE(1, , c, to, GEMM_Y(1, sum[i][j].s##e, c, to), p.z,         \
                   p.m0 + row0 + i * DPAS_M + e, p.n0 + col);                 \
    to += rs_c;
#define STORE_TILE(i, j)                                                      \
    STORE_ROW(i, j, 0)                                                        \
    STORE_ROW(i, j, 1)                                                        \
    STORE_ROW(i, j, 2)                                                        \
    STORE_ROW(i, j, 3)                                                        \
    STORE_ROW(i, j, 4)                                                        \
    STORE_ROW(i, j, 5)                                                        \
    STORE_ROW(i, j, 6)                                                        \
    STORE_ROW(i, j, 7)
#if RM == 1
#define STORE_TILES(j) STORE_TILE(0, j)
#elif RM == 2
#define STORE_TILES(j) STORE_TILE(0, j) STORE_TILE(1, j)
#else
#define STORE_TILES(j)                                                        \
    STORE_TILE(0, j) STORE_TILE(1, j) STORE_TILE(2, j) STORE_TILE(3, j)
#endif
#define STORE_COLUMN(j)                                                       \
    do {                                                                      \
        const uint col = (sn * RN + j) * DPAS_N + team.lane;                  \
        const uint row0 = sm * RM * DPAS_M;                                   \
        ulong to = off_c + GEMM_AT_C(p.z) + (p.m0 + row0) * rs_c +            \
                   (p.n0 + col) * cs_c;                                       \
        if (col < p.rest_n) {                                                 \
            STORE_TILES(j)                                                    \
        }                                                                     \
    } while (0)

/* Tiles of A below each other, and of B side by side, are `line` words
 * apart. */
__kernel DPAS_ATTRIBUTE __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void gemm_dpas(__global const uchar *restrict a, const uint off_a, const uint apart_a,
               __global const uchar *restrict b, const uint off_b,
               const uint apart_b, TILE_PARAMS)
{
    DPAS_TEAM(team, ITEMS);
    const struct tile p = locate_tile(GROUP, tiles_m, tiles_n, m, n);
    const uint sm = team.number % SM, sn = team.number / SM;
    const uint n_steps = (uint)((k - 1) / TK + 1) * (TK / DPAS_K);
    const uint line_a = n_steps * DPAS_A_BYTES;
    const uint line_b = n_steps * DPAS_B_BYTES;
    uint ga = DPAS_UNIFORM(off_a + p.z * apart_a +
                           ((uint)p.m0 / DPAS_M + sm * RM) * line_a);
    uint gb = DPAS_UNIFORM(off_b + p.z * apart_b +
                           ((uint)p.n0 / DPAS_N + sn * RN) * line_b);
    dpas_c sum[RM][RN];
    DPAS_UNROLL
    for (uint i = 0; i < RM; i++) {
        DPAS_UNROLL
        for (uint j = 0; j < RN; j++)
            sum[i][j] = 0;
    }
    for (uint s = 0; s < n_steps; s++) {
        dpas_a fa[RM];
        dpas_b fb[RN];
        DPAS_UNROLL
        for (uint j = 0; j < RN; j++)
            fb[j] = dpas_load_b(&team, b + (gb + j * line_b));
        DPAS_UNROLL
        for (uint i = 0; i < RM; i++)
            fa[i] = dpas_load_a(&team, a + (ga + i * line_a));
        DPAS_UNROLL
        for (uint i = 0; i < RM; i++) {
            DPAS_UNROLL
            for (uint j = 0; j < RN; j++)
                dpas(&team, &sum[i][j], fa[i], fb[j]);
        }
        ga += DPAS_A_BYTES;
        gb += DPAS_B_BYTES;
    }

    STORE_COLUMN(0);
#if RN > 1
    STORE_COLUMN(1);
#endif
#if RN > 2
    STORE_COLUMN(2);
    STORE_COLUMN(3);
#endif
}
