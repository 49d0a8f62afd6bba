/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with their kernels: made once per call signature and queue, found by
 * the bytes of the op's canonical descriptor. */
#include "runtime/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "device/cl_info.h"
#include "runtime/program.h"

enum { SLOTS = 512, MOST = 256 }; /* power of two; at most half full */

/* What the built kernel allows is what counts: device-wide limits are wrong in
 * both directions (GE-10). An answer of just one sub-group is its width and no
 * limit (GE-21): then the device's own counts. A size that the kernel itself
 * requires was accepted with the build (NV-24). */
static xl_status largest_group(xl_queue *q, cl_kernel kernel, size_t *most)
{
    xl_status status = XL_OK;
    const cl_device_id id = q->ctx->device->id;
    size_t step = 0, required[3] = {0, 0, 0};
    CL_TRY(&q->error,
           clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof *most, most, NULL));
    CL_TRY(&q->error,
           clGetKernelWorkGroupInfo(
               kernel, id, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
               sizeof step, &step, NULL));
    if (*most == step)
        *most = xl__size_or(&q->ctx->device->limits, XL__F_max_wg_size,
                            *most);
    CL_TRY(&q->error,
           clGetKernelWorkGroupInfo(kernel, id,
                                    CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                    sizeof required, required, NULL));
    *most = xl__max_size(*most, required[0] * required[1] * required[2]);
fail:
    return status;
}

static xl_status check_step(xl_queue *q, const struct xl__step *step,
                            cl_kernel kernel)
{
    xl_status status = XL_OK;
    const cl_device_id id = q->ctx->device->id;
    size_t most = 0, wg = 1;
    cl_ulong local = 0;
    for (unsigned d = 0; d < step->dims; d++)
        wg *= step->local[d];
    TRY(largest_group(q, kernel, &most));
    if (step->local[0] > 0 && wg > most)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "%s wants work-groups of %zu, the built kernel "
                          "allows %zu here",
                          step->kernel, wg, most));
    CL_TRY(&q->error,
           clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE,
                                    sizeof local, &local, NULL));
    const size_t room =
        xl__size_or(&q->ctx->device->limits, XL__F_local_mem_bytes, SIZE_MAX);
    /* A plan that says what it uses was held against the limit; some drivers
     * count the same memory twice (GE-23). */
    if (local > room && step->local_mem_bytes == 0)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "%s uses %llu B of local memory, the device has "
                          "%zu B",
                          step->kernel, (unsigned long long)local, room));
fail:
    return status;
}

static xl_status make_step(xl_queue *q, struct xl__cached_plan *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct xl__step *step = &r->plan.step[i];
    TRY(xl__program_get(q->ctx, step, &r->program[i], &q->error));
    const char *story = r->program[i]->story;
    if (r->program[i]->trust == XL__FAILED)
        TRY(xl__error_set(&q->error, XL_UNTRUSTED,
                          "%s gave wrong results on this driver before%s%s; "
                          "`clbench cache clear` has it tested again",
                          step->kernel, story ? ", in " : "",
                          story ? story : ""));
    if (step->external)
        return XL_OK;
    TRY(xl__kernel_get(q, r->program[i], step->kernel, &r->kernel[i]));
    TRY(check_step(q, step, r->kernel[i]));
    xl__program_keep(q->ctx, r->program[i]);
fail:
    return status;
}

xl_status xl__cached_plan_build(xl_queue *q, struct xl__cached_plan *ready)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < ready->plan.n_steps; i++)
        TRY(make_step(q, ready, i));
fail:
    return status;
}

xl_status xl__cached_plan_private_bytes(xl_queue *q,
                                        const struct xl__cached_plan *ready,
                                        size_t *bytes)
{
    xl_status status = XL_OK;
    *bytes = 0;
    for (unsigned i = 0; i < ready->plan.n_steps; i++) {
        cl_ulong own = 0;
        if (!ready->kernel[i]) /* another library's */
            continue;
        CL_TRY(&q->error,
               clGetKernelWorkGroupInfo(
                   ready->kernel[i], q->ctx->device->id,
                   CL_KERNEL_PRIVATE_MEM_SIZE, sizeof own, &own, NULL));
        *bytes = xl__max_size(*bytes, (size_t)own);
    }
fail:
    return status;
}

enum xl__trust xl__cached_plan_trust(const struct xl__cached_plan *ready)
{
    enum xl__trust least = XL__PASSED;
    for (unsigned i = 0; i < ready->plan.n_steps; i++) {
        if (ready->program[i]->trust == XL__FAILED)
            return XL__FAILED;
        if (ready->program[i]->trust == XL__UNTESTED)
            least = XL__UNTESTED;
    }
    return least;
}

/* Could another step than an aid have been wrong? */
static bool is_aid_spared(const struct xl__cached_plan *ready)
{
    for (unsigned i = 0; i < ready->plan.n_steps; i++) {
        if (!ready->plan.step[i].is_aid &&
            ready->program[i]->trust != XL__PASSED)
            return true;
    }
    return false;
}

void xl__cached_plan_set_trust(struct xl__context *ctx,
                               const struct xl__cached_plan *ready,
                               bool is_right, const char *story)
{
    const bool spared = !is_right && is_aid_spared(ready);
    for (unsigned i = 0; i < ready->plan.n_steps; i++) {
        if (ready->program[i]->trust == XL__PASSED ||
            (spared && ready->plan.step[i].is_aid))
            continue;
        xl__program_trust(ctx, ready->program[i],
                          is_right ? XL__PASSED : XL__FAILED,
                          is_right ? NULL : story);
    }
}

void xl__cached_plan_clear(struct xl__cached_plan *ready)
{
    while (ready->next) {
        struct xl__cached_plan *next = ready->next;
        ready->next = next->next;
        free(next->key);
        free(next);
    }
    if (ready->list)
        clReleaseMemObject(ready->list);
    free(ready->list_copy);
    free(ready->key);
    ready->list = NULL;
    ready->list_copy = NULL;
    ready->key = NULL;
}

static bool matches(const struct xl__cached_plan *r, uint64_t hash,
                    const void *key, size_t bytes)
{
    return r->hash == hash && r->key_bytes == bytes &&
           memcmp(r->key, key, bytes) == 0;
}

/* The slot of this key, or the empty one where it belongs. */
static struct xl__cached_plan **slot_of(xl_queue *q, uint64_t hash,
                                        const void *key, size_t bytes)
{
    size_t at = (size_t)hash % SLOTS;
    while (q->cached_plans[at] &&
           !matches(q->cached_plans[at], hash, key, bytes))
        at = (at + 1) % SLOTS;
    return &q->cached_plans[at];
}

struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes)
{
    if (!q->cached_plans)
        return NULL;
    return *slot_of(q, xl__hash64(key, bytes), key, bytes);
}

static void empty(xl_queue *q)
{
    for (size_t i = 0; q->cached_plans && i < SLOTS; i++) {
        if (q->cached_plans[i])
            xl__cached_plan_clear(q->cached_plans[i]);
        free(q->cached_plans[i]);
        q->cached_plans[i] = NULL;
    }
    q->n_cached_plans = 0;
}

void xl__plan_cache_clear(xl_queue *q)
{
    empty(q);
    free(q->cached_plans);
    q->cached_plans = NULL;
}

xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *ready,
                             const void *key, size_t bytes)
{
    if (!q->cached_plans)
        q->cached_plans = xl__calloc(SLOTS, sizeof(struct xl__cached_plan *));
    ready->key = xl__calloc(bytes, 1);
    if (!q->cached_plans || !ready->key)
        return xl__error_set(&q->error, XL_NO_MEMORY, "a plan");
    if (q->n_cached_plans == MOST)
        empty(q);
    memcpy(ready->key, key, bytes);
    ready->key_bytes = bytes;
    ready->hash = xl__hash64(key, bytes);
    *slot_of(q, ready->hash, key, bytes) = ready;
    q->n_cached_plans++;
    return XL_OK;
}
