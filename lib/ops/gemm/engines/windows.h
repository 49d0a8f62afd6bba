/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose A, or B, is the matrix of a convolution, which is never
 * formed: its rows, or columns, are windows of images, gathered by the kernels
 * (cl/gemm/windows).
 * Images and filters whose pixels are no multiples of 16 bytes, or whose
 * channels are not contiguous, are first copied to scratch memory. */
#ifndef XL_OPS_WINDOWS_H
#define XL_OPS_WINDOWS_H

#include <crosslane/conv.h>

#include "device/facts.h"
#include "runtime/plan.h"

/* A copy of n x h x w x c elements of 2 bytes, dense in this order; all 0:
 * there is none. Its rows begin with `left` pixels of 0; then from_w x from_c
 * elements of the source follow, and zeros. pairs: n pairs of the source's
 * from_n images, element beside element, c counting those of both. */
struct xl__window_copy {
    unsigned mem, value; /* the source's slots */
    size_t stride[4];    /* the source's, along n, c, h, w */
    size_t n, h, w, c;
    size_t left, from_n, from_w, from_c;
    bool pairs;
};

/* The pixels of a result that one residue of strides has: the padding and size
 * of their windows, the tap of the first of these, the first pixel. Size 0: no
 * tap reaches them. */
struct xl__residue {
    long pad_top, pad_left;
    size_t r, s, tap, row, col;
};
enum { XL__MOST_RESIDUES = 4 };

/* B's filters where they are, one tap after the other: `n` matrices of `depth`
 * x columns, each `step` elements behind the one before. The windows' first
 * tap is `first`, that below it `above` less, beside it `beside` less. k of a
 * tap counts as `padded`, a multiple of a slice's. */
struct xl__taps {
    size_t n, depth, padded, step, first, above, beside;
};

/* Images in NHWC as they are gathered, copied or not, with all fields of a
 * canonical convolution set, in elements of 2 bytes; p and q rows and columns
 * of windows; of_b: B is gathered, A has the filters. across, of B: a row of B
 * is a window, and A has the gradient of out, whose copy is `filters`. Where
 * images are pairs, out's are `out_images`, each `out_step` elements behind
 * the one before.
 *
 * taps.n, not 0: B is taps, whose columns are contiguous. Residues, if there
 * are any, are products of a batch, the deepest first, each with windows of
 * its own, and a row of C is a pixel of `result`. */
struct xl__windows {
    bool of_b, across;
    xl_conv conv;
    size_t p, q;
    size_t out_images, out_step;
    struct xl__window_copy images, filters;
    struct xl__taps taps;
    size_t n_residues;
    struct xl__residue residue[XL__MOST_RESIDUES];
    struct {
        size_t stride[4], h, w, stride_h, stride_w;
    } result;
};

/* Define what cl/gemm/windows and the copies of lines require. */
void xl__windows_define(struct xl__step *s, const struct xl__windows *v);
/* Append struct windows, XL__WINDOWS_WORDS words, as one argument. depth: k of
 * a slice. */
enum { XL__WINDOWS_WORDS = 15 };
void xl__arg_windows(struct xl__step *s, const struct xl__windows *v,
                     size_t depth);
/* Likewise struct residues. */
void xl__arg_residues(struct xl__step *s, const struct xl__windows *v,
                      size_t depth);
/* Bytes of the images that are gathered. */
double xl__windows_bytes(const struct xl__windows *v);

/* Where in scratch memory the copies are, behind `taken` bytes, in elements;
 * where they end, and what is moved. */
struct xl__window_copies {
    size_t images, filters, end_bytes;
    double moved_bytes;
    unsigned launches;
};
struct xl__window_copies xl__windows_place(const struct xl__windows *v,
                                           size_t taken);
/* Append the steps that make them. */
void xl__windows_copy(const struct xl__limits *l, const struct xl__windows *v,
                      const struct xl__window_copies *at, struct xl__plan *p);

#endif
