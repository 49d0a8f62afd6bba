/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     STEPS * iterations dependent steps, by KIND:
 *
 *               1  x = FACTOR x + c, then a barrier
 *               2  each item passes x + 1 to its left neighbour in the group,
 *                  through local memory and one barrier
 *               3  lanes exchange x + 1, with bits 1, 2, 1, 1 of the lane
 *                  number inverted
 *               4  x = the sum over the sub-group, plus half of it, plus the
 *                  lane number
 *               5  x = the mean over the group, by common/reduce.clh, 0.5 more
 *                  in odd items and 0.5 less in even ones: the sum is constant
 *
 *               from x = the item's number, and writes x. Every step needs
 *               the one before, so the time of a step is a latency.
 * Arguments:    out: one word per item; KIND 5: a float, the sum. iterations:
 *               of the loop.
 * Launch:       one dimension, one group of WG.
 * Local memory: KIND 2: 8 WG bytes; KIND 5: 8 ROOM bytes.
 * -D:           KIND   0 nothing, so that the file compiles by itself; 1 to 5
 *               FENCE  KIND 1: 1 of local memory, 2 of global
 *               WG     a power of two
 *               one of common/subgroup.clh, for KIND 3 and 4
 * Needs:        KIND 3, 4: an exchange between lanes (common/subgroup.clh);
 *               without one the kernel is left out.
 * Cost:         STEPS * iterations barriers, exchanges or sums.
 * Source:       cl/common/reduce.clh, cl/common/subgroup.clh. */
#ifndef KIND
#define KIND 0
#endif
#ifndef FENCE
#define FENCE 1
#endif
#ifndef WG
#define WG 64
#endif

#if KIND == 3 || KIND == 4
#include "common/subgroup.clh"
#endif
#if KIND == 5
#define LANES WG
#include "common/reduce.clh"
#endif

#if FENCE == 2
#define FLAGS CLK_GLOBAL_MEM_FENCE
#else
#define FLAGS CLK_LOCAL_MEM_FENCE
#endif

/* With an odd c the sequence has the full period: Knuth, TAOCP 2, 3.2.1.2. */
#define FACTOR 1664525u

#define FOUR(step) step step step step

#if KIND == 5
typedef float number;
#else
typedef uint number;
#endif

#if KIND != 3 && KIND != 4 || defined(XL_LANE_SUM) && defined(XL_LANE_XOR)
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void sync(__global number *restrict out, const uint iterations)
{
    const uint item = (uint)get_local_id(0);
    number x = (number)item;
#if KIND == 1
    const uint c = 2 * item + 1;
    for (uint i = 0; i < iterations; i++) {
        FOUR(x = x * FACTOR + c; barrier(FLAGS);)
    }
#elif KIND == 2
    /* Two buffers alternately: an item that writes one has passed a barrier
     * that follows all reads of it. */
    __local uint room[2][WG];
    const uint right = (item + 1) % WG;
    for (uint i = 0; i < iterations; i++) {
#define PASS(r)                                                               \
    room[r][item] = x + 1;                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                             \
    x = room[r][right];
        PASS(0) PASS(1) PASS(0) PASS(1)
    }
#elif KIND == 3
    for (uint i = 0; i < iterations; i++) {
        x = XL_LANE_XOR(x + 1, 1);
        x = XL_LANE_XOR(x + 1, 2);
        x = XL_LANE_XOR(x + 1, 1);
        x = XL_LANE_XOR(x + 1, 1);
    }
#elif KIND == 4
    const uint lane = XL_LANE();
    for (uint i = 0; i < iterations; i++) {
        FOUR(x = XL_LANE_SUM(x); x += (x >> 1) + lane;)
    }
#elif KIND == 5
    __local float room[2][ROOM];
    const float apart = item % 2 ? 0.5f : -0.5f;
    float sum = 0;
    for (uint i = 0; i < iterations; i++) {
#define MEET(r)                                                               \
    sum = lanes_sum(x, room[r]);                                              \
    x = sum * (1.0f / WG) + apart;
        MEET(0) MEET(1) MEET(0) MEET(1)
    }
    x = sum;
#endif
    out[item] = x;
}
#endif
