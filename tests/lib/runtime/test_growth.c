/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a library that is called for long, on the stub of an H200: four
 * threads, each with a queue of its own, call products, products with
 * epilogues, softmax, convolutions and expressions of many structures in
 * rotation, more than a queue and a context keep plans and selections for.
 * Once each structure was called, memory and driver objects do not grow. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "runtime/context.h"
#include "support/support.h"

enum { N_THREADS = 4, N_MEMS = 3, MOST_SIDE = 256 };

struct caller {
    pthread_t thread;
    xl_queue *q;
    const cl_mem *mem;
    unsigned n_structures, first; /* of the structures in rotation */
    unsigned long n_calls;
    xl_status status;
    double cpu_ns;
};

/* -- the calls: structure i of each kind ---------------------------------- */

static xl_gemm make_product(const struct caller *c, unsigned i)
{
    const xl_dtype dtype = i % 2 ? XL_F16 : XL_F32;
    const size_t rows = 16 + i % 100, cols = 16 + i / 100;
    return (xl_gemm){XL_GEMM_INIT,
                     .m = 16,
                     .n = 16,
                     .k = 16,
                     .alpha = 1,
                     .a = xl_mat_rows(c->mem[0], rows, dtype),
                     .b = xl_mat_rows(c->mem[1], cols, dtype),
                     .c = xl_mat_rows(c->mem[2], 16, dtype)};
}

static xl_status run_product(const struct caller *c, unsigned i)
{
    const xl_gemm g = make_product(c, i);
    return xl_gemm_run(c->q, &g, NULL);
}

/* Each has a text, a program and a kernel of its own. */
static xl_status run_epilogue(const struct caller *c, unsigned i)
{
    char text[32];
    xl_gemm g = make_product(c, 0);
    snprintf(text, sizeof text, "relu(y + %u)", i);
    g.epilogue.expr = text;
    return xl_gemm_run(c->q, &g, NULL);
}

static xl_status run_softmax(const struct caller *c, unsigned i)
{
    const size_t cols = 1 + i % 200;
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = 1 + i / 200, .cols = cols,
                          .src = xl_mat_rows(c->mem[0], cols, XL_F32),
                          .dst = xl_mat_rows(c->mem[2], cols, XL_F32)};
    return xl_softmax_run(c->q, &s, NULL);
}

static xl_status run_conv(const struct caller *c, unsigned i)
{
    const unsigned channels = 1 + i % 8;
    const xl_conv v = {XL_CONV_INIT,
                       .n = 1,
                       .c = channels,
                       .k = 8,
                       .r = 3,
                       .s = 3,
                       .h = 3 + i / 8 % 16,
                       .w = 3 + i / 128,
                       .groups = 1,
                       .stride_h = 1,
                       .stride_w = 1,
                       .alpha = 1,
                       .in = {.mem = {c->mem[0]}, .dtype = XL_F32},
                       .filters = {.mem = {c->mem[1]}, .dtype = XL_F32},
                       .out = {.mem = {c->mem[2]}, .dtype = XL_F32}};
    return xl_conv_run(c->q, &v, NULL);
}

/* Compiled by each call; each has a program of its own. */
static xl_status run_expr(const struct caller *c, unsigned i)
{
    char text[64];
    const size_t size[2] = {8, 64};
    const xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(c->mem[0], XL_F32, 2, size)},
        {.name = "y", .tensor = xl_tensor_dense(c->mem[2], XL_F32, 2, size)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    xl_expr *e;
    snprintf(text, sizeof text, "y = x * %u.5 + %s(x, axis=1)", i,
             i % 2 ? "mean" : "max");
    xl_status status = xl_expr_compile(c->q, text, &args, &e);
    if (status == XL_OK)
        status = xl_expr_run(c->q, e, &args, NULL);
    if (status == XL_OK)
        xl_expr_destroy(e);
    return status;
}

static void *call(void *arg)
{
    static xl_status (*const kind[])(const struct caller *c, unsigned i) = {
        run_product, run_epilogue, run_softmax, run_conv, run_expr};
    enum { N_KINDS = sizeof kind / sizeof *kind };
    struct caller *c = arg;
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned long n = 0; n < c->n_calls && c->status == XL_OK; n++) {
        const unsigned i = c->first++ % c->n_structures;
        c->status = kind[i % N_KINDS](c, i / N_KINDS);
    }
    c->cpu_ns = (double)(xl__thread_cpu_ns() - start);
    return NULL;
}

/* -- a device with the buffers of all calls ------------------------------- */

static void open_device(struct test_device *t, cl_mem *mem)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    test_device_open(t, &options);
    for (unsigned i = 0; i < N_MEMS; i++)
        assert_status(xl_buffer_create(t->queue,
                                       MOST_SIDE * MOST_SIDE * sizeof(float),
                                       &mem[i]),
                      XL_OK, xl_error_detail(t->queue));
}

static void close_device(struct test_device *t, cl_mem *mem)
{
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(t);
}

/* -- memory --------------------------------------------------------------- */

struct memory {
    size_t heap_bytes, resident_bytes;
    long objects; /* of the driver */
};

/* What the allocator holds for later is given back first. */
static struct memory read_memory(void)
{
    unsigned long pages = 0;
    malloc_trim(0);
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
    fclose(f);
    return (struct memory){.heap_bytes = mallinfo2().uordblks,
                           .resident_bytes =
                               pages * (size_t)sysconf(_SC_PAGESIZE),
                           .objects = test_stub()->live()};
}

/* All threads together make n_calls more. */
static struct memory make_calls(struct caller *c, unsigned long n_calls)
{
    double cpu_ns = 0;
    for (unsigned i = 0; i < N_THREADS; i++) {
        c[i].n_calls = n_calls / N_THREADS;
        assert_int_equal(pthread_create(&c[i].thread, NULL, call, &c[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(c[i].thread, NULL);
        assert_status(c[i].status, XL_OK, xl_error_detail(c[i].q));
        cpu_ns += c[i].cpu_ns;
    }
    const struct memory m = read_memory();
    print_message("%lu calls, %.1f us each: heap %zu kB, resident %zu kB, %ld "
                  "objects of the driver\n",
                  n_calls, cpu_ns / 1e3 / (double)n_calls, m.heap_bytes / 1000,
                  m.resident_bytes / 1000, m.objects);
    return m;
}

/* Memory after `first` calls, which include each structure on each queue, and
 * after `last` in all. */
static void compare_memory(unsigned n_structures, unsigned long first,
                           unsigned long last)
{
    static const double most_growth = 1.05;
    enum { MOST_BYTES = 4 }; /* on the heap, for each of the last calls */
    struct test_device t;
    struct caller c[N_THREADS];
    cl_mem mem[N_MEMS];
    open_device(&t, mem);
    for (unsigned i = 0; i < N_THREADS; i++) {
        c[i] = (struct caller){.mem = mem,
                               .n_structures = n_structures,
                               .first = i * n_structures / N_THREADS};
        assert_status(xl_queue_create_beside(t.queue, &c[i].q), XL_OK,
                      "a queue");
    }
    const struct memory before = make_calls(c, first);
    const struct memory after = make_calls(c, last - first);
    assert_int_equal(after.objects, before.objects);
    assert_true(after.heap_bytes <=
                before.heap_bytes + MOST_BYTES * (last - first));
    assert_true((double)after.resident_bytes <=
                most_growth * (double)before.resident_bytes);
    for (unsigned i = 0; i < N_THREADS; i++)
        xl_queue_destroy(c[i].q);
    close_device(&t, mem);
    assert_int_equal(test_stub()->live(), 0);
}

static void growth(void **state)
{
    (void)state;
    compare_memory(2000, 8000, 32000);
}

static void long_growth(void **state)
{
    (void)state;
    compare_memory(10000, 100000, 1000000);
}

/* -- structures that are never called again ------------------------------- */

/* Products by their row strides, which no program depends on. */
static xl_gemm make_strides(const struct caller *c)
{
    enum { STRIDES = 200 };
    xl_gemm g = make_product(c, 0);
    g.a.row_stride += c->first % STRIDES;
    g.b.row_stride += c->first / STRIDES;
    return g;
}

/* Products by their sizes, each of a class of its own. */
static xl_gemm make_sizes(const struct caller *c)
{
    enum { SIZES = 26 };
    xl_gemm g = make_product(c, 0);
    g.m = 1 + c->first % SIZES;
    g.n = 1 + c->first / SIZES % SIZES;
    g.k = 1 + c->first / SIZES / SIZES;
    g.a.row_stride = g.b.row_stride = g.c.row_stride = SIZES;
    return g;
}

/* Epilogues by the row strides of their operands, which their text does not
 * depend on. */
static xl_gemm make_epilogues(const struct caller *c)
{
    enum { SIDE = 16, STRIDES = 200 };
    static const size_t size[2] = {SIDE, SIDE};
    static xl_binding b[2];
    xl_gemm g = make_product(c, 0);
    for (unsigned i = 0; i < 2; i++) {
        b[i] = (xl_binding){
            .name = i == 0 ? "r" : "s",
            .tensor = xl_tensor_dense(c->mem[i], XL_F32, 2, size)};
        b[i].tensor.stride[0] +=
            i == 0 ? c->first % STRIDES : c->first / STRIDES;
    }
    g.epilogue = (xl_epilogue){"y + r * s", b, 2};
    return g;
}

static void run_new(struct caller *c, xl_gemm (*make)(const struct caller *c),
                    unsigned n)
{
    for (unsigned i = 0; i < n; i++, c->first++) {
        const xl_gemm g = make(c);
        assert_status(xl_gemm_run(c->q, &g, NULL), XL_OK,
                      xl_error_detail(c->q));
    }
}

/* What a queue and a context keep of them is bounded. */
static void new_structures(void **state)
{
    enum { N = 4000, MOST_BYTES = 1 << 18 };
    static xl_gemm (*const makers[])(const struct caller *c) = {
        make_strides, make_sizes, make_epilogues};
    struct test_device t;
    cl_mem mem[N_MEMS];
    (void)state;
    open_device(&t, mem);
    for (unsigned i = 0; i < sizeof makers / sizeof *makers; i++) {
        struct caller c = {.q = t.queue, .mem = mem};
        run_new(&c, makers[i], N);
        const struct memory before = read_memory();
        run_new(&c, makers[i], 3 * N);
        const struct memory after = read_memory();
        print_message("%d structures: heap %zu kB, after %d: %zu kB\n", N,
                      before.heap_bytes / 1000, 4 * N,
                      after.heap_bytes / 1000);
        assert_true(after.heap_bytes <= before.heap_bytes + MOST_BYTES);
    }
    close_device(&t, mem);
}

/* A queue keeps a bounded number of built steps; one that it no longer keeps
 * is found again. */
static void new_programs(void **state)
{
    enum { N = 1200 };
    struct test_device t;
    cl_mem mem[N_MEMS];
    size_t n_kept[2] = {0, 0};
    (void)state;
    open_device(&t, mem);
    const struct caller c = {.q = t.queue, .mem = mem};
    for (unsigned i = 0; i < 2 * N; i++) {
        assert_status(run_epilogue(&c, i), XL_OK, xl_error_detail(c.q));
        n_kept[i / N] = c.q->built_steps.n;
    }
    assert_in_range(n_kept[0], 1, N - 1);
    assert_int_equal(n_kept[1], n_kept[0]);
    assert_status(run_epilogue(&c, 0), XL_OK, xl_error_detail(c.q));
    close_device(&t, mem);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth),
        cmocka_unit_test(long_growth),
        cmocka_unit_test(new_structures),
        cmocka_unit_test(new_programs),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
