/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the caller's own, wrapped, or ours. Everything the library runs
 * goes through one. */
#ifndef CROSSLANE_QUEUE_H
#define CROSSLANE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <crosslane/cl.h>
#include <crosslane/device.h>
#include <crosslane/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One thread at a time; queues are independent of each other. */
typedef struct xl_queue xl_queue;

/** When to start, and how to know the end. All zero: after what is in the
 *  queue, and nobody asks. */
typedef struct xl_sync {
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *done; ///< the caller releases it; its profile is the time
} xl_sync;

/**
 * Use the caller's own queue (retained until destroyed). Enumerates nothing:
 * device and context are the queue's. Compiled kernels are shared by all
 * wrapped queues of one context and go when the last of them goes.
 *
 * @return XL_OK, XL_BAD_ARGUMENT, XL_NO_MEMORY or an OpenCL code; the story is
 *         in xl_lib_error(lib)
 */
XL_API xl_status xl_queue_wrap(xl_lib *lib, cl_command_queue native,
                               xl_queue **out);

/** A queue of our own: a context of that device alone, in order, profiling
 *  on where the driver allows it. Errors as xl_queue_wrap(). */
XL_API xl_status xl_queue_create(xl_lib *lib, xl_device *dev, xl_queue **out);

/** Another queue of ours in @p other's context. */
XL_API xl_status xl_queue_create_beside(xl_queue *other, xl_queue **out);

/** NULL is allowed. Does not wait for what is enqueued. */
XL_API void xl_queue_destroy(xl_queue *q);

/** Wait for all that was enqueued. @return XL_OK or an OpenCL code */
XL_API xl_status xl_queue_finish(xl_queue *q);

XL_API cl_command_queue xl_queue_cl(const xl_queue *q);
XL_API cl_context xl_queue_context(const xl_queue *q);
XL_API xl_device *xl_queue_device(const xl_queue *q);

/** The story of the last failed call on @p q, "" when it succeeded. Lives
 *  until the next call on @p q. */
XL_API const char *xl_error_detail(const xl_queue *q);

/** One launch, as the driver's clock saw it; nanoseconds. */
typedef struct xl_span {
    const char *label; ///< the kernel's name; static
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
} xl_span;

/**
 * Record every launch on @p q from now on, or stop. Up to 4096 spans are kept,
 * the oldest drop out. Another library's calls are left out: their events need
 * not cover the whole call.
 *
 * @return XL_OK, or XL_UNSUPPORTED when the queue was made without profiling
 */
XL_API xl_status xl_timeline_enable(xl_queue *q, bool on);

/** Give every finished span, in order of enqueueing, to @p each and forget
 *  them. Waits for the work they stand for. */
XL_API xl_status xl_timeline_drain(xl_queue *q,
                                   void (*each)(const xl_span *, void *),
                                   void *arg);

#ifdef __cplusplus
}
#endif
#endif
