/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's buffers, sub-buffers and SVM: host memory, with working
 * write, read, copy and fill. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

struct _cl_mem {
    struct stub_object base;
    cl_context context;
    cl_mem parent; /* NULL: a buffer of its own */
    cl_mem_flags flags;
    size_t offset, bytes;
    unsigned char *data, *host; /* host: of CL_MEM_USE_HOST_PTR, else NULL */
    void(CL_CALLBACK *destructor)(cl_mem, void *);
    void *destructor_arg;
};

static bool fits(cl_mem m, size_t offset, size_t bytes)
{
    return stub_is(m, STUB_MEM) && bytes > 0 && offset <= m->bytes &&
           bytes <= m->bytes - offset;
}

static cl_mem new_mem(cl_context c, cl_mem_flags flags, size_t bytes)
{
    cl_mem m = stub_new(STUB_MEM, sizeof *m);
    if (!m)
        return NULL;
    stub_retain(c);
    m->context = c;
    m->flags = flags;
    m->bytes = bytes;
    return m;
}

static void free_mem(cl_mem m)
{
    cl_mem parent = m->parent;
    cl_context c = m->context;

    if (m->destructor)
        m->destructor(m, m->destructor_arg);
    if (!parent && !m->host)
        free(m->data);
    stub_free(m);
    if (stub_release(c))
        stub_free(c);
    if (parent && stub_release(parent))
        free_mem(parent);
}

/* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL */
enum { UNRESTRICTED = 1 << 23 };

/* What the device says it can hold at once. */
static size_t largest(cl_context c)
{
    cl_ulong bytes = ~(cl_ulong)0;
    (void)answer_give(c->devices.id[0]->answers, ANSWER_DEVICE,
                      CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof bytes, &bytes,
                      NULL);
    return (size_t)bytes;
}

cl_mem CL_API_CALL clCreateBuffer(cl_context c, cl_mem_flags flags,
                                  size_t bytes, void *host, cl_int *err)
{
    STUB_ENTER_NEW(clCreateBuffer, err);
    if (!stub_is(c, STUB_CONTEXT))
        STUB_REFUSE(err, CL_INVALID_CONTEXT);
    if (bytes == 0 || (bytes > largest(c) && !(flags & UNRESTRICTED)))
        STUB_REFUSE(err, CL_INVALID_BUFFER_SIZE);
    cl_mem m = new_mem(c, flags, bytes);
    if (m && (flags & CL_MEM_USE_HOST_PTR))
        m->data = m->host = host;
    else if (m)
        m->data = calloc(1, bytes);
    if (!m || !m->data) {
        if (m)
            free_mem(m);
        STUB_REFUSE(err, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    if (host && !m->host)
        memcpy(m->data, host, bytes);
    if (err)
        *err = CL_SUCCESS;
    return m;
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
                                     cl_buffer_create_type type,
                                     const void *info, cl_int *err)
{
    const cl_buffer_region *region = info;

    STUB_ENTER_NEW(clCreateSubBuffer, err);
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !region ||
        !fits(parent, region->origin, region->size) || parent->parent)
        STUB_REFUSE(err, CL_INVALID_VALUE);
    cl_mem m = new_mem(parent->context, flags, region->size);
    if (!m)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    stub_retain(parent);
    m->parent = parent;
    m->offset = region->origin;
    m->data = parent->data + region->origin;
    m->host = parent->host ? m->data : NULL;
    if (err)
        *err = CL_SUCCESS;
    return m;
}

cl_int CL_API_CALL clRetainMemObject(cl_mem m)
{
    STUB_ENTER(clRetainMemObject);
    if (!stub_is(m, STUB_MEM))
        return CL_INVALID_MEM_OBJECT;
    stub_retain(m);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem m)
{
    const cl_int code = stub_enter(STUB_clReleaseMemObject);
    if (!stub_is(m, STUB_MEM))
        return CL_INVALID_MEM_OBJECT;
    if (stub_release(m))
        free_mem(m);
    return code;
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(
    cl_mem m, void(CL_CALLBACK *notify)(cl_mem, void *), void *arg)
{
    STUB_ENTER(clSetMemObjectDestructorCallback);
    if (!stub_is(m, STUB_MEM) || m->destructor)
        return CL_INVALID_MEM_OBJECT;
    m->destructor = notify;
    m->destructor_arg = arg;
    return CL_SUCCESS;
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem m, cl_mem_info key, size_t cap,
                                      void *out, size_t *n_out)
{
    STUB_ENTER(clGetMemObjectInfo);
    if (!stub_is(m, STUB_MEM))
        return CL_INVALID_MEM_OBJECT;
    const cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    switch (key) {
    case CL_MEM_TYPE:
        return answer_bytes(&type, sizeof type, cap, out, n_out);
    case CL_MEM_FLAGS:
        return answer_bytes(&m->flags, sizeof m->flags, cap, out, n_out);
    case CL_MEM_SIZE:
        return answer_bytes(&m->bytes, sizeof m->bytes, cap, out, n_out);
    case CL_MEM_HOST_PTR:
        return answer_bytes(&m->host, sizeof m->host, cap, out, n_out);
    case CL_MEM_CONTEXT:
        return answer_bytes(&m->context, sizeof m->context, cap, out, n_out);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer_bytes(&m->parent, sizeof m->parent, cap, out, n_out);
    case CL_MEM_OFFSET:
        return answer_bytes(&m->offset, sizeof m->offset, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

/* -- transfers ------------------------------------------------------------ */

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue q, cl_mem m,
                                       cl_bool blocking, size_t offset,
                                       size_t bytes, void *out, cl_uint n_wait,
                                       const cl_event *wait, cl_event *event)
{
    (void)blocking;
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueReadBuffer);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fits(m, offset, bytes) || !out)
        return CL_INVALID_VALUE;
    memcpy(out, m->data + offset, bytes);
    return stub_done(q, CL_COMMAND_READ_BUFFER, event);
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue q, cl_mem m,
                                        cl_bool blocking, size_t offset,
                                        size_t bytes, const void *from,
                                        cl_uint n_wait, const cl_event *wait,
                                        cl_event *event)
{
    (void)blocking;
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueWriteBuffer);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fits(m, offset, bytes) || !from)
        return CL_INVALID_VALUE;
    memcpy(m->data + offset, from, bytes);
    return stub_done(q, CL_COMMAND_WRITE_BUFFER, event);
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue q, cl_mem from,
                                       cl_mem to, size_t from_offset,
                                       size_t to_offset, size_t bytes,
                                       cl_uint n_wait, const cl_event *wait,
                                       cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueCopyBuffer);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fits(from, from_offset, bytes) || !fits(to, to_offset, bytes))
        return CL_INVALID_VALUE;
    memmove(to->data + to_offset, from->data + from_offset, bytes);
    return stub_done(q, CL_COMMAND_COPY_BUFFER, event);
}

static void fill(unsigned char *at, const void *pattern, size_t n,
                 size_t bytes)
{
    for (size_t i = 0; i + n <= bytes; i += n)
        memcpy(at + i, pattern, n);
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue q, cl_mem m,
                                       const void *pattern, size_t n_pattern,
                                       size_t offset, size_t bytes,
                                       cl_uint n_wait, const cl_event *wait,
                                       cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueFillBuffer);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fits(m, offset, bytes) || !pattern || n_pattern == 0)
        return CL_INVALID_VALUE;
    fill(m->data + offset, pattern, n_pattern, bytes);
    return stub_done(q, CL_COMMAND_FILL_BUFFER, event);
}

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue q, cl_mem m,
                                     cl_bool blocking, cl_map_flags flags,
                                     size_t offset, size_t bytes,
                                     cl_uint n_wait, const cl_event *wait,
                                     cl_event *event, cl_int *err)
{
    (void)blocking;
    (void)flags;
    (void)n_wait;
    (void)wait;
    STUB_ENTER_NEW(clEnqueueMapBuffer, err);
    if (!stub_is(q, STUB_QUEUE) || !fits(m, offset, bytes))
        STUB_REFUSE(err, CL_INVALID_VALUE);
    const cl_int code = stub_done(q, CL_COMMAND_MAP_BUFFER, event);
    if (err)
        *err = code;
    return code == CL_SUCCESS ? m->data + offset : NULL;
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m,
                                           void *mapped, cl_uint n_wait,
                                           const cl_event *wait,
                                           cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueUnmapMemObject);
    if (!stub_is(q, STUB_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!stub_is(m, STUB_MEM) || !mapped)
        return CL_INVALID_MEM_OBJECT;
    return stub_done(q, CL_COMMAND_UNMAP_MEM_OBJECT, event);
}

cl_int CL_API_CALL clEnqueueMigrateMemObjects(
    cl_command_queue q, cl_uint n, const cl_mem *list,
    cl_mem_migration_flags flags, cl_uint n_wait, const cl_event *wait,
    cl_event *event)
{
    (void)flags;
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueMigrateMemObjects);
    for (cl_uint i = 0; i < n; i++)
        if (!stub_is(list[i], STUB_MEM))
            return CL_INVALID_MEM_OBJECT;
    return stub_done(q, CL_COMMAND_MIGRATE_MEM_OBJECTS, event);
}

/* -- shared virtual memory ------------------------------------------------ */

void *CL_API_CALL clSVMAlloc(cl_context c, cl_svm_mem_flags flags,
                             size_t bytes, cl_uint align)
{
    enum { ALIGNED = 128 }; /* of the largest type, for which 0 stands */
    (void)flags;
    (void)align;
    if (stub_enter(STUB_clSVMAlloc) != CL_SUCCESS ||
        !stub_is(c, STUB_CONTEXT) || bytes == 0 || bytes > SIZE_MAX - ALIGNED)
        return NULL;
    bytes = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    void *block = aligned_alloc(ALIGNED, bytes);
    if (!block)
        return NULL;
    stub_count(STUB_SVM, 1);
    return memset(block, 0, bytes);
}

void CL_API_CALL clSVMFree(cl_context c, void *block)
{
    (void)c;
    (void)stub_enter(STUB_clSVMFree);
    if (!block)
        return;
    stub_count(STUB_SVM, -1);
    free(block);
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue q, cl_bool blocking,
                                      void *to, const void *from, size_t bytes,
                                      cl_uint n_wait, const cl_event *wait,
                                      cl_event *event)
{
    (void)blocking;
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueSVMMemcpy);
    if (!to || !from)
        return CL_INVALID_VALUE;
    memcpy(to, from, bytes);
    return stub_done(q, CL_COMMAND_SVM_MEMCPY, event);
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue q, void *at,
                                       const void *pattern, size_t n_pattern,
                                       size_t bytes, cl_uint n_wait,
                                       const cl_event *wait, cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueSVMMemFill);
    if (!at || !pattern || n_pattern == 0)
        return CL_INVALID_VALUE;
    fill(at, pattern, n_pattern, bytes);
    return stub_done(q, CL_COMMAND_SVM_MEMFILL, event);
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue q, cl_bool blocking,
                                   cl_map_flags flags, void *at, size_t bytes,
                                   cl_uint n_wait, const cl_event *wait,
                                   cl_event *event)
{
    (void)blocking;
    (void)flags;
    (void)bytes;
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueSVMMap);
    return at ? stub_done(q, CL_COMMAND_SVM_MAP, event) : CL_INVALID_VALUE;
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue q, void *at,
                                     cl_uint n_wait, const cl_event *wait,
                                     cl_event *event)
{
    (void)n_wait;
    (void)wait;
    STUB_ENTER(clEnqueueSVMUnmap);
    return at ? stub_done(q, CL_COMMAND_SVM_UNMAP, event) : CL_INVALID_VALUE;
}
