/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution by tiles, for any device: the tiles and the time model of
 * gemm_tiled, with images gathered while they are copied to local memory. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"
#include "ops/gemm/tile_plan.h"
#include "ops/gemm/tiles.h"

enum { AT_PARTS = XL__GEMM_TK + 6, VECTOR_BYTES = 16 };
_Static_assert((int)XL__CONV_TM == (int)XL__GEMM_TM &&
                   (int)XL__CONV_TK == (int)XL__GEMM_TK,
               "tile sets are GEMM's");

struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    struct xl__tile t;
    struct xl__tile_job product; /* of a group of channels */
    struct xl__tile_grid grid;
    size_t pixels, items;
    bool first; /* channels are the result's rows */
    bool last;  /* and the innermost loop of a filter */
};

static struct job describe_product(const struct xl__conv_canonical *c)
{
    struct job j = {.c = c, .d = &c->d};
    const size_t kg = xl__conv_kg(j.d);
    j.pixels = c->d.n * c->p * c->q;
    j.first = c->d.out.layout == XL_NCHW;
    j.last = c->d.in.layout == XL_NHWC || c->d.filters.layout == XL_KRSC;
    const bool alone = c->d.in.layout != XL_NHWC || xl__conv_cg(j.d) % 2 != 0;
    j.product = (struct xl__tile_job){.m = j.first ? kg : j.pixels,
                                      .n = j.first ? j.pixels : kg,
                                      .k = xl__conv_depth(j.d),
                                      .count = c->d.groups,
                                      .in = c->d.in.dtype,
                                      .keeps_whole = true,
                                      .gathers_m = alone && !j.first,
                                      .gathers_n = alone && j.first};
    return j;
}

/* -- widths ------------------------------------------------------------- */

/* The widest load of a slice with `tile` elements a line: all items make the
 * same number of loads, none of which crosses the slice. */
static size_t load_width(const struct job *j, size_t width, size_t tile)
{
    width = xl__shrink_to_divisor(width, xl__conv_cg(j->d));
    width = xl__shrink_to_divisor(width, j->t.tk);
    while (width > 1 && (tile * j->t.tk % (width * j->items) != 0 ||
                         j->items % (j->t.tk / width) != 0))
        width /= 2;
    return width;
}

static size_t aligned_elems(size_t bytes, xl_dtype dtype)
{
    return xl__max_size(1, bytes / xl_dtype_bytes(dtype));
}

static size_t pixel_width(const struct job *j)
{
    const xl_images *in = &j->d->in;
    if (in->layout != XL_NHWC || in->stride[XL__AT_C] > 1)
        return 1;
    return load_width(
        j,
        xl__shrink_to_divisor(j->t.vw, aligned_elems(in->offset, in->dtype)),
        j->first ? j->t.tn : j->t.tm);
}

static bool is_mixed(const struct job *j)
{
    return j->last != (j->d->filters.layout == XL_KRSC);
}

static size_t filter_width(const struct job *j)
{
    const xl_filters *f = &j->d->filters;
    if (is_mixed(j))
        return 1;
    return load_width(
        j, xl__shrink_to_divisor(j->t.vw, aligned_elems(f->offset, f->dtype)),
        j->first ? j->t.tm : j->t.tn);
}

static size_t store_width(const struct job *j)
{
    const xl_images *out = &j->d->out;
    const size_t most = xl__min_size(j->t.vw, j->t.rn);
    if ((j->first ? xl__conv_pixel_stride(out) : out->stride[XL__AT_C]) > 1)
        return 1;
    return xl__shrink_to_divisor(
        xl__shrink_to_divisor(most, aligned_elems(out->offset, out->dtype)),
        j->first ? j->c->p * j->c->q : xl__conv_kg(j->d));
}

/* -- the plan ----------------------------------------------------------- */

static void define_options(const struct xl__limits *l, const struct job *j,
                           struct xl__step *s)
{
    const struct xl__defined defines[] = {
        {"FIRST", j->first},
        {"LAST", j->last},
        {"MIX", is_mixed(j)},
        {"VP", pixel_width(j)},
        {"VF", filter_width(j)},
        {"VC", store_width(j)},
        {"AHEAD", !xl__tiles(l)->one_depth},
        {"XL_WIDE", xl__conv_span_of_input(j->d) > UINT32_MAX},
    };
    xl__tile_define(s, &j->t);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
}

/* A slice's depth, as digits c, r, s. */
static void add_step_arguments(const struct job *j, struct xl__step *s)
{
    const size_t cg = xl__conv_cg(j->d), k = j->t.tk;
    const size_t r = j->d->r, t = j->d->s;
    xl__arg_u32(s, j->last ? k % cg : k / t / r);
    xl__arg_u32(s, j->last ? k / cg / t : k / t % r);
    xl__arg_u32(s, j->last ? k / cg % t : k % t);
}

static void add_arguments(const struct job *j, struct xl__step *s)
{
    const xl_conv *d = j->d;
    const size_t sizes[] = {d->h,           d->w,        j->c->p * j->c->q,
                            j->c->q,        j->pixels,   xl__conv_cg(d),
                            xl__conv_kg(d), d->r,        d->s,
                            d->stride_h,    d->stride_w, d->dilation_h,
                            d->dilation_w,  d->pad_top,  d->pad_left};
    xl__arg_mem(s, xl__conv_slot_in(d));
    xl__arg_value_u64(s, xl__conv_slot_in(d) - XL__CONV_A + XL__CONV_OFF_A);
    xl__arg_u64(s, d->in.stride[XL__AT_N]);
    for (unsigned at = XL__AT_C; at < XL__N_AT; at++)
        xl__arg_u32(s, d->in.stride[at]);
    xl__conv_arg_filters(s, j->c);
    xl__arg_mem(s, XL__CONV_OUT);
    xl__arg_value_u64(s, XL__CONV_OFF_OUT);
    xl__arg_u64(s, d->out.stride[XL__AT_N]);
    xl__arg_u64(s, d->out.stride[XL__AT_C]);
    xl__arg_u64(s, xl__conv_pixel_stride(&d->out));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        xl__arg_u32(s, sizes[i]);
    add_step_arguments(j, s);
    xl__arg_u32(s, j->grid.tiles_m);
    xl__arg_u32(s, j->grid.tiles_n);
    xl__conv_arg_last(s, j->c);
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    const struct job j = describe_product(desc);
    const struct xl__cost work = {.flop = xl__conv_flop(desc),
                                  .bytes = xl__conv_bytes(desc),
                                  .bytes_frac = 1};
    xl__tile_choose(l, XL__TILES_CONV, &j.product, &work, out);
    for (unsigned i = AT_PARTS; i < XL__MAX_TUNABLES; i++)
        out->value[i] = 0;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    struct job j = describe_product(desc);
    j.t = xl__tile_of(l, XL__TILES_CONV, params);
    j.t.parts = 1;
    j.t.vw = xl__min_size(j.t.vw,
                          VECTOR_BYTES / xl__tile_value_bytes(j.product.in));
    if (!xl__tile_fits(l, &j.t, j.product.in) ||
        !xl__tile_cut(l, &j.t, &j.product, &j.grid))
        return XL_UNSUPPORTED;
    j.items = xl__tile_items(&j.t);
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    struct xl__step *s = xl__plan_add(p, "conv/tiled.cl", "conv_tiled",
                                      j.grid.tiles * j.items, j.items);
    s->local_mem_bytes = xl__tile_local_bytes(&j.t, j.product.in);
    define_options(l, &j, s);
    add_arguments(&j, s);
    p->tiling = xl__tile_describe(s, &j.grid,
                                  (xl_tiling){.rows = j.t.tm,
                                              .cols = j.t.tn,
                                              .m = j.product.m,
                                              .n = j.product.n,
                                              .band = j.t.band});
    struct xl__cost work = {
        .flop = p->flop, .bytes = p->bytes, .bytes_frac = 1};
    xl__tile_rate(l, &j.t, &j.product, &j.grid, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    size_t in[XL__N_AT], out[XL__N_AT];
    xl__conv_sizes(c, in, out);
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    if (!xl__conv_is_flat(&c->d.out, out))
        return "rows of out have gaps between them";
    if (c->d.in.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return xl__iterations_refused(l, 2.0 * (double)xl__conv_depth(&c->d));
}

const struct xl__tunable xl__conv_tiled_tunables[] = {
    XL__TILE_TUNABLES,
    {NULL, NULL, {0}},
};

const struct xl__variant xl__conv_tiled = {
    .name = "conv_tiled",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = xl__conv_tiled_tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
