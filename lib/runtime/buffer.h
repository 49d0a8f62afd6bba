/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a buffer really are: what the checks of overlap and
 * length ask the driver. */
#ifndef XL_RUNTIME_BUFFER_H
#define XL_RUNTIME_BUFFER_H

#include <crosslane/tensor.h>

#include "base/error.h"

struct xl__buffer_region {
    const void *root; /* the buffer that owns the bytes; NULL: SVM */
    size_t begin;     /* first byte within it; of SVM: the address */
    size_t bytes;     /* SIZE_MAX: nobody can say (SVM) */
};

/* Sub-buffers are followed to their parents. Two or three driver queries. */
xl_status xl__buffer_region_get(xl_mem mem, struct xl__buffer_region *out,
                                struct xl__error *e);
/* Its length alone, by one query; SIZE_MAX for SVM. */
xl_status xl__buffer_bytes(xl_mem mem, size_t *bytes, struct xl__error *e);
/* Release what xl_buffer_create() gave; NULL is allowed. */
void xl__buffer_release(cl_mem mem);

#endif
