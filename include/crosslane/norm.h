/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm and RMS norm over rows, the last dimension of a row-major tensor.
 */
#ifndef CROSSLANE_NORM_H
#define CROSSLANE_NORM_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum xl_norm_kind {
    XL_NORM_LAYER, ///< (x - mean) / sqrt(variance + eps)
    XL_NORM_RMS,   ///< x / sqrt(mean of x^2 + eps)
    XL_N_NORM_KINDS
} xl_norm_kind;

/** A norm of rows. Zero in an optional field is its default. */
typedef struct xl_norm {
    size_t size;        ///< XL_NORM_INIT
    size_t rows, cols;  ///< at least 1
    xl_mat src, dst;    ///< contiguous columns are faster than strided ones
    xl_norm_kind kind;
    double eps;         ///< 0: 1e-5
    /** Optional: rows x cols, added to src before all else; row_stride 0: one
     *  row for all. */
    xl_mat residual;
    /** Optional: where src + residual is stored, rows x cols; it may be the
     *  same view as src or residual. */
    xl_mat sum;
    /** Optional: one row of cols elements each, by which results are
     *  multiplied, and which is added to them; its row_stride is not
     *  read. */
    xl_mat scale, bias;
    xl_mem workspace;    ///< optional: scratch, xl_norm_workspace() bytes
    const char *variant; ///< "norm_online" to force one; NULL: the best
    bool is_backward;    ///< dst is the gradient of src instead; see below
    xl_mat grad;         ///< with is_backward only: rows x cols, read
    /** Optional, with is_backward only: where the gradients of scale and bias
     *  are stored, one row of cols elements each. */
    xl_mat grad_scale, grad_bias;
} xl_norm;
#define XL_NORM_INIT XL_SIZED(xl_norm)

/**
 * Enqueue dst[i][j] = y scale[j] + bias[j], where
 *
 *   y = (x[i][j] - mean_i) / sqrt(variance_i + eps),
 *
 * x = src + residual as f32, with the mean of x[i] and the mean of
 * (x[i] - mean_i)^2; of XL_NORM_RMS mean_i is 0. sum = x, if it is given. A
 * product and a sum of f32, each rounded.
 *
 * Types:     all operands are of f32, f16 or bf16, each of its own. Sums in
 *            f32; the norm is that of x before it is rounded to the type of
 *            sum.
 * Memory:    dst and sum may be the same view as src or residual, and must
 *            otherwise be disjoint from all operands and from each other.
 * Specials:  a row of x with a NaN or an infinity, or whose sum of squares
 *            exceeds f32, is all NaN. A row of equal values gives exactly bias
 *            in a layer norm, 0 without one.
 * Cost:      8 rows cols flop; at least one read of src and residual, one
 *            write of dst and sum.
 * Accuracy:  |error of y| <= (1 + r^2) ((1.5 k + 8) |y| + k + 1) u, u = 2^-24,
 *            k = 13 + 2 log2 cols. Sums are of x - c and of its square, for an
 *            f32 c near the mean, and r is |c - mean| / sqrt(variance + eps).
 *            Where an item or work-group holds a row, on most devices one of at
 *            most 16384 columns, c is its mean but for rounding, and r at most
 *            (|mean| + k (|x[i][0] - mean| + sqrt(variance))) u / sqrt(variance
 *            + eps). In longer rows c is the mean of the first 256 elements of
 *            the row or of a part of it, and r at most sqrt(cols / 256). Of an
 *            RMS norm c and r are 0. scale and bias add 2 u |y scale| +
 *            u |dst|;
 *            dst is rounded once. Source: Chan, Golub, LeVeque 1983, the
 *            corrected two-pass algorithm.
 * Blocks, @param, @return: as xl_gemm_run().
 *
 * With is_backward src is what the norm took (after a residual its sum), grad
 * the gradient of its result, and with g = grad scale
 *   dst = factor (g - mean_j g - y mean_j (g y)),   grad_scale = sum_i grad y,
 *                                                   grad_bias = sum_i grad,
 * factor = 1 / sqrt(variance + eps); of XL_NORM_RMS without mean_j g. Mean and
 * variance are computed again. kind, eps and scale are the norm's; bias is not
 * read; residual and sum must not be given (XL_UNSUPPORTED). All are of f32,
 * f16 or bf16, each of its own. dst may be the same view as src or grad, unless
 * grad_scale or grad_bias is given. Cost: 14 rows cols flop, at least one read
 * of src and grad, with grad_scale or grad_bias a second one and 5 rows cols
 * flop more. Accuracy, with r as above:
 *   |error of dst| <= factor (1 + r^2) (7 k + 32) u (|g| + mean_j |g| +
 *                     (1 + |y|) (1 + r) mean_j (|g| (1 + |y|))),
 *   |error of grad_scale| <= sum_i |grad| (e + 24 u |y|), e the bound of y,
 *   |error of grad_bias| <= 24 u sum_i |grad|, each rounded once.
 * Sums are in a fixed order: results repeat bit for bit.
 */
XL_API xl_status xl_norm_run(xl_queue *q, const xl_norm *n,
                             const xl_sync *sync);
XL_API xl_status xl_norm_prepare(xl_queue *q, const xl_norm *n);
/** As xl_gemm_prepare_range(), from n->rows to @p rows_last. */
XL_API xl_status xl_norm_prepare_range(xl_queue *q, const xl_norm *n,
                                       size_t rows_last);
/** As xl_gemm_prepare_async(), from n->rows to @p rows_last. */
XL_API xl_status xl_norm_prepare_async(xl_queue *q, const xl_norm *n,
                                       size_t rows_last, xl_prepared done,
                                       void *arg);
XL_API xl_status xl_norm_workspace(xl_queue *q, const xl_norm *n,
                                   size_t *bytes);

/** As xl_gemm_explain(). */
XL_API xl_status xl_norm_explain(xl_queue *q, const xl_norm *n, xl_choice *out,
                                 unsigned cap, unsigned *n_out);

#ifdef __cplusplus
}
#endif
#endif
