/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the event clock of a device. Some drivers always report 0, some report
 * ticks as nanoseconds (GE-17, GE-18). A kernel of about 20 ms is timed by
 * event clock and wall clock, once per device; the step of the event clock is
 * found from many short kernels. The results are the facts timer_ok and
 * timer_step_ns.
 *
 *     ratio   = event time / wall time of a kernel
 *     advance = the same from one kernel's end to another's
 *
 * The wall clock includes other load on the machine, so a ratio below 1 may be
 * the machine's; the advance is not affected by it, and a slow clock is slow
 * there as well. The wall clock is read when the event is complete, not when
 * clFinish returns, since that may be too early (GE-29). */
#include "sampling/event_clock.h"

#include <math.h>

#include "base/os/clock.h"
#include "runtime/launch.h"

static const double long_ns = 20e6;    /* so that launch costs are
                                          negligible */
static const double longest_ns = 60e6; /* below any watchdog */
/* Event over wall: waking up and enqueueing take up to 5 % of 20 ms; on a busy
 * machine up to a quarter in the largest of TRIES. */
static const double agree_lo = 0.95, agree_hi = 1.05, busy_lo = 0.75;
/* the wall clock includes other load */
enum {
    ITEMS = 1024,
    FIRST_STEPS = 1 << 12,
    MOST_STEPS = 1 << 30,
    TRIES = 10,  /* the wall clock includes other load */
    SHORTS = 48, /* kernels whose stamps show the step */
    SHORT_STEPS = 64
};

/* Event stamps of kernels. */
struct event_stamps {
    uint64_t at[2 * SHORTS]; /* starts and ends */
    unsigned n;
    double span_ns; /* of the last one; NaN: it ends before it starts */
    bool is_zero;   /* all are 0 so far */
    bool is_still;  /* all are equal so far */
};

/* One kernel by both clocks. */
struct clock_reading {
    double event_ns, wall_ns;
    double finish_ns;           /* until clFinish returned */
    double end_event, end_wall; /* the clocks at its end */
};

static void record_span(const xl_span *span, void *arg)
{
    struct event_stamps *s = arg;
    if (span->end_ns != span->start_ns ||
        (s->n > 0 && span->end_ns != s->at[s->n - 1]))
        s->is_still = false;
    if (s->n + 2 <= 2 * SHORTS) {
        s->at[s->n++] = span->start_ns;
        s->at[s->n++] = span->end_ns;
    }
    if (span->start_ns || span->end_ns)
        s->is_zero = false;
    s->span_ns = span->end_ns >= span->start_ns
                     ? (double)(span->end_ns - span->start_ns)
                     : NAN;
}

static xl_status run_spin(xl_queue *q, cl_mem out, size_t steps)
{
    const struct xl__limits *l = &q->ctx->device->seen;
    struct xl__plan plan = {.n_steps = 0};
    struct xl__step *s = xl__plan_add(&plan, "probe/launch.cl", "spin", ITEMS,
                                      xl__is(l, XL__F_is_cpu) ? 1 : 0);
    const struct xl__call call = {.mem = {[1] = {.buf = out}}};
    s->slice_dim = -1;
    xl__arg_mem(s, 1);
    xl__arg_u32(s, steps);
    return xl__plan_launch(q, &plan, &call, NULL);
}

static xl_status time_spin(xl_queue *q, cl_mem out, size_t steps,
                           struct event_stamps *seen, struct clock_reading *r)
{
    xl_status status = XL_OK;
    TRY(xl_queue_finish(q));
    const uint64_t start = xl__now_ns();
    TRY(run_spin(q, out, steps));
    TRY(xl_queue_finish(q));
    const uint64_t finish = xl__now_ns();
    seen->n = 0;
    seen->span_ns = NAN;
    TRY(xl_timeline_drain(q, record_span, seen)); /* waits for the event */
    const uint64_t end = xl__now_ns();
    r->event_ns = seen->span_ns;
    r->wall_ns = (double)(end - start);
    r->finish_ns = (double)(finish - start);
    r->end_wall = (double)end;
    r->end_event = seen->n > 0 ? (double)seen->at[seen->n - 1] : NAN;
fail:
    return status;
}

/* Finds a duration near long_ns by the wall clock, the shorter of two runs of
 * each, since a pause of the host looks like a long kernel; the first run
 * includes compilation. */
static xl_status calibrate_steps(xl_queue *q, cl_mem out,
                                 struct event_stamps *seen, size_t *steps,
                                 struct clock_reading *r)
{
    xl_status status = XL_OK;
    double wall_ns;
    *steps = FIRST_STEPS;
    TRY(time_spin(q, out, *steps, seen, r));
    for (;;) {
        TRY(time_spin(q, out, *steps, seen, r));
        wall_ns = r->wall_ns;
        TRY(time_spin(q, out, *steps, seen, r));
        wall_ns = fmin(wall_ns, r->wall_ns);
        if (wall_ns >= long_ns / 4 || *steps >= MOST_STEPS)
            break;
        *steps *= 4;
    }
    const double factor = fmin(long_ns, longest_ns) / fmax(wall_ns, 1);
    if (factor > 1 && *steps < MOST_STEPS)
        *steps = (size_t)((double)*steps * factor);
fail:
    return status;
}

static bool is_in_agreement(double share)
{
    return share >= agree_lo && share <= agree_hi;
}

/* Measures the ratio, the largest of several runs since other load only
 * reduces it, and the advance over all of them. */
static xl_status measure_agreement(xl_queue *q, cl_mem out,
                                   struct event_stamps *seen, size_t *steps,
                                   struct xl__clock *c)
{
    xl_status status = XL_OK;
    struct clock_reading first, r;
    TRY(calibrate_steps(q, out, seen, steps, &first));
    c->ratio = c->advance = NAN;
    c->finish = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        TRY(time_spin(q, out, *steps, seen, &r));
        const double ratio = r.event_ns / r.wall_ns;
        if (isnan(c->ratio) || ratio > c->ratio)
            c->ratio = ratio;
        c->finish = fmax(c->finish, r.finish_ns / r.wall_ns);
        c->advance =
            (r.end_event - first.end_event) / (r.end_wall - first.end_wall);
        if (is_in_agreement(c->ratio) && is_in_agreement(c->advance))
            break;
    }
fail:
    return status;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The step from differences of stamps. Ticks of an integer number of
 * nanoseconds are their greatest common divisor. Others (52.08 ns, truncated
 * to 52 or 53) have none; then the driver's value is used, unless two stamps
 * were closer. */
static double find_step(const struct event_stamps *s, double queried)
{
    uint64_t common = 0, least = UINT64_MAX;
    for (unsigned i = 1; i < s->n; i++) {
        const uint64_t a = s->at[i - 1], b = s->at[i];
        const uint64_t d = a > b ? a - b : b - a;
        common = gcd(common, d);
        if (d > 0 && d < least)
            least = d;
    }
    if (common != 1)
        return common ? (double)common : NAN;
    return queried >= 1 && queried <= (double)least ? queried : 1;
}

/* Measures the step. Kernels too short for two stamps to differ are made
 * longer, up to `most`, the length used for the comparison. */
static xl_status measure_step(xl_queue *q, cl_mem out, size_t most,
                              struct event_stamps *seen, double *step)
{
    enum { LONGER = 8 };
    xl_status status = XL_OK;
    const struct xl__limits *l = &q->ctx->device->seen;
    *step = NAN;
    for (size_t steps = SHORT_STEPS; isnan(*step) && steps < most;
         steps *= LONGER) {
        seen->n = 0;
        for (unsigned i = 0; i < SHORTS; i++)
            TRY(run_spin(q, out, steps + i));
        TRY(xl_queue_finish(q));
        TRY(xl_timeline_drain(q, record_span, seen));
        *step = find_step(seen, l->queried[XL__F_timer_step_ns].value);
    }
fail:
    return status;
}

/* A clFinish that does not wait may do so after a marker (GE-29), which
 * xl_queue_finish() enqueues once that is known; the test is repeated. */
static xl_status test_clocks(xl_queue *q, cl_mem out,
                             struct event_stamps *seen, size_t *steps,
                             struct xl__clock *c)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &q->ctx->device->seen;
    TRY(measure_agreement(q, out, seen, steps, c));
    c->finish_alone = c->finish;
    if (c->finish < xl__finish_waits_frac &&
        xl__num(l, XL__F_finish_waits) != 0) {
        xl__limits_measure(l, XL__F_finish_waits, 0);
        TRY(measure_agreement(q, out, seen, steps, c));
    }
fail:
    return status;
}

xl_status xl__timer_compare(xl_queue *q, struct xl__clock *c)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    size_t steps;
    struct event_stamps seen = {
        .is_zero = true, .is_still = true, .span_ns = NAN};
    const bool was_on = q->timeline.on;
    c->step_ns = NAN;
    TRY(xl_buffer_create(q, ITEMS * sizeof(cl_uint), &out));
    TRY(xl_timeline_enable(q, true));
    TRY(test_clocks(q, out, &seen, &steps, c));
    c->is_zero = seen.is_zero;
    c->is_still = seen.is_still;
    if (c->is_still)
        c->ratio = 0;
    else
        TRY(measure_step(q, out, steps, &seen, &c->step_ns));
fail:
    if (status == XL_OK && !was_on)
        xl_timeline_enable(q, false);
    if (out)
        clReleaseMemObject(out);
    return status;
}

const char *xl__timer_fault(const struct xl__clock *c)
{
    if (c->is_zero)
        return "the event clock is always 0";
    if (c->is_still)
        return "the event clock does not advance";
    if (isnan(c->ratio))
        return "the event clock runs backwards: kernels end before they start";
    if (c->ratio > agree_hi)
        return "the event clock is faster than the wall clock";
    if (c->ratio < busy_lo ||
        (c->ratio < agree_lo && !is_in_agreement(c->advance)))
        return "the event clock counts less time than the wall clock";
    return NULL;
}

void xl__timer_set_facts(struct xl__limits *l, const struct xl__clock *c)
{
    const bool is_ok = xl__timer_fault(c) == NULL;
    xl__limits_measure(l, XL__F_timer_ok, is_ok);
    if (c->step_ns > 0 && is_ok)
        xl__limits_measure(l, XL__F_timer_step_ns, c->step_ns);
}

xl_status xl__timer_check(xl_queue *q)
{
    struct xl__limits *l = &q->ctx->device->seen;
    struct xl__clock c;
    if (!q->can_profile || l->measured[XL__F_timer_ok].source == XL_MEASURED)
        return XL_OK;
    const xl_status status = xl__timer_compare(q, &c);
    if (status == XL_OK)
        xl__timer_set_facts(l, &c);
    return status;
}
