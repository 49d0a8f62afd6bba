/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with their built kernels, and the table of a queue that keeps them. */
#ifndef XL_RUNTIME_PLAN_CACHE_H
#define XL_RUNTIME_PLAN_CACHE_H

#include "runtime/context.h"

/* A plan with its kernels, ready to run many times on one queue. */
struct xl__cached_plan {
    uint64_t hash; /* of key */
    size_t key_bytes;
    unsigned char *key; /* the op's canonical descriptor */
    struct xl__plan plan;
    struct xl__program *program[XL__MAX_STEPS];
    cl_kernel kernel[XL__MAX_STEPS];
    const void *variant; /* of the op; for reports */
    cl_mem list;         /* the last call's lists on the device; NULL: none */
    void *list_copy;     /* what it holds, on the host */
    size_t list_bytes;
    struct xl__cached_plan
        *next; /* heap; runs after this one in the same call, with
            the first one's scratch; NULL: nothing */
};

/* Build what this plan (not the next ones) needs and check its sizes against
 * device and kernel: XL_UNSUPPORTED with the reason when it does not fit.
 * Frees nothing of `ready` on failure; xl__cached_plan_clear() does. */
xl_status xl__cached_plan_build(xl_queue *q, struct xl__cached_plan *ready);
void xl__cached_plan_clear(
    struct xl__cached_plan *ready); /* and the next ones; not the
                           struct itself */

/* Bytes of private memory that a work-item of its kernels has, by the driver:
 * the most of any. */
xl_status xl__cached_plan_private_bytes(xl_queue *q,
                                        const struct xl__cached_plan *ready,
                                        size_t *bytes);

/* The self-check's verdict on this plan (not the next ones): the weakest of
 * its programs'. */
enum xl__trust xl__cached_plan_trust(const struct xl__cached_plan *ready);
/* Keep a verdict with its programs; one that passed before stays so, and an
 * aid is not blamed while another program may be. `story` of a wrong result:
 * which plan's, and how. */
void xl__cached_plan_set_trust(struct xl__context *ctx,
                               const struct xl__cached_plan *ready,
                               bool is_right, const char *story);

/* The table of ready plans: find by key; add (on success the queue owns the
 * heap struct). At most 256 are kept; it is emptied when full. */
struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes);
xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *ready,
                             const void *key, size_t bytes);

void xl__plan_cache_clear(xl_queue *q); /* empty the table */

#endif
