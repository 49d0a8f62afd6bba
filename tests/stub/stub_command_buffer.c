/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's command buffers (cl_khr_command_buffer): the launches are
 * counted, and one that is enqueued is done. */
#include "stub.h"

#include <string.h>

struct _cl_command_buffer_khr {
    struct stub_object base;
    cl_command_queue queue;
    bool is_final;
    double ns;
};

static cl_command_buffer_khr CL_API_CALL
create(cl_uint n_queues, const cl_command_queue *queues,
       const cl_command_buffer_properties_khr *properties, cl_int *err)
{
    STUB_ENTER_NEW(clCreateCommandBufferKHR, err);
    (void)properties;
    if (n_queues != 1 || !stub_is(queues[0], STUB_QUEUE))
        STUB_REFUSE(err, CL_INVALID_COMMAND_QUEUE);
    cl_command_buffer_khr b = stub_new(STUB_COMMAND_BUFFER, sizeof *b);
    if (!b)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    b->queue = queues[0];
    *err = CL_SUCCESS;
    return b;
}

static cl_int CL_API_CALL
launch(cl_command_buffer_khr b, cl_command_queue q,
       const cl_ndrange_kernel_command_properties_khr *properties,
       cl_kernel kernel, cl_uint dims, const size_t *offset,
       const size_t *global, const size_t *local, cl_uint n_wait,
       const cl_sync_point_khr *wait, cl_sync_point_khr *point,
       cl_mutable_command_khr *command)
{
    STUB_ENTER(clCommandNDRangeKernelKHR);
    (void)properties, (void)offset, (void)local, (void)wait;
    if (!stub_is(b, STUB_COMMAND_BUFFER) || b->is_final)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (q || n_wait > 0 || point || command)
        return CL_INVALID_VALUE;
    if (!stub_is(kernel, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    b->ns += stub_kernel_ns(kernel, dims, global);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL finalize(cl_command_buffer_khr b)
{
    STUB_ENTER(clFinalizeCommandBufferKHR);
    if (!stub_is(b, STUB_COMMAND_BUFFER) || b->is_final)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    b->is_final = true;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue(cl_uint n_queues, cl_command_queue *queues,
                                  cl_command_buffer_khr b, cl_uint n_wait,
                                  const cl_event *wait, cl_event *event)
{
    STUB_ENTER(clEnqueueCommandBufferKHR);
    if (!stub_is(b, STUB_COMMAND_BUFFER) || !b->is_final)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (n_queues > 0 || queues)
        return CL_INVALID_VALUE;
    if ((n_wait > 0) != (wait != NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    return stub_launched(b->queue, b->ns, event);
}

static cl_int CL_API_CALL release(cl_command_buffer_khr b)
{
    STUB_ENTER(clReleaseCommandBufferKHR);
    if (!stub_is(b, STUB_COMMAND_BUFFER))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (stub_release(b))
        stub_free(b);
    return CL_SUCCESS;
}

void *stub_extension(const char *name)
{
    /* clang-format off */
    static const struct {
        const char *name;
        void (*function)(void);
    } by_name[] = {
        {"clCreateCommandBufferKHR",   (void (*)(void))create},
        {"clCommandNDRangeKernelKHR",  (void (*)(void))launch},
        {"clFinalizeCommandBufferKHR", (void (*)(void))finalize},
        {"clEnqueueCommandBufferKHR",  (void (*)(void))enqueue},
        {"clReleaseCommandBufferKHR",  (void (*)(void))release},
    };
    /* clang-format on */
    void *found = NULL;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (strcmp(by_name[i].name, name) == 0)
            memcpy(&found, &by_name[i].function, sizeof found);
    return found;
}
