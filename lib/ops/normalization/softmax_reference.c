/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variant: one work-item makes three sweeps over one row. It
 * supports all strides and types, and every device. */
#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/normalization/softmax.h"

enum { WG = 64, SWEEPS = 3, BLOCK = 16 }; /* BLOCK: of an iteration */

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const xl_softmax *s = desc;
    const char *why = xl__softmax_refuses(l, desc);
    if (!why)
        why = xl__iterations_refused(l,
                                     (double)SWEEPS * (double)s->cols / BLOCK);
    return why;
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const xl_softmax *s = desc;
    const size_t wg = xl__min_size(WG, xl__rows_most_items(l));
    (void)params;
    p->flop = xl__softmax_flop(s);
    p->bytes = xl__softmax_bytes(s, 1);
    struct xl__step *step =
        xl__plan_add(p, "normalization/softmax_reference.cl", "softmax_ref",
                     xl__round_up(s->rows, wg), wg);
    xl__softmax_defines(step, s, 1);
    xl__softmax_args(step, s);
    xl__arg_u64(step, s->src.col_stride);
    xl__arg_u64(step, s->dst.col_stride);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_softmax_ref_frac),
        .bytes = xl__softmax_bytes(s, SWEEPS),
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)s->rows / (double)wg),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__softmax_ref = {
    .name = "softmax_ref",
    .repeats = "bit for bit: each row is one sum, taken in order of columns",
    .refuses = find_refusal,
    .plan = plan_steps,
};
