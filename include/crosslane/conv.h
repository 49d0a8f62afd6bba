/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution, forward and backward. */
#ifndef CROSSLANE_CONV_H
#define CROSSLANE_CONV_H

#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/gemm.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The order of an image's dimensions in memory, outermost first: images,
 *  channels, rows, columns. */
typedef enum xl_layout { XL_NCHW, XL_NHWC } xl_layout;

/** The order of a filter's: filters, channels, rows, columns. */
typedef enum xl_filter_layout { XL_KCRS, XL_KRSC } xl_filter_layout;

/** Images in memory. Their number and sizes are in the operation's
 *  descriptor. */
typedef struct xl_images {
    xl_mem mem;
    size_t offset; ///< of the first element, in elements
    xl_layout layout;
    /** Elements from one to the next image, channel, row, column, in this
     *  order. All 0: dense in `layout`. */
    size_t stride[4];
    xl_dtype dtype;
} xl_images;

/** Filters in memory, dense. */
typedef struct xl_filters {
    xl_mem mem;
    size_t offset; ///< of the first element, in elements
    xl_filter_layout layout;
    xl_dtype dtype;
} xl_filters;

/** What is computed: the result of the convolution, or one of its gradients.
 *  A gradient takes the same descriptor: `in`, `filters` and `out` are then
 * the memory of these or of their gradients, of the same sizes. */
typedef enum xl_conv_pass {
    XL_CONV_FORWARD,         ///< out, from in and filters
    XL_CONV_BACKWARD_DATA,   ///< the gradient of in into `in`, from filters
                             ///< and the gradient of out in `out`
    XL_CONV_BACKWARD_FILTERS ///< the gradient of the filters into `filters`,
                             ///< from in and the gradient of out in `out`
} xl_conv_pass;

/** A convolution, in full. Zero in an optional field is its default. */
typedef struct xl_conv {
    size_t size; ///< XL_CONV_INIT
    size_t n, c, h, w; ///< images, channels, rows, columns of in; >= 1
    size_t k, r, s;    ///< filters, which are out's channels; their rows and
                       ///< columns; >= 1
    size_t groups;     ///< divides c and k: filters of group i read only the
                       ///< c / groups channels of group i; 0: 1
    size_t stride_h, stride_w;     ///< rows and columns from one position of
                                   ///< the filter to the next; 0: 1
    size_t dilation_h, dilation_w; ///< from one filter element to the next;
                                   ///< 0: 1
    size_t pad_top, pad_bottom, pad_left, pad_right; ///< zeros around an image
    xl_images in;      ///< n x c x h x w
    xl_filters filters; ///< k x c / groups x r x s
    xl_images out;     ///< n x k x p x q, xl_conv_out_size(); must not overlap
                       ///< in or filters
    double alpha, beta;  ///< alpha == 0: in and filters are not read;
                         ///< beta == 0: out is written, never read
    xl_mem workspace;    ///< optional: scratch, xl_conv_workspace() bytes
    const char *variant; ///< "conv_tiled" to force one; NULL: the best
    /** Optional. Its result has three dimensions, since p and q count as one:
     *  n x k x (p q) where out is NCHW, n x (p q) x k where it is NHWC.
     *  Bindings broadcast over that, so a value for each channel, such as a
     *  bias, is of sizes {k, 1} in NCHW and of {k} in NHWC:
     *  "relu((y + bias - mu) * rstd * gamma + beta)". */
    xl_epilogue epilogue;
    xl_conv_pass pass; ///< which of the three is written; 0: out
    xl_accuracy accuracy; ///< accuracy that may be given up for speed
} xl_conv;
#define XL_CONV_INIT XL_SIZED(xl_conv)

/**
 * Rows and columns of the output, rounded down:
 *   p = (h + pad_top + pad_bottom - dilation_h (r - 1) - 1) / stride_h + 1
 *   q = (w + pad_left + pad_right - dilation_w (s - 1) - 1) / stride_w + 1
 * @return XL_OK; XL_BAD_SHAPE when a size is 0, groups do not divide, or the
 *         filter is larger than the padded image; XL_OVERFLOW. *p and *q are
 *         then 0.
 */
XL_API xl_status xl_conv_out_size(const xl_conv *c, size_t *p, size_t *q);

/**
 * Enqueue out = epilogue(alpha conv + beta out), where conv[n][k][p][q] is
 *   sum over c, r, s of filters[k][c][r][s] *
 *       in[n][c0 + c][p stride_h - pad_top  + r dilation_h]
 *                    [q stride_w - pad_left + s dilation_w],
 * c0 the first channel of k's group, in = 0 outside of the image.
 *
 * Types:     in and filters have one type. That type and out's are as A, B
 *            and C of xl_gemm_run(), except 8-bit floats.
 * Scalars:   as alpha and beta of xl_gemm_run(), with in and filters as A and
 *            B: with alpha = 0 out = epilogue(beta out).
 * Cost:      2 n k p q r s c / groups flop; at least in, filters and out
 *            once, out twice when beta != 0.
 * Accuracy:  that of a matrix product with k = r s c / groups. Where the
 *            filters contain an infinity or NaN, some variants multiply it by
 *            the zeros of the padding, others skip these terms. `accuracy`
 *            permits Winograd's transforms for floats with r = s = 3, stride,
 *            dilation and groups 1. With alpha = 1, beta = 0 then
 *              |error| <= e sum over c of F[k][c] D[c]
 *            before it is rounded to out's type, where F is the largest
 *            magnitude in filters[k][c] and D that in the window of in that
 *            the tile of the element needs, of t + 2 rows and columns from
 *            (p / t t - pad_top, q / t t - pad_left) on:
 *              SPLIT   t = 2   e =   64 v   F(2x2, 3x3)
 *              FAST    t = 4   e = 2304 v   F(4x4, 3x3), or as SPLIT
 *            with v = (c + 24) 2^-24 / (1 - (c + 24) 2^-24), unless an
 *            intermediate value overflows: that of 100 D F c, at most. An
 *            infinity or NaN may make all elements of its tiles NaN.
 *            Source: Lavin, Gray 2016; Barabasz et al. 2020;
 *            lib/ops/conv/winograd.c.
 * Memory:    in is not copied into a matrix (no im2col buffer); some variants
 *            pack the filters, and with 1x1 filters or pixels that are no
 *            multiples of 16 bytes in, into scratch memory in every run.
 * Layouts:   any combination.
 * Repeats, Blocks, @param, @return: as xl_gemm_run().
 *
 * With pass XL_CONV_BACKWARD_DATA: in = alpha data + beta in, data[n][c][y][x]
 *   the sum over k of c's group, p, q, r, s of filters[k][c - c0][r][s] *
 *   out[n][k][p][q] where p stride_h - pad_top + r dilation_h = y and
 *   q stride_w - pad_left + s dilation_w = x. What no filter reaches is
 *   beta in.
 * With XL_CONV_BACKWARD_FILTERS: filters = alpha gradient + beta filters,
 *   gradient[k][c][r][s] the sum over n, p, q of out[n][k][p][q] *
 *   in[n][c0 + c][p stride_h - pad_top + r dilation_h]
 *                [q stride_w - pad_left + s dilation_w].
 * In both, what is written must not overlap the two that are read; these have
 * one type, f32, f16 or bf16 for a result of any of the three, or all are f64;
 * sums are f32 or f64. Cost and scalars as forward; with alpha = 0 the two are
 * not read. There is no epilogue (XL_UNSUPPORTED). Accuracy: that of a product
 * with k = r s k / groups for data, n p q for filters. Sums over images are in
 * a fixed order, so results repeat as those of forward do.
 */
XL_API xl_status xl_conv_run(xl_queue *q, const xl_conv *c,
                             const xl_sync *sync);
XL_API xl_status xl_conv_prepare(xl_queue *q, const xl_conv *c);
/** As xl_gemm_prepare_range(), for c->n to @p n_last images. */
XL_API xl_status xl_conv_prepare_range(xl_queue *q, const xl_conv *c,
                                       size_t n_last);
/** As xl_gemm_prepare_async(), for c->n to @p n_last images. */
XL_API xl_status xl_conv_prepare_async(xl_queue *q, const xl_conv *c,
                                       size_t n_last, xl_prepared done,
                                       void *arg);
XL_API xl_status xl_conv_workspace(xl_queue *q, const xl_conv *c,
                                   size_t *bytes);
XL_API xl_status xl_conv_explain(xl_queue *q, const xl_conv *c,
                                 xl_choice *out, unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
