/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: creation, wrapping and destruction of xl_queue, and its getters. */
#include <crosslane/queue.h>

#include <stdlib.h>

#include "base/alloc.h"
#include "base/os/worker.h"
#include "device/cl_info.h"
#include "runtime/context.h"
#include "runtime/epilogue.h"
#include "runtime/launch.h"
#include "runtime/program.h"

/* Under lib->lock. */
static xl_status wrap_native(xl_lib *lib, cl_command_queue native,
                             xl_queue **out, struct xl__error *e)
{
    xl_status status = XL_OK;
    cl_context context;
    cl_device_id device;
    xl_device *dev;
    cl_command_queue_properties bits = 0;
    xl_queue *q = xl__calloc(1, sizeof *q);
    TRY(xl__check_alloc(e, q, "a queue"));
    CL_TRY(e, clGetCommandQueueInfo(native, CL_QUEUE_CONTEXT, sizeof context,
                                    &context, NULL));
    CL_TRY(e, clGetCommandQueueInfo(native, CL_QUEUE_DEVICE, sizeof device,
                                    &device, NULL));
    CL_TRY(e, clGetCommandQueueInfo(native, CL_QUEUE_PROPERTIES, sizeof bits,
                                    &bits, NULL));
    TRY(xl__devices_of(&lib->devices, device, &dev, e));
    TRY(xl__context_take(lib, context, dev, &q->ctx, e));
    CL_TRY(e, clRetainCommandQueue(native));
    q->cl = native;
    q->memory.context = context;
    q->can_profile = bits & CL_QUEUE_PROFILING_ENABLE;
    q->is_out_of_order = bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    *out = q;
    return XL_OK;
fail:
    if (q && q->ctx)
        xl__context_drop(q->ctx);
    free(q);
    return status;
}

xl_status xl_queue_wrap(xl_lib *lib, cl_command_queue native, xl_queue **out)
{
    if (!lib || !out)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    struct xl__error error = {0};
    *out = NULL;
    xl__lock_take(&lib->lock);
    if (!native)
        TRY(xl__error_set(&error, XL_BAD_ARGUMENT,
                          "the cl_command_queue is NULL"));
    TRY(wrap_native(lib, native, out, &error));
fail:
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return status;
}

/* Creates a command queue, with profiling where the driver supports it. */
static xl_status create_native(struct xl__error *e, cl_context context,
                               cl_device_id device, cl_command_queue *out)
{
    xl_status status = XL_OK;
    cl_int code;
    *out = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE,
                                &code);
    if (code == CL_INVALID_QUEUE_PROPERTIES)
        *out = clCreateCommandQueue(context, device, 0, &code);
    CL_TRY(e, code);
fail:
    return status;
}

/* A queue that plans, on a device of a listing. Under lib->lock. */
static xl_status create_planner(xl_lib *lib, xl_device *dev, xl_queue **out,
                                struct xl__error *e)
{
    xl_status status = XL_OK;
    xl_queue *q = xl__calloc(1, sizeof *q);
    TRY(xl__check_alloc(e, q, "a queue"));
    TRY(xl__context_take(lib, NULL, dev, &q->ctx, e));
    *out = q;
    return XL_OK;
fail:
    free(q);
    return status;
}

static xl_status create_queue(xl_lib *lib, cl_context context, xl_device *dev,
                              xl_queue **out, struct xl__error *e)
{
    if (!dev->id)
        return create_planner(lib, dev, out, e);
    xl_status status = XL_OK;
    cl_command_queue native = NULL;
    TRY(create_native(e, context, dev->id, &native));
    TRY(wrap_native(lib, native, out, e));
fail:
    if (native)
        clReleaseCommandQueue(native);
    return status;
}

xl_status xl_queue_create(xl_lib *lib, xl_device *dev, xl_queue **out)
{
    if (!lib || !dev || !out)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    cl_int code;
    cl_context context = NULL;
    struct xl__error error = {0};
    *out = NULL;
    xl__lock_take(&lib->lock);
    /* One device per context: a context of several allocates memory on each.
     */
    const cl_context_properties on[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)dev->platform, 0};
    if (dev->id) {
        context = clCreateContext(on, 1, &dev->id, NULL, NULL, &code);
        CL_TRY(&error, code);
    }
    TRY(create_queue(lib, context, dev, out, &error));
fail:
    if (context)
        clReleaseContext(context);
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return status;
}

xl_status xl_queue_create_beside(xl_queue *other, xl_queue **out)
{
    if (!other || !out)
        return XL_BAD_ARGUMENT;
    xl_lib *lib = other->ctx->lib;
    struct xl__error error = {0};
    *out = NULL;
    xl__lock_take(&lib->lock);
    const xl_status status =
        create_queue(lib, other->ctx->cl, other->ctx->device, out, &error);
    xl__lock_drop(&lib->lock);
    xl__lib_report(lib, &error);
    return status;
}

xl_status xl__queue_check_runs(xl_queue *q)
{
    if (q->cl)
        return XL_OK;
    return xl__error_set(&q->error, XL_UNSUPPORTED,
                         "%s is a device of a listing: calls are planned and "
                         "explained for it, nothing is built or run",
                         xl__text(&q->ctx->device->limits, XL__F_name));
}

static void release_epilogues(xl_queue *q)
{
    struct xl__epilogue_use *use;
    xl__lock_take(&q->ctx->lock);
    for (unsigned i = 0; i < XL__EPILOGUE_LISTS; i++) {
        while ((use = q->epilogues[i]) != NULL) {
            q->epilogues[i] = use->next;
            use->text->n_queues--;
            free(use);
        }
    }
    xl__lock_drop(&q->ctx->lock);
}

/* Commands that are enqueued retain what they use. */
static void release_cached(xl_queue *q)
{
    xl__plan_cache_clear(q);
    xl__kernels_release(q);
    release_epilogues(q);
    xl__scratch_release(q);
}

xl_status xl_queue_trim(xl_queue *q)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    release_cached(q);
    return XL_OK;
}

xl_status xl_queue_set_scratch_limit(xl_queue *q, size_t bytes)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    q->scratch_limit_bytes = bytes;
    if (bytes > 0 && q->scratch_bytes > bytes)
        xl__scratch_release(q);
    return XL_OK;
}

void xl_queue_destroy(xl_queue *q)
{
    if (!q)
        return;
    xl_lib *lib = q->ctx->lib;
    xl__worker_destroy(q->worker);
    release_cached(q);
    xl__timeline_clear(&q->timeline);
    if (q->cl)
        clReleaseCommandQueue(q->cl);
    xl__lock_take(&lib->lock);
    xl__context_drop(q->ctx);
    xl__lock_drop(&lib->lock);
    xl__error_clear(&q->error);
    free(q->watch);
    free(q);
}

xl_status xl_queue_finish(xl_queue *q)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    xl__error_reset(&q->error);
    TRY(xl__queue_check_runs(q));
    if (xl__num(&q->ctx->device->seen, XL__F_finish_waits) == 0) {
        CL_TRY(&q->error, clFlush(q->cl));
        CL_TRY(&q->error, clEnqueueMarkerWithWaitList(q->cl, 0, NULL, NULL));
    }
    CL_TRY(&q->error, clFinish(q->cl));
fail:
    return status;
}

cl_command_queue xl_queue_cl(const xl_queue *q)
{
    return q ? q->cl : NULL;
}

cl_context xl_queue_context(const xl_queue *q)
{
    return q ? q->ctx->cl : NULL;
}

xl_device *xl_queue_device(const xl_queue *q)
{
    return q ? q->ctx->device : NULL;
}

const char *xl_error_detail(const xl_queue *q)
{
    return q ? xl__str_text(&q->error.detail) : "";
}
