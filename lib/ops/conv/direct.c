/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution, for few channels per group, where a product of matrices
 * would be narrow: a sum for each element of the result, vectors along the
 * contiguous dimension. The tile of a group, which depends on the sizes, is
 * an argument of the kernel; registers and items of a group are tunables. */
#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

enum {
    MOST_CHANNELS = 32, /* of a group: more are a product of matrices */
    MOST_SIDE = 7,      /* of a filter, since loops over it are unrolled */
    MOST_STRIDE = 3,    /* of the self-check's case */
    STAGED_BYTES = 16 << 10, /* of local memory, so that groups overlap */
    THREAD_TILES = 6,        /* of a unit, so that units end together */
    LANE_TILES = 32,         /* so that several are resident as well */
    VECTOR_BYTES = 16        /* of a load where items are lanes */
};

const struct xl__tunable xl__conv_direct_tunables[] = {
    {"VW", "elements of a vector", {1, 2, 4, 8, 16, 0}},
    {"RX", "sums along the next dimension", {1, 2, 4, 7, 8, 0}},
    {"WG", "items of a work-group", {1, 32, 64, 128, 256, 0}},
    {NULL, NULL, {0}},
};
enum { AT_VW, AT_RX, AT_WG };

struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    size_t cg, kg, vw, rx, wg;
    /* conv/direct.cl: the tile, elements of a line, of local memory; tiles */
    size_t tile[3], ld, staged, tiles;
    bool first; /* NCHW */
    bool is_dilated;
    bool is_thread; /* conv/direct_thread.cl */
};

static struct job describe_job(const struct xl__conv_canonical *c)
{
    return (struct job){.c = c,
                        .d = &c->d,
                        .cg = xl__conv_cg(&c->d),
                        .kg = xl__conv_kg(&c->d),
                        .first = c->d.out.layout == XL_NCHW,
                        .is_dilated =
                            c->d.dilation_h > 1 || c->d.dilation_w > 1};
}

static bool is_contiguous(const xl_images *x)
{
    return x->stride[x->layout == XL_NCHW ? XL__AT_W : XL__AT_C] <= 1;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    if (xl__conv_cg(d) > MOST_CHANNELS)
        return "a group has more than 32 channels";
    if (d->r > MOST_SIDE || d->s > MOST_SIDE)
        return "a filter is larger than 7 x 7";
    if (d->stride_h > MOST_STRIDE || d->stride_w > MOST_STRIDE)
        return "a stride is more than 3";
    if (d->in.layout != d->out.layout || !is_contiguous(&d->in) ||
        !is_contiguous(&d->out))
        return "in and out are not contiguous along one dimension";
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    if (d->in.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device lacks double precision";
    return xl__iterations_refused(l, (double)xl__conv_depth(d));
}

/* -- tunables ----------------------------------------------------------- */

/* Whether an item is a thread with vector registers, and not a lane. */
static bool is_thread(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) &&
           xl__num_or(l, XL__F_subgroup_width, 1) <= 1;
}

/* Elements of a vector that lies in one channel (NCHW) or in one group of
 * channels, or has whole ones (NHWC). */
static size_t fit_vector(const struct job *j, size_t width)
{
    if (j->first)
        return width;
    width = xl__shrink_to_divisor(width, j->d->k);
    while (j->kg % width != 0 && width % j->kg != 0)
        width /= 2;
    return width;
}

/* Threads take the narrowest vectors that have a line of out in the fewest
 * where what is beyond its end takes time: where out is read as well. */
static size_t choose_vector(const struct xl__limits *l, const struct job *j)
{
    enum { LEAST = 4, WIDEST = 16 };
    const size_t bytes = xl_dtype_bytes(j->d->in.dtype);
    const bool is_written_once = j->d->beta == 0 && !j->c->snippet;
    size_t width = 1;
    if (!is_thread(l))
        return j->first ? 1
                        : fit_vector(j, xl__min_size(VECTOR_BYTES / bytes,
                                                     j->d->in.offset / bytes));
    const size_t native =
        xl__min_size(WIDEST, xl__size_or(l, XL__F_native_vector_f32, 1));
    while (width < native && (!j->first || width < j->c->q))
        width *= 2;
    while (j->first && !is_written_once && width > LEAST &&
           xl__round_up(j->c->q, width / 2) < xl__round_up(j->c->q, width))
        width /= 2;
    return fit_vector(j, width);
}

/* Rows of threads: the number that wastes fewer sums. */
static size_t choose_sums(const struct xl__limits *l, const struct job *j)
{
    enum { USUAL = 4, ODD = 7 };
    const size_t p = j->c->p;
    /* Lanes of a CPU's vectors (GE-09) have too few registers for more. */
    if (j->is_dilated || (!is_thread(l) && !xl__is(l, XL__F_has_local_mem)))
        return 1;
    return is_thread(l) && j->first &&
                   xl__round_up(p, ODD) <= xl__round_up(p, USUAL)
               ? ODD
               : USUAL;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { ITEMS = 128 };
    const struct job j = describe_job(desc);
    *out = (struct xl__params){.source = "model"};
    out->value[AT_VW] = (int)choose_vector(l, &j);
    out->value[AT_RX] = (int)choose_sums(l, &j);
    out->value[AT_WG] = is_thread(l) ? 1 : (int)xl__most_items(l, ITEMS);
}

/* -- the tile ----------------------------------------------------------- */

/* Of `all`, the share of a tile: at least `least`, at most `most`. */
static size_t share(const struct xl__limits *l, size_t all, size_t least,
                    size_t most)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t even =
        xl__ceil_div(all, units * (is_thread(l) ? THREAD_TILES : LANE_TILES));
    return xl__max_size(
        1, xl__min_size(most, xl__min_size(all, xl__max_size(least, even))));
}

/* `size` in the fewest equal parts of at most `most`, in multiples of `unit`.
 */
static size_t split_evenly(size_t size, size_t most, size_t unit)
{
    most = xl__max_size(unit, most / unit * unit);
    return xl__round_up(xl__ceil_div(size, xl__ceil_div(size, most)), unit);
}

static size_t value_bytes(const struct job *j)
{
    const size_t bytes = xl_dtype_bytes(j->d->in.dtype);
    return xl__max_size(bytes, sizeof(float));
}

/* Values that a tile may have in local memory, whose least one has `least`;
 * 0: it does not fit. */
static size_t most_values(const struct xl__limits *l, const struct job *j,
                          size_t least)
{
    const size_t room =
        xl__size_or(l, XL__F_local_mem_dynamic_bytes, 0) / value_bytes(j);
    const size_t most = xl__max_size(STAGED_BYTES / value_bytes(j), least);
    return least > room ? 0 : xl__min_size(most, room);
}

/* Lines of in that `rows` lines of out need. */
static size_t window(size_t rows, size_t stride, size_t size, size_t dilation)
{
    return (rows - 1) * stride + (size - 1) * dilation + 1;
}

static void set_line(struct job *j, size_t cols)
{
    j->tile[2] = cols;
    j->ld = xl__round_up(
        cols + (j->d->s - 1) * j->d->dilation_w / j->d->stride_w, j->vw);
}

/* Elements of the windows of `rows` rows, of one group of channels. */
static size_t staged_elems(const struct job *j, size_t rows)
{
    return j->cg * j->d->stride_w * j->ld *
           window(rows, j->d->stride_h, j->d->r, j->d->dilation_h);
}

/* false: local memory is too small for one vector of columns. Also where an
 * image has fewer: the self-check's case may have them. */
static bool cut_planes(const struct xl__limits *l, struct job *j)
{
    const size_t p = j->c->p, q = j->c->q, all = j->d->n * j->d->groups;
    size_t cols = q, rows = j->rx;
    set_line(j, j->vw);
    size_t most = most_values(l, j, staged_elems(j, rows) + j->vw);
    if (most == 0)
        return false;
    most -= j->vw;
    set_line(j, cols);
    while (cols > j->vw && staged_elems(j, rows) > most) {
        cols = split_evenly(q, cols / 2, j->vw);
        set_line(j, cols);
    }
    while (rows < p && staged_elems(j, rows + j->rx) <= most)
        rows += j->rx;
    rows = split_evenly(p, rows, j->rx);
    const size_t bands = xl__ceil_div(p, rows) * xl__ceil_div(q, cols);
    const size_t each = xl__ceil_div(cols, j->vw) *
                        xl__ceil_div(xl__min_size(rows, p), j->rx) * j->kg;
    const size_t planes = share(l, all, xl__ceil_div(j->wg, each),
                                bands > 1 ? 1 : most / staged_elems(j, rows));
    j->tile[0] = planes;
    j->tile[1] = rows;
    j->tiles = xl__ceil_div(all, planes) * bands;
    j->staged = planes * staged_elems(j, rows) + j->vw;
    return true;
}

/* Planes, or bands of rows where these are few; local memory has masks. */
static bool cut_planes_of_threads(const struct xl__limits *l, struct job *j)
{
    const size_t planes = j->d->n * j->d->k, p = j->c->p;
    const size_t least = THREAD_TILES * xl__size_or(l, XL__F_compute_units, 1);
    const size_t bands =
        xl__min_size(xl__ceil_div(p, j->rx), xl__ceil_div(least, planes));
    j->tile[0] = share(l, planes, 1, planes);
    j->tile[1] = split_evenly(p, xl__ceil_div(p, bands), j->rx);
    j->tile[2] = j->ld = 1;
    j->tiles = xl__ceil_div(planes, j->tile[0]) * xl__ceil_div(p, j->tile[1]);
    j->staged = xl__round_up(j->c->q, j->vw) * j->d->s;
    return (double)(j->staged * value_bytes(j)) <=
           xl__num_or(l, XL__F_local_mem_dynamic_bytes, 0);
}

static bool cut_lines(const struct xl__limits *l, struct job *j)
{
    const size_t depth = xl__conv_depth(j->d), k = j->d->k;
    const size_t most = most_values(l, j, j->vw * depth) / depth;
    const size_t lines = j->d->n * j->c->p;
    if (most == 0)
        return false;
    j->tile[1] = split_evenly(k, most, j->vw);
    const size_t blocks = xl__ceil_div(k, j->tile[1]);
    const size_t each = j->tile[1] / j->vw * xl__ceil_div(j->c->q, j->rx);
    j->tile[0] = share(l, lines * blocks, xl__ceil_div(j->wg, each), lines);
    j->tile[2] = 1;
    j->tiles = xl__ceil_div(lines, j->tile[0]) * blocks;
    j->staged = j->tile[1] * depth;
    return true;
}

/* conv/direct_thread.cl. */
static bool takes_threads(const struct xl__limits *l, const struct job *j)
{
    enum { MOST_STEP = 2 };
    return is_thread(l) && j->wg == 1 && j->first && j->cg == 1 &&
           !j->is_dilated && j->d->stride_w <= MOST_STEP;
}

static bool apply_tunables(const struct xl__limits *l,
                           const struct xl__params *p, struct job *j)
{
    j->vw = (size_t)p->value[AT_VW];
    j->rx = (size_t)p->value[AT_RX];
    j->wg = (size_t)p->value[AT_WG];
    if (!j->vw || !j->rx || !j->wg || fit_vector(j, j->vw) != j->vw ||
        (j->is_dilated && j->rx > 1) || xl__most_items(l, j->wg) < j->wg)
        return false;
    j->is_thread = takes_threads(l, j);
    return (!j->first      ? cut_lines(l, j)
            : j->is_thread ? cut_planes_of_threads(l, j)
                           : cut_planes(l, j)) &&
           j->tiles <= INT32_MAX / j->wg;
}

/* -- the plan ----------------------------------------------------------- */

static bool is_aligned(const struct job *j)
{
    const size_t in = j->vw * xl_dtype_bytes(j->d->in.dtype);
    const size_t out = j->vw * xl_dtype_bytes(j->d->out.dtype);
    return !j->first && j->d->in.offset % in == 0 &&
           j->d->out.offset % out == 0;
}

static void define_options(const struct job *j, struct xl__step *s)
{
    const xl_conv *d = j->d;
    const struct xl__defined defines[] = {
        {"FIRST", j->first},
        {"WG", j->wg},
        {"VW", j->vw},
        {"RX", j->rx},
        {"R", d->r},
        {"S", d->s},
        {"CG", j->cg},
        {"KG", j->kg > 1 && (j->first || j->kg % j->vw == 0) ? 0 : j->kg},
        {"SH", d->stride_h},
        {"SW", d->stride_w},
        {"DILATED", j->is_dilated},
        {"LAST", d->filters.layout == XL_KRSC},
        {"VA", is_aligned(j)},
    };
    const struct xl__defined of_threads[] = {
        {"VW", j->vw}, {"RX", j->rx},       {"R", d->r},
        {"S", d->s},   {"SH", d->stride_h}, {"SW", d->stride_w},
    };
    if (j->is_thread)
        xl__define_all(s, of_threads, sizeof of_threads / sizeof *of_threads);
    else
        xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
}

static void add_arguments(const struct job *j, struct xl__step *s)
{
    const xl_conv *d = j->d;
    const size_t sizes[] = {
        d->h,       d->w,       j->c->p,     j->c->q,       d->k,
        j->kg,      d->pad_top, d->pad_left, d->dilation_h, d->dilation_w,
        j->tile[0], j->tile[1], j->tile[2],  j->ld,         d->n};
    xl__conv_arg_in(s, j->c);
    xl__arg_u64(s, xl__conv_span_of_input(d));
    xl__conv_arg_filters(s, j->c);
    xl__conv_arg_out(s, j->c);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        xl__arg_u32(s, sizes[i]);
    s->local_mem_bytes = j->staged * value_bytes(j);
    xl__arg_local(s, s->local_mem_bytes);
    xl__conv_arg_last(s, j->c);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    static const double ns_per_s = 1e9;
    const xl_conv *d = desc;
    struct job j = describe_job(desc);
    if (!apply_tunables(l, params, &j))
        return XL_UNSUPPORTED;
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    struct xl__step *s = xl__plan_add(
        p, j.is_thread ? "conv/direct_thread.cl" : "conv/direct.cl",
        j.is_thread ? "conv_direct_thread" : "conv_direct", j.tiles * j.wg,
        j.wg);
    define_options(&j, s);
    add_arguments(&j, s);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_conv_direct_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_conv_direct_bytes_frac),
        .fill = xl__fill(l, (double)j.tiles),
        .chain_ns = (double)(d->r * d->s * (d->c / d->groups)) *
                    xl__model(l, XL__M_direct_step_clocks) /
                    xl__rate_clock(l) * ns_per_s,
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const struct xl__conv_own case_of_group = {.keeps_filters = true};

const struct xl__variant xl__conv_direct = {
    .name = "conv_direct",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = xl__conv_direct_tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
    .own = &case_of_group,
};
