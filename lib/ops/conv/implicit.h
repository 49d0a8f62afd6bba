/* SPDX-License-Identifier: Apache-2.0 */
/* Images whose windows a kernel of GEMM gathers (implicit.c). */
#ifndef XL_OPS_CONV_IMPLICIT_H
#define XL_OPS_CONV_IMPLICIT_H

#include "ops/conv/conv.h"
#include "ops/gemm/engines/windows.h"

enum { XL__IMPLICIT_BYTES = 16 }; /* of a copy of a pixel's channels */

/* Columns of a filter, and channels of each, as windows have them: those of
 * the copy where images are copied. */
struct xl__implicit_filter {
    size_t columns, c;
};

/* The channels of a pixel that a variant of GEMM reads are a multiple of
 * `read`; of a copy, of `copied`: larger where it reads more at once then. */
struct xl__implicit_unit {
    size_t read, copied;
};
struct xl__implicit_unit xl__implicit_unit(const struct xl__variant *of);
/* Whether images are gathered where they are. */
bool xl__implicit_reads(const xl_conv *d, struct xl__implicit_unit unit);
/* Set the copy of images in `w`, whose `conv`, p and q are those of d, and
 * change `conv` to that of the copy, unless xl__implicit_reads(). */
struct xl__implicit_filter xl__implicit_images(const xl_conv *d,
                                               struct xl__implicit_unit unit,
                                               struct xl__windows *w);

/* The canonical product `g` of windows `w`, which `to` points to. base: as of
 * xl__gemm_set_views(). */
void xl__implicit_product(const xl_gemm *g, const struct xl__windows *w,
                          const size_t base[3], struct xl__gemm_canonical *to);

#endif
