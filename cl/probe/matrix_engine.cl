/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     products of matrices whose words are mix(i), made finite,
 *               repeatedly: out[item] is a sum of STEPS products of the same
 *               few numbers, which the host computes too; the sum is that of
 *               the last iteration, since each starts at 0.
 * Arguments:    out: one number per item. iterations: of STEPS steps.
 * Launch:       one dimension, local size WG.
 * Local memory: WAY 2: 1024 WG / 8 + 32768 bytes.
 * -D:           WAY     0 nothing, so that the file compiles by itself;
 *                       1 instructions of a sub-group, operands in registers:
 *                         CHAINS of them are independent, out is the sum of
 *                         each chain's first element;
 *                       2 those of four sub-groups, operands in local memory
 *                         in rows of 128 bytes, 4 instructions per step; out
 *                         is an item's first element
 *                       3 as 1, by common/matrix.clh, whose fragments are
 *                         lines (common/amd/fragments.clh)
 *                       4 as 1, by common/intel/dpas.clh
 *                       5 as 1, by common/matrix/cooperative.clh, which loads
 *                         operands from local memory each iteration; item l of
 *                         a sub-group has the chains' l-th elements
 *               XL_MMA_..., XL_DPAS_...   the instructions
 *               TI      dtype of the operands: 0 (rounded to 11 bits) 1 2 5 8
 *               KEEP, SET    bits of a random word that are kept and set:
 *                       sign, lowest bit of the exponent and fraction random,
 *                       so numbers of 0.5 to 2 in magnitude, except for bytes
 *               STEPS   per iteration
 *               TN, UA, UB   WAY 2: 256, 0, 0, as in
 *                       common/nvidia/wgmma_ptx.clh
 * Needs:        WAY 1: mma.sync. WAY 2: a program for sm_90a. WAY 3, 4, 5:
 *               what the instructions need; or their emulation.
 * Cost:         iterations * STEPS * 2 m n k flop: m n k of a sub-group is
 *               CHAINS * 16 * 8 * 32 / sizeof(TI), of four 4 * 64 * 256 * 32
 *               / sizeof(TI), of WAY 3, 4, 5 CHAINS * those of an instruction.
 * Source:       PTX ISA 9.0, 9.7.14.5 and 9.7.15; NV-43. Random data, since
 *               zeros draw less power: NV-45. */
#ifndef WAY
#define WAY 0
#endif
#ifndef WG
#define WG 128
#endif
#ifndef TI
#define TI 1
#endif

#include "common/types.clh"

#if TI == 5
typedef int number;
#else
typedef float number;
#endif

#if (WAY == 1 || WAY == 2) && !defined(XL_MMA_PTX)
#error "this way to a matrix engine has no probe"
#endif

#if WAY > 0
static inline uint word_of(const uint i)
{
    uint x = i;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return ((x ^ (x >> 16)) & (uint)KEEP) | (uint)SET;
}
#endif

#if WAY == 0
__kernel void matrix(__global number *restrict out, const uint iterations)
{
    out[get_global_id(0)] = 0;
}
#endif

#if WAY == 1
/* Chains are the products of several tiles of A and B, as in a kernel whose
 * operands are in registers. */
#define TILES_A 4
#define TILES_B 2
#define WORDS_A 4
#define WORDS_B 2
#define LANES 32
#define FIRST_B 1024 /* number of its first word */

#if TI == 0
#define TYPES "m16n8k8.row.col.f32.tf32.tf32.f32"
#elif TI == 1
#define TYPES "m16n8k16.row.col.f32.f16.f16.f32"
#elif TI == 2
#define TYPES "m16n8k16.row.col.f32.bf16.bf16.f32"
#elif TI == 5
#define TYPES "m16n8k32.row.col.s32.s8.s8.s32"
#else
#define TYPES "m16n8k32.row.col.f32.e4m3.e4m3.f32"
#endif
#if TI == 5
#define SUM "+r"
#else
#define SUM "+f"
#endif
/* By what A changes each step: 0, which the assembler does not know where it
 * would else compute equal products once (NV-70). */
#if TI == 8
#define CHANGE (iterations >> 31)
#define UNROLL_STEPS _Pragma("unroll 1")
#else
#define CHANGE 0
#define UNROLL_STEPS _Pragma("unroll")
#endif

#define MULTIPLY(d, a, b)                                                     \
    __asm volatile("mma.sync.aligned." TYPES " {%0, %1, %2, %3}, "            \
                   "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"            \
                   : SUM(d[0]), SUM(d[1]), SUM(d[2]), SUM(d[3])               \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),   \
                     "r"(b[1]))

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void matrix(__global number *restrict out, const uint iterations)
{
    const uint lane = (uint)get_local_id(0) % LANES;
    uint a[TILES_A][WORDS_A], b[TILES_B][WORDS_B];
    number d[TILES_A * TILES_B][4], sum = 0;
    #pragma unroll
    for (uint w = 0; w < TILES_A * WORDS_A; w++)
        a[w / WORDS_A][w % WORDS_A] = word_of(w * LANES + lane);
    #pragma unroll
    for (uint w = 0; w < TILES_B * WORDS_B; w++)
        b[w / WORDS_B][w % WORDS_B] = word_of(FIRST_B + w * LANES + lane);
    for (uint t = 0; t < iterations; t++) {
        #pragma unroll
        for (uint c = 0; c < TILES_A * TILES_B; c++)
            d[c][0] = d[c][1] = d[c][2] = d[c][3] = 0;
        UNROLL_STEPS
        for (uint s = 0; s < STEPS; s++) {
            #pragma unroll
            for (uint i = 0; i < TILES_A; i++)
                a[i][0] += CHANGE;
            #pragma unroll
            for (uint c = 0; c < TILES_A * TILES_B; c++)
                MULTIPLY(d[c], a[c / TILES_B], b[c % TILES_B]);
        }
    }
    #pragma unroll
    for (uint c = 0; c < TILES_A * TILES_B; c++)
        sum += d[c][0];
    out[get_global_id(0)] = sum;
}
#endif

#if WAY == 2
#include "common/nvidia/wgmma_ptx.clh"

#define LINE 128 /* bytes, the row of the swizzle */
#define A_BYTES (WG / 2 * LINE)
#define B_BYTES (TN * LINE)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void matrix(__global number *restrict out, const uint iterations)
{
    __local uint words[(A_BYTES + B_BYTES) / 4]
        __attribute__((aligned(1024)));
    for (uint i = get_local_id(0); i < (A_BYTES + B_BYTES) / 4; i += WG)
        words[i] = word_of(i);
    /* The engine reads what plain stores wrote through another path. */
    __asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint at = (uint)(size_t)words;
    const uint slab = get_local_id(0) / 128;
    const ulong a = WG_DESC(at + slab * 64 * LINE, 0);
    const ulong b = WG_DESC(at + A_BYTES, 0);
    WG_SUMS(d);
    /* Loops of a known length would be unrolled beyond what the assembler can
     * handle (NV-43). */
    #pragma unroll 1
    for (uint t = 0; t < iterations; t++) {
        #pragma unroll 1
        for (uint s = 0; s < STEPS; s++) {
            wg_open();
            WG_MULTIPLY(d, a, b, s);
            WG_MULTIPLY(d, a + WG_STEP(0), b + WG_STEP(0), 1);
            WG_MULTIPLY(d, a + 2 * WG_STEP(0), b + 2 * WG_STEP(0), 1);
            WG_MULTIPLY(d, a + 3 * WG_STEP(0), b + 3 * WG_STEP(0), 1);
            wg_close();
            wg_wait_but_one();
        }
    }
    WG_WAIT(d);
    out[get_global_id(0)] = d0_0;
}
#endif

#if WAY > 2
#define FIRST_B 1024
#define TILES_A 2
#define TILES_B 2
#define UNROLL _Pragma("unroll")
#endif

#if WAY == 3 || WAY == 5
#define MMA_T TI
#include "common/matrix.clh"
#endif

/* Operands change by what is 0 in every iteration, so that no compiler computes
 * one product for all. */
#if WAY == 3
#define HELD (MMA_M * MMA_PARTS) /* lanes with words of their own */

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void matrix(__global number *restrict out, const uint iterations)
{
    MMA_TEAM(team, WG);
    const uint at = team.lane % HELD, change = iterations >> 31;
    mma_a a[TILES_A];
    mma_b b[TILES_B];
    mma_c d[TILES_A * TILES_B];
    number sum = 0;
    UNROLL
    for (uint w = 0; w < TILES_A * MMA_A_WORDS; w++)
        a[w / MMA_A_WORDS].w[w % MMA_A_WORDS] = word_of(w * HELD + at);
    UNROLL
    for (uint w = 0; w < TILES_B * MMA_B_WORDS; w++)
        b[w / MMA_B_WORDS].w[w % MMA_B_WORDS] =
            word_of(FIRST_B + w * HELD + at);
    for (uint t = 0; t < iterations; t++) {
        UNROLL
        for (uint c = 0; c < TILES_A * TILES_B; c++)
            mma_zero(&d[c]);
        UNROLL
        for (uint i = 0; i < TILES_A; i++)
            a[i].w[0] ^= change;
        MMA_UNROLL
        for (uint s = 0; s < STEPS; s++) {
            MMA_UNROLL
            for (uint c = 0; c < TILES_A * TILES_B; c++)
                mma(&team, &d[c], &a[c / TILES_B], &b[c % TILES_B]);
        }
    }
    UNROLL
    for (uint c = 0; c < TILES_A * TILES_B; c++)
        sum += d[c].e[0];
    out[get_global_id(0)] = sum;
}
#endif

#if WAY == 4
#define DPAS_T TI
#include "common/intel/dpas.clh"

/* An item's bytes of row r of A's i-th tile; word w of its column of B's. */
static inline dpas_piece piece_of(const uint i, const uint r, const uint lane)
{
    const uint each = DPAS_LANES / DPAS_WORDS; /* pieces of a word */
    const uint word = word_of(i * DPAS_A_WORDS + r * DPAS_WORDS + lane / each);
    return (dpas_piece)(word >> lane % each * 16);
}
#define PIECE(r) piece_of(i, r, team.lane)
#define COLUMN(w) word_of(FIRST_B + (i * DPAS_WORDS + w) * DPAS_LANES + team.lane)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) DPAS_ATTRIBUTE
void matrix(__global number *restrict out, const uint iterations)
{
    DPAS_TEAM(team, WG);
    const dpas_piece change = (dpas_piece)(iterations >> 31);
    dpas_a a[TILES_A];
    dpas_b b[TILES_B];
    dpas_c d[TILES_A * TILES_B];
    number sum = 0;
    UNROLL
    for (uint i = 0; i < TILES_A; i++)
        a[i] = (dpas_a)(PIECE(0), PIECE(1), PIECE(2), PIECE(3), PIECE(4),
                        PIECE(5), PIECE(6), PIECE(7));
    UNROLL
    for (uint i = 0; i < TILES_B; i++)
        b[i] = (dpas_b)(COLUMN(0), COLUMN(1), COLUMN(2), COLUMN(3), COLUMN(4),
                        COLUMN(5), COLUMN(6), COLUMN(7));
    for (uint t = 0; t < iterations; t++) {
        UNROLL
        for (uint c = 0; c < TILES_A * TILES_B; c++)
            d[c] = 0;
        UNROLL
        for (uint i = 0; i < TILES_A; i++)
            a[i] ^= change;
        #pragma unroll 1
        for (uint s = 0; s < STEPS; s += 8) {
            UNROLL
            for (uint c = 0; c < 8 * TILES_A * TILES_B; c++)
                dpas(&team, &d[c % (TILES_A * TILES_B)],
                     a[c / TILES_B % TILES_A], b[c % TILES_B]);
        }
    }
    UNROLL
    for (uint c = 0; c < TILES_A * TILES_B; c++)
        sum += d[c].s0;
    out[get_global_id(0)] = sum;
}
#endif

#if WAY == 5
#define WORDS_A (TILES_A * MMA_M * MMA_DEEP / 4)
#define WORDS_B (TILES_B * MMA_N * MMA_DEEP / 4)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void matrix(__global number *restrict out, const uint iterations)
{
    __local uint words[WORDS_A + WORDS_B] __attribute__((aligned(128)));
    __local number sums[WG / MMA_LANES * MMA_M * MMA_N]
        __attribute__((aligned(128)));
    MMA_TEAM(team, WG);
    const uint lid = (uint)get_local_id(0), change = iterations >> 31;
    __local number *const own = sums + lid / MMA_LANES * (MMA_M * MMA_N);
    mma_a a[TILES_A];
    mma_b b[TILES_B];
    mma_c d[TILES_A * TILES_B];
    number sum = 0;
    for (uint i = lid; i < WORDS_A + WORDS_B; i += WG)
        words[i] = word_of(i < WORDS_A ? i : FIRST_B + i - WORDS_A);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint t = 0; t < iterations; t++) {
        __local uchar *const from = (__local uchar *)(words + (t & change));
        mma_load_a_along(&team, a, TILES_A, from, MMA_DEEP, 0, 0);
        mma_load_b_along(&team, b, TILES_B, from + 4 * WORDS_A, MMA_DEEP, 0,
                         0);
        UNROLL
        for (uint c = 0; c < TILES_A * TILES_B; c++)
            MMA_ZERO(d[c]);
        MMA_UNROLL
        for (uint s = 0; s < STEPS; s++) {
            MMA_UNROLL
            for (uint c = 0; c < TILES_A * TILES_B; c++)
                MMA_MUL_ADD(&team, d[c], a[c / TILES_B], b[c % TILES_B]);
        }
    }
    UNROLL
    for (uint c = 0; c < TILES_A * TILES_B; c++) {
        MMA_STORE_C(&team, own, MMA_N, d[c]);
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += own[team.lane % (MMA_M * MMA_N)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = sum;
}
#endif
