/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a row unfit to quote: one table of conditions, worst first. A
 * verdict given before (a wrong result, an error) stays if it is worse. Each
 * condition says where its bound comes from; tests/lib/measure/test_wrong_drivers.c has drivers
 * and kernels tell each lie.
 *
 * Roofs: a roof we measured carries noise, as the row does, so a few percent
 * above it are fine; up to a quarter may be a roof measured low, on a machine
 * that was busy; beyond that, work was skipped or the clock lies. A roof from
 * clock and unit counts is only exceeded by a boost above the stated clock. */
#include <crosslane/measure.h>

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "device/device.h"
#include "sampling/conditions.h"
#include "sampling/sampler.h"

static const double over_noise = 1.05;   /* over a measured roof: tolerated */
static const double over_roof = 1.25;    /* and this is too much */
static const double over_physics = 1.10; /* over clock x units x width */
static const double least_steps = 10;    /* of the clock, in one sample */
static const double ahead = 0.05;        /* event time over wall time */
static const double lost_ns = 2e6;       /* host time beyond any launch */
static const double lost_factor = 4;
static const double most_others = 0.10; /* of the device, for other programs */
static const double rounding = 0.01; /* of a value made from its counts */
/* Time ratio over work ratio of two sizes of the same work. */
static const double folds = 0.6, scales_lo = 0.8, scales_hi = 1.25;
enum { FEWEST_RUNS = 3 };

/* A row with what its rules ask of it. */
struct checked_row {
    const xl_row *row;
    double frac;    /* of the roof; NaN: none */
    double llc;     /* B; NaN: not known */
    double step_ns; /* of the clock in use; 0: fine enough */
    bool returns_early; /* clFinish was seen to */
};

static double param_value(const xl_row *row, const char *name)
{
    for (unsigned i = 0; i < row->n_params; i++) {
        if (xl__streq(row->params[i].name, name))
            return row->params[i].value;
    }
    return NAN;
}

static bool is_timed(const struct checked_row *j)
{
    return j->row->samples.runs > 0;
}

/* A clock that shows none is not one: a rate from it is infinite. */
static bool took_no_time(const struct checked_row *j)
{
    return is_timed(j) && !(j->row->samples.median_ns > 0);
}

/* Times and rates are not negative; a share that noise made is, at times. */
static bool is_no_number(const struct checked_row *j)
{
    const xl_row *r = j->row;
    return is_timed(j) && !(isfinite(r->value) &&
                            (r->value >= 0 || xl__streq(r->unit, "1")));
}

/* A rate is its work over its time, and both are known apart from it: they
 * differ where one went through a counter too narrow for it. */
static bool is_miscounted(const struct checked_row *j)
{
    const xl_row *r = j->row;
    const double work = xl__streq(r->unit, "flop/s") ? r->flop
                        : xl__streq(r->unit, "B/s")  ? r->bytes
                                                     : 0;
    const double rate = work / (r->samples.median_ns * 1e-9);
    return is_timed(j) && work > 0 && fabs(r->value / rate - 1) > rounding;
}

/* The host's time holds the device's, so it is not the shorter one, but for
 * two clocks' drift and the step of one. */
static bool is_event_ahead(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return is_timed(j) && !s->wall_clock &&
           s->overhead_ns < -(ahead * s->median_ns + j->step_ns);
}

static bool has_returned_early(const struct checked_row *j)
{
    return j->returns_early && is_event_ahead(j);
}

/* Launches cost the host microseconds, on a busy machine a time slice or many,
 * but not each time: what the quickest launch took beyond that, and beyond
 * several times the run, the event clock left out. */
static bool is_event_behind(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return is_timed(j) && !s->wall_clock &&
           s->overhead_min_ns * s->batch >
               lost_factor * s->median_ns * s->batch + lost_ns;
}

/* Boost clocks go a few percent beyond the stated one. */
static bool is_over_bound(const struct checked_row *j)
{
    return j->row->roof.source != XL_MEASURED && j->frac > over_physics;
}

static bool is_of_memory(const struct checked_row *j)
{
    static const char fma[] = "fma", matrix[] = "matrix";
    const char *name = j->row->roof.name;
    return strncmp(name, fma, sizeof fma - 1) != 0 &&
           strncmp(name, matrix, sizeof matrix - 1) != 0;
}

/* A cache lifts a roof of memory, never one of arithmetic. */
static bool fits_in_cache(const struct checked_row *j)
{
    const xl_row *r = j->row;
    return is_of_memory(j) && !r->cold && r->bytes > 0 && r->bytes < j->llc;
}

static bool is_far_over_roof(const struct checked_row *j)
{
    return j->row->roof.source == XL_MEASURED && j->frac > over_roof &&
           !fits_in_cache(j);
}

/* A cache that nobody knows of, and memory that is compressed on its way, are
 * causes of their own, which arithmetic does not have. */
static bool is_far_over_memory(const struct checked_row *j)
{
    return is_of_memory(j) && is_far_over_roof(j);
}

static bool is_cached_over_roof(const struct checked_row *j)
{
    return j->frac > over_noise && fits_in_cache(j);
}

static bool is_over_roof(const struct checked_row *j)
{
    return j->frac > over_noise;
}

/* Half the work takes half the time: below 0.6 of it a third of the work is
 * missing, which no noise of the fastest runs explains. */
static bool is_folded(const struct checked_row *j)
{
    return param_value(j->row, "scaling") < folds;
}

static bool scales_badly(const struct checked_row *j)
{
    const double x = param_value(j->row, "scaling");
    return x < scales_lo || x > scales_hi;
}

/* Ten steps: each end is off by up to one, so 10 % each way. */
static bool is_too_short(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return is_timed(j) && !s->wall_clock &&
           s->median_ns * s->batch < least_steps * j->step_ns;
}

/* Not by the spread: the median of runs that differ widely is a sound number
 * once there are enough of them. Shares and ratios are not made of it, and of
 * runs that are found to slow down that is told. */
static bool is_noisy(const struct checked_row *j)
{
    return is_timed(j) && !xl__streq(j->row->unit, "1") &&
           j->row->diagnosis.limiter != XL_LIMITER_THROTTLE &&
           !xl__median_is_known(&j->row->samples);
}

/* Noise only adds to a time, so ratios are of the shortest runs. */
static bool is_noisy_ratio(const struct checked_row *j)
{
    return is_timed(j) && xl__streq(j->row->unit, "1") &&
           !xl__least_is_known(&j->row->samples);
}

/* Of two, one may be anything. */
static bool has_few_runs(const struct checked_row *j)
{
    return is_timed(j) && j->row->samples.runs < FEWEST_RUNS;
}

/* Heat, or a supply that is too weak. */
static bool is_held_back(const struct checked_row *j)
{
    return xl__conditions_has_alarm(&j->row->samples.conditions);
}

/* Last third against first third: sampler.c. On its way to a power limit a
 * clock drifts, as it should. */
static bool has_drifted(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return (s->warnings & XL_WARN(CLOCK_DRIFT)) &&
           !xl__conditions_is_limited(&s->conditions);
}

static bool has_clock_fallen(const struct checked_row *j)
{
    return has_drifted(j) &&
           xl__conditions_clock_fell(&j->row->samples.conditions);
}

/* clang-format off */
static const struct {
    bool (*holds)(const struct checked_row *);
    xl_verdict verdict;
    const char *reason;
} rules[] = {
    /* condition        verdict            reason */
    {took_no_time,      XL_ROW_REJECTED,   "the clock saw no time pass"},
    {is_no_number,      XL_ROW_REJECTED,   "the value is not a number"},
    {is_miscounted,     XL_ROW_REJECTED,   "the value is not its work over its time: a counter overflowed"},
    {has_returned_early,    XL_ROW_REJECTED,   "the event clock counted more time than passed on the host: clFinish comes back before the work is done"},
    {is_event_ahead,       XL_ROW_REJECTED,   "the event clock counted more time than passed on the host"},
    {is_over_bound,        XL_ROW_REJECTED,   "above what units and clock allow: work was skipped or the clock lies"},
    {is_far_over_memory,   XL_ROW_REJECTED,   "more than 25 % above the measured roof of memory: a cache larger than is known, data that compress, work that was skipped, or the clock lies"},
    {is_far_over_roof,     XL_ROW_REJECTED,   "more than 25 % above the measured roof: work was skipped or the clock lies"},
    {is_folded,         XL_ROW_REJECTED,   "twice the work takes hardly longer: the compiler or the driver skips some"},
    {is_cached_over_roof,  XL_ROW_SUSPICIOUS, "faster than device memory: the data fits in the last-level cache"},
    {is_over_roof, XL_ROW_SUSPICIOUS, "above the roof by more than 5 %: the roof was measured low, or work was skipped"},
    {is_held_back,      XL_ROW_SUSPICIOUS, NULL /* what held the clock down */},
    {scales_badly,      XL_ROW_SUSPICIOUS, "twice the work does not take twice the time"},
    {is_event_behind,      XL_ROW_SUSPICIOUS, "the host waited far longer than the event clock counted"},
    {is_too_short,         XL_ROW_SUSPICIOUS, "shorter than 10 steps of the event clock"},
    {has_few_runs,      XL_ROW_SUSPICIOUS, "fewer than 3 runs"},
    {has_clock_fallen,        XL_ROW_SUSPICIOUS, NULL /* from where to where */},
    {has_drifted,           XL_ROW_SUSPICIOUS, "later runs were slower than earlier ones: the clock dropped or the machine is busy"},
    {is_noisy,          XL_ROW_SUSPICIOUS, "noisy: the median may be off by more than 10 %"},
    {is_noisy_ratio,    XL_ROW_SUSPICIOUS, "noisy: not even the two shortest runs are within 10 %"},
};
/* clang-format on */

static void describe_clock(xl_row *row)
{
    struct xl__str text = {0};
    xl__conditions_describe(&row->samples.conditions, &text);
    xl__strcpy(row->reason, sizeof row->reason, xl__str_text(&text));
    xl__str_clear(&text);
}

void xl_row_judge(xl_row *row, const xl_device *dev)
{
    struct checked_row j = {row, NAN, NAN, 0, false};
    row->warnings |= row->samples.warnings;
    if (xl__conditions_is_limited(&row->samples.conditions))
        row->warnings |= XL_WARN(POWER_LIMIT);
    if (row->samples.conditions.readings > 0 &&
        row->samples.conditions.others > most_others)
        row->warnings |= XL_WARN(SHARED);
    if (row->roof.value > 0)
        j.frac = row->value / row->roof.value;
    if (dev) {
        j.llc = xl__num(&dev->limits, XL__F_llc_bytes);
        j.step_ns = xl__num_or(&dev->limits, XL__F_timer_step_ns, 0);
        j.returns_early =
            xl__num(&dev->limits, XL__F_finish_waits) == 0;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].verdict <= row->verdict || !rules[i].holds(&j))
            continue;
        row->verdict = rules[i].verdict;
        if (rules[i].reason)
            xl__strcpy(row->reason, sizeof row->reason, rules[i].reason);
        else
            describe_clock(row);
    }
}
