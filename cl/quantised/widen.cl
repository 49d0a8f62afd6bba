/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     to = A as f32, m x k, dense. A group has SPAN columns of a row.
 * Arguments:    A, m x k, contiguous columns: offset of the first element,
 *               elements from row to row; k, a multiple of 32; to, offset of
 *               the first element.
 * Launch:       2-D, local (WG, 1), groups: ceil(k / SPAN), m.
 * Local memory: none.
 * -D:           TA dtype of A, 1 or 2; WG; SPAN, a multiple of 8; VA: A's rows
 *               are at multiples of so many elements (1 8).
 * Needs:        nothing.
 * Cost:         A is read once, `to` written once.
 * Source:       the definition. */
#include "common/types.clh"

#ifndef TA
#define TA 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef SPAN
#define SPAN 128
#endif
#ifndef VA
#define VA 1
#endif

#if VA == 8
#define LOAD_8(at) LOADVA(8, TA, a, at)
#else
#define LOAD_8(at) LOADV(8, TA, a, at)
#endif

__kernel void qgemm_widen(__global const ELEM(TA) *a, const ulong off_a,
                          const ulong rs_a, const uint k, __global float *to,
                          const ulong off_to)
{
    const uint i = (uint)xl_group_id(1), first = (uint)xl_group_id(0) * SPAN;
    const uint end = min(first + SPAN, k);
    const ulong from = off_a + i * rs_a, row = off_to + i * (ulong)k;
    for (uint l = first + 8 * (uint)get_local_id(0); l < end; l += 8 * WG)
        vstore8(LOAD_8(from + l), 0, to + row + l);
}
