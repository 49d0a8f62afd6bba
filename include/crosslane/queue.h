/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the caller's command queue, wrapped, or one that the library
 * creates. Every operation is enqueued on one. */
#ifndef CROSSLANE_QUEUE_H
#define CROSSLANE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/cl.h>
#include <crosslane/device.h>
#include <crosslane/sized.h>
#include <crosslane/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One thread at a time; queues are independent of each other. */
typedef struct xl_queue xl_queue;

/**
 * Events to wait for and events to return. {XL_SYNC_INIT}, or NULL in place of
 * the struct: start after the commands already in the queue; return no event.
 *
 * A call enqueues one command or several. On an out-of-order queue a call
 * without a wait list begins with a barrier, so it starts after all that is in
 * the queue; a call with one waits for those events only.
 *
 * A call that fails returns at once and leaves `done` and `first` as they
 * were. The commands that it enqueued before the failure stay in the queue and
 * run: until a marker behind them is complete, results are undefined, and SVM
 * and host memory that was passed must stay valid. The library keeps its
 * scratch and the caller's buffers until then.
 */
typedef struct xl_sync {
    size_t size; ///< XL_SYNC_INIT
    cl_uint n_wait;
    const cl_event *wait; ///< n_wait events of the queue's context
    cl_event *done;  ///< the event of the last command; the caller releases it
    cl_event *first; ///< the event of the first command; the caller releases
                     ///< it. The time of the call is from this one's START to
                     ///< done's END: done's own profile is that of the last
                     ///< command alone
} xl_sync;
#define XL_SYNC_INIT XL_SIZED(xl_sync)

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

/**
 * Called when a call in the background (its name ends in _async) has ended, on
 * a thread of the library. Such a call returns at once. It copies its
 * descriptor and all that this points to, and retains memory objects, so that
 * the caller may change and free its own. One thread of each queue, started by
 * the first such call, makes them in order. What they build and check is of
 * the context: a later call on any of its queues builds and checks none of it
 * again, and makes only its plan. A call that needs a program before it is
 * built waits for it.
 *
 * The callback must not use the queue that the call was made on. To have
 * another kernel in the time until then, name a variant that is prepared:
 *
 *   g.variant = "gemm_ref";
 *   xl_gemm_prepare(q, &g);      // one small kernel
 *   g.variant = NULL;
 *   xl_gemm_prepare_async(q, &g, 0, set_flag, &is_ready);
 *   ...
 *   g.variant = is_ready ? NULL : "gemm_ref";   // is_ready: an atomic
 *   xl_gemm_run(q, &g, NULL);
 *
 * @param status  of the call; XL_CANCELLED: the queue was destroyed before it
 *                began
 * @param detail  the message, "" when it succeeded; valid during the callback
 */
typedef void (*xl_prepared)(xl_status status, const char *detail, void *arg);

/** Create a command queue: in a context of this one device, in order, with
 *  profiling where the driver supports it. Errors as xl_queue_wrap(). */
XL_API xl_status xl_queue_create(xl_lib *lib, xl_device *dev, xl_queue **out);

/** Create another command queue in the context of @p other. */
XL_API xl_status xl_queue_create_beside(xl_queue *other, xl_queue **out);

/** NULL is allowed. Does not wait for enqueued commands. Of calls in the
 *  background it waits for the one that runs, since no compiler can be
 * stopped; the others end with XL_CANCELLED. No callback is called after it
 * returns. Not to be called by a callback of this queue. */
XL_API void xl_queue_destroy(xl_queue *q);

/** Wait for all enqueued commands. @return XL_OK or an OpenCL code */
XL_API xl_status xl_queue_finish(xl_queue *q);

/**
 * Release what the queue keeps for later calls: its scratch, its kernels and
 * its plans. Does not wait: enqueued commands keep what they use until they
 * have ended. A later call makes again what it needs; it builds no program
 * that the context still has: those that no queue has, xl_lib_trim() frees.
 *
 * @return XL_OK or XL_BAD_ARGUMENT
 */
XL_API xl_status xl_queue_trim(xl_queue *q);

/**
 * Limit the scratch of calls without a workspace. A variant of a product, a
 * convolution or a softmax that needs more than a quarter of the device's
 * memory, or than one allocation, runs only where the call names it; else it
 * is not selected, with the reason in xl_gemm_explain() and its like. The queue
 * keeps one buffer, as large as the largest call needed; an
 * out-of-order queue allocates one for each call and releases it with the
 * call's last command. A call that needs more than the limit returns
 * XL_BUFFER_TOO_SMALL with the number of bytes, and nothing is enqueued; with
 * a workspace of its own (xl_gemm_workspace() and its like) it runs.
 *
 * @param bytes  of one call; 0, as at first: no limit. A larger buffer that
 *               the queue keeps is released
 * @return XL_OK or XL_BAD_ARGUMENT
 */
XL_API xl_status xl_queue_set_scratch_limit(xl_queue *q, size_t bytes);

XL_API cl_command_queue xl_queue_cl(const xl_queue *q);
XL_API cl_context xl_queue_context(const xl_queue *q);
XL_API xl_device *xl_queue_device(const xl_queue *q);

/** Message of the last failed call on @p q, "" when it succeeded. Valid
 *  until the next call on @p q. */
XL_API const char *xl_error_detail(const xl_queue *q);

/** Times of one launch by the device's clock, in nanoseconds. */
typedef struct xl_span {
    const char *label; ///< the kernel's name; static, or the application's
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
} xl_span;

/**
 * Record every launch on @p q from now on, or stop and discard what was
 * recorded. The last 4096 spans are kept. Calls of other libraries are not
 * recorded: their events need not cover the whole call.
 *
 * @return XL_OK, or XL_UNSUPPORTED when the queue was made without profiling
 */
XL_API xl_status xl_timeline_enable(xl_queue *q, bool on);

/**
 * Record a command that the application itself enqueued on @p q, so that
 * xl_samples_take() times it by the event clock, as the library's launches.
 * Without effect while nothing is recorded.
 *
 * @param label  of its span; it must exist until the span is drained
 * @param event  of the command; retained until then
 * @return XL_OK or XL_BAD_ARGUMENT
 */
XL_API xl_status xl_timeline_record(xl_queue *q, const char *label,
                                 cl_event event);

/** Pass every recorded span to @p each, in order of enqueueing, and remove
 *  them. Waits for the launches to end. */
XL_API xl_status xl_timeline_drain(xl_queue *q,
                                   void (*each)(const xl_span *, void *),
                                   void *arg);

/** What an argument of a kernel is. */
typedef enum xl_kernel_arg_kind {
    XL_ARG_VALUE, ///< bytes at value
    XL_ARG_MEM,   ///< the cl_mem at value; NULL: no buffer
    XL_ARG_SVM,   ///< the pointer at value
    XL_ARG_LOCAL  ///< so many bytes of local memory; value is NULL
} xl_kernel_arg_kind;
typedef struct xl_kernel_arg {
    xl_kernel_arg_kind kind;
    size_t bytes;
    const void *value; ///< at a multiple of 8 bytes
} xl_kernel_arg;

/** A launch of a kernel. What it points to is valid during the callback. */
typedef struct xl_kernel_launch {
    cl_kernel kernel; ///< with its arguments set; its program has the source
    const char *name; ///< of the kernel
    unsigned dims;
    const size_t *offset, *global, *local; ///< of dims sizes; offset NULL: 0,
                                           ///< local NULL: the driver's choice
    unsigned n_args;
    const xl_kernel_arg *arg;
} xl_kernel_launch;

/** Called before a launch is enqueued. It may enqueue commands of its own on
 *  the native queue, and read buffers; it must not call the library with this
 *  queue, but for xl_queue_cl() and its like. */
typedef void (*xl_launch_watch)(const xl_kernel_launch *launch, void *arg);

/**
 * Pass each launch of the library on @p q to @p watch from now on, those of
 * self-checks and auditions on this queue included; NULL: no longer. Calls of
 * other libraries are not passed. For reports of faults: a launch with its
 * program's source and the contents of its buffers can be run again anywhere.
 *
 * @return XL_OK, XL_BAD_ARGUMENT or XL_NO_MEMORY; then nothing is watched
 */
XL_API xl_status xl_queue_watch(xl_queue *q, xl_launch_watch watch, void *arg);

#ifdef __cplusplus
}
#endif
#endif
