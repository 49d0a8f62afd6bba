/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a row can be quoted: ok, suspicious, or rejected. One table
 * lists the conditions, the worst first; the first that holds gives verdict
 * and reason. A worse verdict that the row has already (a wrong result, an
 * error) stays. Each condition states where its bound comes from;
 * tests/lib/measure/test_wrong_drivers.c simulates drivers and kernels for
 * each.
 *
 * Roofs: a measured roof carries noise, as the row does, so values a few
 * percent above it are accepted. Other programs lower a roof and never raise
 * it, so a row above a measured roof is at most suspicious: the roof may be
 * what is wrong. A row is rejected only where it contradicts physics (units x
 * lanes x the highest clock, the width of memory), its own counts, another
 * clock, or the expected result. */
#include <crosslane/measure/row.h>

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "device/device.h"
#include "measure/physical_bounds.h"
#include "sampling/conditions.h"
#include "sampling/sampler.h"

static const double over_noise = 1.05;   /* over a measured roof: accepted */
static const double over_roof = 1.25;    /* beyond the noise of any roof */
static const double over_physics = 1.10; /* boost over the stated clock */
static const double least_steps = 10;    /* of the clock, in one sample */
static const double ahead = 0.05;        /* event time over wall time */
static const double lost_ns = 2e6;       /* host time beyond that of any
                                            launch */
static const double lost_factor = 4;
static const double most_others = 0.10; /* share of the device that other
                                           programs use: a warning */
static const double busy_others = 0.20; /* too much for a row that is quoted */
static const double rounding = 0.01; /* of a value computed from its counts */
/* Bounds of "scaling": time ratio over work ratio of two sizes. */
static const double folds = 0.6, scales_lo = 0.8, scales_hi = 1.25;
enum { FEWEST_RUNS = 3 };

/* A row and the values that the conditions use. */
struct checked_row {
    const xl_row *row;
    double frac;    /* of the roof; NaN: none */
    double llc;     /* bytes; NaN: unknown */
    double step_ns; /* of the clock in use; 0: fine enough */
    bool returns_early; /* clFinish was seen to return before the end */
    const struct xl__limits *limits; /* NULL: no device */
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

/* If no time passed, a rate would be infinite. */
static bool took_no_time(const struct checked_row *j)
{
    return is_timed(j) && !(j->row->samples.median_ns > 0);
}

/* Times and rates are not negative; a share (unit "1") can be, by noise. */
static bool is_no_number(const struct checked_row *j)
{
    const xl_row *r = j->row;
    return is_timed(j) && !(isfinite(r->value) &&
                            (r->value >= 0 || xl__streq(r->unit, "1")));
}

/* A rate must be its work over its time, and both are known independently:
 * they differ if one of them overflowed a counter. */
static bool is_miscounted(const struct checked_row *j)
{
    const xl_row *r = j->row;
    const double work = xl__streq(r->unit, "flop/s") ? r->flop
                        : xl__streq(r->unit, "B/s")  ? r->bytes
                                                     : 0;
    const double rate = work / (r->samples.median_ns * 1e-9);
    return is_timed(j) && work > 0 && fabs(r->value / rate - 1) > rounding;
}

/* The host time includes the device time, so it is never the shorter one,
 * except for the drift of the two clocks and the step of one. */
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

/* A launch costs the host microseconds, on a busy machine a time slice or
 * more, but not every time. If even the quickest launch took longer than that
 * plus several times the run, the event clock missed some of the time. */
static bool is_event_behind(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return is_timed(j) && !s->wall_clock &&
           s->overhead_min_ns * s->batch >
               lost_factor * s->median_ns * s->batch + lost_ns;
}

static bool is_of_memory(const struct checked_row *j)
{
    static const char fma[] = "fma", matrix[] = "matrix";
    const char *name = j->row->roof.name;
    return strncmp(name, fma, sizeof fma - 1) != 0 &&
           strncmp(name, matrix, sizeof matrix - 1) != 0;
}

/* Data in a cache can exceed a roof of memory, never one of arithmetic. */
static bool fits_in_cache(const struct checked_row *j)
{
    const xl_row *r = j->row;
    return is_of_memory(j) && !r->cold && r->bytes > 0 && r->bytes < j->llc;
}

/* A roof from a document or from the driver, not from a measurement, and not
 * assumed. */
static bool is_over_bound(const struct checked_row *j)
{
    const xl_source source = j->row->roof.source;
    return (source == XL_KNOWN || source == XL_QUERIED) &&
           j->frac > over_physics;
}

/* Is the ceiling the device's memory, not a cache or local memory? */
static bool is_of_device_memory(const struct checked_row *j)
{
    const char *name = j->row->roof.name;
    return xl__streq(name, "copy") || xl__streq(name, "read");
}

/* The rate of its own counts against the most that any such device does. */
static bool is_over_physics(const struct checked_row *j)
{
    const xl_row *r = j->row;
    const double s = r->samples.median_ns * 1e-9;
    if (!is_timed(j) || !j->limits || !r->roof.name || !*r->roof.name)
        return false;
    const double most_bytes = xl__physical_bytes(j->limits);
    const double most_flop = xl__physical_flop(j->limits, r->roof.name);
    return r->flop / s > over_physics * most_flop ||
           (is_of_device_memory(j) && !fits_in_cache(j) &&
            r->bytes / s > over_physics * most_bytes);
}

static bool is_far_over_roof(const struct checked_row *j)
{
    return j->row->roof.source == XL_MEASURED && j->frac > over_roof &&
           !fits_in_cache(j);
}

/* Separate for memory, since an unknown cache or compression of the data can
 * cause it, which does not exist for arithmetic. */
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

/* Half of the work takes half of the time. Below 0.6 a third of the work is
 * missing, which noise of the fastest runs does not explain. */
static bool is_folded(const struct checked_row *j)
{
    return param_value(j->row, "scaling") < folds;
}

static bool scales_badly(const struct checked_row *j)
{
    const double x = param_value(j->row, "scaling");
    return x < scales_lo || x > scales_hi;
}

/* Each end of a sample is off by up to one step, so 10 steps give 10 % each
 * way. */
static bool is_too_short(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return is_timed(j) && !s->wall_clock &&
           s->median_ns * s->batch < least_steps * j->step_ns;
}

/* Not decided by the spread: the median of many runs that differ widely is
 * still a sound number. Shares and ratios (unit "1") are computed from other
 * times, and runs diagnosed as throttled have that as their reason. */
static bool is_noisy(const struct checked_row *j)
{
    return is_timed(j) && !xl__streq(j->row->unit, "1") &&
           j->row->diagnosis.limiter != XL_LIMITER_THROTTLE &&
           !xl__median_is_known(&j->row->samples);
}

/* Ratios are computed from the shortest runs, since noise only adds time. */
static bool is_noisy_ratio(const struct checked_row *j)
{
    return is_timed(j) && xl__streq(j->row->unit, "1") &&
           !xl__least_is_known(&j->row->samples);
}

/* Of two runs, either may be an outlier. */
static bool has_few_runs(const struct checked_row *j)
{
    return is_timed(j) && j->row->samples.runs < FEWEST_RUNS;
}

/* By heat or a weak power supply. */
static bool is_held_back(const struct checked_row *j)
{
    return xl__conditions_has_alarm(&j->row->samples.conditions);
}

/* The last third of the runs against the first (sampler.c). On its way to a
 * power limit a clock falls, which is expected. */
static bool has_drifted(const struct checked_row *j)
{
    const xl_samples *s = &j->row->samples;
    return (s->warnings & XL_WARN(CLOCK_DRIFT)) &&
           !xl__conditions_is_limited(&s->conditions);
}

static bool is_shared(const struct checked_row *j)
{
    const xl_conditions *c = &j->row->samples.conditions;
    return is_timed(j) && c->readings > 0 && c->others > busy_others;
}

static bool has_clock_fallen(const struct checked_row *j)
{
    return has_drifted(j) &&
           xl__conditions_clock_fell(&j->row->samples.conditions);
}

static void describe_clock(xl_row *row)
{
    struct xl__str text = {0};
    xl__conditions_describe(&row->samples.conditions, &text);
    xl__strcpy(row->reason, sizeof row->reason, xl__str_text(&text));
    xl__str_clear(&text);
}

static void describe_others(xl_row *row)
{
    xl__strfmt(row->reason, sizeof row->reason,
               "other programs used %.0f %% of the device",
               100 * row->samples.conditions.others);
}

/* clang-format off */
static const struct {
    bool (*holds)(const struct checked_row *);
    xl_verdict verdict;
    const char *reason; /* NULL: describe() writes it */
    void (*describe)(xl_row *row);
} rules[] = {
    /* condition        verdict            reason */
    {took_no_time,      XL_ROW_REJECTED,   "the clock shows no time", NULL},
    {is_no_number,      XL_ROW_REJECTED,   "the value is not a number", NULL},
    {is_miscounted,     XL_ROW_REJECTED,   "the value is not its work over its time: a counter overflowed", NULL},
    {has_returned_early, XL_ROW_REJECTED,  "the event clock counted more time than passed on the host: clFinish returns before the work is done", NULL},
    {is_event_ahead,    XL_ROW_REJECTED,   "the event clock counted more time than passed on the host", NULL},
    {is_over_bound,     XL_ROW_REJECTED,   "above what units and clock allow: work was skipped or the clock is wrong", NULL},
    {is_over_physics,   XL_ROW_REJECTED,   "above what the units, the highest clock or the memory of any such device allow: work was skipped or the clock is wrong", NULL},
    {is_folded,         XL_ROW_REJECTED,   "twice the work takes hardly longer: the compiler or the driver skips work", NULL},
    {is_cached_over_roof, XL_ROW_SUSPICIOUS, "faster than device memory: the data fits in the last-level cache", NULL},
    {is_far_over_memory, XL_ROW_SUSPICIOUS, "more than 25 % above the measured roof of memory: the roof was measured low, a cache is larger than is known, data that compress, or work was skipped", NULL},
    {is_far_over_roof,  XL_ROW_SUSPICIOUS, "more than 25 % above the measured roof: the roof was measured low, or work was skipped", NULL},
    {is_over_roof,      XL_ROW_SUSPICIOUS, "above the roof by more than 5 %: the roof was measured low, or work was skipped", NULL},
    {is_held_back,      XL_ROW_SUSPICIOUS, NULL, describe_clock},
    {scales_badly,      XL_ROW_SUSPICIOUS, "twice the work does not take twice the time", NULL},
    {is_event_behind,   XL_ROW_SUSPICIOUS, "the host waited far longer than the event clock counted", NULL},
    {is_too_short,      XL_ROW_SUSPICIOUS, "shorter than 10 steps of the event clock", NULL},
    {has_few_runs,      XL_ROW_SUSPICIOUS, "fewer than 3 runs", NULL},
    {is_shared,         XL_ROW_SUSPICIOUS, NULL, describe_others},
    {has_clock_fallen,  XL_ROW_SUSPICIOUS, NULL, describe_clock},
    {has_drifted,       XL_ROW_SUSPICIOUS, "later runs were slower than earlier ones: the clock dropped or the machine is busy", NULL},
    {is_noisy,          XL_ROW_SUSPICIOUS, "noisy: the median may be off by more than 10 %", NULL},
    {is_noisy_ratio,    XL_ROW_SUSPICIOUS, "noisy: not even the two shortest runs are within 10 %", NULL},
};
/* clang-format on */

void xl_row_judge(xl_row *row, const xl_device *dev)
{
    struct checked_row j = {row, NAN, NAN, 0, false, NULL};
    if (!row)
        return;
    row->warnings |= row->samples.warnings;
    if (xl__conditions_is_limited(&row->samples.conditions))
        row->warnings |= XL_WARN(POWER_LIMIT);
    if (row->samples.conditions.readings > 0 &&
        row->samples.conditions.others > most_others)
        row->warnings |= XL_WARN(SHARED);
    if (row->roof.value > 0)
        j.frac = row->value / row->roof.value;
    if (dev) {
        j.limits = &dev->seen;
        j.llc = xl__num(&dev->seen, XL__F_llc_bytes);
        j.step_ns = xl__num_or(&dev->seen, XL__F_timer_step_ns, 0);
        j.returns_early =
            xl__num(&dev->seen, XL__F_finish_waits) == 0;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].verdict <= row->verdict || !rules[i].holds(&j))
            continue;
        row->verdict = rules[i].verdict;
        if (rules[i].reason)
            xl__strcpy(row->reason, sizeof row->reason, rules[i].reason);
        else
            rules[i].describe(row);
    }
}
