/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     chunks of work, assigned to groups as tiles are, and a record
 *               of each: on which unit, from when to when. Group g does
 *               chunks g, g + groups, ... A chunk is, in each item, a number
 *               of iterations of x = x x + c in 32-bit integers from x = its
 *               number, c = 2 x + 1, which no compiler can shorten since the
 *               map is quadratic.
 * Arguments:    record: four ulongs per chunk: unit, start, end, and the
 *               first item's x with the last item's in the upper half.
 *               iterations: of the first `whole` chunks; rest: of the others.
 * Launch:       one dimension; groups of WG items, at most a group per chunk.
 * Local memory: 4 WORDS bytes, all of which a group holds while it runs.
 * -D:           WG; WORDS, WG or more; one of common/compute_unit.clh.
 * Needs:        a way to read the unit; without one the kernel is left out.
 * Cost:         2 iterations integer operations per item and chunk.
 * Source:       cl/common/compute_unit.clh; the host computes the same to
 *               check it. */
#include "common/compute_unit.clh"

#ifndef WG
#define WG 64
#define WORDS 64
#endif

#ifdef XL_UNIT
__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
groups(__global ulong *restrict record, const uint n_chunks, const uint whole,
       const uint iterations, const uint rest)
{
    __local uint held[WORDS];
    const uint lid = (uint)get_local_id(0);
    for (uint p = (uint)get_group_id(0); p < n_chunks;
         p += (uint)get_num_groups(0)) {
        const ulong start = XL_CLOCK();
        const uint n = p < whole ? iterations : rest;
        /* The clock's top bit is 0, which a compiler cannot know: the work
         * stays after the first read of the clock. */
        uint x = p * WG + lid + (uint)(start >> 63);
        const uint c = 2 * x + 1;
        for (uint i = 0; i < n; i++)
            x = x * x + c;
        held[lid] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            __global ulong *r = record + 4 * (ulong)p;
            r[0] = XL_UNIT(held);
            r[1] = start;
            r[3] = held[0] | (ulong)held[WG - 1] << 32;
            r[2] = XL_CLOCK();
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
