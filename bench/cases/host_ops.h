/* SPDX-License-Identifier: Apache-2.0 */
/* References on the host, in double, independent of the library: what the ops
 * should give for the inputs as they are stored, and how far off a result may
 * be. Plain loops, since they are what everything else is compared with. */
#ifndef CLBENCH_REF_H
#define CLBENCH_REF_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/ops.h>

#include "base/rng.h"

/* A matrix in host memory; strides as in xl_mat. */
struct ref_mat {
    const void *data;
    size_t offset, row_stride, col_stride;
    xl_dtype dtype;
};

/* Element `i` of an array, and its writing with rounding to the type; an
 * integer must fit. */
double ref_load(const void *data, size_t i, xl_dtype dtype);
void ref_store(void *data, size_t i, xl_dtype dtype, double x);
double ref_at(const struct ref_mat *m, size_t i, size_t j);

/* Unit roundoff of a type, and the absolute error that its smallest numbers
 * bring: half the step of subnormals, or flushing where f32 may flush. */
double ref_roundoff(xl_dtype dtype);
double ref_floor(xl_dtype dtype);

/* Near normal, mean 0, deviation 1, |x| < 3.5: the sum of four uniforms of one
 * 64-bit draw (Irwin-Hall), ten times faster than Box-Muller and just as hard
 * to compress. */
double ref_normal(struct xl__rng *rng);
/* The same for a type: of bytes, whole numbers up to 119. */
double ref_draw(struct xl__rng *rng, xl_dtype dtype);
void ref_fill(void *data, size_t n, xl_dtype dtype, struct xl__rng *rng);

/* dst[i * cols + j] = the matrix's element (i, j). */
void ref_dense(const struct ref_mat *m, size_t rows, size_t cols, double *dst);

/* One row of A B: sum[j] = sum_p a[p] b[p n + j], mag[j] the same sum over
 * absolute values; b is dense k x n. */
void ref_gemm_row(const double *a, const double *b, size_t n, size_t k,
                  double *sum, double *mag);
/* One element of A B, with its sum of absolute values. */
void ref_gemm_dot(const struct ref_mat *a, const struct ref_mat *b,
                  const size_t at[2], size_t k, double *sum, double *mag);

/* alpha, beta and the types of a GEMM, for its tolerance. */
struct ref_gemm_scale {
    size_t k;
    double alpha, beta;
    xl_dtype in, out;
    xl_accuracy accuracy;
};
/* What C[i][j] should be, from sum, mag and the old c; *tol how far off it may
 * be. The formula is in ref.c. */
double ref_gemm_want(const struct ref_gemm_scale *s, double sum, double mag,
                     double old, double *tol);

/* One row of softmax with the documented specials. *max: the row's maximum. */
void ref_softmax_row(const double *x, size_t cols, double *y, double *max);
/* How far off dst may be: `want` the exact value, `below` = max - x, `slack`
 * the relative error that rounding x itself brings (0 when x is exact). */
double ref_softmax_tol(double want, double below, double slack, size_t cols,
                       xl_dtype out);

/* Error over tolerance: 0 for agreement, infinite when one is NaN or infinite
 * and the other is not. A result too large for its type may be infinite. */
double ref_error(double got, double want, double tol, xl_dtype out);

#endif
