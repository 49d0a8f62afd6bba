/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     out[i] = the mean over CHAINS x VEC values of x after
 *               STEPS_PER_ITERATION * iterations steps of x = x * x + c, with
 *               c = (64 + i mod 64) / 1024, from different starts between 0
 *               and 0.6. Every chain ends in the map's fixed point (1 -
 *               sqrt(1 - 4 c)) / 2, which the host computes but no compiler
 *               does; the map is quadratic, so steps cannot be merged.
 *               Integers: x after as many steps of x = m x + c from x = c,
 *               modulo 2^bits, with m = 4 i + 5 and c = 2 (16 k + lane) + 1 of
 *               chain k: 2^bits different values follow each other. m is no
 *               constant, so steps cannot be merged. out[i] = the sum of 3^j x
 *               over all x, the last one j = 0, modulo 2^32; of 64 bits both
 *               halves of x are joined, since the lower one alone needs no
 *               product of 64 bits.
 * Arguments:    out: one float, or uint, per item. iterations: of the loop.
 * Launch:       one dimension, any size.
 * Local memory: none.
 * -D:           TYPE    0 float, 1 half, 2 double; 3 uchar, 4 ushort, 5 uint,
 *                       6 ulong
 *               VEC     1 2 4 8 16
 *               CHAINS  independent values in flight: 1 2 4 8
 *               FORM    0: x * x + c, for the compiler to contract; 1: fma,
 *                       not of integers
 * Needs:        TYPE 1: half arithmetic; TYPE 2: double.
 * Cost:         2 * STEPS_PER_ITERATION * iterations * CHAINS * VEC operations
 *               per item, 4 bytes written.
 * Source:       GE-19: why these forms of multiply and add. */
#ifndef TYPE
#define TYPE 0
#endif
#ifndef VEC
#define VEC 1
#endif
#ifndef CHAINS
#define CHAINS 4
#endif
#ifndef FORM
#define FORM 0
#endif

#pragma OPENCL FP_CONTRACT ON

#if TYPE == 0
#define NUMBER float
#elif TYPE == 1
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define NUMBER half
#elif TYPE == 2
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define NUMBER double
#elif TYPE == 3
#define NUMBER uchar
#elif TYPE == 4
#define NUMBER ushort
#elif TYPE == 5
#define NUMBER uint
#elif TYPE == 6
#define NUMBER ulong
#endif
#define IS_FLOAT (TYPE < 3)
#if TYPE == 6
#define WORD(x) ((uint)((x) ^ ((x) >> 32)))
#else
#define WORD(x) ((uint)(x))
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
typedef NUMBER number;
#if VEC == 1
typedef NUMBER numbers;
#define IOTA ((number)0)
#define SUM(v) (v)
#define JOIN(v) WORD(v)
#else
typedef CAT(NUMBER, VEC) numbers;
#define SUM(v) CAT(SUM, VEC)(v)
#define JOIN(v) CAT(JOIN, VEC)(v)
#endif
#if VEC == 2
#define IOTA (numbers)(0, 1)
#elif VEC == 4
#define IOTA (numbers)(0, 1, 2, 3)
#elif VEC == 8
#define IOTA (numbers)(0, 1, 2, 3, 4, 5, 6, 7)
#elif VEC == 16
#define IOTA (numbers)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif
#define SUM2(v) ((v).x + (v).y)
#define SUM4(v) SUM2((v).lo + (v).hi)
#define SUM8(v) SUM4((v).lo + (v).hi)
#define SUM16(v) SUM8((v).lo + (v).hi)
#define JOIN2(v) (POWER1 * WORD((v).x) + WORD((v).y))
#define JOIN4(v) (POWER2 * JOIN2((v).lo) + JOIN2((v).hi))
#define JOIN8(v) (POWER4 * JOIN4((v).lo) + JOIN4((v).hi))
#define JOIN16(v) (POWER8 * JOIN8((v).lo) + JOIN8((v).hi))
#define POWER1 3u /* to the power of 1, 2, 4, 8, 16 */
#define POWER2 9u
#define POWER4 81u
#define POWER8 6561u
#define POWER16 43046721u

#if CHAINS == 1
#define EACH(f) f(0)
#elif CHAINS == 2
#define EACH(f) f(0) f(1)
#elif CHAINS == 4
#define EACH(f) f(0) f(1) f(2) f(3)
#else
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#endif

#define START(k)                                                              \
    numbers x##k = (numbers)((number)(k + 1) / (number)16) +                  \
                   IOTA / (numbers)((number)256);
#if !IS_FLOAT
#define STEP(k) x##k = (numbers)(x##k * m + c##k);
#elif FORM == 0
#define STEP(k) x##k = x##k * x##k + c;
#else
#define STEP(k) x##k = fma(x##k, x##k, c);
#endif
#define FOUR EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
#define ADD(k) sum += x##k;
#define STEPS_PER_ITERATION 16

#if IS_FLOAT
__kernel void flops(__global float *restrict out, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    const numbers c = (numbers)((number)(64 + item % 64) / (number)1024);
    numbers sum = (numbers)((number)0);
    EACH(START)
    for (uint i = 0; i < iterations; i++) {
        FOUR FOUR FOUR FOUR
    }
    EACH(ADD)
    out[item] = (float)(SUM(sum)) / (CHAINS * VEC);
}
#else
#define START_OF(k)                                                           \
    const numbers c##k = (numbers)((number)(32 * k + 1)) + IOTA + IOTA;       \
    numbers x##k = c##k;
#define ADD_TO(k) all = CAT(POWER, VEC) * all + JOIN(x##k);

__kernel void integers(__global uint *restrict out, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    const numbers m = (numbers)((number)(4 * item + 5));
    uint all = 0;
    EACH(START_OF)
    for (uint i = 0; i < iterations; i++) {
        FOUR FOUR FOUR FOUR
    }
    EACH(ADD_TO)
    out[item] = all;
}
#endif
