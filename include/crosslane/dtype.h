/* SPDX-License-Identifier: Apache-2.0 */
/* Element types. */
#ifndef CROSSLANE_DTYPE_H
#define CROSSLANE_DTYPE_H

#include <stddef.h>

#include <crosslane/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xl_dtype {
    XL_F32,
    XL_F16,  ///< IEEE binary16
    XL_BF16, ///< upper half of an f32
    XL_F64,
    XL_I32,
    XL_I8,
    XL_U8,
    XL_BOOL, ///< a byte: 0 is false, anything else true; written as 0 or 1
    XL_F8E4M3, ///< OCP 8-bit float: bias 7, largest 448, no infinities; GEMM
    XL_F8E5M2, ///< OCP 8-bit float: upper half of an f16; GEMM
    XL_I64,    ///< expressions
    XL_U32,    ///< expressions
    XL_U16,    ///< expressions
    XL_N_DTYPES
} xl_dtype;

/** Bytes of one element; 0 for a value that is not a dtype. */
XL_API size_t xl_dtype_bytes(xl_dtype dtype);

/** "f32", "f16", ...; "?" for a value that is not a dtype. Static. */
XL_API const char *xl_dtype_name(xl_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
