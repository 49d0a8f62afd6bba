/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     the gradients of attention as in crosslane/attention.h on a
 *               sub-group's matrix instructions, by kernels that compute
 *               weights again.
 *                 STEP 1  grad_q of queries of a head, over blocks of keys; and
 *                         (lse UNIT, grad_o . o) of each query
 *                 STEP 2  grad_k, grad_v of keys of a head, over the heads that
 *                         read it and blocks of their queries
 *
 *                            BM rows
 *                 SM RM     +---------+   lines: queries in STEP 1, keys in
 *                 MMA_M     |  x, g   |   STEP 2; rows of a block are the
 *                 lines     +---------+   others. Each of SM sub-groups (teams)
 *                                         has RM MMA_M lines and all rows
 *
 *                 for each block of rows that lines see, or that see lines:
 *                   x = q k^T, g = grad_o v^T, or both transposed
 *                   p = exp(score(x) - lse), s = p (g - delta) d score / d x
 *                   STEP 1  grad_q += s k
 *                   STEP 2  grad_v += p^T grad_o, grad_k += s^T q
 *
 *               A team's p and s are operands as they are in its registers.
 *               ST slots of local memory hold blocks: while one is multiplied
 *               the next ST - 1 are being copied. Each result is the sum of one
 *               team, in order of heads and rows.
 * Arguments:    BACKWARD_PARAMS (attention/backward.clh): rows of q, k, v, o
 *               and grad_o are contiguous and begin at multiples of 16 bytes,
 *               columns of the results are contiguous; of_query: n_batch x
 *               n_heads x n_q of two f32, written in STEP 1.
 * Launch:       2-D, local (MMA_LANES SM, 1); groups: ceil(lines / (SM RM
 *               MMA_M)) times heads of the lines times n_batch.
 * Local memory: 2 LINE (SM RM MMA_M + ST BM), and a struct query for each
 *               of the lines in STEP 1, of two blocks in STEP 2. LINE:
 *               attention/lines.clh.
 * -D:           STEP; SM, RM; BM a multiple of 16; ST 2 and more; XL_MMA_...:
 *               common/matrix.clh; XL_COPY_...: common/async_copy.clh;
 *               attention/attention.clh, DT 1 or 2, D a multiple of 8.
 * Needs:        a matrix engine, or its emulation, which any device runs.
 * Cost:         STEP 1: 6 D, STEP 2: 8 D flop for each key that a query sees.
 * Source:       Dao 2023, arXiv:2307.08691; its loops apart, so that sums need
 *               no atomics. */
#ifndef DT
#define DT 1
#endif
#define MMA_T DT
#include "attention/backward.clh"
#include "attention/lines.clh"
#include "common/exp2.clh"

#ifndef STEP
#define STEP 1
#endif
#ifndef SM
#define SM 2
#endif
#ifndef RM
#define RM 1
#endif
#ifndef BM
#define BM 16
#endif
#ifndef ST
#define ST 2
#endif

#define BL (SM * RM * MMA_M)
#define ITEMS (MMA_LANES * SM)
#define NI (DP / MMA_N)
#define KI (DP / MMA_K)
#define NR (BM / MMA_N)
#define LINES_BYTES (BL * LINE)
#define BLOCK (BM * LINE)

#if CAP || SLOPES || MT >= 0
#define PLAIN 0
#else
#define PLAIN 1
#endif
/* Scores that only scale the product are powers of 2, others of e. */
#define UNIT (PLAIN ? 1.44269504f : 1.0f)

/* What weights of a query depend on: lse UNIT, inf of a query that sees
 * nothing, so that its weights are 0. */
struct query {
#if PLAIN
    uint first, last;
#else
    struct row row;
#endif
    float lse, delta;
};
#define N_QUERIES (STEP == 1 ? BL : 2 * BM)

/* grad_o . o of a row, of contiguous columns. */
static inline float delta_of(__global const ELEM(DT) *x,
                             __global const ELEM(DT) *y)
{
    float8 sum = (float8)(0.0f);
    for (uint c = 0; c < D; c += EACH)
        sum += LOADV(8, DT, x, c) * LOADV(8, DT, y, c);
    return sum_8(sum);
}

#if STEP == 1
#define KERNEL attention_backward_mma_q
#else
#define KERNEL attention_backward_mma_kv
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void KERNEL(BACKWARD_PARAMS, __global float2 *of_query)
{
    /* Lines of q and grad_o, or of k and v; blocks of the others. */
    __local uchar left[2 * LINES_BYTES] __attribute__((aligned(128)));
    __local uchar slots[2 * ST * BLOCK] __attribute__((aligned(128)));
    __local struct query queries[N_QUERIES];
    MMA_TEAM(team, ITEMS);
    const uint item = (uint)get_local_id(0);
    const uint line_m = item / MMA_LANES * RM * MMA_M; /* the team's first */
    const uint share = (uint)n.share;
#if STEP == 1
    const uint n_own = (uint)n.n_heads, n_lines = (uint)n.n_q;
    /* The last lines see most keys of a causal mask. */
    const uint l0 = ((n_lines + BL - 1) / BL - 1 - (uint)xl_group_id(0)) * BL;
#else
    const uint n_own = (uint)n.n_heads / share, n_lines = (uint)n.n_kv;
    const uint l0 = (uint)xl_group_id(0) * BL;
#endif
    const uint b = (uint)xl_group_id(1) / n_own;
    const uint own = (uint)xl_group_id(1) % n_own;
    const uint n_l = min((uint)BL, n_lines - l0);
#if STEP == 1
    const uint h0 = own, g = own / share, n_rows = (uint)n.n_kv;
    struct keys seen = keys_of(n, l0);
    seen.last = max(seen.first, keys_of(n, l0 + n_l - 1).last);
    __global const ELEM(DT) *const lines_x = q + ROW_AT(at.q, b, own, l0);
    __global const ELEM(DT) *const lines_y =
        grad_o + ROW_AT(grad.o, b, own, l0);
    const ulong line_x = at.q.row, line_y = grad.o.row;
#define ROWS_X(i) (k + ROW_AT(at.k, b, g, i))
#define ROWS_Y(i) (v + ROW_AT(at.v, b, g, i))
#define ROW_X at.k.row
#define ROW_Y at.v.row
#define N_HEADS 1
#else
    const uint h0 = own * share, n_rows = (uint)n.n_q;
    const struct keys seen = queries_of(n, l0, l0 + n_l - 1);
    __global const ELEM(DT) *const lines_x = k + ROW_AT(at.k, b, own, l0);
    __global const ELEM(DT) *const lines_y = v + ROW_AT(at.v, b, own, l0);
    const ulong line_x = at.k.row, line_y = at.v.row;
#define ROWS_X(i) (q + ROW_AT(at.q, b, h, i))
#define ROWS_Y(i) (grad_o + ROW_AT(grad.o, b, h, i))
#define ROW_X at.q.row
#define ROW_Y grad.o.row
#define N_HEADS share
#endif
    const uint m_begin = (uint)seen.first / BM * BM;
    const uint of_head = ((uint)seen.last - min(m_begin, (uint)seen.last) +
                          BM - 1) / BM;
    const uint n_blocks = of_head * N_HEADS;
/* Head and first row of block i. */
#define HEAD(i) (h0 + (i) / max(of_head, 1u))
#define FIRST(i) (m_begin + (i) % max(of_head, 1u) * BM)

#define SLOT(i) (slots + (i) % ST * (2 * BLOCK))
#define COPY_BLOCK(i)                                                         \
    do {                                                                      \
        if ((i) < n_blocks) {                                                 \
            const uint h = HEAD(i), m0 = FIRST(i);                            \
            const uint n_m = min((uint)BM, n_rows - m0);                      \
            copy_rows(SLOT(i), ROWS_X(m0), ROW_X, n_m, BM, false, item,       \
                      ITEMS);                                                 \
            copy_rows(SLOT(i) + BLOCK, ROWS_Y(m0), ROW_Y, n_m, BM, false,    \
                      item, ITEMS);                                           \
            (void)h;                                                          \
        }                                                                     \
        XL_COPY_CLOSE();                                                      \
    } while (0)
/* Query i of head h, which is there. */
#if PLAIN
#define PUT_QUERY(to, h, i)                                                   \
    do {                                                                      \
        const struct keys seen_ = keys_of(n, i);                              \
        (to).first = (uint)seen_.first;                                       \
        (to).last = (uint)seen_.last;                                         \
    } while (0)
#else
#define PUT_QUERY(to, h, i) (to).row = ROW(b, h, i)
#endif
#define OF_QUERY(h, i) of_query[((ulong)b * n.n_heads + (h)) * n.n_q + (i)]

    copy_rows(left, lines_x, line_x, n_l, BL, false, item, ITEMS);
    copy_rows(left + LINES_BYTES, lines_y, line_y, n_l, BL, false, item, ITEMS);
    XL_COPY_CLOSE();
    #pragma unroll
    for (uint i = 0; i < ST - 1; i++)
        COPY_BLOCK(i);
#if STEP == 1
    for (uint r = item; r < BL; r += ITEMS) {
        const ulong i = min((ulong)l0 + r, n.n_q - 1);
        const float of = lse[ROW_AT(at.lse, b, own, i)];
        const float2 y = (float2)(
            of == -INFINITY ? INFINITY : of * UNIT,
            delta_of(o + ROW_AT(at.o, b, own, i),
                     grad_o + ROW_AT(grad.o, b, own, i)));
        PUT_QUERY(queries[r], own, i);
        queries[r].lse = y.x;
        queries[r].delta = y.y;
        if (r < n_l)
            OF_QUERY(own, l0 + r) = y;
    }
#define QUERIES(i) queries
#else
/* The queries of block i, of two the one that is not being read. */
#define QUERIES(i) (queries + (i) % 2 * BM)
#define PUT_QUERIES(i)                                                        \
    do {                                                                      \
        for (uint r = item; r < BM && (i) < n_blocks; r += ITEMS) {           \
            const uint h = HEAD(i), m = min(FIRST(i) + r, n_rows - 1);        \
            const float2 y = OF_QUERY(h, m);                                  \
            PUT_QUERY(QUERIES(i)[r], h, m);                                   \
            QUERIES(i)[r].lse = FIRST(i) + r < n_rows ? y.x : INFINITY;       \
            QUERIES(i)[r].delta = y.y;                                        \
        }                                                                     \
    } while (0)
    PUT_QUERIES(0);
    mma_c sums_v[RM][NI];
#endif
    mma_c sums[RM][NI];
    MMA_UNROLL
    for (uint m = 0; m < RM; m++) {
        MMA_UNROLL
        for (uint c = 0; c < NI; c++) {
            mma_zero(&sums[m][c]);
#if STEP == 2
            mma_zero(&sums_v[m][c]);
#endif
        }
    }

/* to = lines rows^T, of one of the two. All of it unrolled, addresses of all
 * fragments would take registers. */
#define PRODUCT(to, lines, rows)                                              \
    do {                                                                      \
        MMA_UNROLL                                                            \
        for (uint m = 0; m < RM; m++) {                                       \
            MMA_UNROLL                                                        \
            for (uint c = 0; c < NR; c++)                                     \
                mma_zero(&to[m][c]);                                          \
        }                                                                     \
        _Pragma("unroll 2") for (uint kk = 0; kk < KI; kk++)                  \
        {                                                                     \
            mma_a fl[RM];                                                     \
            mma_load_a_along(&team, fl, RM, lines, LINE, line_m, kk);         \
            MMA_UNROLL                                                        \
            for (uint c = 0; c < NR; c += 2) {                                \
                mma_b fr[2];                                                  \
                mma_load_b_along(&team, fr, 2, rows, LINE, c * MMA_N, kk);    \
                MMA_UNROLL                                                    \
                for (uint m = 0; m < RM; m++) {                               \
                    mma(&team, &to[m][c], &fl[m], &fr[0]);                    \
                    mma(&team, &to[m][c + 1], &fl[m], &fr[1]);                \
                }                                                             \
            }                                                                 \
        }                                                                     \
    } while (0)
/* to += w rows. */
#define ADD_PRODUCT(to, w, rows)                                              \
    do {                                                                      \
        MMA_UNROLL                                                            \
        for (uint kk = 0; kk < BM / MMA_K; kk++) {                            \
            mma_a fw[RM];                                                     \
            MMA_UNROLL                                                        \
            for (uint m = 0; m < RM; m++)                                     \
                mma_a_from_c(&team, &fw[m], &w[m][kk * MMA_K / MMA_N]);       \
            MMA_UNROLL                                                        \
            for (uint c = 0; c < NI; c += 2) {                                \
                mma_b fr[2];                                                  \
                mma_load_b_across(&team, fr, 2, rows, LINE, c * MMA_N, kk);   \
                MMA_UNROLL                                                    \
                for (uint m = 0; m < RM; m++) {                               \
                    mma(&team, &to[m][c], &fw[m], &fr[0]);                    \
                    mma(&team, &to[m][c + 1], &fw[m], &fr[1]);                \
                }                                                             \
            }                                                                 \
        }                                                                     \
    } while (0)

    for (uint i = 0; i < n_blocks; i++) {
        mma_c x[RM][NR], y[RM][NR];
        __local const uchar *rows_x = SLOT(i), *rows_y = rows_x + BLOCK;
        __local const struct query *of = QUERIES(i);
        const uint m0 = FIRST(i);
        XL_COPY_WAIT(ST - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        /* All have read the slot and the queries of the block before. */
        COPY_BLOCK(i + ST - 1);
#if STEP == 2
        PUT_QUERIES(i + 1);
#endif
/* Of element e of fragment row m: its query, and its key. */
#define LINE_OF(m, e)                                                         \
    (line_m + (m) * MMA_M + MMA_C_ROW(team.lane, (e) % MMA_C_ELEMS))
#define ROW_OF(e)                                                             \
    ((e) / MMA_C_ELEMS * MMA_N + MMA_C_COL(team.lane, (e) % MMA_C_ELEMS))
#if STEP == 1
#define QUERY_AT(m, e) (of + LINE_OF(m, e))
#define SEEN_KEY(m, e) (m0 + ROW_OF(e))
#else
#define QUERY_AT(m, e) (of + ROW_OF(e))
#define SEEN_KEY(m, e) (l0 + LINE_OF(m, e))
#endif
#define FOR_ELEMENTS(m, e)                                                    \
    MMA_UNROLL                                                                \
    for (uint m = 0; m < RM; m++)                                             \
        MMA_UNROLL                                                            \
        for (uint e = 0; e < NR * MMA_C_ELEMS; e++)
#define ELEMENT(x, m, e) (x)[m][(e) / MMA_C_ELEMS].e[(e) % MMA_C_ELEMS]
        PRODUCT(x, left, rows_x);
#if PLAIN
        FOR_ELEMENTS(m, e) {
            ELEMENT(x, m, e) = XL_EXP2(1, fma(ELEMENT(x, m, e), scale * UNIT,
                                              -QUERY_AT(m, e)->lse));
        }
        /* Not where all of the team's lines see all rows, or all rows them. */
#if STEP == 1
        const struct keys begins = keys_of(n, l0 + line_m);
        const struct keys ends =
            keys_of(n, min(l0 + line_m + RM * MMA_M, n_lines) - 1);
        if (m0 < ends.first || m0 + BM > begins.last)
#else
        const struct keys begins = keys_of(n, m0);
        const struct keys ends = keys_of(n, min(m0 + BM, n_rows) - 1);
        if (l0 + line_m < ends.first ||
            l0 + line_m + RM * MMA_M > begins.last)
#endif
        {
            FOR_ELEMENTS(m, e) {
                if (SEEN_KEY(m, e) < QUERY_AT(m, e)->first ||
                    SEEN_KEY(m, e) >= QUERY_AT(m, e)->last)
                    ELEMENT(x, m, e) = 0.0f;
            }
        }
#endif
        PRODUCT(y, left + LINES_BYTES, rows_y);
        FOR_ELEMENTS(m, e) {
            __local const struct query *mine = QUERY_AT(m, e);
#if PLAIN
            const struct weight w = {ELEMENT(x, m, e), 1.0f};
#else
            const struct weight w = weight_of(mine->row, ELEMENT(x, m, e),
                                              SEEN_KEY(m, e), mine->lse);
            ELEMENT(x, m, e) = w.p;
#endif
            ELEMENT(y, m, e) = grad_of(w, ELEMENT(y, m, e), mine->delta);
        }
#if STEP == 2
        ADD_PRODUCT(sums_v, x, rows_y);
#endif
        ADD_PRODUCT(sums, y, rows_x);
    }

#define PUT(to, step, factor, from)                                           \
    MMA_UNROLL                                                                \
    for (uint m = 0; m < RM; m++) {                                           \
        MMA_UNROLL                                                            \
        for (uint e = 0; e < MMA_C_ELEMS; e += MMA_C_RUN) {                   \
            const uint line =                                                 \
                line_m + m * MMA_M + MMA_C_ROW(team.lane, e);                 \
            const uint col = MMA_C_COL(team.lane, e);                         \
            MMA_UNROLL                                                        \
            for (uint c = 0; c < D / MMA_N; c++) {                            \
                if (line < n_l)                                               \
                    STOREV(2, DT, to + line * (step), c * MMA_N + col,        \
                           (float2)(from[m][c].e[e], from[m][c].e[e + 1]) *   \
                               (factor));                                     \
            }                                                                 \
        }                                                                     \
    }
#if STEP == 1
    PUT((grad_q + ROW_AT(grad.q, b, own, l0)), grad.q.row, scale, sums)
#else
    PUT((grad_k + ROW_AT(grad.k, b, own, l0)), grad.k.row, scale, sums)
    PUT((grad_v + ROW_AT(grad.v, b, own, l0)), grad.v.row, 1.0f, sums_v)
#endif
}
