/* SPDX-License-Identifier: Apache-2.0 */
/* Records: a sequence of calls is checked, planned and bound once, and enqueued
 * again at the cost of the driver's own clEnqueueNDRangeKernel.
 *
 *   xl_record_create(q, &step);
 *   xl_record_begin(step, 0);
 *   xl_gemm_run(q, &up, NULL);       // these run nothing
 *   xl_norm_run(q, &norm, NULL);
 *   xl_record_end(step);
 *   for (...)
 *       xl_record_replay(step, NULL);
 *
 * A record has the operations of one queue: products, convolutions, row
 * operations, attention, expressions. Descriptors, epilogues and lists are read
 * when they are recorded; device memory is read when a replay runs, as by the
 * call itself. Copies and fills (crosslane/buffer.h) are not recorded, they run
 * at once; so do self-checks and auditions of calls that are recorded.
 *
 * Between replays a buffer can be exchanged (xl_record_set_mem()), and any call
 * can be recorded again (xl_record_begin()), with other scalars, memory,
 * offsets or sizes, at the host cost of that one call.
 *
 * Where the device has command buffers that can be enqueued while they run
 * (cl_khr_command_buffer; the fact has_command_buffers), replays between which
 * nothing changes are one command each, from the second one on. If the driver
 * fails to make or to enqueue it, the launches are enqueued as elsewhere. */
#ifndef CROSSLANE_RECORD_H
#define CROSSLANE_RECORD_H

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A sequence of calls. Used by the thread that uses its queue, and destroyed
 *  before it. It retains the buffers that were passed, the scratch that the
 *  library allocated and the kernels, until it is destroyed or they are
 *  replaced; SVM must stay valid until then. */
typedef struct xl_record xl_record;

/**
 * Make an empty record of a queue.
 *
 * @return XL_OK; XL_BAD_ARGUMENT: a NULL; XL_NO_MEMORY; XL_UNSUPPORTED: an
 *         out-of-order queue, whose calls have no order of their own, or the
 *         queue of a device of a listing. Here and below the message is in
 *         xl_error_detail(q)
 */
XL_API xl_status xl_record_create(xl_queue *q, xl_record **out);

/**
 * Record the calls that are made on the queue from now on, until
 * xl_record_end(): the first in place of call number @p at, those after it in
 * place of the next ones, and behind the last call new ones. Each operation is
 * one call; xl_gemm_run_group() makes one for each launch that its products
 * share. They return as they would without a record, and enqueue nothing. A
 * call that fails is not recorded, and the next one takes its number; a call
 * with a wait list or events is XL_BAD_ARGUMENT, and one that uses another
 * library (gemm_clblast) XL_UNSUPPORTED.
 *
 * @param at  0 to xl_record_calls(); that number: new calls only
 * @return XL_OK; XL_BAD_ARGUMENT: a NULL, @p at is larger, or a record of the
 *         queue is open already
 */
XL_API xl_status xl_record_begin(xl_record *r, size_t at);
/** @return XL_OK; XL_BAD_ARGUMENT: a NULL, or the record is not open */
XL_API xl_status xl_record_end(xl_record *r);

/** Calls that are recorded; 0 for NULL. While it is open, those so far. */
XL_API size_t xl_record_calls(const xl_record *r);

/**
 * Enqueue all calls in their order, as they would be enqueued themselves:
 * after what is in the queue and after the wait list. Nothing is checked
 * again. xl_queue_watch() is not called; a timeline has the launches, which
 * are enqueued one by one then.
 *
 * @param sync  as of any call: its wait list precedes the first call; `first`
 *              is the event of the first launch, and no command buffer is used
 *              then; `done` is that of the last launch, or of the command
 *              buffer
 * @return XL_OK; XL_BAD_ARGUMENT: a NULL, an open record, or an empty one;
 *         otherwise an OpenCL code: the launches before the one that failed
 *         run, and there are no events
 */
XL_API xl_status xl_record_replay(xl_record *r, const xl_sync *sync);

/**
 * Use another buffer wherever calls were given @p from, at the same offsets;
 * replays that are enqueued already keep theirs. What calls require of memory,
 * such as that C overlaps no operand, is not checked again.
 *
 * @param from, to  whole buffers without CL_MEM_USE_HOST_PTR, of the queue's
 *                  context
 * @return XL_OK; XL_BAD_ARGUMENT: a NULL, an open record, no call has @p from,
 *         a sub-buffer, host memory, flags of access that differ, another
 *         context; XL_BUFFER_TOO_SMALL: @p to is smaller than @p from;
 *         XL_UNSUPPORTED: @p to is so large that it needs other kernels; or an
 *         OpenCL code. After the last one some calls may have either; otherwise
 *         nothing has changed
 */
XL_API xl_status xl_record_set_mem(xl_record *r, cl_mem from, cl_mem to);

/** NULL is allowed. Replays that are enqueued are not affected. An open record
 *  is ended. */
XL_API void xl_record_destroy(xl_record *r);

#ifdef __cplusplus
}
#endif
#endif
