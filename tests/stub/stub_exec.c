/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's contexts, queues, events and launches. A command is
 * complete when it is enqueued; a kernel does nothing, so its results are
 * wrong and a self-check must fail. */
#include "stub.h"

#include <string.h>

/* -- contexts ------------------------------------------------------------- */

cl_uint stub_find(const struct stub_devices *list, cl_device_id device)
{
    cl_uint i = 0;
    while (i < list->n && list->id[i] != device)
        i++;
    return i;
}

cl_context CL_API_CALL clCreateContext(
    const cl_context_properties *properties, cl_uint n,
    const cl_device_id *list,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
    void *arg, cl_int *err)
{
    (void)properties;
    (void)notify;
    (void)arg;
    STUB_ENTER_NEW(clCreateContext, err);
    if (n == 0 || n > STUB_MAX_DEVICES || !list)
        STUB_REFUSE(err, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < n; i++)
        if (!stub_is(list[i], STUB_DEVICE) ||
            list[i]->platform != list[0]->platform)
            STUB_REFUSE(err, CL_INVALID_DEVICE);
    cl_context c = stub_new(STUB_CONTEXT, sizeof *c);
    if (!c)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    c->devices.n = n;
    memcpy(c->devices.id, list, n * sizeof *list);
    if (err)
        *err = CL_SUCCESS;
    return c;
}

cl_int CL_API_CALL clRetainContext(cl_context c)
{
    STUB_ENTER(clRetainContext);
    if (!stub_is(c, STUB_CONTEXT))
        return CL_INVALID_CONTEXT;
    stub_retain(c);
    return CL_SUCCESS;
}

static void drop_context(cl_context c)
{
    if (stub_release(c))
        stub_free(c);
}

cl_int CL_API_CALL clReleaseContext(cl_context c)
{
    const cl_int code = stub_enter(STUB_clReleaseContext);
    if (!stub_is(c, STUB_CONTEXT))
        return CL_INVALID_CONTEXT;
    drop_context(c);
    return code;
}

cl_int CL_API_CALL clGetContextInfo(cl_context c, cl_context_info key,
                                    size_t cap, void *out, size_t *n_out)
{
    STUB_ENTER(clGetContextInfo);
    if (!stub_is(c, STUB_CONTEXT))
        return CL_INVALID_CONTEXT;
    const struct stub_devices *all = &c->devices;
    switch (key) {
    case CL_CONTEXT_NUM_DEVICES:
        return answer_bytes(&all->n, sizeof all->n, cap, out, n_out);
    case CL_CONTEXT_DEVICES:
        return answer_bytes(all->id, all->n * sizeof *all->id, cap, out,
                            n_out);
    case CL_CONTEXT_PROPERTIES:
        return answer_bytes(NULL, 0, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

/* -- queues --------------------------------------------------------------- */

static cl_command_queue new_queue(cl_context c, cl_device_id d,
                                  cl_command_queue_properties properties,
                                  cl_int *err)
{
    if (!stub_is(c, STUB_CONTEXT))
        STUB_REFUSE(err, CL_INVALID_CONTEXT);
    if (stub_find(&c->devices, d) == c->devices.n)
        STUB_REFUSE(err, CL_INVALID_DEVICE);
    cl_command_queue q = stub_new(STUB_QUEUE, sizeof *q);
    if (!q)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    stub_retain(c);
    q->context = c;
    q->device = d;
    q->properties = properties;
    if (err)
        *err = CL_SUCCESS;
    return q;
}

cl_command_queue CL_API_CALL
clCreateCommandQueue(cl_context c, cl_device_id d,
                     cl_command_queue_properties properties, cl_int *err)
{
    STUB_ENTER_NEW(clCreateCommandQueue, err);
    return new_queue(c, d, properties, err);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(
    cl_context c, cl_device_id d, const cl_queue_properties *list, cl_int *err)
{
    cl_command_queue_properties properties = 0;

    STUB_ENTER_NEW(clCreateCommandQueueWithProperties, err);
    for (; list && list[0] != 0; list += 2)
        if (list[0] == CL_QUEUE_PROPERTIES)
            properties = (cl_command_queue_properties)list[1];
    return new_queue(c, d, properties, err);
}

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue q)
{
    STUB_ENTER(clRetainCommandQueue);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    stub_retain(q);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue q)
{
    const cl_int code = stub_enter(STUB_clReleaseCommandQueue);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (stub_release(q)) {
        drop_context(q->context);
        stub_free(q);
    }
    return code;
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue q,
                                         cl_command_queue_info key, size_t cap,
                                         void *out, size_t *n_out)
{
    STUB_ENTER(clGetCommandQueueInfo);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    switch (key) {
    case CL_QUEUE_CONTEXT:
        return answer_bytes(&q->context, sizeof q->context, cap, out, n_out);
    case CL_QUEUE_DEVICE:
        return answer_bytes(&q->device, sizeof q->device, cap, out, n_out);
    case CL_QUEUE_PROPERTIES:
        return answer_bytes(&q->properties, sizeof q->properties, cap, out,
                            n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clFlush(cl_command_queue q)
{
    STUB_ENTER(clFlush);
    return stub_is(q, STUB_QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

cl_int CL_API_CALL clFinish(cl_command_queue q)
{
    STUB_ENTER(clFinish);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    stub_finish(q);
    return CL_SUCCESS;
}

/* -- launches ------------------------------------------------------------- */

cl_int CL_API_CALL clEnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel kernel, cl_uint dims, const size_t *offset,
    const size_t *global, const size_t *local, cl_uint n_wait,
    const cl_event *wait, cl_event *event)
{
    (void)offset;
    STUB_ENTER(clEnqueueNDRangeKernel);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!stub_is(kernel, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    if (dims < 1 || dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    if ((n_wait > 0) != (wait != NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < dims; i++) {
        if (!global || global[i] == 0)
            return CL_INVALID_GLOBAL_WORK_SIZE;
        if (local && (local[i] == 0 || global[i] % local[i] != 0))
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    return stub_launched(q, stub_kernel_ns(kernel, dims, global), event);
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue q,
                                               cl_uint n_wait,
                                               const cl_event *wait,
                                               cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueMarkerWithWaitList);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    return stub_done(q, CL_COMMAND_MARKER, event);
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue q,
                                                cl_uint n_wait,
                                                const cl_event *wait,
                                                cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueBarrierWithWaitList);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    return stub_done(q, CL_COMMAND_BARRIER, event);
}

/* -- events --------------------------------------------------------------- */

cl_event CL_API_CALL clCreateUserEvent(cl_context c, cl_int *err)
{
    STUB_ENTER_NEW(clCreateUserEvent, err);
    if (!stub_is(c, STUB_CONTEXT))
        STUB_REFUSE(err, CL_INVALID_CONTEXT);
    cl_event e = stub_new(STUB_EVENT, sizeof *e);
    if (!e)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    e->context = c;
    e->type = CL_COMMAND_USER;
    atomic_init(&e->status, CL_SUBMITTED);
    if (err)
        *err = CL_SUCCESS;
    return e;
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event e, cl_int status)
{
    STUB_ENTER(clSetUserEventStatus);
    if (!stub_is(e, STUB_EVENT))
        return CL_INVALID_EVENT;
    atomic_store(&e->status, status);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *list)
{
    STUB_ENTER(clWaitForEvents);
    for (cl_uint i = 0; i < n; i++)
        if (!list || !stub_is(list[i], STUB_EVENT))
            return CL_INVALID_EVENT;
    for (cl_uint i = 0; i < n; i++)
        stub_wait(list[i]->due_ns);
    return n > 0 ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int CL_API_CALL clRetainEvent(cl_event e)
{
    STUB_ENTER(clRetainEvent);
    if (!stub_is(e, STUB_EVENT))
        return CL_INVALID_EVENT;
    stub_retain(e);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseEvent(cl_event e)
{
    const cl_int code = stub_enter(STUB_clReleaseEvent);
    if (!stub_is(e, STUB_EVENT))
        return CL_INVALID_EVENT;
    if (stub_release(e))
        stub_free(e);
    return code;
}

cl_int CL_API_CALL clGetEventInfo(cl_event e, cl_event_info key, size_t cap,
                                  void *out, size_t *n_out)
{
    STUB_ENTER(clGetEventInfo);
    if (!stub_is(e, STUB_EVENT))
        return CL_INVALID_EVENT;
    const cl_int status = atomic_load(&e->status);
    switch (key) {
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        return answer_bytes(&status, sizeof status, cap, out, n_out);
    case CL_EVENT_COMMAND_TYPE:
        return answer_bytes(&e->type, sizeof e->type, cap, out, n_out);
    case CL_EVENT_COMMAND_QUEUE:
        return answer_bytes(&e->queue, sizeof e->queue, cap, out, n_out);
    case CL_EVENT_CONTEXT:
        return answer_bytes(&e->context, sizeof e->context, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event e, cl_profiling_info key,
                                           size_t cap, void *out,
                                           size_t *n_out)
{
    STUB_ENTER(clGetEventProfilingInfo);
    if (!stub_is(e, STUB_EVENT))
        return CL_INVALID_EVENT;
    const cl_ulong step = key - (cl_ulong)CL_PROFILING_COMMAND_QUEUED;
    if (step > CL_PROFILING_COMMAND_END - CL_PROFILING_COMMAND_QUEUED)
        return CL_INVALID_VALUE;
    return answer_bytes(&e->stamp_ns[step], sizeof(cl_ulong), cap, out, n_out);
}

cl_int CL_API_CALL
clSetEventCallback(cl_event e, cl_int when,
                   void(CL_CALLBACK *notify)(cl_event, cl_int, void *),
                   void *arg)
{
    STUB_ENTER(clSetEventCallback);
    if (!stub_is(e, STUB_EVENT) || !notify)
        return CL_INVALID_EVENT;
    notify(e, when, arg);
    return CL_SUCCESS;
}
