/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of softmax: an odd number of rows that cross the border
 * of a work-group or of a chunk, padded lines, guard bytes around the result,
 * one row of -inf, one with a NaN. The host computes in double; the tolerance
 * is the Accuracy line of xl_softmax_run(). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/rng.h"
#include "ops/path/check.h"
#include "ops/normalization/softmax.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64 };
enum { SEED_SRC = 1, SEED_MASK = 2 };
enum { ROW_EMPTY = 1, ROW_NAN = 2, LEAST_ROWS = 3 };
static const double scale = 0.75;

/* -- the case ------------------------------------------------------------ */

/* Columns for which the program is the same: one vector less than an item or a
 * group holds, or somewhat more than two chunks. */
static size_t small_cols(const xl_softmax *s, const struct xl__params *params)
{
    enum { REF_COLS = 37, ITEM_COLS = 325, LONG_COLS = 9001 };
    size_t cols = REF_COLS, vw = 1;
    if (params && params->value[XL__SOFTMAX_MODE] > 0) {
        const size_t mode = (size_t)params->value[XL__SOFTMAX_MODE];
        const size_t span = (size_t)params->value[XL__SOFTMAX_LANES] *
                            (size_t)params->value[XL__SOFTMAX_N_HELD];
        vw = (size_t)params->value[XL__SOFTMAX_VW];
        cols = mode == XL__SOFTMAX_HELD   ? span * vw
               : mode == XL__SOFTMAX_ROWS ? ITEM_COLS
               : mode > XL__SOFTMAX_ROWS  ? LONG_COLS
                                          : 2 * span * vw + 1;
    }
    cols = xl__round_up(cols, vw);
    if (s->cols % vw != 0)
        return cols - 1;
    return cols > vw ? cols - vw : cols;
}

static size_t small_rows(const struct xl__params *params)
{
    size_t each = 1;
    if (params && params->value[XL__SOFTMAX_MODE] == XL__SOFTMAX_HELD)
        each = (size_t)params->value[XL__SOFTMAX_WG] /
               (size_t)params->value[XL__SOFTMAX_LANES];
    return xl__max_size(LEAST_ROWS, each + 1) | 1;
}

/* Strides of the same class and alignment, with a gap between lines. */
static void shrink_view(const xl_mat *from, size_t cols, xl_mat *to)
{
    const size_t elem = xl_dtype_bytes(from->dtype);
    const size_t step = xl__max_size(1, from->offset / elem);
    *to = *from;
    if (from->col_stride > 1)
        to->col_stride = 2;
    if (from->row_stride > 0)
        to->row_stride =
            step * ((xl__max_size(1, to->col_stride) * cols / step + 1) | 1);
}

void xl__softmax_shrink(const void *canonical,
                        const struct xl__variant *variant,
                        const struct xl__params *params, void *small)
{
    (void)variant;
    const xl_softmax *s = canonical;
    xl_softmax *to = small;
    memcpy(to, s, sizeof *to);
    to->rows = small_rows(params);
    to->cols = small_cols(s, params);
    shrink_view(&s->src, to->cols, &to->src);
    shrink_view(&s->dst, to->cols, &to->dst);
    if (xl__softmax_has_mask(s))
        shrink_view(&s->mask, to->cols, &to->mask);
}

/* -- host memory --------------------------------------------------------- */

/* The offset of element (0, 0), which has the required alignment. */
static size_t find_start(const xl_mat *mat)
{
    return xl__max_size(1, mat->offset / xl_dtype_bytes(mat->dtype));
}

static size_t locate_element(const xl_mat *mat, size_t i, size_t j)
{
    return find_start(mat) + i * mat->row_stride + j * mat->col_stride;
}

static void *make_guarded(const xl_mat *mat, const xl_softmax *s,
                          unsigned slot, struct xl__selfcheck_case *t)
{
    size_t n;
    if (!xl__mat_extent(mat, s->rows, s->cols, &n))
        return NULL;
    t->call.value[slot - XL__SOFTMAX_SRC + XL__SOFTMAX_OFF_SRC].u =
        find_start(mat);
    return xl__case_add_memory(t, slot, find_start(mat) + n + GUARD_ELEMS,
                               mat->dtype, GUARD);
}

/* Normally distributed values. */
static void *make_filled(const xl_mat *mat, const xl_softmax *s, uint64_t seed,
                         unsigned slot, struct xl__selfcheck_case *t)
{
    static const double spread = 3;
    struct xl__rng rng;
    void *base = make_guarded(mat, s, slot, t);
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; base && i < s->rows; i++) {
        for (size_t j = 0; j < s->cols; j++)
            xl__dtype_store(base, locate_element(mat, i, j), mat->dtype,
                            (float)(spread * xl__rng_normal(&rng)));
    }
    return base;
}

/* -- the elements -------------------------------------------------------- */

/* x[i][j] as the kernels compute it: a product and a sum of floats. */
static double input_at(const xl_softmax *s, const struct xl__selfcheck_case *t,
                       size_t i, size_t j)
{
    const volatile float x =
        (float)xl__dtype_load(t->before[XL__SOFTMAX_SRC],
                              locate_element(&s->src, i, j), s->src.dtype) *
        (float)scale;
    if (!xl__softmax_has_mask(s))
        return (double)x;
    const volatile float sum =
        x + (float)xl__dtype_load(t->before[XL__SOFTMAX_MASK],
                                  locate_element(&s->mask, i, j),
                                  s->mask.dtype);
    return (double)sum;
}

/* The bound of the error: see xl_softmax_run(). */
static double derive_tolerance(const xl_softmax *s, double want, double below)
{
    static const double fixed = 48, f16_least = 0x1p-24;
    const double u = FLT_EPSILON / 2;
    const double in_f32 = (below + fixed + 2 * log2((double)s->cols)) * u;
    const double tiny = (double)FLT_MIN;
    const double store = s->dst.dtype == XL_F16    ? 0x1p-11
                         : s->dst.dtype == XL_BF16 ? 0x1p-8
                                                   : 0;
    const double step = s->dst.dtype == XL_F16 ? f16_least / 2 : 0;
    return want * (in_f32 + store) + step + tiny;
}

/* Of a row: its maximum, or 0 where that is infinite, and the sum of
 * exp(x - top). */
struct row {
    double top, sum;
};

static double expected_value(const struct xl__selfcheck_case *t,
                             unsigned result, const size_t *at, double *error)
{
    const xl_softmax *s = t->of;
    const struct row *row = (const struct row *)t->own + at[0];
    const double x = input_at(s, t, at[0], at[1]);
    const double want = row->sum == 0 ? 0 : exp(x - row->top) / row->sum;
    (void)result;
    *error = want == 0 ? (double)FLT_MIN
                       : derive_tolerance(s, want, fabs(x - row->top));
    return want;
}

static void sum_rows(const xl_softmax *s, struct xl__selfcheck_case *t)
{
    struct row *row = t->own;
    for (size_t i = 0; i < s->rows; i++) {
        double top = -(double)INFINITY;
        for (size_t j = 0; j < s->cols; j++)
            top = fmax(top, input_at(s, t, i, j));
        row[i].top = isinf(top) ? 0 : top;
        for (size_t j = 0; j < s->cols; j++)
            row[i].sum += exp(input_at(s, t, i, j) - row[i].top);
    }
}

xl_status xl__softmax_case_init(void *small, struct xl__selfcheck_case *t)
{
    const xl_softmax *s = small;
    void *src = make_filled(&s->src, s, SEED_SRC, XL__SOFTMAX_SRC, t);
    struct xl__case_result *r = xl__case_add_result(
        t, "dst", XL__SOFTMAX_DST, s->dst.dtype, find_start(&s->dst));
    t->of = small;
    t->expect = expected_value;
    t->own = xl__calloc(s->rows, sizeof(struct row));
    if (!src || !r || !t->own || !make_guarded(&s->dst, s, XL__SOFTMAX_DST, t))
        return XL_NO_MEMORY;
    xl__case_add_dim(r, s->rows, s->dst.row_stride);
    xl__case_add_dim(r, s->cols, s->dst.col_stride);
    for (size_t j = 0; s->rows >= LEAST_ROWS && j < s->cols; j++)
        xl__dtype_store(src, locate_element(&s->src, ROW_EMPTY, j),
                        s->src.dtype, -INFINITY);
    if (s->rows >= LEAST_ROWS)
        xl__dtype_store(src, locate_element(&s->src, ROW_NAN, s->cols / 2),
                        s->src.dtype, NAN);
    t->call.value[XL__SOFTMAX_SCALE].f = scale;
    if (xl__softmax_has_mask(s) &&
        !make_filled(&s->mask, s, SEED_MASK, XL__SOFTMAX_MASK, t))
        return XL_NO_MEMORY;
    sum_rows(s, t);
    return XL_OK;
}
