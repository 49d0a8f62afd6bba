/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the background: on a thread of the queue, with a queue of that
 * thread's own in the same context. So what they build and check is found by
 * all queues of the context. */
#ifndef XL_RUNTIME_BACKGROUND_H
#define XL_RUNTIME_BACKGROUND_H

#include "runtime/background/kept.h"

/* A call, as it is copied. */
struct xl__background_call {
    /* `what` points to the arguments, which `kept` owns with all that they
     * point to. */
    xl_status (*make)(xl_queue *own, void *what);
    void *what;
    struct xl__kept kept;
    xl_prepared done;
    void *arg;
};

/* Make the call later; then, or instead with XL_CANCELLED, `done` is called.
 * Takes over what the call keeps. XL_NO_MEMORY: `done` is not called. */
xl_status xl__background_start(xl_queue *q,
                               const struct xl__background_call *call);

#endif
