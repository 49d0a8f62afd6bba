/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variant: one work-item computes one row of O in two sweeps over
 * its keys. It supports all strides and types, and every device. */
#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { WG = 64, UNROLLED = 8 };

/* Iterations of an item: its keys twice, columns of K twice and of V once. */
static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    enum { SWEEPS = 2, PRODUCTS = 3 };
    const struct xl__attention_canonical *c = desc;
    const double columns = (double)xl__ceil_div(c->d_head, UNROLLED);
    return xl__iterations_refused(l, (double)c->n_kv *
                                         (PRODUCTS * columns + SWEEPS));
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__attention_canonical *c = desc;
    const size_t wg = xl__most_items(l, WG);
    const size_t rows = c->n_batch * c->n_heads * c->n_q;
    (void)params;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    struct xl__step *step =
        xl__plan_add(p, "attention/reference.cl", "attention_ref",
                     xl__round_up(rows, wg), wg);
    xl__attention_defines(step, c);
    xl__attention_args(step, c);
    xl__arg_u64(step, rows);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_attention_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)rows / (double)wg),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_ref = {
    .name = "attention_ref",
    .repeats = "bit for bit: each row is one sum, taken in order of keys",
    .refuses = find_refusal,
    .plan = plan_steps,
};
