/* SPDX-License-Identifier: Apache-2.0 */
/* Cached plans: a plan with its built kernels, and the hash table of a queue
 * that keeps them by the canonical descriptor of the call. */
#ifndef XL_RUNTIME_PLAN_CACHE_H
#define XL_RUNTIME_PLAN_CACHE_H

#include "runtime/context.h"

#include "device/private_api.h"

/* A plan with its kernels, which can be launched many times on one queue. */
struct xl__cached_plan {
    uint64_t hash; /* of key */
    size_t key_bytes;
    unsigned char *key; /* the canonical descriptor */
    struct xl__plan plan;
    struct xl__program *program[XL__MAX_STEPS];
    cl_kernel kernel[XL__MAX_STEPS];
    const void *variant; /* of the op, for explain */
    cl_mem list;         /* the last call's lists on the device; NULL: none */
    void *list_copy;     /* their contents on the host */
    size_t list_bytes;
    /* Launched after this one in the same call, with the first one's scratch;
     * heap; NULL: none. */
    struct xl__cached_plan *next;
};

/* Build the programs and kernels of this plan (not of the next ones) and check
 * its sizes against the limits of the device and of each built kernel:
 * XL_UNSUPPORTED with the reason when one is exceeded. On failure the caller
 * still calls xl__cached_plan_clear(). */
XL__PRIVATE_API xl_status xl__cached_plan_build(xl_queue *q,
                                                struct xl__cached_plan *plan);
/* Free this plan and the next ones, except the struct itself. */
XL__PRIVATE_API void xl__cached_plan_clear(struct xl__cached_plan *plan);

/* Private memory of a work-item, in bytes, by the driver: the maximum over its
 * kernels. */
xl_status xl__cached_plan_private_bytes(xl_queue *q,
                                        const struct xl__cached_plan *plan,
                                        size_t *bytes);

/* Trust of this plan (not of the next ones): the lowest of its programs. */
enum xl__trust xl__cached_plan_trust(const struct xl__cached_plan *plan);
/* The same, after the self-checks of other threads; XL__UNTESTED: the caller
 * checks the plan, then ends the check (program.h). */
enum xl__trust xl__cached_plan_begin_check(struct xl__context *ctx,
                                           const struct xl__cached_plan *plan);
void xl__cached_plan_end_check(struct xl__context *ctx,
                               const struct xl__cached_plan *plan);
/* Set the trust of its programs after a self-check. A program that passed
 * before stays trusted, and a helper step (is_aid) is not marked as failed
 * while another step may be the cause. `detail` of a wrong result: the plan,
 * and what was wrong. */
void xl__cached_plan_set_trust(struct xl__context *ctx,
                               const struct xl__cached_plan *plan,
                               bool is_right, const char *detail);

/* Find a plan by its key; NULL: none. Add one: on success the queue owns the
 * struct, which is on the heap. At most 256 plans are kept; a full table is
 * emptied. */
struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes);
xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *plan,
                             const void *key, size_t bytes);

/* Free the table and its plans. */
void xl__plan_cache_clear(xl_queue *q);

#endif
