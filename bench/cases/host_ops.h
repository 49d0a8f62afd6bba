/* SPDX-License-Identifier: Apache-2.0 */
/* References of the operations on the host, in double precision, independent
 * of the library: the expected results for the inputs as they are stored, and
 * their tolerances. They are plain loops, since all else is compared with
 * them. */
#ifndef CLBENCH_REF_H
#define CLBENCH_REF_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/gemm.h>
#include <crosslane/softmax.h>

#include "base/rng.h"

/* A matrix in host memory; strides as in xl_mat. */
struct ref_mat {
    const void *data;
    size_t offset, row_stride, col_stride;
    xl_dtype dtype;
};

/* Load element `i` of an array; store it, rounded to the type. An integer must
 * be in range. */
double ref_load(const void *data, size_t i, xl_dtype dtype);
double ref_at(const struct ref_mat *m, size_t i, size_t j);

/* Unit roundoff of a type, and the absolute error of its smallest numbers:
 * half the step of subnormals, or that of flushing where f32 may flush. */
double ref_roundoff(xl_dtype dtype);
double ref_floor(xl_dtype dtype);

/* Nearly normal, mean 0, deviation 1, |x| < 3.5: the sum of four uniforms of
 * one 64-bit draw (Irwin-Hall). */
double ref_normal(struct xl__rng *rng);
/* The same for a type; for bytes integers up to 119. */
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
/* The expected C[i][j], from sum, mag and the old c; *tol: its tolerance. The
 * formula is in host_ops.c. */
double ref_gemm_expected(const struct ref_gemm_scale *s, double sum,
                         double mag, double old, double *tol);

struct qgemm_case; /* cases/gemm_cases.h */
/* A row of A as it is multiplied: times `gain`, normed, where that is not
 * NULL; as the case's activations make it. apart: how far an element may be
 * from that, but for roundings: that of the two values that it may become, of
 * a normed row more than half a step. */
void ref_qgemm_row(const struct qgemm_case *c, const struct ref_mat *a,
                   size_t i, const struct ref_mat *gain, double *x,
                   double *apart);
/* The tolerance of such a row's product with a row of weights. */
double ref_qgemm_bytes_tol(const struct qgemm_case *c, const double *x,
                           const double *apart, const float *w);
/* The same for a product with quantised weights of k columns: the Accuracy
 * line of xl_qgemm_run(), before an epilogue or a rounding to C's type. */
double ref_qgemm_tol(size_t k, double mag);
/* The same where A's rows are normed, by rows of weights w. */
double ref_qgemm_normed_tol(const struct qgemm_case *c, const float *w,
                            double mag);
/* What is added where weights are rounded to the type of A, f16 or bf16: of a
 * row of k columns. */
double ref_qgemm_rounding(const double *x, xl_dtype type, size_t k,
                          double mag);
/* The product of a row (ref_qgemm_row()) and a row of weights before an
 * epilogue; *tol: all of these. */
double ref_qgemm_product(const struct qgemm_case *c, const double *x,
                         const double *apart, const float *w, double *tol);
/* *y, a pair's first product, joined with that of its second row, w. */
void ref_qgemm_join(const struct qgemm_case *c, const double *x,
                    const double *apart, const float *w, double *y,
                    double *tol);

/* The value stored for a result x >= 0 of an epilogue, which is known to
 * within *tol and cast to `out`: truncated for integers. *tol: its tolerance.
 */
double ref_epilogue_stored(double x, xl_dtype out, double *tol);

/* One row of softmax with the documented special values; *max: its maximum. */
void ref_softmax_row(const double *x, size_t cols, double *y, double *max);
/* The tolerance of dst: `want` the exact value, `below` = max - x, `slack` the
 * relative error from rounding x (0 when x is exact). */
double ref_softmax_tol(double want, double below, double slack, size_t cols,
                       xl_dtype out);
/* The logarithm of a row, and its tolerance: absolute, and so `slack`. */
void ref_log_softmax_row(const double *x, size_t cols, double *y, double *max);
double ref_log_softmax_tol(double want, double slack, size_t cols,
                           xl_dtype out);

/* Error over tolerance: 0 for agreement, infinite when one is NaN or infinite
 * and the other is not. A result too large for its type may be infinite. */
double ref_error(double got, double want, double tol, xl_dtype out);

#endif
