/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h, by work-groups whose
 *               tiles of q, k and v are in local memory and whose sums are in
 *               registers.
 *
 *                             LX items
 *                 BQ rows  +-----------+   item (x, y): rows y, y + LY, ...,
 *                 of LY    |  scores   |   keys x, x + LX, ... of a tile, and
 *                 lines    +-----------+   columns of v in groups of 4
 *
 *                 for each tile of BK keys that one of the rows sees:
 *                   scores  = q k^T, W = 4 LX columns of k at a time
 *                   maxima of rows, over the LX items of a line
 *                   weights = exp(scores - shift), to local memory
 *                   sums    = sums + weights v, W columns of v at a time
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a tile of
 *               keys once.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), contiguous columns.
 * Launch:       2-D, local (LX LY, 1); groups: ceil(n_q share / BQ) times heads
 *               of k times n_batch.
 * Local memory: 4 (BQ (DP + 4) + BK (W + 4) + BQ (BK + 4) + BQ LX) bytes, DP =
 *               D rounded up to W.
 * -D:           BQ, a multiple of LY; BK, of LX and 4; LX a power of two, LY;
 *               VA for q, k, v (attention/tile.clh); attention/attention.clh.
 * Needs:        nothing.
 * Cost:         4 D flop for each key that a row sees; k and v are read once
 *               for each BQ rows.
 * Source:       Dao, Fu, Ermon, Rudra, Re 2022, arXiv:2205.14135. */
#include "attention/tile.clh"
#include "common/exp2.clh"

#ifndef BQ
#define BQ 16
#endif
#ifndef BK
#define BK 32
#endif
#define RQ (BQ / LY)
#define RK (BK / LX)
/* Lines in local memory are apart by an odd number of vectors. */
#define QLD (DP + 4)
#define PLD (BK + 4)
#define LOG2_E 1.44269504f
#define WEIGHT(score, shift) XL_EXP2(1, ((score) - (shift)) * LOG2_E)

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void attention_flash(ATTENTION_PARAMS)
{
    __local float ql[BQ * QLD], tile[BK * TLD], weights[BQ * PLD],
        maxima[BQ * LX];
    COPY_SIZES
    const uint item = get_local_id(0), lx = item % LX, ly = item / LX;
    const ulong n_kv_heads = n.n_heads / n.share;
    const ulong b = xl_group_id(1) / n_kv_heads, g = xl_group_id(1) % n_kv_heads;
    SEQUENCE(b);
    const ulong rows = n.n_q * n.share, n_tiles = (rows + BQ - 1) / BQ;
    if ((Q_ROWS) && xl_group_id(0) >= n_tiles)
        return; /* the whole group */
    /* The last rows begin: under a causal mask they have the most keys. */
    const ulong row0 = (n_tiles - 1 - xl_group_id(0)) * BQ;
    const ulong query0 = row0 / n.share;
    const uint share = (uint)n.share, head0 = (uint)(row0 - query0 * share),
               last_row = (uint)min(rows - row0, (ulong)BQ) - 1;
/* Query and head of row r; past the last row the last one again. */
#define AT_ROW(r) (head0 + min((uint)(r), last_row))
#define QUERY(r) (query0 + AT_ROW(r) / share)
#define HEAD(r) (g * n.share + AT_ROW(r) % share)
/* W columns of a block of keys from j on; 0 past the last one. */
#define LOAD_KEYS(x, view, c0)                                                \
    for (uint i = item; i < BK * LX; i += WG) {                               \
        const uint line = i / LX, col = i % LX * 4;                           \
        vstore4(line < n_keys ? load_key_4(x + KEY_AT(view, b, j + line),     \
                                           (c0) + col)                        \
                              : (float4)(0.0f),                               \
                0, tile + line * TLD + col);                                  \
    }
    float4 sums[RQ][NC];
    float top[RQ], total[RQ];

    for (uint i = item; i < BQ * (DP / 4); i += WG) {
        const uint r = i / (DP / 4), c = i % (DP / 4) * 4;
        vstore4(load_4(q + ROW_AT(at.q, b, HEAD(r), QUERY(r)), c), 0,
                ql + r * QLD + c);
    }
#pragma unroll
    for (uint r = 0; r < RQ; r++) {
        /* The sink counts once in a row: in its first item. */
        top[r] = SINK(b, HEAD(ly + r * LY));
        total[r] = lx == 0 ? WEIGHT(top[r], shift_of(top[r])) : 0.0f;
#pragma unroll
        for (uint c = 0; c < NC; c++)
            sums[r][c] = (float4)(0.0f);
    }
    k += KEYS_AT(at.k, b, g);
    v += KEYS_AT(at.v, b, g);
    /* Keys that the first and the last row see: all rows see those of both. */
    const struct keys least = keys_of(n, QUERY(0)),
                      most = keys_of(n, QUERY(BQ - 1));
    for (ulong j = least.first / BK * BK; j < most.last; j += BK) {
        const uint n_keys = (uint)min((ulong)BK, n.n_kv - j);
        float x[RQ][RK];
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint i = 0; i < RK; i++)
                x[r][i] = 0.0f;
        }
#pragma unroll 1
        for (uint c0 = 0; c0 < DP; c0 += W) {
            barrier(CLK_LOCAL_MEM_FENCE); /* the tile has been read */
            LOAD_KEYS(k, at.k, c0);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint c = 0; c < W; c += 4) {
                float4 key[RK];
#pragma unroll
                for (uint i = 0; i < RK; i++)
                    key[i] = vload4(0, tile + (lx + i * LX) * TLD + c);
#pragma unroll
                for (uint r = 0; r < RQ; r++) {
                    const float4 y = vload4(0, ql + (ly + r * LY) * QLD + c0 + c);
#pragma unroll
                    for (uint i = 0; i < RK; i++)
                        x[r][i] = DOT(y, key[i], x[r][i]);
                }
            }
        }
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
            const struct row row = ROW(b, HEAD(ly + r * LY), QUERY(ly + r * LY));
#pragma unroll
            for (uint i = 0; i < RK; i++) {
                const ulong key = min(j + lx + i * LX, n.n_kv - 1);
                x[r][i] = score(row, K_SCALED(x[r][i], b, g, key),
                                key XL_PROLOGUE_ARGS);
            }
        }
        if (j < most.first || j + BK > least.last) {
#pragma unroll
            for (uint r = 0; r < RQ; r++) {
                const struct keys seen = keys_of(n, QUERY(ly + r * LY));
                const int first = (int)clamp((long)(seen.first - j), 0L, (long)BK),
                          last = (int)clamp((long)(seen.last - j), 0L, (long)BK);
#pragma unroll
                for (uint i = 0; i < RK; i++) {
                    const int key = (int)(lx + i * LX);
                    if (key < first || key >= last)
                        x[r][i] = -INFINITY;
                }
            }
        }
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
            float greatest = x[r][0];
#pragma unroll
            for (uint i = 1; i < RK; i++)
                greatest = fmax(greatest, x[r][i]);
            maxima[(ly + r * LY) * LX + lx] = greatest;
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* also: weights and tile were read */
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
            float now = top[r];
#pragma unroll
            for (uint i = 0; i < LX / 4; i++)
                now = fmax(now,
                           max_4(vload4(i, maxima + (ly + r * LY) * LX)));
            const float shift = shift_of(now);
            const float factor = WEIGHT(top[r], shift);
            top[r] = now;
            total[r] *= factor;
#pragma unroll
            for (uint c = 0; c < NC; c++)
                sums[r][c] *= factor;
#pragma unroll
            for (uint i = 0; i < RK; i++) {
                const float weight = WEIGHT(x[r][i], shift);
                total[r] += weight;
                weights[(ly + r * LY) * PLD + lx + i * LX] = V_SCALED(
                    weight, b, g, min(j + lx + i * LX, n.n_kv - 1));
            }
        }
#pragma unroll
        for (uint c = 0; c < NC; c++) {
            if (c > 0)
                barrier(CLK_LOCAL_MEM_FENCE);
            LOAD_KEYS(v, at.v, c * W);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
            for (uint i = 0; i < BK; i += 4) {
                const float4 v0 = vload4(lx, tile + i * TLD),
                             v1 = vload4(lx, tile + (i + 1) * TLD),
                             v2 = vload4(lx, tile + (i + 2) * TLD),
                             v3 = vload4(lx, tile + (i + 3) * TLD);
#pragma unroll
                for (uint r = 0; r < RQ; r++) {
                    const float4 w = vload4(0, weights + (ly + r * LY) * PLD + i);
                    sums[r][c] = WEIGHTED(w, v0, v1, v2, v3, sums[r][c]);
                }
            }
        }
    }

    /* The sum of a row is in the parts of its items. */
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < RQ; r++)
        maxima[(ly + r * LY) * LX + lx] = total[r];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint r = 0; r < RQ; r++) {
        float sum = 0.0f;
#pragma unroll
        for (uint i = 0; i < LX; i++)
            sum += maxima[(ly + r * LY) * LX + i];
        if (row0 + ly + r * LY >= rows)
            continue;
        const ulong h = HEAD(ly + r * LY), i = QUERY(ly + r * LY);
        const float unit = share_of(sum);
        __global ELEM(OT) *to = o + ROW_AT(at.o, b, h, i);
#pragma unroll
        for (uint c = 0; c < NC; c++)
            store_4(to, c * W + lx * 4, sums[r][c] * unit);
        if (lx == 0)
            STORE_LSE(b, h, i, shift_of(top[r]), sum);
    }
}
