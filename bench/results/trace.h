/* SPDX-License-Identifier: Apache-2.0 */
/* What ran when, as trace-event JSON for Perfetto and chrome://tracing: the
 * host's calls, the queues that commands wait in, and the engines that run
 * them, all on the host's clock, with an arrow from a call to what it set
 * going. Kept in memory, written at the end. */
#ifndef CLBENCH_TRACE_H
#define CLBENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/queue.h>

struct session;
struct trace;

/* What --trace asks for; *out NULL without it. An exit_code, after saying why
 * the file cannot be written: asked before minutes are spent. */
int trace_open(struct session *s, struct trace **out);
/* Write what there is, if anything; NULL is allowed. An exit_code. */
int trace_close(struct session *s, struct trace *t);

/* A call of the host's. Calls may lie within each other. `detail` NULL: none.
 * Returns what stands for the call as the cause of a command. */
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
/* In the order in which its engine took them up. */
void trace_command(struct trace *t, const struct trace_command *c);

/* A piece of enqueued work, three times: each call with the kernels that it
 * set going. Needs a queue of ours, with profiling; otherwise the calls
 * alone. */
xl_status trace_work(struct trace *t, xl_queue *q, const char *name,
                     xl_status (*enqueue)(xl_queue *q, void *arg), void *arg);

/* -- clocks ---------------------------------------------------------------- */

/* A command as both clocks saw it. */
struct trace_bracket {
    uint64_t call_ns, return_ns; /* host: the call that enqueued it */
    uint64_t over_ns;            /* host: known to be over */
    uint64_t queued_ns, start_ns, end_ns; /* the device's clock */
};

/* The device's clock less the host's; *doubt_ns how far off it may be. Nothing
 * starts before it is enqueued or ends after it was waited for; and where the
 * driver stamps a command within the call that enqueues it, nearer still.
 * n >= 1. */
int64_t trace_clock(const struct trace_bracket *list, size_t n,
                    double *doubt_ns);

/* Without a file: for tests. The whole document is free()d by the caller;
 * NULL when out of memory. */
struct trace *trace_new(void);
char *trace_text(const struct trace *t);
void trace_free(struct trace *t);

#endif
