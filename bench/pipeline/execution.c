/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one run of a pipeline. A run in chunks uses three queues,
 * synchronised by events:
 *
 *     uploads     U0 U1 U2 ...        K(i) waits for U(i), D(i) for K(i)
 *     kernels        K0 K1 K2 ...     U(i) waits for K(i - buffers)
 *     downloads         D0 D1 D2 ...  K(i) waits for D(i - buffers)
 *
 * All commands are enqueued before the host waits. A recorded run also keeps
 * each command with the times of host and device: launches come from the
 * timeline of the kernel queue, transfers from their own events; all are
 * converted to the host's clock together. */
#include "pipeline/execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "timing/trace.h"

/* -- the record ----------------------------------------------------------- */

/* An enqueued command whose event has not been queried yet. */
struct pending_command {
    struct pipe_command command;
    cl_event done; /* NULL: no event */
};

struct span_list {
    xl_span *list;
    size_t n, cap, at;
    bool is_short; /* out of memory */
};

static void add_span(const xl_span *span, void *arg)
{
    struct span_list *s = arg;
    if (xl__grow(&s->list, &s->cap, s->n + 1, sizeof *s->list))
        s->list[s->n++] = *span;
    else
        s->is_short = true;
}

static void drop_span(const xl_span *span, void *arg)
{
    (void)span;
    (void)arg;
}

/* Waits for an event and reads its profiling times, on the clock of the
 * device. */
static xl_status read_event_times(cl_event event, xl_span *out)
{
    static const cl_profiling_info keys[] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    uint64_t *const to[] = {&out->queued_ns, &out->submit_ns, &out->start_ns,
                            &out->end_ns};
    xl_status status = XL_OK;
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        cl_ulong ns = 0;
        TRY(clWaitForEvents(1, &event));
        TRY(clGetEventProfilingInfo(event, keys[i], sizeof ns, &ns, NULL));
        *to[i] = ns;
    }
fail:
    return status;
}

/* Appends a command to the record, with the times of `span` if there is
 * one. */
static bool add_command(struct pipe_record *to, const struct pipe_command *c,
                        const xl_span *span, bool is_first)
{
    if (!xl__grow(&to->list, &to->cap, to->n + 1, sizeof *to->list))
        return false;
    struct pipe_command *x = &to->list[to->n++];
    *x = *c;
    x->is_first = is_first;
    if (!span)
        return true;
    if (span->label)
        xl__strcpy(x->name, sizeof x->name, span->label);
    x->queued_ns = (int64_t)span->queued_ns;
    x->submit_ns = (int64_t)span->submit_ns;
    x->start_ns = (int64_t)span->start_ns;
    x->end_ns = (int64_t)span->end_ns;
    return true;
}

/* The number of launches of a call. They end with the one that has the times
 * of its event; launches of another library are not in the timeline (0), and
 * the event represents them all. */
static size_t count_launches(const struct span_list *s, const xl_span *last)
{
    for (size_t i = s->at; i < s->n; i++)
        if (s->list[i].start_ns == last->start_ns &&
            s->list[i].end_ns == last->end_ns)
            return i + 1 - s->at;
    return 0;
}

/* Adds a pending command to the record: one entry for each launch of its call,
 * else one with the times of the event. */
static xl_status add_pending(struct pipe_record *to,
                             const struct pending_command *x,
                             struct span_list *s)
{
    xl_status status = XL_OK;
    xl_span last = {.label = NULL};
    bool has_room = true;
    if (!x->done)
        return add_command(to, &x->command, NULL, true) ? XL_OK
                                                        : XL_NO_MEMORY;
    TRY(read_event_times(x->done, &last));
    const size_t n =
        x->command.lane == LANE_RUN ? count_launches(s, &last) : 0;
    if (n == 0)
        has_room = add_command(to, &x->command, &last, true);
    for (size_t i = 0; i < n; i++)
        has_room = add_command(to, &x->command, &s->list[s->at + i], i == 0) &&
                   has_room;
    s->at += n;
    status = has_room ? XL_OK : XL_NO_MEMORY;
fail:
    return status;
}

/* Converts times of the device to the clock of the host. */
static xl_status convert_clock(struct pipe_record *record)
{
    struct trace_bracket *list = xl__calloc(record->n + 1, sizeof *list);
    if (!list)
        return XL_NO_MEMORY;
    for (size_t i = 0; i < record->n; i++) {
        const struct pipe_command *c = &record->list[i];
        list[i] = (struct trace_bracket){
            c->call_ns, c->return_ns, record->end_ns, (uint64_t)c->queued_ns,
            (uint64_t)c->start_ns, (uint64_t)c->end_ns};
    }
    const int64_t less = trace_clock_offset(list, record->n, &record->doubt_ns);
    free(list);
    for (size_t i = 0; i < record->n; i++) {
        struct pipe_command *c = &record->list[i];
        c->queued_ns -= less;
        c->submit_ns -= less;
        c->start_ns -= less;
        c->end_ns -= less;
    }
    return XL_OK;
}

/* Starts recording: launches on the kernel queue are kept in its timeline from
 * now on. */
static xl_status begin_record(xl_queue *kernels)
{
    xl_status status = XL_OK;
    TRY(xl_timeline_enable(kernels, true));
    TRY(xl_timeline_drain(kernels, drop_span, NULL));
fail:
    return status;
}

/* Completes the record from the pending commands. `kernels` NULL: there are no
 * times of the device. The times of the record itself are set. */
static xl_status finish_record(struct pipe_record *record,
                               const struct pending_command *list, size_t n,
                               xl_queue *kernels)
{
    xl_status status = XL_OK;
    struct span_list spans = {.list = NULL};
    record->n = 0;
    if (kernels)
        TRY(xl_timeline_drain(kernels, add_span, &spans));
    TRY(spans.is_short ? XL_NO_MEMORY : XL_OK);
    for (size_t i = 0; i < n; i++)
        TRY(add_pending(record, &list[i], &spans));
    if (kernels && record->n > 0)
        TRY(convert_clock(record));
fail:
    free(spans.list);
    return status;
}

void pipe_record_clear(struct pipe_record *r)
{
    free(r->list);
    memset(r, 0, sizeof *r);
}

const struct pipe_mode pipe_modes[] = {
    {.name = "pageable", .what = "ordinary host memory", .moves = true},
    {.name = "pinned",
     .what = "page-locked memory of the driver",
     .is_pinned = true,
     .moves = true},
    {.name = "overlapped",
     .what = "pinned, in chunks on three queues",
     .is_pinned = true,
     .is_cut = true,
     .moves = true},
    {.name = "mapped",
     .what = "memory shared by host and device",
     .maps = true},
    {.name = "resident", .what = "data kept on the device"},
    {.name = NULL},
};

const struct pipe_mode *pipe_mode(const char *name)
{
    for (const struct pipe_mode *m = pipe_modes; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

struct run_state {
    struct pipe_run_args *p;
    struct pipe_memory *memory;
    bool needs_events; /* for the record */
    struct pending_command *pending;
    size_t n, cap;
    cl_event last_event[N_LANES]
                       [MOST_CHUNKS]; /* last event of each chunk and lane */
    unsigned chunk;
};

/* The queue of a lane; without chunks all lanes share one. */
static xl_queue *queue_of(const struct run_state *r, unsigned lane)
{
    return r->p->lanes->q[r->p->mode->is_cut ? lane : LANE_RUN];
}

/* Converts an OpenCL error to a status, with a message. */
static xl_status check_call(struct run_state *r, cl_int code, const char *call,
                            size_t bytes)
{
    char size[40] = "";
    if (code == CL_SUCCESS)
        return XL_OK;
    if (bytes > 0)
        snprintf(size, sizeof size, " of %zu bytes", bytes);
    snprintf(r->memory->why, sizeof r->memory->why, "%s%s: %s", call, size,
             xl_status_name(code));
    return code;
}

/* Records a command, and takes ownership of its event. */
static xl_status record_command(struct run_state *r,
                                const struct pipe_command *c, cl_event done)
{
    xl_status status = XL_OK;
    struct pipe_command x = *c;
    if (r->p->record) {
        x.chunk = r->chunk;
        x.return_ns = xl__now_ns();
        x.is_first = true;
        if (r->p->waits) {
            TRY(xl_queue_finish(queue_of(r, x.lane)));
            x.over_ns = xl__now_ns();
            x.queued_ns = x.submit_ns = x.start_ns = (int64_t)x.call_ns;
            x.end_ns = (int64_t)x.over_ns;
        }
        if (!xl__grow(&r->pending, &r->cap, r->n + 1, sizeof *r->pending))
            TRY(XL_NO_MEMORY);
        r->pending[r->n++] =
            (struct pending_command){x, r->needs_events ? done : NULL};
        if (r->needs_events)
            return XL_OK;
    }
fail:
    if (done)
        clReleaseEvent(done);
    return status;
}

/* Retains an event that other commands wait for. */
static void retain_event(struct run_state *r, unsigned lane, cl_event event)
{
    if (event && clRetainEvent(event) == CL_SUCCESS)
        r->last_event[lane][r->chunk] = event;
}

/* -- transfers ------------------------------------------------------------ */

/* Items [first, first + items) of the host, at item `at` of the device
 * buffers. */
struct chunk_range {
    size_t first, items, at;
    const cl_mem *mem;
    const struct pipe_host *host;
};

/* Offset of an item in a tensor; shared tensors are always transferred
 * whole. */
static size_t offset_bytes(const struct pipe_workload *w, unsigned i,
                           size_t items)
{
    return w->tensor[i].role == PIPE_SHARED ? 0
                                            : pipe_tensor_bytes(w, i, items);
}

static void name_command(struct pipe_command *c, const char *what,
                         const struct run_state *r, unsigned i)
{
    snprintf(c->name, sizeof c->name, "%s %s", what,
             r->memory->w->tensor[i].name);
}

/* Enqueues the upload or download of tensor i for a range. With `retains` its
 * event is kept for other queues. */
static xl_status enqueue_transfer(struct run_state *r, unsigned lane,
                                  unsigned i, const struct chunk_range *range,
                                  const cl_event *wait, bool retains)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = r->memory->w;
    const size_t bytes = pipe_tensor_bytes(w, i, range->items);
    char *host = (char *)range->host->at[i] + offset_bytes(w, i, range->first);
    const cl_command_queue q = xl_queue_cl(queue_of(r, lane));
    const size_t at = offset_bytes(w, i, range->at);
    const cl_uint n_wait = wait && *wait ? 1 : 0;
    cl_event done = NULL;
    cl_event *out = retains || r->needs_events ? &done : NULL;
    struct pipe_command c = {.lane = lane, .bytes = (double)bytes,
                             .call_ns = xl__now_ns()};
    name_command(&c, lane == LANE_UP ? "write" : "read", r, i);
    const cl_int code =
        lane == LANE_UP
            ? clEnqueueWriteBuffer(q, range->mem[i], CL_FALSE, at, bytes, host,
                                   n_wait, n_wait ? wait : NULL, out)
            : clEnqueueReadBuffer(q, range->mem[i], CL_FALSE, at, bytes, host,
                                  n_wait, n_wait ? wait : NULL, out);
    TRY(check_call(r, code, lane == LANE_UP ? "a write" : "a read", bytes));
    if (retains)
        retain_event(r, lane, done);
    TRY(record_command(r, &c, done));
fail:
    return status;
}

/* True if tensor i is uploaded with the current chunk: shared tensors only
 * with the first. */
static bool is_sent(const struct run_state *r, unsigned i)
{
    const unsigned roles = r->chunk == 0 ? PIPE_FROM_HOST
                                         : PIPE_ROLE(PIPE_INPUT);
    return pipe_is(r->memory->w, i, roles);
}

/* Enqueues the uploads of a range; only the first waits, since the queue is
 * in-order. */
static xl_status enqueue_upload(struct run_state *r,
                                const struct chunk_range *range,
                                const cl_event *wait)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = r->memory->w;
    unsigned left = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        left += is_sent(r, i);
    for (unsigned i = 0; i < w->n_tensors; i++) {
        if (!is_sent(r, i))
            continue;
        left--;
        TRY(enqueue_transfer(r, LANE_UP, i, range, wait,
                             left == 0 && r->p->mode->is_cut));
        wait = NULL; /* the queue is in-order */
    }
fail:
    return status;
}

/* -- kernels -------------------------------------------------------------- */

/* Enqueues all stages for a range; the first waits for `wait`. */
static xl_status enqueue_kernels(struct run_state *r,
                                 const struct chunk_range *range,
                                 const cl_event *wait, cl_uint n_wait)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = r->memory->w;
    for (unsigned i = 0; i < w->n_stages; i++) {
        const bool retains = r->p->mode->is_cut && i + 1 == w->n_stages;
        const struct pipe_chunk chunk = {range->mem, range->at, range->items,
                                         r->memory->expr[i]};
        struct pipe_command c = {.lane = LANE_RUN, .stage = i};
        cl_event done = NULL;
        xl_sync sync = {XL_SYNC_INIT, .n_wait = i == 0 ? n_wait : 0,
                        .wait = i == 0 && n_wait ? wait : NULL,
                        .done = retains || r->needs_events ? &done : NULL};
        xl__strcpy(c.name, sizeof c.name, w->stage[i].kind->name);
        c.call_ns = xl__now_ns();
        TRY(w->stage[i].kind->run(queue_of(r, LANE_RUN), w, &w->stage[i],
                                  &chunk, &sync, false));
        if (retains)
            retain_event(r, LANE_RUN, done);
        TRY(record_command(r, &c, done));
    }
fail:
    return status;
}

/* -- modes ---------------------------------------------------------------- */

static xl_status flush_lane(struct run_state *r, unsigned lane)
{
    return check_call(r, clFlush(xl_queue_cl(queue_of(r, lane))), "clFlush",
                      0);
}

/* Items of a slot; slots begin at multiples of the grain as chunks do, for the
 * same alignment. */
static size_t slot_items(const struct run_state *r)
{
    const size_t items = r->memory->slots_items / r->p->buffers;
    return items - items % r->memory->w->grain;
}

/* Range of chunk i, on the host and on the device. */
static struct chunk_range chunk_range(const struct run_state *r, unsigned i)
{
    const struct pipe_workload *w = r->memory->w;
    const struct chunks *c = r->p->chunks;
    const unsigned buffers = r->p->buffers;
    struct chunk_range out = {.mem = r->memory->slots,
                              .host = &r->memory->pinned};
    for (unsigned j = 0; j < i; j++)
        out.first += c->units[j] * w->grain;
    out.items = xl__min_size(c->units[i] * w->grain, w->items - out.first);
    out.at = buffers < c->n ? i % buffers * slot_items(r) : out.first;
    return out;
}

/* The event of a lane for the chunk that used chunk i's slot before; NULL:
 * none. */
static const cl_event *previous_event(const struct run_state *r, unsigned lane,
                                      unsigned i)
{
    return i >= r->p->buffers ? &r->last_event[lane][i - r->p->buffers] : NULL;
}

/* Uploads chunk i, after the kernels that read the previous content of its
 * slot. */
static xl_status send_chunk(struct run_state *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct chunk_range range = chunk_range(r, i);
    r->chunk = i;
    TRY(enqueue_upload(r, &range, previous_event(r, LANE_RUN, i)));
    TRY(flush_lane(r, LANE_UP));
fail:
    return status;
}

/* Enqueues the kernels of chunk i, after its upload and after the previous
 * result in its slot was downloaded; then its download. */
static xl_status compute_chunk(struct run_state *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct chunk_range range = chunk_range(r, i);
    const cl_event *left = previous_event(r, LANE_DOWN, i);
    cl_event wait[2] = {r->last_event[LANE_UP][i], left ? *left : NULL};
    r->chunk = i;
    TRY(enqueue_kernels(r, &range, wait, left ? 2 : 1));
    TRY(flush_lane(r, LANE_RUN));
    TRY(enqueue_transfer(r, LANE_DOWN, pipe_output(r->memory->w), &range,
                         &r->last_event[LANE_RUN][i], true));
    TRY(flush_lane(r, LANE_DOWN));
fail:
    return status;
}

/* Enqueues all chunks; uploads precede the kernels by chunks_ahead(). */
static xl_status run_in_chunks(struct run_state *r)
{
    xl_status status = XL_OK;
    const unsigned n = r->p->chunks->n;
    const unsigned ahead = chunks_ahead(r->p->chunks, r->p->buffers);
    unsigned sent = 0;
    for (unsigned i = 0; i < n; i++) {
        for (; sent < n && sent <= i + ahead; sent++)
            TRY(send_chunk(r, sent));
        TRY(compute_chunk(r, i));
    }
fail:
    return status;
}

/* Enqueues everything in one piece. Lanes that are masked out keep the data of
 * an earlier run. */
static xl_status run_in_one_piece(struct run_state *r)
{
    xl_status status = XL_OK;
    const struct pipe_mode *mode = r->p->mode;
    const struct chunk_range all = {
        .items = r->memory->w->items,
        .mem = r->memory->whole,
        .host = mode->is_pinned ? &r->memory->pinned : &r->memory->pageable};
    const unsigned lanes =
        r->p->lane_mask ? r->p->lane_mask : (1u << N_LANES) - 1;
    if (mode->moves && lanes & 1u << LANE_UP)
        TRY(enqueue_upload(r, &all, NULL));
    if (lanes & 1u << LANE_RUN)
        TRY(enqueue_kernels(r, &all, NULL, 0));
    if (mode->moves && lanes & 1u << LANE_DOWN)
        TRY(enqueue_transfer(r, LANE_DOWN, pipe_output(r->memory->w), &all,
                             NULL, false));
fail:
    return status;
}

/* Maps a tensor of shared memory and unmaps it. */
static xl_status map_and_unmap(struct run_state *r, unsigned lane, unsigned i,
                               cl_map_flags how)
{
    xl_status status = XL_OK;
    cl_int code;
    const cl_command_queue q = xl_queue_cl(queue_of(r, lane));
    const size_t bytes =
        pipe_tensor_bytes(r->memory->w, i, r->memory->w->items);
    cl_event done[2] = {NULL, NULL};
    struct pipe_command c = {.lane = lane, .call_ns = xl__now_ns()};
    name_command(&c, "map", r, i);
    void *at =
        clEnqueueMapBuffer(q, r->memory->joint[i], CL_TRUE, how, 0, bytes, 0,
                           NULL, r->needs_events ? &done[0] : NULL, &code);
    TRY(check_call(r, code, "a map", bytes));
    TRY(record_command(r, &c, done[0]));
    c.call_ns = xl__now_ns();
    name_command(&c, "unmap", r, i);
    code = clEnqueueUnmapMemObject(q, r->memory->joint[i], at, 0, NULL,
                                   r->needs_events ? &done[1] : NULL);
    TRY(check_call(r, code, "an unmap", bytes));
    TRY(record_command(r, &c, done[1]));
fail:
    return status;
}

/* Runs on shared memory. The time in which a program would write its data
 * between map and unmap is not counted: it writes them in every mode. */
static xl_status run_on_shared_memory(struct run_state *r)
{
    xl_status status = XL_OK;
    const struct pipe_workload *w = r->memory->w;
    cl_mem mem[PIPE_TENSORS];
    const struct chunk_range all = {.items = w->items, .mem = mem};
    for (unsigned i = 0; i < w->n_tensors; i++)
        mem[i] =
            r->memory->joint[i] ? r->memory->joint[i] : r->memory->whole[i];
    for (unsigned i = 0; i < w->n_tensors; i++)
        if (pipe_is(w, i, PIPE_FROM_HOST))
            TRY(map_and_unmap(r, LANE_UP, i, CL_MAP_WRITE));
    TRY(enqueue_kernels(r, &all, NULL, 0));
    TRY(map_and_unmap(r, LANE_DOWN, pipe_output(w), CL_MAP_READ));
fail:
    return status;
}

/* -- a run ---------------------------------------------------------------- */

/* Decides whether events are needed, and starts the timeline. */
static xl_status begin_run(struct run_state *r)
{
    xl_status status = XL_OK;
    const struct pipe_run_args *p = r->p;
    r->needs_events = p->record && !p->waits && r->memory->has_clock &&
                      p->lanes == &r->memory->clocked;
    if (r->needs_events)
        TRY(begin_record(queue_of(r, LANE_RUN)));
fail:
    return status;
}

/* Waits for the last download, which follows everything else. Its event is
 * waited for: a queue that was flushed needs no clFinish (GE-29). */
static xl_status finish_run(struct run_state *r)
{
    if (!r->p->mode->is_cut)
        return xl_queue_finish(queue_of(r, LANE_RUN));
    return check_call(r,
                      clWaitForEvents(1, &r->last_event[LANE_DOWN][r->chunk]),
                      "waiting for a read", 0);
}

/* Releases the events. After a failure it first waits for all queues, since
 * enqueued commands use the memory. */
static void release_run(struct run_state *r, bool has_failed)
{
    for (unsigned l = 0; has_failed && l < N_LANES; l++)
        (void)clFinish(xl_queue_cl(queue_of(r, l)));
    for (size_t i = 0; i < r->n; i++)
        if (r->pending[i].done)
            clReleaseEvent(r->pending[i].done);
    for (unsigned l = 0; l < N_LANES; l++)
        for (unsigned i = 0; i < MOST_CHUNKS; i++) {
            if (r->last_event[l][i] && has_failed)
                (void)clWaitForEvents(1, &r->last_event[l][i]);
            if (r->last_event[l][i])
                clReleaseEvent(r->last_event[l][i]);
        }
    free(r->pending);
}

xl_status pipe_run(struct pipe_run_args *p)
{
    xl_status status = XL_OK;
    struct run_state r = {.p = p, .memory = p->memory};
    TRY(begin_run(&r));
    const uint64_t begin_ns = xl__now_ns();
    TRY(p->mode->is_cut ? run_in_chunks(&r)
        : p->mode->maps ? run_on_shared_memory(&r)
                        : run_in_one_piece(&r));
    const uint64_t finish_ns = xl__now_ns();
    TRY(finish_run(&r));
    if (p->record) {
        p->record->begin_ns = begin_ns;
        p->record->finish_ns = finish_ns;
        p->record->end_ns = xl__now_ns();
        TRY(check_call(
            &r,
            finish_record(p->record, r.pending, r.n,
                          r.needs_events ? queue_of(&r, LANE_RUN) : NULL),
            "querying the times of commands", 0));
    }
fail:
    release_run(&r, status != XL_OK);
    return status;
}
