/* SPDX-License-Identifier: Apache-2.0 */
/* What a call leaves in the caller's queue, on the stub driver: its order on
 * an out-of-order queue, the events that it returns, what a failed call does,
 * scratch memory and its limit, transfers that do not block, queues of one
 * context, and the timeline. */
#include <stdio.h>
#include <string.h>

#include "support/simulated_clock.h"
#include "support/support.h"

enum { SIDE = 16, BYTES = 4 * SIDE * SIDE, STEPS = 3, STEP_NS = 1000000 };

/* An expression of STEPS kernels, which need scratch. */
struct world {
    struct test_device t;
    xl_queue *q;             /* that of t, or wrapped */
    cl_command_queue native; /* out of order; NULL: that of t */
    cl_mem mem[2];
    xl_binding b[2];
    xl_expr_args args;
    xl_expr *e;
    long before; /* objects that were alive */
};

static void set_up(struct world *w, bool out_of_order)
{
    static const size_t shape[2] = {SIDE, SIDE};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    cl_int code;
    memset(w, 0, sizeof *w);
    w->before = test_stub()->live();
    test_device_open(&w->t, &options);
    w->q = w->t.queue;
    if (out_of_order) {
        w->native = clCreateCommandQueue(
            xl_queue_context(w->t.queue), xl_device_cl(w->t.device),
            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
        assert_int_equal(code, CL_SUCCESS);
        assert_status(xl_queue_wrap(w->t.lib, w->native, &w->q), XL_OK,
                      xl_lib_error(w->t.lib));
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_status(xl_buffer_create(w->q, BYTES, &w->mem[i]), XL_OK,
                      xl_error_detail(w->q));
        w->b[i].tensor = xl_tensor_dense(w->mem[i], XL_F32, 2, shape);
    }
    w->b[0].name = "x";
    w->b[1].name = "y";
    w->args = (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = w->b,
                             .n_bindings = 2, .variant = "expr_unfused"};
    assert_status(xl_expr_compile(w->q, "y = exp(x) * 2 + x", &w->args, &w->e),
                  XL_OK, xl_error_detail(w->q));
    test_stub()->reset();
}

static void tear_down(struct world *w)
{
    xl_expr_destroy(w->e);
    for (unsigned i = 0; i < 2; i++)
        clReleaseMemObject(w->mem[i]);
    if (w->native) {
        xl_queue_destroy(w->q);
        clReleaseCommandQueue(w->native);
    }
    test_device_close(&w->t);
    if (test_stub()->live() != w->before)
        fail_msg("alive: %s", test_stub()->live_text());
}

static void run_expr(struct world *w, const xl_sync *sync)
{
    assert_status(xl_expr_run(w->q, w->e, &w->args, sync), XL_OK,
                  xl_error_detail(w->q));
}

static unsigned long calls(const char *entry)
{
    return test_stub()->calls(entry);
}

static cl_event user_event(const struct world *w)
{
    cl_int code;
    cl_event event = clCreateUserEvent(xl_queue_context(w->q), &code);
    assert_int_equal(code, CL_SUCCESS);
    return event;
}

/* -- order ---------------------------------------------------------------- */

/* Without a wait list a call starts after what is in the queue: one barrier,
 * whatever it enqueues. With one it waits for those events only. */
static void order_out_of_order(void **state)
{
    struct world w;
    char byte = 0;
    cl_event done = NULL;
    (void)state;
    set_up(&w, true);
    run_expr(&w, NULL);
    assert_int_equal(calls("clEnqueueNDRangeKernel"), STEPS);
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 1);
    run_expr(&w, &(xl_sync){XL_SYNC_INIT, .done = &done});
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 2);
    assert_status(xl_buffer_read(w.q, w.mem[1], 0, &byte, 1), XL_OK, "");
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 3);
    assert_status(xl_buffer_write(w.q, w.mem[1], 0, &byte, 1), XL_OK, "");
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 4);
    assert_status(xl_buffer_fill(w.q, w.mem[1], 0, 0, 1), XL_OK, "");
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 5);
    const xl_sync after = {XL_SYNC_INIT, .n_wait = 1, .wait = &done};
    run_expr(&w, &after);
    assert_status(xl_buffer_enqueue_read(w.q, w.mem[1], 0, &byte, 1, &after),
                  XL_OK, "");
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 5);
    clReleaseEvent(done);
    tear_down(&w);
}

static void no_barrier_in_order(void **state)
{
    struct world w;
    char byte = 0;
    (void)state;
    set_up(&w, false);
    run_expr(&w, NULL);
    assert_status(xl_buffer_read(w.q, w.mem[1], 0, &byte, 1), XL_OK, "");
    assert_status(xl_buffer_fill(w.q, w.mem[1], 0, 0, 1), XL_OK, "");
    assert_int_equal(calls("clEnqueueBarrierWithWaitList"), 0);
    tear_down(&w);
}

/* -- failure -------------------------------------------------------------- */

/* What the caller's events are before a call that fails, and after it. */
static char no_event;
#define NO_EVENT ((cl_event)(void *)&no_event)

/* A later step fails while the first one waits for the caller's event: the
 * call returns, since it does not wait for the queue, and leaves the caller's
 * events as they were. */
static void failed_call_returns(void **state)
{
    (void)state;
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        for (unsigned step = 1; step <= STEPS; step++) {
            struct world w;
            cl_event done = NO_EVENT, first = NO_EVENT;
            set_up(&w, out_of_order);
            cl_event gate = user_event(&w);
            const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &gate,
                                  .done = &done, .first = &first};
            test_stub()->arm("clEnqueueNDRangeKernel", step,
                             CL_OUT_OF_RESOURCES);
            assert_status(xl_expr_run(w.q, w.e, &w.args, &sync),
                          CL_OUT_OF_RESOURCES, xl_error_detail(w.q));
            assert_ptr_equal(done, NO_EVENT);
            assert_ptr_equal(first, NO_EVENT);
            assert_int_equal(calls("clEnqueueNDRangeKernel"), step);
            assert_int_equal(calls("clFinish"), 0);
            assert_int_equal(calls("clWaitForEvents"), 0);
            clSetUserEventStatus(gate, CL_COMPLETE);
            clReleaseEvent(gate);
            run_expr(&w, NULL); /* the queue can be used */
            tear_down(&w);
        }
    }
}

/* -- the time of a call --------------------------------------------------- */

static double one_step(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    (void)launch;
    return STEP_NS;
}

static cl_ulong stamp(cl_event event, cl_profiling_info what)
{
    cl_ulong ns = 0;
    assert_int_equal(
        clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL),
        CL_SUCCESS);
    return ns;
}

/* From first's start to done's end; releases both. */
static cl_ulong span(cl_event first, cl_event done)
{
    const cl_ulong ns = stamp(done, CL_PROFILING_COMMAND_END) -
                        stamp(first, CL_PROFILING_COMMAND_START);
    clReleaseEvent(first);
    clReleaseEvent(done);
    return ns;
}

static void first_to_done_is_the_time(void **state)
{
    const struct xl_model model = {.takes = one_step,
                                   .clock = &simulated_clock};
    (void)state;
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        struct world w;
        cl_event first = NULL, done = NULL;
        set_up(&w, out_of_order);
        test_stub()->model(&model);
        run_expr(&w, NULL); /* of which nothing counts */
        run_expr(&w, &(xl_sync){XL_SYNC_INIT, .first = &first, .done = &done});
        assert_ptr_not_equal(first, done);
        assert_int_equal(stamp(done, CL_PROFILING_COMMAND_END) -
                             stamp(done, CL_PROFILING_COMMAND_START),
                         STEP_NS);
        assert_int_equal(span(first, done), STEPS * STEP_NS);
        run_expr(&w, &(xl_sync){XL_SYNC_INIT, .first = &first});
        run_expr(&w, &(xl_sync){XL_SYNC_INIT, .done = &done});
        assert_int_equal(span(first, done), 2 * STEPS * STEP_NS);
        test_stub()->model(NULL);
        tear_down(&w);
    }
}

/* Of a group of products that cannot share a launch. */
static void group_has_a_first_event(void **state)
{
    const struct xl_model model = {.takes = one_step,
                                   .clock = &simulated_clock};
    struct world w;
    cl_event first = NULL, done = NULL;
    cl_mem c[2];
    xl_gemm g[2];
    (void)state;
    set_up(&w, false);
    for (unsigned i = 0; i < 2; i++) {
        const size_t n = SIDE - i;
        assert_status(xl_buffer_create(w.q, BYTES, &c[i]), XL_OK, "");
        g[i] = (xl_gemm){XL_GEMM_INIT,
                         .m = n,
                         .n = n,
                         .k = n,
                         .alpha = 1,
                         .a = xl_mat_rows(w.mem[0], SIDE, XL_F32),
                         .b = xl_mat_rows(w.mem[1], SIDE, XL_F32),
                         .c = xl_mat_rows(c[i], SIDE, XL_F32),
                         .variant = "gemm_ref"};
    }
    const xl_sync sync = {XL_SYNC_INIT, .first = &first, .done = &done};
    test_stub()->model(&model);
    assert_status(xl_gemm_run_group(w.q, g, 2, &sync), XL_OK,
                  xl_error_detail(w.q));
    assert_int_equal(span(first, done), 2 * STEP_NS);
    test_stub()->model(NULL);
    first = done = NO_EVENT;
    test_stub()->arm("clEnqueueNDRangeKernel", 2, CL_OUT_OF_RESOURCES);
    assert_status(xl_gemm_run_group(w.q, g, 2, &sync), CL_OUT_OF_RESOURCES,
                  xl_error_detail(w.q));
    assert_ptr_equal(first, NO_EVENT);
    assert_ptr_equal(done, NO_EVENT);
    for (unsigned i = 0; i < 2; i++)
        clReleaseMemObject(c[i]);
    tear_down(&w);
}

/* -- scratch -------------------------------------------------------------- */

static void scratch_limit(void **state)
{
    (void)state;
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        struct world w;
        size_t bytes = 0;
        char number[32];
        set_up(&w, out_of_order);
        assert_status(xl_expr_workspace(w.q, w.e, &w.args, &bytes), XL_OK,
                      xl_error_detail(w.q));
        assert_int_not_equal(bytes, 0);
        snprintf(number, sizeof number, "%zu bytes of scratch", bytes);
        run_expr(&w, NULL);
        assert_status(xl_queue_set_scratch_limit(w.q, bytes - 1), XL_OK, "");
        test_stub()->reset();
        assert_status(xl_expr_run(w.q, w.e, &w.args, NULL),
                      XL_BUFFER_TOO_SMALL, xl_error_detail(w.q));
        assert_non_null(strstr(xl_error_detail(w.q), number));
        assert_non_null(strstr(xl_error_detail(w.q), "workspace"));
        assert_int_equal(calls("clEnqueueNDRangeKernel"), 0);
        assert_status(xl_buffer_create(w.q, bytes, &w.args.workspace.buf),
                      XL_OK, "");
        run_expr(&w, NULL); /* in memory of its own */
        clReleaseMemObject(w.args.workspace.buf);
        w.args.workspace.buf = NULL;
        assert_status(xl_queue_set_scratch_limit(w.q, bytes), XL_OK, "");
        run_expr(&w, NULL);
        tear_down(&w);
    }
}

/* What a queue keeps is gone after a trim; it is made again, without a build.
 */
static void trim(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, false);
    assert_status(xl_queue_trim(w.q), XL_OK, "");
    const long idle = test_stub()->live();
    for (unsigned i = 0; i < 2; i++) {
        run_expr(&w, NULL);
        assert_in_range(test_stub()->live(), idle + 1 + STEPS, idle + 99);
        assert_status(xl_queue_trim(w.q), XL_OK, "");
        if (test_stub()->live() != idle)
            fail_msg("after a trim: %s", test_stub()->live_text());
    }
    assert_int_equal(calls("clBuildProgram"), 0);
    assert_int_equal(calls("clFinish"), 0);
    tear_down(&w);
}

/* -- transfers ------------------------------------------------------------ */

static void assert_one_event(cl_event first, cl_event done,
                             cl_command_type type)
{
    cl_command_type is = 0;
    assert_non_null(first);
    assert_ptr_equal(first, done);
    assert_int_equal(
        clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof is, &is, NULL),
        CL_SUCCESS);
    assert_int_equal(is, type);
    clReleaseEvent(first);
    clReleaseEvent(done);
}

/* They take events and return them. */
static void transfer_events(void **state)
{
    struct world w;
    unsigned char in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
    cl_event first = NULL, done = NULL;
    (void)state;
    set_up(&w, false);
    cl_event gate = user_event(&w);
    clSetUserEventStatus(gate, CL_COMPLETE);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &gate,
                          .done = &done, .first = &first};
    assert_status(xl_buffer_enqueue_write(w.q, w.mem[0], 8, in, 8, &sync),
                  XL_OK, xl_error_detail(w.q));
    assert_one_event(first, done, CL_COMMAND_WRITE_BUFFER);
    assert_status(xl_buffer_enqueue_read(w.q, w.mem[0], 8, out, 8, &sync),
                  XL_OK, xl_error_detail(w.q));
    assert_one_event(first, done, CL_COMMAND_READ_BUFFER);
    assert_memory_equal(in, out, sizeof in);
    assert_status(xl_buffer_enqueue_fill(w.q, w.mem[0], 0, 1, 8, &sync), XL_OK,
                  xl_error_detail(w.q));
    assert_one_event(first, done, CL_COMMAND_NDRANGE_KERNEL);
    assert_int_equal(calls("clWaitForEvents"), 0);
    assert_int_equal(calls("clFinish"), 0);
    /* A call that fails returns none. */
    first = done = NO_EVENT;
    test_stub()->arm("clEnqueueReadBuffer", 1, CL_OUT_OF_RESOURCES);
    assert_status(xl_buffer_enqueue_read(w.q, w.mem[0], 8, out, 8, &sync),
                  CL_OUT_OF_RESOURCES, xl_error_detail(w.q));
    assert_ptr_equal(first, NO_EVENT);
    assert_ptr_equal(done, NO_EVENT);
    clReleaseEvent(gate);
    tear_down(&w);
}

/* A range past the end of a sub-buffer is in its parent, and refused. */
static void ranges_are_checked(void **state)
{
    enum { PART = 256, WORDS = PART / 4 };
    const cl_buffer_region region = {0, PART};
    unsigned char host[2 * PART] = {0};
    struct world w;
    cl_int code;
    (void)state;
    set_up(&w, false);
    cl_mem part =
        clCreateSubBuffer(w.mem[0], CL_MEM_READ_WRITE,
                          CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    static const struct {
        size_t offset, bytes;
        xl_status expected;
    } rows[] = {{0, PART, XL_OK},
                {PART - 4, 4, XL_OK},
                {0, PART + 4, XL_BUFFER_TOO_SMALL},
                {PART - 4, 8, XL_BUFFER_TOO_SMALL},
                {PART, 4, XL_BUFFER_TOO_SMALL},
                {SIZE_MAX - 3, 4, XL_BUFFER_TOO_SMALL},
                {4, SIZE_MAX - 3, XL_BUFFER_TOO_SMALL},
                {0, 0, XL_BAD_SHAPE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t at = rows[i].offset, n = rows[i].bytes;
        const xl_status expected = rows[i].expected;
        test_stub()->reset();
        assert_status(xl_buffer_write(w.q, part, at, host, n), expected,
                      xl_error_detail(w.q));
        assert_status(xl_buffer_read(w.q, part, at, host, n), expected,
                      xl_error_detail(w.q));
        assert_status(xl_buffer_fill(w.q, part, at / 4, 7, n / 4), expected,
                      xl_error_detail(w.q));
        if (expected == XL_OK)
            continue;
        assert_int_equal(calls("clEnqueueReadBuffer"), 0);
        assert_int_equal(calls("clEnqueueWriteBuffer"), 0);
        assert_int_equal(calls("clEnqueueNDRangeKernel"), 0);
    }
    assert_status(xl_buffer_fill(w.q, part, SIZE_MAX / 2, 7, 1), XL_OVERFLOW,
                  xl_error_detail(w.q));
    clReleaseMemObject(part);
    tear_down(&w);
}

/* -- queues ----------------------------------------------------------------
 */

/* Queues of one context share what is built, until the last is destroyed. */
static void kernels_are_shared(void **state)
{
    struct world w;
    xl_queue *beside = NULL;
    (void)state;
    set_up(&w, true);
    xl_queue *const wrapped = w.q;
    assert_status(xl_queue_create_beside(wrapped, &beside), XL_OK,
                  xl_lib_error(w.t.lib));
    assert_ptr_equal(xl_queue_context(beside), xl_queue_context(wrapped));
    assert_ptr_equal(xl_queue_device(beside), xl_queue_device(wrapped));
    w.q = beside;
    run_expr(&w, NULL);
    xl_queue_destroy(w.t.queue);
    w.t.queue = NULL;
    w.q = wrapped;
    run_expr(&w, NULL);
    assert_int_equal(calls("clBuildProgram"), 0);
    assert_int_equal(calls("clReleaseProgram"), 0);
    xl_queue_destroy(beside);
    assert_int_equal(calls("clReleaseProgram"), 0);
    tear_down(&w);
}

/* A driver without profiling queues: a queue without a timeline. */
static void queue_without_profiling(void **state)
{
    struct world w;
    xl_queue *q = NULL;
    (void)state;
    set_up(&w, false);
    assert_status(xl_timeline_enable(w.q, true), XL_OK, "");
    test_stub()->arm("clCreateCommandQueue", 1, CL_INVALID_QUEUE_PROPERTIES);
    assert_status(xl_queue_create(w.t.lib, w.t.device, &q), XL_OK,
                  xl_lib_error(w.t.lib));
    assert_true(test_stub()->fired());
    assert_status(xl_timeline_enable(q, true), XL_UNSUPPORTED,
                  xl_error_detail(q));
    assert_status(xl_timeline_enable(q, false), XL_OK, xl_error_detail(q));
    xl_queue_destroy(q);
    tear_down(&w);
}

enum { KEPT = 4096 };

struct spans {
    unsigned n;
    const char *label[KEPT + 1];
    uint64_t start_ns[KEPT + 1];
};

static void note_span(const xl_span *span, void *arg)
{
    struct spans *s = arg;
    assert_in_range(s->n, 0, KEPT);
    assert_true(span->queued_ns <= span->submit_ns &&
                span->submit_ns <= span->start_ns &&
                span->start_ns <= span->end_ns);
    s->start_ns[s->n] = span->start_ns;
    s->label[s->n++] = span->label;
}

static unsigned drain(struct world *w, struct spans *s)
{
    memset(s, 0, sizeof *s);
    assert_status(xl_timeline_drain(w->q, note_span, s), XL_OK,
                  xl_error_detail(w->q));
    return s->n;
}

/* Every launch from xl_timeline_enable() on, in order, each once; of many the
 * last. */
static void timeline(void **state)
{
    static struct spans s;
    struct world w;
    (void)state;
    set_up(&w, false);
    run_expr(&w, NULL);
    assert_int_equal(drain(&w, &s), 0);
    assert_status(xl_timeline_enable(w.q, true), XL_OK, "");
    run_expr(&w, NULL);
    run_expr(&w, NULL);
    assert_int_equal(drain(&w, &s), 2 * STEPS);
    for (unsigned i = 1; i < 2 * STEPS; i++)
        assert_true(s.start_ns[i - 1] <= s.start_ns[i]);
    for (unsigned i = 0; i < STEPS; i++)
        assert_string_equal(s.label[i], s.label[STEPS + i]);
    assert_int_equal(drain(&w, &s), 0);
    for (unsigned i = 0; i < KEPT; i++)
        assert_status(xl_buffer_fill(w.q, w.mem[1], 0, 0, 1), XL_OK, "");
    run_expr(&w, NULL);
    assert_int_equal(drain(&w, &s), KEPT);
    assert_string_equal(s.label[KEPT - STEPS - 1], "fill");
    assert_string_not_equal(s.label[KEPT - STEPS], "fill");
    run_expr(&w, NULL);
    assert_status(xl_timeline_enable(w.q, false), XL_OK, "");
    run_expr(&w, NULL);
    assert_int_equal(drain(&w, &s), 0);
    tear_down(&w);
}

/* A command of the application's own is a span among the library's; the
 * caller's event is released by the caller alone. */
static void timeline_of_the_application(void **state)
{
    static struct spans s;
    struct world w;
    cl_event marker = NULL;
    (void)state;
    set_up(&w, false);
    assert_int_equal(
        clEnqueueMarkerWithWaitList(xl_queue_cl(w.q), 0, NULL, &marker),
        CL_SUCCESS);
    assert_status(xl_timeline_record(w.q, "before", marker), XL_OK, "");
    assert_int_equal(drain(&w, &s), 0); /* nothing is recorded */
    assert_status(xl_timeline_enable(w.q, true), XL_OK, "");
    run_expr(&w, NULL);
    assert_status(xl_timeline_record(w.q, "own", marker), XL_OK, "");
    assert_int_equal(clReleaseEvent(marker), CL_SUCCESS);
    assert_int_equal(drain(&w, &s), STEPS + 1);
    assert_string_equal(s.label[STEPS], "own");
    tear_down(&w);
}

struct watched {
    const struct world *w;
    unsigned n;
    bool has_operand[2];
    size_t n_values;
};

static void see_launch(const xl_kernel_launch *l, void *arg)
{
    struct watched *seen = arg;
    char name[64] = "";
    assert_int_equal(clGetKernelInfo(l->kernel, CL_KERNEL_FUNCTION_NAME,
                                     sizeof name, name, NULL),
                     CL_SUCCESS);
    assert_string_equal(name, l->name);
    assert_int_equal(calls("clEnqueueNDRangeKernel"), seen->n++);
    assert_in_range(l->dims, 1, 3);
    for (unsigned d = 0; d < l->dims; d++)
        assert_true(l->global[d] > 0);
    for (unsigned i = 0; i < l->n_args; i++) {
        const xl_kernel_arg *a = &l->arg[i];
        assert_true(a->bytes > 0);
        for (unsigned k = 0; k < 2 && a->kind == XL_ARG_MEM; k++)
            seen->has_operand[k] |=
                *(const cl_mem *)a->value == seen->w->mem[k];
        seen->n_values += a->kind == XL_ARG_VALUE && a->value != NULL;
    }
}

/* Each launch of a call is passed before it is enqueued, with its arguments,
 * and none after the watch has ended. */
static void watch_of_launches(void **state)
{
    struct world w;
    (void)state;
    set_up(&w, false);
    run_expr(&w, NULL); /* kernels are built */
    struct watched seen = {.w = &w};
    test_stub()->reset();
    assert_status(xl_queue_watch(w.q, see_launch, &seen), XL_OK, "");
    run_expr(&w, NULL);
    assert_int_equal(seen.n, STEPS);
    assert_true(seen.has_operand[0] && seen.has_operand[1]);
    assert_true(seen.n_values > 0);
    assert_status(xl_queue_watch(w.q, NULL, NULL), XL_OK, "");
    run_expr(&w, NULL);
    assert_int_equal(seen.n, STEPS);
    assert_status(xl_queue_watch(w.q, see_launch, &seen), XL_OK, "");
    tear_down(&w); /* the queue frees it */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_out_of_order),
        cmocka_unit_test(no_barrier_in_order),
        cmocka_unit_test(failed_call_returns),
        cmocka_unit_test(first_to_done_is_the_time),
        cmocka_unit_test(group_has_a_first_event),
        cmocka_unit_test(scratch_limit),
        cmocka_unit_test(trim),
        cmocka_unit_test(transfer_events),
        cmocka_unit_test(ranges_are_checked),
        cmocka_unit_test(kernels_are_shared),
        cmocka_unit_test(queue_without_profiling),
        cmocka_unit_test(timeline),
        cmocka_unit_test(timeline_of_the_application),
        cmocka_unit_test(watch_of_launches),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
