/* SPDX-License-Identifier: Apache-2.0 */
/* Host cost of expressions on the stub driver, in thread CPU time: of a warm
 * call, beyond the driver's own calls; and of the way from text to kernel
 * texts. The minimum of several rounds is used, since other load can only
 * increase it. */
#include <string.h>

#include "base/os/clock.h"
#include "base/stats.h"
#include "support/bare_calls.h"

enum { ROUNDS = 5, SIDE = BARE_SIDE };

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

struct call {
    xl_queue *q;
    xl_expr *e;
    xl_expr_args args;
};

static xl_status call_expr(void *arg)
{
    const struct call *c = arg;
    return xl_expr_run(c->q, c->e, &c->args, NULL);
}

static void test_call(void **state)
{
    static const char *const names[BARE_MEMS] = {"x", "y", "out"};
    struct bare_calls b;
    xl_binding bound[BARE_MEMS];

    (void)state;
    bare_calls_open(&b);
    for (unsigned i = 0; i < BARE_MEMS; i++)
        bind(&bound[i], names[i], b.mem[i]);
    struct call c = {
        b.t.queue,
        NULL,
        {XL_EXPR_ARGS_INIT, .bindings = bound, .n_bindings = BARE_MEMS}};
    assert_status(xl_expr_compile(c.q, "exp(x) * y + x", &c.args, &c.e), XL_OK,
                  xl_error_detail(c.q));
    assert_true(
        bare_calls_are_within(&b, "a call", call_expr, &c, allowed_call_ns));
    assert_int_equal(b.n_launches, 1);
    xl_expr_destroy(c.e);
    bare_calls_close(&b);
}

/* -- from text to kernel texts ---------------------------------------- */

/* An LSTM's cell, of about 30 operations. */
static const char lstm[] = "i = sigmoid(xi + hi + bi)\n"
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
    static const char *const names[] = {"xi", "hi", "bi",   "xf",   "hf", "bf",
                                        "xg", "hg", "bg",   "xo",   "ho", "bo",
                                        "c",  "h",  "gain", "bias", "n"};
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
        assert_status(
            xl_buffer_create(t.queue, SIDE * SIDE * sizeof(float), &mem[i]),
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
