/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     dst = the values of W, quantised, n x k, dense. An item decodes
 *               a unit of 32 columns; values pass through local memory, so that
 *               items write adjacent ones.
 * Arguments:    WEIGHTS_PARAMS (quantised/blocks.clh); dst, offset of the first
 *               element, at a multiple of 16 bytes.
 * Launch:       2-D, local (WG, 1); groups: ceil(k / 32 / WG), n.
 * Local memory: WG LINE bytes.
 * -D:           TD dtype of dst, 0 to 2; WG; quantised/blocks.clh.
 * Needs:        nothing.
 * Cost:         W is read once, dst written once.
 * Source:       the definition. */
#ifndef TD
#define TD 1
#endif
#ifndef WG
#define WG 64
#endif

#include "quantised/blocks.clh"

#define CHUNK 16                      /* bytes that an item writes together */
#define UNIT_BYTES (32 * ELEM_BYTES(TD))
#define LINE (UNIT_BYTES + CHUNK)     /* an odd number of chunks */

__kernel void qmat_dequantise(WEIGHTS_PARAMS, __global ELEM(TD) *dst,
                              const ulong off_dst)
{
    __local uint4 room[WG * LINE / CHUNK];
    const uint item = (uint)get_local_id(0);
    const uint first = (uint)xl_group_id(0) * WG, j = (uint)xl_group_id(1);
    const struct weights w = WEIGHTS_ROW(j);
    const struct unit x = load_unit(&w, min(first + item, units - 1));
    __local ELEM(TD) *mine =
        (__local ELEM(TD) *)((__local uchar *)room + item * LINE);
    STOREV(16, TD, mine, 0, x.lo * x.of_lo);
    STOREV(16, TD, mine, 16, x.hi * x.of_hi);
    barrier(CLK_LOCAL_MEM_FENCE);
    __global uint4 *to = (__global uint4 *)(dst + off_dst) +
                         ((ulong)j * units + first) * (UNIT_BYTES / CHUNK);
    const uint chunks = min((uint)WG, units - first) * (UNIT_BYTES / CHUNK);
    for (uint c = item; c < chunks; c += WG)
        to[c] = room[c / (UNIT_BYTES / CHUNK) * (LINE / CHUNK) +
                     c % (UNIT_BYTES / CHUNK)];
}
