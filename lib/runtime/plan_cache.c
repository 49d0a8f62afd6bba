/* SPDX-License-Identifier: Apache-2.0 */
/* Cached plans: built once per canonical descriptor and queue, and kept in an
 * open-addressing hash table by the bytes of the descriptor. */
#include "runtime/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "device/cl_info.h"
#include "runtime/program.h"

enum { SLOTS = 512, MOST = 256 }; /* power of two; at most half full */

/* The largest work-group of a built kernel. The limit of the kernel is used,
 * since that of the device can be too high or too low for it (GE-10). Where it
 * equals one sub-group it is not a limit (GE-21), and the device's is used. A
 * size that the kernel itself requires was accepted with the build (NV-24). */
static xl_status query_largest_group(xl_queue *q, cl_kernel kernel,
                                     size_t *most)
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
    TRY(query_largest_group(q, kernel, &most));
    if (step->local[0] > 0 && wg > most)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "%s needs work-groups of %zu; the limit of the "
                          "built kernel is %zu",
                          step->kernel, wg, most));
    CL_TRY(&q->error,
           clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE,
                                    sizeof local, &local, NULL));
    const size_t room =
        xl__size_or(&q->ctx->device->limits, XL__F_local_mem_bytes, SIZE_MAX);
    /* A plan with local_mem_bytes was compared with the limit already; some
     * drivers count that memory twice (GE-23). */
    if (local > room && step->local_mem_bytes == 0)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "%s uses %llu B of local memory, the device has "
                          "%zu B",
                          step->kernel, (unsigned long long)local, room));
fail:
    return status;
}

static xl_status build_step(xl_queue *q, struct xl__cached_plan *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct xl__step *step = &r->plan.step[i];
    TRY(xl__program_get(q->ctx, step, &r->program[i], &q->error));
    const bool is_failed = r->program[i]->trust == XL__FAILED;
    const char *detail = is_failed ? r->program[i]->detail : NULL;
    if (is_failed)
        TRY(xl__error_set(
            &q->error, XL_UNTRUSTED,
            "%s failed its self-check on this driver before%s%s; "
            "to test it again, run `clbench cache clear`",
            step->kernel, detail ? ", in " : "", detail ? detail : ""));
    if (step->external)
        return XL_OK;
    TRY(xl__kernel_get(q, r->program[i], step->kernel, &r->kernel[i]));
    TRY(check_step(q, step, r->kernel[i]));
    xl__program_keep(q->ctx, r->program[i]);
fail:
    return status;
}

xl_status xl__cached_plan_build(xl_queue *q, struct xl__cached_plan *plan)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < plan->plan.n_steps; i++)
        TRY(build_step(q, plan, i));
fail:
    return status;
}

xl_status xl__cached_plan_private_bytes(xl_queue *q,
                                        const struct xl__cached_plan *plan,
                                        size_t *bytes)
{
    xl_status status = XL_OK;
    *bytes = 0;
    for (unsigned i = 0; i < plan->plan.n_steps; i++) {
        cl_ulong own = 0;
        if (!plan->kernel[i]) /* an external step */
            continue;
        CL_TRY(&q->error,
               clGetKernelWorkGroupInfo(plan->kernel[i], q->ctx->device->id,
                                        CL_KERNEL_PRIVATE_MEM_SIZE, sizeof own,
                                        &own, NULL));
        *bytes = xl__max_size(*bytes, (size_t)own);
    }
fail:
    return status;
}

enum xl__trust xl__cached_plan_trust(const struct xl__cached_plan *plan)
{
    return xl__programs_trust(plan->program, plan->plan.n_steps);
}

enum xl__trust xl__cached_plan_begin_check(struct xl__context *ctx,
                                           const struct xl__cached_plan *plan)
{
    return xl__programs_begin_check(ctx, plan->program, plan->plan.n_steps);
}

void xl__cached_plan_end_check(struct xl__context *ctx,
                               const struct xl__cached_plan *plan)
{
    xl__programs_end_check(ctx, plan->program, plan->plan.n_steps);
}

/* Can a step that is not a helper be the cause of a wrong result? */
static bool is_helper_spared(const struct xl__cached_plan *plan)
{
    for (unsigned i = 0; i < plan->plan.n_steps; i++) {
        if (!plan->plan.step[i].is_aid &&
            plan->program[i]->trust != XL__PASSED)
            return true;
    }
    return false;
}

void xl__cached_plan_set_trust(struct xl__context *ctx,
                               const struct xl__cached_plan *plan,
                               bool is_right, const char *detail)
{
    const bool spared = !is_right && is_helper_spared(plan);
    for (unsigned i = 0; i < plan->plan.n_steps; i++) {
        if (plan->program[i]->trust == XL__PASSED ||
            (spared && plan->plan.step[i].is_aid))
            continue;
        xl__program_trust(ctx, plan->program[i],
                          is_right ? XL__PASSED : XL__FAILED,
                          is_right ? NULL : detail);
    }
}

void xl__cached_plan_clear(struct xl__cached_plan *plan)
{
    while (plan->next) {
        struct xl__cached_plan *next = plan->next;
        plan->next = next->next;
        free(next->key);
        free(next);
    }
    if (plan->list)
        clReleaseMemObject(plan->list);
    free(plan->list_copy);
    free(plan->key);
    plan->list = NULL;
    plan->list_copy = NULL;
    plan->key = NULL;
}

static bool has_key(const struct xl__cached_plan *r, uint64_t hash,
                    const void *key, size_t bytes)
{
    return r->hash == hash && r->key_bytes == bytes &&
           memcmp(r->key, key, bytes) == 0;
}

/* The slot of this key, or the empty one where it belongs. */
static struct xl__cached_plan **find_slot(xl_queue *q, uint64_t hash,
                                          const void *key, size_t bytes)
{
    size_t at = (size_t)hash % SLOTS;
    while (q->cached_plans[at] &&
           !has_key(q->cached_plans[at], hash, key, bytes))
        at = (at + 1) % SLOTS;
    return &q->cached_plans[at];
}

struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes)
{
    if (!q->cached_plans)
        return NULL;
    return *find_slot(q, xl__hash64(key, bytes), key, bytes);
}

static void remove_plans(xl_queue *q)
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
    remove_plans(q);
    free(q->cached_plans);
    q->cached_plans = NULL;
}

xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *plan,
                             const void *key, size_t bytes)
{
    if (!q->cached_plans)
        q->cached_plans = xl__calloc(SLOTS, sizeof(struct xl__cached_plan *));
    plan->key = xl__calloc(bytes, 1);
    if (!q->cached_plans || !plan->key)
        return xl__error_set(&q->error, XL_NO_MEMORY, "a plan");
    if (q->n_cached_plans == MOST)
        remove_plans(q);
    memcpy(plan->key, key, bytes);
    plan->key_bytes = bytes;
    plan->hash = xl__hash64(key, bytes);
    *find_slot(q, plan->hash, key, bytes) = plan;
    q->n_cached_plans++;
    return XL_OK;
}
