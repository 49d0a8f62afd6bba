/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the statistics of comparisons: on files made from recorded noise
 * and on simulated runs, how often equal runs are called different, and
 * whether a real slowdown is found. Without a device. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/str.h"
#include "compare/compare.h"
#include "compare/differences.h"
#include "compare/gate.h"

static const double margin = 5; /* percent */

/* -- estimates ------------------------------------------------------------ */

/* Tables of Student's t; 100 degrees stand for many. */
static void quantiles_are_those_of_tables(void **state)
{
    static const struct {
        double tail;
        unsigned df;
        double t;
    } cases[] = {{0.025, 4, 2.776445},   {0.0005, 4, 8.610302},
                 {0.025, 8, 2.306004},   {0.05, 1, 6.313752},
                 {0.025, 100, 1.983972}, {0.0005, 8, 5.041305}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double t = noise_quantile(cases[i].tail, cases[i].df);
        const double tail = noise_tail(cases[i].t, cases[i].df);
        if (fabs(t / cases[i].t - 1) > 1e-4 ||
            fabs(tail / cases[i].tail - 1) > 1e-4)
            fail_msg("case %zu: t %.7g, tail %.7g", i, t, tail);
    }
}

/* Few and many samples give the same deviation, and more than eight samples of
 * one process count as eight. */
static void spread_inside_a_run(void **state)
{
    static const size_t sizes[] = {2, 3, 4, 5, 6, 9, 40};
    enum { REPEATS = 400, MOST = 40 };
    static const double deviation = 0.02;
    struct xl__rng rng;
    double ns[MOST];
    (void)state;
    xl__rng_seed(&rng, 7);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        double inside = 0;
        const double independent = fmin((double)sizes[s], 8);
        for (int t = 0; t < REPEATS; t++) {
            for (size_t i = 0; i < sizes[s]; i++)
                ns[i] = 1e6 * exp(deviation * xl__rng_normal(&rng));
            inside += sqrt(noise_within(ns, sizes[s])) / REPEATS;
        }
        /* A median's deviation is 1.25 of a mean's, and less of few. */
        const double expected = deviation / sqrt(independent);
        if (inside < 0.85 * expected || inside > 1.8 * expected)
            fail_msg("%zu samples: %g of %g", sizes[s], inside, expected);
    }
    assert_true(isnan(noise_within(ns, 1)) && isnan(noise_within(ns, 0)));
}

/* One of three passes is three times slower: the difference does not move. */
static void one_disturbed_pass_does_not_count(void **state)
{
    const double a[] = {1.00, 1.01, 1.02}, b[] = {1.11, 2.20, 1.10};
    double scratch[9];
    struct shift s;
    (void)state;
    noise_difference(a, 3, b, 3, scratch, &s);
    assert_true(fabs(s.log_ratio - 0.10) < 0.011);
    assert_int_equal(s.df, 4);
    assert_true(fabs(s.runs - 2.0 / 3) < 1e-12);
    assert_true(s.square > 0.7 && s.square < 0.9);
}

static void calls_follow_intervals(void **state)
{
    static const struct {
        double lo, log_ratio, hi, beyond;
        bool is_found;
        enum call call;
    } cases[] = {
        {0.01, 0.10, 0.20, 0, true, CALL_SLOWER},
        {-0.20, -0.10, -0.01, 0, true, CALL_FASTER},
        {0.01, 0.10, 0.20, 0, false, CALL_AMBIGUOUS}, /* one of many rows */
        {-0.01, 0.10, 0.20, 0, false, CALL_AMBIGUOUS},
        {-0.01, 0.00, 0.01, 0, false, CALL_SAME},
        {0.005, 0.010, 0.015, 0, true, CALL_SAME}, /* real, and nothing */
        {0.005, 0.015, 0.080, 0, true, CALL_AMBIGUOUS},
        {-0.10, 0.00, 0.10, 0, false, CALL_AMBIGUOUS}, /* perhaps not */
        {0.25, 0.26, 0.27, 0.26, false, CALL_AS_ALL},
        {0.45, 0.50, 0.55, 0.26, true, CALL_SLOWER},
        {-0.05, 0.00, 0.05, 0.26, true, CALL_FASTER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct shift s = {.log_ratio = cases[i].log_ratio,
                                .lo = cases[i].lo,
                                .hi = cases[i].hi,
                                .beyond = cases[i].beyond,
                                .is_found = cases[i].is_found};
        if (ratio_of(&s, margin).call != cases[i].call)
            fail_msg("case %zu", i);
    }
}

static void missing_passes_grow_with_the_noise(void **state)
{
    const double edge = log(1.05);
    struct shift s = {.runs = 2.0 / 3, .lo = -2 * edge, .hi = 2 * edge};
    (void)state;
    /* Half as wide takes four times as many: 9 more than 3. */
    assert_true(fabs(noise_missing(&s, edge) - 9) < 1e-9);
    s.hi = 4 * edge;
    assert_true(fabs(noise_missing(&s, edge) - 45) < 1e-9);
    s.log_ratio = 0.99 * edge;
    assert_true(isinf(noise_missing(&s, edge)));
}

/* -- false discoveries ---------------------------------------------------- */

/* Rows of one op with normal noise of known size, of which the first
 * `n_changed` differ; counts what is found among these and among the rest. */
static void judge_many(struct xl__rng *rng, size_t n_changed, size_t *right,
                       size_t *wrong)
{
    enum { ROWS = 200, VALUES = 3 };
    static const double deviation = 0.1, change = 1;
    static struct shift rows[ROWS];
    static struct noise noise;
    const struct noise_input in = {.drift = (double)NAN,
                                   .common = (double)NAN,
                                   .assumed = deviation * deviation};
    for (size_t i = 0; i < ROWS; i++) {
        double side[2][VALUES], scratch[VALUES * VALUES];
        for (size_t k = 0; k < 2 * VALUES; k++)
            side[k % 2][k / 2] = deviation * xl__rng_normal(rng) +
                                 (k % 2 && i < n_changed ? change : 0);
        rows[i] = (struct shift){.within = (double)NAN};
        noise_difference(side[0], VALUES, side[1], VALUES, scratch, &rows[i]);
    }
    assert_true(noise_judge(&noise, rows, ROWS, &in));
    for (size_t i = 0; i < ROWS; i++)
        *(i < n_changed ? right : wrong) += rows[i].is_found;
}

/* Of the rows that are found, at most 5 % are equal; where no row differs, at
 * most one trial in twenty finds any. Each row at 5 % by itself would find 10
 * of 200 equal ones in every trial. */
static void false_discoveries_are_few(void **state)
{
    enum { TRIALS = 60, CHANGED = 40 };
    struct xl__rng rng;
    size_t right = 0, wrong = 0, n_trials = 0;
    (void)state;
    xl__rng_seed(&rng, 11);
    for (int i = 0; i < TRIALS; i++) {
        size_t found = 0;
        judge_many(&rng, 0, &found, &found);
        n_trials += found > 0;
    }
    /* 3 are expected; more than 8 of 60 have a probability below 1 %. */
    if (n_trials > 8)
        fail_msg("%zu of %d trials find a row, where all are equal", n_trials,
                 TRIALS);
    for (int i = 0; i < TRIALS; i++)
        judge_many(&rng, CHANGED, &right, &wrong);
    print_message("found: %zu of %d changed, %zu equal\n", right,
                  TRIALS * CHANGED, wrong);
    assert_int_equal(right, TRIALS * CHANGED);
    assert_true((double)wrong <= 0.05 * (double)(right + wrong));
}

/* -- files with recorded noise -------------------------------------------- */

/* Deviations of passes over rows of a suite, recorded on PoCL 3.1, two cores
 * of a shared EPYC: logarithms of a pass's median over the row's. In 1e-4, in
 * moments without neighbours: five successive samples, all within 25 % of the
 * fastest of their row; with what all
 * rows have in common; */
static const int quiet_1e4[] = {-87, -70, 33,   32,  182,  -32, 0,    -183,
                                34,  642, -246, -7,  -173, 218, 126,  -54,
                                7,   5,   40,   -43, 1,    -1,  -216, 213,
                                -55, 19,  122,  -18, 0,    -230};
/* in 1e-3, in two runs with a load of 12 on the two cores: the three passes of
 * a row, less what all rows of the pass have in common; the first STEADY rows
 * are of the first run; */
static const int busy_1e3[][3] = {
    {162, 64, -226},    {80, 101, -181},    {259, -285, 26},
    {286, -374, 87},    {223, -81, -142},   {-836, 170, 666},
    {-612, 235, 376},   {63, -54, -9},      {116, -4, -113},
    {-158, -148, 306},  {-170, -149, 319},  {-15, 30, -15},
    {-28, 129, -101},   {77, 136, -213},    {320, -226, -94},
    {-435, -737, 1172}, {-260, -368, 627},  {-148, 22, 127},
    {56, -174, 118},    {171, -214, 43},    {246, -173, -73},
    {420, -385, -34},   {49, 108, -158},    {94, 31, -125},
    {-216, 623, -407},  {-348, 1004, -657}, {579, -72, -508},
    {322, 138, -459},   {-125, -320, 445}};
/* in 1e-3, what all rows of a pass have in common. During the second run the
 * load changed, and with it the speed by a factor of two. */
static const int busy_common_1e3[] = {311, 312, 458, 744, 1013, 228};
enum {
    N_QUIET = sizeof quiet_1e4 / sizeof *quiet_1e4,
    N_BUSY = sizeof busy_1e3 / sizeof *busy_1e3,
    N_COMMON = sizeof busy_common_1e3 / sizeof *busy_common_1e3,
    STEADY = 15
};
enum load { QUIET, STEADY_LOAD, ANY_LOAD };

enum { N_OPS = 8, N_PASSES = 3, N_SAMPLES = 5, N_ROWS = 35, FEWEST = 38 };
/* The rows of a suite, the curves of its probes as one each. */
static const struct {
    const char *op;
    unsigned n;
} ops[N_OPS] = {{"gemm", 5},           {"softmax", 4},
                {"expr", 6},           {"probe_cache", 6},
                {"probe_local", 3},    {"probe_tile", 2},
                {"probe_transfer", 5}, {"probe_coalescing", 4}};

/* How a run is made. */
struct recipe {
    struct xl__rng rng;
    enum load load;
    double slower;     /* times of the planted rows */
    size_t first, end; /* these */
};

static size_t draw_index(struct xl__rng *rng, size_t n)
{
    return (size_t)xl__rng_below(rng, n);
}

/* The pass deviations of a row: drawn passes, or a drawn row in either
 * order. */
static void draw_row(struct recipe *how, double out[N_PASSES])
{
    const size_t row =
        draw_index(&how->rng, how->load == STEADY_LOAD ? STEADY : N_BUSY);
    const size_t first = draw_index(&how->rng, N_PASSES);
    for (size_t k = 0; k < N_PASSES; k++)
        out[k] = how->load != QUIET
                     ? busy_1e3[row][(k + first) % N_PASSES] * 1e-3
                     : quiet_1e4[draw_index(&how->rng, N_QUIET)] * 1e-4;
}

static void add_samples(struct xl__str *out, double ns)
{
    xl__str_add(out, "\"clock\":\"event\",\"unit\":\"flop/s\",\"value\":");
    xl__str_printf(out, "%.9g,\"samples_ns\":[", 1e15 / ns);
    for (int i = 0; i < N_SAMPLES; i++)
        xl__str_printf(out, "%s%.9g", i ? "," : "", ns * (1 + i * 1e-4));
    xl__str_add(out, "]");
}

/* A result document of one run. */
static void make_run(struct recipe *how, struct result_file *out)
{
    struct xl__str text = {0};
    double common[N_PASSES];
    char why[200] = "";
    size_t row = 0;
    const size_t run =
        how->load == ANY_LOAD ? draw_index(&how->rng, N_COMMON / N_PASSES) : 0;
    for (size_t k = 0; k < N_PASSES; k++)
        common[k] = how->load != QUIET
                        ? busy_common_1e3[run * N_PASSES + k] * 1e-3
                        : 0;
    xl__str_add(&text, "{\"schema\":\"clbench/1\",\"tool\":{},\"host\":{},"
                       "\"environment\":{},\"devices\":[{\"index\":0,"
                       "\"name\":\"Chip\",\"platform\":\"P\",\"driver\":\"1\","
                       "\"uuid\":\"u\",\"pci\":null,\"facts\":[]}],"
                       "\"rows\":[");
    for (unsigned o = 0; o < N_OPS; o++)
        for (unsigned i = 0; i < ops[o].n; i++, row++) {
            double dev[N_PASSES];
            const bool is_planted = row >= how->first && row < how->end;
            /* From 2 us to 200 ms, as in a suite. */
            const double base = 2e3 * pow(10, (double)(row * 7 % N_ROWS) / 7) *
                                (is_planted ? how->slower : 1);
            draw_row(how, dev);
            xl__str_printf(&text,
                           "%s{\"id\":\"%s/v%u/n=%u/-/f32/hot\",\"device\":0,"
                           "\"op\":\"%s\",\"variant\":\"v%u\",\"shape\":"
                           "{\"n\":%u},\"params\":{},\"dtype\":\"f32\","
                           "\"cache\":\"hot\",\"verdict\":\"ok\",",
                           row ? "," : "", ops[o].op, i, i + 1, ops[o].op, i,
                           i + 1);
            add_samples(&text, base * exp(dev[0] + common[0]));
            xl__str_add(&text, ",\"passes\":[");
            for (size_t k = 1; k < N_PASSES; k++) {
                xl__str_add(&text, k > 1 ? ",{" : "{");
                add_samples(&text, base * exp(dev[k] + common[k]));
                xl__str_add(&text, "}");
            }
            xl__str_add(&text, "]}");
        }
    assert_int_equal(row, N_ROWS);
    xl__str_add(&text, "]}");
    json_t *document = json_loadb(text.text, text.len, 0, NULL);
    assert_non_null(document);
    if (!result_file_from(document, "run", out, why, sizeof why))
        fail_msg("%s", why);
    xl__str_clear(&text);
}

/* What 40 comparisons found. */
struct tally {
    size_t rows, called, same, named, all_named, gated, only_planted;
};

static void compare_pair(struct recipe *how, struct tally *to)
{
    const struct compare_options options = {.margin = margin,
                                            .assumed = (double)NAN};
    struct result_file file[2];
    struct comparison c;
    struct gate gate = {.slower = margin};
    struct recipe a = *how;
    size_t n_right = 0, n_wrong = 0;
    a.first = a.end = 0;
    make_run(&a, &file[0]);
    how->rng = a.rng;
    make_run(how, &file[1]);
    const struct result_set set_a = {.files = &file[0], .n_files = 1};
    const struct result_set set_b = {.files = &file[1], .n_files = 1};
    assert_true(compare_make(&c, &set_a, &set_b, &options));
    gate_mark(&gate, &c);
    for (size_t i = 0; i < c.n_compared; i++) {
        const struct pair *p = &c.pairs[i];
        const size_t row = (size_t)(p->a - file[0].rows);
        const bool is_called =
            p->ratio.call == CALL_SLOWER || p->ratio.call == CALL_FASTER;
        const bool is_planted = row >= how->first && row < how->end;
        n_right += is_planted && p->ratio.call == CALL_SLOWER;
        n_wrong += is_called && !is_planted;
        to->same += p->ratio.call == CALL_SAME;
        to->rows++;
    }
    const size_t n_planted = how->end - how->first;
    const enum call all = compare_common(&c).call;
    to->called += n_wrong;
    to->only_planted += n_wrong == 0;
    to->named += n_planted > 0 && n_planted < N_ROWS &&
                 (n_right == n_planted || c.ops[0].mean.call == CALL_SLOWER);
    to->all_named += all == CALL_SLOWER;
    to->gated += gate_fails(&gate);
    compare_clear(&c);
    result_file_clear(&file[0]);
    result_file_clear(&file[1]);
}

static struct tally compare_many(uint64_t seed, enum load load, double slower,
                                 size_t first, size_t end)
{
    enum { PAIRS = 40 };
    struct recipe how = {
        .load = load, .slower = slower, .first = first, .end = end};
    struct tally t = {0};
    xl__rng_seed(&how.rng, seed);
    for (int i = 0; i < PAIRS; i++)
        compare_pair(&how, &t);
    print_message("seed %2u %s x%.2f rows %zu..%zu: called %zu of %zu, same "
                  "%zu; named %zu, all %zu, gate %zu, only these %zu of %d\n",
                  (unsigned)seed,
                  load == QUIET      ? "quiet"
                  : load == ANY_LOAD ? "any"
                                     : "steady",
                  slower, first, end, t.called, t.rows, t.same, t.named,
                  t.all_named, t.gated, t.only_planted, PAIRS);
    return t;
}

/* At most 1 % of the rows of equal runs are called different; of quiet ones
 * 80 % are the same. */
static void equal_runs_are_equal(void **state)
{
    (void)state;
    const struct tally quiet = compare_many(1, QUIET, 1, 0, 0);
    assert_true((double)quiet.called <= 0.01 * (double)quiet.rows);
    assert_true((double)quiet.same >= 0.8 * (double)quiet.rows);
    const struct tally busy = compare_many(2, ANY_LOAD, 1, 0, 0);
    assert_true((double)busy.called <= 0.01 * (double)busy.rows);
}

/* Planted 1.3x in one file a side, quiet: found, named, gated in at least 38
 * of 40 pairs. */
static void planted_changes_are_named(void **state)
{
    (void)state;
    const struct tally op = compare_many(3, QUIET, 1.3, 0, ops[0].n);
    assert_true(op.named >= FEWEST && op.gated >= FEWEST);
    const struct tally one = compare_many(4, QUIET, 1.3, 2, 3);
    assert_true(one.named >= FEWEST && one.gated >= FEWEST);
    const struct tally all = compare_many(5, QUIET, 1.3, 0, N_ROWS);
    assert_true(all.all_named >= FEWEST && all.gated >= FEWEST);
}

/* 3x under a load. */
static void large_changes_are_named_under_load(void **state)
{
    (void)state;
    const struct tally op = compare_many(6, STEADY_LOAD, 3, 0, ops[0].n);
    assert_true(op.named >= FEWEST && op.gated >= FEWEST);
    const struct tally all = compare_many(7, STEADY_LOAD, 3, 0, N_ROWS);
    assert_true(all.all_named >= FEWEST && all.gated >= FEWEST);
    /* Where the load changes by a factor of two from pass to pass, what the
     * rows of a pass have in common is taken out: 20 to 26 without that. */
    const struct tally changing = compare_many(8, ANY_LOAD, 3, 0, ops[0].n);
    assert_true(changing.named >= 32 && changing.called == 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_tables),
        cmocka_unit_test(spread_inside_a_run),
        cmocka_unit_test(one_disturbed_pass_does_not_count),
        cmocka_unit_test(calls_follow_intervals),
        cmocka_unit_test(missing_passes_grow_with_the_noise),
        cmocka_unit_test(false_discoveries_are_few),
        cmocka_unit_test(equal_runs_are_equal),
        cmocka_unit_test(planted_changes_are_named),
        cmocka_unit_test(large_changes_are_named_under_load),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
