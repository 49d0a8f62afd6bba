/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's self-check: the case, its expected result and the error bound. The
 * first three are functions of xl__op_gemm; ops/path/op.h describes them. */
#ifndef XL_OPS_GEMM_SELFCHECK_H
#define XL_OPS_GEMM_SELFCHECK_H

#include "ops/gemm/gemm.h"

void xl__gemm_shrink(const void *canonical, const struct xl__variant *variant,
                     const struct xl__params *params, void *small);
xl_status xl__gemm_selfcheck_init(void *small, struct xl__trial *t);
bool xl__gemm_selfcheck_compare(const void *small, const struct xl__trial *t,
                                char *why, size_t why_cap);

/* The largest error of an element of A B whose value in |A| |B| is `size`:
 * crosslane/ops.h, Accuracy. */
double xl__gemm_error_bound(const void *canonical, double size);

#endif
