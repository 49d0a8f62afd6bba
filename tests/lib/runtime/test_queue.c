/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of queues that the application and the library use together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "runtime/launch.h"
#include "support/support.h"

static struct test_device t;

/* What the application flushed is waited for too. The copy is long beside the
 * wait, so that one that returns at once is seen. */
static void finish_waits_for_what_was_flushed(void **state)
{
    enum { BYTES = 64 << 20 };
    unsigned char *host = calloc(1, BYTES);
    cl_mem mem = NULL;
    cl_event written = NULL;
    cl_int is = CL_QUEUED;
    (void)state;
    assert_non_null(host);
    assert_status(xl_buffer_create(t.queue, BYTES, &mem), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(clEnqueueWriteBuffer(xl_queue_cl(t.queue), mem, CL_FALSE,
                                          0, BYTES, host, 0, NULL, &written),
                     CL_SUCCESS);
    assert_int_equal(clFlush(xl_queue_cl(t.queue)), CL_SUCCESS);
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    assert_int_equal(clGetEventInfo(written, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                    sizeof is, &is, NULL),
                     CL_SUCCESS);
    (void)clWaitForEvents(1, &written);
    assert_int_equal(is, CL_COMPLETE);
    clReleaseEvent(written);
    clReleaseMemObject(mem);
    free(host);
}

/* Steps of a chain on the application's out-of-order queue, each of which
 * needs the one before, without events: the calls follow each other. */
static void calls_follow_out_of_order(void **state)
{
    enum { N = 1 << 20, TIMES = 20, LINKS = 4 };
    static const size_t size[1] = {N};
    static float host[N];
    cl_int code;
    cl_mem mem = NULL;
    xl_queue *q = NULL;
    xl_expr *e = NULL;
    (void)state;
    cl_command_queue native =
        clCreateCommandQueue(xl_queue_context(t.queue), xl_device_cl(t.device),
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS)
        skip();
    assert_status(xl_queue_wrap(t.lib, native, &q), XL_OK,
                  xl_lib_error(t.lib));
    assert_status(xl_buffer_create(q, sizeof host, &mem), XL_OK,
                  xl_error_detail(q));
    const xl_binding x = {.name = "x",
                          .tensor = xl_tensor_dense(mem, XL_F32, 1, size)};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = &x,
                               .n_bindings = 1};
    assert_status(xl_expr_compile(q, "x = log(exp(x * 0)) + x + 1", &args, &e),
                  XL_OK, xl_error_detail(q));
    for (unsigned i = 0; i < TIMES; i++) {
        assert_status(xl_buffer_fill(q, mem, 0, 0, N), XL_OK,
                      xl_error_detail(q));
        for (unsigned link = 0; link < LINKS; link++)
            assert_status(xl_expr_run(q, e, &args, NULL), XL_OK,
                          xl_error_detail(q));
        assert_status(xl_buffer_read(q, mem, 0, host, sizeof host), XL_OK,
                      xl_error_detail(q));
        for (unsigned k = 0; k < N; k++)
            if (host[k] != (float)LINKS)
                fail_msg("time %u: element %u is %g", i, k, (double)host[k]);
    }
    xl_expr_destroy(e);
    clReleaseMemObject(mem);
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
}

/* -- what may be released when a call returns ------------------------------
 */

enum { SIDE = 64, WORDS = SIDE * SIDE, PRODUCTS = 2 };

static cl_mem make_words(xl_queue *q, float value)
{
    float host[PRODUCTS * WORDS];
    cl_mem mem = NULL;
    for (unsigned i = 0; i < PRODUCTS * WORDS; i++)
        host[i] = value;
    assert_status(xl_buffer_create(q, sizeof host, &mem), XL_OK,
                  xl_error_detail(q));
    assert_status(xl_buffer_write(q, mem, 0, host, sizeof host), XL_OK,
                  xl_error_detail(q));
    return mem;
}

/* c = A B + r for PRODUCTS products by lists, then y = exp(c - c) * c, both
 * behind the gate. Everything that the calls were given is overwritten or
 * released when they return. */
static void enqueue_chain(xl_queue *q, cl_event gate, cl_mem c, cl_mem y)
{
    size_t n[1] = {PRODUCTS * WORDS};
    char text[] = "y = exp(c - c) * c", name[] = "r";
    cl_mem ones = make_words(q, 1), twos = make_words(q, 2);
    cl_ulong zero[PRODUCTS] = {0, 0}, at[PRODUCTS] = {WORDS, 0};
    xl_binding r = {.name = name,
                    .is_scalar = true,
                    .scalar = 5,
                    .tensor = {.dtype = XL_F32}};
    xl_gemm g = {
        XL_GEMM_INIT,
        .m = SIDE,
        .n = SIDE,
        .k = SIDE,
        .alpha = 1,
        .a = xl_mat_rows(ones, SIDE, XL_F32),
        .b = xl_mat_rows(twos, SIDE, XL_F32),
        .c = xl_mat_rows(c, SIDE, XL_F32),
        .batch = {.count = PRODUCTS, .a_at = zero, .b_at = zero, .c_at = at},
        .epilogue = {"y + r", &r, 1}};
    xl_binding b[2] = {
        {.name = "c", .tensor = xl_tensor_dense(c, XL_F32, 1, n)},
        {.name = "y", .tensor = xl_tensor_dense(y, XL_F32, 1, n)}};
    xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b, .n_bindings = 2,
                         .variant = "expr_unfused"};
    cl_event done = NULL;
    xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &gate, .done = &done};
    xl_expr *e = NULL;
    assert_status(xl_expr_compile(q, text, &args, &e), XL_OK,
                  xl_error_detail(q));
    memset(text, 'x', sizeof text - 1);
    assert_status(xl_gemm_run(q, &g, &sync), XL_OK, xl_error_detail(q));
    clReleaseMemObject(ones);
    clReleaseMemObject(twos);
    memset(at, 1, sizeof at);
    memset(zero, 1, sizeof zero);
    name[0] = 'q';
    memset(&r, 0, sizeof r);
    memset(&g, 0, sizeof g);
    cl_event product = done;
    sync = (xl_sync){XL_SYNC_INIT, .n_wait = 1, .wait = &product};
    assert_status(xl_expr_run(q, e, &args, &sync), XL_OK, xl_error_detail(q));
    clReleaseEvent(product);
    xl_expr_destroy(e);
    memset(b, 0, sizeof b);
    memset(&sync, 0, sizeof sync);
}

/* Descriptors, lists, texts, events, buffers, an expression, the plans, the
 * scratch and at last the queue are released before the first command may
 * start; none of that waits, and the results are right. */
static void released_at_once(void **state)
{
    float got[PRODUCTS * WORDS];
    const float want = 2 * SIDE + 5;
    cl_int code, is = CL_COMPLETE;
    xl_queue *q = NULL;
    (void)state;
    assert_status(xl_queue_create_beside(t.queue, &q), XL_OK,
                  xl_lib_error(t.lib));
    const cl_command_queue native = xl_queue_cl(q);
    const cl_context context = xl_queue_context(q);
    assert_int_equal(clRetainCommandQueue(native), CL_SUCCESS);
    cl_mem c = make_words(q, 0), y = make_words(q, 0);
    cl_event gate = clCreateUserEvent(context, &code), end = NULL;
    assert_int_equal(code, CL_SUCCESS);
    enqueue_chain(q, gate, c, y);
    assert_status(xl_queue_trim(q), XL_OK, xl_error_detail(q));
    assert_int_equal(clEnqueueMarkerWithWaitList(native, 0, NULL, &end),
                     CL_SUCCESS);
    xl_queue_destroy(q);
    assert_int_equal(clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                    sizeof is, &is, NULL),
                     CL_SUCCESS);
    assert_int_not_equal(is, CL_COMPLETE);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(native, y, CL_TRUE, 0, sizeof got,
                                         got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (unsigned i = 0; i < PRODUCTS * WORDS; i++)
        if (got[i] != want)
            fail_msg("element %u is %g, not %g", i, (double)got[i],
                     (double)want);
    clReleaseEvent(gate);
    clReleaseEvent(end);
    clReleaseMemObject(c);
    clReleaseMemObject(y);
    clReleaseCommandQueue(native);
}

/* -- transfers -------------------------------------------------------------
 */

static bool is_complete(cl_event event)
{
    cl_int is = CL_COMPLETE;
    assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                    sizeof is, &is, NULL),
                     CL_SUCCESS);
    return is == CL_COMPLETE;
}

/* One transfer behind the application's event: it returns before that. */
static void check_waits(xl_status (*enqueue)(cl_mem mem, const xl_sync *sync),
                        cl_mem mem)
{
    cl_int code;
    cl_event done = NULL;
    cl_event gate = clCreateUserEvent(xl_queue_context(t.queue), &code);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &gate,
                          .done = &done};
    assert_int_equal(code, CL_SUCCESS);
    assert_status(enqueue(mem, &sync), XL_OK, xl_error_detail(t.queue));
    assert_int_equal(clFlush(xl_queue_cl(t.queue)), CL_SUCCESS);
    assert_false(is_complete(done));
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
}

static const float sent[2] = {3, 4};
static float received[3];

static xl_status enqueue_fill(cl_mem mem, const xl_sync *sync)
{
    enum { FIVE = 0x40a00000 };
    return xl_buffer_enqueue_fill(t.queue, mem, 2, FIVE, 1, sync);
}

static xl_status enqueue_write(cl_mem mem, const xl_sync *sync)
{
    return xl_buffer_enqueue_write(t.queue, mem, 0, sent, sizeof sent, sync);
}

static xl_status enqueue_read(cl_mem mem, const xl_sync *sync)
{
    return xl_buffer_enqueue_read(t.queue, mem, 0, received, sizeof received,
                                  sync);
}

static void transfers_return_at_once(void **state)
{
    cl_mem mem = NULL;
    (void)state;
    assert_status(xl_buffer_create(t.queue, sizeof received, &mem), XL_OK,
                  xl_error_detail(t.queue));
    check_waits(enqueue_fill, mem);
    check_waits(enqueue_write, mem);
    check_waits(enqueue_read, mem);
    assert_true(received[0] == 3 && received[1] == 4 && received[2] == 5);
    clReleaseMemObject(mem);
}

/* Bytes that are written to the terminal while a kernel with a warning is
 * built. Its text is new, so that no cache has it. */
static long bytes_of_build(xl_queue *q)
{
    char text[256];
    FILE *written = tmpfile();
    const int terminal = dup(STDERR_FILENO);
    const struct xl__call call = {.list_bytes = 0};
    struct xl__plan *plan = calloc(1, sizeof *plan);
    assert_true(plan && written && terminal >= 0);
    snprintf(text, sizeof text,
             "__kernel void loud(__global ulong *x)\n"
             "{\n    if (x) x[0] = x[1] && 2 ? %lluUL : 0;\n}\n",
             (unsigned long long)xl__now_ns());
    plan->n_steps = 1;
    plan->step[0] = (struct xl__step){.source = "loud.cl",
                                      .text = text,
                                      .kernel = "loud",
                                      .dims = 1,
                                      .global = {1},
                                      .local = {1},
                                      .slice_dim = -1};
    xl__arg_mem(&plan->step[0], 1);
    (void)fflush(stderr);
    assert_true(dup2(fileno(written), STDERR_FILENO) >= 0);
    const xl_status status = xl__plan_launch(q, plan, &call, NULL);
    (void)clFinish(xl_queue_cl(q));
    (void)fflush(stderr);
    assert_true(dup2(terminal, STDERR_FILENO) >= 0);
    assert_status(status, XL_OK, xl_error_detail(q));
    fseek(written, 0, SEEK_END);
    const long bytes = ftell(written);
    fclose(written);
    close(terminal);
    free(plan);
    return bytes;
}

/* A compiler's messages are in the build log, not on the terminal. */
static void builds_are_silent(void **state)
{
    (void)state;
    assert_int_equal(bytes_of_build(t.queue), 0);
}

/* -- processes -------------------------------------------------------------
 */

/* A whole use of the library: 0, or 1 on a failure. */
static int use_library(void)
{
    xl_lib *lib = NULL;
    xl_queue *q = NULL;
    cl_mem mem = NULL;
    cl_uint words[2] = {0, 0};
    xl_status status = xl_open(NULL, &lib);
    if (status == XL_OK)
        status = xl_queue_create(lib, xl_device_at(lib, 0), &q);
    if (status == XL_OK)
        status = xl_buffer_create(q, sizeof words, &mem);
    if (status == XL_OK)
        status = xl_buffer_fill(q, mem, 0, 0x1234, 2);
    if (status == XL_OK)
        status = xl_buffer_read(q, mem, 0, words, sizeof words);
    if (mem)
        clReleaseMemObject(mem);
    xl_queue_destroy(q);
    xl_close(lib);
    return status == XL_OK && words[0] == 0x1234 && words[1] == 0x1234 ? 0 : 1;
}

/* A child of a parent that has opened the library and not called a driver:
 * both use libraries of their own, with one cache folder, at the same time. */
static void child_opens_its_own(void **state)
{
    xl_lib *lib = NULL;
    int code = -1;
    (void)state;
    assert_status(xl_open(NULL, &lib), XL_OK, "xl_open");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_library());
    assert_int_equal(use_library(), 0);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    xl_close(lib);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(child_opens_its_own)};
    if (argc > 1 && strcmp(argv[1], "fork") == 0)
        return cmocka_run_group_tests(alone, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_waits_for_what_was_flushed),
        cmocka_unit_test(calls_follow_out_of_order),
        cmocka_unit_test(released_at_once),
        cmocka_unit_test(transfers_return_at_once),
        cmocka_unit_test(builds_are_silent),
    };
    test_args(argc, argv);
    return test_run_on_device(tests, &t, NULL);
}
