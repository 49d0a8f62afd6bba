/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the caller's command queue, wrapped, or one that the library
 * creates. Every operation is enqueued on one. */
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

/** Events to wait for and the event to return. All zero: start after the
 *  commands already in the queue; return no event. */
typedef struct xl_sync {
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *done; ///< the caller releases it; its profile is the time
} xl_sync;

/**
 * Use the caller's command queue (retained until destroyed). Devices are not
 * enumerated: device and context are the queue's. Compiled kernels are shared
 * by all wrapped queues of one context and released with the last of them.
 *
 * @return XL_OK, XL_BAD_ARGUMENT, XL_NO_MEMORY or an OpenCL code; the message
 *         is in xl_lib_error(lib)
 */
XL_API xl_status xl_queue_wrap(xl_lib *lib, cl_command_queue native,
                               xl_queue **out);

/** Create a command queue: in a context of this one device, in order, with
 *  profiling where the driver supports it. Errors as xl_queue_wrap(). */
XL_API xl_status xl_queue_create(xl_lib *lib, xl_device *dev, xl_queue **out);

/** Create another command queue in the context of @p other. */
XL_API xl_status xl_queue_create_beside(xl_queue *other, xl_queue **out);

/** NULL is allowed. Does not wait for enqueued commands. */
XL_API void xl_queue_destroy(xl_queue *q);

/** Wait for all enqueued commands. @return XL_OK or an OpenCL code */
XL_API xl_status xl_queue_finish(xl_queue *q);

XL_API cl_command_queue xl_queue_cl(const xl_queue *q);
XL_API cl_context xl_queue_context(const xl_queue *q);
XL_API xl_device *xl_queue_device(const xl_queue *q);

/** Message of the last failed call on @p q, "" when it succeeded. Valid
 *  until the next call on @p q. */
XL_API const char *xl_error_detail(const xl_queue *q);

/** Times of one launch by the device's clock, in nanoseconds. */
typedef struct xl_span {
    const char *label; ///< the kernel's name; static
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
} xl_span;

/**
 * Record every launch on @p q from now on, or stop. The last 4096 spans are
 * kept. Calls of other libraries are not recorded: their events need not cover
 * the whole call.
 *
 * @return XL_OK, or XL_UNSUPPORTED when the queue was made without profiling
 */
XL_API xl_status xl_timeline_enable(xl_queue *q, bool on);

/** Pass every recorded span to @p each, in order of enqueueing, and remove
 *  them. Waits for the launches to end. */
XL_API xl_status xl_timeline_drain(xl_queue *q,
                                   void (*each)(const xl_span *, void *),
                                   void *arg);

#ifdef __cplusplus
}
#endif
#endif
