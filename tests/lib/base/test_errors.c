/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of error paths: every OpenCL call of the main flows is made to fail,
 * one at a time: each entry point, at each of its calls, until the flow ends
 * without the fault. With the fault a flow must fail with a message, or
 * succeed by one of the fallbacks listed below; no object may be leaked, and
 * the same flow must succeed when it is repeated. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { M = 33, N = 17, K = 9, ROWS = 7, COLS = 100, MAX_CALLS = 5000 };

/* What a flow works on. */
struct world {
    xl_lib *lib;
    xl_queue *queue;
    cl_context context;         /* the caller's own, in the flow "wrap" */
    cl_command_queue native;
    cl_mem mem[3];
    xl_options options;
    char message[512];
    unsigned warnings;
};

struct flow {
    const char *name;
    void (*setup)(struct world *w);      /* no fault yet; NULL: nothing */
    xl_status (*act)(struct world *w);   /* the fault is here */
    void (*tear_down)(struct world *w);  /* no fault any more */
    xl_status expected;                  /* without a fault */
};

/* Calls that may fail without the flow failing, and why that is right. A
 * variant that is passed over must be said in the log. */
static const struct {
    const char *entry, *why;
    bool is_said;
} harmless[] = {
    {"clGetPlatformInfo", "a text stays unknown", false},
    {"clGetDeviceInfo", "a fact stays unknown", false},
    {"clGetProgramInfo", "the binary is not kept", false},
    {"clGetProgramBuildInfo", "there is no log", false},
    {"clRetainEvent", "the launch is missing from the timeline", false},
    {"clReleaseContext", "nothing can be done", false},
    {"clReleaseCommandQueue", "nothing can be done", false},
    {"clReleaseMemObject", "nothing can be done", false},
    {"clReleaseProgram", "nothing can be done", false},
    {"clReleaseKernel", "nothing can be done", false},
    {"clReleaseEvent", "nothing can be done", false},
    {"clCreateProgramWithBinary", "source is built instead", false},
    {"clBuildProgram", "the next variant, or source for a binary", true},
    {"clCreateKernel", "the next variant is used", true},
    {"clGetKernelWorkGroupInfo", "the next variant is used", true},
    {"clCreateProgramWithSource", "the next variant is used", true},
};

/* Was it right to go on, and was it said where it must be? */
static bool is_harmless(const char *entry, bool keeps, unsigned warnings)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(harmless[i].entry, entry) == 0)
            return !harmless[i].is_said || keeps || warnings > 0;
    return false;
}

static bool releases(const char *entry)
{
    return strncmp(entry, "clRelease", strlen("clRelease")) == 0;
}

/* -- parts of flows ------------------------------------------------------- */

/* Keep the message of a failed call: the queue's, or before there is one the
 * library's. */
static xl_status print_status(struct world *w, xl_status status)
{
    if (status != XL_OK)
        snprintf(w->message, sizeof w->message, "%s",
                 w->queue ? xl_error_detail(w->queue)
                          : xl_lib_error(w->lib));
    return status;
}

static xl_status open_queue(struct world *w)
{
    unsigned n = 0;
    xl_status status = xl_open(&w->options, &w->lib);
    if (status != XL_OK)
        return print_status(w, status);
    status = xl_device_count(w->lib, &n);
    if (status != XL_OK)
        return print_status(w, status);
    status = xl_queue_create(w->lib, xl_device_at(w->lib, 0), &w->queue);
    return print_status(w, status);
}

static xl_status create_buffers(struct world *w)
{
    const size_t bytes = sizeof(float) * 64 * 64;
    for (unsigned i = 0; i < 3; i++) {
        if (w->mem[i])
            continue;
        const xl_status status =
            xl_buffer_create(w->queue, bytes, &w->mem[i]);
        if (status != XL_OK)
            return print_status(w, status);
    }
    return XL_OK;
}

static xl_gemm make_gemm(const struct world *w)
{
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = M,
                       .n = N,
                       .k = K,
                       .a = xl_mat_rows(w->mem[0], K, XL_F32),
                       .b = xl_mat_rows(w->mem[1], N, XL_F32),
                       .c = xl_mat_rows(w->mem[2], N, XL_F32),
                       .alpha = 1.0};
    return g;
}

static xl_status run_gemm(struct world *w)
{
    const xl_gemm g = make_gemm(w);
    cl_event done = NULL;
    const xl_sync sync = {XL_SYNC_INIT, .done = &done};
    const xl_status status = xl_gemm_run(w->queue, &g, &sync);
    if (status == XL_OK) {
        assert_non_null(done);
        (void)clReleaseEvent(done); /* the fault may be here */
    } else {
        assert_null(done);
    }
    return print_status(w, status);
}

/* CLBlast keeps programs, and with them contexts, for the whole process; what
 * it keeps is not a leak of ours. */
static void empty_clblast(void)
{
    static const char *const names[] = {"libclblast.so.1", "libclblast.so"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        int (*empty)(void) = NULL;
        if (library)
            *(void **)&empty = dlsym(library, "CLBlastClearCache");
        if (empty)
            (void)empty();
        if (library)
            dlclose(library);
    }
}

static void close_all(struct world *w)
{
    for (unsigned i = 0; i < 3; i++)
        if (w->mem[i])
            clReleaseMemObject(w->mem[i]);
    xl_queue_destroy(w->queue);
    xl_close(w->lib);
    if (w->native)
        clReleaseCommandQueue(w->native);
    if (w->context)
        clReleaseContext(w->context);
    empty_clblast();
    memset(w->mem, 0, sizeof w->mem);
    w->queue = NULL;
    w->lib = NULL;
    w->native = NULL;
    w->context = NULL;
}

static void set_up_queue(struct world *w)
{
    assert_status(open_queue(w), XL_OK, w->message);
}

static void set_up_buffers(struct world *w)
{
    set_up_queue(w);
    assert_status(create_buffers(w), XL_OK, w->message);
}

/* -- flows ---------------------------------------------------------------- */

static xl_status act_open(struct world *w)
{
    return print_status(w, xl_open(&w->options, &w->lib));
}

static void set_up_lib(struct world *w)
{
    assert_status(xl_open(&w->options, &w->lib), XL_OK, "xl_open");
}

static xl_status act_count(struct world *w)
{
    unsigned n = 0;
    const xl_status status = xl_device_count(w->lib, &n);
    assert_true(status == XL_OK ? n >= 1 : n == 0);
    return print_status(w, status);
}

static void set_up_devices(struct world *w)
{
    set_up_lib(w);
    assert_status(act_count(w), XL_OK, w->message);
}

static xl_status act_create(struct world *w)
{
    const xl_status status =
        xl_queue_create(w->lib, xl_device_at(w->lib, 0), &w->queue);
    assert_true((status == XL_OK) == (w->queue != NULL));
    return print_status(w, status);
}

static void set_up_native(struct world *w)
{
    cl_int err;
    set_up_devices(w);
    cl_device_id id = xl_device_cl(xl_device_at(w->lib, 0));
    w->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    w->native = clCreateCommandQueue(w->context, id, 0, &err);
    assert_int_equal(err, CL_SUCCESS);
    /* Another library has not seen the device before. */
    xl_close(w->lib);
    set_up_lib(w);
}

static xl_status act_wrap(struct world *w)
{
    const xl_status status = xl_queue_wrap(w->lib, w->native, &w->queue);
    assert_true((status == XL_OK) == (w->queue != NULL));
    return print_status(w, status);
}

static xl_status act_buffers(struct world *w)
{
    float numbers[16] = {0};
    xl_status status = create_buffers(w);
    if (status == XL_OK)
        status = xl_buffer_write(w->queue, w->mem[0], 0, numbers,
                                 sizeof numbers);
    if (status == XL_OK)
        status = xl_buffer_fill(w->queue, w->mem[0], 0, 1, 16);
    if (status == XL_OK)
        status =
            xl_buffer_read(w->queue, w->mem[0], 0, numbers, sizeof numbers);
    if (status == XL_OK)
        status = xl_queue_finish(w->queue);
    return print_status(w, status);
}

static void set_up_warm(struct world *w)
{
    set_up_buffers(w);
    assert_status(run_gemm(w), XL_OK, w->message);
}

static xl_status act_prepare(struct world *w)
{
    const xl_gemm g = make_gemm(w);
    return print_status(w, xl_gemm_prepare(w->queue, &g));
}

static xl_status act_explain(struct world *w)
{
    const xl_gemm g = make_gemm(w);
    xl_choice choices[8];
    unsigned n = 0;
    return print_status(w, xl_gemm_explain(w->queue, &g, choices, 8, &n));
}

static xl_status act_softmax(struct world *w)
{
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = ROWS, .cols = COLS,
                          .src = xl_mat_rows(w->mem[0], COLS, XL_F32),
                          .dst = xl_mat_rows(w->mem[1], COLS, XL_F32)};
    return print_status(w, xl_softmax_run(w->queue, &s, NULL));
}

static xl_expr_args make_expr(const struct world *w, xl_binding b[3])
{
    static const char *const names[3] = {"x", "y", "z"};
    const size_t shape[2] = {ROWS, COLS};
    memset(b, 0, 3 * sizeof *b);
    for (unsigned i = 0; i < 3; i++) {
        b[i].name = names[i];
        b[i].tensor = xl_tensor_dense(w->mem[i], XL_F32, 2, shape);
    }
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 3};
    return args;
}

/* Compiled, run by one kernel and by several with scratch, and forgotten. */
static xl_status run_expr(struct world *w)
{
    xl_binding b[3];
    xl_expr_args args = make_expr(w, b);
    xl_expr *e = NULL;
    xl_status status = xl_expr_compile(
        w->queue, "z = exp(x) * y + sum(x, axis=1)", &args, &e);
    assert_true((status == XL_OK) == (e != NULL));
    if (status == XL_OK)
        status = xl_expr_run(w->queue, e, &args, NULL);
    args.variant = "expr_unfused";
    if (status == XL_OK)
        status = xl_expr_run(w->queue, e, &args, NULL);
    xl_expr_destroy(e);
    return print_status(w, status);
}

static void set_up_expr(struct world *w)
{
    set_up_buffers(w);
    assert_status(run_expr(w), XL_OK, w->message);
}

static void set_up_expr_kept(struct world *w)
{
    w->options.cache_dir = test_scratch("kept");
    set_up_expr(w);
    close_all(w);
    set_up_buffers(w);
}

static void count_span(const xl_span *span, void *n)
{
    assert_non_null(span->label);
    ++*(unsigned *)n;
}

static xl_status act_timeline(struct world *w)
{
    unsigned n = 0;
    xl_status status = xl_timeline_enable(w->queue, true);
    if (status == XL_OK)
        status = run_gemm(w);
    if (status == XL_OK)
        status = xl_timeline_drain(w->queue, count_span, &n);
    return print_status(w, status);
}

/* A process that finds what an earlier one kept. */
static void set_up_kept(struct world *w)
{
    w->options.cache_dir = test_scratch("kept");
    set_up_warm(w);
    close_all(w);
    set_up_buffers(w);
}

/* clang-format off */
static const struct flow flows[] = {
    {"open",       NULL,           act_open,     close_all, XL_OK},
    {"count",      set_up_lib,     act_count,    close_all, XL_OK},
    {"create",     set_up_devices, act_create,   close_all, XL_OK},
    {"wrap",       set_up_native,  act_wrap,     close_all, XL_OK},
    {"buffers",    set_up_queue,   act_buffers,  close_all, XL_OK},
    {"gemm cold",  set_up_buffers, run_gemm,     close_all, XL_OK},
    {"gemm warm",  set_up_warm,    run_gemm,     close_all, XL_OK},
    {"prepare",    set_up_buffers, act_prepare,  close_all, XL_OK},
    {"explain",    set_up_buffers, act_explain,  close_all, XL_OK},
    {"softmax",    set_up_buffers, act_softmax,  close_all, XL_OK},
    {"expr cold",  set_up_buffers, run_expr,     close_all, XL_OK},
    {"expr warm",  set_up_expr,    run_expr,     close_all, XL_OK},
    {"expr kept",  set_up_expr_kept, run_expr,   close_all, XL_OK},
    {"timeline",   set_up_warm,    act_timeline, close_all, XL_OK},
    {"cache hit",  set_up_kept,    run_gemm,     close_all, XL_OK},
};
/* clang-format on */

/* -- the loop ------------------------------------------------------------- */

static void listen(xl_log_level level, const char *text, void *world)
{
    (void)text;
    ((struct world *)world)->warnings += level == XL_LOG_WARNING;
}

static void start(const struct flow *flow, struct world *w)
{
    memset(w, 0, sizeof *w);
    w->options = (xl_options){XL_OPTIONS_INIT};
    w->options.log = listen;
    w->options.log_arg = w;
    w->options.skip_selfcheck = true;
    w->options.cache_dir = "";
    if (flow->setup)
        flow->setup(w);
}

/* Fails the test with everything that is known. */
static void must(bool held, const struct flow *flow, const char *entry,
                 unsigned call, const char *what, const struct world *w)
{
    if (!held)
        fail_msg("%s, %s #%u: %s (message: \"%s\")", flow->name, entry, call,
                 what, w->message);
}

/* One fault; false when the flow got through without it happening. */
static bool try_fault(const struct flow *flow, const char *entry,
                      unsigned call, cl_int code)
{
    const struct xl_control *stub = test_stub();
    const long before = stub->live();
    struct world w;

    start(flow, &w);
    stub->reset();
    stub->arm(entry, call, code);
    const xl_status status = flow->act(&w);
    const bool fired = stub->fired() != 0;
    stub->reset();
    if (status == flow->expected)
        must(!fired || is_harmless(entry, w.options.cache_dir[0] != '\0',
                                   w.warnings),
             flow, entry, call, "the failure was swallowed", &w);
    else
        must(fired && w.message[0] != '\0', flow, entry, call,
             "a failure without a message", &w);
    if (status != flow->expected) {
        const xl_status again = flow->act(&w);
        must(again == flow->expected, flow, entry, call,
             "asked again, it does not work", &w);
    }
    flow->tear_down(&w);
    must(stub->live() == before, flow, entry, call, stub->live_text(), &w);
    return fired;
}

static void test_faults(void **state)
{
    const struct xl_control *stub = test_stub();
    unsigned total = 0;

    (void)state;
    for (size_t f = 0; f < sizeof flows / sizeof *flows; f++) {
        unsigned in_flow = 0;
        for (unsigned e = 0; stub->entry(e); e++) {
            unsigned call = 1;
            while (try_fault(&flows[f], stub->entry(e), call,
                             CL_OUT_OF_RESOURCES)) {
                in_flow++;
                call++;
                assert_in_range(call, 1, MAX_CALLS);
            }
        }
        print_message("%-10s %4u faults\n", flows[f].name, in_flow);
        /* Asking no driver anything is what xl_open promises. */
        if (strcmp(flows[f].name, "open") == 0)
            assert_int_equal(in_flow, 0);
        else
            assert_int_not_equal(in_flow, 0);
        total += in_flow;
    }
    print_message("%u faults in all\n", total);
}

/* A build that fails says what the compiler said. */
static void test_build_log(void **state)
{
    struct world w;

    (void)state;
    memset(&w, 0, sizeof w);
    w.options = (xl_options){XL_OPTIONS_INIT};
    w.options.skip_selfcheck = true;
    w.options.cache_dir = "";
    set_up_buffers(&w);
    test_stub()->reset();
    xl_gemm g = make_gemm(&w);
    g.variant = "gemm_ref";
    test_stub()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    assert_status(xl_gemm_run(w.queue, &g, NULL), XL_BUILD_FAILED,
                  xl_error_detail(w.queue));
    assert_non_null(
        strstr(xl_error_detail(w.queue), "this is the build log"));
    close_all(&w);
}

/* The stub computes nothing: every variant fails its self-check, is struck,
 * and none is left; with faults on top still nothing leaks. */
static void test_untrusted(void **state)
{
    static const struct flow flow = {"untrusted", set_up_buffers, run_gemm,
                                     close_all, XL_UNTRUSTED};
    const struct xl_control *stub = test_stub();
    struct world w;

    (void)state;
    const long before = stub->live();
    memset(&w, 0, sizeof w);
    w.options = (xl_options){XL_OPTIONS_INIT};
    w.options.cache_dir = "";
    set_up_buffers(&w);
    xl_gemm g = make_gemm(&w);
    assert_status(xl_gemm_run(w.queue, &g, NULL), flow.expected,
                  xl_error_detail(w.queue));
    g.variant = "gemm_ref";
    assert_status(xl_gemm_run(w.queue, &g, NULL), flow.expected,
                  xl_error_detail(w.queue));
    close_all(&w);
    if (stub->live() != before)
        fail_msg("alive: %s", stub->live_text());
}

/* A wrong result is reported with its plan and its case, at once and later; what
 * turns operands for many variants is not blamed for the product. */
static void test_blame(void **state)
{
    enum { HIGH = 2047, WIDE = 2049, DEPTH = 2053 }; /* no line is on words */
    static const struct {
        xl_dtype dtype; /* of the same size: one gemm_turn, two gemm_mma */
        const char *says, *not_says;
    } runs[] = {{XL_F16, "gemm_mma: C(0, 0) of", "before"},
                {XL_F16,
                 "gemm_mma failed its self-check on this driver before, in "
                 "gemm_mma TM=",
                 NULL},
                {XL_F16, "gemm_turn + gemm_mma", NULL},
                {XL_F16, ": C(0, 0) of", NULL},
                {XL_F16, "`clbench cache clear`", NULL},
                {XL_BF16, "gemm_mma: C(0, 0) of", "before"}};
    const char *cache = test_scratch("blame");

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct world w;
        memset(&w, 0, sizeof w);
        w.options = (xl_options){XL_OPTIONS_INIT};
        w.options.cache_dir = cache;
        set_up_queue(&w);
        xl_gemm g = {XL_GEMM_INIT,
                     .m = HIGH,
                     .n = WIDE,
                     .k = DEPTH,
                     .a = xl_mat_cols(NULL, HIGH, runs[i].dtype),
                     .b = xl_mat_rows(NULL, WIDE, runs[i].dtype),
                     .c = xl_mat_rows(NULL, WIDE, runs[i].dtype),
                     .alpha = 1.0,
                     .variant = "gemm_mma"};
        assert_status(xl_gemm_prepare(w.queue, &g), XL_UNTRUSTED,
                      xl_error_detail(w.queue));
        const char *message = xl_error_detail(w.queue);
        if (!strstr(message, runs[i].says) ||
            (runs[i].not_says && strstr(message, runs[i].not_says)))
            fail_msg("%zu: \"%s\"", i, message);
        close_all(&w);
    }
}

/* Faults within the self-check: never a result that was not trusted. */
static unsigned fail_in_trial(const char *entry,
                              xl_status (*act)(struct world *w))
{
    const struct xl_control *stub = test_stub();
    for (unsigned call = 1;; call++) {
        struct world w;
        const long before = stub->live();
        memset(&w, 0, sizeof w);
        w.options = (xl_options){XL_OPTIONS_INIT};
        w.options.cache_dir = "";
        set_up_buffers(&w);
        stub->reset();
        stub->arm(entry, call, CL_OUT_OF_RESOURCES);
        const xl_status status = act(&w);
        const bool fired = stub->fired() != 0;
        stub->reset();
        if (status == XL_OK || w.message[0] == '\0')
            fail_msg("%s #%u: %s, \"%s\"", entry, call,
                     xl_status_name(status), w.message);
        close_all(&w);
        if (stub->live() != before)
            fail_msg("%s #%u: alive: %s", entry, call, stub->live_text());
        if (!fired)
            return call - 1;
    }
}

static void test_selfcheck_faults(void **state)
{
    const struct xl_control *stub = test_stub();
    unsigned total = 0;

    (void)state;
    for (unsigned e = 0; stub->entry(e); e++) {
        total += fail_in_trial(stub->entry(e), run_gemm);
        total += fail_in_trial(stub->entry(e), run_expr);
    }
    print_message("%u faults\n", total);
    assert_int_not_equal(total, 0);
}

/* A queue may be destroyed while every release fails. */
static void test_release_faults(void **state)
{
    const struct xl_control *stub = test_stub();

    (void)state;
    for (unsigned e = 0; stub->entry(e); e++) {
        if (!releases(stub->entry(e)))
            continue;
        for (unsigned call = 1;; call++) {
            const long before = stub->live();
            struct world w;
            memset(&w, 0, sizeof w);
            w.options = (xl_options){XL_OPTIONS_INIT};
            w.options.skip_selfcheck = true;
            w.options.cache_dir = "";
            set_up_warm(&w);
            stub->reset();
            stub->arm(stub->entry(e), call, CL_OUT_OF_RESOURCES);
            close_all(&w);
            const bool fired = stub->fired() != 0;
            stub->reset();
            if (stub->live() != before)
                fail_msg("%s #%u: alive: %s", stub->entry(e), call,
                         stub->live_text());
            if (!fired)
                break;
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_build_log),
        cmocka_unit_test(test_untrusted),
        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_selfcheck_faults),
        cmocka_unit_test(test_release_faults),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
