/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation of a product: the order of operands with which rows of C are
 * contiguous, if C is contiguous at all. A column-major C is computed as the
 * row-major C^T = B^T A^T:
 *
 *   C = A B,     C by columns        C^T = B^T A^T, C^T by rows
 *   a = A: m x k, b = B: k x n       a = B^T: n x k, b = A^T: k x m
 *
 * One plan then serves all transpose cases: the layouts of A and B only change
 * the strides with which they are read. */
#ifndef XL_OPS_GEMM_ORIENTATION_H
#define XL_OPS_GEMM_ORIENTATION_H

#include "ops/gemm/gemm.h"

/* One operand. x is the dimension that it shares with C: m of A, n of B. */
struct xl__gemm_operand {
    unsigned mem, offset; /* call slots of its memory and its offset */
    size_t extent, stride_x, stride_k;
    size_t aligned; /* alignment of its rows or columns, in elements */
    xl_dtype dtype;
};

struct xl__gemm_oriented {
    struct xl__gemm_operand a, b;
    size_t m, n, row_stride, col_stride; /* of C */
    size_t c_aligned;
    bool is_swapped; /* a is the caller's B: C^T is computed */
};

struct xl__gemm_oriented xl__gemm_orient(const xl_gemm *canonical);
enum xl__gemm_unit xl__gemm_operand_unit(const struct xl__gemm_operand *s);
/* Append four arguments: memory, offset, stride along x, stride along k. */
void xl__gemm_arg_operand(struct xl__step *step,
                          const struct xl__gemm_operand *s);
/* Append the last three of these: all but the memory. */
void xl__gemm_arg_layout(struct xl__step *step,
                         const struct xl__gemm_operand *s);

/* Define what gemm/gemm.clh requires except XL_VW: TA, TB, TC, TY, BATCH. */
void xl__gemm_define(struct xl__step *step, const void *canonical,
                     bool is_swapped);
/* Append the arguments of GEMM_LAST_PARAMS: alpha, beta, the batch's steps or
 * lists, scales and zeros, the rows of its products, the epilogue's operands;
 * and define what gemm/scales.clh requires, and OWN_ROWS where there are such
 * rows. */
void xl__gemm_arg_last(struct xl__step *step, const void *canonical,
                       bool is_swapped);

#endif
