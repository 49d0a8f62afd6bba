/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with filters of one element as a product of matrices, by the
 * variants of GEMM: in place, without a copy of the images.
 *
 *   out           is  rows x columns     depth
 *   NHWC              pixels x filters   channels of a group
 *   NCHW              filters x pixels   channels of a group
 *
 * The pixels of an image are one dimension where they have one stride; those
 * of all images where that leads from an image to the next, too, in both
 * images and in the operands of the epilogue. Else images are products of a
 * batch, as groups are. */
#include "base/numbers.h"
#include "ops/conv/conv.h"

/* The pixels of in that a product reads, those of out that it writes. */
struct pixels {
    size_t images; /* products of the batch */
    size_t n;      /* pixels of a product */
    size_t in, out; /* strides */
};

static bool find_pixels(const struct xl__conv_canonical *c, struct pixels *x)
{
    const xl_conv *d = &c->d;
    const size_t *in = d->in.stride, *out = d->out.stride;
    *x = (struct pixels){.images = d->n,
                         .n = c->p * c->q,
                         .in = d->stride_w * in[XL__AT_W],
                         .out = out[XL__AT_W]};
    if (!xl__conv_join(c->p, d->stride_h * in[XL__AT_H], c->q, &x->in) ||
        !xl__conv_join(c->p, out[XL__AT_H], c->q, &x->out))
        return false;
    struct pixels all = *x;
    if (!c->by_image && xl__conv_join(d->n, in[XL__AT_N], x->n, &all.in) &&
        xl__conv_join(d->n, out[XL__AT_N], x->n, &all.out)) {
        all.n *= d->n;
        all.images = 1;
        *x = all;
    }
    return true;
}

/* -- the operands --------------------------------------------------------- */

/* Pixels, or filters, by channels; `transposed`: channels by these. A stride
 * along a dimension of size 1 is 0 here, which no matrix has. */
static xl_mat make_view(size_t stride, size_t channel_stride, xl_dtype dtype,
                        bool transposed)
{
    const size_t x = xl__max_size(stride, 1),
                 c = xl__max_size(channel_stride, 1);
    return (xl_mat){.row_stride = transposed ? c : x,
                    .col_stride = transposed ? x : c,
                    .dtype = dtype};
}

/* Steps of the batch: along images, along groups, or along both. */
static void set_steps(xl_batch *b, size_t images, size_t groups,
                      const size_t by_image[3], const size_t by_group[3])
{
    const size_t *step = images > 1 ? by_image : by_group;
    b->count = images * groups;
    if (b->count == 1)
        return;
    b->a_step = step[0];
    b->b_step = step[1];
    b->c_step = step[2];
    if (images == 1 || groups == 1)
        return;
    b->inner = groups;
    b->a_inner = by_group[0];
    b->b_inner = by_group[1];
    b->c_inner = by_group[2];
    b->a_share = b->b_share = 1;
}

static void set_operands(const struct xl__conv_canonical *c,
                         const struct pixels *x, xl_gemm *g, size_t base[3])
{
    const xl_conv *d = &c->d;
    const bool first = d->out.layout == XL_NCHW;
    const unsigned in = first, filters = !first; /* of A, B */
    const size_t cg = xl__conv_cg(d), kg = xl__conv_kg(d);
    xl_mat *const mat[] = {&g->a, &g->b, &g->c};
    size_t by_image[3] = {0}, by_group[3];
    *mat[in] = make_view(x->in, d->in.stride[XL__AT_C], d->in.dtype, first);
    *mat[filters] = make_view(cg, 1, d->filters.dtype, !first);
    *mat[2] = make_view(x->out, d->out.stride[XL__AT_C], d->out.dtype, first);
    mat[in]->mem.svm = d->in.mem.svm;
    mat[filters]->mem.svm = d->filters.mem.svm;
    mat[2]->mem.svm = d->out.mem.svm;
    base[in] = d->in.offset;
    base[filters] = d->filters.offset;
    base[2] = d->out.offset;
    by_image[in] = d->in.stride[XL__AT_N];
    by_image[2] = d->out.stride[XL__AT_N];
    by_group[in] = cg * d->in.stride[XL__AT_C];
    by_group[filters] = kg * cg;
    by_group[2] = kg * d->out.stride[XL__AT_C];
    set_steps(&g->batch, x->images, d->groups, by_image, by_group);
}

/* -- the product ---------------------------------------------------------- */

/* NULL, or why the convolution is no product of matrices. */
static const char *find_refusal(const struct xl__conv_canonical *c,
                                struct pixels *x)
{
    const xl_conv *d = &c->d;
    if (d->r * d->s > 1)
        return "filters have more than one element";
    if (d->pad_top || d->pad_bottom || d->pad_left || d->pad_right)
        return "there is padding";
    if (!find_pixels(c, x))
        return "the pixels of an image that are read, or written, have no "
               "common stride";
    if (d->groups > 1 && xl__conv_has_tensors(c))
        return "the epilogue has operands, and a product is of one group of "
               "channels";
    return NULL;
}

static const char *map_to_product(const void *canonical, void *to)
{
    const struct xl__conv_canonical *c = canonical;
    const xl_conv *d = &c->d;
    const bool first = d->out.layout == XL_NCHW;
    struct xl__gemm_canonical *product = to;
    struct pixels x;
    size_t base[3];
    const char *why = find_refusal(c, &x);
    if (why)
        return why;
    xl_gemm g = {.m = first ? xl__conv_kg(d) : x.n,
                 .n = first ? x.n : xl__conv_kg(d),
                 .k = xl__conv_cg(d),
                 .alpha = 1};
    set_operands(c, &x, &g, base);
    product->g.m = g.m;
    product->g.n = g.n;
    product->g.k = g.k;
    product->g.alpha = g.alpha;
    product->g.beta = d->beta;
    product->g.batch = g.batch;
    product->snippet = c->snippet;
    xl__gemm_set_views(&g, base, &product->g);
    return NULL;
}

/* -- the variants, one for each of GEMM's --------------------------------- */

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    struct xl__gemm_canonical product = {.g = {0}};
    const char *why = map_to_product(desc, &product);
    return why ? why : of->refuses(l, &product);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__variant *of, struct xl__params *out)
{
    struct xl__gemm_canonical product = {.g = {0}};
    if (!map_to_product(desc, &product))
        of->choose(l, &product, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct xl__gemm_canonical product = {.g = {0}};
    if (map_to_product(desc, &product))
        return XL_UNSUPPORTED;
    return of->plan(l, &product, params, p);
}

/* `on`: as the variant of GEMM has it. */
#define VARIANT(method, ...)                                                  \
    XL__BY_GEMM(conv_gemm_, method, .on = {__VA_ARGS__},                      \
                .inner = &(const struct xl__inner){                           \
                    &xl__op_gemm, &xl__gemm_##method, map_to_product})
VARIANT(wgmma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANT(mma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANT(cpu, .engine = XL_ENGINE_FMA)
VARIANT(simt, .engine = XL_ENGINE_FMA)
VARIANT(skinny, .engine = XL_ENGINE_FMA)
VARIANT(tiled, .engine = XL_ENGINE_FMA)
