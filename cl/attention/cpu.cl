/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h on devices whose
 *               work-items are whole threads with vector registers.
 *
 *                 a group: BQ rows that read one head of k and v
 *                   for each block of BK keys that one of them sees:
 *                     k -> panels of RN keys, v -> panels of RN columns
 *                     for each strip of RQ rows:
 *                       scores  = q k^T        RQ x RN sums in registers
 *                       weights = exp(scores - shift)
 *                       sums    = sums + weights v
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a block of
 *               keys once. A row's shift moves, and its sums are rescaled, only where
 *               a score exceeds it by more than SLACK.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), contiguous columns.
 * Launch:       2-D, local (1, 1); groups: ceil(n_q share / BQ) times heads of
 *               k times n_batch.
 * Local memory: 4 (BQ D + BK D + BK DP + BQ DP + RQ BK + 2 BQ) bytes, DP = D
 *               rounded up to RN.
 * -D:           BQ, a multiple of RQ; BK, of RN; RQ; RN, a multiple of 8 and
 *               of XL_VW; XL_VW 4, 8, 16; attention/attention.clh.
 * Needs:        nothing.
 * Cost:         4 D flop for each key that a row sees; k and v are read once
 *               for each BQ rows.
 * Source:       Dao, Fu, Ermon, Rudra, Re 2022, arXiv:2205.14135; Goto, van de
 *               Geijn 2008 for the panels. */
#ifndef XL_VW
#define XL_VW 8
#endif
#ifndef BQ
#define BQ 32
#endif
#ifndef BK
#define BK 32
#endif
#ifndef RQ
#define RQ 4
#endif
#ifndef RN
#define RN 16
#endif

#include "attention/attention.clh"
#define TA DT
#include "gemm/packed_panel.clh"
#include "common/exp.clh"

#define NV (RN / XL_VW)
#define DP ((D + RN - 1) / RN * RN)
#define SLACK 4.0f
#define EXP(x) XL_CAT(xl_small_exp_, XL_VW)(x)
#define VLOAD XL_CAT(vload, XL_VW)
#define VSTORE XL_CAT(vstore, XL_VW)
typedef FLOATV(XL_VW) vec;

PACK(pack_keys, RN, 8, XL_VW, 0, __local)
PACK(pack_values, RN, 8, XL_VW, 1, __local)

#define MAX_OF(x) XL_CAT(max_, XL_VW)(x)
#define SUM_OF(x) XL_CAT(sum_, XL_VW)(x)

/* sum[r][] += a[r][l] b[l][] over `depth` steps l, b a panel of RN. */
static inline void multiply(__local const float *a, const uint lda,
                            __local const float *b, const uint depth,
                            vec sum[RQ][NV])
{
#pragma unroll 4
    for (uint l = 0; l < depth; l++) {
        vec line[NV];
#pragma unroll
        for (uint v = 0; v < NV; v++)
            line[v] = VLOAD(v, b + l * RN);
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint v = 0; v < NV; v++)
                sum[r][v] =
                    MUL_ADD((vec)(a[r * lda + l]), line[v], sum[r][v]);
        }
    }
}

/* Scores of RQ rows and a block of keys, not scaled yet. */
static inline void multiply_keys(__local const float *ql,
                                 __local const float *kl, const uint n_keys,
                                 __local float *sl)
{
    for (uint j = 0; j < n_keys; j += RN) {
        vec sum[RQ][NV];
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint v = 0; v < NV; v++)
                sum[r][v] = (vec)(0.0f);
        }
        multiply(ql, D, kl + j * D, D, sum);
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint v = 0; v < NV; v++)
                VSTORE(sum[r][v], v, sl + r * BK + j);
        }
    }
}

static inline void add_values(__local const float *sl, __local const float *vl,
                              const uint n_keys, __local float *ol)
{
    for (uint c = 0; c < DP; c += RN) {
        vec sum[RQ][NV];
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint v = 0; v < NV; v++)
                sum[r][v] = VLOAD(v, ol + r * DP + c);
        }
        multiply(sl, BK, vl + c * BK, n_keys, sum);
#pragma unroll
        for (uint r = 0; r < RQ; r++) {
#pragma unroll
            for (uint v = 0; v < NV; v++)
                VSTORE(sum[r][v], v, ol + r * DP + c);
        }
    }
}

/* Scores of a row, from the products in `line` for keys from j on, into
 * weights; its shift and sum, and the rescaled sums of its values. */
static inline void weigh(const struct row r, const ulong j, const uint n_keys,
                         __local float *line, __local float *top,
                         __local float *total,
                         __local float *ol XL_PROLOGUE_PARAMS)
{
    vec most = (vec)(-INFINITY), sum = (vec)(0.0f);
    for (uint i = 0; i < n_keys; i += XL_VW) {
        const vec x = seen_scores(r, VLOAD(0, line + i), j + i XL_PROLOGUE_ARGS);
        most = x > most ? x : most;
        VSTORE(x, 0, line + i);
    }
    const float now = MAX_OF(most);
    if (now > *top + SLACK) {
        /* Before the first key the sums are 0, which an overflow would make
         * NaN. */
        const float factor =
            *top == -INFINITY ? 0.0f : xl_small_exp_1(*top - now);
        for (uint c = 0; c < DP; c += XL_VW)
            VSTORE(VLOAD(0, ol + c) * factor, 0, ol + c);
        *total *= factor;
        *top = now;
    }
    const float shift = shift_of(*top);
    for (uint i = 0; i < n_keys; i += XL_VW) {
        const vec weight = EXP(VLOAD(0, line + i) - shift);
        sum += weight;
        VSTORE(weight, 0, line + i);
    }
    *total += SUM_OF(sum);
}

static inline void put_row(__global ELEM(OT) *o, __local const float *ol,
                           const float share)
{
    uint c = 0;
    for (; c + XL_VW <= D; c += XL_VW)
        STOREV(XL_VW, OT, o, c, VLOAD(0, ol + c) * share);
    for (; c < D; c++)
        STORE(OT, o, c, ol[c] * share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void attention_cpu(ATTENTION_PARAMS)
{
    __local float ql[BQ * D] __attribute__((aligned(64)));
    __local float kl[BK * D] __attribute__((aligned(64)));
    __local float vl[BK * DP] __attribute__((aligned(64)));
    __local float ol[BQ * DP] __attribute__((aligned(64)));
    __local float sl[RQ * BK] __attribute__((aligned(64)));
    __local float top[BQ], total[BQ];
    COPY_SIZES
    const ulong n_kv_heads = n.n_heads / n.share;
    const ulong b = xl_group_id(1) / n_kv_heads, g = xl_group_id(1) % n_kv_heads;
    SEQUENCE(b);
    const ulong rows = n.n_q * n.share, n_tiles = (rows + BQ - 1) / BQ;
    if ((Q_ROWS) && xl_group_id(0) >= n_tiles)
        return;
    /* The last rows begin: under a causal mask they have the most keys. */
    const ulong row0 = (n_tiles - 1 - xl_group_id(0)) * BQ;
    const uint height = (uint)min((ulong)BQ, rows - row0);
/* Query and head of row r; past the last row the last one again. */
#define QUERY(r) (min(row0 + (r), rows - 1) / n.share)
#define HEAD(r) (g * n.share + min(row0 + (r), rows - 1) % n.share)

    for (uint r = 0; r < (height + RQ - 1) / RQ * RQ; r++) {
        const ulong from = ROW_AT(at.q, b, HEAD(r), QUERY(r));
        for (uint c = 0; c < D; c++)
            ql[r * D + c] = LOAD(DT, q, from + c);
        for (uint c = 0; c < DP; c++)
            ol[r * DP + c] = 0.0f;
        top[r] = SINK(b, HEAD(r));
        total[r] = xl_small_exp_1(top[r] - shift_of(top[r]));
    }
    k += ROW_AT(at.k, b, g, 0);
    v += ROW_AT(at.v, b, g, 0);
    const ulong end = ROW(b, HEAD(height - 1), QUERY(height - 1)).last;
    for (ulong j = ROW(b, HEAD(0), QUERY(0)).first / BK * BK; j < end;
         j += BK) {
        const uint n_keys = (uint)min((ulong)BK, n.n_kv - j);
        for (uint i = 0; i < n_keys; i += RN)
            pack_keys(k + (j + i) * at.k.row, at.k.row, 1,
                      min((uint)RN, n_keys - i), D, kl + i * D);
        for (uint c = 0; c < D; c += RN)
            pack_values(v + j * at.v.row + c, 1, at.v.row,
                        min((uint)RN, (uint)D - c), n_keys, vl + c * BK);
        for (uint s = 0; s < height; s += RQ) {
            const struct row last = ROW(b, HEAD(s + RQ - 1), QUERY(s + RQ - 1));
            if (last.last <= j ||
                ROW(b, HEAD(s), QUERY(s)).first >= j + n_keys)
                continue;
            multiply_keys(ql + s * D, kl, n_keys, sl);
            for (uint r = s; r < s + RQ; r++)
                weigh(ROW(b, HEAD(r), QUERY(r)), j, n_keys, sl + (r - s) * BK,
                      top + r, total + r, ol + r * DP XL_PROLOGUE_ARGS);
            add_values(sl, vl, n_keys, ol + s * DP);
        }
    }
    for (uint r = 0; r < height; r++) {
        put_row(o + ROW_AT(at.o, b, HEAD(r), QUERY(r)), ol + r * DP,
                share_of(total[r]));
        STORE_LSE(b, HEAD(r), QUERY(r), shift_of(top[r]), total[r]);
    }
}
