/* SPDX-License-Identifier: Apache-2.0 */
/* Can the event clock be believed? Some drivers report 0 always, some count
 * ticks and call them nanoseconds (GE-17, GE-18). A kernel of about 20 ms is
 * timed by both clocks, once per device; the clock's step is taken from many
 * short ones. What is found becomes the facts timer_ok and timer_step_ns.
 *
 * The wall clock counts what others do on the machine, so a share below 1 may
 * be the machine's fault. Then it is asked how far each clock got from one
 * kernel's end to another's, which others do not change: a slow clock is slow
 * there too. The wall clock is read when the event is complete, not when
 * clFinish comes back, since that may be too early (GE-29). */
#include <math.h>
#include <stdio.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "runtime/launch.h"
#include "sampling/event_clock.h"

static const double long_ns = 20e6;    /* so that no launch cost matters */
static const double longest_ns = 60e6; /* under any watchdog */
/* Event over wall: 5 % is what waking up and enqueueing cost in 20 ms. A busy
 * machine takes more, up to a quarter as the largest of TRIES counts it. */
static const double agree_lo = 0.95, agree_hi = 1.05, busy_lo = 0.75;
/* clFinish came back while this share of the run was still to be done. */
enum {
    ITEMS = 1024,
    FIRST_STEPS = 1 << 12,
    MOST_STEPS = 1 << 30,
    TRIES = 10,  /* the wall clock counts what others do, too */
    SHORTS = 48, /* kernels whose stamps show the step */
    SHORT_STEPS = 64
};

/* Stamps of the spans seen. */
struct stamps {
    uint64_t at[2 * SHORTS]; /* starts and ends */
    unsigned n;
    double span_ns; /* of the last one; NaN: it ends before it starts */
    bool is_zero;   /* all of them so far */
    bool is_still;  /* all of them so far are the same */
};

/* One kernel by both clocks. */
struct reading {
    double event_ns, wall_ns;
    double finish_ns; /* until clFinish came back */
    double end_event, end_wall; /* where the clocks stood at its end */
};

static void see(const xl_span *span, void *arg)
{
    struct stamps *s = arg;
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

static xl_status spin(xl_queue *q, cl_mem out, size_t steps)
{
    const struct xl__limits *l = &q->ctx->device->limits;
    struct xl__plan plan = {.n_steps = 1};
    struct xl__step *s = &plan.step[0];
    const struct xl__call call = {.mem = {[1] = {out, NULL}}};
    s->source = "probe/launch.cl";
    s->kernel = "spin";
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = ITEMS;
    s->local[0] = xl__is(l, XL__F_is_cpu) ? 1 : 0;
    xl__arg_mem(s, 1);
    xl__arg_u32(s, steps);
    return xl__plan_launch(q, &plan, &call, NULL);
}

static xl_status compare(xl_queue *q, cl_mem out, size_t steps,
                         struct stamps *seen, struct reading *r)
{
    xl_status status = XL_OK;
    TRY(xl_queue_finish(q));
    const uint64_t start = xl__now_ns();
    TRY(spin(q, out, steps));
    TRY(xl_queue_finish(q));
    const uint64_t finish = xl__now_ns();
    seen->n = 0;
    seen->span_ns = NAN;
    TRY(xl_timeline_drain(q, see, seen)); /* waits for the event */
    const uint64_t end = xl__now_ns();
    r->event_ns = seen->span_ns;
    r->wall_ns = (double)(end - start);
    r->finish_ns = (double)(finish - start);
    r->end_wall = (double)end;
    r->end_event = seen->n > 0 ? (double)seen->at[seen->n - 1] : NAN;
fail:
    return status;
}

/* Find a length near long_ns by the wall clock, the shorter of two runs of
 * each, since a pause of the host looks like a long kernel; the first run
 * builds. */
static xl_status calibrate(xl_queue *q, cl_mem out, struct stamps *seen,
                           size_t *steps, struct reading *r)
{
    xl_status status = XL_OK;
    double wall_ns;
    *steps = FIRST_STEPS;
    TRY(compare(q, out, *steps, seen, r));
    for (;;) {
        TRY(compare(q, out, *steps, seen, r));
        wall_ns = r->wall_ns;
        TRY(compare(q, out, *steps, seen, r));
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

static bool agrees(double share)
{
    return share >= agree_lo && share <= agree_hi;
}

/* The event clock's share of the wall clock's time, the largest of a few since
 * others on the machine only make it smaller, and how far it got beside the
 * wall clock over all of them. */
static xl_status agreement(xl_queue *q, cl_mem out, struct stamps *seen,
                           size_t *steps, struct xl__clock *c)
{
    xl_status status = XL_OK;
    struct reading first, r;
    TRY(calibrate(q, out, seen, steps, &first));
    c->ratio = c->advance = NAN;
    c->finish = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        TRY(compare(q, out, *steps, seen, &r));
        const double ratio = r.event_ns / r.wall_ns;
        if (isnan(c->ratio) || ratio > c->ratio)
            c->ratio = ratio;
        c->finish = fmax(c->finish, r.finish_ns / r.wall_ns);
        c->advance =
            (r.end_event - first.end_event) / (r.end_wall - first.end_wall);
        if (agrees(c->ratio) && agrees(c->advance))
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

/* Ticks that are a whole number of nanoseconds show as a common divisor of
 * all differences. Others (52.08 ns, cut to 52 or 53) show none, and then the
 * driver's own figure stands, unless two stamps were nearer than it says. */
static double step_of(const struct stamps *s, double queried)
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

/* Kernels too short for two stamps to differ are made longer, up to `most`,
 * the one that the clocks were compared by. */
static xl_status measure_step(xl_queue *q, cl_mem out, size_t most,
                              struct stamps *seen, double *step)
{
    enum { LONGER = 8 };
    xl_status status = XL_OK;
    const struct xl__limits *l = &q->ctx->device->limits;
    *step = NAN;
    for (size_t steps = SHORT_STEPS; isnan(*step) && steps < most;
         steps *= LONGER) {
        seen->n = 0;
        for (unsigned i = 0; i < SHORTS; i++)
            TRY(spin(q, out, steps + i));
        TRY(xl_queue_finish(q));
        TRY(xl_timeline_drain(q, see, seen));
        *step = step_of(seen, l->queried[XL__F_timer_step_ns].value);
    }
fail:
    return status;
}

/* A clFinish that does not wait may do so behind a marker (GE-29), which
 * xl_queue_finish() puts there once it is known. */
static xl_status agree(xl_queue *q, cl_mem out, struct stamps *seen,
                       size_t *steps, struct xl__clock *c)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &q->ctx->device->limits;
    TRY(agreement(q, out, seen, steps, c));
    c->finish_alone = c->finish;
    if (c->finish < xl__finish_waits_frac && xl__num(l, XL__F_finish_waits) != 0) {
        xl__limits_measure(l, XL__F_finish_waits, 0);
        TRY(agreement(q, out, seen, steps, c));
    }
fail:
    return status;
}

xl_status xl__timer_compare(xl_queue *q, struct xl__clock *c)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    size_t steps;
    struct stamps seen = {.is_zero = true, .is_still = true, .span_ns = NAN};
    const bool was_on = q->timeline.on;
    c->step_ns = NAN;
    TRY(xl_buffer_create(q, ITEMS * sizeof(cl_uint), &out));
    TRY(xl_timeline_enable(q, true));
    TRY(agree(q, out, &seen, &steps, c));
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

const char *xl__timer_doubt(const struct xl__clock *c)
{
    if (c->is_zero)
        return "the event clock is always 0";
    if (c->is_still)
        return "the event clock stands still";
    if (isnan(c->ratio))
        return "the event clock runs backwards: kernels end before they start";
    if (c->ratio > agree_hi)
        return "the event clock is faster than the wall clock";
    if (c->ratio < busy_lo || (c->ratio < agree_lo && !agrees(c->advance)))
        return "the event clock counts less time than the wall clock";
    return NULL;
}

void xl__timer_learn(struct xl__limits *l, const struct xl__clock *c)
{
    const bool is_ok = xl__timer_doubt(c) == NULL;
    xl__limits_measure(l, XL__F_timer_ok, is_ok);
    if (c->step_ns > 0 && is_ok)
        xl__limits_measure(l, XL__F_timer_step_ns, c->step_ns);
}

xl_status xl__timer_check(xl_queue *q)
{
    struct xl__limits *l = &q->ctx->device->limits;
    struct xl__clock c;
    if (!q->can_profile || l->measured[XL__F_timer_ok].source == XL_MEASURED)
        return XL_OK;
    const xl_status status = xl__timer_compare(q, &c);
    if (status == XL_OK)
        xl__timer_learn(l, &c);
    return status;
}
