/* SPDX-License-Identifier: Apache-2.0 */
#include "support/bare_calls.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/stats.h"

enum { CALLS = 50000, ROUNDS = 5 };

static void make_kernel(struct bare_calls *b)
{
    const char *source = "__kernel void bare(__global float *x) { }";
    cl_int err;
    b->program = clCreateProgramWithSource(xl_queue_context(b->t.queue), 1,
                                           &source, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    assert_int_equal(clBuildProgram(b->program, 0, NULL, "", NULL, NULL),
                     CL_SUCCESS);
    b->kernel = clCreateKernel(b->program, "bare", &err);
    assert_int_equal(err, CL_SUCCESS);
}

void bare_calls_open(struct bare_calls *b)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    memset(b, 0, sizeof *b);
    test_device_open(&b->t, &options);
    for (unsigned i = 0; i < BARE_MEMS; i++)
        assert_status(xl_buffer_create(b->t.queue,
                                       BARE_SIDE * BARE_SIDE * sizeof(float),
                                       &b->mem[i]),
                      XL_OK, xl_error_detail(b->t.queue));
    make_kernel(b);
}

void bare_calls_close(struct bare_calls *b)
{
    clReleaseKernel(b->kernel);
    clReleaseProgram(b->program);
    for (unsigned i = 0; i < BARE_MEMS; i++)
        clReleaseMemObject(b->mem[i]);
    test_device_close(&b->t);
    assert_int_equal(test_stub()->live(), 0);
}

static double ours_ns(xl_queue *q, xl_status (*call)(void *arg), void *arg)
{
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++)
        if (call(arg) != XL_OK)
            fail_msg("%s", xl_error_detail(q));
    return (double)(xl__thread_cpu_ns() - start) / CALLS;
}

static double bare_ns(const struct bare_calls *b)
{
    const size_t global = BARE_SIDE, local = 1;
    const cl_command_queue queue = xl_queue_cl(b->t.queue);
    const uint64_t start = xl__thread_cpu_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        cl_int code = CL_SUCCESS;
        size_t bytes;
        for (unsigned long a = 0; a < b->n_asked; a++)
            code |= clGetMemObjectInfo(b->mem[a % BARE_MEMS], CL_MEM_SIZE,
                                       sizeof bytes, &bytes, NULL);
        for (cl_uint a = 0; a < b->n_args; a++)
            code |= clSetKernelArg(b->kernel, a, sizeof(cl_mem),
                                   &b->mem[a % BARE_MEMS]);
        for (unsigned long l = 0; l < b->n_launches; l++)
            code |= clEnqueueNDRangeKernel(queue, b->kernel, 1, NULL, &global,
                                           &local, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            fail_msg("the bare loop failed");
    }
    return (double)(xl__thread_cpu_ns() - start) / CALLS;
}

struct measured {
    struct bare_calls *b;
    const char *what;
    xl_status (*call)(void *arg);
    void *arg;
};

static double extra_ns(void *arg)
{
    const struct measured *m = arg;
    const struct bare_calls *b = m->b;
    double ours[ROUNDS], bare[ROUNDS], extra[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        ours[r] = ours_ns(b->t.queue, m->call, m->arg);
        bare[r] = bare_ns(b);
        extra[r] = ours[r] - bare[r];
    }
    print_message("%s: %.0f ns of thread CPU time, the same by hand (%lu "
                  "arguments, %lu launches, %lu questions): %.0f ns; extra: "
                  "%.0f ns\n",
                  m->what, xl__quantile(ours, ROUNDS, 0), b->n_args,
                  b->n_launches, b->n_asked, xl__quantile(bare, ROUNDS, 0),
                  xl__quantile(extra, ROUNDS, 0));
    return xl__quantile(extra, ROUNDS, 0);
}

bool bare_calls_are_within(struct bare_calls *b, const char *what,
                           xl_status (*call)(void *arg), void *arg,
                           double most_ns)
{
    const struct xl_control *stub = test_stub();
    struct measured m = {b, what, call, arg};
    for (unsigned i = 0; i < 2; i++) { /* the first one plans and builds */
        stub->reset();
        assert_status(call(arg), XL_OK, xl_error_detail(b->t.queue));
    }
    b->n_args = stub->calls("clSetKernelArg");
    b->n_launches = stub->calls("clEnqueueNDRangeKernel");
    b->n_asked = stub->calls("clGetMemObjectInfo");
    assert_int_not_equal(b->n_launches, 0);
    return test_is_within(most_ns, extra_ns, &m);
}
