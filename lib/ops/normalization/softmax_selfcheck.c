/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check case of softmax: an odd number of rows that cross the border
 * of a work-group or of a chunk, padded lines, guard bytes around the result,
 * one row of -inf, one with a NaN. The host computes in double; the tolerance
 * is the Accuracy line of xl_softmax_run(). */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
                          size_t *bytes)
{
    size_t n;
    if (!xl__mat_extent(mat, s->rows, s->cols, &n))
        return NULL;
    *bytes = (find_start(mat) + n + GUARD_ELEMS) * xl_dtype_bytes(mat->dtype);
    void *base = xl__calloc(*bytes, 1);
    if (base)
        memset(base, GUARD, *bytes);
    return base;
}

/* Normally distributed values. */
static void *make_filled(const xl_mat *mat, const xl_softmax *s, uint64_t seed,
                         size_t *bytes)
{
    static const double spread = 3;
    struct xl__rng rng;
    void *base = make_guarded(mat, s, bytes);
    xl__rng_seed(&rng, seed);
    for (size_t i = 0; base && i < s->rows; i++) {
        for (size_t j = 0; j < s->cols; j++)
            xl__dtype_store(base, locate_element(mat, i, j), mat->dtype,
                          (float)(spread * xl__rng_normal(&rng)));
    }
    return base;
}

xl_status xl__softmax_case_init(void *small, struct xl__op_case *t)
{
    const xl_softmax *s = small;
    void *src = make_filled(&s->src, s, SEED_SRC, &t->bytes[XL__SOFTMAX_SRC]);
    t->host[XL__SOFTMAX_SRC] = src;
    t->host[XL__SOFTMAX_DST] =
        make_guarded(&s->dst, s, &t->bytes[XL__SOFTMAX_DST]);
    if (!src || !t->host[XL__SOFTMAX_DST])
        return XL_NO_MEMORY;
    for (size_t j = 0; s->rows >= LEAST_ROWS && j < s->cols; j++)
        xl__dtype_store(src, locate_element(&s->src, ROW_EMPTY, j), s->src.dtype,
                      -INFINITY);
    if (s->rows >= LEAST_ROWS)
        xl__dtype_store(src, locate_element(&s->src, ROW_NAN, s->cols / 2),
                      s->src.dtype, NAN);
    t->result = XL__SOFTMAX_DST;
    t->call.value[XL__SOFTMAX_SCALE].f = scale;
    t->call.value[XL__SOFTMAX_OFF_SRC].u = find_start(&s->src);
    t->call.value[XL__SOFTMAX_OFF_DST].u = find_start(&s->dst);
    if (!xl__softmax_has_mask(s))
        return XL_OK;
    t->host[XL__SOFTMAX_MASK] =
        make_filled(&s->mask, s, SEED_MASK, &t->bytes[XL__SOFTMAX_MASK]);
    t->call.value[XL__SOFTMAX_OFF_MASK].u = find_start(&s->mask);
    return t->host[XL__SOFTMAX_MASK] ? XL_OK : XL_NO_MEMORY;
}

/* -- the comparison ------------------------------------------------------- */

/* x[i][j] as the kernels compute it: a product and a sum of floats. */
static double input_at(const xl_softmax *s, const struct xl__op_case *t,
                       size_t i, size_t j)
{
    const volatile float x =
        (float)xl__dtype_load(t->host[XL__SOFTMAX_SRC], locate_element(&s->src, i, j),
                     s->src.dtype) *
        (float)scale;
    if (!xl__softmax_has_mask(s))
        return (double)x;
    const volatile float sum =
        x + (float)xl__dtype_load(t->host[XL__SOFTMAX_MASK],
                         locate_element(&s->mask, i, j), s->mask.dtype);
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

static bool is_close(const xl_softmax *s, double got, double want,
                     double below)
{
    if (isnan(want) || want == 0)
        return isnan(want) ? isnan(got) : fabs(got) <= (double)FLT_MIN;
    return fabs(got - want) <= derive_tolerance(s, want, below);
}

static bool check_row(const xl_softmax *s, const struct xl__op_case *t, size_t i,
                      char *why, size_t why_cap)
{
    double top = -(double)INFINITY, sum = 0;
    for (size_t j = 0; j < s->cols; j++)
        top = fmax(top, input_at(s, t, i, j));
    const double shift = isinf(top) ? 0 : top;
    for (size_t j = 0; j < s->cols; j++)
        sum += exp(input_at(s, t, i, j) - shift);
    for (size_t j = 0; j < s->cols; j++) {
        const double x = input_at(s, t, i, j);
        const double want = sum == 0 ? 0 : exp(x - shift) / sum;
        const double got =
            (double)(float)xl__dtype_load(t->host[XL__SOFTMAX_DST],
                                 locate_element(&s->dst, i, j), s->dst.dtype);
        if (is_close(s, got, want, fabs(x - shift)))
            continue;
        snprintf(why, why_cap,
                 "%zu x %zu: row %zu, column %zu is %.9g, not %.9g", s->rows,
                 s->cols, i, j, got, want);
        return false;
    }
    return true;
}

/* No byte of dst changed but its elements. Overwrites the elements. */
static bool are_guards_intact(const xl_softmax *s, const struct xl__op_case *t)
{
    unsigned char *base = t->host[XL__SOFTMAX_DST];
    const size_t elem = xl_dtype_bytes(s->dst.dtype);
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t j = 0; j < s->cols; j++)
            memset(base + locate_element(&s->dst, i, j) * elem, GUARD, elem);
    }
    for (size_t i = 0; i < t->bytes[XL__SOFTMAX_DST]; i++) {
        if (base[i] != GUARD)
            return false;
    }
    return true;
}

bool xl__softmax_case_compare(const void *small, const struct xl__op_case *t,
                             char *why, size_t why_cap)
{
    const xl_softmax *s = small;
    for (size_t i = 0; i < s->rows; i++) {
        if (!check_row(s, t, i, why, why_cap))
            return false;
    }
    if (are_guards_intact(s, t))
        return true;
    snprintf(why, why_cap, "%zu x %zu: wrote outside of dst", s->rows,
             s->cols);
    return false;
}
