/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of norms (row_case.c): values around 1000 with a
 * deviation of 3, one row of equal values, one with a NaN. The host computes
 * in double; the tolerance is the Accuracy line of xl_norm_run(), with r at
 * most 1. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/normalization/norm.h"
#include "ops/path/selfcheck_data.h"

enum { ROW_EQUAL = 1, ROW_NAN = 2 };
static const double offset = 1000, deviation = 3, eps = 0.25;

void xl__norm_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small)
{
    (void)variant;
    const xl_norm *n = canonical;
    xl_norm *to = small;
    memcpy(to, n, sizeof *to);
    to->rows = xl__row_case_rows(params);
    to->cols = xl__row_case_cols(n->cols, params, 0);
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        if (xl__norm_has(n, v))
            xl__row_case_view(xl__norm_view(n, v), to->cols,
                              xl__norm_view_of(to, v));
    }
}

/* What a case owns besides its memory: of a row the mean and 1 / sqrt(variance
 * + eps). */
struct row {
    double mean, factor;
};

static double value_at(const struct xl__selfcheck_case *t, unsigned view,
                       size_t i, size_t j)
{
    const xl_mat *m = xl__norm_view(t->of, view);
    return xl__dtype_load(t->before[xl__norm_views[view].mem],
                          xl__row_case_at(m, i, j), m->dtype);
}

/* x as the kernels compute it: a sum of floats. */
static double input_at(const struct xl__selfcheck_case *t, size_t i, size_t j)
{
    const volatile float x = (float)value_at(t, XL__NORM_SRC, i, j);
    if (!xl__norm_has(t->of, XL__NORM_RESIDUAL))
        return (double)x;
    const volatile float sum = x + (float)value_at(t, XL__NORM_RESIDUAL, i, j);
    return (double)sum;
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    static const double u = FLT_EPSILON / 2, fixed = 13, most_r = 1;
    const xl_norm *n = t->of;
    const struct row *row = &((const struct row *)t->own)[at[0]];
    const unsigned view = result ? XL__NORM_SUM : XL__NORM_DST;
    const xl_dtype dtype = xl__norm_view(n, view)->dtype;
    const double k = fixed + 2 * log2((double)n->cols);
    double y = input_at(t, at[0], at[1]);
    *error = 0;
    if (!result) {
        y = (y - row->mean) * row->factor;
        *error = (1 + most_r * most_r) * ((1.5 * k + 8) * fabs(y) + k + 1) * u;
        if (xl__norm_has(n, XL__NORM_GAIN)) {
            const double gain = value_at(t, XL__NORM_GAIN, 0, at[1]);
            y *= gain;
            *error = *error * fabs(gain) + 2 * u * fabs(y);
        }
        if (xl__norm_has(n, XL__NORM_BIAS))
            y += value_at(t, XL__NORM_BIAS, 0, at[1]);
        *error += u * fabs(y) + (double)FLT_MIN;
    }
    if (isnan(y))
        *error = 0;
    else if (dtype != XL_F32)
        *error += xl__dtype_unit_roundoff(dtype) * (fabs(y) + *error) +
                  xl__dtype_underflow(dtype);
    return y;
}

static void sum_rows(struct xl__selfcheck_case *t)
{
    const xl_norm *n = t->of;
    struct row *row = t->own;
    const double cols = (double)n->cols;
    for (size_t i = 0; i < n->rows; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; n->kind == XL_NORM_LAYER && j < n->cols; j++)
            sum += input_at(t, i, j);
        row[i].mean = sum / cols;
        for (size_t j = 0; j < n->cols; j++) {
            const double d = input_at(t, i, j) - row[i].mean;
            squares += d * d;
        }
        row[i].factor = 1 / sqrt(squares / cols + eps);
    }
}

/* Move the rows of src; equal values, and a NaN. */
static void set_rows(const xl_norm *n, void *src)
{
    for (size_t i = 0; i < n->rows; i++) {
        for (size_t j = 0; j < n->cols; j++) {
            const size_t at = xl__row_case_at(&n->src, i, j);
            const double x = xl__dtype_load(src, at, n->src.dtype);
            xl__dtype_store(src, at, n->src.dtype,
                            i == ROW_EQUAL ? offset : offset + x);
        }
    }
    if (n->rows > ROW_NAN)
        xl__dtype_store(src, xl__row_case_at(&n->src, ROW_NAN, n->cols / 2),
                        n->src.dtype, NAN);
}

xl_status xl__norm_case_init(void *small, struct xl__selfcheck_case *t)
{
    const xl_norm *n = small;
    t->of = small;
    t->expect = expected_value;
    t->own = xl__calloc(n->rows, sizeof(struct row));
    if (!t->own)
        return XL_NO_MEMORY;
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        const struct xl__norm_view *what = &xl__norm_views[v];
        const xl_mat *view = xl__norm_view(n, v);
        const size_t rows = what->is_row ? 1 : n->rows;
        if (!xl__norm_has(n, v))
            continue;
        if (!what->is_result &&
            !xl__row_case_filled(t, view, rows, n->cols, what->mem,
                                 what->offset, deviation))
            return XL_NO_MEMORY;
        if (!what->is_result)
            continue;
        struct xl__case_result *r = xl__case_add_result(
            t, what->name, what->mem, view->dtype, xl__row_case_start(view));
        if (!r || !xl__row_case_memory(t, view, rows, n->cols, what->mem,
                                       what->offset))
            return XL_NO_MEMORY;
        xl__case_add_dim(r, rows, view->row_stride);
        xl__case_add_dim(r, n->cols, view->col_stride);
    }
    set_rows(n, t->before[XL__ROWS_SRC]);
    t->call.value[XL__ROWS_SCALE].f = 1;
    t->call.value[XL__NORM_EPS].f = eps;
    if (!t->is_timed)
        sum_rows(t);
    return XL_OK;
}
