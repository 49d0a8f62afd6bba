/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h by the systolic matrix
 *               instruction of a sub-group, of which an item has one column of
 *               B and of the sums: one row of q. A group takes BQ rows that
 *               read one head of k and v, and one part of the keys that these
 *               see. SV sub-groups have the same DPAS_LANES rows, each a range
 *               of v's columns:
 *
 *                 for each block of BK keys of the part:
 *                   x^T       = k q^T              BK x DPAS_LANES
 *                   weights^T = 2^(x^T - shift), by shifts of the item
 *                   sums^T    = sums^T + v^T weights^T     DP / SV x DPAS_LANES
 *
 *               An item's 16 scores are its column of B, in their order, and no
 *               item needs another's. Tiles of k and of v^T, packed before
 *               (attention/intel/dpas_pack.cl), are loaded by block reads: what
 *               the sub-groups of a group share is in the cache.
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a key once.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), columns contiguous;
 *               parts, n_parts: attention/join.cl; packed: bytes, those of k
 *               from first_k on, of v from first_v on, n_bytes of each head.
 * Launch:       3-D, local (DPAS_LANES SV BQ / DPAS_LANES, 1, 1); groups:
 *               ceil(n_q share / BQ) times heads of k times n_batch, times
 *               n_parts.
 * Local memory: 2 SV BQ DP without QREG (XL_DPAS_EMULATED: and 256 bytes a
 *               sub-group).
 * -D:           BQ a multiple of DPAS_LANES; BK of 16; SV 1 or 2, DP / SV at
 *               most 192; QREG 1: q is held in registers; JOIN 1: parts are left
 *               to attention_join; DPAS_LANES, XL_DPAS_...:
 *               common/intel/dpas.clh; VA: attention/intel/dpas.clh;
 *               attention/attention.clh, DT 1 or 2, k and v of type DT.
 * Needs:        the instruction, or its emulation, which any device runs.
 * Cost:         2 (1 + SV) D flop for each key that a row sees; a sub-group
 *               reads its part of k and v.
 * Source:       Dao 2023, arXiv:2307.08691; IN-15, IN-19. */
#include "attention/blocks.clh"
#include "attention/intel/dpas.clh"
#include "attention/parts.clh"
#include "common/exp2.clh"

#ifndef BQ
#define BQ 32
#endif
#ifndef BK
#define BK 32
#endif
#ifndef SV
#define SV 1
#endif
#ifndef QREG
#define QREG 1
#endif
#ifndef JOIN
#define JOIN 0
#endif

#define ITEMS (BQ * SV)
#define BLOCK (2 * BK * DP) /* bytes of k's keys, of v's */
#define NK (BK / DPAS_M)
#define NS (NI / SV) /* tiles of a sub-group's sums */

/* Weights 2 i and 2 i + 1 of eight are a word. Those of bf16 are rounded to
 * nearest, ties upwards, which takes least instructions: none is infinite, and a
 * NaN, which may end as a 0, is one of the total, too, and so of all results. */
#if DT == 1
#define WORDS_OF(x) as_uint4(xl_to_f16_8(x))
#else
#define WORDS_OF(x) as_uint4(as_ushort16(as_uint8(x) + 0x8000u).odd)
#endif
/* FOR_EACH(e) for the eight keys of a tile. */
#define FOR_KEYS(EACH_KEY)                                                    \
    EACH_KEY(0) EACH_KEY(1) EACH_KEY(2) EACH_KEY(3)                           \
    EACH_KEY(4) EACH_KEY(5) EACH_KEY(6) EACH_KEY(7)

/* The score of key 8 c + e of a block, of which the row sees those from `begin`
 * to before `end`; `most` is the last that is in memory. */
#if PLAIN
#define SCORE(x, j) (x)
#else
#define SCORE(x, j) score(seen, x, from + min(j, most) XL_PROLOGUE_ARGS)
#endif
#define SEE(e)                                                                \
    {                                                                         \
        const uint j = c * DPAS_M + e;                                        \
        const float y = SCORE(x[c].s##e, j);                                  \
        x[c].s##e = j < begin || j >= end ? -INFINITY : y;                    \
    }

/* Tile c of a row's sums, of parts in f32. */
#if JOIN
#define TO_T 0
#else
#define TO_T DT
#endif
#if VA && !JOIN
#define STORE_8(col, y) STOREVA(8, DT, to, col, y)
#else
#define STORE_8(col, y) STOREV(8, TO_T, to, col, y)
#endif
#if D % DPAS_M == 0
#define STORE_REST
#else
#define STORE_ONE(e)                                                          \
    if (col + e < D)                                                          \
        STORE(TO_T, to, col + e, y.s##e);
#define STORE_REST                                                            \
    else {                                                                    \
        FOR_KEYS(STORE_ONE)                                                   \
    }
#endif
/* Written out: what a compiler does not unroll, since it is long, leaves the
 * sums in memory. */
#define STORE_TILE(c)                                                         \
    if (c < NS) {                                                             \
        const uint col = (sv * NS + c) * DPAS_M;                              \
        const float8 y = each * sums[c];                                      \
        if (col + DPAS_M <= D) {                                              \
            STORE_8(col, y);                                                  \
        }                                                                     \
        STORE_REST                                                            \
    }

__kernel DPAS_ATTRIBUTE __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void attention_dpas(ATTENTION_PARAMS, __global float *parts,
                    const ulong n_parts, __global const uchar *restrict packed,
                    const uint first_k, const uint first_v, const uint n_bytes)
{
#if !QREG
    __local dpas_b ql[KI * ITEMS];
#endif
    DPAS_TEAM(team, ITEMS);
    COPY_SIZES
    const uint share = (uint)n.share, n_kv_heads = (uint)n.n_heads / share;
    const uint b = (uint)xl_group_id(1) / n_kv_heads;
    const uint g = (uint)xl_group_id(1) % n_kv_heads;
    const ulong n_q_most = n.n_q; /* of all sequences */
    SEQUENCE(b);
    const uint rows = (uint)n.n_q * share, n_tiles = (rows + BQ - 1) / BQ;
    if (xl_group_id(0) >= n_tiles)
        return; /* the whole group */
    /* The last rows see most keys of a causal mask. */
    const uint row0 = (n_tiles - 1 - (uint)xl_group_id(0)) * BQ;
    const float unit = PLAIN ? fabs(scale) * LOG2_E : LOG2_E;
    const float growth = MOST_GROWTH / unit;
    const struct part own = part_of(n, QUERY(0), QUERY(BQ - 1), BK,
                                    xl_group_id(2), n_parts);

    /* The item's row, the sub-group's columns of v. */
    const uint sv = team.number % SV;
    const uint r = team.number / SV * DPAS_LANES + team.lane;
    const uint h = HEAD(r);
    const struct row seen = ROW(b, h, QUERY(r));
    const uint sign = PLAIN && scale < 0 ? 0x80008000u : 0;
    const uint at_z = (uint)xl_group_id(1) * n_bytes +
                      (uint)(own.j0 / BK) * BLOCK;
    DPAS_CURSOR gk = DPAS_BEGIN(packed, first_k + at_z);
    DPAS_CURSOR gv =
        DPAS_BEGIN(packed, first_v + at_z + sv * NS * DPAS_A_BYTES);
    __global const ushort *q_row =
        (__global const ushort *)q + ROW_AT(at.q, b, h, QUERY(r));
#if QREG
    dpas_b fq[KI];
#define Q(kk) fq[kk]
#else
#define Q(kk) ql[(kk) * ITEMS + get_local_id(0)]
#endif
    DPAS_UNROLL
    for (uint kk = 0; kk < KI; kk++)
        Q(kk) = LINE_OF(q_row, kk * DPAS_K, true) ^ sign;
    dpas_c sums[NS];
    float top = -INFINITY, total = 0.0f;
    DPAS_UNROLL
    for (uint c = 0; c < NS; c++)
        sums[c] = 0;

    for (uint i = 0; i < own.n_blocks; i++) {
        const ulong from = own.j0 + (ulong)i * BK;
        dpas_c x[NK];
        DPAS_UNROLL
        for (uint c = 0; c < NK; c++)
            x[c] = 0;
        DPAS_UNROLL
        for (uint kk = 0; kk < KI; kk++) {
            const dpas_b fq_kk = Q(kk);
            DPAS_UNROLL
            for (uint c = 0; c < NK; c++)
                dpas(&team, &x[c],
                     dpas_load_a(&team, DPAS_AT(packed, gk,
                                                (c * KI + kk) * DPAS_A_BYTES)),
                     fq_kk);
        }
        gk += BLOCK;
        if (!PLAIN || i < own.seen_from || i >= own.seen_to) {
            const uint begin = (uint)(max(seen.first, from) - from);
            const uint end = (uint)(max(seen.last, from) - from);
            const uint most = (uint)min(n.n_kv - 1 - from, (ulong)BK);
            DPAS_UNROLL
            for (uint c = 0; c < NK; c++) {
                FOR_KEYS(SEE)
            }
        }
        /* The shift follows the maximum only when this has grown by more than
         * MOST_GROWTH, so that weights are at most 2^MOST_GROWTH. */
        float8 most = x[0];
        DPAS_UNROLL
        for (uint c = 1; c < NK; c++)
            most = fmax(most, x[c]);
        const float now = fmax(top, max_8(most));
        if (now > top + growth) {
            const float factor = XL_EXP2(1, (top - shift_of(now)) * unit);
            total *= factor;
            top = now;
            DPAS_UNROLL
            for (uint c = 0; c < NS; c++)
                sums[c] *= factor;
        }
        const float shift = shift_of(top) * unit;
        float8 all = 0;
        DPAS_UNROLL
        for (uint c = 0; c < NK; c++) {
            x[c] = XL_EXP2(8, fma(x[c], unit, -shift));
            all += x[c];
        }
        total += sum_8(all);
        DPAS_UNROLL
        for (uint s = 0; s < NK / 2; s++) {
            const dpas_b weights =
                (dpas_b)(WORDS_OF(x[2 * s]), WORDS_OF(x[2 * s + 1]));
            DPAS_UNROLL
            for (uint c = 0; c < NS; c++)
                dpas(&team, &sums[c],
                     dpas_load_a(&team, DPAS_AT(packed, gv,
                                                (s * NI + c) * DPAS_A_BYTES)),
                     weights);
        }
        gv += BLOCK;
    }

    if (row0 + r < rows) { /* and no return: CP-37 */
        const float natural = top * (unit * LN_2);
        const float sink = JOIN ? -INFINITY : SINK(b, h);
        const float most = fmax(natural, sink), shift = shift_of(most);
        const float factor = XL_EXP2(1, (natural - shift) * LOG2_E);
        const float sum = factor * total + XL_EXP2(1, (sink - shift) * LOG2_E);
#if JOIN
        const float each = factor;
        __global float *to =
            parts + PART_AT(((ulong)b * n.n_heads + h) * n_q_most + QUERY(r),
                            xl_group_id(2), n_parts);
        if (sv == 0) {
            to[PART_TOP] = most;
            to[PART_WEIGHT] = sum;
        }
#else
        const float each = factor * share_of(sum);
        __global ELEM(DT) *to = o + ROW_AT(at.o, b, h, QUERY(r));
        if (sv == 0)
            STORE_LSE(b, h, QUERY(r), shift, sum);
#endif
        STORE_TILE(0) STORE_TILE(1) STORE_TILE(2) STORE_TILE(3)
        STORE_TILE(4) STORE_TILE(5) STORE_TILE(6) STORE_TILE(7)
        STORE_TILE(8) STORE_TILE(9) STORE_TILE(10) STORE_TILE(11)
        STORE_TILE(12) STORE_TILE(13) STORE_TILE(14) STORE_TILE(15)
        STORE_TILE(16) STORE_TILE(17) STORE_TILE(18) STORE_TILE(19)
        STORE_TILE(20) STORE_TILE(21) STORE_TILE(22) STORE_TILE(23)
    }
}
