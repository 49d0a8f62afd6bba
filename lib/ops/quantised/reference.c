/* SPDX-License-Identifier: Apache-2.0 */
/* qgemm_ref, the reference: one item per element of C, a loop over k. */
#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/quantised/qgemm.h"

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__qgemm_canonical *c = desc;
    const char *refused = xl__qgemm_bytes_refused(c);
    return refused
               ? refused
               : xl__iterations_refused(l, (double)(c->k / XL__QGEMM_UNIT));
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    enum { MOST_ITEMS = 64 }; /* of a group, along n */
    const struct xl__qgemm_canonical *c = desc;
    if (c->norm)
        return xl__qgemm_plan_normed(l, c, params, &xl__qgemm_ref, p);
    xl__qgemm_add_quantise(l, c, p);
    struct xl__step *step =
        xl__plan_add(p, "quantised/reference.cl", "qgemm_ref", 0, 0);
    (void)params;
    p->flop = xl__qgemm_flop(c);
    p->bytes = xl__qgemm_weight_bytes(c) + xl__qgemm_other_bytes(c);
    xl__step_set_3d(step, xl__most_items(l, MOST_ITEMS), xl__qgemm_cols(c),
                    c->m, 1);
    step->slice_dim = 1;
    if (c->activations)
        xl__define_dot(step, xl__text(l, XL__F_dot));
    xl__qgemm_add_args(step, c);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_gemm_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__reference_fill(l, (double)c->m, (double)c->n),
        .launches = c->activations ? 2 : 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__qgemm_ref = {
    .name = "qgemm_ref",
    .repeats = "bit for bit: each element is one sum, in an order of k",
    .refuses = find_refusal,
    .plan = plan_steps,
};
