/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share one xl_lib, on the stub driver: builds, self-checks and
 * warm calls at once. A build of the stub waits for the test, so that what
 * must not wait for it is seen without a clock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "runtime/context.h"
#include "runtime/plan_cache.h"
#include "runtime/program.h"
#include "support/support.h"

enum { SIDE = 64, MANY = 8 };

static const uint64_t hang_ns = 60000000000u; /* against hangs */

/* Is the condition true before the test counts as hanging? */
static bool comes_true(bool (*is_true)(void *arg), void *arg)
{
    const uint64_t start = xl__now_ns();
    while (!is_true(arg)) {
        if (xl__now_ns() - start > hang_ns)
            return false;
        xl__sleep_ns(100000);
    }
    return true;
}

/* Builds of the stub wait here until the gate opens. */
struct gate {
    atomic_int n_inside, n_open; /* so many may leave */
    atomic_int hung;
};

static bool is_open(void *arg)
{
    struct gate *g = arg;
    return g->n_open > 0;
}

static void pass_gate(void *arg)
{
    struct gate *g = arg;
    g->n_inside++;
    if (!comes_true(is_open, g))
        g->hung++;
    g->n_inside--;
}

static bool is_one_inside(void *arg)
{
    return ((struct gate *)arg)->n_inside >= 1;
}

static bool are_two_inside(void *arg)
{
    return ((struct gate *)arg)->n_inside >= 2;
}

static void open_unchecked(struct test_device *t)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    test_device_open(t, &options);
}

/* -- one program, several threads ----------------------------------------- */

/* A thread that needs a program. */
struct builder {
    pthread_t thread;
    xl_queue *q;
    const char *options;
    struct xl__program *program;
    struct xl__error error;
    xl_status status;
};

static void *build(void *arg)
{
    struct builder *b = arg;
    struct xl__step step = {.source = "gemm/reference.cl",
                            .kernel = "gemm_ref"};
    snprintf(step.options, sizeof step.options, "%s", b->options);
    b->status = xl__program_get(b->q->ctx, &step, &b->program, &b->error);
    return NULL;
}

static void start(struct builder *b, xl_queue *q, const char *options)
{
    *b = (struct builder){.q = q, .options = options};
    assert_int_equal(pthread_create(&b->thread, NULL, build, b), 0);
}

static bool are_all_waiting(void *arg)
{
    xl_queue *q = arg;
    bool all = false;
    xl__lock_take(&q->ctx->lock);
    if (q->ctx->programs)
        all = q->ctx->programs->n_users == MANY;
    xl__lock_drop(&q->ctx->lock);
    return all;
}

/* Starts MANY threads that need one program, and lets the build end when all
 * of them wait for it. */
static void build_together(struct test_device *t, struct builder *b)
{
    struct gate gate = {0};
    test_stub()->on_build(pass_gate, &gate);
    for (unsigned i = 0; i < MANY; i++)
        start(&b[i], t->queue, " -DTEST=1");
    const bool wait = comes_true(are_all_waiting, t->queue);
    gate.n_open = 1;
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(b[i].thread, NULL);
    test_stub()->on_build(NULL, NULL);
    assert_true(wait);
}

static void test_built_once(void **state)
{
    struct test_device t;
    struct builder b[MANY];
    (void)state;
    open_unchecked(&t);
    test_stub()->reset();
    build_together(&t, b);
    assert_int_equal(test_stub()->calls("clBuildProgram"), 1);
    for (unsigned i = 0; i < MANY; i++) {
        assert_status(b[i].status, XL_OK, xl__str_text(&b[i].error.detail));
        assert_ptr_equal(b[i].program, b[0].program);
    }
    test_device_close(&t);
}

/* Each thread has the error; the next look-up builds again. */
static void test_failed_once(void **state)
{
    static const struct xl_builds refuses = {
        CL_BUILD_PROGRAM_FAILURE, "", CL_SUCCESS, {""}};
    struct test_device t;
    struct builder b[MANY];
    (void)state;
    open_unchecked(&t);
    test_stub()->reset();
    test_stub()->builds(&refuses);
    build_together(&t, b);
    test_stub()->builds(NULL);
    assert_int_equal(test_stub()->calls("clBuildProgram"), 1);
    for (unsigned i = 0; i < MANY; i++) {
        assert_status(b[i].status, XL_BUILD_FAILED, "a refused build");
        assert_non_null(strstr(xl__str_text(&b[i].error.detail),
                               "stub: this is the build log"));
        xl__error_clear(&b[i].error);
    }
    start(&b[0], t.queue, " -DTEST=1");
    pthread_join(b[0].thread, NULL);
    assert_status(b[0].status, XL_OK, xl__str_text(&b[0].error.detail));
    test_device_close(&t);
}

static void test_parallel_builds(void **state)
{
    struct test_device t;
    struct builder b[2];
    struct gate gate = {0};
    (void)state;
    open_unchecked(&t);
    test_stub()->on_build(pass_gate, &gate);
    start(&b[0], t.queue, " -DTEST=1");
    start(&b[1], t.queue, " -DTEST=2");
    const bool both = comes_true(are_two_inside, &gate);
    gate.n_open = 1;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(b[i].thread, NULL);
    test_stub()->on_build(NULL, NULL);
    assert_true(both);
    test_device_close(&t);
}

/* -- a warm call during a build ------------------------------------------- */

/* A product with an epilogue, and a residual that it reads. */
struct product {
    cl_mem mem[4];
    xl_binding r;
    xl_gemm gemm;
};

static void create_product(struct product *p, xl_queue *q)
{
    static const size_t shape[2] = {SIDE, SIDE};
    memset(p, 0, sizeof *p);
    for (unsigned i = 0; i < 4; i++)
        assert_status(
            xl_buffer_create(q, SIDE * SIDE * sizeof(float), &p->mem[i]),
            XL_OK, xl_error_detail(q));
    p->r = (xl_binding){
        .name = "r", .tensor = xl_tensor_dense(p->mem[3], XL_F32, 2, shape)};
    p->gemm = (xl_gemm){XL_GEMM_INIT,
                        .m = SIDE,
                        .n = SIDE,
                        .k = SIDE,
                        .alpha = 1,
                        .a = xl_mat_rows(p->mem[0], SIDE, XL_F32),
                        .b = xl_mat_rows(p->mem[1], SIDE, XL_F32),
                        .c = xl_mat_rows(p->mem[2], SIDE, XL_F32),
                        .epilogue = {.expr = "relu(y + r)",
                                     .bindings = &p->r,
                                     .n_bindings = 1}};
}

static void release_product(struct product *p)
{
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(p->mem[i]);
}

/* A thread that makes warm calls of all ops. */
struct caller {
    pthread_t thread;
    xl_queue *q;
    const struct product *p;
    xl_expr *expr;
    xl_status status;
    atomic_int n_calls;
    double most_ns;  /* of the thread's time that a round may take */
    unsigned n_long; /* rounds that took more */
    uint64_t longest_ns, longest_wall_ns; /* of a round of all calls */
};

enum { CALLS = 15000 }; /* rounds, 105 000 calls */

static xl_status call_products(const struct caller *c)
{
    xl_gemm plain = c->p->gemm;
    plain.epilogue = (xl_epilogue){.expr = NULL};
    xl_gemm both[2] = {plain, plain};
    both[1].c.mem.buf = c->p->mem[3];
    xl_status status = xl_gemm_run(c->q, &c->p->gemm, NULL);
    if (status == XL_OK)
        status = xl_gemm_run(c->q, &plain, NULL);
    return status == XL_OK ? xl_gemm_run_group(c->q, both, 2, NULL) : status;
}

static xl_status call_softmax(const struct caller *c)
{
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = SIDE, .cols = SIDE,
                          .src = c->p->gemm.a, .dst = c->p->gemm.c};
    return xl_softmax_run(c->q, &s, NULL);
}

static xl_status call_conv(const struct caller *c)
{
    const xl_conv v = {XL_CONV_INIT,
                       .n = 1,
                       .c = 4,
                       .k = 4,
                       .r = 3,
                       .s = 3,
                       .h = 16,
                       .w = 16,
                       .alpha = 1,
                       .in = {.mem = {c->p->mem[0]}, .dtype = XL_F32},
                       .filters = {.mem = {c->p->mem[1]}, .dtype = XL_F32},
                       .out = {.mem = {c->p->mem[2]}, .dtype = XL_F32}};
    return xl_conv_run(c->q, &v, NULL);
}

/* Compiled by the first call. */
static xl_status call_expr(struct caller *c)
{
    xl_binding b[2] = {c->p->r, c->p->r};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    xl_status status = XL_OK;
    b[1].name = "y";
    b[1].tensor.mem.buf = c->p->mem[2];
    if (!c->expr)
        status = xl_expr_compile(c->q, "y = softmax(r)", &args, &c->expr);
    return status == XL_OK ? xl_expr_run(c->q, c->expr, &args, NULL) : status;
}

static xl_status call_all(struct caller *c)
{
    xl_status status = call_products(c);
    if (status == XL_OK)
        status = call_softmax(c);
    if (status == XL_OK)
        status = call_conv(c);
    return status == XL_OK ? call_expr(c) : status;
}

static void *call_warm(void *arg)
{
    static const double most_ns = 5e6;
    struct caller *c = arg;
    c->most_ns = most_ns * test_slowness();
    for (unsigned i = 0; i < CALLS && c->status == XL_OK; i++) {
        const uint64_t cpu = xl__thread_cpu_ns(), wall = xl__now_ns();
        c->status = call_all(c);
        const uint64_t wall_ns = xl__now_ns() - wall;
        const uint64_t cpu_ns = xl__thread_cpu_ns() - cpu;
        c->n_long += (double)cpu_ns > c->most_ns;
        if (cpu_ns > c->longest_ns)
            c->longest_ns = cpu_ns;
        if (wall_ns > c->longest_wall_ns)
            c->longest_wall_ns = wall_ns;
        c->n_calls++;
    }
    return NULL;
}

/* What the library takes of a warm call, whatever other threads do. The wall
 * clock has other programs' time too; the thread's own has the machine's rare
 * halts, so a round in a thousand may be long. */
static void check_longest(const struct caller *c)
{
    enum { MAY_BE_LONG = CALLS / 1000 };
    print_message("longest of %d rounds: %.3f ms of the thread, %.3f ms; %u "
                  "took more than %.1f ms\n",
                  CALLS, (double)c->longest_ns * 1e-6,
                  (double)c->longest_wall_ns * 1e-6, c->n_long,
                  c->most_ns * 1e-6);
    assert_true(c->n_long <= MAY_BE_LONG);
}

static bool has_called(void *arg)
{
    return ((struct caller *)arg)->n_calls == CALLS;
}

/* All warm calls return while another thread's build is in progress. */
static void test_warm_during_build(void **state)
{
    struct test_device t;
    struct product p;
    struct builder b;
    struct gate gate = {0};
    (void)state;
    open_unchecked(&t);
    create_product(&p, t.queue);
    struct caller c = {.q = t.queue, .p = &p};
    assert_status(call_all(&c), XL_OK, xl_error_detail(t.queue));
    test_stub()->on_build(pass_gate, &gate);
    start(&b, t.queue, " -DTEST=1");
    const bool builds = comes_true(is_one_inside, &gate);
    pthread_create(&c.thread, NULL, call_warm, &c);
    const bool called = comes_true(has_called, &c);
    gate.n_open = 1;
    pthread_join(c.thread, NULL);
    pthread_join(b.thread, NULL);
    test_stub()->on_build(NULL, NULL);
    assert_true(builds);
    assert_true(called);
    assert_status(c.status, XL_OK, xl_error_detail(t.queue));
    check_longest(&c);
    xl_expr_destroy(c.expr);
    release_product(&p);
    test_device_close(&t);
}

/* All warm calls return while another thread has every lock of the library and
 * the context: whatever that thread does, they do not wait for it. */
static void test_warm_without_locks(void **state)
{
    struct test_device t;
    struct product p;
    (void)state;
    open_unchecked(&t);
    create_product(&p, t.queue);
    struct caller c = {.q = t.queue, .p = &p};
    assert_status(call_all(&c), XL_OK, xl_error_detail(t.queue));
    xl__lock *const all[] = {&t.lib->lock,
                             &t.lib->error_lock,
                             &t.lib->log_lock,
                             &t.lib->store.lock,
                             &t.lib->tuned.lock,
                             &t.queue->ctx->lock,
                             &t.queue->ctx->selections_lock};
    enum { N_LOCKS = sizeof all / sizeof *all };
    for (unsigned i = 0; i < N_LOCKS; i++)
        xl__lock_take(all[i]);
    pthread_create(&c.thread, NULL, call_warm, &c);
    const bool called = comes_true(has_called, &c);
    for (unsigned i = 0; i < N_LOCKS; i++)
        xl__lock_drop(all[i]);
    pthread_join(c.thread, NULL);
    assert_true(called);
    assert_status(c.status, XL_OK, xl_error_detail(t.queue));
    check_longest(&c);
    xl_expr_destroy(c.expr);
    release_product(&p);
    test_device_close(&t);
}

/* -- one self-check at a time --------------------------------------------- */

/* A thread that needs the verdict of two programs. */
struct checker {
    pthread_t thread;
    struct xl__context *ctx;
    struct xl__program *program[2];
    atomic_int *n_checks, *n_inside, *n_most;
};

static void *check(void *arg)
{
    struct checker *c = arg;
    if (xl__programs_begin_check(c->ctx, c->program, 2) != XL__UNTESTED)
        return NULL;
    const int n = ++*c->n_inside;
    if (n > *c->n_most)
        *c->n_most = n;
    ++*c->n_checks;
    xl__sleep_ns(1000000);
    for (unsigned i = 0; i < 2; i++)
        xl__program_trust(c->ctx, c->program[i], XL__PASSED, NULL);
    --*c->n_inside;
    xl__programs_end_check(c->ctx, c->program, 2);
    return NULL;
}

/* Two programs, named in both orders: one thread checks them. */
static void test_checked_once(void **state)
{
    struct test_device t;
    struct builder b[2];
    struct checker c[MANY];
    atomic_int n_checks = 0, n_inside = 0, n_most = 0;
    (void)state;
    open_unchecked(&t);
    start(&b[0], t.queue, " -DTEST=1");
    start(&b[1], t.queue, " -DTEST=2");
    for (unsigned i = 0; i < 2; i++)
        pthread_join(b[i].thread, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        c[i] = (struct checker){
            .ctx = t.queue->ctx,
            .program = {b[i % 2].program, b[1 - i % 2].program},
            .n_checks = &n_checks,
            .n_inside = &n_inside,
            .n_most = &n_most};
        assert_int_equal(pthread_create(&c[i].thread, NULL, check, &c[i]), 0);
    }
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(c[i].thread, NULL);
    assert_int_equal(n_checks, 1);
    assert_int_equal(n_most, 1);
    test_device_close(&t);
}

/* A check that ends without a verdict: the next thread checks. */
static void test_no_verdict(void **state)
{
    struct test_device t;
    struct builder b;
    (void)state;
    open_unchecked(&t);
    start(&b, t.queue, " -DTEST=1");
    pthread_join(b.thread, NULL);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(xl__programs_begin_check(t.queue->ctx, &b.program, 1),
                         XL__UNTESTED);
        xl__programs_end_check(t.queue->ctx, &b.program, 1);
    }
    xl__program_trust(t.queue->ctx, b.program, XL__FAILED, "why");
    assert_int_equal(xl__programs_begin_check(t.queue->ctx, &b.program, 1),
                     XL__FAILED);
    assert_string_equal(b.program->detail, "why");
    test_device_close(&t);
}

/* -- errors --------------------------------------------------------------- */

/* A thread that fails in its own way. */
struct failing {
    pthread_t thread;
    xl_lib *lib;
    unsigned number;
    bool is_own;
};

static void *fail_often(void *arg)
{
    struct failing *f = arg;
    char name[32];
    snprintf(name, sizeof name, "no device %u", f->number);
    for (unsigned i = 0; i < 200; i++) {
        xl_device *found;
        unsigned n;
        if (xl_device_find(f->lib, name, &found) != XL_NO_DEVICE ||
            !strstr(xl_lib_error(f->lib), name) ||
            xl_device_count(f->lib, &n) != XL_OK ||
            *xl_lib_error(f->lib) != '\0')
            f->is_own = false;
    }
    return NULL;
}

static void test_own_errors(void **state)
{
    struct test_device t;
    struct failing f[MANY];
    xl_device *found;
    (void)state;
    open_unchecked(&t);
    assert_int_equal(xl_device_find(t.lib, "main", &found), XL_NO_DEVICE);
    for (unsigned i = 0; i < MANY; i++) {
        f[i] = (struct failing){.lib = t.lib, .number = i, .is_own = true};
        assert_int_equal(pthread_create(&f[i].thread, NULL, fail_often, &f[i]),
                         0);
    }
    for (unsigned i = 0; i < MANY; i++) {
        pthread_join(f[i].thread, NULL);
        assert_true(f[i].is_own);
    }
    assert_non_null(strstr(xl_lib_error(t.lib), "main"));
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_once),
        cmocka_unit_test(test_failed_once),
        cmocka_unit_test(test_parallel_builds),
        cmocka_unit_test(test_warm_during_build),
        cmocka_unit_test(test_warm_without_locks),
        cmocka_unit_test(test_checked_once),
        cmocka_unit_test(test_no_verdict),
        cmocka_unit_test(test_own_errors),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
