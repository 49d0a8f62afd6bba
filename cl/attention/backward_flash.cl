/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradients of attention as in crosslane/attention.h, by
 *               work-groups that compute weights again, tile by tile.
 *                 STEP 1  lse, and delta = grad_o . o, of a query, by one item
 *                 STEP 2  grad_q of BQ queries of a head, over tiles of keys
 *                 STEP 3  grad_k, grad_v of BK keys of a head, over the heads
 *                         that read it and tiles of their queries
 *
 *                             LX items
 *                 BL lines +-----------+   lines: queries in STEP 2, keys in
 *                 of LY    |  scores   |   STEP 3; the BM rows of a tile are
 *                 items    +-----------+   the others. Item (x, y): lines y,
 *                            BM rows       y + LY, ..., rows x, x + LX, ...
 *
 *                 for each tile of rows that lines see, or that see lines:
 *                   x = q k^T, g = grad_o v^T, W = 4 LX columns at a time
 *                   p = exp(score(x) - lse), s = p (g - delta) d score / d x
 *                   STEP 2  grad_q += s k
 *                   STEP 3  grad_v += p^T grad_o, grad_k += s^T q
 *
 *               Each result is summed by one item, in order of heads and rows.
 * Arguments:    BACKWARD_PARAMS (attention/backward.clh), contiguous columns;
 *               of_query: (lse, delta), n_batch x n_heads x n_q of two f32,
 *               written in STEP 1.
 * Launch:       STEP 1: 1-D, global >= n_batch n_heads n_q, any local size.
 *               Else 2-D, local (LX LY, 1); groups: ceil(lines / BL) times
 *               heads of the lines times n_batch.
 * Local memory: STEP 2, 3: 4 ((BL + BM) (W + 4) + BL (BM + 4)) bytes.
 * -D:           STEP; BQ, BK multiples of LX, LY and 4; LX a power of two, LY;
 *               VA for q, k, v, grad_o (attention/tile.clh); DT D CAP MT MU
 *               SLOPES (attention/attention.clh).
 * Needs:        nothing.
 * Cost:         STEP 2: 6 D, STEP 3: 8 D flop for each key that a query sees.
 * Source:       Dao, Fu, Ermon, Rudra, Re 2022, arXiv:2205.14135, algorithm 4;
 *               its loops apart, so that sums need no atomics. */
#include "attention/backward.clh"
#include "attention/tile.clh"

#ifndef STEP
#define STEP 2
#endif
#ifndef BQ
#define BQ 16
#endif
#ifndef BK
#define BK 16
#endif

#if STEP == 1
__kernel void attention_backward_delta(BACKWARD_PARAMS,
                                       __global float2 *of_query,
                                       const ulong rows)
{
    const ulong row = get_global_id(0);
    if (row >= rows)
        return;
    const ulong i = row % n.n_q, h = row / n.n_q % n.n_heads;
    const ulong b = row / n.n_q / n.n_heads;
    o += ROW_AT(at.o, b, h, i);
    grad_o += ROW_AT(grad.o, b, h, i);
    float sum = 0.0f;
    for (uint c = 0; c < D; c++)
        sum += LOAD(DT, o, c) * LOAD(DT, grad_o, c);
    of_query[row] = (float2)(lse[ROW_AT(at.lse, b, h, i)], sum);
}
#else

/* Rows of an operand in memory. */
struct rows {
    __global const ELEM(DT) *x;
    ulong step;
};
#define ROWS(x, view, h)                                                      \
    {                                                                         \
        x + ROW_AT(view, b, h, 0), (view).row                                 \
    }

#if STEP == 2
#define BL BQ
#define BM BK
#define KERNEL attention_backward_q
#else
#define BL BK
#define BM BQ
#define KERNEL attention_backward_kv
#endif
#define RL (BL / LY)
#define RM (BM / LX)
#define PLD (BM + 4)

/* The products are macros, since barriers stay in the kernel's own body: a
 * function with a barrier, called twice in a loop, gave wrong elements with
 * PoCL 3.1. */

/* to = lines rows^T, of all columns. */
#define PRODUCT(to, lines, rows)                                              \
    _Pragma("unroll") for (uint l = 0; l < RL; l++)                           \
        _Pragma("unroll") for (uint m = 0; m < RM; m++)                       \
            to[l][m] = 0.0f;                                                  \
    _Pragma("unroll 1") for (uint c0 = 0; c0 < DP; c0 += W)                   \
    {                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE); /* both tiles have been read */         \
        load_tile(lines.x + l0 * lines.step, lines.step, n_l, BL, c0, left,   \
                  item);                                                      \
        load_tile(rows.x + m0 * rows.step, rows.step, n_m, BM, c0, right,     \
                  item);                                                      \
        barrier(CLK_LOCAL_MEM_FENCE);                                         \
        _Pragma("unroll 1") for (uint c = 0; c < W; c += 4)                   \
        {                                                                     \
            float4 of_row[RM];                                                \
            _Pragma("unroll") for (uint m = 0; m < RM; m++)                   \
                of_row[m] = vload4(0, right + (lx + m * LX) * TLD + c);       \
            _Pragma("unroll") for (uint l = 0; l < RL; l++)                   \
            {                                                                 \
                const float4 of_line =                                        \
                    vload4(0, left + (ly + l * LY) * TLD + c);                \
                _Pragma("unroll") for (uint m = 0; m < RM; m++)               \
                    to[l][m] = DOT(of_line, of_row[m], to[l][m]);             \
            }                                                                 \
        }                                                                     \
    }

/* to += w rows, w by way of local memory, W columns at a time. */
#define ADD_PRODUCT(to, w, rows)                                              \
    barrier(CLK_LOCAL_MEM_FENCE); /* weights and tile have been read */       \
    _Pragma("unroll") for (uint l = 0; l < RL; l++)                           \
        _Pragma("unroll") for (uint m = 0; m < RM; m++)                       \
            weights[(ly + l * LY) * PLD + lx + m * LX] = w[l][m];             \
    _Pragma("unroll") for (uint c = 0; c < NC; c++)                           \
    {                                                                         \
        if (c > 0)                                                            \
            barrier(CLK_LOCAL_MEM_FENCE);                                     \
        load_tile(rows.x + m0 * rows.step, rows.step, n_m, BM, c * W, right,  \
                  item);                                                      \
        barrier(CLK_LOCAL_MEM_FENCE);                                         \
        _Pragma("unroll 1") for (uint m = 0; m < BM; m += 4)                  \
        {                                                                     \
            const float4 v0 = vload4(lx, right + m * TLD),                    \
                         v1 = vload4(lx, right + (m + 1) * TLD),              \
                         v2 = vload4(lx, right + (m + 2) * TLD),              \
                         v3 = vload4(lx, right + (m + 3) * TLD);              \
            _Pragma("unroll") for (uint l = 0; l < RL; l++)                   \
            {                                                                 \
                const float4 of_line =                                        \
                    vload4(0, weights + (ly + l * LY) * PLD + m);             \
                to[l][c] = WEIGHTED(of_line, v0, v1, v2, v3, to[l][c]);       \
            }                                                                 \
        }                                                                     \
    }

#define PUT(to, step, factor, sums)                                           \
    _Pragma("unroll") for (uint l = 0; l < RL; l++)                           \
    {                                                                         \
        const uint line = ly + l * LY;                                        \
        if (line < n_l)                                                       \
            _Pragma("unroll") for (uint c = 0; c < NC; c++)                   \
                store_4(to + line * (step), c * W + lx * 4,                   \
                        sums[l][c] * (factor));                               \
    }

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void KERNEL(BACKWARD_PARAMS, __global const float2 *of_query)
{
    __local float left[BL * TLD], right[BM * TLD], weights[BL * PLD];
    const uint item = get_local_id(0), lx = item % LX, ly = item / LX;
#if STEP == 2
    const ulong n_own = n.n_heads, n_lines = n.n_q, n_rows = n.n_kv;
#else
    const ulong n_own = n.n_heads / n.share, n_lines = n.n_kv, n_rows = n.n_q;
    float4 sums_v[RL][NC];
#endif
    float4 sums[RL][NC];
    const ulong b = xl_group_id(1) / n_own, own = xl_group_id(1) % n_own;
    const ulong l0 = xl_group_id(0) * BL;
    const uint n_l = (uint)min((ulong)BL, n_lines - l0);
#pragma unroll
    for (uint l = 0; l < RL; l++) {
#pragma unroll
        for (uint c = 0; c < NC; c++) {
            sums[l][c] = (float4)(0.0f);
#if STEP == 3
            sums_v[l][c] = (float4)(0.0f);
#endif
        }
    }
#if STEP == 2
    grad_q += ROW_AT(grad.q, b, own, l0);
    const ulong h0 = own, h_end = own + 1, g = own / n.share;
    struct keys seen = keys_of(n, l0);
    seen.last = keys_of(n, l0 + n_l - 1).last;
#else
    grad_k += ROW_AT(grad.k, b, own, l0);
    grad_v += ROW_AT(grad.v, b, own, l0);
    const ulong h0 = own * n.share, h_end = h0 + n.share, g = own;
    const struct keys seen = queries_of(n, l0, l0 + n_l - 1);
#endif
    const struct rows of_k = ROWS(k, at.k, g), of_v = ROWS(v, at.v, g);
    for (ulong h = h0; h < h_end; h++) {
        const struct rows of_q = ROWS(q, at.q, h),
                          of_g = ROWS(grad_o, grad.o, h);
        for (ulong m0 = seen.first / BM * BM; m0 < seen.last; m0 += BM) {
            const uint n_m = (uint)min((ulong)BM, n_rows - m0);
            float x[RL][RM], y[RL][RM];
#if STEP == 2
            PRODUCT(x, of_q, of_k)
            PRODUCT(y, of_g, of_v)
#else
            PRODUCT(x, of_k, of_q)
            PRODUCT(y, of_v, of_g)
#endif
#pragma unroll
            for (uint l = 0; l < RL; l++) {
#pragma unroll
                for (uint m = 0; m < RM; m++) {
                    const ulong line = l0 + ly + l * LY, row = m0 + lx + m * LX;
#if STEP == 2
                    const ulong query = line, key = row;
#else
                    const ulong query = row, key = line;
#endif
                    const ulong i = min(query, n.n_q - 1);
                    const float2 of =
                        of_query[(b * n.n_heads + h) * n.n_q + i];
                    struct weight w =
                        weight_of(ROW(b, h, i), x[l][m], key, of.x);
                    w.p = query < n.n_q ? w.p : 0.0f;
                    x[l][m] = w.p;
                    y[l][m] = grad_of(w, y[l][m], of.y);
                }
            }
#if STEP == 2
            ADD_PRODUCT(sums, y, of_k)
#else
            ADD_PRODUCT(sums_v, x, of_g)
            ADD_PRODUCT(sums, y, of_q)
#endif
        }
    }
#if STEP == 2
    PUT(grad_q, grad.q.row, scale, sums)
#else
    PUT(grad_k, grad.k.row, scale, sums)
    PUT(grad_v, grad.v.row, 1.0f, sums_v)
#endif
}
#endif
