/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that enqueues kernels. */
#ifndef XL_RUNTIME_LAUNCH_H
#define XL_RUNTIME_LAUNCH_H

#include "runtime/context.h"
#include "runtime/plan_cache.h"

/* Enqueue every step, and those of the next plans, in order, after sync's wait list. */
xl_status xl__launch(xl_queue *q, struct xl__cached_plan *ready,
                     const struct xl__call *call, const xl_sync *sync);

/* Release an event that a launch gave; NULL is allowed. */
void xl__event_release(cl_event event);

/* Run a plan that is used once: build, launch, keep nothing but programs.
 * Probes and helpers use this. */
xl_status xl__plan_launch(xl_queue *q, const struct xl__plan *plan,
                          const struct xl__call *call, const xl_sync *sync);

#endif
