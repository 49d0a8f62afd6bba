/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_split: f32 products as products of narrower planes (split.h) on matrix
 * instructions of four sub-groups. The planes in the workspace are the
 * operands of gemm_wgmma's kernel, which multiplies the same planes in the
 * same order as split_mma.c: the error is the same. */
#include "ops/gemm/engines/split.h"
#include "ops/gemm/engines/wgmma.h"
#include "ops/gemm/gemm.h"

static struct xl__wgmma_operand
plane_operand(const struct xl__split_operand *s)
{
    return (struct xl__wgmma_operand){.mem = XL__MEM_SCRATCH,
                                      .offset = XL__WGMMA_NONE,
                                      .first = s->first,
                                      .across = s->across,
                                      .line = s->line,
                                      .plane = s->plane};
}

static struct xl__wgmma_job make_job(const struct xl__split_layout *p)
{
    return (struct xl__wgmma_job){.canonical = p->canonical,
                                  .a = plane_operand(&p->a),
                                  .b = plane_operand(&p->b),
                                  .in = p->scheme.in,
                                  .planes = p->scheme.planes,
                                  .promotes = true,
                                  .at_rows = (long)p->a.factors,
                                  .at_cols = (long)p->b.factors,
                                  .at_flag = (long)p->flag,
                                  .taken_bytes = p->end_bytes};
}

static const char *refuses(const struct xl__limits *l, const void *desc,
                           const struct xl__split_scheme *scheme)
{
    struct xl__split_layout p;
    const char *why = xl__split_refused(l, desc);
    if (why)
        return why;
    if (!xl__split_layout_init(l, desc, XL__SPLIT_BY_FOUR, scheme, &p))
        return "the workspace does not fit into a buffer";
    const struct xl__wgmma_job j = make_job(&p);
    return xl__wgmma_refused(l, &j);
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__split_scheme *scheme,
                   struct xl__params *out)
{
    struct xl__split_layout p;
    *out = (struct xl__params){.source = "model"};
    if (!xl__split_layout_init(l, desc, XL__SPLIT_BY_FOUR, scheme, &p))
        return;
    const struct xl__wgmma_job j = make_job(&p);
    xl__wgmma_choose(l, &j, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__split_scheme *scheme,
                      const struct xl__params *params, struct xl__plan *out)
{
    struct xl__split_layout p;
    const char *bound;
    double ns;
    if (!xl__split_layout_init(l, desc, XL__SPLIT_BY_FOUR, scheme, &p))
        return XL_UNSUPPORTED;
    const struct xl__wgmma_job j = make_job(&p);
    xl__split_add(&p, out);
    xl_status status = xl__wgmma_add(l, &j, params, out, &ns, &bound);
    if (status == XL_OK)
        status = xl__split_add_plain(l, &p, out);
    if (status == XL_OK)
        xl__split_estimate(l, &p, ns, bound, out);
    return status;
}

/* -- the variants, a scheme each ------------------------------------------ */

XL__SPLIT_VARIANT(xl__gemm_split_f16, f16, "gemm_split",
                  xl__gemm_wgmma_tunables);
XL__SPLIT_VARIANT(xl__gemm_split_bf16, bf16, "gemm_split_bf16",
                  xl__gemm_wgmma_tunables);
