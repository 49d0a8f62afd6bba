/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the background: what they build is not built again, the caller
 * does not wait and may free its arguments, and a queue that is destroyed
 * leaves none behind. On the stub, whose builds wait for the test, and on
 * PoCL. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "support/support.h"

enum { SIDE = 64, LAST = 96, PENDING = 4 };

static const uint64_t hang_ns = 60000000000u; /* against hangs */
static const size_t square[2] = {SIDE, SIDE};
static bool is_stub;
static const struct xl_control *control;

static void open_device(struct test_device *t)
{
    /* The stub's kernels write nothing. */
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = is_stub,
                                .cache_dir = ""};
    test_device_open(t, &options);
}

static unsigned long builds(void)
{
    return control->calls("clBuildProgram");
}

/* -- the end of a call -----------------------------------------------------
 */

struct ending {
    atomic_int n_calls;
    xl_status status; /* of the last one */
    char detail[256];
    pthread_t thread;
};

static void note_end(xl_status status, const char *detail, void *arg)
{
    struct ending *e = arg;
    e->status = status;
    e->thread = pthread_self();
    snprintf(e->detail, sizeof e->detail, "%s", detail);
    e->n_calls++;
}

static void wait_for(const atomic_int *n, int least)
{
    const uint64_t start = xl__now_ns();
    while (*n < least) {
        if (xl__now_ns() - start > hang_ns)
            fail_msg("%d of %d", *n, least);
        xl__sleep_ns(100000);
    }
}

static void expect_end(struct ending *e, xl_status want)
{
    wait_for(&e->n_calls, 1);
    assert_int_equal(e->n_calls, 1);
    assert_status(e->status, want, e->detail);
    assert_false(pthread_equal(e->thread, pthread_self()));
}

/* Builds of the stub wait here until the gate opens. */
struct gate {
    atomic_int n_inside, is_open;
};

static void pass_gate(void *arg)
{
    struct gate *g = arg;
    g->n_inside++;
    wait_for(&g->is_open, 1);
}

/* -- calls -----------------------------------------------------------------
 */

static xl_gemm gemm_of(cl_mem a, cl_mem c)
{
    return (xl_gemm){XL_GEMM_INIT,
                     .m = SIDE,
                     .n = SIDE,
                     .k = SIDE,
                     .alpha = 1,
                     .a = xl_mat_rows(a, SIDE, XL_F32),
                     .b = xl_mat_rows(a, SIDE, XL_F32),
                     .c = xl_mat_rows(c, SIDE, XL_F32)};
}

static cl_mem make_ones(xl_queue *q)
{
    static float x[LAST * SIDE];
    cl_mem mem;
    for (unsigned i = 0; i < LAST * SIDE; i++)
        x[i] = 1;
    assert_status(xl_buffer_create(q, sizeof x, &mem), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_buffer_write(q, mem, 0, x, sizeof x), XL_OK,
                  xl_error_detail(q));
    return mem;
}

/* Is the first element of the result as expected? The stub computes none. */
static void expect_first(xl_queue *q, cl_mem mem, float want)
{
    float x;
    assert_status(xl_buffer_read(q, mem, 0, &x, sizeof x), XL_OK,
                  xl_error_detail(q));
    if (!is_stub)
        assert_true(x == want);
}

static int by_value(const void *pa, const void *pb)
{
    const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

/* Any size of a range, on this queue and on another, builds nothing. */
static void range_of_gemm(void **state)
{
    uint64_t cpu[LAST];
    struct test_device t;
    struct ending end = {0};
    xl_queue *other;
    (void)state;
    open_device(&t);
    const cl_mem a = make_ones(t.queue), c = make_ones(t.queue);
    xl_gemm g = gemm_of(a, c);
    assert_status(xl_queue_create_beside(t.queue, &other), XL_OK,
                  xl_lib_error(t.lib));
    g.m = 1;
    assert_status(xl_gemm_prepare_async(t.queue, &g, LAST, note_end, &end),
                  XL_OK, xl_error_detail(t.queue));
    expect_end(&end, XL_OK);
    assert_string_equal(end.detail, "");
    const unsigned long before = builds();
    for (; g.m <= LAST; g.m++) {
        const uint64_t start = xl__thread_cpu_ns();
        assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                      xl_error_detail(t.queue));
        cpu[g.m - 1] = xl__thread_cpu_ns() - start;
        assert_status(xl_queue_finish(t.queue), XL_OK, "");
        assert_status(xl_gemm_run(other, &g, NULL), XL_OK,
                      xl_error_detail(other));
        assert_status(xl_queue_finish(other), XL_OK, "");
    }
    assert_int_equal(builds(), before);
    qsort(cpu, LAST, sizeof *cpu, by_value);
    print_message("the first call of a size: %.1f us of CPU time, longest "
                  "%.1f us\n",
                  1e-3 * (double)cpu[LAST / 2], 1e-3 * (double)cpu[LAST - 1]);
    expect_first(t.queue, c, SIDE);
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    xl_queue_destroy(other);
    test_device_close(&t);
}

/* Softmax, convolution and an expression. */
static void other_ops(void **state)
{
    struct test_device t;
    struct ending ends[3] = {{0}};
    xl_expr *e = (xl_expr *)&t;
    (void)state;
    open_device(&t);
    const cl_mem a = make_ones(t.queue), c = make_ones(t.queue);
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = SIDE, .cols = SIDE,
                          .src = xl_mat_rows(a, SIDE, XL_F32),
                          .dst = xl_mat_rows(c, SIDE, XL_F32)};
    const xl_conv v = {
        XL_CONV_INIT,
        .n = 1,
        .c = 1,
        .h = SIDE,
        .w = SIDE,
        .k = 1,
        .r = 1,
        .s = 1,
        .in = {.mem = {a}, .layout = XL_NCHW, .dtype = XL_F32},
        .filters = {.mem = {a}, .layout = XL_KCRS, .dtype = XL_F32},
        .out = {.mem = {c}, .layout = XL_NCHW, .dtype = XL_F32},
        .alpha = 2};
    const xl_binding b = {.name = "c",
                          .tensor = xl_tensor_dense(c, XL_F32, 2, square)};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = &b,
                               .n_bindings = 1};
    assert_status(xl_softmax_prepare_async(t.queue, &s, 0, note_end, &ends[0]),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_conv_prepare_async(t.queue, &v, 0, note_end, &ends[1]),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(xl_expr_compile_async(t.queue, "c = c + 1", &args, &e,
                                        note_end, &ends[2]),
                  XL_OK, xl_error_detail(t.queue));
    for (unsigned i = 0; i < 3; i++)
        expect_end(&ends[i], XL_OK);
    const unsigned long before = builds();
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                  xl_error_detail(t.queue));
    expect_first(t.queue, c, 1.0F / SIDE);
    assert_status(xl_conv_run(t.queue, &v, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_queue_finish(t.queue), XL_OK, "");
    expect_first(t.queue, c, 3);
    assert_int_equal(builds(), before);
    xl_expr_destroy(e);
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    test_device_close(&t);
}

/* What the caller passed is overwritten and released before it is used. */
static void arguments_are_copied(void **state)
{
    struct test_device t;
    struct ending ends[2] = {{0}};
    struct gate gate = {0};
    char expr[] = "y + bias", name[] = "bias", variant[] = "gemm_ref";
    char text[] = "bias = bias * 3", fused[] = "expr_fused";
    const size_t cols = SIDE;
    xl_expr *e = NULL;
    (void)state;
    open_device(&t);
    const cl_mem a = make_ones(t.queue), c = make_ones(t.queue);
    const cl_mem bias = make_ones(t.queue);
    if (is_stub)
        control->on_build(pass_gate, &gate);
    xl_gemm g = gemm_of(a, c);
    xl_binding b = {.name = name,
                    .tensor = xl_tensor_dense(bias, XL_F32, 1, &cols)};
    cl_ulong at[1] = {0};
    xl_expr_args args = {XL_EXPR_ARGS_INIT, &b, 1, .variant = fused};
    g.variant = variant;
    g.epilogue = (xl_epilogue){expr, &b, 1};
    g.batch = (xl_batch){1, .a_at = at, .b_at = at, .c_at = at};
    assert_status(xl_gemm_prepare_async(t.queue, &g, 0, note_end, &ends[0]),
                  XL_OK, xl_error_detail(t.queue));
    assert_status(
        xl_expr_compile_async(t.queue, text, &args, &e, note_end, &ends[1]),
        XL_OK, xl_error_detail(t.queue));
    at[0] = 1u << 30;
    memset(expr, '?', sizeof expr - 1);
    memset(text, '?', sizeof text - 1);
    memset(name, '?', sizeof name - 1);
    memset(variant, '?', sizeof variant - 1);
    memset(fused, '?', sizeof fused - 1);
    memset(&b, 0x55, sizeof b);
    memset(&g, 0x55, sizeof g);
    memset(&args, 0x55, sizeof args);
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    clReleaseMemObject(bias);
    gate.is_open = 1;
    expect_end(&ends[0], XL_OK);
    expect_end(&ends[1], XL_OK);
    if (is_stub)
        control->on_build(NULL, NULL);
    xl_expr_destroy(e);
    test_device_close(&t);
}

static void failures(void **state)
{
    struct test_device t;
    struct ending ends[3] = {{0}};
    xl_expr *e = (xl_expr *)&t;
    (void)state;
    open_device(&t);
    xl_gemm g = gemm_of(NULL, NULL);
    g.n = 0;
    assert_status(xl_gemm_prepare_async(t.queue, &g, 0, note_end, &ends[0]),
                  XL_OK, xl_error_detail(t.queue));
    expect_end(&ends[0], XL_BAD_SHAPE);
    assert_true(ends[0].detail[0] != '\0');
    g = gemm_of(NULL, NULL);
    assert_status(xl_gemm_prepare_async(t.queue, &g, 3, note_end, &ends[1]),
                  XL_OK, xl_error_detail(t.queue));
    expect_end(&ends[1], XL_BAD_ARGUMENT); /* the range does not ascend */
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .n_bindings = 1000};
    assert_status(
        xl_expr_compile_async(t.queue, "x = 1", &args, &e, note_end, &ends[2]),
        XL_OK, xl_error_detail(t.queue));
    expect_end(&ends[2], XL_BAD_ARGUMENT);
    assert_null(e);
    /* Without a callback. */
    assert_status(xl_gemm_prepare_async(t.queue, &g, 0, NULL, NULL), XL_OK,
                  xl_error_detail(t.queue));
    test_device_close(&t);
}

/* -- the caller does not wait ----------------------------------------------
 */

/* While a build waits, calls of a prepared variant run, and further calls in
 * the background return. */
static void caller_goes_on(void **state)
{
    enum { CALLS = 64 };
    static const uint64_t most_ns = 1000000;
    struct test_device t;
    struct ending ends[CALLS] = {{0}};
    struct gate gate = {0};
    uint64_t wall[CALLS], cpu[CALLS];
    (void)state;
    open_device(&t);
    const cl_mem a = make_ones(t.queue), c = make_ones(t.queue);
    xl_gemm ref = gemm_of(a, c), g = gemm_of(NULL, NULL);
    ref.variant = "gemm_ref";
    assert_status(xl_gemm_prepare(t.queue, &ref), XL_OK,
                  xl_error_detail(t.queue));
    control->on_build(pass_gate, &gate);
    for (unsigned i = 0; i < CALLS; i++) {
        const uint64_t start = xl__now_ns(), cpu_start = xl__thread_cpu_ns();
        g.m = SIDE + i;
        assert_status(
            xl_gemm_prepare_async(t.queue, &g, 2 * LAST, note_end, &ends[i]),
            XL_OK, xl_error_detail(t.queue));
        cpu[i] = xl__thread_cpu_ns() - cpu_start;
        wall[i] = xl__now_ns() - start;
    }
    wait_for(&gate.n_inside, 1);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(xl_gemm_run(t.queue, &ref, NULL), XL_OK,
                      xl_error_detail(t.queue));
    assert_int_equal(ends[0].n_calls, 0); /* its build still waits */
    gate.is_open = 1;
    expect_end(&ends[CALLS - 1], XL_OK);
    control->on_build(NULL, NULL);
    qsort(cpu, CALLS, sizeof *cpu, by_value);
    qsort(wall, CALLS, sizeof *wall, by_value);
    print_message("the caller's part: CPU %.1f us, wall %.1f us, longest "
                  "wall %.1f us\n",
                  1e-3 * (double)cpu[CALLS / 2],
                  1e-3 * (double)wall[CALLS / 2],
                  1e-3 * (double)wall[CALLS - 1]);
    assert_true((double)cpu[CALLS / 2] < (double)most_ns * test_slowness());
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    test_device_close(&t);
}

/* -- a queue is destroyed --------------------------------------------------
 */

/* Opens the gate some time after the queue's destruction began. */
static void *open_later(void *arg)
{
    struct gate *g = arg;
    xl__sleep_ns(50000000);
    g->is_open = 1;
    return NULL;
}

/* The call that runs ends, those behind it are cancelled, and nothing is
 * called afterwards. */
static void destroyed_while_pending(void **state)
{
    struct test_device t;
    struct ending ends[PENDING] = {{0}};
    struct gate gate = {0};
    pthread_t helper;
    xl_queue *q;
    (void)state;
    open_device(&t);
    assert_status(xl_queue_create_beside(t.queue, &q), XL_OK,
                  xl_lib_error(t.lib));
    control->on_build(pass_gate, &gate);
    for (unsigned i = 0; i < PENDING; i++) {
        xl_gemm g = gemm_of(NULL, NULL);
        g.variant = i == 0 ? "gemm_ref" : NULL;
        assert_status(xl_gemm_prepare_async(q, &g, 0, note_end, &ends[i]),
                      XL_OK, xl_error_detail(q));
    }
    wait_for(&gate.n_inside, 1);
    assert_int_equal(pthread_create(&helper, NULL, open_later, &gate), 0);
    xl_queue_destroy(q);
    assert_int_equal(ends[0].n_calls, 1);
    assert_status(ends[0].status, XL_OK, ends[0].detail);
    for (unsigned i = 1; i < PENDING; i++) {
        assert_int_equal(ends[i].n_calls, 1);
        assert_int_equal(ends[i].status, XL_CANCELLED);
        assert_true(ends[i].detail[0] != '\0');
    }
    pthread_join(helper, NULL);
    control->on_build(NULL, NULL);
    test_device_close(&t);
}

/* Eight queues at once, each with its thread. */
static void many_queues(void **state)
{
    enum { QUEUES = 8 };
    struct test_device t;
    struct ending ends[QUEUES] = {{0}};
    xl_queue *q[QUEUES];
    (void)state;
    open_device(&t);
    const unsigned long before = builds();
    for (unsigned i = 0; i < QUEUES; i++) {
        const xl_gemm g = gemm_of(NULL, NULL);
        assert_status(xl_queue_create_beside(t.queue, &q[i]), XL_OK,
                      xl_lib_error(t.lib));
        assert_status(
            xl_gemm_prepare_async(q[i], &g, LAST, note_end, &ends[i]), XL_OK,
            xl_error_detail(q[i]));
    }
    for (unsigned i = 0; i < QUEUES; i++)
        expect_end(&ends[i], XL_OK);
    const unsigned long made = builds() - before;
    for (unsigned i = 0; i < QUEUES; i++)
        xl_queue_destroy(q[i]);
    /* One queue alone builds as many: each program was built once. */
    test_device_close(&t);
    open_device(&t);
    xl_gemm g = gemm_of(NULL, NULL);
    const unsigned long alone = builds();
    assert_status(xl_gemm_prepare_range(t.queue, &g, LAST), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(builds() - alone, made);
    test_device_close(&t);
}

static void nothing_is_left(void **state)
{
    (void)state;
    if (control->live() != 0)
        fail_msg("left: %s", control->live_text());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest everywhere[] = {
        cmocka_unit_test(range_of_gemm),        cmocka_unit_test(other_ops),
        cmocka_unit_test(arguments_are_copied), cmocka_unit_test(failures),
        cmocka_unit_test(many_queues),
    };
    const struct CMUnitTest on_stub[] = {
        cmocka_unit_test(caller_goes_on),
        cmocka_unit_test(destroyed_while_pending),
        cmocka_unit_test(nothing_is_left),
    };
    test_args(argc, argv);
    is_stub = getenv("XL_STUB_DEVICE") != NULL;
    control = is_stub ? test_stub() : test_layer();
    const int failed = cmocka_run_group_tests(everywhere, NULL, NULL);
    return failed +
           (is_stub ? cmocka_run_group_tests(on_stub, NULL, NULL) : 0);
}
