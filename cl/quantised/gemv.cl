/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, few rows of A. LANES items
 *               share RN rows of W: each takes every LANES-th unit of 32
 *               columns, decodes it once and multiplies it with TM rows of A;
 *               their sums join through local memory. With a norm these are
 *               also the sums of squares of A's rows, and the factor of a row
 *               multiplies its sums.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh).
 * Launch:       2-D, local (WG, 1); groups: ceil(n / (RN WG / LANES)),
 *               ceil(m / TM).
 * Local memory: 8 (WG + 16 WG / LANES) bytes.
 * -D:           WG, LANES, powers of two; RN 1, 2, of pairs 2; TM 1, 2, 4, 8;
 *               quantised/product.clh.
 * Needs:        nothing.
 * Cost:         2 m n k flop; W is read once for each TM rows of A.
 * Source:       the definition. */
#ifndef WG
#define WG 64
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef RN
#define RN 1
#endif
#ifndef TM
#define TM 1
#endif

#include "quantised/product.clh"
#include "common/reduce.clh"
#include "common/subgroup.clh"

/* A half at a time, to hold few registers. */
#if TA != 5
static inline float multiply_16(const float16 x, __global const ELEM(TA) *a,
                                const ulong at GAIN_PARAMS)
{
    const float8 p = MUL_ADD(x.hi, LOAD_A(8, at + 8, l + 8),
                             x.lo * LOAD_A(8, at, l));
    return SUM_8(p);
}
#endif

#if GT >= 0
#define NORMED(y, i) ((y) * squares[i])
static inline float unit_squares(__global const ELEM(TA) *a, const ulong at)
{
    float8 sum = (float8)(0.0f);
#pragma unroll
    for (uint i = 0; i < 32; i += 8) {
        const float8 x = LOADV(8, TA, a, at + i);
        sum = MUL_ADD(x, x, sum);
    }
    return SUM_8(sum);
}
#else
#define NORMED(y, i) y
#endif

__kernel XL_OF_WIDTH void qgemm_gemv(PRODUCT_PARAMS)
{
    __local float room[2][ROOM];
    const uint item = (uint)get_local_id(0), lane = item % LANES;
    const uint j0 = ((uint)xl_group_id(0) * (WG / LANES) + item / LANES) * RN;
    const uint i0 = (uint)xl_group_id(1) * TM;
    float sum[RN][TM];
    ulong at[TM];
#if GT >= 0
    float squares[TM]; /* then factors */
    for (uint i = 0; i < TM; i++)
        squares[i] = 0.0f;
#endif
#pragma unroll
    for (uint r = 0; r < RN; r++) {
#pragma unroll
        for (uint i = 0; i < TM; i++)
            sum[r][i] = 0.0f;
    }
#pragma unroll
    for (uint i = 0; i < TM; i++)
        at[i] = off_a + min(i0 + i, m - 1) * rs_a;
#pragma unroll 1
    for (uint u = lane; u < units; u += LANES) {
#pragma unroll
        for (uint r = 0; r < RN; r++) {
            const struct weights w = /* no array of them: CP-43 */
                WEIGHTS_ROW(W_ROW(min(j0 + r, n - 1), n));
#if TA == 5
            const struct codes x = load_codes(&w, u);
#else
            const struct unit x = load_unit(&w, u);
#endif
#pragma unroll
            for (uint i = 0; i < TM; i++) {
                const ulong from = at[i] + UNIT_A * (ulong)u;
#if TA == 5
                sum[r][i] += bytes_product(&x, a + from);
#else
                sum[r][i] = MUL_ADD(
                    x.of_lo,
                    multiply_16(x.lo, a, from GAIN_ARGS(32 * (ulong)u)),
                    sum[r][i]);
                sum[r][i] = MUL_ADD(
                    x.of_hi,
                    multiply_16(x.hi, a,
                                from + 16 GAIN_ARGS(32 * (ulong)u + 16)),
                    sum[r][i]);
#endif
            }
        }
#if GT >= 0
#pragma unroll
        for (uint i = 0; i < TM; i++)
            squares[i] += unit_squares(a, at[i] + 32 * (ulong)u);
#endif
    }
#pragma unroll
    for (uint r = 0; r < RN; r++) {
#pragma unroll
        for (uint i = 0; i < TM; i++)
            sum[r][i] = lanes_sum(sum[r][i], room[(r * TM + i) % 2]);
    }
#if GT >= 0
#pragma unroll
    for (uint i = 0; i < TM; i++)
        squares[i] = norm_factor(
            lanes_sum(squares[i], room[(RN * TM + i) % 2]), units, eps);
#endif
    /* Behind all barriers: CP-36. */
    if (lane > 0)
        return;
#pragma unroll
    for (uint r = 0; r < RN; r += TOGETHER) {
#pragma unroll
        for (uint i = 0; i < TM; i++)
            if (j0 + r < n && i0 + i < m)
                STORE_C(i0 + i, (j0 + r) / TOGETHER, NORMED(sum[r][i], i),
                        NORMED(sum[r + 1][i], i));
    }
}
