/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's shape class: types, how the operands lie, sizes by bucket. A product
 * that is turned for its kernels (gemm_sides.h) is classed as it is turned, so
 * that both ways to ask for it share what was tuned. Strides and alignments
 * are left out, plans narrow their accesses by themselves, and so is whether a
 * batch is told by steps or by lists. */
#include "ops/path/size_buckets.h"
#include "ops/gemm/orientation.h"

static char letter(enum xl__gemm_unit unit, char across)
{
    return unit == XL__UNIT_ALONG_K ? 'k'
           : unit == XL__UNIT_ACROSS ? across
                                     : 'x';
}

void xl__gemm_shape_class(const void *canonical, struct xl__str *out)
{
    const struct xl__gemm *c = canonical;
    const xl_gemm *g = &c->g;
    const struct xl__gemm_sides s = xl__gemm_sides(g);
    xl__str_printf(out, "%s %s A:%c B:%c C:%c m%zu n%zu k%zu",
                   xl_dtype_name(g->a.dtype), xl_dtype_name(g->c.dtype),
                   letter(xl__gemm_side_unit(&s.a), 'm'),
                   letter(xl__gemm_side_unit(&s.b), 'n'),
                   s.col_stride == 1 ? 'n' : 'x', xl__bucket(s.m),
                   xl__bucket(s.n), xl__bucket(g->k));
    if (g->accuracy != XL_ACCURACY_FULL)
        xl__str_add(out, g->accuracy == XL_ACCURACY_SPLIT ? " split" : " fast");
    if (g->batch.count > 1)
        xl__str_printf(out, " batch%zu", xl__bucket_coarse(g->batch.count));
    if (c->snippet)
        xl__str_add(out, " epilogue");
}
