/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/execution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "results/trace.h"

/* -- the record --------------------------------------------------------------- */

/* A command that was enqueued, until its event can be asked. */
struct noted {
    struct pipe_command command;
    cl_event done; /* NULL: none is to be had */
};

struct spans {
    xl_span *list;
    size_t n, cap, at;
    bool is_short; /* of memory */
};

static void take_span(const xl_span *span, void *arg)
{
    struct spans *s = arg;
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

static xl_status stamps_of(cl_event event, xl_span *out)
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

/* The launches of a call end with the one whose stamps its event has; another
 * library's are not among them, and then the event stands for all. */
static size_t launches_of(const struct spans *s, const xl_span *last)
{
    for (size_t i = s->at; i < s->n; i++)
        if (s->list[i].start_ns == last->start_ns &&
            s->list[i].end_ns == last->end_ns)
            return i + 1 - s->at;
    return 0;
}

static xl_status add_noted(struct pipe_record *to, const struct noted *x,
                           struct spans *s)
{
    xl_status status = XL_OK;
    xl_span last = {.label = NULL};
    bool has_room = true;
    if (!x->done)
        return add_command(to, &x->command, NULL, true) ? XL_OK
                                                        : XL_NO_MEMORY;
    TRY(stamps_of(x->done, &last));
    const size_t n =
        x->command.lane == LANE_RUN ? launches_of(s, &last) : 0;
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

/* From the device's clock to the host's. */
static xl_status move_clock(struct pipe_record *record)
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
    const int64_t less = trace_clock(list, record->n, &record->doubt_ns);
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

static xl_status record_begin(xl_queue *kernels)
{
    xl_status status = XL_OK;
    TRY(xl_timeline_enable(kernels, true));
    TRY(xl_timeline_drain(kernels, drop_span, NULL));
fail:
    return status;
}

static xl_status record_end(struct pipe_record *record, const struct noted *list,
                     size_t n, xl_queue *kernels)
{
    xl_status status = XL_OK;
    struct spans spans = {.list = NULL};
    record->n = 0;
    if (kernels)
        TRY(xl_timeline_drain(kernels, take_span, &spans));
    TRY(spans.is_short ? XL_NO_MEMORY : XL_OK);
    for (size_t i = 0; i < n; i++)
        TRY(add_noted(record, &list[i], &spans));
    if (kernels && record->n > 0)
        TRY(move_clock(record));
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
    {.name = "pageable", .what = "ordinary memory of the host", .moves = true},
    {.name = "pinned",
     .what = "memory that the device fetches from",
     .is_pinned = true,
     .moves = true},
    {.name = "overlapped",
     .what = "pinned, in chunks on three queues",
     .is_pinned = true,
     .is_cut = true,
     .moves = true},
    {.name = "mapped",
     .what = "one memory for host and device",
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

struct running {
    struct pipe_pass *p;
    struct pipe_site *site;
    bool wants_events; /* for the record */
    struct noted *noted;
    size_t n, cap;
    cl_event over[N_LANES][MOST_CHUNKS]; /* each chunk's last of a lane */
    unsigned chunk;
};

static xl_queue *queue_of(const struct running *r, unsigned lane)
{
    return r->p->lanes->q[r->p->mode->is_cut ? lane : LANE_RUN];
}

static xl_status refused(struct running *r, cl_int code, const char *call,
                         size_t bytes)
{
    char size[40] = "";
    if (code == CL_SUCCESS)
        return XL_OK;
    if (bytes > 0)
        snprintf(size, sizeof size, " of %zu bytes", bytes);
    snprintf(r->site->why, sizeof r->site->why, "%s%s: %s", call, size,
             xl_status_name(code));
    return code;
}

/* Write a command down, and take its event over. */
static xl_status note(struct running *r, const struct pipe_command *c,
                      cl_event done)
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
        if (!xl__grow(&r->noted, &r->cap, r->n + 1, sizeof *r->noted))
            TRY(XL_NO_MEMORY);
        r->noted[r->n++] = (struct noted){x, r->wants_events ? done : NULL};
        if (r->wants_events)
            return XL_OK;
    }
fail:
    if (done)
        clReleaseEvent(done);
    return status;
}

/* An event to be waited for as well as written down. */
static void keep(struct running *r, unsigned lane, cl_event event)
{
    if (event && clRetainEvent(event) == CL_SUCCESS)
        r->over[lane][r->chunk] = event;
}

/* -- transfers ------------------------------------------------------------- */

/* Items [first, first + items) of the host's, at place `at` of the device's. */
struct piece {
    size_t first, items, at;
    const cl_mem *mem;
    const struct pipe_host *host;
};

static size_t bytes_before(const struct pipe_work *w, unsigned i, size_t items)
{
    return w->tensor[i].role == PIPE_SHARED ? 0
                                            : pipe_tensor_bytes(w, i, items);
}

static void name_command(struct pipe_command *c, const char *what,
                         const struct running *r, unsigned i)
{
    snprintf(c->name, sizeof c->name, "%s %s", what,
             r->site->w->tensor[i].name);
}

static xl_status transfer(struct running *r, unsigned lane, unsigned i,
                          const struct piece *piece, const cl_event *wait,
                          bool keeps)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = r->site->w;
    const size_t bytes = pipe_tensor_bytes(w, i, piece->items);
    char *host =
        (char *)piece->host->at[i] + bytes_before(w, i, piece->first);
    const cl_command_queue q = xl_queue_cl(queue_of(r, lane));
    const size_t at = bytes_before(w, i, piece->at);
    const cl_uint n_wait = wait && *wait ? 1 : 0;
    cl_event done = NULL;
    cl_event *out = keeps || r->wants_events ? &done : NULL;
    struct pipe_command c = {.lane = lane, .bytes = (double)bytes,
                             .call_ns = xl__now_ns()};
    name_command(&c, lane == LANE_UP ? "write" : "read", r, i);
    const cl_int code =
        lane == LANE_UP
            ? clEnqueueWriteBuffer(q, piece->mem[i], CL_FALSE, at, bytes, host,
                                   n_wait, n_wait ? wait : NULL, out)
            : clEnqueueReadBuffer(q, piece->mem[i], CL_FALSE, at, bytes, host,
                                  n_wait, n_wait ? wait : NULL, out);
    TRY(refused(r, code, lane == LANE_UP ? "a write" : "a read", bytes));
    if (keeps)
        keep(r, lane, done);
    TRY(note(r, &c, done));
fail:
    return status;
}

static bool is_sent(const struct running *r, unsigned i)
{
    const unsigned roles = r->chunk == 0 ? PIPE_FROM_HOST
                                         : PIPE_ROLE(PIPE_INPUT);
    return pipe_is(r->site->w, i, roles);
}

static xl_status upload(struct running *r, const struct piece *piece,
                        const cl_event *wait)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = r->site->w;
    unsigned left = 0;
    for (unsigned i = 0; i < w->n_tensors; i++)
        left += is_sent(r, i);
    for (unsigned i = 0; i < w->n_tensors; i++) {
        if (!is_sent(r, i))
            continue;
        left--;
        TRY(transfer(r, LANE_UP, i, piece, wait,
                     left == 0 && r->p->mode->is_cut));
        wait = NULL; /* the queue is in order */
    }
fail:
    return status;
}

/* -- kernels --------------------------------------------------------------- */

static xl_status kernels(struct running *r, const struct piece *piece,
                         const cl_event *wait, cl_uint n_wait)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = r->site->w;
    for (unsigned i = 0; i < w->n_stages; i++) {
        const bool keeps = r->p->mode->is_cut && i + 1 == w->n_stages;
        const struct pipe_part part = {piece->mem, piece->at, piece->items,
                                       r->site->expr[i]};
        struct pipe_command c = {.lane = LANE_RUN, .stage = i};
        cl_event done = NULL;
        xl_sync sync = {.n_wait = i == 0 ? n_wait : 0,
                        .wait = i == 0 && n_wait ? wait : NULL,
                        .done = keeps || r->wants_events ? &done : NULL};
        xl__strcpy(c.name, sizeof c.name, w->stage[i].kind->name);
        c.call_ns = xl__now_ns();
        TRY(w->stage[i].kind->run(queue_of(r, LANE_RUN), w, &w->stage[i],
                                  &part, &sync, false));
        if (keeps)
            keep(r, LANE_RUN, done);
        TRY(note(r, &c, done));
    }
fail:
    return status;
}

/* -- the ways -------------------------------------------------------------- */

static xl_status flush(struct running *r, unsigned lane)
{
    return refused(r, clFlush(xl_queue_cl(queue_of(r, lane))), "clFlush", 0);
}

/* Room of a place; places begin where chunks do, so that they are aligned
 * alike. */
static size_t place_items(const struct running *r)
{
    const size_t items = r->site->places_items / r->p->buffers;
    return items - items % r->site->w->grain;
}

/* Where chunk i lies, on the host and on the device. */
static struct piece piece_of(const struct running *r, unsigned i)
{
    const struct pipe_work *w = r->site->w;
    const struct chunks *c = r->p->chunks;
    const unsigned buffers = r->p->buffers;
    struct piece out = {.mem = r->site->places, .host = &r->site->pinned};
    for (unsigned j = 0; j < i; j++)
        out.first += c->units[j] * w->grain;
    out.items = xl__min_size(c->units[i] * w->grain, w->items - out.first);
    out.at = buffers < c->n ? i % buffers * place_items(r)
                            : out.first;
    return out;
}

/* The event of a lane for what had chunk i's place before; NULL: nothing. */
static const cl_event *before(const struct running *r, unsigned lane,
                              unsigned i)
{
    return i >= r->p->buffers ? &r->over[lane][i - r->p->buffers] : NULL;
}

/* To the device, once the kernels that read what lies there are over. */
static xl_status send_chunk(struct running *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct piece piece = piece_of(r, i);
    r->chunk = i;
    TRY(upload(r, &piece, before(r, LANE_RUN, i)));
    TRY(flush(r, LANE_UP));
fail:
    return status;
}

/* Its kernels, once it is there and what lay in the result's place is gone;
 * and the way back. */
static xl_status work_chunk(struct running *r, unsigned i)
{
    xl_status status = XL_OK;
    const struct piece piece = piece_of(r, i);
    const cl_event *left = before(r, LANE_DOWN, i);
    cl_event wait[2] = {r->over[LANE_UP][i], left ? *left : NULL};
    r->chunk = i;
    TRY(kernels(r, &piece, wait, left ? 2 : 1));
    TRY(flush(r, LANE_RUN));
    TRY(transfer(r, LANE_DOWN, pipe_output(r->site->w), &piece,
                 &r->over[LANE_RUN][i], true));
    TRY(flush(r, LANE_DOWN));
fail:
    return status;
}

static xl_status in_chunks(struct running *r)
{
    xl_status status = XL_OK;
    const unsigned n = r->p->chunks->n;
    const unsigned ahead = chunks_ahead(r->p->chunks, r->p->buffers);
    unsigned sent = 0;
    for (unsigned i = 0; i < n; i++) {
        for (; sent < n && sent <= i + ahead; sent++)
            TRY(send_chunk(r, sent));
        TRY(work_chunk(r, i));
    }
fail:
    return status;
}

/* In one piece; of lanes that are left out, what was there before stays. */
static xl_status at_once(struct running *r)
{
    xl_status status = XL_OK;
    const struct pipe_mode *mode = r->p->mode;
    const struct piece all = {
        .items = r->site->w->items,
        .mem = r->site->whole,
        .host = mode->is_pinned ? &r->site->pinned : &r->site->pageable};
    const unsigned lanes = r->p->lanes_wanted
                               ? r->p->lanes_wanted
                               : (1u << N_LANES) - 1;
    if (mode->moves && lanes & 1u << LANE_UP)
        TRY(upload(r, &all, NULL));
    if (lanes & 1u << LANE_RUN)
        TRY(kernels(r, &all, NULL, 0));
    if (mode->moves && lanes & 1u << LANE_DOWN)
        TRY(transfer(r, LANE_DOWN, pipe_output(r->site->w), &all, NULL,
                     false));
fail:
    return status;
}

/* The host takes a tensor and gives it back. */
static xl_status visit(struct running *r, unsigned lane, unsigned i,
                       cl_map_flags how)
{
    xl_status status = XL_OK;
    cl_int code;
    const cl_command_queue q = xl_queue_cl(queue_of(r, lane));
    const size_t bytes = pipe_tensor_bytes(r->site->w, i, r->site->w->items);
    cl_event done[2] = {NULL, NULL};
    struct pipe_command c = {.lane = lane, .call_ns = xl__now_ns()};
    name_command(&c, "map", r, i);
    void *at = clEnqueueMapBuffer(q, r->site->joint[i], CL_TRUE, how, 0, bytes,
                                  0, NULL, r->wants_events ? &done[0] : NULL,
                                  &code);
    TRY(refused(r, code, "a map", bytes));
    TRY(note(r, &c, done[0]));
    c.call_ns = xl__now_ns();
    name_command(&c, "unmap", r, i);
    code = clEnqueueUnmapMemObject(q, r->site->joint[i], at, 0, NULL,
                                   r->wants_events ? &done[1] : NULL);
    TRY(refused(r, code, "an unmap", bytes));
    TRY(note(r, &c, done[1]));
fail:
    return status;
}

/* What the host writes in between is the program's own work, not counted: it
 * has to write its data somewhere in every mode. */
static xl_status in_place(struct running *r)
{
    xl_status status = XL_OK;
    const struct pipe_work *w = r->site->w;
    cl_mem mem[PIPE_TENSORS];
    const struct piece all = {.items = w->items, .mem = mem};
    for (unsigned i = 0; i < w->n_tensors; i++)
        mem[i] = r->site->joint[i] ? r->site->joint[i] : r->site->whole[i];
    for (unsigned i = 0; i < w->n_tensors; i++)
        if (pipe_is(w, i, PIPE_FROM_HOST))
            TRY(visit(r, LANE_UP, i, CL_MAP_WRITE));
    TRY(kernels(r, &all, NULL, 0));
    TRY(visit(r, LANE_DOWN, pipe_output(w), CL_MAP_READ));
fail:
    return status;
}

/* -- a run ----------------------------------------------------------------- */

static xl_status begin(struct running *r)
{
    xl_status status = XL_OK;
    const struct pipe_pass *p = r->p;
    r->wants_events = p->record && !p->waits && r->site->has_clock &&
                      p->lanes == &r->site->clocked;
    if (r->wants_events)
        TRY(record_begin(queue_of(r, LANE_RUN)));
fail:
    return status;
}

/* The last download is behind everything else. Its event tells when it is
 * over: what was flushed, a queue need not wait for (GE-29). */
static xl_status finish(struct running *r)
{
    if (!r->p->mode->is_cut)
        return xl_queue_finish(queue_of(r, LANE_RUN));
    return refused(r,
                   clWaitForEvents(1, &r->over[LANE_DOWN][r->chunk]),
                   "waiting for a read", 0);
}

static void clean_up(struct running *r, bool has_failed)
{
    for (unsigned l = 0; has_failed && l < N_LANES; l++)
        (void)clFinish(xl_queue_cl(queue_of(r, l)));
    for (size_t i = 0; i < r->n; i++)
        if (r->noted[i].done)
            clReleaseEvent(r->noted[i].done);
    for (unsigned l = 0; l < N_LANES; l++)
        for (unsigned i = 0; i < MOST_CHUNKS; i++) {
            if (r->over[l][i] && has_failed)
                (void)clWaitForEvents(1, &r->over[l][i]);
            if (r->over[l][i])
                clReleaseEvent(r->over[l][i]);
        }
    free(r->noted);
}

xl_status pipe_run(struct pipe_pass *p)
{
    xl_status status = XL_OK;
    struct running r = {.p = p, .site = p->site};
    TRY(begin(&r));
    const uint64_t begin_ns = xl__now_ns();
    TRY(p->mode->is_cut  ? in_chunks(&r)
        : p->mode->maps  ? in_place(&r)
                         : at_once(&r));
    const uint64_t finish_ns = xl__now_ns();
    TRY(finish(&r));
    if (p->record) {
        p->record->begin_ns = begin_ns;
        p->record->finish_ns = finish_ns;
        p->record->end_ns = xl__now_ns();
        TRY(refused(&r,
                    record_end(p->record, r.noted, r.n,
                               r.wants_events ? queue_of(&r, LANE_RUN)
                                              : NULL),
                    "asking for the times of commands", 0));
    }
fail:
    clean_up(&r, status != XL_OK);
    return status;
}
