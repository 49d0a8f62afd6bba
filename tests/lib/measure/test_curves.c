/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the steps of compute units and of the knee of latency hiding:
 * curves of simulated devices with noise of a fixed seed, searched as the
 * probes search real ones. */
#include "support/support.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/probe.h"

enum { MOST = 1300 };

static struct xl__group_time stair[MOST];

/* -- devices -------------------------------------------------------------- */

struct machine {
    size_t units;
    double launch; /* in groups' times */
    double overlap; /* of a second group's time, what it costs; 1: all */
    double noise;  /* of a time: up to so much longer */
    unsigned far;  /* every so-manieth time is twice as long; 0: none */
};

static double time_of(const struct machine *m, struct xl__rng *rng,
                      size_t groups)
{
    const double steps = (double)xl__ceil_div(groups, m->units);
    const double even = m->launch + 1 + (steps - 1) * m->overlap;
    const double off = (double)xl__rng_below(rng, 1000) / 1000;
    const bool far = m->far && xl__rng_below(rng, m->far) == 0;
    return even * (1 + m->noise * off) * (far ? 2 : 1);
}

/* As PoCL does it: at least 32 to a thread, then half of what is left. */
static double time_by_the_dozen(size_t groups, unsigned threads)
{
    double busy[8] = {0};
    while (groups > 0) {
        unsigned idle = 0;
        size_t take = xl__max_size(32, xl__ceil_div(groups, threads));
        take = xl__min_size(take, groups);
        for (unsigned i = 1; i < threads; i++)
            idle = busy[i] < busy[idle] ? i : idle;
        busy[idle] += (double)take;
        groups -= take;
    }
    double last = 0;
    for (unsigned i = 0; i < threads; i++)
        last = fmax(last, busy[i]);
    return last;
}

static double whole_curve(const struct machine *m, uint64_t seed)
{
    struct xl__rng rng;
    unsigned n = 0;
    xl__rng_seed(&rng, seed);
    for (size_t groups = 1; groups <= 3 * m->units + 1; groups++)
        stair[n++] = (struct xl__group_time){groups, time_of(m, &rng, groups)};
    return xl__steps_width(stair, n);
}

/* The counts that the quick way times. */
static double searched(const struct machine *m, uint64_t seed, unsigned *n)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    *n = 0;
    for (size_t groups = 1; groups;
         groups = xl__steps_next_count(stair, *n, XL__CPU_GROUPS, 4096))
        stair[(*n)++] =
            (struct xl__group_time){groups, time_of(m, &rng, groups)};
    const size_t edge = xl__steps_edge(stair, *n);
    for (size_t i = 2 * edge; edge && i <= 3 * edge; i += edge) {
        stair[(*n)++] = (struct xl__group_time){i, time_of(m, &rng, i)};
        stair[(*n)++] =
            (struct xl__group_time){i + 1, time_of(m, &rng, i + 1)};
    }
    return xl__steps_width(stair, *n);
}

/* -- stairs --------------------------------------------------------------- */

static void units_are_the_width_of_a_step(void **state)
{
    (void)state;
    static const size_t units[] = {1, 2, 3, 8, 32, 108, 120, 132, 144, 304};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        const struct machine m = {units[i], 0.05, 1, 0, 0};
        unsigned n;
        assert_true(whole_curve(&m, 1) == (double)units[i]);
        assert_true(searched(&m, 1, &n) == (double)units[i]);
        assert_in_range(n, 8, 30);
    }
}

static void noise_moves_no_step(void **state)
{
    (void)state;
    static const size_t units[] = {2, 32, 108, 132};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            const struct machine m = {units[i], 0.1, 1, 0.08, 0};
            const struct machine far = {units[i], 0.1, 1, 0.03, 40};
            unsigned n;
            assert_true(whole_curve(&m, seed) == (double)units[i]);
            assert_true(searched(&m, seed, &n) == (double)units[i]);
            if (units[i] > 2) /* seven points do not bear it */
                assert_true(whole_curve(&far, seed) == (double)units[i]);
        }
    }
}

/* A second group on a unit that partly hides its time behind the first. */
static void groups_that_share_a_unit_still_step(void **state)
{
    (void)state;
    const struct machine m = {132, 0.05, 0.7, 0.02, 0};
    unsigned n;
    assert_true(whole_curve(&m, 3) == 132);
    assert_true(searched(&m, 3, &n) == 132);
}

static void no_steps_are_no_units(void **state)
{
    (void)state;
    unsigned n = 0;
    for (size_t groups = 1; groups <= 128; groups *= 2)
        stair[n++] =
            (struct xl__group_time){groups, time_by_the_dozen(groups, 2)};
    assert_true(isnan(xl__steps_width(stair, n)));
    for (n = 0; n < 200; n++) /* every count: 32 to a thread, then halves */
        stair[n] = (struct xl__group_time){n + 1, time_by_the_dozen(n + 1, 2)};
    assert_true(isnan(xl__steps_width(stair, n)));
    /* Two threads of one core: a second group costs 0.3 of the first. */
    for (n = 0; n < 60; n++)
        stair[n] = (struct xl__group_time){n + 1, 1.3 * ((n + 1) / 2) +
                                                      (n % 2 ? 0 : 1)};
    assert_true(isnan(xl__steps_width(stair, n)));
    for (n = 0; n < 100; n++) /* the launch hides it all */
        stair[n] = (struct xl__group_time){n + 1, 100 + 0.01 * n};
    assert_true(isnan(xl__steps_width(stair, n)));
    const struct machine wild = {8, 0.1, 1, 4, 0};
    assert_true(isnan(whole_curve(&wild, 5)));
    assert_true(isnan(xl__steps_width(stair, 1)));
}

static void a_search_ends(void **state)
{
    (void)state;
    unsigned n = 0;
    for (size_t groups = 4; groups;
         groups = xl__steps_next_count(stair, n, 0, 1024))
        stair[n++] = (struct xl__group_time){groups, 1}; /* never any longer */
    assert_int_equal(n, 9);
    assert_int_equal(stair[8].groups, 1024);
    assert_int_equal(xl__steps_edge(stair, n), 0);
    n = 0;
    for (size_t groups = 132; groups; /* 32 small groups a unit */
         groups = xl__steps_next_count(stair, n, 0, 256 * 132))
        stair[n++] =
            (struct xl__group_time){groups, groups > 4224 ? 1.9 : 1.1};
    assert_int_equal(xl__steps_edge(stair, n), 4224);
    assert_in_range(n, 1, 20);
}

/* -- the knee ------------------------------------------------------------- */

/* Little's law: rate = min(under way / latency, most). */
static double knee_of(double latency, double most, double noise, double first)
{
    struct xl__concurrency_point at[16];
    struct xl__rng rng;
    unsigned n = 0;
    xl__rng_seed(&rng, 7);
    for (double under_way = first; n < 12; under_way *= 2) {
        const double off = (double)xl__rng_below(&rng, 1000) / 1000;
        at[n++] = (struct xl__concurrency_point){
            under_way, fmin(under_way / latency, most) * (1 - noise * off)};
    }
    return xl__rate_knee(at, n);
}

static void knees_follow_littles_law(void **state)
{
    (void)state;
    assert_true(knee_of(4, 128, 0, 32) == 512);
    assert_true(knee_of(4, 128, 0.05, 32) == 512);
    assert_true(knee_of(650, 1.5, 0.05, 128) == 1024); /* 975, rounded up */
    assert_true(knee_of(1, 4, 0.05, 8) == 8); /* busy from the first on */
    assert_true(isnan(knee_of(1000, 1e9, 0.05, 8))); /* climbs to the end */
    assert_true(isnan(xl__rate_knee(NULL, 0)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_the_width_of_a_step),
        cmocka_unit_test(noise_moves_no_step),
        cmocka_unit_test(groups_that_share_a_unit_still_step),
        cmocka_unit_test(no_steps_are_no_units),
        cmocka_unit_test(a_search_ends),
        cmocka_unit_test(knees_follow_littles_law),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
