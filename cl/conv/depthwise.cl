/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out) where each
 *               channel has one filter of its own, for devices whose items
 *               are lanes: an item has VW neighbours along the contiguous
 *               dimension in a strip of rows, which it goes down row by row of
 *               in. A row is loaded once, one ahead of its use, and added to
 *               all sums that it belongs to:
 *
 *                  row of in    sum[2]   sum[1]   sum[0]     R 3, SH 1
 *                     y         tap 2    tap 1    tap 0
 *                     y + 1     store <- tap 2 <- tap 1 <- tap 0, of a new one
 *
 *                 FIRST 1 (NCHW): VW columns of a plane: SW aligned vectors
 *                 and the elements beside them.
 *                 FIRST 0 (NHWC): VW channels of TX columns: vectors of
 *                 (TX - 1) SW + S columns.
 *
 *               What is outside of the image is clamped and then 0.
 * Arguments     in, filters, out: base; in one struct of ulong: in, out, the
 *               sizes of conv/depthwise.clh (blocks with FIRST 0), items in
 *               all; the rest: gemm/gemm.clh. in and out are contiguous along w
 *               (FIRST 1) or channels (FIRST 0), and all of their lines aligned
 *               to VW elements
 * Launch        local WG, global the items, rounded up to that, 1-D. Of the
 *               item's number the digits are, innermost first, FIRST 1: vector
 *               of q, strip, channel, image; FIRST 0: vector of the block, TX
 *               columns, block, strip, image
 * Local memory  none
 * -D            FIRST; WG; VW: divides w and q (FIRST 1) or channels; TX (1 if
 *               FIRST); R, S: sizes of a filter; SH, SW: stride; PAD (FIRST
 *               1): padding left, less than S; VF 1 (FIRST 0): filters are
 *               aligned to VW elements; TA, TC, TY, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n k p q R S flop; of in, rows that two strips need and
 *               columns that two items need are read twice, from caches
 * Source        Chetlur et al. 2014, section 2 (direct convolution) */
#ifndef FIRST
#define FIRST 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef TX
#define TX 1
#endif
#ifndef SH
#define SH 1
#define SW 1
#endif
#ifndef PAD
#define PAD 1
#endif
#include "conv/depthwise.clh"

/* Rows of out whose sums a row of in may belong to. */
#define LIVE ((R + SH - 1) / SH)

/* What an item loads of a row of in: vectors and, beside them, elements. */
#if FIRST
#define VECTORS SW
#define LEFT PAD
#define NEEDED ((VW - 1) * SW + S)
#if NEEDED > LEFT + VW * SW
#define COLUMNS NEEDED
#else
#define COLUMNS (LEFT + VW * SW)
#endif
#define SIDES (COLUMNS - VW * SW)
#define BESIDE(i) ((i) < LEFT ? (i) : (i) + VW * SW)
#else
#define VECTORS ((TX - 1) * SW + S)
#endif

/* Of each column: where it is in a row, and whether it is in the image. */
#define LOCATE(column, at, is_in)                                             \
    {                                                                         \
        const int x_ = (int)(col0 * SW) - (int)pad_left + (int)(column);      \
        is_in = (uint)x_ < w;                                                 \
        at = is_in ? (uint)x_ * sw : 0;                                       \
    }

struct sizes {
    struct images in, out;
    ulong SIZES, items;
};

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH void
conv_depthwise(__global const ELEM(TA) *restrict in,
               __global const ELEM(TA) *restrict filters,
               __global ELEM(TC) *restrict out, const struct sizes arg,
               GEMM_LAST_PARAMS)
{
    USE_SIZES(arg)
    uint item = (uint)get_global_id(0);
    if (item >= (uint)arg.items)
        return;
#if FIRST
    const uint col0 = item % (q / VW) * VW;
    item /= q / VW;
    const uint row0 = item % strips * rows;
    item /= strips;
    const uint channel = item % k, image = item / k;
#else
    uint channel = item % block;
    item /= block;
    const uint tiles = (q + TX - 1) / TX, col0 = item % tiles * TX;
    item /= tiles;
    channel = (channel + item % blocks * block) * VW;
    item /= blocks;
    const uint row0 = item % strips * rows, image = item / strips;
    if (channel >= k)
        return;
#endif
    in += arg.in.at + image * arg.in.n + channel * arg.in.c;
    out += arg.out.at + image * arg.out.n + channel * arg.out.c;
    filters += arg.filters + (ulong)channel * TAPS;

#if FIRST
    value tap[TAPS];
    #pragma unroll
    for (int t = 0; t < TAPS; t++)
        tap[t] = LOAD(TA, filters, t);
    raw side[SIDES + 1];
    uint at_side[SIDES + 1];
    bool has_side[SIDES + 1];
    #pragma unroll
    for (int i = 0; i < SIDES; i++)
        LOCATE(BESIDE(i), at_side[i], has_side[i])
#else
    values tap[TAPS];
    LOAD_TAPS(tap, filters)
#endif
    raws vector[VECTORS];
    uint at[VECTORS];
    bool has[VECTORS];
    #pragma unroll
    for (int j = 0; j < VECTORS; j++)
#if FIRST
        LOCATE(LEFT + j * VW, at[j], has[j])
#else
        LOCATE(j, at[j], has[j])
#endif

    const uint end = min(row0 + rows, p);
    /* The row that a load past the last one repeats. */
    const int last = clamp((int)((end - 1) * SH + R - 1) - (int)pad_top, 0,
                           (int)h - 1);
    int y = (int)(row0 * SH) - (int)pad_top;
    __global const ELEM(TA) *line = in + clamp(y, 0, last) * sh;
    #pragma unroll
    for (int j = 0; j < VECTORS; j++)
        vector[j] = LOAD_RAW(VW, TA, line, at[j]);
#if FIRST
    #pragma unroll
    for (int i = 0; i < SIDES; i++)
        side[i] = LOAD_RAW(1, TA, line, at_side[i]);
#endif
    SUMV(VW) sum[LIVE][TX];
    #pragma unroll
    for (int d = 0; d < LIVE; d++) {
        #pragma unroll
        for (int x = 0; x < TX; x++)
            sum[d][x] = (SUMV(VW))(0);
    }
    for (uint row = row0; row < end + LIVE - 1; row++) {
        #pragma unroll
        for (int t = 0; t < SH; t++) {
            const bool is_in = (uint)y < h;
            y++;
            line = in + clamp(y, 0, last) * sh;
#if FIRST
            value column[COLUMNS];
            #pragma unroll
            for (int j = 0; j < VECTORS; j++) {
                PUT(VALUES(VW, TA, has[j] && is_in ? vector[j] : (raws)(0)),
                    column + LEFT + j * VW);
                vector[j] = LOAD_RAW(VW, TA, line, at[j]);
            }
            #pragma unroll
            for (int i = 0; i < SIDES; i++) {
                column[BESIDE(i)] =
                    VALUES(1, TA, has_side[i] && is_in ? side[i] : (raw)0);
                side[i] = LOAD_RAW(1, TA, line, at_side[i]);
            }
            #pragma unroll
            for (int s = 0; s < S; s++) {
                value part[VW];
                #pragma unroll
                for (int e = 0; e < VW; e++)
                    part[e] = column[e * SW + s];
                const values v = GET(part);
                #pragma unroll
                for (int d = LIVE - 1; d >= 0; d--) {
                    if (d * SH + t < R)
                        sum[d][0] = MUL_ADD(
                            v, (values)(tap[(d * SH + t) * S + s]), sum[d][0]);
                }
            }
#else
            #pragma unroll
            for (int j = 0; j < VECTORS; j++) {
                const values v =
                    VALUES(VW, TA, has[j] && is_in ? vector[j] : (raws)(0));
                vector[j] = LOAD_RAW(VW, TA, line, at[j]);
                #pragma unroll
                for (int x = 0, s = j; x < TX; x++, s -= SW) {
                    #pragma unroll
                    for (int d = LIVE - 1; d >= 0; d--) {
                        if (s >= 0 && s < S && d * SH + t < R)
                            sum[d][x] = MUL_ADD(
                                v, tap[(d * SH + t) * S + s], sum[d][x]);
                    }
                }
            }
#endif
        }
        if (row >= row0 + LIVE - 1) {
            const uint to_row = row - (LIVE - 1);
            #pragma unroll
            for (int x = 0; x < TX; x++) {
                const uint col = col0 + x, pixel = to_row * q + col;
                const uint to = to_row * op + col * oq;
                if (!FIRST && col >= q)
                    break;
#if FIRST
                GEMM_STORE(VW, A, out, to,
                           GEMM_YA(VW, sum[LIVE - 1][x], out, to), image,
                           channel, pixel);
#else
                GEMM_STORE(VW, A, out, to,
                           GEMM_YA(VW, sum[LIVE - 1][x], out, to), image,
                           pixel, channel);
#endif
            }
        }
        #pragma unroll
        for (int d = LIVE - 1; d >= 0; d--) {
            #pragma unroll
            for (int x = 0; x < TX; x++)
                sum[d][x] = d > 0 ? sum[d - 1][x] : (SUMV(VW))(0);
        }
    }
}
