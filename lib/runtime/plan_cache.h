/* SPDX-License-Identifier: Apache-2.0 */
/* Cached plans: a plan with its built kernels, and the maps of a queue that
 * keep plans by the key of the call, and kernels by the step that needs them.
 *
 * A queue keeps the 1024 plans used last. Each takes 4.5 KiB a step, so that
 * their memory is about 5 MiB, and at most 37 MiB if all had 8 steps. */
#ifndef XL_RUNTIME_PLAN_CACHE_H
#define XL_RUNTIME_PLAN_CACHE_H

#include "device/private_api.h"
#include "runtime/context.h"

/* A plan with its kernels, which can be launched many times on one queue. */
struct xl__cached_plan {
    struct xl__lru_entry entry;
    struct xl__program *program[XL__MAX_STEPS];
    cl_kernel kernel[XL__MAX_STEPS];
    cl_mem list;         /* the last call's lists on the device; NULL: none */
    void *list_copy;     /* their contents on the host */
    size_t list_bytes;
    cl_mem zeros; /* of the calls on an in-order queue; NULL: none */
    /* Launched after this one in the same call, with the first one's scratch;
     * heap; NULL: none. */
    struct xl__cached_plan *next;
    /* A better variant failed for lack of resources: launches until it is
     * tried again, of the number in `period`. 0: it is the best. */
    unsigned retry_in, period;
    /* Last, because xl__cached_plan_create() allocates only the steps that the
     * plan has. */
    struct xl__plan plan;
};

/* A copy of this plan (not of the next ones) on the heap, not built; NULL: out
 * of memory. */
XL__PRIVATE_API struct xl__cached_plan *
xl__cached_plan_create(const struct xl__plan *plan);

/* Build the programs and kernels of this plan (not of the next ones) and check
 * its sizes against the limits of the device and of each built kernel:
 * XL_UNSUPPORTED with the reason when one is exceeded. On failure the caller
 * still calls xl__cached_plan_clear(). */
XL__PRIVATE_API xl_status xl__cached_plan_build(xl_queue *q,
                                                struct xl__cached_plan *plan);
/* Free what this plan and the next ones own, except the struct itself. */
XL__PRIVATE_API void xl__cached_plan_clear(struct xl__cached_plan *plan);

/* Private memory of a work-item, in bytes, by the driver: the maximum over its
 * kernels. 0 on CPUs. */
xl_status xl__cached_plan_private_bytes(xl_queue *q,
                                        const struct xl__cached_plan *plan,
                                        size_t *bytes);

/* What the step that leads this plan and the next ones (xl__step_leads()) takes
 * of the registers, as far as the driver states it. */
void xl__cached_plan_use(xl_queue *q, const struct xl__cached_plan *plan,
                         struct xl__kernel_use *out);

/* Set the trust of the programs of this plan (not of the next ones) after a
 * self-check. A program that passed before stays trusted, and a helper step
 * (is_aid) is not marked as failed while another step may be the cause.
 * `detail` of a wrong result: the plan, and what was wrong. */
void xl__cached_plan_set_trust(struct xl__context *ctx,
                               const struct xl__cached_plan *plan,
                               bool is_right, const char *detail);

/* Clear and free the struct too; NULL is allowed. */
XL__PRIVATE_API void xl__cached_plan_destroy(struct xl__cached_plan *plan);

/* Find a plan by its key; NULL: none, or the best variant is due to be tried
 * again. */
struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes);
/* Add a plan, in place of the one with this key; on success the queue owns the
 * struct, which is on the heap. The plan that was not used for the longest
 * time makes room. `is_provisional`: a better variant failed for another
 * reason than itself (xl__is_verdict()), so that it is tried again at the next
 * call with this key, then after 2, 4, 8 .. 1024 calls. */
xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *plan,
                             bool is_provisional, const void *key,
                             size_t bytes);

/* Is this the status of a variant that cannot be used: wrong results, a
 * compiler's error, a limit of the device? Any other, such as a failed
 * allocation, says nothing of the variant. */
bool xl__is_verdict(xl_status status);

/* Free the plans of a queue, the texts that they were made of, and what it
 * knows of built steps. Not while a call
 * on the queue is in progress. */
void xl__plan_cache_clear(xl_queue *q);
/* Free the selections that the queues of a context share, and return their
 * number; later calls select again. Any thread, at any time. */
size_t xl__selections_clear(struct xl__context *ctx);

#endif
