/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that every op makes. */
#include "ops/path/check.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dtype.h"

bool xl__mat_extent(const xl_mat *mat, size_t rows, size_t cols, size_t *elems)
{
    size_t down, across;
    return rows > 0 && cols > 0 && xl__mul(rows - 1, mat->row_stride, &down) &&
           xl__mul(cols - 1, mat->col_stride, &across) &&
           xl__add(down, across, elems) && xl__add(*elems, 1, elems);
}

xl_status xl__operand_add_mat(xl_queue *q, const char *name, const xl_mat *mat,
                              size_t rows, size_t cols,
                              struct xl__region **out)
{
    const xl_tensor view = {.offset = mat->offset,
                            .n_dims = 2,
                            .size = {rows, cols},
                            .stride = {mat->row_stride, mat->col_stride},
                            .dtype = mat->dtype};
    *out = &q->memory.operand[q->memory.n++];
    return xl__region_init(*out, name, &view, &q->error);
}

xl_status xl__check_scalar(const char *name, double value, xl_dtype type,
                           struct xl__error *e)
{
    if (!isfinite(value))
        return xl__error_set(e, XL_BAD_SCALAR, "%s is %s; it must be finite",
                             name, isnan(value) ? "NaN" : "infinite");
    if (xl__scalar_fits(value, type))
        return XL_OK;
    return xl__error_set(e, XL_BAD_SCALAR,
                         type == XL_I32
                             ? "%s is %.9g; where the result is i32 it must "
                               "be a whole number of 32 bits"
                             : "%s is %.9g, which overflows the f32 that it "
                               "is rounded to; the largest is 3.4e38",
                         name, value);
}

xl_status xl__check_accuracy(const char *op, xl_accuracy accuracy,
                             struct xl__error *e)
{
    if ((unsigned)accuracy < XL_N_ACCURACIES)
        return XL_OK;
    return xl__error_set(e, XL_BAD_ARGUMENT,
                         "invalid value %d for %s's accuracy: must be "
                         "XL_ACCURACY_FULL, _SPLIT or _FAST",
                         (int)accuracy, op);
}

const char *xl__accuracy_class(size_t accuracy)
{
    static const char *const classes[XL_N_ACCURACIES] = {
        [XL_ACCURACY_FULL] = "",
        [XL_ACCURACY_SPLIT] = " split",
        [XL_ACCURACY_FAST] = " fast"};
    return classes[accuracy];
}

unsigned xl__align_of(size_t bits)
{
    enum { LINE = 128 };
    /* Data that begin inside a line of the cache are slower: NV-75. */
    bits |= LINE;
    return (unsigned)(bits & (~bits + 1));
}

unsigned xl__mat_align(const xl_mat *mat, size_t base)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    size_t bits = base | mat->offset * elem;
    if (mat->col_stride != 1)
        bits |= mat->col_stride * elem;
    if (mat->row_stride != 1 || mat->col_stride == 1)
        bits |= mat->row_stride * elem;
    return xl__align_of(bits);
}
