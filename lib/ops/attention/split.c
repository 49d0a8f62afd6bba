/* SPDX-License-Identifier: Apache-2.0 */
/* attention_split: for few queries and many keys, which the groups divide; a
 * second launch joins the parts of a row. */
#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { WG = XL__ATTENTION_TUNABLES, LX, VW, EACH };
enum {
    KEYS = 4,      /* of an item; the kernel also has 8 */
    ROW_BYTES = 80 /* of struct row, attention/attention.clh */
};

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "rows of a group", {1, 2, 4, 8, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a block", {4, 8, 16, 32, 64, 128, 0}},
    [WG] = {"WG", "items of a group", {1, 32, 64, 128, 256, 0}},
    [LX] = {"LX", "items along the columns", {1, 2, 4, 8, 16, 32, 0}},
    [VW] = {"VW", "elements of a vector", {4, 8, 16, 0}},
    [EACH] = {"EACH", "groups of a compute unit", {1, 2, 4, 8, 16, 0}},
    {NULL, NULL, {0}}};

/* The kernel's. */
struct layout {
    size_t bq, bk, wg, lx, ly, vw, rk, each, dp, local_bytes;
};

static struct layout layout_of(const struct xl__attention_canonical *c,
                               const int *value)
{
    struct layout s = {.bq = (size_t)value[XL__ATTENTION_BQ],
                       .bk = (size_t)value[XL__ATTENTION_BK],
                       .wg = (size_t)value[WG],
                       .lx = (size_t)value[LX],
                       .vw = (size_t)value[VW],
                       .each = (size_t)value[EACH]};
    s.ly = s.wg / s.lx;
    s.rk = s.ly ? s.bk / s.ly : 0;
    s.dp = xl__round_up(c->d_head, s.vw * s.lx);
    const size_t scores = s.lx > 1 ? s.bq * s.bk * (s.lx + 2) : 0;
    s.local_bytes = sizeof(float) * (s.bq * s.dp + scores + s.wg * s.vw +
                                     2 * s.bq * s.ly) +
                    ROW_BYTES * s.bq;
    return s;
}

static size_t count_groups(const struct xl__attention_canonical *c, size_t bq)
{
    return xl__ceil_div(c->n_q * xl__attention_share(c), bq) * c->n_kv_heads *
           c->n_batch;
}

/* Parts of the keys: as many as give each unit its groups, but of several
 * blocks; at least two; no more memory than a copy of k and v. */
static size_t count_parts(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          const struct layout *s)
{
    enum { LEAST_BLOCKS = 4 };
    const size_t blocks = xl__ceil_div(c->n_kv, s->bk),
                 groups = count_groups(c, s->bq),
                 most = xl__attention_most_parts(c);
    size_t parts = xl__ceil_div(s->each * xl__n_units(l), groups);
    parts = xl__max_size(2, xl__min_size(parts, blocks / LEAST_BLOCKS));
    return xl__max_size(1, xl__min_size(parts, xl__min_size(blocks, most)));
}

static bool is_legal(const struct layout *s)
{
    enum { FEW = 4, MANY = 8 };
    return s->ly > 0 && (s->rk == FEW || s->rk == MANY) &&
           s->rk * s->ly == s->bk;
}

/* Iterations of an item: blocks of a part, scores of each. */
static double iterations_of(const struct xl__limits *l,
                            const struct xl__attention_canonical *c,
                            const struct layout *s)
{
    const size_t blocks = xl__ceil_div(c->n_kv, s->bk);
    return (double)xl__ceil_div(blocks, count_parts(l, c, s)) *
           (double)(1 + xl__ceil_div(s->bq * s->rk, s->lx));
}

static bool fits(const struct xl__limits *l,
                 const struct xl__attention_canonical *c,
                 const struct layout *s)
{
    return s->local_bytes <= xl__size_or(l, XL__F_local_mem_bytes, 0) &&
           s->wg <= xl__most_items(l, s->wg) &&
           !xl__is_refused(l, s->bq, s->bk) &&
           !xl__iterations_refused(l, iterations_of(l, c, s));
}

/* 32-bit registers of an item: sums, products and scores of its rows, values
 * of its keys, and the rest. */
static double registers_of(size_t bq, size_t columns, size_t vw)
{
    enum { OTHER = 60 }; /* for addresses and loop counters */
    return (double)(bq * (columns + 2 * KEYS) + KEYS * vw + OTHER);
}

/* A group is one item where items are threads with vector registers, else
 * lines of items, each of which covers a row of k. Rows as there are, as far
 * as an item's registers hold them. */
static void set_tunables(const struct xl__limits *l,
                         const struct xl__attention_canonical *c, size_t wg,
                         struct xl__params *out)
{
    enum {
        MOST_ROWS = 8,
        MOST_LINE = 32,
        WIDE = 16,
        NARROW = 4,
        VECTOR_BYTES = 16,
        GPU_GROUPS = 8,
        CPU_GROUPS = 4
    };
    const bool is_cpu = xl__device_class(l) == XL__CPU || wg == 1;
    const size_t rows = c->n_q * xl__attention_share(c);
    const double registers = xl__num_or(l, XL__F_registers_per_item,
                                        xl__model(l, XL__M_item_registers));
    size_t vw = NARROW, lx = 1, bq = 1;
    if (is_cpu) {
        while (vw < WIDE && vw < xl__size_or(l, XL__F_native_vector_f32, 1))
            vw *= 2;
    } else {
        vw = VECTOR_BYTES / xl_dtype_bytes(c->view[XL__ATTENTION_Q].dtype);
        while (vw > NARROW && c->d_head % vw != 0)
            vw /= 2;
        while (lx < MOST_LINE && lx < wg && lx * vw < c->d_head)
            lx *= 2;
    }
    const size_t columns = xl__round_up(c->d_head, vw * lx) / lx;
    while (bq < MOST_ROWS && bq < rows &&
           (is_cpu || registers_of(2 * bq, columns, vw) <= registers))
        bq *= 2;
    out->value[XL__ATTENTION_BQ] = (int)bq;
    out->value[XL__ATTENTION_BK] = (int)(KEYS * (wg / lx));
    out->value[WG] = (int)wg;
    out->value[LX] = (int)lx;
    out->value[VW] = (int)vw;
    out->value[EACH] = is_cpu ? CPU_GROUPS : GPU_GROUPS;
    out->source = "model";
}

/* The largest group that fits the device. */
static bool find_tunables(const struct xl__limits *l,
                          const struct xl__attention_canonical *c,
                          struct xl__params *out)
{
    static const size_t groups[] = {128, 64, 32, 1};
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (groups[i] > 1 && xl__device_class(l) == XL__CPU)
            continue;
        set_tunables(l, c, groups[i], out);
        const struct layout s = layout_of(c, out->value);
        if (fits(l, c, &s))
            return true;
    }
    return false;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    struct xl__params params;
    if (!find_tunables(l, desc, &params))
        return "no block fits the device's local memory and loops";
    return xl__attention_needs_rows(desc);
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    (void)find_tunables(l, desc, out);
}

/* VA of the kernel: how rows of q, k and v are read. */
static size_t access_of(const struct xl__attention_canonical *c, size_t vw)
{
    enum { BY_ELEMENT, BY_VECTOR, ALIGNED };
    if (c->d_head % vw != 0)
        return BY_ELEMENT;
    for (unsigned i = XL__ATTENTION_Q; i <= XL__ATTENTION_V; i++) {
        if (c->view[i].offset < vw * xl_dtype_bytes(c->view[i].dtype))
            return BY_VECTOR;
    }
    return ALIGNED;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { VISITS = 2 };
    const struct xl__attention_canonical *c = desc;
    const struct layout s = layout_of(c, params->value);
    if (!is_legal(&s) || !fits(l, c, &s))
        return XL_UNSUPPORTED;
    const size_t heads = c->n_kv_heads * c->n_batch,
                 rows = c->n_heads * c->n_batch * c->n_q,
                 groups = count_groups(c, s.bq), parts = count_parts(l, c, &s);
    p->scratch_bytes = xl__attention_parts_bytes(c, parts);
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    struct xl__step *step =
        xl__plan_add(p, "attention/split.cl", "attention_split", s.wg, s.wg);
    xl__step_set_3d(step, s.wg, groups / heads * s.wg, heads, parts);
    step->local_mem_bytes = s.local_bytes;
    const struct xl__defined defines[] = {
        {"BQ", s.bq}, {"RK", s.rk}, {"WG", s.wg},
        {"LX", s.lx}, {"VW", s.vw}, {"VA", access_of(c, s.vw)}};
    xl__define_all(step, defines, sizeof defines / sizeof *defines);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    xl__attention_parts_args(step, parts);
    xl__attention_join(l, c, parts, p);
    const size_t padded =
        xl__round_up(c->n_q * xl__attention_share(c), s.bq) * heads;
    const struct xl__cost work = {
        .flop = p->flop * (double)s.dp / (double)c->d_head * (double)padded /
                (double)rows,
        .flop_frac = xl__model(l, XL__M_attention_split_frac),
        .bytes = p->bytes + VISITS * (double)p->scratch_bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)(groups * parts)),
        .launches = p->n_steps};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_split = {
    .name = "attention_split",
    .repeats = "bit for bit: units divide the keys; parts join in order",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
