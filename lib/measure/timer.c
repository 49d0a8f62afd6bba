/* SPDX-License-Identifier: Apache-2.0 */
/* Can the event clock be believed? Some drivers report 0 always, some count
 * ticks and call them nanoseconds (GE-17, GE-18). A kernel of about 20 ms is
 * timed by both clocks, once per device; the clock's step is taken from many
 * short ones. What is found becomes the facts timer_ok and timer_step_ns. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "measure/probe.h"

static const double long_ns = 20e6;    /* so that no launch cost matters */
static const double longest_ns = 60e6; /* under any watchdog */
static const double agree_lo = 0.75, agree_hi = 1.05; /* event over wall */
enum {
    ITEMS = 1024,
    FIRST_STEPS = 1 << 12,
    MOST_STEPS = 1 << 30,
    TRIES = 6,   /* the wall clock counts what others do, too: take the best */
    SHORTS = 48, /* kernels whose stamps show the step */
    SHORT_STEPS = 64
};

/* Stamps of the spans seen. */
struct stamps {
    uint64_t at[2 * SHORTS]; /* starts and ends */
    unsigned n;
    double span_ns; /* of the last one */
    bool is_zero;   /* all of them so far */
};

static void see(const xl_span *span, void *arg)
{
    struct stamps *s = arg;
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
    s->source = "probe_launch.cl";
    s->kernel = "spin";
    s->dims = 1;
    s->slice_dim = -1;
    s->global[0] = ITEMS;
    s->local[0] = xl__is(l, XL__F_is_cpu) ? 1 : 0;
    xl__arg_mem(s, 1);
    xl__arg_u32(s, steps);
    return xl__run_plan(q, &plan, &call, NULL);
}

/* One kernel by both clocks; *event is NaN for an end before its start. */
static xl_status compare(xl_queue *q, cl_mem out, size_t steps,
                         struct stamps *seen, double *wall)
{
    xl_status status = XL_OK;
    TRY(xl_queue_finish(q));
    const uint64_t start = xl__now_ns();
    TRY(spin(q, out, steps));
    TRY(xl_queue_finish(q));
    *wall = (double)(xl__now_ns() - start);
    seen->n = 0;
    seen->span_ns = NAN;
    TRY(xl_timeline_drain(q, see, seen));
fail:
    return status;
}

/* Find a length near long_ns by the wall clock; the first run builds. */
static xl_status calibrate(xl_queue *q, cl_mem out, struct stamps *seen,
                           size_t *steps)
{
    xl_status status = XL_OK;
    double wall = 0;
    *steps = FIRST_STEPS;
    TRY(compare(q, out, *steps, seen, &wall));
    for (;;) {
        TRY(compare(q, out, *steps, seen, &wall));
        if (wall >= long_ns / 4 || *steps >= MOST_STEPS)
            break;
        *steps *= 4;
    }
    const double factor = fmin(long_ns, longest_ns) / fmax(wall, 1);
    if (factor > 1 && *steps < MOST_STEPS)
        *steps = (size_t)((double)*steps * factor);
fail:
    return status;
}

/* The event clock's share of the wall clock's time, best of a few. */
static xl_status agreement(xl_queue *q, cl_mem out, struct stamps *seen,
                           double *ratio)
{
    xl_status status = XL_OK;
    size_t steps;
    TRY(calibrate(q, out, seen, &steps));
    *ratio = NAN;
    for (unsigned i = 0; i < TRIES; i++) {
        double wall;
        TRY(compare(q, out, steps, seen, &wall));
        const double r = seen->span_ns / wall;
        if (!(fabs(*ratio - 1) <= fabs(r - 1)))
            *ratio = r;
        if (fabs(*ratio - 1) < agree_hi - 1)
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

static xl_status measure_step(xl_queue *q, cl_mem out, struct stamps *seen,
                              double *step)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &q->ctx->device->limits;
    seen->n = 0;
    for (unsigned i = 0; i < SHORTS; i++)
        TRY(spin(q, out, SHORT_STEPS + i));
    TRY(xl_queue_finish(q));
    TRY(xl_timeline_drain(q, see, seen));
    *step = step_of(seen, l->queried[XL__F_timer_step_ns].value);
fail:
    return status;
}

xl_status xl__timer_compare(xl_queue *q, double *ratio, double *step_ns)
{
    xl_status status = XL_OK;
    cl_mem out = NULL;
    struct stamps seen = {.is_zero = true, .span_ns = NAN};
    const bool was_on = q->timeline.on;
    *step_ns = NAN;
    TRY(xl_buffer_create(q, ITEMS * sizeof(cl_uint), &out));
    TRY(xl_timeline_enable(q, true));
    TRY(agreement(q, out, &seen, ratio));
    if (seen.is_zero)
        *ratio = 0;
    else
        TRY(measure_step(q, out, &seen, step_ns));
fail:
    if (status == XL_OK && !was_on)
        xl_timeline_enable(q, false);
    if (out)
        clReleaseMemObject(out);
    return status;
}

bool xl__timer_agrees(double ratio)
{
    return ratio >= agree_lo && ratio <= agree_hi;
}

xl_status xl__timer_check(xl_queue *q)
{
    struct xl__limits *l = &q->ctx->device->limits;
    double ratio, step;
    if (!q->can_profile || l->measured[XL__F_timer_ok].source == XL_MEASURED)
        return XL_OK;
    const xl_status status = xl__timer_compare(q, &ratio, &step);
    if (status != XL_OK)
        return status;
    xl__limits_measure(l, XL__F_timer_ok, xl__timer_agrees(ratio));
    if (step > 0 && xl__timer_agrees(ratio))
        xl__limits_measure(l, XL__F_timer_step_ns, step);
    return XL_OK;
}

/* -- as a probe ----------------------------------------------------------- */

static void init(xl_row *row, const char *variant, double value,
                 const char *unit)
{
    xl_row_init(row, "probe_timer", variant);
    row->value = value;
    row->unit = unit;
}

static void flag(xl_row *row, const char *reason)
{
    row->verdict = XL_ROW_SUSPICIOUS;
    xl__strcpy(row->reason, sizeof row->reason, reason);
}

static xl_status run(struct xl__probing *p)
{
    xl_status status = XL_OK;
    struct xl__limits *l = &p->q->ctx->device->limits;
    xl_row row;
    double ratio, step;
    if (!p->q->can_profile)
        return xl__error_set(&p->q->error, XL_UNSUPPORTED,
                             "the queue was made without profiling: there is "
                             "no event clock to test");
    TRY(xl__timer_compare(p->q, &ratio, &step));
    xl__limits_measure(l, XL__F_timer_ok, xl__timer_agrees(ratio));
    if (step > 0 && xl__timer_agrees(ratio))
        xl__limits_measure(l, XL__F_timer_step_ns, step);
    init(&row, "event_over_wall", ratio, "1");
    if (!xl__timer_agrees(ratio))
        flag(&row, ratio == 0
                       ? "the event clock is always 0: the wall clock is used"
                       : "the event clock disagrees with the wall clock, "
                         "which is used instead");
    xl__probe_emit(p, &row);
    init(&row, "step", step * 1e-9, "s");
    if (!(step > 0))
        flag(&row, "no two stamps differ");
    xl__probe_emit(p, &row);
fail:
    return status;
}

const struct xl__probe xl__probe_timer = {
    {"timer",
     "The event clock against the wall clock over a kernel of about 20 ms, "
     "and the step of the event clock from the stamps of short kernels. "
     "Fooled by a machine so busy that the wall clock counts others' work.",
     true},
    run};
