/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_ref, the reference: one item per element of C, a loop over k, nothing
 * shared. It supports any strides, all types and any device. */
#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/orientation.h"
#include "ops/gemm/gemm.h"

static xl_status plan_reference(const struct xl__limits *l, const void *desc,
                                const struct xl__params *params,
                                struct xl__plan *p)
{
    enum { MOST_ITEMS = 64 }; /* of a group, along n */
    const xl_gemm *g = desc;
    struct xl__step *s =
        xl__plan_add(p, "gemm/reference.cl", "gemm_ref", 0, 0);
    (void)params;
    p->flop = xl__gemm_flop(g);
    p->bytes = xl__gemm_bytes(g);
    xl__step_set_3d(s, xl__most_items(l, MOST_ITEMS), g->n, g->m,
                    g->batch.count);
    s->slice_dim = 1;
    xl__gemm_define(s, desc, false);
    const xl_mat *mats[] = {&g->a, &g->b, &g->c};
    for (unsigned i = 0; i < 3; i++) {
        xl__arg_mem(s, XL__GEMM_A + i);
        xl__arg_value_u64(s, XL__GEMM_OFF_A + i);
        xl__arg_u64(s, mats[i]->row_stride);
        xl__arg_u64(s, mats[i]->col_stride);
    }
    xl__arg_u64(s, g->n);
    xl__arg_u64(s, g->k);
    xl__gemm_arg_last(s, desc, false);
    const size_t tiles_n = s->global[0] / s->local[0];
    p->tiling = (xl_tiling){.rows = 1,
                            .cols = s->local[0],
                            .m = g->m,
                            .n = g->n,
                            .tiles_m = g->m,
                            .tiles_n = tiles_n,
                            .count = g->batch.count,
                            .band = 1,
                            .whole = g->m * tiles_n * g->batch.count,
                            .groups = g->m * tiles_n * g->batch.count,
                            .wg_items = s->local[0]};
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_gemm_ref_frac),
        .bytes = p->bytes,
        .bytes_frac = xl__model(l, XL__M_ref_bytes_frac),
        .fill = xl__reference_fill(l, (double)g->m * (double)g->batch.count,
                                   (double)g->n),
        .launches = 1};
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuse_reference(const struct xl__limits *l,
                                    const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no f64";
    return xl__iterations_refused(l, (double)g->k);
}

const struct xl__variant xl__gemm_ref = {
    .name = "gemm_ref",
    .repeats = "bit for bit: each element is one sum, taken in order of k",
    .refuses = refuse_reference,
    .plan = plan_reference,
};
