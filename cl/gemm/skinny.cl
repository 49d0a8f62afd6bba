/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) for few rows: B is streamed
 *               once for TM rows of C, so the time is that of reading B. JOIN
 *               items of a group share the sums of a column; each has its own
 *               steps of k, and the loads of an iteration are in flight
 *               together.
 *
 *                 FORM 1  B contiguous across (along n): an item owns VW
 *                         columns and loads U rows of B an iteration
 *                 FORM 2  B contiguous along k: an item loads U vectors of VW
 *                         of each of EACH columns an iteration
 *
 *               k may be cut into parts among groups; then sums go to scratch,
 *               and gemm/skinny_join.cl adds them in order.
 * Arguments     as gemm/tiled.cl, with strides along the dimension shared with
 *               C (x) and along k; parts: sums, [product][part][row][column],
 *               ld columns to a row, rows in whole TM; part: lines of k to a
 *               part, n_parts of them. The rest: gemm/gemm.clh
 * Launch        local WG x 1 x 1; groups: blocks of columns (FORM 1: WG / JOIN
 *               VW, FORM 2: WG / JOIN EACH to a block); blocks of TM rows
 *               within parts of k; products of the batch
 * Local memory  S OUTS (JOIN + 1 + TM) bytes, S of a sum, OUTS columns of a
 *               block
 * -D            FORM; TM rows; VW elements of a vector; U; EACH; WG; JOIN
 *               dividing WG; PARTS 1: k is cut; UA 0: A contiguous along k, 1:
 *               across; VA elements of a vector of A, dividing what is taken
 *               along that dimension (U, VW; TM), 1: any strides. Vectors of A
 *               and B are aligned and do not cross a line's end. TA, TB, TC,
 *               TY, BATCH, OWN_ROWS, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 m n k flop; B once for each TM rows; A once for each block
 *               of columns (FORM 2: for each EACH)
 * Source        loads in flight: Little's law; a column's sum is a few chains
 *               that join in a fixed order: Higham 2002, section 3.5 */
#ifndef FORM
#define FORM 1
#endif
#ifndef TM
#define TM 1
#endif
#ifndef VW
#define VW 4
#endif
#ifndef U
#define U 4
#endif
#ifndef EACH
#define EACH 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef JOIN
#define JOIN 8
#endif
#ifndef PARTS
#define PARTS 0
#endif
#ifndef UA
#define UA 0
#endif
#ifndef VA
#define VA 1
#endif
#ifndef XL_VW
#define XL_VW 2
#endif
#include "gemm/gemm.clh"
#include "common/packed_load.clh"

#if FORM == 1
#define LONG U /* elements of A along k that are taken together */
#undef EACH
#define EACH VW
#else
#define LONG VW
#endif
#define OWNERS (WG / JOIN)
#define OUTS (OWNERS * EACH)

/* Arrays handed to functions are registers if these are inlined. */
#define INLINED static inline __attribute__((always_inline))

/* The operands of this product. */
struct left {
    __global const ELEM(TA) *p;
    ulong sx, sk;
};
struct right {
    __global const ELEM(TB) *p;
    ulong sx, sk;
};

/* Stores N values with stride `step`. */
INLINED void spread_1(SUM *to, const uint step, const SUM x)
{
    *to = x;
}
#define SPREAD(N, H)                                                          \
    INLINED void spread_##N(SUM *to, const uint step, const SUMV(N) x)        \
    {                                                                         \
        spread_##H(to, step, x.lo);                                           \
        spread_##H(to + H * step, step, x.hi);                                \
    }
SPREAD(2, 1)
SPREAD(4, 2)
SPREAD(8, 4)
SPREAD(16, 8)

/* w[r LONG + v]: row m0 + r of A at l + v; rows past the last repeat it. */
#define TOGETHER_M (UA ? VA : 1)
#define TOGETHER_K (UA ? 1 : VA)
INLINED void load_a(const struct left *a, const ulong m0, const ulong m,
                    const ulong l, SUM *w)
{
    const ulong sx = UA && VA > 1 ? 1 : a->sx;
    const ulong sk = !UA && VA > 1 ? 1 : a->sk;
    #pragma unroll
    for (uint r = 0; r < TM; r += TOGETHER_M) {
        const ulong row = min(m0 + r, m - TOGETHER_M) * sx;
        #pragma unroll
        for (uint v = 0; v < LONG; v += TOGETHER_K)
            XL_CAT(spread_, VA)(
                w + r * LONG + v, UA ? LONG : 1,
                GEMM_A(VA, VALUES(VA, TA,
                                  LOAD_RAW(VA, TA, a->p,
                                           row + (l + v) * sk))));
    }
}

/* One step of k, of those that do not fill an iteration. */
INLINED void add_step(const struct left *a, const ulong m0, const ulong m,
                      const ulong l, const SUM *x, SUM (*sum)[EACH])
{
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        const SUM w = GEMM_A(
            1, LOAD(TA, a->p, min(m0 + r, m - 1) * a->sx + l * a->sk));
        #pragma unroll
        for (uint e = 0; e < EACH; e++)
            sum[r][e] = MUL_ADD(w, x[e], sum[r][e]);
    }
}

#if FORM == 1
/* U rows of the item's columns. */
INLINED void load_b(RAWV(VW, TB) *raw, __global const ELEM(TB) *line,
                    const ulong sk)
{
    #pragma unroll
    for (uint u = 0; u < U; u++)
        raw[u] = LOAD_RAW(VW, TB, line, u * sk);
}

INLINED void sum_columns(const struct left *a, const struct right *b,
                         const ulong m, const ulong n, const ulong m0,
                         ulong k0, const ulong k1, SUM (*sum)[EACH])
{
    const ulong j =
        (xl_group_id(0) * OWNERS + get_local_id(0) % OWNERS) * VW;
    ulong l = k0 + get_local_id(0) / OWNERS * U;
    __global const ELEM(TB) *line = b->p + (j < n ? j : 0) + l * b->sk;
    RAWV(VW, TB) raw[U];
    if (l + U <= k1)
        load_b(raw, line, b->sk);
    for (; l + U <= k1; l += JOIN * U) {
        SUM w[TM * U], x[VW];
        load_a(a, m0, m, l, w);
        line += JOIN * U * b->sk;
        #pragma unroll
        for (uint u = 0; u < U; u++) {
            XL_CAT(spread_, VW)(x, 1, GEMM_B(VW, VALUES(VW, TB, raw[u])));
            #pragma unroll
            for (uint r = 0; r < TM; r++) {
                #pragma unroll
                for (uint v = 0; v < VW; v++)
                    sum[r][v] = MUL_ADD(w[r * U + u], x[v], sum[r][v]);
            }
        }
        if (l + (JOIN + 1) * U <= k1)
            load_b(raw, line, b->sk);
    }
    for (; l < k1; l++) { /* of the items that share columns one at most */
        SUM x[VW];
        XL_CAT(spread_, VW)(
            x, 1, GEMM_B(VW, VALUES(VW, TB, LOAD_RAW(VW, TB, line, 0))));
        add_step(a, m0, m, l, x, sum);
        line += b->sk;
    }
}

#else
#define VECTOR_STEP (JOIN * VW) /* elements from one vector of an item to
                                   its next */
/* A vector of each column. */
INLINED void load_b(RAWV(VW, TB) *raw, __global const ELEM(TB) *const *column,
                    const ulong l)
{
    #pragma unroll
    for (uint s = 0; s < EACH; s++)
        raw[s] = LOAD_RAW(VW, TB, column[s], l);
}

INLINED void add_vectors(const struct left *a, const ulong m0,
                         const ulong m, const RAWV(VW, TB) *raw,
                         const ulong l, SUM (*sum)[EACH])
{
    SUM w[TM * VW], x[VW];
    load_a(a, m0, m, l, w);
    #pragma unroll
    for (uint s = 0; s < EACH; s++) {
        XL_CAT(spread_, VW)(x, 1, GEMM_B(VW, VALUES(VW, TB, raw[s])));
        #pragma unroll
        for (uint v = 0; v < VW; v++) {
            #pragma unroll
            for (uint r = 0; r < TM; r++)
                sum[r][s] = MUL_ADD(w[r * VW + v], x[v], sum[r][s]);
        }
    }
}

INLINED void sum_columns(const struct left *a, const struct right *b,
                         const ulong m, const ulong n, const ulong m0,
                         ulong k0, const ulong k1, SUM (*sum)[EACH])
{
    const ulong j0 =
        (xl_group_id(0) * OWNERS + get_local_id(0) / JOIN) * EACH;
    const ulong span = ((U - 1) * JOIN + 1) * VW;
    __global const ELEM(TB) *column[EACH];
    RAWV(VW, TB) raw[U][EACH];
    #pragma unroll
    for (uint s = 0; s < EACH; s++)
        column[s] = b->p + min(j0 + s, n - 1) * b->sx;
    ulong l = k0 + get_local_id(0) % JOIN * VW;
    if (l + span <= k1) {
        #pragma unroll
        for (uint u = 0; u < U; u++)
            load_b(raw[u], column, l + u * VECTOR_STEP);
    }
    for (; l + span <= k1; l += U * VECTOR_STEP) {
        #pragma unroll
        for (uint u = 0; u < U; u++)
            add_vectors(a, m0, m, raw[u], l + u * VECTOR_STEP, sum);
        if (l + U * VECTOR_STEP + span <= k1) {
            #pragma unroll
            for (uint u = 0; u < U; u++)
                load_b(raw[u], column, l + (U + u) * VECTOR_STEP);
        }
    }
    for (; l + VW <= k1; l += VECTOR_STEP) {
        load_b(raw[0], column, l);
        add_vectors(a, m0, m, raw[0], l, sum);
    }
    for (; l < k1; l++) { /* at most one of the items that join */
        SUM x[EACH];
        #pragma unroll
        for (uint s = 0; s < EACH; s++)
            x[s] = GEMM_B(1, LOAD(TB, column[s], l));
        add_step(a, m0, m, l, x, sum);
    }
}
#endif

/* The item's number among the owners of columns, and among those that join. */
#if FORM == 1
#define OWNER (get_local_id(0) % OWNERS)
#define JOINER (get_local_id(0) / OWNERS)
#else
#define OWNER (get_local_id(0) / JOIN)
#define JOINER (get_local_id(0) % JOIN)
#endif

/* Adds the items' sums, row by row through `room`, to total[row][column]. */
INLINED void join_sums(SUM (*sum)[EACH], __local SUM *room, __local SUM *total)
{
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint e = 0; e < EACH; e++)
            room[(OWNER * EACH + e) * (JOIN + 1) + JOINER] = sum[r][e];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint o = get_local_id(0); o < OUTS; o += WG) {
            SUM x = room[o * (JOIN + 1)];
            #pragma unroll 8
            for (uint i = 1; i < JOIN; i++)
                x += room[o * (JOIN + 1) + i];
            total[r * OUTS + o] = x;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH void
gemm_skinny(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
            ulong sk_a, __global const ELEM(TB) *restrict b, ulong off_b,
            ulong sx_b, ulong sk_b, __global ELEM(TC) *restrict c, ulong off_c,
            ulong rs_c, ulong cs_c, ulong m, ulong n, ulong k,
            __global SUM *restrict parts, ulong part, ulong n_parts, ulong ld,
            GEMM_LAST_PARAMS)
{
    __local SUM room[OUTS * (JOIN + 1)], total[TM * OUTS];
    const ulong row_blocks = (m + TM - 1) / TM, z = xl_group_id(2);
    const ulong q = xl_group_id(1) / row_blocks;
    const ulong m0 = xl_group_id(1) % row_blocks * TM;
    const ulong m1 = GEMM_USED_M(z, 0, m), n1 = GEMM_USED_N(z, 0, n);
#if OWN_ROWS
    if (m0 >= m1 || xl_group_id(0) * OUTS >= n1)
        return;
#endif
    const struct left left = {a + off_a + GEMM_AT_A(z), sx_a, sk_a};
    const struct right right = {b + off_b + GEMM_AT_B(z), sx_b, sk_b};
    SUM sum[TM][EACH];
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint e = 0; e < EACH; e++)
            sum[r][e] = 0;
    }
    sum_columns(&left, &right, m, n, m0, q * part, min(k, (q + 1) * part),
                sum);
    join_sums(sum, room, total);
    for (uint o = get_local_id(0); o < TM * OUTS; o += WG) {
        const ulong i = m0 + o / OUTS;
        const ulong j = xl_group_id(0) * OUTS + o % OUTS;
        if (i >= m1 || j >= n1)
            continue;
#if PARTS
        parts[((z * n_parts + q) * row_blocks * TM + i) * ld + j] = total[o];
#else
        const ulong at = off_c + GEMM_AT_C(z) + i * rs_c + j * cs_c;
        GEMM_STORE(1, , c, at, GEMM_Y(1, total[o], c, at), z, i, j);
#endif
    }
}
