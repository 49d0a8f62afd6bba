/* SPDX-License-Identifier: Apache-2.0 */
/* Trace events. A call or a command that ran is a complete event ("X"), which
 * must nest with the others of its track, so commands of one engine that
 * overlap are given a second track. Commands wait in a queue many at a time:
 * each is an asynchronous span of its own, of three phases.
 * Source: "Trace Event Format", Google, 2016. */
#include "results/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "results/json.h"
#include "cli/output_file.h"
#include "cli/session.h"

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
    const char *path;
    json_t *events;
    int64_t origin_ns; /* of all times; 0: nothing is there yet */
    struct track *tracks;
    size_t n_tracks, cap_tracks;
    struct call *calls; /* by number, from 1 on */
    size_t n_calls, cap_calls;
    uint64_t n_commands;
};

/* -- events ---------------------------------------------------------------- */

static json_t *event(const char *kind, unsigned pid, size_t tid,
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

static void put_length(json_t *to, int64_t ns)
{
    json_put(to, "dur", json_real((double)ns / ns_per_us));
}

/* What a process or a track is called. */
static void name_it(struct trace *t, const char *what, unsigned pid,
                    size_t tid, const char *name)
{
    json_t *out = event("M", pid, tid, what), *args = json_object();
    json_put(args, "name", json_text(name));
    json_put(out, "args", args);
    json_add(t->events, out);
}

/* The place of a track, counted from 1 over all; 0 when out of memory. A
 * process is named with its first. */
static size_t track_of(struct trace *t, unsigned pid, const char *process,
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
        name_it(t, "process_name", pid, 0, process);
    name_it(t, "thread_name", pid, t->n_tracks, name);
    return t->n_tracks;
}

/* Times count from a little before what comes first, since a device's may be
 * off by their doubt. */
static void begin_at(struct trace *t, int64_t ns)
{
    static const int64_t before_ns = 1000000;
    if (t->origin_ns == 0)
        t->origin_ns = ns - before_ns;
}

/* -- the host -------------------------------------------------------------- */

uint64_t trace_call(struct trace *t, const char *name, const char *detail,
                    uint64_t begin_ns, uint64_t end_ns)
{
    begin_at(t, (int64_t)begin_ns);
    const size_t tid = track_of(t, HOST, "host", "calls");
    json_t *out = event("X", HOST, tid, name);
    put_time(t, out, "ts", (int64_t)begin_ns);
    put_length(out, (int64_t)(end_ns - begin_ns));
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

/* -- a device -------------------------------------------------------------- */

/* Stamps in the order that time has, whatever a driver says. */
static void straighten(struct trace_command *c)
{
    if (c->end_ns < c->start_ns)
        c->end_ns = c->start_ns;
    if (c->submit_ns > c->start_ns)
        c->submit_ns = c->start_ns;
    if (c->queued_ns > c->submit_ns)
        c->queued_ns = c->submit_ns;
}

/* A track of the engine's on which nothing runs at `start_ns`. */
static size_t free_track(struct trace *t, unsigned pid, const char *process,
                         const char *engine, int64_t start_ns)
{
    enum { MOST = 8 };
    size_t tid = 0;
    for (unsigned i = 1; i <= MOST; i++) {
        char name[sizeof t->tracks->name];
        snprintf(name, sizeof name, i > 1 ? "%s %u" : "%s", engine, i);
        tid = track_of(t, pid, process, name);
        if (tid == 0 || t->tracks[tid - 1].over_ns <= start_ns)
            break;
    }
    return tid;
}

static void add_phase(struct trace *t, unsigned pid, size_t tid, uint64_t id,
                      const char *name, const int64_t span_ns[2])
{
    static const char *const kinds[] = {"b", "e"};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out = event(kinds[i], pid, tid, name);
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
    const size_t tid = track_of(t, pid, c->device_name, c->queue);
    const int64_t at[] = {c->queued_ns, c->submit_ns, c->start_ns, c->end_ns};
    static const char *const phases[] = {"queued", "submitted", "running"};
    const char *const ends[] = {"b", "e"};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out = event(ends[i], pid, tid, c->queue);
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

/* From the call to what it set going; none that would point back in time. */
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
        {"s", HOST, track_of(t, HOST, "host", "calls"), begin_ns},
        {"f", pid, tid, c->start_ns > begin_ns ? c->start_ns : begin_ns}};
    for (unsigned i = 0; i < 2; i++) {
        json_t *out =
            event(ends[i].kind, ends[i].pid, ends[i].tid, "enqueued");
        json_put(out, "cat", json_string("flow"));
        json_put(out, "id", json_uint(t->n_commands));
        put_time(t, out, "ts", ends[i].at_ns);
        if (i == 1)
            json_put(out, "bp", json_string("e")); /* the slice around it */
        json_add(t->events, out);
    }
}

void trace_command(struct trace *t, const struct trace_command *command)
{
    struct trace_command c = *command;
    const unsigned pid = FIRST_DEVICE + c.device;
    straighten(&c);
    begin_at(t, c.queued_ns);
    t->n_commands++;
    add_queue(t, pid, &c);
    const size_t tid =
        free_track(t, pid, c.device_name, c.engine, c.start_ns);
    if (tid == 0)
        return;
    t->tracks[tid - 1].over_ns = c.end_ns;
    json_t *out = event("X", pid, tid, c.name);
    json_put(out, "cat", json_string("device"));
    put_time(t, out, "ts", c.start_ns);
    put_length(out, c.end_ns - c.start_ns);
    json_add(t->events, out);
    add_arrow(t, pid, tid, &c);
}

/* -- the document ---------------------------------------------------------- */

struct trace *trace_new(void)
{
    struct trace *t = xl__calloc(1, sizeof *t);
    if (t)
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
    free(t);
}

char *trace_text(const struct trace *t)
{
    enum { DIGITS = 15 }; /* nanoseconds over days of microseconds */
    json_t *root = json_object();
    json_put(root, "displayTimeUnit", json_string("ns"));
    json_put(root, "traceEvents", json_incref(t->events));
    char *text =
        json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
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

static int write_out(struct session *s, const struct trace *t)
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

int trace_close(struct session *s, struct trace *t)
{
    /* Where nothing ran, an older file is worth more. */
    const int code = t && t->n_calls > 0 ? write_out(s, t) : EXIT_FINE;
    trace_free(t);
    return code;
}
