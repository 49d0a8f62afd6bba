/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h on a sub-group's matrix
 *               instructions. A group takes BQ rows that read one head of k and
 *               v, and one part of the keys that these see. SM SK sub-groups
 *               (teams) divide both:
 *
 *                          BK   BK
 *                 BQ rows +----+----+     SM = SK = 2: four teams, each with
 *                         |    |    |     RM MMA_M rows and BK keys of a
 *                         +----+----+     block; those of a row add up what
 *                         |    |    |     they have at the end
 *                         +----+----+
 *
 *                 for each block of SK BK keys of the part:
 *                   x       = q k^T
 *                   weights = 2^(x - shift), by shifts of the team
 *                   sums    = sums + weights v
 *
 *               ST slots of local memory hold blocks of k and v: while one is
 *               multiplied the next ST - 1 are being copied.
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a key once.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh): rows of q, k, v and
 *               o are contiguous and begin at multiples of 16 bytes; parts,
 *               n_parts: attention/join.cl; counts: with JOIN 2 a 0 for each
 *               BQ rows of each head of k, which the kernel leaves 0.
 *               Rows may be packed, not in pages.
 * Launch:       3-D, local (32 SM SK, 1, 1); groups: ceil(n_q share / BQ) times
 *               heads of k times n_batch, times n_parts.
 * Local memory: the larger of ST blocks, 2 SK BK LINE bytes each, and the sums
 *               of all teams, 4 SK BQ (DP + 8); BQ (LINE + 80 + 8 SK). DP,
 *               LINE: attention/lines.clh.
 * -D:           SM, SK powers of 2; RM, BQ = SM RM MMA_M; BK a multiple of 16;
 *               ST 2 and more; QREG 1: q is held in registers; JOIN 1: parts
 *               are left to attention_join, 2: the last group of a row joins
 *               them; XL_MMA_...: common/matrix.clh; XL_COPY_...:
 *               common/async_copy.clh; attention/attention.clh, DT 0, 1 or 2, D
 *               a multiple of 8; with DT 0: MMA_SPLIT 1: f32 in two terms;
 *               TERMS 1: likewise, of f16, for which `parts` are those of k
 *               and v that attention/split_terms.cl has written; JOIN 0, equal
 *               lengths, no window then.
 * Needs:        a matrix engine, or its emulation, which any device runs.
 * Cost:         4 D flop for each key that a row sees; k and v are read once
 *               for each BQ rows.
 * Source:       Dao 2023, arXiv:2307.08691; Dao, Haziza, Massa, Sizov 2023,
 *               "Flash-Decoding for long-context inference"; NV-35,
 *               NV-66; Ootomo and Yokota 2022. */
#ifndef DT
#define DT 1
#endif
#ifndef TERMS
#define TERMS 0
#endif
#if TERMS
#define MMA_T 1
#else
#define MMA_T DT
#endif
#include "attention/blocks.clh"
#include "attention/lines.clh"
#include "attention/parts.clh"
#include "common/device_fence.clh"
#include "common/exp2.clh"

#ifndef SM
#define SM 1
#endif
#ifndef SK
#define SK 2
#endif
#ifndef RM
#define RM 1
#endif
#ifndef BK
#define BK 16
#endif
#ifndef ST
#define ST 2
#endif
#ifndef QREG
#define QREG 1
#endif
#ifndef JOIN
#define JOIN 0
#endif

#define BQ (SM * RM * MMA_M)
#define ITEMS (MMA_LANES * SM * SK)
#define BLOCK (BK * LINE) /* bytes of a team's keys */
#define STAGE (2 * SK * BLOCK)
#define LINE_O (DP + 8)
#define ROOM_O (4 * SK * BQ * LINE_O)
#define ROOM (ST * STAGE > ROOM_O ? ST * STAGE : ROOM_O)

/* Fragments: along a row of q, columns of v, keys of a block. */
#define KI (DP / MMA_K)
#define NI (DP / MMA_N)
#define NK (BK / MMA_N)

/* Fragments of k, of v that are multiplied together: sums that do not wait for
 * each other. */
#ifndef WIDE
#define WIDE (DT == 0 ? 8 / RM : 2)
#endif

/* Of terms: planes of an operand, and of steps, the smallest products first,
 * the planes that they multiply. Weights are multiplied by 2^RAISED, so that
 * fewer are below the numbers of f16, and are at most 2^15; v's factor is
 * divided by it. */
#if TERMS
#include "attention/split_terms.clh"
#define PLANES 2
#define STEPS 3
#define RAISED (15 - MOST_GROWTH)
#define LOWERED (1.0f / (1 << (int)RAISED))
#define FROM_BLOCK(own, sum) fma(own, factor.y, sum)
#else
#define PLANES 1
#define STEPS MMA_TERMS
#define RAISED 0
#define LOWERED 1.0f
#define FROM_BLOCK(own, sum) ((sum) + (own))
#endif
#define A_PLANE(i) (TERMS && (i) == 0)
#define B_PLANE(i) (TERMS && (i) == 1)

/* A score's weight, with scores and shift in natural units. */
#define WEIGHT(score, shift) XL_EXP2(1, ((score) - (shift)) * LOG2_E)
/* Offset of part p of row r. */
#define PART_OF(r, p)                                                         \
    PART_AT(((ulong)b * n.n_heads + HEAD(r)) * longest + QUERY(r), p, n_parts)
/* Stores N sums of row r from column c on, with the row's shift and the sum of
 * its weights, to which the sink's is added. */
#define STORE_ROW(N, r, c, y, shift, sum)                                     \
    do {                                                                      \
        const float all = (sum) + WEIGHT(SINK(b, h), shift);                  \
        STOREV(N, DT, o + ROW_AT(at.o, b, h, QUERY(r)), c,                    \
               (y) * share_of(all));                                          \
        if ((c) == 0)                                                         \
            STORE_LSE(b, h, QUERY(r), shift, all);                            \
    } while (0)

/* The items that read a team's keys copy them, and wait for each other. */
#define COPIERS (MMA_LANES * SM)
#if SM == 1
#define WAIT_FOR_COPIERS() mma_sync(&team)
#else
#define WAIT_FOR_COPIERS() barrier(CLK_LOCAL_MEM_FENCE)
#endif

/* Blocks of a team between its first key and this one. */
static inline uint blocks_to(const ulong key, const ulong j0)
{
    return (uint)((key - min(key, j0)) / (SK * BK));
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void attention_mma(ATTENTION_PARAMS, __global float *parts,
                   const ulong n_parts, __global uint *counts)
{
    __local uchar slots[ROOM] __attribute__((aligned(128)));
    __local uchar ql[BQ * LINE] __attribute__((aligned(128)));
    __local struct row seen[BQ];
    __local float tops[SK * BQ], totals[SK * BQ];
    MMA_TEAM(team, ITEMS);
    COPY_SIZES
    const uint item = (uint)get_local_id(0), sg = item / MMA_LANES;
    const uint sm = sg % SM, sk = sg / SM;
    const uint row_m = sm * RM * MMA_M; /* the team's first */
    const uint copier = sm * MMA_LANES + item % MMA_LANES;
    const uint share = (uint)n.share, n_kv_heads = (uint)n.n_heads / share;
    const uint b = (uint)xl_group_id(1) / n_kv_heads;
    const uint g = (uint)xl_group_id(1) % n_kv_heads;
    const uint longest = (uint)n.n_q;
    SEQUENCE(b);
    const uint rows = (uint)n.n_q * share;
    if ((Q_ROWS) && xl_group_id(0) * BQ >= rows)
        return; /* the whole group */
    /* The last rows see most keys of a causal mask. */
    const uint row0 = ((rows + BQ - 1) / BQ - 1 - (uint)xl_group_id(0)) * BQ;
    const float unit = PLAIN ? fabs(scale) * LOG2_E : LOG2_E;
    const float growth = MOST_GROWTH / unit;

    /* The part: whole blocks from the first key that a row sees on. Rows see
     * no less than those before them. */
    const struct keys begins = keys_of(n, QUERY(0));
    const struct keys ends = keys_of(n, QUERY(BQ - 1));
    const ulong first = begins.first, last = max(first, ends.last);
    const ulong n_all = (last - first + SK * BK - 1) / (SK * BK);
    const ulong each = n_all / n_parts, more = n_all % n_parts;
    const ulong part = xl_group_id(2), begin = part * each + min(part, more);
    const uint n_blocks = (uint)each + (part < more);
    /* Of the team: its first key, and the blocks of which all rows see all
     * keys, of which all keys are in memory. */
    const ulong j0 = first + (begin * SK + sk) * BK;
    const uint seen_from = blocks_to(ends.first + SK * BK - 1, j0);
    const uint seen_to = blocks_to(begins.last + (SK - 1) * BK, j0);
    const uint n_full = blocks_to(n.n_kv + (SK - 1) * BK, j0);
    const uint n_rest = (uint)((n.n_kv - min(j0, n.n_kv)) % (SK * BK));
    const uint n_tail = n_rest < BK ? n_rest : 0;
#if TERMS
    const uint n_factors = (uint)((n.n_kv + BK - 1) / BK);
    __global const line_elem *lines = (__global const line_elem *)parts +
                                      xl_group_id(1) * HEAD_ELEMS(n_factors);
    __global const float2 *factors = FACTORS_OF(n_factors, lines);
    __global const line_elem *k_lines = lines + j0 * TERM_ELEMS;
    __global const line_elem *v_lines = k_lines + KEYS_ELEMS(n_factors);
#define K_STEP TERM_ELEMS
#define V_STEP TERM_ELEMS
#else
    __global const line_elem *k_lines = k + ROW_AT(at.k, b, g, j0);
    __global const line_elem *v_lines = v + ROW_AT(at.v, b, g, j0);
#define K_STEP at.k.row
#define V_STEP at.v.row
#endif
/* Copies block i of the part, if there is one, to its slot. */
#define KEYS_OF(i) (slots + ((i) % ST * 2 * SK + sk) * BLOCK)
#define COPY_BLOCK(i)                                                         \
    do {                                                                      \
        if ((i) < n_blocks) {                                                 \
            const uint n_keys = (i) < n_full ? BK : (i) == n_full ? n_tail : 0; \
            __local uchar *to = KEYS_OF(i);                                   \
            copy_rows(to, k_lines, K_STEP, n_keys, BK, false, copier,         \
                      COPIERS);                                               \
            copy_rows(to + SK * BLOCK, v_lines, V_STEP, n_keys, BK, true,     \
                      copier, COPIERS);                                       \
            k_lines += SK * BK * K_STEP;                                      \
            v_lines += SK * BK * V_STEP;                                      \
        }                                                                     \
        XL_COPY_CLOSE();                                                      \
    } while (0)

#if TERMS
    /* Of q, the tile is the block. */
    __local uint largest[1];
    uint word = 0;
    if (item == 0)
        largest[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#define Q_AT(r, c)                                                            \
    *(__global const float4 *)(q + ROW_AT(at.q, b, HEAD(r), QUERY(r)) + (c))
    for (uint i = item; i < BQ * (D / 4); i += ITEMS)
        word = max(word, largest_word(Q_AT(i / (D / 4), i % (D / 4) * 4)));
    atomic_max(largest, word);
    barrier(CLK_LOCAL_MEM_FENCE);
    word = largest[0];
    for (uint i = item; i < BQ * (DP / 4); i += ITEMS) {
        const uint r = i / (DP / 4), c = i % (DP / 4) * 4;
        const struct terms t =
            terms_of(c < D ? Q_AT(r, c) * INVERSE(word) : (float4)(0.0f));
        __local uchar *to = ql + c % EACH * MMA_BYTES;
        *(__local ushort4 *)(to + MMA_AT_ALONG(LINE, r, c / EACH)) = t.high;
        *(__local ushort4 *)(to + MMA_AT_ALONG(LINE, r, (DP + c) / EACH)) =
            t.low;
    }
#else
    for (uint i = item; i < BQ * CHUNKS; i += ITEMS) {
        const uint r = i / CHUNKS, chunk = i % CHUNKS;
        XL_COPY_PART(16, ql + MMA_AT_ALONG(LINE, r, chunk),
                     q + ROW_AT(at.q, b, HEAD(r), QUERY(r)) + chunk * EACH,
                     chunk * EACH < D ? 16 : 0);
    }
#endif
    XL_COPY_CLOSE();
    #pragma unroll
    for (uint i = 0; i < ST - 1; i++)
        COPY_BLOCK(i);
    for (uint r = item; r < BQ; r += ITEMS)
        seen[r] = ROW(b, HEAD(r), QUERY(r));
    XL_COPY_WAIT(ST - 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    mma_a fq[QREG ? KI : 1][PLANES][RM];
    mma_c sums[RM][NI];
    float top[RM][MMA_ROWS], total[RM][MMA_ROWS];
#if TERMS
    const float factor_q = FACTOR(word);
#endif
#define SIGNS (MMA_T == 0 ? 0x80000000u : 0x80008000u)
#define LOAD_Q(to, kk)                                                        \
    do {                                                                      \
        MMA_UNROLL                                                            \
        for (uint p = 0; p < PLANES; p++) {                                   \
            mma_load_a_along(&team, (to)[p], RM, ql, LINE, row_m,             \
                             (kk) + p * KI);                                  \
            if (PLAIN && scale < 0) {                                         \
                MMA_UNROLL                                                    \
                for (uint w = 0; w < RM * MMA_A_WORDS; w++)                   \
                    (to)[p][w / MMA_A_WORDS].w[w % MMA_A_WORDS] ^= SIGNS;     \
            }                                                                 \
        }                                                                     \
    } while (0)
#if QREG
    MMA_UNROLL
    for (uint kk = 0; kk < KI; kk++)
        LOAD_Q(fq[kk], kk);
#endif
    MMA_UNROLL
    for (uint m = 0; m < RM; m++) {
        MMA_UNROLL
        for (uint r = 0; r < MMA_ROWS; r++) {
            top[m][r] = -INFINITY;
            total[m][r] = 0.0f;
        }
        MMA_UNROLL
        for (uint c = 0; c < NI; c++)
            mma_zero(&sums[m][c]);
    }

    for (uint i = 0; i < n_blocks; i++) {
        mma_c x[RM][NK];
        __local const uchar *kl = KEYS_OF(i), *vl = kl + SK * BLOCK;
#if TERMS
        const float2 factor =
            factors[min((uint)(j0 / BK) + i * SK, n_factors - 1)] *
            (float2)(1.0f, LOWERED);
#endif
        XL_COPY_WAIT(ST - 2);
        WAIT_FOR_COPIERS();
        /* All have read the slot of the block before this one. */
        COPY_BLOCK(i + ST - 1);
        MMA_UNROLL
        for (uint m = 0; m < RM; m++) {
            MMA_UNROLL
            for (uint c = 0; c < NK; c++)
                mma_zero(&x[m][c]);
        }
        MMA_UNROLL
        for (uint kk = 0; kk < KI; kk++) {
#if !QREG
            LOAD_Q(fq[0], kk);
#endif
            MMA_UNROLL
            for (uint first = 0; first < NK; first += WIDE) {
                mma_b fk[PLANES][WIDE];
                MMA_UNROLL
                for (uint c = 0; c < WIDE && first + c < NK; c += 2) {
                    MMA_UNROLL
                    for (uint p = 0; p < PLANES; p++)
                        mma_load_b_along(&team, fk[p] + c, 2, kl, LINE,
                                         (first + c) * MMA_N, kk + p * KI);
                }
                MMA_UNROLL
                for (uint e = 0; e < STEPS * RM; e++) {
                    MMA_UNROLL
                    for (uint c = 0; c < WIDE && first + c < NK; c++)
                        mma_term(
                            &team, &x[e % RM][first + c],
                            &fq[QREG ? kk : 0][A_PLANE(e / RM)][e % RM],
                            &fk[B_PLANE(e / RM)][c], e / RM);
                }
            }
        }
#if TERMS
        MMA_UNROLL
        for (uint e = 0; e < RM * NK * MMA_C_ELEMS; e++)
            x[e / (NK * MMA_C_ELEMS)][e / MMA_C_ELEMS % NK].e[e % MMA_C_ELEMS] *=
                factor_q * factor.x;
#endif
        if (!PLAIN || i < seen_from || i >= seen_to) {
            MMA_UNROLL
            for (uint m = 0; m < RM; m++) {
                MMA_UNROLL
                for (uint e = 0; e < NK * MMA_C_ELEMS; e++) {
                    __local const struct row *r =
                        seen + row_m + m * MMA_M +
                        MMA_C_ROW(team.lane, e % MMA_C_ELEMS);
                    const ulong key = j0 + (ulong)i * (SK * BK) +
                                      e / MMA_C_ELEMS * MMA_N +
                                      MMA_C_COL(team.lane, e % MMA_C_ELEMS);
                    float *y = &x[m][e / MMA_C_ELEMS].e[e % MMA_C_ELEMS];
#if PLAIN
                    if (key < r->first || key >= r->last)
                        *y = -INFINITY;
#else
                    *y = seen_score(*r, *y, key XL_PROLOGUE_ARGS);
#endif
                }
            }
        }
        /* Shifts follow the maxima only when these have grown by more than
         * MOST_GROWTH, so that weights are at most 2^MOST_GROWTH. */
        float now[RM][MMA_ROWS];
        bool grows = false;
        MMA_UNROLL
        for (uint m = 0; m < RM; m++) {
            MMA_UNROLL
            for (uint r = 0; r < MMA_ROWS; r++)
                now[m][r] = top[m][r];
            MMA_UNROLL
            for (uint e = 0; e < NK * MMA_C_ELEMS; e++) {
                float *most = &now[m][MMA_ROW_OF(e % MMA_C_ELEMS)];
                *most = fmax(*most, x[m][e / MMA_C_ELEMS].e[e % MMA_C_ELEMS]);
            }
            MMA_UNROLL
            for (uint r = 0; r < MMA_ROWS; r++)
                grows |= now[m][r] > top[m][r] + growth;
        }
        if (mma_any(&team, grows)) {
            MMA_UNROLL
            for (uint m = 0; m < RM; m++) {
                float factor[MMA_ROWS];
                mma_row_max(&team, now[m]);
                MMA_UNROLL
                for (uint r = 0; r < MMA_ROWS; r++) {
                    factor[r] = XL_EXP2(1, (top[m][r] - shift_of(now[m][r])) *
                                               unit);
                    total[m][r] *= factor[r];
                    top[m][r] = now[m][r];
                }
                MMA_UNROLL
                for (uint c = 0; c < NI; c++)
                    mma_scale_rows(&sums[m][c], factor);
            }
        }
        MMA_UNROLL
        for (uint m = 0; m < RM; m++) {
            float shift[MMA_ROWS];
            MMA_UNROLL
            for (uint r = 0; r < MMA_ROWS; r++)
                shift[r] = shift_of(top[m][r]) * unit;
            MMA_UNROLL
            for (uint e = 0; e < NK * MMA_C_ELEMS; e++) {
                const uint r = MMA_ROW_OF(e % MMA_C_ELEMS);
                float *y = &x[m][e / MMA_C_ELEMS].e[e % MMA_C_ELEMS];
                *y = XL_EXP2(1, fma(*y, unit, -(shift[r] - RAISED)));
                total[m][r] += *y;
            }
        }
#if DT == 0
        mma_a weights[BK / MMA_K][PLANES][RM];
        MMA_UNROLL
        for (uint kk = 0; kk < BK / MMA_K * RM; kk++) {
            mma_c *c = &x[kk % RM][kk / RM * MMA_K / MMA_N];
            MMA_UNROLL
            for (uint p = 0; p < PLANES; p++) {
                mma_a *a = &weights[kk / RM][p][kk % RM];
                mma_a_from_c(&team, a, c);
#if TERMS
                if (p == 0)
                    mma_keep_rest(c, a);
#endif
            }
        }
        MMA_UNROLL
        for (uint first = 0; first < NI; first += WIDE) {
            mma_c own[RM][WIDE]; /* of the block */
            MMA_UNROLL
            for (uint c = 0; c < RM * WIDE; c++)
                mma_zero(&own[c / WIDE][c % WIDE]);
            MMA_UNROLL
            for (uint kk = 0; kk < BK / MMA_K; kk++) {
                mma_b fv[PLANES][WIDE];
                MMA_UNROLL
                for (uint c = 0; c < WIDE && first + c < NI; c += 2) {
                    MMA_UNROLL
                    for (uint p = 0; p < PLANES; p++)
                        mma_load_b_across(&team, fv[p] + c, 2, vl, LINE,
                                          p * DP + (first + c) * MMA_N, kk);
                }
                MMA_UNROLL
                for (uint e = 0; e < STEPS * RM; e++) {
                    MMA_UNROLL
                    for (uint c = 0; c < WIDE && first + c < NI; c++)
                        mma_term(&team, &own[e % RM][c],
                                 &weights[kk][A_PLANE(e / RM)][e % RM],
                                 &fv[B_PLANE(e / RM)][c], e / RM);
                }
            }
            MMA_UNROLL
            for (uint m = 0; m < RM; m++) {
                MMA_UNROLL
                for (uint c = 0; c < WIDE && first + c < NI; c++) {
                    MMA_UNROLL
                    for (uint e = 0; e < MMA_C_ELEMS; e++)
                        sums[m][first + c].e[e] =
                            FROM_BLOCK(own[m][c].e[e], sums[m][first + c].e[e]);
                }
            }
        }
#else
        MMA_UNROLL
        for (uint kk = 0; kk < BK / MMA_K; kk++) {
            mma_a weights[RM];
            MMA_UNROLL
            for (uint m = 0; m < RM; m++)
                mma_a_from_c(&team, &weights[m], &x[m][kk * MMA_K / MMA_N]);
            MMA_UNROLL
            for (uint c = 0; c < NI; c += 2) {
                mma_b fv[2];
                mma_load_b_across(&team, fv, 2, vl, LINE, c * MMA_N, kk);
                MMA_UNROLL
                for (uint m = 0; m < RM; m++) {
                    mma(&team, &sums[m][c], &weights[m], &fv[0]);
                    mma(&team, &sums[m][c + 1], &weights[m], &fv[1]);
                }
            }
        }
#endif
    }

    /* All of a row through local memory: its teams', and whole lines. */
    __local float *const room = (__local float *)slots;
    XL_COPY_WAIT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    MMA_UNROLL
    for (uint m = 0; m < RM; m++) {
        mma_row_sum(&team, total[m]);
        MMA_UNROLL
        for (uint e = 0; e < MMA_C_ELEMS; e++) {
            const uint row = sk * BQ + row_m + m * MMA_M +
                             MMA_C_ROW(team.lane, e);
            const uint col = MMA_C_COL(team.lane, e);
            MMA_UNROLL
            for (uint c = 0; c < NI; c++)
                room[row * LINE_O + c * MMA_N + col] = sums[m][c].e[e];
            if (col == 0) {
                tops[row] = top[m][MMA_ROW_OF(e)];
                totals[row] = total[m][MMA_ROW_OF(e)] * LOWERED;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < BQ * (D / 8); i += ITEMS) {
        const uint r = i / (D / 8), c = i % (D / 8) * 8;
        const uint h = HEAD(r);
        const float natural = unit * LN_2;
        float most = JOIN ? -INFINITY : SINK(b, h), sum = 0.0f;
        float8 y = (float8)(0.0f);
        if (row0 + r >= rows)
            continue;
        #pragma unroll
        for (uint s = 0; s < SK; s++)
            most = fmax(most, tops[s * BQ + r] * natural);
        const float shift = shift_of(most);
        #pragma unroll
        for (uint s = 0; s < SK; s++) {
            const float factor =
                WEIGHT(tops[s * BQ + r] * natural, shift);
            sum += factor * totals[s * BQ + r];
            y += factor * vload8(0, room + (s * BQ + r) * LINE_O + c);
        }
#if JOIN
        __global float *to = parts + PART_OF(r, xl_group_id(2));
        *(__global float4 *)(to + c) = y.lo;
        *(__global float4 *)(to + c + 4) = y.hi;
        if (c == 0) {
            to[PART_TOP] = most;
            to[PART_WEIGHT] = sum;
        }
#else
        STORE_ROW(8, r, c, y, shift, sum);
#endif
    }
#if JOIN == 2
    /* The last part of these rows to arrive joins all, and leaves the count as
     * it was. */
    __local uint n_before[1];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item == 0) {
        counts += xl_group_id(1) * ((longest * share + BQ - 1) / BQ) +
                  row0 / BQ;
        xl_device_fence();
        n_before[0] = atomic_inc(counts);
        xl_device_fence();
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    /* The others pass the barriers too, and do nothing between them. */
    const bool is_last = n_before[0] + 1 == n_parts;
    const uint n_rows = is_last ? min((uint)BQ, rows - row0) : 0;
    const uint n_states = n_rows * (uint)n_parts;
    if (is_last && item == 0)
        *counts = 0;
    for (uint i = item; i < n_states; i += ITEMS) {
        __global const float *part =
            parts + PART_OF(i / (uint)n_parts, i % (uint)n_parts);
        room[i] = part[PART_TOP];
        room[n_states + i] = part[PART_WEIGHT];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = item; r < n_rows; r += ITEMS) {
        float most = SINK(b, HEAD(r));
        for (uint p = 0; p < (uint)n_parts; p++)
            most = fmax(most, room[r * (uint)n_parts + p]);
        tops[r] = shift_of(most);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < n_states; i += ITEMS)
        room[i] = WEIGHT(room[i], tops[i / (uint)n_parts]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < n_rows * (D / 4); i += ITEMS) {
        const uint r = i / (D / 4), c = i % (D / 4) * 4;
        const uint h = HEAD(r);
        __local const float *factor = room + r * (uint)n_parts;
        __global const float *part = parts + PART_OF(r, 0);
        float sum = 0.0f;
        float4 y = (float4)(0.0f);
        if (row0 + r >= rows)
            continue;
        #pragma unroll 16
        for (uint p = 0; p < (uint)n_parts; p++) {
            sum += factor[p] * factor[n_states + p];
            y += factor[p] * *(__global const float4 *)(part + p * PART + c);
        }
        STORE_ROW(4, r, c, y, tops[r], sum);
    }
#endif
}
