/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, memory and matrix views. */
#ifndef CROSSLANE_TENSOR_H
#define CROSSLANE_TENSOR_H

#include <stddef.h>

#include <crosslane/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xl_dtype {
    XL_F32,
    XL_F16,  ///< IEEE binary16
    XL_BF16, ///< upper half of an f32
    XL_F64,
    XL_N_DTYPES
} xl_dtype;

/** Bytes of one element; 0 for a value that is no dtype. */
XL_API size_t xl_dtype_bytes(xl_dtype dtype);

/** "f32", "f16", ...; "?" for a value that is no dtype. Static. */
XL_API const char *xl_dtype_name(xl_dtype dtype);

/** Device memory of the caller's. Exactly one is set. Borrowed: retained
 *  only while work that uses it is unfinished. */
typedef struct xl_mem {
    cl_mem buf;
    void *svm; ///< an SVM pointer the device can reach (OpenCL 2.0 or newer)
} xl_mem;

/** A matrix view. op(X) = X transposed is the same view with the strides
 *  swapped; row-major has col_stride 1, column-major row_stride 1. */
typedef struct xl_mat {
    xl_mem mem;
    size_t offset;     ///< of element (0, 0), in elements
    size_t row_stride; ///< from (i, j) to (i + 1, j), in elements
    size_t col_stride; ///< from (i, j) to (i, j + 1), in elements
    xl_dtype dtype;
} xl_mat;

/** A row-major view: BLAS's "no transpose" with leading dimension @p ld. */
static inline xl_mat xl_mat_rows(cl_mem buf, size_t ld, xl_dtype dtype)
{
    xl_mat view = {{buf, NULL}, 0, ld, 1, dtype};
    return view;
}

/** A column-major view, which is also a transposed row-major one. */
static inline xl_mat xl_mat_cols(cl_mem buf, size_t ld, xl_dtype dtype)
{
    xl_mat view = {{buf, NULL}, 0, 1, ld, dtype};
    return view;
}

#ifdef __cplusplus
}
#endif
#endif
