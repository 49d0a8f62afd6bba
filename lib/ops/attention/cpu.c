/* SPDX-License-Identifier: Apache-2.0 */
/* attention_cpu: tiles of rows and keys packed for the caches of a core, sums
 * in its vector registers; a group is one work-item. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { RQ = XL__ATTENTION_TUNABLES, RN, VW };

static const struct xl__tunable tunables[] = {
    [XL__ATTENTION_BQ] = {"BQ", "rows of a block", {8, 16, 32, 64, 128, 256, 0}},
    [XL__ATTENTION_BK] = {"BK", "keys of a block", {32, 64, 128, 256, 0}},
    [RQ] = {"RQ", "rows of sums in registers", {4, 8, 0}},
    [RN] = {"RN", "columns of these", {8, 16, 32, 0}},
    [VW] = {"XL_VW", "elements of a vector", {4, 8, 16, 0}},
    {NULL, NULL, {0}}};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__attention_canonical *c = desc;
    if (!xl__is(l, XL__F_is_cpu))
        return "it is for CPUs";
    const char *why = xl__attention_needs_lines(c);
    if (!why && xl__attention_has_scales(c))
        why = "scales of keys and values are not supported";
    return why ? why : xl__attention_needs_rows(c);
}

static size_t local_bytes(const struct xl__attention_canonical *c,
                          const struct xl__params *p)
{
    const size_t bq = (size_t)p->value[XL__ATTENTION_BQ],
                 bk = (size_t)p->value[XL__ATTENTION_BK],
                 dp = xl__round_up(c->d_head, (size_t)p->value[RN]);
    return sizeof(float) *
           ((bq + bk) * (c->d_head + dp) + (size_t)p->value[RQ] * bk + 2 * bq);
}

static size_t count_groups(const struct xl__attention_canonical *c, size_t bq)
{
    return xl__ceil_div(c->n_q * xl__attention_share(c), bq) * c->n_kv_heads *
           c->n_batch;
}

/* Many rows, so that packing a block of keys takes little of their time, but
 * enough groups; as many keys as the first-level cache holds of K. */
static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum {
        MOST_ROWS = 128,
        MOST_KEYS = 128,
        LEAST_KEYS = 32,
        PANEL_BYTES = 1 << 15,
        GROUPS_PER_UNIT = 2,
        WIDE = 16,
        NARROW = 4,
        MANY_ROWS = 8
    };
    const struct xl__attention_canonical *c = desc;
    const size_t units = xl__n_units(l);
    size_t vw = NARROW, bq = MOST_ROWS, bk = MOST_KEYS;
    while (vw < WIDE && vw < xl__size_or(l, XL__F_native_vector_f32, 1))
        vw *= 2;
    while (bq > MANY_ROWS &&
           (count_groups(c, bq) < GROUPS_PER_UNIT * units ||
            bq / 2 >= c->n_q * xl__attention_share(c)))
        bq /= 2;
    while (bk > LEAST_KEYS && bk * c->d_head * sizeof(float) > PANEL_BYTES)
        bk /= 2;
    out->value[RQ] = vw == WIDE ? MANY_ROWS : NARROW;
    out->value[RN] = (int)(2 * vw);
    out->value[VW] = (int)vw;
    out->value[XL__ATTENTION_BK] = (int)bk;
    do {
        out->value[XL__ATTENTION_BQ] = (int)bq;
        bq /= 2;
    } while (bq >= MANY_ROWS &&
             local_bytes(c, out) > xl__size_or(l, XL__F_local_mem_bytes, 0));
    out->source = "model";
}

static bool is_legal(const struct xl__params *p)
{
    enum { GRAIN = 8 };
    const int rn = p->value[RN];
    return p->value[XL__ATTENTION_BQ] % p->value[RQ] == 0 &&
           p->value[XL__ATTENTION_BK] % rn == 0 && rn % p->value[VW] == 0 &&
           rn % GRAIN == 0;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const size_t bq = (size_t)params->value[XL__ATTENTION_BQ];
    const size_t heads = c->n_kv_heads * c->n_batch;
    if (!is_legal(params) ||
        local_bytes(c, params) > xl__size_or(l, XL__F_local_mem_bytes, 0))
        return XL_UNSUPPORTED;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    struct xl__step *step =
        xl__plan_add(p, "attention/cpu.cl", "attention_cpu", 1, 1);
    xl__step_set_3d(step, 1, count_groups(c, bq) / heads, heads, 1);
    step->local_mem_bytes = local_bytes(c, params);
    for (unsigned i = 0; tunables[i].name; i++)
        xl__define(step, tunables[i].name, params->value[i]);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    /* Rows of products, and those that take as long as packing a block. */
    const size_t rows = c->n_q * xl__attention_share(c);
    const double work_rows =
        (double)xl__round_up(rows, (size_t)params->value[RQ]) +
        (double)xl__ceil_div(rows, bq) * xl__model(l, XL__M_pack_rows);
    const struct xl__cost work = {
        .flop = p->flop * work_rows / (double)rows,
        .flop_frac = xl__model(l, XL__M_attention_cpu_frac),
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)count_groups(c, bq)),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_cpu = {
    .name = "attention_cpu",
    .repeats = "bit for bit: each row's sums are in an order of keys",
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
