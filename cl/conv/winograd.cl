/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out) with filters
 *               of 3 x 3 by Winograd's minimal algorithms F(OUT x OUT, 3 x 3),
 *               on devices whose work-items are whole threads with vector
 *               registers. A tile of OUT x OUT pixels comes from a window of
 *               SIDE x SIDE of in, SIDE = OUT + 2:
 *
 *                 tile = A^T [ sum over c of (G g G^T) * (B^T d B) ] A
 *
 *               g a filter's channel, d the window's, * element by element. So
 *               each of the SIDE^2 points is a product of matrices, tiles x
 *               channels by channels x filters. A group has TM tiles and TN
 *               filters:
 *
 *                 for each TK channels:
 *                   windows -> local memory, transformed
 *                   filters -> local memory, transformed
 *                   for each point:  sums += their product, in registers
 *                 sums -> tiles, transformed back and stored
 *
 *               Vectors are along channels in the windows, along filters
 *               elsewhere.
 * Arguments     in: base, offset, strides along n, c, h, w, elements from the
 *               first to past the last; panels (scratch) of conv_cpu_pack with
 *               FIRST 0 (conv/cpu.cl); out: base, offset, strides along n, k,
 *               pixels; h, w of in; p, q; tiles of a column, of a row of
 *               tiles, of all images; channels, filters; padding above and
 *               left; blocks of TN filters; the rest: gemm/gemm.clh
 * Launch        local 1, a group per TM tiles and TN filters
 * Local memory  4 SIDE^2 (TK (TM + TN) + TM TN + 2 GAP) bytes
 * -D            OUT 2 or 4; TM, a multiple of RM; TN, of RN; TK, of VW; RM; RN,
 *               a multiple of VW; VW 4, 8 or 16; FIRST 1: out is NCHW, 0:
 *               NHWC; LINE 1: in is contiguous along c, 2: along w, 0: neither;
 *               LAST 1: filters are KRSC, 0: KCRS; TA, TC, TY 0, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2
 * Cost          2 n k c SIDE^2 tiles flop, and the transforms; windows are
 *               transformed once for TN filters, filters once for TM tiles
 * Source        Lavin, Gray 2016, "Fast Algorithms for Convolutional Neural
 *               Networks", section 4: the matrices, from the points 0, 1, -1
 *               and, of OUT 4, 2, -2 */
#ifndef TM
#define TM 16
#define TN 32
#define TK 16
#define RM 4
#define RN 8
#define VW 4
#endif
#ifndef OUT
#define OUT 2
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef LINE
#define LINE 2
#endif
#ifndef LAST
#define LAST 0
#endif
#if FIRST
#define XL_VW OUT
#else
#define XL_VW VW
#endif
#include "gemm/gemm.clh"

#define SIDE (OUT + 2)
#define POINTS (SIDE * SIDE)
#define TAPS 9
#define NV (RN / VW)
#define GAP 16 /* floats, so that points are not a power of two apart */
#define STEP_IN (TM * TK + GAP)
#define STEP_FILTER (TN * TK + GAP)
#define WHOLE_THREAD __attribute__((reqd_work_group_size(1, 1, 1)))
/* LLVM 15 crashes where it estimates the cost of inlining one of these. */
#define INLINED static inline __attribute__((always_inline))
#define LOAD_VEC XL_CAT(vload, VW)
#define STORE_VEC XL_CAT(vstore, VW)
typedef FLOATV(VW) vec;

/* -- transforms of a line ------------------------------------------------- */

#if OUT == 2
#define TURN_IN(y, x0, x1, x2, x3, unused4, unused5)                          \
    do {                                                                      \
        (y)[0] = (x0) - (x2);                                                 \
        (y)[1] = (x1) + (x2);                                                 \
        (y)[2] = (x2) - (x1);                                                 \
        (y)[3] = (x1) - (x3);                                                 \
    } while (0)
#define TURN_FILTER(y, x0, x1, x2)                                            \
    do {                                                                      \
        const vec outer = 0.5f * ((x0) + (x2));                               \
        (y)[0] = (x0);                                                        \
        (y)[1] = fma((vec)(0.5f), x1, outer);                                 \
        (y)[2] = fma((vec)(-0.5f), x1, outer);                                \
        (y)[3] = (x2);                                                        \
    } while (0)
#define TURN_OUT(y, x0, x1, x2, x3, unused4, unused5)                         \
    do {                                                                      \
        (y)[0] = (x0) + ((x1) + (x2));                                        \
        (y)[1] = (x1) - (x2) - (x3);                                          \
    } while (0)
#else
#define TURN_IN(y, x0, x1, x2, x3, x4, x5)                                    \
    do {                                                                      \
        const vec even4 = fma((vec)(-4.0f), x2, x4), even1 = (x4) - (x2);     \
        const vec odd4 = fma((vec)(-4.0f), x1, x3), odd1 = (x3) - (x1);       \
        (y)[0] = fma((vec)(4.0f), x0, fma((vec)(-5.0f), x2, x4));             \
        (y)[1] = even4 + odd4;                                                \
        (y)[2] = even4 - odd4;                                                \
        (y)[3] = fma((vec)(2.0f), odd1, even1);                               \
        (y)[4] = fma((vec)(-2.0f), odd1, even1);                              \
        (y)[5] = fma((vec)(4.0f), x1, fma((vec)(-5.0f), x3, x5));             \
    } while (0)
#define TURN_FILTER(y, x0, x1, x2)                                            \
    do {                                                                      \
        const vec near = (1.0f / 6) * ((x0) + (x2));                          \
        const vec far = fma((vec)(1.0f / 24), x0, (1.0f / 6) * (x2));         \
        (y)[0] = 0.25f * (x0);                                                \
        (y)[1] = fma((vec)(-1.0f / 6), x1, -near);                            \
        (y)[2] = fma((vec)(1.0f / 6), x1, -near);                             \
        (y)[3] = fma((vec)(1.0f / 12), x1, far);                              \
        (y)[4] = fma((vec)(-1.0f / 12), x1, far);                             \
        (y)[5] = (x2);                                                        \
    } while (0)
#define TURN_OUT(y, x0, x1, x2, x3, x4, x5)                                   \
    do {                                                                      \
        const vec even1 = (x1) + (x2), even2 = (x3) + (x4);                   \
        const vec odd1 = (x1) - (x2), odd2 = (x3) - (x4);                     \
        (y)[0] = (x0) + even1 + even2;                                        \
        (y)[1] = fma((vec)(2.0f), odd2, odd1);                                \
        (y)[2] = fma((vec)(4.0f), even2, even1);                              \
        (y)[3] = fma((vec)(8.0f), odd2, odd1) + (x5);                         \
    } while (0)
#endif
/* Of a column of t, whose lines have SIDE vectors. */
#define COLUMN(turn, y, t, j)                                                 \
    turn(y, (t)[j], (t)[SIDE + (j)], (t)[2 * SIDE + (j)],                     \
         (t)[3 * SIDE + (j)], (t)[(SIDE - 2) * SIDE + (j)],                   \
         (t)[(SIDE - 1) * SIDE + (j)])
#define ROW(turn, y, x)                                                       \
    turn(y, (x)[0], (x)[1], (x)[2], (x)[3], (x)[SIDE - 2], (x)[SIDE - 1])

/* -- windows -------------------------------------------------------------- */

struct images {
    __global const ELEM(TA) *in;
    ulong elems, sn;
    long sc, sh, sw;
    uint h, w, c;
};

struct grid {
    uint p, q, rows, cols; /* of pixels, of tiles */
    uint pad_top, pad_left;
};

/* The place of a tile: its image, and its first pixel in out. */
struct tile {
    uint n, y, x;
};

INLINED struct tile tile_of(const struct grid *g, uint i)
{
    const uint n = i / (g->rows * g->cols), rest = i - n * g->rows * g->cols;
    const uint row = rest / g->cols;
    const struct tile t = {n, row * OUT, (rest - row * g->cols) * OUT};
    return t;
}

/* 4 lines of 4 elements: their columns. */
INLINED void turn_square(const float4 a[4], float4 y[4])
{
    const float4 low = (float4)(a[0].x, a[1].x, a[0].y, a[1].y);
    const float4 high = (float4)(a[2].x, a[3].x, a[2].y, a[3].y);
    const float4 low2 = (float4)(a[0].z, a[1].z, a[0].w, a[1].w);
    const float4 high2 = (float4)(a[2].z, a[3].z, a[2].w, a[3].w);
    y[0] = (float4)(low.lo, high.lo);
    y[1] = (float4)(low.hi, high.hi);
    y[2] = (float4)(low2.lo, high2.lo);
    y[3] = (float4)(low2.hi, high2.hi);
}

#if VW == 16
#define JOIN(t, i) (vec)((t)[0][i], (t)[1][i], (t)[2][i], (t)[3][i])
#elif VW == 8
#define JOIN(t, i) (vec)((t)[0][i], (t)[1][i])
#else
#define JOIN(t, i) (t)[0][i]
#endif

/* Element by element: n channels of a line of the window. */
INLINED void take_elements(const struct images *im, long at, int x,
                                 uint n, vec *line)
{
    for (int j = 0; j < SIDE; j++) {
        float part[VW];
        for (uint i = 0; i < VW; i++)
            part[i] = i < n && x + j >= 0 && x + j < (int)im->w
                          ? LOAD(TA, im->in, at + i * im->sc + j * im->sw)
                          : 0.0f;
        line[j] = LOAD_VEC(0, part);
    }
}

/* VW channels of a line of the window, n of them in the image: `at` is that of
 * the first channel at column x, which may be outside. */
INLINED void take_line(const struct images *im, long at, int x, uint n,
                             vec *line)
{
#if LINE == 1
    if (n < VW) {
        take_elements(im, at, x, n, line);
        return;
    }
    #pragma unroll
    for (int j = 0; j < SIDE; j++)
        line[j] = x + j >= 0 && x + j < (int)im->w
                      ? LOADV(VW, TA, im->in, at + j * im->sw)
                      : (vec)(0.0f);
#elif LINE == 2
    const int4 xs = x + (int4)(0, 1, 2, 3);
    const int4 is_low = xs >= 0 && xs < (int)im->w;
    if (n < VW || at < 0 ||
        (ulong)(at + (VW - 1) * im->sc) + 8 > im->elems) {
        take_elements(im, at, x, n, line);
        return;
    }
    float4 low[VW / 4][4];
    #pragma unroll
    for (uint i = 0; i < VW; i += 4) {
        float4 rows[4];
        #pragma unroll
        for (uint l = 0; l < 4; l++)
            rows[l] = select((float4)(0.0f),
                             LOADV(4, TA, im->in, at + (i + l) * im->sc),
                             is_low);
        turn_square(rows, low[i / 4]);
    }
    #pragma unroll
    for (uint j = 0; j < 4; j++)
        line[j] = JOIN(low, j);
#if OUT == 4
    const int2 is_high = xs.lo + 4 < (int)im->w && xs.lo + 4 >= 0;
    #pragma unroll
    for (uint i = 0; i < VW; i += 4) {
        float4 rows[4];
        #pragma unroll
        for (uint l = 0; l < 4; l++) {
            const float2 pair = select(
                (float2)(0.0f), LOADV(2, TA, im->in, at + (i + l) * im->sc + 4),
                is_high);
            rows[l] = (float4)(pair, pair);
        }
        turn_square(rows, low[i / 4]);
    }
    line[4] = JOIN(low, 0);
    line[5] = JOIN(low, 1);
#endif
#else
    take_elements(im, at, x, n, line);
#endif
}

/* Windows of `rows` tiles from number m0 on, channels c0 .. c0 + depth. */
INLINED void turn_windows(const struct images *im, const struct grid *g,
                                uint m0, uint rows, uint c0, uint depth,
                                __local float *to)
{
    for (uint i = 0; i < rows; i++) {
        const struct tile o = tile_of(g, m0 + i);
        const int y0 = (int)o.y - (int)g->pad_top;
        const int x0 = (int)o.x - (int)g->pad_left;
        const long at = (long)(o.n * im->sn) + (long)c0 * im->sc +
                        y0 * im->sh + x0 * im->sw;
        for (uint c = 0; c < depth; c += VW) {
            vec t[POINTS];
            #pragma unroll
            for (int r = 0; r < SIDE; r++) {
                vec line[SIDE];
                if (y0 + r >= 0 && y0 + r < (int)im->h) {
                    take_line(im, at + r * im->sh + (long)c * im->sc, x0,
                              im->c - c0 - c, line);
                } else {
                    #pragma unroll
                    for (int j = 0; j < SIDE; j++)
                        line[j] = (vec)(0.0f);
                }
                ROW(TURN_IN, t + r * SIDE, line);
            }
            #pragma unroll
            for (uint j = 0; j < SIDE; j++) {
                vec y[SIDE];
                COLUMN(TURN_IN, y, t, j);
                #pragma unroll
                for (uint r = 0; r < SIDE; r++)
                    STORE_VEC(y[r], 0,
                              to + (r * SIDE + j) * STEP_IN + i * TK + c);
            }
        }
    }
}

/* -- filters -------------------------------------------------------------- */

#if LAST
#define TAP_AT(l, c, channels) ((ulong)(l) * (channels) + (c))
#else
#define TAP_AT(l, c, channels) ((ulong)(c) * TAPS + (l))
#endif

/* `cols` filters of panels, channels c0 .. c0 + depth. */
INLINED void turn_filters(__global const float *panels, uint channels,
                                uint cols, uint c0, uint depth,
                                __local float *to)
{
    for (uint j = 0; j < cols; j += RN) {
        __global const float *panel = panels + (ulong)j * TAPS * channels;
        for (uint c = 0; c < depth; c++) {
            #pragma unroll
            for (uint v = 0; v < NV; v++) {
                vec g[TAPS], t[SIDE * 3];
                #pragma unroll
                for (uint l = 0; l < TAPS; l++)
                    g[l] = LOAD_VEC(
                        v, panel + TAP_AT(l, c0 + c, channels) * RN);
                #pragma unroll
                for (uint s = 0; s < 3; s++) {
                    vec y[SIDE];
                    TURN_FILTER(y, g[s], g[3 + s], g[6 + s]);
                    #pragma unroll
                    for (uint r = 0; r < SIDE; r++)
                        t[r * 3 + s] = y[r];
                }
                #pragma unroll
                for (uint r = 0; r < SIDE; r++) {
                    vec y[SIDE];
                    TURN_FILTER(y, t[r * 3], t[r * 3 + 1], t[r * 3 + 2]);
                    #pragma unroll
                    for (uint s = 0; s < SIDE; s++)
                        STORE_VEC(y[s], v,
                                  to + (r * SIDE + s) * STEP_FILTER + j * TK +
                                      c * RN);
                }
            }
        }
    }
}

/* -- products ------------------------------------------------------------- */

#define ONE_STEP(u)                                                           \
    {                                                                         \
        vec vb[NV];                                                           \
        _Pragma("unroll") for (uint v = 0; v < NV; v++)                       \
            vb[v] = LOAD_VEC(v, pb + (u) * RN);                               \
        _Pragma("unroll") for (uint r = 0; r < RM; r++)                       \
        {                                                                     \
            _Pragma("unroll") for (uint v = 0; v < NV; v++)                   \
                sum[r][v] = fma((vec)(pa[r * TK + (u)]), vb[v], sum[r][v]);   \
        }                                                                     \
    }

/* keep += RM tiles times RN filters over `depth` channels. */
INLINED void multiply(__local const float *pa, __local const float *pb,
                            uint depth, bool is_first, __local float *keep)
{
    vec sum[RM][NV];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            sum[r][v] = is_first ? (vec)(0.0f)
                                 : LOAD_VEC(v, keep + r * TN);
    }
    uint l = 0;
    for (; l + 4 <= depth; l += 4) {
        ONE_STEP(0)
        ONE_STEP(1)
        ONE_STEP(2)
        ONE_STEP(3)
        pa += 4;
        pb += 4 * RN;
    }
    for (; l < depth; l++) {
        ONE_STEP(0)
        pa++;
        pb += RN;
    }
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            STORE_VEC(sum[r][v], v, keep + r * TN);
    }
}

/* -- results -------------------------------------------------------------- */

struct result {
    __global ELEM(TC) *out;
    ulong on, oc, oq;
    uint k;
};

/* N results of one line of out. */
#if FIRST
#define STORE_LINE(N, o, n, filter, pixel, y)                                 \
    do {                                                                      \
        const ulong to =                                                      \
            (n) * (o)->on + (filter) * (o)->oc + (ulong)(pixel) * (o)->oq;    \
        GEMM_STORE(N, , (o)->out, to, GEMM_Y(N, y, (o)->out, to), n, filter,  \
                   pixel);                                                    \
    } while (0)
#else
#define STORE_LINE(N, o, n, filter, pixel, y)                                 \
    do {                                                                      \
        const ulong to =                                                      \
            (n) * (o)->on + (filter) * (o)->oc + (ulong)(pixel) * (o)->oq;    \
        GEMM_STORE(N, , (o)->out, to, GEMM_Y(N, y, (o)->out, to), n, pixel,   \
                   filter);                                                   \
    } while (0)
#endif

/* What is in the image, filter by filter. */
INLINED void store_elements(const struct result *o, const struct grid *g,
                                  const struct tile *at, uint filter,
                                  const vec y[OUT * OUT], GEMM_STORE_PARAMS)
{
    for (uint i = 0; i < OUT * OUT; i++) {
        float part[VW];
        const uint row = at->y + i / OUT, col = at->x + i % OUT;
        if (row >= g->p || col >= g->q)
            continue;
        STORE_VEC(y[i], 0, part);
        for (uint f = 0; f < VW && filter + f < o->k; f++)
            STORE_LINE(1, o, at->n, filter + f, row * g->q + col, part[f]);
    }
}

INLINED void store_tile(const struct result *o, const struct grid *g,
                              const struct tile *at, uint filter,
                              const vec y[OUT * OUT], GEMM_STORE_PARAMS)
{
#if FIRST
    if (o->oq != 1 || filter + VW > o->k || at->x + OUT > g->q ||
        at->y + OUT > g->p) {
        store_elements(o, g, at, filter, y, GEMM_STORE_ARGS);
        return;
    }
    for (uint f = 0; f < VW; f += 4) {
        #pragma unroll
        for (uint i = 0; i < OUT * OUT; i += 4) {
            float4 rows[4], cols[4];
            #pragma unroll
            for (uint l = 0; l < 4; l++) {
                float part[VW];
                STORE_VEC(y[i + l], 0, part);
                rows[l] = vload4(0, part + f);
            }
            turn_square(rows, cols);
            #pragma unroll
            for (uint l = 0; l < 4; l++) {
                const uint pixel = (at->y + i / OUT) * g->q + at->x;
#if OUT == 4
                STORE_LINE(4, o, at->n, filter + f + l, pixel, cols[l]);
#else
                STORE_LINE(2, o, at->n, filter + f + l, pixel, cols[l].lo);
                STORE_LINE(2, o, at->n, filter + f + l, pixel + g->q,
                           cols[l].hi);
#endif
            }
        }
    }
#else
    if (o->oc != 1 || filter + VW > o->k) {
        store_elements(o, g, at, filter, y, GEMM_STORE_ARGS);
        return;
    }
    for (uint i = 0; i < OUT * OUT; i++) {
        const uint row = at->y + i / OUT, col = at->x + i % OUT;
        if (row < g->p && col < g->q)
            STORE_LINE(VW, o, at->n, filter, row * g->q + col, y[i]);
    }
#endif
}

/* VW filters of a tile from their sums. */
INLINED void turn_back(__local const float *kept, vec out[OUT * OUT])
{
    vec t[OUT * SIDE];
    #pragma unroll
    for (uint j = 0; j < SIDE; j++) {
        vec x[SIDE], y[OUT];
        #pragma unroll
        for (uint r = 0; r < SIDE; r++)
            x[r] = LOAD_VEC(0, kept + (r * SIDE + j) * TM * TN);
        ROW(TURN_OUT, y, x);
        #pragma unroll
        for (uint r = 0; r < OUT; r++)
            t[r * SIDE + j] = y[r];
    }
    #pragma unroll
    for (uint r = 0; r < OUT; r++)
        ROW(TURN_OUT, out + r * OUT, t + r * SIDE);
}

__kernel WHOLE_THREAD void conv_winograd(
    __global const ELEM(TA) *restrict in, ulong off_in, ulong sn, ulong sc,
    ulong sh, ulong sw, ulong elems, __global const float *restrict panels,
    __global ELEM(TC) *restrict out, ulong off_out, ulong on, ulong oc,
    ulong oq, uint h, uint w, uint p, uint q, uint tile_rows, uint tile_cols,
    uint tiles, uint channels, uint filters, uint pad_top, uint pad_left,
    uint blocks, GEMM_LAST_PARAMS)
{
    __local float windows[POINTS * STEP_IN] __attribute__((aligned(64)));
    __local float turned[POINTS * STEP_FILTER] __attribute__((aligned(64)));
    __local float kept[POINTS * TM * TN] __attribute__((aligned(64)));
    const uint group = (uint)xl_group_id(0);
    const uint m0 = group / blocks * TM, f0 = group % blocks * TN;
    const uint rows = min((uint)TM, tiles - m0);
    const uint cols = min((uint)TN, filters - f0);
    const struct images im = {in + off_in, elems, sn, (long)sc, (long)sh,
                              (long)sw, h, w, channels};
    const struct grid g = {p, q, tile_rows, tile_cols, pad_top, pad_left};
    const struct result o = {out + off_out, on, oc, oq, filters};
    panels += (ulong)f0 * TAPS * channels;

    for (uint c0 = 0; c0 < channels; c0 += TK) {
        const uint depth = min((uint)TK, channels - c0);
        turn_windows(&im, &g, m0, rows, c0, depth, windows);
        turn_filters(panels, channels, cols, c0, depth, turned);
        for (uint x = 0; x < POINTS; x++) {
            for (uint j = 0; j < cols; j += RN) {
                for (uint i = 0; i < rows; i += RM)
                    multiply(windows + x * STEP_IN + i * TK,
                             turned + x * STEP_FILTER + j * TK, depth,
                             c0 == 0, kept + (x * TM + i) * TN + j);
            }
        }
    }
    for (uint i = 0; i < rows; i++) {
        const struct tile at = tile_of(&g, m0 + i);
        for (uint j = 0; j < cols; j += VW) {
            vec y[OUT * OUT];
            turn_back(kept + i * TN + j, y);
            store_tile(&o, &g, &at, f0 + j, y, GEMM_STORE_ARGS);
        }
    }
}
