/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix instructions of a sub-group that cl/common/matrix.clh has code
 * for, and the options that select it. */
#ifndef XL_OPS_MMA_H
#define XL_OPS_MMA_H

#include "device/facts.h"
#include "runtime/plan.h"

/* The instruction that multiplies this type; NULL: none. */
const xl_matrix_op *xl__mma_op(const struct xl__limits *l, xl_dtype in);
/* NULL, or the reason why there is none. */
const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in);
/* Its rate, flop/s; that of FMA where it is not known. */
double xl__mma_rate(const struct xl__limits *l, const xl_matrix_op *op);
/* Append -DXL_MMA_<CODE>, and -DXL_COPY_<FACT> of
 * common/async_copy.clh. */
void xl__mma_define(struct xl__step *s, const struct xl__limits *l,
                    const xl_matrix_op *op);

#endif
