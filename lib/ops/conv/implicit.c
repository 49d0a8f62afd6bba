/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a product of matrices on a matrix engine, by the variants of
 * GEMM, whose kernels gather an operand from the images:
 *
 *   out    is  rows x columns     depth
 *   NHWC       pixels x filters   rows, columns and channels of a filter
 *   NCHW       filters x pixels   likewise
 *
 * with the pixels of all images, in NCHW of one. Kernels copy 16 bytes of a
 * pixel at a time, gemm_dpas reads 32. Images whose pixels are no multiples of
 * that, which are those of a network's first layer, or whose channels are not
 * contiguous, are copied before, and so are filters of another layout. Bytes
 * (gemm_dpas) are not: two of them count as an element of the windows.
 * Products of a batch are groups, in NCHW images. */
#include "ops/conv/implicit.h"

#include "base/alloc.h"
#include "ops/gemm/orientation.h"

enum {
    ELEM_BYTES = 2,
    COPY_BYTES = XL__IMPLICIT_BYTES,
    CHUNK = COPY_BYTES / ELEM_BYTES
};

static bool is_by_image(const xl_conv *d)
{
    return d->out.layout == XL_NCHW;
}

/* Elements from a pixel of out to the next, of all that are of a product;
 * false: they have no common stride. */
static bool find_pixel_stride(const struct xl__conv_canonical *c, size_t *to)
{
    const size_t *out = c->d.out.stride;
    *to = out[XL__AT_W];
    return xl__conv_join(c->p, out[XL__AT_H], c->q, to) &&
           (is_by_image(&c->d) ||
            xl__conv_join(c->d.n, out[XL__AT_N], c->p * c->q, to));
}

/* -- copies --------------------------------------------------------------- */

/* The value that is the offset of a slot's operand. */
static unsigned value_of(unsigned slot)
{
    return slot - XL__CONV_A + XL__CONV_OFF_A;
}

struct xl__implicit_unit xl__implicit_unit(const struct xl__variant *of)
{
    static const struct xl__implicit_unit of_dpas = {2 * CHUNK, 4 * CHUNK},
                                          of_others = {CHUNK, CHUNK};
    return of == &xl__gemm_dpas ? of_dpas : of_others;
}

bool xl__implicit_reads(const xl_conv *d, struct xl__implicit_unit unit)
{
    return d->in.layout == XL_NHWC && d->in.stride[XL__AT_C] <= 1 &&
           xl__conv_cg(d) * xl_dtype_bytes(d->in.dtype) %
                   (unit.read * ELEM_BYTES) ==
               0 &&
           d->in.offset % COPY_BYTES == 0;
}

/* The narrowest pixel with which every window begins at a multiple of 16
 * bytes: then a row of a window is one run of pixels. Else pixels are such
 * multiples. */
static size_t copied_channels(const xl_conv *d, size_t unit)
{
    size_t c = 1;
    while (c < d->c)
        c *= 2;
    return c < CHUNK && d->dilation_w == 1 && d->stride_w * c % CHUNK == 0
               ? c
               : xl__round_up(d->c, unit);
}

/* Copy images, with pixels of c elements, and change the convolution to that
 * of the copy. Returns the columns of a filter's copy. */
static size_t copy_images(size_t c, size_t unit, struct xl__windows *w)
{
    xl_conv *const d = &w->conv;
    struct xl__window_copy *const to = &w->images;
    size_t columns = d->s;
    *to = (struct xl__window_copy){.mem = xl__conv_slot_in(d),
                                   .value = value_of(xl__conv_slot_in(d)),
                                   .n = d->n,
                                   .h = d->h,
                                   .w = d->w,
                                   .c = c,
                                   .from_n = d->n,
                                   .from_w = d->w,
                                   .from_c = d->c};
    for (unsigned at = 0; at < XL__N_AT; at++)
        to->stride[at] = d->in.stride[at];
    d->in.stride[XL__AT_W] = c;
    d->c = c;
    if (c < CHUNK) {
        const size_t run = xl__round_up(d->s * c, unit);
        columns = run / c;
        to->left = d->pad_left;
        to->w = xl__round_up(xl__max_size((w->q - 1) * d->stride_w + columns,
                                          d->pad_left + d->w),
                             CHUNK / c);
        d->in.stride[XL__AT_W] = d->stride_w * c;
        d->c = run;
        d->s = d->stride_w = 1;
        d->w = w->q;
        d->pad_left = 0;
    }
    d->in.stride[XL__AT_H] = to->w * c;
    d->in.stride[XL__AT_N] = to->h * to->w * c;
    return columns;
}

struct xl__implicit_filter xl__implicit_images(const xl_conv *d,
                                               struct xl__implicit_unit unit,
                                               struct xl__windows *w)
{
    if (xl__implicit_reads(d, unit))
        return (struct xl__implicit_filter){d->s, xl__conv_cg(d)};
    const size_t c = copied_channels(d, unit.copied);
    return (struct xl__implicit_filter){copy_images(c, unit.copied, w), c};
}

static void find_copies(const xl_conv *d, struct xl__implicit_unit unit,
                        struct xl__windows *w)
{
    const bool is_read = xl__implicit_reads(d, unit);
    const struct xl__implicit_filter f = xl__implicit_images(d, unit, w);
    if (is_read && d->filters.offset % COPY_BYTES == 0 &&
        (d->filters.layout == XL_KRSC || d->r * d->s == 1))
        return;
    w->filters =
        (struct xl__window_copy){.mem = xl__conv_slot_filters(d),
                                 .value = value_of(xl__conv_slot_filters(d)),
                                 .n = d->k,
                                 .h = d->r,
                                 .w = f.columns,
                                 .c = f.c,
                                 .from_n = d->k,
                                 .from_w = d->s,
                                 .from_c = xl__conv_cg(d)};
    xl__conv_filter_strides(d, w->filters.stride);
}

/* Pairs of bytes as elements. */
static void halve_elements(xl_conv *w)
{
    enum { PAIR = 2 };
    w->c /= PAIR;
    w->in.stride[XL__AT_N] /= PAIR;
    w->in.stride[XL__AT_H] /= PAIR;
    w->in.stride[XL__AT_W] /= PAIR;
}

/* -- the product ---------------------------------------------------------- */

static const char *find_refusal(const struct xl__conv_canonical *c,
                                const struct xl__variant *of)
{
    const xl_conv *d = &c->d;
    const struct xl__implicit_unit unit = xl__implicit_unit(of);
    const bool is_bytes = d->in.dtype == XL_I8 && of == &xl__gemm_dpas;
    size_t stride;
    if (d->in.dtype != XL_F16 && d->in.dtype != XL_BF16 && !is_bytes)
        return "it multiplies f16 and bf16 alone, gemm_dpas i8 too";
    if (is_bytes && (is_by_image(d) || !xl__implicit_reads(d, unit) ||
                     (d->filters.layout != XL_KRSC && d->r * d->s > 1)))
        return "of i8 it multiplies images of NHWC, whose channels are "
               "aligned "
               "multiples of 32, and filters of KRSC";
    if (is_by_image(d) && d->groups > 1)
        return "in NCHW a product is of one group of channels";
    if (d->out.stride[is_by_image(d) ? XL__AT_W : XL__AT_C] > 1)
        return "the columns (NCHW) or channels (NHWC) of out are not "
               "contiguous";
    if (d->c == 0 || (d->groups > 1 && !xl__implicit_reads(d, unit)))
        return "the channels of a group are no aligned multiples of 16 bytes, "
               "32 for gemm_dpas";
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    if (!find_pixel_stride(c, &stride))
        return "the pixels of out have no common stride";
    if (c->by_image && !is_by_image(d))
        return "an operand of the epilogue differs from image to image";
    if (d->groups > 1 && xl__conv_has_tensors(c))
        return "the epilogue has operands, and a product is of one group of "
               "channels";
    return NULL;
}

/* A product and the images that its A is gathered from. */
struct implicit {
    struct xl__gemm_canonical product;
    struct xl__windows windows;
};

void xl__implicit_product(const xl_gemm *g, const struct xl__windows *w,
                          const size_t base[3], struct xl__gemm_canonical *to)
{
    to->g.m = g->m;
    to->g.n = g->n;
    to->g.k = g->k;
    to->g.alpha = g->alpha;
    to->g.beta = g->beta;
    to->g.batch = g->batch;
    to->windows = w;
    to->windows_bytes = xl__windows_bytes(w);
    to->windows_of_b = w->of_b;
    xl__gemm_set_views(g, base, &to->g);
}

/* Operands and steps of the batch, before views are made canonical. */
static xl_gemm product_of(const struct xl__conv_canonical *c,
                          const xl_conv *w, size_t pixel_stride)
{
    const bool by_image = is_by_image(w);
    const size_t cg = xl__conv_cg(w), kg = xl__conv_kg(w);
    const size_t depth = xl__conv_depth(w), pixels = c->p * c->q;
    const xl_mat images = {.mem.svm = w->in.mem.svm,
                           .row_stride = by_image ? 1 : cg,
                           .col_stride = by_image ? cg : 1,
                           .dtype = w->in.dtype};
    const xl_mat filters = {.mem.svm = w->filters.mem.svm,
                            .row_stride = by_image ? depth : 1,
                            .col_stride = by_image ? 1 : depth,
                            .dtype = w->filters.dtype};
    const size_t *out = w->out.stride;
    xl_gemm g = {.m = by_image ? kg : w->n * pixels,
                 .n = by_image ? pixels : kg,
                 .k = depth,
                 .alpha = 1,
                 .beta = w->beta,
                 .a = by_image ? filters : images,
                 .b = by_image ? images : filters,
                 .c = {.mem.svm = w->out.mem.svm,
                       .row_stride = by_image
                                         ? xl__max_size(out[XL__AT_C], pixels)
                                         : xl__max_size(pixel_stride, kg),
                       .col_stride = 1,
                       .dtype = w->out.dtype},
                 .batch.count = by_image ? w->n : w->groups};
    if (g.batch.count > 1) {
        g.batch.a_step = by_image ? 0 : cg;
        g.batch.b_step = by_image ? w->in.stride[XL__AT_N] : kg * depth;
        g.batch.c_step = by_image ? out[XL__AT_N] : kg;
    }
    return g;
}

static const char *map_to_product(const struct xl__conv_canonical *c,
                                  const struct xl__variant *of,
                                  struct implicit *to)
{
    const xl_conv *d = &c->d;
    const struct xl__implicit_unit unit = xl__implicit_unit(of);
    const bool is_bytes = d->in.dtype == XL_I8;
    const char *why = find_refusal(c, of);
    size_t stride;
    if (why)
        return why;
    find_pixel_stride(c, &stride);
    *to = (struct implicit){.windows = {.of_b = is_by_image(d),
                                        .conv = *d,
                                        .p = c->p,
                                        .q = c->q}};
    if (!is_bytes)
        find_copies(d, unit, &to->windows);
    xl_conv *const w = &to->windows.conv;
    const xl_gemm g = product_of(c, w, stride);
    if (is_bytes)
        halve_elements(w);
    if (xl__conv_span_of_input(w) / CHUNK > UINT32_MAX)
        return "offsets in 16 bytes do not fit in 32 bits";
    const size_t images = to->windows.images.n > 0 ? COPY_BYTES : d->in.offset;
    const size_t filters =
        to->windows.filters.n > 0 ? COPY_BYTES : d->filters.offset;
    const size_t base[] = {is_by_image(d) ? filters : images,
                           is_by_image(d) ? images : filters, d->out.offset};
    xl__implicit_product(&g, &to->windows, base, &to->product);
    to->product.snippet = c->snippet;
    return xl__gemm_orient(&to->product.g).is_swapped
               ? "there is one filter, or in NCHW one pixel"
               : NULL;
}

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    struct implicit i;
    const char *why = map_to_product(desc, of, &i);
    return why ? why : of->refuses(l, &i.product);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__variant *of, struct xl__params *out)
{
    struct implicit i;
    if (!map_to_product(desc, of, &i))
        of->choose(l, &i.product, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct implicit i;
    if (map_to_product(desc, of, &i))
        return XL_UNSUPPORTED;
    const xl_status status = of->plan(l, &i.product, params, p);
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    return status;
}

#define VARIANT(method, ...)                                                  \
    XL__BY_GEMM(conv_, method,                                                \
                .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},               \
                .own = &(const struct xl__conv_own){__VA_ARGS__})
VARIANT(wgmma, .has_plain = true)
VARIANT(mma, .has_plain = true)
VARIANT(dpas, .by_pixel = true)
