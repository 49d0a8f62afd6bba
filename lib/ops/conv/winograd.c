/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with filters of 3 x 3 by Winograd's minimal algorithms, for CPUs
 * whose work-items are threads with vector registers, where the caller permits
 * their error: xl_conv.accuracy. The first launch packs the filters; in the
 * second each group transforms the windows and filters of its tiles slice by
 * slice, so that neither is in memory transformed.
 *
 * The error of a result, with r = |G| |g| |G|^T and d = |B|^T |window| |B| of
 * each channel, of n = c + ROUNDINGS roundings on the way of each product, is
 * at most (Higham 2002, section 3.1)
 *
 *   n u / (1 - n u) |A|^T [ sum over c of r * d ] |A|
 *
 * and that is at most `growth` sum over c of (largest magnitude of g) (that of
 * the window), where growth is the square of the largest row sum of
 * |A|^T (|G| 1 * |B|^T 1): Barabasz, Anderson, Soodhalter, Gregg 2020, "Error
 * Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural
 * Networks", section 4, with maximum norms. */
#include <math.h>

#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

enum {
    FILTER = 3,
    TAPS = FILTER * FILTER,
    LEAST_VECTOR = 4, /* floats; narrower: treated as no vectors */
    WIDE_VECTOR = 16,
    GAP = 16,  /* floats: cl/conv/winograd.cl */
    SLAB = 64, /* of the depth that a group packs: conv/cpu.cl */
    GROUPS_PER_UNIT = 2
};

static const struct xl__tunable tunables[] = {
    {"TM", "tiles to a group", {4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 0}},
    {"TN", "filters to a group", {8, 16, 24, 32, 48, 64, 96, 128, 0}},
    {"TK", "channels of a slice", {4, 8, 16, 32, 64, 128, 0}},
    {"RM", "tiles in registers", {4, 6, 8, 0}},
    {"RN", "filters there", {8, 16, 32, 64, 0}},
    {"VW", "floats of a vector", {4, 8, 16, 0}},
    {NULL, NULL, {0}},
};
enum { AT_RM = XL__CONV_TK + 1, AT_RN, AT_VW };

/* F(out x out, 3 x 3). */
struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    size_t out, side, points;
    size_t rows, cols, tiles; /* of a column, of a row, of all images */
    size_t tm, tn, tk, rm, rn, vw;
};

static struct job describe_job(const struct xl__conv_canonical *c, size_t out)
{
    struct job j = {.c = c, .d = &c->d, .out = out, .side = out + FILTER - 1};
    j.points = j.side * j.side;
    j.rows = xl__ceil_div(c->p, out);
    j.cols = xl__ceil_div(c->q, out);
    j.tiles = c->d.n * j.rows * j.cols;
    return j;
}

static size_t native_vector(const struct xl__limits *l)
{
    const double native = xl__num_or(l, XL__F_native_vector_f32, 1);
    return !(native >= LEAST_VECTOR)    ? 0
           : native >= WIDE_VECTOR      ? WIDE_VECTOR
           : native >= 2 * LEAST_VECTOR ? 2 * LEAST_VECTOR
                                        : LEAST_VECTOR;
}

static bool is_float(xl_dtype t)
{
    return t == XL_F32 || t == XL_F16 || t == XL_BF16;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc,
                                xl_accuracy least)
{
    const struct xl__conv_canonical *c = desc;
    const xl_conv *d = &c->d;
    size_t in[XL__N_AT], out[XL__N_AT];
    xl__conv_sizes(c, in, out);
    if (d->r != FILTER || d->s != FILTER || d->groups > 1 ||
        d->stride_h > 1 || d->stride_w > 1 || d->dilation_h > 1 ||
        d->dilation_w > 1)
        return "it supports filters of 3 x 3 alone, without stride, dilation "
               "and groups";
    if (d->accuracy < least)
        return least == XL_ACCURACY_SPLIT
                   ? "the caller did not allow its error (XL_ACCURACY_SPLIT)"
                   : "the caller did not allow its error (XL_ACCURACY_FAST)";
    if (!is_float(d->in.dtype))
        return "it multiplies f32, f16 and bf16 alone";
    if (!xl__is(l, XL__F_is_cpu))
        return "work-items are not threads of a CPU here";
    if (native_vector(l) == 0)
        return "the device has no vectors of floats";
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    if (!xl__conv_is_flat(&d->out, out))
        return "rows of out have gaps between them";
    return xl__iterations_refused(l, 2.0 * (double)xl__conv_depth(d));
}

/* -- tunables ----------------------------------------------------------- */

static size_t local_bytes(const struct job *j)
{
    return sizeof(float) * j->points *
           (j->tk * (j->tm + j->tn) + j->tm * j->tn + 2 * GAP);
}

/* 16 of 32 wide registers, 12 of 16 others; filters are often a power of two.
 */
static void choose_registers(size_t vector, struct job *j)
{
    enum { FEW = 4 };
    j->vw = vector;
    j->rn = 2 * vector;
    j->rm = j->tiles <= FEW || vector == LEAST_VECTOR ? FEW
            : vector == WIDE_VECTOR                   ? 2 * FEW
                                                      : FEW + 2;
}

static size_t grow_tile(size_t unit, size_t size, size_t most)
{
    size_t tile = unit;
    while (tile < size && 2 * tile <= most)
        tile *= 2;
    return tile;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            size_t out, struct xl__params *params)
{
    enum { FILTERS = 64, TILES = 32, CHANNELS = 16 };
    struct job j = describe_job(desc, out);
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    choose_registers(native_vector(l), &j);
    j.tn = grow_tile(j.rn, j.d->k, FILTERS);
    const size_t blocks = xl__ceil_div(j.d->k, j.tn);
    j.tm = grow_tile(j.rm, j.tiles * blocks / (units * GROUPS_PER_UNIT),
                     TILES);
    j.tk = xl__max_size(CHANNELS, j.vw);
    while (local_bytes(&j) > room) {
        if (j.tm > j.rm)
            j.tm /= 2;
        else if (j.tn > j.rn)
            j.tn /= 2;
        else if (j.tk > j.vw)
            j.tk /= 2;
        else
            break;
    }
    *params = (struct xl__params){.source = "model"};
    params->value[XL__CONV_TM] = (int)j.tm;
    params->value[XL__CONV_TN] = (int)j.tn;
    params->value[XL__CONV_TK] = (int)j.tk;
    params->value[AT_RM] = (int)j.rm;
    params->value[AT_RN] = (int)j.rn;
    params->value[AT_VW] = (int)j.vw;
}

/* -- the plan ----------------------------------------------------------- */

static bool apply_tunables(const struct xl__limits *l,
                           const struct xl__params *p, struct job *j)
{
    j->tm = (size_t)p->value[XL__CONV_TM];
    j->tn = (size_t)p->value[XL__CONV_TN];
    j->tk = (size_t)p->value[XL__CONV_TK];
    j->rm = (size_t)p->value[AT_RM];
    j->rn = (size_t)p->value[AT_RN];
    j->vw = (size_t)p->value[AT_VW];
    return j->tm && j->tn && j->tk && j->rm && j->rn && j->vw &&
           j->tm % j->rm == 0 && j->tn % j->rn == 0 && j->rn % j->vw == 0 &&
           j->tk % j->vw == 0 &&
           local_bytes(j) <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           xl__ceil_div(j->tiles, j->tm) * xl__ceil_div(j->d->k, j->tn) <=
               INT32_MAX;
}

/* LINE of conv/winograd.cl. */
static size_t find_line(const xl_images *in)
{
    const bool last = in->layout == XL_NHWC;
    return in->stride[last ? XL__AT_C : XL__AT_W] > 1 ? 0 : last ? 1 : 2;
}

/* Panels of rn filters, taps and channels in the order that they have. */
static void add_pack(const struct job *j, struct xl__plan *p)
{
    const size_t depth = xl__conv_depth(j->d);
    struct xl__step *s = xl__plan_add(p, "conv/cpu.cl", "conv_cpu_pack",
                                      xl__ceil_div(depth, SLAB), 1);
    s->is_aid = true;
    const struct xl__defined defines[] = {
        {"STEP", 1},   {"FIRST", 0},  {"TM", j->tm}, {"TN", j->tn},
        {"TK", j->tk}, {"RM", j->rm}, {"RN", j->rn}, {"VW", j->vw},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
    s->dims = 2;
    s->local[1] = 1;
    s->global[1] = xl__ceil_div(j->d->k, j->rn);
    xl__conv_arg_filters(s, j->c);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u32(s, j->d->k);
    xl__arg_u32(s, depth);
    xl__arg_u32(s, j->d->c);
    xl__arg_u32(s, TAPS);
}

static void add_multiply(const struct job *j, struct xl__plan *p)
{
    const xl_conv *d = j->d;
    const size_t blocks = xl__ceil_div(d->k, j->tn);
    struct xl__step *s =
        xl__plan_add(p, "conv/winograd.cl", "conv_winograd",
                     xl__ceil_div(j->tiles, j->tm) * blocks, 1);
    const struct xl__defined defines[] = {
        {"OUT", j->out}, {"FIRST", d->out.layout == XL_NCHW},
        {"TM", j->tm},   {"TN", j->tn},
        {"TK", j->tk},   {"RM", j->rm},
        {"RN", j->rn},   {"VW", j->vw},
        {"LINE", find_line(&d->in)},
        {"LAST", d->filters.layout == XL_KRSC},
    };
    const size_t sizes[] = {d->h,    d->w,    j->c->p,  j->c->q,
                            j->rows, j->cols, j->tiles, d->c,
                            d->k,    d->pad_top, d->pad_left, blocks};
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
    s->local_mem_bytes = local_bytes(j);
    xl__conv_arg_in(s, j->c);
    xl__arg_u64(s, xl__conv_span_of_input(d));
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_mem(s, XL__CONV_OUT);
    xl__arg_value_u64(s, XL__CONV_OFF_OUT);
    xl__arg_u64(s, d->out.stride[XL__AT_N]);
    xl__arg_u64(s, d->out.stride[XL__AT_C]);
    xl__arg_u64(s, xl__conv_pixel_stride(&d->out));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        xl__arg_u32(s, sizes[i]);
    xl__conv_arg_last(s, j->c);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            size_t out, const struct xl__params *params,
                            struct xl__plan *p)
{
    /* Of the f32 rate; vectors of work for a window's or filter's point that
     * is transformed, and for one that is transformed back. */
    static const double steady = 0.7, turned = 5, back = 6;
    struct job j = describe_job(desc, out);
    if (!apply_tunables(l, params, &j))
        return XL_UNSUPPORTED;
    add_pack(&j, p);
    add_multiply(&j, p);
    const double k = (double)j.d->k, c = (double)j.d->c;
    const double blocks = ceil(k / (double)j.tn);
    const double groups = ceil((double)j.tiles / (double)j.tm);
    const double tiles = (double)xl__round_up(j.tiles, j.rm);
    const double filters = (double)xl__round_up(j.d->k, j.rn);
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    p->scratch_bytes = sizeof(float) * (size_t)filters * xl__conv_depth(j.d);
    const struct xl__cost work = {
        .flop = 2 * (double)j.points *
                (tiles * filters * c +
                 turned * c * (tiles * blocks + filters * groups) +
                 back * tiles * filters),
        .flop_frac = steady,
        .bytes = p->bytes + 2 * (double)p->scratch_bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, groups * blocks),
        .launches = 2};
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* -- the variants ------------------------------------------------------- */

#define WINOGRAD(symbol, label, out_, permission)                    \
    static const char *refuses_##out_(const struct xl__limits *l,             \
                                      const void *desc)                       \
    {                                                                         \
        return find_refusal(l, desc, permission);                             \
    }                                                                         \
    static void choose_##out_(const struct xl__limits *l, const void *desc,   \
                              struct xl__params *params)                      \
    {                                                                         \
        choose_tunables(l, desc, out_, params);                               \
    }                                                                         \
    static xl_status plan_##out_(const struct xl__limits *l,                  \
                                 const void *desc,                            \
                                 const struct xl__params *params,             \
                                 struct xl__plan *p)                          \
    {                                                                         \
        return plan_steps(l, desc, out_, params, p);                          \
    }                                                                         \
    static const struct xl__conv_own own_##out_ = {                           \
        .window = out_, .accuracy = permission};                              \
    const struct xl__variant symbol = {                                       \
        .name = label,                                                        \
        .repeats = "bit for bit: each element is one sum in a fixed order",   \
        .tunables = tunables,                                                 \
        .refuses = refuses_##out_,                                            \
        .choose = choose_##out_,                                              \
        .plan = plan_##out_,                                                  \
        .own = &own_##out_,                                                   \
    }

WINOGRAD(xl__conv_winograd_2, "conv_winograd_2x2", 2, XL_ACCURACY_SPLIT);
WINOGRAD(xl__conv_winograd_4, "conv_winograd_4x4", 4, XL_ACCURACY_FAST);
