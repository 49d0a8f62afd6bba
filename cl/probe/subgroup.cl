/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     lanes: out[i] = item i's lane number in its sub-group.
 *               diverge: items whose number has bit `period` set compute one
 *               long chain, the others another; both are quadratic maps in
 *               32-bit integers that share no step, so that a sub-group with
 *               both kinds executes both.
 *
 *                 period 1   a b a b a b a b   every sub-group executes both
 *                 period 4   a a a a b b b b   a width of 4 or less: one
 *
 * Arguments:    out: one word per item. period: a power of two. steps: of a
 *               chain.
 * Launch:       one dimension; groups of a multiple of 2 period.
 * Local memory: none.
 * -D:           one of common/subgroup.clh, for lanes.
 * Needs:        lanes: a way to read the lane number; without one it is left
 *               out.
 * Cost:         diverge: 3 steps integer operations per item.
 * Source:       cl/common/subgroup.clh. */
#include "common/subgroup.clh"

#ifdef XL_LANE
__kernel void lanes(__global uint *restrict out)
{
    out[get_global_id(0)] = XL_LANE();
}
#endif

__kernel void diverge(__global uint *restrict out, const uint period,
                      const uint steps)
{
    const uint item = (uint)get_global_id(0);
    uint x = item | 1;
    if (item & period) {
        for (uint i = 0; i < steps; i++)
            x = x * x + item;
    } else {
        for (uint i = 0; i < steps; i++)
            x = (x ^ (x >> 3)) * (x | 5);
    }
    out[item] = x;
}
