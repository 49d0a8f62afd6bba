/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the measuring rules, without a device: when sampling stops and
 * which warnings it gives, by a simulated clock; the verdict of rows that
 * break one rule each; the arithmetic of the roofline; and the analysis of
 * curves. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "measure/probe.h"
#include "sampling/sampler.h"
#include "targets/targets.h"

static void assert_near(double got, double expected)
{
    const double inexact = 1e-9; /* sums and quotients of doubles */
    if (!(fabs(got - expected) <= inexact * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

/* -- a clock of the test's ------------------------------------------------ */

struct fake {
    double device_ns;  /* of one run; NaN: no events */
    double host_extra; /* of one call */
    double wobble;     /* run i takes 1 + wobble * (i mod 3 - 1) as long */
    double slope;      /* and 1 + slope * i on top */
    double even;       /* and evenly from 1 - even to 1 + even */
    double outlier;    /* every fifth run takes that many times as long; 0 */
    xl_status fails;
    unsigned fails_at; /* call number */
    unsigned calls, runs, largest_batch;
};

static xl_status fake_take(void *arg, unsigned batch, struct xl__timing *out)
{
    struct fake *f = arg;
    if (f->fails != XL_OK && f->calls == f->fails_at)
        return f->fails;
    const double i = f->calls;
    double factor = (1 + f->wobble * (fmod(i, 3) - 1)) * (1 + f->slope * i);
    factor *= 1 + f->even * (2 * fmod(0.618034 * i, 1) - 1);
    if (f->outlier > 0 && f->calls % 5 == 4)
        factor *= f->outlier;
    f->calls++;
    f->runs += batch;
    if (batch > f->largest_batch)
        f->largest_batch = batch;
    out->device_ns = f->device_ns * factor * batch;
    const double run_ns = isnan(f->device_ns) ? 1000 : f->device_ns;
    out->host_ns = run_ns * factor * batch + f->host_extra;
    out->spent_ns = out->host_ns;
    return XL_OK;
}

static xl_samples sample(struct fake *f, const xl_sampling *how,
                         double step_ns, bool wall, xl_status expected)
{
    xl_samples out;
    const struct xl__sample_source source = {.take = fake_take,
                                             .arg = f,
                                             .step_ns = step_ns,
                                             .max_batch = 512,
                                             .wall = wall};
    memset(&out, 0, sizeof out);
    assert_int_equal(xl__sample(how, &source, 1, &out), expected);
    return out;
}

static const xl_sampling usual = {XL_SAMPLING_INIT, .warmup = 2, .min_runs = 5,
                                  .max_runs = 50, .max_noise = 0.01};

static void steady_work_stops_at_the_least(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 2e6, .host_extra = 3e4};
    const xl_samples s = sample(&f, &usual, 1, false, XL_OK);
    assert_int_equal(s.runs, 5);
    assert_int_equal(f.calls, 7); /* and the warm-up */
    assert_int_equal(s.batch, 1);
    assert_near(s.median_ns, 2e6);
    assert_near(s.overhead_ns, 3e4);
    assert_int_equal(s.warnings, 0);
    assert_false(s.wall_clock);
}

static void noise_goes_on_to_the_most(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 2e6, .wobble = 0.2};
    const xl_samples s = sample(&f, &usual, 1, false, XL_OK);
    assert_int_equal(s.runs, 50);
    assert_true(s.warnings & XL_WARN(NOISY));
    assert_false(s.warnings & XL_WARN(FEW_RUNS));
    assert_true(s.lo_ns <= s.median_ns && s.median_ns <= s.hi_ns);
}

static void time_ends_it(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 1e9};
    xl_sampling how = usual;
    how.max_s = 2.5;
    const xl_samples s = sample(&f, &how, 1, false, XL_OK);
    assert_int_equal(s.runs, 3);
    assert_true(s.warnings & XL_WARN(FEW_RUNS));
}

/* min_s is above max_runs and max_s, and below XL_MAX_SAMPLES. */
static void least_time_goes_on(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 1e8};
    xl_sampling how = usual;
    how.max_s = 0.3;
    how.max_runs = 7;
    how.min_s = 2;
    const xl_samples s = sample(&f, &how, 1, false, XL_OK);
    assert_int_equal(s.runs, 20);
    assert_near(s.spent_s, 2);
    assert_int_equal(s.warmup, 2);
    struct fake brief = {.device_ns = 2e6};
    how.min_s = 1e3;
    assert_int_equal(sample(&brief, &how, 1, false, XL_OK).runs,
                     XL_MAX_SAMPLES);
}

static bool stop_at_once(void *arg)
{
    (void)arg;
    return true;
}

static bool stop_later(void *arg)
{
    unsigned *asked = arg;
    return ++*asked > 4; /* twice in the warm-up, then after two samples */
}

static void a_request_ends_it(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 2e6};
    xl_sampling how = usual;
    unsigned asked = 0;
    how.stop = stop_at_once;
    sample(&f, &how, 1, false, XL_CANCELLED);
    assert_int_equal(f.calls, 0);
    how.stop = stop_later;
    how.stop_arg = &asked;
    const xl_samples s = sample(&f, &how, 1, false, XL_OK);
    assert_int_equal(s.runs, 2);
    assert_true(s.warnings & XL_WARN(FEW_RUNS));
}

/* The order in which several sources are run. */
struct order_log {
    char order[64];
    unsigned n;
};
struct interleaved_source {
    struct order_log *order_log;
    struct fake fake;
    char letter;
};

static xl_status take_in_turn(void *arg, unsigned batch,
                              struct xl__timing *out)
{
    struct interleaved_source *t = arg;
    assert_true(t->order_log->n < sizeof t->order_log->order - 1);
    t->order_log->order[t->order_log->n++] = t->letter;
    return fake_take(&t->fake, batch, out);
}

static void sources_are_interleaved(void **state)
{
    (void)state;
    struct order_log order_log = {"", 0};
    struct interleaved_source steady = {&order_log, {.device_ns = 2e6}, 'a'};
    struct interleaved_source noisy = {
        &order_log, {.device_ns = 8e6, .wobble = 0.2}, 'b'};
    const struct xl__sample_source sources[] = {
        {.take = take_in_turn, .arg = &steady, .step_ns = 1},
        {.take = take_in_turn, .arg = &noisy, .step_ns = 1}};
    xl_sampling how = usual;
    xl_samples out[2];
    how.max_runs = 6;
    assert_int_equal(xl__sample(&how, sources, 2, out), XL_OK);
    /* Two warm-ups each, then rounds that start with another source each
     * time. */
    assert_string_equal(order_log.order, "aabbabbaabbaabba");
    assert_int_equal(out[0].runs, 6); /* goes on for the other's sake */
    assert_int_equal(out[1].runs, 6);
    assert_near(out[0].median_ns, 2e6);
    assert_near(out[1].median_ns, 8e6);
    assert_int_equal(out[0].warnings, 0);
    assert_true(out[1].warnings & XL_WARN(NOISY));
    /* The time limit applies to each source. */
    order_log.n = 0;
    how.max_noise = 0;
    how.max_s = 0.021; /* of 42 ms in all, a round takes about 10 */
    assert_int_equal(xl__sample(&how, sources, 2, out), XL_OK);
    assert_in_range(out[0].runs, 4, 5);
    assert_int_equal(out[0].runs, out[1].runs);
}

static void a_failure_is_handed_on(void **state)
{
    (void)state;
    for (unsigned at = 0; at < 6; at++) {
        struct fake f = {
            .device_ns = 2e6, .fails = CL_OUT_OF_RESOURCES, .fails_at = at};
        sample(&f, &usual, 1, false, CL_OUT_OF_RESOURCES);
    }
}

static void coarse_clocks_get_batches(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 5000};
    xl_samples s = sample(&f, &usual, 1000, false, XL_OK);
    assert_int_equal(s.batch, 200); /* 1 ms */
    assert_near(s.median_ns, 5000);
    assert_false(s.warnings & XL_WARN(TOO_SHORT));

    struct fake fine = {.device_ns = 5000};
    s = sample(&fine, &usual, 1, false, XL_OK);
    assert_int_equal(s.batch, 1);

    struct fake tiny = {.device_ns = 100}; /* more than a batch may hold */
    s = sample(&tiny, &usual, 1000, false, XL_OK);
    assert_int_equal(s.batch, 512);
    assert_int_equal(tiny.largest_batch, 512);
    assert_true(s.warnings & XL_WARN(TOO_SHORT));
}

static void a_batch_has_its_least(void **state)
{
    (void)state;
    const struct xl__sample_source source = {
        .min_batch = 20, .max_batch = 200, .step_ns = 1};
    assert_int_equal(xl__batch_for(2e6, &source, true), 20);
    assert_int_equal(xl__batch_for(1e5, &source, true), 20);
    assert_int_equal(xl__batch_for(2e4, &source, true), 50);
    assert_int_equal(xl__batch_for(1e3, &source, true), 200);
}

/* Loops of their own go on by the same rule, and not for ever. */
static void more_samples_while_median_is_unknown(void **state)
{
    (void)state;
    enum { LEAST = 5 };
    for (unsigned wild = 0; wild < 2; wild++) {
        xl_samples s = {.runs = 0};
        for (; xl__samples_needed(&s, LEAST); s.runs++)
            s.ns[s.runs] = wild && s.runs % 2 ? 2e6 : 1e6;
        assert_int_equal(s.runs, wild ? 4 * LEAST : LEAST);
    }
}

static void cold_runs_and_first_runs_are_separate(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 5000};
    xl_sampling how = usual;
    how.cold = true;
    xl_samples s = sample(&f, &how, 1000, false, XL_OK);
    assert_int_equal(s.batch, 1);
    how.cold = false;
    how.warmup = 0;
    f.calls = 0;
    s = sample(&f, &how, 1000, false, XL_OK);
    assert_int_equal(s.batch, 1);
    assert_int_equal(f.calls, s.runs);
}

static void the_wall_clock_steps_in(void **state)
{
    (void)state;
    struct fake none = {.device_ns = NAN};
    xl_samples s = sample(&none, &usual, 1, false, XL_OK);
    assert_true(s.wall_clock);
    assert_true(s.warnings & XL_WARN(WALL_CLOCK));
    assert_true(isnan(s.overhead_ns));
    assert_int_equal(s.batch, 512); /* 1000 ns each, by the wall */

    struct fake zero = {.device_ns = 0, .host_extra = 2e6};
    s = sample(&zero, &usual, 1, false, XL_OK);
    assert_true(s.wall_clock);
    assert_true(s.median_ns > 0);

    struct fake wrong_source = {.device_ns = 2e6, .host_extra = 4e6};
    s = sample(&wrong_source, &usual, 1, true, XL_OK);
    assert_true(s.wall_clock);
    assert_near(s.median_ns, 6e6);
}

static void drift_and_outliers_are_reported(void **state)
{
    (void)state;
    xl_sampling how = usual;
    how.min_runs = 30;
    struct fake slower = {.device_ns = 2e6, .slope = 0.01};
    assert_true(sample(&slower, &how, 1, false, XL_OK).warnings &
                XL_WARN(CLOCK_DRIFT));
    struct fake spiky = {.device_ns = 2e6, .wobble = 0.001, .outlier = 3};
    const xl_samples s = sample(&spiky, &how, 1, false, XL_OK);
    assert_true(s.warnings & XL_WARN(OUTLIERS));
    assert_false(s.warnings & XL_WARN(CLOCK_DRIFT));
    assert_true(fabs(s.median_ns / 2e6 - 1) < 0.01); /* not moved by them */
}

/* More runs where the median is not well known, and no more where it is. */
static void patience_is_for_noise(void **state)
{
    (void)state;
    xl_sampling how = usual;
    how.max_noise = 0;
    how.max_runs = how.min_runs;
    how.patience = 3;
    struct fake wild = {.device_ns = 2e6, .wobble = 0.5};
    assert_int_equal(sample(&wild, &how, 1, false, XL_OK).runs,
                     3 * how.max_runs);
    struct fake calm = {.device_ns = 2e6, .wobble = 0.02};
    assert_int_equal(sample(&calm, &how, 1, false, XL_OK).runs, how.max_runs);
    /* With a time limit only the time counts: many short runs. */
    how.max_s = 0.1;
    const unsigned runs = sample(&wild, &how, 1, false, XL_OK).runs;
    assert_in_range(runs, 3 * how.max_runs + 1, 200); /* until it is known */
    assert_int_equal(sample(&calm, &how, 1, false, XL_OK).runs, how.max_runs);
}

/* A spread that is wide needs no more samples than its median does. */
static void patience_ends_with_a_known_median(void **state)
{
    (void)state;
    xl_sampling how = usual;
    how.max_runs = how.min_runs;
    how.max_s = 10;
    how.patience = 10;
    struct fake even = {.device_ns = 2e6, .even = 0.5};
    const xl_samples s = sample(&even, &how, 1, false, XL_OK);
    assert_true(xl__median_is_known(&s));
    assert_true(s.mad_ns > 0.2 * s.median_ns);
    assert_true(s.warnings & XL_WARN(NOISY)); /* and there is a warning */
    assert_in_range(s.runs, 20, 300);
}

/* Nine samples that rise by chance are too few for a drift. */
static void drift_is_sampled_again(void **state)
{
    (void)state;
    xl_sampling how = usual;
    how.min_runs = how.max_runs = 9;
    how.max_s = 10;
    how.patience = 2;
    struct fake rises = {.device_ns = 2e6, .slope = 0.01};
    const xl_samples s = sample(&rises, &how, 1, false, XL_OK);
    assert_int_equal(s.runs, 18);
    assert_true(s.warnings & XL_WARN(CLOCK_DRIFT));
}

static void no_more_samples_than_fit(void **state)
{
    (void)state;
    struct fake f = {.device_ns = 2e6, .wobble = 0.3};
    xl_sampling how = usual;
    how.max_runs = XL_MAX_SAMPLES + 100;
    how.max_noise = 0;
    assert_int_equal(sample(&f, &how, 1, false, XL_OK).runs, XL_MAX_SAMPLES);
}

/* -- verdicts ------------------------------------------------------------- */

/* A row without fault: 1 ms, 100 MB, at 80 % of a measured roof. */
static xl_row sound_row(void)
{
    xl_row row;
    xl_row_init(&row, "softmax", "softmax_ref");
    row.samples.runs = 10;
    row.samples.batch = 1;
    row.samples.median_ns = 1e6;
    row.samples.mad_ns = 1e4;
    row.samples.overhead_ns = 2e4;
    row.bytes = 1e8;
    row.unit = "B/s";
    row.value = 1e11;
    row.roof = (xl_bound){1.25e11, "B/s", "copy", XL_MEASURED};
    return row;
}

/* The same row at another time. */
static void take_sample(xl_row *row, double ns)
{
    row->samples.median_ns = ns;
    row->value = row->bytes / ns * 1e9;
    row->roof.value = row->value / 0.8;
}

static xl_verdict judge(xl_row *row, const char *reason)
{
    xl_device dev;
    memset(&dev, 0, sizeof dev);
    xl__limits_init(&dev.seen);
    xl__limits_measure(&dev.seen, XL__F_llc_bytes, 5e7);
    xl__limits_measure(&dev.seen, XL__F_timer_step_ns, 1000);
    xl_row_judge(row, &dev);
    xl__limits_clear(&dev.seen);
    if (reason && !strstr(row->reason, reason))
        fail_msg("the reason is \"%s\", not \"%s\"", row->reason, reason);
    if (!reason)
        assert_string_equal(row->reason, "");
    return row->verdict;
}

static void sound_rows_pass(void **state)
{
    (void)state;
    xl_row row = sound_row();
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.roof.value = row.value / 1.04; /* both are measured: noise */
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.roof.value = NAN;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.samples.wall_clock = true;
    row.samples.overhead_ns = NAN;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    xl_row_init(&row, "probe_timer", "step"); /* a value without samples */
    row.value = 1e-9;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    xl_row_judge(&row, NULL); /* of no device in particular */
    assert_int_equal(row.verdict, XL_ROW_OK);
}

static void roofs_are_not_exceeded(void **state)
{
    (void)state;
    xl_row row = sound_row();
    row.roof.value = row.value / 1.10;
    assert_int_equal(judge(&row, "above the roof"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.roof.value = row.value / 1.30; /* the roof may be what is wrong */
    assert_int_equal(judge(&row, "25 %"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.bytes = 1e7; /* fits in the cache of 50 MB */
    take_sample(&row, 1e6);
    row.roof.value = row.value / 1.30;
    assert_int_equal(judge(&row, "cache"), XL_ROW_SUSPICIOUS);
    row.cold = true;
    row.verdict = XL_ROW_OK;
    assert_int_equal(judge(&row, "25 %"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.roof.source = XL_KNOWN;
    row.roof.value = row.value / 1.12;
    assert_int_equal(judge(&row, "units and clock"), XL_ROW_REJECTED);
}

static void wrong_clocks_are_found(void **state)
{
    (void)state;
    xl_row row = sound_row();
    row.samples.median_ns = 0;
    assert_int_equal(judge(&row, "no time"), XL_ROW_REJECTED);
    row = sound_row();
    row.samples.median_ns = NAN;
    assert_int_equal(judge(&row, "no time"), XL_ROW_REJECTED);
    row = sound_row();
    row.samples.overhead_ns = -2e5; /* 1.2 ms counted while 1 passed */
    assert_int_equal(judge(&row, "more time than passed"), XL_ROW_REJECTED);
    row = sound_row();
    row.samples.overhead_ns = 40.67 * 1e6; /* ticks for nanoseconds: GE-18 */
    row.samples.overhead_min_ns = row.samples.overhead_ns;
    assert_int_equal(judge(&row, "waited far longer"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.samples.overhead_ns = 40.67 * 1e6; /* a busy host, most of the time */
    row.samples.overhead_min_ns = 1e5;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.bytes = 1e6;
    take_sample(&row, 5000); /* five steps of this device's clock */
    row.samples.mad_ns = 0;
    assert_int_equal(judge(&row, "steps"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.bytes = 1e6;
    take_sample(&row, 5000);
    row.samples.mad_ns = 0;
    row.samples.batch = 200;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
}

static void impossible_values_are_found(void **state)
{
    (void)state;
    xl_row row = sound_row();
    row.value = NAN;
    assert_int_equal(judge(&row, "not a number"), XL_ROW_REJECTED);
    row = sound_row();
    row.value = INFINITY;
    assert_int_equal(judge(&row, "not a number"), XL_ROW_REJECTED);
    row = sound_row();
    row.value = -row.value;
    assert_int_equal(judge(&row, "not a number"), XL_ROW_REJECTED);
    row = sound_row();
    row.value = -0.01; /* of two that overlap not at all */
    row.unit = "1";
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.value *= 0.98; /* of the bytes over the time */
    assert_int_equal(judge(&row, "overflowed"), XL_ROW_REJECTED);
    row = sound_row();
    row.unit = "s"; /* what it is made of is not known */
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
}

static void folded_and_unsteady_work_is_found(void **state)
{
    (void)state;
    xl_row row = sound_row();
    xl_row_param(&row, "scaling", 0.51);
    assert_int_equal(judge(&row, "hardly longer"), XL_ROW_REJECTED);
    row = sound_row();
    xl_row_param(&row, "scaling", 0.7);
    assert_int_equal(judge(&row, "twice"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    xl_row_param(&row, "scaling", 1.02);
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = sound_row();
    row.samples.runs = 2;
    assert_int_equal(judge(&row, "fewer than 3"), XL_ROW_SUSPICIOUS);
    row = sound_row();
    row.samples.warnings = XL_WARN(CLOCK_DRIFT);
    assert_int_equal(judge(&row, "later runs"), XL_ROW_SUSPICIOUS);
    assert_int_equal(row.warnings, XL_WARN(CLOCK_DRIFT));
}

/* A row of these samples, in ms. */
static xl_row row_of(const double *ms, unsigned n)
{
    xl_row row = sound_row();
    row.samples.runs = n;
    for (unsigned i = 0; i < n; i++)
        row.samples.ns[i] = 1e6 * ms[i];
    xl__samples_summarise(&row.samples, NULL);
    row.value = row.bytes / (row.samples.median_ns * 1e-9);
    row.roof.value = row.value / 0.8;
    return row;
}

static void a_median_that_is_not_known_is_noisy(void **state)
{
    (void)state;
    enum { MANY = 400, FEW = 24 };
    static const double few[] = {1, 1.01, 1.02, 1.05, 1.4};
    static const double in_turns[] = {1, 2, 1, 2, 1};
    static const double one_off[] = {1, 1.01, 1.4, 1.02, 1.05, 1, 1, 1, 1};
    double ms[MANY];
    /* As wide as 0.5 to 1.5, evenly: MAD 25 %, whatever their number. */
    for (unsigned i = 0; i < MANY; i++)
        ms[i] = 0.5 + fmod(0.618034 * i, 1);
    xl_row row = row_of(ms, FEW);
    assert_true(row.samples.mad_ns > 0.2e6);
    assert_int_equal(judge(&row, "noisy"), XL_ROW_SUSPICIOUS);
    row = row_of(ms, MANY);
    assert_true(row.samples.mad_ns > 0.2e6);
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    /* Two modes, of which a little more than half are one: MAD 0. */
    for (unsigned i = 0; i < FEW; i++)
        ms[i] = fmod(0.618034 * i, 1) < 0.55 ? 1 : 2;
    row = row_of(ms, FEW);
    assert_near(row.samples.mad_ns, 0);
    assert_int_equal(judge(&row, "noisy"), XL_ROW_SUSPICIOUS);
    /* Too few for an interval: by their quarters. */
    row = row_of(few, 5);
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row = row_of(in_turns, 5);
    assert_near(row.samples.mad_ns, 0);
    assert_int_equal(judge(&row, "noisy"), XL_ROW_SUSPICIOUS);
    row = row_of(one_off, 9);
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    /* Each half has a known median, and they differ. */
    for (unsigned i = 0; i < MANY; i++)
        ms[i] = (0.8 + 0.4 * fmod(0.618034 * i, 1)) * (i < MANY / 2 ? 1.3 : 1);
    row = row_of(ms, MANY);
    assert_true(row.samples.hi_ns - row.samples.lo_ns <
                0.2 * row.samples.median_ns);
    assert_int_equal(judge(&row, "noisy"), XL_ROW_SUSPICIOUS);
}

/* Ratios are of the shortest runs, and go by those. */
static void ratios_go_by_the_shortest_runs(void **state)
{
    (void)state;
    static const double ms[] = {3, 1.05, 2, 1, 2.5, 1.5, 3, 2.2, 2.8};
    xl_row row = row_of(ms, 9);
    assert_int_equal(judge(&row, "noisy: the median"), XL_ROW_SUSPICIOUS);
    row = row_of(ms, 9);
    row.unit = "1";
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
    row.samples.ns[1] = 1.2e6;
    assert_int_equal(judge(&row, "shortest"), XL_ROW_SUSPICIOUS);
}

/* A clock that dropped after a few runs leaves two modes: the cause is
 * reported, not the noise. */
static void drift_is_reported_before_noise(void **state)
{
    (void)state;
    double ms[20];
    for (unsigned i = 0; i < 20; i++)
        ms[i] = i < 9 ? 1 : 1.4;
    xl_row row = row_of(ms, 20);
    assert_int_equal(judge(&row, "later runs"), XL_ROW_SUSPICIOUS);
    row = row_of(ms, 20); /* simulated, found, and its warning removed */
    row.samples.warnings = 0;
    row.diagnosis.limiter = XL_LIMITER_THROTTLE;
    assert_int_equal(judge(&row, NULL), XL_ROW_OK);
}

static void worse_verdicts_stay(void **state)
{
    (void)state;
    xl_row row = sound_row();
    xl__probe_reject(&row, "the result was wrong");
    row.samples.lo_ns = 0.5e6;
    row.samples.hi_ns = 1.5e6;
    assert_int_equal(judge(&row, "the result was wrong"), XL_ROW_REJECTED);
    row = sound_row();
    row.verdict = XL_ROW_ERROR;
    strcpy(row.reason, "lost");
    row.samples.median_ns = 0;
    assert_int_equal(judge(&row, "lost"), XL_ROW_ERROR);
    row = sound_row();
    row.samples.lo_ns = 0.5e6;
    row.samples.hi_ns = 1.5e6; /* suspicious, and ... */
    row.value *= 2;            /* ... impossible */
    assert_int_equal(judge(&row, "overflowed"), XL_ROW_REJECTED);
}

static void rows_start_unknown_and_hold_their_room(void **state)
{
    (void)state;
    xl_row row;
    xl_row_init(&row, "an operation with a name far too long to fit", "v");
    assert_int_equal(strlen(row.op), sizeof row.op - 1);
    assert_string_equal(row.op + sizeof row.op - 4, "...");
    assert_true(isnan(row.value) && isnan(row.roof.value));
    assert_true(isnan(row.samples.median_ns));
    for (unsigned i = 0; i < XL_MAX_PARAMS + 4; i++) {
        xl_row_param(&row, "p", i);
        xl_row_shape(&row, "s", i);
    }
    assert_int_equal(row.n_params, XL_MAX_PARAMS);
    assert_int_equal(row.n_shape, XL_MAX_PARAMS);
    assert_int_equal(row.verdict, XL_ROW_ERROR); /* not all are kept */
    assert_non_null(strstr(row.reason, "no room for \"s\""));
    xl_row_param(NULL, "p", 1);
    assert_string_equal(xl_verdict_name(XL_ROW_SUSPICIOUS), "suspicious");
    assert_string_equal(xl_verdict_name((xl_verdict)99), "error");
}

/* -- roofline ------------------------------------------------------------- */

static void bounds_are_the_lower_ceiling(void **state)
{
    (void)state;
    xl_device dev;
    xl_bound b;
    xl_roof roof = {.dtype = XL_F32};
    memset(&dev, 0, sizeof dev);
    xl__limits_init(&dev.seen);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1, 1, &b), XL_UNSUPPORTED);
    assert_true(isnan(b.value));
    xl__limits_measure(&dev.seen, XL__F_peak_f32_flop_per_s, 64e12);
    xl__limits_measure(&dev.seen, XL__F_copy_bytes_per_s, 4e12);
    xl__limits_measure(&dev.seen, XL__F_llc_bytes_per_s, 8e12);

    /* Ridge at 16 flop/B: below it memory, above it arithmetic. */
    assert_int_equal(xl_roofline_bound(&dev, &roof, 8, 1, &b), XL_OK);
    assert_near(b.value, 32e12);
    assert_string_equal(b.name, "copy");
    assert_string_equal(b.unit, "flop/s");
    assert_int_equal(b.source, XL_MEASURED);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 32, 1, &b), XL_OK);
    assert_near(b.value, 64e12);
    assert_string_equal(b.name, "fma f32");

    assert_int_equal(xl_roofline_bound(&dev, &roof, 0, 1, &b), XL_OK);
    assert_near(b.value, 4e12);
    assert_string_equal(b.unit, "B/s");
    roof.level = XL_LEVEL_LLC;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 8, 1, &b), XL_OK);
    assert_near(b.value, 64e12);

    /* f16 and bf16 are summed in f32; f64 has a peak of its own. */
    roof.dtype = XL_BF16;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b), XL_OK);
    assert_string_equal(b.name, "fma f32");
    roof.dtype = XL_F64;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b),
                     XL_UNSUPPORTED);
    xl__limits_clear(&dev.seen);
}

static void matrix_engines_have_roofs_of_their_own(void **state)
{
    (void)state;
    xl_device dev;
    xl_bound b;
    xl_roof roof = {.dtype = XL_F16, .engine = XL_ENGINE_MATRIX};
    memset(&dev, 0, sizeof dev);
    xl__limits_init(&dev.seen);
    xl__limits_measure(&dev.seen, XL__F_peak_f32_flop_per_s, 64e12);
    xl__limits_measure(&dev.seen, XL__F_copy_bytes_per_s, 4e12);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b),
                     XL_UNSUPPORTED);
    /* Not measured: what units and clock allow, parted by terms. */
    xl__nvidia_matrix_engine(90, &dev.seen);
    xl__limits_correct(&dev.seen, XL__F_compute_units, 100, XL_KNOWN,
                       "NV-26");
    xl__limits_correct(&dev.seen, XL__F_clock_hz, 2e9, XL_KNOWN, "NV-26");
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b), XL_OK);
    assert_near(b.value, 819.2e12);
    assert_int_equal(b.source, XL_KNOWN);
    assert_string_equal(b.name, "matrix units x clock");
    xl__limits_measure(&dev.seen, XL__F_peak_matrix_f16_flop_per_s, 840e12);
    xl__limits_measure(&dev.seen, XL__F_peak_matrix_f8_flop_per_s, 1600e12);
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b), XL_OK);
    assert_near(b.value, 840e12);
    assert_string_equal(b.name, "matrix f16");
    assert_int_equal(xl_roofline_bound(&dev, &roof, 8, 1, &b), XL_OK);
    assert_string_equal(b.name, "copy");

    /* Three products of the engine make one; there is no way with two. */
    roof.terms = 3;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b), XL_OK);
    assert_near(b.value, 280e12);
    roof.terms = 2;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b),
                     XL_UNSUPPORTED);
    /* Both 8-bit floats are one engine's; f64 is none's. */
    roof = (xl_roof){.dtype = XL_F8E5M2, .engine = XL_ENGINE_MATRIX};
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b), XL_OK);
    assert_near(b.value, 1600e12);
    roof.dtype = XL_F64;
    assert_int_equal(xl_roofline_bound(&dev, &roof, 1e6, 1, &b),
                     XL_UNSUPPORTED);
    xl__limits_clear(&dev.seen);
}

static void bad_questions_are_refused(void **state)
{
    (void)state;
    xl_device dev;
    xl_bound b;
    const xl_roof good = {.dtype = XL_F32};
    const xl_roof no_type = {.dtype = XL_N_DTYPES};
    const xl_roof matrix = {.dtype = XL_F16, .engine = XL_ENGINE_MATRIX};
    memset(&dev, 0, sizeof dev);
    xl__limits_init(&dev.seen);
    assert_int_equal(xl_roofline_bound(NULL, &good, 1, 1, &b),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_roofline_bound(&dev, &no_type, 1, 1, &b),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_roofline_bound(&dev, &good, NAN, 1, &b),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_roofline_bound(&dev, &good, 0, 0, &b),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_roofline_bound(&dev, &matrix, 1, 1, &b),
                     XL_UNSUPPORTED);
    assert_int_equal(xl_peaks_measure(NULL, XL_F32), XL_BAD_ARGUMENT);
    assert_int_equal(xl_peaks_measure_matrix(NULL, XL_F16, false),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_samples_take(NULL, &usual, NULL, NULL, NULL),
                     XL_BAD_ARGUMENT);
    xl__limits_clear(&dev.seen);
}

/* -- what is concluded from curves ---------------------------------------- */

/* Times of one access at strides 1, 2, 4 ... 64 words. */
static void granules_are_where_doubling_stops(void **state)
{
    (void)state;
    const double sector[] = {1, 2, 4, 8, 8.2, 8.1, 8.4};
    assert_near(xl__granule(sector, 7), 32);
    const double dram[] = {1, 2, 4, 8, 15, 16, 17};
    assert_near(xl__granule(dram, 7), 64);
    /* Loads limit it at first: flat, then doubling to 64 B, then flat. */
    const double cpu[] = {1, 1.05, 1.2, 2.2, 4.2, 4.5, 5.0};
    assert_near(xl__granule(cpu, 7), 64);
    const double flat[] = {1, 1, 1, 1.1, 1.1, 1.2, 1.2};
    assert_true(isnan(xl__granule(flat, 7)));
    const double endless[] = {1, 2, 4, 8, 16, 32, 64};
    assert_true(isnan(xl__granule(endless, 7)));
}

/* Times at periods 1, 2, 4 ... 128. */
static void widths_are_where_the_time_falls(void **state)
{
    (void)state;
    const double warp[] = {2, 2, 2, 2, 2, 1.05, 1, 1};
    assert_near(xl__divergence_width(warp, 8), 32);
    const double wave[] = {2, 2, 2.1, 2, 1.9, 2, 1, 1};
    assert_near(xl__divergence_width(wave, 8), 64);
    const double scalar[] = {1, 1, 1, 1, 1, 1, 1, 1};
    assert_true(isnan(xl__divergence_width(scalar, 8)));
    const double noise[] = {2, 1, 2, 1, 2, 1, 2, 1};
    assert_true(isnan(xl__divergence_width(noise, 8)));
    const double slide[] = {2, 1.9, 1.8, 1.6, 1.5, 1.3, 1.2, 1.1};
    assert_true(isnan(xl__divergence_width(slide, 8)));
}

/* Rates of tiles in vectors of 4, 8 and 16. */
static void wide_vectors_have_to_pay(void **state)
{
    (void)state;
    const double wide[] = {47, 90, 175}, narrow[] = {80, 173, 83};
    assert_int_equal(xl__tile_vector(16, wide, 3), 16);
    assert_int_equal(xl__tile_vector(16, narrow, 3), 8);
    assert_int_equal(xl__tile_vector(8, wide, 3), 8);
    assert_int_equal(xl__tile_vector(4, wide, 3), 4);
    const double equal[] = {100, 104, 98};
    assert_int_equal(xl__tile_vector(16, equal, 3), 16);
}

/* The share of the wall clock's time, and how far the clock got beside it. */
static const char *doubt(double ratio, double advance)
{
    const struct xl__clock c = {.ratio = ratio, .advance = advance};
    const char *why = xl__timer_fault(&c);
    return why ? why : "";
}

static void clocks_agree_within_reason(void **state)
{
    (void)state;
    assert_string_equal(doubt(0.99, 0.99), "");
    assert_string_equal(doubt(0.99, 1e3), ""); /* a counter that jumps */
    assert_string_equal(doubt(0.80, 0.99), ""); /* a busy machine */
    assert_non_null(strstr(doubt(0.80, 0.80), "less time"));
    assert_non_null(strstr(doubt(0.80, NAN), "less time"));
    assert_non_null(strstr(doubt(0.70, 1), "less time")); /* ends early */
    assert_non_null(strstr(doubt(3.0 / 125, 3.0 / 125), "less time"));
    assert_non_null(strstr(doubt(1.2, 1.2), "faster"));
    assert_non_null(strstr(doubt(NAN, 1), "backwards"));
    const struct xl__clock zero = {.is_zero = true, .is_still = true},
                           still = {.is_still = true};
    assert_non_null(strstr(xl__timer_fault(&zero), "always 0"));
    assert_non_null(strstr(xl__timer_fault(&still), "does not advance"));
}

static void probes_are_listed(void **state)
{
    (void)state;
    unsigned n = 0;
    for (; xl_probe_at(n); n++) {
        assert_true(strlen(xl_probe_at(n)->name) > 0);
        assert_true(strlen(xl_probe_at(n)->what) > 0);
        for (unsigned i = 0; i < n; i++)
            assert_string_not_equal(xl_probe_at(i)->name,
                                    xl_probe_at(n)->name);
    }
    assert_true(n >= 9);
    assert_null(xl_probe_at(n + 1));
}

static void words_are_random_and_the_same_everywhere(void **state)
{
    (void)state;
    unsigned ones = 0;
    for (size_t i = 0; i < 4096; i++) {
        for (cl_uint x = xl__probe_word(7, i); x; x &= x - 1)
            ones++;
    }
    /* 131072 fair bits: 65536 +- 6 deviations of 181. */
    assert_in_range(ones, 65536 - 1086, 65536 + 1086);
    assert_int_equal(xl__probe_word(1, 0), xl__probe_word(0, 1));
    assert_int_not_equal(xl__probe_word(7, 0), xl__probe_word(7, 1));
}

static void working_sets_suit_the_caches(void **state)
{
    (void)state;
    struct xl__limits l;
    xl__limits_init(&l);
    xl__limits_measure(&l, XL__F_llc_bytes, 50e6);
    xl__limits_measure(&l, XL__F_global_mem_bytes, 150e9);
    xl__limits_measure(&l, XL__F_is_gpu, 1);
    const size_t far = xl__probe_far_bytes(&l, true);
    const size_t near = xl__probe_near_bytes(&l);
    assert_true((double)far >= 2 * 50e6 && (far & (far - 1)) == 0);
    assert_true((double)near <= 50e6 / 4 && (near & (near - 1)) == 0);
    xl__limits_measure(&l, XL__F_global_mem_bytes, 1e9); /* a small device */
    assert_true((double)xl__probe_far_bytes(&l, false) <= 1e9 / 12);
    xl__limits_clear(&l);
    xl__limits_init(&l);
    assert_int_equal(xl__probe_near_bytes(&l), 0);
    assert_true(xl__probe_far_bytes(&l, true) > 0);
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_work_stops_at_the_least),
        cmocka_unit_test(noise_goes_on_to_the_most),
        cmocka_unit_test(time_ends_it),
        cmocka_unit_test(least_time_goes_on),
        cmocka_unit_test(a_request_ends_it),
        cmocka_unit_test(sources_are_interleaved),
        cmocka_unit_test(a_failure_is_handed_on),
        cmocka_unit_test(coarse_clocks_get_batches),
        cmocka_unit_test(a_batch_has_its_least),
        cmocka_unit_test(more_samples_while_median_is_unknown),
        cmocka_unit_test(cold_runs_and_first_runs_are_separate),
        cmocka_unit_test(the_wall_clock_steps_in),
        cmocka_unit_test(drift_and_outliers_are_reported),
        cmocka_unit_test(patience_is_for_noise),
        cmocka_unit_test(patience_ends_with_a_known_median),
        cmocka_unit_test(drift_is_sampled_again),
        cmocka_unit_test(no_more_samples_than_fit),
        cmocka_unit_test(sound_rows_pass),
        cmocka_unit_test(roofs_are_not_exceeded),
        cmocka_unit_test(wrong_clocks_are_found),
        cmocka_unit_test(folded_and_unsteady_work_is_found),
        cmocka_unit_test(impossible_values_are_found),
        cmocka_unit_test(a_median_that_is_not_known_is_noisy),
        cmocka_unit_test(ratios_go_by_the_shortest_runs),
        cmocka_unit_test(drift_is_reported_before_noise),
        cmocka_unit_test(worse_verdicts_stay),
        cmocka_unit_test(rows_start_unknown_and_hold_their_room),
        cmocka_unit_test(bounds_are_the_lower_ceiling),
        cmocka_unit_test(matrix_engines_have_roofs_of_their_own),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(granules_are_where_doubling_stops),
        cmocka_unit_test(widths_are_where_the_time_falls),
        cmocka_unit_test(wide_vectors_have_to_pay),
        cmocka_unit_test(clocks_agree_within_reason),
        cmocka_unit_test(probes_are_listed),
        cmocka_unit_test(words_are_random_and_the_same_everywhere),
        cmocka_unit_test(working_sets_suit_the_caches),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
