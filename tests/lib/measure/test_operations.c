/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the analysis functions of the probes of single operations:
 * exponents of divergence, errors in ulps, dot products of bytes. */
#include "support/support.h"

#include <math.h>

#include "base/rng.h"
#include "measure/probe.h"

enum { CURVE = 6 }; /* 1, 2, 4 ... 32 ways */

/* Times that grow with a power of the ways, each off by up to `noise`. */
static double power_of(double power, double noise, uint64_t seed)
{
    double ns[CURVE];
    struct xl__rng rng;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < CURVE; i++) {
        const double off = (double)xl__rng_below(&rng, 1000) / 1000;
        ns[i] = 1e6 * exp2(power * i) * (1 + noise * off);
    }
    return xl__divergence_power(ns, CURVE);
}

static void times_follow_a_power_of_the_ways(void **state)
{
    (void)state;
    for (int i = 0; i <= 4; i++)
        assert_true(fabs(power_of(i / 4.0, 0, 1) - i / 4.0) < 1e-9);
    /* Noise makes times longer, by a fifth at most: log2(1.2) a doubling at
     * the first point, less at the others. */
    for (uint64_t seed = 0; seed < 100; seed++) {
        assert_true(fabs(power_of(1, 0.2, seed) - 1) < log2(1.2));
        assert_true(fabs(power_of(0, 0.2, seed)) < log2(1.2));
    }
}

static void one_bad_point_does_not_matter(void **state)
{
    (void)state;
    for (unsigned bad = 1; bad < CURVE; bad++) {
        double ns[CURVE] = {100, 200, 400, 800, 1600, 3200};
        ns[bad] *= 3;
        assert_true(fabs(xl__divergence_power(ns, CURVE) - 1) < 1e-9);
    }
}

static void too_few_samples_show_nothing(void **state)
{
    (void)state;
    const double ns[CURVE + 2] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_true(isnan(xl__divergence_power(ns + 1, 1)));
    assert_true(isnan(xl__divergence_power(ns + 1, 0)));
    assert_true(isnan(xl__divergence_power(ns, CURVE)));
    assert_true(isnan(xl__divergence_power(ns, CURVE + 2)));
}

static void doubts_about_divergence(void **state)
{
    (void)state;
    /* As expected. */
    assert_null(xl__divergence_fault(0.98, true));
    assert_null(xl__divergence_fault(0.03, false));
    assert_null(xl__divergence_fault(-0.1, false));
    /* Joined ways; items that are no threads; something between; no curve. */
    assert_non_null(xl__divergence_fault(0.02, true));
    assert_non_null(xl__divergence_fault(0.97, false));
    assert_non_null(xl__divergence_fault(0.5, true));
    assert_non_null(xl__divergence_fault(0.5, false));
    assert_non_null(xl__divergence_fault(NAN, true));
}

static void floats_are_so_far_off(void **state)
{
    (void)state;
    const float one = 1, up = nextafterf(1, 2), down = nextafterf(1, 0);
    assert_true(xl__ulps(one, 1) == 0);
    assert_true(xl__ulps(up, 1) == 1);
    assert_true(xl__ulps(down, 1) == 0.5); /* places below 1 are half as big */
    assert_true(xl__ulps(1.5f, 1.5 + 0x1p-24) == 0.5);
    assert_true(xl__ulps(-1024, -1024 - 0x1p-13) == 1);
    assert_true(xl__ulps(0x1p-149f, 0) == 1); /* the least of all */
    assert_true(xl__ulps(INFINITY, INFINITY) == 0);
    assert_true(isinf(xl__ulps(INFINITY, 1e30)));
    assert_true(isinf(xl__ulps(NAN, 1)));
    assert_true(xl__ulps(NAN, NAN) == 0);
}

/* Byte by byte, by another way: through the byte's own type. */
static int64_t product(uint32_t x, uint32_t y, bool x_signed, bool y_signed)
{
    const union {
        uint32_t word;
        int8_t i[4];
        uint8_t u[4];
    } a = {x}, b = {y};
    int64_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += (x_signed ? a.i[i] : a.u[i]) * (y_signed ? b.i[i] : b.u[i]);
    return sum;
}

static void dot_products_of_bytes(void **state)
{
    (void)state;
    struct xl__rng rng;
    xl__rng_seed(&rng, 4);
    for (unsigned i = 0; i < 4000; i++) {
        const bool xs = i & 1, ys = i & 2;
        const uint32_t x = (uint32_t)xl__rng_below(&rng, 1ull << 32);
        const uint32_t y = (uint32_t)xl__rng_below(&rng, 1ull << 32);
        const uint32_t c = (uint32_t)xl__rng_below(&rng, 1ull << 32);
        assert_int_equal(xl__dot4(x, y, c, xs, ys, false),
                         (uint32_t)(c + product(x, y, xs, ys)));
    }
    const uint32_t most = 0x7f7f7f7f, least = 0x80808080;
    assert_int_equal(xl__dot4(least, least, 0, true, true, false), 65536);
    assert_int_equal(xl__dot4(least, least, 0, false, false, false), 65536);
    assert_int_equal(xl__dot4(least, most, 0, true, false, false),
                     (uint32_t)-65024);
    /* Sums that leave the range wrap, or stay at its end. */
    assert_int_equal(xl__dot4(most, most, INT32_MAX, true, true, false),
                     (uint32_t)INT32_MAX + 64516u);
    assert_int_equal(xl__dot4(most, most, INT32_MAX, true, true, true),
                     INT32_MAX);
    assert_int_equal(
        xl__dot4(most, least, (uint32_t)INT32_MIN, true, true, true),
        (uint32_t)INT32_MIN);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_follow_a_power_of_the_ways),
        cmocka_unit_test(one_bad_point_does_not_matter),
        cmocka_unit_test(too_few_samples_show_nothing),
        cmocka_unit_test(doubts_about_divergence),
        cmocka_unit_test(floats_are_so_far_off),
        cmocka_unit_test(dot_products_of_bytes),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
