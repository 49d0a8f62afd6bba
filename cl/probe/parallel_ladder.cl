/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the first `count` tiles, of TM x TN elements and along rows,
 *               of C = A B, N x N each. Tiles are assigned to items
 *               cyclically.
 *               MODE 1: an item computes VEC adjacent elements of a row (TM
 *               1, TN VEC) by the plain definition: no tiling, no reuse.
 *               MODE 2: a group computes 64 x 64 by a sub-group's matrix
 *               instructions, four sub-groups 32 x 32 each, with slices of A
 *               and B in local memory.
 *               MODE 3: likewise by the systolic instruction, whose operands
 *               block reads load from memory.
 * Arguments:    a, b: rows of LD elements, f32 (MODE 1) or f16 (MODE 2); MODE
 *               3: f16 in tiles, one behind the other along k, then along rows
 *               of A or columns of B (gemm/intel/dpas_pack.cl). c: rows of N
 *               floats. count: of tiles.
 * Launch:       one dimension, any size; local size of MODE 2 4 MMA_LANES, of
 *               MODE 3 4 DPAS_LANES.
 * Local memory: MODE 2: 16 KiB; emulated, 3 KiB more. MODE 3: emulated, 1 KiB.
 * -D:           MODE; N; LD a multiple of 16, not a power of 2, so that a
 *                     column is not in one set of a cache
 *               VEC   1 2 4 8 16
 *               XL_MMA_..., MMA_FRAGMENTS_...   MODE 2: common/matrix.clh
 *               XL_DPAS_..., DPAS_LANES   MODE 3: common/intel/dpas.clh
 * Needs:        MODE 2, 3: a matrix engine, or its emulation, which any device
 *               runs.
 * Cost:         2 N TM TN count flop.
 * Source:       common/matrix.clh, common/intel/dpas.clh. */
#ifndef MODE
#define MODE 1
#endif
#ifndef N
#define N 1024
#define LD (N + 16)
#endif
#ifndef VEC
#define VEC 1
#endif

#include "common/types.clh"

#if MODE == 1
__kernel void ladder(__global const float *restrict a,
                     __global const float *restrict b,
                     __global float *restrict c, const uint count)
{
    const uint first = (uint)get_global_id(0);
    for (uint tile = first; tile < count; tile += get_global_size(0)) {
        const uint row = tile / (N / VEC), col = tile % (N / VEC) * VEC;
        FLOATV(VEC) sum = 0;
        for (uint k = 0; k < N; k++)
            sum += a[row * LD + k] *
                   *(__global const FLOATV(VEC) *)(b + k * LD + col);
        *(__global FLOATV(VEC) *)(c + row * N + col) = sum;
    }
}
#endif

#if MODE == 2
#define MMA_T 1
#include "common/matrix.clh"

#define ITEMS (4 * MMA_LANES)
#define TILE 64
#define TK 64                 /* depth of a slice */
#define LINE (TK * 2)         /* bytes: of A along k, of B across, or along */
#define SLICE (TILE * LINE)   /* of each operand */
#define PART (TILE / 2)       /* rows and columns of a sub-group */
#define MI (PART / MMA_M)
#define NI (PART / MMA_N)
#define EACH 8                /* elements in 16 bytes */
#define CHUNKS (LINE / 16)

/* Stores 16 bytes of row k of B, from column 8 chunk on. */
#ifdef MMA_VIA_REGISTERS
#define LOAD_B mma_load_b_along
#define STORE_B(k, chunk, x)                                                  \
    do {                                                                      \
        const ushort8 all = as_ushort8(x);                                    \
        const ushort one[EACH] = {all.s0, all.s1, all.s2, all.s3,             \
                                  all.s4, all.s5, all.s6, all.s7};            \
        MMA_UNROLL                                                            \
        for (uint e = 0; e < EACH; e++)                                       \
            *(__local ushort *)(slices + SLICE +                              \
                                MMA_AT_ALONG(LINE, (chunk) * EACH + e,        \
                                             (k) / EACH) +                    \
                                (k) % EACH * 2) = one[e];                     \
    } while (0)
#else
#define LOAD_B mma_load_b_across
#define STORE_B(k, chunk, x)                                                  \
    *(__local uint4 *)(slices + SLICE + MMA_AT_ACROSS(LINE, k, chunk)) = x
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void ladder(__global const ushort *restrict a,
            __global const ushort *restrict b, __global float *restrict c,
            const uint count)
{
    __local uchar slices[2 * SLICE] __attribute__((aligned(128)));
    MMA_TEAM(team, ITEMS);
    const uint at = (uint)get_local_id(0), sg = at / MMA_LANES;
    const uint row = sg / 2 * PART, col = sg % 2 * PART;
    const uint groups = (uint)get_global_size(0) / ITEMS;
    for (uint tile = (uint)xl_group_id(0); tile < count; tile += groups) {
        const uint row0 = tile / (N / TILE) * TILE;
        const uint col0 = tile % (N / TILE) * TILE;
        mma_a fa[MI];
        mma_b fb[NI];
        mma_c sum[MI][NI];
        MMA_UNROLL
        for (uint i = 0; i < MI; i++) {
            MMA_UNROLL
            for (uint j = 0; j < NI; j++)
                MMA_ZERO(sum[i][j]);
        }
        for (uint k0 = 0; k0 < N; k0 += TK) {
            #pragma unroll
            for (uint j = 0; j < TILE * CHUNKS / ITEMS; j++) {
                const uint i = (at + j * ITEMS) / CHUNKS;
                const uint chunk = at % CHUNKS;
                *(__local uint4 *)(slices + MMA_AT_ALONG(LINE, i, chunk)) =
                    *(__global const uint4 *)(a + (row0 + i) * LD + k0 +
                                              chunk * EACH);
                STORE_B(i, chunk,
                        *(__global const uint4 *)(b + (k0 + i) * LD + col0 +
                                                  chunk * EACH));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            MMA_UNROLL
            for (uint kk = 0; kk < TK / MMA_K; kk++) {
                mma_load_a_along(&team, fa, MI, slices, LINE, row, kk);
                LOAD_B(&team, fb, NI, slices + SLICE, LINE, col, kk);
                MMA_UNROLL
                for (uint i = 0; i < MI; i++) {
                    MMA_UNROLL
                    for (uint j = 0; j < NI; j++)
                        MMA_MUL_ADD(&team, sum[i][j], fa[i], fb[j]);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
#ifdef MMA_OPAQUE
        __local float *room = (__local float *)slices; /* TILE x TILE */
        MMA_UNROLL
        for (uint i = 0; i < MI; i++) {
            MMA_UNROLL
            for (uint j = 0; j < NI; j++)
                MMA_STORE_C(&team,
                            room + (row + i * MMA_M) * TILE + col + j * MMA_N,
                            TILE, sum[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = at; i < TILE * TILE; i += ITEMS)
            c[(row0 + i / TILE) * N + col0 + i % TILE] = room[i];
        barrier(CLK_LOCAL_MEM_FENCE);
#else
        MMA_UNROLL
        for (uint i = 0; i < MI; i++) {
            MMA_UNROLL
            for (uint j = 0; j < NI; j++) {
                MMA_UNROLL
                for (uint e = 0; e < MMA_C_ELEMS; e++)
                    c[(row0 + row + i * MMA_M + MMA_C_ROW(team.lane, e)) * N +
                      col0 + col + j * MMA_N + MMA_C_COL(team.lane, e)] =
                        sum[i][j].e[e];
            }
        }
#endif
    }
}
#endif

#if MODE == 3
#define DPAS_T 1
#include "common/intel/dpas.clh"

#define ITEMS (4 * DPAS_LANES)
#define TILE 64
#define PART (TILE / 2) /* rows and columns of a sub-group */
#define MI (PART / DPAS_M)
#define NI (PART / DPAS_N)
#define STEPS (N / DPAS_K)
#define STORE_ROW(e) to[e * N] = sum[i][j].s##e

__kernel DPAS_ATTRIBUTE __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void ladder(__global const uchar *restrict a, __global const uchar *restrict b,
            __global float *restrict c, const uint count)
{
    DPAS_TEAM(team, ITEMS);
    const uint groups = (uint)get_global_size(0) / ITEMS;
    for (uint tile = (uint)xl_group_id(0); tile < count; tile += groups) {
        const uint row = tile / (N / TILE) * TILE + team.number / 2 * PART;
        const uint col = tile % (N / TILE) * TILE + team.number % 2 * PART;
        uint ga = DPAS_UNIFORM(row / DPAS_M * STEPS * DPAS_A_BYTES);
        uint gb = DPAS_UNIFORM(col / DPAS_N * STEPS * DPAS_B_BYTES);
        dpas_c sum[MI][NI];
        DPAS_UNROLL
        for (uint i = 0; i < MI; i++) {
            DPAS_UNROLL
            for (uint j = 0; j < NI; j++)
                sum[i][j] = 0;
        }
        for (uint s = 0; s < STEPS; s++) {
            dpas_a fa[MI];
            dpas_b fb[NI];
            DPAS_UNROLL
            for (uint j = 0; j < NI; j++)
                fb[j] = dpas_load_b(&team, b + (gb + j * STEPS * DPAS_B_BYTES));
            DPAS_UNROLL
            for (uint i = 0; i < MI; i++)
                fa[i] = dpas_load_a(&team, a + (ga + i * STEPS * DPAS_A_BYTES));
            DPAS_UNROLL
            for (uint i = 0; i < MI; i++) {
                DPAS_UNROLL
                for (uint j = 0; j < NI; j++)
                    dpas(&team, &sum[i][j], fa[i], fb[j]);
            }
            ga += DPAS_A_BYTES;
            gb += DPAS_B_BYTES;
        }
        DPAS_UNROLL
        for (uint i = 0; i < MI; i++) {
            DPAS_UNROLL
            for (uint j = 0; j < NI; j++) {
                __global float *to = c + (row + i * DPAS_M) * N + col +
                                     j * DPAS_N + team.lane;
                STORE_ROW(0);
                STORE_ROW(1);
                STORE_ROW(2);
                STORE_ROW(3);
                STORE_ROW(4);
                STORE_ROW(5);
                STORE_ROW(6);
                STORE_ROW(7);
            }
        }
    }
}
#endif
