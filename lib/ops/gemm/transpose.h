/* SPDX-License-Identifier: Apache-2.0 */
/* An operand copied into the workspace as lines along k, each beginning at a
 * multiple of 16 bytes: a step before the product, for variants that read an
 * operand only so (tensor maps, matrix instructions of types that do not
 * transpose) where the caller's lies across k or on odd bytes. */
#ifndef XL_OPS_GEMM_TURN_H
#define XL_OPS_GEMM_TURN_H

#include "ops/gemm/orientation.h"

enum { XL__TRANSPOSE_ALIGN = 16 };

/* The copy: element (x, k) of product z lies at first + z step + x line + k of
 * the workspace, in elements of A's type. Lines are filled up with zeros. Two
 * operands' copies have lines of one length, and `first` and `step` are whole
 * lines: the workspace is one matrix of lines to both. */
struct xl__gemm_transpose {
    size_t line, first;
    size_t step;        /* 0: all products share it */
    size_t end_bytes;   /* of workspace, with what lies before */
    double moved_bytes; /* read and written, for struct xl__cost's serial_bytes;
                           its launches count one more */
};

/* NULL, or why no operand of this product can be turned here: for a variant's
 * refuses(). Elements of 1, 2 and 4 bytes, batches by steps. */
const char *xl__gemm_transpose_refused(const struct xl__limits *l,
                                       const xl_gemm *canonical);
/* Place the copy behind `taken` bytes of workspace; false: it does not fit
 * into a buffer. */
bool xl__gemm_transpose_layout(const struct xl__limits *l,
                               const xl_gemm *canonical,
                               const struct xl__gemm_operand *side,
                               size_t taken, struct xl__gemm_transpose *out);
/* Add the step. The plan's scratch_bytes and estimate are the caller's. */
void xl__gemm_transpose_add(const xl_gemm *canonical,
                            const struct xl__gemm_operand *side,
                            const struct xl__gemm_transpose *turn,
                            struct xl__plan *p);

#endif
