/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of a kernel of the application, by the mechanism for the
 * library's own (runtime/program.h). A driver writes no log for what its own
 * cache answers, and without an option none at all: then the binary is built
 * again with that option and a comment that no binary had before (NV-28). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/measure.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "device/cl_info.h"
#include "runtime/context.h"
#include "runtime/program.h"

/* The options of a program's build, and the driver's for a log. */
static void add_options(cl_program program, cl_device_id device,
                        const char *more, struct xl__str *out)
{
    size_t n = 0;
    char *own = NULL;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0,
                              NULL, &n) == CL_SUCCESS)
        own = xl__calloc(n + 1, 1);
    if (own && clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS,
                                     n, own, NULL) == CL_SUCCESS)
        xl__str_printf(out, "%s ", own);
    xl__str_add(out, more);
    free(own);
}

/* The log of a second build; NULL: there is none. */
static char *build_again(xl_queue *q, cl_program program)
{
    const struct xl__rebuild *how = q->ctx->device->vendor->rebuild;
    const cl_device_id device = q->ctx->device->id;
    size_t n;
    char *log = NULL;
    cl_program again = NULL;
    struct xl__str text = {0}, options = {0};
    char *bytes = (char *)xl__program_binary(program, device, &n);
    if (bytes) { /* a text, which a 0 may end before the binary does (NV-27) */
        const char *zero = memchr(bytes, '\0', n);
        xl__str_add_n(&text, bytes, zero ? (size_t)(zero - bytes) : n);
        xl__str_printf(&text, "\n%s %016llx\n", how->comment,
                       (unsigned long long)xl__now_ns());
        add_options(program, device, how->build_options, &options);
        if (!text.broken && !options.broken &&
            xl__program_build_binary(q->ctx, text.text, text.len + 1,
                                     options.text, &again) == CL_SUCCESS)
            log = xl__program_build_log(again, device);
    }
    if (again)
        clReleaseProgram(again);
    xl__str_clear(&options);
    xl__str_clear(&text);
    free(bytes);
    return log;
}

static bool has_mark(const char *log, const char *mark)
{
    return log && strstr(log, mark);
}

/* The log of a program that has what is asked for, or any. */
static char *find_log(xl_queue *q, cl_program program)
{
    const struct xl__vendor *vendor = q->ctx->device->vendor;
    char *log = xl__program_build_log(program, q->ctx->device->id);
    if (!vendor->use->log_mark || !vendor->rebuild ||
        has_mark(log, vendor->use->log_mark))
        return log;
    free(log);
    return build_again(q, program);
}

static xl_status read_kernel(xl_queue *q, cl_kernel kernel,
                             struct xl__kernel_use *use)
{
    xl_status status = XL_OK;
    struct xl__program p = {.cl = NULL};
    size_t n;
    char *name = NULL;
    CL_TRY(&q->error, clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof p.cl,
                                      &p.cl, NULL));
    CL_TRY(&q->error, clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL,
                                      &n));
    name = xl__calloc(n + 1, 1);
    TRY(xl__check_alloc(&q->error, name, "a kernel's name"));
    CL_TRY(&q->error, clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, n, name,
                                      NULL));
    p.build_log = find_log(q, p.cl);
    xl__program_use(q->ctx, &p, kernel, name, use);
fail:
    free(name);
    free(p.build_log);
    return status;
}

xl_status xl_kernel_registers(xl_queue *q, cl_kernel kernel, double *registers,
                              double *spill_bytes)
{
    struct xl__kernel_use use = {(double)NAN, (double)NAN};
    xl_status status = XL_OK;
    if (registers)
        *registers = use.registers;
    if (spill_bytes)
        *spill_bytes = use.spill_bytes;
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    if (!kernel || !registers || !spill_bytes)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "a kernel and where its registers go: one is "
                             "NULL");
    if (q->ctx->device->vendor->use)
        status = read_kernel(q, kernel, &use);
    *registers = use.registers;
    *spill_bytes = use.spill_bytes;
    return status;
}
