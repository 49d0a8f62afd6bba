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

/* Whether images are gathered where they are. */
bool xl__implicit_reads(const xl_conv *d);
/* Set the copy of images in `w`, whose `conv`, p and q are those of d, and
 * change `conv` to that of the copy, unless xl__implicit_reads(). */
struct xl__implicit_filter xl__implicit_images(const xl_conv *d,
                                               struct xl__windows *w);

#endif
