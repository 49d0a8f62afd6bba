/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = epilogue(alpha A B + beta C) for few rows where an item is
 *               a whole thread: B is streamed once for TM rows of C, so the
 *               time is that of reading B.
 *
 *                 FORM 1  B contiguous across (along n): a group owns COLS
 *                         columns, whose sums stay in its cache; it adds U
 *                         lines of B at a time to them, whole vectors
 *                 FORM 2  B contiguous along k: a group owns COLS columns and
 *                         reads along EACH of them side by side, DEPTH
 *                         elements at a time, with as much of A as values in
 *                         its cache
 *
 *               A vector may run past the end of its line into the next ones,
 *               never past the end of B; elements read there are ignored.
 *               k may be cut into parts among groups; then sums go to scratch,
 *               and gemm/skinny_join.cl adds them in order.
 * Arguments     as gemm/skinny.cl, but memory first and sizes in one struct
 * Launch        local 1; groups: blocks of COLS columns; blocks of TM rows
 *               within parts of k; products of the batch
 * Local memory  FORM 1: S TM COLS, FORM 2: S TM (COLS + DEPTH) bytes, S of a
 *               sum
 * -D            FORM; TM rows; VW elements of a vector, dividing COLS (FORM 1)
 *               and DEPTH; COLS; EACH dividing COLS; U lines; DEPTH; PARTS 1:
 *               k is cut. TA, TB, TC, TY, BATCH, OWN_ROWS, EPILOGUE:
 *               gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 m n k flop; B once for each TM rows, A once for each block
 *               of columns
 * Source        a column's sum is a few chains that join in a fixed order:
 *               Higham 2002, section 3.5 */
#ifndef FORM
#define FORM 1
#endif
#ifndef TM
#define TM 1
#endif
#ifndef VW
#define VW 4
#endif
#ifndef COLS
#define COLS 64
#endif
#ifndef EACH
#define EACH 4
#endif
#ifndef U
#define U 4
#endif
#ifndef DEPTH
#define DEPTH 256
#endif
#ifndef PARTS
#define PARTS 0
#endif
#ifndef XL_VW
#define XL_VW 2
#endif
#include "common/prefetch.clh"
#include "gemm/gemm.clh"

typedef SUMV(VW) vec;
/* A vector of sums in local memory, which is the cache. */
#define AT(p) (*(__local vec *)(p))

/* The operands of this product. */
struct left {
    __global const ELEM(TA) *p;
    ulong sx, sk;
};
struct right {
    __global const ELEM(TB) *p;
    ulong sx, sk;
};
#define ROW(r) (min(m0 + (r), m - 1) * a->sx)

/* In whole vectors. */
#define WIDE(n) (((n) + VW - 1) / VW * VW)

/* What the group's columns have in common. */
struct block {
    ulong m0, m, j0;
    ulong end; /* elements of B */
    uint cols, wide; /* wide: in whole vectors, which may be more */
    __local SUM *sums, *packed;
};

#if FORM == 1
/* Adds U rows of B from l on and prefetches the next U. */
static inline void add_lines(const struct left *a, const struct right *b,
                             const struct block *t, const ulong l)
{
    const ulong m0 = t->m0, m = t->m;
    __global const ELEM(TB) *line = b->p + t->j0 + l * b->sk;
    SUM w[TM][U];
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint u = 0; u < U; u++)
            w[r][u] = GEMM_A(1, LOAD(TA, a->p, ROW(r) + (l + u) * a->sk));
    }
    for (uint j = 0; j < t->wide; j += VW) {
        vec x[U];
        #pragma unroll
        for (uint u = 0; u < U; u++) {
            XL_AHEAD(line + (U + u) * b->sk + j);
            x[u] = GEMM_B(VW, LOADV(VW, TB, line, u * b->sk + j));
        }
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            vec sum = AT(t->sums + r * COLS + j);
            #pragma unroll
            for (uint u = 0; u < U; u++)
                sum = MUL_ADD((vec)(w[r][u]), x[u], sum);
            AT(t->sums + r * COLS + j) = sum;
        }
    }
}

/* Adds one row, element by element. */
static inline void add_line(const struct left *a, const struct right *b,
                            const struct block *t, const ulong l)
{
    const ulong m0 = t->m0, m = t->m;
    __global const ELEM(TB) *line = b->p + t->j0 + l * b->sk;
    for (uint r = 0; r < TM; r++) {
        const SUM w = GEMM_A(1, LOAD(TA, a->p, ROW(r) + l * a->sk));
        for (uint j = 0; j < t->cols; j++)
            t->sums[r * COLS + j] =
                MUL_ADD(w, GEMM_B(1, LOAD(TB, line, j)),
                        t->sums[r * COLS + j]);
    }
}

static inline void add_slice(const struct left *a, const struct right *b,
                             const struct block *t, const ulong k0,
                             const ulong k1)
{
    ulong l = k0;
    for (; l + U <= k1 &&
           (l + U - 1) * b->sk + t->j0 + t->wide <= t->end;
         l += U)
        add_lines(a, b, t, l);
    for (; l < k1; l++)
        add_line(a, b, t, l);
}

#else
/* Packs values of A from l on, row by row. */
static inline void pack_a(const struct left *a, const ulong m0,
                          const ulong m, const ulong l, const uint depth,
                          __local SUM *packed)
{
    for (uint r = 0; r < TM; r++) {
        uint v = 0;
        if (a->sk == 1) {
            for (; v + VW <= depth; v += VW)
                AT(packed + r * DEPTH + v) =
                    GEMM_A(VW, LOADV(VW, TA, a->p, ROW(r) + l + v));
        }
        ulong at = ROW(r) + (l + v) * a->sk;
        for (; v < depth; v++, at += a->sk)
            packed[r * DEPTH + v] = GEMM_A(1, LOAD(TA, a->p, at));
        for (; v % VW != 0; v++)
            packed[r * DEPTH + v] = 0;
    }
}

static inline SUM across_1(const SUM x) { return x; }
#define ACROSS(N, H)                                                          \
    static inline SUM across_##N(const SUMV(N) x)                             \
    {                                                                         \
        return across_##H(x.lo + x.hi);                                       \
    }
ACROSS(2, 1)
ACROSS(4, 2)
ACROSS(8, 4)
ACROSS(16, 8)

__constant SUM lanes[] __attribute__((aligned(128))) = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* The first `count` elements of a vector, 0 for the others. */
static inline vec first_of(const vec x, const uint count)
{
    return *(__constant vec *)lanes < (vec)((SUM)count) ? x : (vec)(0);
}

#define ADD_VECTOR(x)                                                         \
    {                                                                         \
        const vec now = x;                                                    \
        _Pragma("unroll") for (uint r = 0; r < TM; r++)                       \
            sum[r][s] =                                                       \
                MUL_ADD(*(const __local vec *)(packed + r * DEPTH + v), now,  \
                        sum[r][s]);                                           \
    }

/* Adds `depth` elements of EACH columns. is_wide: memory behind them, up to a
 * whole vector, may be read. */
static inline void add_columns(__global const ELEM(TB) *const *column,
                               const uint depth, const bool is_wide,
                               const __local SUM *packed, __local SUM *sums)
{
    vec sum[TM][EACH];
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint s = 0; s < EACH; s++)
            sum[r][s] = (vec)(0);
    }
    uint v = 0;
    for (; v + VW <= depth; v += VW) {
        #pragma unroll
        for (uint s = 0; s < EACH; s++)
            ADD_VECTOR(GEMM_B(VW, LOADV(VW, TB, column[s], v)));
    }
    if (v < depth && is_wide) {
        #pragma unroll
        for (uint s = 0; s < EACH; s++)
            ADD_VECTOR(first_of(GEMM_B(VW, LOADV(VW, TB, column[s], v)),
                                depth - v));
        v = depth;
    }
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint s = 0; s < EACH; s++) {
            SUM total = XL_CAT(across_, VW)(sum[r][s]);
            for (uint t = v; t < depth; t++)
                total = MUL_ADD(packed[r * DEPTH + t],
                                GEMM_B(1, LOAD(TB, column[s], t)), total);
            sums[r * COLS + s] += total;
        }
    }
}

static inline void add_slice(const struct left *a, const struct right *b,
                             const struct block *t, const ulong k0,
                             const ulong k1)
{
    for (ulong l = k0; l < k1; l += DEPTH) {
        const uint depth = (uint)min(k1 - l, (ulong)DEPTH);
        pack_a(a, t->m0, t->m, l, depth, t->packed);
        for (uint j = 0; j < t->cols; j += EACH) {
            __global const ELEM(TB) *column[EACH];
            const ulong last = t->j0 + min(j + EACH, t->cols) - 1;
            #pragma unroll
            for (uint s = 0; s < EACH; s++)
                column[s] = b->p + min(t->j0 + j + s, last) * b->sx + l;
            add_columns(column, depth,
                        last * b->sx + l + WIDE(depth) <= t->end, t->packed,
                        t->sums + j);
        }
    }
}
#endif

struct sizes {
    ulong off_a, sx_a, sk_a, off_b, sx_b, sk_b, off_c, rs_c, cs_c, m, n, k;
    ulong part, n_parts, ld;
};

#if FORM == 1
#define PACKED 0
#else
#define PACKED (TM * DEPTH)
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_skinny_thread(__global const ELEM(TA) *restrict a,
                   __global const ELEM(TB) *restrict b,
                   __global ELEM(TC) *restrict c,
                   __global SUM *restrict parts, const struct sizes t,
                   GEMM_LAST_PARAMS)
{
    __local SUM room[PACKED + TM * COLS] __attribute__((aligned(128)));
    __local SUM *const sums = room + PACKED;
    const ulong m = t.m, n = t.n, k = t.k;
    const ulong row_blocks = (m + TM - 1) / TM, z = xl_group_id(2);
    const ulong q = xl_group_id(1) / row_blocks;
    const ulong m0 = xl_group_id(1) % row_blocks * TM;
    const ulong j0 = xl_group_id(0) * COLS;
    const uint cols =
        (uint)GEMM_USED_N(z, j0, min((ulong)COLS, n - j0));
    const ulong m1 = GEMM_USED_M(z, 0, m);
#if OWN_ROWS
    if (m0 >= m1 || cols == 0)
        return;
#endif
    const struct left left = {a + t.off_a + GEMM_AT_A(z), t.sx_a, t.sk_a};
    const struct right right = {b + t.off_b + GEMM_AT_B(z), t.sx_b, t.sk_b};
    const struct block block = {
        m0, m, j0, (n - 1) * t.sx_b + (k - 1) * t.sk_b + 1,
        cols, WIDE(cols), sums, room};
    for (uint i = 0; i < TM * COLS; i++)
        sums[i] = 0;
    add_slice(&left, &right, &block, q * t.part, min(k, (q + 1) * t.part));
    for (uint r = 0; r < TM && m0 + r < m1; r++) {
        for (uint s = 0; s < cols; s++) {
            const ulong i = m0 + r, j = j0 + s;
            const SUM x = sums[r * COLS + s];
#if PARTS
            parts[((z * t.n_parts + q) * row_blocks * TM + i) * t.ld + j] = x;
#else
            const ulong at = t.off_c + GEMM_AT_C(z) + i * t.rs_c + j * t.cs_c;
            GEMM_STORE(1, , c, at, GEMM_Y(1, x, c, at), z, i, j);
#endif
        }
    }
}
