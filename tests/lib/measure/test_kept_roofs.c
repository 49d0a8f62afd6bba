/* SPDX-License-Identifier: Apache-2.0 */
/* Roofs on disk, on the stub driver: what one library saves the next one
 * loads; the higher rate stays, and an impossible one is not kept. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include <crosslane/measure.h>

#include "measure/probe.h"
#include "runtime/context.h"

struct listed {
    unsigned n;
    xl_kept_roof last;
};

static void hear(const xl_kept_roof *roof, void *arg)
{
    struct listed *l = arg;
    l->n++;
    l->last = *roof;
}

static unsigned count_roofs(xl_lib *lib, struct listed *l)
{
    *l = (struct listed){.n = 0};
    assert_status(xl_roofs_list(lib, hear, l), XL_OK, xl_lib_error(lib));
    return l->n;
}

static void save(const xl_options *options, double copy, const char *state)
{
    struct test_device t;
    test_device_open(&t, options);
    xl__probe_raise_fact(&t.device->seen, XL__F_copy_bytes_per_s, copy);
    assert_status(xl_roofs_save(t.queue, state), XL_OK, "");
    test_device_close(&t);
}

static void the_higher_one_stays(void **state)
{
    const xl_options options = {XL_OPTIONS_INIT,
                                .cache_dir = test_scratch("kept")};
    struct listed l;
    struct test_device t;
    (void)state;
    save(&options, 2e9, "QUIET (a)");
    save(&options, 1e9, "BUSY (b)");  /* lower */
    save(&options, 1e15, "QUIET (c)"); /* no memory is that fast */
    test_device_open(&t, &options);
    assert_int_equal(count_roofs(t.lib, &l), 1);
    assert_string_equal(l.last.fact, "copy_bytes_per_s");
    assert_string_equal(l.last.conditions, "QUIET (a)");
    assert_true(l.last.value == 2e9 && l.last.date[0] && l.last.device[0]);
    /* What is kept is measured; selection does not see it. */
    assert_status(xl_roofs_load(t.queue), XL_OK, "");
    assert_true(xl__num(&t.device->seen, XL__F_copy_bytes_per_s) == 2e9);
    assert_true(t.device->limits.measured[XL__F_copy_bytes_per_s].source !=
                XL_MEASURED);
    uint64_t n = 0;
    assert_status(xl_roofs_remove(t.lib, &n), XL_OK, "");
    assert_int_equal(n, 1);
    assert_int_equal(count_roofs(t.lib, &l), 0);
    assert_status(xl_roofs_load(t.queue), XL_UNSUPPORTED, "");
    test_device_close(&t);
}

static void rates_are_in_order(void **state)
{
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    struct xl__limits *l = &t.device->seen;
    xl__probe_raise_fact(l, XL__F_peak_f32_flop_per_s, 1e9);
    xl__probe_raise_fact(l, XL__F_peak_f64_flop_per_s, 2e9);
    assert_true(xl__num(l, XL__F_peak_f32_flop_per_s) == 2e9);
    xl__probe_raise_fact(l, XL__F_llc_bytes_per_s, 1e9);
    xl__probe_raise_fact(l, XL__F_copy_bytes_per_s, 3e9);
    assert_true(xl__num(l, XL__F_llc_bytes_per_s) == 3e9);
    test_device_close(&t);
}

static void one_burst_is_no_roof(void **state)
{
    const double wrong_once[] = {10, 30, 21, 20, 40};
    const double apart[] = {10, 20, 40};
    (void)state;
    assert_true(xl__confirmed_best(wrong_once, 5) == 20);
    assert_true(isnan(xl__confirmed_best(apart, 3)));
    assert_true(isnan(xl__confirmed_best(apart, 0)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_higher_one_stays),
        cmocka_unit_test(rates_are_in_order),
        cmocka_unit_test(one_burst_is_no_roof),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
