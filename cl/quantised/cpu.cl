/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, on devices whose work-items
 *               are whole threads with vector registers. A group, one item, has
 *               RN rows of W, far apart (CP-38), and TM rows of A: a unit of W
 *               is decoded once for all rows of A, and those of A are read once
 *               for all rows of W.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh).
 * Launch:       2-D, local (1, 1); groups: ceil(n / RN), ceil(m / TM).
 * Local memory: none.
 * -D:           RN 1, 2, 4, of pairs not 1; TM 1, 2, 4, 8;
 *               quantised/product.clh.
 * Needs:        nothing.
 * Cost:         2 m n k flop; W is read once for each TM rows of A.
 * Source:       the definition. */
#include "quantised/product.clh"
#include "common/prefetch.clh"

#ifndef RN
#define RN 2
#endif
#ifndef TM
#define TM 1
#endif

#define AHEAD_BYTES 1024 /* of a row of W */

/* Of A; of halves LOADV takes more instructions (CP-31). */
#if TA == 1
#define LOAD_16(i)                                                            \
    xl_from_f16_16(vload16(0, (__global const ushort *)(a + (i))))
#else
#define LOAD_16(i) LOADV(16, TA, a, i)
#endif

/* Units whose scales are converted at once: one by one they take nearly as long
 * as their codes (CP-42). */
#if BLOCK_BYTES == 18 && defined(__AVX512BW__)
#define RUN 8
typedef ushort ushort32 __attribute__((ext_vector_type(32), aligned(2)));

/* Those of n units from u on. */
static inline void load_scales(const struct weights *w, const uint u,
                               const uint n, float scale[RUN])
{
    __global const uchar *b = w->block + u * BLOCK_BYTES;
    if (n == RUN) {
        /* All are in the first 128 bytes, two registers. */
        __global const ushort32 *p = (__global const ushort32 *)b;
        vstore8(xl_from_f16_8(__builtin_shufflevector(
                    p[0], p[1], 0, 9, 18, 27, 36, 45, 54, 63)),
                0, scale);
        return;
    }
#pragma unroll 1
    for (uint k = 0; k < n; k++)
        scale[k] = HALF(b + k * BLOCK_BYTES);
}
#endif

/* Sums of an element of C, as many as registers hold of all. */
#ifdef __AVX512F__
typedef float16 sums;
#define SUM_OF(v) SUM_16(v)
#define ADD_UNIT add_unit
#else
typedef float8 sums;
#define SUM_OF(v) SUM_8(v)
#define ADD_UNIT add_unit_8
static inline sums add_unit_8(const struct unit *x, const float16 lo,
                              const float16 hi, sums sum)
{
    const sums y = MUL_ADD(x->lo.hi, lo.hi, x->lo.lo * lo.lo),
               z = MUL_ADD(x->hi.hi, hi.hi, x->hi.lo * hi.lo);
#if IS_ONE_SCALE
    return MUL_ADD((sums)x->of_lo, y + z, sum);
#else
    return MUL_ADD((sums)x->of_lo, y, MUL_ADD((sums)x->of_hi, z, sum));
#endif
}
#endif

__kernel void qgemm_cpu(PRODUCT_PARAMS)
{
    const uint j0 = (uint)xl_group_id(0), i0 = (uint)xl_group_id(1) * TM;
    const uint apart = (n + RN - 1) / RN;
    struct weights w[RN];
    sums sum[RN][TM];
    ulong at[TM];
#pragma unroll
    for (uint r = 0; r < RN; r++) {
        const struct weights row =
            WEIGHTS_ROW(min(FAR_ROW(r, j0, apart), n - 1));
        w[r] = row;
#pragma unroll
        for (uint i = 0; i < TM; i++)
            sum[r][i] = (sums)(0.0f);
    }
#pragma unroll
    for (uint i = 0; i < TM; i++)
        at[i] = off_a + min(i0 + i, m - 1) * rs_a;
#ifdef RUN
    float scale[RN][RUN];
#endif
    for (uint u = 0; u < units; u++) {
        float16 lo[TM], hi[TM];
#ifdef RUN
        if (u % RUN == 0) {
#pragma unroll
            for (uint r = 0; r < RN; r++)
                load_scales(&w[r], u, min((uint)RUN, units - u), scale[r]);
        }
#endif
#pragma unroll
        for (uint i = 0; i < TM; i++) {
            lo[i] = LOAD_16(at[i] + 32 * (ulong)u);
            hi[i] = LOAD_16(at[i] + 32 * (ulong)u + 16);
        }
#pragma unroll
        for (uint r = 0; r < RN; r++) {
            struct unit x = load_unit(&w[r], u);
#ifdef RUN
            x.of_lo = x.of_hi = scale[r][u % RUN];
#endif
            XL_AHEAD(w[r].block + u / UNITS * BLOCK_BYTES + AHEAD_BYTES);
#pragma unroll
            for (uint i = 0; i < TM; i++)
                sum[r][i] = ADD_UNIT(&x, lo[i], hi[i], sum[r][i]);
        }
    }
    for (uint r = 0; r < RN / TOGETHER; r++) {
        for (uint i = 0; i < TM; i++) {
            const uint j = j0 + r * apart;
            if (j < n / TOGETHER && i0 + i < m)
                STORE_C(i0 + i, j, SUM_OF(sum[r][i]),
                        SUM_OF(sum[r + RN / 2][i]));
        }
    }
}
