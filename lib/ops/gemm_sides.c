/* SPDX-License-Identifier: Apache-2.0 */
/* Turning a product so that C's rows are contiguous. */
#include "ops/gemm_sides.h"

#include "ops/variants.h"

static size_t aligned_elems(const xl_mat *mat)
{
    return mat->offset / xl_dtype_bytes(mat->dtype); /* gemm.h */
}

struct xl__gemm_sides xl__gemm_sides(const xl_gemm *g)
{
    const struct xl__gemm_side a = {
        XL__GEMM_A,      XL__GEMM_OFF_A,  g->m,
        g->a.row_stride, g->a.col_stride, aligned_elems(&g->a)};
    const struct xl__gemm_side b = {
        XL__GEMM_B,      XL__GEMM_OFF_B,  g->n,
        g->b.col_stride, g->b.row_stride, aligned_elems(&g->b)};
    const bool turned = g->c.col_stride != 1 && g->c.row_stride == 1;
    struct xl__gemm_sides s = {.c_aligned = aligned_elems(&g->c)};
    s.a = turned ? b : a;
    s.b = turned ? a : b;
    s.m = s.a.extent;
    s.n = s.b.extent;
    s.row_stride = turned ? g->c.col_stride : g->c.row_stride;
    s.col_stride = turned ? g->c.row_stride : g->c.col_stride;
    return s;
}

enum xl__gemm_unit xl__gemm_side_unit(const struct xl__gemm_side *s)
{
    return s->stride_k == 1   ? XL__UNIT_ALONG_K
           : s->stride_x == 1 ? XL__UNIT_ACROSS
                              : XL__UNIT_NONE;
}

void xl__gemm_arg_side(struct xl__step *step, const struct xl__gemm_side *s)
{
    xl__arg_mem(step, s->mem);
    xl__arg_value_u64(step, s->offset);
    xl__arg_u64(step, s->stride_x);
    xl__arg_u64(step, s->stride_k);
}
