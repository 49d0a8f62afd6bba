/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's programs and kernels. A build succeeds; a binary is a
 * marker and the source, so that damage is detected. With control.h's builds()
 * a binary is a text, and the test sets the results of builds. A kernel exists
 * when the source, or the text, has its name before a parenthesis. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"

static const char mark[8] = {'S', 'T', 'U', 'B', 'B', 'I', 'N', '1'};

enum { MAX_ARGS = 64, DEFAULT_WG_SIZE = 256, DEFAULT_WG_STEP = 32 };

struct _cl_program {
    struct stub_object base;
    cl_context context;
    char *binary; /* mark, then the source and its final 0; or a text */
    size_t n_binary, n_mark;
    const char *log; /* of the last build */
    char *options;
    cl_build_status status;
};

struct _cl_kernel {
    struct stub_object base;
    cl_program program;
    char *name;
    unsigned long long last_arg;
    cl_uint n_args; /* the number of the last one set, and 1 */
};

static const char default_log[] = "stub: this is the build log\n";

static const char *source_of(cl_program p) { return p->binary + p->n_mark; }

static void drop_program(cl_program p)
{
    if (!stub_release(p))
        return;
    cl_context c = p->context;
    free(p->binary);
    free(p->options);
    stub_free(p);
    if (stub_release(c))
        stub_free(c);
}

/* With room for a source of this length. */
static cl_program new_program(cl_context c, size_t n_source)
{
    cl_program p = stub_new(STUB_PROGRAM, sizeof *p);
    if (!p)
        return NULL;
    stub_retain(c);
    p->context = c;
    p->status = CL_BUILD_NONE;
    p->log = default_log;
    p->n_mark = sizeof mark;
    p->n_binary = sizeof mark + n_source + 1;
    p->binary = calloc(1, p->n_binary + 1); /* a cut-off one ends, too */
    if (!p->binary) {
        drop_program(p);
        return NULL;
    }
    memcpy(p->binary, mark, sizeof mark);
    return p;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context c, cl_uint n,
                                                 const char **text,
                                                 const size_t *lengths,
                                                 cl_int *err)
{
    size_t total = 0;

    STUB_ENTER_NEW(clCreateProgramWithSource, err);
    if (!stub_is(c, STUB_CONTEXT) || n == 0 || !text)
        STUB_REFUSE(err, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < n; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(text[i]);
    cl_program p = new_program(c, total);
    if (!p)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    char *at = p->binary + sizeof mark;
    for (cl_uint i = 0; i < n; i++) {
        const size_t len =
            lengths && lengths[i] ? lengths[i] : strlen(text[i]);
        memcpy(at, text[i], len);
        at += len;
    }
    if (err)
        *err = CL_SUCCESS;
    return p;
}

cl_program CL_API_CALL clCreateProgramWithBinary(
    cl_context c, cl_uint n, const cl_device_id *list, const size_t *lengths,
    const unsigned char **binaries, cl_int *statuses, cl_int *err)
{
    STUB_ENTER_NEW(clCreateProgramWithBinary, err);
    if (!stub_is(c, STUB_CONTEXT) || n != 1 || !list || list[0] != c->device)
        STUB_REFUSE(err, CL_INVALID_VALUE);
    const bool is_marked = lengths[0] > sizeof mark &&
                           memcmp(binaries[0], mark, sizeof mark) == 0;
    const bool sound = is_marked || (stub_builds() && lengths[0] > 0);
    if (statuses)
        statuses[0] = sound ? CL_SUCCESS : CL_INVALID_BINARY;
    if (!sound)
        STUB_REFUSE(err, CL_INVALID_BINARY);
    cl_program p = new_program(c, lengths[0]);
    if (!p)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    memcpy(p->binary, binaries[0], lengths[0]);
    p->n_binary = lengths[0];
    p->n_mark = is_marked ? sizeof mark : 0;
    if (err)
        *err = CL_SUCCESS;
    return p;
}

cl_int CL_API_CALL clRetainProgram(cl_program p)
{
    STUB_ENTER(clRetainProgram);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    stub_retain(p);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseProgram(cl_program p)
{
    const cl_int code = stub_enter(STUB_clReleaseProgram);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    drop_program(p);
    return code;
}

/* A build as control.h's builds tell: a source becomes a text, a text gets
 * its log. */
static cl_int build(cl_program p, const struct xl_builds *how)
{
    if (p->n_mark == 0) {
        p->log = stub_next_log();
        return how->binary_code;
    }
    p->n_mark = 0;
    p->n_binary = how->binary ? strlen(how->binary) + 1 : 0;
    char *text = calloc(1, p->n_binary + 1);
    if (!text)
        return CL_OUT_OF_HOST_MEMORY;
    if (how->binary)
        memcpy(text, how->binary, p->n_binary);
    free(p->binary);
    p->binary = text;
    return how->source_code;
}

cl_int CL_API_CALL clBuildProgram(
    cl_program p, cl_uint n, const cl_device_id *list, const char *options,
    void(CL_CALLBACK *notify)(cl_program, void *), void *arg)
{
    (void)n;
    (void)list;
    if (stub_is(p, STUB_PROGRAM))
        p->status = CL_BUILD_ERROR;
    STUB_ENTER(clBuildProgram);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    const size_t len = options ? strlen(options) + 1 : 1;
    char *copy = calloc(1, len);
    if (!copy)
        return CL_OUT_OF_HOST_MEMORY;
    if (options)
        memcpy(copy, options, len);
    stub_log("built with", copy);
    free(p->options);
    p->options = copy;
    const cl_int code = stub_builds() ? build(p, stub_builds()) : CL_SUCCESS;
    p->status = code == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    if (notify)
        notify(p, arg);
    return code;
}

cl_int CL_API_CALL clGetProgramInfo(cl_program p, cl_program_info key,
                                    size_t cap, void *out, size_t *n_out)
{
    const cl_uint one = 1;

    STUB_ENTER(clGetProgramInfo);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    switch (key) {
    case CL_PROGRAM_CONTEXT:
        return answer_bytes(&p->context, sizeof p->context, cap, out, n_out);
    case CL_PROGRAM_NUM_DEVICES:
        return answer_bytes(&one, sizeof one, cap, out, n_out);
    case CL_PROGRAM_DEVICES:
        return answer_bytes(&p->context->device, sizeof p->context->device,
                            cap, out, n_out);
    case CL_PROGRAM_SOURCE:
        return answer_bytes(source_of(p), strlen(source_of(p)) + 1, cap, out,
                            n_out);
    case CL_PROGRAM_BINARY_SIZES:
        return answer_bytes(&p->n_binary, sizeof p->n_binary, cap, out,
                            n_out);
    case CL_PROGRAM_BINARIES:
        if (out && cap >= sizeof(void *) && *(unsigned char **)out)
            memcpy(*(unsigned char **)out, p->binary, p->n_binary);
        return answer_bytes(out, sizeof(void *), cap, NULL, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program p, cl_device_id d,
                                         cl_program_build_info key, size_t cap,
                                         void *out, size_t *n_out)
{
    const cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;

    (void)d;
    STUB_ENTER(clGetProgramBuildInfo);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    const char *options = p->options ? p->options : "";
    switch (key) {
    case CL_PROGRAM_BUILD_STATUS:
        return answer_bytes(&p->status, sizeof p->status, cap, out, n_out);
    case CL_PROGRAM_BUILD_OPTIONS:
        return answer_bytes(options, strlen(options) + 1, cap, out, n_out);
    case CL_PROGRAM_BUILD_LOG:
        return answer_bytes(p->log, strlen(p->log) + 1, cap, out, n_out);
    case CL_PROGRAM_BINARY_TYPE:
        return answer_bytes(&type, sizeof type, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

/* -- kernels -------------------------------------------------------------- */

static bool has_function(const char *source, const char *name)
{
    const size_t n = strlen(name);
    const char *at = source;

    while (n > 0 && (at = strstr(at, name)) != NULL) {
        at += n;
        if (at[strspn(at, " \n")] == '(')
            return true;
    }
    return false;
}

cl_kernel CL_API_CALL clCreateKernel(cl_program p, const char *name,
                                     cl_int *err)
{
    STUB_ENTER_NEW(clCreateKernel, err);
    if (!stub_is(p, STUB_PROGRAM))
        STUB_REFUSE(err, CL_INVALID_PROGRAM);
    if (p->status != CL_BUILD_SUCCESS)
        STUB_REFUSE(err, CL_INVALID_PROGRAM_EXECUTABLE);
    if (!name || !has_function(source_of(p), name))
        STUB_REFUSE(err, CL_INVALID_KERNEL_NAME);
    cl_kernel k = stub_new(STUB_KERNEL, sizeof *k);
    if (!k)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    stub_retain(p);
    k->program = p;
    k->name = calloc(1, strlen(name) + 1);
    if (!k->name) {
        drop_program(p);
        stub_free(k);
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    }
    memcpy(k->name, name, strlen(name));
    if (err)
        *err = CL_SUCCESS;
    return k;
}

cl_int CL_API_CALL clRetainKernel(cl_kernel k)
{
    STUB_ENTER(clRetainKernel);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    stub_retain(k);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clReleaseKernel(cl_kernel k)
{
    const cl_int code = stub_enter(STUB_clReleaseKernel);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    if (stub_release(k)) {
        drop_program(k->program);
        free(k->name);
        stub_free(k);
    }
    return code;
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel k, cl_kernel_info key, size_t cap,
                                   void *out, size_t *n_out)
{
    STUB_ENTER(clGetKernelInfo);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    switch (key) {
    case CL_KERNEL_FUNCTION_NAME:
        return answer_bytes(k->name, strlen(k->name) + 1, cap, out, n_out);
    case CL_KERNEL_PROGRAM:
        return answer_bytes(&k->program, sizeof k->program, cap, out, n_out);
    case CL_KERNEL_CONTEXT:
        return answer_bytes(&k->program->context, sizeof k->program->context,
                            cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                            cl_kernel_work_group_info key,
                                            size_t cap, void *out,
                                            size_t *n_out)
{
    STUB_ENTER(clGetKernelWorkGroupInfo);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    (void)d;
    const struct answer *answers = k->program->context->device->answers;
    const cl_int code =
        answer_give(answers, ANSWER_KERNEL, key, cap, out, n_out);
    if (code != ANSWER_NONE)
        return code;
    size_t size = DEFAULT_WG_SIZE;
    const size_t fixed[3] = {0, 0, 0}, step = DEFAULT_WG_STEP;
    const cl_ulong none = 0;
    switch (key) {
    case CL_KERNEL_WORK_GROUP_SIZE:
        (void)answer_give(answers, ANSWER_DEVICE,
                          CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof size, &size,
                          NULL);
        return answer_bytes(&size, sizeof size, cap, out, n_out);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
        return answer_bytes(fixed, sizeof fixed, cap, out, n_out);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return answer_bytes(&step, sizeof step, cap, out, n_out);
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return answer_bytes(&none, sizeof none, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clSetKernelArg(cl_kernel k, cl_uint i, size_t bytes,
                                  const void *value)
{
    STUB_ENTER(clSetKernelArg);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    if (i >= MAX_ARGS)
        return CL_INVALID_ARG_INDEX;
    if (i + 1 >= k->n_args && value &&
        (bytes == sizeof(cl_uint) || bytes == sizeof(cl_ulong))) {
        k->n_args = i + 1;
        k->last_arg = 0;
        memcpy(&k->last_arg, value, bytes); /* the low bytes come first */
    }
    return bytes > 0 ? CL_SUCCESS : CL_INVALID_ARG_SIZE;
}

double stub_kernel_ns(cl_kernel k, cl_uint dims, const size_t *global)
{
    struct xl_launch launch = {
        .kernel = k->name, .items = 1, .last_arg = k->last_arg};
    for (cl_uint i = 0; i < dims; i++)
        launch.items *= global[i];
    return stub_takes(&launch);
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel k, cl_uint i,
                                            const void *value)
{
    (void)value;
    STUB_ENTER(clSetKernelArgSVMPointer);
    if (!stub_is(k, STUB_KERNEL))
        return CL_INVALID_KERNEL;
    return i < MAX_ARGS ? CL_SUCCESS : CL_INVALID_ARG_INDEX;
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel k, cl_kernel_exec_info key,
                                       size_t bytes, const void *value)
{
    (void)key;
    (void)bytes;
    (void)value;
    STUB_ENTER(clSetKernelExecInfo);
    return stub_is(k, STUB_KERNEL) ? CL_SUCCESS : CL_INVALID_KERNEL;
}
