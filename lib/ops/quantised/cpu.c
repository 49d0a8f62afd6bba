/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_cpu: an item decodes units of a few rows of W into vector registers
 * and multiplies them with a few rows of A. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/quantised/qgemm.h"

static const struct xl__tunable tunables[] = {
    [XL__QGEMM_TM] = {"TM", "rows of A of an item", {1, 2, 4, 8, 0}},
    [XL__QGEMM_RN] = {"RN", "rows of W of an item", {1, 2, 4, 0}},
    {NULL, NULL, {0}}};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    return xl__is(l, XL__F_is_cpu) ? xl__qgemm_bytes_refused(desc)
                                   : "it is for CPUs";
}

/* Sums of four rows of A with rows of W or more, so that additions do not
 * wait. Of bytes four rows of W, whose scales are one vector, and sums that
 * registers hold. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { MOST_ROWS = 8, BYTES_ROWS = 4, SUMS = 4 };
    const struct xl__qgemm_canonical *c = desc;
    const size_t most = c->activations ? BYTES_ROWS : MOST_ROWS,
                 tm = xl__min_size(most, xl__ceil_power_of_two(c->m));
    (void)l;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QGEMM_TM] = (int)tm;
    out->value[XL__QGEMM_RN] =
        (int)(c->activations ? SUMS : xl__max_size(SUMS / tm, 1 + c->pair));
}

static struct xl__cost cost_of(const struct xl__limits *l,
                               const struct xl__qgemm_canonical *c,
                               const struct xl__params *params)
{
    const size_t tm = (size_t)params->value[XL__QGEMM_TM],
                 rn = (size_t)params->value[XL__QGEMM_RN];
    const double groups = (double)xl__ceil_div(c->n, rn),
                 blocks = (double)xl__ceil_div(c->m, tm);
    const double rows = (double)tm,
                 decode = xl__model(l, XL__M_quantised_rows);
    return (struct xl__cost){
        .flop = xl__qgemm_flop(c) * blocks * rows / (double)c->m,
        .flop_frac = xl__model(l, XL__M_quantised_frac) * rows * (1 + decode) /
                     (rows + decode),
        .bytes = xl__qgemm_weight_bytes(c) * blocks + xl__qgemm_other_bytes(c),
        .bytes_frac = 1,
        .fill = xl__fill(l, groups * blocks),
        .launches = c->activations ? 2 : 1};
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__qgemm_canonical *c = desc;
    const size_t tm = (size_t)params->value[XL__QGEMM_TM],
                 rn = (size_t)params->value[XL__QGEMM_RN];
    const size_t groups = xl__ceil_div(c->n, rn),
                 blocks = xl__ceil_div(c->m, tm);
    if (rn < 1 + c->pair)
        return XL_UNSUPPORTED;
    if (c->norm)
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_cpu, p);
    if (xl__qgemm_is_narrow(c) && c->m > 1)
        return xl__qgemm_plan_widened(l, c, params, &xl__qgemm_cpu, p);
    xl__qgemm_add_quantise(l, c, p);
    struct xl__step *step =
        c->activations
            ? xl__plan_add(p, "quantised/cpu_bytes.cl", "qgemm_cpu_bytes", 0,
                           0)
            : xl__plan_add(p, "quantised/cpu.cl", "qgemm_cpu", 0, 0);
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    xl__step_set_3d(step, 1, groups, blocks, 1);
    step->slice_dim = 0;
    for (unsigned i = 0; tunables[i].name; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    xl__qgemm_add_args(step, c);
    const struct xl__cost work = cost_of(l, c, params);
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__qgemm_cpu = {
    .name = "qgemm_cpu",
    .repeats = "bit for bit: each element is one sum, in an order of k",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
