/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, on devices whose work-items
 *               are whole threads with vector registers. A group, one item, has
 *               RN rows of W, far apart (CP-38), and TM rows of A: a unit of W
 *               is decoded once for all rows of A, and those of A are read once
 *               for all rows of W.
 *               With a norm the sums of squares of A's rows are taken beside,
 *               and the factor of a row multiplies its sums.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh).
 * Launch:       2-D, local (1, 1); groups: ceil(n / RN), ceil(m / TM).
 * Local memory: none.
 * -D:           RN 1, 2, 4; TM 1, 2, 4, 8; quantised/product.clh.
 * Needs:        nothing.
 * Cost:         2 m n k flop; W is read once for each TM rows of A.
 * Source:       the definition. */
#include "quantised/product.clh"

#ifndef RN
#define RN 2
#endif
#ifndef TM
#define TM 1
#endif

#if GT >= 0
#define NORMED(y, i) ((y) * norm_factor(SUM_16(squares[i]), units, eps))
#else
#define NORMED(y, i) y
#endif

__kernel void qgemm_cpu(PRODUCT_PARAMS)
{
    const uint j0 = (uint)xl_group_id(0), i0 = (uint)xl_group_id(1) * TM;
    const uint apart = (n + RN - 1) / RN;
    struct weights w[RN];
    float16 sum[RN][TM];
    ulong at[TM];
#if GT >= 0
    float16 squares[TM];
    for (uint i = 0; i < TM; i++)
        squares[i] = (float16)(0.0f);
#endif
#pragma unroll
    for (uint r = 0; r < RN; r++) {
        const struct weights row = WEIGHTS_ROW(min(j0 + r * apart, n - 1));
        w[r] = row;
#pragma unroll
        for (uint i = 0; i < TM; i++)
            sum[r][i] = (float16)(0.0f);
    }
#pragma unroll
    for (uint i = 0; i < TM; i++)
        at[i] = off_a + min(i0 + i, m - 1) * rs_a;
    for (uint u = 0; u < units; u++) {
#pragma unroll
        for (uint r = 0; r < RN; r++) {
            const struct unit x = load_unit(&w[r], u);
#pragma unroll
            for (uint i = 0; i < TM; i++)
                sum[r][i] = add_unit(&x, a, at[i] + 32 * (ulong)u,
                                     sum[r][i] GAIN_ARGS(32 * (ulong)u));
        }
#if GT >= 0
#pragma unroll
        for (uint i = 0; i < TM; i++) {
            const float16 lo = LOADV(16, TA, a, at[i] + 32 * (ulong)u),
                          hi = LOADV(16, TA, a, at[i] + 32 * (ulong)u + 16);
            squares[i] = MUL_ADD(hi, hi, MUL_ADD(lo, lo, squares[i]));
        }
#endif
    }
    for (uint r = 0; r < RN; r++) {
        for (uint i = 0; i < TM; i++) {
            const uint j = j0 + r * apart;
            if (j < n && i0 + i < m)
                STORE_C(i0 + i, j, NORMED(SUM_16(sum[r][i]), i));
        }
    }
}
