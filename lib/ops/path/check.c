/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the matrices of a call. A message names the matrix, the numbers
 * that contradict each other, and a remedy. Every warm call runs these checks:
 * they allocate nothing, and format only a message. */
#include "ops/path/check.h"

#include <math.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/numbers.h"
#include "runtime/buffer.h"

enum { MOST_ALIGN = 64 };

bool xl__mat_extent(const xl_mat *mat, size_t rows, size_t cols, size_t *elems)
{
    size_t down, across;
    return rows > 0 && cols > 0 && xl__mul(rows - 1, mat->row_stride, &down) &&
           xl__mul(cols - 1, mat->col_stride, &across) &&
           xl__add(down, across, elems) && xl__add(*elems, 1, elems);
}

/* One past the last byte, from the start of the memory. */
static bool find_end_byte(const struct xl__named *x, size_t *bytes)
{
    size_t elems;
    return xl__mat_extent(x->mat, x->rows, x->cols, &elems) &&
           xl__add(elems, x->mat->offset, &elems) &&
           xl__add(elems, x->reach, &elems) &&
           xl__mul(elems, xl_dtype_bytes(x->mat->dtype), bytes);
}

xl_status xl__check_view(const struct xl__named *x, struct xl__error *e)
{
    size_t bytes;
    if (xl_dtype_bytes(x->mat->dtype) == 0)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s: invalid dtype %d: must be XL_F32, XL_F16 or "
                             "another of xl_dtype",
                             x->name, (int)x->mat->dtype);
    if (x->rows == 0 || x->cols == 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "%s is %zu x %zu; both sizes must be at least 1",
                             x->name, x->rows, x->cols);
    if (!find_end_byte(x, &bytes))
        return xl__error_set(e, XL_OVERFLOW,
                             "%s: %zu x %zu with strides %zu and %zu from "
                             "offset %zu does not fit in 64 bits",
                             x->name, x->rows, x->cols, x->mat->row_stride,
                             x->mat->col_stride, x->mat->offset);
    return XL_OK;
}

/* Elements (i, j) and (i + di, j - dj) have the same address when
 *   di row_stride = dj col_stride.
 * With g = (size_t)xl__gcd(row_stride, col_stride) the least solution is
 *   di = col_stride / g,  dj = row_stride / g,
 * so the matrix overlaps itself where both are less than its sizes. */
static bool overlaps_itself(const struct xl__named *x)
{
    const size_t rs = x->mat->row_stride, cs = x->mat->col_stride;
    if (x->rows == 1 || x->cols == 1)
        return (x->rows > 1 && rs == 0) || (x->cols > 1 && cs == 0);
    if (rs == 0 || cs == 0)
        return true;
    const size_t g = (size_t)xl__gcd(rs, cs);
    return cs / g < x->rows && rs / g < x->cols;
}

xl_status xl__check_writable(const struct xl__named *x, struct xl__error *e)
{
    if (!overlaps_itself(x))
        return XL_OK;
    return xl__error_set(e, XL_OVERLAP,
                         "%s overlaps itself: %zu x %zu elements with strides "
                         "%zu and %zu; one stride must be at least the other "
                         "times that dimension's size",
                         x->name, x->rows, x->cols, x->mat->row_stride,
                         x->mat->col_stride);
}

xl_status xl__check_memory(const struct xl__named *x, struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_mem mem = x->mat->mem;
    size_t have, need = 0;
    if (!mem.buf == !mem.svm)
        return xl__error_set(
            e, XL_BAD_ARGUMENT, "%s has %s; set exactly one of buf and svm",
            x->name,
            mem.buf ? "both a buffer and an SVM pointer" : "no memory");
    TRY(xl__buffer_bytes(mem, &have, e));
    if (!find_end_byte(x, &need) || need > have)
        status = xl__error_set(
            e, XL_BUFFER_TOO_SMALL,
            "%s needs %zu bytes (%zu x %zu %s, strides %zu "
            "and %zu, offset %zu), its buffer has %zu",
            x->name, need, x->rows, x->cols, xl_dtype_name(x->mat->dtype),
            x->mat->row_stride, x->mat->col_stride, x->mat->offset, have);
fail:
    return status;
}

/* A view as lines of `width` bytes at multiples of `pitch`; pitch 0: one line.
 * Several matrices count as one line that includes the gaps. */
struct lines {
    struct xl__buffer_region at;
    size_t begin, end, pitch, width;
};

static xl_status split_into_lines(const struct xl__named *x, struct lines *out,
                                  struct xl__error *e)
{
    xl_status status = XL_OK;
    const xl_mat *mat = x->mat;
    const size_t elem = xl_dtype_bytes(mat->dtype);
    const bool by_rows = mat->row_stride >= mat->col_stride;
    const size_t n = by_rows ? x->rows : x->cols;
    const size_t n_inner = by_rows ? x->cols : x->rows;
    const size_t inner = by_rows ? mat->col_stride : mat->row_stride;
    size_t end = 0;
    TRY(xl__buffer_region_get(mat->mem, &out->at, e));
    find_end_byte(x, &end);
    out->begin = out->at.begin + mat->offset * elem;
    out->end = out->at.begin + end;
    if (x->reach > 0) {
        out->pitch = 0;
        out->width = out->end - out->begin;
        return XL_OK;
    }
    out->pitch =
        n == 1 ? 0 : elem * (by_rows ? mat->row_stride : mat->col_stride);
    out->width = elem * ((n_inner - 1) * inner + 1);
fail:
    return status;
}

/* Modulo their common pitch each view is one interval of bytes; views whose
 * intervals are disjoint are disjoint. */
static bool are_interleaved(const struct lines *x, const struct lines *y)
{
    const size_t pitch = x->pitch ? x->pitch : y->pitch;
    if (pitch == 0 || (y->pitch && y->pitch != pitch) || x->width > pitch ||
        y->width > pitch)
        return false;
    const size_t gap = (y->begin % pitch + pitch - x->begin % pitch) % pitch;
    return gap >= x->width && pitch - gap >= y->width;
}

xl_status xl__check_apart(const struct xl__named *x, const struct xl__named *y,
                          struct xl__error *e)
{
    xl_status status = XL_OK;
    struct lines lx, ly;
    TRY(split_into_lines(x, &lx, e));
    TRY(split_into_lines(y, &ly, e));
    if (lx.at.root != ly.at.root || lx.end <= ly.begin || ly.end <= lx.begin ||
        are_interleaved(&lx, &ly))
        return XL_OK;
    status = xl__error_set(e, XL_OVERLAP,
                           "%s overlaps %s: bytes %zu to %zu and %zu to %zu "
                           "of the same memory; give %s memory of its own",
                           x->name, y->name, lx.begin, lx.end, ly.begin,
                           ly.end, x->name);
fail:
    return status;
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

xl_status xl__check_workspace(xl_mem mem, size_t bytes, struct xl__error *e)
{
    xl_status status = XL_OK;
    size_t have;
    if (bytes == 0 || (!mem.buf && !mem.svm))
        return XL_OK;
    TRY(xl__buffer_bytes(mem, &have, e));
    if (have < bytes)
        status = xl__error_set(e, XL_BUFFER_TOO_SMALL,
                               "the workspace has %zu bytes, %zu are needed; "
                               "ask _workspace() for the size",
                               have, bytes);
fail:
    return status;
}

xl_status xl__check_scratch_apart(const struct xl__named *x, xl_mem workspace,
                                  struct xl__error *e)
{
    xl_status status = XL_OK;
    struct lines lx;
    struct xl__buffer_region at;
    TRY(xl__buffer_region_get(workspace, &at, e));
    TRY(split_into_lines(x, &lx, e));
    if (at.bytes == SIZE_MAX)
        at.bytes = 1; /* SVM: only the first byte is known to belong to it */
    if (at.root == lx.at.root && at.begin < lx.end &&
        lx.begin < at.begin + at.bytes)
        status = xl__error_set(e, XL_OVERLAP,
                               "%s overlaps the workspace: bytes %zu to %zu "
                               "and %zu to %zu of the same memory",
                               x->name, lx.begin, lx.end, at.begin,
                               at.begin + at.bytes);
fail:
    return status;
}

unsigned xl__mat_align(const xl_mat *mat)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    size_t bits = MOST_ALIGN | mat->offset * elem;
    bits |= (size_t)(uintptr_t)mat->mem.svm;
    if (mat->col_stride != 1)
        bits |= mat->col_stride * elem;
    if (mat->row_stride != 1 || mat->col_stride == 1)
        bits |= mat->row_stride * elem;
    return (unsigned)(bits & (~bits + 1));
}
