/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution for CPUs, where a work-item is a thread with vector registers
 * and caches. The first launch packs the filters into panels; in the second
 * each group gathers the pixels of a tile and keeps its sums in registers. */
#include <math.h>

#include "base/alloc.h"
#include "ops/conv/conv.h"
#include "ops/path/cost.h"

enum {
    LEAST_VECTOR = 4, /* floats; narrower: treated as no vectors */
    WIDE_VECTOR = 16,
    SLAB = 64, /* of the depth that a group packs: conv/cpu.cl */
    GROUPS_PER_UNIT = 6,
    LEAST_DEPTH = 16
};

const struct xl__tunable xl__conv_cpu_tunables[] = {
    {"TM", "rows of out to a group", {8, 16, 32, 64, 128, 256, 512, 0}},
    {"TN",
     "columns of out to a group",
     {8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 0}},
    {"TK", "depth of a slice", {16, 32, 64, 128, 256, 512, 0}},
    {"RM", "rows in registers", {4, 8, 0}},
    {"RN", "columns there", {8, 24, 32, 0}},
    {"VW", "floats of a vector", {4, 8, 16, 0}},
    {NULL, NULL, {0}},
};
enum { AT_RM = XL__CONV_TK + 1, AT_RN, AT_VW };

struct job {
    const struct xl__conv_canonical *c;
    const xl_conv *d;
    size_t m, n, depth, pixels, kg;
    size_t tm, tn, tk, rm, rn, vw;
    size_t tiles_m, tiles_n;
    size_t panels; /* of all groups */
    bool first;    /* filters are the rows */
};

static struct job describe_product(const struct xl__conv_canonical *c)
{
    struct job j = {.c = c, .d = &c->d};
    j.first = c->d.out.layout == XL_NCHW;
    j.pixels = c->d.n * c->p * c->q;
    j.kg = xl__conv_kg(j.d);
    j.depth = xl__conv_depth(j.d);
    j.m = j.first ? j.kg : j.pixels;
    j.n = j.first ? j.pixels : j.kg;
    return j;
}

/* Floats of a native vector; 0: no vectors. */
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

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__conv_canonical *c = desc;
    size_t in[XL__N_AT], out[XL__N_AT];
    xl__conv_sizes(c, in, out);
    if (!is_float(c->d.in.dtype))
        return "it multiplies f32, f16 and bf16 alone";
    if (!xl__is(l, XL__F_is_cpu))
        return "work-items are not threads of a CPU here";
    if (native_vector(l) == 0)
        return "the device has no vectors of floats";
    if (!xl__conv_fits_32(c))
        return "a size does not fit in 32 bits";
    if (!xl__conv_is_flat(&c->d.out, out))
        return "rows of out have gaps between them";
    return xl__iterations_refused(l, 2.0 * (double)xl__conv_depth(&c->d));
}

/* -- tunables ----------------------------------------------------------- */

static bool keeps_sums(const struct job *j)
{
    return j->depth > j->tk;
}

static size_t local_bytes(const struct job *j)
{
    const size_t slice = (j->first ? j->tn : j->tm) * j->tk + j->vw;
    return sizeof(float) * (slice + (keeps_sums(j) ? j->tm * j->tn : 0));
}

/* The tile of sums in registers, beside a vector of columns and an element of
 * rows: 16 of 32 wide registers, 12 or 8 of 16 others. */
static void choose_registers(size_t vector, struct job *j)
{
    j->vw = vector;
    j->rm = vector == WIDE_VECTOR ? 8 : 4;
    j->rn = vector * (vector == 2 * LEAST_VECTOR ? 3 : 2);
}

/* The least `unit` 2^i >= size, but at most the largest such <= most. */
static size_t grow_tile(size_t unit, size_t size, size_t most)
{
    size_t tile = unit;
    while (tile < size && 2 * tile <= most)
        tile *= 2;
    return tile;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { FILTERS = 512, PIXELS = 128, DEPTH = 256 };
    struct job j = describe_product(desc);
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    choose_registers(native_vector(l), &j);
    const size_t unit_f = xl__max_size(j.first ? j.rm : j.rn, 8);
    const size_t unit_p = xl__max_size(j.first ? j.rn : j.rm, 8);
    size_t filters = grow_tile(unit_f, j.kg, FILTERS);
    const size_t tiles = xl__ceil_div(j.kg, filters) * j.d->groups;
    const size_t share = j.pixels * tiles / (units * GROUPS_PER_UNIT);
    size_t pixels = grow_tile(unit_p, share, PIXELS);
    j.tk = DEPTH;
    for (;;) {
        j.tm = j.first ? filters : pixels;
        j.tn = j.first ? pixels : filters;
        if (local_bytes(&j) <= room)
            break;
        if (j.tk > 2 * LEAST_DEPTH)
            j.tk /= 2;
        else if (filters > unit_f)
            filters /= 2;
        else if (pixels > unit_p)
            pixels /= 2;
        else
            break;
    }
    *out = (struct xl__params){.source = "model"};
    out->value[XL__CONV_TM] = (int)j.tm;
    out->value[XL__CONV_TN] = (int)j.tn;
    out->value[XL__CONV_TK] = (int)j.tk;
    out->value[AT_RM] = (int)j.rm;
    out->value[AT_RN] = (int)j.rn;
    out->value[AT_VW] = (int)j.vw;
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
    if (!j->tm || !j->tn || !j->tk || !j->vw || !j->rm || !j->rn ||
        j->tm % j->rm || j->tn % j->rn || j->rn % j->vw ||
        local_bytes(j) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return false;
    j->tiles_m = xl__ceil_div(j->m, j->tm);
    j->tiles_n = xl__ceil_div(j->n, j->tn);
    j->panels = xl__ceil_div(j->kg, j->first ? j->rm : j->rn) * j->d->groups;
    return j->tiles_m * j->tiles_n * j->d->groups <= INT32_MAX;
}

/* STEPS of conv/cpu.cl. */
static size_t count_steps(const struct job *j)
{
    enum { MOST = 2 };
    const xl_images *in = &j->d->in;
    if (!j->first)
        return in->layout == XL_NHWC && in->stride[XL__AT_C] <= 1;
    return in->layout == XL_NCHW && in->stride[XL__AT_W] <= 1 &&
                   j->d->stride_w <= MOST
               ? j->d->stride_w
               : 0;
}

static bool is_mixed(const struct job *j)
{
    return j->first == (j->d->filters.layout == XL_KRSC);
}

static struct xl__step *add_step(const struct job *j, int which,
                                 const char *kernel, size_t items,
                                 struct xl__plan *p)
{
    struct xl__step *s = xl__plan_add(p, "conv/cpu.cl", kernel, items, 1);
    const struct xl__defined defines[] = {
        {"STEP", (size_t)which},
        {"FIRST", j->first},
        {"TM", j->tm},
        {"TN", j->tn},
        {"TK", j->tk},
        {"RM", j->rm},
        {"RN", j->rn},
        {"VW", j->vw},
        {"STEPS", count_steps(j)},
        {"MIX", is_mixed(j)},
        {"KEEP", keeps_sums(j)},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__conv_define(s, j->c);
    return s;
}

static void add_pack(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s =
        add_step(j, 1, "conv_cpu_pack", xl__ceil_div(j->depth, SLAB), p);
    s->is_aid = true;
    s->dims = 2;
    s->local[1] = 1;
    s->global[1] = j->panels;
    xl__conv_arg_filters(s, j->c);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u32(s, j->kg);
    xl__arg_u32(s, j->depth);
    xl__arg_u32(s, xl__conv_cg(j->d));
    xl__arg_u32(s, j->d->r * j->d->s);
}

/* Whether the taps of a row are contiguous in memory. */
static bool is_joined(const xl_conv *d)
{
    return d->dilation_w == 1 && d->groups == 1 &&
           d->in.stride[XL__AT_W] == d->c && d->in.stride[XL__AT_C] <= 1;
}

static void add_multiply(const struct job *j, struct xl__plan *p)
{
    const xl_conv *d = j->d;
    /* A vector of a row is addressed from its first lane, which may be in the
     * padding, also where the row has one column, whose stride is 0. */
    struct xl__conv_canonical c = *j->c;
    c.d.in.stride[XL__AT_W] = xl__max_size(1, d->in.stride[XL__AT_W]);
    struct xl__step *s =
        add_step(j, 2, "conv_cpu", j->tiles_m * j->tiles_n * d->groups, p);
    const size_t sizes[] = {d->h,          d->w,        j->c->p * j->c->q,
                            j->c->q,       j->pixels,   xl__conv_cg(d),
                            j->kg,         d->r,        d->s,
                            d->stride_h,   d->stride_w, d->dilation_h,
                            d->dilation_w, d->pad_top,  d->pad_left,
                            is_joined(d),  j->tiles_m,  j->tiles_n};
    s->local_mem_bytes = local_bytes(j);
    xl__conv_arg_in(s, &c);
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

/* The useful fraction of the time: without the sums of cut tiles, and without
 * the wait for the unit with the most tiles. */
static double estimate_fill(const struct xl__limits *l, const struct job *j)
{
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    const double tiles = (double)(j->tiles_m * j->tiles_n * j->d->groups);
    const double rows = (double)xl__round_up(xl__min_size(j->tm, j->m), j->rm);
    const double cols = (double)xl__round_up(xl__min_size(j->tn, j->n), j->rn);
    return (double)j->m * (double)j->n * (double)j->d->groups /
           (ceil(tiles / units) * units * rows * cols);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    /* Of the f32 rate: gathering takes as long as so many filters. */
    static const double steady = 0.85, gathered = 12;
    struct job j = describe_product(desc);
    if (!apply_tunables(l, params, &j))
        return XL_UNSUPPORTED;
    p->flop = xl__conv_flop(desc);
    p->bytes = xl__conv_bytes(desc);
    p->scratch_bytes =
        sizeof(float) * j.panels * (j.first ? j.rm : j.rn) * j.depth;
    add_pack(&j, p);
    add_multiply(&j, p);
    const double filters = (double)xl__min_size(j.kg, j.first ? j.tm : j.tn);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = steady * filters / (filters + gathered),
        .bytes = p->bytes + 2 * (double)p->scratch_bytes,
        .bytes_frac = 1,
        .fill = estimate_fill(l, &j),
        .launches = 2};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__conv_cpu = {
    .name = "conv_cpu",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = xl__conv_cpu_tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
