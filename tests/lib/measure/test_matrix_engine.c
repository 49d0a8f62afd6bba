/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the expected products of the matrix engine probe, computed another
 * way: whole matrices from the element layout of the instructions, then three
 * loops. No device. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "device/peak_rates.h"
#include "measure/compute/matrix_engine.h"
#include "targets/targets.h"

enum { M = 128, N = 8, K = 64, LANES = 32, TILES_A = 4, TILES_B = 2 };

static double a[M][K], b[K][N];
static const xl_matrix_op one = {.fragments = "mma", .lanes = LANES},
                          four = {.fragments = "wgmma", .lanes = 4 * LANES};

static const struct xl__matrix_type *type_of(xl_dtype in)
{
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++)
        if (xl__matrix_types[t].in == in)
            return &xl__matrix_types[t];
    fail_msg("no such type");
    return NULL;
}

/* Element e of an f16 word. */
static double half_of(unsigned i, unsigned e)
{
    const struct xl__matrix_type *f16 = type_of(XL_F16);
    const uint32_t word = (xl__probe_word(0, i) & f16->keep) | f16->set;
    return (double)xl__f16_to_f32((uint16_t)(word >> 16 * e));
}

static double product(unsigned row, unsigned col, unsigned k)
{
    double sum = 0;
    for (unsigned p = 0; p < k; p++)
        sum += a[row][p] * b[p][col];
    return sum;
}

/* m16n8k16: four words of A, two of B, two elements each. */
static void fill_team(unsigned i, unsigned j)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned e = 0; e < 8; e++) {
            const unsigned w = e / 2, k = lane % 4 * 2 + e % 2 + w / 2 * 8;
            a[lane / 4 + w % 2 * 8][k] =
                half_of((i * 4 + w) * LANES + lane, e % 2);
        }
        for (unsigned e = 0; e < 4; e++) {
            const unsigned w = e / 2, k = lane % 4 * 2 + e % 2 + w * 8;
            b[k][lane / 4] = half_of(1024 + (j * 2 + w) * LANES + lane, e % 2);
        }
    }
}

static void a_sub_groups_products_are_the_hosts(void **state)
{
    (void)state;
    double expected[LANES] = {0}, off;
    for (unsigned i = 0; i < TILES_A; i++) {
        for (unsigned j = 0; j < TILES_B; j++) {
            fill_team(i, j);
            for (unsigned lane = 0; lane < LANES; lane++)
                expected[lane] += product(lane / 4, lane % 4 * 2, 16);
        }
    }
    for (unsigned item = 0; item < 2 * LANES; item++) {
        const double got =
            xl__matrix_expected(&one, type_of(XL_F16), item, &off);
        assert_true(fabs(got - expected[item % LANES]) <= 1e-9);
        assert_true(off > 0 && off < 1);
    }
}

/* Lines of 128 bytes; chunk c of line r is at c ^ r % 8. */
static void fill_teams(void)
{
    for (unsigned byte = 0; byte < (M + N) * 128; byte += 2) {
        const unsigned line = byte / 128;
        const unsigned chunk = (byte / 16 % 8) ^ (line % 8);
        const unsigned k = chunk * 8 + byte / 2 % 8;
        const double x = half_of(byte / 4, byte / 2 % 2);
        if (line < M)
            a[line][k] = x;
        else
            b[k][line - M] = x;
    }
}

static void four_sub_groups_products_are_the_hosts(void **state)
{
    (void)state;
    double off;
    fill_teams();
    for (unsigned item = 0; item < XL__MATRIX_CHECKED; item++) {
        const unsigned lane = item % LANES, row = item / LANES * 16 + lane / 4;
        const double got =
            xl__matrix_expected(&four, type_of(XL_F16), item, &off);
        assert_true(fabs(got - product(row, lane % 4 * 2, K)) <= 1e-9);
    }
}

/* What is compared must not be 0 by chance or by a lost sign. */
static void numbers_differ(void **state)
{
    (void)state;
    for (unsigned t = 0; t < XL__N_MATRIX_TYPES; t++) {
        unsigned n_small = 0;
        for (unsigned item = 0; item < XL__MATRIX_CHECKED; item++) {
            double off;
            const double x =
                xl__matrix_expected(&four, &xl__matrix_types[t], item, &off);
            assert_true(isfinite(x) && isfinite(off));
            n_small += fabs(x) <= off;
        }
        assert_true(n_small < XL__MATRIX_CHECKED / 4);
    }
}

/* An engine that keeps 12 bits of a sum cuts it at each of 256 instructions: by
 * half of that in all, since the sum grows from nothing. */
static void cutting_is_allowed_for(void **state)
{
    static const double cut = 256 * 0x1p-12 / 2, exact = 1 - 1e-9;
    struct xl__matrix_type uncut = *type_of(XL_F8E4M3);
    (void)state;
    uncut.cut = 0;
    for (unsigned item = 0; item < XL__MATRIX_CHECKED; item++) {
        double off, without;
        const double x =
            xl__matrix_expected(&four, type_of(XL_F8E4M3), item, &off);
        (void)xl__matrix_expected(&four, &uncut, item, &without);
        assert_true(off - without >= cut * exact * fabs(x));
    }
}

static void rates_are_by_clock_until_measured(void **state)
{
    (void)state;
    struct xl__limits l;
    xl__limits_init(&l);
    assert_true(xl__rate_matrix(&l, XL_F16) == 0);
    assert_true(xl__bound_matrix(&l, XL_F16) == 0);
    xl__limits_correct(&l, XL__F_compute_units, 132, XL_KNOWN, "");
    xl__limits_correct(&l, XL__F_clock_hz, 2e9, XL_KNOWN, "");
    xl__nvidia_matrix_engine(90, &l);
    const double f16 = 132 * 2e9 * 4096;
    assert_true(xl__rate_matrix(&l, XL_F16) == f16);
    assert_true(xl__bound_matrix(&l, XL_I8) == 2 * f16);
    assert_true(xl__bound_matrix(&l, XL_F64) == 0);
    xl__limits_measure(&l, xl__peak_matrix(XL_F16), 8e14);
    assert_true(xl__rate_matrix(&l, XL_F16) == 8e14);
    assert_true(xl__bound_matrix(&l, XL_F16) == f16);
    assert_true(xl__rate_matrix(&l, XL_F64) == 0);
    xl__limits_clear(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sub_groups_products_are_the_hosts),
        cmocka_unit_test(four_sub_groups_products_are_the_hosts),
        cmocka_unit_test(numbers_differ),
        cmocka_unit_test(cutting_is_allowed_for),
        cmocka_unit_test(rates_are_by_clock_until_measured),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
