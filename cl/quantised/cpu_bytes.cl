/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     C = epilogue(A W^T), W quantised, A quantised as bytes
 *               (quantised/bytes.clh), on devices whose work-items are whole
 *               threads with vector registers. A group, one item, has RN rows
 *               of W, far apart (CP-38), and TM rows of A. Bytes are multiplied
 *               as bytes where the compiler has x86's instructions, else as 16
 *               bits.
 * Arguments:    PRODUCT_PARAMS (quantised/product.clh).
 * Launch:       2-D, local (1, 1); groups: ceil(n / RN), ceil(m / TM).
 * Local memory: none.
 * -D:           RN 1, 2, 4, of pairs not 1; TM 1, 2, 4, 8;
 *               quantised/product.clh with TA 5.
 * Needs:        nothing.
 * Cost:         2 m n k flop; W is read once for each TM rows of A.
 * Source:       Intel 64 and IA-32 Architectures Software Developer's Manual,
 *               volume 2: VPMADDUBSW, VPSIGNB, VPDPBUSD. */
#ifndef TA
#define TA 5
#endif
#ifndef RN
#define RN 4
#endif
#ifndef TM
#define TM 1
#endif

#include "quantised/product.clh"
#include "common/prefetch.clh"

#define AHEAD_BYTES 1024 /* of a row of W */

#if defined(__AVX2__) && __has_builtin(__builtin_ia32_pmaddubsw256)

/* Eight sums of a unit's products; a lane has four columns, the first four
 * lanes the first 16. */
typedef char bytes32 __attribute__((ext_vector_type(32)));
typedef float8 sums;
#define SUM_OF(v) SUM_8(v)
#define SCALES(x) (float8)((float4)((x)->of_lo), (float4)((x)->of_hi))

static inline bytes32 join(const char16 lo, const char16 hi)
{
    return __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                   22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}

/* x without sign times y; pairs of products are below 2^15. */
#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))
#define ADD_DOT(x, y, sum)                                                    \
    __builtin_ia32_vpdpbusd256(sum, __builtin_astype(x, int8),                \
                               __builtin_astype(y, int8))
static inline int8 dot_bytes(const bytes32 x, const bytes32 y)
{
    return ADD_DOT(x, y, (int8)(0));
}
static inline int8 dot_bytes_2(const bytes32 x, const bytes32 y,
                               const bytes32 z, const bytes32 w)
{
    return ADD_DOT(z, w, ADD_DOT(x, y, (int8)(0)));
}
#else
static inline int8 dot_bytes(const bytes32 x, const bytes32 y)
{
    return __builtin_ia32_pmaddwd256(__builtin_ia32_pmaddubsw256(x, y),
                                     (short16)(1));
}
/* x y + z w; x and z are below 64. */
static inline int8 dot_bytes_2(const bytes32 x, const bytes32 y,
                               const bytes32 z, const bytes32 w)
{
    return __builtin_ia32_pmaddwd256(__builtin_ia32_pmaddubsw256(x, y) +
                                         __builtin_ia32_pmaddubsw256(z, w),
                                     (short16)(1));
}
#endif

#if !IS_SIGNED && RN == 4
#define HAS_PAIRS 1
#define EACH_ROW(u, of)                                                       \
    x[0][u].of, x[1][u].of, x[2][u].of, x[3][u].of
#define TWICE(v, r)                                                           \
    __builtin_shufflevector(v, v, r, r, r, r, 4 + r, 4 + r, 4 + r, 4 + r)
#define ADD_ROW(r)                                                            \
    sum[r][i] =                                                               \
        MUL_ADD(TWICE(scale, r),                                              \
                convert_float8(dot_bytes_2(code[r][0], lo, code[r][1], hi)),  \
                sum[r][i])

/* The codes of two units, columns 0 to 15 and 16 to 31 of both. */
static inline void join_pair(const struct weights *w, const uint u,
                             const struct codes x[2], bytes32 code[2])
{
#if FORMAT <= 1 /* nibbles halved and no more */
    __global const uchar *q = w->block + u * BLOCK_BYTES + 2 + 2 * FORMAT;
    const bytes32 both =
        join(as_char16(BYTES(q)), as_char16(BYTES(q + BLOCK_BYTES)));
    code[0] = both & (char)15;
    code[1] = both >> (char)4 & (char)15;
    (void)x;
#else
    code[0] = join(as_char16(x[0].lo), as_char16(x[1].lo));
    code[1] = join(as_char16(x[0].hi), as_char16(x[1].hi));
#endif
}

/* Two units of four rows at once: a lane of a vector has a row and a unit's
 * scale. least: of four rows of both units. */
static inline void add_pair(const struct weights w[4], const uint u,
                            __global const char *const row[TM],
                            sums sum[4][TM], float8 least[TM])
{
    struct codes x[4][2];
    bytes32 code[4][2];
#pragma unroll
    for (uint r = 0; r < 4; r++) {
        x[r][0] = load_codes(&w[r], u);
        x[r][1] = load_codes(&w[r], u + 1);
        join_pair(&w[r], u, x[r], code[r]);
        XL_AHEAD(w[r].block + u / UNITS * BLOCK_BYTES + AHEAD_BYTES);
    }
    const float8 of = (float8)(EACH_ROW(0, of_lo), EACH_ROW(1, of_lo));
    const float8 min = (float8)(EACH_ROW(0, least), EACH_ROW(1, least));
    const float8 zero = (float8)(EACH_ROW(0, zero), EACH_ROW(1, zero));
    const float8 added = MUL_ADD(-zero, of, min);
#pragma unroll
    for (uint i = 0; i < TM; i++) {
        __global const char *p = row[i] + u * (ulong)ACTIVATION_BYTES;
        __global const char *q = p + ACTIVATION_BYTES;
        const float2 d = vload2(0, (__global const float *)p),
                     e = vload2(0, (__global const float *)q);
        const float8 scale = of * (float8)((float4)d.x, (float4)e.x);
        const bytes32 lo = join(vload16(0, p + 8), vload16(0, q + 8)),
                      hi = join(vload16(0, p + 24), vload16(0, q + 24));
        least[i] = MUL_ADD(added, (float8)((float4)d.y, (float4)e.y),
                           least[i]);
        ADD_ROW(0);
        ADD_ROW(1);
        ADD_ROW(2);
        ADD_ROW(3);
    }
}
#endif

static inline sums dot_unit(const struct codes *x, __global const char *p)
{
    const bytes32 w = join(as_char16(x->lo), as_char16(x->hi)),
                  y = join(vload16(0, p), vload16(0, p + 16));
#if IS_SIGNED
    return convert_float8(dot_bytes(__builtin_ia32_psignb256(w, w),
                                    __builtin_ia32_psignb256(y, w)));
#else
    return convert_float8(dot_bytes(w, y));
#endif
}

#else

/* A lane has two columns, 16 apart; both products are below 2^15 together. */
typedef float16 sums;
#define SUM_OF(v) SUM_16(v)
#define SHORTS(v) convert_short16(v)

static inline sums dot_unit(const struct codes *x, __global const char *p)
{
    const short16 lo = SHORTS(as_char16(x->lo)) * SHORTS(vload16(0, p)),
                  hi = SHORTS(as_char16(x->hi)) * SHORTS(vload16(0, p + 16));
#if IS_ONE_SCALE
    return convert_float16(lo + hi);
#else
    return MUL_ADD((float16)(x->of_lo), convert_float16(lo),
                   (float16)(x->of_hi) * convert_float16(hi));
#endif
}
#define SCALES(x) (float16)(1.0f)

#endif

__kernel void qgemm_cpu_bytes(PRODUCT_PARAMS)
{
    const uint j0 = (uint)xl_group_id(0), i0 = (uint)xl_group_id(1) * TM;
    const uint apart = (n + RN - 1) / RN;
    struct weights w[RN];
    sums sum[RN][TM];
    float least[RN][TM]; /* sums of what is added to codes times scales */
    __global const char *row[TM];
#pragma unroll
    for (uint r = 0; r < RN; r++) {
        const struct weights of =
            WEIGHTS_ROW(min(FAR_ROW(r, j0, apart), n - 1));
        w[r] = of;
#pragma unroll
        for (uint i = 0; i < TM; i++) {
            sum[r][i] = (sums)(0.0f);
            least[r][i] = 0.0f;
        }
    }
#pragma unroll
    for (uint i = 0; i < TM; i++)
        row[i] = a + off_a + min(i0 + i, m - 1) * rs_a;
    uint u = 0;
#ifdef HAS_PAIRS
    float8 both[TM];
#pragma unroll
    for (uint i = 0; i < TM; i++)
        both[i] = (float8)(0.0f);
    for (; u + 1 < units; u += 2)
        add_pair(w, u, row, sum, both);
#pragma unroll
    for (uint i = 0; i < TM; i++) {
        const float4 of = both[i].lo + both[i].hi;
        least[0][i] = of.x;
        least[1][i] = of.y;
        least[2][i] = of.z;
        least[3][i] = of.w;
    }
#endif
    for (; u < units; u++) {
#pragma unroll
        for (uint r = 0; r < RN; r++) {
            const struct codes x = load_codes(&w[r], u);
            XL_AHEAD(w[r].block + u / UNITS * BLOCK_BYTES + AHEAD_BYTES);
            const float added = MUL_ADD(-(float)x.zero, x.of_lo, x.least);
#pragma unroll
            for (uint i = 0; i < TM; i++) {
                __global const char *p = row[i] + u * (ulong)ACTIVATION_BYTES;
                const float d = ((__global const float *)p)[0];
#if IS_ONE_SCALE
                const sums of = (sums)(x.of_lo * d);
#else
                const sums of = SCALES(&x) * (sums)(d);
#endif
                sum[r][i] = MUL_ADD(of, dot_unit(&x, p + 8), sum[r][i]);
                if (!IS_SIGNED)
                    least[r][i] = MUL_ADD(added, ((__global const float *)p)[1],
                                          least[r][i]);
            }
        }
    }
    for (uint r = 0; r < RN / TOGETHER; r++) {
        for (uint i = 0; i < TM; i++) {
            const uint j = j0 + r * apart;
            if (j < n / TOGETHER && i0 + i < m)
                STORE_C(i0 + i, j, SUM_OF(sum[r][i]) + least[r][i],
                        SUM_OF(sum[r + RN / 2][i]) + least[r + RN / 2][i]);
        }
    }
}
