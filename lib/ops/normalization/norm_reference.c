/* SPDX-License-Identifier: Apache-2.0 */
/* The reference variant: one work-item makes three sweeps over one row. It
 * supports all strides and types, and every device. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "ops/normalization/norm.h"
#include "ops/path/cost.h"

enum { WG = 64, SWEEPS = 3, BLOCK = 16 }; /* BLOCK: of an iteration */

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const xl_norm *n = desc;
    return xl__iterations_refused(l, (double)SWEEPS * (double)n->cols / BLOCK);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const xl_norm *n = desc;
    const size_t wg = xl__min_size(WG, xl__rows_most_items(l));
    (void)params;
    p->flop = xl__norm_flop(n);
    p->bytes = xl__norm_bytes(n, false) + xl__norm_bytes(n, true);
    struct xl__step *step =
        xl__plan_add(p, "normalization/norm_reference.cl", "norm_ref",
                     xl__round_up(n->rows, wg), wg);
    xl__norm_defines(step, n, 1);
    xl__norm_args(step, n);
    xl__arg_u64(step, n->src.col_stride);
    xl__arg_u64(step, n->dst.col_stride);
    xl__arg_u64(step, n->sum.col_stride);
    xl__arg_u64(step, n->scale.col_stride);
    xl__arg_u64(step, n->bias.col_stride);
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_softmax_ref_frac),
        .bytes = SWEEPS * xl__norm_bytes(n, false) + xl__norm_bytes(n, true),
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__fill(l, (double)n->rows / (double)wg),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__norm_ref = {
    .name = "norm_ref",
    .repeats = "bit for bit: each row is one sum, taken in order of columns",
    .refuses = find_refusal,
    .plan = plan_steps,
};
