/* SPDX-License-Identifier: Apache-2.0 */
/* Cached plans: built once per key and queue. A step of a new plan whose
 * kernel was built for another plan (other sizes) takes that kernel without a
 * look-up of its program. */
#include "runtime/plan_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "device/cl_info.h"
#include "runtime/program.h"

enum { MOST_PLANS = 1024, MOST_BUILT = 1024, LONGEST_PERIOD = 1024 };

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

/* -- built steps ---------------------------------------------------------- */

/* All that a step's program, its kernel and the check of its limits depend
 * on. */
struct step_key {
    const char *source, *kernel, *target;
    const struct xl__epilogue_text *hook[XL__N_HOOKS];
    xl__external external;
    size_t items, local_mem_bytes;
    unsigned char text[XL__HASH128_BYTES]; /* of generated text; else 0 */
    char options[sizeof((struct xl__step *)NULL)->options];
};

/* What came of building a step. */
struct built_step {
    struct xl__lru_entry entry;
    struct xl__program *program;
    cl_kernel kernel; /* of the queue; NULL: an external step */
    xl_status status; /* a verdict; then `why` is its reason */
    char *why;
};

static void destroy_built(struct xl__lru_entry *entry)
{
    free(((struct built_step *)entry)->why);
    free(entry);
}

static const struct xl__lru_kind built_kind = {MOST_BUILT, destroy_built};

static size_t make_step_key(const struct xl__step *step, struct step_key *key)
{
    const size_t n = strlen(step->options);
    memset(key, 0, offsetof(struct step_key, options));
    key->source = step->source;
    key->kernel = step->kernel;
    key->target = step->target;
    memcpy(key->hook, step->hook, sizeof key->hook);
    key->external = step->external;
    key->items = step->local[0] > 0;
    for (unsigned d = 0; d < step->dims; d++)
        key->items *= step->local[d];
    key->local_mem_bytes = step->local_mem_bytes;
    if (step->text)
        xl__hash128(step->text, strlen(step->text), key->text);
    memcpy(key->options, step->options, n);
    return offsetof(struct step_key, options) + n;
}

/* A program whose results were wrong is not used. */
static xl_status check_trust(xl_queue *q, const struct xl__step *step,
                             const struct xl__program *program)
{
    if (program->trust != XL__FAILED)
        return XL_OK;
    const char *detail = program->detail; /* written before `trust` */
    return xl__error_set(&q->error, XL_UNTRUSTED,
                         "%s failed its self-check on this driver before%s%s; "
                         "to test it again, run `clbench cache clear`",
                         step->kernel, detail ? ", in " : "",
                         detail ? detail : "");
}

static xl_status build_kernel(xl_queue *q, const struct xl__step *step,
                              struct xl__program **program, cl_kernel *kernel)
{
    xl_status status = xl__program_get(q->ctx, step, program, &q->error);
    if (status != XL_OK)
        return status;
    TRY(check_trust(q, step, *program));
    if (!step->external) {
        TRY(xl__kernel_get(q, *program, step->kernel, kernel));
        TRY(check_step(q, step, *kernel));
        xl__program_keep(q->ctx, *program);
    }
fail:
    xl__program_let_go(q->ctx, *program);
    return status;
}

bool xl__is_verdict(xl_status status)
{
    return status == XL_UNTRUSTED || status == XL_BUILD_FAILED ||
           status == XL_UNSUPPORTED;
}

/* Keeps the result of a build. It is kept again with the next build if memory
 * is short. */
static void keep_built(xl_queue *q, const struct step_key *key, size_t bytes,
                       const struct built_step *result)
{
    struct built_step *to = xl__calloc(1, sizeof *to);
    if (!to)
        return;
    *to = *result;
    if (to->status != XL_OK)
        to->why = xl__strdup(xl__str_text(&q->error.detail));
    if (!xl__lru_add(&q->built_steps, &to->entry, key, bytes, &built_kind))
        destroy_built(&to->entry);
}

static xl_status build_step(xl_queue *q, struct xl__cached_plan *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct xl__step *step = &r->plan.step[i];
    struct step_key key;
    const size_t bytes = make_step_key(step, &key);
    const struct built_step *known =
        (void *)xl__lru_find(&q->built_steps, &key, bytes);
    if (known && known->status != XL_OK)
        return xl__error_set(&q->error, known->status, "%s",
                             known->why ? known->why : step->kernel);
    if (known) {
        r->program[i] = known->program;
        r->kernel[i] = known->kernel;
        return check_trust(q, step, known->program);
    }
    status = build_kernel(q, step, &r->program[i], &r->kernel[i]);
    if (status == XL_OK || status == XL_BUILD_FAILED ||
        status == XL_UNSUPPORTED)
        keep_built(q, &key, bytes,
                   &(struct built_step){.program = r->program[i],
                                        .kernel = r->kernel[i],
                                        .status = status});
    return status;
}

/* -- plans ---------------------------------------------------------------- */

struct xl__cached_plan *xl__cached_plan_create(const struct xl__plan *plan)
{
    const size_t plan_bytes =
        offsetof(struct xl__plan, step) + plan->n_steps * sizeof *plan->step;
    struct xl__cached_plan *to =
        xl__calloc(1, offsetof(struct xl__cached_plan, plan) + plan_bytes);
    if (!to)
        return NULL;
    memcpy(&to->plan, plan, plan_bytes);
    to->plan.next = NULL;
    to->plan.own = NULL;
    return to;
}

xl_status xl__cached_plan_build(xl_queue *q, struct xl__cached_plan *plan)
{
    xl_status status = XL_OK;
    TRY(xl__plan_check(&plan->plan, &q->error));
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
    if (xl__is(&q->ctx->device->limits, XL__F_is_cpu))
        return XL_OK; /* CP-34 */
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

void xl__cached_plan_use(xl_queue *q, const struct xl__cached_plan *plan,
                         struct xl__kernel_use *out)
{
    const struct xl__step *lead = NULL;
    *out = (struct xl__kernel_use){(double)NAN, (double)NAN};
    for (; plan; plan = plan->next) {
        for (unsigned i = 0; i < plan->plan.n_steps; i++) {
            const struct xl__step *s = &plan->plan.step[i];
            if (!plan->kernel[i] || !xl__step_leads(s, lead))
                continue;
            lead = s;
            xl__program_use(q->ctx, plan->program[i], plan->kernel[i],
                            s->kernel, out);
        }
    }
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
        free(next);
    }
    if (plan->list)
        clReleaseMemObject(plan->list);
    free(plan->list_copy);
    if (plan->zeros)
        clReleaseMemObject(plan->zeros);
    plan->zeros = NULL;
    plan->list = NULL;
    plan->list_copy = NULL;
}

void xl__cached_plan_destroy(struct xl__cached_plan *plan)
{
    if (plan)
        xl__cached_plan_clear(plan);
    free(plan);
}

/* -- the queue's maps ----------------------------------------------------- */

static void destroy_plan(struct xl__lru_entry *entry)
{
    xl__cached_plan_destroy((struct xl__cached_plan *)entry);
}

static const struct xl__lru_kind plan_kind = {MOST_PLANS, destroy_plan};

struct xl__cached_plan *xl__plan_cache_find(xl_queue *q, const void *key,
                                            size_t bytes)
{
    struct xl__cached_plan *plan = (void *)xl__lru_find(&q->plans, key, bytes);
    if (!plan || plan->retry_in == 0 || --plan->retry_in > 0)
        return plan;
    plan->retry_in = plan->period; /* of this one, if the retry fails */
    return NULL;
}

xl_status xl__plan_cache_add(xl_queue *q, struct xl__cached_plan *plan,
                             bool is_provisional, const void *key,
                             size_t bytes)
{
    struct xl__cached_plan *old = (void *)xl__lru_find(&q->plans, key, bytes);
    if (is_provisional) {
        plan->period = old ? 2 * old->period : 1;
        plan->period =
            plan->period > LONGEST_PERIOD ? LONGEST_PERIOD : plan->period;
        plan->retry_in = plan->period;
    }
    if (old)
        xl__lru_remove(&q->plans, &old->entry);
    if (!xl__lru_add(&q->plans, &plan->entry, key, bytes, &plan_kind))
        return xl__error_set(&q->error, XL_NO_MEMORY, "a plan");
    return XL_OK;
}

void xl__plan_cache_clear(xl_queue *q)
{
    xl__lru_clear(&q->plans);
    xl__lru_clear(&q->built_steps);
    xl__lru_clear(&q->texts);
}

size_t xl__selections_clear(struct xl__context *ctx)
{
    xl__lock_take(&ctx->selections_lock);
    const size_t n = ctx->selections.n;
    xl__lru_clear(&ctx->selections);
    xl__lock_drop(&ctx->selections_lock);
    return n;
}
