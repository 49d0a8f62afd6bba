/* SPDX-License-Identifier: Apache-2.0 */
/* Views of the operands of an op over rows, and the arguments and -D's that
 * its kernels begin with. */
#include "base/numbers.h"
#include "ops/normalization/row_op.h"
#include "ops/path/check.h"

bool xl__mem_is_set(xl_mem mem)
{
    return mem.buf || mem.svm;
}

bool xl__view_is_set(const xl_mat *view)
{
    return xl__mem_is_set(view->mem) || view->row_stride || view->col_stride;
}

bool xl__view_is_same(const xl_mat *a, const xl_mat *b)
{
    return a->mem.buf == b->mem.buf && a->mem.svm == b->mem.svm &&
           a->offset == b->offset && a->row_stride == b->row_stride &&
           a->col_stride == b->col_stride && a->dtype == b->dtype;
}

void xl__row_view(const xl_mat *from, size_t rows, size_t cols, size_t base,
                  xl_mat *to)
{
    enum { ALIGNED = 64 };
    to->row_stride = from->row_stride;
    to->col_stride = cols == 1 ? 1 : from->col_stride;
    if (rows == 1)
        to->row_stride = xl__round_up(cols, ALIGNED);
    to->dtype = from->dtype;
    to->offset = from->offset;
    to->offset = xl__mat_align(to, base);
}

void xl__row_view_set_dense(xl_mat *view, size_t cols)
{
    if (view->row_stride > 1)
        view->row_stride = xl__max_size(view->col_stride, 1) * cols;
}

bool xl__row_view_is_aligned(const xl_mat *view, size_t vw)
{
    return view->offset >= vw * xl_dtype_bytes(view->dtype);
}

long xl__row_view_access(const xl_mat *view, size_t vw)
{
    if (view->col_stride != 1 || view->dtype == XL_F64)
        return 0;
    return xl__row_view_is_aligned(view, vw) ? 2 : 1;
}

bool xl__rows_halve(size_t *rows, size_t *cols)
{
    enum { LEAST_ROWS = 32, LEAST_COLS = 1024 };
    if (*rows <= LEAST_ROWS && *cols <= LEAST_COLS)
        return false;
    size_t *const size = *rows > LEAST_ROWS ? rows : cols;
    *size = xl__size_half(*size);
    return true;
}

void xl__row_args(struct xl__step *step, const xl_mat *src, const xl_mat *dst,
                  const xl_mat *added, size_t rows, size_t cols)
{
    for (unsigned i = XL__ROWS_SRC; i <= XL__ROWS_ADDED; i++)
        xl__arg_mem(step, i);
    xl__arg_value_f32(step, XL__ROWS_SCALE);
    for (unsigned i = XL__ROWS_OFF_SRC; i <= XL__ROWS_OFF_ADDED; i++)
        xl__arg_value_u64(step, i);
    xl__arg_u64(step, src->row_stride);
    xl__arg_u64(step, dst->row_stride);
    xl__arg_u64(step, added ? added->row_stride : 0);
    xl__arg_u64(step, added ? added->col_stride : 0);
    xl__arg_u64(step, rows);
    xl__arg_u64(step, cols);
}

void xl__row_defines(struct xl__step *step, const xl_mat *src,
                     const xl_mat *dst, const xl_mat *added, size_t cols,
                     size_t vw)
{
    xl__define(step, "DT", (long)src->dtype);
    if (dst->dtype != src->dtype)
        xl__define(step, "OT", (long)dst->dtype);
    xl__define(step, "VW", (long)vw);
    xl__define(step, "VT", cols % vw != 0);
    if (!added)
        return;
    xl__define(step, "MT", (long)added->dtype);
    xl__define(step, "MU", xl__row_view_access(added, vw));
    if (added->dtype == XL_F64)
        xl__define(step, "XL_USE_F64", 1);
}
