/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution on devices whose work-items are lanes: items with sums
 * of a few neighbours, which go down a strip of rows. Vector and columns are
 * those whose registers fit; strips are as tall as leaves enough items. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

enum {
    MOST_SIDE = 7,     /* of a filter, since loops over it are unrolled */
    MOST_STRIDE = 3,   /* of the self-check's case */
    MOST_COLUMNS = 4,  /* of an item: more waste those past the end of a row */
    VECTOR_BYTES = 16, /* of a load */
    NEIGHBOURS = 32,   /* items along channels: the others share columns */
    LEAST_ROWS = 4,    /* of a strip, where one is loaded twice */
    RESIDENT_ITEMS = 512, /* of a unit; */
    WAVES = 2             /* so often, so that units end together */
};

static const struct xl__tunable tunables[] = {
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"TX", "columns of an item, of NHWC", {1, 2, 4, 8, 0}},
    {"WG", "items of a work-group", {1, 32, 64, 128, 256, 0}},
    {NULL, NULL, {0}},
};
enum { AT_VW, AT_TX, AT_WG };

struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    size_t vw, tx, wg;
    /* conv/depthwise.cl: of a strip, of an image; vectors of channels */
    size_t rows, strips, block, blocks, items;
    bool first; /* NCHW */
};

static struct job describe_job(const struct xl__conv_canonical *c)
{
    return (struct job){
        .c = c, .d = &c->d, .first = c->d.out.layout == XL_NCHW};
}

static bool is_contiguous(const xl_images *x)
{
    return x->stride[x->layout == XL_NCHW ? XL__AT_W : XL__AT_C] <= 1;
}

const char *xl__depthwise_refused(const struct xl__limits *l,
                                  const struct xl__conv_canonical *c)
{
    const xl_conv *d = &c->d;
    if (d->n == 0 || xl__conv_cg(d) != 1 || xl__conv_kg(d) != 1)
        return "it is not one filter of one channel for each channel";
    if (d->r > MOST_SIDE || d->s > MOST_SIDE)
        return "a filter is larger than 7 x 7";
    if (d->stride_h > MOST_STRIDE || d->stride_w > MOST_STRIDE)
        return "a stride is more than 3";
    if (d->dilation_h > 1 || d->dilation_w > 1)
        return "the filters are dilated";
    if (!xl__conv_fits_32(c) ||
        c->p * d->out.stride[XL__AT_H] + c->q * d->out.stride[XL__AT_W] >
            INT32_MAX)
        return "a size does not fit in 32 bits";
    if (xl__conv_y(c) == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return NULL;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    const char *why = xl__depthwise_refused(l, c);
    if (why)
        return why;
    if (d->pad_left >= d->s || d->pad_right >= d->s)
        return "padding is as wide as a filter";
    if (d->in.layout != d->out.layout || !is_contiguous(&d->in) ||
        !is_contiguous(&d->out))
        return "in and out are not contiguous along one dimension";
    return xl__iterations_refused(l, (double)(c->p + d->r));
}

/* -- tunables ----------------------------------------------------------- */

/* Whether a line of images consists of aligned vectors. */
static bool has_vectors(const xl_images *x, size_t line, size_t width)
{
    return line % width == 0 &&
           x->offset % (width * xl_dtype_bytes(x->dtype)) == 0 &&
           (x->layout == XL_NHWC || x->stride[XL__AT_H] % width == 0);
}

static size_t fit_vector(const struct job *j, size_t width)
{
    while (width > 1 &&
           !(has_vectors(&j->d->in, j->first ? j->d->w : j->d->c, width) &&
             has_vectors(&j->d->out, j->first ? j->c->q : j->d->k, width)))
        width /= 2;
    return width;
}

/* 32-bit registers of an item: sums, filters, rows of in, addresses. */
static size_t item_registers(const struct job *j, size_t vw, size_t tx)
{
    enum { PLAIN = 32 };
    const xl_conv *d = j->d;
    const size_t bytes = xl_dtype_bytes(d->in.dtype);
    const size_t value = xl__max_size(bytes, sizeof(float));
    const size_t taps = d->r * d->s * (j->first ? 1 : vw);
    const size_t loads =
        d->stride_h * (j->first ? d->stride_w * vw + d->s
                                : ((tx - 1) * d->stride_w + d->s) * vw);
    const size_t sums = xl__ceil_div(d->r, d->stride_h) * tx * vw;
    return PLAIN + ((taps + sums) * value + loads * bytes) / sizeof(float);
}

/* Of its epilogue, for values and operands: some of them stay in memory. So
 * many leave two columns of stride 2 and four of stride 1: NV-82. */
static size_t epilogue_registers(const struct job *j, size_t vw)
{
    enum { VECTORS = 7 };
    return j->c->snippet ? VECTORS * vw : 0;
}

size_t xl__depthwise_registers(const struct xl__limits *l)
{
    enum { FEW_LANES = 16, OF_FEW = 112, USUAL = 160 };
    return xl__num_or(l, XL__F_subgroup_width, 2 * FEW_LANES) <= FEW_LANES
               ? OF_FEW
               : USUAL;
}

size_t xl__depthwise_few(const struct xl__limits *l)
{
    enum { OF_UNIT = 128 };
    return OF_UNIT * xl__size_or(l, XL__F_compute_units, 1);
}

/* -- the plan ----------------------------------------------------------- */

/* Strips of one image, when an item for each would make so many. */
static void cut_strips(const struct xl__limits *l, struct job *j, size_t items)
{
    const size_t enough =
        WAVES * RESIDENT_ITEMS * xl__size_or(l, XL__F_compute_units, 1);
    /* The first R - SH are loaded twice: NV-74. */
    const size_t least =
        j->d->r > j->d->stride_h + 1 ? 2 * LEAST_ROWS : LEAST_ROWS;
    const size_t most = xl__ceil_div(j->c->p, least);
    const size_t strips =
        xl__min_size(most, xl__ceil_div(enough, xl__max_size(1, items)));
    j->rows = xl__ceil_div(j->c->p, strips);
    j->strips = xl__ceil_div(j->c->p, j->rows);
    j->items = items * j->strips;
}

static bool apply_tunables(const struct xl__limits *l,
                           const struct xl__params *p, struct job *j)
{
    const xl_conv *d = j->d;
    j->vw = (size_t)p->value[AT_VW];
    j->tx = (size_t)p->value[AT_TX];
    j->wg = (size_t)p->value[AT_WG];
    if (!j->vw || !j->tx || !j->wg || fit_vector(j, j->vw) != j->vw ||
        (j->first && j->tx > 1) || xl__most_items(l, j->wg) < j->wg)
        return false;
    const size_t vectors = xl__ceil_div(d->k, j->vw);
    j->blocks = xl__ceil_div(vectors, NEIGHBOURS);
    j->block = xl__ceil_div(vectors, j->blocks);
    cut_strips(l, j,
               d->n * (j->first ? j->c->q / j->vw * d->k
                                : xl__ceil_div(j->c->q, j->tx) * j->block *
                                      j->blocks));
    return j->items <= INT32_MAX - j->wg;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { ITEMS = 128 };
    const size_t few = xl__depthwise_few(l);
    struct job j = describe_job(desc);
    const size_t bytes = xl_dtype_bytes(j.d->in.dtype);
    const size_t most = xl__depthwise_registers(l);
    size_t vw = fit_vector(&j, VECTOR_BYTES / bytes);
    size_t tx = j.first ? 1 : MOST_COLUMNS;
    while (vw > 1 && item_registers(&j, vw, tx) > most)
        vw /= 2;
    while (tx > 1 &&
           (item_registers(&j, vw, tx) + epilogue_registers(&j, vw) > most ||
            tx / 2 >= j.c->q))
        tx /= 2;
    *out = (struct xl__params){.source = "model"};
    out->value[AT_VW] = (int)vw;
    out->value[AT_TX] = (int)tx;
    out->value[AT_WG] = (int)xl__most_items(l, ITEMS);
    while (apply_tunables(l, out, &j) && j.tx > 1 && j.items < few)
        out->value[AT_TX] /= 2;
}

static void define_options(const struct job *j, struct xl__step *s)
{
    const xl_conv *d = j->d;
    const size_t vector = j->vw * xl_dtype_bytes(d->filters.dtype);
    const struct xl__defined defines[] = {
        {"FIRST", j->first},
        {"WG", j->wg},
        {"VW", j->vw},
        {"TX", j->tx},
        {"R", d->r},
        {"S", d->s},
        {"SH", d->stride_h},
        {"SW", d->stride_w},
        {"PAD", j->first ? d->pad_left : 0},
        {"VF", !j->first && d->filters.offset % vector == 0},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
}

void xl__depthwise_args(struct xl__step *s, const struct xl__conv_canonical *c,
                        unsigned filters, const size_t *sizes, size_t n)
{
    const xl_conv *d = &c->d;
    const unsigned in = xl__conv_slot_in(d);
    const size_t shape[] = {d->h, d->w,       c->p,       c->q,
                            d->k, d->pad_top, d->pad_left};
    enum { SHAPE = sizeof shape / sizeof *shape };
    xl__arg_mem(s, in);
    xl__arg_mem(s, filters);
    xl__arg_mem(s, XL__CONV_OUT);
    xl__arg_words(s, 2 * XL__CONV_VIEW + 1 + SHAPE + n);
    xl__conv_arg_view(s, in, &d->in);
    xl__conv_arg_view(s, XL__CONV_OUT, &d->out);
    xl__arg_value_u64(s,
                      xl__conv_slot_filters(d) - XL__CONV_A + XL__CONV_OFF_A);
    for (size_t i = 0; i < SHAPE; i++)
        xl__arg_u64(s, shape[i]);
    for (size_t i = 0; i < n; i++)
        xl__arg_u64(s, sizes[i]);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    struct job j = describe_job(desc);
    if (!apply_tunables(l, params, &j))
        return XL_UNSUPPORTED;
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    struct xl__step *s = xl__plan_add(p, "conv/depthwise.cl", "conv_depthwise",
                                      xl__round_up(j.items, j.wg), j.wg);
    define_options(&j, s);
    const size_t sizes[] = {j.rows, j.strips, j.block, j.blocks, j.items};
    xl__depthwise_args(s, j.c, xl__conv_slot_filters(j.d), sizes,
                       sizeof sizes / sizeof *sizes);
    xl__conv_arg_last(s, j.c);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_depthwise_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_conv_depthwise_bytes_frac),
        .fill = xl__fill(l, (double)xl__ceil_div(j.items, j.wg)),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const struct xl__conv_own keeps_filters = {.keeps_filters = true};

const struct xl__variant xl__conv_depthwise = {
    .name = "conv_depthwise",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
    .own = &keeps_filters,
};
