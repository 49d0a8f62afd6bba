/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer over a real driver for tests: any call can be made to fail,
 * and queries can return a smaller device. The loader opens it:
 *
 *   OPENCL_LAYERS=/path/to/it.so
 *   XL_LAYER_FAIL=name:n:code   the n-th call (from 1) of name returns code
 *   XL_LAYER_ANSWERS=file       results that replace the driver's: answers.h
 *   XL_LAYER_COPIED_MAPS=1      maps copy, as on a device with its own memory
 *   XL_LAYER_REPORT=1           report references still held at exit
 *
 * Only OpenCL 1.2 with SVM's argument setter is overridden; the rest passes
 * through. It is started through clInitLayer by ocl-icd, and through
 * clInitLayerWithProperties by the Khronos loader. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>
#include <CL/cl_layer.h>

#include "stub/answers.h"
#include "stub/control.h"

#define EXPORT __attribute__((visibility("default")))

static const cl_icd_dispatch *next;
static cl_icd_dispatch mine;
static struct answer *answers;

/* What is overridden. PASS(name, parameters, arguments): returns a code.
 * MAKE: returns an object and takes `err` last. HOLD and DROP: change the
 * count of references. SEND: may give an event, its last argument. */
/* clang-format off */
#define LAYER_ENTRIES(PASS, MAKE, HOLD, DROP, SEND)                           \
PASS(clGetPlatformInfo, (cl_platform_id a, cl_platform_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *r), (p, t, n, d, r)) \
PASS(clGetContextInfo, (cl_context a, cl_context_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetCommandQueueInfo, (cl_command_queue a, cl_command_queue_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetMemObjectInfo, (cl_mem a, cl_mem_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetProgramInfo, (cl_program a, cl_program_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetProgramBuildInfo, (cl_program a, cl_device_id d, cl_program_build_info k, size_t n, void *o, size_t *r), (a, d, k, n, o, r)) \
PASS(clGetKernelInfo, (cl_kernel a, cl_kernel_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetEventInfo, (cl_event a, cl_event_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clGetEventProfilingInfo, (cl_event a, cl_profiling_info k, size_t n, void *o, size_t *r), (a, k, n, o, r)) \
PASS(clBuildProgram, (cl_program p, cl_uint n, const cl_device_id *d, const char *o, void (CL_CALLBACK *f)(cl_program, void *), void *u), (p, n, d, o, f, u)) \
PASS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v), (k, i, n, v)) \
PASS(clSetKernelArgSVMPointer, (cl_kernel k, cl_uint i, const void *v), (k, i, v)) \
PASS(clFlush, (cl_command_queue q), (q))                                      \
PASS(clFinish, (cl_command_queue q), (q))                                     \
PASS(clWaitForEvents, (cl_uint n, const cl_event *e), (n, e))                 \
PASS(clSetEventCallback, (cl_event e, cl_int t, void (CL_CALLBACK *f)(cl_event, cl_int, void *), void *u), (e, t, f, u)) \
MAKE(cl_context, clCreateContext, (const cl_context_properties *p, cl_uint n, const cl_device_id *d, void (CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *err), (p, n, d, f, u, err)) \
MAKE(cl_command_queue, clCreateCommandQueue, (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err), (c, d, p, err)) \
MAKE(cl_command_queue, clCreateCommandQueueWithProperties, (cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *err), (c, d, p, err)) \
MAKE(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *err), (c, f, n, h, err)) \
MAKE(cl_mem, clCreateSubBuffer, (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *err), (m, f, t, i, err)) \
MAKE(cl_program, clCreateProgramWithSource, (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *err), (c, n, t, l, err)) \
MAKE(cl_program, clCreateProgramWithBinary, (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s, cl_int *err), (c, n, d, l, b, s, err)) \
MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *n, cl_int *err), (p, n, err)) \
MAKE(cl_event, clCreateUserEvent, (cl_context c, cl_int *err), (c, err))      \
HOLD(clRetainContext, cl_context)                                             \
HOLD(clRetainCommandQueue, cl_command_queue)                                  \
HOLD(clRetainMemObject, cl_mem)                                               \
HOLD(clRetainProgram, cl_program)                                             \
HOLD(clRetainKernel, cl_kernel)                                               \
HOLD(clRetainEvent, cl_event)                                                 \
DROP(clReleaseContext, cl_context)                                            \
DROP(clReleaseCommandQueue, cl_command_queue)                                 \
DROP(clReleaseMemObject, cl_mem)                                              \
DROP(clReleaseProgram, cl_program)                                            \
DROP(clReleaseKernel, cl_kernel)                                              \
DROP(clReleaseEvent, cl_event)                                                \
SEND(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, void *p, cl_uint w, const cl_event *l, cl_event *event), (q, m, b, o, n, p, w, l, event)) \
SEND(clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, const void *p, cl_uint w, const cl_event *l, cl_event *event), (q, m, b, o, n, p, w, l, event)) \
SEND(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t i, size_t o, size_t n, cl_uint w, const cl_event *l, cl_event *event), (q, a, b, i, o, n, w, l, event)) \
SEND(clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *p, size_t k, size_t o, size_t n, cl_uint w, const cl_event *l, cl_event *event), (q, m, p, k, o, n, w, l, event)) \
SEND(clEnqueueNDRangeKernel, (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *s, cl_uint w, const cl_event *l, cl_event *event), (q, k, d, o, g, s, w, l, event)) \
SEND(clEnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint w, const cl_event *l, cl_event *event), (q, w, l, event)) \
SEND(clEnqueueBarrierWithWaitList, (cl_command_queue q, cl_uint w, const cl_event *l, cl_event *event), (q, w, l, event))
/* clang-format on */

enum layer_entry {
#define ENUM3(name, params, args) L_##name,
#define ENUM4(type, name, params, args) L_##name,
#define ENUM2(name, type) L_##name,
    LAYER_ENTRIES(ENUM3, ENUM4, ENUM2, ENUM2, ENUM3) L_clGetDeviceInfo,
    L_clGetKernelWorkGroupInfo,
    L_clEnqueueMapBuffer,
    L_clEnqueueUnmapMemObject,
    N_ENTRIES
};

static const char *const entry_names[] = {
#define NAME3(name, params, args) #name,
#define NAME4(type, name, params, args) #name,
#define NAME2(name, type) #name,
    LAYER_ENTRIES(NAME3, NAME4, NAME2, NAME2, NAME3) "clGetDeviceInfo",
    "clGetKernelWorkGroupInfo", "clEnqueueMapBuffer",
    "clEnqueueUnmapMemObject", NULL};

static atomic_ulong calls[N_ENTRIES];
static atomic_long held;
static struct {
    int entry; /* -1: none */
    unsigned long at;
    cl_int code;
    atomic_int fired;
} fault = {.entry = -1};

static cl_int enter(enum layer_entry entry)
{
    const unsigned long n = atomic_fetch_add(&calls[entry], 1) + 1;
    if ((int)entry != fault.entry || n != fault.at)
        return CL_SUCCESS;
    atomic_store(&fault.fired, 1);
    return fault.code;
}

#define PASS(name, params, args)                                              \
    static cl_int CL_API_CALL my_##name params                                \
    {                                                                         \
        const cl_int code = enter(L_##name);                                  \
        return code != CL_SUCCESS ? code : next->name args;                   \
    }
#define MAKE(type, name, params, args)                                        \
    static type CL_API_CALL my_##name params                                  \
    {                                                                         \
        const cl_int code = enter(L_##name);                                  \
        if (code != CL_SUCCESS) {                                             \
            if (err)                                                          \
                *err = code;                                                  \
            return NULL;                                                      \
        }                                                                     \
        type made = next->name args;                                          \
        if (made)                                                             \
            atomic_fetch_add(&held, 1);                                       \
        return made;                                                          \
    }
#define COUNT(name, type, change)                                             \
    static cl_int CL_API_CALL my_##name(type object)                          \
    {                                                                         \
        const cl_int code = enter(L_##name);                                  \
        if (code != CL_SUCCESS && change > 0)                                 \
            return code;                                                      \
        const cl_int real = next->name(object);                               \
        if (real == CL_SUCCESS)                                               \
            atomic_fetch_add(&held, change);                                  \
        return code != CL_SUCCESS ? code : real;                              \
    }
#define HOLD(name, type) COUNT(name, type, 1)
#define DROP(name, type) COUNT(name, type, -1) /* is done, then reported */
#define SEND(name, params, args)                                              \
    static cl_int CL_API_CALL my_##name params                                \
    {                                                                         \
        cl_int code = enter(L_##name);                                        \
        if (code == CL_SUCCESS)                                               \
            code = next->name args;                                           \
        if (code == CL_SUCCESS && event)                                      \
            atomic_fetch_add(&held, 1);                                       \
        return code;                                                          \
    }
LAYER_ENTRIES(PASS, MAKE, HOLD, DROP, SEND)

static cl_int CL_API_CALL my_clGetDeviceInfo(cl_device_id d,
                                             cl_device_info key, size_t cap,
                                             void *out, size_t *n_out)
{
    cl_int code = enter(L_clGetDeviceInfo);
    if (code != CL_SUCCESS)
        return code;
    code = answer_give(answers, ANSWER_DEVICE, key, cap, out, n_out);
    return code != ANSWER_NONE ? code
                               : next->clGetDeviceInfo(d, key, cap, out,
                                                       n_out);
}

static cl_int CL_API_CALL my_clGetKernelWorkGroupInfo(
    cl_kernel k, cl_device_id d, cl_kernel_work_group_info key, size_t cap,
    void *out, size_t *n_out)
{
    cl_int code = enter(L_clGetKernelWorkGroupInfo);
    if (code != CL_SUCCESS)
        return code;
    code = answer_give(answers, ANSWER_KERNEL, key, cap, out, n_out);
    return code != ANSWER_NONE
               ? code
               : next->clGetKernelWorkGroupInfo(k, d, key, cap, out, n_out);
}

/* -- maps that copy -------------------------------------------------------- */

/* One open map. A map blocks even if it was not asked to: no caller depends on
 * it. */
struct map {
    struct map *next;
    void *at;
    cl_mem mem;
    size_t offset, bytes;
    cl_bool is_written;
};
static struct map *maps; /* of one thread's */

static void *CL_API_CALL my_clEnqueueMapBuffer(
    cl_command_queue q, cl_mem mem, cl_bool blocking, cl_map_flags flags,
    size_t offset, size_t bytes, cl_uint n_wait, const cl_event *wait,
    cl_event *event, cl_int *err)
{
    cl_int code = enter(L_clEnqueueMapBuffer);
    struct map *m = NULL;
    (void)blocking;
    if (code == CL_SUCCESS && !(m = calloc(1, sizeof *m)))
        code = CL_OUT_OF_HOST_MEMORY;
    if (m && !(m->at = malloc(bytes)))
        code = CL_OUT_OF_HOST_MEMORY;
    if (code == CL_SUCCESS) /* pages never touched would be all the same one */
        memset(m->at, 1, bytes);
    if (code == CL_SUCCESS && !(flags & CL_MAP_WRITE_INVALIDATE_REGION))
        code = next->clEnqueueReadBuffer(q, mem, CL_TRUE, offset, bytes, m->at,
                                         n_wait, wait, event);
    if (err)
        *err = code;
    if (code != CL_SUCCESS) {
        free(m ? m->at : NULL);
        free(m);
        return NULL;
    }
    *m = (struct map){maps, m->at, mem, offset, bytes, flags != CL_MAP_READ};
    maps = m;
    return m->at;
}

static cl_int CL_API_CALL my_clEnqueueUnmapMemObject(cl_command_queue q,
                                                     cl_mem mem, void *at,
                                                     cl_uint n_wait,
                                                     const cl_event *wait,
                                                     cl_event *event)
{
    cl_int code = enter(L_clEnqueueUnmapMemObject);
    struct map **place = &maps;
    while (*place && ((*place)->at != at || (*place)->mem != mem))
        place = &(*place)->next;
    struct map *m = *place;
    if (code != CL_SUCCESS || !m)
        return code != CL_SUCCESS ? code : CL_INVALID_VALUE;
    if (m->is_written)
        code = next->clEnqueueWriteBuffer(q, mem, CL_TRUE, m->offset, m->bytes,
                                          at, n_wait, wait, event);
    *place = m->next;
    free(m->at);
    free(m);
    return code;
}

/* -- what is reported of commands --------------------------------------------- */

static const struct xl_model *model;
static atomic_ullong n_launches;

static cl_int CL_API_CALL told_clGetEventProfilingInfo(cl_event event,
                                                       cl_profiling_info key,
                                                       size_t cap, void *out,
                                                       size_t *n_out)
{
    const cl_uint i = key - CL_PROFILING_COMMAND_QUEUED;
    unsigned long long ns[XL_N_STAMPS];
    cl_int code =
        my_clGetEventProfilingInfo(event, key, cap, out, n_out);
    if (code != CL_SUCCESS || !model || !model->set_stamps || i >= XL_N_STAMPS)
        return code;
    for (cl_uint k = 0; k < XL_N_STAMPS && code == CL_SUCCESS; k++)
        code = next->clGetEventProfilingInfo(
            event, CL_PROFILING_COMMAND_QUEUED + k, sizeof ns[k], &ns[k],
            NULL);
    model->set_stamps(model->arg, ns);
    return answer_bytes(&ns[i], sizeof ns[i], cap, out, n_out);
}

static cl_int CL_API_CALL kept_clEnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
    const size_t *global, const size_t *local, cl_uint n_wait,
    const cl_event *wait, cl_event *event)
{
    struct xl_launch launch = {.items = 1, .number = n_launches++};
    for (cl_uint i = 0; global && i < dims; i++)
        launch.items *= global[i];
    if (model && model->drops && model->drops(model->arg, &launch))
        return my_clEnqueueMarkerWithWaitList(q, n_wait, wait, event);
    return my_clEnqueueNDRangeKernel(q, k, dims, offset, global, local,
                                     n_wait, wait, event);
}

/* -- control -------------------------------------------------------------- */

static int find_entry(const char *name)
{
    for (int i = 0; i < N_ENTRIES; i++)
        if (strcmp(entry_names[i], name) == 0)
            return i;
    return -1;
}

static void control_arm(const char *name, unsigned n, cl_int code)
{
    fault.entry = find_entry(name);
    fault.code = code;
    fault.at = fault.entry < 0 ? 0 : atomic_load(&calls[fault.entry]) + n;
    atomic_store(&fault.fired, 0);
}

static int control_fired(void) { return atomic_load(&fault.fired); }

static void control_reset(void)
{
    fault.entry = -1;
    atomic_store(&fault.fired, 0);
    for (int i = 0; i < N_ENTRIES; i++)
        atomic_store(&calls[i], 0);
}

static long control_live(void) { return atomic_load(&held); }

static const char *control_live_text(void)
{
    static char text[64];
    text[0] = '\0';
    if (control_live() != 0)
        snprintf(text, sizeof text, "%ld references", control_live());
    return text;
}

static unsigned long control_calls(const char *name)
{
    const int i = find_entry(name);
    return i < 0 ? 0 : atomic_load(&calls[i]);
}

static const char *control_entry(unsigned i)
{
    return i < N_ENTRIES ? entry_names[i] : NULL;
}

static void control_timer(int mode) { (void)mode; }

static void control_model(const struct xl_model *to)
{
    model = to;
    n_launches = 0;
}

EXPORT extern const struct xl_control xl_layer_control;
const struct xl_control xl_layer_control = {
    .arm = control_arm,
    .fired = control_fired,
    .reset = control_reset,
    .live = control_live,
    .live_text = control_live_text,
    .calls = control_calls,
    .entry = control_entry,
    .timer = control_timer,
    .model = control_model,
};

/* -- the loader's door ---------------------------------------------------- */

static void report(void)
{
    if (getenv("XL_LAYER_REPORT"))
        fprintf(stderr, "layer: %ld references held\n", control_live());
    answers_free(answers);
    answers = NULL;
}

static void read_environment(void)
{
    const char *file = getenv("XL_LAYER_ANSWERS");
    const char *spec = getenv("XL_LAYER_FAIL");
    char name[64];
    unsigned n;
    int code;

    if (file)
        answers = answers_read(file);
    if (spec && sscanf(spec, "%63[^:]:%u:%d", name, &n, &code) == 3)
        control_arm(name, n, code);
    atexit(report);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info key, size_t cap,
                                         void *out, size_t *n_out)
{
    static const char name[] = "crosslane fault layer";
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

    if (key == CL_LAYER_API_VERSION)
        return answer_bytes(&version, sizeof version, cap, out, n_out);
    if (key == CL_LAYER_NAME)
        return answer_bytes(name, sizeof name, cap, out, n_out);
    return CL_INVALID_VALUE;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n,
                                      const cl_icd_dispatch *target,
                                      cl_uint *n_out,
                                      const cl_icd_dispatch **out)
{
    const size_t slots = sizeof mine / sizeof(void *);

    if (!target || !n_out || !out)
        return CL_INVALID_VALUE;
    next = target;
    memcpy(&mine, target, (n < slots ? n : slots) * sizeof(void *));
#define SET3(name, params, args) mine.name = my_##name;
#define SET4(type, name, params, args) mine.name = my_##name;
#define SET2(name, type) mine.name = my_##name;
    LAYER_ENTRIES(SET3, SET4, SET2, SET2, SET3)
    mine.clGetEventProfilingInfo = told_clGetEventProfilingInfo;
    mine.clEnqueueNDRangeKernel = kept_clEnqueueNDRangeKernel;
    mine.clGetDeviceInfo = my_clGetDeviceInfo;
    mine.clGetKernelWorkGroupInfo = my_clGetKernelWorkGroupInfo;
    if (getenv("XL_LAYER_COPIED_MAPS")) {
        mine.clEnqueueMapBuffer = my_clEnqueueMapBuffer;
        mine.clEnqueueUnmapMemObject = my_clEnqueueUnmapMemObject;
    }
    read_environment();
    *out = &mine;
    *n_out = (cl_uint)slots;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayerWithProperties(
    cl_uint n, const cl_icd_dispatch *target, cl_uint *n_out,
    const cl_icd_dispatch **out, const void *properties);
EXPORT cl_int CL_API_CALL clInitLayerWithProperties(
    cl_uint n, const cl_icd_dispatch *target, cl_uint *n_out,
    const cl_icd_dispatch **out, const void *properties)
{
    (void)properties;
    return clInitLayer(n, target, n_out, out);
}
