/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks of a cl_mem and does with one besides the public
 * helpers (crosslane/buffer.h), which are in the same file. The regions of
 * operands are in runtime/memory. */
#ifndef XL_RUNTIME_BUFFER_H
#define XL_RUNTIME_BUFFER_H

#include <crosslane/tensor.h>

#include "base/error.h"
#include "device/device.h"
#include "device/private_api.h"
#include "runtime/plan.h"

/* The size, by one query; SIZE_MAX for SVM. */
xl_status xl__buffer_bytes(xl_mem mem, size_t *bytes, struct xl__error *e);
/* Does a buffer of so many bytes need the vendor table's large_buffers? */
XL__PRIVATE_API bool xl__buffer_is_large(const xl_device *dev, size_t bytes);
/* clCreateBuffer with the flags that the size needs. */
cl_mem xl__buffer_new(const xl_queue *q, cl_mem_flags flags, size_t bytes,
                      void *host, cl_int *code);
/* Let the plan's programs, not built yet, have large buffers. */
void xl__plan_permit_large(const xl_device *dev, struct xl__plan *p);
/* Release a buffer of xl_buffer_create(); NULL is allowed. */
XL__PRIVATE_API void xl__buffer_release(cl_mem mem);

#endif
