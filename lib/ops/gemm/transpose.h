/* SPDX-License-Identifier: Apache-2.0 */
/* A plan step that copies an operand into the workspace, transposed if need
 * be, so that it is contiguous along k and each of its rows begins at a
 * multiple of 16 bytes. Variants that can only read an operand in this layout
 * (tensor maps, matrix instructions of types that do not transpose) add it
 * before the product if the caller's operand is contiguous across k, strided
 * both ways or misaligned. */
#ifndef XL_OPS_GEMM_TRANSPOSE_H
#define XL_OPS_GEMM_TRANSPOSE_H

#include "ops/gemm/orientation.h"

enum { XL__TRANSPOSE_ALIGN = 16 };

/* The layout of the copy. Element (x, k) of product z is at first + z step + x
 * line + k of the workspace, in elements of A's type. Rows are padded with
 * zeros to `line`. Copies of two operands have the same `line`, and `first`
 * and `step` are multiples of it, so that the workspace is one matrix of such
 * rows for both. */
struct xl__gemm_transpose {
    size_t line, first;
    size_t step;        /* 0: all products share the operand */
    size_t end_bytes;   /* of workspace, including what is before the copy */
    double moved_bytes; /* read and written: add to the apart_bytes of
                           struct xl__work, and 1 to its launches */
};

/* For a variant's refuses(): NULL, or why no operand of this product can be
 * copied. Supported are elements of 1, 2 and 4 bytes, and batches by steps. */
const char *xl__gemm_transpose_refused(const struct xl__limits *l,
                                       const xl_gemm *canonical);
/* Lay out the copy of `operand` behind the first `taken` bytes of workspace.
 * Returns false if it does not fit into a buffer. */
bool xl__gemm_transpose_layout(const struct xl__limits *l,
                               const xl_gemm *canonical,
                               const struct xl__gemm_operand *operand,
                               size_t taken, struct xl__gemm_transpose *out);
/* Append the step. The caller sets the plan's scratch_bytes and estimate. */
void xl__gemm_transpose_add(const xl_gemm *canonical,
                            const struct xl__gemm_operand *operand,
                            const struct xl__gemm_transpose *copy,
                            struct xl__plan *p);

#endif
