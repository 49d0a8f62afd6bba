/* SPDX-License-Identifier: Apache-2.0 */
/* Self-check cases of ops over rows: an odd number of rows that cross the
 * border of a work-group or of a chunk, padded lines, guard bytes around every
 * operand. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "ops/normalization/row_op.h"
#include "ops/path/check.h"

enum { GUARD = 0xA5, GUARD_ELEMS = 64 };

bool xl__row_is_full(size_t cols, const struct xl__params *params,
                     size_t most_near)
{
    const size_t lanes = (size_t)params->value[XL__ROWS_LANES];
    return params->value[XL__ROWS_MODE] == XL__ROWS_HELD &&
           (most_near == 0 || lanes <= most_near) &&
           cols == lanes * (size_t)params->value[XL__ROWS_N_HELD] *
                       (size_t)params->value[XL__ROWS_VW];
}

size_t xl__row_case_cols(size_t of, const struct xl__params *params,
                         size_t most_near)
{
    enum { REF_COLS = 37, ITEM_COLS = 325, LONG_COLS = 9001 };
    size_t cols = REF_COLS, vw = 1;
    if (params && params->value[XL__ROWS_MODE] > 0) {
        const size_t mode = (size_t)params->value[XL__ROWS_MODE];
        const size_t span = (size_t)params->value[XL__ROWS_LANES] *
                            (size_t)params->value[XL__ROWS_N_HELD];
        vw = (size_t)params->value[XL__ROWS_VW];
        if (xl__row_is_full(of, params, most_near))
            return of;
        /* One vector less than an item or a group holds, or somewhat more than
         * two chunks. */
        cols = mode == XL__ROWS_HELD     ? span * vw
               : mode == XL__ROWS_CACHED ? ITEM_COLS
               : mode > XL__ROWS_CACHED  ? LONG_COLS
                                         : 2 * span * vw + 1;
    }
    cols = xl__round_up(cols, vw);
    if (of % vw != 0)
        return cols - 1;
    return cols > vw ? cols - vw : cols;
}

size_t xl__row_case_rows(const struct xl__params *params)
{
    size_t each = 1;
    if (params && params->value[XL__ROWS_MODE] == XL__ROWS_HELD)
        each = (size_t)params->value[XL__ROWS_WG] /
               (size_t)params->value[XL__ROWS_LANES];
    if (params && params->value[XL__ROWS_MODE] == XL__ROWS_LONG)
        each = (size_t)params->value[XL__ROWS_N_HELD];
    return xl__max_size(XL__ROWS_CASE_LEAST, each + 1) | 1;
}

void xl__row_case_view(const xl_mat *from, size_t cols, xl_mat *to)
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

/* The offset of element (0, 0) has the required alignment. */
size_t xl__row_case_start(const xl_mat *view)
{
    return xl__max_size(1, view->offset / xl_dtype_bytes(view->dtype));
}

size_t xl__row_case_at(const xl_mat *view, size_t i, size_t j)
{
    return xl__row_case_start(view) + i * view->row_stride +
           j * view->col_stride;
}

void *xl__row_case_memory(struct xl__selfcheck_case *t, const xl_mat *view,
                          size_t rows, size_t cols, unsigned slot,
                          unsigned value)
{
    const size_t start = xl__row_case_start(view);
    size_t n;
    if (!xl__mat_extent(view, rows, cols, &n))
        return NULL;
    t->call.value[value].u = start;
    return xl__case_add_memory(t, slot, start + n + GUARD_ELEMS, view->dtype,
                               GUARD);
}

void *xl__row_case_filled(struct xl__selfcheck_case *t, const xl_mat *view,
                          size_t rows, size_t cols, unsigned slot,
                          unsigned value, double deviation)
{
    struct xl__rng rng;
    void *base = xl__row_case_memory(t, view, rows, cols, slot, value);
    xl__rng_seed(&rng, slot);
    for (size_t i = 0; base && i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            xl__dtype_store(base, xl__row_case_at(view, i, j), view->dtype,
                            (float)(deviation * xl__rng_normal(&rng)));
    }
    return base;
}
