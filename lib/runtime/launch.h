/* SPDX-License-Identifier: Apache-2.0 */
/* Launch of plans. Only launch.c enqueues kernels. */
#ifndef XL_RUNTIME_LAUNCH_H
#define XL_RUNTIME_LAUNCH_H

#include "device/private_api.h"
#include "runtime/context.h"
#include "runtime/plan_cache.h"

/* Make the next command of a call without a wait list start after those in the
 * queue: a barrier on an out-of-order queue. */
xl_status xl__queue_begin(xl_queue *q);

/* The caller's events, with all members of this library: `given` itself,
 * *full, or for NULL none. NULL: XL_BAD_ARGUMENT. */
const xl_sync *xl__sync_read(const xl_sync *given, xl_sync *full,
                             struct xl__error *e);

/* Enqueue all steps of a plan and of the plans linked after it, in order, as
 * `sync` states; NULL: all zero. On failure the steps before the one that
 * failed are enqueued and run. */
XL__PRIVATE_API xl_status xl__launch(xl_queue *q, struct xl__cached_plan *ready,
                     const struct xl__call *call, const xl_sync *sync);

struct xl__recorded_call; /* commands/record.h */

/* The same, but nothing is enqueued: add the launches to a recorded call. On
 * an in-order queue. */
xl_status xl__launch_into(xl_queue *q, struct xl__cached_plan *ready,
                          const struct xl__call *call,
                          struct xl__recorded_call *to);

/* Release the queue's own scratch; enqueued commands retain it. */
void xl__scratch_release(xl_queue *q);

/* Release an event returned by a launch; NULL is allowed. */
XL__PRIVATE_API void xl__event_release(cl_event event);

/* Build and launch a plan that is used once; only its programs are kept. For
 * probes and helpers. */
XL__PRIVATE_API xl_status xl__plan_launch(xl_queue *q,
                                          const struct xl__plan *plan,
                                          const struct xl__call *call,
                                          const xl_sync *sync);

#endif
