/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that a queue keeps, on the stub of an H200: many sizes in rotation,
 * failures that are no verdict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/stats.h"
#include "support/support.h"

enum { N_SIZES = 1000, N = 4096, K = 4096, MOST_M = 4096 };

static const xl_options uncached = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                    .cache_dir = ""};

struct product {
    struct test_device t;
    cl_mem mem[3];
    xl_gemm g;
};

/* A product of MOST_M x N x K; smaller ones use a part of the memory. */
static void open_product(struct product *p, const xl_options *options,
                         xl_dtype dtype)
{
    const size_t bytes = (size_t)MOST_M * N * sizeof(float);
    memset(p, 0, sizeof *p);
    test_device_open(&p->t, options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(p->t.queue, bytes, &p->mem[i]), XL_OK,
                      xl_error_detail(p->t.queue));
    p->g = (xl_gemm){XL_GEMM_INIT,
                     .m = MOST_M,
                     .n = N,
                     .k = K,
                     .alpha = 1.0,
                     .a = xl_mat_rows(p->mem[0], K, dtype),
                     .b = xl_mat_rows(p->mem[1], N, dtype),
                     .c = xl_mat_rows(p->mem[2], N, dtype)};
}

static void close_product(struct product *p)
{
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(p->mem[i]);
    test_device_close(&p->t);
}

static void run_rows(xl_queue *q, xl_gemm g, size_t m)
{
    g.m = m;
    assert_status(xl_gemm_run(q, &g, NULL), XL_OK, xl_error_detail(q));
}

/* Sizes all over 1..MOST_M, each once. */
static size_t size_of(unsigned i)
{
    return 1 + (i * 1597) % MOST_M;
}

/* The lower quartile of the thread's CPU time of a call, over n sizes: other
 * load only adds. */
static double round_ns(struct product *p, unsigned n)
{
    static double ns[MOST_M];
    for (unsigned i = 0; i < n; i++) {
        const uint64_t start = xl__thread_cpu_ns();
        run_rows(p->t.queue, p->g, size_of(i));
        ns[i] = (double)(xl__thread_cpu_ns() - start);
    }
    return xl__quantile(ns, n, 0.25);
}

/* CLBlast, which is a variant where it is installed, makes kernels by itself.
 */
static unsigned long calls_of_builds(void)
{
    const struct xl_control *stub = test_stub();
    return stub->calls("clCreateProgramWithSource") +
           stub->calls("clBuildProgram") +
           stub->calls("clCreateProgramWithBinary");
}

struct rotation {
    struct product *p;
    const char *what;
    unsigned n;
};

static double rotation_ns(void *arg)
{
    const struct rotation *r = arg;
    const double ns = round_ns(r->p, r->n);
    print_message("%s: a call of %s: %.1f us\n",
                  xl_dtype_name(r->p->g.a.dtype), r->what, ns / 1e3);
    return ns;
}

static const xl_dtype dtypes[] = {XL_F16, XL_F32, XL_I8};

/* A thousand sizes in rotation: no plan is made after the first round. */
static void test_rotation(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct product p;
        open_product(&p, &uncached, dtypes[i]);
        if (dtypes[i] == XL_I8)
            p.g.c.dtype = XL_I32;
        struct rotation r = {&p, "1000 sizes in rotation", N_SIZES};
        rotation_ns(&r); /* makes the plans */
        test_stub()->reset();
        assert_true(test_is_within(10e3, rotation_ns, &r));
        assert_int_equal(calls_of_builds(), 0);
        close_product(&p);
    }
}

/* More sizes in rotation than a queue keeps: each call makes a plan from that
 * of its class, and builds nothing. */
static void test_new_sizes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct product p;
        open_product(&p, &uncached, dtypes[i]);
        if (dtypes[i] == XL_I8)
            p.g.c.dtype = XL_I32;
        struct rotation r = {&p, "a new size", MOST_M};
        rotation_ns(&r);
        test_stub()->reset();
        assert_true(test_is_within(20e3, rotation_ns, &r));
        assert_int_equal(calls_of_builds(), 0);
        close_product(&p);
    }
}

/* -- failures that are no verdict ------------------------------------------
 */

static void copy_label(const xl_span *span, void *arg)
{
    snprintf(arg, 64, "%s", span->label);
}

/* The kernel that a call runs last. */
static const char *kernel_of_run(struct product *p)
{
    static char label[64];
    label[0] = '\0';
    run_rows(p->t.queue, p->g, MOST_M);
    assert_status(xl_timeline_drain(p->t.queue, copy_label, label), XL_OK,
                  xl_error_detail(p->t.queue));
    return label;
}

/* The best variant's kernel cannot be made `n` times, for lack of resources:
 * those calls run another one, and the next tries it again. Then the number of
 * calls between two attempts doubles. */
static void test_no_pin(void **state)
{
    const struct xl_control *stub = test_stub();
    char best[64];
    struct product p;
    (void)state;
    open_product(&p, &uncached, XL_F16);
    assert_status(xl_timeline_enable(p.t.queue, true), XL_OK, "timeline");
    snprintf(best, sizeof best, "%s", kernel_of_run(&p));
    close_product(&p);

    open_product(&p, &uncached, XL_F16);
    assert_status(xl_timeline_enable(p.t.queue, true), XL_OK, "timeline");
    stub->arm("clCreateKernel", 1, CL_OUT_OF_RESOURCES);
    assert_string_not_equal(kernel_of_run(&p), best);
    stub->arm("clCreateKernel", 1, CL_OUT_OF_RESOURCES);
    assert_string_not_equal(kernel_of_run(&p), best); /* tried at once */
    assert_true(stub->fired());
    stub->reset();
    assert_string_not_equal(kernel_of_run(&p), best); /* 1 of 2 calls */
    assert_int_equal(stub->calls("clCreateKernel"), 0);
    assert_string_equal(kernel_of_run(&p), best);
    assert_string_equal(kernel_of_run(&p), best);
    close_product(&p);
}

/* A program that cannot be compiled is a verdict: no call tries it again, and
 * none of another size. */
static void test_verdict(void **state)
{
    const struct xl_control *stub = test_stub();
    struct product p;
    (void)state;
    open_product(&p, &uncached, XL_F16);
    stub->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    run_rows(p.t.queue, p.g, MOST_M);
    assert_true(stub->fired());
    stub->reset();
    run_rows(p.t.queue, p.g, MOST_M);
    run_rows(p.t.queue, p.g, MOST_M - 128);
    assert_int_equal(stub->calls("clBuildProgram"), 0);
    close_product(&p);
}

/* -- a range of sizes -------------------------------------------------------
 */

/* After a range was prepared no size of it builds a program, makes a kernel or
 * selects, on this queue; what is asserted of selection is its time. */
static void test_range(void **state)
{
    const struct xl_control *stub = test_stub();
    enum { FIRST = 3, LAST = 700 };
    struct product p;
    double ns[LAST];
    (void)state;
    open_product(&p, &uncached, XL_F16);
    xl_gemm g = p.g;
    g.variant = "gemm_mma"; /* each size by a kernel of ours */
    g.m = FIRST;
    const uint64_t before = xl__thread_cpu_ns();
    assert_status(xl_gemm_prepare_range(p.t.queue, &g, LAST), XL_OK,
                  xl_error_detail(p.t.queue));
    print_message("%d sizes prepared in %.1f ms\n", LAST - FIRST + 1,
                  (double)(xl__thread_cpu_ns() - before) / 1e6);
    stub->reset();
    for (size_t m = LAST; m >= FIRST; m--) {
        const uint64_t start = xl__thread_cpu_ns();
        run_rows(p.t.queue, g, m);
        ns[m - FIRST] = (double)(xl__thread_cpu_ns() - start);
    }
    assert_int_equal(calls_of_builds(), 0);
    assert_int_equal(stub->calls("clCreateKernel"), 0);
    assert_int_equal(stub->calls("clCreateCommandQueue"), 0);
    print_message("then %.1f us a call\n",
                  xl__quantile(ns, LAST - FIRST + 1, 0.5) / 1e3);
    close_product(&p);
    assert_int_equal(stub->live(), 0);
}

/* The same of softmax and convolution, of which the latter needs several
 * programs for the range. */
struct others {
    xl_softmax s;
    xl_conv c;
};

static void open_others(struct others *o, struct product *p)
{
    open_product(p, &uncached, XL_F16);
    o->s = (xl_softmax){XL_SOFTMAX_INIT, .rows = 1, .cols = 1 << 16,
                        .src = xl_mat_rows(p->mem[0], 1 << 16, XL_F16),
                        .dst = xl_mat_rows(p->mem[1], 1 << 16, XL_F16)};
    o->c = (xl_conv){XL_CONV_INIT,
                     .n = 1,
                     .c = 32,
                     .h = 14,
                     .w = 14,
                     .k = 64,
                     .r = 3,
                     .s = 3,
                     .in = {.mem = {.buf = p->mem[0]}, .dtype = XL_F16},
                     .filters = {.mem = {.buf = p->mem[1]}, .dtype = XL_F16},
                     .out = {.mem = {.buf = p->mem[2]}, .dtype = XL_F16},
                     .alpha = 1};
}

/* Programs and kernels that are made by runs of all sizes from 1 to `last`. */
static unsigned long made_by_softmax(struct others *o, xl_queue *q,
                                     size_t last)
{
    test_stub()->reset();
    for (o->s.rows = last; o->s.rows > 0; o->s.rows--)
        assert_status(xl_softmax_run(q, &o->s, NULL), XL_OK,
                      xl_error_detail(q));
    return calls_of_builds() + test_stub()->calls("clCreateKernel");
}

static unsigned long made_by_conv(struct others *o, xl_queue *q, size_t last)
{
    test_stub()->reset();
    for (o->c.n = last; o->c.n > 0; o->c.n--)
        assert_status(xl_conv_run(q, &o->c, NULL), XL_OK, xl_error_detail(q));
    return calls_of_builds() + test_stub()->calls("clCreateKernel");
}

static void test_ranges_of_others(void **state)
{
    enum { ROWS = 500, IMAGES = 200 };
    struct product p;
    struct others o;
    (void)state;
    open_others(&o, &p); /* the first size alone does not suffice */
    assert_status(xl_conv_prepare(p.t.queue, &o.c), XL_OK, "");
    assert_int_not_equal(made_by_conv(&o, p.t.queue, IMAGES), 0);
    close_product(&p);
    open_others(&o, &p);
    assert_status(xl_softmax_prepare_range(p.t.queue, &o.s, ROWS), XL_OK,
                  xl_error_detail(p.t.queue));
    assert_status(xl_conv_prepare_range(p.t.queue, &o.c, IMAGES), XL_OK,
                  xl_error_detail(p.t.queue));
    assert_int_equal(made_by_softmax(&o, p.t.queue, ROWS), 0);
    assert_int_equal(made_by_conv(&o, p.t.queue, IMAGES), 0);
    o.s.rows = ROWS;
    assert_int_equal(xl_softmax_prepare_range(p.t.queue, &o.s, ROWS - 1),
                     XL_BAD_ARGUMENT);
    o.c.n = IMAGES;
    assert_int_equal(xl_conv_prepare_range(p.t.queue, &o.c, IMAGES - 1),
                     XL_BAD_ARGUMENT);
    close_product(&p);
}

static void test_range_refused(void **state)
{
    enum { MOST_SIZES = 1048576 };
    struct product p;
    (void)state;
    open_product(&p, &uncached, XL_F16);
    xl_gemm g = p.g;
    g.m = 8;
    assert_int_equal(xl_gemm_prepare_range(p.t.queue, &g, 7), XL_BAD_ARGUMENT);
    assert_non_null(strstr(xl_error_detail(p.t.queue), "8 to 7"));
    assert_int_equal(xl_gemm_prepare_range(p.t.queue, &g, SIZE_MAX),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_gemm_prepare_range(p.t.queue, &g, 8 + MOST_SIZES),
                     XL_BAD_ARGUMENT);
    assert_int_equal(xl_gemm_prepare_range(NULL, &g, 9), XL_BAD_ARGUMENT);
    assert_int_equal(xl_gemm_prepare_range(p.t.queue, NULL, 9),
                     XL_BAD_ARGUMENT);
    g.a.dtype = XL_F64;
    assert_int_equal(xl_gemm_prepare_range(p.t.queue, &g, 12), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(p.t.queue), "size 8"));
    close_product(&p);
    assert_int_equal(test_stub()->live(), 0);
}

/* -- expressions ------------------------------------------------------------
 */

static void run_expr(xl_queue *q, const xl_expr *e, cl_mem x, cl_mem y,
                     size_t rows)
{
    const size_t size[2] = {rows, 1000};
    xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(x, XL_F32, 2, size)},
        {.name = "y", .tensor = xl_tensor_dense(y, XL_F32, 2, size)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    assert_status(xl_expr_run(q, e, &args, NULL), XL_OK, xl_error_detail(q));
}

/* A new size of an expression whose kernels are built builds nothing. */
static void test_expr_sizes(void **state)
{
    const size_t size[2] = {64, 1000};
    struct product p;
    xl_expr *e = NULL;
    static double ns[N_SIZES];
    (void)state;
    open_product(&p, &uncached, XL_F32);
    xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(p.mem[0], XL_F32, 2, size)},
        {.name = "y", .tensor = xl_tensor_dense(p.mem[1], XL_F32, 2, size)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    assert_status(
        xl_expr_compile(p.t.queue,
                        "y = softmax(x * 2, axis=1) + mean(x, axis=1)", &args,
                        &e),
        XL_OK, xl_error_detail(p.t.queue));
    for (unsigned i = 0; i < N_SIZES; i++) {
        const uint64_t start = xl__thread_cpu_ns();
        run_expr(p.t.queue, e, p.mem[0], p.mem[1], size_of(i));
        ns[i] = (double)(xl__thread_cpu_ns() - start);
    }
    print_message("an expression: %.1f us a new size, ",
                  xl__quantile(ns, N_SIZES, 0.5) / 1e3);
    test_stub()->reset();
    for (unsigned i = 0; i < N_SIZES; i++) {
        const uint64_t start = xl__thread_cpu_ns();
        run_expr(p.t.queue, e, p.mem[0], p.mem[1], size_of(i));
        ns[i] = (double)(xl__thread_cpu_ns() - start);
    }
    print_message("then %.1f us\n", xl__quantile(ns, N_SIZES, 0.5) / 1e3);
    assert_int_equal(calls_of_builds(), 0);
    xl_expr_destroy(e);
    close_product(&p);
    assert_int_equal(test_stub()->live(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_pin),
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_ranges_of_others),
        cmocka_unit_test(test_range_refused),
        cmocka_unit_test(test_expr_sizes),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_new_sizes),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
