/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     rate, floats: CHAINS vectors of values, each STEPS *
 *               iterations times x = F(x) / 1024 + x0. That is a contraction
 *               wherever F is not steep, so x converges to a value that the
 *               host computes; it stays in F's ordinary domain, and each step
 *               needs the one before.
 *               rate, integers: x = F(x) ^ c likewise; every bit is compared.
 *               values: out[i] = F(x[i], y[i]), for the error.
 *
 *               FORM  F(x), of floats          F(x), of integers
 *               0     FN(x)                    FN(x)
 *               1     FN(x, y)                 FN(x, y)
 *               2     FN(y, x)
 *               3     1 / x
 *               4     y / x                    y / (x | 1)
 *               5                              y % (x | 1)
 *               6                              x * y
 *               7                              x << (y & 31)
 *               8                              x >> (y & 31)
 *               9                              FN(x, y) of 24-bit numbers
 * Arguments:    rate: out: one number per item, the mean (xor) of its chains.
 *               lo, span: x0 is distributed over lo .. lo + span, y over y_lo
 *               .. y_lo + y_span; unused for integers. iterations: of the
 *               loop.
 *               values: x, y, out: n numbers, a multiple of VEC.
 * Launch:       rate: one dimension, any size. values: one item per VEC.
 * Local memory: none.
 * -D:           FN     a built-in function; FORM as above
 *               WHOLE  0 floats, 1 unsigned integers
 *               VEC    1 4 8 16
 * Needs:        nothing.
 * Cost:         rate: STEPS * iterations * CHAINS * VEC functions per item,
 *               each with a multiply-add, or an exclusive-or.
 * Source:       OpenCL C 1.2, 6.12.2, 6.12.3 and 7.4. */
#ifndef FN
#define FN native_sin
#endif
#ifndef FORM
#define FORM 0
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef VEC
#define VEC 1
#endif

#pragma OPENCL FP_CONTRACT ON

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#if WHOLE
#define NUMBER uint
#else
#define NUMBER float
#endif
#if VEC == 1
typedef NUMBER number;
typedef uint word;
#define FLOAT(w) ((float)(w))
#define IOTA 0u
#define GET(i, p) (p)[i]
#define PUT(v, i, p) (p)[i] = (v)
#define FOLD(v) (v)
#else
typedef CAT(NUMBER, VEC) number;
typedef CAT(uint, VEC) word;
#define FLOAT(w) CAT(convert_float, VEC)(w)
#define GET(i, p) CAT(vload, VEC)(i, p)
#define PUT(v, i, p) CAT(vstore, VEC)(v, i, p)
#define FOLD(v) CAT(FOLD, VEC)(v)
#endif
#if WHOLE
#define JOIN ^
#else
#define JOIN +
#endif
#define FOLD2(v) ((v).x JOIN (v).y)
#define FOLD4(v) FOLD2((v).lo JOIN (v).hi)
#define FOLD8(v) FOLD4((v).lo JOIN (v).hi)
#define FOLD16(v) FOLD8((v).lo JOIN (v).hi)
#if VEC == 4
#define IOTA (word)(0, 1, 2, 3)
#elif VEC == 8
#define IOTA (word)(0, 1, 2, 3, 4, 5, 6, 7)
#elif VEC == 16
#define IOTA (word)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif

#if FORM == 0
#define F(x, y) FN(x)
#elif FORM == 1
#define F(x, y) FN(x, y)
#elif FORM == 2
#define F(x, y) FN(y, x)
#elif FORM == 3
#define F(x, y) (1.0f / (x))
#elif FORM == 4 && WHOLE
#define F(x, y) ((y) / ((x) | 1))
#elif FORM == 4
#define F(x, y) ((y) / (x))
#elif FORM == 5
#define F(x, y) ((y) % ((x) | 1))
#elif FORM == 6
#define F(x, y) ((x) * (y))
#elif FORM == 7
#define F(x, y) ((x) << ((y) & 31))
#elif FORM == 8
#define F(x, y) ((x) >> ((y) & 31))
#else
#define F(x, y) FN((x) & 0xffffff, (y) & 0xffffff)
#endif

#define CHAINS 4
#define EACH(f) f(0) f(1) f(2) f(3)

static inline word random(const word i)
{
    word x = i;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* A random word as a number of lo .. lo + span. */
static inline number spread(const word w, const float lo, const float span)
{
#if WHOLE
    return w;
#else
    return lo + FLOAT(w >> 8) * (span / 16777216.0f);
#endif
}

#define WORD(k) (2 * ((item * CHAINS + k) * VEC + IOTA))
#define START(k)                                                              \
    const number c##k = spread(random(WORD(k)), lo, span);                    \
    const number y##k = spread(random(WORD(k) + 1), y_lo, y_span);            \
    number x##k = c##k;
#if WHOLE
#define STEP(k) x##k = F(x##k, y##k) ^ c##k;
#else
#define STEP(k) x##k = F(x##k, y##k) * (1.0f / 1024) + c##k;
#endif

__kernel void rate(__global NUMBER *restrict out, const float lo,
                   const float span, const float y_lo, const float y_span,
                   const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    EACH(START)
    for (uint i = 0; i < iterations; i++) {
        EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
    }
    const number all = x0 JOIN x1 JOIN x2 JOIN x3;
#if WHOLE
    out[item] = FOLD(all);
#else
    out[item] = FOLD(all) / (CHAINS * VEC);
#endif
}

__kernel void values(__global const NUMBER *restrict x,
                     __global const NUMBER *restrict y,
                     __global NUMBER *restrict out)
{
    const size_t i = get_global_id(0);
    const number a = GET(i, x), b = GET(i, y);
    PUT(F(a, b), i, out);
}
