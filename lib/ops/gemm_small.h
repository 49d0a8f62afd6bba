/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM's small case on the host: gemm_trial.c makes it, gemm_judge.c compares.
 * Elements are doubles here, which hold every type's values exactly. */
#ifndef XL_OPS_GEMM_SMALL_H
#define XL_OPS_GEMM_SMALL_H

#include "ops/batch.h"
#include "ops/gemm.h"

enum { XL__SMALL_BATCH = 3 };

/* What a small case owns beside its memory. */
struct xl__gemm_small {
    struct xl__snippet snippet; /* the real one's text, the case's strides */
    cl_ulong at[3][XL__SMALL_BATCH]; /* lists of A, B, C */
    double scalar[XL_EPILOGUE_MAX_BINDINGS];
};

double xl__small_load(const void *base, size_t i, xl_dtype dtype);
void xl__small_store(void *base, size_t i, xl_dtype dtype, double x);
/* C's memory as it was before the run; free() it. NULL: no memory. */
void *xl__small_c(const void *small, size_t *bytes);
/* alpha and beta of the case. */
double xl__small_alpha(const void *small);
double xl__small_beta(const void *small);
/* Where element (0, 0) of product z is, in elements. */
size_t xl__small_start(const xl_mat *mat, const struct xl__places *p,
                       size_t z);
/* The same of operand k's element for (z, i, j). */
size_t xl__small_operand(const struct xl__snippet *s, unsigned k, size_t z,
                         size_t i, size_t j);

#endif
