/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward_ref: one work-item computes one row of a gradient. It
 * supports all strides and types, and every device. */
#include <stdint.h>

#include "base/alloc.h"
#include "ops/attention/attention.h"
#include "ops/path/cost.h"

enum { WG = 64, UNROLLED = 8, PRODUCTS = 4 };

/* The kernels, and whether their rows are those of keys. */
static const struct {
    const char *kernel;
    bool is_of_keys;
} steps[] = {{"attention_backward_ref_q", false},
             {"attention_backward_ref_k", true},
             {"attention_backward_ref_v", true}};
enum { N_STEPS = sizeof steps / sizeof *steps };

/* Iterations of an item: the columns of each product, for each of its keys, or
 * for the queries of all heads that read its key. */
static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__attention_canonical *c = desc;
    const size_t pairs =
        xl__max_size(c->n_kv, c->n_q * xl__attention_share(c));
    const double columns = (double)xl__ceil_div(c->d_head, UNROLLED);
    return xl__iterations_refused(l, (double)pairs * (PRODUCTS * columns + 1));
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    /* Of a pair: three, four and two products of a column. */
    static const double flop = 2, products = 9;
    const struct xl__attention_canonical *c = desc;
    const size_t wg = xl__most_items(l, WG);
    size_t least = SIZE_MAX;
    (void)params;
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    for (unsigned i = 0; i < N_STEPS; i++) {
        const size_t rows =
            c->n_batch * (steps[i].is_of_keys ? c->n_kv_heads * c->n_kv
                                              : c->n_heads * c->n_q);
        struct xl__step *step =
            xl__plan_add(p, "attention/backward_reference.cl", steps[i].kernel,
                         xl__round_up(rows, wg), wg);
        xl__define(step, "STEP", 1 + (long)i);
        xl__attention_defines(step, c);
        xl__attention_backward_args(step, c);
        xl__arg_u64(step, rows);
        least = xl__min_size(least, rows);
    }
    const struct xl__cost work = {
        .flop = xl__attention_pairs(c) * flop * products * (double)c->d_head,
        .flop_frac = xl__model(l, XL__M_attention_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)least / (double)wg),
        .launches = N_STEPS};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__attention_backward_ref = {
    .name = "attention_backward_ref",
    .repeats = "bit for bit: each row is one sum, in an order of rows",
    .refuses = find_refusal,
    .plan = plan_steps,
};
