/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and launches a kernel of the user through the plain OpenCL calls of
 * its application: nothing of the library changes its text, its options or its
 * launch. */
#include "kernel/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static cl_device_id device_of(const xl_queue *q)
{
    cl_device_id id = NULL;
    (void)clGetCommandQueueInfo(xl_queue_cl(q), CL_QUEUE_DEVICE, sizeof id,
                                &id, NULL);
    return id;
}

double kernel_device_fact(const xl_device *dev, const char *name)
{
    xl_fact f;
    const bool is_known = xl_device_fact(dev, name, XL_UNKNOWN, &f) == XL_OK;
    return is_known ? f.value : NAN;
}

static xl_status fail(struct xl__str *why, xl_status status, const char *fmt,
                      ...) XL__PRINTF(3, 4);

static xl_status fail(struct xl__str *why, xl_status status, const char *fmt,
                      ...)
{
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(why, fmt, args);
    va_end(args);
    return status;
}

static xl_status fail_call(struct xl__str *why, const char *path,
                           const char *call, cl_int code)
{
    return fail(why, code, "%s: %s: %s (%s)", path, call, xl_status_text(code),
                xl_status_name(code));
}

/* -- build ---------------------------------------------------------------- */

/* The options of the user, those of the variant, and the file's folder for
 * #include, unless a blank would end it there. */
static void add_options(const struct kernel_job *job,
                        const struct kernel_source *source, unsigned defines,
                        struct xl__str *out)
{
    const char *own = job->s->set.kernel.options;
    const char *slash = strrchr(source->path, '/');
    xl__str_add(out, "-cl-kernel-arg-info");
    if (!strchr(source->path, ' '))
        xl__str_printf(out, " -I%.*s",
                       slash ? (int)(slash - source->path + 1) : 1,
                       slash ? source->path : ".");
    for (unsigned k = 0; k < job->defines.n; k++)
        xl__str_printf(out, " -D%s=%s", job->defines.at[k].name,
                       axes_value(&job->defines, defines, k));
    if (own)
        xl__str_printf(out, " %s", own);
}

static char *read_log(cl_program program, cl_device_id device)
{
    size_t n = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                              &n) == CL_SUCCESS)
        log = xl__calloc(n + 1, 1);
    if (log && n > 0 &&
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, n, log,
                              NULL) != CL_SUCCESS)
        log[0] = '\0';
    return log;
}

/* The first line of a log that has "error", else the first one with text. */
static void add_first_error(struct xl__str *out, const char *log)
{
    const char *first = NULL;
    size_t first_len = 0;
    for (const char *at = log ? log : ""; *at;) {
        const size_t len = strcspn(at, "\r\n");
        struct xl__str line = {0};
        xl__str_add_n(&line, at, len);
        const bool is_error = xl__str_contains(xl__str_text(&line), "error");
        xl__str_clear(&line);
        if (is_error || (!first && len > 0)) {
            first = at;
            first_len = len;
        }
        if (is_error)
            break;
        at += len + (at[len] != '\0');
    }
    if (first) {
        xl__str_add(out, ": ");
        xl__str_add_n(out, first, first_len);
    }
}

static xl_status build(xl_queue *q, const struct kernel_job *job,
                       const struct kernel_source *source, unsigned defines,
                       struct kernel_program *out, struct xl__str *why)
{
    const char *text = source->text;
    const cl_device_id device = device_of(q);
    struct xl__str options = {0};
    cl_int code;
    out->program = clCreateProgramWithSource(xl_queue_context(q), 1, &text,
                                             &source->len, &code);
    if (code != CL_SUCCESS) {
        out->program = NULL;
        return fail_call(why, source->path, "clCreateProgramWithSource", code);
    }
    add_options(job, source, defines, &options);
    code = options.broken ? CL_OUT_OF_HOST_MEMORY
                          : clBuildProgram(out->program, 1, &device,
                                           xl__str_text(&options), NULL, NULL);
    xl__str_clear(&options);
    if (code == CL_SUCCESS)
        return XL_OK;
    out->log = read_log(out->program, device);
    fail(why, XL_BUILD_FAILED, "%s cannot be built (%s)", source->path,
         xl_status_name(code));
    add_first_error(why, out->log);
    return XL_BUILD_FAILED;
}

/* -- the kernel ----------------------------------------------------------- */

/* The names of the kernels, separated by semicolons; on the heap, also after a
 * failure. */
static xl_status list_kernels(const struct kernel_source *source,
                              cl_program program, char **out,
                              struct xl__str *why)
{
    size_t n = 0;
    cl_int code =
        clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &n);
    *out = code == CL_SUCCESS ? xl__calloc(n + 1, 1) : NULL;
    if (*out && n > 0)
        code =
            clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, n, *out, NULL);
    if (code != CL_SUCCESS)
        return fail_call(why, source->path, "clGetProgramInfo", code);
    return *out ? XL_OK : fail(why, XL_NO_MEMORY, "out of memory");
}

static xl_status fail_kernel(const struct kernel_source *source,
                             const char *list, struct xl__str *why)
{
    if (source->kernel)
        fail(why, XL_BAD_ARGUMENT, "%s has no kernel '%s'", source->path,
             source->kernel);
    else
        fail(why, XL_BAD_ARGUMENT, "%s has %s kernel", source->path,
             *list ? "more than one" : "no");
    if (!*list)
        return XL_BAD_ARGUMENT;
    xl__str_add(why, source->kernel ? "; it has " : "; name one: ");
    for (; *list; list++)
        xl__str_add(why, *list == ';' ? ", " : (char[]){*list, '\0'});
    return XL_BAD_ARGUMENT;
}

static xl_status create_kernel(const struct kernel_source *source,
                               struct kernel_program *out, struct xl__str *why)
{
    cl_int code;
    char *list = NULL;
    xl_status status = list_kernels(source, out->program, &list, why);
    if (status == XL_OK && !source->kernel && (!*list || strchr(list, ';')))
        status = fail_kernel(source, list, why);
    if (status == XL_OK) {
        out->name = xl__strdup(source->kernel ? source->kernel : list);
        if (!out->name)
            status = fail(why, XL_NO_MEMORY, "out of memory");
    }
    if (status == XL_OK) {
        out->kernel = clCreateKernel(out->program, out->name, &code);
        if (code != CL_SUCCESS)
            out->kernel = NULL;
        if (code == CL_INVALID_KERNEL_NAME)
            status = fail_kernel(source, list, why);
        else if (code != CL_SUCCESS)
            status = fail_call(why, source->path, "clCreateKernel", code);
    }
    free(list);
    return status;
}

/* -- its arguments -------------------------------------------------------- */

/* An argument as the kernel declares it, where the driver states it. */
struct declared {
    cl_kernel_arg_address_qualifier address;
    char type[64]; /* without * */
    char name[64];
    bool is_constant;
};

static bool read_declared(cl_kernel kernel, cl_uint i, struct declared *out)
{
    cl_kernel_arg_type_qualifier qualifier = 0;
    memset(out, 0, sizeof *out);
    if (clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                           sizeof out->address, &out->address,
                           NULL) != CL_SUCCESS ||
        clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME,
                           sizeof out->type - 1, out->type,
                           NULL) != CL_SUCCESS)
        return false;
    out->type[strcspn(out->type, "* ")] = '\0';
    if (clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof out->name - 1,
                           out->name, NULL) != CL_SUCCESS)
        out->name[0] = '\0';
    (void)clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER,
                             sizeof qualifier, &qualifier, NULL);
    out->is_constant = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0 ||
                       out->address == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    return true;
}

/* The --arg that the declaration needs: "--arg in:float:N". */
static void add_template(struct xl__str *out, const struct declared *d)
{
    const char *role = d->address == CL_KERNEL_ARG_ADDRESS_LOCAL ? "local"
                       : d->is_constant                          ? "in"
                                                                 : "inout";
    if (d->address == CL_KERNEL_ARG_ADDRESS_PRIVATE)
        xl__str_printf(out, "--arg %s=VALUE", d->type);
    else
        xl__str_printf(out, "--arg %s:%s:LENGTH", role, d->type);
}

/* Those of all arguments, a blank before each. */
static void add_templates(struct xl__str *out, cl_kernel kernel, cl_uint n)
{
    struct declared d;
    for (cl_uint i = 0; i < n && read_declared(kernel, i, &d); i++) {
        xl__str_add(out, " ");
        add_template(out, &d);
    }
}

static xl_status check_count(const struct kernel_job *job,
                             const struct kernel_program *p,
                             struct xl__str *why)
{
    cl_uint n = 0;
    struct declared d;
    const cl_int code =
        clGetKernelInfo(p->kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (code != CL_SUCCESS)
        return fail_call(why, p->name, "clGetKernelInfo", code);
    if (n == job->n_args)
        return XL_OK;
    fail(why, XL_BAD_ARGUMENT, "kernel '%s' has %u argument%s, %u --arg given",
         p->name, n, n == 1 ? "" : "s", job->n_args);
    if (n > 0 && read_declared(p->kernel, 0, &d))
        xl__str_add(why, "; it needs");
    add_templates(why, p->kernel, n);
    return XL_BAD_ARGUMENT;
}

static bool is_role(const struct declared *d, const struct argument *a)
{
    switch (d->address) {
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
        return a->role == ARG_LOCAL;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE:
        return a->role == ARG_SCALAR;
    default:
        return argument_is_buffer(a) && !(d->is_constant && a->role != ARG_IN);
    }
}

/* A buffer may be given in other vectors than the kernel reads; 16-bit floats
 * may be read as ushort. Types that are no built-in ones are not checked. */
static bool is_type(const struct declared *d, const struct argument *a)
{
    unsigned width;
    const struct element *e = element_find(d->type, strlen(d->type), &width);
    if (!e)
        return true;
    const bool is_half = a->element->kind == ELEMENT_FLOAT &&
                         a->element->bytes == sizeof(cl_ushort) &&
                         e->kind == ELEMENT_UNSIGNED;
    return e->bytes == a->element->bytes &&
           (e->kind == a->element->kind || is_half) &&
           (argument_is_buffer(a) || a->role == ARG_LOCAL ||
            width == a->width);
}

static xl_status check_arguments(const struct kernel_job *job,
                                 const struct kernel_program *p,
                                 struct xl__str *why)
{
    struct declared d;
    for (unsigned i = 0; i < job->n_args; i++) {
        if (!read_declared(p->kernel, i, &d))
            return XL_OK; /* clSetKernelArg() still checks sizes */
        if (strncmp(d.type, "image", 5) == 0 ||
            strcmp(d.type, "sampler_t") == 0)
            return fail(why, XL_BAD_ARGUMENT,
                        "argument %u of kernel '%s' is %s %s: images and "
                        "samplers cannot be given",
                        i + 1, p->name, d.type, d.name);
        if (is_role(&d, &job->arg[i]) && is_type(&d, &job->arg[i]))
            continue;
        fail(why, XL_BAD_ARGUMENT,
             "argument %u of kernel '%s', %s, does not match --arg '%s'; it "
             "needs ",
             i + 1, p->name, d.name, job->arg[i].text);
        add_template(why, &d);
        return XL_BAD_ARGUMENT;
    }
    return XL_OK;
}

xl_status kernel_program_list(xl_queue *q, const struct kernel_job *job,
                              const struct kernel_source *source,
                              struct xl__str *out, struct xl__str *why)
{
    struct kernel_program p = {.program = NULL};
    char *list = NULL;
    xl_status status = build(q, job, source, 0, &p, why);
    if (status == XL_OK)
        status = list_kernels(source, p.program, &list, why);
    for (char *at = list; status == XL_OK && *at;) {
        const size_t len = strcspn(at, ";");
        const bool is_last = at[len] == '\0';
        cl_int code;
        cl_uint n = 0;
        at[len] = '\0';
        cl_kernel kernel = clCreateKernel(p.program, at, &code);
        if (code != CL_SUCCESS) {
            status = fail_call(why, source->path, "clCreateKernel", code);
            break;
        }
        xl__str_add(out, at);
        if (clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) ==
            CL_SUCCESS)
            add_templates(out, kernel, n);
        xl__str_add(out, "\n");
        clReleaseKernel(kernel);
        at += len + !is_last;
    }
    if (status == XL_BUILD_FAILED && p.log)
        xl__str_printf(why, "\n%s", p.log);
    free(list);
    kernel_program_close(&p);
    return status;
}

xl_status kernel_program_open(xl_queue *q, const struct kernel_job *job,
                              const struct kernel_source *source,
                              unsigned defines, struct kernel_program *out,
                              struct xl__str *why)
{
    memset(out, 0, sizeof *out);
    xl_status status = build(q, job, source, defines, out, why);
    if (status == XL_OK)
        status = create_kernel(source, out, why);
    if (status == XL_OK)
        status = check_count(job, out, why);
    if (status == XL_OK)
        status = check_arguments(job, out, why);
    return status;
}

void kernel_program_close(struct kernel_program *p)
{
    if (p->kernel)
        clReleaseKernel(p->kernel);
    if (p->program)
        clReleaseProgram(p->program);
    free(p->name);
    free(p->log);
    memset(p, 0, sizeof *p);
}

/* -- launch --------------------------------------------------------------- */

static size_t query_size(cl_kernel kernel, cl_device_id device,
                         cl_kernel_work_group_info what)
{
    cl_ulong value = 0; /* size_t of some queries: the rest stays 0 */
    if (clGetKernelWorkGroupInfo(kernel, device, what, sizeof value, &value,
                                 NULL) != CL_SUCCESS)
        return 0;
    return (size_t)value;
}

static size_t group_items(const struct kernel_plan *plan)
{
    size_t items = 1;
    for (unsigned i = 0; i < plan->dims; i++)
        items *= plan->local[i];
    return items;
}

/* What the device can launch, before the driver refuses it with a code. */
static xl_status check_device(xl_queue *q, const struct kernel_program *p,
                              const struct kernel_plan *plan,
                              struct xl__str *why)
{
    const cl_device_id device = device_of(q);
    const size_t most =
        query_size(p->kernel, device, CL_KERNEL_WORK_GROUP_SIZE);
    const size_t items = group_items(plan);
    cl_ulong local = 0;
    size_t own[KERNEL_DIMS] = {0};
    if (most > 0 && items > most)
        return fail(why, XL_UNSUPPORTED,
                    "a work-group of %zu items; this kernel can have %zu at "
                    "most on this device",
                    items, most);
    (void)clGetKernelWorkGroupInfo(p->kernel, device,
                                   CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                   sizeof own, own, NULL);
    for (unsigned i = 0; own[0] > 0 && i < plan->dims; i++)
        if (plan->local[i] != own[i])
            return fail(why, XL_UNSUPPORTED,
                        "the kernel requires work-groups of %zu x %zu x %zu; "
                        "give --local %zu,%zu,%zu",
                        own[0], own[1], own[2], own[0], own[1], own[2]);
    if (clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local,
                        NULL) == CL_SUCCESS &&
        query_size(p->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE) > local)
        return fail(why, XL_UNSUPPORTED,
                    "%zu bytes of local memory; the device has %llu",
                    query_size(p->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE),
                    (unsigned long long)local);
    return XL_OK;
}

xl_status kernel_program_bind(xl_queue *q, const struct kernel_program *p,
                              const struct kernel_job *job,
                              const struct kernel_plan *plan,
                              const cl_mem *mem, struct xl__str *why)
{
    unsigned buffer = 0;
    for (unsigned i = 0; i < job->n_args; i++) {
        const struct argument *a = &job->arg[i];
        const bool is_buffer = argument_is_buffer(a);
        const void *value = is_buffer ? (const void *)&mem[buffer]
                            : a->role == ARG_SCALAR ? plan->scalar[i]
                                                    : NULL;
        const cl_int code = clSetKernelArg(
            p->kernel, i, is_buffer ? sizeof *mem : plan->bytes[i], value);
        if (code != CL_SUCCESS)
            return fail(why, code,
                        "argument %u of kernel '%s' cannot be set to --arg "
                        "'%s': %s (%s)",
                        i + 1, p->name, a->text, xl_status_text(code),
                        xl_status_name(code));
        buffer += is_buffer;
    }
    return check_device(q, p, plan, why);
}

xl_status kernel_program_run(xl_queue *q, const struct kernel_program *p,
                             const struct kernel_plan *plan)
{
    cl_event event = NULL;
    const cl_int code = clEnqueueNDRangeKernel(
        xl_queue_cl(q), p->kernel, plan->dims, NULL, plan->global,
        plan->local[0] > 0 ? plan->local : NULL, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return code;
    const xl_status status = xl_timeline_record(q, p->name, event);
    clReleaseEvent(event);
    return status;
}

void kernel_program_use(xl_queue *q, const struct kernel_program *p,
                        xl_choice *out)
{
    const cl_device_id device = device_of(q);
    const bool is_cpu = kernel_device_fact(xl_queue_device(q), "is_cpu") == 1;
    out->local_mem_bytes =
        query_size(p->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE);
    if (!is_cpu) /* CP-34 */
        out->private_bytes =
            query_size(p->kernel, device, CL_KERNEL_PRIVATE_MEM_SIZE);
    (void)xl_kernel_registers(q, p->kernel, &out->registers,
                              &out->spill_bytes);
}
