/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers, whose functions the platform gives by their names. */
#include "runtime/commands/command_buffer.h"

#include <string.h>

#include "runtime/context.h"

typedef xl__buffer_handle(CL_API_CALL *create_function)(
    cl_uint n_queues, const cl_command_queue *queues,
    const cl_ulong *properties, cl_int *code);
typedef cl_int(CL_API_CALL *launch_function)(
    xl__buffer_handle, cl_command_queue, const cl_ulong *properties, cl_kernel,
    cl_uint dims, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n_wait, const cl_uint *wait,
    cl_uint *sync_point, void *command);

struct functions {
    create_function create;
    launch_function launch;
    xl__buffer_end finalize;
};

static bool find(cl_platform_id platform, const char *name, void *out)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static cl_int find_all(cl_platform_id p, struct functions *f,
                       struct xl__command_buffer *b)
{
    return find(p, "clCreateCommandBufferKHR", &f->create) &&
                   find(p, "clCommandNDRangeKernelKHR", &f->launch) &&
                   find(p, "clFinalizeCommandBufferKHR", &f->finalize) &&
                   find(p, "clEnqueueCommandBufferKHR", &b->enqueue) &&
                   find(p, "clReleaseCommandBufferKHR", &b->release)
               ? CL_SUCCESS
               : CL_INVALID_OPERATION;
}

static cl_int add_call(const struct functions *f, xl__buffer_handle b,
                       const struct xl__recorded_call *call)
{
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < call->n_launches && code == CL_SUCCESS; i++) {
        const struct xl__recorded_launch *l = &call->launches[i];
        code = f->launch(b, NULL, NULL, l->kernel.cl, l->dims,
                         l->has_offset ? l->offset : NULL, l->global,
                         l->has_local ? l->local : NULL, 0, NULL, NULL, NULL);
    }
    return code;
}

cl_int xl__command_buffer_make(xl_queue *q,
                               const struct xl__recorded_call *calls, size_t n,
                               struct xl__command_buffer *out)
{
    /* OpenCL registry: CL_COMMAND_BUFFER_FLAGS_KHR, and the flag
     * CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR */
    static const cl_ulong properties[] = {0x1293, 1, 0};
    struct functions f = {0};
    cl_int code = find_all(q->ctx->device->platform, &f, out);
    out->cl = NULL;
    if (code == CL_SUCCESS)
        out->cl = f.create(1, &q->cl, properties, &code);
    for (size_t i = 0; i < n && code == CL_SUCCESS; i++)
        code = add_call(&f, out->cl, &calls[i]);
    if (code == CL_SUCCESS)
        code = f.finalize(out->cl);
    if (code != CL_SUCCESS)
        xl__command_buffer_clear(out);
    return code;
}

cl_int xl__command_buffer_enqueue(const struct xl__command_buffer *b,
                                  cl_uint n_wait, const cl_event *wait,
                                  cl_event *event)
{
    return b->enqueue(0, NULL, b->cl, n_wait, wait, event);
}

void xl__command_buffer_clear(struct xl__command_buffer *b)
{
    if (b->cl)
        b->release(b->cl);
    b->cl = NULL;
}
