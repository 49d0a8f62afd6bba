/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of depthwise convolutions, where each channel has one filter of
 * its own: items go down strips of columns, with vectors of channels in NHWC.
 *
 *   conv_data_depthwise     images; each element is one sum
 *   conv_filters_depthwise  filters; a group has sums of some columns of all
 *                           images, which a second launch adds */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

enum {
    MOST_COLUMNS = 4,  /* of an item: more waste those past the end of a row */
    VECTOR_BYTES = 16, /* of a load */
    NEIGHBOURS = 32,   /* items along channels: the others share columns */
    LEAST_ROWS = 8,    /* of a strip: the first R - SH are loaded twice */
    WHOLE_ROWS = 16,   /* of images, at most, of an item without parts */
    RESIDENT_ITEMS = 512, /* of a unit */
    FILTERS_ITEMS = 1024, /* likewise, for filters, */
    FILTERS_VECTOR = 2,   /* whose sums then leave so many registers */
    JOINED = 8            /* elements that a group joins */
};

/* clang-format off */
static const struct xl__tunable data_tunables[] = {
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"TX", "columns of an item", {1, 2, 3, 4, 8, 0}},
    {"WG", "items of a work-group", {1, 2, 4, 8, 16, 32, 64, 128, 256, 0}},
    {NULL, NULL, {0}},
};
static const struct xl__tunable filters_tunables[] = {
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"NB", "vectors of channels of a group", {1, 2, 4, 8, 16, 32, 0}},
    {"WG", "items of a work-group", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0}},
    {"PARTS", "1: a group has all columns; 2: a second launch adds", {1, 2, 0}},
    {NULL, NULL, {0}},
};
/* clang-format on */
enum { AT_VW, AT_TX, AT_NB = AT_TX, AT_WG, AT_PARTS };

struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    size_t vw, tx, nb, wg;
    size_t vectors, block, blocks; /* of channels */
    size_t rows, strips;           /* of a strip, of an image */
    size_t items;
    /* Of images: the first that hold a pixel, and how many. */
    size_t top, left, n_rows, n_cols;
    /* Of filters: rows of a group; columns of all, of a part; parts. */
    size_t filter_rows, columns, each, parts;
    bool first; /* in planes: neighbours are columns */
    bool whole; /* of filters: one part */
};

static struct job describe_job(const struct xl__conv_canonical *c)
{
    return (struct job){.c = c,
                        .d = &c->d,
                        .filter_rows = c->d.r,
                        .first = (c->d.pass == XL_CONV_BACKWARD_DATA
                                      ? c->d.in.layout
                                      : c->d.out.layout) == XL_NCHW};
}

static bool is_data(const struct job *j)
{
    return j->d->pass == XL_CONV_BACKWARD_DATA;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    const char *why = xl__depthwise_refused(l, c);
    if (why)
        return why;
    if (d->h * d->in.stride[XL__AT_H] + d->w * d->in.stride[XL__AT_W] >
        INT32_MAX)
        return "a size does not fit in 32 bits";
    return xl__iterations_refused(l, d->pass == XL_CONV_BACKWARD_DATA
                                         ? (double)(d->h + d->r)
                                         : (double)xl__conv_terms(c));
}

/* -- tunables ------------------------------------------------------------- */

static bool has_vectors(const xl_images *x, size_t channels, size_t width)
{
    return x->layout == XL_NHWC && x->stride[XL__AT_C] <= 1 &&
           channels % width == 0 &&
           x->offset % (width * xl_dtype_bytes(x->dtype)) == 0;
}

static size_t fit_vector(const struct job *j, size_t width)
{
    while (width > 1 && !(has_vectors(&j->d->in, j->d->c, width) &&
                          has_vectors(&j->d->out, j->d->k, width)))
        width /= 2;
    return width;
}

/* 32-bit registers of an item. */
static size_t item_registers(const struct job *j, size_t vw, size_t tx)
{
    enum { PLAIN = 32 };
    const xl_conv *d = j->d;
    const size_t bytes = xl_dtype_bytes(d->out.dtype);
    const size_t value = xl__max_size(bytes, sizeof(float));
    const size_t live =
        is_data(j) ? xl__ceil_div(d->r, d->stride_h) : j->filter_rows;
    const size_t columns =
        is_data(j) ? tx / d->stride_w + xl__ceil_div(d->s, d->stride_w) - 1
                   : d->s;
    const size_t fresh = is_data(j) ? 1 : xl__min_size(live, d->stride_h);
    return PLAIN + vw *
                       ((j->filter_rows * d->s + live * columns + 1) * value +
                        fresh * columns * bytes) /
                       sizeof(float);
}

/* Of filters: sums of half the items. */
static size_t local_bytes(const struct job *j, size_t vw, size_t wg)
{
    const size_t sum =
        xl__max_size(xl_dtype_bytes(j->d->out.dtype), sizeof(float));
    return is_data(j)
               ? 0
               : xl__ceil_div(wg, 2) * j->filter_rows * j->d->s * vw * sum;
}

static bool has_local(const struct xl__limits *l, size_t bytes)
{
    return bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0);
}

/* -- the plan ------------------------------------------------------------- */

static size_t count_resident(const struct xl__limits *l, const struct job *j)
{
    return (is_data(j) ? RESIDENT_ITEMS : FILTERS_ITEMS) *
           xl__size_or(l, XL__F_compute_units, 1);
}

/* Strips of one image, when an item for each would make so many: no more items
 * than are resident at once, so that they end together. */
static void cut_strips(const struct xl__limits *l, struct job *j, size_t rows,
                       size_t items)
{
    const size_t strips = xl__min_size(xl__ceil_div(rows, LEAST_ROWS),
                                       count_resident(l, j) / items);
    j->rows = xl__ceil_div(rows, xl__max_size(1, strips));
    j->strips = xl__ceil_div(rows, j->rows);
}

/* 32-bit registers of an item that are sure to fit: the compiler has the rest
 * (IN-20). */
static size_t most_registers(const struct xl__limits *l)
{
    static const double taken = 0.75;
    return (size_t)(taken * xl__num_or(l, XL__F_registers_per_item,
                                       xl__model(l, XL__M_item_registers)));
}

/* Where an item lacks the registers for the sums of all rows of a filter, a
 * group has as many rows as are sure to fit. */
static void cut_filters(const struct xl__limits *l, struct job *j)
{
    const double all = xl__num_or(l, XL__F_registers_per_item,
                                  xl__model(l, XL__M_item_registers));
    if (is_data(j) || (double)item_registers(j, j->vw, j->tx) <= all)
        return;
    while (j->filter_rows > 1 &&
           item_registers(j, j->vw, j->tx) > most_registers(l))
        j->filter_rows = xl__ceil_div(j->filter_rows, 2);
}

/* Items of an image's pixels, counted from the padding's edge, by SH rows and
 * TX columns. */
static void share_data(const struct xl__limits *l, struct job *j)
{
    const xl_conv *d = j->d;
    j->top = d->pad_top / d->stride_h;
    j->left = d->pad_left / j->tx;
    j->n_rows = xl__ceil_div(d->pad_top + d->h, d->stride_h) - j->top;
    j->n_cols = xl__ceil_div(d->pad_left + d->w, j->tx) - j->left;
    j->blocks = j->first ? j->vectors : xl__ceil_div(j->vectors, NEIGHBOURS);
    j->block = xl__ceil_div(j->vectors, j->blocks);
    const size_t items = d->n * j->n_cols * j->block * j->blocks;
    cut_strips(l, j, j->n_rows, items);
    j->items = items * j->strips;
}

/* Items of filters, columns in parts. */
static void share_filters(const struct xl__limits *l, struct job *j)
{
    const xl_conv *d = j->d;
    const size_t most = xl__min_size(j->wg, j->first ? 1 : j->nb);
    for (j->block = 1; j->block < most && j->block < j->vectors;)
        j->block *= 2;
    j->blocks = xl__ceil_div(j->vectors, j->block);
    cut_strips(l, j, j->c->p, d->n * j->c->q * j->block * j->blocks);
    const size_t lanes = j->wg / j->block;
    const size_t groups = j->blocks * xl__ceil_div(d->r, j->filter_rows);
    j->columns = d->n * j->strips * j->c->q;
    const size_t parts =
        j->whole ? 1
                 : xl__max_size(1, count_resident(l, j) / (j->wg * groups));
    j->each = lanes * xl__ceil_div(j->columns, lanes * parts);
    j->parts = xl__ceil_div(j->columns, j->each);
    j->items = groups * j->parts * j->wg;
}

static bool apply_tunables(const struct xl__limits *l,
                           const struct xl__params *p, struct job *j)
{
    const bool of_data = is_data(j);
    j->vw = (size_t)p->value[AT_VW];
    j->tx = of_data ? (size_t)p->value[AT_TX] : 1;
    j->nb = of_data ? 1 : (size_t)p->value[AT_NB];
    j->whole = !of_data && p->value[AT_PARTS] == 1;
    j->wg = (size_t)p->value[AT_WG];
    cut_filters(l, j);
    if (!j->vw || !j->tx || !j->nb || !j->wg ||
        fit_vector(j, j->vw) != j->vw ||
        (of_data && j->tx % j->d->stride_w != 0) ||
        xl__most_items(l, j->wg) < j->wg || (j->wg & (j->wg - 1)) != 0 ||
        !has_local(l, local_bytes(j, j->vw, j->wg)))
        return false;
    j->vectors = xl__ceil_div(j->d->k, j->vw);
    (of_data ? share_data : share_filters)(l, j);
    return true;
}

/* Of an item of a group of so many. */
static size_t group_registers(const struct xl__limits *l, size_t wg)
{
    return xl__min_size(most_registers(l),
                        xl__size_or(l, XL__F_registers_per_cu, SIZE_MAX) / wg);
}

/* Larger groups of fewer channels, each with VECTOR_BYTES of a pixel or more,
 * where an item has few rows then: a launch that joins parts takes longer. */
static void find_whole(const struct xl__limits *l, const void *desc,
                       struct xl__params *out)
{
    enum { MOST_ITEMS = 512 };
    struct job j = describe_job(desc);
    const size_t vw = (size_t)out->value[AT_VW];
    const size_t least =
        xl__max_size(1, VECTOR_BYTES / (vw * xl_dtype_bytes(j.d->out.dtype)));
    const size_t few = (size_t)out->value[AT_WG];
    const size_t rows = WHOLE_ROWS / j.d->stride_h; /* of out */
    struct xl__params p = *out;
    p.value[AT_PARTS] = 1;
    for (size_t wg = few; wg <= MOST_ITEMS; wg *= 2) {
        if (wg > few && item_registers(&j, vw, 1) > group_registers(l, wg))
            return;
        for (size_t nb = NEIGHBOURS; nb >= least; nb /= 2) {
            j = describe_job(desc);
            p.value[AT_WG] = (int)wg;
            p.value[AT_NB] = (int)nb;
            if (apply_tunables(l, &p, &j) &&
                xl__ceil_div(j.columns, wg / j.block) * j.rows <= rows) {
                *out = p;
                return;
            }
        }
    }
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { ITEMS = 128 };
    const size_t few = xl__depthwise_few(l);
    struct job j = describe_job(desc);
    const bool of_data = is_data(&j);
    const size_t most = xl__depthwise_registers(l);
    const size_t bytes = xl_dtype_bytes(j.d->out.dtype);
    /* More items were faster than wider vectors: NV-74. */
    size_t vw =
        fit_vector(&j, of_data ? VECTOR_BYTES / bytes : FILTERS_VECTOR);
    size_t tx = of_data ? j.d->stride_w : 1;
    while (of_data && 2 * tx <= MOST_COLUMNS)
        tx *= 2;
    while (vw > 1 && item_registers(&j, vw, tx) > most)
        vw /= 2;
    while (tx > j.d->stride_w && item_registers(&j, vw, tx) > most)
        tx /= 2;
    size_t wg = xl__most_items(l, ITEMS);
    while (wg > 1 && !has_local(l, local_bytes(&j, vw, wg)))
        wg /= 2;
    *out = (struct xl__params){.source = "model"};
    out->value[AT_VW] = (int)vw;
    out->value[AT_WG] = (int)wg;
    out->value[AT_TX] = (int)tx;
    if (of_data) {
        while (apply_tunables(l, out, &j) && j.tx > j.d->stride_w &&
               j.items < few)
            out->value[AT_TX] /= 2;
    } else {
        out->value[AT_NB] = NEIGHBOURS;
        out->value[AT_PARTS] = 2;
        find_whole(l, desc, out);
    }
}

static void define_options(const struct job *j, struct xl__step *s)
{
    const xl_conv *d = j->d;
    const struct xl__defined defines[] = {
        {"WG", j->wg}, {"VW", j->vw},       {"R", d->r},
        {"S", d->s},   {"SH", d->stride_h}, {"SW", d->stride_w},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (!is_data(j))
        xl__define(s, "TR", (long)j->filter_rows);
    xl__conv_define(s, j->c);
}

static void estimate(const struct xl__limits *l, const struct job *j,
                     struct xl__plan *p)
{
    p->flop = xl__conv_flop(j->c);
    p->bytes = xl__conv_bytes(j->c);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_depthwise_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_conv_depthwise_bytes_frac),
        .fill = xl__fill(l, (double)xl__ceil_div(j->items, j->wg)),
        .launches = p->n_steps};
    xl__estimate(l, &work, p);
}

static xl_status plan_data(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    struct job j = describe_job(desc);
    const xl_conv *d = j.d;
    if (!apply_tunables(l, params, &j) || j.items > INT32_MAX - j.wg)
        return XL_UNSUPPORTED;
    struct xl__step *s =
        xl__plan_add(p, "conv/depthwise_data.cl", "conv_depthwise_data",
                     xl__round_up(j.items, j.wg), j.wg);
    const struct xl__defined defines[] = {
        {"FIRST", j.first},
        {"TX", j.tx},
        {"VF", d->filters.offset % (j.vw * xl_dtype_bytes(d->out.dtype)) == 0},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    define_options(&j, s);
    const size_t sizes[] = {j.rows, j.strips, j.block,  j.blocks, j.top,
                            j.left, j.n_rows, j.n_cols, j.items};
    xl__depthwise_args(s, j.c, xl__conv_slot_filters(d), sizes,
                       sizeof sizes / sizeof *sizes);
    xl__conv_arg_last(s, j.c);
    estimate(l, &j, p);
    return XL_OK;
}

static void add_join(const struct job *j, struct xl__plan *p)
{
    const size_t elems = j->d->k * j->d->r * j->d->s;
    struct xl__step *s = xl__plan_add(
        p, "conv/depthwise_filters.cl", "conv_depthwise_join",
        xl__ceil_div(elems, xl__min_size(JOINED, j->wg)) * j->wg, j->wg);
    s->is_aid = true;
    define_options(j, s);
    xl__conv_arg_filters(s, j->c);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u32(s, j->parts);
    xl__arg_u32(s, elems);
    xl__conv_arg_last(s, j->c);
}

static xl_status plan_filters(const struct xl__limits *l, const void *desc,
                              const struct xl__params *params,
                              struct xl__plan *p)
{
    struct job j = describe_job(desc);
    const xl_conv *d = j.d;
    if (!apply_tunables(l, params, &j) || j.columns + j.each > INT32_MAX)
        return XL_UNSUPPORTED;
    const size_t sum =
        xl__max_size(xl_dtype_bytes(d->out.dtype), sizeof(float));
    struct xl__step *s = xl__plan_add(p, "conv/depthwise_filters.cl",
                                      "conv_depthwise_filters", j.items, j.wg);
    s->local_mem_bytes = local_bytes(&j, j.vw, j.wg);
    define_options(&j, s);
    xl__define(s, "WHOLE", j.whole);
    const size_t sizes[] = {j.rows,   j.strips,  j.block,
                            j.blocks, j.columns, j.each};
    xl__depthwise_args(s, j.c,
                       j.whole ? xl__conv_slot_filters(d) : XL__MEM_SCRATCH,
                       sizes, sizeof sizes / sizeof *sizes);
    if (j.whole) {
        xl__conv_arg_last(s, j.c);
    } else {
        p->scratch_bytes = j.parts * d->k * d->r * d->s * sum;
        add_join(&j, p);
    }
    estimate(l, &j, p);
    return XL_OK;
}

static const struct xl__conv_own keeps_filters = {.keeps_filters = true};

#define VARIANT(to, order)                                                    \
    const struct xl__variant xl__conv_##to##_depthwise = {                    \
        .name = "conv_" #to "_depthwise",                                     \
        .repeats = "bit for bit: " order,                                     \
        .tunables = to##_tunables,                                            \
        .refuses = find_refusal,                                              \
        .choose = choose_tunables,                                            \
        .plan = plan_##to,                                                    \
        .own = &keeps_filters}
VARIANT(data, "each element is one sum in a fixed order");
VARIANT(filters, "each element's parts, in a fixed order");
