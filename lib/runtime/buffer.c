/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: the public helpers over cl_mem, and its size. */
#include "runtime/buffer.h"

#include <crosslane/buffer.h>

#include <stdint.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "runtime/launch.h"

xl_status xl_buffer_create(xl_queue *q, size_t bytes, cl_mem *out)
{
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    cl_int code;
    *out = NULL;
    xl__error_reset(&q->error);
    if (bytes == 0)
        TRY(xl__error_set(&q->error, XL_BAD_SHAPE, "a buffer of 0 bytes"));
    const size_t room = xl__size_or(&q->ctx->device->limits,
                                    XL__F_global_mem_bytes, SIZE_MAX);
    if (bytes > room)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "a buffer of %zu bytes does not fit: the device has "
                          "%zu bytes in all; use smaller sizes",
                          bytes, room));
    /* max_alloc_bytes is not checked: some drivers allocate more (GE-12), and
     * the others return an error here. */
    cl_mem mem = clCreateBuffer(q->ctx->cl, CL_MEM_READ_WRITE, bytes, NULL,
                                &code);
    if (code != CL_SUCCESS)
        TRY(xl__error_set(&q->error, code,
                          "clCreateBuffer of %zu bytes: %s", bytes,
                          xl_status_name(code)));
    *out = mem;
fail:
    return status;
}

xl_status xl_buffer_write(xl_queue *q, cl_mem dst, size_t offset_bytes,
                          const void *src, size_t bytes)
{
    if (!q || !dst || !src)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    xl__error_reset(&q->error);
    CL_TRY(&q->error, clEnqueueWriteBuffer(q->cl, dst, CL_TRUE, offset_bytes,
                                           bytes, src, 0, NULL, NULL));
fail:
    return status;
}

xl_status xl_buffer_read(xl_queue *q, cl_mem src, size_t offset_bytes,
                         void *dst, size_t bytes)
{
    if (!q || !src || !dst)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    xl__error_reset(&q->error);
    CL_TRY(&q->error, clEnqueueReadBuffer(q->cl, src, CL_TRUE, offset_bytes,
                                          bytes, dst, 0, NULL, NULL));
fail:
    return status;
}

/* Work-groups of 64 items, or of one on CPUs; 32 work-groups per compute unit.
 */
static struct xl__plan plan_fill(const struct xl__limits *l, size_t n_words)
{
    enum { WG = 64, GROUPS_PER_UNIT = 32 };
    const bool cpu = xl__is(l, XL__F_is_cpu);
    struct xl__plan plan = {.n_steps = 1, .bytes = 4.0 * (double)n_words};
    struct xl__step *s = &plan.step[0];
    s->source = "common/fill.cl";
    s->kernel = "fill";
    s->dims = 1;
    s->slice_dim = -1;
    s->local[0] = cpu ? 1 : xl__min_size(WG, xl__size_or(l, XL__F_max_wg_size,
                                                         WG));
    const size_t groups = GROUPS_PER_UNIT *
                          xl__size_or(l, XL__F_compute_units, 1);
    s->global[0] = s->local[0] * xl__min_size(
        groups, xl__ceil_div(n_words, s->local[0]));
    xl__define(s, "CHUNK", cpu);
    return plan;
}

xl_status xl_buffer_fill(xl_queue *q, cl_mem dst, size_t offset_words,
                         cl_uint word, size_t n_words)
{
    if (!q || !dst)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    if (n_words == 0)
        return XL_OK;
    struct xl__plan plan = plan_fill(&q->ctx->device->limits, n_words);
    struct xl__step *s = &plan.step[0];
    const struct xl__call call = {.mem = {[1] = {dst, NULL}}};
    xl__arg_mem(s, 1);
    xl__arg_u64(s, offset_words);
    xl__arg_u32(s, word);
    xl__arg_u64(s, n_words);
    return xl__plan_launch(q, &plan, &call, NULL);
}

/* -- for the library --------------------------------------------------------
 */

xl_status xl__buffer_bytes(xl_mem mem, size_t *bytes, struct xl__error *e)
{
    xl_status status = XL_OK;
    *bytes = SIZE_MAX;
    if (mem.buf)
        CL_TRY(e, clGetMemObjectInfo(mem.buf, CL_MEM_SIZE, sizeof *bytes,
                                     bytes, NULL));
fail:
    return status;
}

void xl__buffer_release(cl_mem mem)
{
    if (mem)
        clReleaseMemObject(mem);
}
