/* SPDX-License-Identifier: Apache-2.0 */
/* What a call permits its variants to give up for speed. */
#ifndef CROSSLANE_ACCURACY_H
#define CROSSLANE_ACCURACY_H

#ifdef __cplusplus
extern "C" {
#endif

/** Accuracy that an operation may give up for speed: a GEMM, where A and B have
 *  one type, or a convolution of floats. Bounds: xl_gemm_run(), xl_conv_run(). */
typedef enum xl_accuracy {
    /** Products of f32 are f32 products; sums have the sum's type. */
    XL_ACCURACY_FULL,
    /** Operands of f32 may be split into terms of a narrower type, which a
     *  matrix engine multiplies. The error of the product, relative to the
     *  norms of the rows of A and columns of B, is no larger than that of a
     *  chain of f32 FMAs. This does not hold element by element: an element of
     *  A (B) below 2^-16 of the largest in its row (column) loses bits, and one
     *  below 2^-39 counts as 0. Rows and columns may have any scale. Where an
     *  operand has an infinity or NaN, the device itself computes the product
     *  in plain f32 instead. The workspace holds the terms.
     *  A convolution may use Winograd's F(2x2, 3x3): an error relative to the
     *  largest magnitudes of filters and windows, not element by element. */
    XL_ACCURACY_SPLIT,
    /** f32 operands may be rounded to 11 significant bits (TF32), and sums
     *  of 8-bit floats kept as the matrix engine keeps them. A convolution may
     *  use F(4x4, 3x3). */
    XL_ACCURACY_FAST,
    XL_N_ACCURACIES
} xl_accuracy;

#ifdef __cplusplus
}
#endif
#endif
