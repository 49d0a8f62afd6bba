/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the rows of a matrix. */
#ifndef CROSSLANE_SOFTMAX_H
#define CROSSLANE_SOFTMAX_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A softmax over rows. Zero in an optional field is its default. */
typedef struct xl_softmax {
    size_t size; ///< XL_SOFTMAX_INIT
    size_t rows, cols;   ///< both >= 1
    xl_mat src, dst;     ///< rows x cols; dst may be the same view as src
    double scale;        ///< a normal number of f32, or 0: 1
    xl_mat mask;         ///< optional, added after scaling; a stride of 0
                         ///< repeats a row or a column; f32, f16, bf16, f64
    xl_mem workspace;    ///< optional: scratch, xl_softmax_workspace() bytes
    const char *variant; ///< "softmax_online" to force one; NULL: the best
    /** Optional: the score, an expression over `x`, which is scale * src +
     *  mask as an f32: "where(keep, x, -inf)", "x + slope * distance". */
    xl_epilogue prologue;
    /** Optional: what is stored, an expression over `y`, the result as an f32:
     *  "where(keep, y / 0.9, 0)", "cast(round(255 * y), u8)". Its names are
     *  apart from the prologue's. Both together have at most
     *  XL_EPILOGUE_MAX_BINDINGS bindings. */
    xl_epilogue epilogue;
    bool is_log; ///< the result is its logarithm
    xl_mat grad; ///< with is_backward only: rows x cols, read
    bool is_backward; ///< dst is the gradient of src instead; see below
} xl_softmax;
#define XL_SOFTMAX_INIT XL_SIZED(xl_softmax)

/**
 * Enqueue dst[i][j] = epilogue(exp(x[i][j] - max_j x[i]) / sum_j exp(x[i][j] -
 * max_j x[i])), x = prologue(scale * src + mask): a product and a sum of f32,
 * each rounded. With is_log it is the epilogue of the logarithm, x[i][j] -
 * max_j x[i] - log(sum_j exp(x[i][j] - max_j x[i])). The prologue of an element
 * may be evaluated several times, the epilogue once, before the element is
 * stored.
 *
 * Types:     src is of f32, f16 or bf16, dst of the same type; with an epilogue
 *            dst may be of f32, f16, bf16, i32, i8, u8 or bool, and its text
 *            casts where the language requires it. Sums in f32.
 * Specials:  a row of x with a NaN or +inf is all NaN; a row that is all -inf
 *            (fully masked) is all 0, as in the language of
 *            crosslane/expr.h; any other -inf gives 0. +inf in src
 *            with a mask of -inf is NaN, and so is -inf with +inf. With is_log
 *            each 0 is -inf. An epilogue gets these as y.
 * Cost:      5 rows cols flop; at least rows cols (sizeof(src) + sizeof(dst))
 *            bytes.
 * Accuracy:  relative error of an element <= (|x - max| + 48 + 2 log2 cols) u,
 *            u of f32, then one rounding to dst's type; results below the
 *            smallest normal number of f32 may be 0. The 48 covers the 3 ulp
 *            of each exp and the 2.5 ulp of a division that OpenCL allows.
 *            Source: Blanchard, Higham, Higham 2021, theorem 4.2, with sums
 *            taken pairwise over work-items. A prologue whose values are off
 *            by at most d adds 2 d. With is_log the absolute error is
 *            <= (2 |result| + 76 + 7 log2 cols) u before the rounding: that of
 *            the sum; 3 ulp, 6 u, of its logarithm, at most 4 + ln cols, since
 *            the sum may be taken under a value up to 4 below the maximum; one
 *            rounding of each difference. With an epilogue the bound is that of
 *            y, which is not rounded to dst's type.
 * Blocks, @param, @return: as xl_gemm_run().
 *
 * With is_backward src is the result y of a softmax, grad the gradient of that
 * result, and dst becomes the gradient of what the softmax took as src, its
 * scale and is_log those of this call:
 *   dst[i][j] = scale y[i][j] (grad[i][j] - sum_l y[i][l] grad[i][l]),
 *   with is_log   scale (grad[i][j] - exp(y[i][j]) sum_l grad[i][l]).
 * src, grad and dst are of f32, f16 or bf16, each of its own; dst may be the
 * same view as src or grad. There is no mask, prologue or epilogue
 * (XL_UNSUPPORTED): an added mask changes y alone. A row of y that is all 0
 * gives 0, an infinity or NaN what the formula gives. Cost: 4 rows cols flop,
 * at least one read of src and of grad. Accuracy: |error| <= |scale| (25 + 2
 * log2 cols) u |y| (|grad| + sum_l |y grad|), with is_log |scale| (25 + 2 log2
 * cols) u (|grad| + exp(y) sum_l |grad|), and 2^-126; dst is rounded once.
 * Sums are in a fixed order: results repeat bit for bit.
 */
XL_API xl_status xl_softmax_run(xl_queue *q, const xl_softmax *s,
                                const xl_sync *sync);
XL_API xl_status xl_softmax_prepare(xl_queue *q, const xl_softmax *s);
/** As xl_gemm_prepare_range(), from s->rows to @p rows_last. */
XL_API xl_status xl_softmax_prepare_range(xl_queue *q, const xl_softmax *s,
                                          size_t rows_last);
/** As xl_gemm_prepare_async(), from s->rows to @p rows_last. */
XL_API xl_status xl_softmax_prepare_async(xl_queue *q, const xl_softmax *s,
                                          size_t rows_last, xl_prepared done,
                                          void *arg);
XL_API xl_status xl_softmax_workspace(xl_queue *q, const xl_softmax *s,
                                      size_t *bytes);

/** As xl_gemm_explain(). */
XL_API xl_status xl_softmax_explain(xl_queue *q, const xl_softmax *s,
                                    xl_choice *out, unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
