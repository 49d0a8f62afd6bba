/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     MODE 1: out[i] = the four chains x = x * x + c of item i,
 *               combined by xor, in 32-bit integers, from x = 4 i + k, k = 0
 *               1 2 3, after STEPS_PER_ITERATION * iterations steps; c = 2 j
 *               + 1, read from local memory, where j is the item as far from
 *               the group's end as i is from its start. The map is quadratic,
 *               so no compiler can shorten it; four chains keep a unit's
 *               arithmetic busy.
 *               MODE 2: the first item of each group adds to SLOTS words of
 *               the group's own, one after the other; the value found
 *               determines what is added next and where: pure latency.
 *               Both: census[1] = the most groups that ran at once.
 * Arguments:    MODE 1: out, one word per item. MODE 2: SLOTS words per
 *               group, SPACING words apart, all 0 before. census: {0, 0}
 *               before; census[0] is 0 again at the end. iterations: of the
 *               loop.
 * Launch:       one dimension, local size WG.
 * Local memory: MODE 1: 4 WORDS bytes, so many that a second group does not
 *               fit on the unit.
 * -D:           MODE, WG, WORDS at least WG
 * Needs:        nothing: 32-bit atomics are OpenCL 1.1.
 * Cost:         MODE 1: 8 STEPS_PER_ITERATION iterations integer operations
 *               per item.
 * Source:       the host computes the same sums to check it. */
#ifndef MODE
#define MODE 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef WORDS
#define WORDS 64
#endif

/* By the group's first item, before and after its work. */
#define COME(census)                                                          \
    if (get_local_id(0) == 0)                                                 \
    atomic_max(census + 1, atomic_inc(census) + 1)
#define GO(census)                                                            \
    if (get_local_id(0) == 0)                                                 \
    atomic_dec(census)

#if MODE == 1
#define EVERY (WORDS / WG) /* all of it is used, or it could be removed */
#define STEP                                                                  \
    x0 = x0 * x0 + c;                                                         \
    x1 = x1 * x1 + c;                                                         \
    x2 = x2 * x2 + c;                                                         \
    x3 = x3 * x3 + c;
#define FOUR STEP STEP STEP STEP
#define STEPS_PER_ITERATION 16

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void staircase(__global uint *restrict out,
               volatile __global uint *restrict census, const uint iterations)
{
    __local uint ballast[WORDS];
    const uint item = (uint)get_global_id(0), at = (uint)get_local_id(0);
    COME(census);
    ballast[at * EVERY] = 2 * item + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint c = ballast[(WG - 1 - at) * EVERY];
    uint x0 = 4 * item, x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
    for (uint t = 0; t < iterations; t++) {
        FOUR FOUR FOUR FOUR
    }
    out[item] = x0 ^ x1 ^ x2 ^ x3;
    barrier(CLK_LOCAL_MEM_FENCE);
    GO(census);
}
#endif

#if MODE == 2
#define SLOTS 16 /* latency of memory varies by address: a group uses near
                    and far words */
#define SPACING 8

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void staircase(volatile __global uint *restrict words,
               volatile __global uint *restrict census, const uint iterations)
{
    const uint group = (uint)get_global_id(0) / WG;
    COME(census);
    if (get_local_id(0) == 0) {
        uint x = 0;
        for (uint t = 0; t < iterations; t++) {
            const uint slot = (x + t) % SLOTS;
            x = atomic_add(words + (group * SLOTS + slot) * SPACING,
                           x % SLOTS + 1 + t);
        }
    }
    GO(census);
}
#endif
