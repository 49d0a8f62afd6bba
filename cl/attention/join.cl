/* SPDX-License-Identifier: Apache-2.0 */
/* Computes:     o of attention from the parts of its rows, each of which has
 *               seen some of the keys:
 *
 *                 o = sum of e^(top_p - top) sums_p
 *                     / (sum of e^(top_p - top) weight_p + e^(sink - top))
 *
 *               with top the largest of the top_p and of the sink. A group
 *               takes a row; LX items read VW columns each of the parts y, y +
 *               LY, ..., and add the LY lines up.
 * Arguments:    ATTENTION_PARAMS (attention/attention.clh), contiguous columns;
 *               parts: PART floats for each row and part, D sums, top_p,
 *               weight_p; n_parts; the number of rows.
 * Launch:       1-D, local WG, a group a row.
 * Local memory: 4 WG (1 + VW) bytes.
 * -D:           WG, LX powers of 2, LY = WG / LX; VW 1, or 4: D is a multiple
 *               of 4; attention/attention.clh.
 * Needs:        nothing.
 * Cost:         the parts are read once.
 * Source:       Dao, Haziza, Massa, Sizov 2023, "Flash-Decoding for long-context
 *               inference". */
#include "attention/attention.clh"
#include "attention/parts.clh"

#ifndef WG
#define WG 64
#endif
#ifndef LX
#define LX 16
#endif
#ifndef VW
#define VW 1
#endif
#define LY (WG / LX)
#define W (VW * LX)
typedef FLOATV(VW) vec;

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void attention_join(ATTENTION_PARAMS, __global const float *parts,
                    const ulong n_parts)
{
    __local float values[WG];
    __local vec lines[WG];
    COPY_SIZES
    const uint item = get_local_id(0), lx = item % LX, ly = item / LX;
    const ulong row = xl_group_id(0);
    const ulong i = row % n.n_q, b = row / n.n_q / n.n_heads;
    const ulong h = row / n.n_q % n.n_heads;
    SEQUENCE(b);
    if (i >= n.n_q)
        return; /* the whole group */
    const uint used = (uint)min((ulong)WG, n_parts);
    float top = SINK(b, h);
    parts += PART_AT(row, 0, n_parts);
    for (ulong p = item; p < n_parts; p += WG)
        top = fmax(top, parts[p * PART + PART_TOP]);
    values[item] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint t = 0; t < used; t++)
        top = fmax(top, values[t]);
    const float shift = shift_of(top);
    float sum = exp(SINK(b, h) - shift), own = 0.0f;
    for (ulong p = item; p < n_parts; p += WG)
        own += exp(parts[p * PART + PART_TOP] - shift) *
               parts[p * PART + PART_WEIGHT];
    barrier(CLK_LOCAL_MEM_FENCE);
    values[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint t = 0; t < used; t++)
        sum += values[t];
    for (uint c0 = 0; c0 < D; c0 += W) {
        const uint c = c0 + lx * VW;
        vec y = (vec)(0.0f);
        if (c < D) {
            for (ulong p = ly; p < n_parts; p += LY)
                y += exp(parts[p * PART + PART_TOP] - shift) *
                     *(__global const vec *)(parts + p * PART + c);
        }
        lines[item] = y;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ly == 0 && c < D) {
            for (uint l = 1; l < LY; l++)
                y += lines[l * LX + lx];
            STOREV(VW, OT, o + ROW_AT(at.o, b, h, i), c, y * share_of(sum));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        STORE_LSE(b, h, i, shift, sum);
}
