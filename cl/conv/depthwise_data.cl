/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      in = alpha data + beta in, the gradient of images, from that of
 *               out, where each channel has one filter of its own. An item has
 *               VW channels of TX columns in a strip, which it goes down by SH
 *               rows at a time, of which SH x SW residues have taps of their
 *               own. Rows of out are loaded once, one ahead of their use:
 *
 *                  rows of in, from the padding's edge on    R 3, SH 2
 *                     2 i       taps 0 of row i, 2 of row i - 1
 *                     2 i + 1   taps 1 of row i
 *
 *               Columns likewise: TX is a multiple of SW.
 * Arguments     in, filters, out: base; in one struct of ulong: in, out, the
 *               sizes of conv/depthwise.clh, where rows are such of SH rows of
 *               in; the first of them, and of TX columns, that hold a pixel,
 *               counted from the padding's edge; such rows in all, and columns;
 *               items in all; the rest: gemm/gemm.clh. With VW > 1 channels are
 *               contiguous and pixels aligned to VW elements
 * Launch        local WG, global the items, rounded up to that, 1-D. Of the
 *               item's number the digits are, innermost first, FIRST 1
 *               (planes): columns, strip, channel, image; FIRST 0: vector of
 *               the block, columns, block, strip, image
 * Local memory  none
 * -D            FIRST; WG; VW (FIRST 1: 1); TX; R, S: sizes of a filter; SH,
 *               SW: stride; TA (what is read), TC (the result), TY:
 *               gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n c p q R S flop; of out, rows that two strips need and
 *               columns that two items need are read twice, from caches
 * Source        the definition */
#ifndef FIRST
#define FIRST 0
#endif
#ifndef WG
#define WG 64
#endif
#ifndef TX
#define TX 2
#endif
#ifndef SH
#define SH 1
#define SW 1
#endif
#include "conv/depthwise.clh"

/* Rows of out that reach SH rows of in; columns before those at the first. */
#define LIVE ((R + SH - 1) / SH)
#define BEFORE ((S + SW - 1) / SW - 1)
#define COLUMNS (TX / SW + BEFORE)

struct sizes {
    struct images in, out;
    ulong SIZES, first_row, first_col, n_rows, n_cols, items;
};

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH void
conv_depthwise_data(__global ELEM(TC) *restrict in,
                    __global const ELEM(TA) *restrict filters,
                    __global const ELEM(TA) *restrict out,
                    const struct sizes arg, GEMM_LAST_PARAMS)
{
    USE_SIZES(arg)
    const uint first_row = (uint)arg.first_row, first_col = (uint)arg.first_col;
    const uint n_rows = (uint)arg.n_rows, n_cols = (uint)arg.n_cols;
    uint item = (uint)get_global_id(0);
    if (item >= (uint)arg.items)
        return;
#if FIRST
    const uint tile = item % n_cols;
    item /= n_cols;
    const uint strip = item % strips;
    item /= strips;
    const uint channel = item % k, image = item / k;
#else
    uint channel = item % block;
    item /= block;
    const uint tile = item % n_cols;
    item /= n_cols;
    channel = (channel + item % blocks * block) * VW;
    item /= blocks;
    const uint strip = item % strips, image = item / strips;
    if (channel >= k)
        return;
#endif
    in += arg.in.at + image * arg.in.n + channel * arg.in.c;
    out += arg.out.at + image * arg.out.n + channel * arg.out.c;
    filters += arg.filters + (ulong)channel * TAPS;
    values tap[TAPS];
    LOAD_TAPS(tap, filters)

    const int x0 = (int)((first_col + tile) * TX) - (int)pad_left;
    uint at[COLUMNS];
    bool has[COLUMNS];
    #pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        const int col = (int)((first_col + tile) * (TX / SW)) + j - BEFORE;
        has[j] = (uint)col < q;
        at[j] = has[j] ? (uint)col * oq : 0;
    }
#define LOAD_ROW(to, i)                                                       \
    {                                                                         \
        const bool is_in = (uint)(i) < p;                                     \
        __global const ELEM(TA) *line = out + (is_in ? (uint)(i) : 0) * op;   \
        _Pragma("unroll")                                                     \
        for (int j = 0; j < COLUMNS; j++)                                     \
            to[j] = has[j] && is_in ? LOAD_RAW(VW, TA, line, at[j])           \
                                    : (raws)(0);                              \
    }

    const uint begin = first_row + strip * rows;
    const uint end = min(begin + rows, first_row + n_rows);
    values row[LIVE][COLUMNS]; /* row[d]: d rows of out above the newest */
    raws next[COLUMNS];
    #pragma unroll
    for (int d = LIVE - 1; d > 0; d--) {
        LOAD_ROW(next, (int)begin - d)
        #pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            row[d - 1][j] = VALUES(VW, TA, next[j]);
    }
    LOAD_ROW(next, begin)
    for (uint i = begin; i < end; i++) {
        #pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            #pragma unroll
            for (int d = LIVE - 1; d > 0; d--)
                row[d][j] = row[d - 1][j];
            row[0][j] = VALUES(VW, TA, next[j]);
        }
        LOAD_ROW(next, min(i + 1, end - 1))
        #pragma unroll
        for (int t = 0; t < SH; t++) {
            const int y = (int)(i * SH) + t - (int)pad_top;
            if ((uint)y >= h)
                continue;
            #pragma unroll
            for (int x = 0; x < TX; x++) {
                SUMV(VW) sum = (SUMV(VW))(0);
                #pragma unroll
                for (int r = t; r < R; r += SH) {
                    #pragma unroll
                    for (int s = x % SW; s < S; s += SW)
                        sum = MUL_ADD(row[r / SH][x / SW + BEFORE - s / SW],
                                      tap[r * S + s], sum);
                }
                const uint col = (uint)(x0 + x);
                const uint to = (uint)y * sh + col * sw;
                if (col < w)
                    GEMM_STORE(VW, A, in, to, GEMM_YA(VW, sum, in, to), image,
                               (uint)y * w + col, channel);
            }
        }
    }
}
