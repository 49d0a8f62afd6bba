/* SPDX-License-Identifier: Apache-2.0 */
/* Orientation of a product, and the arguments and defines that all GEMM
 * kernels share. */
#include "ops/gemm/orientation.h"

#include "base/str.h"
#include "ops/path/batch.h"

static size_t aligned_elems(const xl_mat *mat)
{
    return mat->offset / xl_dtype_bytes(mat->dtype); /* gemm.h */
}

struct xl__gemm_oriented xl__gemm_orient(const xl_gemm *g)
{
    const struct xl__gemm_operand a = {
        XL__GEMM_A,      XL__GEMM_OFF_A,       g->m,      g->a.row_stride,
        g->a.col_stride, aligned_elems(&g->a), g->a.dtype};
    const struct xl__gemm_operand b = {
        XL__GEMM_B,      XL__GEMM_OFF_B,       g->n,      g->b.col_stride,
        g->b.row_stride, aligned_elems(&g->b), g->b.dtype};
    const bool is_swapped = g->c.col_stride != 1 && g->c.row_stride == 1;
    struct xl__gemm_oriented s = {.c_aligned = aligned_elems(&g->c),
                                  .is_swapped = is_swapped};
    s.a = is_swapped ? b : a;
    s.b = is_swapped ? a : b;
    s.m = s.a.extent;
    s.n = s.b.extent;
    s.row_stride = is_swapped ? g->c.col_stride : g->c.row_stride;
    s.col_stride = is_swapped ? g->c.row_stride : g->c.col_stride;
    return s;
}

enum xl__gemm_unit xl__gemm_operand_unit(const struct xl__gemm_operand *s)
{
    return s->stride_k == 1   ? XL__UNIT_ALONG_K
           : s->stride_x == 1 ? XL__UNIT_ACROSS
                              : XL__UNIT_NONE;
}

void xl__gemm_arg_operand(struct xl__step *step,
                          const struct xl__gemm_operand *s)
{
    xl__arg_mem(step, s->mem);
    xl__gemm_arg_layout(step, s);
}

void xl__gemm_arg_layout(struct xl__step *step,
                         const struct xl__gemm_operand *s)
{
    xl__arg_value_u64(step, s->offset);
    xl__arg_u64(step, s->stride_x);
    xl__arg_u64(step, s->stride_k);
}

/* gemm/gemm.clh's BATCH. */
enum { ONE, STEPS, LISTS, TWO_AXES };

static int batch_form(const xl_batch *b)
{
    return b->a_at        ? LISTS
           : b->count == 1 ? ONE
           : b->inner      ? TWO_AXES
                           : STEPS;
}

void xl__gemm_define(struct xl__step *step, const void *canonical,
                     bool is_swapped)
{
    const xl_gemm *g = canonical;
    xl__define(step, "TA", (long)(is_swapped ? g->b : g->a).dtype);
    xl__define(step, "TB", (long)(is_swapped ? g->a : g->b).dtype);
    xl__define(step, "TC", (long)g->c.dtype);
    xl__define(step, "TY", (long)xl__gemm_y_dtype(canonical));
    xl__define(step, "BATCH", batch_form(&g->batch));
    if (g->a.dtype == XL_F64)
        xl__define(step, "XL_USE_F64", 1);
}

const char xl__gemm_no_rows[] = "products with rows of their own are not "
                                "supported; gemm_tiled supports them";

static void arg_batch(struct xl__step *step, const xl_batch *b,
                      bool is_swapped)
{
    const size_t n = b->count;
    const int form = batch_form(b);
    const struct xl__places of_a = xl__batch_a(b), of_b = xl__batch_b(b),
                            c = xl__batch_c(b), *left = &of_a, *right = &of_b;
    if (is_swapped) {
        left = &of_b;
        right = &of_a;
    }
    if (b->at) {
        xl__arg_mem(step, XL__GEMM_AT);
        xl__arg_value_u64(step, XL__GEMM_OFF_AT + is_swapped);
        xl__arg_value_u64(step, XL__GEMM_OFF_AT + !is_swapped);
        xl__arg_value_u64(step, XL__GEMM_OFF_AT + 2);
    } else if (form == LISTS) {
        xl__arg_mem(step, XL__MEM_LIST);
        xl__arg_u64(step, is_swapped ? n : 0);
        xl__arg_u64(step, is_swapped ? 0 : n);
        xl__arg_u64(step, 2 * n);
    } else if (form != ONE) {
        xl__arg_u64(step, left->step);
        xl__arg_u64(step, right->step);
        xl__arg_u64(step, c.step);
    }
    if (form == TWO_AXES) {
        xl__arg_u64(step, b->inner);
        xl__arg_u64(step, left->inner_step);
        xl__arg_u64(step, right->inner_step);
        xl__arg_u64(step, c.inner_step);
        xl__arg_u64(step, left->share);
        xl__arg_u64(step, right->share);
    }
}

/* Those of the caller's A or B, which are the kernel's `of`. */
static void arg_scales(struct xl__step *step,
                       const struct xl__gemm_canonical *c, bool is_b,
                       const char *of)
{
    static const char *const letter[] = {"S", "Z"};
    const struct xl__gemm_scales *s = &c->scales[is_b];
    char name[4];
    for (unsigned i = 0; i < 2; i++) {
        const unsigned slot = 2 * is_b + i;
        if (!s->of[i].is_given)
            continue;
        xl__strfmt(name, sizeof name, "%s%s", letter[i], of);
        xl__define(step, name, (long)s->of[i].dtype);
        xl__arg_mem(step, XL__GEMM_SCALES + slot);
        xl__arg_value_u64(step, XL__GEMM_OFF_SCALES + slot);
        xl__arg_u32(step, s->of[i].stride_x);
        xl__arg_u32(step, s->of[i].stride_k);
        xl__arg_u64(step, s->of[i].step);
        xl__arg_u64(step, s->of[i].inner_step);
    }
    if (!s->of[0].is_given && !s->of[1].is_given)
        return;
    xl__strfmt(name, sizeof name, "GX%s", of);
    xl__define(step, name, (long)s->group_x);
    xl__strfmt(name, sizeof name, "GK%s", of);
    xl__define(step, name, (long)s->group_k);
}

void xl__gemm_arg_last(struct xl__step *step, const void *canonical,
                       bool is_swapped)
{
    const xl_gemm *g = canonical;
    void (*const add)(struct xl__step *, unsigned) =
        xl__gemm_y_dtype(canonical) == XL_F64   ? xl__arg_value_f64
        : xl__gemm_y_dtype(canonical) == XL_I32 ? xl__arg_value_i32
                                                : xl__arg_value_f32;
    add(step, XL__GEMM_ALPHA);
    add(step, XL__GEMM_BETA);
    arg_batch(step, &g->batch, is_swapped);
    arg_scales(step, canonical, is_swapped, "A");
    arg_scales(step, canonical, !is_swapped, "B");
    if (g->batch.rows) {
        xl__define(step, "OWN_ROWS", is_swapped ? 2 : 1);
        xl__arg_mem(step, XL__GEMM_ROWS);
        xl__arg_value_u64(step, XL__GEMM_OFF_ROWS);
    }
    xl__arg_epilogue(step, xl__gemm_epilogue_text(canonical), XL__GEMM_OPERAND,
                     XL__GEMM_OPERAND_VALUE, g->batch.inner, is_swapped);
}
