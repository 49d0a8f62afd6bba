/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen of a run. Launches come from the queue's timeline, all else
 * from its own event; both are moved to the host's clock together. */
#include "pipeline/pipeline_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/alloc.h"
#include "base/str.h"
#include "results/trace.h"

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

xl_status record_begin(xl_queue *kernels)
{
    xl_status status = XL_OK;
    TRY(xl_timeline_enable(kernels, true));
    TRY(xl_timeline_drain(kernels, drop_span, NULL));
fail:
    return status;
}

xl_status record_end(struct pipe_record *record, const struct noted *list,
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
