/* SPDX-License-Identifier: Apache-2.0 */
/* conv_filters_mma, _wgmma, _dpas: the gradient of filters as a product of
 * matrices on a matrix engine, by gemm_mma, gemm_wgmma and gemm_dpas, whose
 * kernels gather B from the images:
 *
 *   filters   is   filters x (rows, columns, channels of a filter)
 *   depth          pixels of out, of all images
 *
 * A is the gradient of out, where pixels have one stride and channels are
 * contiguous, else a copy in NHWC; images are gathered where implicit.c does,
 * else from its copy. The depth, which is long where the product is small, is
 * cut by the tiles' units, whose sums are added in order. Filters of another
 * layout than KRSC, and those of copied images, are sums in scratch memory
 * first.
 *
 * gemm_dpas multiplies words of two elements along k, which here are the same
 * pixel of two images: neither strides nor padding part them. It copies images
 * in pairs and cuts the depth into parts, products of a batch with as many
 * pairs each, whose sums the last step adds. An odd image's partner is 0. */
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/conv/implicit.h"
#include "ops/conv/rearrange.h"
#include "ops/gemm/engines/mma.h"
#include "ops/gemm/orientation.h"
#include "ops/path/cost.h"

enum {
    CHUNK = XL__IMPLICIT_BYTES / 2,
    PAIR = 2,
    FEW_PAIRS = 8,
    TILE_ROWS = 32, /* about those of a sub-group, to count tiles */
    TILES_PER_UNIT = 2
};

struct filters_product {
    struct xl__gemm_canonical product;
    struct xl__windows windows;
    struct xl__implicit_filter filter; /* of windows.conv */
    size_t pixel;                      /* elements from one to the next of A */
    size_t parts;                      /* of pairs of images; 1: none */
    bool is_direct;                    /* the product is the result */
};

static bool takes_pairs(const struct xl__variant *of)
{
    return of == &xl__gemm_dpas;
}

static const char *find_refusal(const struct xl__conv_canonical *c,
                                const struct xl__variant *of)
{
    const xl_conv *d = &c->d;
    size_t pixel = d->out.stride[XL__AT_W];
    if (d->in.dtype != XL_F16 && d->in.dtype != XL_BF16)
        return "it multiplies f16 and bf16 alone";
    if (d->n == 0 || d->c == 0 || d->k == 0)
        return "there is no sum";
    if (xl__conv_kg(d) == 1)
        return "there is one filter";
    if (takes_pairs(of) && d->groups > 1)
        return "it multiplies one group of channels";
    if (takes_pairs(of) &&
        !xl__conv_join(c->p, d->out.stride[XL__AT_H], c->q, &pixel))
        return "the pixels of an image of out have no common stride";
    if (d->groups > 1 && !xl__implicit_reads(d, xl__implicit_unit(of)))
        return "the channels of a group are no aligned multiples of 16 bytes";
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    return NULL;
}

/* -- A -------------------------------------------------------------------- */

/* Where the gradient of out is A as it is. */
static bool reads_out(const struct xl__conv_canonical *c, size_t *pixel)
{
    const xl_conv *d = &c->d;
    const size_t *out = d->out.stride;
    *pixel = out[XL__AT_W];
    return out[XL__AT_C] <= 1 &&
           xl__conv_join(c->p, out[XL__AT_H], c->q, pixel) &&
           xl__conv_join(d->n, out[XL__AT_N], c->p * c->q, pixel);
}

/* Tensor maps have lines at multiples of 16 bytes. */
static bool is_mapped(const xl_conv *d, size_t pixel,
                      const struct xl__variant *of)
{
    return of != &xl__gemm_wgmma ||
           (pixel % CHUNK == 0 && d->out.offset % XL__IMPLICIT_BYTES == 0);
}

static void copy_out(const struct xl__conv_canonical *c,
                     struct filters_product *to)
{
    const xl_conv *d = &c->d;
    struct xl__window_copy *const copy = &to->windows.filters;
    to->pixel = xl__round_up(d->k, CHUNK);
    *copy = (struct xl__window_copy){.mem = XL__GEMM_A,
                                     .value = XL__GEMM_OFF_A,
                                     .n = d->n,
                                     .h = c->p,
                                     .w = c->q,
                                     .c = to->pixel,
                                     .from_n = d->n,
                                     .from_w = c->q,
                                     .from_c = d->k};
    for (unsigned at = 0; at < XL__N_AT; at++)
        copy->stride[at] = d->out.stride[at];
}

/* -- pairs of images ------------------------------------------------------ */

/* The fewest parts that fill a device, but two where there are two pairs: then
 * a case of few images has the same kernel. Of few, a part has two. */
static size_t choose_parts(const struct xl__limits *l, const xl_conv *d,
                           size_t cols, size_t pairs)
{
    const size_t wanted =
        TILES_PER_UNIT * xl__size_or(l, XL__F_compute_units, 1);
    const size_t tiles =
        xl__ceil_div(d->k, TILE_ROWS) * xl__ceil_div(cols, TILE_ROWS);
    const size_t most = pairs < FEW_PAIRS ? xl__ceil_div(pairs, 2) : pairs;
    size_t parts = xl__min_size(xl__min_size(pairs, xl__max_size(2, most)),
                                xl__max_size(2, wanted / tiles));
    while (pairs % parts != 0)
        parts++;
    return parts;
}

static void pair_images(const struct xl__limits *l, size_t unit,
                        struct filters_product *to)
{
    struct xl__windows *const w = &to->windows;
    xl_conv *const d = &w->conv;
    const size_t c = xl__round_up(d->c, unit),
                 pairs = xl__ceil_div(d->n, PAIR);
    w->images = (struct xl__window_copy){.n = pairs,
                                         .h = d->h,
                                         .w = d->w,
                                         .c = PAIR * c,
                                         .from_n = d->n,
                                         .from_w = d->w,
                                         .from_c = d->c,
                                         .pairs = true};
    memcpy(w->images.stride, d->in.stride, sizeof w->images.stride);
    w->out_images = d->n;
    w->out_step = d->out.stride[XL__AT_N];
    to->filter = (struct xl__implicit_filter){d->s, c};
    to->parts = choose_parts(l, d, d->r * d->s * c, pairs);
    d->n = pairs;
    d->c = d->in.stride[XL__AT_W] = PAIR * c;
    d->in.stride[XL__AT_H] = d->w * d->c;
    d->in.stride[XL__AT_N] = d->h * d->w * d->c;
}

/* -- the product ---------------------------------------------------------- */

static xl_gemm product_of(const struct xl__conv_canonical *c,
                          const struct filters_product *f)
{
    const xl_conv *d = &c->d, *w = &f->windows.conv;
    const size_t kg = xl__conv_kg(d);
    const size_t cols = w->r * f->filter.columns * f->filter.c;
    xl_gemm g = {
        .m = kg,
        .n = cols,
        .k = (f->windows.images.pairs ? PAIR * w->n / f->parts : d->n) * c->p *
             c->q,
        .alpha = 1,
        .beta = f->is_direct ? d->beta : 0,
        .a = {.mem.svm = d->out.mem.svm,
              .row_stride = f->windows.filters.n > 0
                                ? 1
                                : xl__max_size(1, d->out.stride[XL__AT_C]),
              .col_stride = xl__max_size(1, f->pixel),
              .dtype = d->out.dtype},
        .b = {.mem.svm = d->in.mem.svm,
              .row_stride = cols,
              .col_stride = 1,
              .dtype = d->in.dtype},
        .c = {.mem.svm = d->filters.mem.svm,
              .row_stride = cols,
              .col_stride = 1,
              .dtype = f->is_direct ? d->filters.dtype : xl__conv_y(c)},
        .batch.count = xl__max_size(d->groups, f->parts)};
    if (f->parts > 1) {
        g.batch.a_step = g.k / (c->p * c->q) * f->windows.out_step;
        g.batch.b_step = w->n / f->parts * w->in.stride[XL__AT_N];
        g.batch.c_step = kg * cols;
    } else if (g.batch.count > 1) {
        g.batch.a_step = kg;
        g.batch.b_step = xl__conv_cg(d);
        g.batch.c_step = kg * cols;
    }
    return g;
}

static const char *map_to_product(const struct xl__limits *l,
                                  const struct xl__conv_canonical *c,
                                  const struct xl__variant *of,
                                  struct filters_product *to)
{
    const xl_conv *d = &c->d;
    const struct xl__implicit_unit unit = xl__implicit_unit(of);
    const char *why = find_refusal(c, of);
    if (why)
        return why;
    *to = (struct filters_product){.windows = {.of_b = true,
                                               .across = true,
                                               .conv = *d,
                                               .p = c->p,
                                               .q = c->q},
                                   .parts = 1};
    struct xl__windows *const w = &to->windows;
    const bool reads = reads_out(c, &to->pixel);
    if (takes_pairs(of))
        pair_images(l, unit.read, to);
    else
        to->filter = xl__implicit_images(d, unit, w);
    w->images.mem = XL__GEMM_B;
    w->images.value = XL__GEMM_OFF_B;
    if (xl__conv_span_of_input(&w->conv) / CHUNK > UINT32_MAX)
        return "offsets in 16 bytes do not fit in 32 bits";
    if (!takes_pairs(of) && (!reads || !is_mapped(d, to->pixel, of)))
        copy_out(c, to);
    to->is_direct =
        w->images.n == 0 && (d->filters.layout == XL_KRSC || d->r * d->s == 1);
    const size_t base[] = {
        w->filters.n > 0 ? XL__IMPLICIT_BYTES : d->out.offset,
        w->images.n > 0 ? XL__IMPLICIT_BYTES : d->in.offset,
        to->is_direct ? d->filters.offset : XL__IMPLICIT_BYTES};
    const xl_gemm g = product_of(c, to);
    xl__implicit_product(&g, w, base, &to->product);
    return NULL;
}

/* -- the plan ------------------------------------------------------------- */

/* Channels behind rows and columns. */
static void rotate_dims(size_t dims[XL__REARRANGED_DIMS])
{
    const size_t c = dims[2];
    dims[2] = dims[4];
    dims[4] = 0;
    dims[6] = c;
}

/* From the product to the filters; returns the bytes that it moves. */
static double add_last_step(const struct xl__limits *l,
                            const struct xl__conv_canonical *c,
                            const struct filters_product *f,
                            const struct xl__conv_place *sums,
                            struct xl__plan *p)
{
    const xl_conv *d = &c->d;
    const unsigned slot = xl__conv_slot_filters(d);
    const size_t row = f->filter.columns * f->filter.c;
    size_t to[XL__N_AT];
    xl__conv_filter_strides(d, to);
    struct xl__rearranged r = {
        .from = *sums,
        .to = {.mem = slot, .value = slot - XL__CONV_A + XL__CONV_OFF_A},
        .from_dtype = xl__conv_y(c),
        .to_dtype = xl__conv_result_dtype(d),
        .y_dtype = xl__conv_y(c),
        .size = {1, d->k, xl__conv_cg(d), 1, d->r, d->s},
        .src = {0, d->r * row, 1, 0, row, f->filter.c},
        .dst = {0, to[XL__AT_N], to[XL__AT_C], 0, to[XL__AT_H], to[XL__AT_W]},
        .parts = f->parts,
        .part = d->k * d->r * row,
        .align = d->filters.offset,
        .alpha = XL__CONV_ALPHA,
        .beta = XL__CONV_BETA};
    if (d->filters.layout == XL_KRSC) {
        rotate_dims(r.size);
        rotate_dims(r.src);
        rotate_dims(r.dst);
    }
    return xl__conv_rearrange(l, &r, p);
}

/* Where A, B and C of GEMM's plan are; sums behind its scratch memory. */
static void find_places(const xl_conv *d, const struct filters_product *f,
                        struct xl__plan *p, struct xl__conv_place to[3])
{
    const unsigned in = xl__conv_slot_in(d),
                   filters = xl__conv_slot_filters(d);
    to[0] = (struct xl__conv_place){XL__CONV_OUT, XL__CONV_OFF_OUT, 0};
    to[1] = (struct xl__conv_place){in, in - XL__CONV_A + XL__CONV_OFF_A, 0};
    to[2] = (struct xl__conv_place){filters,
                                    filters - XL__CONV_A + XL__CONV_OFF_A, 0};
    if (f->is_direct)
        return;
    const xl_gemm *g = &f->product.g;
    const size_t bytes = xl_dtype_bytes(g->c.dtype);
    const size_t first = xl__round_up(p->scratch_bytes, XL__IMPLICIT_BYTES);
    to[2] = (struct xl__conv_place){XL__MEM_SCRATCH, 0, first / bytes};
    p->scratch_bytes = first + f->parts * d->k * g->n * bytes;
}

static const char *refuse(const struct xl__limits *l, const void *desc,
                          const struct xl__variant *of)
{
    struct filters_product f;
    const char *why = map_to_product(l, desc, of, &f);
    return why ? why : of->refuses(l, &f.product);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__variant *of, struct xl__params *out)
{
    struct filters_product f;
    if (!map_to_product(l, desc, of, &f))
        of->choose(l, &f.product, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__variant *of,
                      const struct xl__params *params, struct xl__plan *p)
{
    xl_status status = XL_OK;
    const struct xl__conv_canonical *c = desc;
    struct filters_product f;
    struct xl__conv_place place[3];
    if (map_to_product(l, desc, of, &f))
        return XL_UNSUPPORTED;
    TRY(of->plan(l, &f.product, params, p));
    find_places(&c->d, &f, p, place);
    for (unsigned i = 0; i < p->n_steps; i++) {
        for (unsigned a = 0; a < p->step[i].n_args; a++)
            xl__conv_redirect(place, &p->step[i].args[a]);
    }
    if (!f.is_direct) {
        const double before = p->est_ns;
        const char *const bound = p->bound;
        if (p->n_steps == XL__MAX_STEPS)
            return XL_UNSUPPORTED;
        const struct xl__cost moved = {
            .bytes = add_last_step(l, c, &f, &place[2], p),
            .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
            .launches = 1};
        xl__estimate(l, &moved, p);
        p->est_ns += before;
        p->bound = bound;
    }
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
fail:
    return status;
}

XL__BY_GEMM(conv_filters_, wgmma,
            .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
            .own = &(const struct xl__conv_own){.has_plain = true})
XL__BY_GEMM(conv_filters_, mma, .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
            .own = &(const struct xl__conv_own){.has_plain = true})
XL__BY_GEMM(conv_filters_, dpas,
            .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
            .own = &(const struct xl__conv_own){.by_pixel = true})
