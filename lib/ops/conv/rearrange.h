/* SPDX-License-Identifier: Apache-2.0 */
/* The step of conv/rearrange.cl. */
#ifndef XL_OPS_CONV_REARRANGE_H
#define XL_OPS_CONV_REARRANGE_H

#include "ops/conv/conv.h"

/* Where an operand of a step begins: in memory of the call, an element behind
 * the offset that it gives, or in scratch memory. */
struct xl__conv_place {
    unsigned mem, value; /* slots; of scratch memory value is not used */
    size_t elems;
};

/* Let an argument of a plan of GEMM be that of A, B and C at these places,
 * with alpha = 1 and beta = 0 where C is scratch memory. */
void xl__conv_redirect(const struct xl__conv_place to[3], struct xl__arg *arg);
/* Add memory and offset. */
void xl__conv_arg_place(struct xl__step *s, const struct xl__conv_place *at);

enum { XL__REARRANGED_DIMS = 7 };
struct xl__rearranged {
    struct xl__conv_place from, to;
    xl_dtype from_dtype, to_dtype, y_dtype;
    /* Sizes, 0: 1, and strides. Dimensions 0 and 1, 2 and 3, 4 to 6 are one of
     * the launch each; `end` of those, not 0, cuts it. */
    size_t size[XL__REARRANGED_DIMS];
    size_t src[XL__REARRANGED_DIMS], dst[XL__REARRANGED_DIMS];
    size_t end_rows, end_items;
    size_t align;         /* bytes that divide the address of the call's box */
    uint64_t missing;     /* bit i3 size[5] + i5: src counts as 0 */
    size_t parts, part;   /* boxes that are added, 0: 1; their distance */
    unsigned alpha, beta; /* slots */
};

/* Append the step; returns the bytes that it moves. */
double xl__conv_rearrange(const struct xl__limits *l,
                          const struct xl__rearranged *r, struct xl__plan *p);

#endif
