/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax with a running maximum and sum, in one sweep over a row
 * (Milakov, Gimelshein 2018):
 *
 *   m' = max(m, x),  s' = s e^(m - m') + e^(x - m').
 *
 * The form depends on rows and device: row_regimes.c. */
#include "ops/normalization/softmax.h"

#include "base/alloc.h"
#include "ops/path/check.h"

static const struct xl__row_kernels kernels = {
    .group_file = "normalization/softmax_online.cl",
    .item_file = "normalization/softmax_item.cl",
    .kernel = {[XL__ROWS_HELD] = {"softmax_online_held"},
               [XL__ROWS_SHARED] = {"softmax_online_clear",
                                    "softmax_online_shared"},
               [XL__ROWS_SPLIT] = {"softmax_online_sum",
                                   "softmax_online_norm"},
               [XL__ROWS_CACHED] = {"softmax_item_rows"},
               [XL__ROWS_LONG] = {"softmax_item_long"},
               [XL__ROWS_PIECES] = {"softmax_item_sum", "softmax_item_norm"}},
    .n_read = 1,
    .words = 2,
    .rooms = 2,
    .most_near = XL__ROWS_NEAR,
    .frac = XL__M_softmax_frac,
    .args = xl__softmax_args,
    .defines = xl__softmax_defines,
};

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const xl_softmax *s = desc;
    if (s->src.col_stride != 1 || s->dst.col_stride != 1)
        return "columns of src and dst must be contiguous";
    return xl__softmax_refuses(l, s);
}

static struct xl__rows rows_of(const xl_softmax *s)
{
    const size_t src = xl_dtype_bytes(s->src.dtype);
    const size_t dst = xl_dtype_bytes(s->dst.dtype);
    const double write_bytes = xl__softmax_bytes(s, 0);
    return (struct xl__rows){
        .rows = s->rows,
        .cols = s->cols,
        .align_elems = xl__min_size(s->src.offset / src, s->dst.offset / dst),
        .widest_bytes = xl__max_size(src, dst),
        .src_bytes = src,
        .flop = xl__softmax_flop(s),
        .read_bytes = xl__softmax_bytes(s, 1) - write_bytes,
        .write_bytes = write_bytes,
        .is_in_place = s->dst.mem.svm != NULL,
        .is_f32 = s->src.dtype == XL_F32};
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    const struct xl__rows rows = rows_of(desc);
    xl__row_regime_choose(l, &rows, &kernels, out);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__rows rows = rows_of(desc);
    return xl__row_regime_plan(l, &rows, &kernels, desc, params, p);
}

const struct xl__variant xl__softmax_online = {
    .name = "softmax_online",
    .repeats = "bit for bit: sums are taken in an order fixed by the shape",
    .tunables = xl__row_tunables,
    .refuses = find_refusal,
    .choose = choose_tunables,
    .plan = plan_steps,
};
