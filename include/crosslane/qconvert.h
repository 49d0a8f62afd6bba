/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices quantised on the device, and expanded again. */
#ifndef CROSSLANE_QCONVERT_H
#define CROSSLANE_QCONVERT_H

#include <stddef.h>

#include <crosslane/explain.h>
#include <crosslane/qgemm.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which of the two matrices is written. */
typedef enum xl_qdirection {
    XL_QUANTISE,   ///< w from x
    XL_DEQUANTISE, ///< x from w
    XL_N_QDIRECTIONS
} xl_qdirection;

/** A matrix in a quantised format and in plain elements, one from the other.
 *  Zero in an optional field is its default. */
typedef struct xl_qconvert {
    size_t size; ///< XL_QCONVERT_INIT
    xl_qdirection direction;
    xl_mat x; ///< w.shape.rows x w.shape.cols; columns are contiguous
    xl_qmat w;
    xl_mem workspace;    ///< optional: scratch, xl_qconvert_workspace() bytes
    const char *variant; ///< "qconvert_ref" to force one; NULL: the best
} xl_qconvert;
#define XL_QCONVERT_INIT XL_SIZED(xl_qconvert)

/**
 * Enqueue w = x, quantised by the rules of xl_qmat_quantise_host(), or
 * x = the values of w.
 *
 * Types:     x of f32, f16 or bf16; w of every format.
 * Specials:  an element that is infinite or NaN, or a scale beyond f16: what
 *            its block or group becomes is not defined, others are right.
 *            Nothing is reported: xl_qmat_quantise_host() refuses these.
 * Cost:      x and w once; of XL_INT4, XL_INT8 and XL_FP8 x is read twice.
 * Accuracy:  the bits of xl_qmat_quantise_host(), and of
 *            xl_qmat_dequantise_host() with one rounding to x's type, except
 *            that values below 2^-126 may count as 0.
 * Repeats:   bit for bit.
 * Blocks, @param: as xl_gemm_run().
 * @return as xl_gemm_run(), of x and the parts of w:
 *         XL_BAD_ARGUMENT  no such format or direction; an odd offset; zeros
 *                          of a format that has none
 *         XL_BAD_SHAPE     a size of 0, columns that are not whole blocks or
 *                          groups
 *         XL_OVERLAP       what is written overlaps itself or the other matrix
 *         XL_UNSUPPORTED   types; columns of x that are not contiguous; 2^31
 *                          rows or columns or more
 */
XL_API xl_status xl_qconvert_run(xl_queue *q, const xl_qconvert *c,
                                 const xl_sync *sync);
XL_API xl_status xl_qconvert_prepare(xl_queue *q, const xl_qconvert *c);
/** As xl_gemm_prepare_range(), from c->w.shape.rows to @p rows_last. */
XL_API xl_status xl_qconvert_prepare_range(xl_queue *q, const xl_qconvert *c,
                                           size_t rows_last);
/** As xl_gemm_prepare_async(), from c->w.shape.rows to @p rows_last. */
XL_API xl_status xl_qconvert_prepare_async(xl_queue *q, const xl_qconvert *c,
                                           size_t rows_last, xl_prepared done,
                                           void *arg);
XL_API xl_status xl_qconvert_workspace(xl_queue *q, const xl_qconvert *c,
                                       size_t *bytes);
/** As xl_gemm_explain(). */
XL_API xl_status xl_qconvert_explain(xl_queue *q, const xl_qconvert *c,
                                     xl_choice *out, unsigned cap,
                                     unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
