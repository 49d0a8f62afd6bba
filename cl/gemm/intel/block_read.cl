/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C), a TM x TN tile of C to a
 *               work-group, RM rows of it to each sub-group, with neither
 *               local memory nor barriers: a sub-group reads lines of B, and of
 *               A, by block reads, and each item multiplies its columns of B
 *               by values of A that another item of the sub-group has read:
 *
 *                          item 0 1 2 ... W - 1, 0 1 ...   W = XL_WIDTH
 *                              +-------------------+
 *                          k   |  B: RN W columns  |
 *                              +-------------------+
 *                 A   k .. k + W - 1
 *               +-----+        +-------------------+
 *            RM |     |        |  C                |       a sub-group
 *               +-----+        +-------------------+
 *            RM |     |                                    the next one
 *
 *               Tiles at the edge begin before it, so that they are whole, and
 *               store what is theirs; so does the odd rest of k. The
 *               sub-groups of a group share lines of B in the cache.
 * Arguments     A, B: base, offset, stride across (m or n), stride along k, in
 *               elements. B is contiguous across, A as UA says; lines begin at
 *               multiples of 4 bytes. The rest: TILE_PARAMS of
 *               gemm/tile_order.clh. m >= RM, n >= TN, k >= XL_WIDTH; elements
 *               of 16 bits: n, and as UA says k or m, even
 * Launch        local TM TN / (RM RN); global that times the tiles of all
 *               products. 1-D
 * Local memory  none; emulated: 4 RM bytes an item
 * -D            TM, RM: TM a multiple of RM, RM of XL_WIDTH; RN (1, 2, 4, 8);
 *               TN = RN XL_WIDTH; TK = XL_WIDTH; GR tile rows of a band;
 *               UA A contiguous along k (0), across (1); TA, TB (0, 1, 2), TC,
 *               TY 0, BATCH, EPILOGUE, GUARD: gemm/gemm.clh;
 *               XL_BLOCKS_...: common/block_read.clh
 * Needs         OpenCL C 1.2; with block reads sub-groups of XL_WIDTH
 * Cost          2 m n k flop; k (m n / TN + m n / RM) elements read
 * Source        vendor-notes IN-18 */
#ifndef TM
#define TM 32
#define TN 32
#define TK 8
#define RM 8
#define RN 4
#endif
#ifndef XL_WIDTH
#define XL_WIDTH TK
#endif
#ifndef UA
#define UA 0
#endif
#define XL_VW 2
#define C_ALONE restrict
#include "common/block_read.clh"
#include "gemm/tile_order.clh"

#define NT (TM / RM * XL_WIDTH)

/* Values of A that an item has at a time: of each row, or of each part of the
 * rows. */
#if UA == 0
#define NA RM
#define A_OF(r, l) XL_BLOCK_OF(x, r, l)
#else
#define NA (RM / XL_WIDTH)
#define A_OF(r, l) XL_BLOCK_OF(x, (r) / XL_WIDTH, (r) % XL_WIDTH)
#endif

#define UNPACK1(f, v) ((f)[0] = (v))
#define UNPACK2(f, v) ((f)[0] = (v).s0, (f)[1] = (v).s1)
#define UNPACK4(f, v)                                                         \
    ((f)[0] = (v).s0, (f)[1] = (v).s1, (f)[2] = (v).s2, (f)[3] = (v).s3)
#define UNPACK8(f, v)                                                         \
    do {                                                                      \
        const float8 v_ = (v);                                                \
        UNPACK4(f, v_.lo);                                                    \
        UNPACK4((f) + 4, v_.hi);                                              \
    } while (0)

/* Of depth l from ga, gb on: A's values, where they are those of a depth. */
#if UA == 0
#define READ_LINES(x, ga)                                                     \
    do {                                                                      \
        _Pragma("unroll") for (uint r = 0; r < RM; r++)                       \
            (x)[r] = XL_BLOCK_READ(1, TA, (ga) + r * sx_a);                   \
        XL_BLOCK_SHOW(NA, x);                                                 \
    } while (0)
#define READ_DEPTH(x, ga, l)
#else
#define READ_LINES(x, ga)
#define READ_DEPTH(x, ga, l)                                                  \
    do {                                                                      \
        _Pragma("unroll") for (uint j = 0; j < NA; j++)                       \
            (x)[j] = XL_BLOCK_READ(1, TA,                                     \
                                   (ga) + (l) * sk_a + j * XL_WIDTH);         \
        XL_BLOCK_SHOW(NA, x);                                                 \
    } while (0)
#endif
#define MULTIPLY(l)                                                           \
    do {                                                                      \
        float y[RN];                                                          \
        READ_DEPTH(x, ga, l);                                                 \
        XL_CAT(UNPACK, RN)(y, XL_BLOCK_READ(RN, TB, gb + (l) * sk_b));        \
        _Pragma("unroll") for (uint r = 0; r < RM; r++)                       \
        {                                                                     \
            const float a_r = A_OF(r, l);                                     \
            _Pragma("unroll") for (uint s = 0; s < RN; s++)                   \
                sum[r][s] = MUL_ADD(a_r, y[s], sum[r][s]);                    \
        }                                                                     \
    } while (0)
#define STORE_ROW(r)                                                          \
    do {                                                                      \
        const ulong i = row0 + (r);                                           \
        _Pragma("unroll") for (uint s = 0; s < RN; s++)                       \
        {                                                                     \
            const ulong j = col0 + s * XL_WIDTH + XL_BLOCK_LANE();            \
            const ulong at = to + i * rs_c + j * cs_c;                        \
            if (i >= row && i < end_m && j >= col && j < end_n)               \
                GEMM_STORE(1, , c, at, GEMM_Y(1, sum[r][s], c, at), p.z, i,   \
                           j);                                                \
        }                                                                     \
    } while (0)

__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) XL_OF_WIDTH void
gemm_block_read(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
                ulong sk_a, __global const ELEM(TB) *restrict b, ulong off_b,
                ulong sx_b, ulong sk_b, TILE_PARAMS)
{
    XL_BLOCK_ROOM(NA, NT);
    GEMM_GUARDED;
    const struct tile p = locate_tile(GROUP, tiles_m, tiles_n, m, n);
    const ulong row = p.m0 + XL_BLOCK_GROUP() * RM, col = p.n0;
    const ulong row0 = min(row, m - RM), col0 = min(col, n - TN);
    __global const ELEM(TA) *ga = a + (off_a + GEMM_AT_A(p.z) + row0 * sx_a);
    __global const ELEM(TB) *gb = b + (off_b + GEMM_AT_B(p.z) + col0);
    float x[NA], sum[RM][RN];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint s = 0; s < RN; s++)
            sum[r][s] = 0;
    }

    for (ulong left = k / XL_WIDTH; left > 0; left--) {
        READ_LINES(x, ga);
        XL_BLOCK_REPEAT(XL_WIDTH, MULTIPLY);
        ga += XL_WIDTH * sk_a;
        gb += XL_WIDTH * sk_b;
    }
    const uint rest = (uint)(k % XL_WIDTH);
    if (rest > 0) {
        ga -= (XL_WIDTH - rest) * sk_a;
        gb -= (XL_WIDTH - rest) * sk_b;
        READ_LINES(x, ga);
        for (uint l = XL_WIDTH - rest; l < XL_WIDTH; l++)
            MULTIPLY(l);
    }

    const ulong to = off_c + GEMM_AT_C(p.z);
    const ulong end_m = p.m0 + p.rest_m, end_n = col + p.rest_n;
    XL_BLOCK_REPEAT(RM, STORE_ROW);
}
