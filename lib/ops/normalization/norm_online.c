/* SPDX-License-Identifier: Apache-2.0 */
/* A norm from the sums of x - c and of its square, for a c near the mean: the
 * mean of a row's first elements, a vector of each item. Sums of chunks merge
 * after they are moved to one center.
 *
 * The form depends on rows and device: row_regimes.c. */
#include "ops/normalization/norm.h"

#include <stdint.h>

#include "base/alloc.h"
#include "ops/path/check.h"

static const struct xl__row_kernels kernels = {
    .group_file = "normalization/norm_online.cl",
    .item_file = "normalization/norm_item.cl",
    .kernel = {[XL__ROWS_HELD] = {"norm_online_held"},
               [XL__ROWS_SPLIT] = {"norm_online_sum", "norm_online_norm"},
               [XL__ROWS_CACHED] = {"norm_item_rows"},
               [XL__ROWS_LONG] = {"norm_item_long"},
               [XL__ROWS_PIECES] = {"norm_item_sum", "norm_item_norm"}},
    .n_read = 1,
    .words = 3,
    .rooms = 3,
    .frac = XL__M_norm_frac,
    .args = xl__norm_args,
    .defines = xl__norm_defines,
};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    (void)l;
    for (unsigned v = 0; v < XL__NORM_N_VIEWS; v++) {
        if (xl__norm_has(desc, v) && xl__norm_view(desc, v)->col_stride != 1)
            return "columns of all operands must be contiguous";
    }
    return NULL;
}

static struct xl__rows shape_of(const xl_norm *n)
{
    struct xl__rows r = {.rows = n->rows,
                         .cols = n->cols,
                         .align_elems = SIZE_MAX,
                         .src_bytes = xl_dtype_bytes(n->src.dtype),
                         .flop = xl__norm_flop(n),
                         .read_bytes = xl__norm_bytes(n, false),
                         .write_bytes = xl__norm_bytes(n, true),
                         .is_in_place = n->dst.mem.svm != NULL,
                         .has_columns = xl__norm_has(n, XL__NORM_GAIN) ||
                                        xl__norm_has(n, XL__NORM_BIAS),
                         .is_f32 = n->src.dtype == XL_F32};
    for (unsigned v = 0; v <= XL__NORM_SUM; v++) {
        const xl_mat *view = xl__norm_view(n, v);
        const size_t bytes = xl_dtype_bytes(view->dtype);
        if (v == XL__NORM_RESIDUAL || !xl__norm_has(n, v))
            continue;
        r.align_elems = xl__min_size(r.align_elems, view->offset / bytes);
        r.widest_bytes = xl__max_size(r.widest_bytes, bytes);
    }
    return r;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    const struct xl__rows rows = shape_of(desc);
    xl__row_regime_choose(l, &rows, &kernels, out);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__rows rows = shape_of(desc);
    return xl__row_regime_plan(l, &rows, &kernels, desc, params, p);
}

xl_status xl__norm_plan_any_length(const struct xl__limits *l,
                                   const xl_norm *n,
                                   const struct xl__params *params,
                                   struct xl__plan *p)
{
    struct xl__rows rows = shape_of(n);
    rows.is_any_length = true;
    return xl__row_regime_plan(l, &rows, &kernels, n, params, p);
}

const struct xl__variant xl__norm_online = {
    .name = "norm_online",
    .repeats = "bit for bit: sums are taken in an order fixed by the shape",
    .tunables = xl__row_tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
