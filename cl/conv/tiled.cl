/* SPDX-License-Identifier: Apache-2.0 */
/* Computes      out = epilogue(alpha conv(in, filters) + beta out) as a
 *               product of matrices that is never spread out: a TM x TN tile
 *               of the result per work-group, an RM x RN part of it in each
 *               item's registers, slices TK deep through local memory, as in
 *               gemm/tiled.cl. Of a group of channels one side is filters, the
 *               other the pixels of all images; both are c r s deep:
 *
 *                 FIRST 1 (NCHW)            FIRST 0 (NHWC)
 *                           pixels                    filters
 *                         +--------+                +--------+
 *                         |   in   |                |        |
 *                +--------+--------+       +--------+--------+
 *        filters |        |  out   | pixels|   in   |  out   |
 *                +--------+--------+       +--------+--------+
 *
 *               An item gathers the same pixels in every slice and keeps where
 *               their windows begin. Where in a window a depth is, its tap, is
 *               the same for all pixels: some items walk through c, r, s by
 *               adding, with carries, what a slice is in these digits, and
 *               leave the taps of the next slice in local memory. AHEAD: an
 *               item's values of one depth are fetched while those of the depth
 *               before are multiplied, as in gemm/simt.cl.
 * Arguments     in, out: base, offset, strides along n, c, h, w, in elements,
 *               out's pixels evenly spaced; filters: base, offset; h, w of in;
 *               p q, q of out; pixels of all images; cg channels and kg
 *               filters of a group; r, s; stride and dilation along h and w;
 *               padding above and left; a slice's digits: c, r, s; tiles
 *               along rows and columns; beta == 0: out is not read. The rest:
 *               gemm/gemm.clh
 * Launch        local TM TN / (RM RN), global that times the tiles of all
 *               groups of channels, 1-D
 * Local memory  ST TK (TM + TN + 2 PAD) values, PAD 16 bytes; 32 TK bytes
 * -D            TM TN TK (even), RM RN (1, 2, 4, 8, 16) dividing TM TN;
 *               ST slices kept (1, 2); GR tile rows of a band; AHEAD; FIRST;
 *               LAST 1: c is the innermost digit, 0: s is; MIX 1: filters are
 *               in the other order; VP elements of in to a load, along c,
 *               dividing cg (VP > 1: LAST 1); VF of filters, dividing cg;
 *               VC of out, dividing p q (FIRST 1) or kg; all aligned;
 *               XL_WIDE 0: in has fewer than 2^32 elements;
 *               TA, TC, TY, EPILOGUE: gemm/gemm.clh
 * Needs         OpenCL C 1.2; double for f64
 * Cost          2 n k p q cg r s flop; in is read r s times for each tile of
 *               filters, mostly from caches
 * Source        NV-23 (tiles, bands); Chetlur et al. 2014, section 3 */
#ifndef TM
#define TM 32
#define TN 32
#define TK 8
#define RM 4
#define RN 4
#endif
#ifndef ST
#define ST 1
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef AHEAD
#define AHEAD 1
#endif
#ifndef LAST
#define LAST 0
#endif
#ifndef MIX
#define MIX 0
#endif
#ifndef VP
#define VP 1
#define VF 1
#endif
#include "gemm/tile_items.clh"

/* Rows of both slices are padded, since both operands may be transposed. */
#define LA (TM + QUAD)
#define LB (TN + QUAD)

/* Pixels and filters of a tile, and their slices' lines. */
#if FIRST
#define TP TN
#define TF TM
#define LP LB
#define LF LA
#else
#define TP TM
#define TF TN
#define LP LA
#define LF LB
#endif

/* An item's share of the pixels' slice: PX pixels at X(i), at KX depths that
 * are KSTEP apart, from K0 on. */
#if VP > 1
#define PX (TP * TK / (VP * NT))
#define KX 1
#define X(i) (lid / (TK / VP) + (i) * (NT * VP / TK))
#define K0 (lid % (TK / VP) * VP)
#else
#define PX (TP > NT ? TP / NT : 1)
#define KX (TP * TK / (NT * PX))
#define X(i) (lid % (TP / PX) + (i) * (TP / PX))
#define K0 (lid / (TP / PX))
#endif
#define KSTEP (TK / KX)
/* Of the filters' slice: place of the i-th vector. */
#define NF (TF * TK / (VF * NT))
#define F_X(i) ((i) / (TK / VF))
#define F_K(i) ((i) % (TK / VF) * VF)

/* Where a walk through the filter is. */
struct digits {
    uint c, r, s;
};

static inline struct digits digits_of(uint k, uint cg, uint size_r,
                                      uint size_s)
{
    struct digits d;
#if LAST
    d.c = k % cg;
    k /= cg;
    d.s = k % size_s;
    d.r = k / size_s;
#else
    d.s = k % size_s;
    k /= size_s;
    d.r = k % size_r;
    d.c = k / size_r;
#endif
    return d;
}

/* Digits are less than their sizes, so one carry each will do. */
static inline void add_digits(struct digits *d, const struct digits step,
                              uint cg, uint size_r, uint size_s)
{
    d->c += step.c;
    d->r += step.r;
    d->s += step.s;
#if LAST
    if (d->c >= cg) {
        d->c -= cg;
        d->s++;
    }
#endif
    if (d->s >= size_s) {
        d->s -= size_s;
        d->r++;
    }
#if !LAST
    if (d->r >= size_r) {
        d->r -= size_r;
        d->c++;
    }
#endif
}

/* Past the last tap? */
#if LAST
#define IS_PAST(d) ((d).r >= size_r)
#else
#define IS_PAST(d) ((d).c >= cg)
#endif

/* Where a filter has the k-th tap. */
#if MIX
#define TAP_AT(k) ((k) % cg * (size_r * size_s) + (k) / cg)
#else
#define TAP_AT(k) (k)
#endif

/* Taps, from where a window begins: rows, columns, and elements of in, which
 * are a uint. Past the last one a tap is below every image. */
#define TAP_Y(t) ((t).s0)
#define TAP_X(t) ((t).s1)
#define TAP_FROM(t) ((uint)(t).s2)

/* The taps of one slice; `walk` moves on to the next. */
#define N_WALKS ((TK + NT - 1) / NT)
#define PUT_TAPS(to)                                                          \
    do {                                                                      \
        _Pragma("unroll") for (uint j = 0; j < N_WALKS; j++)                  \
        {                                                                     \
            if (lid + j * NT < TK) {                                          \
                const uint y = walk[j].r * dilation_h;                        \
                const uint x = walk[j].s * dilation_w;                        \
                to[lid + j * NT] =                                            \
                    (int4)((int)(IS_PAST(walk[j]) ? h + pad_top : y), (int)x, \
                           (int)(walk[j].c * sc + y * sh + x * sw), 0);       \
                add_digits(&walk[j], step, cg, size_r, size_s);               \
            }                                                                 \
        }                                                                     \
    } while (0)

/* The loads of one slice; `k` moves on to the next. */
#define GATHER(taps)                                                          \
    do {                                                                      \
        _Pragma("unroll") for (uint j = 0; j < KX; j++)                       \
        {                                                                     \
            const int4 t = taps[K0 + j * KSTEP];                        \
            _Pragma("unroll") for (uint i = 0; i < PX; i++)                   \
            {                                                                 \
                next_p[j * PX + i] = (VALUEV(VP, TA))(0);                     \
                if ((uint)(y0[i] + TAP_Y(t)) < h &&                           \
                    (uint)(x0[i] + TAP_X(t)) < w)                             \
                    next_p[j * PX + i] =                                      \
                        LOADVA(VP, TA, in, (IDX)(from[i] + TAP_FROM(t)));     \
            }                                                                 \
        }                                                                     \
        _Pragma("unroll") for (uint j = 0; j < NF; j++)                       \
        {                                                                     \
            const uint at = k + F_K(lid + j * NT);                            \
            next_f[j] = (VALUEV(VF, TA))(0);                                  \
            if (at < depth)                                                   \
                next_f[j] = LOADVA(VF, TA, filters, at_f[j] + TAP_AT(at));    \
        }                                                                     \
        k += TK;                                                              \
    } while (0)

__kernel __attribute__((reqd_work_group_size(NT, 1, 1))) XL_OF_WIDTH void
conv_tiled(__global const ELEM(TA) *restrict in, ulong off_in, ulong sn,
           uint sc, uint sh, uint sw, __global const ELEM(TA) *restrict filters,
           ulong off_filters, __global ELEM(TC) *restrict out, ulong off_out,
           ulong on, ulong oc, ulong oq, uint h, uint w, uint per_image,
           uint q, uint pixels, uint cg, uint kg, uint size_r, uint size_s,
           uint stride_h, uint stride_w, uint dilation_h, uint dilation_w,
           uint pad_top, uint pad_left, uint step_c, uint step_r, uint step_s,
           uint tiles_m, uint tiles_n, GEMM_LAST_PARAMS)
{
    __local value la[ST * TK * LA] __attribute__((aligned(16)));
    __local value lb[ST * TK * LB] __attribute__((aligned(16)));
    __local int4 taps[2][TK];
    const uint lid = (uint)get_local_id(0);
    const uint2 place = item_position(lid);
    const uint depth = cg * size_r * size_s;
    const struct digits step = {step_c, step_r, step_s};

    uint tile = GROUP;
    const uint group = tile / (tiles_m * tiles_n);
    tile -= group * (tiles_m * tiles_n);
    const uint2 at_tile = band_position(tile, tiles_m, tiles_n);
    const uint m0 = at_tile.y * TM, n0 = at_tile.x * TN;
#if FIRST
    const uint f0 = m0, p0 = n0;
#else
    const uint f0 = n0, p0 = m0;
#endif

    /* Pixels and filters past the edge repeat the last one. A window that
     * begins outside of the image has an offset below it, modulo 2^32. */
    IDX from[PX];
    int y0[PX], x0[PX];
    in += off_in + (ulong)(group * cg) * sc;
    #pragma unroll
    for (uint i = 0; i < PX; i++) {
        const uint pixel = min(p0 + X(i), pixels - 1);
        const uint n = pixel / per_image;
        const uint row = (pixel - n * per_image) / q;
        const uint col = pixel - n * per_image - row * q;
        y0[i] = (int)(row * stride_h) - (int)pad_top;
        x0[i] = (int)(col * stride_w) - (int)pad_left;
        from[i] = (IDX)(n * sn) + (IDX)(long)y0[i] * sh + (IDX)(long)x0[i] * sw;
    }
    uint at_f[NF];
    filters += off_filters + (ulong)(group * kg + f0) * depth;
    #pragma unroll
    for (uint j = 0; j < NF; j++)
        at_f[j] = min((uint)F_X(lid + j * NT), kg - f0 - 1) * depth;

    struct digits walk[N_WALKS];
    #pragma unroll
    for (uint j = 0; j < N_WALKS; j++)
        walk[j] = digits_of(lid + j * NT, cg, size_r, size_s);
    uint k = 0;
    VALUEV(VP, TA) next_p[PX * KX];
    VALUEV(VF, TA) next_f[NF];
    PUT_TAPS(taps[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    GATHER(taps[0]);

    SUM sum[RM][RN];
    clear_sums(sum);
#if AHEAD
    /* Values of a slice before the first are zeros. */
    struct values values[2];
    clear_values(&values[1]);
#endif

    uint slot = 0, turn = 1;
    for (;;) {
        __local value *pa = la + slot * (TK * LA);
        __local value *pb = lb + slot * (TK * LB);
#if FIRST
        __local value *pp = pb, *pf = pa;
#else
        __local value *pp = pa, *pf = pb;
#endif
        #pragma unroll
        for (uint j = 0; j < KX; j++) {
            #pragma unroll
            for (uint i = 0; i < PX; i++)
                XL_CAT(SPREAD, VP)(pp + (K0 + j * KSTEP) * LP + X(i), LP,
                                   next_p[j * PX + i]);
        }
        #pragma unroll
        for (uint j = 0; j < NF; j++) {
            const uint i = lid + j * NT;
            XL_CAT(SPREAD, VF)(pf + F_K(i) * LF + F_X(i), LF, next_f[j]);
        }
        PUT_TAPS(taps[turn]);
        barrier(CLK_LOCAL_MEM_FENCE);
        pa += place.y * QM;
        pb += place.x * QN;
#if AHEAD
        fetch_values(&values[0], pa, pb);
#endif
        const bool is_last = k >= depth;
        if (!is_last)
            GATHER(taps[turn]);
        turn ^= 1;
#if AHEAD
        multiply_values(sum, &values[1]);
        #pragma unroll
        for (uint l = 0; l < TK - 1; l++) {
            fetch_values(&values[(l + 1) % 2], pa + (l + 1) * LA,
                         pb + (l + 1) * LB);
            multiply_values(sum, &values[l % 2]);
        }
#else
        #pragma unroll
        for (uint l = 0; l < TK; l++) {
            struct values v;
            fetch_values(&v, pa + l * LA, pb + l * LB);
            multiply_values(sum, &v);
        }
#endif
        if (is_last)
            break;
        /* With two slots the barrier above also says that everyone has left
         * the slot that is written next. */
#if ST == 1
        barrier(CLK_LOCAL_MEM_FENCE);
#else
        slot ^= 1;
#endif
    }

#if AHEAD
    multiply_values(sum, &values[1]);
#endif

    const uint k0 = group * kg;
    #pragma unroll
    for (uint r = 0; r < RM; r++) {
        const uint row = m0 + place.y * QM + ROW(r);
        #pragma unroll
        for (uint s = 0; s < RN; s += VC) {
            const uint col = n0 + place.x * QN + COL(s);
#if FIRST
            const uint filter = row, pixel = col;
#else
            const uint filter = col, pixel = row;
#endif
            const uint n = pixel / per_image;
            const uint rest = pixel - n * per_image;
            if (filter < kg && pixel < pixels) {
                const ulong at =
                    off_out + n * on + (k0 + filter) * oc + rest * oq;
                const VALUEV(VC, TY) y =
                    GEMM_Y(VC, XL_CAT(PACK, VC)(sum[r] + s), out, at);
#if FIRST
                GEMM_STORE(VC, A, out, at, y, n, k0 + filter, rest);
#else
                GEMM_STORE(VC, A, out, at, y, n, rest, k0 + filter);
#endif
            }
        }
    }
}
