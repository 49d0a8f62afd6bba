/* SPDX-License-Identifier: Apache-2.0 */
/* Products with quantised weights, which are decoded on the way to the
 * registers: C = epilogue(A W^T). */
#ifndef CROSSLANE_QGEMM_H
#define CROSSLANE_QGEMM_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/explain.h>
#include <crosslane/gemm.h>
#include <crosslane/qmat.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A quantised matrix in device memory, dense: xl_qshape_bytes() has the bytes
 *  of each part. Which format has which parts: xl_qformat_layout(). */
typedef struct xl_qmat {
    xl_qshape shape;
    xl_mem blocks;
    xl_mem scales; ///< of formats that have them
    xl_mem zeros;  ///< where has_zeros
    bool has_zeros; ///< of XL_INT4; false: all are 8
    size_t offset; ///< of the first block, in bytes; even, but for XL_MXFP4
    size_t scales_offset; ///< of the first scale, in elements
    size_t zeros_offset;  ///< of the first zero, in bytes
} xl_qmat;

/** How A is multiplied. */
typedef enum xl_activations {
    XL_ACTIVATIONS_AS_GIVEN, ///< as it is
    /** As bytes: groups of elements of a row are quantised on the way, which
     *  changes results, and integers are multiplied. A group is 32 columns, of
     *  XL_INT8 the row. With t its largest magnitude, its scale d is t / 127,
     *  in f32 within 2.5 units of the last place, and an element a becomes d q,
     *  with q the integer next to 127 a / t, the even one of two as near;
     *  where 127 a / t is within 2^-14 of the middle of two, either one. Where
     *  t < 2^-90 the elements become 0; where one is NaN or infinite, all NaN.
     */
    XL_ACTIVATIONS_I8,
    /** As bytes of E4M3: a row is quantised on the way, which changes results,
     *  and multiplied with weights of XL_FP8 whose scales are of rows or of the
     *  whole matrix. With t its largest magnitude, its scale d is t / 448, in
     *  f32 within 2.5 units of the last place, and an element a becomes d q,
     *  with q the E4M3 next to 448 a / t, the even one of two as near; where
     *  448 a / t is within 2^-14 of its magnitude of the middle of two, either
     *  one. Where t < 2^-90 the elements become 0; where one is NaN or
     *  infinite, all NaN. */
    XL_ACTIVATIONS_F8,
    XL_N_ACTIVATIONS
} xl_activations;

typedef enum xl_qgemm_norm_kind {
    XL_QGEMM_NORM_NONE, ///< rows of A as they are
    XL_QGEMM_NORM_RMS,  ///< a gain / sqrt(mean of the row's a^2 + eps)
    XL_N_QGEMM_NORM_KINDS
} xl_qgemm_norm_kind;

/** A norm of A's rows on their way into the product. */
typedef struct xl_qgemm_norm {
    xl_qgemm_norm_kind kind;
    xl_mat gain; ///< one row of w.shape.cols elements of f32, f16 or bf16,
                 ///< contiguous; its row_stride is not read
    double eps;  ///< 0: 1e-5
} xl_qgemm_norm;

/** A product with quantised weights. Zero in an optional field is its
 *  default. */
typedef struct xl_qgemm {
    size_t size; ///< XL_QGEMM_INIT
    size_t m;    ///< rows of A and C; >= 1
    xl_mat a;    ///< m x w.shape.cols; columns are contiguous
    xl_qmat w;   ///< the weights; a row is an output channel
    xl_mat c;    ///< m x w.shape.rows, of a pair half as many columns; must not
                 ///< overlap what is read
    xl_mem workspace;    ///< optional: scratch, xl_qgemm_workspace() bytes
    const char *variant; ///< "qgemm_ref" to force one; NULL: the best
    xl_epilogue epilogue; ///< optional: an expression over `y`, as of xl_gemm
    xl_accuracy accuracy; ///< XL_ACCURACY_FAST: where A is of f16 or bf16,
                          ///< weights may be rounded to its type
    xl_activations activations; ///< how A is multiplied
    xl_qgemm_norm norm; ///< optional: A' = norm(A) is multiplied in A's place,
                        ///< and quantised where activations are bytes
    /** W is two matrices of one shape, one below the other, and C has a column
     *  for each row of one of them: the epilogue is over `y`, the product with
     *  row j, and `y2`, that with row w.shape.rows / 2 + j, and must read both.
     *  "silu(y) * y2" is a gated layer in one launch. */
    bool is_pair;
} xl_qgemm;
#define XL_QGEMM_INIT XL_SIZED(xl_qgemm)

/**
 * Enqueue c[i][j] = epilogue(sum_l a[i][l] w[j][l]), w the values of the
 * weights (enum xl_qformat).
 *
 * Types:     A of f32, f16 or bf16; sums in f32; C of f32, f16 or bf16, with an
 *            epilogue also of i32, i8, u8 or bool.
 * Rows:      any number. Few rows of A are bound by the bytes of the weights;
 *            the kernels read them again for every TM rows
 *            (xl_qgemm_explain()). For many rows W may be dequantised into the
 *            workspace and multiplied by a variant of xl_gemm: to f32, with A
 *            converted to f32 there too, or of f16 and bf16 with
 *            XL_ACCURACY_FAST to A's type. Of XL_INT8 with
 *            XL_ACTIVATIONS_I8, and less than 2^17 columns, such a variant
 *            multiplies the bytes of A and W as they are, into sums of 32 bits;
 *            with XL_ACTIVATIONS_F8 no other does.
 * Norm:      few rows are normed within the kernel that multiplies them, where
 *            that costs less than a launch; else xl_norm's kernels put A', of
 *            A's type, into the workspace first (xl_qgemm_explain() says which
 *            and why). A call that is normed in its kernel needs no workspace.
 * Pair:      by the kernels for few rows alone. With dozens of rows two calls
 *            may be faster, of which the second's epilogue reads C as the first
 *            left it: xl_qgemm_explain() has what is expected of each. The
 *            bounds are of y and of y2.
 * Specials:  a NaN or an infinity in a row of A makes its row of C NaN or
 *            infinite; a scale that is NaN, or of XL_FP8 a code, its column.
 *            With a norm a row of A with a NaN or an infinity, or whose sum of
 *            squares exceeds f32, makes its row of C NaN.
 * Cost:      2 m n k flop; at least the bytes of W, A and C once.
 * Accuracy:  |error| <= ((1 + u)^(k + 8) - 1) |A| |W|^T elementwise, u = 2^-23,
 *            then one rounding to c's type: a term passes at most k + 8
 *            roundings, those of its weight, of the product, of a scale and of
 *            sums in any order; codes times scales are exact, of XL_FP8 one of
 *            these roundings. Add k 2^-126 (1 + s), s the largest scale, since
 *            a device may flush products, and 448 sum |A| 2^-126 where one of
 *            XL_FP8 is below 2^-126. A sum of the elements of A that share a
 *            scale, 256 at most, times their codes (up to 2^8, of XL_FP8 448)
 *            must not exceed f32, although the product with the scale may not.
 *            Source: Higham 2002, section 3.1.
 *            With XL_ACCURACY_FAST and A of f16 or bf16 weights may be rounded
 *            once more, to A's type: add u' |A| |W| + v sum |A|, u' its unit
 *            roundoff (2^-11, 2^-8) and v half of its least number (2^-25; 0),
 *            and a weight beyond f16's range is infinite.
 *            With XL_ACTIVATIONS_I8 A' is A as it is quantised, each element
 *            within (1/2 + 2^-14) d of its own, d the scale of its group, and
 *            C, before the epilogue, within ((1 + u)^(k / 32 + 24) - 1) |A'|
 *            |W'|^T + k 2^-110 (1 + s) of A' W^T. |W'| has for a weight the
 *            magnitudes of what it is the sum of: the scale times its code,
 *            0 to 31, times its zero (Q4_0, Q5_0, int4), and its minimum; |W|
 *            of Q8_0, Q6_K, IQ4_NL, MXFP4 and int8. A group's sum of products
 *            of bytes is exact. The workspace holds A'. FAST has no effect.
 *            With XL_ACTIVATIONS_F8, and A' as above, C is within (k u +
 *            min(k, 128) 2^-12 + 8 2^-23) |A'| |W|^T + k 2^-110 (1 + s) of
 *            A' W^T, u = 2^-23; with XL_ACCURACY_FAST u = 2^-12, since the sums
 *            are those of xl_gemm of 8-bit floats.
 *            With a norm the bounds are of A', with 3 k / 2 + 16 roundings in
 *            place of k + 8: a sum of k squares, whose root halves its error,
 *            its mean, the root, gain and factor add k / 2 + 8. Of A of f16 or
 *            bf16 A' may be rounded to its type: add u' |A'| |W| + v sum |W|,
 *            and an element beyond f16's range is infinite. In place of
 *            k 2^-126 (1 + s) add k 2^-110 (1 + s) (1 + eps^-1/2), for eps >=
 *            2^-100; sums of A times gain, before the factor, must not exceed
 *            f32. With XL_ACTIVATIONS_I8 besides, C is within (1/2 + 2^-10)
 *            sum d |W| more of A' W^T, d the scale of each group of A';
 *            with XL_ACTIVATIONS_F8 d times the distance of E4M3's numbers there.
 * Repeats, Blocks, @param: as xl_gemm_run().
 * @return as xl_gemm_run(), of A, W and C:
 *         XL_BAD_ARGUMENT  no such format, accuracy, activations or norm; an
 *                          odd offset; zeros of a format that has none; a norm
 *                          without gain; a pair without an epilogue
 *         XL_BAD_SCALAR    eps is negative, not finite or below 2^-126
 *         XL_BAD_SHAPE     a size of 0, columns that are not whole blocks or
 *                          groups; an odd number of rows of a pair
 *         XL_OVERLAP       C overlaps itself, A, W, the gain or a binding, or
 *                          the workspace an operand
 *         XL_UNSUPPORTED   types; XL_ACTIVATIONS_I8 with XL_FP8, whose codes
 *                          are floats; a pair with XL_ACTIVATIONS_F8; columns
 *                          of A or a gain that are not contiguous; 2^31 rows
 *                          or more
 */
XL_API xl_status xl_qgemm_run(xl_queue *q, const xl_qgemm *g,
                              const xl_sync *sync);
XL_API xl_status xl_qgemm_prepare(xl_queue *q, const xl_qgemm *g);
/** As xl_gemm_prepare_range(), from g->m to @p m_last. */
XL_API xl_status xl_qgemm_prepare_range(xl_queue *q, const xl_qgemm *g,
                                        size_t m_last);
/** As xl_gemm_prepare_async(), from g->m to @p m_last. */
XL_API xl_status xl_qgemm_prepare_async(xl_queue *q, const xl_qgemm *g,
                                        size_t m_last, xl_prepared done,
                                        void *arg);
XL_API xl_status xl_qgemm_workspace(xl_queue *q, const xl_qgemm *g,
                                    size_t *bytes);
/** As xl_gemm_explain(). */
XL_API xl_status xl_qgemm_explain(xl_queue *q, const xl_qgemm *g,
                                  xl_choice *out, unsigned cap, unsigned *n);

#ifdef __cplusplus
}
#endif
#endif
