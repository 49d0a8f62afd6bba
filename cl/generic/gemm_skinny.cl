/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = alpha A B + beta C for few rows: B is streamed once for
 *               TM rows of C, so the time is that of reading B.
 *
 *                 FORM 1  B contiguous across (along n): an item owns VW
 *                         columns and walks down k; DOWN items of a group
 *                         have the same columns and join their sums
 *                 FORM 2  B contiguous along k: LANES items walk along COLS
 *                         columns of B side by side, and join their sums
 *                 FORM 3  as 1 where an item is a thread: it adds four lines
 *                         of B at a time to lines of sums in its cache
 *                 FORM 4  as 2 where an item is a thread (LANES 1)
 *
 *               k may be cut into parts; then sums go to scratch, and
 *               gemm_skinny_join adds them in order.
 * Arguments     as gemm_tiled.cl, with strides along the dimension shared with
 *               C (x) and along k; part: lines of k to a part; parts: floats,
 *               [part][row][column], ld columns to a row, rows in whole TM
 * Launch        gemm_skinny: local WG x 1 x 1; groups: blocks of columns,
 *               blocks of TM rows, parts of k. gemm_skinny_join: 1-D, an item
 *               for each SPAN columns of a row
 * Local memory  FORM 1: 4 TM VW WG bytes where DOWN > 1; 2: 4 TM COLS WG;
 *               3: 4 TM COLS
 * -D            STEP 1 sums, 2 joins; FORM; TM rows; VW elements of a vector;
 *               WG; DOWN, LANES dividing WG; COLS columns (FORM 3: of a block,
 *               a multiple of VW); PARTS 1: k is cut; SPAN; TA, TC dtypes
 *               (types.clh); UA 0: A contiguous along k; VB 1: vectors of B
 *               are aligned and do not cross a line's end (FORM 1)
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; B once for each TM rows, A once for each block
 *               of columns
 * Source        the sum of a column is one chain to an item: Higham 2002,
 *               section 3.5, holds for any order */
#include "types.clh"

#ifndef STEP
#define STEP 1
#endif
#ifndef FORM
#define FORM 1
#endif
#ifndef TM
#define TM 1
#endif
#ifndef VW
#define VW 4
#endif
#ifndef WG
#define WG 64
#endif
#ifndef DOWN
#define DOWN 1
#endif
#ifndef LANES
#define LANES 1
#endif
#ifndef COLS
#define COLS (4 * VW)
#endif
#ifndef PARTS
#define PARTS 0
#endif
#ifndef SPAN
#define SPAN 1
#endif
#ifndef TA
#define TA 0
#endif
#ifndef TC
#define TC 0
#endif
#ifndef UA
#define UA 0
#endif
#ifndef VB
#define VB 0
#endif

typedef FLOATV(VW) vec;
#if VB
#define LOAD_B(p, i) LOADVA(VW, TA, p, i)
#else
#define LOAD_B(p, i) LOADV(VW, TA, p, i)
#endif
#define UNROLL 4

/* Where results go: to the parts, or through alpha and beta to C. */
struct place {
    __global ELEM(TC) *c;
    ulong rs, cs;
    __global float *parts; /* of this part of k */
    ulong ld;
    ulong m, n;
    float alpha, beta;
};

static inline void put(const struct place *p, ulong i, ulong j, float x)
{
    if (i >= p->m || j >= p->n)
        return;
#if PARTS && STEP == 1
    p->parts[i * p->ld + j] = x;
#else
    const ulong at = i * p->rs + j * p->cs;
    x *= p->alpha;
    if (p->beta != 0.0f)
        x = fma(p->beta, LOAD(TC, p->c, at), x);
    STORE(TC, p->c, at, x);
#endif
}

#if STEP == 1
#define ROW(r) (min(m0 + (r), m - 1) * sx_a)

#if FORM == 1
static inline void skinny(__global const ELEM(TA) *a, ulong sx_a, ulong sk_a,
                          __global const ELEM(TA) *b, ulong sk_b, ulong m0,
                          ulong k0, ulong k1, const struct place *p,
                          __local float *room)
{
    const ulong m = p->m, n = p->n;
    const uint across = get_local_id(0) % (WG / DOWN);
    const uint down = get_local_id(0) / (WG / DOWN);
    const ulong j = (xl_group_id(0) * (WG / DOWN) + across) * VW;
    b += j < n ? j : 0;
    vec sum[TM];
    #pragma unroll
    for (uint r = 0; r < TM; r++)
        sum[r] = (vec)(0.0f);
    ulong l = k0 + down;
    for (; l + (UNROLL - 1) * DOWN < k1; l += UNROLL * DOWN) {
        vec x[UNROLL];
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            x[u] = LOAD_B(b, (l + u * DOWN) * sk_b);
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++) {
            #pragma unroll
            for (uint r = 0; r < TM; r++)
                sum[r] = fma(
                    (vec)(LOAD(TA, a, ROW(r) + (l + u * DOWN) * sk_a)), x[u],
                    sum[r]);
        }
    }
    for (; l < k1; l += DOWN) {
        const vec x = LOAD_B(b, l * sk_b);
        #pragma unroll
        for (uint r = 0; r < TM; r++)
            sum[r] =
                fma((vec)(LOAD(TA, a, ROW(r) + l * sk_a)), x, sum[r]);
    }
#if DOWN > 1
    __local vec *all = (__local vec *)room;
    #pragma unroll
    for (uint r = 0; r < TM; r++)
        all[r * WG + get_local_id(0)] = sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (down > 0)
        return;
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        for (uint d = 1; d < DOWN; d++)
            sum[r] += all[r * WG + d * (WG / DOWN) + across];
    }
#endif
    if (j >= n)
        return;
    for (uint r = 0; r < TM; r++) {
        float out[VW];
#if VW == 1
        out[0] = sum[r];
#else
        XL_CAT(vstore, VW)(sum[r], 0, out);
#endif
        for (uint v = 0; v < VW; v++)
            put(p, m0 + r, j + v, out[v]);
    }
}

#elif FORM == 3
static inline void skinny(__global const ELEM(TA) *a, ulong sx_a, ulong sk_a,
                          __global const ELEM(TA) *b, ulong sk_b, ulong m0,
                          ulong k0, ulong k1, const struct place *p,
                          __local float *room)
{
    const ulong m = p->m;
    const ulong j0 = xl_group_id(0) * COLS;
    const uint cols = (uint)min((ulong)COLS, p->n - j0);
    const uint whole = cols / VW * VW;
    b += j0;
    for (uint i = 0; i < TM * COLS; i++)
        room[i] = 0.0f;
    ulong l = k0;
    for (; l + UNROLL <= k1; l += UNROLL) {
        float w[TM][UNROLL];
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            #pragma unroll
            for (uint u = 0; u < UNROLL; u++)
                w[r][u] = LOAD(TA, a, ROW(r) + (l + u) * sk_a);
        }
        __global const ELEM(TA) *line = b + l * sk_b;
        for (uint j = 0; j < whole; j += VW) {
            vec x[UNROLL];
            #pragma unroll
            for (uint u = 0; u < UNROLL; u++)
                x[u] = LOAD_B(line, u * sk_b + j);
            #pragma unroll
            for (uint r = 0; r < TM; r++) {
                vec sum = XL_CAT(vload, VW)(0, room + r * COLS + j);
                #pragma unroll
                for (uint u = 0; u < UNROLL; u++)
                    sum = fma((vec)(w[r][u]), x[u], sum);
                XL_CAT(vstore, VW)(sum, 0, room + r * COLS + j);
            }
        }
        for (uint j = whole; j < cols; j++) {
            for (uint r = 0; r < TM; r++) {
                for (uint u = 0; u < UNROLL; u++)
                    room[r * COLS + j] =
                        fma(w[r][u], LOAD(TA, line, u * sk_b + j),
                            room[r * COLS + j]);
            }
        }
    }
    for (; l < k1; l++) {
        for (uint r = 0; r < TM; r++) {
            const float w = LOAD(TA, a, ROW(r) + l * sk_a);
            for (uint j = 0; j < cols; j++)
                room[r * COLS + j] =
                    fma(w, LOAD(TA, b, l * sk_b + j), room[r * COLS + j]);
        }
    }
    for (uint r = 0; r < TM; r++) {
        for (uint j = 0; j < cols; j++)
            put(p, m0 + r, j0 + j, room[r * COLS + j]);
    }
}

#else
/* VW elements of a row of A from l on. */
static inline vec load_a(__global const ELEM(TA) *a, ulong l, ulong sk_a)
{
#if UA == 0
    return LOADV(VW, TA, a, l);
#else
    float x[VW];
    for (uint v = 0; v < VW; v++)
        x[v] = LOAD(TA, a, (l + v) * sk_a);
#if VW == 1
    return x[0];
#else
    return XL_CAT(vload, VW)(0, x);
#endif
#endif
}

static inline float across(const vec x)
{
    float part[VW], sum = 0.0f;
#if VW == 1
    part[0] = x;
#else
    XL_CAT(vstore, VW)(x, 0, part);
#endif
    #pragma unroll
    for (uint v = 0; v < VW; v++)
        sum += part[v];
    return sum;
}

static inline void skinny(__global const ELEM(TA) *a, ulong sx_a, ulong sk_a,
                          __global const ELEM(TA) *b, ulong sx_b, ulong m0,
                          ulong k0, ulong k1, const struct place *p,
                          __local float *room)
{
    const ulong m = p->m, n = p->n;
    const uint lane = get_local_id(0) % LANES;
    const ulong j0 =
        (xl_group_id(0) * (WG / LANES) + get_local_id(0) / LANES) * COLS;
    vec sum[TM][COLS];
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint s = 0; s < COLS; s++)
            sum[r][s] = (vec)(0.0f);
    }
    ulong l = k0 + lane * VW;
    for (; l + VW <= k1; l += LANES * VW) {
        vec x[COLS];
        #pragma unroll
        for (uint s = 0; s < COLS; s++)
            x[s] = LOAD_B(b, min(j0 + s, n - 1) * sx_b + l);
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            const vec w = load_a(a + ROW(r), l, sk_a);
            #pragma unroll
            for (uint s = 0; s < COLS; s++)
                sum[r][s] = fma(w, x[s], sum[r][s]);
        }
    }
    float total[TM][COLS];
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint s = 0; s < COLS; s++)
            total[r][s] = across(sum[r][s]);
    }
    for (; l < k1; l++) { /* at most one lane: what is less than a vector */
        #pragma unroll
        for (uint r = 0; r < TM; r++) {
            const float w = LOAD(TA, a, ROW(r) + l * sk_a);
            #pragma unroll
            for (uint s = 0; s < COLS; s++)
                total[r][s] =
                    fma(w, LOAD(TA, b, min(j0 + s, n - 1) * sx_b + l),
                        total[r][s]);
        }
    }
#if LANES > 1
    #pragma unroll
    for (uint r = 0; r < TM; r++) {
        #pragma unroll
        for (uint s = 0; s < COLS; s++)
            room[(r * COLS + s) * WG + get_local_id(0)] = total[r][s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint first = get_local_id(0) - lane;
    for (uint i = lane; i < TM * COLS; i += LANES) {
        float x = 0.0f;
        for (uint d = 0; d < LANES; d++)
            x += room[i * WG + first + (d + lane) % LANES];
        put(p, m0 + i / COLS, j0 + i % COLS, x);
    }
#else
    for (uint r = 0; r < TM; r++) {
        for (uint s = 0; s < COLS; s++)
            put(p, m0 + r, j0 + s, total[r][s]);
    }
#endif
}
#endif

#if FORM == 1 && DOWN > 1
#define ROOM (TM * VW * WG)
#elif FORM == 2
#define ROOM (TM * COLS * WG)
#elif FORM == 3
#define ROOM (TM * COLS)
#else
#define ROOM 1
#endif
#if FORM == 1 || FORM == 3
#define STRIDE_B sk_b
#else
#define STRIDE_B sx_b
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
gemm_skinny(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
            ulong sk_a, __global const ELEM(TA) *restrict b, ulong off_b,
            ulong sx_b, ulong sk_b, __global ELEM(TC) *restrict c, ulong off_c,
            ulong rs_c, ulong cs_c, ulong m, ulong n, ulong k,
            __global float *restrict parts, ulong part, ulong ld, float alpha,
            float beta)
{
    __local float room[ROOM] __attribute__((aligned(64)));
    const ulong m0 = xl_group_id(1) * TM, k0 = xl_group_id(2) * part;
    const ulong rows = (m + TM - 1) / TM * TM;
    const struct place p = {c + off_c, rs_c, cs_c,
                            parts + xl_group_id(2) * rows * ld, ld, m, n,
                            alpha, beta};
    skinny(a + off_a, sx_a, sk_a, b + off_b, STRIDE_B, m0, k0,
           min(k, k0 + part), &p, room);
}
#endif

#if STEP == 2
__kernel void gemm_skinny_join(__global const float *restrict parts,
                               ulong n_parts, ulong ld,
                               __global ELEM(TC) *restrict c, ulong off_c,
                               ulong rs_c, ulong cs_c, ulong m, ulong n,
                               float alpha, float beta)
{
    const ulong spans = (n + SPAN - 1) / SPAN;
    const ulong i = get_global_id(0) / spans;
    const ulong j0 = get_global_id(0) % spans * SPAN;
    const ulong step = (m + TM - 1) / TM * TM * ld;
    const struct place p = {c + off_c, rs_c, cs_c, 0, ld, m, n, alpha, beta};
    if (i >= m)
        return;
    for (ulong j = j0; j < j0 + SPAN && j < n; j++) {
        float x = 0.0f;
        for (ulong q = 0; q < n_parts; q++)
            x += parts[q * step + i * ld + j];
        put(&p, i, j, x);
    }
}
#endif
