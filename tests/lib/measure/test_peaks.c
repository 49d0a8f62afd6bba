/* SPDX-License-Identifier: Apache-2.0 */
/* What roofline.h and probes.h state of facts that are measured, on PoCL:
 * peaks are measured once per device, again on request, and never lowered. */
#include <string.h>

#include "runtime/context.h"
#include "support/support.h"

#include <crosslane/measure.h>

static struct test_device t;

static void ok(xl_status status)
{
    assert_status(status, XL_OK, xl_error_detail(t.queue));
}

static double measured(const char *name)
{
    xl_fact fact;
    ok(xl_device_fact(t.device, name, XL_MEASURED, &fact));
    return fact.value;
}

static void once_and_never_lower(void **state)
{
    static const xl_roof roof = {.dtype = XL_F32, .level = XL_LEVEL_DRAM};
    static const double low = 1, high = 1e30;
    struct xl__limits *l = &t.device->seen;
    xl_queue *other = NULL;
    xl_bound bound;
    (void)state;
    assert_int_equal(xl_roofline_bound(t.device, &roof, 1, 1, &bound),
                     XL_UNSUPPORTED);
    ok(xl_peaks_measure(t.queue, XL_F32));
    assert_true(measured("peak_f32_flop_per_s") > 0 &&
                measured("copy_bytes_per_s") > 0);
    ok(xl_roofline_bound(t.device, &roof, 1, 1, &bound));
    assert_true(bound.value > 0);
    assert_string_equal(bound.unit, "flop/s");
    ok(xl_roofline_bound(t.device, &roof, 0, 1, &bound));
    assert_string_equal(bound.unit, "B/s");
    /* Not measured again, by no queue of the device: a low rate stays. */
    xl__limits_measure(l, XL__F_peak_f32_flop_per_s, high);
    xl__limits_measure(l, XL__F_copy_bytes_per_s, low);
    ok(xl_peaks_measure(t.queue, XL_F32));
    ok(xl_queue_create(t.lib, t.device, &other));
    assert_status(xl_peaks_measure(other, XL_F32), XL_OK, "");
    xl_queue_destroy(other);
    assert_true(measured("copy_bytes_per_s") == low);
    /* On request it is, and the higher result is kept. */
    ok(xl_peaks_measure_again(t.queue, XL_F32));
    assert_true(measured("peak_f32_flop_per_s") == high);
    assert_true(measured("copy_bytes_per_s") > low);
}

static void what_cannot_be_measured(void **state)
{
    const xl_probing how = {.quick = true};
    (void)state;
    assert_int_equal(xl_peaks_measure(t.queue, XL_BOOL), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), "bool"));
    assert_int_equal(xl_peaks_measure_matrix(t.queue, XL_F16, false),
                     XL_UNSUPPORTED);
    assert_string_not_equal(xl_error_detail(t.queue), "");
    assert_int_equal(xl_probe_run(t.queue, "none", &how, NULL, NULL),
                     XL_BAD_ARGUMENT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_and_never_lower),
        cmocka_unit_test(what_cannot_be_measured),
    };
    test_args(argc, argv);
    test_device_open(&t, NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&t);
    return failed;
}
