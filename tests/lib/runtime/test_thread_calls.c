/* SPDX-License-Identifier: Apache-2.0 */
/* All ops from eight threads that share one xl_lib and one context: first
 * calls together, then warm calls, each thread with a queue of its own or all
 * with one queue under a lock. Every thread has the same results. Built with
 * ThreadSanitizer, it finds accesses without order. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "device/device.h"
#include "support/support.h"

enum { N_THREADS = 8, SIDE = 32, ELEMS = SIDE * SIDE, WARM = 20 };
enum { CHANNELS = 4, IMAGE = 16, FILTER = 3 };
enum { N_OPS = 6 };

static const size_t square[2] = {SIDE, SIDE};

/* What one thread runs: inputs are those of all threads. */
struct caller {
    pthread_t thread;
    struct world *w;
    xl_queue *q;
    pthread_mutex_t *turn; /* of the shared queue; NULL: the queue is own */
    xl_expr *expr;
    cl_mem out;
    float result[N_OPS][ELEMS];
    xl_status status;
    char message[256];
};

struct world {
    struct test_device t;
    cl_mem a, b;
    pthread_barrier_t start;
    struct caller caller[N_THREADS];
};

/* -- the ops -------------------------------------------------------------- */

static xl_gemm gemm_of(const struct caller *c, xl_binding *r)
{
    const struct world *w = c->w;
    *r = (xl_binding){.name = "r",
                      .tensor = xl_tensor_dense(w->b, XL_F32, 2, square)};
    return (xl_gemm){XL_GEMM_INIT,
                     .m = SIDE,
                     .n = SIDE,
                     .k = SIDE,
                     .alpha = 1,
                     .a = xl_mat_rows(w->a, SIDE, XL_F32),
                     .b = xl_mat_rows(w->b, SIDE, XL_F32),
                     .c = xl_mat_rows(c->out, SIDE, XL_F32)};
}

static xl_status run_gemm(struct caller *c)
{
    xl_binding r;
    const xl_gemm g = gemm_of(c, &r);
    return xl_gemm_run(c->q, &g, NULL);
}

static xl_status run_epilogue(struct caller *c)
{
    xl_binding r;
    xl_gemm g = gemm_of(c, &r);
    g.epilogue = (xl_epilogue){"relu(y + r)", &r, 1};
    return xl_gemm_run(c->q, &g, NULL);
}

static xl_status run_group(struct caller *c)
{
    xl_binding r;
    xl_gemm g[2] = {gemm_of(c, &r), gemm_of(c, &r)};
    for (unsigned i = 0; i < 2; i++) {
        g[i].m = SIDE / 2;
        g[i].c.offset = i * ELEMS / 2;
    }
    return xl_gemm_run_group(c->q, g, 2, NULL);
}

static xl_status run_conv(struct caller *c)
{
    const xl_conv v = {
        XL_CONV_INIT,
        .n = 1,
        .c = CHANNELS,
        .h = IMAGE,
        .w = IMAGE,
        .k = CHANNELS,
        .r = FILTER,
        .s = FILTER,
        .pad_top = 1,
        .pad_bottom = 1,
        .pad_left = 1,
        .pad_right = 1,
        .in = {.mem = {c->w->a}, .layout = XL_NHWC, .dtype = XL_F32},
        .filters = {.mem = {c->w->b}, .layout = XL_KRSC, .dtype = XL_F32},
        .out = {.mem = {c->out}, .layout = XL_NHWC, .dtype = XL_F32},
        .alpha = 1};
    return xl_conv_run(c->q, &v, NULL);
}

static xl_status run_softmax(struct caller *c)
{
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = SIDE, .cols = SIDE,
                          .src = xl_mat_rows(c->w->a, SIDE, XL_F32),
                          .dst = xl_mat_rows(c->out, SIDE, XL_F32)};
    return xl_softmax_run(c->q, &s, NULL);
}

static xl_status run_expr(struct caller *c)
{
    const xl_binding bound[] = {
        {.name = "a", .tensor = xl_tensor_dense(c->w->a, XL_F32, 2, square)},
        {.name = "b", .tensor = xl_tensor_dense(c->w->b, XL_F32, 2, square)},
        {.name = "c", .tensor = xl_tensor_dense(c->out, XL_F32, 2, square)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bound,
                               .n_bindings = 3};
    xl_status status = XL_OK;
    if (!c->expr)
        status = xl_expr_compile(c->q, "c = a / (1 + sum(b * b, axis=1))",
                                 &args, &c->expr);
    return status == XL_OK ? xl_expr_run(c->q, c->expr, &args, NULL) : status;
}

static xl_status (*const ops[N_OPS])(struct caller *c) = {
    run_gemm, run_epilogue, run_group, run_conv, run_softmax, run_expr};

/* -- the threads ---------------------------------------------------------- */

/* One call, and its result where it is wanted. */
static xl_status call(struct caller *c, unsigned op, bool with_result)
{
    if (c->turn)
        pthread_mutex_lock(c->turn);
    xl_status status = ops[op](c);
    if (status == XL_OK && with_result)
        status = xl_buffer_read(c->q, c->out, 0, c->result[op],
                                sizeof c->result[op]);
    if (status != XL_OK)
        snprintf(c->message, sizeof c->message, "op %u: %s", op,
                 xl_error_detail(c->q));
    if (c->turn)
        pthread_mutex_unlock(c->turn);
    return status;
}

static void *run_all(void *arg)
{
    struct caller *c = arg;
    for (unsigned op = 0; op < N_OPS; op++) {
        pthread_barrier_wait(&c->w->start); /* the first calls together */
        for (unsigned i = 0; i <= WARM && c->status == XL_OK; i++)
            c->status = call(c, op, i == WARM);
    }
    return NULL;
}

static void create_world(struct world *w)
{
    const char *driver = getenv("XL_STUB_DEVICE");
    /* The stub's kernels write nothing. */
    const xl_options options = {XL_OPTIONS_INIT,
                                .skip_selfcheck = driver != NULL,
                                .cache_dir = test_scratch("threads")};
    float x[ELEMS];
    memset(w, 0, sizeof *w);
    test_device_open(&w->t, &options);
    for (unsigned i = 0; i < ELEMS; i++)
        x[i] = (float)(i % 17) / 17 - 0.5F;
    cl_mem *const both[] = {&w->a, &w->b};
    for (unsigned i = 0; i < 2; i++) {
        assert_status(xl_buffer_create(w->t.queue, sizeof x, both[i]), XL_OK,
                      xl_error_detail(w->t.queue));
        assert_status(xl_buffer_write(w->t.queue, *both[i], 0, x, sizeof x),
                      XL_OK, xl_error_detail(w->t.queue));
    }
    assert_int_equal(pthread_barrier_init(&w->start, NULL, N_THREADS), 0);
}

static void destroy_world(struct world *w)
{
    pthread_barrier_destroy(&w->start);
    clReleaseMemObject(w->a);
    clReleaseMemObject(w->b);
    test_device_close(&w->t);
}

static void run_threads(bool is_shared)
{
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    create_world(w);
    for (unsigned i = 0; i < N_THREADS; i++) {
        struct caller *c = &w->caller[i];
        c->w = w;
        c->q = w->t.queue;
        c->turn = is_shared ? &turn : NULL;
        if (!is_shared)
            assert_status(xl_queue_create_beside(w->t.queue, &c->q), XL_OK,
                          xl_lib_error(w->t.lib));
        assert_status(
            xl_buffer_create(w->t.queue, ELEMS * sizeof(float), &c->out),
            XL_OK, xl_error_detail(w->t.queue));
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&w->caller[i].thread, NULL, run_all, &w->caller[i]),
            0);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(w->caller[i].thread, NULL);
    for (unsigned i = 0; i < N_THREADS; i++) {
        struct caller *c = &w->caller[i];
        assert_status(c->status, XL_OK, c->message);
        assert_memory_equal(c->result, w->caller[0].result, sizeof c->result);
        xl_expr_destroy(c->expr);
        clReleaseMemObject(c->out);
        if (!is_shared)
            xl_queue_destroy(c->q);
    }
    destroy_world(w);
    free(w);
}

static void test_own_queues(void **state)
{
    (void)state;
    run_threads(false);
}

static void test_shared_queue(void **state)
{
    (void)state;
    run_threads(true);
}

/* -- measured facts ------------------------------------------------------- */

/* Probes of one thread change facts while another plans from them. */
struct prober {
    struct xl__limits *limits;
    atomic_bool stop;
};

static void *measure(void *arg)
{
    struct prober *p = arg;
    for (unsigned i = 1; !p->stop; i++) {
        xl__limits_measure(p->limits, XL__F_read_bytes_per_s, 1e12 + i);
        xl__limits_measure(p->limits, XL__F_finish_waits, 1);
    }
    return NULL;
}

static void test_facts_change(void **state)
{
    pthread_t thread;
    struct world *w = calloc(1, sizeof *w);
    struct prober p = {.stop = false};
    xl_binding r;
    (void)state;
    assert_non_null(w);
    create_world(w);
    struct caller c = {.w = w, .q = w->t.queue};
    assert_status(xl_buffer_create(c.q, ELEMS * sizeof(float), &c.out), XL_OK,
                  xl_error_detail(c.q));
    p.limits = &w->t.device->seen;
    assert_int_equal(pthread_create(&thread, NULL, measure, &p), 0);
    for (size_t m = 1; m <= SIDE; m++) {
        xl_choice choice[16];
        unsigned n;
        xl_gemm g = gemm_of(&c, &r);
        g.m = m;
        assert_status(xl_gemm_explain(c.q, &g, choice, 16, &n), XL_OK,
                      xl_error_detail(c.q));
        assert_status(xl_queue_finish(c.q), XL_OK, xl_error_detail(c.q));
    }
    p.stop = true;
    pthread_join(thread, NULL);
    clReleaseMemObject(c.out);
    destroy_world(w);
    free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_queues),
        cmocka_unit_test(test_shared_queue),
        cmocka_unit_test(test_facts_change),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
