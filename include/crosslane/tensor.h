/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and matrix views. */
#ifndef CROSSLANE_TENSOR_H
#define CROSSLANE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/cl.h>
#include <crosslane/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Device memory of the caller. Exactly one of buf and svm is set. The library
 * retains it only until the commands that use it have ended. Memory of another
 *  cl_context than the queue's is XL_BAD_ARGUMENT. Every call asks the driver
 *  for a buffer's size and flags. It asks for the context and the parent of a
 *  sub-buffer when the queue meets the buffer, and in every call once the
 * queue has met a sub-buffer: so a released buffer whose handle, size and
 * flags a new one has can be taken for it. The host memory of
 * CL_MEM_USE_HOST_PTR, and SVM, may have any address that is a multiple of an
 * element's size; a workspace begins at a multiple of 128 bytes. */
typedef struct xl_mem {
    cl_mem buf;
    void *svm; ///< an SVM pointer the device can reach (OpenCL 2.0 or newer)
    size_t bytes; ///< optional: only so many bytes from the start of the
                  ///< buffer, or from the pointer, belong to the operand or
                  ///< workspace; what runs past them is XL_BUFFER_TOO_SMALL.
                  ///< 0: all of the buffer; of SVM the length is not known,
                  ///< and not checked
} xl_mem;

/** A matrix view: element (i, j) is at offset + i row_stride + j col_stride.
 *  Row-major is col_stride 1, column-major row_stride 1; the transposed matrix
 *  is the same view with the strides swapped. */
typedef struct xl_mat {
    xl_mem mem;
    size_t offset;     ///< of element (0, 0), in elements
    size_t row_stride; ///< from (i, j) to (i + 1, j), in elements
    size_t col_stride; ///< from (i, j) to (i, j + 1), in elements
    xl_dtype dtype;
} xl_mat;

enum { XL_MAX_DIMS = 6 };

/** A view of up to XL_MAX_DIMS dimensions, outermost first. A stride of 0
 *  repeats the same elements along its dimension (broadcast). */
typedef struct xl_tensor {
    xl_mem mem;
    size_t offset;              ///< of element (0, ..., 0), in elements
    unsigned n_dims;            ///< 0: a single element
    size_t size[XL_MAX_DIMS];   ///< each >= 1
    size_t stride[XL_MAX_DIMS]; ///< to the next along it, in elements
    xl_dtype dtype;
} xl_tensor;

/** The value of a name in an expression (crosslane/expr.h). */
typedef struct xl_binding {
    const char *name;  ///< letter or _, then letters, digits and _
    xl_tensor tensor;  ///< of a scalar only the dtype: XL_F32, XL_I32;
                       ///  in xl_expr also XL_F64, XL_I64
    bool is_scalar;    ///< the value is `scalar`; it may differ in each run
    double scalar;
} xl_binding;

/** A dense view with a contiguous last dimension. With more than XL_MAX_DIMS
 *  dimensions the view is invalid: every call returns an error for it. */
static inline xl_tensor xl_tensor_dense(cl_mem buf, xl_dtype dtype,
                                        unsigned n_dims, const size_t *size)
{
    xl_tensor t = {{buf, NULL, 0}, 0, n_dims, {0}, {0}, dtype};
    size_t step = 1;
    unsigned i;
    for (i = n_dims; i-- > 0 && i < XL_MAX_DIMS;) {
        t.size[i] = size[i];
        t.stride[i] = step;
        step *= size[i];
    }
    return t;
}

/** A row-major view: BLAS's "no transpose" with leading dimension @p ld. */
static inline xl_mat xl_mat_rows(cl_mem buf, size_t ld, xl_dtype dtype)
{
    xl_mat view = {{buf, NULL, 0}, 0, ld, 1, dtype};
    return view;
}

/** A column-major view with leading dimension @p ld; the same as the
 *  transposed row-major view. */
static inline xl_mat xl_mat_cols(cl_mem buf, size_t ld, xl_dtype dtype)
{
    xl_mat view = {{buf, NULL, 0}, 0, 1, ld, dtype};
    return view;
}

/** The transposed view of the same memory. */
static inline xl_mat xl_mat_transposed(xl_mat view)
{
    const size_t row_stride = view.row_stride;
    view.row_stride = view.col_stride;
    view.col_stride = row_stride;
    return view;
}

#ifdef __cplusplus
}
#endif
#endif
