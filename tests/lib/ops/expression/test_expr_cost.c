/* SPDX-License-Identifier: Apache-2.0 */
/* Host cost of expressions on the stub driver, in thread CPU time: of a warm
 * call, beyond the driver's own calls; and of the way from text to kernel
 * texts. The minimum of several rounds is used, since other load can only
 * increase it. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/stats.h"
#include "support/support.h"

enum { CALLS = 50000, ROUNDS = 5, SIDE = 64, N_MEMS = 3 };

/* Limits for a host of usual speed. */
static const double allowed_call_ns = 1500.0, allowed_text_ns = 1e6;

static void bind(xl_binding *b, const char *name, cl_mem mem)
{
    static const size_t shape[2] = {SIDE, SIDE};
    memset(b, 0, sizeof *b);
    b->name = name;
    b->tensor = xl_tensor_dense(mem, XL_F32, 2, shape);
}

/* -- a call ----------------------------------------------------------- */

struct bare {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem[N_MEMS];
    unsigned long n_args, n_launches, n_asked; /* of one xl_expr_run() */
};

static double ours_ns(xl_queue *q, const xl_expr *e, const xl_expr_args *args)
{
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++)
        if (xl_expr_run(q, e, args, NULL) != XL_OK)
            fail_msg("%s", xl_error_detail(q));
    return (double)(xl__thread_cpu_ns() - start) / CALLS;
}

static double bare_ns(const struct bare *b)
{
    const size_t global = SIDE, local = 1;
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        cl_int code = CL_SUCCESS;
        size_t bytes;
        for (unsigned long a = 0; a < b->n_asked; a++)
            code |= clGetMemObjectInfo(b->mem[a % N_MEMS], CL_MEM_SIZE,
                                       sizeof bytes, &bytes, NULL);
        for (cl_uint a = 0; a < b->n_args; a++)
            code |= clSetKernelArg(b->kernel, a, sizeof(cl_mem),
                                   &b->mem[a % N_MEMS]);
        for (unsigned long l = 0; l < b->n_launches; l++)
            code |= clEnqueueNDRangeKernel(b->queue, b->kernel, 1, NULL,
                                           &global, &local, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            fail_msg("the bare loop failed");
    }
    return (double)(xl__thread_cpu_ns() - start) / CALLS;
}

static void make_kernel(struct bare *b, const struct test_device *t)
{
    const char *source = "__kernel void bare(__global float *x) { }";
    cl_int err;
    b->queue = xl_queue_cl(t->queue);
    b->program = clCreateProgramWithSource(xl_queue_context(t->queue), 1,
                                           &source, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    assert_int_equal(clBuildProgram(b->program, 0, NULL, "", NULL, NULL),
                     CL_SUCCESS);
    b->kernel = clCreateKernel(b->program, "bare", &err);
    assert_int_equal(err, CL_SUCCESS);
}

static void test_call(void **state)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device t;
    struct bare b;
    xl_binding bound[N_MEMS];
    xl_expr *e = NULL;
    double ours[ROUNDS], bare[ROUNDS], extra[ROUNDS];

    (void)state;
    memset(&b, 0, sizeof b);
    test_device_open(&t, &options);
    for (unsigned i = 0; i < N_MEMS; i++) {
        static const char *const names[N_MEMS] = {"x", "y", "out"};
        assert_status(xl_buffer_create(t.queue, SIDE * SIDE * sizeof(float),
                                       &b.mem[i]),
                      XL_OK, xl_error_detail(t.queue));
        bind(&bound[i], names[i], b.mem[i]);
    }
    make_kernel(&b, &t);
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bound,
                               .n_bindings = N_MEMS};
    assert_status(xl_expr_compile(t.queue, "exp(x) * y + x", &args, &e),
                  XL_OK, xl_error_detail(t.queue));
    test_stub()->reset();
    assert_status(xl_expr_run(t.queue, e, &args, NULL), XL_OK,
                  xl_error_detail(t.queue));
    b.n_args = test_stub()->calls("clSetKernelArg");
    b.n_launches = test_stub()->calls("clEnqueueNDRangeKernel");
    b.n_asked = test_stub()->calls("clGetMemObjectInfo");
    assert_int_equal(b.n_launches, 1);
    for (unsigned r = 0; r < ROUNDS; r++) {
        ours[r] = ours_ns(t.queue, e, &args);
        bare[r] = bare_ns(&b);
        extra[r] = ours[r] - bare[r];
    }
    print_message("a call: %.0f ns of thread CPU time, the same by hand (%lu "
                  "arguments, %lu questions): %.0f ns; extra: %.0f ns\n",
                  xl__quantile(ours, ROUNDS, 0), b.n_args, b.n_asked,
                  xl__quantile(bare, ROUNDS, 0),
                  xl__quantile(extra, ROUNDS, 0));
    assert_true(xl__quantile(extra, ROUNDS, 0) <=
                allowed_call_ns * test_slowness());
    xl_expr_destroy(e);
    clReleaseKernel(b.kernel);
    clReleaseProgram(b.program);
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(b.mem[i]);
    test_device_close(&t);
    assert_int_equal(test_stub()->live(), 0);
}

/* -- from text to kernel texts ---------------------------------------- */

/* An LSTM's cell, of about 30 operations. */
static const char lstm[] =
    "i = sigmoid(xi + hi + bi)\n"
    "f = sigmoid(xf + hf + bf)\n"
    "g = tanh(xg + hg + bg)\n"
    "o = sigmoid(xo + ho + bo)\n"
    "c = f * c + i * g\n"
    "h = o * tanh(c)\n"
    "n = layer_norm(h, gain, bias, 1e-5)";

static void count(const xl_expr_kernel *k, void *n)
{
    assert_non_null(k->source);
    ++*(unsigned *)n;
}

/* Compile once and print the kernels: that plans twice more than needed,
 * except for the build, which costs nothing in the stub. */
static void test_text(void **state)
{
    static const char *const names[] = {
        "xi", "hi", "bi", "xf", "hf", "bf",   "xg",   "hg", "bg",
        "xo", "ho", "bo", "c",  "h",  "gain", "bias", "n"};
    enum { N = sizeof names / sizeof *names, TIMES = 20 };
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device t;
    xl_binding bound[N];
    cl_mem mem[N];
    double parse[ROUNDS], plan[ROUNDS];
    unsigned n = 0;

    (void)state;
    test_device_open(&t, &options);
    for (unsigned i = 0; i < N; i++) {
        assert_status(xl_buffer_create(t.queue, SIDE * SIDE * sizeof(float),
                                       &mem[i]),
                      XL_OK, xl_error_detail(t.queue));
        bind(&bound[i], names[i], mem[i]);
    }
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = bound,
                               .n_bindings = N};
    xl_expr *first = NULL;
    assert_status(xl_expr_compile(t.queue, lstm, &args, &first), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t start = xl__thread_cpu_ns();
        for (unsigned i = 0; i < TIMES; i++) {
            xl_expr *e = NULL; /* planned before: reads the text alone */
            assert_status(xl_expr_compile(t.queue, lstm, &args, &e), XL_OK,
                          xl_error_detail(t.queue));
            xl_expr_destroy(e);
        }
        parse[r] = (double)(xl__thread_cpu_ns() - start) / TIMES;
        start = xl__thread_cpu_ns();
        for (unsigned i = 0; i < TIMES; i++)
            assert_status(xl_expr_kernels(t.queue, first, &args, count, &n),
                          XL_OK, xl_error_detail(t.queue));
        plan[r] = (double)(xl__thread_cpu_ns() - start) / TIMES;
    }
    print_message("text to tree: %.0f us, tree to kernels' texts (%u): %.0f "
                  "us\n",
                  xl__quantile(parse, ROUNDS, 0) / 1e3, n / (ROUNDS * TIMES),
                  xl__quantile(plan, ROUNDS, 0) / 1e3);
    assert_true(xl__quantile(parse, ROUNDS, 0) +
                    xl__quantile(plan, ROUNDS, 0) <=
                allowed_text_ns * test_slowness());
    xl_expr_destroy(first);
    for (unsigned i = 0; i < N; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_call),
                                       cmocka_unit_test(test_text)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
