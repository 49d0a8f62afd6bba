/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of gradients over rows (row_case.c). The host computes
 * in double; the tolerances are the Accuracy lines of xl_softmax_run() and
 * xl_norm_run(), of norms with the values of norm_selfcheck.c and r at most 1.
 * A row of NaN would hide what sums over columns give, so it is left out of
 * cases that have those. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/normalization/row_backward.h"
#include "ops/path/selfcheck_data.h"

enum { ROW_EQUAL = 1, ROW_NAN = 2 };
static const double offset = 1000, deviation = 3, eps = 0.25, scale = 0.75;
static const double u = FLT_EPSILON / 2, most_r = 1;

void xl__backward_shrink(const void *canonical,
                         const struct xl__variant *variant,
                         const struct xl__params *params, void *small)
{
    (void)variant;
    struct xl__row_backward *to = small;
    memcpy(to, canonical, sizeof *to);
    to->rows = xl__row_case_rows(params);
    to->cols = xl__row_case_cols(to->cols, params, 0);
    for (unsigned v = 0; v < XL__BACKWARD_N_VIEWS; v++) {
        const xl_mat from = to->view[v];
        if (xl__backward_has(to, v))
            xl__row_case_view(&from, to->cols, &to->view[v]);
    }
}

/* Of a row, what its elements share; of a softmax g is the sum, and `size`
 * that of the absolute values. */
struct row {
    double mean, factor, g, gy, size, spread;
};

static double value_at(const struct xl__selfcheck_case *t, unsigned view,
                       size_t i, size_t j, double otherwise)
{
    const struct xl__row_backward *c = t->of;
    const xl_mat *m = &c->view[view];
    return xl__backward_has(c, view)
               ? xl__dtype_load(t->before[xl__backward_views[view].mem],
                                xl__row_case_at(m, i, j), m->dtype)
               : otherwise;
}

static double grad_at(const struct xl__selfcheck_case *t, size_t i, size_t j)
{
    return value_at(t, XL__BACKWARD_GRAD, i, j, 0) *
           value_at(t, XL__BACKWARD_GAIN, 0, j, 1);
}

/* The bound of the error of y. */
static double error_of_y(double y, double k)
{
    return (1 + most_r * most_r) * ((1.5 * k + 8) * fabs(y) + k + 1) * u;
}

static double expected_row(const struct xl__selfcheck_case *t, size_t i,
                           size_t j, double *error)
{
    static const double of_norm = 32, of_sum = 7, of_softmax = 12;
    const struct xl__row_backward *c = t->of;
    const struct row *row = &((const struct row *)t->own)[i];
    const double k = 13 + 2 * log2((double)c->cols);
    const double x = value_at(t, XL__BACKWARD_SRC, i, j, 0);
    const double g = grad_at(t, i, j);
    if (!xl__backward_is_norm(c)) {
        const bool is_log = c->kind == XL__BACKWARD_LOG;
        const double p = is_log ? exp(x) : x;
        *error = scale * (k + of_softmax) * u *
                 (is_log ? fabs(g) + p * row->size
                         : fabs(p) * (fabs(g) + row->size));
        return scale * (is_log ? g - p * row->g : p * (g - row->g));
    }
    const double y = (x - row->mean) * row->factor;
    *error =
        row->factor * (1 + most_r * most_r) * (of_sum * k + of_norm) * u *
        (fabs(g) + row->size + (1 + fabs(y)) * (1 + most_r) * row->spread);
    return row->factor * (g - row->g - y * row->gy);
}

/* A sum over the rows: of g y, or of g. */
static double expected_column(const struct xl__selfcheck_case *t,
                              unsigned view, size_t j, double *error)
{
    static const double of_sum = 24;
    const struct xl__row_backward *c = t->of;
    const double k = 13 + 2 * log2((double)c->cols);
    double sum = 0;
    *error = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const struct row *row = &((const struct row *)t->own)[i];
        const double g = value_at(t, XL__BACKWARD_GRAD, i, j, 0);
        const double x = value_at(t, XL__BACKWARD_SRC, i, j, 0);
        const double y =
            view == XL__BACKWARD_TO_BIAS ? 1 : (x - row->mean) * row->factor;
        sum += g * y;
        *error += of_sum * u * fabs(g * y);
        if (view == XL__BACKWARD_TO_GAIN)
            *error += fabs(g) * error_of_y(y, k);
    }
    return sum;
}

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct xl__row_backward *c = t->of;
    unsigned view = XL__BACKWARD_DST;
    while (xl__backward_views[view].mem != t->result[result].slot)
        view++;
    const xl_dtype dtype = c->view[view].dtype;
    const double want = view == XL__BACKWARD_DST
                            ? expected_row(t, at[0], at[1], error)
                            : expected_column(t, view, at[1], error);
    *error += (double)FLT_MIN;
    if (isnan(want))
        *error = 0;
    else if (dtype != XL_F32)
        *error += xl__dtype_unit_roundoff(dtype) * (fabs(want) + *error) +
                  xl__dtype_underflow(dtype);
    return want;
}

static void sum_softmax(const struct xl__selfcheck_case *t, size_t i,
                        struct row *row)
{
    const struct xl__row_backward *c = t->of;
    for (size_t j = 0; j < c->cols; j++) {
        const double x = c->kind == XL__BACKWARD_LOG
                             ? 1
                             : value_at(t, XL__BACKWARD_SRC, i, j, 0);
        row->g += x * grad_at(t, i, j);
        row->size += fabs(x * grad_at(t, i, j));
    }
}

static void sum_norm(const struct xl__selfcheck_case *t, size_t i,
                     struct row *row)
{
    const struct xl__row_backward *c = t->of;
    const double cols = (double)c->cols;
    double squares = 0;
    for (size_t j = 0; c->kind == XL__BACKWARD_LAYER && j < c->cols; j++)
        row->mean += value_at(t, XL__BACKWARD_SRC, i, j, 0) / cols;
    for (size_t j = 0; j < c->cols; j++)
        squares += pow(value_at(t, XL__BACKWARD_SRC, i, j, 0) - row->mean, 2);
    row->factor = 1 / sqrt(squares / cols + eps);
    for (size_t j = 0; j < c->cols; j++) {
        const double g = grad_at(t, i, j) / cols;
        const double y =
            (value_at(t, XL__BACKWARD_SRC, i, j, 0) - row->mean) * row->factor;
        row->g += c->kind == XL__BACKWARD_LAYER ? g : 0;
        row->gy += g * y;
        row->size += fabs(g);
        row->spread += fabs(g) * (1 + fabs(y));
    }
}

/* Move the rows of src; equal values, and a NaN. */
static void set_rows(const struct xl__row_backward *c, void *src)
{
    const xl_mat *m = &c->view[XL__BACKWARD_SRC];
    for (size_t i = 0; xl__backward_is_norm(c) && i < c->rows; i++) {
        for (size_t j = 0; j < c->cols; j++) {
            const size_t at = xl__row_case_at(m, i, j);
            const double x = xl__dtype_load(src, at, m->dtype);
            xl__dtype_store(src, at, m->dtype,
                            i == ROW_EQUAL ? offset : offset + x);
        }
    }
    if (c->rows > ROW_NAN && !xl__backward_has_columns(c))
        xl__dtype_store(src, xl__row_case_at(m, ROW_NAN, c->cols / 2),
                        m->dtype, (double)NAN);
}

xl_status xl__backward_case_init(void *small, struct xl__selfcheck_case *t)
{
    const struct xl__row_backward *c = small;
    struct row *row = xl__calloc(c->rows, sizeof *row);
    t->of = small;
    t->expect = expected_value;
    t->own = row;
    if (!row)
        return XL_NO_MEMORY;
    for (unsigned v = 0; v < XL__BACKWARD_N_VIEWS; v++) {
        static const char *const names[] = {
            "src", "grad", "dst", "scale", "grad_scale", "grad_bias"};
        const struct xl__backward_view *what = &xl__backward_views[v];
        const xl_mat *view = &c->view[v];
        const size_t rows = what->is_row ? 1 : c->rows;
        if (!xl__backward_has(c, v))
            continue;
        if (!what->is_result) {
            if (!xl__row_case_filled(t, view, rows, c->cols, what->mem,
                                     what->offset,
                                     xl__backward_is_norm(c) ? deviation : 1))
                return XL_NO_MEMORY;
            continue;
        }
        struct xl__case_result *r = xl__case_add_result(
            t, names[v], what->mem, view->dtype, xl__row_case_start(view));
        if (!r || !xl__row_case_memory(t, view, rows, c->cols, what->mem,
                                       what->offset))
            return XL_NO_MEMORY;
        xl__case_add_dim(r, rows, view->row_stride);
        xl__case_add_dim(r, c->cols, view->col_stride);
    }
    set_rows(c, t->before[XL__ROWS_SRC]);
    t->call.value[XL__ROWS_SCALE].f = xl__backward_is_norm(c) ? 1 : scale;
    t->call.value[XL__NORM_EPS].f = eps;
    for (size_t i = 0; !t->is_timed && i < c->rows; i++)
        (xl__backward_is_norm(c) ? sum_norm : sum_softmax)(t, i, &row[i]);
    return XL_OK;
}
