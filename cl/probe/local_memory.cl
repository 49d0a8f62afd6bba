/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     read:   the sum of the words that an item loads from local
 *                       memory. In iteration t, item i starts at element
 *
 *                         (i * stride + (i & spread) + t * hop) mod SPAN
 *
 *                       and loads it and the UNROLL - 1 that follow, GAP
 *                       apart. Adjacent items are `stride` apart; `spread`
 *                       moves every other one (1) or three of four (3) by a
 *                       few words, which shows how wide a bank is:
 *
 *                         stride 8, spread 0   0 . . . . . . . 1 . . .
 *                         stride 8, spread 1   0 . . . . . . . . 1 . .
 *
 *               chase:  the end of a chain of loads, each of which depends on
 *                       the one before: word p holds the offset of the next
 *                       one, in bytes, so that no address needs arithmetic.
 * Arguments:    out: one word per item. read: seed: of the words, which are
 *               those of probe/bandwidth.cl's `random`; hop: odd. chase:
 *               next: SPAN offsets. iterations: of the loop.
 * Launch:       read: one dimension, groups of WG. chase: one item.
 * Local memory: read: (SPAN + (UNROLL - 1) * GAP) * VEC words; chase: SPAN.
 * -D:           SPAN    elements, a power of two
 *               VEC     words of an element: 1 2 4 8 16
 *               GAP     elements between the loads of an iteration
 *               WG      items of a group
 *               ONLY    compile only this kernel: 1 read, 2 chase; 0 both
 * Needs:        nothing.
 * Cost:         read: 4 VEC UNROLL bytes per iteration and item; chase:
 *               UNROLL loads per iteration.
 * Source:       banks by stride: CUDA C++ Programming Guide, "Shared memory";
 *               AMD's OpenCL optimization guide, "Local memory". */
#ifndef SPAN
#define SPAN 1024
#endif
#ifndef GAP
#define GAP 32
#endif
#ifndef WG
#define WG 64
#endif
#ifndef ONLY
#define ONLY 0
#endif
#define WANTED(n) (ONLY == 0 || ONLY == n)
#define UNROLL 8

#include "common/vector.clh"

#if WANTED(1)
#define LENGTH (SPAN + (UNROLL - 1) * GAP)

__kernel void read(__global uint *restrict out, const uint seed,
                   const uint stride, const uint spread, const uint hop,
                   const uint iterations)
{
    __local words mem[LENGTH];
    const uint item = (uint)get_local_id(0);
    for (uint i = item; i < LENGTH; i += WG) {
        words x = (words)(i * VEC + seed) + IOTA;
        mem[i] = MIX(x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = (item * stride + (item & spread)) & (SPAN - 1);
    words sum = (words)(0);
    for (uint t = 0; t < iterations; t++) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum += mem[at + u * GAP];
        at = (at + hop) & (SPAN - 1);
    }
    out[get_global_id(0)] = SUM(sum);
}
#endif

#if WANTED(2)
__kernel void chase(__global uint *restrict out,
                    __global const uint *restrict next, const uint iterations)
{
    __local uint mem[SPAN];
    for (uint i = (uint)get_local_id(0); i < SPAN;
         i += (uint)get_local_size(0))
        mem[i] = next[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = 0;
    for (uint t = 0; t < iterations; t++) {
#pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            at = *(const __local uint *)((const __local char *)mem + at);
    }
    out[get_global_id(0)] = at;
}
#endif
