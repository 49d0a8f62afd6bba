/* SPDX-License-Identifier: Apache-2.0 */
/* Records and replays calls. Arguments of a kernel are set once, since a
 * recorded launch has a kernel of its own; a replay only enqueues: each
 * launch, or where nothing has changed since the replay before, a command
 * buffer of them. The order is that of the queue, which is in order. */
#include "runtime/commands/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "runtime/buffer.h"
#include "runtime/commands/command_buffer.h"
#include "runtime/context.h"
#include "runtime/launch.h"

struct xl_record {
    xl_queue *q;
    struct xl__recorded_call *calls;
    size_t n, cap;
    size_t at; /* of the next call, while it is the queue's record */
    bool has_buffers;  /* command buffers may be used */
    bool was_replayed; /* since the last change */
    struct xl__command_buffer buffer;
};

static bool is_open(const xl_record *r)
{
    return r->q->record == r;
}

static void clear_call(struct xl__recorded_call *c)
{
    for (size_t i = 0; i < c->n_mems; i++)
        clReleaseMemObject(c->mems[i].mem);
    for (size_t i = 0; i < c->n_kernels; i++)
        clReleaseKernel(c->kernels[i].cl); /* enqueued launches retain it */
    free(c->kernels);
    free(c->launches);
    free(c->mems);
    *c = (struct xl__recorded_call){0};
}

/* A command buffer keeps arguments: what it has is not what the record has. */
static void forget_buffer(xl_record *r)
{
    xl__command_buffer_clear(&r->buffer);
    r->was_replayed = false;
}

/* -- recording ------------------------------------------------------------ */

xl_status xl__record_kernel(xl_queue *q, struct xl__recorded_call *to,
                            const struct xl__program *program,
                            const struct xl__step *step, cl_kernel *out)
{
    xl_status status = XL_OK;
    cl_int code;
    if (!xl__grow(&to->kernels, &to->cap_kernels, to->n_kernels + 1,
                  sizeof *to->kernels))
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "a recorded kernel"));
    *out = clCreateKernel(program->cl, step->kernel, &code);
    CL_TRY(&q->error, code);
    to->kernels[to->n_kernels++] =
        (struct xl__recorded_kernel){*out, step->kernel};
fail:
    return status;
}

xl_status xl__record_launch(xl_queue *q, struct xl__recorded_call *to,
                            const struct xl__step *step, const size_t *offset,
                            const size_t *global)
{
    struct xl__recorded_launch launch = {.kernel =
                                             to->kernels[to->n_kernels - 1],
                                         .dims = step->dims,
                                         .has_offset = offset != NULL,
                                         .has_local = step->local[0] > 0};
    if (!xl__grow(&to->launches, &to->cap_launches, to->n_launches + 1,
                  sizeof *to->launches))
        return xl__error_set(&q->error, XL_NO_MEMORY, "a recorded launch");
    if (offset)
        memcpy(launch.offset, offset, sizeof launch.offset);
    memcpy(launch.global, global, sizeof launch.global);
    memcpy(launch.local, step->local, sizeof launch.local);
    to->launches[to->n_launches++] = launch;
    return XL_OK;
}

cl_int xl__record_mem(struct xl__recorded_call *to, cl_uint at, cl_mem mem)
{
    if (!xl__grow(&to->mems, &to->cap_mems, to->n_mems + 1, sizeof *to->mems))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int code = clRetainMemObject(mem);
    if (code == CL_SUCCESS)
        to->mems[to->n_mems++] = (struct xl__recorded_mem){
            to->kernels[to->n_kernels - 1].cl, at, mem};
    return code;
}

xl_status xl__record_call(xl_queue *q, struct xl__cached_plan *ready,
                          const struct xl__call *call, const xl_sync *sync)
{
    xl_status status = XL_OK;
    xl_record *r = q->record;
    xl_sync full;
    struct xl__recorded_call made = {0};
    const xl_sync *s = xl__sync_read(sync, &full, &q->error);
    if (!s)
        return q->error.status;
    if (s->n_wait > 0 || s->done || s->first)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "a call that is recorded has no wait list and no "
                          "events: pass them to xl_record_replay()"));
    if (!xl__grow(&r->calls, &r->cap, r->at + 1, sizeof *r->calls))
        TRY(xl__error_set(&q->error, XL_NO_MEMORY, "a recorded call"));
    TRY(xl__launch_into(q, ready, call, &made));
    forget_buffer(r);
    if (r->at < r->n)
        clear_call(&r->calls[r->at]);
    else
        r->n++;
    r->calls[r->at++] = made;
    return XL_OK;
fail:
    clear_call(&made);
    return status;
}

/* -- public functions ----------------------------------------------------- */

xl_status xl_record_create(xl_queue *q, xl_record **out)
{
    xl_status status = XL_OK;
    if (!q || !out)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    *out = NULL;
    TRY(xl__queue_check_runs(q));
    if (q->is_out_of_order)
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "a record needs an in-order queue, and this one is "
                          "out of order"));
    xl_record *r = xl__calloc(1, sizeof *r);
    TRY(xl__check_alloc(&q->error, r, "a record"));
    r->q = q;
    r->has_buffers =
        xl__is(&q->ctx->device->limits, XL__F_has_command_buffers);
    *out = r;
fail:
    return status;
}

/* The queue's error is empty then. */
static xl_status check_open(xl_record *r, bool open)
{
    xl__error_reset(&r->q->error);
    if (is_open(r) == open)
        return XL_OK;
    return xl__error_set(&r->q->error, XL_BAD_ARGUMENT,
                         open ? "the record is not open: xl_record_begin()"
                              : "the record is open: xl_record_end()");
}

xl_status xl_record_begin(xl_record *r, size_t at)
{
    if (!r)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&r->q->error);
    if (r->q->record)
        return xl__error_set(&r->q->error, XL_BAD_ARGUMENT,
                             "a record of this queue is open: "
                             "xl_record_end()");
    if (at > r->n)
        return xl__error_set(&r->q->error, XL_BAD_ARGUMENT,
                             "no call %zu in a record of %zu calls", at, r->n);
    r->at = at;
    r->q->record = r;
    return XL_OK;
}

xl_status xl_record_end(xl_record *r)
{
    if (!r)
        return XL_BAD_ARGUMENT;
    const xl_status status = check_open(r, true);
    if (status == XL_OK)
        r->q->record = NULL;
    return status;
}

size_t xl_record_calls(const xl_record *r)
{
    return r ? r->n : 0;
}

/* Enqueue one launch; *event: NULL on a failure. */
static xl_status replay_launch(xl_queue *q,
                               const struct xl__recorded_launch *l,
                               cl_uint n_wait, const cl_event *wait,
                               cl_event *event)
{
    const cl_int code = clEnqueueNDRangeKernel(
        q->cl, l->kernel.cl, l->dims, l->has_offset ? l->offset : NULL,
        l->global, l->has_local ? l->local : NULL, n_wait, wait, event);
    if (code != CL_SUCCESS)
        return xl__error_set(&q->error, code, "replay of %s: %s",
                             l->kernel.name, xl_status_name(code));
    if (event)
        xl__timeline_add(&q->timeline, l->kernel.name, *event);
    return XL_OK;
}

/* The launch before (i, k) in the order of a replay is the first one's if
 * `first` has no event yet. */
static xl_status replay(xl_record *r, const xl_sync *s, cl_event *first,
                        cl_event *last)
{
    xl_status status = XL_OK;
    cl_uint n_wait = s->n_wait;
    const cl_event *wait = n_wait > 0 ? s->wait : NULL;
    bool is_first = true;
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->calls[i].n_launches; k++) {
            const bool is_last =
                i + 1 == r->n && k + 1 == r->calls[i].n_launches;
            const bool needs_event = r->q->timeline.on ||
                                     (is_first && s->first) ||
                                     (is_last && s->done);
            cl_event event = NULL;
            TRY(replay_launch(r->q, &r->calls[i].launches[k], n_wait, wait,
                              needs_event ? &event : NULL));
            if (is_first && s->first) {
                *first = event;
                TRY(clRetainEvent(event));
            }
            if (is_last && s->done)
                *last = event;
            else
                xl__event_release(event);
            n_wait = 0;
            wait = NULL;
            is_first = false;
        }
fail:
    return status;
}

static cl_int replay_buffer(xl_record *r, const xl_sync *s, cl_event *done)
{
    cl_int code = CL_SUCCESS;
    if (!r->buffer.cl)
        code = xl__command_buffer_make(r->q, r->calls, r->n, &r->buffer);
    if (code == CL_SUCCESS)
        code = xl__command_buffer_enqueue(&r->buffer, s->n_wait,
                                          s->n_wait > 0 ? s->wait : NULL,
                                          s->done ? done : NULL);
    return code;
}

xl_status xl_record_replay(xl_record *r, const xl_sync *sync)
{
    xl_status status = XL_OK;
    xl_sync full;
    cl_event first = NULL, last = NULL;
    if (!r)
        return XL_BAD_ARGUMENT;
    TRY(check_open(r, false));
    const xl_sync *s = xl__sync_read(sync, &full, &r->q->error);
    if (!s)
        return r->q->error.status;
    if (r->n == 0)
        return xl__error_set(&r->q->error, XL_BAD_ARGUMENT,
                             "the record has no calls");
    /* Times and the first event are of launches. */
    const bool uses_buffer =
        r->has_buffers && r->was_replayed && !r->q->timeline.on && !s->first;
    if (!uses_buffer || replay_buffer(r, s, &last) != CL_SUCCESS) {
        status = replay(r, s, &first, &last);
        if (status != XL_OK) {
            xl__event_release(first);
            xl__event_release(last);
            return status;
        }
        if (uses_buffer) { /* which fails where launches do not */
            forget_buffer(r);
            r->has_buffers = false;
        }
    }
    r->was_replayed = true;
    if (s->first)
        *s->first = first;
    if (s->done)
        *s->done = last;
fail:
    return status;
}

/* -- other memory --------------------------------------------------------- */

/* What a buffer must have in common with the one that it replaces. */
struct buffer_facts {
    cl_context context;
    cl_mem parent;
    cl_mem_flags flags;
    size_t bytes;
};

static xl_status read_facts(xl_queue *q, cl_mem mem, struct buffer_facts *out)
{
    xl_status status = XL_OK;
    const struct {
        cl_mem_info what;
        size_t bytes;
        void *to;
    } asked[] = {
        {CL_MEM_CONTEXT, sizeof out->context, &out->context},
        {CL_MEM_ASSOCIATED_MEMOBJECT, sizeof out->parent, &out->parent},
        {CL_MEM_FLAGS, sizeof out->flags, &out->flags},
        {CL_MEM_SIZE, sizeof out->bytes, &out->bytes}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        CL_TRY(&q->error,
               clGetMemObjectInfo(mem, asked[i].what, asked[i].bytes,
                                  asked[i].to, NULL));
fail:
    return status;
}

static xl_status check_exchange(xl_queue *q, cl_mem from, cl_mem to)
{
    static const cl_mem_flags access =
        CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    xl_status status = XL_OK;
    struct buffer_facts a, b;
    const xl_device *dev = q->ctx->device;
    TRY(read_facts(q, from, &a));
    TRY(read_facts(q, to, &b));
    if (a.parent || b.parent || ((a.flags | b.flags) & CL_MEM_USE_HOST_PTR))
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "a sub-buffer or host memory cannot be exchanged: "
                          "record the call again"));
    if (b.context != a.context)
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the buffer is of another context"));
    if ((a.flags & access) != (b.flags & access))
        TRY(xl__error_set(&q->error, XL_BAD_ARGUMENT,
                          "the buffers differ in CL_MEM_READ_ONLY or "
                          "CL_MEM_WRITE_ONLY"));
    if (b.bytes < a.bytes)
        TRY(xl__error_set(&q->error, XL_BUFFER_TOO_SMALL,
                          "the buffer has %zu bytes, the one that it replaces "
                          "%zu",
                          b.bytes, a.bytes));
    if (xl__buffer_is_large(dev, b.bytes) &&
        !xl__buffer_is_large(dev, a.bytes))
        TRY(xl__error_set(&q->error, XL_UNSUPPORTED,
                          "a buffer of %zu bytes needs other kernels: record "
                          "the call again",
                          b.bytes));
fail:
    return status;
}

static bool has_mem(const xl_record *r, cl_mem mem)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->calls[i].n_mems; k++)
            if (r->calls[i].mems[k].mem == mem)
                return true;
    return false;
}

static xl_status exchange(xl_queue *q, struct xl__recorded_mem *m, cl_mem to)
{
    xl_status status = XL_OK;
    CL_TRY(&q->error, clSetKernelArg(m->kernel, m->at, sizeof(cl_mem), &to));
    CL_TRY(&q->error, clRetainMemObject(to));
    clReleaseMemObject(m->mem);
    m->mem = to;
fail:
    return status;
}

xl_status xl_record_set_mem(xl_record *r, cl_mem from, cl_mem to)
{
    xl_status status = XL_OK;
    if (!r || !from || !to)
        return XL_BAD_ARGUMENT;
    TRY(check_open(r, false));
    if (!has_mem(r, from))
        TRY(xl__error_set(&r->q->error, XL_BAD_ARGUMENT,
                          "no recorded call has this buffer"));
    TRY(check_exchange(r->q, from, to));
    forget_buffer(r);
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->calls[i].n_mems; k++)
            if (r->calls[i].mems[k].mem == from)
                TRY(exchange(r->q, &r->calls[i].mems[k], to));
fail:
    return status;
}

void xl_record_destroy(xl_record *r)
{
    if (!r)
        return;
    if (is_open(r))
        r->q->record = NULL;
    forget_buffer(r);
    for (size_t i = 0; i < r->n; i++)
        clear_call(&r->calls[i]);
    free(r->calls);
    free(r);
}
