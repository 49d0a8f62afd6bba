/* SPDX-License-Identifier: Apache-2.0 */
/* Launch of plans. Only launch.c enqueues kernels. */
#ifndef XL_RUNTIME_LAUNCH_H
#define XL_RUNTIME_LAUNCH_H

#include "runtime/context.h"
#include "runtime/plan_cache.h"

#include "device/private_api.h"

/* Enqueue all steps of a plan and of the plans linked after it, in order,
 * after the events of sync's wait list. On failure no command of the call is
 * running. */
XL__PRIVATE_API xl_status xl__launch(xl_queue *q,
                                     struct xl__cached_plan *ready,
                                     const struct xl__call *call,
                                     const xl_sync *sync);

/* Release an event returned by a launch; NULL is allowed. */
XL__PRIVATE_API void xl__event_release(cl_event event);

/* Build and launch a plan that is used once; only its programs are kept. For
 * probes and helpers. */
XL__PRIVATE_API xl_status xl__plan_launch(xl_queue *q,
                                          const struct xl__plan *plan,
                                          const struct xl__call *call,
                                          const xl_sync *sync);

#endif
