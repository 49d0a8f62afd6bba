/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the statistics of comparisons by simulation: how often equal runs
 * are classified as different while whole runs shift, and whether a real
 * slowdown is found. Without a device. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "compare/compare.h"

enum { N_OPS = 6, PER_OP = 20, N_ROWS = N_OPS * PER_OP, N_SAMPLES = 9 };
static const double margin = 2; /* percent */

/* Standard deviation of the rows of each op between runs: transfers and caches
 * vary more than products. */
static const double deviations[N_OPS] = {0.002, 0.002, 0.01, 0.01, 0.02, 0.1};

/* Two simulated runs of the same machine; the second has a synthetic
 * slowdown. */
struct simulation {
    struct xl__rng rng;
    double scale;      /* of `deviations` */
    double inside;     /* deviation of a sample in a run */
    bool is_heavy;     /* tails of Student's t with 3 degrees of freedom */
    double slowdown;   /* log ratio of rows first..end - 1 */
    size_t first, end;
};

static double draw(struct simulation *w)
{
    const double z = xl__rng_normal(&w->rng);
    if (!w->is_heavy)
        return z;
    double chi = 0;
    for (int i = 0; i < 3; i++) {
        const double x = xl__rng_normal(&w->rng);
        chi += x * x;
    }
    return z / sqrt(chi / 3);
}

/* Simulates a run: a shift of all rows, of each op, of each row. */
static void simulate_run(struct simulation *w, bool is_b, double *level,
                         double *within)
{
    const double all = 0.5 * deviations[2] * w->scale * draw(w);
    for (unsigned o = 0; o < N_OPS; o++) {
        const double op = 0.5 * deviations[o] * w->scale * draw(w);
        for (unsigned r = 0; r < PER_OP; r++) {
            const size_t i = o * PER_OP + r;
            double ns[N_SAMPLES];
            level[i] = all + op + deviations[o] * w->scale * draw(w);
            if (is_b && i >= w->first && i < w->end)
                level[i] += w->slowdown;
            for (int k = 0; k < N_SAMPLES; k++)
                ns[k] = 1e6 * exp(level[i] +
                                  w->inside * xl__rng_normal(&w->rng));
            within[i] = noise_within(ns, N_SAMPLES);
        }
    }
}

static void difference(struct simulation *w, bool is_b, struct shift *out)
{
    static double a[N_ROWS], b[N_ROWS], in_a[N_ROWS], in_b[N_ROWS];
    simulate_run(w, false, a, in_a);
    simulate_run(w, is_b, b, in_b);
    for (size_t i = 0; i < N_ROWS; i++)
        out[i] = (struct shift){.log_ratio = b[i] - a[i],
                                .within = in_a[i] + in_b[i],
                                .runs = 2,
                                .op = (unsigned)(i / PER_OP)};
}

/* Counts the rows first..end - 1 with a classification. */
static size_t count(const struct shift *rows, size_t first, size_t end,
                    enum call call)
{
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        n += ratio_of(&rows[i], margin).call == call;
    return n;
}

static size_t wrong_calls(const struct shift *rows)
{
    return count(rows, 0, N_ROWS, CALL_SLOWER) +
           count(rows, 0, N_ROWS, CALL_FASTER);
}

/* -- estimates ------------------------------------------------------------ */

static void quantiles_are_those_of_tables(void **state)
{
    (void)state;
    assert_true(fabs(noise_normal_quantile(0.5)) < 1e-6);
    assert_true(fabs(noise_normal_quantile(0.975) - 1.959964) < 1e-5);
    assert_true(fabs(noise_normal_quantile(0.9995) - 3.290527) < 1e-5);
    assert_true(fabs(noise_student_quantile(0.5)) < 1e-6);
    assert_true(fabs(noise_student_quantile(0.975) - 2.776445) < 1e-5);
    assert_true(fabs(noise_student_quantile(0.9995) - 8.610302) < 1e-5);
}

/* Few and many samples give the same deviation, and more than eight samples of
 * one process count as eight. */
static void spread_inside_a_run(void **state)
{
    static const size_t sizes[] = {2, 3, 4, 5, 6, 9, 40};
    enum { REPEATS = 4000, MOST = 40 };
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
        if (inside < 0.9 * expected || inside > 1.8 * expected)
            fail_msg("%zu samples: %g of %g", sizes[s], inside, expected);
    }
    assert_true(isnan(noise_within(ns, 1)) && isnan(noise_within(ns, 0)));
}

static void noise_is_found_beside_changes(void **state)
{
    enum { N = 400 };
    static struct shift list[N];
    static const double deviation = 0.03;
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 11);
    for (size_t i = 0; i < N; i++) {
        list[i] = (struct shift){.within = 1e-4};
        list[i].log_ratio =
            sqrt(deviation * deviation + 1e-4) * xl__rng_normal(&rng);
        if (i % 4 == 0)
            list[i].log_ratio += 0.5;
    }
    const double found = sqrt(noise_estimate(list, N, NOISE_FROM_REPEATS));
    assert_true(found > 0.8 * deviation && found < 1.9 * deviation);
    for (size_t i = 0; i < N; i++)
        list[i].within = 1; /* samples explain all of it */
    assert_true(noise_estimate(list, N, NOISE_FROM_REPEATS) < 1e-9);
    assert_true(noise_estimate(list, 0, NOISE_FROM_REPEATS) < 1e-9);
}

static void calls_follow_intervals(void **state)
{
    static const struct {
        double lo, log_ratio, hi;
        enum call call;
    } cases[] = {
        {0.01, 0.10, 0.20, CALL_SLOWER},
        {-0.20, -0.10, -0.01, CALL_FASTER},
        {-0.01, 0.10, 0.20, CALL_AMBIGUOUS},
        {-0.01, 0.00, 0.01, CALL_SAME},
        {0.005, 0.010, 0.015, CALL_SAME},      /* real, and nothing */
        {0.005, 0.015, 0.030, CALL_AMBIGUOUS}, /* perhaps beyond 2 % */
        {-0.05, 0.00, 0.05, CALL_AMBIGUOUS},   /* perhaps not the same */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct shift s = {.log_ratio = cases[i].log_ratio,
                                .lo = cases[i].lo,
                                .hi = cases[i].hi};
        assert_int_equal(ratio_of(&s, margin).call, cases[i].call);
    }
}

/* -- equal runs ----------------------------------------------------------- */

static void equal_runs_are_rarely_called(void **state)
{
    enum { REPEATS = 60 };
    static struct shift rows[N_ROWS];
    static const struct {
        double scale, inside;
        bool is_heavy;
        double most, most_of_one; /* share of rows called, of a comparison */
    } cases[] = {
        {1, 0.005, false, 0.005, 0.05},
        {0.05, 0.002, false, 0.005, 0.05}, /* a quiet GPU */
        {5, 0.10, false, 0.005, 0.05},     /* a shared CPU */
        /* An op may jump as a whole now and then. */
        {1, 0.005, true, 0.02, 1.0 / N_OPS},
        {5, 0.05, true, 0.02, 1.0 / N_OPS},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulation w = {.scale = cases[c].scale,
                               .inside = cases[c].inside,
                               .is_heavy = cases[c].is_heavy};
        struct noise noise;
        double all = 0, worst = 0;
        xl__rng_seed(&w.rng, 100 + c);
        for (int t = 0; t < REPEATS; t++) {
            difference(&w, true, rows);
            assert_true(noise_from_rows(&noise, rows, N_ROWS));
            noise_intervals(&noise, rows, N_ROWS);
            const double share = (double)wrong_calls(rows) / N_ROWS;
            all += share / REPEATS;
            worst = fmax(worst, share);
        }
        if (all > cases[c].most || worst > cases[c].most_of_one)
            fail_msg("case %zu: %g of rows called, %g at most", c, all,
                     worst);
    }
}

/* A gate fails on a single row: what counts is the share of comparisons with
 * any classified row. Here each row has heavy tails of its own. */
static void few_equal_comparisons_have_a_call(void **state)
{
    enum { REPEATS = 200 };
    static struct shift rows[N_ROWS];
    static const double deviation = 0.1;
    struct simulation w = {.is_heavy = true};
    struct noise noise;
    size_t n_called = 0;
    (void)state;
    xl__rng_seed(&w.rng, 21);
    for (int t = 0; t < REPEATS; t++) {
        for (size_t i = 0; i < N_ROWS; i++)
            rows[i] = (struct shift){.log_ratio = deviation * draw(&w),
                                     .within = 1e-6,
                                     .runs = 2,
                                     .op = (unsigned)(i / PER_OP)};
        assert_true(noise_from_rows(&noise, rows, N_ROWS));
        noise_intervals(&noise, rows, N_ROWS);
        n_called += wrong_calls(rows) > 0;
    }
    assert_true(n_called <= 0.1 * REPEATS);
}

static void no_difference_is_no_call(void **state)
{
    static struct shift rows[N_ROWS];
    struct noise noise;
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++)
        rows[i] = (struct shift){.runs = 2, .op = (unsigned)(i / PER_OP)};
    assert_true(noise_from_rows(&noise, rows, N_ROWS));
    noise_intervals(&noise, rows, N_ROWS);
    assert_int_equal(count(rows, 0, N_ROWS, CALL_SAME), N_ROWS);
}

/* -- real changes --------------------------------------------------------- */

/* One op is 20 % slower: its mean is found where most rows differ by 1 %
 * between runs and some by 5 %, each of its rows where the noise is half as
 * large. */
static void a_slow_op_is_found(void **state)
{
    static const struct {
        double scale, least_of_rows;
    } cases[] = {{0.5, 0}, {0.25, 0.9}};
    enum { REPEATS = 40, OP = 2 };
    static struct shift rows[N_ROWS];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulation w = {.scale = cases[c].scale,
                               .inside = 0.005,
                               .slowdown = log(1.2),
                               .first = OP * PER_OP,
                               .end = (OP + 1) * PER_OP};
        struct noise noise;
        size_t n_rows = 0, n_ops = 0, n_wrong_ops = 0;
        xl__rng_seed(&w.rng, 5);
        for (int t = 0; t < REPEATS; t++) {
            difference(&w, true, rows);
            assert_true(noise_from_rows(&noise, rows, N_ROWS));
            noise_intervals(&noise, rows, N_ROWS);
            n_rows += count(rows, w.first, w.end, CALL_SLOWER);
            for (unsigned o = 0; o < N_OPS; o++) {
                const struct shift mean =
                    noise_mean(&noise, rows, N_ROWS, o, N_OPS);
                const enum call call = ratio_of(&mean, margin).call;
                n_ops += o == OP && call == CALL_SLOWER;
                n_wrong_ops += o != OP && (call == CALL_SLOWER ||
                                           call == CALL_FASTER);
            }
        }
        if ((double)n_rows < cases[c].least_of_rows * REPEATS * PER_OP)
            fail_msg("case %zu: %zu rows", c, n_rows);
        assert_true(n_ops >= 0.95 * REPEATS);
        assert_true(n_wrong_ops <= 0.05 * REPEATS * (N_OPS - 1));
    }
}

/* Without noise between runs, samples that vary by 2 % do not hide 20 %: the
 * heavy tails do not apply to samples. */
static void samples_keep_their_tails(void **state)
{
    enum { OP = 2 };
    static struct shift rows[N_ROWS];
    struct noise noise;
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++)
        rows[i] = (struct shift){.within = 0.02 * 0.02,
                                 .runs = 2,
                                 .op = (unsigned)(i / PER_OP)};
    for (size_t i = 0; i < PER_OP; i++)
        rows[OP * PER_OP + i].log_ratio = log(1.2);
    assert_true(noise_from_rows(&noise, rows, N_ROWS));
    noise_intervals(&noise, rows, N_ROWS);
    assert_int_equal(count(rows, OP * PER_OP, (OP + 1) * PER_OP, CALL_SLOWER),
                     PER_OP);
    assert_int_equal(wrong_calls(rows), PER_OP);
}

/* A quarter of the rows of an op; all rows of all ops. */
static void few_rows_and_all_rows_are_found(void **state)
{
    static const struct {
        size_t first, end;
        double least;
    } cases[] = {{0, PER_OP / 4, 0.95}, {0, N_ROWS, 0.6}};
    enum { REPEATS = 20 };
    static struct shift rows[N_ROWS];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulation w = {.scale = 0.5,
                               .inside = 0.002,
                               .slowdown = log(1.2),
                               .first = cases[c].first,
                               .end = cases[c].end};
        struct noise noise;
        size_t n = 0;
        xl__rng_seed(&w.rng, 50 + c);
        for (int t = 0; t < REPEATS; t++) {
            difference(&w, true, rows);
            assert_true(noise_from_rows(&noise, rows, N_ROWS));
            noise_intervals(&noise, rows, N_ROWS);
            n += count(rows, w.first, w.end, CALL_SLOWER);
        }
        const double share = (double)n / REPEATS / (double)(w.end - w.first);
        if (share < cases[c].least)
            fail_msg("case %zu: %g of the rows", c, share);
    }
}

/* If half of the rows of every op changed, the noise cannot be estimated from
 * the rows, but from repeats. */
static void repeats_show_noise_that_rows_cannot(void **state)
{
    static struct shift rows[N_ROWS], repeats[2 * N_ROWS];
    struct simulation w = {.scale = 0.5, .inside = 0.002};
    struct noise noise;
    (void)state;
    xl__rng_seed(&w.rng, 9);
    difference(&w, false, repeats);
    difference(&w, false, repeats + N_ROWS);
    difference(&w, false, rows);
    for (size_t i = 0; i < N_ROWS; i += 2)
        rows[i].log_ratio += (i % 4 ? -1 : 1) * log(1.5);
    assert_true(noise_from_rows(&noise, rows, N_ROWS));
    noise_intervals(&noise, rows, N_ROWS);
    assert_int_equal(wrong_calls(rows), 0);
    assert_true(noise_from_repeats(&noise, repeats, 2 * N_ROWS));
    noise_intervals(&noise, rows, N_ROWS);
    assert_true(wrong_calls(rows) > 0.7 * N_ROWS / 2);
    assert_true(wrong_calls(rows) <= N_ROWS / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_tables),
        cmocka_unit_test(spread_inside_a_run),
        cmocka_unit_test(noise_is_found_beside_changes),
        cmocka_unit_test(calls_follow_intervals),
        cmocka_unit_test(equal_runs_are_rarely_called),
        cmocka_unit_test(few_equal_comparisons_have_a_call),
        cmocka_unit_test(no_difference_is_no_call),
        cmocka_unit_test(a_slow_op_is_found),
        cmocka_unit_test(samples_keep_their_tails),
        cmocka_unit_test(few_rows_and_all_rows_are_found),
        cmocka_unit_test(repeats_show_noise_that_rows_cannot),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
