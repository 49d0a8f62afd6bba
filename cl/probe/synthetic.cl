/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     kernels that are limited by one known resource each.
 *
 *               branches: out[i] = the mean of 8 chains of a map that reduces
 *                   distances, after 8 iterations steps; adjacent items take
 *                   one of four maps, so a sub-group executes all four. The
 *                   host computes each map's fixed point.
 *               banks: 4 chases along a ring of BANKS words. Each item has its
 *                   own copy in its own row, and all read the same column:
 *                   one bank, in as many rows as there are items.
 *
 *                     bank        0   1   2 ..         item 0 reads here  v
 *                     item 0      n0  n1  n2 ..        n0  n1  n2 ..
 *                     item 1      n0  n1  n2 ..        item 1, the same column
 *
 *               stack: out[i] = the sum of WORDS words in private memory, of
 *                   which each iteration replaces 8 by x 1664525 + 1013904223:
 *                   the next 8, in turn. Their indices are not known at compile
 *                   time, so the words cannot be in registers; the 8 are
 *                   independent, so the latency of one is not the limit.
 *               contended: atomic additions, to one word for `share` items.
 *               special: out[i] = the mean of 4 VEC chains of x = 2^-x, whose
 *                   fixed point the host computes.
 * Arguments:    ring: one cycle through all of its indices, known to the host
 *               only. out: one word per item; contended: one for all. share:
 *               the number of items, as an argument, since a compiler that
 *               knows it would add within a sub-group first
 *               (probe/atomics.cl). iterations: of the loop. step: 8, as an
 *               argument for the same reason.
 * Launch:       one dimension; banks: groups of WG.
 * Local memory: banks: 4 ROWS BANKS bytes.
 * -D:           ONLY    1 branches, 2 banks, 3 stack, 4 contended, 5 special;
 *                       0 all
 *               WG, ROWS, BANKS, WORDS   sizes, as above
 *               VEC     values of a chain: 4 8 16
 * Needs:        nothing.
 * Cost:         per iteration and item: branches 8 * 8 * 2 flop; banks 16
 *               loads of 4 bytes; stack 8 loads and 8 stores of 4 bytes;
 *               contended 4 additions; special 16 VEC functions.
 * Source:       the limiter of each: crosslane/diagnosis.h. */
#ifndef ONLY
#define ONLY 0
#endif
#ifndef WG
#define WG 64
#endif
#ifndef ROWS
#define ROWS 64
#endif
#ifndef BANKS
#define BANKS 32
#endif
#ifndef WORDS
#define WORDS 128
#endif
#ifndef VEC
#define VEC 4
#endif
#define WANTED(n) (ONLY == 0 || ONLY == n)

#pragma OPENCL FP_CONTRACT ON

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
typedef CAT(float, VEC) numbers;
#define SUM2(v) ((v).x + (v).y)
#define SUM4(v) SUM2((v).lo + (v).hi)
#define SUM8(v) SUM4((v).lo + (v).hi)
#define SUM16(v) SUM8((v).lo + (v).hi)
#define FOUR(step) step step step step

#if WANTED(1)
__kernel void branches(__global float *restrict out, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    const float8 c = (float8)((float)(64 + item % 64) / 1024);
    float8 x = (float8)(0, 1, 2, 3, 4, 5, 6, 7) / 16;
    switch (item % 4) {
    case 0:
        for (uint i = 0; i < iterations; i++) {
            FOUR(x = x * x + c; x = x * x + c;)
        }
        break;
    case 1:
        for (uint i = 0; i < iterations; i++) {
            FOUR(x = c - x * x; x = x * x + c;)
        }
        break;
    case 2:
        for (uint i = 0; i < iterations; i++) {
            FOUR(x = x * c + c; x = x * x + c;)
        }
        break;
    default:
        for (uint i = 0; i < iterations; i++) {
            FOUR(x = x * c + c; x = c - x * x;)
        }
        break;
    }
    out[item] = SUM8(x) / 8;
}
#endif

#if WANTED(2)
__kernel void banks(__global const uint *restrict ring,
                    __global uint *restrict out, const uint iterations)
{
    __local uint rows[ROWS * BANKS];
    const uint item = (uint)get_local_id(0);
    for (uint i = item; i < ROWS * BANKS; i += WG)
        rows[i] = ring[i % BANKS];
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const uint *row = rows + item % ROWS * BANKS;
    uint a = 0, b = 1, c = 2, d = 3;
    for (uint i = 0; i < iterations; i++) {
        FOUR(a = row[a]; b = row[b]; c = row[c]; d = row[d];)
    }
    out[get_global_id(0)] = a + BANKS * (b + BANKS * (c + BANKS * d));
}
#endif

#if WANTED(3)
__kernel void stack(__global const uint *restrict ring,
                    __global uint *restrict out, const uint step,
                    const uint iterations)
{
    uint words[WORDS];
    for (uint i = 0; i < WORDS; i++)
        words[i] = ring[i];
    uint at = 0;
    for (uint i = 0; i < iterations; i++) {
        uint x[8];
        for (uint j = 0; j < 8; j++)
            x[j] = words[at + j];
        for (uint j = 0; j < 8; j++)
            words[at + j] = x[j] * 1664525u + 1013904223u;
        at = (at + step) % WORDS;
    }
    uint sum = 0;
    for (uint i = 0; i < WORDS; i++)
        sum += words[i];
    out[get_global_id(0)] = sum;
}
#endif

#if WANTED(4)
__kernel void contended(__global volatile uint *out, const uint share,
                        const uint iterations)
{
    uint x = (uint)get_global_id(0);
    __global volatile uint *word = out + x / share;
    for (uint i = 0; i < iterations; i++) {
        FOUR(x = x * 1664525u + 1013904223u; atomic_add(word, x);)
    }
}
#endif

#if WANTED(5)
#if VEC == 16
#define IOTA (numbers)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#elif VEC == 8
#define IOTA (numbers)(0, 1, 2, 3, 4, 5, 6, 7)
#else
#define IOTA (numbers)(0, 1, 2, 3)
#endif
__kernel void special(__global float *restrict out, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    numbers a = (IOTA + (float)(item % 64)) / 128;
    numbers b = a + 0.25f, c = a + 0.5f, d = a + 0.75f;
    for (uint i = 0; i < iterations; i++) {
        FOUR(a = native_exp2(-a); b = native_exp2(-b); c = native_exp2(-c);
             d = native_exp2(-d);)
    }
    out[item] = CAT(SUM, VEC)(a + b + c + d) / (4 * VEC);
}
#endif
