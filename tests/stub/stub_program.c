/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's programs and kernels. A build succeeds; a binary is a
 * marker, the device's tag and the source, so that damage and another device's
 * binary are detected. With control.h's builds() a binary is a text, and the
 * test sets the results of builds. A program is built for each device by
 * itself. A kernel exists when the source, or the text, has its name before a
 * parenthesis. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"

static const char mark[8] = {'S', 'T', 'U', 'B', 'B', 'I', 'N', '1'};

enum { MAX_ARGS = 64, DEFAULT_WG_SIZE = 256, DEFAULT_WG_STEP = 32 };

/* The marker and the tag of a device. */
struct head {
    char mark[sizeof mark];
    unsigned long long tag;
};

/* A program as built for one device. */
struct built {
    char *binary; /* head, then the source and its final 0; or a text */
    size_t n_binary, n_head;
    const char *log; /* of the last build */
    char *options;
    cl_build_status status;
};

struct _cl_program {
    struct stub_object base;
    cl_context context;
    struct stub_devices devices;
    char *source; /* NULL: made of binaries */
    struct built built[STUB_MAX_DEVICES];
};

struct _cl_kernel {
    struct stub_object base;
    cl_program program;
    char *name;
    unsigned long long last_arg;
    cl_uint n_args; /* the number of the last one set, and 1 */
};

static const char default_log[] = "stub: this is the build log\n";

/* Equal for devices of one name. */
static struct head head_of(cl_device_id d)
{
    char name[256] = "";
    struct head head = {.tag = 14695981039346656037u}; /* FNV-1a */
    memcpy(head.mark, mark, sizeof mark);
    (void)answer_give(d->answers, ANSWER_DEVICE, CL_DEVICE_NAME, sizeof name,
                      name, NULL);
    for (const char *at = name; *at; at++)
        head.tag = (head.tag ^ (unsigned char)*at) * 1099511628211u;
    return head;
}

static void drop_program(cl_program p)
{
    if (!stub_release(p))
        return;
    cl_context c = p->context;
    for (cl_uint i = 0; i < p->devices.n; i++) {
        free(p->built[i].binary);
        free(p->built[i].options);
    }
    free(p->source);
    stub_free(p);
    if (stub_release(c))
        stub_free(c);
}

static cl_program new_program(cl_context c, const struct stub_devices *devices)
{
    cl_program p = stub_new(STUB_PROGRAM, sizeof *p);
    if (!p)
        return NULL;
    stub_retain(c);
    p->context = c;
    p->devices = *devices;
    for (cl_uint i = 0; i < devices->n; i++) {
        p->built[i].status = CL_BUILD_NONE;
        p->built[i].log = default_log;
    }
    return p;
}

/* Sets the binary, a copy of `n` bytes behind a head or none. */
static cl_int set_binary(struct built *b, const struct head *head,
                         const void *bytes, size_t n)
{
    const size_t n_head = head ? sizeof *head : 0;
    char *binary = calloc(1, n_head + n + 1); /* a cut-off one ends, too */
    if (!binary)
        return CL_OUT_OF_HOST_MEMORY;
    if (head)
        memcpy(binary, head, n_head);
    if (n > 0)
        memcpy(binary + n_head, bytes, n);
    free(b->binary);
    b->binary = binary;
    b->n_binary = n_head + n;
    b->n_head = n_head;
    return CL_SUCCESS;
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
    cl_program p = new_program(c, &c->devices);
    if (p && !(p->source = calloc(1, total + 1))) {
        drop_program(p);
        p = NULL;
    }
    if (!p)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    char *at = p->source;
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

/* A binary that the device takes: its own, or any text where builds() asks for
 * texts. Sets *is_marked to whether it has a head. */
static bool is_sound(cl_device_id d, const unsigned char *bytes, size_t n,
                     bool *is_marked)
{
    const struct head head = head_of(d);
    *is_marked = n > sizeof head && memcmp(bytes, mark, sizeof mark) == 0;
    return *is_marked ? memcmp(bytes, &head, sizeof head) == 0
                      : stub_builds() && n > 0;
}

cl_program CL_API_CALL clCreateProgramWithBinary(
    cl_context c, cl_uint n, const cl_device_id *list, const size_t *lengths,
    const unsigned char **binaries, cl_int *statuses, cl_int *err)
{
    bool is_marked;

    STUB_ENTER_NEW(clCreateProgramWithBinary, err);
    if (!stub_is(c, STUB_CONTEXT) || n != 1 || !list ||
        stub_find(&c->devices, list[0]) == c->devices.n)
        STUB_REFUSE(err, CL_INVALID_VALUE);
    const bool sound = is_sound(list[0], binaries[0], lengths[0], &is_marked);
    if (statuses)
        statuses[0] = sound ? CL_SUCCESS : CL_INVALID_BINARY;
    if (!sound)
        STUB_REFUSE(err, CL_INVALID_BINARY);
    const struct stub_devices devices = {1, {list[0]}};
    cl_program p = new_program(c, &devices);
    if (p && set_binary(&p->built[0], NULL, binaries[0], lengths[0]) !=
                 CL_SUCCESS) {
        drop_program(p);
        p = NULL;
    }
    if (!p)
        STUB_REFUSE(err, CL_OUT_OF_HOST_MEMORY);
    p->built[0].n_head = is_marked ? sizeof(struct head) : 0;
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
static cl_int build_text(struct built *b, bool is_source,
                         const struct xl_builds *how)
{
    if (!is_source) {
        b->log = stub_next_log();
        return how->binary_code;
    }
    const cl_int code = set_binary(b, NULL, how->binary,
                                   how->binary ? strlen(how->binary) + 1 : 0);
    return code == CL_SUCCESS ? how->source_code : code;
}

static cl_int build_for(cl_program p, cl_uint i, const char *options)
{
    cl_int code = CL_SUCCESS;
    struct built *b = &p->built[i];
    const struct head head = head_of(p->devices.id[i]);
    free(b->options);
    b->options = calloc(1, options ? strlen(options) + 1 : 1);
    if (!b->options)
        return CL_OUT_OF_HOST_MEMORY;
    if (options)
        memcpy(b->options, options, strlen(options));
    const bool is_new = p->source && !b->binary;
    if (stub_builds())
        code = build_text(b, b->n_head > 0 || is_new, stub_builds());
    else if (is_new)
        code = set_binary(b, &head, p->source, strlen(p->source) + 1);
    b->status = code == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    return code;
}

/* Does a list that a build or a query names have this device? NULL: all. */
static bool has_device(cl_uint n, const cl_device_id *list, cl_device_id d)
{
    bool has = !list;
    for (cl_uint i = 0; list && i < n; i++)
        has = has || list[i] == d;
    return has;
}

cl_int CL_API_CALL clBuildProgram(
    cl_program p, cl_uint n, const cl_device_id *list, const char *options,
    void(CL_CALLBACK *notify)(cl_program, void *), void *arg)
{
    cl_int code = CL_SUCCESS;

    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    for (cl_uint i = 0; i < p->devices.n; i++)
        if (has_device(n, list, p->devices.id[i]))
            p->built[i].status = CL_BUILD_ERROR;
    STUB_ENTER(clBuildProgram);
    stub_log("built with", options ? options : "");
    stub_building();
    for (cl_uint i = 0; code == CL_SUCCESS && i < p->devices.n; i++)
        if (has_device(n, list, p->devices.id[i]))
            code = build_for(p, i, options);
    if (notify)
        notify(p, arg);
    return code;
}

/* The source, or the text of the first build that succeeded. */
static const char *text_of(cl_program p)
{
    for (cl_uint i = 0; i < p->devices.n; i++)
        if (p->built[i].status == CL_BUILD_SUCCESS)
            return p->built[i].binary + p->built[i].n_head;
    return p->source ? p->source : "";
}

/* Fills in the binaries whose pointers are not NULL. */
static cl_int give_binaries(cl_program p, size_t cap, void *out, size_t *n_out)
{
    const size_t bytes = p->devices.n * sizeof(void *);
    unsigned char **binary = out;
    if (out && cap < bytes)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; out && i < p->devices.n; i++)
        if (binary[i] && p->built[i].n_binary > 0)
            memcpy(binary[i], p->built[i].binary, p->built[i].n_binary);
    if (n_out)
        *n_out = bytes;
    return CL_SUCCESS;
}

cl_int CL_API_CALL clGetProgramInfo(cl_program p, cl_program_info key,
                                    size_t cap, void *out, size_t *n_out)
{
    size_t sizes[STUB_MAX_DEVICES];

    STUB_ENTER(clGetProgramInfo);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    const struct stub_devices *all = &p->devices;
    switch (key) {
    case CL_PROGRAM_CONTEXT:
        return answer_bytes(&p->context, sizeof p->context, cap, out, n_out);
    case CL_PROGRAM_NUM_DEVICES:
        return answer_bytes(&all->n, sizeof all->n, cap, out, n_out);
    case CL_PROGRAM_DEVICES:
        return answer_bytes(all->id, all->n * sizeof *all->id, cap, out,
                            n_out);
    case CL_PROGRAM_SOURCE:
        return answer_bytes(text_of(p), strlen(text_of(p)) + 1, cap, out,
                            n_out);
    case CL_PROGRAM_BINARY_SIZES:
        for (cl_uint i = 0; i < all->n; i++)
            sizes[i] = p->built[i].n_binary;
        return answer_bytes(sizes, all->n * sizeof *sizes, cap, out, n_out);
    case CL_PROGRAM_BINARIES:
        return give_binaries(p, cap, out, n_out);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program p, cl_device_id d,
                                         cl_program_build_info key, size_t cap,
                                         void *out, size_t *n_out)
{
    const cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;

    STUB_ENTER(clGetProgramBuildInfo);
    if (!stub_is(p, STUB_PROGRAM))
        return CL_INVALID_PROGRAM;
    const cl_uint at = stub_find(&p->devices, d);
    if (at == p->devices.n)
        return CL_INVALID_DEVICE;
    const struct built *b = &p->built[at];
    const char *options = b->options ? b->options : "";
    switch (key) {
    case CL_PROGRAM_BUILD_STATUS:
        return answer_bytes(&b->status, sizeof b->status, cap, out, n_out);
    case CL_PROGRAM_BUILD_OPTIONS:
        return answer_bytes(options, strlen(options) + 1, cap, out, n_out);
    case CL_PROGRAM_BUILD_LOG:
        return answer_bytes(b->log, strlen(b->log) + 1, cap, out, n_out);
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
    bool is_built = false;
    for (cl_uint i = 0; i < p->devices.n; i++)
        is_built = is_built || p->built[i].status == CL_BUILD_SUCCESS;
    if (!is_built)
        STUB_REFUSE(err, CL_INVALID_PROGRAM_EXECUTABLE);
    if (!name || !has_function(text_of(p), name))
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
    const struct stub_devices *all = &k->program->devices;
    const cl_uint at = d ? stub_find(all, d) : 0;
    if (at == all->n || k->program->built[at].status != CL_BUILD_SUCCESS)
        return CL_INVALID_DEVICE;
    const struct answer *answers = all->id[at]->answers;
    const cl_int code =
        answer_give(answers, ANSWER_KERNEL, key, cap, out, n_out);
    if (code != ANSWER_NONE)
        return code;
    size_t size = DEFAULT_WG_SIZE;
    const size_t fixed[3] = {0, 0, 0}, step = DEFAULT_WG_STEP;
    const cl_ulong none = 0;
    const cl_ulong private_bytes = 64;
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
        return answer_bytes(&none, sizeof none, cap, out, n_out);
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return answer_bytes(&private_bytes, sizeof private_bytes, cap, out,
                            n_out);
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
