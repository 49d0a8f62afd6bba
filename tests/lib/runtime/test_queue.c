/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of queues that the application and the library use together. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "runtime/launch.h"
#include "support/support.h"

static struct test_device t;

static int open_device(void **state)
{
    (void)state;
    test_device_open(&t, NULL);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_device_close(&t);
    return 0;
}

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
    const xl_expr_args args = {.bindings = &x, .n_bindings = 1};
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finish_waits_for_what_was_flushed),
        cmocka_unit_test(calls_follow_out_of_order),
        cmocka_unit_test(builds_are_silent),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
