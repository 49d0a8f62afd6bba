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
    TRY(xl__queue_check_runs(q));
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
    cl_mem mem = xl__buffer_new(q, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code != CL_SUCCESS)
        TRY(xl__error_set(&q->error, code,
                          "clCreateBuffer of %zu bytes: %s", bytes,
                          xl_status_name(code)));
    *out = mem;
fail:
    return status;
}

/* A range of a buffer, and the host memory to copy it from or to. */
struct range {
    cl_mem mem;
    size_t offset, bytes;
    size_t have;     /* bytes of the buffer, by check_range() */
    const void *src; /* to write */
    void *dst;       /* to read */
};

static xl_status check_range(struct range *r, struct xl__error *e)
{
    xl_status status = XL_OK;
    xl__error_reset(e);
    if (!r->mem)
        return xl__error_set(e, XL_BAD_ARGUMENT, "the buffer is NULL");
    if (r->bytes == 0)
        return xl__error_set(e, XL_BAD_SHAPE, "a range of 0 bytes");
    TRY(xl__buffer_bytes((xl_mem){.buf = r->mem}, &r->have, e));
    if (r->offset > r->have || r->bytes > r->have - r->offset)
        status = xl__error_set(e, XL_BUFFER_TOO_SMALL,
                               "%zu bytes from byte %zu on do not fit: the "
                               "buffer has %zu bytes",
                               r->bytes, r->offset, r->have);
fail:
    return status;
}

/* Enqueues a read or a write. */
static xl_status transfer(xl_queue *q, struct range *r, bool blocks,
                          const xl_sync *sync)
{
    xl_sync full;
    const xl_sync *s = NULL;
    xl_status status = XL_OK;
    cl_event event = NULL;
    TRY(check_range(r, &q->error));
    s = xl__sync_read(sync, &full, &q->error);
    if (!s)
        TRY(q->error.status);
    cl_event *out = s->done || s->first ? &event : NULL;
    if (!r->src && !r->dst)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the host memory is NULL"));
    if (s->n_wait == 0)
        TRY(xl__queue_begin(q));
    if (r->src)
        CL_TRY(&q->error,
               clEnqueueWriteBuffer(q->cl, r->mem, blocks, r->offset, r->bytes,
                                    r->src, s->n_wait, s->wait, out));
    else
        CL_TRY(&q->error,
               clEnqueueReadBuffer(q->cl, r->mem, blocks, r->offset, r->bytes,
                                   r->dst, s->n_wait, s->wait, out));
    if (s->done && s->first)
        CL_TRY(&q->error, clRetainEvent(event));
    if (s->done)
        *s->done = event;
    if (s->first)
        *s->first = event;
    return XL_OK;
fail:
    xl__event_release(event);
    return status;
}

xl_status xl_buffer_write(xl_queue *q, cl_mem dst, size_t offset_bytes,
                          const void *src, size_t bytes)
{
    struct range r = {
        .mem = dst, .offset = offset_bytes, .bytes = bytes, .src = src};
    return q ? transfer(q, &r, true, NULL) : XL_BAD_ARGUMENT;
}

xl_status xl_buffer_read(xl_queue *q, cl_mem src, size_t offset_bytes,
                         void *dst, size_t bytes)
{
    struct range r = {
        .mem = src, .offset = offset_bytes, .bytes = bytes, .dst = dst};
    return q ? transfer(q, &r, true, NULL) : XL_BAD_ARGUMENT;
}

xl_status xl_buffer_enqueue_write(xl_queue *q, cl_mem dst, size_t offset_bytes,
                                  const void *src, size_t bytes,
                                  const xl_sync *sync)
{
    struct range r = {
        .mem = dst, .offset = offset_bytes, .bytes = bytes, .src = src};
    return q ? transfer(q, &r, false, sync) : XL_BAD_ARGUMENT;
}

xl_status xl_buffer_enqueue_read(xl_queue *q, cl_mem src, size_t offset_bytes,
                                 void *dst, size_t bytes, const xl_sync *sync)
{
    struct range r = {
        .mem = src, .offset = offset_bytes, .bytes = bytes, .dst = dst};
    return q ? transfer(q, &r, false, sync) : XL_BAD_ARGUMENT;
}

/* Work-groups of 64 items, or of one on CPUs; 32 work-groups per compute unit.
 */
static struct xl__plan plan_fill(const struct xl__limits *l, size_t n_words)
{
    enum { WG = 64, GROUPS_PER_UNIT = 32 };
    const bool cpu = xl__is(l, XL__F_is_cpu);
    struct xl__plan plan = {.bytes = 4.0 * (double)n_words};
    const size_t wg =
        cpu ? 1 : xl__min_size(WG, xl__size_or(l, XL__F_max_wg_size, WG));
    const size_t groups =
        GROUPS_PER_UNIT * xl__size_or(l, XL__F_compute_units, 1);
    struct xl__step *s =
        xl__plan_add(&plan, "common/fill.cl", "fill",
                     wg * xl__min_size(groups, xl__ceil_div(n_words, wg)), wg);
    s->slice_dim = -1;
    xl__define(s, "CHUNK", cpu);
    return plan;
}

xl_status xl_buffer_fill(xl_queue *q, cl_mem dst, size_t offset_words,
                         cl_uint word, size_t n_words)
{
    return xl_buffer_enqueue_fill(q, dst, offset_words, word, n_words, NULL);
}

xl_status xl_buffer_enqueue_fill(xl_queue *q, cl_mem dst, size_t offset_words,
                                 cl_uint word, size_t n_words,
                                 const xl_sync *sync)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl_status status = XL_OK;
    struct range r = {.mem = dst};
    xl__error_reset(&q->error);
    if (!xl__mul(offset_words, sizeof word, &r.offset) ||
        !xl__mul(n_words, sizeof word, &r.bytes))
        TRY(xl__error_set(&q->error, XL_OVERFLOW,
                          "%zu words from word %zu on do not fit in 64 bits",
                          n_words, offset_words));
    TRY(check_range(&r, &q->error));
    struct xl__plan plan = plan_fill(&q->ctx->device->limits, n_words);
    struct xl__step *s = &plan.step[0];
    const struct xl__call call = {.mem = {[1] = {.buf = dst}}};
    xl__arg_mem(s, 1);
    xl__arg_u64(s, offset_words);
    xl__arg_u32(s, word);
    xl__arg_u64(s, n_words);
    if (xl__buffer_is_large(q->ctx->device, r.have))
        xl__plan_permit_large(q->ctx->device, &plan);
    TRY(xl__plan_launch(q, &plan, &call, sync));
fail:
    return status;
}

/* -- large buffers -------------------------------------------------------- */

bool xl__buffer_is_large(const xl_device *dev, size_t bytes)
{
    const struct xl__large_buffers *how = dev->vendor->large_buffers;
    const double most = dev->limits.queried[XL__F_max_alloc_bytes].value;
    return how && (bytes > how->above_bytes || (double)bytes > most);
}

cl_mem xl__buffer_new(const xl_queue *q, cl_mem_flags flags, size_t bytes,
                      void *host, cl_int *code)
{
    const xl_device *dev = q->ctx->device;
    if (xl__buffer_is_large(dev, bytes))
        flags |= dev->vendor->large_buffers->flags;
    return clCreateBuffer(q->ctx->cl, flags, bytes, host, code);
}

void xl__plan_permit_large(const xl_device *dev, struct xl__plan *p)
{
    if (p->has_large)
        return;
    p->has_large = true;
    for (unsigned i = 0; i < p->n_steps; i++)
        xl__step_add_option(&p->step[i],
                            dev->vendor->large_buffers->build_option);
}

/* -- for the library ------------------------------------------------------ */

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
