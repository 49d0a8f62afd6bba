/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = alpha A B + beta C on devices whose work-items are whole
 *               threads with vector registers, as BLAS libraries for CPUs do:
 *               operands are packed for each cache, sums stay in registers.
 *
 *                 gemm_cpu_pack   B -> panels of RN columns, line by line
 *                 gemm_cpu        a group per TM rows and TN columns:
 *                   for each TK of k:   pack A: panels of RM rows   (2nd cache)
 *                     for each panel of B:                          (1st cache)
 *                       for each panel of A:
 *                         RM x RN sums in registers += TK steps
 *                         C = alpha sums + beta C, later C += alpha sums
 *
 * Arguments     as gemm_tiled.cl, with strides along the dimension shared with
 *               C (x) and along k; panels: of B, ceil(n / RN) k RN floats, at
 *               element 0 of scratch; sums: m x ld floats behind them, where C
 *               itself cannot hold sums between slices of k (KEEP)
 * Launch        local 1; gemm_cpu_pack: ceil(k / SLAB) groups, gemm_cpu: a
 *               group per tile, those of one row of tiles in a row
 * Local memory  gemm_cpu: 4 TM TK bytes
 * -D            STEP 1 packs, 2 multiplies; TM, a multiple of RM; TN, of RN;
 *               TK; RM 4 or 8; RN, a multiple of VW; VW 4, 8 or 16; TA, TC
 *               dtypes (types.clh); UA, UB contiguous along k (0), across (1),
 *               neither (2); KEEP 1: sums are kept apart from C
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; A once for each TN columns, B twice and its
 *               panels once for each TM rows
 * Source        Goto, van de Geijn 2008, section 4 */
#include "types.clh"

#ifndef TM
#define TM 32
#define TN 64
#define TK 32
#define RM 4
#define RN 8
#define VW 4
#endif
#ifndef STEP
#define STEP 2
#endif
#ifndef TA
#define TA 0
#endif
#ifndef TC
#define TC 0
#endif
#ifndef UA
#define UA 0
#define UB 1
#endif
#ifndef KEEP
#define KEEP 0
#endif

#define NV (RN / VW)
#define SLAB 64
#define WHOLE_THREAD __attribute__((reqd_work_group_size(1, 1, 1)))
typedef FLOATV(VW) vec;

/* Lines of a block of 8 x 8 or 4 x 8 become its columns, by interleaving:
 * first lines half the block apart, then a quarter, then neighbours. */
#define LOW(a, b)                                                             \
    (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4,     \
              a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define HIGH(a, b)                                                            \
    (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc,     \
              a.sd, b.sd, a.se, b.se, a.sf, b.sf)
#define LINE(r) LOADV(8, TA, x, (r) * sx)

static inline void turn_4(__global const ELEM(TA) *x, const ulong sx,
                          float16 *out)
{
    const float8 l0 = LINE(0), l1 = LINE(1), l2 = LINE(2), l3 = LINE(3);
    const float16 even = LOW(l0, l2), odd = LOW(l1, l3);
    out[0] = LOW(even, odd);
    out[1] = HIGH(even, odd);
}

static inline void turn_8(__global const ELEM(TA) *x, const ulong sx,
                          float16 *out)
{
    const float8 l0 = LINE(0), l1 = LINE(1), l2 = LINE(2), l3 = LINE(3),
                 l4 = LINE(4), l5 = LINE(5), l6 = LINE(6), l7 = LINE(7);
    const float16 a = LOW(l0, l4), b = LOW(l2, l6), c = LOW(l1, l5),
                  d = LOW(l3, l7);
    const float16 ab = LOW(a, b), cd = LOW(c, d), hab = HIGH(a, b),
                  hcd = HIGH(c, d);
    out[0] = LOW(ab, cd);
    out[1] = HIGH(ab, cd);
    out[2] = LOW(hab, hcd);
    out[3] = HIGH(hab, hcd);
}

#if STEP == 1
/* Columns that are not there repeat the last one; their sums are dropped. */
static inline void pack_panel(__global const ELEM(TA) *b, const ulong sx,
                              const ulong sk, const uint cols,
                              const uint depth, __global float *to)
{
    uint l = 0;
#if UB == 1
    if (cols >= RN) {
        for (; l < depth; l++) {
            #pragma unroll
            for (uint v = 0; v < NV; v++)
                STOREV(VW, 0, to, l * RN + v * VW,
                       LOADV(VW, TA, b, l * sk + v * VW));
        }
    }
#elif UB == 0
    if (cols >= RN) {
        for (; l + 8 <= depth; l += 8) {
            for (uint s = 0; s < RN; s += 8) {
                float16 pair[4];
                turn_8(b + s * sx + l, sx, pair);
                #pragma unroll
                for (uint i = 0; i < 4; i++) {
                    vstore8(pair[i].lo, 0, to + (l + 2 * i) * RN + s);
                    vstore8(pair[i].hi, 0, to + (l + 2 * i + 1) * RN + s);
                }
            }
        }
    }
#endif
    for (; l < depth; l++) {
        for (uint s = 0; s < RN; s++)
            to[l * RN + s] = LOAD(TA, b, min(s, cols - 1) * sx + l * sk);
    }
}

__kernel WHOLE_THREAD void
gemm_cpu_pack(__global const ELEM(TA) *restrict b, ulong off_b, ulong sx,
              ulong sk, __global float *restrict panels, ulong n, ulong k)
{
    const ulong k0 = xl_group_id(0) * SLAB;
    const uint depth = (uint)min((ulong)SLAB, k - k0);
    b += off_b + k0 * sk;
    for (ulong j = 0; j < n; j += RN)
        pack_panel(b + j * sx, sx, sk, (uint)min((ulong)RN, n - j), depth,
                   panels + j * k + k0 * RN);
}
#endif

#if STEP == 2
#if defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
/* The built-in function prefetch() does nothing on some CPUs (CP-12). */
#define SOON(p, write) __builtin_prefetch((const void *)(size_t)(p), write, 3)
#endif
#endif
#ifndef SOON
#define SOON(p, write)
#endif

static inline void pack_a(__global const ELEM(TA) *a, const ulong sx,
                          const ulong sk, const uint rows, const uint depth,
                          __local float *to)
{
    uint l = 0;
#if UA == 0
    if (rows >= RM) {
        for (; l + 8 <= depth; l += 8) {
            float16 part[RM / 2];
            XL_CAT(turn_, RM)(a + l, sx, part);
            #pragma unroll
            for (uint i = 0; i < RM / 2; i++)
                vstore16(part[i], i, to + l * RM);
        }
    }
#elif UA == 1
    if (rows >= RM) {
        for (; l < depth; l++)
            XL_CAT(vstore, RM)(LOADV(RM, TA, a, l * sk), l, to);
    }
#endif
    for (; l < depth; l++) {
        for (uint r = 0; r < RM; r++)
            to[l * RM + r] = LOAD(TA, a, min(r, rows - 1) * sx + l * sk);
    }
}

/* Where sums go: to C, or between slices of k to floats of their own. */
struct place {
    __global ELEM(TC) *c;
    ulong rs, cs;
    __global float *keep;
    ulong ld;
    uint rows, cols; /* valid from here on */
    float alpha, beta;
    bool first, last; /* slice of k */
};

#if KEEP
/* Sums so far join, and stay until the last slice. */
static inline void join(const struct place *p, vec sum[RM][NV])
{
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++) {
            __global float *at = p->keep + r * p->ld + v * VW;
            if (r < p->rows && !p->first)
                sum[r][v] += XL_CAT(vload, VW)(0, at);
            if (r < p->rows && !p->last)
                XL_CAT(vstore, VW)(sum[r][v], 0, at);
        }
    }
}
#endif

static inline void store_edge(const struct place *p, const float beta,
                              vec sum[RM][NV])
{
    float part[RM * RN];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            XL_CAT(vstore, VW)(p->alpha * sum[r][v], v, part + r * RN);
    }
    for (uint r = 0; r < RM && r < p->rows; r++) {
        for (uint s = 0; s < RN && s < p->cols; s++) {
            float x = part[r * RN + s];
            const ulong at = r * p->rs + s * p->cs;
            if (beta != 0.0f)
                x = fma(beta, LOAD(TC, p->c, at), x);
            STORE(TC, p->c, at, x);
        }
    }
}

static inline void store(const struct place *p, vec sum[RM][NV])
{
#if KEEP
    const float beta = p->beta;
    join(p, sum);
    if (!p->last)
        return;
#else
    const float beta = p->first ? p->beta : 1.0f;
#endif
    if (p->rows < RM || p->cols < RN || p->cs != 1) {
        store_edge(p, beta, sum);
        return;
    }
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        __global ELEM(TC) *line = p->c + r * p->rs;
        #pragma unroll
        for (uint v = 0; v < NV; v++) {
            vec x = p->alpha * sum[r][v];
            if (beta != 0.0f)
                x = fma((vec)(beta), LOADV(VW, TC, line, v * VW), x);
            STOREV(VW, TC, line, v * VW, x);
        }
    }
}

__kernel WHOLE_THREAD void
gemm_cpu(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx, ulong sk,
         __global float *restrict scratch, __global ELEM(TC) *restrict c,
         ulong off_c, ulong rs_c, ulong cs_c, ulong m, ulong n, ulong k,
         uint tiles_n, ulong keep, ulong ld, float alpha, float beta)
{
    __local float la[TM * TK] __attribute__((aligned(64)));
    const ulong tile = xl_group_id(0);
    const ulong m0 = tile / tiles_n * TM, n0 = tile % tiles_n * TN;
    const uint rows = (uint)min((ulong)TM, m - m0);
    const uint cols = (uint)min((ulong)TN, n - n0);
    const uint lines = (rows + RM - 1) / RM;
    a += off_a + m0 * sx;
    c += off_c + m0 * rs_c + n0 * cs_c;

    for (ulong k0 = 0; k0 < k; k0 += TK) {
        const uint depth = (uint)min((ulong)TK, k - k0);
        for (uint i = 0; i < rows; i += RM)
            pack_a(a + i * sx + k0 * sk, sx, sk, rows - i, depth,
                   la + i * TK);
        for (uint j = 0; j < cols; j += RN) {
            __global const float *panel =
                scratch + (n0 + j) * k + k0 * RN;
            /* The panel after this one, a line for each so many steps. */
            __global const float *next = panel + RN * k;
            const uint ahead = RN * 4 / lines;
            for (uint i = 0; i < rows; i += RM) {
                __local const float *pa = la + i * TK;
                __global const float *pb = panel;
                vec sum[RM][NV];
                #pragma unroll
                for (uint r = 0; r < RM; r++) {
                    #pragma unroll
                    for (uint v = 0; v < NV; v++) {
                        SOON(c + (i + r) * rs_c + (j + v * VW) * cs_c, 1);
                        sum[r][v] = (vec)(0.0f);
                    }
                }
#define ONE_STEP(u)                                                           \
    {                                                                         \
        vec vb[NV];                                                           \
        _Pragma("unroll") for (uint v = 0; v < NV; v++)                       \
            vb[v] = XL_CAT(vload, VW)(v, pb + (u) * RN);                      \
        _Pragma("unroll") for (uint r = 0; r < RM; r++)                       \
        {                                                                     \
            _Pragma("unroll") for (uint v = 0; v < NV; v++)                   \
                sum[r][v] = fma((vec)(pa[(u) * RM + r]), vb[v], sum[r][v]);   \
        }                                                                     \
    }
                uint l = 0;
                for (; l + 4 <= depth; l += 4) {
                    SOON(next, 0);
                    next += ahead;
                    ONE_STEP(0)
                    ONE_STEP(1)
                    ONE_STEP(2)
                    ONE_STEP(3)
                    pa += 4 * RM;
                    pb += 4 * RN;
                }
                for (; l < depth; l++) {
                    ONE_STEP(0)
                    pa += RM;
                    pb += RN;
                }
                const struct place p = {
                    c + i * rs_c + j * cs_c, rs_c, cs_c,
                    scratch + keep + (m0 + i) * ld + n0 + j, ld, rows - i,
                    cols - j, alpha, beta, k0 == 0, k0 + TK >= k};
                store(&p, sum);
            }
        }
    }
}
#endif
