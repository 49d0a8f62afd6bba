/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of self-checks: kept for one build of the library and one card,
 * while the binary serves every build and card of its kind. */
#include <string.h>

#include "device/device.h"
#include "runtime/program.h"
#include "support/support.h"

static void key_has_build_and_card(void **state)
{
    struct xl__str key[3] = {{0}};
    struct test_device t;
    (void)state;
    test_device_open(&t, NULL);
    const struct xl__limits *l = &t.device->limits;
    xl__verdict_key("program\n", xl__build_hash, l, &key[0]);
    xl__verdict_key("program\n", xl__build_hash, l, &key[1]);
    xl__verdict_key("program\n", "another", l, &key[2]);
    assert_int_equal(strlen(xl__build_hash), 32);
    assert_string_equal(xl__str_text(&key[0]), xl__str_text(&key[1]));
    assert_string_not_equal(xl__str_text(&key[0]), xl__str_text(&key[2]));
    assert_non_null(
        strstr(xl__str_text(&key[0]), xl__text(l, XL__F_uuid)));
    for (unsigned i = 0; i < 3; i++)
        xl__str_clear(&key[i]);
    test_device_close(&t);
}

/* Prepares a product with a variant of its own; kernels of the stub do
 * nothing, so that its verdict is a failure. The self-check runs if launches
 * are counted. */
struct counts {
    unsigned long launches, compilations;
};

static struct counts prepare(const char *cache, const char *uuid)
{
    const struct xl_control *stub = test_stub();
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache};
    struct test_device t;
    xl_gemm g = {XL_GEMM_INIT, .m = 64,    .n = 64,
                 .k = 64,      .alpha = 1, .variant = "gemm_ref"};
    g.a = g.b = g.c = xl_mat_rows(NULL, 64, XL_F32);
    test_device_open(&t, &options);
    xl__limits_correct_text(&t.device->limits, XL__F_uuid, uuid, XL_KNOWN,
                            "GE-01");
    const struct counts before = {stub->calls("clEnqueueNDRangeKernel"),
                                  stub->calls("clCreateProgramWithSource")};
    assert_status(xl_gemm_prepare(t.queue, &g), XL_UNTRUSTED,
                  xl_error_detail(t.queue));
    const struct counts after = {
        stub->calls("clEnqueueNDRangeKernel") - before.launches,
        stub->calls("clCreateProgramWithSource") - before.compilations};
    test_device_close(&t);
    return after;
}

static void each_card_is_checked(void **state)
{
    const char *cache = test_scratch("verdict");
    (void)state;
    struct counts c = prepare(cache, "card-1");
    assert_true(c.launches > 0 && c.compilations > 0);
    c = prepare(cache, "card-1"); /* the verdict is known */
    assert_int_equal(c.launches + c.compilations, 0);
    c = prepare(cache, "card-2"); /* its binary is known */
    assert_true(c.launches > 0);
    assert_int_equal(c.compilations, 0);
    c = prepare(cache, "card-2");
    assert_int_equal(c.launches + c.compilations, 0);
    c = prepare(cache, "card-1"); /* each has its own */
    assert_int_equal(c.launches + c.compilations, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_has_build_and_card),
        cmocka_unit_test(each_card_is_checked),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
