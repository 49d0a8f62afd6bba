/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM on matrix instructions of four sub-groups, operands read where the
 * caller has them. All four transpose cases of 16-bit types: the instructions
 * take lines along k or across it. */
#include "ops/cost.h"
#include "ops/gemm_wgmma_model.h"
#include "ops/variants.h"

enum { ALIGN = 16 };

static struct xl__wgmma_side side_of(const struct xl__gemm_side *s,
                                     size_t step)
{
    const bool across = xl__gemm_side_unit(s) == XL__UNIT_ACROSS;
    return (struct xl__wgmma_side){.mem = s->mem,
                                   .offset = (int)s->offset,
                                   .across = across,
                                   .line = across ? s->stride_k : s->stride_x,
                                   .step = step};
}

static struct xl__wgmma_job job_of(const void *desc)
{
    const xl_gemm *g = desc;
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    const size_t step_a = s.turned ? g->batch.b_step : g->batch.a_step;
    const size_t step_b = s.turned ? g->batch.a_step : g->batch.b_step;
    return (struct xl__wgmma_job){.canonical = desc,
                                  .a = side_of(&s.a, step_a),
                                  .b = side_of(&s.b, step_b),
                                  .in = g->a.dtype,
                                  .planes = 1,
                                  .at_rows = XL__WGMMA_NOWHERE,
                                  .at_cols = XL__WGMMA_NOWHERE,
                                  .at_flag = XL__WGMMA_NOWHERE};
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    const struct xl__wgmma_job j = job_of(desc);
    if (g->a.dtype != XL_F16 && g->a.dtype != XL_BF16)
        return "takes f16 and bf16 alone";
    if (xl__gemm_side_unit(&s.a) == XL__UNIT_NONE ||
        xl__gemm_side_unit(&s.b) == XL__UNIT_NONE)
        return "A or B has no contiguous lines; gemm_mma takes it";
    if (g->a.offset % ALIGN != 0 || g->b.offset % ALIGN != 0)
        return "lines of A or B do not begin at multiples of 16 bytes; "
               "gemm_mma takes it";
    return xl__wgmma_refused(l, &j);
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const struct xl__wgmma_job j = job_of(desc);
    xl__wgmma_choose(l, &j, out);
}

static double launch_ns(const struct xl__limits *l)
{
    const struct xl__work empty = {.flop_frac = 1, .bytes_frac = 1, .fill = 1,
                                   .launches = 1};
    const char *bound;
    return xl__work_ns(l, &empty, &bound);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const struct xl__wgmma_job j = job_of(desc);
    double ns;
    const xl_status status = xl__wgmma_add(l, &j, params, p, &ns, &p->bound);
    if (status != XL_OK)
        return status;
    p->flop = xl__gemm_flop(desc);
    p->bytes = xl__gemm_bytes(desc);
    p->est_ns = ns + launch_ns(l);
    return XL_OK;
}

const struct xl__variant xl__gemm_wgmma = {
    .name = "gemm_wgmma",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__wgmma_tunables,
    .has_plain = true,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
