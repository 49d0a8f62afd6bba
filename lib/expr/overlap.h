/* SPDX-License-Identifier: Apache-2.0 */
/* Overlap of strided views. */
#ifndef XL_EXPR_OVERLAP_H
#define XL_EXPR_OVERLAP_H

#include "expr/language/operations.h"

/* The bytes that a binding addresses: [begin, end) from the start of `root`.
 */
struct xl__byte_range {
    const void *root; /* the buffer or pool; NULL: an SVM address */
    size_t begin, end;
    size_t elem_bytes;
};

/* Can two index tuples of the view address one element? True also when this
 * is not known. */
bool xl__view_overlaps_itself(const struct xl__parameter *b);

/* Is it certain that views a (at `at`) and b (at `bt`) have no byte in common?
 */
bool xl__views_are_disjoint(const struct xl__parameter *a,
                            const struct xl__byte_range *at,
                            const struct xl__parameter *b,
                            const struct xl__byte_range *bt);

#endif
