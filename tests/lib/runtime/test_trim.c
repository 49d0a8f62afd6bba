/* SPDX-License-Identifier: Apache-2.0 */
/* What xl_queue_trim() and xl_lib_trim() free, by the driver's live objects,
 * and that calls, expressions and other threads go on. On the stub, and on
 * PoCL, where results are compared. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { SIDE = 16, ELEMS = SIDE * SIDE, THREADS = 4, ROUNDS = 60 };

static const size_t square[2] = {SIDE, SIDE};
static bool is_stub;
static const struct xl_control *control;

struct world {
    struct test_device t;
    cl_mem ones;
};

static void open_world(struct world *w)
{
    static float x[ELEMS];
    /* The stub's kernels write nothing. */
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true, .cache_dir = ""};
    test_device_open(&w->t, &options);
    for (unsigned i = 0; i < ELEMS; i++)
        x[i] = 1;
    assert_status(xl_buffer_create(w->t.queue, sizeof x, &w->ones), XL_OK,
                  xl_error_detail(w->t.queue));
    assert_status(xl_buffer_write(w->t.queue, w->ones, 0, x, sizeof x), XL_OK,
                  xl_error_detail(w->t.queue));
}

static void close_world(struct world *w)
{
    clReleaseMemObject(w->ones);
    test_device_close(&w->t);
}

static unsigned long builds(void)
{
    return control->calls("clBuildProgram");
}

/* How many objects of this kind are alive on the stub? live_text() is
 * "2 kernel, ..."; that of the layer has no kinds. */
static long live(const char *kind)
{
    char text[512];
    snprintf(text, sizeof text, "%s", control->live_text());
    for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
        char name[64];
        long n;
        if (sscanf(part, "%ld %63s", &n, name) == 2 && strcmp(name, kind) == 0)
            return n;
    }
    return 0;
}

/* c = 1s times 1s, y, through an epilogue: 16 + number. */
static xl_status run_gemm(xl_queue *q, cl_mem ones, cl_mem c, unsigned number)
{
    char text[32];
    snprintf(text, sizeof text, "y + %u", number);
    const xl_gemm g = {XL_GEMM_INIT, .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .alpha = 1,
                       .variant = "gemm_ref",
                       .a = xl_mat_rows(ones, SIDE, XL_F32),
                       .b = xl_mat_rows(ones, SIDE, XL_F32),
                       .c = xl_mat_rows(c, SIDE, XL_F32),
                       .epilogue = {.expr = number > 0 ? text : NULL}};
    return xl_gemm_run(q, &g, NULL);
}

static xl_status run_softmax(xl_queue *q, cl_mem ones, cl_mem c)
{
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = SIDE,
                          .cols = SIDE,
                          .src = xl_mat_rows(ones, SIDE, XL_F32),
                          .dst = xl_mat_rows(c, SIDE, XL_F32)};
    return xl_softmax_run(q, &s, NULL);
}

static cl_mem make_result(struct world *w)
{
    cl_mem c;
    assert_status(xl_buffer_create(w->t.queue, ELEMS * sizeof(float), &c),
                  XL_OK, xl_error_detail(w->t.queue));
    return c;
}

/* What one queue has stays, what none has goes. */
static void unused_goes(void **state)
{
    struct world w;
    xl_queue *q[2];
    xl_trimmed out;
    (void)state;
    open_world(&w);
    const cl_mem c = make_result(&w);
    for (unsigned i = 0; i < 2; i++) {
        assert_status(xl_queue_create_beside(w.t.queue, &q[i]), XL_OK,
                      xl_lib_error(w.t.lib));
        assert_status(run_gemm(q[i], w.ones, c, 0), XL_OK,
                      xl_error_detail(q[i]));
    }
    assert_status(run_gemm(q[0], w.ones, c, 7), XL_OK, xl_error_detail(q[0]));
    assert_status(run_gemm(q[0], w.ones, c, 8), XL_OK, xl_error_detail(q[0]));
    assert_status(run_softmax(q[1], w.ones, c), XL_OK, xl_error_detail(q[1]));
    const long programs = live("program"), kernels = live("kernel");
    assert_true(programs >= 4);
    /* Everything is in use. */
    assert_status(xl_lib_trim(w.t.lib, &out), XL_OK, "");
    assert_int_equal(out.n_programs + out.n_epilogues, 0);
    assert_true(out.n_selections > 0);
    assert_int_equal(live("program"), programs);
    /* Those of the epilogues are only the first queue's. */
    assert_status(xl_queue_finish(q[0]), XL_OK, xl_error_detail(q[0]));
    assert_status(xl_queue_trim(q[0]), XL_OK, xl_error_detail(q[0]));
    assert_int_equal(live("kernel"), kernels - 3);
    assert_status(xl_lib_trim(w.t.lib, &out), XL_OK, "");
    assert_int_equal(out.n_programs, 2);
    assert_int_equal(out.n_epilogues, 2);
    assert_int_equal(live("program"), programs - 2);
    /* The second queue is warm, the first one finds what it shares. */
    const unsigned long before = builds();
    assert_status(run_gemm(q[1], w.ones, c, 0), XL_OK, xl_error_detail(q[1]));
    assert_status(run_softmax(q[1], w.ones, c), XL_OK, xl_error_detail(q[1]));
    assert_status(run_gemm(q[0], w.ones, c, 0), XL_OK, xl_error_detail(q[0]));
    assert_int_equal(builds(), before);
    assert_status(run_gemm(q[0], w.ones, c, 7), XL_OK, xl_error_detail(q[0]));
    assert_int_equal(builds(), before + 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_status(xl_queue_finish(q[i]), XL_OK, xl_error_detail(q[i]));
        assert_status(xl_queue_trim(q[i]), XL_OK, xl_error_detail(q[i]));
    }
    assert_status(xl_lib_trim(w.t.lib, NULL), XL_OK, "");
    assert_int_equal(live("program"), 0);
    assert_int_equal(live("kernel"), 0);
    for (unsigned i = 0; i < 2; i++)
        xl_queue_destroy(q[i]);
    clReleaseMemObject(c);
    close_world(&w);
}

/* A compiled expression is used after all is freed. */
static void expression_lives(void **state)
{
    struct world w;
    xl_trimmed out;
    xl_expr *e;
    float x[ELEMS];
    (void)state;
    open_world(&w);
    xl_queue *q = w.t.queue;
    const cl_mem c = make_result(&w);
    const xl_binding bound[] = {
        {.name = "a", .tensor = xl_tensor_dense(w.ones, XL_F32, 2, square)},
        {.name = "c", .tensor = xl_tensor_dense(c, XL_F32, 2, square)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bound, .n_bindings = 2};
    assert_status(xl_expr_compile(q, "c = a * 3 + sum(a)", &args, &e), XL_OK,
                  xl_error_detail(q));
    for (unsigned round = 0; round < 3; round++) {
        assert_status(xl_expr_run(q, e, &args, NULL), XL_OK,
                      xl_error_detail(q));
        assert_status(xl_buffer_read(q, c, 0, x, sizeof x), XL_OK,
                      xl_error_detail(q));
        for (unsigned i = 0; i < ELEMS && !is_stub; i++)
            assert_true(x[i] == ELEMS + 3);
        assert_status(xl_queue_trim(q), XL_OK, xl_error_detail(q));
        assert_status(xl_lib_trim(w.t.lib, &out), XL_OK, "");
        assert_true(out.n_programs > 0);
        assert_int_equal(live("program"), 0);
    }
    xl_expr_destroy(e);
    clReleaseMemObject(c);
    close_world(&w);
}

/* -- other threads ---------------------------------------------------------
 */

struct caller {
    pthread_t thread;
    struct world *w;
    xl_queue *q;
    cl_mem c;
    atomic_int *n_done;
    xl_status status;
    unsigned n_wrong;
    char message[256];
};

/* Calls with ever other epilogues, and now and then a trim of its queue. */
static void *call_and_trim(void *arg)
{
    struct caller *c = arg;
    float first;
    for (unsigned i = 0; i < ROUNDS && c->status == XL_OK; i++) {
        const unsigned number = 1 + i % 7;
        c->status = run_gemm(c->q, c->w->ones, c->c, number);
        if (c->status == XL_OK)
            c->status = xl_buffer_read(c->q, c->c, 0, &first, sizeof first);
        if (c->status == XL_OK && i % 5 == 4)
            c->status = xl_queue_trim(c->q);
        c->n_wrong += !is_stub && first != (float)(SIDE + number);
    }
    if (c->status != XL_OK)
        snprintf(c->message, sizeof c->message, "%s", xl_error_detail(c->q));
    ++*c->n_done;
    return NULL;
}

static void threads_go_on(void **state)
{
    struct world w;
    struct caller callers[THREADS] = {{0}};
    atomic_int n_done = 0;
    uint64_t n_freed = 0;
    xl_trimmed out;
    (void)state;
    open_world(&w);
    for (unsigned i = 0; i < THREADS; i++) {
        struct caller *c = &callers[i];
        c->w = &w;
        c->n_done = &n_done;
        c->c = make_result(&w);
        assert_status(xl_queue_create_beside(w.t.queue, &c->q), XL_OK,
                      xl_lib_error(w.t.lib));
        assert_int_equal(pthread_create(&c->thread, NULL, call_and_trim, c),
                         0);
    }
    while (n_done < THREADS) {
        assert_status(xl_lib_trim(w.t.lib, &out), XL_OK, "");
        n_freed += out.n_programs;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        struct caller *c = &callers[i];
        pthread_join(c->thread, NULL);
        assert_status(c->status, XL_OK, c->message);
        assert_int_equal(c->n_wrong, 0);
        xl_queue_destroy(c->q);
        clReleaseMemObject(c->c);
    }
    assert_status(xl_lib_trim(w.t.lib, &out), XL_OK, "");
    assert_true(n_freed + out.n_programs > 0);
    assert_int_equal(live("program"), 0);
    close_world(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest on_stub[] = {
        cmocka_unit_test(unused_goes),
    };
    const struct CMUnitTest everywhere[] = {
        cmocka_unit_test(expression_lives),
        cmocka_unit_test(threads_go_on),
    };
    test_args(argc, argv);
    is_stub = getenv("XL_STUB_DEVICE") != NULL;
    control = is_stub ? test_stub() : test_layer();
    const int failed = cmocka_run_group_tests(everywhere, NULL, NULL);
    return failed +
           (is_stub ? cmocka_run_group_tests(on_stub, NULL, NULL) : 0);
}
