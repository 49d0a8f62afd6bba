/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     attention as in crosslane/attention.h on matrix instructions
 *               whose sums are where the elements of B are, by columns
 *               (common/matrix.clh, AMD's). A group takes BQ rows that read
 *               one head of k and v, and one part of the keys that these see;
 *               each of its SM sub-groups (teams) has MMA_N rows, which are
 *               columns of what it computes:
 *
 *                 for each block of BK keys of the part:
 *                   x^T       = k q^T              BK x MMA_N
 *                   weights^T = 2^(x^T - shift), by shifts of the team
 *                   sums^T    = sums^T + v^T weights^T      D x MMA_N
 *
 *               so an item has scores of one row, and weights^T are a B without
 *               a copy: v is transposed on its way to local memory, with its
 *               keys in the order in which the items have them. While a block
 *               is multiplied, the next one is fetched to registers.
 *
 *               Row r of a group is query r / share of the head r % share of
 *               those that read the head of k, so all of them read a key once.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh): rows of q, k, v and
 *               o are contiguous and begin at multiples of 16 bytes; parts,
 *               n_parts: attention/join.cl.
 * Launch:       3-D, local (MMA_LANES SM, 1, 1); groups: ceil(n_q share / BQ)
 *               times heads of k times n_batch, times n_parts.
 * Local memory: BK LINE + 2 DP BK. DP: D rounded up to MMA_STACK; LINE: 2 DP
 *               rounded up to a power of 2, or from 128 on to a multiple of
 *               128.
 * -D:           SM, BQ = SM MMA_N; BK a power of 2 and a multiple of
 *               MMA_STACK; JOIN 1: parts are left to attention_join;
 *               XL_MMA_..., MMA_FRAGMENTS_... of AMD: common/matrix.clh;
 *               attention/attention.clh, DT 1 or 2, D a multiple of 8, k and v
 *               of type DT.
 * Needs:        a matrix engine, or its emulation, which any device runs.
 * Cost:         4 D flop for each key that a row sees; k and v are read once
 *               for each BQ rows.
 * Source:       Dao 2023, arXiv:2307.08691; AM-17, AM-19. */
#ifndef DT
#define DT 1
#endif
#define MMA_T DT
#if !defined(MMA_FRAGMENTS_MFMA_32X32) && !defined(MMA_FRAGMENTS_MFMA_16X16) && \
    !defined(MMA_FRAGMENTS_WMMA_GFX11) && !defined(MMA_FRAGMENTS_WMMA_GFX12)
#define MMA_FRAGMENTS_WMMA_GFX12
#endif
#include "attention/blocks.clh"
#include "attention/parts.clh"
#include "common/exp2.clh"
#include "common/matrix.clh"

#ifndef SM
#define SM 2
#endif
#ifndef BK
#define BK 32
#endif
#ifndef QREG
#define QREG 1
#endif
#ifndef JOIN
#define JOIN 0
#endif

#define BQ (SM * MMA_N)
#define ITEMS (MMA_LANES * SM)
#define EACH 8 /* elements of 16 bytes */
#define DP ((D + MMA_STACK - 1) / MMA_STACK * MMA_STACK)
#define LINE (DP > 32 ? (2 * DP + 127) / 128 * 128 : DP > 16 ? 64 : 32)
#define LINE_V (2 * BK)
#define CHUNKS (DP / EACH)
#define PAIRS (DP / 2)

/* Fragments: along a row of q, columns of v, keys of a block. */
#define KI (DP / MMA_K)
#define NI (DP / MMA_M)
#define NK (BK / MMA_M)
/* What an item fetches of a block: 16 bytes of a key; words of EACH keys. */
#define N_K (BK * CHUNKS)
#define N_V (PAIRS * (BK / EACH))
#define HELD_K ((N_K + ITEMS - 1) / ITEMS)
#define HELD_V ((N_V + ITEMS - 1) / ITEMS)

/* Blocks between the part's first key and this one. */
static inline uint blocks_to(const ulong key, const ulong j0)
{
    return (uint)((key - min(key, j0)) / BK);
}

/* The key at place p along v's lines; KEY_OF(p + e) is KEY_OF(p) + KEY_OF(e)
 * for a multiple p of EACH and e below. */
#define KEY_OF(p) ((p) / MMA_STACK * MMA_STACK + MMA_STACK_ROW((p) % MMA_STACK))

/* For each MMA_C_DOWN adjacent sums of the item's row: STORE(column, sums). */
#define FOR_SUMS(STORE)                                                       \
    MMA_UNROLL                                                                \
    for (uint i = 0; i < NI * MMA_C_ELEMS; i += MMA_C_DOWN) {                 \
        const uint c = i / MMA_C_ELEMS * MMA_M +                              \
                       MMA_C_ROW(team.lane, i % MMA_C_ELEMS);                 \
        if (c < D)                                                            \
            STORE(c, (sums[i / MMA_C_ELEMS].e + i % MMA_C_ELEMS));            \
    }
#if MMA_C_DOWN == 1
#define STORE_O(c, x)                                                         \
    ((__global ushort *)o)[c] = (ushort)mma_pair(part * x[0], 0.0f)
#elif MMA_C_DOWN == 4
#define STORE_O(c, x)                                                         \
    *(__global uint2 *)(o + (c)) = (uint2)(WORD(x, 0), WORD(x, 1))
#else
#define STORE_O(c, x)                                                         \
    *(__global uint4 *)(o + (c)) =                                            \
        (uint4)(WORD(x, 0), WORD(x, 1), WORD(x, 2), WORD(x, 3))
#endif
#define WORD(x, i) mma_pair(part * x[2 * (i)], part * x[2 * (i) + 1])
#define STORE_PART(c, x)                                                      \
    MMA_UNROLL                                                                \
    for (uint e = 0; e < MMA_C_DOWN; e++)                                     \
    to[(c) + e] = factor * x[e]

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void attention_mma_transposed(ATTENTION_PARAMS, __global float *parts,
                              const ulong n_parts)
{
    __local uchar kl[BK * LINE] __attribute__((aligned(128)));
    __local uchar vl[DP * LINE_V] __attribute__((aligned(128)));
#if !QREG
    __local uchar ql[BQ * LINE] __attribute__((aligned(128)));
#endif
    MMA_TEAM(team, ITEMS);
    COPY_SIZES
    const uint item = (uint)get_local_id(0);
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

    /* The part: whole blocks from the first key that a row sees on. Rows see
     * no less than those before them. */
    const struct keys begins = keys_of(n, QUERY(0));
    const struct keys ends = keys_of(n, QUERY(BQ - 1));
    const ulong first = begins.first, last = max(first, ends.last);
    const ulong n_all = (last - first + BK - 1) / BK;
    const ulong each = (n_all + n_parts - 1) / n_parts;
    const ulong begin = min(xl_group_id(2) * each, n_all);
    const uint n_blocks = (uint)(min(begin + each, n_all) - begin);
    /* Its first key, and the blocks of which all rows see all keys. */
    const ulong j0 = first + begin * BK;
    const uint seen_from = blocks_to(ends.first + BK - 1, j0);
    const uint seen_to = blocks_to(begins.last, j0);
    k += KEYS_AT(at.k, b, g);
    v += KEYS_AT(at.v, b, g);

    /* The item's row. */
    const uint r = item / MMA_LANES * MMA_N + MMA_C_COL(team.lane, 0);
    const uint h = HEAD(r);
    const struct row seen = ROW(b, h, QUERY(r));
    const uint sign = PLAIN && scale < 0 ? 0x80008000u : 0;
/* 16 bytes of row i from column c on. */
#define LOAD_Q(i, c)                                                          \
    ((c) < D ? *(__global const uint4 *)(q + ROW_AT(at.q, b, HEAD(i),         \
                                                    QUERY(i)) +               \
                                         ((c) < D ? (c) : 0)) ^               \
                   sign                                                       \
             : 0)
#if QREG
    mma_b fq[KI];
    MMA_UNROLL
    for (uint w = 0; w < KI * MMA_B_WORDS; w += 4) {
        const uint4 x =
            LOAD_Q(r, w / MMA_B_WORDS * MMA_K +
                          MMA_B_K(team.lane, w % MMA_B_WORDS * MMA_PACK));
        uint *to = &fq[w / MMA_B_WORDS].w[w % MMA_B_WORDS];
        to[0] = x.x;
        to[1] = x.y;
        to[2] = x.z;
        to[3] = x.w;
    }
#else
    mma_b fq[1];
    for (uint i = item; i < BQ * CHUNKS; i += ITEMS)
        *(__local uint4 *)(ql + MMA_AT_ALONG(LINE, i / CHUNKS, i % CHUNKS)) =
            LOAD_Q(i / CHUNKS, i % CHUNKS * EACH);
#endif
    mma_c sums[NI];
    float top = -INFINITY, total = 0.0f;
    MMA_UNROLL
    for (uint c = 0; c < NI; c++)
        mma_zero(&sums[c]);

    uint4 held_k[HELD_K];
    uint held_v[HELD_V][EACH];
/* Elements from column c on of key first + j, first the same in all items. */
#if KV_ROWS == PAGED
#define AT_KEY(x, first, j, c)                                                \
    ((__global const uchar *)(x + KEY_AT(at.x, b, (first) + (j)) + (c)))
#else
#define AT_KEY(x, first, j, c)                                                \
    ((__global const uchar *)(x + (first) * at.x.row) +                       \
     2 * ((j) * (uint)at.x.row + (c)))
#endif
/* A block; zeros past the last key and column. */
#define FETCH_BLOCK(from)                                                     \
    do {                                                                      \
        const uint n_keys = (uint)min(n.n_kv - (from), (ulong)BK);            \
        if (n_keys == BK && KV_ROWS != PAGED)                                 \
            FETCH_KEYS(from, INSIDE, 0);                                      \
        else                                                                  \
            FETCH_KEYS(from, LAST, n_keys);                                   \
    } while (0)
#define INSIDE_AT(x, from, e, j, n, c) AT_KEY(x, (from) + (e), j, c)
#define INSIDE_HAS(j, n) true
#define LAST_AT(x, from, e, j, n, c) AT_KEY(x, from, min((e) + (j), (n)-1), c)
#define LAST_HAS(j, n) ((j) < (n))
#define FETCH_KEYS(from, WHERE, n)                                            \
    do {                                                                      \
        MMA_UNROLL                                                            \
        for (uint t = 0; t < HELD_K; t++) {                                   \
            const uint at_k = min(item + t * ITEMS, (uint)N_K - 1);           \
            const uint j = at_k / CHUNKS, c = at_k % CHUNKS * EACH;           \
            const uint4 x = *(__global const uint4 *)WHERE##_AT(              \
                k, from, 0, j, n, c < D ? c : 0);                             \
            held_k[t] = WHERE##_HAS(j, n) && c < D ? x : 0;                   \
        }                                                                     \
        MMA_UNROLL                                                            \
        for (uint t = 0; t < HELD_V; t++) {                                   \
            const uint at_v = min(item + t * ITEMS, (uint)N_V - 1);           \
            const uint j = KEY_OF(at_v / PAIRS * EACH), c = at_v % PAIRS * 2; \
            MMA_UNROLL                                                        \
            for (uint e = 0; e < EACH; e++) {                                 \
                const uint x = *(__global const uint *)WHERE##_AT(            \
                    v, from, KEY_OF(e), j, n, c < D ? c : 0);                 \
                held_v[t][e] =                                                \
                    WHERE##_HAS(KEY_OF(e) + j, n) && c < D ? x : 0;           \
            }                                                                 \
        }                                                                     \
    } while (0)
    if (n_blocks > 0)
        FETCH_BLOCK(j0);

    for (uint i = 0; i < n_blocks; i++) {
        const ulong from = j0 + (ulong)i * BK;
        mma_c x[NK];
        barrier(CLK_LOCAL_MEM_FENCE);
        MMA_UNROLL
        for (uint t = 0; t < HELD_K; t++) {
            const uint at_k = item + t * ITEMS;
            if (N_K % ITEMS == 0 || at_k < N_K)
                *(__local uint4 *)(kl + MMA_AT_ALONG(LINE, at_k / CHUNKS,
                                                     at_k % CHUNKS)) =
                    held_k[t];
        }
        /* Of eight adjacent items, which store at a time, the last four store
         * their second lines first: each 16 bytes of all banks once. */
        MMA_UNROLL
        for (uint t = 0; t < HELD_V; t++) {
            const uint at_v = item + t * ITEMS;
            const uint c = at_v % PAIRS * 2, chunk = at_v / PAIRS;
            MMA_UNROLL
            for (uint s = 0; s < 2; s++) {
                const uint which = s ^ c / 8 % 2;
                const uint *w = held_v[t];
                if (N_V % ITEMS == 0 || at_v < N_V)
                    *(__local uint4 *)(vl + MMA_AT_ALONG(LINE_V, c + which,
                                                         chunk)) =
                        (uint4)(mma_halves(w[0], w[1], which),
                                mma_halves(w[2], w[3], which),
                                mma_halves(w[4], w[5], which),
                                mma_halves(w[6], w[7], which));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i + 1 < n_blocks)
            FETCH_BLOCK(from + BK);
        MMA_UNROLL
        for (uint c = 0; c < NK; c++)
            mma_zero(&x[c]);
        MMA_UNROLL
        for (uint kk = 0; kk < KI; kk++) {
            mma_a fk[NK];
            mma_load_a_along(&team, fk, NK, kl, LINE, 0, kk);
#if !QREG
            mma_load_b_along(&team, fq, 1, ql, LINE, r / MMA_N * MMA_N, kk);
#endif
            MMA_UNROLL
            for (uint c = 0; c < NK; c++)
                mma(&team, &x[c], &fk[c], &fq[QREG ? kk : 0]);
        }
        if (!PLAIN || i < seen_from || i >= seen_to) {
            MMA_UNROLL
            for (uint e = 0; e < NK * MMA_C_ELEMS; e++) {
                const ulong key = from + e / MMA_C_ELEMS * MMA_M +
                                  MMA_C_ROW(team.lane, e % MMA_C_ELEMS);
                float *y = &x[e / MMA_C_ELEMS].e[e % MMA_C_ELEMS];
#if PLAIN
                if (key < seen.first || key >= seen.last)
                    *y = -INFINITY;
#else
                *y = seen_score(seen, *y, key XL_PROLOGUE_ARGS);
#endif
            }
        }
        /* The shift follows the maximum only when this has grown by more than
         * MOST_GROWTH, so that weights are at most 2^MOST_GROWTH. */
        float now = top;
        MMA_UNROLL
        for (uint e = 0; e < NK * MMA_C_ELEMS; e++)
            now = fmax(now, x[e / MMA_C_ELEMS].e[e % MMA_C_ELEMS]);
        if (mma_any(&team, now > top + growth)) {
            now = mma_column_max(&team, now);
            const float factor = XL_EXP2(1, (top - shift_of(now)) * unit);
            total *= factor;
            top = now;
            MMA_UNROLL
            for (uint e = 0; e < NI * MMA_C_ELEMS; e++)
                sums[e / MMA_C_ELEMS].e[e % MMA_C_ELEMS] *= factor;
        }
        const float shift = shift_of(top) * unit;
        MMA_UNROLL
        for (uint e = 0; e < NK * MMA_C_ELEMS; e++) {
            float *y = &x[e / MMA_C_ELEMS].e[e % MMA_C_ELEMS];
            *y = XL_EXP2(1, fma(*y, unit, -shift));
            total += *y;
        }
        MMA_UNROLL
        for (uint s = 0; s < BK / MMA_STACK; s++) {
            mma_b weights[MMA_STACK / MMA_K];
            mma_b_from_c(&team, weights, &x[s * (MMA_STACK / MMA_M)]);
            MMA_UNROLL
            for (uint kk = 0; kk < MMA_STACK / MMA_K; kk++) {
                MMA_UNROLL
                for (uint c = 0; c < NI; c++) {
                    mma_a fv;
                    mma_load_a_along(&team, &fv, 1, vl, LINE_V, c * MMA_M,
                                     s * (MMA_STACK / MMA_K) + kk);
                    mma(&team, &sums[c], &fv, &weights[kk]);
                }
            }
        }
    }

    total = mma_column_sum(&team, total);
    if (row0 + r < rows) {
        const float natural = top * (unit * LN_2);
        const float sink = JOIN ? -INFINITY : SINK(b, h);
        const float most = fmax(natural, sink), shift = shift_of(most);
        const float factor = XL_EXP2(1, (natural - shift) * LOG2_E);
        const float sum =
            factor * total + XL_EXP2(1, (sink - shift) * LOG2_E);
#if JOIN
        __global float *to =
            parts + PART_AT(((ulong)b * n.n_heads + h) * n_q_most + QUERY(r),
                            xl_group_id(2), n_parts);
        FOR_SUMS(STORE_PART)
        if (team.lane < MMA_N) {
            to[PART_TOP] = most;
            to[PART_WEIGHT] = sum;
        }
#else
        const float part = factor * share_of(sum);
        o += ROW_AT(at.o, b, h, QUERY(r));
        FOR_SUMS(STORE_O)
        if (team.lane < MMA_N)
            STORE_LSE(b, h, QUERY(r), shift, sum);
#endif
    }
}
