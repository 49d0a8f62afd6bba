/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of an application from one cache folder to another, as on a
 * second machine: its first calls build nothing from source. On the stub,
 * whose kernels do nothing, the verdict is a failure; over a real driver the
 * results are right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "support/support.h"

enum { SIDE = 40, ELEMS = SIDE * SIDE };

static bool is_stub;
static const struct xl_control *control;

/* What the driver was asked for. */
struct counts {
    unsigned long sources, launches;
};

static struct counts count(void)
{
    return (struct counts){control->calls("clCreateProgramWithSource"),
                           control->calls("clEnqueueNDRangeKernel")};
}

static struct counts since(struct counts before)
{
    const struct counts now = count();
    return (struct counts){now.sources - before.sources,
                           now.launches - before.launches};
}

/* One product and one expression of ones: 1 + 40. */
static void run_calls(xl_queue *q)
{
    static const size_t size[2] = {SIDE, SIDE};
    float x[ELEMS];
    cl_mem a, c;
    xl_expr *e = NULL;
    for (unsigned i = 0; i < ELEMS; i++)
        x[i] = 1;
    assert_status(xl_buffer_create(q, sizeof x, &a), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_buffer_create(q, sizeof x, &c), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_buffer_write(q, a, 0, x, sizeof x), XL_OK,
                  xl_error_detail(q));
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .alpha = 1,
                       .a = xl_mat_rows(a, SIDE, XL_F32),
                       .b = xl_mat_rows(a, SIDE, XL_F32),
                       .c = xl_mat_rows(c, SIDE, XL_F32)};
    const xl_binding c_is = {.name = "c",
                             .tensor = xl_tensor_dense(c, XL_F32, 2, size)};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = &c_is,
                               .n_bindings = 1};
    const xl_status want = is_stub ? XL_UNTRUSTED : XL_OK;
    assert_status(xl_gemm_run(q, &g, NULL), want, xl_error_detail(q));
    assert_status(xl_expr_compile(q, "c = c + 1", &args, &e), want,
                  xl_error_detail(q));
    if (!is_stub) {
        assert_status(xl_expr_run(q, e, &args, NULL), XL_OK,
                      xl_error_detail(q));
        assert_status(xl_buffer_read(q, c, 0, x, sizeof x), XL_OK,
                      xl_error_detail(q));
        for (unsigned i = 0; i < ELEMS; i++)
            assert_true(x[i] == SIDE + 1);
    }
    xl_expr_destroy(e);
    clReleaseMemObject(a);
    clReleaseMemObject(c);
}

static void open_in(struct test_device *t, const char *cache)
{
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = cache};
    test_device_open(t, &options);
}

/* What calls of another process would make, with this cache folder; `uuid`:
 * of the card, NULL: its own. */
static struct counts calls_with(const char *cache, const char *uuid)
{
    struct test_device t;
    open_in(&t, cache);
    if (uuid)
        xl__limits_correct_text(&t.device->limits, XL__F_uuid, uuid, XL_KNOWN,
                                "GE-01");
    const struct counts before = count();
    run_calls(t.queue);
    const struct counts made = since(before);
    test_device_close(&t);
    return made;
}

/* Exports the cache of calls; `path` is the file's. */
static uint64_t export_calls(char *path, size_t cap)
{
    struct test_device t;
    xl_cache_copy copy;
    const char *cache = test_scratch("copy_from");
    snprintf(path, cap, "%s/programs", cache);
    open_in(&t, cache);
    const struct counts before = count();
    run_calls(t.queue);
    assert_true(since(before).sources > 0);
    assert_status(xl_cache_export(t.lib, NULL, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_true(copy.n_copied >= 4); /* a program and a verdict of each */
    assert_int_equal(copy.n_foreign + copy.n_damaged, 0);
    test_device_close(&t);
    return copy.n_copied;
}

static void second_machine(void **state)
{
    struct test_device t;
    xl_cache_copy copy;
    char path[1024], cache[1024];
    const uint64_t n = export_calls(path, sizeof path);
    (void)state;
    snprintf(cache, sizeof cache, "%s", test_scratch("copy_to"));
    open_in(&t, cache);
    assert_status(xl_cache_import(t.lib, t.device, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_int_equal(copy.n_copied, n);
    assert_status(xl_cache_import(t.lib, NULL, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_int_equal(copy.n_known, n);
    test_device_close(&t);
    const struct counts first = calls_with(cache, NULL);
    const struct counts again = calls_with(cache, NULL);
    assert_int_equal(first.sources, 0);
    assert_int_equal(first.launches, again.launches); /* no self-check */
    if (is_stub)
        assert_int_equal(first.launches, 0);
}

/* Another card of the kind: its verdicts are its own, its programs are not. */
static void another_card(void **state)
{
    struct test_device t;
    xl_cache_copy copy;
    char path[1024], cache[1024];
    const uint64_t n = export_calls(path, sizeof path);
    (void)state;
    snprintf(cache, sizeof cache, "%s", test_scratch("copy_to"));
    open_in(&t, cache);
    xl__limits_correct_text(&t.device->limits, XL__F_uuid, "card-2", XL_KNOWN,
                            "GE-01");
    assert_status(xl_cache_import(t.lib, t.device, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_true(copy.n_copied > 0 && copy.n_foreign > 0);
    assert_int_equal(copy.n_copied + copy.n_foreign, n);
    test_device_close(&t);
    const struct counts first = calls_with(cache, "card-2");
    const struct counts again = calls_with(cache, "card-2");
    assert_int_equal(first.sources, 0);
    assert_true(first.launches > again.launches); /* checked, once */
}

/* A file of another driver is no error, and gives nothing. */
static void another_driver(void **state)
{
    struct test_device t;
    xl_cache_copy copy;
    char path[1024];
    const uint64_t n = export_calls(path, sizeof path);
    (void)state;
    open_in(&t, test_scratch("copy_to"));
    xl__limits_correct_text(&t.device->limits, XL__F_driver, "another",
                            XL_KNOWN, "GE-01");
    assert_status(xl_cache_import(t.lib, t.device, path, &copy), XL_OK,
                  xl_lib_error(t.lib));
    assert_int_equal(copy.n_copied, 0);
    assert_int_equal(copy.n_foreign, n);
    assert_int_equal(
        xl_cache_import(t.lib, t.device, "/nowhere/programs", &copy), XL_IO);
    assert_non_null(strstr(xl_lib_error(t.lib), "/nowhere/programs"));
    assert_int_equal(copy.n_foreign, 0);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_machine),
        cmocka_unit_test(another_card),
        cmocka_unit_test(another_driver),
    };
    test_args(argc, argv);
    is_stub = getenv("XL_STUB_DEVICE") != NULL;
    control = is_stub ? test_stub() : test_layer();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
