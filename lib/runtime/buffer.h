/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks of a cl_mem and does with one besides the public
 * helpers (crosslane/buffer.h), which are in the same file. The regions of
 * operands are in runtime/memory. */
#ifndef XL_RUNTIME_BUFFER_H
#define XL_RUNTIME_BUFFER_H

#include <crosslane/tensor.h>

#include "base/error.h"
#include "device/private_api.h"

/* The size, by one query; SIZE_MAX for SVM. */
xl_status xl__buffer_bytes(xl_mem mem, size_t *bytes, struct xl__error *e);
/* Release a buffer of xl_buffer_create(); NULL is allowed. */
XL__PRIVATE_API void xl__buffer_release(cl_mem mem);

#endif
