/* SPDX-License-Identifier: Apache-2.0 */
/* Products with quantised weights, for their variants. */
#ifndef XL_OPS_QGEMM_H
#define XL_OPS_QGEMM_H

#include <crosslane/qgemm.h>

#include "ops/path/op.h"
#include "runtime/epilogue.h"

/* All of one word, so that there is no padding. */
struct xl__qgemm_canonical {
    size_t m, n, k;
    size_t format; /* xl_qformat */
    size_t group;  /* columns that share a scale; of other formats k */
    size_t has_zeros;
    size_t a, c; /* xl_dtype */
    size_t row_stride_a, row_stride_c, col_stride_c;
    const struct xl__epilogue_text *epilogue; /* NULL: none */
};

/* Call slots of its plans. */
enum {
    XL__QGEMM_A = 1,
    XL__QGEMM_BLOCKS,
    XL__QGEMM_SCALES,
    XL__QGEMM_ZEROS,
    XL__QGEMM_C,
    XL__QGEMM_OPERAND
};
enum {
    XL__QGEMM_OFF_A,
    XL__QGEMM_OFF_BLOCKS,
    XL__QGEMM_OFF_SCALES,
    XL__QGEMM_OFF_ZEROS,
    XL__QGEMM_OFF_C,
    XL__QGEMM_OPERAND_VALUE
};

/* Columns that kernels decode together. */
enum { XL__QGEMM_UNIT = 32 };

/* Indices of tunables: rows of A and of W of an item; items of a group and of
 * a row of W. */
enum { XL__QGEMM_TM, XL__QGEMM_RN, XL__QGEMM_WG, XL__QGEMM_LANES };

/* Sizes of the weights. */
xl_qshape xl__qgemm_shape(const struct xl__qgemm_canonical *c);
double xl__qgemm_flop(const struct xl__qgemm_canonical *c);
/* Bytes of W, and of A and C. */
double xl__qgemm_weight_bytes(const struct xl__qgemm_canonical *c);
double xl__qgemm_other_bytes(const struct xl__qgemm_canonical *c);
/* The -D's and arguments of every kernel: PRODUCT_PARAMS of
 * quantised/product.clh. */
void xl__qgemm_add_args(struct xl__step *step,
                        const struct xl__qgemm_canonical *c);

/* selfcheck.c: members of xl__op_qgemm. */
void xl__qgemm_shrink(const void *canonical, const struct xl__variant *variant,
                      const struct xl__params *params, void *small);
xl_status xl__qgemm_case_init(void *small, struct xl__selfcheck_case *t);

extern const struct xl__op xl__op_qgemm;

/* Its variants, one a file. */
extern const struct xl__variant xl__qgemm_cpu, xl__qgemm_gemv, xl__qgemm_ref;

#endif
