/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     W = src, n x k, quantised by the rules of
 *               xl_qmat_quantise_host(), whose bits these are: quotients are
 *               rounded once, products and sums one by one. An item finds the
 *               scale of a unit of 32 columns and encodes as many; elements and
 *               blocks pass through local memory.
 *               qmat_fit, of int4, int8 and FP8: the scale (and zero) of each group
 *               of columns first, from which qmat_quantise encodes.
 * Arguments:    as of qmat_dequantise (quantised/dequantise.cl).
 * Launch:       2-D, local (WG, 1), WG a multiple of 8, of qmat_fit a power of
 *               two; groups: ceil(k / 32 / WG), n; of qmat_fit a group for each
 *               of int8's groups, of FP8's blocks, for each two of int4's
 *               groups, whose zeros share a byte.
 * Local memory: WG (LINE_BYTES + 8 + BLOCK_BYTES / UNITS); of qmat_fit 12 WG.
 * -D:           quantised/blocks.clh, quantised/lines.clh.
 * Needs:        nothing.
 * Cost:         src is read once, of int4, int8 and FP8 twice; W written once.
 * Source:       lib/ops/quantised/formats.c. */
#pragma OPENCL FP_CONTRACT OFF

#include "quantised/encode.clh"

__kernel void qmat_quantise(QUANTISE_PARAMS)
{
    __local uint4 room[WG * LINE_BYTES / 16];
    __local ushort out[WG / 8 * (8 / UNITS * BLOCK_BYTES) / 2];
    __local float part[2 * WG];
    const uint item = (uint)get_local_id(0);
    const uint first = (uint)xl_group_id(0) * WG, row = (uint)xl_group_id(1);
    const uint n = min((uint)WG, units - first);
    __local WORD *lines = (__local WORD *)room;
    __global const WORD *from =
        (__global const WORD *)(src + off_src + row * rs_src +
                                32 * (ulong)first);
    for (uint c = item; c < n * UNIT_WORDS; c += WG)
        lines[word_of(c)] = from[c];
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const uchar *bytes = (__local const uchar *)room;
    __local const ELEM(TD) *x =
        (__local const ELEM(TD) *)(bytes + item * LINE_BYTES);
    __local uchar *b = (__local uchar *)out + item / UNITS * BLOCK_BYTES;
#if UNITS == 8
    if (item < n) {
#if FORMAT == 4
        const struct range r = find_range(x, 32);
        part[2 * item] = FIT(1, r.least, r.most);
        part[2 * item + 1] = -r.least;
#else
        part[2 * item] = FIT(1, 0, find_range(x, 16).most);
        part[2 * item + 1] = FIT(1, 0, find_range(x + 16, 16).most);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < n)
        encode_block(bytes + item / 8 * 8 * LINE_BYTES, part + item / 8 * 16,
                     item % 8, b);
#else
    if (item < n) {
#if FORMAT < 8
        encode_single(x, b);
#else
        const uint i = (first + item) / group;
        const float by = inverse_1(LOAD_SCALE(
            scales + off_scales + (ulong)SCALES_ROW(row) * (units / group) +
            i));
        float add = 8;
#if ZEROS
        add = (float)(zeros[off_zeros +
                            (ulong)row * ((units / group + 1) / 2) + i / 2] >>
                          4 * (i % 2) &
                      15);
#endif
        encode_unit(x, b, by, add);
#endif
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    __global uchar *to =
        blocks + off_blocks +
        ((ulong)row * units + first) / UNITS * BLOCK_BYTES;
    const uint size = n / UNITS * BLOCK_BYTES;
#if BLOCK_BYTES % 2 == 0
    for (uint c = item; c < size / 2; c += WG)
        ((__global ushort *)to)[c] = out[c];
#else
    for (uint c = item; c < size; c += WG)
        to[c] = ((__local const uchar *)out)[c];
#endif
}

#if FORMAT == 10
/* A block of `share` rows, the last one of fewer, and of a group's columns. */
__kernel void qmat_fit(QUANTISE_PARAMS)
{
    __local float room[WG];
    const uint item = (uint)get_local_id(0), g = (uint)xl_group_id(0);
    const uint block = (uint)xl_group_id(1), n = 32 * group;
    const uint end = min((block + 1) * share, rows);
    float most = 0;
    for (uint j = block * share; j < end; j++) {
        __global const ELEM(TD) *x = src + off_src + j * rs_src + (ulong)n * g;
        for (uint i = item; i < n; i += WG)
            most = fmax(most, fabs(LOAD(TD, x, i)));
    }
    room[item] = most;
    for (uint s = WG / 2; s > 0; s /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < s)
            room[item] = fmax(room[item], room[item + s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* CP-39 */
    if (item == 0)
        scales[off_scales + (ulong)block * (units / group) + g] =
            FIT(1, 0, room[0]);
    (void)blocks;
    (void)zeros;
}
#elif FORMAT >= 8
/* Of n elements that the items of a group read together: the largest and the
 * least where IS_RANGE, else that of the largest magnitude, the first of
 * several. All items return it. */
static inline struct range join(__global const ELEM(TD) *x, const uint n,
                                __local float *most, __local float *least,
                                __local uint *at)
{
    const uint item = (uint)get_local_id(0);
    struct range r = {0, 0};
    uint of_most = n;
    for (uint i = item; i < n; i += WG) {
        const float v = LOAD(TD, x, i);
        const bool is_more = IS_RANGE ? v > r.most : fabs(v) > fabs(r.most);
        r.most = is_more ? v : r.most;
        of_most = is_more ? i : of_most;
        r.least = v < r.least ? v : r.least;
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* the last call's were read */
    most[item] = r.most;
    least[item] = r.least;
    at[item] = of_most;
    for (uint s = WG / 2; s > 0; s /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint other = item + (item < s ? s : 0);
        const float a = most[item], b = most[other];
        const bool is_first =
            fabs(b) > fabs(a) || (fabs(b) == fabs(a) && at[other] < at[item]);
        if (IS_RANGE ? b > a : is_first) {
            most[item] = b;
            at[item] = at[other];
        }
        if (least[other] < least[item])
            least[item] = least[other];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    r.most = most[0];
    r.least = least[0];
    return r;
}

__kernel void qmat_fit(QUANTISE_PARAMS)
{
    __local float most[WG], least[WG];
    __local uint at[WG];
    const uint row = (uint)xl_group_id(1);
    const uint groups = units / group, share = FORMAT == 8 ? 2 : 1;
    const uint first = (uint)xl_group_id(0) * share;
#if FORMAT == 8 && ZEROS
    uint pair = 0;
#endif
    for (uint g = first; g < min(first + share, groups); g++) {
        const struct range r =
            join(src + off_src + row * rs_src + 32 * (ulong)group * g,
                 32 * group, most, least, at);
        const float scale = FIT(1, r.least, r.most);
#if FORMAT == 8 && ZEROS
        const float zero = -r.least * inverse_1(scale);
        pair |= (uint)round_to((float4)(zero), 0.0f, 15.0f).s0 << 4 * (g % 2);
#endif
        if (get_local_id(0) == 0)
            vstore_half_rte(scale, 0,
                            scales + off_scales + (ulong)row * groups + g);
    }
#if FORMAT == 8 && ZEROS
    if (get_local_id(0) == 0)
        zeros[off_zeros + (ulong)row * ((groups + 1) / 2) + first / 2] =
            (uchar)pair;
#endif
}
#endif
