/* SPDX-License-Identifier: Apache-2.0 */
/* qconvert_cpu: an item quantises units of a row one after the other, from and
 * to global memory, a unit or a block in vector registers. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/path/cost.h"
#include "ops/quantised/qconvert.h"

enum { LEAST_SPAN = 8 }; /* units of a block of 256 */

static const struct xl__tunable tunables[] = {
    [XL__QCONVERT_WG] = {"SPAN",
                         "units of an item",
                         {LEAST_SPAN, 32, 64, 128, 256, 512, 0}},
    {NULL, NULL, {0}}};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__qconvert_canonical *c = desc;
    if (c->is_dequantise)
        return "it quantises";
    return xl__is(l, XL__F_is_cpu) ? NULL : "it is for CPUs";
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    enum { SPAN = 128 };
    (void)l;
    (void)desc;
    *out = (struct xl__params){.source = "model"};
    out->value[XL__QCONVERT_WG] = SPAN;
}

/* Whole groups of columns; of int4 pairs, whose zeros share a byte. */
static size_t span_of(const struct xl__qgemm_canonical *c, size_t asked)
{
    const size_t group = c->group / XL__QGEMM_UNIT;
    if (!xl_qformat_layout((xl_qformat)c->format)->has_scales)
        return asked;
    return c->group == c->k ? group
                            : xl__round_up(asked, c->has_zeros ? 2 * group
                                                               : group);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__qgemm_canonical *c =
        &((const struct xl__qconvert_canonical *)desc)->of;
    const size_t span = span_of(c, (size_t)params->value[XL__QCONVERT_WG]);
    const xl_qshape shape = xl__qgemm_shape(c);
    const size_t rows = xl__ceil_div(c->n, xl__qshape_group_rows(&shape)),
                 groups = xl__ceil_div(c->k / XL__QGEMM_UNIT, span);
    struct xl__step *s = xl__plan_add(p, "quantised/quantise_cpu.cl",
                                      "qmat_quantise_cpu", 0, 0);
    xl__step_set_3d(s, 1, groups, rows, 1);
    s->slice_dim = 1;
    xl__define(s, "TD", (long)c->a);
    xl__qconvert_add_source(s, c);
    xl__arg_u32(s, span);
    p->bytes = xl__qconvert_bytes(c);
    const struct xl__cost work = {
        .flop_frac = 1,
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = xl__fill(l, (double)rows * (double)groups),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__qconvert_cpu = {
    .name = "qconvert_cpu",
    .repeats = xl__qconvert_repeats,
    .tunables = tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
