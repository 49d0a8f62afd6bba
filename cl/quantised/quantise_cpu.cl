/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     quantise.cl's result, bit for bit, on devices whose work-items
 *               are whole threads with vector registers. A group, one item,
 *               quantises `span` units of 32 columns of a row, of FP8 of the rows
 *               that share scales.
 * Arguments:    QUANTISE_PARAMS (quantised/encode.clh); span: whole blocks, of
 *               int8 all units, of FP8 whole groups, of int4 pairs of groups,
 *               whose zeros share a byte.
 * Launch:       2-D, local (1, 1); groups: ceil(k / 32 / span), n, of FP8
 *               ceil(n / share).
 * Local memory: none.
 * -D:           quantised/blocks.clh; TD 0 to 2.
 * Needs:        nothing.
 * Cost:         src is read once, of int4, int8 and FP8 twice; W written once.
 * Source:       lib/ops/quantised/formats.c. */
#pragma OPENCL FP_CONTRACT OFF

#define VEC 16
#include "quantised/encode.clh"

#if FORMAT == 8 || FORMAT == 9
/* The scale, and zero, of a group i of columns; returns the number that is
 * added to quotients. */
static inline float fit(__global const ELEM(TD) *x, const uint n, const uint i,
                        __global half *scale, __global uchar *zero)
{
    const struct range r = find_range(x, n);
    const float d = FIT(1, r.least, r.most);
    vstore_half_rte(d, i, scale);
#if FORMAT == 8 && ZEROS
    const int z = round_to((float16)(-r.least * inverse_1(d)), 0, 15).s0;
    zero[i / 2] = (uchar)(i % 2 ? zero[i / 2] | z << 4 : z);
    return (float)z;
#else
    return 8;
#endif
}
#endif

__kernel void qmat_quantise_cpu(QUANTISE_PARAMS, const uint span)
{
    const uint row = (uint)xl_group_id(1);
    const uint first = (uint)xl_group_id(0) * span,
               end = min(first + span, units);
    __global const ELEM(TD) *x = src + off_src + row * rs_src;
    __global uchar *b =
        blocks + off_blocks + (ulong)row * (units / UNITS * BLOCK_BYTES);
#if FORMAT == 10
    const uint end_row = min((row + 1) * share, rows);
    for (uint u = first; u < end; u += group) {
        float most = 0;
        for (uint j = row * share; j < end_row; j++)
            most = fmax(most, fabs(find_range(src + off_src + j * rs_src +
                                                  32 * (ulong)u,
                                              32 * group).most));
        const float d = FIT(1, 0, most), by = inverse_1(d);
        scales[off_scales + (ulong)row * (units / group) + u / group] = d;
        for (uint j = row * share; j < end_row; j++)
            for (uint v = u; v < u + group; v++)
                encode_unit(src + off_src + j * rs_src + 32 * (ulong)v,
                            blocks + off_blocks +
                                ((ulong)j * units + v) * BLOCK_BYTES,
                            by, 0);
    }
#elif FORMAT >= 8
    scales += off_scales + (ulong)row * (units / group);
    zeros += off_zeros + (ulong)row * ((units / group + 1) / 2);
    for (uint u = first; u < end; u += group) {
        const uint i = u / group;
        const float add = fit(x + 32 * (ulong)u, 32 * group, i, scales, zeros);
        const float by = inverse_1(vload_half(i, scales));
        for (uint v = u; v < u + group; v++)
            encode_unit(x + 32 * (ulong)v, b + (ulong)v * BLOCK_BYTES, by,
                        add);
    }
#elif UNITS == 8
    for (uint u = first; u < end; u += UNITS)
        encode_block(x + 32 * (ulong)u, b + (ulong)(u / UNITS) * BLOCK_BYTES);
#else
    for (uint u = first; u < end; u += VEC)
        encode_singles(x + 32 * (ulong)u, min(end - u, (uint)VEC),
                       b + (ulong)u * BLOCK_BYTES);
#endif
}
