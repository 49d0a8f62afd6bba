/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients over rows in the forms of row_regimes.c: the sums that a row's
 * gradient needs, then its elements. */
#include <stdint.h>

#include "base/alloc.h"
#include "ops/normalization/row_backward.h"

#define KERNELS(words_, rooms_, frac_)                                        \
    {                                                                         \
        .group_file = "normalization/backward.cl",                            \
        .item_file = "normalization/backward_item.cl",                        \
        .kernel = {[XL__ROWS_HELD] = {"rows_backward_held"},                  \
                   [XL__ROWS_SPLIT] = {"rows_backward_sum",                   \
                                       "rows_backward_put"},                  \
                   [XL__ROWS_CACHED] = {"rows_backward_rows"},                \
                   [XL__ROWS_LONG] = {"rows_backward_long"},                  \
                   [XL__ROWS_PIECES] = {"rows_backward_sum",                  \
                                        "rows_backward_put"}},                \
        .n_read = 2, .words = words_, .rooms = rooms_, .frac = frac_,         \
        .args = xl__backward_args, .defines = xl__backward_defines            \
    }
static const struct xl__row_kernels of_softmax =
                                        KERNELS(1, 1, XL__M_softmax_frac),
                                    of_norm = KERNELS(5, 5, XL__M_norm_frac);

static const struct xl__row_kernels *
kernels_of(const struct xl__row_backward *c)
{
    return xl__backward_is_norm(c) ? &of_norm : &of_softmax;
}

static const char *find_refusal(const struct xl__limits *l, const void *desc)
{
    const struct xl__row_backward *c = desc;
    (void)l;
    for (unsigned v = 0; v <= XL__BACKWARD_GAIN; v++) {
        if (xl__backward_has(c, v) && c->view[v].col_stride != 1)
            return "columns of all operands must be contiguous";
    }
    return NULL;
}

static struct xl__rows shape_of(const struct xl__row_backward *c)
{
    struct xl__rows r = {.rows = c->rows,
                         .cols = c->cols,
                         .align_elems = SIZE_MAX,
                         .flop = xl__backward_flop(c),
                         .read_bytes = xl__backward_bytes(c, false),
                         .write_bytes = xl__backward_bytes(c, true),
                         .is_in_place = c->is_in_place,
                         .is_f32 = c->view[XL__BACKWARD_SRC].dtype == XL_F32};
    for (unsigned v = 0; v <= XL__BACKWARD_DST; v++) {
        const size_t bytes = xl_dtype_bytes(c->view[v].dtype);
        r.align_elems = xl__min_size(r.align_elems, c->view[v].offset / bytes);
        r.widest_bytes = xl__max_size(r.widest_bytes, bytes);
        if (v != XL__BACKWARD_DST)
            r.src_bytes += bytes;
    }
    return r;
}

static void choose_tunables(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    const struct xl__rows rows = shape_of(desc);
    xl__row_regime_choose(l, &rows, kernels_of(desc), out);
}

static xl_status plan_steps(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__row_backward *c = desc;
    const struct xl__rows rows = shape_of(c);
    const xl_status status =
        xl__row_regime_plan(l, &rows, kernels_of(c), c, params, p);
    if (status == XL_OK)
        xl__backward_add_columns(
            l, c, (size_t)params->value[XL__ROWS_VW],
            params->value[XL__ROWS_MODE] >= XL__ROWS_CACHED, p);
    return status;
}

#define ONLINE(name_)                                                         \
    {                                                                         \
        .name = name_,                                                        \
        .repeats = "bit for bit: sums are in an order of the shape",          \
        .tunables = xl__row_tunables, .refuses = find_refusal,                \
        .choose = choose_tunables, .plan = plan_steps                         \
    }
const struct xl__variant xl__norm_backward_online =
                             ONLINE("norm_backward_online"),
                         xl__softmax_backward_online =
                             ONLINE("softmax_backward_online");
