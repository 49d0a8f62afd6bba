/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of base/dtype.h (elements on the host), base/numbers.h and
 * base/str.h: values computed by hand and properties over all values
 * of the narrow types. */
#include "support/support.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "base/str.h"
#include "base/numbers.h"

/* -- elements --------------------------------------------------------------*/

/* What is stored is loaded again, also at an address that is not aligned, and
 * the neighbours are unchanged. */
static void dtype_stores_and_loads(void **state)
{
    enum { N = 3 };
    static const double x[XL_N_DTYPES] = {
        [XL_F32] = -0.75,     [XL_F16] = 65504,
        [XL_BF16] = 1.5,      [XL_F64] = 0x1.0000000000001p0,
        [XL_I32] = INT32_MIN, [XL_I8] = -128,
        [XL_U8] = 255,        [XL_BOOL] = 1,
        [XL_F8E4M3] = 448,    [XL_F8E5M2] = -57344,
        [XL_I64] = -0x1p63,   [XL_U32] = UINT32_MAX,
        [XL_U16] = 65535};
    (void)state;
    for (int d = 0; d < XL_N_DTYPES; d++) {
        const xl_dtype dtype = (xl_dtype)d;
        unsigned char bytes[8 * N + 1] = {0};
        xl__dtype_store(bytes + 1, 1, dtype, x[d]);
        assert_true(xl__dtype_load(bytes + 1, 1, dtype) == x[d]);
        assert_true(xl__dtype_load(bytes + 1, 0, dtype) == 0);
        assert_true(xl__dtype_load(bytes + 1, 2, dtype) == 0);
        assert_int_equal(bytes[0], 0);
    }
    assert_true(isnan(xl__dtype_load("", 0, XL_N_DTYPES)));
}

static void dtype_rounds(void **state)
{
    static const struct {
        double x;
        xl_dtype dtype;
        double expected;
    } cases[] = {
        {1 + 0x1p-12, XL_F16, 1},
        {1 + 0x1p-25, XL_F32, 1},
        {1 + 3 * 0x1p-11, XL_F16, 1 + 0x1p-9}, /* a tie goes to even */
        {1e9, XL_F16, INFINITY},
        {1e9, XL_F8E4M3, 448},
        {2.9, XL_I32, 2},
        {-2.9, XL_I8, -2},
        {1e12, XL_I32, INT32_MAX},
        {-1e12, XL_I32, INT32_MIN},
        {200, XL_I8, 127},
        {-5, XL_U8, 0},
        {1e30, XL_I64, 0x1p63},
        {-1e30, XL_I64, -0x1p63},
        {-2.9, XL_I64, -2},
        {-1, XL_U32, 0},
        {1e10, XL_U32, UINT32_MAX},
        {65535.9, XL_U16, 65535},
        {NAN, XL_U16, 0},
        {NAN, XL_I32, 0},
        {0.5, XL_BOOL, 1},
        {0, XL_BOOL, 0},
        {NAN, XL_BOOL, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(xl__dtype_round(cases[i].x, cases[i].dtype) ==
                    cases[i].expected);
    assert_true(isnan(xl__dtype_round(NAN, XL_BF16)));
    assert_true(xl__to_i64(0x1p63) == INT64_MAX);
    assert_true(xl__to_i64(-0x1p63) == INT64_MIN);
    assert_true(xl__scalar_fits(1 - 0x1p53, XL_I64));
    assert_false(xl__scalar_fits(0x1p53, XL_I64));
    assert_false(xl__scalar_fits(0.5, XL_I64));
}

/* 1 + u rounds to 1 (a tie, to even), 1 + 2 u is the next number. */
static void dtype_unit_roundoff_is_half_a_step(void **state)
{
    static const xl_dtype floats[] = {XL_F32, XL_F16,    XL_BF16,
                                      XL_F64, XL_F8E4M3, XL_F8E5M2};
    (void)state;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        const double u = xl__dtype_unit_roundoff(floats[i]);
        assert_true(xl__dtype_round(1 + u, floats[i]) == 1);
        assert_true(xl__dtype_round(1 + 2 * u, floats[i]) == 1 + 2 * u);
        assert_true(xl__dtype_underflow(floats[i]) > 0);
    }
    assert_true(xl__dtype_unit_roundoff(XL_I32) == 0);
    assert_true(xl__dtype_unit_roundoff(XL_N_DTYPES) == 0);
    assert_true(xl__dtype_underflow(XL_BOOL) == 0);
    /* Half of the smallest subnormal: it rounds to 0, twice it does not. */
    assert_true(xl__dtype_round(0x1p-25, XL_F16) == 0);
    assert_true(xl__dtype_round(0x1p-24, XL_F16) == 0x1p-24);
    assert_true(xl__dtype_round(xl__dtype_underflow(XL_F8E4M3), XL_F8E4M3) ==
                0);
    assert_true(
        xl__dtype_round(2 * xl__dtype_underflow(XL_F8E5M2), XL_F8E5M2) > 0);
}

/* -- whole numbers ---------------------------------------------------------*/

static void numbers_gcd(void **state)
{
    (void)state;
    assert_int_equal(xl__gcd(12, 18), 6);
    assert_int_equal(xl__gcd(18, 12), 6);
    assert_int_equal(xl__gcd(7, 0), 7);
    assert_int_equal(xl__gcd(0, 7), 7);
    assert_int_equal(xl__gcd(0, 0), 0);
    assert_int_equal(xl__gcd(UINT64_MAX, 3), 3);
}

static void numbers_powers_of_two(void **state)
{
    static const uint64_t top = (uint64_t)1 << 63;
    (void)state;
    assert_false(xl__is_power_of_two(0));
    assert_int_equal(xl__floor_power_of_two(0), 1);
    assert_int_equal(xl__ceil_power_of_two(0), 1);
    for (unsigned e = 0; e < 64; e++) {
        const uint64_t x = (uint64_t)1 << e;
        assert_true(xl__is_power_of_two(x));
        assert_int_equal(xl__floor_log2(x), e);
        assert_int_equal(xl__ceil_power_of_two(x), x);
        assert_int_equal(xl__floor_power_of_two(x), x);
        if (e < 2)
            continue;
        assert_false(xl__is_power_of_two(x - 1));
        assert_int_equal(xl__floor_power_of_two(x - 1), x / 2);
        assert_int_equal(xl__ceil_power_of_two(x - 1), x);
    }
    assert_int_equal(xl__floor_power_of_two(UINT64_MAX), top);
    assert_int_equal(xl__ceil_power_of_two(UINT64_MAX), 0);
}

/* -- edit distance ---------------------------------------------------------*/

static size_t distance(const char *a, const char *b)
{
    return xl__edit_distance(a, strlen(a), b, strlen(b));
}

static void edit_distance_counts_letters(void **state)
{
    char longest[XL__EDIT_DISTANCE_LETTERS + 2] = "";
    (void)state;
    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("sitting", "kitten"), 3);
    assert_int_equal(distance("device", "devcie"), 2);
    assert_int_equal(distance("sum", "sum"), 0);
    memset(longest, 'x', XL__EDIT_DISTANCE_LETTERS);
    assert_int_equal(distance(longest, ""), XL__EDIT_DISTANCE_LETTERS);
    longest[XL__EDIT_DISTANCE_LETTERS] = 'x';
    assert_true(distance(longest, "") == SIZE_MAX);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtype_stores_and_loads),
        cmocka_unit_test(dtype_rounds),
        cmocka_unit_test(dtype_unit_roundoff_is_half_a_step),
        cmocka_unit_test(numbers_gcd),
        cmocka_unit_test(numbers_powers_of_two),
        cmocka_unit_test(edit_distance_counts_letters),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
