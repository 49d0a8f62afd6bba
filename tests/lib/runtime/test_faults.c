/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with the fault layer over a real driver: each OpenCL call made by
 * opening, building, one small GEMM and one expression is made to fail, one at
 * a time. The result must be correct or absent, no object may be leaked, and
 * the driver must work afterwards. test_errors.c tests more flows on the stub
 * driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/gemm_cases.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 3, MAX_CALLS = 2000 };

/* clang-format off */
static const struct gemm_case small = {
    "small", CASE_VERIFY, 17, 19, 23, 0, 1, 1, XL_F32, XL_F32,
    0, 0, 0, 0, 0, 0, false, false, DATA_NORMAL, CASE_ONE};
/* clang-format on */

/* x = x^2 + 1 in place; small whole numbers, so exactly. */
static xl_status square(xl_queue *q, struct check_result *r)
{
    enum { N = 37 };
    const size_t size = N;
    float x[N];
    cl_mem mem = NULL;
    xl_expr *e = NULL;
    xl_binding b = {.name = "x"};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = &b,
                               .n_bindings = 1};
    for (unsigned i = 0; i < N; i++)
        x[i] = (float)i;
    xl_status status = xl_buffer_create(q, sizeof x, &mem);
    if (status == XL_OK)
        status = xl_buffer_write(q, mem, 0, x, sizeof x);
    b.tensor = xl_tensor_dense(mem, XL_F32, 1, &size);
    if (status == XL_OK)
        status = xl_expr_compile(q, "x = x^2 + 1", &args, &e);
    if (status == XL_OK)
        status = xl_expr_run(q, e, &args, NULL);
    if (status == XL_OK)
        status = xl_buffer_read(q, mem, 0, x, sizeof x);
    for (unsigned i = 0; i < N && status == XL_OK; i++)
        r->right = r->right && x[i] == (float)(i * i + 1);
    xl_expr_destroy(e);
    if (mem)
        clReleaseMemObject(mem);
    return status;
}

/* From opening to closing; `message` is of what failed, if anything did. */
static xl_status use(struct check_result *r, char *message, size_t cap)
{
    struct test_device t = {NULL, NULL, NULL};
    unsigned n = 0;

    message[0] = '\0';
    xl_status status = xl_open(NULL, &t.lib);
    if (status == XL_OK)
        status = xl_device_count(t.lib, &n);
    if (status == XL_OK)
        status = xl_queue_create(t.lib, xl_device_at(t.lib, 0), &t.queue);
    if (status != XL_OK)
        snprintf(message, cap, "%s", xl_lib_error(t.lib));
    if (status == XL_OK) {
        status = verify_gemm(t.queue, &small, NULL, SEED, r);
        if (status == XL_OK)
            status = square(t.queue, r);
        if (status != XL_OK)
            snprintf(message, cap, "%s%s", r->why, xl_error_detail(t.queue));
    }
    test_device_close(&t);
    return status;
}

/* False when the fault did not happen. */
static bool try_fault(const char *entry, unsigned call)
{
    const struct xl_control *layer = test_layer();
    const long before = layer->live();
    struct check_result r = {0};
    char message[1024];

    layer->reset();
    layer->arm(entry, call, CL_OUT_OF_RESOURCES);
    const xl_status status = use(&r, message, sizeof message);
    const bool fired = layer->fired() != 0;
    layer->reset();
    if (status == XL_WRONG_RESULT || (status == XL_OK && !r.right))
        fail_msg("%s #%u: a wrong result: %s", entry, call, r.why);
    if (status != XL_OK && (!fired || message[0] == '\0'))
        fail_msg("%s #%u: %s without a message", entry, call,
                 xl_status_name(status));
    if (layer->live() != before)
        fail_msg("%s #%u: %ld references more than before", entry, call,
                 layer->live() - before);
    return fired;
}

static void every_call(void **state)
{
    const struct xl_control *layer = test_layer();
    struct check_result r;
    char message[1024];
    unsigned total = 0;

    (void)state;
    /* Once for the caches, so that no build is waited for below. */
    assert_status(use(&r, message, sizeof message), XL_OK, message);
    for (unsigned e = 0; layer->entry(e); e++) {
        unsigned call = 1;
        while (try_fault(layer->entry(e), call)) {
            call++;
            assert_in_range(call, 1, MAX_CALLS);
        }
        total += call - 1;
    }
    print_message("%u faults\n", total);
    assert_int_not_equal(total, 0);
    assert_status(use(&r, message, sizeof message), XL_OK, message);
    assert_true(r.right);
}

static void copy_label(const xl_span *span, void *arg)
{
    snprintf(arg, 64, "%s", span->label);
}

/* The last kernel of a product. */
static void run_product(xl_queue *q, const cl_mem mem[3], char label[64])
{
    enum { SIDE = 64 };
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .alpha = 1,
                       .a = xl_mat_rows(mem[0], SIDE, XL_F32),
                       .b = xl_mat_rows(mem[1], SIDE, XL_F32),
                       .c = xl_mat_rows(mem[2], SIDE, XL_F32)};
    label[0] = '\0';
    assert_status(xl_gemm_run(q, &g, NULL), XL_OK, xl_error_detail(q));
    assert_status(xl_timeline_drain(q, copy_label, label), XL_OK,
                  xl_error_detail(q));
}

/* A buffer of the self-check that cannot be made once is no verdict: that call
 * runs another variant, the next one the best. */
static void no_pin(void **state)
{
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    struct test_device t;
    cl_mem mem[3];
    char failed[64], next[64], later[64];
    (void)state;
    test_device_open(&t, &options);
    assert_status(xl_timeline_enable(t.queue, true), XL_OK, "timeline");
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, 1 << 14, &mem[i]), XL_OK,
                      xl_error_detail(t.queue));
    test_layer()->arm("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    run_product(t.queue, mem, failed);
    assert_true(test_layer()->fired());
    test_layer()->reset();
    run_product(t.queue, mem, next);
    run_product(t.queue, mem, later);
    print_message("%s, then %s\n", failed, next);
    assert_string_not_equal(next, failed);
    assert_string_equal(later, next);
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call),
                                       cmocka_unit_test(no_pin)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
