/* SPDX-License-Identifier: Apache-2.0 */
/* The device's clock on the host's. Every command bounds the difference of the
 * two from both sides; a few dozen of them leave microseconds of doubt, and
 * no driver has to offer a call for it. */
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/error.h"
#include "base/alloc.h"
#include "results/result.h"
#include "results/trace.h"

struct range {
    int64_t lo, hi;
};

static int64_t minus(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b);
}

static void narrow(struct range *r, int64_t lo, int64_t hi)
{
    r->lo = lo > r->lo ? lo : r->lo;
    r->hi = hi < r->hi ? hi : r->hi;
}

int64_t trace_clock(const struct trace_bracket *list, size_t n,
                    double *doubt_ns)
{
    struct range r = {INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < n; i++)
        narrow(&r, minus(list[i].end_ns, list[i].over_ns),
               minus(list[i].start_ns, list[i].call_ns));
    struct range near = r;
    for (size_t i = 0; i < n; i++)
        narrow(&near, minus(list[i].queued_ns, list[i].return_ns),
               minus(list[i].queued_ns, list[i].call_ns));
    if (near.lo <= near.hi)
        r = near;
    const int64_t width = r.hi - r.lo;
    *doubt_ns = (double)(width < 0 ? -width : width) / 2;
    return r.lo + width / 2;
}

/* -- a piece of work ------------------------------------------------------- */

struct spans {
    xl_span *list;
    size_t n, cap;
};

static void take(const xl_span *span, void *arg)
{
    struct spans *s = arg;
    if (xl__grow(&s->list, &s->cap, s->n + 1, sizeof *s->list))
        s->list[s->n++] = *span;
}

static void drop(const xl_span *span, void *arg)
{
    (void)span;
    (void)arg;
}

/* One run as the host saw it. */
struct checked_element {
    uint64_t begin_ns, return_ns, over_ns;
};

static xl_status run_once(xl_queue *q,
                          xl_status (*enqueue)(xl_queue *q, void *arg),
                          void *arg, struct checked_element *out)
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

/* Where the run's spans lie on the host's clock; 0 spans: nothing is known. */
static int64_t clock_of(const struct spans *s,
                        const struct checked_element *run)
{
    double doubt_ns = 0;
    int64_t less = 0;
    struct trace_bracket *list = xl__calloc(s->n + 1, sizeof *list);
    for (size_t i = 0; list && i < s->n; i++)
        list[i] = (struct trace_bracket){
            run->begin_ns,      run->return_ns,       run->over_ns,
            s->list[i].queued_ns, s->list[i].start_ns, s->list[i].end_ns};
    if (list && s->n > 0)
        less = trace_clock(list, s->n, &doubt_ns);
    free(list);
    return less;
}

static void add_run(struct trace *t, const xl_device *dev, const char *name,
                    const struct spans *s, const struct checked_element *run)
{
    const int64_t less = clock_of(s, run);
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
            .queued_ns = (int64_t)x->queued_ns - less,
            .submit_ns = (int64_t)x->submit_ns - less,
            .start_ns = (int64_t)x->start_ns - less,
            .end_ns = (int64_t)x->end_ns - less};
        trace_command(t, &c);
    }
}

xl_status trace_work(struct trace *t, xl_queue *q, const char *name,
                     xl_status (*enqueue)(xl_queue *q, void *arg), void *arg)
{
    enum { RUNS = 3 };
    xl_status status = XL_OK;
    struct spans spans = {0};
    struct checked_element run;
    xl_fact is_true;
    const xl_device *dev = xl_queue_device(q);
    const bool has_clock =
        xl_device_fact(dev, "timer_ok", XL_UNKNOWN, &is_true) == XL_OK &&
        is_true.value == 1 && xl_timeline_enable(q, true) == XL_OK;
    for (unsigned i = 0; i < RUNS; i++) {
        spans.n = 0;
        if (has_clock)
            TRY(xl_timeline_drain(q, drop, NULL));
        TRY(run_once(q, enqueue, arg, &run));
        if (has_clock)
            TRY(xl_timeline_drain(q, take, &spans));
        add_run(t, dev, name, &spans, &run);
    }
fail:
    if (has_clock)
        (void)xl_timeline_enable(q, false);
    free(spans.list);
    return status;
}
