/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     each item adds its own number ADDS * iterations times to word
 *               item / share * step: all items to one word, a sub-group to
 *               one, or each to its own. Numbers are mix(item), modulo 2^32,
 *               or the floats 1 and 2 alternately, whose sums are exact below
 *               2^24: the host can compute every word, in any order of
 *               additions.
 * Arguments:    words: global memory: 0 before, sums after; local memory:
 *               overwritten by the sums of each group of this launch. share:
 *               items per word. step: words from one to the next in use;
 *               local memory: 1. iterations: of the loop.
 * Launch:       one dimension. Local memory: groups of WG, share divides WG.
 * Local memory: 4 WG bytes with LOCAL 1.
 * -D:           LOCAL  0 the words are in global memory, 1 in local
 *               ROUTE  0 int; 1 float by compare-and-swap; 2 float by
 *                      cl_ext_float_atomics
 *               WG     items of a group, with LOCAL 1
 * Needs:        ROUTE 2: OpenCL C 3.0 and cl_ext_float_atomics.
 * Cost:         ADDS * iterations atomic additions per item, results unused.
 * Source:       OpenCL C 1.2, 6.12.11. The address is computed from the item
 *               and an argument, since compilers that see that a sub-group
 *               has one address add within it first: LLVM, AMDGPU's
 *               AtomicOptimizer. */
#ifndef LOCAL
#define LOCAL 0
#endif
#ifndef ROUTE
#define ROUTE 0
#endif
#ifndef WG
#define WG 64
#endif

#if LOCAL
#define SPACE __local
#else
#define SPACE __global
#endif

#if ROUTE == 0
typedef uint number;
static inline number number_of(const uint item)
{
    return item * 0x9e3779b9u + 1;
}
#else
typedef float number;
static inline number number_of(const uint item)
{
    return (float)(1 + item % 2);
}
#endif

#if ROUTE == 0
static inline void add(volatile SPACE uint *word, const uint x)
{
    atomic_add(word, x);
}
#elif ROUTE == 1
static inline void add(volatile SPACE uint *word, const float x)
{
    uint seen = *word, before;
    do {
        before = seen;
        seen = atomic_cmpxchg(word, before, as_uint(as_float(before) + x));
    } while (seen != before);
}
#else
#pragma OPENCL EXTENSION cl_ext_float_atomics : enable
#if LOCAL
#define SCOPE memory_scope_work_group
#else
#define SCOPE memory_scope_device
#endif
static inline void add(volatile SPACE uint *word, const float x)
{
    atomic_fetch_add_explicit((volatile SPACE atomic_float *)word, x,
                              memory_order_relaxed, SCOPE);
}
#endif

__kernel void atomic(__global uint *restrict words, const uint share,
                     const uint step, const uint iterations)
{
    const uint item = (uint)get_global_id(0);
    const number x = number_of(item);
#if LOCAL
    __local uint room[WG];
    const uint mine = (uint)get_local_id(0);
    volatile __local uint *word = room + mine / share;
    room[mine] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    volatile __global uint *word = words + item / share * step;
#endif
    for (uint i = 0; i < iterations; i++) {
        add(word, x);
        add(word, x);
        add(word, x);
        add(word, x);
    }
#if LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine % share == 0)
        words[item / share] = *word;
#endif
}
