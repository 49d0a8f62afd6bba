/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      conv/direct.cl's result for NCHW on devices whose work-items
 *               are whole threads with vector registers, where a filter has
 *               one channel: RX rows x VW columns of a plane at a time, whose
 *               sums in registers share the loads of in. Nothing is staged.
 *
 *               A tile inside of the image has no conditions; at its sides
 *               columns are masked, by masks that are made once; near the ends
 *               of the buffer elements are loaded one by one. Where out is
 * only written, the last vector of a row overlaps with the one before it, and
 * that of a row of fewer than VW runs over into the next row, which is stored
 * later. Arguments     conv/direct.cl; tile: planes, rows, 0; no ld Launch
 * local 1, global the tiles, 1-D Local memory  masks: 4 S bytes for each
 * column of out, in whole vectors -D            VW; RX; R, S: sizes of a
 * filter; SH, SW: stride, SW 1 or 2; TA, TC, TY, EPILOGUE: gemm/gemm.clh Needs
 * OpenCL C 1.2; double for f64 Cost          2 n k p q R S flop; in is read
 * once from memory, and S (RX SH + R - SH) / RX times from caches Source
 * Chetlur et al. 2014, section 2 (direct convolution) */
#ifndef VW
#define VW 8
#define RX 4
#endif
#ifndef R
#define R 3
#define S 3
#endif
#ifndef SH
#define SH 1
#define SW 1
#endif
#if VW > 1
#define XL_VW VW
#else
#define XL_VW 2
#endif
#include "common/prefetch.clh"
#include "gemm/gemm.clh"

#define TAPS (R * S)

/* Elements from a load to what is prefetched. */
#define AHEAD 512

typedef VALUEV(1, TA) value;
typedef VALUEV(VW, TA) values;
#if VW > 1
#define GET(p) XL_CAT(vload, VW)(0, p)
#define PUT(v, p) XL_CAT(vstore, VW)(v, 0, p)
#else
#define GET(p) (*(p))
#define PUT(v, p) (*(p) = (v))
#endif

#define LINES ((RX - 1) * SH + R)
/* Columns that a tile loads. */
#define SPAN ((S - 1) / SW * SW + VW * SW)
/* Sum x has element j - x SH of line j. */
#define FOR_EACH_SUM(j, x, i)                                                 \
    _Pragma("unroll") for (int x = 0, i = (j); x < RX;                        \
                           x++, i -= SH) if (i >= 0 && i < R)

#define INLINED static inline __attribute__((always_inline))

/* What a tile reads: of row y, at element `at`, from column x of w on. */
struct window {
    __global const ELEM(TA) * in;
    long at, sh;
    int y, x, h, w;
};

/* How much of a window is checked: it is inside of the image; all loads are
 * inside of the buffer, and what is not in the image is 0; neither. */
enum { INSIDE, MASKED, BY_ELEMENT };

/* The lanes of v whose mask is -1; 0 elsewhere. */
static inline values keep(values v, __local const int *mask)
{
#if VW == 1
    return *mask ? v : 0;
#elif TA == 3
    return select((values)(0), v, XL_CAT(convert_long, VW)(GET(mask)));
#elif TS == 4
    return v & GET(mask);
#else
    return XL_CAT(as_float, VW)(XL_CAT(as_int, VW)(v) & GET(mask));
#endif
}

/* Elements at, at + 1, ... in SW vectors by their remainder. */
static inline void load_columns(__global const ELEM(TA) * in, long at,
                                values out[SW])
{
#if SW == 2 && VW > 1
    const values low = LOADV(VW, TA, in, at);
    const values high = LOADV(VW, TA, in, at + VW);
    out[0] = (values)(low.even, high.even);
    out[1] = (values)(low.odd, high.odd);
#else
#pragma unroll
    for (int i = 0; i < SW; i++)
        out[i] = LOADV(VW, TA, in, at + i);
#endif
}

static inline void load_elements(const struct window *o, long at, int x,
                                 values out[SW])
{
    value part[SW][VW];
    for (int i = 0; i < VW * SW; i++)
        part[i % SW][i / SW] =
            (uint)(x + i) < (uint)o->w ? LOAD(TA, o->in, at + i) : 0;
#pragma unroll
    for (int i = 0; i < SW; i++)
        out[i] = GET(part[i]);
}

INLINED void add_window(const struct window o, int how,
                        __local const int *is_in, const values tap[TAPS],
                        SUMV(VW) sum[RX])
{
#pragma unroll
    for (uint x = 0; x < RX; x++)
        sum[x] = (SUMV(VW))(0);
#pragma unroll
    for (int j = 0; j < LINES; j++) {
        const long at = o.at + j * o.sh;
        if (how != INSIDE && (uint)(o.y + j) >= (uint)o.h)
            continue;
        if (j >= R - SH)
            XL_AHEAD(o.in + at + AHEAD);
#pragma unroll
        for (int s0 = 0; s0 < S; s0 += SW) {
            values v[SW];
            if (how == BY_ELEMENT)
                load_elements(&o, at + s0, o.x + s0, v);
            else
                load_columns(o.in, at + s0, v);
#pragma unroll
            for (int s = s0; s < s0 + SW && s < S; s++) {
                const values u = how == MASKED
                                     ? keep(v[s - s0], is_in + s * VW)
                                     : v[s - s0];
                FOR_EACH_SUM(j, x, r)
                {
                    sum[x] = MUL_ADD(u, tap[r * S + s], sum[x]);
                }
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_direct_thread(__global const ELEM(TA) *restrict in, ulong off_in,
                   ulong sn, ulong sc, ulong sh, ulong sw, ulong elems,
                   __global const ELEM(TA) *restrict filters,
                   ulong off_filters, __global ELEM(TC) *restrict out,
                   ulong off_out, ulong on, ulong oc, ulong op, ulong oq,
                   uint h, uint w, uint p, uint q, uint k, uint kg,
                   uint pad_top, uint pad_left, uint dilation_h,
                   uint dilation_w, uint tile0, uint tile1, uint tile2,
                   uint ld, uint n, __local value *la, GEMM_LAST_PARAMS)
{
    const uint tile = (uint)xl_group_id(0);
    in += off_in;
    filters += off_filters;
    out += off_out;
    const uint bands = (p + tile1 - 1) / tile1;
    const uint first = tile / bands * tile0, row1 = tile % bands * tile1;
    const uint end = min(first + tile0, n * k);
    const uint row_end = min(row1 + tile1, p);
    /* Columns may be stored twice, and those past the end of a row, which are
     * the next row's, before that. */
    const bool may_overlap = !EPILOGUE && beta == 0 && q >= VW;
    const bool may_run_over =
        !EPILOGUE && beta == 0 && q < VW && 2 * q >= VW && op == q;
    for (uint col = 0; col < q; col += VW) {
        const uint at = may_overlap ? min(col, q - VW) : col;
        for (uint s = 0; s < S * VW; s++) {
            const int x = (int)((at + s % VW) * SW + s / VW) - (int)pad_left;
            ((__local int *)la)[col * S + s] = (uint)x < w ? -1 : 0;
        }
    }
    for (uint i = first; i < end; i++) {
        const uint image = i / k, filter = i - image * k;
        const long plane = (long)(image * sn + filter / kg * sc);
        const ulong to_plane = image * on + filter * oc;
        values tap[TAPS];
#pragma unroll
        for (uint e = 0; e < TAPS; e++)
            tap[e] = (values)(LOAD(TA, filters, (ulong)filter * TAPS + e));
        for (uint row0 = row1; row0 < row_end; row0 += RX) {
            const int y = (int)(row0 * SH) - (int)pad_top;
            const bool is_inside = y >= 0 && y + LINES <= (int)h;
            for (uint col = 0; col < q; col += VW) {
                const uint at = may_overlap ? min(col, q - VW) : col;
                const int x = (int)(at * SW) - (int)pad_left;
                const struct window o = {
                    in,    plane + y * (long)sh + x, (long)sh, y, x, (int)h,
                    (int)w};
                const long last =
                    plane + (min(y + LINES, (int)h) - 1) * (long)sh + x + SPAN;
                SUMV(VW) sum[RX];
                __local const int *is_in = (__local const int *)la + col * S;
                if (is_inside && x >= 0 && x + SPAN <= (int)w)
                    add_window(o, INSIDE, is_in, tap, sum);
                else if (plane + max(y, 0) * (long)sh + x >= 0 &&
                         last <= (long)elems)
                    add_window(o, MASKED, is_in, tap, sum);
                else
                    add_window(o, BY_ELEMENT, is_in, tap, sum);
                const uint whole = min((uint)VW, q - at);
                const ulong to0 = to_plane + row0 * op + at;
                const uint vectors = whole == VW    ? row_end
                                     : may_run_over ? row_end - 1
                                                    : row0;
#pragma unroll
                for (uint r = 0; r < RX; r++) {
                    const uint row = row0 + r, pixel = row * q + at;
                    const ulong to = to0 + r * op;
                    if (row < vectors) {
                        XL_AHEAD_WRITE(out + to + AHEAD);
                        GEMM_STORE(VW, , out, to, GEMM_Y(VW, sum[r], out, to),
                                   image, filter, pixel);
                    } else if (row < row_end) {
                        VALUEV(1, TS) part[VW];
                        PUT(sum[r], part);
                        for (uint e = 0; e < whole; e++)
                            GEMM_STORE(1, , out, to + e,
                                       GEMM_Y(1, part[e], out, to + e), image,
                                       filter, pixel + e);
                    }
                }
            }
        }
    }
}
