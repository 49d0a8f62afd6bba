/* SPDX-License-Identifier: Apache-2.0 */
/* Auditions on the stub, whose device takes the time that a test says, by a
 * simulated clock: the fastest candidate is chosen, however wrong the model;
 * within the budget, once, and kept. Kernels do nothing there, so self-checks
 * are off. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/worker.h"
#include "device/device.h"
#include "support/simulated_clock.h"
#include "support/support.h"

enum { SIDE = 1024, MOST = 16 };

/* -- the device ------------------------------------------------------------*/

/* What each work-item of a kernel takes. */
static struct speeds {
    const char *kernel; /* the beginning of its name; NULL: any */
    double item_ns;
} speeds[4];
static atomic_uint n_launches;
static atomic_ullong spent_ns, longest_ns;

static double takes(void *arg, const struct xl_launch *launch)
{
    const struct speeds *s = speeds;
    (void)arg;
    while (s->kernel && strncmp(launch->kernel, s->kernel, strlen(s->kernel)))
        s++;
    const double ns = s->item_ns * (double)launch->items;
    n_launches++;
    spent_ns += (unsigned long long)ns;
    if (ns > (double)longest_ns)
        longest_ns = (unsigned long long)ns;
    return ns;
}

static const struct xl_model device = {.takes = takes,
                                       .clock = &simulated_clock};

static void set_speeds(const char *slow, double slow_ns, double others_ns)
{
    memset(speeds, 0, sizeof speeds);
    speeds[0] = (struct speeds){slow, slow_ns};
    speeds[slow ? 1 : 0] = (struct speeds){NULL, others_ns};
    n_launches = 0;
    spent_ns = 0;
    longest_ns = 0;
    test_stub()->model(&device);
}

/* -- calls -----------------------------------------------------------------*/

static void open_with(struct test_device *t, xl_audition when, double ms,
                      const char *cache)
{
    const xl_options options = {XL_OPTIONS_INIT,    .skip_selfcheck = true,
                                .cache_dir = cache, .tuned_dir = "",
                                .audition = when,   .audition_ms = ms};
    test_device_open(t, &options);
}

static xl_gemm product(size_t m)
{
    xl_gemm g = {XL_GEMM_INIT, .m = m, .n = SIDE, .k = SIDE, .alpha = 1};
    g.a = xl_mat_rows(NULL, SIDE, XL_F32);
    g.b = g.c = xl_mat_rows(NULL, SIDE, XL_F32);
    return g;
}

/* The chosen one, whose name lives until the next call. */
static xl_choice choose(xl_queue *q, size_t m)
{
    const xl_gemm g = product(m);
    xl_choice c[MOST];
    unsigned n;
    assert_status(xl_gemm_explain(q, &g, c, MOST, &n), XL_OK,
                  xl_error_detail(q));
    assert_true(n > 2 && c[0].chosen);
    return c[0];
}

/* Of the model alone. */
static void name_models(char *out, size_t cap)
{
    struct test_device t;
    open_with(&t, XL_AUDITION_OFF, 0, "");
    const xl_choice c = choose(t.queue, SIDE);
    assert_null(strstr(c.why, "audition"));
    snprintf(out, cap, "%s", c.variant);
    test_device_close(&t);
}

/* -- the choice ------------------------------------------------------------*/

static void slow_choice_is_replaced(void **state)
{
    struct test_device t;
    char models[32], expected[64];
    (void)state;
    name_models(models, sizeof models);
    set_speeds(models, 100, 0.1);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    const xl_choice c = choose(t.queue, SIDE);
    assert_string_not_equal(c.variant, models);
    snprintf(expected, sizeof expected, "chosen by audition: %s ", c.variant);
    assert_memory_equal(c.why, expected, strlen(expected));
    assert_non_null(strstr(c.why, models));
    test_device_close(&t);
}

/* Though it is not among the best three by the model. */
static void reference_takes_part(void **state)
{
    struct test_device t;
    xl_gemm g = product(SIDE);
    xl_choice c[MOST];
    unsigned n, at = 0;
    (void)state;
    g.accuracy = XL_ACCURACY_FAST;
    open_with(&t, XL_AUDITION_OFF, 0, "");
    assert_status(xl_gemm_explain(t.queue, &g, c, MOST, &n), XL_OK, "");
    while (at < n && strcmp(c[at].variant, "gemm_ref") != 0)
        at++;
    assert_in_range(at, 3, n - 1);
    test_device_close(&t);
    set_speeds("gemm_ref", 0.001, 100);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    assert_status(xl_gemm_explain(t.queue, &g, c, MOST, &n), XL_OK, "");
    assert_string_equal(c[0].variant, "gemm_ref");
    test_device_close(&t);
}

/* The kernel that is named takes 2 % more. */
static double nearly_equal(void *name, const struct xl_launch *launch)
{
    return strcmp(launch->kernel, name) == 0 ? 1.02e5 : 1e5;
}

/* The host is busy while the kernel that is named is run first. */
static double busy_at_first(void *name, const struct xl_launch *launch)
{
    enum { BUSY = 4 };
    static unsigned n;
    if (strcmp(launch->kernel, name) != 0)
        return 1e5;
    return n++ < BUSY ? 2e6 : 1e4;
}

static void a_busy_host_puts_none_out(void **state)
{
    struct test_device t;
    char models[32];
    const struct xl_model busy = {
        .takes = busy_at_first, .clock = &simulated_clock, .arg = models};
    (void)state;
    name_models(models, sizeof models);
    test_stub()->model(&busy);
    open_with(&t, XL_AUDITION_BOUNDED, 500, "");
    assert_string_equal(choose(t.queue, SIDE).variant, models);
    test_device_close(&t);
}

/* Other programs have the device, too: of three launches one waits for them,
 * up to 14 ms. */
static double shared(void *name, const struct xl_launch *launch)
{
    enum { LONGEST = 14, MS = 1000000 };
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const unsigned draw = (unsigned)(seed >> 33);
    const bool is_slow = strcmp(launch->kernel, name) == 0;
    return (is_slow ? 3 : 0.03) * MS +
           (draw % 3 == 0 ? (double)(draw / 3 % (LONGEST * MS)) : 0);
}

static void a_shared_device_changes_no_choice(void **state)
{
    enum { TIMES = 50 };
    char models[32], slow[] = "gemm_ref";
    const struct xl_model busy = {
        .takes = shared, .clock = &simulated_clock, .arg = slow};
    unsigned n_models = 0;
    (void)state;
    name_models(models, sizeof models);
    test_stub()->model(&busy);
    for (unsigned i = 0; i < TIMES; i++) {
        struct test_device t;
        open_with(&t, XL_AUDITION_BOUNDED, 0, "");
        const xl_choice c = choose(t.queue, SIDE);
        assert_string_not_equal(c.variant, slow);
        n_models += strcmp(c.variant, models) == 0;
        test_device_close(&t);
    }
    assert_true(n_models >= TIMES * 9 / 10);
}

static void equal_times_keep_the_order(void **state)
{
    struct test_device t;
    char models[32];
    const struct xl_model equal = {.takes = nearly_equal,
                                   .clock = &simulated_clock,
                                   .arg = models};
    (void)state;
    name_models(models, sizeof models);
    test_stub()->model(&equal);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    const xl_choice c = choose(t.queue, SIDE);
    assert_string_equal(c.variant, models);
    assert_memory_equal(c.why, "chosen by audition", 18);
    test_device_close(&t);
}

/* A contender whose tile the driver's compiler spills takes part with another.
 */
static void refused_tile_is_replaced(void **state)
{
    static const struct xl_builds how = {
        CL_SUCCESS,
        ".version 9.0\n.target sm_90\n.entry gemm_wgmma(\n)\n{\n\tret;\n}\n",
        CL_SUCCESS,
        {"8 bytes spill stores\n", "0 bytes spill stores\n"}};
    const xl_mat side = xl_mat_rows(NULL, SIDE, XL_F16);
    const xl_gemm g = {XL_GEMM_INIT, .m = SIDE, .n = SIDE, .k = SIDE,
                       .a = side,    .b = side, .c = side, .alpha = 1};
    struct test_device t;
    xl_choice c[MOST];
    unsigned n;
    (void)state;
    set_speeds("gemm_wgmma", 0.1, 10);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    test_stub()->builds(&how);
    assert_status(xl_gemm_explain(t.queue, &g, c, MOST, &n), XL_OK,
                  xl_error_detail(t.queue));
    test_stub()->builds(NULL);
    assert_string_equal(c[0].variant, "gemm_wgmma");
    assert_memory_equal(c[0].why, "chosen by audition", 18);
    test_device_close(&t);
}

/* Softmax and convolution have auditions, too. */
static void other_ops(void **state)
{
    struct test_device t;
    xl_choice c[MOST];
    unsigned n;
    xl_softmax r = {XL_SOFTMAX_INIT, .rows = 4000, .cols = 1000};
    xl_conv v = {XL_CONV_INIT,  .n = 8,        .c = 32,   .h = 56,
                 .w = 56,       .k = 64,       .r = 3,    .s = 3,
                 .stride_h = 1, .stride_w = 1, .alpha = 1};
    (void)state;
    set_speeds(NULL, 0, 1);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    r.src = r.dst = xl_mat_rows(NULL, r.cols, XL_F32);
    assert_status(xl_softmax_explain(t.queue, &r, c, MOST, &n), XL_OK,
                  xl_error_detail(t.queue));
    assert_memory_equal(c[0].why, "chosen by audition", 18);
    v.in = v.out = (xl_images){.layout = XL_NCHW, .dtype = XL_F32};
    v.filters = (xl_filters){.layout = XL_KCRS, .dtype = XL_F32};
    assert_status(xl_conv_explain(t.queue, &v, c, MOST, &n), XL_OK,
                  xl_error_detail(t.queue));
    assert_memory_equal(c[0].why, "chosen by audition", 18);
    test_device_close(&t);
}

/* -- when ------------------------------------------------------------------*/

static void none_where_not_asked_for(void **state)
{
    struct test_device t;
    xl_gemm g = product(SIDE);
    (void)state;
    set_speeds(NULL, 0, 1);
    open_with(&t, XL_AUDITION_OFF, 0, "");
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK, "");
    test_device_close(&t);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    g.variant = "gemm_ref";
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK, "");
    assert_int_equal(n_launches, 0);
    g.variant = NULL;
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK, "");
    assert_int_not_equal(n_launches, 0);
    test_device_close(&t);
}

/* The first run of each candidate is beyond the budget, and so is the part of
 * the last one that exceeds it. */
static void budget_is_kept(void **state)
{
    static const double budgets_ms[] = {0.5, 5, 50};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct test_device t;
        const xl_gemm g = product(SIDE);
        set_speeds(NULL, 0, 50);
        open_with(&t, XL_AUDITION_BOUNDED, budgets_ms[i], "");
        assert_status(xl_gemm_prepare(t.queue, &g), XL_OK, "");
        assert_true(n_launches > 0);
        assert_true((double)spent_ns <=
                    1e6 * budgets_ms[i] + 10 * (double)longest_ns);
        test_device_close(&t);
    }
}

/* -- kept ------------------------------------------------------------------*/

static unsigned launches_of_choice(const char *cache, xl_choice *out)
{
    struct test_device t;
    open_with(&t, XL_AUDITION_BOUNDED, 0, cache);
    n_launches = 0;
    *out = choose(t.queue, SIDE);
    test_device_close(&t);
    return n_launches;
}

static void a_later_process_does_not_time(void **state)
{
    char folder[512], models[32];
    xl_choice first, second;
    (void)state;
    name_models(models, sizeof models);
    set_speeds(models, 100, 0.1);
    snprintf(folder, sizeof folder, "%s", test_scratch("audition"));
    assert_int_not_equal(launches_of_choice(folder, &first), 0);
    assert_int_equal(launches_of_choice(folder, &second), 0);
    assert_string_equal(first.variant, second.variant);
    assert_string_equal(first.why, second.why);
    assert_int_not_equal(launches_of_choice(test_scratch("other"), &first), 0);
}

/* Without a folder: for other sizes of the class, on other queues, and after
 * the choices are freed. */
static void kept_in_memory(void **state)
{
    struct test_device t;
    xl_queue *other;
    (void)state;
    set_speeds(NULL, 0, 1);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    (void)choose(t.queue, SIDE);
    const unsigned first = n_launches;
    (void)choose(t.queue, SIDE - 1);
    assert_int_equal(xl_queue_create(t.lib, t.device, &other), XL_OK);
    (void)choose(other, SIDE);
    assert_int_equal(xl_lib_trim(t.lib, NULL), XL_OK);
    (void)choose(other, SIDE);
    assert_int_equal(n_launches, first);
    (void)choose(other, SIDE / 4);
    assert_true(n_launches > first);
    xl_queue_destroy(other);
    test_device_close(&t);
}

/* What clbench measures before and the order of its calls change no choice. */
static void equal_on_empty_stores(void **state)
{
    static const size_t rows[] = {SIDE, 16, 1};
    char models[32], chosen[2][3][32];
    (void)state;
    name_models(models, sizeof models);
    set_speeds(models, 100, 0.1);
    for (unsigned pass = 0; pass < 2; pass++) {
        struct test_device t;
        open_with(&t, XL_AUDITION_BOUNDED, 0, "");
        for (unsigned i = 0; pass == 1 && i < XL__N_FACTS; i++)
            xl__limits_measure(&t.device->seen, i, 3);
        for (unsigned i = 0; i < 3; i++) {
            const unsigned at = pass ? 2 - i : i;
            const xl_choice c = choose(t.queue, rows[at]);
            snprintf(chosen[pass][at], sizeof chosen[pass][at], "%s",
                     c.variant);
        }
        test_device_close(&t);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(chosen[0][i], chosen[1][i]);
}

/* -- threads ---------------------------------------------------------------*/

struct preparing {
    struct xl__job job; /* first */
    xl_queue *q;
    xl_status status;
};

static atomic_uint n_preparing;

static void prepare_product(struct xl__job *job, bool is_cancelled)
{
    struct preparing *p = (struct preparing *)job;
    const xl_gemm g = product(SIDE);
    (void)is_cancelled;
    n_preparing++;
    p->status = xl_gemm_prepare(p->q, &g);
}

/* The first launch waits until every thread has had the time to claim the
 * audition too. */
static double takes_late(void *arg, const struct xl_launch *launch)
{
    enum { THREADS = 3 };
    const struct timespec pause = {0, 20000000};
    if (n_launches == 0) {
        while (n_preparing < THREADS)
            nanosleep(&pause, NULL);
        nanosleep(&pause, NULL);
    }
    return takes(arg, launch);
}

static void two_threads_hold_one(void **state)
{
    enum { HANGS_S = 120 };
    static const struct xl_model late = {.takes = takes_late,
                                         .clock = &simulated_clock};
    struct test_device t;
    struct preparing p[2] = {0};
    struct xl__worker *worker[2];
    (void)state;
    alarm(HANGS_S); /* a thread that is not woken */
    set_speeds(NULL, 0, 1);
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    (void)choose(t.queue, SIDE);
    const unsigned one = n_launches;
    test_device_close(&t);
    set_speeds(NULL, 0, 1);
    test_stub()->model(&late);
    n_preparing = 1;
    open_with(&t, XL_AUDITION_BOUNDED, 0, "");
    for (unsigned i = 0; i < 2; i++) {
        p[i].job.run = prepare_product;
        assert_int_equal(xl_queue_create_beside(t.queue, &p[i].q), XL_OK);
        worker[i] = xl__worker_create();
        assert_non_null(worker[i]);
        xl__worker_add(worker[i], &p[i].job);
    }
    const xl_choice c = choose(t.queue, SIDE);
    assert_memory_equal(c.why, "chosen by audition", 18);
    for (unsigned i = 0; i < 2; i++) {
        xl__worker_destroy(worker[i]); /* waits for the job or leaves it out */
        assert_int_equal(p[i].status, XL_OK);
        xl_queue_destroy(p[i].q);
    }
    alarm(0);
    assert_int_equal(n_launches, one);
    test_device_close(&t);
}

static void copy_label(const xl_span *span, void *arg)
{
    snprintf(arg, 64, "%s", span->label);
}

/* The model's choice runs until the audition has ended; then, within as many
 * calls as a plan is tried again after, the winner. */
static void in_the_background(void **state)
{
    const struct timespec pause = {0, 100000};
    struct test_device t;
    char models[32], label[64] = "";
    cl_mem mem;
    (void)state;
    name_models(models, sizeof models);
    set_speeds(models, 100, 0.1);
    open_with(&t, XL_AUDITION_BACKGROUND, 0, "");
    xl_gemm g = product(SIDE);
    assert_status(
        xl_buffer_create(t.queue, 3 * SIDE * SIDE * sizeof(float), &mem),
        XL_OK, "");
    g.a.mem.buf = g.b.mem.buf = g.c.mem.buf = mem;
    g.b.offset = SIDE * SIDE;
    g.c.offset = 2 * SIDE * SIDE;
    assert_status(xl_timeline_enable(t.queue, true), XL_OK, "");
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK, "");
    assert_status(xl_timeline_drain(t.queue, copy_label, label), XL_OK, "");
    assert_string_equal(label, models);
    /* However late its thread is; the job has a limit. */
    while (strcmp(label, models) == 0) {
        assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK, "");
        assert_status(xl_timeline_drain(t.queue, copy_label, label), XL_OK,
                      "");
        nanosleep(&pause, NULL);
    }
    assert_string_not_equal(label, models);
    assert_memory_equal(choose(t.queue, SIDE).why, "chosen by audition", 18);
    clReleaseMemObject(mem);
    test_device_close(&t);
    /* A queue that is destroyed ends or cancels it. */
    open_with(&t, XL_AUDITION_BACKGROUND, 0, "");
    g = product(SIDE);
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK, "");
    test_device_close(&t);
}

/* -- faults ----------------------------------------------------------------*/

/* False when the fault did not happen. A call that the op itself needs may
 * fail it; one of the audition alone does not. */
static bool try_fault(const char *entry, unsigned call)
{
    const struct xl_control *stub = test_stub();
    struct test_device t;
    xl_choice c[MOST];
    unsigned n = 0;
    const xl_gemm g = product(1);
    open_with(&t, XL_AUDITION_BOUNDED, 1, "");
    const long before = stub->live();
    stub->reset();
    stub->arm(entry, call, CL_OUT_OF_RESOURCES);
    const xl_status status = xl_gemm_explain(t.queue, &g, c, MOST, &n);
    const bool fired = stub->fired() != 0;
    stub->reset();
    if (status != XL_OK)
        fail_msg("%s #%u: %s %s", entry, call, xl_status_name(status),
                 xl_error_detail(t.queue));
    assert_true(n > 0 && c[0].chosen);
    assert_status(xl_queue_trim(t.queue), XL_OK, "");
    assert_status(xl_lib_trim(t.lib, NULL), XL_OK, "");
    if (stub->live() > before)
        fail_msg("%s #%u: left %s", entry, call, stub->live_text());
    test_device_close(&t);
    return fired;
}

/* Calls that make buffers, launch and wait. */
static void faults_leave_the_models_choice(void **state)
{
    static const char *const entries[] = {
        "clCreateCommandQueue",   "clCreateBuffer", "clEnqueueWriteBuffer",
        "clEnqueueNDRangeKernel", "clFinish",       "clFlush",
        "clSetKernelArg"};
    (void)state;
    set_speeds(NULL, 0, 1000);
    unsigned total = 0;
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        unsigned call = 1;
        while (try_fault(entries[i], call))
            call++;
        total += call - 1;
    }
    print_message("%u faults\n", total);
    assert_true(total > 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_choice_is_replaced),
        cmocka_unit_test(refused_tile_is_replaced),
        cmocka_unit_test(reference_takes_part),
        cmocka_unit_test(a_busy_host_puts_none_out),
        cmocka_unit_test(a_shared_device_changes_no_choice),
        cmocka_unit_test(equal_times_keep_the_order),
        cmocka_unit_test(other_ops),
        cmocka_unit_test(none_where_not_asked_for),
        cmocka_unit_test(budget_is_kept),
        cmocka_unit_test(a_later_process_does_not_time),
        cmocka_unit_test(kept_in_memory),
        cmocka_unit_test(equal_on_empty_stores),
        cmocka_unit_test(two_threads_hold_one),
        cmocka_unit_test(in_the_background),
        cmocka_unit_test(faults_leave_the_models_choice),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
