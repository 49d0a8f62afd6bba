/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_gemv: few rows of A; the items of a group divide the columns of rows
 * of W and join their sums in local memory. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/quantised/qgemm.h"

static const struct xl__tunable tunables[] = {
    [XL__QGEMM_TM] = {"TM", "rows of A of an item", {1, 2, 4, 8, 0}},
    [XL__QGEMM_RN] = {"RN", "rows of W of an item", {1, 2, 0}},
    [XL__QGEMM_WG] = {"WG", "items of a group", {1, 32, 64, 128, 256, 0}},
    [XL__QGEMM_LANES] = {"LANES",
                         "items that share a row of W",
                         {1, 4, 8, 16, 32, 64, 128, 256, 0}},
    {NULL, NULL, {0}}};

static size_t tunable_value(const struct xl__params *p, unsigned i)
{
    return (size_t)p->value[i];
}

/* Of a row of A, and of lanes along k: units that an item decodes. */
static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__qgemm_canonical *c = desc;
    const char *refused = xl__qgemm_bytes_refused(c);
    return refused
               ? refused
               : xl__iterations_refused(l, (double)(c->k / XL__QGEMM_UNIT));
}

/* Do so many rows of A fit in an item's registers beside a decoded unit? Where
 * they are normed each is three: it is loaded, with the gain, and multiplied.
 * Compilers load all rows before they multiply. */
static bool fits(const struct xl__limits *l, size_t tm, bool norms)
{
    enum { OTHERS = 3, NORMED = 3 }; /* the decoded unit, and what else */
    const double registers = xl__num_or(l, XL__F_registers_per_item,
                                        xl__model(l, XL__M_item_registers));
    return (double)((tm * (norms ? NORMED : 1) + OTHERS) * XL__QGEMM_UNIT) <=
           registers;
}

static size_t most_rows(const struct xl__limits *l,
                        const struct xl__qgemm_canonical *c)
{
    enum { MOST = 4 };
    size_t tm = xl__min_size(MOST, xl__ceil_power_of_two(c->m));
    while (tm > 1 && !fits(l, tm, false))
        tm /= 2;
    return tm;
}

/* As many lanes as a row has units, of a group that every device can have. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { GROUP = 64, MOST_LANES = 32, LEAST_LANES = 4 };
    const struct xl__qgemm_canonical *c = desc;
    const size_t wg = xl__most_items(l, GROUP) < MOST_LANES
                          ? 1
                          : xl__floor_power_of_two(xl__most_items(l, GROUP));
    const size_t lanes = xl__min_size(
        MOST_LANES, xl__floor_power_of_two(c->k / XL__QGEMM_UNIT));
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QGEMM_TM] = (int)most_rows(l, c);
    out->value[XL__QGEMM_RN] = (int)(1 + c->pair);
    out->value[XL__QGEMM_WG] = (int)wg;
    out->value[XL__QGEMM_LANES] =
        (int)xl__min_size(wg, lanes < LEAST_LANES ? 1 : lanes);
}

/* Of a kernel that norms A for each row of items, or not at all. */
static struct xl__cost cost_of(const struct xl__limits *l,
                               const struct xl__qgemm_canonical *c,
                               const struct xl__params *params, bool norms)
{
    const double tm = (double)params->value[XL__QGEMM_TM],
                 rn = (double)params->value[XL__QGEMM_RN];
    const size_t rows = tunable_value(params, XL__QGEMM_WG) /
                        tunable_value(params, XL__QGEMM_LANES) *
                        tunable_value(params, XL__QGEMM_RN);
    const double groups = (double)xl__ceil_div(c->n, rows),
                 blocks = (double)xl__ceil_div(
                     c->m, tunable_value(params, XL__QGEMM_TM));
    const double used =
        (double)c->m / (blocks * tm) * (double)c->n / (groups * (double)rows);
    static const double norm_flop = 3; /* a square, a sum, the gain */
    const double normed = groups * (double)rows / rn * blocks * tm;
    return (struct xl__cost){
        .flop = xl__qgemm_flop(c) / used +
                (norms ? norm_flop * normed * (double)c->k : 0),
        .flop_frac = xl__model(l, XL__M_skinny_frac),
        .bytes = xl__qgemm_weight_bytes(c) * blocks + xl__qgemm_other_bytes(c),
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, groups * blocks),
        .launches = c->activations ? 2 : 1};
}

/* Is a norm in the kernel sooner done than a launch more, and do registers
 * hold it? By the sizes of the call, also in a self-check case. */
static bool norms_within(const struct xl__limits *l,
                         const struct xl__qgemm_canonical *c,
                         const struct xl__params *params)
{
    struct xl__qgemm_canonical whole = *c;
    const char *bound;
    whole.m = c->of_m;
    whole.n = c->of_n;
    whole.k = c->of_k;
    const struct xl__cost apart = cost_of(l, &whole, params, false),
                          within = cost_of(l, &whole, params, true);
    return !c->activations &&
           fits(l, tunable_value(params, XL__QGEMM_TM), true) &&
           xl__work_ns(l, &within, &bound) <=
               xl__work_ns(l, &apart, &bound) + xl__launch_ns(l);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { ROOMS = 2, LEAD_MOST = 32 };
    const struct xl__qgemm_canonical *c = desc;
    const size_t tm = tunable_value(params, XL__QGEMM_TM),
                 wg = tunable_value(params, XL__QGEMM_WG),
                 lanes = tunable_value(params, XL__QGEMM_LANES),
                 rn = tunable_value(params, XL__QGEMM_RN);
    if (lanes > wg || rn < 1 + c->pair ||
        wg > xl__size_or(l, XL__F_max_wg_size, 1))
        return XL_UNSUPPORTED;
    const size_t local = ROOMS * sizeof(float) * (wg + wg / lanes * LEAD_MOST);
    if (local > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    const size_t rows = wg / lanes * rn;
    const size_t groups = xl__ceil_div(c->n, rows);
    const size_t blocks = xl__ceil_div(c->m, tm);
    if (c->norm && !norms_within(l, c, params))
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_gemv, p);
    xl__qgemm_add_quantise(l, c, p);
    struct xl__step *step =
        xl__plan_add(p, "quantised/gemv.cl", "qgemm_gemv", 0, 0);
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    xl__step_set_3d(step, wg, groups * wg, blocks, 1);
    step->slice_dim = 0;
    step->local_mem_bytes = local;
    for (unsigned i = 0; tunables[i].name; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    if (c->activations)
        xl__define_dot(step, xl__text(l, XL__F_dot));
    xl__qgemm_add_args(step, c);
    const struct xl__cost work = cost_of(l, c, params, c->norm);
    xl__estimate(l, &work, p);
    if (c->norm)
        p->note = "the kernel norms A: sooner done than a launch more";
    return XL_OK;
}

const struct xl__variant xl__qgemm_gemv = {
    .name = "qgemm_gemv",
    .repeats = "bit for bit: parts of a sum join in a fixed order",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
