/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of the rotary embedding, one kernel: rotary_rows has vectors of
 * pairs, and heads of a token that share cos and sin; the reference a pair and
 * a head. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/rotary/rotary.h"
#include "ops/path/cost.h"

static const struct xl__tunable tunables[] = {
    [XL__ROTARY_RH] = {"RH", "heads of an item", {1, 2, 3, 4, 6, 8, 0}},
    [XL__ROTARY_WG] = {"WG",
                       "items of a group, at most",
                       {32, 64, 128, 256, 0}},
    [XL__ROTARY_VW] = {"VW", "pairs of an item, at most", {1, 2, 4, 8, 0}},
    [XL__ROTARY_TOKENS] = {"TOKENS",
                           "tokens of a group, at most",
                           {1, 2, 4, 8, 16, 32, 0}},
    {NULL, NULL, {0}}};

/* Operands whose rows have columns. */
static bool has_columns(const struct xl__rotary_canonical *c, unsigned view)
{
    return xl__rotary_has(c, view) &&
           (view <= XL__ROTARY_V_CACHE || view > XL__ROTARY_FACTORS);
}

static bool are_contiguous(const struct xl__rotary_canonical *c)
{
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++)
        if (has_columns(c, i) && c->view[i].stride[XL__HEADS_COL] != 1)
            return false;
    return true;
}

/* Whether vectors of so many columns are aligned in all rows. */
static bool are_aligned(const struct xl__rotary_canonical *c, size_t columns)
{
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++)
        if (has_columns(c, i) &&
            c->view[i].offset < columns * xl_dtype_bytes(c->view[i].dtype))
            return false;
    return are_contiguous(c);
}

/* Pairs of an item, which divide what is rotated. */
static size_t fit_pairs(const struct xl__rotary_canonical *c, size_t most)
{
    size_t vw = are_contiguous(c) ? most : 1;
    while (c->d_head / 2 % vw != 0 || c->d_rotary / 2 % vw != 0)
        vw /= 2;
    return vw;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__rotary_canonical *c = desc;
    return c->d_head / 2 > xl__size_or(l, XL__F_max_wg_size, 1)
               ? "a row has more pairs than a group of this device has items"
               : NULL;
}

/* How a group's items share its tokens. */
struct shares {
    size_t vw, rh, lanes, wg;
    size_t tokens, heads;  /* of a group: rows of a token */
    size_t blocks, groups; /* of the same tokens; of all */
};

static struct shares share_items(const struct xl__limits *l,
                                 const struct xl__rotary_canonical *c,
                                 const struct xl__params *p)
{
    struct shares s = {.vw = fit_pairs(c, (size_t)p->value[XL__ROTARY_VW]),
                       .rh = (size_t)p->value[XL__ROTARY_RH]};
    s.lanes = c->d_head / 2 / s.vw;
    const size_t items = xl__min_size((size_t)p->value[XL__ROTARY_WG],
                                      xl__size_or(l, XL__F_max_wg_size, 1));
    const size_t rows = xl__max_size(1, items / s.lanes);
    s.wg = rows * s.lanes;
    s.tokens = xl__min_size(rows, (size_t)p->value[XL__ROTARY_TOKENS]);
    s.heads = rows / s.tokens;
    s.blocks = xl__ceil_div(xl__rotary_heads(c), s.heads * s.rh);
    s.groups = xl__ceil_div(c->n_batch * c->n_q, s.tokens) * s.blocks;
    return s;
}

/* Sines and cosines of a group's tokens; a number of each item and head for
 * norms, and for scales. */
static size_t local_bytes(const struct xl__rotary_canonical *c,
                          const struct shares *s)
{
    const bool has_scales = xl__rotary_has(c, XL__ROTARY_K_SCALES) ||
                            xl__rotary_has(c, XL__ROTARY_V_SCALES);
    const size_t shared = xl__rotary_has(c, XL__ROTARY_Q_NORM) + has_scales;
    const size_t turned = c->pairs == XL_ROTARY_NONE ? 0 : c->d_rotary;
    return sizeof(float) * (s->tokens * turned + shared * s->rh * s->wg);
}

/* As many heads of an item as its registers hold, and as leave each compute
 * unit several groups and fit in local memory. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { WG = 128, FEW_LANES = 16, OF_FEW = 8, USUAL = 32, GROUPS = 8 };
    const struct xl__rotary_canonical *c = desc;
    const double lanes = xl__num_or(l, XL__F_subgroup_width, 2 * FEW_LANES);
    const bool has_few = lanes <= FEW_LANES && xl__device_class(l) != XL__CPU;
    const size_t vw = fit_pairs(c, has_few ? 4 : 8);
    const size_t enough = GROUPS * xl__size_or(l, XL__F_compute_units, 1);
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0);
    *out = (struct xl__params){.source = "model"};
    int *value = out->value;
    value[XL__ROTARY_RH] = 1;
    value[XL__ROTARY_WG] = WG;
    value[XL__ROTARY_VW] = (int)vw;
    value[XL__ROTARY_TOKENS] = 1;
    const struct shares one = share_items(l, c, out);
    while (2 * (size_t)value[XL__ROTARY_TOKENS] * xl__rotary_heads(c) <=
           one.heads)
        value[XL__ROTARY_TOKENS] *= 2;
    size_t rh = xl__min_size((has_few ? OF_FEW : USUAL) / vw, one.blocks);
    struct shares s;
    do {
        value[XL__ROTARY_RH] = (int)rh;
        s = share_items(l, c, out);
    } while ((s.groups < enough || local_bytes(c, &s) > room) && rh-- > 1);
    while (local_bytes(c, &s) > room && s.wg > s.lanes) {
        value[XL__ROTARY_WG] = (int)(s.wg / 2);
        s = share_items(l, c, out);
    }
}

/* Operands that are read, or written; of caches the new rows. */
static double bytes_of(const struct xl__rotary_canonical *c)
{
    double of_token = 0;
    for (unsigned i = 0; i <= XL__ROTARY_V_SCALES; i++) {
        const bool is_q = i == XL__ROTARY_Q || i == XL__ROTARY_Q_OUT;
        const size_t cols = i < XL__ROTARY_K_SCALES ? c->d_head : 1;
        if (xl__rotary_has(c, i))
            of_token += (double)((is_q ? c->n_heads : c->n_kv_heads) * cols *
                                 xl_dtype_bytes(c->view[i].dtype));
    }
    return of_token * (double)c->n_batch * (double)c->n_q;
}

static void add_view(struct xl__step *step,
                     const struct xl__rotary_canonical *c, unsigned view)
{
    xl__arg_value_u64(step, XL__ROTARY_OFF + view);
    for (unsigned d = 0; d < XL__HEADS_DIMS; d++)
        xl__arg_u64(step, c->view[view].stride[d]);
}

static void add_args(struct xl__step *step,
                     const struct xl__rotary_canonical *c, size_t blocks)
{
    enum { VIEW_WORDS = 1 + XL__HEADS_DIMS, EXTRA_VIEWS = 4, SIZES = 7 };
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++)
        xl__arg_mem(step, XL__ROTARY_MEM + i);
    xl__arg_words(step, XL__ROTARY_K_SCALES * VIEW_WORDS);
    for (unsigned i = 0; i < XL__ROTARY_K_SCALES; i++)
        add_view(step, c, i);
    xl__arg_words(step, EXTRA_VIEWS * VIEW_WORDS + 2);
    add_view(step, c, XL__ROTARY_K_SCALES);
    add_view(step, c, XL__ROTARY_V_SCALES);
    add_view(step, c, XL__ROTARY_Q_NORM);
    add_view(step, c, XL__ROTARY_K_NORM);
    xl__arg_value_u64(step, XL__ROTARY_OFF + XL__ROTARY_FACTORS);
    xl__arg_u64(step, c->view[XL__ROTARY_FACTORS].stride[XL__HEADS_COL]);
    xl__arg_words(step, SIZES);
    xl__arg_u64(step, c->n_heads);
    xl__arg_u64(step, c->n_kv_heads);
    xl__arg_u64(step, xl__rotary_heads(c));
    xl__arg_u64(step, c->n_q);
    xl__arg_value_u64(step, XL__ROTARY_N_KV);
    xl__arg_u64(step, blocks);
    xl__arg_u64(step, c->n_batch * c->n_q);
    xl__arg_words(step, 1 + XL__ROTARY_POWERS);
    for (unsigned i = 0; i <= XL__ROTARY_POWERS; i++)
        xl__arg_value_u64(step, XL__ROTARY_RATE + i);
    xl__attention_add_lists(step, &c->view[XL__ROTARY_Q_ROWS],
                            XL__ROTARY_OFF + XL__ROTARY_Q_ROWS,
                            c->kv_rows.page_rows);
    xl__arg_value_f32(step, XL__ROTARY_MAGNITUDE);
    xl__arg_value_f32(step, XL__ROTARY_EPS);
}

static xl_status plan_with(const struct xl__limits *l,
                           const struct xl__rotary_canonical *c,
                           const struct shares *s, struct xl__plan *p)
{
    static const double flop = 6, norm_flop = 4; /* of a pair, a column */
    const xl_heads *v = c->view;
    const bool has_norm = xl__rotary_has(c, XL__ROTARY_Q_NORM);
    if (s->wg > xl__size_or(l, XL__F_max_wg_size, 1) ||
        local_bytes(c, s) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    struct xl__step *step = xl__plan_add(
        p, "attention/rotary.cl", "rotary_rows", s->groups * s->wg, s->wg);
    const struct xl__defined defined[] = {
        {"DT", v[XL__ROTARY_Q].dtype},
        {"OT", v[XL__ROTARY_Q_OUT].dtype},
        {"KT", v[XL__ROTARY_K_CACHE].dtype},
        {"D", c->d_head},
        {"R", c->d_rotary},
        {"PAIRS", c->pairs},
        {"COLUMNS", are_contiguous(c)},
        {"VA", are_aligned(c, 2 * s->vw)},
        {"K_SCALES", xl__rotary_has(c, XL__ROTARY_K_SCALES)},
        {"V_SCALES", xl__rotary_has(c, XL__ROTARY_V_SCALES)},
        {"FACTORS", xl__rotary_has(c, XL__ROTARY_FACTORS)},
        {"NORM", has_norm},
        {"WIDE", c->is_wide},
        {"Q_ROWS", c->q_rows.kind},
        {"KV_ROWS", c->kv_rows.kind},
        {"VW", s->vw},
        {"VW2", 2 * s->vw},
        {"LANES", s->lanes},
        {"RH", s->rh},
        {"HEADS", s->heads},
        {"TOKENS", s->tokens},
        {"WG", s->wg}};
    xl__define_all(step, defined, sizeof defined / sizeof *defined);
    step->local_mem_bytes = local_bytes(c, s);
    add_args(step, c, s->blocks);
    p->bytes = bytes_of(c);
    p->flop = (flop * (double)(c->d_rotary / 2) +
               (has_norm ? norm_flop * (double)c->d_head : 0)) *
              (double)(c->n_heads + c->n_kv_heads) * (double)c->n_batch *
              (double)c->n_q;
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_norm_frac),
        .bytes = p->bytes,
        .bytes_frac = s->vw > 1 ? 1 : xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)s->groups),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static xl_status plan_rows(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    const struct shares s = share_items(l, desc, params);
    return plan_with(l, desc, &s, p);
}

static xl_status plan_reference(const struct xl__limits *l, const void *desc,
                                const struct xl__params *params,
                                struct xl__plan *p)
{
    static const struct xl__params one = {.value = {1, 1, 1, 1}};
    (void)params;
    const struct shares s = share_items(l, desc, &one);
    return plan_with(l, desc, &s, p);
}

static const char repeats[] = "bit for bit: sums are in a fixed order";

const struct xl__variant xl__rotary_rows = {
    .name = "rotary_rows",
    .repeats = repeats,
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_rows,
};

const struct xl__variant xl__rotary_ref = {
    .name = "rotary_ref",
    .repeats = repeats,
    .refuses = find_refusal,
    .plan = plan_reference,
};
