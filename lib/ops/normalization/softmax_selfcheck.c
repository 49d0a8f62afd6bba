/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of softmax (row_case.c), with one row of -inf and one
 * with a NaN. The host computes in double; the tolerance
 * is the Accuracy line of xl_softmax_run(), with a prologue widened by the
 * bound of its error; an epilogue is evaluated over the values so bounded.
 *
 * Where each score x[j] is known to within d[j], a result p[j] is so to within
 * a factor e^d[j] W, W = sum_j p[j] e^d[j]: for the exact scores' sum S and
 * the device's S', S' / S <= W, and S / S' <= W by Jensen's inequality. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/path/check.h"
#include "ops/normalization/softmax.h"
#include "ops/path/selfcheck_data.h"

enum { ROW_EMPTY = 1, ROW_NAN = 2 };
static const double scale = 0.75, deviation = 3;

/* -- the case ------------------------------------------------------------ */

void xl__softmax_shrink(const void *canonical,
                        const struct xl__variant *variant,
                        const struct xl__params *params, void *small)
{
    (void)variant;
    const xl_softmax *s = canonical;
    xl_softmax *to = small;
    memcpy(to, s, sizeof(struct xl__softmax_canonical));
    to->rows = xl__row_case_rows(params);
    to->cols = xl__row_case_cols(s->cols, params, XL__ROWS_NEAR);
    xl__row_case_view(&s->src, to->cols, &to->src);
    xl__row_case_view(&s->dst, to->cols, &to->dst);
    if (xl__softmax_has_mask(s))
        xl__row_case_view(&s->mask, to->cols, &to->mask);
}

/* -- the elements -------------------------------------------------------- */

/* x[i][j] as the kernels compute it: a product and a sum of floats. */
static double input_at(const xl_softmax *s, const struct xl__selfcheck_case *t,
                       size_t i, size_t j)
{
    const volatile float x =
        (float)xl__dtype_load(t->before[XL__ROWS_SRC],
                              xl__row_case_at(&s->src, i, j), s->src.dtype) *
        (float)scale;
    if (!xl__softmax_has_mask(s))
        return (double)x;
    const volatile float sum =
        x + (float)xl__dtype_load(t->before[XL__ROWS_ADDED],
                                  xl__row_case_at(&s->mask, i, j),
                                  s->mask.dtype);
    return (double)sum;
}

/* Of a row: its maximum, or 0 where that is infinite, the sum of
 * exp(x - top), and that of exp(x - top + d), d the bound of x's error. */
struct row {
    double top, sum, most;
};

/* What a case owns besides its memory. */
struct softmax_case {
    struct xl__case_epilogue hook[XL__N_HOOKS];
    struct row row[];
};

/* The score of element [i][j]; *error bounds that of a device. */
static double score_at(const struct xl__selfcheck_case *t, size_t i, size_t j,
                       double *error)
{
    const struct xl__softmax_canonical *c = t->of;
    const struct softmax_case *own = t->own;
    const size_t along[XL__N_ALONG] = {0, 0, i, j};
    const double x = input_at(&c->s, t, i, j);
    *error = 0;
    return c->hook[XL__PROLOGUE]
               ? xl__case_epilogue_expected(&own->hook[XL__PROLOGUE], t, along,
                                            XL_F32, x, 0, error)
               : x;
}

/* The result of a score x that is known to within d: a logarithm. */
static double expected_log(const struct row *row, double x, double d,
                           size_t cols, double *error)
{
    static const double fixed = 76, of_sum = 7, u = FLT_EPSILON / 2;
    const double want =
        row->sum == 0 ? -(double)INFINITY : x - row->top - log(row->sum);
    *error = 0;
    if (isinf(d) || isinf(row->most))
        *error = INFINITY;
    else if (isfinite(want))
        *error = (2 * fabs(want) + fixed + of_sum * log2((double)cols)) * u +
                 d + log(row->most / row->sum);
    return want;
}

/* A result as an f32, and the bound of its error: see xl_softmax_run(). */
static double expected_y(const struct xl__selfcheck_case *t, size_t i,
                         size_t j, double *error)
{
    static const double fixed = 48, u = FLT_EPSILON / 2;
    const xl_softmax *s = t->of;
    const struct row *row = &((const struct softmax_case *)t->own)->row[i];
    double d;
    const double x = score_at(t, i, j, &d);
    if (s->is_log)
        return expected_log(row, x, d, s->cols, error);
    const double want = row->sum == 0 ? 0 : exp(x - row->top) / row->sum;
    const double below = want == 0 ? 0 : fabs(x - row->top);
    *error = want * (below + fixed + 2 * log2((double)s->cols)) * u +
             (double)FLT_MIN;
    if (isinf(d) || isinf(row->most))
        *error = INFINITY;
    else if (row->sum > 0)
        *error +=
            *error * expm1(d) + want * (exp(d) * row->most / row->sum - 1);
    return want;
}

/* The stored value, with or without an epilogue. */
static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const struct xl__softmax_canonical *c = t->of;
    const struct softmax_case *own = t->own;
    const size_t along[XL__N_ALONG] = {0, 0, at[0], at[1]};
    const xl_dtype dtype = c->s.dst.dtype;
    double y_error;
    const double y = expected_y(t, at[0], at[1], &y_error);
    (void)result;
    if (c->hook[XL__EPILOGUE])
        return xl__case_epilogue_expected(&own->hook[XL__EPILOGUE], t, along,
                                          dtype, y, isnan(y) ? 0 : y_error,
                                          error);
    *error = y_error;
    if (dtype != XL_F32 && isfinite(y))
        *error += xl__dtype_unit_roundoff(dtype) * fabs(y) +
                  xl__dtype_underflow(dtype);
    return y;
}

static void sum_rows(const xl_softmax *s, struct xl__selfcheck_case *t)
{
    struct row *row = ((struct softmax_case *)t->own)->row;
    double d;
    for (size_t i = 0; i < s->rows; i++) {
        double top = -(double)INFINITY;
        for (size_t j = 0; j < s->cols; j++)
            top = fmax(top, score_at(t, i, j, &d));
        row[i].top = isinf(top) ? 0 : top;
        for (size_t j = 0; j < s->cols; j++) {
            const double x = score_at(t, i, j, &d) - row[i].top;
            row[i].sum += exp(x);
            row[i].most += isinf(d) ? INFINITY : exp(x + d);
        }
    }
}

xl_status xl__softmax_case_init(void *small, struct xl__selfcheck_case *t)
{
    struct xl__softmax_canonical *c = small;
    const xl_softmax *s = &c->s;
    const size_t size[XL__N_ALONG] = {1, 1, s->rows, s->cols};
    struct softmax_case *own =
        xl__calloc(1, sizeof *own + s->rows * sizeof *own->row);
    void *src = xl__row_case_filled(t, &s->src, s->rows, s->cols, XL__ROWS_SRC,
                                    XL__ROWS_OFF_SRC, deviation);
    struct xl__case_result *r = xl__case_add_result(
        t, "dst", XL__ROWS_DST, s->dst.dtype, xl__row_case_start(&s->dst));
    t->of = small;
    t->expect = expected_value;
    t->own = own;
    if (!src || !r || !own ||
        !xl__row_case_memory(t, &s->dst, s->rows, s->cols, XL__ROWS_DST,
                             XL__ROWS_OFF_DST))
        return XL_NO_MEMORY;
    xl__case_add_dim(r, s->rows, s->dst.row_stride);
    xl__case_add_dim(r, s->cols, s->dst.col_stride);
    for (size_t j = 0; s->rows >= XL__ROWS_CASE_LEAST && j < s->cols; j++)
        xl__dtype_store(src, xl__row_case_at(&s->src, ROW_EMPTY, j),
                        s->src.dtype, -INFINITY);
    if (s->rows >= XL__ROWS_CASE_LEAST)
        xl__dtype_store(src, xl__row_case_at(&s->src, ROW_NAN, s->cols / 2),
                        s->src.dtype, NAN);
    t->call.value[XL__ROWS_SCALE].f = scale;
    if (xl__softmax_has_mask(s) &&
        !xl__row_case_filled(t, &s->mask, s->rows, s->cols, XL__ROWS_ADDED,
                             XL__ROWS_OFF_ADDED, deviation))
        return XL_NO_MEMORY;
    for (unsigned i = 0, n = 0; i < XL__N_HOOKS; i++) {
        const xl_status status = xl__case_epilogue_init(
            &own->hook[i], &c->hook[i], size, XL__SOFTMAX_OPERAND + n,
            XL__SOFTMAX_OPERAND_VALUE + n * XL__EPILOGUE_VALUES, t);
        if (status != XL_OK)
            return status;
        n += c->hook[i] ? c->hook[i]->n_operands : 0;
    }
    if (!t->is_timed)
        sum_rows(s, t);
    return XL_OK;
}
