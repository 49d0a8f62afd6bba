/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      C = alpha A B + beta C for devices whose work-items are whole
 *               threads with vector registers: one item per group and tile, no
 *               barriers, plain loops inside.
 *
 *                 for each TK of k:   pack B: TN / RN panels of TK x RN floats
 *                                     pack A: TM / RM panels of RM x TK floats
 *                   for each panel of B:          (stays in the first cache)
 *                     for each panel of A:
 *                       RM x RN sums in registers, a vector of B times a
 *                       broadcast element of A
 *
 *               Sums between slices of k are kept in local memory as floats.
 *               Rows and columns past the edge repeat the last one and are not
 *               stored.
 * Arguments     as gemm_tiled.cl
 * Launch        local 1, global the number of tiles, 1-D
 * Local memory  4 (TK (TM + TN) + TM TN) bytes
 * -D            TM TN TK; RM dividing TM; RN dividing TN; VW (2 4 8 16)
 *               dividing RN; GR tile rows walked together; TA, TC dtypes
 *               (types.clh); UA, UB contiguous along k (0), across (1),
 *               neither (2); VC = VW where rows of C are contiguous, else 1
 * Needs         OpenCL C 1.2
 * Cost          2 m n k flop; k (m n / TN + m n / TM) elements read
 * Source        Goto, van de Geijn 2008, section 4: packing for each cache */
#include "types.clh"

#ifndef TM
#define TM 32
#define TN 32
#define TK 32
#define RM 4
#define RN 8
#define VW 4
#endif
#ifndef GR
#define GR 8
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
#ifndef VC
#define VC 1
#endif

#define NV (RN / VW)
typedef FLOATV(VW) vec;
#define LOAD_VEC(p) (*(__local const vec *)(p))
#define STORE_VEC(p, x) (*(__local vec *)(p) = (x))

/* A panel keeps the order in which memory has it, so packing copies lines. */
#if UA == 0
#define A_AT(r, l) ((r) * TK + (l))
#else
#define A_AT(r, l) ((l) * RM + (r))
#endif

/* Where in C: what a tile's store needs to know. */
struct place {
    __global ELEM(TC) *c;
    ulong rs, cs;
    uint rows, cols; /* valid from here on */
    float alpha, beta;
};

static inline void pack_a(__global const ELEM(TA) *a, ulong sx, ulong sk,
                          uint rows, uint depth, __local float *to)
{
#if UA == 0
    for (uint r = 0; r < RM; r++) {
        __global const ELEM(TA) *line = a + min(r, rows - 1) * sx;
        uint l = 0;
        for (; l + VW <= depth; l += VW)
            STORE_VEC(to + A_AT(r, l), LOADV(VW, TA, line, l));
        for (; l < depth; l++)
            to[A_AT(r, l)] = LOAD(TA, line, l * sk);
    }
#else
    for (uint l = 0; l < depth; l++) {
        for (uint r = 0; r < RM; r++)
            to[A_AT(r, l)] = LOAD(TA, a, min(r, rows - 1) * sx + l * sk);
    }
#endif
}

static inline void pack_b(__global const ELEM(TA) *b, ulong sx, ulong sk,
                          uint cols, uint depth, __local float *to)
{
#if UB == 1
    if (cols >= RN) {
        for (uint l = 0; l < depth; l++) {
            #pragma unroll
            for (uint v = 0; v < RN; v += VW)
                STORE_VEC(to + l * RN + v, LOADV(VW, TA, b, l * sk + v));
        }
        return;
    }
#endif
    for (uint s = 0; s < RN; s++) {
        __global const ELEM(TA) *line = b + min(s, cols - 1) * sx;
        for (uint l = 0; l < depth; l++)
            to[l * RN + s] = LOAD(TA, line, l * sk);
    }
}

static inline void store_row(const struct place *p, uint row, const vec *sum)
{
    __global ELEM(TC) *line = p->c + row * p->rs;
#if VC > 1
    if (p->cols >= RN) {
        #pragma unroll
        for (uint v = 0; v < NV; v++) {
            vec x = p->alpha * sum[v];
            if (p->beta != 0.0f)
                x = fma((vec)(p->beta), LOADV(VW, TC, line, v * VW), x);
            STOREV(VW, TC, line, v * VW, x);
        }
        return;
    }
#endif
    float part[RN];
    #pragma unroll
    for (uint v = 0; v < NV; v++)
        XL_CAT(vstore, VW)(sum[v], v, part);
    for (uint s = 0; s < RN && s < p->cols; s++) {
        float x = p->alpha * part[s];
        if (p->beta != 0.0f)
            x = fma(p->beta, LOAD(TC, line, s * p->cs), x);
        STORE(TC, line, s * p->cs, x);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_tiled_item(__global const ELEM(TA) *restrict a, ulong off_a, ulong sx_a,
                ulong sk_a, __global const ELEM(TA) *restrict b, ulong off_b,
                ulong sx_b, ulong sk_b, __global ELEM(TC) *restrict c,
                ulong off_c, ulong rs_c, ulong cs_c, ulong m, ulong n, ulong k,
                uint tiles_m, uint tiles_n, float alpha, float beta)
{
    __local float la[TK * TM] __attribute__((aligned(64)));
    __local float lb[TK * TN] __attribute__((aligned(64)));
    __local float lc[TM * TN] __attribute__((aligned(64)));

    /* Bands of GR tile rows, walked column by column. */
    const ulong tile = xl_group_id(0);
    const ulong band = tile / ((ulong)GR * tiles_n);
    const ulong in_band = tile - band * GR * tiles_n;
    const ulong height = min((ulong)GR, tiles_m - band * GR);
    const ulong m0 = (band * GR + in_band % height) * TM;
    const ulong n0 = in_band / height * TN;
    const uint rest_m = (uint)min((ulong)TM, m - m0);
    const uint rest_n = (uint)min((ulong)TN, n - n0);
    a += off_a + m0 * sx_a;
    b += off_b + n0 * sx_b;
    c += off_c + m0 * rs_c + n0 * cs_c;

    for (ulong k0 = 0; k0 < k; k0 += TK) {
        const uint depth = (uint)min((ulong)TK, k - k0);
        for (uint j = 0; j < rest_n; j += RN)
            pack_b(b + j * sx_b + k0 * sk_b, sx_b, sk_b, rest_n - j, depth,
                   lb + j * TK);
        for (uint i = 0; i < rest_m; i += RM)
            pack_a(a + i * sx_a + k0 * sk_a, sx_a, sk_a, rest_m - i, depth,
                   la + i * TK);
        for (uint j = 0; j < rest_n; j += RN) {
            for (uint i = 0; i < rest_m; i += RM) {
                __local const float *pa = la + i * TK;
                __local const float *pb = lb + j * TK;
                __local float *pc = lc + i * TN + j * RM;
                vec sum[RM][NV];
                #pragma unroll
                for (uint r = 0; r < RM; r++) {
                    #pragma unroll
                    for (uint v = 0; v < NV; v++)
                        sum[r][v] = (vec)(0.0f);
                }
                for (uint l = 0; l < depth; l++) {
                    vec vb[NV];
                    #pragma unroll
                    for (uint v = 0; v < NV; v++)
                        vb[v] = LOAD_VEC(pb + l * RN + v * VW);
                    #pragma unroll
                    for (uint r = 0; r < RM; r++) {
                        #pragma unroll
                        for (uint v = 0; v < NV; v++)
                            sum[r][v] =
                                fma((vec)(pa[A_AT(r, l)]), vb[v], sum[r][v]);
                    }
                }
                #pragma unroll
                for (uint r = 0; r < RM; r++) {
                    #pragma unroll
                    for (uint v = 0; v < NV; v++) {
                        __local float *q = pc + r * RN + v * VW;
                        if (k0 > 0)
                            sum[r][v] += LOAD_VEC(q);
                        if (k0 + TK < k)
                            STORE_VEC(q, sum[r][v]);
                    }
                }
                if (k0 + TK < k)
                    continue;
                const struct place p = {c + i * rs_c + j * cs_c, rs_c, cs_c,
                                        rest_m - i, rest_n - j, alpha, beta};
                #pragma unroll
                for (uint r = 0; r < RM; r++) {
                    if (r < p.rows)
                        store_row(&p, r, sum[r]);
                }
            }
        }
    }
}
