/* SPDX-License-Identifier: Apache-2.0 */
/* conv_data_wgmma: the gradient of images in NHWC as one product of matrices
 * by gemm_wgmma, whose kernel gathers A from the gradient of out (windows.h)
 * and reads B, the filters, where they are:
 *
 *   in       pixels of one residue of the strides x channels
 *   depth    the filter's elements that reach them, filters of each
 *
 * The residues (backward_lowered.c) are products of a batch, the deepest
 * first, so that one launch computes all; their rows are stored where the
 * pixels are. Without strides there is one, whose rows are all pixels. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/conv/implicit.h"
#include "ops/conv/rearrange.h"
#include "ops/path/check.h"

enum {
    ELEM_BYTES = 2,
    CHUNK = XL__IMPLICIT_BYTES / ELEM_BYTES,
    SLICE = 64 /* k of a slice, which is of one tap */
};

struct data_product {
    struct xl__gemm_canonical product;
    struct xl__windows windows;
};

static const char *find_refusal(const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    if (d->out.dtype != XL_F16 && d->out.dtype != XL_BF16)
        return "it multiplies f16 and bf16 alone";
    if (d->in.layout != XL_NHWC ||
        (d->filters.layout != XL_KRSC && d->r * d->s > 1))
        return "it multiplies images of NHWC and filters of KRSC";
    if (d->n == 0 || d->c == 0 || d->k == 0)
        return "there is no sum";
    if (d->groups > 1)
        return "it multiplies one group of channels";
    if (d->in.stride[XL__AT_C] > 1 || d->out.stride[XL__AT_C] > 1 ||
        (d->c | d->k) % CHUNK != 0 ||
        (d->out.offset | d->filters.offset) % XL__IMPLICIT_BYTES != 0)
        return "channels or filters are no aligned multiples of 16 bytes";
    if (d->stride_h > XL__MOST_RESIDUES || d->stride_w > XL__MOST_RESIDUES ||
        d->stride_h * d->stride_w > XL__MOST_RESIDUES)
        return "the strides have more than 4 residues";
    return NULL;
}

/* -- residues ------------------------------------------------------------- */

static struct xl__residue find_residue(const struct xl__conv_canonical *c,
                                       const struct xl__windows *w, size_t row,
                                       size_t col)
{
    const xl_conv *d = &c->d;
    struct xl__residue r = {.row = row, .col = col};
    struct xl__conv_side y, x;
    if (row >= d->h || col >= d->w ||
        !xl__conv_find_side(row, d->stride_h, d->dilation_h, d->pad_top, d->r,
                            c->p, w->p, &y) ||
        !xl__conv_find_side(col, d->stride_w, d->dilation_w, d->pad_left, d->s,
                            c->q, w->q, &x))
        return r;
    r.pad_top = (long)y.pad - (long)y.skip;
    r.pad_left = (long)x.pad - (long)x.skip;
    r.r = y.n;
    r.s = x.n;
    r.tap = (y.first + (y.n - 1) * y.period) * d->s + x.first +
            (x.n - 1) * x.period;
    return r;
}

/* The deepest first. Returns their elements of a filter, of all. */
static size_t find_residues(const struct xl__conv_canonical *c,
                            struct xl__windows *w)
{
    const xl_conv *d = &c->d;
    size_t all = 0;
    for (size_t i = 0; i < d->stride_h * d->stride_w; i++) {
        const struct xl__residue r =
            find_residue(c, w, i / d->stride_w, i % d->stride_w);
        size_t at = w->n_residues++;
        for (;
             at > 0 && w->residue[at - 1].r * w->residue[at - 1].s < r.r * r.s;
             at--)
            w->residue[at] = w->residue[at - 1];
        w->residue[at] = r;
        all += r.r * r.s;
    }
    return all;
}

/* The windows of out's gradient, of as many rows and columns as the most
 * pixels of a residue. */
static void set_windows(const struct xl__conv_canonical *c,
                        struct xl__windows *w)
{
    const xl_conv *d = &c->d;
    const size_t by_h = xl__gcd(d->stride_h, d->dilation_h),
                 by_w = xl__gcd(d->stride_w, d->dilation_w);
    w->p = xl__ceil_div(d->h, d->stride_h);
    w->q = xl__ceil_div(d->w, d->stride_w);
    w->conv = (xl_conv){.n = d->n,
                        .c = d->k,
                        .h = c->p,
                        .w = c->q,
                        .k = d->c,
                        .r = d->r,
                        .s = d->s,
                        .groups = 1,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dilation_h = d->dilation_h / by_h,
                        .dilation_w = d->dilation_w / by_w,
                        .in = d->out};
    w->taps = (struct xl__taps){.n = d->r * d->s,
                                .depth = d->k,
                                .padded = xl__round_up(d->k, SLICE),
                                .step = d->c,
                                .above = d->stride_h / by_h * d->s,
                                .beside = d->stride_w / by_w};
    for (unsigned at = 0; at < XL__N_AT; at++)
        w->result.stride[at] = d->in.stride[at];
    w->result.h = d->h;
    w->result.w = d->w;
    w->result.stride_h = d->stride_h;
    w->result.stride_w = d->stride_w;
}

/* One residue whose rows have a common stride: C is a matrix. */
static bool is_matrix(const struct xl__conv_canonical *c, size_t *pixel)
{
    const xl_conv *d = &c->d;
    *pixel = d->in.stride[XL__AT_W];
    return d->stride_h * d->stride_w == 1 &&
           xl__conv_join(d->h, d->in.stride[XL__AT_H], d->w, pixel) &&
           xl__conv_join(d->n, d->in.stride[XL__AT_N], d->h * d->w, pixel);
}

/* -- the product ---------------------------------------------------------- */

static bool fits_32(const struct xl__conv_canonical *c,
                    const struct xl__windows *w)
{
    const struct xl__conv_canonical windows = {w->conv, w->p, w->q, NULL,
                                               false};
    return xl__conv_fits_32(c) && xl__conv_fits_32(&windows) &&
           c->d.in.stride[XL__AT_N] <= UINT32_MAX &&
           xl__conv_span_of_input(&w->conv) / CHUNK <= UINT32_MAX;
}

static const char *map_to_product(const struct xl__conv_canonical *c,
                                  struct data_product *to)
{
    const xl_conv *d = &c->d;
    const char *why = find_refusal(c);
    if (why)
        return why;
    *to = (struct data_product){.windows = {.n_residues = 0}};
    struct xl__windows *const w = &to->windows;
    set_windows(c, w);
    const size_t taps = find_residues(c, w);
    if (taps == 0)
        return "no filter reaches a pixel";
    if (!fits_32(c, w))
        return "a size does not fit in 32 bits";
    size_t pixel;
    if (is_matrix(c, &pixel)) {
        w->n_residues = 0;
        w->conv.pad_top = (size_t)w->residue[0].pad_top;
        w->conv.pad_left = (size_t)w->residue[0].pad_left;
        w->taps.first = w->residue[0].tap;
    }
    const size_t count = xl__max_size(1, w->n_residues);
    const xl_gemm g = {.m = d->n * w->p * w->q,
                       .n = d->c,
                       .k = xl__ceil_div(taps, count) *
                            w->taps.padded, /* of most residues */
                       .alpha = 1,
                       .beta = d->beta,
                       .a = {.mem.svm = d->out.mem.svm,
                             .row_stride = d->k,
                             .col_stride = 1,
                             .dtype = d->out.dtype},
                       .b = {.mem.svm = d->filters.mem.svm,
                             .row_stride = d->r * d->s * d->c,
                             .col_stride = 1,
                             .dtype = d->filters.dtype},
                       .c = {.mem.svm = d->in.mem.svm,
                             .row_stride = xl__max_size(pixel, d->c),
                             .col_stride = 1,
                             .dtype = d->in.dtype},
                       .batch.count = count};
    const size_t base[] = {d->out.offset, d->filters.offset, d->in.offset};
    xl__implicit_product(&g, w, base, &to->product);
    return NULL;
}

/* -- the variant ---------------------------------------------------------- */

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    struct data_product to;
    const char *why = map_to_product(desc, &to);
    return why ? why : of->refuses(l, &to.product);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__variant *of, struct xl__params *out)
{
    struct data_product to;
    if (!map_to_product(desc, &to))
        of->choose(l, &to.product, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    static const struct xl__conv_place place[] = {
        {XL__CONV_OUT, XL__CONV_OFF_OUT, 0},
        {XL__CONV_B, XL__CONV_OFF_B, 0},
        {XL__CONV_A, XL__CONV_OFF_A, 0}};
    struct data_product to;
    if (map_to_product(desc, &to))
        return XL_UNSUPPORTED;
    const xl_status status = of->plan(l, &to.product, params, p);
    for (unsigned i = 0; i < p->n_steps; i++) {
        for (unsigned a = 0; a < p->step[i].n_args; a++)
            xl__conv_redirect(place, &p->step[i].args[a]);
    }
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    return status;
}

XL__BY_GEMM(conv_data_, wgmma, .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
            .own = &(const struct xl__conv_own){.has_plain = true})
