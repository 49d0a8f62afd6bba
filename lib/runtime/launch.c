/* SPDX-License-Identifier: Apache-2.0 */
/* Launch of a plan: sets the arguments of each kernel, splits launches that
 * would exceed the time limit of a watchdog, orders the steps, returns the
 * event.
 *
 * Order: on an in-order queue the steps follow each other by themselves. On an
 * out-of-order queue each command waits for the event of the one before; a
 * call without a wait list begins with a barrier.
 *
 * A call that fails does not wait for its commands that are enqueued already:
 * the caller's events may be what they wait for. OpenCL keeps the buffers and
 * kernels of an enqueued command until it has ended. */
#include "runtime/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "device/cl_info.h"
#include "runtime/buffer.h"
#include "runtime/commands/record.h"

/* Half of the 100 ms that a watchdog allows (GE-11), since the time is an
 * estimate. */
static const double slice_ns = 50e6;

/* One launch of a plan. */
struct launch {
    xl_queue *q;
    struct xl__cached_plan *ready;
    const struct xl__call *call;
    xl_mem scratch, list, zeros;
    cl_mem own_scratch, own_zeros; /* of this launch only, released after
                                      enqueueing; NULL: none */
    cl_uint n_wait;
    const cl_event *wait; /* of the next command */
    cl_event first, last; /* of the first command, if wants_first, and of the
                             last one, if needs_events; owned */
    bool needs_events, wants_first;
    struct xl__recorded_call
        *to; /* takes the launches; NULL: the queue does */
};

xl_status xl_queue_watch(xl_queue *q, xl_launch_watch watch, void *arg)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    free(q->watch);
    q->watch = NULL;
    if (!watch)
        return XL_OK;
    q->watch = xl__calloc(1, sizeof *q->watch);
    if (!q->watch)
        return xl__error_set(&q->error, XL_NO_MEMORY, "a watch");
    q->watch->fn = watch;
    q->watch->fn_arg = arg;
    return XL_OK;
}

/* -- scratch --------------------------------------------------------------- */

void xl__scratch_release(xl_queue *q)
{
    if (q->scratch)
        clReleaseMemObject(q->scratch); /* enqueued commands retain it */
    q->scratch = NULL;
    q->scratch_bytes = 0;
}

/* Sets the scratch memory: the caller's, else a buffer. On an in-order queue
 * all calls share one buffer, since a call starts after the previous one has
 * ended; on an out-of-order queue each call has its own. */
static xl_status prepare_scratch(struct launch *r)
{
    xl_status status = XL_OK;
    xl_queue *q = r->q;
    cl_int code;
    const size_t bytes = r->ready->plan.scratch_bytes;
    r->scratch = r->call->mem[XL__MEM_SCRATCH];
    if (bytes == 0 || r->scratch.buf || r->scratch.svm)
        return XL_OK;
    /* A large one is for programs that were built for it. */
    if (!q->is_out_of_order && q->scratch_bytes >= bytes &&
        (r->ready->plan.has_large ||
         !xl__buffer_is_large(q->ctx->device, q->scratch_bytes))) {
        r->scratch.buf = q->scratch;
        return XL_OK;
    }
    if (q->scratch_limit_bytes > 0 && bytes > q->scratch_limit_bytes)
        TRY(xl__error_set(&q->error, XL_BUFFER_TOO_SMALL,
                          "%s needs %zu bytes of scratch, the limit of the "
                          "queue is %zu: pass a workspace of %zu bytes or "
                          "raise the limit",
                          r->ready->plan.step[0].kernel, bytes,
                          q->scratch_limit_bytes, bytes));
    cl_mem mem = xl__buffer_new(q, CL_MEM_READ_WRITE, bytes, NULL, &code);
    CL_TRY(&q->error, code);
    r->scratch.buf = mem;
    if (q->is_out_of_order) {
        r->own_scratch = mem;
        return XL_OK;
    }
    xl__scratch_release(q);
    q->scratch = mem;
    q->scratch_bytes = bytes;
fail:
    return status;
}

/* The zeros of one plan: as with scratch memory, calls on an in-order queue
 * share a buffer, which each of them leaves as it was. */
static xl_status prepare_zeros(struct launch *r)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = r->ready;
    const size_t bytes = ready->plan.zeros_bytes;
    cl_int code;
    r->zeros.buf = ready->zeros;
    if (bytes == 0 || ready->zeros)
        return XL_OK;
    void *none = xl__calloc(1, bytes);
    TRY(xl__check_alloc(&r->q->error, none, "zeros"));
    cl_mem mem = xl__buffer_new(r->q, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                bytes, none, &code);
    free(none);
    CL_TRY(&r->q->error, code);
    r->zeros.buf = mem;
    *(r->q->is_out_of_order ? &r->own_zeros : &ready->zeros) = mem;
fail:
    return status;
}

/* -- lists ----------------------------------------------------------------- */

static bool are_lists_equal(const struct xl__cached_plan *r,
                            const struct xl__call *call, unsigned n)
{
    const size_t each = call->list_bytes;
    const unsigned char *copy = r->list_copy;
    if (r->list_bytes != n * each)
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (memcmp(copy + i * each, call->list[i], each) != 0)
            return false;
    }
    return true;
}

static void free_lists(struct xl__cached_plan *r)
{
    if (r->list)
        clReleaseMemObject(r->list); /* enqueued commands retain it */
    free(r->list_copy);
    r->list = NULL;
    r->list_copy = NULL;
    r->list_bytes = 0;
}

/* Copies the call's lists to the device, unless they are those of the last
 * call. A changed list gets a new buffer, since enqueued commands may still
 * read the old one. */
static xl_status prepare_lists(struct launch *r)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = r->ready;
    const size_t each = r->call->list_bytes;
    unsigned n = 0;
    cl_int code;
    while (n < XL__MAX_LISTS && r->call->list[n])
        n++;
    if (each == 0 || are_lists_equal(ready, r->call, n)) {
        r->list.buf = ready->list;
        return XL_OK;
    }
    free_lists(ready);
    unsigned char *copy = xl__calloc(n, each);
    if (!copy)
        return xl__error_set(&r->q->error, XL_NO_MEMORY, "lists of a batch");
    for (unsigned i = 0; i < n; i++)
        memcpy(copy + i * each, r->call->list[i], each);
    ready->list_copy = copy;
    ready->list = xl__buffer_new(r->q, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                 n * each, copy, &code);
    CL_TRY(&r->q->error, code);
    ready->list_bytes = n * each;
    r->list.buf = ready->list;
    return XL_OK;
fail:
    ready->list = NULL;
    free_lists(ready);
    return status;
}

/* -- arguments ------------------------------------------------------------- */

/* Keeps what is passed to the driver for the queue's watch. */
static void note_arg(struct xl__watcher *w, cl_uint at, xl_kernel_arg arg)
{
    cl_ulong *copy = w->words + w->n_words;
    if (arg.value) {
        memcpy(copy, arg.value, arg.bytes);
        arg.value = copy;
        w->n_words += xl__ceil_div(arg.bytes, sizeof *copy);
    }
    w->arg[at] = arg;
}

/* Sets argument `at`; value NULL: local memory, or no buffer. */
static cl_int set(const struct launch *r, cl_kernel kernel, cl_uint at,
                  xl_kernel_arg arg)
{
    if (r->q->watch)
        note_arg(r->q->watch, at, arg);
    if (arg.kind == XL_ARG_SVM)
        return clSetKernelArgSVMPointer(kernel, at, *(void *const *)arg.value);
    const cl_int code = clSetKernelArg(kernel, at, arg.bytes, arg.value);
    if (code != CL_SUCCESS || !r->to || arg.kind != XL_ARG_MEM || !arg.value)
        return code;
    return xl__record_mem(r->to, at, *(const cl_mem *)arg.value);
}

static cl_int set_value(const struct launch *r, cl_kernel kernel, cl_uint at,
                        const void *value, size_t bytes)
{
    return set(r, kernel, at, (xl_kernel_arg){XL_ARG_VALUE, bytes, value});
}

static cl_int set_mem(const struct launch *r, cl_kernel kernel, cl_uint at,
                      xl_mem mem)
{
    if (mem.svm)
        return set(r, kernel, at,
                   (xl_kernel_arg){XL_ARG_SVM, sizeof mem.svm, &mem.svm});
    return set(r, kernel, at,
               (xl_kernel_arg){XL_ARG_MEM, sizeof mem.buf,
                               mem.buf ? &mem.buf : NULL});
}

static cl_int set_f32(const struct launch *r, cl_kernel kernel, cl_uint at,
                      double value)
{
    const cl_float x = (cl_float)value;
    return set_value(r, kernel, at, &x, sizeof x);
}

static cl_int set_f64(const struct launch *r, cl_kernel kernel, cl_uint at,
                      double value)
{
    const cl_double x = value;
    return set_value(r, kernel, at, &x, sizeof x);
}

static cl_int set_u64(const struct launch *r, cl_kernel kernel, cl_uint at,
                      uint64_t value)
{
    const cl_ulong x = value;
    return set_value(r, kernel, at, &x, sizeof x);
}

static cl_int set_u32(const struct launch *r, cl_kernel kernel, cl_uint at,
                      uint64_t value)
{
    const cl_uint x = (cl_uint)value;
    return set_value(r, kernel, at, &x, sizeof x);
}

/* The value of an XL__ARG_COORDS. */
static uint64_t pack_coords(const struct launch *r, const struct xl__arg *arg)
{
    const uint64_t at = r->call->value[arg->slot].u;
    return (uint32_t)(at % arg->line + arg->as.at[0]) |
           (at / arg->line + arg->as.at[1]) << 32;
}

static cl_int set_words(const struct launch *r, cl_kernel kernel, cl_uint at,
                        const struct xl__arg *arg, size_t n)
{
    cl_ulong x[XL__MAX_WORDS];
    for (size_t i = 0; i < n; i++) {
        x[i] = arg[i].kind == XL__ARG_COORDS ? pack_coords(r, &arg[i])
                                             : arg[i].as.u;
        if (arg[i].kind == XL__ARG_VALUE_U64)
            x[i] += r->call->value[arg[i].slot].u;
    }
    return set_value(r, kernel, at, x, n * sizeof *x);
}

static cl_int set_arg(const struct launch *r, cl_kernel kernel, cl_uint at,
                      const struct xl__arg *arg)
{
    switch (arg->kind) {
    case XL__ARG_MEM:
        return set_mem(r, kernel, at,
                       arg->slot == XL__MEM_SCRATCH ? r->scratch
                       : arg->slot == XL__MEM_LIST  ? r->list
                       : arg->slot == XL__MEM_ZEROS ? r->zeros
                                                    : r->call->mem[arg->slot]);
    case XL__ARG_VALUE_F32:
        return set_f32(r, kernel, at, r->call->value[arg->slot].f);
    case XL__ARG_VALUE_F64:
        return set_f64(r, kernel, at, r->call->value[arg->slot].f);
    case XL__ARG_VALUE_I32:
        return set_u32(r, kernel, at,
                       (uint32_t)(int32_t)r->call->value[arg->slot].f);
    case XL__ARG_VALUE_I64:
        return set_u64(r, kernel, at,
                       (uint64_t)(int64_t)r->call->value[arg->slot].f);
    case XL__ARG_VALUE_U32:
        return set_u32(r, kernel, at, r->call->value[arg->slot].u);
    case XL__ARG_VALUE_U64:
        return set_u64(r, kernel, at, r->call->value[arg->slot].u + arg->as.u);
    case XL__ARG_U32:
    case XL__ARG_I32: /* the same four bytes */
        return set_u32(r, kernel, at, arg->as.u);
    case XL__ARG_U64:
        return set_u64(r, kernel, at, arg->as.u);
    case XL__ARG_COORDS:
        return set_u64(r, kernel, at, pack_coords(r, arg));
    case XL__ARG_F32:
        return set_f32(r, kernel, at, arg->as.f);
    case XL__ARG_LOCAL:
        return set(r, kernel, at,
                   (xl_kernel_arg){XL_ARG_LOCAL, (size_t)arg->as.u, NULL});
    case XL__ARG_WORDS:
        return set_words(r, kernel, at, arg + 1, (size_t)arg->as.u);
    }
    return CL_INVALID_ARG_VALUE;
}

static xl_status set_args(const struct launch *r, const struct xl__step *step,
                          cl_kernel kernel)
{
    cl_uint at = 0; /* index of the kernel's argument: a struct of several
                       entries of step->args is one */
    if (r->q->watch)
        r->q->watch->n_words = 0;
    for (unsigned i = 0; i < step->n_args; i++, at++) {
        const struct xl__arg *arg = &step->args[i];
        const cl_int code = set_arg(r, kernel, at, arg);
        if (code != CL_SUCCESS)
            return xl__error_set(&r->q->error, code,
                                 "%s: the driver rejected argument %u: %s",
                                 step->kernel, at, xl_status_name(code));
        if (arg->kind == XL__ARG_WORDS)
            i += (unsigned)arg->as.u;
    }
    if (r->q->watch)
        r->q->watch->n_args = at;
    return XL_OK;
}

/* -- commands -------------------------------------------------------------- */

void xl__event_release(cl_event event)
{
    if (event)
        clReleaseEvent(event);
}

xl_status xl__queue_begin(xl_queue *q)
{
    xl_status status = XL_OK;
    if (q->is_out_of_order)
        CL_TRY(&q->error, clEnqueueBarrierWithWaitList(q->cl, 0, NULL, NULL));
fail:
    return status;
}

/* Keeps the event if it is the first one and the caller wants that. */
static xl_status set_first_event(struct launch *r, cl_event event)
{
    xl_status status = XL_OK;
    if (!r->wants_first || r->first)
        return XL_OK;
    CL_TRY(&r->q->error, clRetainEvent(event));
    r->first = event;
fail:
    return status;
}

/* Records the event of the command just enqueued; on an out-of-order queue the
 * next command waits for it. */
static xl_status set_last_event(struct launch *r, cl_event event)
{
    xl__event_release(r->last);
    r->last = event;
    r->n_wait = 0;
    r->wait = NULL;
    if (event && r->q->is_out_of_order) {
        r->n_wait = 1;
        r->wait = &r->last;
    }
    return set_first_event(r, event);
}

static void show_launch(const struct xl__watcher *w,
                        const struct xl__step *step, cl_kernel kernel,
                        const size_t *offset, const size_t *global)
{
    const xl_kernel_launch launch = {.kernel = kernel,
                                     .name = step->kernel,
                                     .dims = step->dims,
                                     .offset = offset,
                                     .global = global,
                                     .local =
                                         step->local[0] ? step->local : NULL,
                                     .n_args = w->n_args,
                                     .arg = w->arg};
    w->fn(&launch, w->fn_arg);
}

static xl_status enqueue(struct launch *r, const struct xl__step *step,
                         cl_kernel kernel, const size_t *offset,
                         const size_t *global)
{
    cl_event event = NULL;
    if (r->to)
        return xl__record_launch(r->q, r->to, step, offset, global);
    if (r->q->watch)
        show_launch(r->q->watch, step, kernel, offset, global);
    const cl_int code =
        clEnqueueNDRangeKernel(r->q->cl, kernel, step->dims, offset, global,
                               step->local[0] ? step->local : NULL, r->n_wait,
                               r->wait, r->needs_events ? &event : NULL);
    if (code != CL_SUCCESS)
        return xl__error_set(&r->q->error, code,
                             "%s: %s at global %zu x %zu x %zu, local %zu x "
                             "%zu x %zu",
                             step->kernel, xl_status_name(code), global[0],
                             global[1], global[2], step->local[0],
                             step->local[1], step->local[2]);
    if (event)
        xl__timeline_add(&r->q->timeline, step->kernel, event);
    return set_last_event(r, event);
}

/* Number of launches into which a step is split: 1 unless a watchdog may end a
 * long launch. A device counts as having a watchdog unless known otherwise. */
static size_t count_slices(const struct launch *r, const struct xl__step *step)
{
    const struct xl__limits *l = &r->q->ctx->device->limits;
    const double est = r->ready->plan.est_ns / r->ready->plan.n_steps;
    if (step->slice_dim < 0 || step->local[0] == 0 || !(est > slice_ns))
        return 1;
    if (xl__is(l, XL__F_is_cpu) || xl__num_or(l, XL__F_has_watchdog, 1) == 0)
        return 1;
    return (size_t)ceil(est / slice_ns);
}

static xl_status run_kernel(struct launch *r, const struct xl__step *step,
                            const struct xl__program *program,
                            cl_kernel kernel)
{
    xl_status status = XL_OK;
    const size_t n = count_slices(r, step);
    if (r->to)
        TRY(xl__record_kernel(r->q, r->to, program, step, &kernel));
    TRY(set_args(r, step, kernel));
    if (n == 1)
        return enqueue(r, step, kernel, NULL, step->global);
    const int d = step->slice_dim;
    const size_t groups = step->global[d] / step->local[d];
    const size_t each = xl__ceil_div(groups, n) * step->local[d];
    size_t offset[3] = {0, 0, 0};
    size_t global[3] = {step->global[0], step->global[1], step->global[2]};
    for (; offset[d] < step->global[d]; offset[d] += each) {
        global[d] = xl__min_size(each, step->global[d] - offset[d]);
        TRY(enqueue(r, step, kernel, offset, global));
    }
fail:
    return status;
}

/* A barrier before a call of another library: that call has no wait list, and
 * its event may belong to the last of several kernels (GE-22), so it is
 * neither the first event of this call nor in the timeline. */
static xl_status enqueue_barrier(struct launch *r)
{
    xl_status status = XL_OK;
    cl_event event = NULL;
    const bool is_first = r->wants_first && !r->first;
    if (r->n_wait == 0 && !is_first)
        return XL_OK;
    CL_TRY(&r->q->error,
           clEnqueueBarrierWithWaitList(r->q->cl, r->n_wait, r->wait,
                                        is_first ? &event : NULL));
    if (is_first)
        r->first = event;
fail:
    return status;
}

static xl_status run_external(struct launch *r, const struct xl__step *step)
{
    xl_status status = XL_OK;
    cl_event event = NULL;
    char why[160] = "";
    if (r->to)
        TRY(xl__error_set(&r->q->error, XL_UNSUPPORTED,
                          "%s is a call of another library, which cannot be "
                          "recorded: name another variant",
                          step->kernel));
    TRY(enqueue_barrier(r));
    status = step->external(step, r->call, r->q->cl, &event, why, sizeof why);
    if (status != XL_OK)
        return xl__error_set(&r->q->error, status, "%s: %s", step->kernel,
                             why);
    TRY(set_last_event(r, event));
fail:
    return status;
}

/* The event of a call without commands. */
static xl_status enqueue_marker(struct launch *r)
{
    xl_status status = XL_OK;
    cl_event event = NULL;
    CL_TRY(&r->q->error,
           clEnqueueMarkerWithWaitList(r->q->cl, r->n_wait, r->wait, &event));
    TRY(set_last_event(r, event));
fail:
    return status;
}

static xl_status run_steps(struct launch *r)
{
    xl_status status = XL_OK;
    TRY(prepare_scratch(r));
    TRY(prepare_lists(r));
    if (r->n_wait == 0)
        TRY(xl__queue_begin(r->q));
    for (; r->ready; r->ready = r->ready->next) {
        const struct xl__plan *plan = &r->ready->plan;
        TRY(prepare_zeros(r));
        for (unsigned i = 0; i < plan->n_steps; i++)
            TRY(plan->step[i].external
                    ? run_external(r, &plan->step[i])
                    : run_kernel(r, &plan->step[i], r->ready->program[i],
                                 r->ready->kernel[i]));
    }
    if (r->needs_events && !r->last)
        TRY(enqueue_marker(r));
fail:
    return status;
}

/* The caller's pointer, if there is one, gets the event; else it is released.
 */
static void pass_event(cl_event event, cl_event *out)
{
    if (out)
        *out = event;
    else
        xl__event_release(event);
}

const xl_sync *xl__sync_read(const xl_sync *given, xl_sync *full,
                             struct xl__error *e)
{
    static const struct xl__sized type = XL__SIZED(xl_sync, XL_SYNC_INIT);
    static const xl_sync none = {XL_SYNC_INIT};
    return given ? xl__sized_read(&type, given, full, e) : &none;
}

xl_status xl__launch(xl_queue *q, struct xl__cached_plan *ready,
                     const struct xl__call *call, const xl_sync *sync)
{
    xl_sync full;
    const xl_sync *s = xl__sync_read(sync, &full, &q->error);
    if (!s)
        return q->error.status;
    struct launch r = {.q = q, .ready = ready, .call = call};
    r.n_wait = s->n_wait;
    r.wait = s->n_wait > 0 ? s->wait : NULL;
    r.wants_first = s->first != NULL;
    r.needs_events =
        s->done || s->first || q->timeline.on || q->is_out_of_order;
    const xl_status status = run_steps(&r);
    if (r.own_scratch)
        clReleaseMemObject(r.own_scratch); /* enqueued commands retain it */
    if (r.own_zeros)
        clReleaseMemObject(r.own_zeros);
    pass_event(r.first, status == XL_OK ? s->first : NULL);
    pass_event(r.last, status == XL_OK ? s->done : NULL);
    return status;
}

xl_status xl__launch_into(xl_queue *q, struct xl__cached_plan *ready,
                          const struct xl__call *call,
                          struct xl__recorded_call *to)
{
    struct launch r = {.q = q, .ready = ready, .call = call, .to = to};
    return run_steps(&r);
}

xl_status xl__plan_launch(xl_queue *q, const struct xl__plan *plan,
                          const struct xl__call *call, const xl_sync *sync)
{
    xl_status status = XL_OK;
    struct xl__cached_plan *ready = xl__cached_plan_create(plan);
    TRY(xl__check_alloc(&q->error, ready, "a plan"));
    TRY(xl__cached_plan_build(q, ready));
    TRY(xl__launch(q, ready, call, sync));
fail:
    xl__cached_plan_destroy(ready);
    return status;
}
