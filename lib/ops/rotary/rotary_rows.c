/* SPDX-License-Identifier: Apache-2.0 */
/* The variants of the rotary embedding, one kernel: rotary_rows has vectors of
 * pairs, and heads that share cos and sin; the reference a pair and a head. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/rotary/rotary.h"
#include "ops/path/cost.h"

static const struct xl__tunable tunables[] = {
    [XL__ROTARY_RH] = {"RH", "heads of an item", {1, 2, 4, 8, 16, 0}},
    [XL__ROTARY_WG] = {"WG",
                       "items of a group, at most",
                       {32, 64, 128, 256, 0}},
    {NULL, NULL, {0}}};

/* Columns of the operands that have rows. */
static bool are_contiguous(const struct xl__rotary_canonical *c)
{
    for (unsigned i = 0; i < XL__ROTARY_N_VIEWS; i++) {
        const bool has_columns =
            i <= XL__ROTARY_V_CACHE || i > XL__ROTARY_FACTORS;
        if (has_columns && xl__rotary_has(c, i) &&
            c->view[i].stride[XL__HEADS_COL] != 1)
            return false;
    }
    return true;
}

/* Pairs of an item, which divide what is rotated. More than four, with their
 * sines and codes, do not fit into Intel's registers. */
static size_t vector_pairs(const struct xl__rotary_canonical *c)
{
    enum { MOST = 4 };
    size_t vw = are_contiguous(c) ? MOST : 1;
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

static size_t blocks_of(const struct xl__rotary_canonical *c, size_t rh)
{
    return xl__ceil_div(xl__rotary_heads(c), rh);
}

/* As many heads of an item as leave each compute unit several groups. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { WG = 64, MOST = 8, GROUPS = 16 };
    const struct xl__rotary_canonical *c = desc;
    const size_t enough = GROUPS * WG * xl__size_or(l, XL__F_compute_units, 1);
    const size_t of_block =
        c->n_batch * c->n_q * (c->d_head / 2 / vector_pairs(c));
    size_t rh = 1;
    while (rh < MOST && of_block * blocks_of(c, 2 * rh) >= enough)
        rh *= 2;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__ROTARY_RH] = (int)rh;
    out->value[XL__ROTARY_WG] = WG;
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
                     const struct xl__rotary_canonical *c, size_t rh)
{
    enum { VIEW_WORDS = 1 + XL__HEADS_DIMS, EXTRA_VIEWS = 4, SIZES = 7 };
    const size_t blocks = blocks_of(c, rh);
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
    xl__arg_u64(step, c->n_batch * c->n_q * blocks);
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
                           const struct xl__rotary_canonical *c, size_t vw,
                           size_t rh, size_t most_items, struct xl__plan *p)
{
    static const double flop = 6, norm_flop = 4; /* of a pair, a column */
    const xl_heads *v = c->view;
    const size_t lanes = c->d_head / 2 / vw;
    const size_t most = xl__size_or(l, XL__F_max_wg_size, 1);
    const size_t items = xl__max_size(lanes, xl__min_size(most_items, most));
    const size_t wg = items / lanes * lanes;
    const size_t rows = c->n_batch * c->n_q * blocks_of(c, rh);
    const size_t groups = xl__ceil_div(rows, wg / lanes);
    if (wg > most)
        return XL_UNSUPPORTED;
    struct xl__step *step =
        xl__plan_add(p, "attention/rotary.cl", "rotary_rows", groups * wg, wg);
    const bool has_norm = xl__rotary_has(c, XL__ROTARY_Q_NORM);
    const bool shares_rows = has_norm ||
                             xl__rotary_has(c, XL__ROTARY_K_SCALES) ||
                             xl__rotary_has(c, XL__ROTARY_V_SCALES);
    const struct xl__defined defined[] = {
        {"DT", v[XL__ROTARY_Q].dtype},
        {"OT", v[XL__ROTARY_Q_OUT].dtype},
        {"KT", v[XL__ROTARY_K_CACHE].dtype},
        {"D", c->d_head},
        {"R", c->d_rotary},
        {"PAIRS", c->pairs},
        {"COLUMNS", are_contiguous(c)},
        {"K_SCALES", xl__rotary_has(c, XL__ROTARY_K_SCALES)},
        {"V_SCALES", xl__rotary_has(c, XL__ROTARY_V_SCALES)},
        {"FACTORS", xl__rotary_has(c, XL__ROTARY_FACTORS)},
        {"NORM", has_norm},
        {"WIDE", c->is_wide},
        {"Q_ROWS", c->q_rows.kind},
        {"KV_ROWS", c->kv_rows.kind},
        {"VW", vw},
        {"VW2", 2 * vw},
        {"LANES", lanes},
        {"RH", rh},
        {"WG", wg}};
    xl__define_all(step, defined, sizeof defined / sizeof *defined);
    step->local_mem_bytes = shares_rows ? wg * sizeof(uint32_t) : 0;
    add_args(step, c, rh);
    p->bytes = bytes_of(c);
    p->flop = (flop * (double)(c->d_rotary / 2) +
               (has_norm ? norm_flop * (double)c->d_head : 0)) *
              (double)(c->n_heads + c->n_kv_heads) * (double)c->n_batch *
              (double)c->n_q;
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_norm_frac),
        .bytes = p->bytes,
        .bytes_frac = vw > 1 ? 1 : xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)groups),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static xl_status plan_rows(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    return plan_with(l, desc, vector_pairs(desc),
                     (size_t)params->value[XL__ROTARY_RH],
                     (size_t)params->value[XL__ROTARY_WG], p);
}

static xl_status plan_reference(const struct xl__limits *l, const void *desc,
                                const struct xl__params *params,
                                struct xl__plan *p)
{
    (void)params;
    return plan_with(l, desc, 1, 1, 1, p);
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
