/* SPDX-License-Identifier: Apache-2.0 */
/* crosslane/profile.h: a saved profile selects in libraries that are opened
 * later, not in the one that saved it; bad profiles are refused and change no
 * file. On the stub. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static char *folder;

static void open_device(struct test_device *t)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = "", .tuned_dir = folder};
    test_device_open(t, &options);
}

static xl_choice chosen(xl_queue *q)
{
    xl_gemm g = {XL_GEMM_INIT, .m = 512, .n = 512, .k = 512, .alpha = 1};
    xl_choice c[16];
    unsigned n;
    g.a = g.b = g.c = xl_mat_rows(NULL, 512, XL_F32);
    assert_status(xl_gemm_explain(q, &g, c, 16, &n), XL_OK,
                  xl_error_detail(q));
    assert_true(n > 0 && c[0].chosen);
    return c[0];
}

static double calibrated(const xl_device *dev)
{
    xl_fact fact;
    assert_int_equal(
        xl_device_fact(dev, "peak_f32_flop_per_s", XL_CALIBRATED, &fact),
        XL_OK);
    assert_true(isnan(fact.value) == (fact.source == XL_UNKNOWN));
    return fact.value;
}

static void selects_later(void **state)
{
    const xl_profile slow = {.n_rates = 1,
                             .rates = {{"peak_f32_flop_per_s", 1e9}}};
    struct test_device t;
    xl_profile found;
    (void)state;
    open_device(&t);
    assert_status(xl_profile_find(t.queue, &found), XL_OK, "");
    assert_int_equal(found.n_rates, 0);
    const double before = chosen(t.queue).est_ns;
    assert_status(xl_profile_save(t.queue, &slow, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_profile_find(t.queue, &found), XL_OK, "");
    assert_int_equal(found.n_rates, 1);
    assert_true(found.rates[0].value == 1e9);
    assert_string_equal(found.library, xl_version());
    assert_true(*found.driver &&
                strlen(found.date) == strlen("0000-00-00T00:00:00Z"));
    assert_true(isnan(calibrated(t.device)));
    xl_queue *other;
    assert_status(xl_queue_create(t.lib, t.device, &other), XL_OK, "");
    assert_true(chosen(other).est_ns == before);
    xl_queue_destroy(other);
    test_device_close(&t);
    /* 512^3 products of 1e9 flop/s take at least 0.27 s. */
    open_device(&t);
    assert_true(calibrated(t.device) == 1e9);
    assert_true(chosen(t.queue).est_ns >= 2 * 512. * 512 * 512);
    test_device_close(&t);
}

static void refused(void **state)
{
    static const struct {
        xl_profile profile;
        const char *why;
    } bad[] = {
        {{.n_rates = 0}, "1 to 32 rates"},
        {{.n_rates = XL_PROFILE_RATES + 1}, "1 to 32 rates"},
        {{.n_rates = 1, .rates = {{"speed", 1}}}, "'speed' is not a rate"},
        {{.n_rates = 1, .rates = {{"compute_units", 1}}}, "not a rate"},
        {{.n_rates = 1, .rates = {{"launch_ns", 0}}}, "positive"},
        {{.n_rates = 1, .rates = {{"launch_ns", -1}}}, "positive"},
        {{.n_rates = 1, .rates = {{"launch_ns", NAN}}}, "positive"},
        {{.n_rates = 1, .rates = {{"launch_ns", INFINITY}}}, "positive"},
    };
    struct test_device t;
    xl_profile long_name = {.n_rates = 1, .rates = {{"", 1}}}, found;
    (void)state;
    open_device(&t);
    xl_profile before;
    assert_status(xl_profile_find(t.queue, &before), XL_OK, "");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(xl_profile_save(t.queue, &bad[i].profile, NULL),
                         XL_BAD_ARGUMENT);
        assert_non_null(strstr(xl_error_detail(t.queue), bad[i].why));
    }
    memset(long_name.rates[0].fact, 'x', sizeof long_name.rates[0].fact);
    assert_int_equal(xl_profile_save(t.queue, &long_name, NULL),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_profile_save(NULL, &before, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_profile_save(t.queue, NULL, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_profile_find(t.queue, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_profile_save(t.queue, &before, "/proc/no/x.json"),
                     XL_IO);
    assert_status(xl_profile_find(t.queue, &found), XL_OK, "");
    assert_memory_equal(&found, &before, sizeof found);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(selects_later),
                                       cmocka_unit_test(refused)};
    test_args(argc, argv);
    folder = strdup(test_scratch("profile"));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(folder);
    return failed;
}
