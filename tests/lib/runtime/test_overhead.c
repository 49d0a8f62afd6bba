/* SPDX-License-Identifier: Apache-2.0 */
/* Host overhead of a call: thread CPU time of a warm xl_gemm_run(), minus that
 * of the same clSetKernelArg and enqueue calls made directly, on the stub
 * driver, whose own cost is small and equal in both. The minimum over several
 * rounds is compared with the limit, since other load only adds time. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/stats.h"
#include "support/support.h"

enum { CALLS = 100000, ROUNDS = 5, SIDE = 64, N_MEMS = 3 };

/* On a host that is not slow. */
static const double allowed_ns = 2000.0;

struct bare {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem[N_MEMS];
    unsigned long n_args, n_launches; /* of one xl_gemm_run() */
};

static double ours_ns(xl_queue *q, const xl_gemm *g)
{
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++)
        if (xl_gemm_run(q, g, NULL) != XL_OK)
            fail_msg("%s", xl_error_detail(q));
    return (double)(xl__thread_cpu_ns() - start) / CALLS;
}

static double bare_ns(const struct bare *b)
{
    const size_t global[2] = {SIDE, SIDE}, local[2] = {8, 8};
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        cl_int code = CL_SUCCESS;
        for (cl_uint a = 0; a < b->n_args; a++)
            code |= clSetKernelArg(b->kernel, a, sizeof(cl_mem),
                                   &b->mem[a % N_MEMS]);
        for (unsigned long l = 0; l < b->n_launches; l++)
            code |= clEnqueueNDRangeKernel(b->queue, b->kernel, 2, NULL,
                                           global, local, 0, NULL, NULL);
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

/* What a product costs beyond the same calls by hand. */
static void measure(const struct test_device *t, struct bare *b,
                    const char *what, const xl_gemm *g)
{
    double ours[ROUNDS], bare[ROUNDS], extra[ROUNDS];
    assert_status(xl_gemm_run(t->queue, g, NULL), XL_OK,
                  xl_error_detail(t->queue));
    test_stub()->reset();
    assert_status(xl_gemm_run(t->queue, g, NULL), XL_OK,
                  xl_error_detail(t->queue));
    b->n_args = test_stub()->calls("clSetKernelArg");
    b->n_launches = test_stub()->calls("clEnqueueNDRangeKernel");
    assert_int_not_equal(b->n_launches, 0);
    for (unsigned r = 0; r < ROUNDS; r++) {
        ours[r] = ours_ns(t->queue, g);
        bare[r] = bare_ns(b);
        extra[r] = ours[r] - bare[r];
    }
    print_message("%s: %.0f ns of thread CPU time, the same by hand (%lu "
                  "arguments, %lu launches): %.0f ns; extra: %.0f ns\n",
                  what, xl__quantile(ours, ROUNDS, 0), b->n_args,
                  b->n_launches, xl__quantile(bare, ROUNDS, 0),
                  xl__quantile(extra, ROUNDS, 0));
    assert_true(xl__quantile(extra, ROUNDS, 0) <=
                allowed_ns * test_slowness());
}

static void test_overhead(void **state)
{
    static const size_t row[1] = {SIDE}, all[2] = {SIDE, SIDE};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device t;
    struct bare b;

    (void)state;
    memset(&b, 0, sizeof b);
    test_device_open(&t, &options);
    for (unsigned i = 0; i < N_MEMS; i++)
        assert_status(xl_buffer_create(t.queue, SIDE * SIDE * sizeof(float),
                                       &b.mem[i]),
                      XL_OK, xl_error_detail(t.queue));
    make_kernel(&b, &t);
    xl_gemm g = {XL_GEMM_INIT,
                 .m = SIDE,
                 .n = SIDE,
                 .k = SIDE,
                 .a = xl_mat_rows(b.mem[0], SIDE, XL_F32),
                 .b = xl_mat_rows(b.mem[1], SIDE, XL_F32),
                 .c = xl_mat_rows(b.mem[2], SIDE, XL_F32),
                 .alpha = 1.0,
                 .variant = "gemm_tiled"};
    measure(&t, &b, "a product", &g);
    const xl_binding operands[2] = {
        {.name = "bias", .tensor = xl_tensor_dense(b.mem[0], XL_F32, 1, row)},
        {.name = "old", .tensor = xl_tensor_dense(b.mem[2], XL_F32, 2, all)}};
    g.variant = "gemm_ref"; /* it takes any */
    g.epilogue = (xl_epilogue){"gelu(y + bias) + old", operands, 2};
    measure(&t, &b, "with an epilogue of two operands", &g);
    clReleaseKernel(b.kernel);
    clReleaseProgram(b.program);
    for (unsigned i = 0; i < N_MEMS; i++)
        clReleaseMemObject(b.mem[i]);
    test_device_close(&t);
    assert_int_equal(test_stub()->live(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_overhead)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
