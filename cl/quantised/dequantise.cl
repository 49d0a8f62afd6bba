/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     dst = the values of W, quantised, n x k. An item decodes a unit
 *               of 32 columns; values pass through local memory, so that items
 *               write adjacent ones.
 * Arguments:    WEIGHTS_PARAMS (quantised/blocks.clh); dst, elements from a row
 *               to the next, offset of the first element.
 * Launch:       2-D, local (WG, 1); groups: ceil(k / 32 / WG), n.
 * Local memory: WG LINE_BYTES.
 * -D:           quantised/blocks.clh, quantised/lines.clh.
 * Needs:        nothing.
 * Cost:         W is read once, dst written once.
 * Source:       the definition. */
#include "quantised/blocks.clh"
#include "quantised/lines.clh"

__kernel void qmat_dequantise(WEIGHTS_PARAMS, __global ELEM(TD) *dst,
                              const ulong rs_dst, const ulong off_dst)
{
    __local uint4 room[WG * LINE_BYTES / 16];
    const uint item = (uint)get_local_id(0);
    const uint first = (uint)xl_group_id(0) * WG, j = (uint)xl_group_id(1);
    const struct weights w = WEIGHTS_ROW(j);
    const struct unit x = load_unit(&w, min(first + item, units - 1));
    __local uint4 *mine = room + item * (LINE_BYTES / 16);
    put_16(mine, x.lo * x.of_lo);
    put_16(mine + UNIT_BYTES / 32, x.hi * x.of_hi);
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const WORD *lines = (__local const WORD *)room;
    __global WORD *to =
        (__global WORD *)(dst + off_dst + j * rs_dst + 32 * (ulong)first);
    const uint words = min((uint)WG, units - first) * UNIT_WORDS;
    for (uint c = item; c < words; c += WG)
        to[c] = lines[word_of(c)];
}
