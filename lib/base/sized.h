/* SPDX-License-Identifier: Apache-2.0 */
/* Public descriptors whose first member is their size: crosslane/sized.h. */
#ifndef XL_BASE_SIZED_H
#define XL_BASE_SIZED_H

#include "base/error.h"

struct xl__sized {
    const char *name;        /* "xl_gemm" */
    const char *initialiser; /* "XL_GEMM_INIT" */
    size_t bytes;            /* in this library */
};

#define XL__SIZED(type, initialiser)                                          \
    {                                                                         \
#type, #initialiser, sizeof(type)                                     \
    }

/* The caller's descriptor with all members of this library: `given` itself, or
 * where that is smaller `full`, which has room for type->bytes and becomes a
 * copy of it, ended by zeros. NULL: its size is wrong, XL_BAD_ARGUMENT. */
const void *xl__sized_read(const struct xl__sized *type, const void *given,
                           void *full, struct xl__error *e);

#endif
