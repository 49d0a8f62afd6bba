/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case on the host: gemm_trial.c makes it, gemm_judge.c compares. */
#ifndef XL_OPS_GEMM_SMALL_H
#define XL_OPS_GEMM_SMALL_H

#include "ops/path/batch.h"
#include "ops/gemm/gemm.h"
#include "ops/path/selfcheck_data.h"

enum { XL__SMALL_BATCH = 3 };

/* What a small case owns beside its memory. */
struct xl__gemm_small {
    struct xl__small_epilogue epilogue;
    cl_ulong at[3][XL__SMALL_BATCH]; /* lists of A, B, C */
};

/* C's memory as it was before the run; free() it. NULL: no memory. */
void *xl__small_c(const void *small, size_t *bytes);
/* alpha and beta of the case. */
double xl__small_alpha(const void *small);
double xl__small_beta(const void *small);
/* Where element (0, 0) of product z is, in elements. */
size_t xl__small_start(const xl_mat *mat, const struct xl__places *p,
                       size_t z);

#endif
