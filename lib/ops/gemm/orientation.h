/* SPDX-License-Identifier: Apache-2.0 */
/* A product as kernels see it: rows of C contiguous if anything of C is. One
 * plan then serves all transpose cases: a column-major C is the row-major
 * C^T = B^T A^T, and how A and B lie only changes how they are read. */
#ifndef XL_OPS_GEMM_SIDES_H
#define XL_OPS_GEMM_SIDES_H

#include "ops/gemm/gemm.h"

/* One operand; x is the dimension it shares with C. */
struct xl__gemm_operand {
    unsigned mem, offset; /* call slots */
    size_t extent, stride_x, stride_k;
    size_t aligned; /* lines: elements */
};

struct xl__gemm_oriented {
    struct xl__gemm_operand a, b;
    size_t m, n, row_stride, col_stride; /* of C */
    size_t c_aligned;
    bool is_swapped; /* a is the caller's B */
};

struct xl__gemm_oriented xl__gemm_orient(const xl_gemm *canonical);
enum xl__gemm_unit xl__gemm_operand_unit(const struct xl__gemm_operand *s);
/* Append memory, offset and both strides, along x first. */
void xl__gemm_arg_operand(struct xl__step *step,
                          const struct xl__gemm_operand *s);
/* All but the memory. */
void xl__gemm_arg_layout(struct xl__step *step,
                         const struct xl__gemm_operand *s);

/* Define what gemm/gemm.clh asks for, but for XL_VW: TA, TC, TY, BATCH. */
void xl__gemm_define(struct xl__step *step, const void *canonical);
/* Append GEMM_LAST_PARAMS: alpha, beta, the batch's, the epilogue's. */
void xl__gemm_arg_last(struct xl__step *step, const void *canonical,
                       bool is_swapped);

#endif
