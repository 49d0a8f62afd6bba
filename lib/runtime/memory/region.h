/* SPDX-License-Identifier: Apache-2.0 */
/* The region of memory that an operand of a call addresses: which memory,
 * which bytes of it, and their sizes and strides. An operand is resolved to a
 * region once (resolve.h); the checks of a call compare regions. */
#ifndef XL_RUNTIME_REGION_H
#define XL_RUNTIME_REGION_H

#include <crosslane/tensor.h>

#include "base/error.h"

struct xl__region {
    const char *name;  /* for messages; borrowed */
    const void *root;  /* the cl_mem that owns the bytes; NULL: the host's
                          address space, or not resolved */
    size_t base;       /* of the operand's memory in root; 0: not resolved */
    size_t begin, end; /* in root, from the first byte to one past the last */
    size_t elem_bytes;
    xl_dtype dtype;
    bool is_located;    /* root and base are known */
    bool is_written;    /* by the call; otherwise it is read */
    bool may_be_result; /* it may be the very view that is written */
    bool is_block;   /* of the bytes between the first and the last it is not
                        known which belong to it */
    unsigned n_dims; /* those of more than one element, outermost first */
    size_t size[XL_MAX_DIMS], stride[XL_MAX_DIMS]; /* stride in bytes */
};

/* The region of a view from the start of its memory. XL_BAD_ARGUMENT: an
 * unknown dtype, too many dimensions; XL_BAD_SHAPE: a size of 0; XL_OVERFLOW.
 */
xl_status xl__region_init(struct xl__region *r, const char *name,
                          const xl_tensor *view, struct xl__error *e);
/* Add `count` copies of the region at a constant distance, as the outermost
 * dimension; false on overflow. */
bool xl__region_repeat(struct xl__region *r, size_t count, size_t step_elems);
/* The region of several copies, at distances from `least` to `most`; false on
 * overflow. */
bool xl__region_spread(struct xl__region *r, size_t least, size_t most);

/* Can two index tuples address one element? True also where this is not known.
 * A dimension of stride 0 counts only if the region is written. */
bool xl__region_overlaps_itself(const struct xl__region *r);
/* XL_OVERLAP where it does. */
xl_status xl__region_check_itself(const struct xl__region *r,
                                  struct xl__error *e);
/* Is it certain that they have no byte in common? */
bool xl__regions_are_disjoint(const struct xl__region *a,
                              const struct xl__region *b);
/* The same elements in the same order. */
bool xl__regions_are_same_view(const struct xl__region *a,
                               const struct xl__region *b);

#endif
