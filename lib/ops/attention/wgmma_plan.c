/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/attention/wgmma_plan.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/path/cost.h"

const xl_matrix_op *xl__wgmma_heads_op(const struct xl__limits *l,
                                       const struct xl__attention_canonical *c)
{
    const xl_dtype dtype = c->view[XL__ATTENTION_Q].dtype;
    return l->model.attention ? xl__find_matrix_op(l, "wgmma", dtype, dtype)
                              : NULL;
}

const char *xl__wgmma_heads_refused(const struct xl__limits *l,
                                    const struct xl__attention_canonical *c)
{
    const xl_dtype dtype = c->view[XL__ATTENTION_Q].dtype;
    if ((dtype != XL_F16 && dtype != XL_BF16 && dtype != XL_F8E4M3) ||
        !xl__wgmma_heads_op(l, c))
        return "the device has no matrix instructions of four sub-groups for "
               "this type";
    const char *paged = xl__attention_needs_lines(c);
    if (paged)
        return paged;
    if (c->before != XL__ATTENTION_ANY)
        return "windows are not supported";
    if (c->is_scale_negative)
        return "a negative scale is not supported";
    if (c->n_q > INT32_MAX / 4 || c->n_kv > INT32_MAX / 4)
        return "tiles are counted in 32 bits";
    return NULL;
}

size_t xl__section_heads(const struct xl__limits *l, size_t heads,
                         double bytes)
{
    const size_t sections =
        (size_t)fmax(1, ceil(bytes / l->model.attention->section_bytes));
    return xl__ceil_div(heads, xl__min_size(sections, heads));
}

void xl__wgmma_heads_estimate(const struct xl__limits *l,
                              const struct xl__attention_canonical *c,
                              double clocks, double copied, unsigned launches,
                              struct xl__plan *p)
{
    static const double ns_per_s = 1e9;
    const xl_matrix_op *op = xl__wgmma_heads_op(l, c);
    const double rate = xl__rate_matrix(l, op->a);
    const double clock_ns = rate > 0 ? ns_per_s * (double)xl__n_units(l) *
                                           op->flop_per_clock / rate
                                     : 1;
    const double copy = xl__num_or(l, XL__F_copy_bytes_per_s, INFINITY);
    p->flop = xl__attention_flop(c);
    p->bytes = xl__attention_bytes(c);
    const struct xl__cost work = {.busy_ns = clocks * clock_ns +
                                             copied / copy * ns_per_s,
                                  .bytes = p->bytes,
                                  .bytes_frac = 1,
                                  .launches = launches};
    xl__estimate(l, &work, p);
}
