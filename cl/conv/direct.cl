/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out) without a
 *               product of matrices, for few channels per group: an item has
 *               sums of VW neighbours along the contiguous dimension and RX
 *               along the next one, which share the loads of in.
 *
 *                 FIRST 1 (NCHW): VW columns x RX rows of a plane. A group
 *                 copies the windows of its tile to local memory with zeros
 *                 around them, columns of one remainder modulo SW together, so
 *                 that sums read neighbours whatever the stride is.
 *                 FIRST 0 (NHWC): VW channels x RX columns of a row. A group
 *                 copies its filters to local memory, neighbours together.
 *
 *               Sums are an item's own, from its number on in steps of WG.
 * Arguments     in: base, offset, strides along n, c, h, w, elements from the
 *               first to past the last; filters: base, offset; out: base,
 *               offset, strides along n, k, h, w; h, w of in; p, q of out;
 *               k filters, kg of a group; padding above and left; dilation
 *               along h and w; the tile: FIRST 1: groups of channels of one
 *               image, rows, columns, elements of a line in local memory;
 *               FIRST 0: images' rows, filters, 1, 0; number of images; la:
 *               local memory; the rest: gemm/gemm.clh. in and out are
 *               contiguous along w (FIRST 1) or channels (FIRST 0)
 * Launch        local WG, global that times the tiles, 1-D
 * Local memory  FIRST 1: of each channel of the tile SW lines a row of its
 *               windows, and one vector; FIRST 0: its filters; all as values
 * -D            FIRST; WG; VW; RX; R, S, CG: sizes of a filter; KG: filters of
 *               a group, which divide VW; 0: VW divides them; SH, SW: stride;
 *               DILATED 1: the dilation is not 1 (RX is 1); LAST 1: filters
 *               are KRSC; VA 1 (FIRST 0): lines of in and out are aligned to
 *               VW elements; TA, TC, TY, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n k p q CG R S flop; FIRST 1: rows of in that two tiles need
 *               are read twice; FIRST 0: in is read up to R S times, from
 *               caches
 * Source        Chetlur et al. 2014, section 2 (direct convolution) */
#ifndef FIRST
#define FIRST 1
#endif
#ifndef WG
#define WG 64
#endif
#ifndef VW
#define VW 1
#define RX 4
#endif
#ifndef CG
#define R 3
#define S 3
#define CG 1
#define KG 1
#endif
#ifndef SH
#define SH 1
#define SW 1
#endif
#ifndef DILATED
#define DILATED 0
#endif
#ifndef LAST
#define LAST 0
#endif
#ifndef VA
#define VA 0
#endif
#if VW > 1
#define XL_VW VW
#else
#define XL_VW 2
#endif
#include "common/prefetch.clh"
#include "gemm/gemm.clh"

#if VA
#define A_IF_ALIGNED A
#else
#define A_IF_ALIGNED
#endif
#define TAPS (R * S)
#define DEPTH (CG * TAPS)
#if DILATED
#define DH dilation_h
#define DW dilation_w
#else
#define DH 1
#define DW 1
#endif
#if WG > 1
#define JOIN barrier(CLK_LOCAL_MEM_FENCE)
#else
#define JOIN
#endif

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

/* Element (c, r, s) of a filter. */
#if LAST
#define ELEMENT(c, r, s) (((r) * S + (s)) * CG + (c))
#else
#define ELEMENT(c, r, s) (((c) * R + (r)) * S + (s))
#endif

/* Along the dimension of RX sums: the stride, the size of a filter, and the
 * lines that an item reads, DX apart. Sum x has element j - x SX of line j. */
#if FIRST
#define SX SH
#define SIZE R
#define DX DH
#else
#define SX SW
#define SIZE S
#define DX DW
#endif
#define LINES ((RX - 1) * SX + SIZE)
#define FOR_EACH_SUM(j, x, i)                                                 \
    _Pragma("unroll") for (int x = 0, i = (j); x < RX; x++, i -= SX) if (     \
        i >= 0 && i < SIZE)

/* A place in nested loops, innermost first. */
struct place {
    uint at[4];
};

static inline struct place place_of(uint i, const struct place *size)
{
    struct place p;
    #pragma unroll
    for (uint d = 0; d < 3; d++) {
        p.at[d] = i % size->at[d];
        i /= size->at[d];
    }
    p.at[3] = i;
    return p;
}

/* Digits are less than their sizes, so that one carry is enough. */
static inline void go_on(struct place *p, const struct place *step,
                         const struct place *size)
{
    uint carry = 0;
    #pragma unroll
    for (uint d = 0; d < 3; d++) {
        p->at[d] += step->at[d] + carry;
        carry = p->at[d] >= size->at[d];
        p->at[d] -= carry ? size->at[d] : 0;
    }
    p->at[3] += step->at[3] + carry;
}

/* `it` at all sizes from the item's number on; its two outer digits begin at
 * `second` and `third`. */
#define FOR_EACH_PLACE(it, all, second, third)                                \
    struct place it = place_of(lid, &size);                                   \
    const struct place step = place_of(WG, &size);                            \
    start_at(&it, second, third, &size);                                      \
    for (uint i = lid; i < (all); i += WG, go_on(&it, &step, &size))

static inline void start_at(struct place *p, uint second, uint third,
                            const struct place *size)
{
    p->at[2] += second;
    p->at[3] += third;
    if (p->at[2] >= size->at[2]) {
        p->at[2] -= size->at[2];
        p->at[3]++;
    }
}

#if FIRST
#if VW > 1 && SW <= 2
__constant int lanes[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                            8, 9, 10, 11, 12, 13, 14, 15};

/* Values at columns x, x + 1, ..., 0 where they are not in the row. */
static inline values cut(values v, int x, uint w)
{
    const VALUEV(VW, 4) xs = x + XL_CAT(vload, VW)(0, lanes);
    const VALUEV(VW, 4) is_in = xs >= 0 && xs < (int)w;
#if TA == 3
    return select((values)(0), v, XL_CAT(convert_long, VW)(is_in));
#else
    return select((values)(0), v, is_in);
#endif
}
#endif

/* Columns x, x + 1, ... of a row that begins at element `row`, in SW vectors
 * by their remainder; 0 outside of the image. */
static inline void load_columns(__global const ELEM(TA) *restrict in,
                                ulong elems, long row, int x, uint w,
                                values out[SW])
{
    const bool is_whole = x >= 0 && x + VW * SW <= (int)w;
    const long at = row + x;
#if VW > 1 && SW <= 2
    if (is_whole || (at >= 0 && at + VW * SW <= (long)elems)) {
        values v[SW];
        XL_AHEAD(in + at + AHEAD);
        #pragma unroll
        for (int i = 0; i < SW; i++)
            v[i] = LOADV(VW, TA, in, at + i * VW);
        #pragma unroll
        for (int i = 0; i < SW && !is_whole; i++)
            v[i] = cut(v[i], x + i * VW, w);
#if SW == 2
        out[0] = (values)(v[0].even, v[1].even);
        out[1] = (values)(v[0].odd, v[1].odd);
#else
        out[0] = v[0];
#endif
        return;
    }
#endif
    value part[SW][VW];
    #pragma unroll
    for (int i = 0; i < VW * SW; i++) {
        const bool is_in = (uint)(x + i) < w;
        const value v = LOAD(TA, in, is_in ? at + i : row);
        part[i % SW][i / SW] = is_in ? v : 0;
    }
    #pragma unroll
    for (int i = 0; i < SW; i++)
        out[i] = GET(part[i]);
}
#else
/* Of a pixel, the channel of filters k, k + 1, ... whose groups' first ones
 * begin at `from`. */
#if KG == 0
#define GROUP_OF(k) ((k) / kg)
#define LOAD_CHANNELS(from) ((values)(LOAD(TA, from, 0)))
#elif KG == 1 && CG == 1
#define GROUP_OF(k) (k)
#define LOAD_CHANNELS(from) XL_CAT(LOADV, A_IF_ALIGNED)(VW, TA, from, 0)
#else
#define GROUP_OF(k) ((k) / KG)
#define LOAD_CHANNELS(from) load_channels(from)
static inline values load_channels(__global const ELEM(TA) *from)
{
    value part[VW];
    #pragma unroll
    for (uint i = 0; i < VW; i++)
        part[i] = LOAD(TA, from, i / KG * CG);
    return GET(part);
}
#endif
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1))) XL_OF_WIDTH void
conv_direct(__global const ELEM(TA) *restrict in, ulong off_in, ulong sn,
            ulong sc, ulong sh, ulong sw, ulong elems,
            __global const ELEM(TA) *restrict filters, ulong off_filters,
            __global ELEM(TC) *restrict out, ulong off_out, ulong on, ulong oc,
            ulong op, ulong oq, uint h, uint w, uint p, uint q, uint k,
            uint kg, uint pad_top, uint pad_left, uint dilation_h,
            uint dilation_w, uint tile0, uint tile1, uint tile2, uint ld,
            uint n, __local value *la, GEMM_LAST_PARAMS)
{
    const uint lid = (uint)get_local_id(0);
    const uint tile = (uint)xl_group_id(0);
    in += off_in;
    filters += off_filters;
#if FIRST
    const uint groups = k / kg, c = groups * CG;
    const uint n_cols = (q + tile2 - 1) / tile2;
    const uint n_rows = (p + tile1 - 1) / tile1;
    const uint g0 = tile / n_cols / n_rows * tile0;
    const uint p0 = tile / n_cols % n_rows * tile1, q0 = tile % n_cols * tile2;
    const uint some = min(tile0, n * groups - g0);
    const uint rows = min(tile1, p - p0), cols = min(tile2, q - q0);
    const uint height = (tile1 - 1) * SH + (R - 1) * DH + 1;
    const uint plane = height * ld, phase = some * CG * plane;
    {
        const struct place size = {{ld / VW, height, c, 0}};
        FOR_EACH_PLACE(at, some * CG * height * (ld / VW), g0 * CG % c,
                       g0 * CG / c)
        {
            const int y = (int)(p0 * SH + at.at[1]) - (int)pad_top;
            const int x = (int)((q0 + at.at[0] * VW) * SW) - (int)pad_left;
            values v[SW];
            #pragma unroll
            for (uint s = 0; s < SW; s++)
                v[s] = (values)(0);
            if ((uint)y < h)
                load_columns(in, elems,
                             (long)(at.at[3] * sn + at.at[2] * sc + y * sh), x,
                             w, v);
            #pragma unroll
            for (uint s = 0; s < SW; s++)
                PUT(v[s], la + s * phase + i * VW);
        }
    }
    JOIN;
    const struct place size = {
        {(cols + VW - 1) / VW, (rows + RX - 1) / RX, k, 0}};
    const uint k0 = g0 * kg % k, n0 = g0 * kg / k;
    FOR_EACH_PLACE(at, some * kg * size.at[0] * size.at[1], k0, n0)
    {
        const uint filter = at.at[2];
#if KG == 1
        const uint group = (at.at[3] - n0) * k + filter - k0;
#else
        const uint group = ((at.at[3] - n0) * k + filter - k0) / kg;
#endif
        __global const ELEM(TA) *own = filters + (ulong)filter * DEPTH;
        SUMV(VW) sum[RX];
        #pragma unroll
        for (uint x = 0; x < RX; x++)
            sum[x] = (SUMV(VW))(0);
        for (uint j0 = 0; j0 < CG; j0++) {
            __local const value *from = la + (group * CG + j0) * plane +
                                        at.at[1] * (RX * SH) * ld +
                                        at.at[0] * VW;
            #pragma unroll
            for (int j = 0; j < LINES; j++) {
                #pragma unroll
                for (int s = 0; s < S; s++) {
                    const uint col = s * DW;
                    const values v = GET(from + col % SW * phase +
                                         j * DX * ld + col / SW);
                    FOR_EACH_SUM(j, x, r)
                    {
                        sum[x] = MUL_ADD(
                            v, (values)(LOAD(TA, own, ELEMENT(j0, r, s))),
                            sum[x]);
                    }
                }
            }
        }
        const uint col = q0 + at.at[0] * VW, row0 = p0 + at.at[1] * RX;
        const uint whole = min((uint)VW, q0 + cols - col);
        /* What the sums below these are stored to. */
        #pragma unroll
        for (uint x = 0; x < RX; x++)
            XL_AHEAD_WRITE(out + off_out + at.at[3] * on + filter * oc +
                           (row0 + RX + x) * op + col);
        #pragma unroll
        for (uint x = 0; x < RX; x++) {
            const uint row = row0 + x;
            if (row >= p0 + rows)
                break;
            const ulong to = off_out + at.at[3] * on + filter * oc + row * op +
                             col * oq;
            const uint pixel = row * q + col;
            if (whole == VW) {
                GEMM_STORE(VW, , out, to, GEMM_Y(VW, sum[x], out, to),
                           at.at[3], filter, pixel);
                continue;
            }
            VALUEV(1, TS) part[VW];
            PUT(sum[x], part);
            for (uint e = 0; e < whole; e++)
                GEMM_STORE(1, , out, to + e, GEMM_Y(1, part[e], out, to + e),
                           at.at[3], filter, pixel + e);
        }
    }
#else
    const uint blocks = (k + tile1 - 1) / tile1;
    const uint k0 = tile % blocks * tile1, l0 = tile / blocks * tile0;
    const uint some = min(tile1, k - k0), rows = min(tile0, n * p - l0);
    filters += (ulong)k0 * DEPTH;
    for (uint i = lid; i < some / VW * DEPTH; i += WG) {
        const uint e = i % DEPTH;
#if LAST
        const uint from = i / DEPTH * VW * DEPTH + e;
#else
        const uint from = i / DEPTH * VW * DEPTH + e % CG * TAPS + e / CG;
#endif
        value part[VW];
        #pragma unroll
        for (uint x = 0; x < VW; x++)
            part[x] = LOAD(TA, filters, from + x * DEPTH);
        PUT(GET(part), la + i * VW);
    }
    JOIN;
    const struct place size = {{some / VW, (q + RX - 1) / RX, p, 0}};
    FOR_EACH_PLACE(at, rows * size.at[0] * size.at[1], l0 % p, l0 / p)
    {
        const uint filter = k0 + at.at[0] * VW, col0 = at.at[1] * RX;
        const int y0 = (int)(at.at[2] * SH) - (int)pad_top;
        const int x0 = (int)(col0 * SW) - (int)pad_left;
        SUMV(VW) sum[RX];
        #pragma unroll
        for (uint x = 0; x < RX; x++)
            sum[x] = (SUMV(VW))(0);
        __global const ELEM(TA) *image = in + (long)(at.at[3] * sn) +
                                         y0 * (long)sh + x0 * (long)sw +
                                         GROUP_OF(filter) * CG;
        /* What the next row of sums reads first, and where it is stored. */
        #pragma unroll
        for (uint r = 0; r < SH; r++) {
            #pragma unroll
            for (uint x = 0; x < RX * SW; x++)
                XL_AHEAD(image + ((R - 1) * DH + 1 + r) * sh +
                         (S - 1 + x) * sw);
        }
        #pragma unroll
        for (uint x = 0; x < RX; x++)
            XL_AHEAD_WRITE(out + off_out + at.at[3] * on + filter * oc +
                           (at.at[2] + 1) * op + (col0 + x) * oq);
        #pragma unroll
        for (uint r = 0; r < R; r++) {
            if ((uint)(y0 + (int)(r * DH)) >= h)
                continue;
            for (uint c = 0; c < CG; c++) {
                __local const value *own =
                    la + (at.at[0] * DEPTH + r * S * CG + c) * VW;
                __global const ELEM(TA) *from = image + r * DH * sh + c;
                #pragma unroll
                for (int j = 0; j < LINES; j++, from += DX * sw) {
                    if ((uint)(x0 + (int)(j * DX)) >= w)
                        continue;
                    const values v = LOAD_CHANNELS(from);
                    FOR_EACH_SUM(j, i, s)
                    {
                        sum[i] = MUL_ADD(v, GET(own + s * CG * VW), sum[i]);
                    }
                }
            }
        }
        #pragma unroll
        for (uint x = 0; x < RX; x++) {
            const uint col = col0 + x, pixel = at.at[2] * q + col;
            if (col >= q)
                break;
            const ulong to = off_out + at.at[3] * on + filter * oc +
                             at.at[2] * op + col * oq;
            GEMM_STORE(VW, A_IF_ALIGNED, out, to,
                       XL_CAT(GEMM_Y, A_IF_ALIGNED)(VW, sum[x], out, to),
                       at.at[3], pixel, filter);
        }
    }
#endif
}
