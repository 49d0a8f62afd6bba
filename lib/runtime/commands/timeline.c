/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a queue. Recording an event does not wait for the device;
 * the times are read by xl_timeline_drain(). */
#include "runtime/commands/timeline.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "runtime/context.h"

void xl__timeline_add(struct xl__timeline *t, const char *label,
                      cl_event event)
{
    if (!t->on || clRetainEvent(event) != CL_SUCCESS)
        return;
    if (t->n == XL__TIMELINE_CAP) {
        clReleaseEvent(t->ring[t->first].event);
        t->first = (t->first + 1) % XL__TIMELINE_CAP;
        t->n--;
    }
    const unsigned at = (t->first + t->n++) % XL__TIMELINE_CAP;
    t->ring[at].event = event;
    t->ring[at].label = label;
}

static void release_events(struct xl__timeline *t)
{
    for (; t->n > 0; t->n--) {
        clReleaseEvent(t->ring[t->first].event);
        t->first = (t->first + 1) % XL__TIMELINE_CAP;
    }
}

void xl__timeline_clear(struct xl__timeline *t)
{
    release_events(t);
    free(t->ring);
    t->ring = NULL;
    t->on = false;
}

xl_status xl_timeline_enable(xl_queue *q, bool on)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    struct xl__timeline *t = &q->timeline;
    xl__error_reset(&q->error);
    if (on && !q->can_profile)
        return xl__error_set(&q->error, XL_UNSUPPORTED,
                             "the queue was made without "
                             "CL_QUEUE_PROFILING_ENABLE");
    if (on && !t->ring) {
        t->ring = xl__calloc(XL__TIMELINE_CAP, sizeof *t->ring);
        if (!t->ring)
            return xl__error_set(&q->error, XL_NO_MEMORY, "the timeline");
    }
    if (!on)
        release_events(t);
    t->on = on;
    return XL_OK;
}

xl_status xl_timeline_record(xl_queue *q, const char *label, cl_event event)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    xl__error_reset(&q->error);
    if (!label || !event)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "a command is recorded without %s",
                             label ? "its event" : "a label");
    xl__timeline_add(&q->timeline, label, event);
    return XL_OK;
}

static xl_status read_span(struct xl__error *e, cl_event event, xl_span *span)
{
    static const cl_profiling_info queries[] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    xl_status status = XL_OK;
    cl_ulong ns[4];
    CL_TRY(e, clWaitForEvents(1, &event));
    for (unsigned i = 0; i < 4; i++)
        CL_TRY(e, clGetEventProfilingInfo(event, queries[i], sizeof ns[i],
                                          &ns[i], NULL));
    span->queued_ns = ns[0];
    span->submit_ns = ns[1];
    span->start_ns = ns[2];
    span->end_ns = ns[3];
fail:
    return status;
}

xl_status xl_timeline_drain(xl_queue *q, void (*each)(const xl_span *, void *),
                            void *arg)
{
    if (!q)
        return XL_BAD_ARGUMENT;
    struct xl__timeline *t = &q->timeline;
    xl_status status = XL_OK;
    xl__error_reset(&q->error);
    if (!each)
        return xl__error_set(&q->error, XL_BAD_ARGUMENT,
                             "the timeline is read without a function");
    for (unsigned i = 0; i < t->n; i++) {
        const unsigned at = (t->first + i) % XL__TIMELINE_CAP;
        xl_span span = {.label = t->ring[at].label};
        TRY(read_span(&q->error, t->ring[at].event, &span));
        each(&span, arg);
    }
fail:
    release_events(t);
    return status;
}
