/* SPDX-License-Identifier: Apache-2.0 */
/* The region of memory that a buffer or sub-buffer occupies, for the checks of
 * overlap and length. The public helpers over cl_mem (crosslane/buffer.h) are
 * in the same file. */
#ifndef XL_RUNTIME_BUFFER_H
#define XL_RUNTIME_BUFFER_H

#include <crosslane/tensor.h>

#include "base/error.h"

struct xl__buffer_region {
    const void *root; /* the cl_mem that owns the bytes; NULL: SVM */
    size_t begin;     /* first byte in it; of SVM the address */
    size_t bytes;     /* SIZE_MAX: not known (SVM) */
};

/* The region of a buffer; a sub-buffer is a region of its parent. Two regions
 * overlap only if their roots are equal. Makes two or three driver queries. */
xl_status xl__buffer_region_get(xl_mem mem, struct xl__buffer_region *out,
                                struct xl__error *e);
/* Only the size, by one query; SIZE_MAX for SVM. */
xl_status xl__buffer_bytes(xl_mem mem, size_t *bytes, struct xl__error *e);
/* Release a buffer of xl_buffer_create(); NULL is allowed. */
void xl__buffer_release(cl_mem mem);

#endif
