/* SPDX-License-Identifier: Apache-2.0 */
/* The backward passes as forward convolutions, which a forward variant
 * computes between steps that rearrange operands (conv/rearrange.cl).
 *
 * Data. A pixel of in at row y has the products of the filter's rows r with
 * r dilation = y + pad_top modulo the stride. So the pixels of one residue of
 * the stride, along rows and columns, are a convolution of out's gradient with
 * every so-manieth row and column of the filters, rotated, channels and
 * filters exchanged; its stride is 1 (Dumoulin, Visin 2018, section 4). With
 * stride 1 there is one, which writes the result; else each writes scratch
 * memory, and the last step weaves them together. There values are of the
 * result's type where the old result is not added, else sums.
 *
 * Filters. An element of a filter is a sum over images and positions: a
 * convolution of in, whose images are its channels and whose channels are its
 * images, with out's gradient as filters of p x q; stride and dilation change
 * places. Images are split into parts where there are few tiles otherwise;
 * parts and groups are groups of that convolution, and the last step adds the
 * parts in order. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/conv/rearrange.h"
#include "ops/path/check.h"
#include "ops/path/cost.h"

enum {
    MOST_PARTS = 4, /* residues of strides, each with steps of its own */
    AREA_BYTES = 128,
    LEAST_DEPTH = 1024, /* of a part of a sum: more than any slice */
    TILE_FILTERS = 64,  /* about that of a tile, to count tiles */
    TILE_PIXELS = 128,
    TILES_PER_UNIT = 4
};

/* One convolution. */
struct part {
    struct xl__conv_canonical f;
    struct xl__conv_place in, filters, out;
    struct xl__rearranged rotated; /* data: the filters */
};

struct lowered {
    const struct xl__conv_canonical *c;
    unsigned n;
    struct part part[MOST_PARTS];
    bool is_direct;    /* data: the convolution writes the result */
    uint64_t missing;  /* data: residues without a part */
    size_t rows, cols; /* data: pixels of a part */
    size_t parts;      /* filters: of the images */
    bool copies_in;    /* filters: to scratch memory */
    size_t filter_elems, in_elems,
        out_elems; /* of scratch memory, all parts */
};

static xl_dtype sum_dtype(const struct xl__conv_canonical *c)
{
    return xl__conv_y(c);
}

/* The type of data's residues in scratch memory. */
static bool is_plain(const struct xl__conv_canonical *c)
{
    return c->d.pass == XL_CONV_BACKWARD_DATA && c->d.beta == 0;
}

static xl_dtype part_dtype(const struct xl__conv_canonical *c)
{
    return is_plain(c) ? xl__conv_result_dtype(&c->d) : sum_dtype(c);
}

/* Strides of dense images, 0 along a dimension of size 1. */
static void set_dense(xl_images *x, xl_layout layout, xl_dtype dtype,
                      const size_t size[XL__N_AT])
{
    *x = (xl_images){.layout = layout, .dtype = dtype};
    xl__conv_strides(x, size, x->stride);
    for (unsigned at = 0; at < XL__N_AT; at++) {
        if (size[at] == 1)
            x->stride[at] = 0;
    }
    x->offset = xl__conv_align(x, x->stride, 0);
}

static size_t elems_of(const size_t size[XL__N_AT])
{
    return size[0] * size[1] * size[2] * size[3];
}

/* Areas begin at a multiple of AREA_BYTES whatever the type. */
static size_t round_area(size_t elems)
{
    return xl__round_up(elems, AREA_BYTES);
}

/* -- data ----------------------------------------------------------------- */

static void rotate_filters(const struct lowered *w,
                           const struct xl__conv_side *y,
                           const struct xl__conv_side *x, struct part *t)
{
    const xl_conv *d = &w->c->d;
    const size_t cg = xl__conv_cg(d), kg = xl__conv_kg(d);
    size_t src[XL__N_AT], dst[XL__N_AT];
    xl__conv_filter_strides(d, src);
    xl__conv_filter_strides(&t->f.d, dst);
    const bool last = t->f.d.filters.layout == XL_KRSC;
    struct xl__rearranged *r = &t->rotated;
    *r = (struct xl__rearranged){
        .from = {.mem = xl__conv_slot_filters(d),
                 .value =
                     xl__conv_slot_filters(d) - XL__CONV_A + XL__CONV_OFF_A,
                 .elems = (y->first + (y->n - 1) * y->period) * src[XL__AT_H] +
                          (x->first + (x->n - 1) * x->period) * src[XL__AT_W]},
        .from_dtype = d->filters.dtype,
        .to_dtype = d->filters.dtype,
        .y_dtype = sum_dtype(w->c),
        .size = {d->groups, cg, last ? 1 : kg, 1, y->n, x->n, last ? kg : 1},
        .src = {kg * src[XL__AT_N], src[XL__AT_C], src[XL__AT_N], 0,
                0 - y->period * src[XL__AT_H], 0 - x->period * src[XL__AT_W],
                src[XL__AT_N]},
        .dst = {cg * dst[XL__AT_N], dst[XL__AT_N], dst[XL__AT_C], 0,
                dst[XL__AT_H], dst[XL__AT_W], dst[XL__AT_C]},
        .alpha = XL__CONV_ONE,
        .beta = XL__CONV_ZERO};
}

static void set_data_images(struct lowered *w, const struct xl__conv_side *y,
                            const struct xl__conv_side *x, struct part *t)
{
    const xl_conv *d = &w->c->d;
    xl_conv *f = &t->f.d;
    f->in = d->out;
    t->in =
        (struct xl__conv_place){.mem = XL__CONV_OUT,
                                .value = XL__CONV_OFF_OUT,
                                .elems = y->skip * d->out.stride[XL__AT_H] +
                                         x->skip * d->out.stride[XL__AT_W]};
    f->in.offset = xl__align_of(d->out.offset |
                                t->in.elems * xl_dtype_bytes(f->in.dtype));
    if (f->h == 1)
        f->in.stride[XL__AT_H] = 0;
    if (f->w == 1)
        f->in.stride[XL__AT_W] = 0;
    if (w->is_direct) {
        const unsigned slot = xl__conv_slot_in(d);
        f->out = d->in;
        f->beta = d->beta;
        t->out = (struct xl__conv_place){
            .mem = slot, .value = slot - XL__CONV_A + XL__CONV_OFF_A};
        return;
    }
    const size_t size[XL__N_AT] = {d->n, d->c, w->rows, w->cols};
    set_dense(&f->out, d->in.layout, part_dtype(w->c), size);
}

static void add_data_part(struct lowered *w, const struct xl__conv_side *y,
                          const struct xl__conv_side *x)
{
    const xl_conv *d = &w->c->d;
    struct part *t = &w->part[w->n++];
    t->f = (struct xl__conv_canonical){.p = w->rows, .q = w->cols};
    t->f.d = (xl_conv){.n = d->n,
                       .c = d->k,
                       .h = y->in,
                       .w = x->in,
                       .k = d->c,
                       .r = y->n,
                       .s = x->n,
                       .groups = d->groups,
                       .stride_h = 1,
                       .stride_w = 1,
                       .dilation_h = y->dilation,
                       .dilation_w = x->dilation,
                       .pad_top = y->pad,
                       .pad_bottom = y->pad_after,
                       .pad_left = x->pad,
                       .pad_right = x->pad_after,
                       .alpha = 1};
    t->f.d.filters =
        (xl_filters){.offset = AREA_BYTES / 2,
                     .layout = d->out.layout == XL_NHWC ? XL_KRSC : XL_KCRS,
                     .dtype = d->filters.dtype};
    set_data_images(w, y, x, t);
    rotate_filters(w, y, x, t);
    t->filters.elems = w->filter_elems;
    w->filter_elems += round_area(d->c * xl__conv_kg(d) * y->n * x->n);
}

static const char *lower_data(struct lowered *w)
{
    const struct xl__conv_canonical *c = w->c;
    const xl_conv *d = &c->d;
    size_t in[XL__N_AT], out[XL__N_AT];
    const size_t residues = d->stride_h * d->stride_w;
    if (d->stride_h > MOST_PARTS || residues > MOST_PARTS)
        return "the strides have more than 4 residues";
    xl__conv_sizes(c, in, out);
    w->is_direct = residues == 1 && xl__conv_is_flat(&d->in, in);
    w->rows = xl__ceil_div(d->h, d->stride_h);
    w->cols = xl__ceil_div(d->w, d->stride_w);
    const size_t area = elems_of((size_t[]){d->n, d->c, w->rows, w->cols});
    for (size_t i = 0; i < residues; i++) {
        const size_t a = i / d->stride_w, b = i % d->stride_w;
        struct xl__conv_side y, x;
        if (a >= d->h || b >= d->w ||
            !xl__conv_find_side(a, d->stride_h, d->dilation_h, d->pad_top,
                                d->r, c->p, w->rows, &y) ||
            !xl__conv_find_side(b, d->stride_w, d->dilation_w, d->pad_left,
                                d->s, c->q, w->cols, &x)) {
            w->missing |= UINT64_C(1) << i;
            continue;
        }
        add_data_part(w, &y, &x);
        w->part[w->n - 1].out.elems += w->is_direct ? 0 : i * area;
    }
    w->out_elems = w->is_direct ? 0 : residues * area;
    return w->n == 0 || (w->is_direct && w->missing)
               ? "no filter reaches a pixel"
               : NULL;
}

/* -- filters -------------------------------------------------------------- */

/* Of in along one side those that a product reads; 0: none. */
static size_t reach(size_t size, size_t pad, size_t positions, size_t stride,
                    size_t taps, size_t dilation, size_t *pad_after)
{
    const size_t extent = (positions - 1) * stride + (taps - 1) * dilation + 1;
    *pad_after = extent > size + pad ? extent - size - pad : 0;
    return extent <= pad ? 0 : xl__min_size(size, extent - pad);
}

static size_t choose_parts(const struct xl__limits *l,
                           const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t tiles = xl__ceil_div(xl__conv_kg(d), TILE_FILTERS) *
                         xl__ceil_div(xl__conv_depth(d), TILE_PIXELS) *
                         d->groups;
    const size_t most =
        xl__min_size(d->n, xl__ceil_div(TILES_PER_UNIT * units, tiles));
    size_t parts = 1;
    for (size_t i = 2; i <= most; i++) {
        if (d->n % i == 0 && d->n / i * c->p * c->q >= LEAST_DEPTH)
            parts = i;
    }
    return parts;
}

static const char *lower_filters(const struct xl__limits *l, struct lowered *w)
{
    const struct xl__conv_canonical *c = w->c;
    const xl_conv *d = &c->d;
    struct part *t = &w->part[w->n++];
    xl_conv *f = &t->f.d;
    const size_t cg = xl__conv_cg(d);
    if (d->n == 0)
        return "there are no images";
    w->parts = choose_parts(l, c);
    t->f = (struct xl__conv_canonical){.p = d->r, .q = d->s};
    *f = (xl_conv){.n = cg,
                   .c = d->n * d->groups,
                   .k = d->k * w->parts,
                   .r = c->p,
                   .s = c->q,
                   .groups = d->groups * w->parts,
                   .stride_h = d->dilation_h,
                   .stride_w = d->dilation_w,
                   .dilation_h = d->stride_h,
                   .dilation_w = d->stride_w,
                   .pad_top = d->pad_top,
                   .pad_left = d->pad_left,
                   .alpha = 1};
    f->h = reach(d->h, d->pad_top, c->p, d->stride_h, d->r, d->dilation_h,
                 &f->pad_bottom);
    f->w = reach(d->w, d->pad_left, c->q, d->stride_w, d->s, d->dilation_w,
                 &f->pad_right);
    if (f->h == 0 || f->w == 0)
        return "all products are in the padding";
    const size_t in[XL__N_AT] = {f->n, f->c, f->h, f->w};
    const size_t out[XL__N_AT] = {f->n, f->k, d->r, d->s};
    w->copies_in = d->groups > 1 || (d->w > 1 && d->in.stride[XL__AT_W] > 1);
    if (w->copies_in) {
        set_dense(&f->in, XL_NCHW, d->in.dtype, in);
        w->in_elems = round_area(elems_of(in));
    } else {
        const size_t *s = d->in.stride;
        const unsigned slot = xl__conv_slot_in(d);
        f->in = (xl_images){.layout = XL_NCHW,
                            .mem = d->in.mem,
                            .dtype = d->in.dtype,
                            .stride = {f->n > 1 ? s[XL__AT_C] : 0,
                                       f->c > 1 ? s[XL__AT_N] : 0,
                                       f->h > 1 ? s[XL__AT_H] : 0,
                                       f->w > 1 ? s[XL__AT_W] : 0}};
        t->in = (struct xl__conv_place){
            .mem = slot, .value = slot - XL__CONV_A + XL__CONV_OFF_A};
    }
    set_dense(&f->out, XL_NCHW, sum_dtype(c), out);
    /* Loads and stores of one element, so that programs do not depend on the
     * alignment of lines whose lengths are those of all sizes. */
    f->filters = (xl_filters){.layout = XL_KCRS, .dtype = d->out.dtype};
    f->filters.offset = xl_dtype_bytes(f->filters.dtype);
    f->in.offset = xl_dtype_bytes(f->in.dtype);
    f->out.offset = xl_dtype_bytes(f->out.dtype);
    w->filter_elems = round_area(f->k * xl__conv_depth(f));
    w->out_elems = elems_of(out);
    return NULL;
}

/* The gradient of out as filters: part, k, image of the part, p, q. An image's
 * channels are copied one after the other, while it is in a cache. */
static struct xl__rearranged gather_out(const struct lowered *w)
{
    const struct xl__conv_canonical *c = w->c;
    const xl_conv *d = &c->d;
    const size_t *s = d->out.stride, each = d->n / w->parts, pq = c->p * c->q;
    return (struct xl__rearranged){
        .from = {.mem = XL__CONV_OUT, .value = XL__CONV_OFF_OUT},
        .from_dtype = d->out.dtype,
        .to_dtype = d->out.dtype,
        .y_dtype = sum_dtype(c),
        .size = {w->parts, each, d->k, 1, c->p, c->q},
        .src = {each * s[XL__AT_N], s[XL__AT_N], s[XL__AT_C], 0, s[XL__AT_H],
                s[XL__AT_W]},
        .dst = {d->k * each * pq, pq, each * pq, 0, c->q, 1},
        .alpha = XL__CONV_ONE,
        .beta = XL__CONV_ZERO};
}

/* in as channels of a group, part, group, image of the part, rows, columns. */
static struct xl__rearranged gather_in(const struct lowered *w)
{
    const xl_conv *d = &w->c->d, *f = &w->part[0].f.d;
    const unsigned slot = xl__conv_slot_in(d);
    const size_t *s = d->in.stride, each = d->n / w->parts, hw = f->h * f->w;
    return (struct xl__rearranged){
        .from = {.mem = slot, .value = slot - XL__CONV_A + XL__CONV_OFF_A},
        .from_dtype = d->in.dtype,
        .to_dtype = d->in.dtype,
        .y_dtype = sum_dtype(w->c),
        .size = {w->parts, each, d->groups, f->n, f->h, f->w},
        .src = {each * s[XL__AT_N], s[XL__AT_N], f->n * s[XL__AT_C],
                s[XL__AT_C], s[XL__AT_H], s[XL__AT_W]},
        .dst = {d->groups * each * hw, hw, each * hw, f->c * hw, f->w, 1},
        .alpha = XL__CONV_ONE,
        .beta = XL__CONV_ZERO};
}

/* -- both ----------------------------------------------------------------- */

static const char *lower(const struct xl__limits *l,
                         const struct xl__conv_canonical *c, struct lowered *w)
{
    *w = (struct lowered){.c = c};
    return c->d.pass == XL_CONV_BACKWARD_DATA ? lower_data(w)
                                              : lower_filters(l, w);
}

static const char *find_refusal(const struct xl__limits *l, const void *desc,
                                const struct xl__variant *forward)
{
    struct lowered w;
    const char *why = lower(l, desc, &w);
    for (unsigned i = 0; !why && i < w.n; i++)
        why = forward->refuses(l, &w.part[i].f);
    return why;
}

/* For the part with the most products. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            const struct xl__variant *forward,
                            struct xl__params *out)
{
    struct lowered w;
    const struct part *most = w.part;
    (void)lower(l, desc, &w);
    for (unsigned i = 1; i < w.n; i++) {
        if (xl__conv_depth(&w.part[i].f.d) > xl__conv_depth(&most->f.d))
            most = &w.part[i];
    }
    forward->choose(l, &most->f, out);
}

/* The slot of a place's offset, in a plan of f. */
static unsigned offset_slot(unsigned mem)
{
    return mem - XL__CONV_A + XL__CONV_OFF_A;
}

static bool is_scalar(const struct xl__arg *arg)
{
    return arg->kind == XL__ARG_VALUE_F32 || arg->kind == XL__ARG_VALUE_F64;
}

/* Alpha is the part's own where no sums are left to scale. */
static void redirect_args(const struct lowered *w, const struct part *t,
                          struct xl__step *s)
{
    const bool is_first = xl__conv_slot_in(&t->f.d) == XL__CONV_A;
    const struct xl__conv_place to[] = {is_first ? t->in : t->filters,
                                        is_first ? t->filters : t->in, t->out};
    for (unsigned i = 0; i < s->n_args; i++) {
        const struct xl__arg was = s->args[i];
        xl__conv_redirect(to, &s->args[i]);
        if (is_plain(w->c) && was.slot == XL__CONV_ALPHA && is_scalar(&was))
            s->args[i] = was;
    }
}

/* Where the areas of scratch memory begin, behind that of the forward variant:
 * in elements of the type of each. */
static void place_areas(struct lowered *w, struct xl__plan *p)
{
    const size_t read = xl_dtype_bytes(xl__conv_read_dtype(&w->c->d));
    const size_t sum = xl_dtype_bytes(part_dtype(w->c));
    const size_t filters = xl__round_up(p->scratch_bytes, AREA_BYTES);
    const size_t in = filters + w->filter_elems * read;
    const size_t out = in + w->in_elems * read;
    p->scratch_bytes = out + w->out_elems * sum;
    for (unsigned i = 0; i < w->n; i++) {
        struct part *t = &w->part[i];
        t->filters.elems += filters / read;
        t->rotated.to = t->filters;
        if (t->in.mem == XL__MEM_SCRATCH)
            t->in.elems += in / read;
        if (t->out.mem == XL__MEM_SCRATCH)
            t->out.elems += out / sum;
    }
}

/* Weave the residues together. */
static struct xl__rearranged weave(const struct lowered *w, size_t first)
{
    const xl_conv *d = &w->c->d;
    const unsigned slot = xl__conv_slot_in(d);
    const size_t *to = d->in.stride, *s = w->part[0].f.d.out.stride;
    const size_t area = w->out_elems / (d->stride_h * d->stride_w);
    const bool last = d->in.layout == XL_NHWC;
    return (struct xl__rearranged){
        .from = {.mem = XL__MEM_SCRATCH, .elems = first},
        .to = {.mem = slot, .value = offset_slot(slot)},
        .size = {d->n, last ? 1 : d->c, w->rows, d->stride_h, w->cols,
                 d->stride_w, last ? d->c : 1},
        .end_rows = d->h,
        .end_items = d->w * (last ? d->c : 1),
        .align = d->groups == 1 ? d->in.offset : 0,
        .missing = w->missing,
        .src = {s[XL__AT_N], s[XL__AT_C], s[XL__AT_H], d->stride_w * area,
                s[XL__AT_W], area, s[XL__AT_C]},
        .dst = {to[XL__AT_N], to[XL__AT_C], d->stride_h * to[XL__AT_H],
                to[XL__AT_H], d->stride_w * to[XL__AT_W], to[XL__AT_W],
                to[XL__AT_C]}};
}

/* Add the parts. */
static struct xl__rearranged add_up(const struct lowered *w)
{
    const xl_conv *d = &w->c->d;
    const unsigned slot = xl__conv_slot_filters(d);
    const size_t rs = d->r * d->s;
    size_t to[XL__N_AT];
    xl__conv_filter_strides(d, to);
    return (struct xl__rearranged){
        .from = w->part[0].out,
        .to = {.mem = slot, .value = offset_slot(slot)},
        .size = {1, d->k, xl__conv_cg(d), 1, d->r, d->s},
        .src = {0, rs, w->parts * d->k * rs, 0, d->s, 1},
        .dst = {0, to[XL__AT_N], to[XL__AT_C], 0, to[XL__AT_H], to[XL__AT_W]},
        .parts = w->parts,
        .part = d->k * rs};
}

/* The steps before the convolutions; returns the bytes that they move. */
static double add_first_steps(const struct xl__limits *l,
                              const struct lowered *w, struct xl__plan *p)
{
    double bytes = 0;
    if (w->c->d.pass == XL_CONV_BACKWARD_DATA) {
        for (unsigned i = 0; i < w->n; i++)
            bytes += xl__conv_rearrange(l, &w->part[i].rotated, p);
        return bytes;
    }
    struct xl__rearranged r = gather_out(w);
    r.to = w->part[0].filters;
    bytes += xl__conv_rearrange(l, &r, p);
    if (w->copies_in) {
        r = gather_in(w);
        r.to = w->part[0].in;
        bytes += xl__conv_rearrange(l, &r, p);
    }
    return bytes;
}

static double add_last_step(const struct xl__limits *l,
                            const struct lowered *w, struct xl__plan *p)
{
    const bool is_data = w->c->d.pass == XL_CONV_BACKWARD_DATA;
    if (w->is_direct)
        return 0;
    const size_t bytes = xl_dtype_bytes(part_dtype(w->c));
    struct xl__rearranged r =
        is_data ? weave(w, p->scratch_bytes / bytes - w->out_elems)
                : add_up(w);
    r.from_dtype = part_dtype(w->c);
    r.y_dtype = sum_dtype(w->c);
    r.to_dtype = xl__conv_result_dtype(&w->c->d);
    r.alpha = is_plain(w->c) ? XL__CONV_ONE : XL__CONV_ALPHA;
    r.beta = XL__CONV_BETA;
    return xl__conv_rearrange(l, &r, p);
}

/* The steps of part i behind those of the plan. */
static xl_status add_part(const struct xl__limits *l, const struct part *t,
                          const struct xl__variant *forward,
                          const struct xl__params *params, double *est_ns,
                          struct xl__plan *p)
{
    xl_status status = XL_OK;
    struct xl__plan *one = xl__calloc(1, sizeof *one);
    if (!one)
        return XL_NO_MEMORY;
    TRY(forward->plan(l, &t->f, params, one));
    if (p->n_steps + one->n_steps + 1 > XL__MAX_STEPS)
        TRY(XL_UNSUPPORTED);
    for (unsigned i = 0; i < one->n_steps; i++)
        p->step[p->n_steps++] = one->step[i];
    p->scratch_bytes = xl__max_size(p->scratch_bytes, one->scratch_bytes);
    p->bound = one->bound;
    p->tiling = one->tiling;
    *est_ns += one->est_ns;
fail:
    free(one);
    return status;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__variant *forward,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    xl_status status = XL_OK;
    struct lowered w;
    unsigned end[MOST_PARTS];
    double est_ns = 0;
    if (lower(l, desc, &w))
        return XL_UNSUPPORTED;
    const bool is_data = w.c->d.pass == XL_CONV_BACKWARD_DATA;
    const unsigned n_first = is_data ? w.n : 1u + w.copies_in;
    p->n_steps = n_first;
    for (unsigned i = 0; i < w.n; i++) {
        TRY(add_part(l, &w.part[i], forward, params, &est_ns, p));
        end[i] = p->n_steps;
    }
    place_areas(&w, p);
    for (unsigned i = 0, at = n_first; i < w.n; i++) {
        for (; at < end[i]; at++)
            redirect_args(&w, &w.part[i], &p->step[at]);
    }
    const unsigned n_steps = p->n_steps;
    p->n_steps = 0;
    double bytes = add_first_steps(l, &w, p);
    p->n_steps = n_steps;
    bytes += add_last_step(l, &w, p);
    const char *const bound = p->bound;
    const struct xl__cost moved = {
        .bytes = bytes,
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .launches = p->n_steps - (n_steps - n_first)};
    xl__estimate(l, &moved, p);
    p->est_ns += est_ns;
    p->bound = bound;
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
fail:
    return status;
}

/* -- the variants --------------------------------------------------------- */

#define LOWERED_TO(method)                                                    \
    static const char *refuse_##method(const struct xl__limits *l,            \
                                       const void *desc)                      \
    {                                                                         \
        return find_refusal(l, desc, &xl__conv_##method);                     \
    }                                                                         \
    static void choose_##method(const struct xl__limits *l, const void *desc, \
                                struct xl__params *out)                       \
    {                                                                         \
        choose_tunables(l, desc, &xl__conv_##method, out);                    \
    }                                                                         \
    static xl_status plan_##method(                                           \
        const struct xl__limits *l, const void *desc,                         \
        const struct xl__params *params, struct xl__plan *p)                  \
    {                                                                         \
        return plan_steps(l, desc, &xl__conv_##method, params, p);            \
    }
LOWERED_TO(cpu)
LOWERED_TO(tiled)
LOWERED_TO(direct)
LOWERED_TO(wgmma)
LOWERED_TO(mma)
LOWERED_TO(dpas)

#define NAMED(to, method, ...)                                                \
    const struct xl__variant xl__conv_##to = {                                \
        .name = "conv_" #to,                                                  \
        .repeats = "bit for bit: each element is one sum in a fixed order",   \
        .refuses = refuse_##method,                                           \
        .choose = choose_##method,                                            \
        .plan = plan_##method,                                                \
        __VA_ARGS__};
#define VARIANT(pass, method, ...) NAMED(pass##_##method, method, __VA_ARGS__)
VARIANT(data, cpu, .tunables = xl__conv_cpu_tunables)
VARIANT(data, tiled, .tunables = xl__conv_tiled_tunables)
VARIANT(data, direct, .tunables = xl__conv_direct_tunables,
        .own = &(const struct xl__conv_own){.keeps_filters = true})
#define ON_ENGINE(to, method, ...)                                            \
    NAMED(to, method, .tunables = xl__gemm_##method##_tunables,               \
          .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},                     \
          .own = &(const struct xl__conv_own){__VA_ARGS__})
/* What implicit_data.c refuses: few channels, groups, many residues. */
ON_ENGINE(data_lowered_wgmma, wgmma, .has_plain = true)
ON_ENGINE(data_mma, mma, .has_plain = true)
ON_ENGINE(data_dpas, dpas, .by_pixel = true)
VARIANT(filters, cpu, .tunables = xl__conv_cpu_tunables)
VARIANT(filters, tiled, .tunables = xl__conv_tiled_tunables)
