/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the analysis of transfer times, without a device: curves computed
 * from a latency and a rate, with noise. */
#include "support/support.h"

#include <math.h>

#include "base/rng.h"
#include "measure/host/transfers.h"

enum { N = 9, MOST_POINTS = 16 };

static void assert_within(double got, double expected, double share)
{
    if (!(fabs(got - expected) <= share * fabs(expected)))
        fail_msg("%g is not %g within %g", got, expected, share);
}

/* -- half of the best rate ------------------------------------------------- */

/* 4 KiB to 256 MiB in steps of 4: latency and rate, and noise of either
 * sign. */
static void transfers(double latency_ns, double bytes_per_ns, double noise,
                      uint64_t seed, double *bytes, double *ns)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < N; i++) {
        bytes[i] = 4096.0 * pow(4, i);
        ns[i] = (latency_ns + bytes[i] / bytes_per_ns) *
                (1 + noise * (2 * xl__rng_uniform(&rng) - 1));
    }
}

/* Latency times rate, by Hockney's law. */
static void half_rates_are_found(void **state)
{
    (void)state;
    double bytes[N], ns[N];
    transfers(10e3, 50, 0, 1, bytes, ns);
    assert_within(xl__half_rate_bytes(bytes, ns, N), 10e3 * 50, 0.02);
    transfers(100e3, 5, 0, 1, bytes, ns);
    assert_within(xl__half_rate_bytes(bytes, ns, N), 100e3 * 5, 0.02);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        transfers(10e3, 50, 0.05, seed, bytes, ns);
        /* Half of what is too high by e is reached at 1 + 2 e, and the two
         * points that it lies between have noise of their own. */
        assert_within(xl__half_rate_bytes(bytes, ns, N), 10e3 * 50, 0.25);
    }
}

static void half_rates_need_a_slow_point(void **state)
{
    (void)state;
    double bytes[N], ns[N];
    transfers(1, 50, 0, 1, bytes, ns); /* 4 KiB is far beyond it */
    assert_true(isnan(xl__half_rate_bytes(bytes, ns, N)));
    assert_true(isnan(xl__half_rate_bytes(bytes, ns, 1)));
    assert_true(isnan(xl__half_rate_bytes(bytes, ns, 0)));
    /* A small size that was fast by chance does not count. */
    transfers(10e3, 50, 0, 1, bytes, ns);
    ns[1] = bytes[1] / 45;
    assert_within(xl__half_rate_bytes(bytes, ns, N), 10e3 * 50, 0.02);
    /* The best may be in the middle, where a cache helps: half is 30 then. */
    transfers(10e3, 50, 0, 1, bytes, ns);
    ns[5] = bytes[5] / 60;
    assert_within(xl__half_rate_bytes(bytes, ns, N),
                  10e3 / (1 / 30.0 - 1 / 50.0), 0.02);
}

/* -- zero copy ------------------------------------------------------------- */

static void maps_that_move_nothing(void **state)
{
    (void)state;
    assert_true(xl__moves_nothing(20e3, 6e6));  /* a CPU's */
    assert_false(xl__moves_nothing(6e6, 5e6));  /* staged */
    assert_false(xl__moves_nothing(1.2e6, 3e6)); /* pinned beside pageable */
    assert_false(xl__moves_nothing(20e3, NAN)); /* nothing to hold it against */
}

/* -- overlap --------------------------------------------------------------- */

static void overlap_is_a_share_of_the_shorter(void **state)
{
    (void)state;
    assert_within(xl__overlap(10, 4, 10), 1, 1e-9);
    assert_within(xl__overlap(4, 10, 10), 1, 1e-9);
    assert_within(xl__overlap(10, 4, 12), 0.5, 1e-9);
    assert_true(fabs(xl__overlap(10, 4, 14)) < 1e-9);
    assert_true(xl__overlap(10, 4, 20) < 0); /* slower than one after the
                                                other */
    assert_string_equal(xl__overlap_text(0.95), "both at the same time");
    assert_string_equal(xl__overlap_text(1.1), "both at the same time");
    assert_string_equal(xl__overlap_text(0.5), "partly at the same time");
    assert_string_equal(xl__overlap_text(0.05),
                        "one after the other: no overlap");
    assert_string_equal(xl__overlap_text(-2),
                        "one after the other: no overlap");
    assert_string_equal(xl__overlap_text(NAN), "");
}

/* -- break-even ------------------------------------------------------------ */

/* 10^2, 10^3 ...: a device of a fixed cost and a rate against a host of a
 * rate. */
static double crossing(double cost_ns, double device_per_ns,
                       double host_per_ns, double noise, uint64_t seed,
                       unsigned count)
{
    double n[MOST_POINTS], host[MOST_POINTS], device[MOST_POINTS];
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < count; i++) {
        n[i] = pow(10, i + 2);
        host[i] = n[i] / host_per_ns *
                  (1 + noise * (2 * xl__rng_uniform(&rng) - 1));
        device[i] = (cost_ns + n[i] / device_per_ns) *
                    (1 + noise * (2 * xl__rng_uniform(&rng) - 1));
    }
    return xl__break_even(n, host, device, count);
}

static void crossings_are_found(void **state)
{
    (void)state;
    /* n / 2 = 10 us + n / 300. */
    const double expected = 10e3 / (1 / 2.0 - 1 / 300.0);
    assert_within(crossing(10e3, 300, 2, 0, 1, 7), expected, 1e-9);
    for (uint64_t seed = 1; seed <= 50; seed++)
        assert_within(crossing(10e3, 300, 2, 0.15, seed, 7), expected, 0.35);
}

static void never_and_always_are_answers(void **state)
{
    (void)state;
    assert_true(isnan(crossing(10e3, 1, 2, 0, 1, 7)));  /* a slow link */
    assert_true(isnan(crossing(1e12, 300, 2, 0, 1, 7))); /* beyond the last */
    assert_true(isnan(crossing(10e3, 300, 2, 0, 1, 0)));
    assert_within(crossing(1, 300, 2, 0, 1, 7), 100, 1e-9);
    /* A host that stumbles once does not make the device win there. */
    const double n[] = {100, 1000, 10000, 100000};
    const double host[] = {50, 90e3, 5000, 50e3};
    const double device[] = {10e3, 10e3, 10e3, 10e3};
    assert_within(xl__break_even(n, host, device, 4), 20e3, 0.05);
    /* Nor does one that wins again at the end. */
    const double late[] = {50, 500, 20e3, 500};
    assert_true(isnan(xl__break_even(n, late, device, 4)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_rates_are_found),
        cmocka_unit_test(half_rates_need_a_slow_point),
        cmocka_unit_test(maps_that_move_nothing),
        cmocka_unit_test(overlap_is_a_share_of_the_shorter),
        cmocka_unit_test(crossings_are_found),
        cmocka_unit_test(never_and_always_are_answers),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
