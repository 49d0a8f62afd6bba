/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline of a run as trace-event JSON for Perfetto and chrome://tracing:
 * the host's calls, the queues that commands wait in, and the engines that run
 * them, all on the host's clock, with an arrow from a call to the command that
 * it enqueues. Kept in memory, written at the end. */
#ifndef CLBENCH_TRACE_H
#define CLBENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/queue.h>

struct session;
struct trace;

/* The trace of --trace; *out is NULL without the option. An exit_code, after a
 * message if the file cannot be written: checked before the measurement
 * begins. */
int trace_open(struct session *s, struct trace **out);
/* Write the trace if it has an event, else an older file is kept; NULL is
 * allowed. Another thread may be adding to it. An exit_code. */
int trace_write(struct session *s, struct trace *t);
/* The same, and free it. */
int trace_close(struct session *s, struct trace *t);

/* A call of the host. Calls may nest. `detail` NULL: none. Returns the number
 * of the call, the cause of a command in trace_command(); 0 when out of
 * memory. */
uint64_t trace_call(struct trace *t, const char *name, const char *detail,
                    uint64_t begin_ns, uint64_t end_ns);

/* A command, on the host's clock. */
struct trace_command {
    const char *name;
    unsigned device;
    const char *device_name;    /* kept by the caller until trace_close() */
    const char *queue, *engine; /* "upload queue", "kernels"; static */
    uint64_t cause;             /* of trace_call(); 0: none */
    int64_t queued_ns, submit_ns, start_ns, end_ns;
};
/* Add a command; those of an engine in the order in which it starts them. */
void trace_command(struct trace *t, const struct trace_command *c);

/* Enqueue and wait three times: each call with the kernels that it enqueues.
 * The kernels need a queue of this library with profiling; without it the
 * trace has the calls only. */
xl_status trace_runs(struct trace *t, xl_queue *q, const char *name,
                     xl_status (*enqueue)(xl_queue *q, void *arg), void *arg);

/* -- clocks --------------------------------------------------------------- */

/* The times of one command on both clocks. */
struct trace_bracket {
    uint64_t call_ns, return_ns;          /* host: the call that enqueued it */
    uint64_t over_ns;                     /* host: it has ended */
    uint64_t queued_ns, start_ns, end_ns; /* the device's clock */
};

/* The device's clock minus the host's, and *doubt_ns, half the width of the
 * interval that it is known to be in. n >= 1. */
int64_t trace_clock_offset(const struct trace_bracket *list, size_t n,
                           double *doubt_ns);

/* Without a file: for tests. The caller free()s the whole document; NULL when
 * out of memory. */
struct trace *trace_new(void);
char *trace_text(const struct trace *t);
void trace_free(struct trace *t);

#endif
