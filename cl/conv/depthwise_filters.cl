/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      the gradient of filters, one for each channel, from images and
 *               the gradient of out, in two launches, or in one where a group
 *               has all columns of its channels (WHOLE).
 *                 conv_depthwise_filters  a group has a block of vectors of
 *                   channels, TR rows of their filters and a part of the
 *                   columns of all strips of all images. An item goes down one
 *                   column at a time, with TR x S sums of VW channels; it loads
 *                   each row once, one ahead of its use. Sums of the items of a
 *                   vector are added in a tree
 *                 conv_depthwise_join     filters = alpha gradient + beta
 *                   filters; a group has up to 8 elements, whose parts are
 *                   shared by items that are 8 apart and added in a tree
 *               All orders are fixed.
 * Arguments     in: base; parts: sums, one set of filters after the other; out:
 *               base; in one struct of ulong: in, out, the sizes of
 *               conv/depthwise.clh, a block being a power of two of at most WG;
 *               columns of all, and of a group. With VW > 1 channels are
 *               contiguous and pixels aligned to VW elements.
 *               WHOLE: filters in place of parts, and gemm/gemm.clh's.
 *               conv_depthwise_join: filters: base, offset; parts, how many;
 *               elements of all filters; the rest: gemm/gemm.clh
 * Launch        local WG, a power of two; 1-D. conv_depthwise_filters: groups:
 *               blocks, innermost, times R / TR, rounded up, times parts;
 *               conv_depthwise_join: a group for 8 elements, or WG if that is
 *               less
 * Local memory  WG / 2 TR S VW sums; WG / 2 sums
 * -D            WG; VW; R, S: sizes of a filter; TR: at most R (the default);
 *               WHOLE; SH, SW: stride; TA (what is read), TC (the result), TY:
 *               gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n c p q R S flop; in and out read once, columns of in that
 *               two items need from caches; parts written and read once
 * Source        the definition */
#ifndef WG
#define WG 64
#endif
#ifndef SH
#define SH 1
#define SW 1
#endif
#include "conv/depthwise.clh"
#ifndef TR
#define TR R
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#define OWN (TR * S) /* sums of an item */
#define ROW_PARTS ((R + TR - 1) / TR)

/* Rows of a window that the next one has, and those that it has not. */
#if TR > SH
#define KEPT (TR - SH)
#else
#define KEPT 0
#endif
#define FRESH (TR - KEPT)
#define HALF (WG > 1 ? WG / 2 : 1)
#define JOINED (WG < 8 ? WG : 8)
#define LANES (WG / JOINED)
#define LOADS 16 /* of parts, of an item on the way */

/* Add `n_sums` sums of items that are multiples of `apart` from each other, of
 * `lanes`, a power of two, to the first one's; mem: HALF of each. */
#define ADD_LANES(sum, n_sums, lane, lanes, apart, mem)                       \
    for (uint n = (lanes) / 2; n > 0; n /= 2) {                               \
        _Pragma("unroll")                                                     \
        for (int t = 0; t < n_sums; t++)                                      \
            if ((lane) >= n && (lane) < 2 * n)                                \
                mem[t * HALF + lid - n * (apart)] = sum[t];                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                         \
        _Pragma("unroll")                                                     \
        for (int t = 0; t < n_sums; t++)                                      \
            if ((lane) < n)                                                   \
                sum[t] += mem[t * HALF + lid];                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                         \
    }

#if WHOLE
#define WHOLE_PARAMS , GEMM_LAST_PARAMS
#else
#define WHOLE_PARAMS
#endif

struct sizes {
    struct images in, out;
    ulong SIZES, columns, each;
};

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH void
conv_depthwise_filters(__global const ELEM(TA) *restrict in,
#if WHOLE
                       __global ELEM(TC) *filters,
#else
                       __global SUM *restrict parts,
#endif
                       __global const ELEM(TA) *restrict out,
                       const struct sizes arg WHOLE_PARAMS)
{
    USE_SIZES(arg)
    const uint columns = (uint)arg.columns, each = (uint)arg.each;
    __local SUMV(VW) mem[HALF * OWN];
    const uint lid = (uint)get_local_id(0), group = (uint)get_group_id(0);
    const uint lane = lid / block, lanes = WG / block;
    const uint channel = (group % blocks * block + lid % block) * VW;
    const uint first = group / blocks % ROW_PARTS * TR; /* row of a filter */
    const uint part = group / blocks / ROW_PARTS;
    const uint end = min((part + 1) * each, columns);
    SUMV(VW) sum[OWN];
    #pragma unroll
    for (int t = 0; t < OWN; t++)
        sum[t] = (SUMV(VW))(0);
    for (uint i = part * each + lane; i < end && channel < k; i += lanes) {
        const uint col = i % q, strip = i / q % strips, image = i / q / strips;
        const uint begin = strip * rows, stop = min(begin + rows, p);
        __global const ELEM(TA) *from = in + (arg.in.at + image * arg.in.n +
                                              channel * arg.in.c);
        __global const ELEM(TA) *to = out + (arg.out.at + image * arg.out.n +
                                             channel * arg.out.c + col * oq);
        uint at[S];
        bool has[S];
        #pragma unroll
        for (int s = 0; s < S; s++) {
            const int x = (int)(col * SW) + s - (int)pad_left;
            has[s] = (uint)x < w;
            at[s] = has[s] ? (uint)x * sw : 0;
        }
#define LOAD_ROW(x, y)                                                        \
    {                                                                         \
        const bool is_in = (uint)(y) < h;                                     \
        __global const ELEM(TA) *line = from + (is_in ? (uint)(y) : 0) * sh;  \
        _Pragma("unroll")                                                     \
        for (int s = 0; s < S; s++)                                           \
            x[s] = has[s] && is_in ? LOAD_RAW(VW, TA, line, at[s])            \
                                   : (raws)(0);                               \
    }
        values window[TR][S];
        raws fresh[FRESH][S], gradient;
        const int y = (int)(begin * SH + first) - (int)pad_top;
        #pragma unroll
        for (int r = 0; r < KEPT; r++) {
            LOAD_ROW(fresh[0], y + r)
            #pragma unroll
            for (int s = 0; s < S; s++)
                window[r][s] = VALUES(VW, TA, fresh[0][s]);
        }
/* What the row `row` of out adds to the window, and the row. */
#define LOAD_NEXT(row)                                                        \
    {                                                                         \
        const uint row_ = row;                                                \
        _Pragma("unroll")                                                     \
        for (int r = 0; r < FRESH; r++)                                       \
            LOAD_ROW(fresh[r], y + (int)((row_ - begin) * SH) + KEPT + r)     \
        gradient = LOAD_RAW(VW, TA, to, row_ * op);                           \
    }
        LOAD_NEXT(begin)
        for (uint row = begin; row < stop; row++) {
            const values g = VALUES(VW, TA, gradient);
            #pragma unroll
            for (int r = 0; r < FRESH; r++) {
                #pragma unroll
                for (int s = 0; s < S; s++)
                    window[KEPT + r][s] = VALUES(VW, TA, fresh[r][s]);
            }
            LOAD_NEXT(min(row + 1, stop - 1))
            #pragma unroll
            for (int s = 0; s < S; s++) {
                #pragma unroll
                for (int r = 0; r < TR; r++)
                    sum[r * S + s] = MUL_ADD(window[r][s], g, sum[r * S + s]);
                #pragma unroll
                for (int r = 0; r < KEPT; r++)
                    window[r][s] = window[r + SH][s];
            }
        }
    }
    ADD_LANES(sum, OWN, lane, lanes, block, mem)
    if (lane > 0 || channel >= k)
        return;
#if WHOLE
    filters += arg.filters;
#else
    parts += (ulong)part * k * TAPS;
#endif
    #pragma unroll
    for (int t = 0; t < OWN; t++) {
        if (R % TR != 0 && first * S + t >= TAPS)
            break;
        SUM own[VW];
        PUT(sum[t], own);
        #pragma unroll
        for (int e = 0; e < VW; e++) {
            const uint at = (channel + e) * TAPS + first * S + t;
#if WHOLE
            GEMM_STORE(1, , filters, at, GEMM_Y(1, own[e], filters, at),
                       channel + e, 0, first * S + t);
#else
            parts[at] = own[e];
#endif
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
conv_depthwise_join(__global ELEM(TC) *filters, ulong off_filters,
                    __global const SUM *restrict parts, uint n_parts,
                    uint elems, GEMM_LAST_PARAMS)
{
    __local SUM mem[HALF];
    const uint lid = (uint)get_local_id(0), lane = lid / JOINED;
    const uint elem = (uint)get_group_id(0) * JOINED + lid % JOINED;
    SUM sum[1] = {0};
    for (uint i = lane; i < n_parts && elem < elems; i += LOADS * LANES) {
        SUM some[LOADS];
        #pragma unroll
        for (uint j = 0; j < LOADS; j++) {
            const uint at = i + j * LANES;
            some[j] = at < n_parts ? parts[(ulong)at * elems + elem] : 0;
        }
        #pragma unroll
        for (uint j = 0; j < LOADS; j++)
            sum[0] += some[j];
    }
    ADD_LANES(sum, 1, lane, LANES, JOINED, mem)
    if (lane > 0 || elem >= elems)
        return;
    const ulong at = off_filters + elem;
    const VALUEV(1, TY) v = GEMM_Y(1, sum[0], filters, at);
    GEMM_STORE(1, , filters, at, v, elem / TAPS, 0, elem % TAPS);
}
