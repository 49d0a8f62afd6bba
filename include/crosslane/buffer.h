/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: allocate, write, read, fill. For programs that have no helpers
 * of their own; the operations take any cl_mem. */
#ifndef CROSSLANE_BUFFER_H
#define CROSSLANE_BUFFER_H

#include <stddef.h>

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocate device memory in the queue's context, also above the driver's
 * largest allocation where a vendor has a flag for that. Calls recognize large
 * buffers by their size, also those that the application created.
 *
 * @param bytes  at least 1
 * @param out    released by the caller: clReleaseMemObject()
 * @return XL_OK; XL_BAD_SHAPE for 0 bytes; XL_UNSUPPORTED for a size that
 *         exceeds the device's memory, without a call to the driver; or an
 *         OpenCL code
 */
XL_API xl_status xl_buffer_create(xl_queue *q, size_t bytes, cl_mem *out);

/**
 * Copy host to device and back, after what is in the queue; block until done.
 * @p bytes is at least 1.
 *
 * @return XL_OK; XL_BAD_ARGUMENT; XL_BAD_SHAPE for 0 bytes;
 *         XL_BUFFER_TOO_SMALL when the range does not lie within the buffer or
 *         sub-buffer: nothing was enqueued; or an OpenCL code
 */
XL_API xl_status xl_buffer_write(xl_queue *q, cl_mem dst, size_t offset_bytes,
                                 const void *src, size_t bytes);
XL_API xl_status xl_buffer_read(xl_queue *q, cl_mem src, size_t offset_bytes,
                                void *dst, size_t bytes);

/** Enqueue: set @p n_words 32-bit words to @p word, from word @p offset_words
 *  on. Implemented as a kernel, since clEnqueueFillBuffer fails on large
 *  buffers with some drivers (GE-06). Errors as xl_buffer_write(), for 0
 *  words too, and XL_OVERFLOW. */
XL_API xl_status xl_buffer_fill(xl_queue *q, cl_mem dst, size_t offset_words,
                                cl_uint word, size_t n_words);

/** The same, enqueued as @p sync states; they return at once. The host memory
 *  stays valid and is not written by others until the command has ended. */
XL_API xl_status xl_buffer_enqueue_write(xl_queue *q, cl_mem dst,
                                         size_t offset_bytes, const void *src,
                                         size_t bytes, const xl_sync *sync);
XL_API xl_status xl_buffer_enqueue_read(xl_queue *q, cl_mem src,
                                        size_t offset_bytes, void *dst,
                                        size_t bytes, const xl_sync *sync);
XL_API xl_status xl_buffer_enqueue_fill(xl_queue *q, cl_mem dst,
                                        size_t offset_words, cl_uint word,
                                        size_t n_words, const xl_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
