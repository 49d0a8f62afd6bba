/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/bug/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* -- programs --------------------------------------------------------------
 */

char *program_text(cl_program program, cl_program_info what)
{
    size_t n = 0;
    char *text = NULL;
    if (clGetProgramInfo(program, what, 0, NULL, &n) == CL_SUCCESS)
        text = xl__calloc(n + 1, 1);
    if (text && n > 0 &&
        clGetProgramInfo(program, what, n, text, NULL) != CL_SUCCESS)
        *text = '\0';
    return text;
}

char *build_text(cl_program program, cl_device_id device,
                 cl_program_build_info what)
{
    size_t n = 0;
    char *text = NULL;
    if (clGetProgramBuildInfo(program, device, what, 0, NULL, &n) ==
        CL_SUCCESS)
        text = xl__calloc(n + 1, 1);
    if (text && n > 0 &&
        clGetProgramBuildInfo(program, device, what, n, text, NULL) !=
            CL_SUCCESS)
        *text = '\0';
    return text;
}

/* For one device of several of the context. */
static xl_status read_binary(struct recorded_program *p, cl_device_id device)
{
    enum { MOST = 64 };
    cl_device_id devices[MOST];
    size_t n_bytes[MOST] = {0}, bytes = 0;
    unsigned char *binary[MOST] = {NULL};
    cl_int code = clGetProgramInfo(p->cl, CL_PROGRAM_DEVICES, sizeof devices,
                                   devices, &bytes);
    if (code == CL_SUCCESS)
        code = clGetProgramInfo(p->cl, CL_PROGRAM_BINARY_SIZES, sizeof n_bytes,
                                n_bytes, NULL);
    for (size_t i = 0; code == CL_SUCCESS && i < bytes / sizeof *devices; i++)
        if (devices[i] == device) {
            p->n_bytes = n_bytes[i];
            p->binary = binary[i] = xl__calloc(n_bytes[i] + 1, 1);
        }
    if (code != CL_SUCCESS)
        return code;
    if (!p->binary)
        return XL_NO_MEMORY;
    return clGetProgramInfo(p->cl, CL_PROGRAM_BINARIES, sizeof binary, binary,
                            NULL);
}

static xl_status add_program(struct record *r, cl_kernel kernel, size_t *at)
{
    const cl_device_id device = xl_device_cl(xl_queue_device(r->q));
    cl_program program = NULL;
    const cl_int code = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM,
                                        sizeof program, &program, NULL);
    if (code != CL_SUCCESS)
        return code;
    for (*at = 0; *at < r->n_programs; ++*at)
        if (r->program[*at].cl == program)
            return XL_OK;
    if (!xl__grow(&r->program, &r->cap_programs, *at + 1, sizeof *r->program))
        return XL_NO_MEMORY;
    struct recorded_program *p = &r->program[r->n_programs++];
    *p = (struct recorded_program){.cl = program};
    clRetainProgram(program);
    p->source = program_text(program, CL_PROGRAM_SOURCE);
    p->options = build_text(program, device, CL_PROGRAM_BUILD_OPTIONS);
    if (!p->source || !p->options)
        return XL_NO_MEMORY;
    p->n_bytes = strlen(p->source);
    return *p->source ? XL_OK : read_binary(p, device);
}

/* -- buffers and arguments -------------------------------------------------
 */

size_t record_find(const struct record *r, cl_mem mem)
{
    size_t at = 0;
    while (at < r->n_buffers && r->buffer[at].cl != mem)
        at++;
    return at;
}

static xl_status add_buffer(struct record *r, cl_mem mem, size_t *at)
{
    *at = record_find(r, mem);
    if (*at < r->n_buffers)
        return XL_OK;
    if (!xl__grow(&r->buffer, &r->cap_buffers, *at + 1, sizeof *r->buffer))
        return XL_NO_MEMORY;
    struct recorded_buffer *b = &r->buffer[r->n_buffers++];
    *b = (struct recorded_buffer){.cl = mem};
    clRetainMemObject(mem);
    const cl_int code =
        clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof b->bytes, &b->bytes, NULL);
    if (code != CL_SUCCESS)
        return code;
    b->before = xl__calloc(b->bytes, 1);
    if (!b->before)
        return XL_NO_MEMORY;
    return clEnqueueReadBuffer(xl_queue_cl(r->q), mem, CL_TRUE, 0, b->bytes,
                               b->before, 0, NULL, NULL);
}

static xl_status add_words(struct record *r, const void *value, size_t bytes)
{
    const size_t n = (bytes + sizeof *r->word - 1) / sizeof *r->word;
    if (!xl__grow(&r->word, &r->cap_words, r->n_words + n, sizeof *r->word))
        return XL_NO_MEMORY;
    memset(r->word + r->n_words, 0, n * sizeof *r->word);
    memcpy(r->word + r->n_words, value, bytes);
    r->n_words += n;
    return XL_OK;
}

static xl_status add_arg(struct record *r, const xl_kernel_arg *from)
{
    xl_status status = XL_OK;
    struct recorded_arg arg = {.bytes = from->bytes};
    if (!xl__grow(&r->arg, &r->cap_args, r->n_args + 1, sizeof *r->arg))
        return XL_NO_MEMORY;
    if (from->kind == XL_ARG_SVM)
        return XL_UNSUPPORTED;
    if (from->kind == XL_ARG_LOCAL) {
        arg.kind = ARG_LOCAL;
    } else if (from->kind == XL_ARG_MEM && !from->value) {
        arg.kind = ARG_NONE;
    } else if (from->kind == XL_ARG_MEM) {
        arg.kind = ARG_BUFFER;
        status = add_buffer(r, *(const cl_mem *)from->value, &arg.at);
    } else {
        arg.at = r->n_words;
        status = add_words(r, from->value, from->bytes);
    }
    r->arg[r->n_args++] = arg;
    return status;
}

/* -- launches --------------------------------------------------------------
 */

static xl_status add_launch(struct record *r, const xl_kernel_launch *from)
{
    xl_status status = XL_OK;
    struct recorded_launch to = {.kernel = from->name,
                                 .dims = from->dims,
                                 .first_arg = r->n_args,
                                 .n_args = from->n_args};
    for (unsigned d = 0; d < from->dims; d++) {
        to.offset[d] = from->offset ? from->offset[d] : 0;
        to.global[d] = from->global[d];
        to.local[d] = from->local ? from->local[d] : 0;
    }
    TRY(add_program(r, from->kernel, &to.program));
    for (unsigned i = 0; i < from->n_args; i++)
        TRY(add_arg(r, &from->arg[i]));
    TRY(xl__grow(&r->launch, &r->cap_launches, r->n_launches + 1,
                 sizeof *r->launch)
            ? XL_OK
            : XL_NO_MEMORY);
    r->launch[r->n_launches++] = to;
fail:
    return status;
}

static void on_launch(const xl_kernel_launch *launch, void *arg)
{
    struct record *r = arg;
    if (r->status == XL_OK)
        r->status = add_launch(r, launch);
}

xl_status record_begin(struct record *r, xl_queue *q)
{
    *r = (struct record){.q = q};
    return xl_queue_watch(q, on_launch, r);
}

xl_status record_end(struct record *r)
{
    (void)xl_queue_watch(r->q, NULL, NULL);
    return r->status;
}

void record_clear(struct record *r)
{
    for (size_t i = 0; i < r->n_programs; i++) {
        clReleaseProgram(r->program[i].cl);
        free(r->program[i].source);
        free(r->program[i].binary);
        free(r->program[i].options);
    }
    for (size_t i = 0; i < r->n_buffers; i++) {
        clReleaseMemObject(r->buffer[i].cl);
        free(r->buffer[i].before);
    }
    free(r->program);
    free(r->buffer);
    free(r->arg);
    free(r->launch);
    free(r->word);
    *r = (struct record){.q = NULL};
}

bool recorded_is_filled(const struct recorded_buffer *b, uint64_t *word)
{
    *word = 0;
    memcpy(word, b->before, b->bytes < sizeof *word ? b->bytes : sizeof *word);
    for (size_t i = sizeof *word; i < b->bytes; i++)
        if (b->before[i] != b->before[i - sizeof *word])
            return false;
    return true;
}
