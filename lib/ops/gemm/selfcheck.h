/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's self-check: a small case like the caller's product, and the error
 * bound. The first two are functions of xl__op_gemm, which ops/path/op.h
 * describes. */
#ifndef XL_OPS_GEMM_SELFCHECK_H
#define XL_OPS_GEMM_SELFCHECK_H

#include "ops/gemm/gemm.h"

void xl__gemm_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small);
xl_status xl__gemm_case_init(void *small, struct xl__selfcheck_case *t);

/* The bound of the error of an element of A B, where `size` is the same
 * element of |A| |B|: crosslane/gemm.h, Accuracy. */
double xl__gemm_error_bound(const void *canonical, double size);

#endif
