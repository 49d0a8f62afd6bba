/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out) on devices
 *               whose work-items are whole threads with vector registers, as a
 *               product of matrices (conv/tiled.cl) the way gemm/cpu.cl
 *               multiplies: RM x RN sums in registers, vectors along what is
 *               contiguous in out.
 *
 *                 conv_cpu_pack   filters -> panels of RX, line by line
 *                 conv_cpu        a group per TM rows and TN columns:
 *                   for each TK of c r s:  gather pixels to local memory
 *                     for each RN columns:
 *                       for each RM rows:
 *                         sums += TK steps; the last ones are stored
 *
 *               FIRST 1 (NCHW): rows are filters, columns pixels, whose slice
 *               is RN wide panels; c is the slowest digit of the depth. A
 *               panel's line is runs of neighbours in a row of the image.
 *               FIRST 0 (NHWC): rows are pixels, lines of TK in the slice;
 *               columns are filters; c is the fastest digit, and a pixel's
 *               line is runs of channels.
 *               A run is copied in whole vectors: what is too much is written
 *               over by the next one.
 * Arguments     in: base, offset, strides along n, c, h, w, elements from the
 *               first to past the last; panels (scratch); out: base, offset,
 *               strides along n, k, pixels; h, w of in; p q, q of out; pixels
 *               of all images; cg, kg, r, s; stride, dilation along h and w;
 *               padding above and left; joined: neighbours in a row of in
 *               follow each other without a gap, and so do taps; tiles along
 *               rows and columns; the rest: gemm/gemm.clh. conv_cpu_pack: filters:
 *               base, offset; panels; kg, depth; cg and r s
 * Launch        local 1; conv_cpu_pack: (slabs of the depth, panels of all
 *               groups of channels); conv_cpu: a group per tile
 * Local memory  4 (TP TK + VW) bytes, TP the tile's pixels; KEEP: 4 TM TN more
 * -D            STEP 1 packs, 2 multiplies; FIRST; TM, a multiple of RM; TN, of
 *               RN; TK; RM 4 or 8; RN, a multiple of VW; VW 4, 8 or 16;
 *               STEPS 1, 2: such is the stride along w (FIRST 1) and in is
 *               contiguous along it (FIRST 0: 1, along c), 0: otherwise;
 *               MIX 1: filters are in the other order; KEEP 1: the depth is
 *               more than TK; TA, TC, TY 0, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2
 * Cost          2 n k p q cg r s flop; in is gathered r s times for each tile
 *               of filters, mostly from the first cache
 * Source        Goto, van de Geijn 2008, section 4; Chetlur et al. 2014,
 *               section 3 */
#ifndef TM
#define TM 32
#define TN 32
#define TK 32
#define RM 4
#define RN 8
#define VW 4
#endif
#ifndef STEP
#define STEP 2
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef STEPS
#define STEPS 1
#endif
#ifndef MIX
#define MIX 0
#endif
#ifndef KEEP
#define KEEP 1
#endif
#define XL_VW VW
#include "gemm/gemm.clh"

#define NV (RN / VW)
#define SLAB 64
#define WHOLE_THREAD __attribute__((reqd_work_group_size(1, 1, 1)))
typedef FLOATV(VW) vec;

#if FIRST
#define RX RM
#define TP TN
#else
#define RX RN
#define TP TM
#endif

#if STEP == 1
/* Where a filter has tap l. */
#if MIX && FIRST
#define TAP_AT(l) ((l) % rs * cg + (l) / rs)
#elif MIX
#define TAP_AT(l) ((l) % cg * rs + (l) / cg)
#else
#define TAP_AT(l) (l)
#endif

/* Filters that are not there repeat the last one; their sums are dropped. */
__kernel WHOLE_THREAD void conv_cpu_pack(
    __global const ELEM(TA) *restrict filters, ulong off,
    __global float *restrict panels, uint kg, uint depth, uint cg, uint rs)
{
    const uint l0 = (uint)xl_group_id(0) * SLAB;
    const uint l1 = min(l0 + SLAB, depth);
    const uint per_group = (kg + RX - 1) / RX;
    const ulong panel = xl_group_id(1);
    const uint group = (uint)(panel / per_group);
    const uint f0 = (uint)(panel - (ulong)group * per_group) * RX;
    __global const ELEM(TA) *from[RX];
    #pragma unroll
    for (uint x = 0; x < RX; x++)
        from[x] = filters + off +
                  ((ulong)group * kg + min(f0 + x, kg - 1)) * depth;
    panels += panel * depth * RX;
    for (uint l = l0; l < l1; l++) {
        const uint at = TAP_AT(l);
        #pragma unroll
        for (uint x = 0; x < RX; x++)
            panels[(ulong)l * RX + x] = LOAD(TA, from[x], at);
    }
}
#endif

#if STEP == 2
struct images {
    __global const ELEM(TA) *in; /* of the group of channels */
    ulong elems, sn;
    long sc, sh, sw;
    uint h, w, per_image, q, pixels, cg, r, s;
    uint stride_h, stride_w, dilation_h, dilation_w;
    int pad_top, pad_left;
    uint joined;
};

/* A pixel of out: its image, and where its window begins. */
struct window {
    ulong image;
    int y, x;
    uint col;
};

static inline struct window window_of(const struct images *im, uint pixel)
{
    const uint n = pixel / im->per_image;
    const uint rest = pixel - n * im->per_image;
    const uint row = rest / im->q, col = rest - row * im->q;
    const struct window o = {n * im->sn,
                             (int)(row * im->stride_h) - im->pad_top,
                             (int)(col * im->stride_w) - im->pad_left, col};
    return o;
}

#if VW == 16
#define LANES (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#elif VW == 8
#define LANES (int8)(0, 1, 2, 3, 4, 5, 6, 7)
#else
#define LANES (int4)(0, 1, 2, 3)
#endif

#if FIRST
/* -- pixels as columns -------------------------------------------------- */

/* Lanes of a panel's line that are neighbours in a row. */
struct run {
    struct window o;
    uint lane, n;
};

static inline uint find_runs(const struct images *im, uint pixel,
                             struct run *run)
{
    uint n = 0, lane = 0;
    const uint end = min((uint)RN, im->pixels - pixel);
    while (lane < end) {
        run[n].o = window_of(im, pixel + lane);
        run[n].lane = lane;
        run[n].n = min(end - lane, im->q - run[n].o.col);
        lane += run[n++].n;
    }
    return n;
}

/* VW lanes from element `at` on, the first at column x; n of them count. */
static inline vec take(const struct images *im, long at, int x, uint n)
{
    const int step = (int)im->stride_w;
#if STEPS
    if (at >= 0 && (ulong)at + VW * STEPS <= im->elems) {
#if STEPS == 1
        const vec v = LOADV(VW, TA, im->in, at);
#else
        const vec low = LOADV(VW, TA, im->in, at);
        const vec high = LOADV(VW, TA, im->in, at + VW);
        const vec v = (vec)(low.even, high.even);
#endif
        if (x >= 0 && x + (int)(n - 1) * STEPS < (int)im->w)
            return v;
        const VALUEV(VW, 4) xs = x + LANES * STEPS;
        return select((vec)(0.0f), v, xs >= 0 && xs < (int)im->w);
    }
#endif
    float part[VW];
    for (uint i = 0; i < VW; i++) {
        const int xi = x + (int)i * step;
        part[i] = i < n && xi >= 0 && xi < (int)im->w
                      ? LOAD(TA, im->in, at + (long)((int)i * step) * im->sw)
                      : 0.0f;
    }
    return XL_CAT(vload, VW)(0, part);
}

static inline void gather_panel(const struct images *im, uint pixel, uint k0,
                                uint depth, __local float *to)
{
    struct run run[RN];
    const uint n_runs = find_runs(im, pixel, run);
    uint s = k0 % im->s, r = k0 / im->s % im->r, c = k0 / im->s / im->r;
    for (uint l = 0; l < depth; l++) {
        for (uint i = 0; i < n_runs; i++) {
            const int y = run[i].o.y + (int)(r * im->dilation_h);
            const int x = run[i].o.x + (int)(s * im->dilation_w);
            const bool is_in = y >= 0 && y < (int)im->h;
            const long at = (long)run[i].o.image + c * im->sc + y * im->sh +
                            x * im->sw;
            __local float *line = to + l * RN + run[i].lane;
            for (uint t = 0; t < run[i].n; t += VW) {
                const int step = (int)(t * im->stride_w);
                const vec v = is_in ? take(im, at + step * im->sw, x + step,
                                           run[i].n - t)
                                    : (vec)(0.0f);
                XL_CAT(vstore, VW)(v, 0, line + t);
            }
        }
        if (++s == im->s) {
            s = 0;
            if (++r == im->r) {
                r = 0;
                c++;
            }
        }
    }
}

static inline void gather(const struct images *im, uint p0, uint n, uint k0,
                          uint depth, __local float *to)
{
    for (uint j = 0; j < n; j += RN)
        gather_panel(im, p0 + j, k0, depth, to + j * TK);
}
#else
/* -- pixels as rows ----------------------------------------------------- */

/* n channels, or taps and channels, from element `at` on. */
static inline void copy_run(const struct images *im, ulong at, uint n,
                            __local float *to)
{
    uint t = 0;
#if STEPS
    for (; t < n && at + t + VW <= im->elems; t += VW)
        XL_CAT(vstore, VW)(LOADV(VW, TA, im->in, at + t), 0, to + t);
#endif
    for (; t < n; t++)
        to[t] = LOAD(TA, im->in, at + t * im->sc);
}

static inline void gather(const struct images *im, uint p0, uint n, uint k0,
                          uint depth, __local float *to)
{
    for (uint i = 0; i < n; i++) {
        const struct window o = window_of(im, p0 + i);
        uint c = k0 % im->cg, s = k0 / im->cg % im->s,
             r = k0 / im->cg / im->s;
        const bool is_joined =
            im->joined && o.x >= 0 && o.x + (int)im->s <= (int)im->w;
        for (uint l = 0; l < depth;) {
            const int y = o.y + (int)(r * im->dilation_h);
            const int x = o.x + (int)(s * im->dilation_w);
            const uint taps = is_joined ? im->s - s : 1;
            const uint len = min(taps * im->cg - c, depth - l);
            __local float *line = to + i * TK + l;
            if (y >= 0 && y < (int)im->h && x >= 0 && x < (int)im->w) {
                copy_run(im, o.image + c * im->sc + y * im->sh + x * im->sw,
                         len, line);
            } else {
                for (uint t = 0; t < len; t += VW)
                    XL_CAT(vstore, VW)((vec)(0.0f), 0, line + t);
            }
            l += len;
            c += len;
            s += c / im->cg;
            c %= im->cg;
            if (s >= im->s) {
                s = 0;
                r++;
            }
        }
    }
}
#endif

/* -- sums --------------------------------------------------------------- */

/* A register tile of out. */
struct place {
    uint row, col;   /* of the group's part of the result */
    uint rows, cols; /* of it, from here on */
    uint k0;         /* the group's first filter */
};

/* The address and the strides of out. */
struct result {
    __global ELEM(TC) *out;
    ulong on, oc, oq;
    uint per_image;
};

/* N sums of neighbours in a row of the result, all of one image. */
#if FIRST
#define STORE_SUMS(N, o, n, rest, filter, sum)                             \
    do {                                                                      \
        const ulong at = (n) * (o)->on + (filter) * (o)->oc +                 \
                         (rest) * (o)->oq;                                    \
        GEMM_STORE(N, , (o)->out, at, GEMM_Y(N, sum, (o)->out, at), n,        \
                   filter, rest);                                             \
    } while (0)
#else
#define STORE_SUMS(N, o, n, rest, filter, sum)                             \
    do {                                                                      \
        const ulong at = (n) * (o)->on + (filter) * (o)->oc +                 \
                         (rest) * (o)->oq;                                    \
        GEMM_STORE(N, , (o)->out, at, GEMM_Y(N, sum, (o)->out, at), n, rest,  \
                   filter);                                                   \
    } while (0)
#endif

static inline void store_edge(const struct result *o, const struct place *p,
                              vec sum[RM][NV], GEMM_STORE_PARAMS)
{
    float part[RM * RN];
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        #pragma unroll
        for (uint v = 0; v < NV; v++)
            XL_CAT(vstore, VW)(sum[r][v], v, part + r * RN);
    }
    for (uint i = 0; i < RN && i < p->cols; i++) {
        for (uint r = 0; r < RM && r < p->rows; r++) {
#if FIRST
            const uint filter = p->k0 + p->row + r, pixel = p->col + i;
#else
            const uint filter = p->k0 + p->col + i, pixel = p->row + r;
#endif
            const uint n = pixel / o->per_image;
            const uint rest = pixel - n * o->per_image;
            STORE_SUMS(1, o, n, rest, filter, part[r * RN + i]);
        }
    }
}

static inline void store_tile(const struct result *o, const struct place *p,
                              vec sum[RM][NV], GEMM_STORE_PARAMS)
{
#if FIRST
    const uint n = p->col / o->per_image;
    const uint rest = p->col - n * o->per_image;
    const bool is_whole = o->oq == 1 && rest + RN <= o->per_image;
#else
    const bool is_whole = o->oc == 1;
#endif
    if (!is_whole || p->rows < RM || p->cols < RN) {
        store_edge(o, p, sum, GEMM_STORE_ARGS);
        return;
    }
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
#if !FIRST
        const uint n = (p->row + r) / o->per_image;
        const uint rest = p->row + r - n * o->per_image;
#endif
        #pragma unroll
        for (uint v = 0; v < NV; v++) {
#if FIRST
            STORE_SUMS(VW, o, n, rest + v * VW, p->k0 + p->row + r,
                       sum[r][v]);
#else
            STORE_SUMS(VW, o, n, rest, p->k0 + p->col + v * VW, sum[r][v]);
#endif
        }
    }
}

/* Rows' value r of step u. */
#if FIRST
#define PA(u, r) pa[(u) * RM + (r)]
#define PA_STEP RM
#else
#define PA(u, r) pa[(r) * TK + (u)]
#define PA_STEP 1
#endif
#define ONE_STEP(u)                                                           \
    {                                                                         \
        vec vb[NV];                                                           \
        _Pragma("unroll") for (uint v = 0; v < NV; v++)                       \
            vb[v] = XL_CAT(vload, VW)(v, pb + (u) * RN);                      \
        _Pragma("unroll") for (uint r = 0; r < RM; r++)                       \
        {                                                                     \
            _Pragma("unroll") for (uint v = 0; v < NV; v++)                   \
                sum[r][v] = MUL_ADD((vec)(PA(u, r)), vb[v], sum[r][v]);       \
        }                                                                     \
    }

__kernel WHOLE_THREAD void
conv_cpu(__global const ELEM(TA) *restrict in, ulong off_in, ulong sn,
         ulong sc, ulong sh, ulong sw, ulong elems,
         __global const float *restrict panels, __global ELEM(TC) *restrict out,
         ulong off_out, ulong on, ulong oc, ulong oq, uint h, uint w,
         uint per_image, uint q, uint pixels, uint cg, uint kg, uint size_r,
         uint size_s, uint stride_h, uint stride_w, uint dilation_h,
         uint dilation_w, uint pad_top, uint pad_left, uint joined,
         uint tiles_m, uint tiles_n, GEMM_LAST_PARAMS)
{
    __local float slice[TP * TK + VW] __attribute__((aligned(64)));
#if KEEP
    __local float kept[TM * TN] __attribute__((aligned(64)));
#endif
    const uint all = cg * size_r * size_s;
    const ulong tile = xl_group_id(0);
    const uint group = (uint)(tile / (tiles_m * tiles_n));
    const uint in_group = (uint)(tile % (tiles_m * tiles_n));
    const uint m0 = in_group / tiles_n * TM, n0 = in_group % tiles_n * TN;
#if FIRST
    const uint p0 = n0, f0 = m0, m = kg, n = pixels;
#else
    const uint p0 = m0, f0 = n0, m = pixels, n = kg;
#endif
    const uint rows = min((uint)TM, m - m0), cols = min((uint)TN, n - n0);
    const struct images im = {
        in + off_in + group * cg * sc, elems - group * cg * sc, sn, (long)sc,
        (long)sh, (long)sw, h, w, per_image, q, pixels, cg, size_r, size_s,
        stride_h, stride_w, dilation_h, dilation_w, (int)pad_top,
        (int)pad_left, joined};
    const struct result o = {out + off_out, on, oc, oq, per_image};
    panels += ((ulong)group * ((kg + RX - 1) / RX) + f0 / RX) * RX * all;

    for (uint k0 = 0; k0 < all; k0 += TK) {
        const uint depth = min((uint)TK, all - k0);
        gather(&im, p0, FIRST ? cols : rows, k0, depth, slice);
        for (uint j = 0; j < cols; j += RN) {
            for (uint i = 0; i < rows; i += RM) {
#if FIRST
                __global const float *pa = panels + (ulong)i * all + k0 * RM;
                __local const float *pb = slice + j * TK;
#else
                __local const float *pa = slice + i * TK;
                __global const float *pb = panels + (ulong)j * all + k0 * RN;
#endif
                vec sum[RM][NV];
                #pragma unroll
                for (uint r = 0; r < RM; r++) {
                    #pragma unroll
                    for (uint v = 0; v < NV; v++)
                        sum[r][v] = (vec)(0.0f);
                }
                uint l = 0;
                for (; l + 4 <= depth; l += 4) {
                    ONE_STEP(0)
                    ONE_STEP(1)
                    ONE_STEP(2)
                    ONE_STEP(3)
                    pa += 4 * PA_STEP;
                    pb += 4 * RN;
                }
                for (; l < depth; l++) {
                    ONE_STEP(0)
                    pa += PA_STEP;
                    pb += RN;
                }
#if KEEP
                __local float *keep = kept + i * TN + j * RM;
                #pragma unroll
                for (uint r = 0; r < RM * NV; r++) {
                    if (k0 > 0)
                        sum[r / NV][r % NV] += XL_CAT(vload, VW)(r, keep);
                    if (k0 + TK < all)
                        XL_CAT(vstore, VW)(sum[r / NV][r % NV], r, keep);
                }
                if (k0 + TK < all)
                    continue;
#endif
                const struct place p = {m0 + i, n0 + j, rows - i, cols - j,
                                        group * kg};
                store_tile(&o, &p, sum, GEMM_STORE_ARGS);
            }
        }
    }
}
#endif
