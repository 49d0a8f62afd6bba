/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that enqueues kernels. */
#ifndef XL_RUNTIME_LAUNCH_H
#define XL_RUNTIME_LAUNCH_H

#include "runtime/context.h"

/* A plan with its kernels, ready to run many times on one queue. */
struct xl__ready {
    uint64_t hash;      /* of key */
    size_t key_bytes;
    unsigned char *key; /* the op's canonical descriptor */
    struct xl__plan plan;
    struct xl__program *program[XL__MAX_STEPS];
    cl_kernel kernel[XL__MAX_STEPS];
    const void *variant; /* of the op; for reports */
    cl_mem list;        /* the last call's lists on the device; NULL: none */
    void *list_copy;    /* what it holds, on the host */
    size_t list_bytes;
    struct xl__ready *next; /* heap; runs after this one in the same call, with
                               the first one's scratch; NULL: nothing */
};

/* Build what this plan (not the next ones) needs and check its sizes against
 * device and kernel: XL_UNSUPPORTED with the reason when it does not fit.
 * Frees nothing of `ready` on failure; xl__ready_clear() does. */
xl_status xl__ready_make(xl_queue *q, struct xl__ready *ready);
void xl__ready_clear(struct xl__ready *ready); /* and the next ones; not the
                                                  struct itself */

/* Bytes of private memory that a work-item of its kernels has, by the driver:
 * the most of any. */
xl_status xl__ready_private(xl_queue *q, const struct xl__ready *ready,
                            size_t *bytes);

/* The self-check's verdict on this plan (not the next ones): the weakest of its
 * programs'. */
enum xl__trust xl__ready_trust(const struct xl__ready *ready);
/* Keep a verdict with its programs; one that passed before stays so, and an
 * aid is not blamed while another program may be. `story` of a wrong result:
 * which plan's, and how. */
void xl__ready_judged(struct xl__context *ctx, const struct xl__ready *ready,
                      bool is_right, const char *story);

/* Enqueue every step, and those of the next plans, in order, after sync's wait list. */
xl_status xl__launch(xl_queue *q, struct xl__ready *ready,
                     const struct xl__call *call, const xl_sync *sync);

/* Release an event that a launch gave; NULL is allowed. */
void xl__event_release(cl_event event);

/* The table of ready plans: find by key; add (on success the queue owns the
 * heap struct). At most 256 are kept; it is emptied when full. */
struct xl__ready *xl__ready_find(xl_queue *q, const void *key, size_t bytes);
xl_status xl__ready_add(xl_queue *q, struct xl__ready *ready, const void *key,
                        size_t bytes);

void xl__ready_forget(xl_queue *q); /* empty the table */

/* Run a plan that is used once: build, launch, keep nothing but programs.
 * Probes and helpers use this. */
xl_status xl__run_plan(xl_queue *q, const struct xl__plan *plan,
                       const struct xl__call *call, const xl_sync *sync);

#endif
