/* SPDX-License-Identifier: Apache-2.0 */
/* Writes trace-event JSON. A call or a command that ran is a complete event
 * ("X"), which must nest with the others of its track, so commands of one
 * engine that overlap are given a second track. Commands wait in a queue many
 * at a time: each is an asynchronous span of its own, of three phases.
 * Source: "Trace Event Format", Google, 2016. */
#include "timing/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/os/clock.h"
#include "base/os/lock.h"
#include "base/str.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "results/json.h"
#include "results/result.h"

/* Processes are numbered from 1: the host, then the devices. */
enum { HOST = 1, FIRST_DEVICE = 2, HOST_CALLS = 1 };
static const double ns_per_us = 1000;

struct track {
    unsigned pid;
    char name[64];
    int64_t over_ns; /* the end of the last event there */
};

struct call {
    uint64_t begin_ns;
};

struct trace {
    xl__lock lock; /* of all that follows: a deadline writes the trace while
                      the main thread may add to it */
    const char *path;
    json_t *events;
    int64_t origin_ns; /* of all times; 0: nothing is there yet */
    struct track *tracks;
    size_t n_tracks, cap_tracks;
    struct call *calls; /* by number, from 1 on */
    size_t n_calls, cap_calls;
    uint64_t n_commands;
};

/* -- events --------------------------------------------------------------- */

/* An event of a kind ("X" complete, "b" and "e" span, "s" and "f" arrow, "M"
 * name) on a track. */
static json_t *new_event(const char *kind, unsigned pid, size_t tid,
                         const char *name)
{
    json_t *out = json_object();
    json_put(out, "ph", json_string(kind));
    json_put(out, "pid", json_integer(pid));
    json_put(out, "tid", json_integer((json_int_t)tid));
    json_put(out, "name", json_text(name));
    return out;
}

static void put_time(const struct trace *t, json_t *to, const char *name,
                     int64_t ns)
{
    json_put(to, name, json_real((double)(ns - t->origin_ns) / ns_per_us));
}

static void put_duration(json_t *to, int64_t ns)
{
    json_put(to, "dur", json_real((double)ns / ns_per_us));
}

/* Adds the name of a process or of a track. */
static void add_name(struct trace *t, const char *what, unsigned pid,
                     size_t tid, const char *name)
{
    json_t *out = new_event("M", pid, tid, what), *args = json_object();
    json_put(args, "name", json_text(name));
    json_put(out, "args", args);
    json_add(t->events, out);
}

/* The number of a track, from 1 over all processes, added if it is new; 0 when
 * out of memory. The name of a process is added with its first track. */
static size_t find_track(struct trace *t, unsigned pid, const char *process,
                         const char *name)
{
    bool is_new_process = true;
    for (size_t i = 0; i < t->n_tracks; i++) {
        if (t->tracks[i].pid != pid)
            continue;
        is_new_process = false;
        if (strcmp(t->tracks[i].name, name) == 0)
            return i + 1;
    }
    if (!xl__grow(&t->tracks, &t->cap_tracks, t->n_tracks + 1,
                  sizeof *t->tracks))
        return 0;
    struct track *track = &t->tracks[t->n_tracks++];
    *track = (struct track){.pid = pid, .over_ns = INT64_MIN};
    xl__strcpy(track->name, sizeof track->name, name);
    if (is_new_process)
        add_name(t, "process_name", pid, 0, process);
    add_name(t, "thread_name", pid, t->n_tracks, name);
    return t->n_tracks;
}

/* Times count from 1 ms before the first event, since a device's times may be
 * early by their doubt. */
static void set_origin(struct trace *t, int64_t ns)
{
    static const int64_t before_ns = 1000000;
    if (t->origin_ns == 0)
        t->origin_ns = ns - before_ns;
}

/* -- the host ------------------------------------------------------------- */

static uint64_t add_call(struct trace *t, const char *name, const char *detail,
                         uint64_t begin_ns, uint64_t end_ns)
{
    set_origin(t, (int64_t)begin_ns);
    const size_t tid = find_track(t, HOST, "host", "calls");
    json_t *out = new_event("X", HOST, tid, name);
    put_time(t, out, "ts", (int64_t)begin_ns);
    put_duration(out, (int64_t)(end_ns - begin_ns));
    json_put(out, "cat", json_string("host"));
    if (detail) {
        json_t *args = json_object();
        json_put(args, "detail", json_text(detail));
        json_put(out, "args", args);
    }
    json_add(t->events, out);
    if (!xl__grow(&t->calls, &t->cap_calls, t->n_calls + 1, sizeof *t->calls))
        return 0;
    t->calls[t->n_calls++] = (struct call){begin_ns};
    return t->n_calls;
}

uint64_t trace_call(struct trace *t, const char *name, const char *detail,
                    uint64_t begin_ns, uint64_t end_ns)
{
    xl__lock_take(&t->lock);
    const uint64_t number = add_call(t, name, detail, begin_ns, end_ns);
    xl__lock_drop(&t->lock);
    return number;
}

/* -- a device ------------------------------------------------------------- */

/* Makes the times ascend, queued <= submitted <= started <= ended, whatever
 * the driver reports. */
static void order_stamps(struct trace_command *c)
{
    if (c->end_ns < c->start_ns)
        c->end_ns = c->start_ns;
    if (c->submit_ns > c->start_ns)
        c->submit_ns = c->start_ns;
    if (c->queued_ns > c->submit_ns)
        c->queued_ns = c->submit_ns;
}

/* A track of the engine on which nothing runs at `start_ns`. */
static size_t find_free_track(struct trace *t, unsigned pid,
                              const char *process, const char *engine,
                              int64_t start_ns)
{
    enum { MOST = 8 };
    size_t tid = 0;
    for (unsigned i = 1; i <= MOST; i++) {
        char name[sizeof t->tracks->name];
        snprintf(name, sizeof name, i > 1 ? "%s %u" : "%s", engine, i);
        tid = find_track(t, pid, process, name);
        if (tid == 0 || t->tracks[tid - 1].over_ns <= start_ns)
            break;
    }
    return tid;
}

/* One phase of a command's wait, as a span. */
static void add_phase(struct trace *t, unsigned pid, size_t tid, uint64_t id,
                      const char *name, const int64_t span_ns[2])
{
    static const char *const kinds[] = {"b", "e"};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out = new_event(kinds[i], pid, tid, name);
        json_put(out, "cat", json_string("queue"));
        json_put(out, "id", json_uint(id));
        put_time(t, out, "ts", span_ns[i]);
        json_add(t->events, out);
    }
}

/* The wait in the queue: one span, and its phases within it. */
static void add_queue(struct trace *t, unsigned pid,
                      const struct trace_command *c)
{
    const size_t tid = find_track(t, pid, c->device_name, c->queue);
    const int64_t at[] = {c->queued_ns, c->submit_ns, c->start_ns, c->end_ns};
    static const char *const phases[] = {"queued", "submitted", "running"};
    const char *const ends[] = {"b", "e"};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out = new_event(ends[i], pid, tid, c->queue);
        json_put(out, "cat", json_string("queue"));
        json_put(out, "id", json_uint(t->n_commands));
        put_time(t, out, "ts", i == 0 ? c->queued_ns : c->end_ns);
        if (i == 0) {
            json_t *args = json_object();
            json_put(args, "command", json_text(c->name));
            json_put(out, "args", args);
            json_add(t->events, out);
            for (unsigned p = 0; p < 3; p++)
                add_phase(t, pid, tid, t->n_commands, phases[p], &at[p]);
        } else {
            json_add(t->events, out);
        }
    }
}

/* An arrow from a call to the command that it enqueued; none that would point
 * back in time. */
static void add_arrow(struct trace *t, unsigned pid, size_t tid,
                      const struct trace_command *c)
{
    if (c->cause == 0 || c->cause > t->n_calls)
        return;
    const int64_t begin_ns = (int64_t)t->calls[c->cause - 1].begin_ns;
    if (c->end_ns < begin_ns)
        return;
    const struct {
        const char *kind;
        unsigned pid;
        size_t tid;
        int64_t at_ns;
    } ends[] = {
        {"s", HOST, find_track(t, HOST, "host", "calls"), begin_ns},
        {"f", pid, tid, c->start_ns > begin_ns ? c->start_ns : begin_ns}};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out =
            new_event(ends[i].kind, ends[i].pid, ends[i].tid, "enqueued");
        json_put(out, "cat", json_string("flow"));
        json_put(out, "id", json_uint(t->n_commands));
        put_time(t, out, "ts", ends[i].at_ns);
        if (i == 1)
            json_put(out, "bp", json_string("e")); /* the slice around it */
        json_add(t->events, out);
    }
}

static void add_command(struct trace *t, const struct trace_command *command)
{
    struct trace_command c = *command;
    const unsigned pid = FIRST_DEVICE + c.device;
    order_stamps(&c);
    set_origin(t, c.queued_ns);
    t->n_commands++;
    add_queue(t, pid, &c);
    const size_t tid =
        find_free_track(t, pid, c.device_name, c.engine, c.start_ns);
    if (tid == 0)
        return;
    t->tracks[tid - 1].over_ns = c.end_ns;
    json_t *out = new_event("X", pid, tid, c.name);
    json_put(out, "cat", json_string("device"));
    put_time(t, out, "ts", c.start_ns);
    put_duration(out, c.end_ns - c.start_ns);
    json_add(t->events, out);
    add_arrow(t, pid, tid, &c);
}

void trace_command(struct trace *t, const struct trace_command *command)
{
    xl__lock_take(&t->lock);
    add_command(t, command);
    xl__lock_drop(&t->lock);
}

/* -- the document --------------------------------------------------------- */

struct trace *trace_new(void)
{
    struct trace *t = xl__calloc(1, sizeof *t);
    if (!t)
        return NULL;
    xl__lock_init(&t->lock);
    t->events = json_array();
    return t;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    json_decref(t->events);
    free(t->tracks);
    free(t->calls);
    xl__lock_clear(&t->lock);
    free(t);
}

char *trace_text(const struct trace *t)
{
    enum { DIGITS = 15 }; /* nanoseconds over days of microseconds */
    json_t *root = json_object();
    json_put(root, "displayTimeUnit", json_string("ns"));
    json_put(root, "traceEvents", json_incref(t->events));
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    return text;
}

int trace_open(struct session *s, struct trace **out)
{
    *out = NULL;
    if (!s->set.trace)
        return EXIT_FINE;
    if (!out_file_check(s, "trace", s->set.trace))
        return EXIT_FILE;
    *out = trace_new();
    if (!*out)
        return session_fail(s, "starting the trace", XL_NO_MEMORY, "");
    (*out)->path = s->set.trace;
    return EXIT_FINE;
}

static int write_trace(struct session *s, const struct trace *t)
{
    int code = EXIT_FINE;
    char *text = trace_text(t);
    if (!text)
        code = session_fail(s, "writing the trace", XL_NO_MEMORY, "");
    else if (!out_file_write(s, "trace", t->path, text, strlen(text)))
        code = EXIT_FILE;
    free(text);
    return code;
}

int trace_write(struct session *s, struct trace *t)
{
    int code = EXIT_FINE;
    if (!t)
        return code;
    xl__lock_take(&t->lock);
    if (t->n_calls > 0)
        code = write_trace(s, t);
    xl__lock_drop(&t->lock);
    return code;
}

int trace_close(struct session *s, struct trace *t)
{
    const int code = trace_write(s, t);
    trace_free(t);
    return code;
}

/* -- clocks --------------------------------------------------------------- */

/* The device's clock on the host's. A command is started after the call that
 * enqueues it began, and has ended before the host reads its clock after the
 * wait, so each command bounds the difference d = device - host:
 *
 *     end - over <= d <= start - call
 *
 * and where the driver stamps "queued" within the enqueuing call, more closely
 *
 *     queued - return <= d <= queued - call.
 *
 * The intersection over a few dozen commands is microseconds wide, and no
 * driver has to offer a call for it. */
struct offset_range {
    int64_t lo, hi;
};

static int64_t difference(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b);
}

/* Intersects the range with lo..hi. */
static void narrow_range(struct offset_range *r, int64_t lo, int64_t hi)
{
    r->lo = lo > r->lo ? lo : r->lo;
    r->hi = hi < r->hi ? hi : r->hi;
}

int64_t trace_clock_offset(const struct trace_bracket *list, size_t n,
                           double *doubt_ns)
{
    struct offset_range r = {INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < n; i++)
        narrow_range(&r, difference(list[i].end_ns, list[i].over_ns),
                     difference(list[i].start_ns, list[i].call_ns));
    struct offset_range near = r;
    for (size_t i = 0; i < n; i++)
        narrow_range(&near, difference(list[i].queued_ns, list[i].return_ns),
                     difference(list[i].queued_ns, list[i].call_ns));
    if (near.lo <= near.hi)
        r = near;
    const int64_t width = r.hi - r.lo;
    *doubt_ns = (double)(width < 0 ? -width : width) / 2;
    return r.lo + width / 2;
}

/* -- a run ---------------------------------------------------------------- */

struct span_list {
    xl_span *list;
    size_t n, cap;
};

static void keep_span(const xl_span *span, void *arg)
{
    struct span_list *s = arg;
    if (xl__grow(&s->list, &s->cap, s->n + 1, sizeof *s->list))
        s->list[s->n++] = *span;
}

static void discard_span(const xl_span *span, void *arg)
{
    (void)span;
    (void)arg;
}

/* The times of one run on the host's clock. */
struct run_times {
    uint64_t begin_ns, return_ns, over_ns;
};

/* Enqueues and waits, with the host's times of both. */
static xl_status run_timed(xl_queue *q,
                           xl_status (*enqueue)(xl_queue *q, void *arg),
                           void *arg, struct run_times *out)
{
    xl_status status = XL_OK;
    out->begin_ns = xl__now_ns();
    TRY(enqueue(q, arg));
    out->return_ns = xl__now_ns();
    TRY(xl_queue_finish(q));
    out->over_ns = xl__now_ns();
fail:
    return status;
}

/* The device's clock minus the host's during a run; 0 without spans. */
static int64_t find_clock_offset(const struct span_list *s,
                                 const struct run_times *run)
{
    double doubt_ns = 0;
    int64_t offset_ns = 0;
    struct trace_bracket *list = xl__calloc(s->n + 1, sizeof *list);
    for (size_t i = 0; list && i < s->n; i++)
        list[i] = (struct trace_bracket){
            run->begin_ns,        run->return_ns,      run->over_ns,
            s->list[i].queued_ns, s->list[i].start_ns, s->list[i].end_ns};
    if (list && s->n > 0)
        offset_ns = trace_clock_offset(list, s->n, &doubt_ns);
    free(list);
    return offset_ns;
}

/* Adds the calls and the commands of one run. */
static void add_run(struct trace *t, const xl_device *dev, const char *name,
                    const struct span_list *s, const struct run_times *run)
{
    const int64_t offset_ns = find_clock_offset(s, run);
    (void)trace_call(t, name, NULL, run->begin_ns, run->over_ns);
    const uint64_t call =
        trace_call(t, "enqueue", NULL, run->begin_ns, run->return_ns);
    (void)trace_call(t, "finish", NULL, run->return_ns, run->over_ns);
    for (size_t i = 0; i < s->n; i++) {
        const xl_span *x = &s->list[i];
        const struct trace_command c = {
            .name = x->label,
            .device = xl_device_index(dev),
            .device_name = device_fact_text(dev, "name", "?"),
            .queue = "queue",
            .engine = "kernels",
            .cause = call,
            .queued_ns = (int64_t)x->queued_ns - offset_ns,
            .submit_ns = (int64_t)x->submit_ns - offset_ns,
            .start_ns = (int64_t)x->start_ns - offset_ns,
            .end_ns = (int64_t)x->end_ns - offset_ns};
        trace_command(t, &c);
    }
}

xl_status trace_runs(struct trace *t, xl_queue *q, const char *name,
                     xl_status (*enqueue)(xl_queue *q, void *arg), void *arg)
{
    enum { RUNS = 3 };
    xl_status status = XL_OK;
    struct span_list span_list = {0};
    struct run_times run;
    xl_fact timer_ok;
    const xl_device *dev = xl_queue_device(q);
    const bool has_clock =
        xl_device_fact(dev, "timer_ok", XL_UNKNOWN, &timer_ok) == XL_OK &&
        timer_ok.value == 1 && xl_timeline_enable(q, true) == XL_OK;
    for (unsigned i = 0; i < RUNS; i++) {
        span_list.n = 0;
        if (has_clock)
            TRY(xl_timeline_drain(q, discard_span, NULL));
        TRY(run_timed(q, enqueue, arg, &run));
        if (has_clock)
            TRY(xl_timeline_drain(q, keep_span, &span_list));
        add_run(t, dev, name, &span_list, &run);
    }
fail:
    if (has_clock)
        (void)xl_timeline_enable(q, false);
    free(span_list.list);
    return status;
}
