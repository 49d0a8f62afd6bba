/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of self-checks: kept for one build of the library and one card,
 * while the binary serves every build and card of its kind. */
#include <crosslane/cache.h>
#include <stdio.h>
#include <stdlib.h>
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
    assert_non_null(strstr(xl__str_text(&key[0]), xl__text(l, XL__F_uuid)));
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

/* -- programs that cannot be compiled -------------------------------------
 */

/* Compilations of a process that makes one product with this cache, and its
 * status. `code`: what the driver's compiler returns. */
static unsigned long compile(const char *cache, cl_int code, xl_status want)
{
    const struct xl_control *stub = test_stub();
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache,
                                .skip_selfcheck = true};
    struct test_device t;
    xl_gemm g = {XL_GEMM_INIT, .m = 64,    .n = 64,
                 .k = 64,      .alpha = 1, .variant = "gemm_ref"};
    g.a = g.b = g.c = xl_mat_rows(NULL, 64, XL_F32);
    test_device_open(&t, &options);
    stub->reset();
    if (code != CL_SUCCESS)
        stub->arm("clBuildProgram", 1, code);
    assert_status(xl_gemm_prepare(t.queue, &g), want,
                  xl_error_detail(t.queue));
    const unsigned long n = stub->calls("clBuildProgram");
    if (n == 0 && want == XL_BUILD_FAILED)
        assert_non_null(
            strstr(xl_error_detail(t.queue), "clbench cache clear"));
    stub->reset();
    test_device_close(&t);
    return n;
}

/* A compiler's error is known to later processes; a failed allocation is not a
 * verdict. */
static void compiler_errors_are_kept(void **state)
{
    const char *cache = test_scratch("compile");
    (void)state;
    assert_int_equal(
        compile(cache, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY), 1);
    assert_int_equal(compile(cache, CL_BUILD_PROGRAM_FAILURE, XL_BUILD_FAILED),
                     1);
    assert_int_equal(compile(cache, CL_SUCCESS, XL_BUILD_FAILED), 0);
}

/* Removes its entry, and compiles again. */
static void compiled_after_clear(void **state)
{
    const char *cache = test_scratch("compile");
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache};
    uint64_t n = 0;
    struct test_device t;
    (void)state;
    compile(cache, CL_BUILD_PROGRAM_FAILURE, XL_BUILD_FAILED);
    test_device_open(&t, &options);
    assert_status(xl_cache_clear(t.lib, false, &n), XL_OK, "");
    assert_int_equal(n, 1);
    test_device_close(&t);
    assert_int_equal(compile(cache, CL_SUCCESS, XL_OK), 1);
}

struct failures {
    struct xl__store *store;
    unsigned n;
};

static void ignore(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}

/* Writes the failure again as one of a library with other sources. */
static void age_failure(const xl_cache_entry *entry, void *arg)
{
    struct failures *f = arg;
    struct xl__entry e;
    assert_true(xl__store_get(f->store, entry->key, &e));
    assert_int_equal(e.trust, XL__FAILED);
    e.payload[0] = e.payload[0] == '0' ? '1' : '0';
    xl__store_put(f->store, entry->key, e.payload, e.n_bytes, e.trust);
    free(e.payload);
    f->n++;
}

/* Another library may succeed: it does not take the failure. */
static void another_library_compiles(void **state)
{
    const char *cache = test_scratch("compile");
    struct xl__store s;
    struct failures f = {.store = &s};
    (void)state;
    compile(cache, CL_BUILD_PROGRAM_FAILURE, XL_BUILD_FAILED);
    assert_status(xl__store_init(&s, cache, NULL, UINT64_MAX, ignore, NULL),
                  XL_OK, "");
    assert_status(xl__store_list(&s, age_failure, &f), XL_OK, "");
    assert_int_equal(f.n, 1);
    xl__store_clear(&s);
    assert_int_equal(compile(cache, CL_SUCCESS, XL_OK), 1);
}

/* A program file takes it to a second machine. */
static void failures_are_exported(void **state)
{
    char path[1024];
    const char *cache = test_scratch("compile");
    struct test_device t;
    xl_cache_copy copy;
    (void)state;
    compile(cache, CL_BUILD_PROGRAM_FAILURE, XL_BUILD_FAILED);
    snprintf(path, sizeof path, "%s/programs", cache);
    xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache};
    test_device_open(&t, &options);
    assert_status(xl_cache_export(t.lib, NULL, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_int_equal(copy.n_copied, 1);
    assert_status(xl_cache_clear(t.lib, false, NULL), XL_OK, "");
    assert_status(xl_cache_import(t.lib, NULL, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    test_device_close(&t);
    assert_int_equal(compile(cache, CL_SUCCESS, XL_BUILD_FAILED), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_has_build_and_card),
        cmocka_unit_test(each_card_is_checked),
        cmocka_unit_test(compiler_errors_are_kept),
        cmocka_unit_test(compiled_after_clear),
        cmocka_unit_test(another_library_compiles),
        cmocka_unit_test(failures_are_exported),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
