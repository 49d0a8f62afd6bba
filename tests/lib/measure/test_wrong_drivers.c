/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with drivers that return wrong values: the stub driver's device takes
 * time and reports wrong times as real drivers have done. The driver and the
 * library use a simulated clock, so that only intended faults occur. Each
 * fault is detected by the timer probe, by the row's verdict, or is avoided by
 * the wall clock with the right time in the row; the reason names the fault.
 * tests/README.md lists them. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/probe.h"
#include "support/simulated_clock.h"

#define MS 1e6 /* ns */

typedef unsigned long long stamp;

/* The driver, while a fault is active. */
struct driver {
    bool is_work; /* the last launch is the row's, not the timer probe's */
    unsigned n_work;
    stamp first_ns; /* the first stamp there was */
    stamp kept[XL_N_STAMPS];
    double work_ns;                         /* of a run without a fault */
    double (*work)(const struct driver *d); /* NULL: work_ns */
};

struct fault {
    const char *name;
    void (*set_stamps)(void *arg, stamp ns[XL_N_STAMPS]);
    double (*work)(const struct driver *d);
    int (*drops)(void *arg, const struct xl_launch *launch);
    enum xl_finish finish;
    double work_ns; /* 0: 2 ms */
    unsigned runs;  /* 0: 5 */
    void (*row)(xl_row *row); /* the row's value, or its roof */
    const char *timer; /* reason of a row of the timer probe; NULL: none */
    xl_verdict verdict;
    const char *cause; /* reason of the row; NULL: none, and its time is true */
    bool by_wall;
};

static const double flop = 1e9, bytes = 1e9; /* of a run */

/* -- the device ----------------------------------------------------------- */

static double takes(void *arg, const struct xl_launch *launch)
{
    struct driver *d = arg;
    d->is_work = strcmp(launch->kernel, "nothing") == 0;
    if (!d->is_work) /* the timer probe's: a step is a nanosecond */
        return (double)launch->last_arg;
    d->n_work++;
    return d->work ? d->work(d) : d->work_ns;
}

/* -- faults of stamps ----------------------------------------------------- */

static stamp since(struct driver *d, stamp ns)
{
    if (d->first_ns == 0)
        d->first_ns = ns;
    return ns - d->first_ns;
}

#define EACH(name, expression)                                                \
    static void name(void *arg, stamp ns[XL_N_STAMPS])                        \
    {                                                                         \
        struct driver *d = arg;                                               \
        for (unsigned i = 0; i < XL_N_STAMPS; i++) {                          \
            const stamp t = since(d, ns[i]);                                  \
            ns[i] = (stamp)(expression);                                      \
        }                                                                     \
    }
static const stamp base = 1000000000;
EACH(all_zero, 0 * t)
EACH(all_same, base + 0 * t)
EACH(back, base * 1000 - t)
EACH(ticks, base + t * 3 / 125)
EACH(twice_as_fast, base + 2 * t)
EACH(slower, base + t * 4 / 5)
EACH(coarse, base + t / 1000000 * 1000000)
EACH(narrow, base + (t & ((1u << 26) - 1)))
EACH(again, (double)(base * 10 + t) - d->n_work * 10 * MS)
EACH(garbage, (t * 6364136223846793005u + 1442695040888963407u) >> 20)

static void ends_early(void *arg, stamp ns[XL_N_STAMPS])
{
    const struct driver *d = arg;
    if (d->is_work)
        ns[3] = ns[2] + (ns[3] - ns[2]) / 20;
}

static void told_twice(void *arg, stamp ns[XL_N_STAMPS])
{
    struct driver *d = arg;
    if (d->n_work == 1)
        memcpy(d->kept, ns, sizeof d->kept);
    else if (d->n_work > 1)
        memcpy(ns, d->kept, sizeof d->kept);
}

/* -- what the device does ------------------------------------------------- */

enum { COOL_RUNS = 9, LONG_SERIES = 20 };

static double throttled(const struct driver *d)
{
    return d->n_work > COOL_RUNS ? 1.4 * d->work_ns : d->work_ns;
}

static double drifting(const struct driver *d)
{
    return d->work_ns * (1 + 0.02 * d->n_work);
}

static double stolen(const struct driver *d)
{
    return d->n_work % 2 ? d->work_ns : 2 * d->work_ns;
}

static int skips_work(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    return strcmp(launch->kernel, "nothing") == 0;
}

/* -- checks of the row ---------------------------------------------------- */

static void measured_roof(xl_row *row, double share, const char *name)
{
    row->roof = (xl_bound){row->value / share, row->unit, name, XL_MEASURED};
}

static void of_memory(xl_row *row, double share)
{
    row->unit = "B/s";
    row->bytes = bytes;
    row->value = bytes / (row->samples.median_ns * 1e-9);
    measured_roof(row, share, "copy");
}

static void usual_roof(xl_row *row)
{
    row->roof = (xl_bound){2 * flop / (2 * MS * 1e-9), "flop/s", "fma f32",
                           XL_MEASURED};
}

static void low_roof(xl_row *row) { measured_roof(row, 1.1, "fma f32"); }
static void lower_roof(xl_row *row) { measured_roof(row, 1.3, "fma f32"); }
static void compressed(xl_row *row) { of_memory(row, 1.4); }

static void beyond_memory(xl_row *row) { of_memory(row, 0.5); }

static void with_others(xl_row *row, double others)
{
    row->samples.conditions.readings = 2;
    row->samples.conditions.others = others;
}

static void shared(xl_row *row) { with_others(row, 0.63); }
static void hardly_shared(xl_row *row) { with_others(row, 0.15); }

static void physical(xl_row *row)
{
    measured_roof(row, 1.2, "units x clock");
    row->roof.source = XL_KNOWN;
}

static void resident(xl_row *row)
{
    of_memory(row, 1.4);
    row->bytes = 1e6;
    row->value /= bytes / row->bytes;
    row->roof.value /= bytes / row->bytes;
}

static void bytes_of_32_bits(xl_row *row)
{
    const double work = 5e9;
    row->unit = "B/s";
    row->bytes = work;
    row->value = (double)(uint32_t)(uint64_t)work /
                 (row->samples.median_ns * 1e-9);
}

static void no_number(xl_row *row) { row->value = NAN; }
static void endless(xl_row *row) { row->value = INFINITY; }
static void folded(xl_row *row) { xl_row_found(row, "scaling", 0.52); }
static void half_folded(xl_row *row) { xl_row_found(row, "scaling", 0.7); }

/* -- the faults ----------------------------------------------------------- */

#define BY_WALL .by_wall = true
#define BEFORE "clFinish returns before the work is done"
static const struct fault faults[] = {
    {"none", .runs = LONG_SERIES},
    {"stamps are 0", all_zero, .timer = "always 0", BY_WALL},
    {"stamps never change", all_same, .timer = "does not advance", BY_WALL},
    {"stamps fall", back, .timer = "runs backwards", BY_WALL},
    {"ticks for nanoseconds", ticks, .timer = "counts less time", BY_WALL},
    {"a fast clock", twice_as_fast, .timer = "faster than", BY_WALL},
    {"a clock of 0.8", slower, .timer = "counts less time", BY_WALL},
    {"garbage for stamps", garbage, .timer = "the wall clock is used",
     BY_WALL},
    {"a counter of 26 bits", narrow, .runs = 3 * LONG_SERIES, BY_WALL},
    {"a counter that begins again", again, BY_WALL},
    {"the stamps of another run", told_twice, BY_WALL},
    {"a clock of 1 ms steps", coarse, .work_ns = 5 * MS,
     .verdict = XL_ROW_SUSPICIOUS, .cause = "10 steps of the event clock"},
    {"an end that is reported early", ends_early, .work_ns = 10 * MS,
     .verdict = XL_ROW_SUSPICIOUS,
     .cause = "the host waited far longer than the event clock counted"},
    {"clFinish never waits", .finish = XL_FINISH_NEVER, .timer = BEFORE,
     .verdict = XL_ROW_REJECTED, .cause = BEFORE},
    {"clFinish waits for a marker", .finish = XL_FINISH_AFTER_MARKER,
     .timer = BEFORE " unless a marker"},
    {"launches are skipped", .drops = skips_work, .row = usual_roof,
     .verdict = XL_ROW_REJECTED, .cause = "work was skipped"},
    {"the clock drops midway", .work = throttled, .runs = LONG_SERIES,
     .verdict = XL_ROW_SUSPICIOUS, .cause = "the clock dropped"},
    {"every run is slower", .work = drifting, .runs = LONG_SERIES,
     .verdict = XL_ROW_SUSPICIOUS, .cause = "later runs were slower"},
    {"another takes half the time", .work = stolen, .runs = LONG_SERIES,
     .verdict = XL_ROW_SUSPICIOUS, .cause = "noisy"},
    {"too few runs", .runs = 2, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "fewer than 3 runs"},
    {"a roof measured low", .row = low_roof, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "the roof was measured low"},
    {"far above the roof", .row = lower_roof, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "25 % above the measured roof: the roof was measured low"},
    {"above any such device", .work_ns = 1000, .row = usual_roof,
     .verdict = XL_ROW_REJECTED, .cause = "of any such device"},
    {"a memory beyond all", .work_ns = 10000, .row = beyond_memory,
     .verdict = XL_ROW_REJECTED, .cause = "of any such device"},
    {"others have the device", .row = shared, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "other programs used 63 % of the device"},
    {"others have a little of it", .row = hardly_shared},
    {"above clock and units", .row = physical, .verdict = XL_ROW_REJECTED,
     .cause = "above what units and clock allow"},
    {"data that compress", .row = compressed, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "data that compress"},
    {"a working set in the cache", .row = resident,
     .verdict = XL_ROW_SUSPICIOUS, .cause = "fits in the last-level cache"},
    {"bytes counted in 32 bits", .row = bytes_of_32_bits,
     .verdict = XL_ROW_REJECTED, .cause = "a counter overflowed"},
    {"no number", .row = no_number, .verdict = XL_ROW_REJECTED,
     .cause = "not a number"},
    {"an infinite rate", .row = endless, .verdict = XL_ROW_REJECTED,
     .cause = "not a number"},
    {"work folded away", .row = folded, .verdict = XL_ROW_REJECTED,
     .cause = "the compiler or the driver skips work"},
    {"some work folded away", .row = half_folded, .verdict = XL_ROW_SUSPICIOUS,
     .cause = "twice the work does not take twice the time"},
};

/* -- telling them --------------------------------------------------------- */

struct said {
    char reasons[512];
};

static void hear(const xl_row *row, void *arg)
{
    struct said *s = arg;
    const size_t at = strlen(s->reasons);
    if (*row->reason) {
        assert_int_equal(row->verdict, XL_ROW_SUSPICIOUS);
        snprintf(s->reasons + at, sizeof s->reasons - at, "%s; ",
                 row->reason);
    }
}

static xl_status enqueue(xl_queue *q, void *arg)
{
    const struct xl__call none = {.list_bytes = 0};
    return xl__plan_launch(q, arg, &none, NULL);
}

/* A row as that of an op: sampled, with its rate, and checked. */
static void measure(struct test_device *t, const struct fault *fault,
                    xl_row *row)
{
    const xl_sampling how = {XL_SAMPLING_INIT, .warmup = 1,
                             .min_runs = fault->runs ? fault->runs : 5,
                             .max_runs = fault->runs ? fault->runs : 5,
                             .max_noise = 0.01};
    struct xl__plan plan;
    xl__probe_step(&plan, "probe/launch.cl", "nothing", 1, 1, false);
    *row = xl__probe_row("fault", "", "flop/s");
    assert_status(xl_samples_take(t->queue, &how, enqueue, &plan,
                                  &row->samples),
                  XL_OK, xl_error_detail(t->queue));
    row->flop = flop;
    row->value = flop / (row->samples.median_ns * 1e-9);
    if (fault->row)
        fault->row(row);
    xl_row_judge(row, t->device);
}

/* NULL, or what is not as it should be. */
static const char *judge(const struct fault *fault, const char *timer,
                         const xl_row *row, double true_ns)
{
    static char text[1024];
    const double share = row->samples.min_ns / true_ns;
    if (fault->timer ? !strstr(timer, fault->timer) : *timer != '\0') {
        snprintf(text, sizeof text, "the timer probe reports \"%s\"", timer);
        return text;
    }
    if (!fault->cause && (share < 0.99 || share > 1.01)) {
        snprintf(text, sizeof text, "%.2f of the true time", share);
        return text;
    }
    const bool by_wall = row->warnings & XL_WARN(WALL_CLOCK);
    if (!fault->cause && fault->by_wall != by_wall)
        return fault->by_wall ? "the wall clock is not used"
                              : "the wall clock is used";
    snprintf(text, sizeof text, "%s: \"%s\"", xl_verdict_name(row->verdict),
             row->reason);
    const bool is_said = fault->cause
                             ? strstr(row->reason, fault->cause) != NULL
                             : *row->reason == '\0';
    return row->verdict == fault->verdict && is_said ? NULL : text;
}

static const char *set_answer(const struct fault *fault)
{
    struct driver d = {.work_ns = fault->work_ns > 0 ? fault->work_ns : 2 * MS,
                       .work = fault->work};
    const struct xl_model model = {.takes = takes,
                                   .set_stamps = fault->set_stamps,
                                   .drops = fault->drops,
                                   .finish = fault->finish,
                                   .clock = &simulated_clock,
                                   .arg = &d};
    const xl_probing quick = {.quick = true};
    struct said timer = {""};
    struct test_device t;
    xl_row row;
    test_stub()->model(&model);
    test_device_open(&t, NULL);
    assert_status(xl_probe_run(t.queue, "timer", &quick, hear, &timer), XL_OK,
                  xl_error_detail(t.queue));
    measure(&t, fault, &row);
    test_device_close(&t);
    test_stub()->model(NULL);
    return judge(fault, timer.reasons, &row, d.work_ns);
}

static void every_fault_is_detected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *wrong = set_answer(&faults[i]);
        if (wrong)
            fail_msg("%s: %s", faults[i].name, wrong);
    }
}

/* A driver without faults beside other load: its event clock is accepted, and
 * its row has the true time, or the reason why not. */
static void other_load_is_no_fault(void **state)
{
    static const struct {
        unsigned looks;
        double pause_ns;
    } others[] = {{1, 0.5 * MS}, {2, 0.2 * MS}, {7, 3 * MS}, {40, 100 * MS}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        simulated_clock_others(others[i].looks,
                               (unsigned long long)others[i].pause_ns);
        const char *wrong = set_answer(&faults[0]);
        simulated_clock_others(0, 0);
        if (wrong)
            fail_msg("%.1f ms once in %u looks: %s", others[i].pause_ns / MS,
                     others[i].looks, wrong);
    }
}

/* Times that a busy machine makes: each a third more than the one before. */
static xl_status wild_time(struct xl__session *p, void *arg, size_t iterations,
                           xl_row *row)
{
    double *ns = arg;
    (void)p;
    (void)iterations;
    *ns *= 4.0 / 3;
    row->samples.min_ns = row->samples.median_ns = *ns;
    return XL_OK;
}

/* A launch as long for half of its iterations: from the loop to the
 * verdict. */
static xl_status same_time(struct xl__session *p, void *arg, size_t iterations,
                           xl_row *row)
{
    (void)p;
    (void)iterations;
    row->samples.min_ns = row->samples.median_ns = *(const double *)arg;
    row->samples.mad_ns = 0;
    row->samples.runs = 3;
    return XL_OK;
}

static void folded_iterations_are_detected(void **state)
{
    (void)state;
    double ns = MS;
    const struct xl__iteration_source w = {same_time, &ns};
    const xl_probing how = {.quick = true};
    struct xl__session p = {.how = &how};
    xl_row row;
    xl_row_init(&row, "fault", "folded");
    row.value = 1;
    (void)same_time(&p, &ns, 8, &row);
    assert_int_equal(xl__iterations_check_scaling(&p, &w, 8, &row), XL_OK);
    xl_row_judge(&row, NULL);
    assert_int_equal(row.verdict, XL_ROW_REJECTED);
    assert_non_null(strstr(row.reason, "hardly longer"));

    const struct xl__iteration_source wild = {wild_time, &ns};
    xl_row_init(&row, "fault", "wild");
    row.value = 1;
    (void)same_time(&p, &ns, 8, &row);
    assert_int_equal(xl__iterations_check_scaling(&p, &wild, 8, &row), XL_OK);
    xl_row_judge(&row, NULL);
    assert_int_equal(row.verdict, XL_ROW_OK);
    assert_int_equal(row.n_params, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_detected),
        cmocka_unit_test(other_load_is_no_fault),
        cmocka_unit_test(folded_iterations_are_detected),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
