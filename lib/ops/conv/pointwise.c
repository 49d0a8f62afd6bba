/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with filters of one element, and its gradients, as a product of
 * matrices, by the variants of GEMM: in place, without a copy of the images.
 *
 *   result, layout    rows x columns     depth
 *   out, NHWC         pixels x filters   channels of a group
 *   out, NCHW         filters x pixels   channels of a group
 *   in, NHWC          pixels x channels  filters of a group
 *   in, NCHW          channels x pixels  filters of a group
 *   filters           filters x channels pixels of all images
 *
 * The pixels of an image are one dimension where they have one stride; those
 * of all images where that leads from an image to the next, too, in both
 * images and in the operands of the epilogue. Else images are products of a
 * batch, as groups are. */
#include "base/numbers.h"
#include "ops/conv/rearrange.h"

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

/* The memory of the convolution that an operand of the product is. */
enum role { IN, FILTERS, OUT };
static void find_roles(const xl_conv *d, enum role role[3])
{
    const bool first = d->out.layout == XL_NCHW;
    const enum role forward[] = {first ? FILTERS : IN, first ? IN : FILTERS,
                                 OUT};
    const enum role data[] = {first ? FILTERS : OUT, first ? OUT : FILTERS,
                              IN};
    const enum role filters[] = {OUT, IN, FILTERS};
    const enum role *of = d->pass == XL_CONV_BACKWARD_DATA      ? data
                          : d->pass == XL_CONV_BACKWARD_FILTERS ? filters
                                                                : forward;
    for (unsigned i = 0; i < 3; i++)
        role[i] = of[i];
}

static void set_operands(const struct xl__conv_canonical *c,
                         const struct pixels *x, xl_gemm *g, size_t base[3])
{
    const xl_conv *d = &c->d;
    const size_t cg = xl__conv_cg(d), kg = xl__conv_kg(d);
    const bool is_filters = d->pass == XL_CONV_BACKWARD_FILTERS;
    const bool first = d->out.layout == XL_NCHW && !is_filters;
    xl_mat *const mat[] = {&g->a, &g->b, &g->c};
    size_t by_image[3] = {0}, by_group[3];
    enum role role[3];
    find_roles(d, role);
    for (unsigned i = 0; i < 3; i++) {
        const xl_images *images = role[i] == IN ? &d->in : &d->out;
        if (role[i] == FILTERS) {
            const bool is_turned =
                !is_filters && (d->pass == XL_CONV_FORWARD) != first;
            *mat[i] = make_view(cg, 1, d->filters.dtype, is_turned);
            mat[i]->mem.svm = d->filters.mem.svm;
            base[i] = d->filters.offset;
            by_group[i] = kg * cg;
            continue;
        }
        *mat[i] =
            make_view(role[i] == IN ? x->in : x->out, images->stride[XL__AT_C],
                      images->dtype, is_filters ? i == 0 : first);
        mat[i]->mem.svm = images->mem.svm;
        base[i] = images->offset;
        by_image[i] = images->stride[XL__AT_N];
        by_group[i] = (role[i] == IN ? cg : kg) * images->stride[XL__AT_C];
    }
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
    if (d->pass == XL_CONV_BACKWARD_DATA && d->stride_h * d->stride_w > 1)
        return "the filter skips pixels";
    if (d->pass == XL_CONV_BACKWARD_FILTERS && x->images > 1)
        return "images are products of their own, which are not summed";
    if (d->n == 0 || d->c == 0 || d->k == 0)
        return "there is no sum";
    if (d->groups > 1 && xl__conv_has_tensors(c))
        return "the epilogue has operands, and a product is of one group of "
               "channels";
    return NULL;
}

static const char *map_to_product(const void *canonical, void *to)
{
    const struct xl__conv_canonical *c = canonical;
    const xl_conv *d = &c->d;
    struct xl__gemm_canonical *product = to;
    struct pixels x;
    size_t base[3];
    const char *why = find_refusal(c, &x);
    if (why)
        return why;
    const bool first = d->out.layout == XL_NCHW;
    const bool is_data = d->pass == XL_CONV_BACKWARD_DATA;
    const size_t cg = xl__conv_cg(d), kg = xl__conv_kg(d);
    const size_t channels = is_data ? cg : kg;
    xl_gemm g = {.m = first ? channels : x.n,
                 .n = first ? x.n : channels,
                 .k = is_data ? kg : cg,
                 .alpha = 1};
    if (d->pass == XL_CONV_BACKWARD_FILTERS) {
        g.m = kg;
        g.n = cg;
        g.k = x.n;
    }
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

/* Where A, B and C of the product's plan are. */
static void find_places(const xl_conv *d, struct xl__conv_place to[3])
{
    const unsigned slots[] = {[IN] = xl__conv_slot_in(d),
                              [FILTERS] = xl__conv_slot_filters(d),
                              [OUT] = XL__CONV_OUT};
    enum role role[3];
    find_roles(d, role);
    for (unsigned i = 0; i < 3; i++) {
        const unsigned slot = slots[role[i]];
        to[i] = (struct xl__conv_place){
            .mem = slot, .value = slot - XL__CONV_A + XL__CONV_OFF_A};
    }
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct xl__gemm_canonical product = {.g = {0}};
    if (map_to_product(desc, &product))
        return XL_UNSUPPORTED;
    const xl_status status = of->plan(l, &product, params, p);
    struct xl__conv_place place[3];
    find_places(desc, place);
    for (unsigned i = 0; i < p->n_steps; i++) {
        for (unsigned a = 0; a < p->step[i].n_args; a++)
            xl__conv_redirect(place, &p->step[i].args[a]);
    }
    return status;
}

/* Of each pass one. `on`: as the variant of GEMM has it. */
#define PASS(prefix, method, ...)                                             \
    XL__BY_GEMM_VARIANT(                                                      \
        prefix, method, .on = {__VA_ARGS__},                                  \
        .inner = &(const struct xl__inner){&xl__op_gemm, &xl__gemm_##method,  \
                                           map_to_product})
#define VARIANTS(method, ...)                                                 \
    XL__BY_GEMM_FUNCTIONS(method)                                             \
    PASS(conv_gemm_, method, __VA_ARGS__)                                     \
    PASS(conv_data_gemm_, method, __VA_ARGS__)                                \
    PASS(conv_filters_gemm_, method, __VA_ARGS__)
VARIANTS(wgmma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANTS(mma, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANTS(dpas, .engine = XL_ENGINE_MATRIX, .terms = 1)
VARIANTS(cpu, .engine = XL_ENGINE_FMA)
VARIANTS(simt, .engine = XL_ENGINE_FMA)
VARIANTS(skinny, .engine = XL_ENGINE_FMA)
VARIANTS(tiled, .engine = XL_ENGINE_FMA)
