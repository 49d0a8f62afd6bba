/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver for tests, loaded by the ICD loader. It answers queries
 * from text files, keeps objects with reference counts, executes no kernels,
 * and fails on demand.
 *
 * Environment, read when the loader opens it:
 *   XL_STUB_DEVICE=a.txt,b.txt  one platform with one device per answer file
 *   XL_STUB_DEVICE=a.txt+b.txt  one platform with these devices; what is asked
 *                               of the platform is in the first file
 *   XL_STUB_FAIL=name:n:code    the n-th call (from 1) of name returns code
 *   XL_STUB_TIMER=zero          event times are all 0
 *   XL_STUB_LOG=1               write every call to stderr, builds with their
 *                               options
 *
 * A release that is made to fail still releases, so that an object that is
 * alive at the end was leaked by the library.
 *
 * This header is internal; tests include control.h. */
#ifndef XL_TESTS_STUB_H
#define XL_TESTS_STUB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include "answers.h"
#include "control.h"

/* Every entry point there is; the rest of the dispatch table refuses. */
/* clang-format off */
#define STUB_ENTRIES(XX)                                                      \
    XX(clGetPlatformInfo) XX(clGetDeviceIDs) XX(clGetDeviceInfo)              \
    XX(clRetainDevice) XX(clReleaseDevice)                                    \
    XX(clCreateContext) XX(clRetainContext) XX(clReleaseContext)              \
    XX(clGetContextInfo)                                                      \
    XX(clCreateCommandQueue) XX(clCreateCommandQueueWithProperties)           \
    XX(clRetainCommandQueue) XX(clReleaseCommandQueue)                        \
    XX(clGetCommandQueueInfo) XX(clFlush) XX(clFinish)                        \
    XX(clCreateBuffer) XX(clCreateSubBuffer) XX(clRetainMemObject)            \
    XX(clReleaseMemObject) XX(clGetMemObjectInfo)                             \
    XX(clSetMemObjectDestructorCallback)                                      \
    XX(clEnqueueReadBuffer) XX(clEnqueueWriteBuffer) XX(clEnqueueCopyBuffer)  \
    XX(clEnqueueFillBuffer) XX(clEnqueueMapBuffer)                            \
    XX(clEnqueueUnmapMemObject) XX(clEnqueueMigrateMemObjects)                \
    XX(clSVMAlloc) XX(clSVMFree) XX(clEnqueueSVMMemcpy)                       \
    XX(clEnqueueSVMMemFill) XX(clEnqueueSVMMap) XX(clEnqueueSVMUnmap)         \
    XX(clCreateProgramWithSource) XX(clCreateProgramWithBinary)               \
    XX(clRetainProgram) XX(clReleaseProgram) XX(clBuildProgram)               \
    XX(clGetProgramInfo) XX(clGetProgramBuildInfo)                            \
    XX(clCreateKernel) XX(clRetainKernel) XX(clReleaseKernel)                 \
    XX(clGetKernelInfo) XX(clGetKernelWorkGroupInfo) XX(clSetKernelArg)       \
    XX(clSetKernelArgSVMPointer) XX(clSetKernelExecInfo)                      \
    XX(clEnqueueNDRangeKernel) XX(clEnqueueMarkerWithWaitList)                \
    XX(clEnqueueBarrierWithWaitList)                                          \
    XX(clCreateUserEvent) XX(clSetUserEventStatus) XX(clWaitForEvents)        \
    XX(clRetainEvent) XX(clReleaseEvent) XX(clGetEventInfo)                   \
    XX(clGetEventProfilingInfo) XX(clSetEventCallback)
/* Those of an extension, which are found by name. */
#define STUB_EXTENSIONS(XX)                                                   \
    XX(clCreateCommandBufferKHR) XX(clCommandNDRangeKernelKHR)                \
    XX(clFinalizeCommandBufferKHR) XX(clEnqueueCommandBufferKHR)              \
    XX(clReleaseCommandBufferKHR)
/* clang-format on */

enum stub_entry {
#define STUB_ENUM(name) STUB_##name,
    STUB_ENTRIES(STUB_ENUM) STUB_EXTENSIONS(STUB_ENUM)
#undef STUB_ENUM
        STUB_N_ENTRIES
};

enum { STUB_MAX_DEVICES = 8 }; /* of a platform */

enum stub_kind {
    STUB_PLATFORM,
    STUB_DEVICE,
    STUB_CONTEXT,
    STUB_QUEUE,
    STUB_MEM,
    STUB_PROGRAM,
    STUB_KERNEL,
    STUB_EVENT,
    STUB_SVM,
    STUB_COMMAND_BUFFER,
    STUB_N_KINDS
};

/* The loader finds its dispatch table at the start of every object. */
struct stub_object {
    cl_icd_dispatch *dispatch;
    enum stub_kind kind;
    atomic_int refs;
};

struct _cl_platform_id {
    struct stub_object base;
    cl_uint n_devices;
    struct _cl_device_id *device;
};

struct _cl_device_id {
    struct stub_object base;
    cl_platform_id platform;
    const struct answer *answers;
};

/* In the order of clCreateContext; a program has the same. */
struct stub_devices {
    cl_uint n;
    cl_device_id id[STUB_MAX_DEVICES];
};

struct _cl_context {
    struct stub_object base;
    struct stub_devices devices;
};

/* What a queue of a device with a model does. */
struct stub_busy {
    cl_ulong until_ns;
    bool ends_in_marker; /* the last command is one */
};

struct _cl_command_queue {
    struct stub_object base;
    cl_context context;
    cl_device_id device;
    cl_command_queue_properties properties;
    struct stub_busy busy;
};

struct _cl_event {
    struct stub_object base;
    cl_context context;
    cl_command_queue queue; /* not retained; NULL: a user event */
    cl_command_type type;
    cl_ulong stamp_ns[XL_N_STAMPS];
    cl_ulong due_ns; /* by the model's clock; 0: over */
    atomic_int status;
};

/* stub_control.c: faults, counts, the life of objects. */
extern cl_icd_dispatch stub_table;

/* Count the call; the code it is to fail with, or CL_SUCCESS. */
cl_int stub_enter(enum stub_entry entry);
/* NULL when out of memory. */
void *stub_new(enum stub_kind kind, size_t bytes);
bool stub_is(const void *object, enum stub_kind kind);
void stub_retain(void *object);
/* True when that was the last reference: the caller tears down, then calls
 * stub_free(). */
bool stub_release(void *object);
void stub_free(void *object);
/* For what has no stub_object: SVM. */
void stub_count(enum stub_kind kind, int change);
/* An event of a command that is over, if the caller wants one. */
cl_int stub_done(cl_command_queue queue, cl_command_type type,
                 cl_event *event);
/* Likewise of a launch that takes so many ns. */
cl_int stub_launched(cl_command_queue queue, double ns, cl_event *event);
void *stub_control(const char *name); /* a function of control.h */

/* stub_command_buffer.c: a function of STUB_EXTENSIONS, or NULL. */
void *stub_extension(const char *name);

/* stub_program.c: how long a kernel takes. */
double stub_kernel_ns(cl_kernel kernel, cl_uint dims, const size_t *global);

/* stub_model.c: commands that take time. */
void stub_set_model(const struct xl_model *to);
bool stub_has_model(void);
/* Counts the launch; the ns that it takes. */
double stub_takes(struct xl_launch *launch);
/* A command of so many ns behind those before; its stamps and true end, if the
 * caller wants an event. */
void stub_work(cl_command_queue queue, cl_command_type type, double ns,
               cl_event event);
void stub_wait(cl_ulong due_ns);
void stub_finish(cl_command_queue queue);

/* The place of the device in the list; n: it is not there. */
cl_uint stub_find(const struct stub_devices *list, cl_device_id device);

void stub_building(void); /* what control.h's on_build() asks for */
const struct xl_builds *stub_builds(void); /* of control.h, or NULL */
/* The log of the next build of a binary. */
const char *stub_next_log(void);
/* To stderr, when XL_STUB_LOG asks for it. */
void stub_log(const char *what, const char *text);

#define STUB_ENTER(entry)                                                     \
    do {                                                                      \
        const cl_int code_ = stub_enter(STUB_##entry);                        \
        if (code_ != CL_SUCCESS)                                              \
            return code_;                                                     \
    } while (0)

#define STUB_REFUSE(err, code)                                                \
    do {                                                                      \
        if (err)                                                              \
            *(err) = (code);                                                  \
        return NULL;                                                          \
    } while (0)

#define STUB_ENTER_NEW(entry, err)                                            \
    do {                                                                      \
        const cl_int code_ = stub_enter(STUB_##entry);                        \
        if (code_ != CL_SUCCESS)                                              \
            STUB_REFUSE((err), code_);                                        \
    } while (0)

#endif
