/* SPDX-License-Identifier: Apache-2.0 */
/* An application with its own context, queue and buffers. multiply(), layer()
 * and adam() are examples of README.md; their results are compared with the
 * same in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <crosslane/crosslane.h>

xl_status multiply(xl_queue *q, cl_mem a, cl_mem b, cl_mem c, size_t m,
                   size_t n, size_t k, cl_event *done);
xl_status layer(xl_queue *q, cl_mem x, cl_mem w, cl_mem bias, cl_mem out,
                size_t rows, size_t n);
xl_status adam(xl_queue *q, xl_expr **e, cl_mem p, cl_mem m, cl_mem v,
               cl_mem g, size_t n, double rate);

enum { M = 33, N = 65, K = 17 };

static float a[M * K], b[K * N], c[M * N];
static float x[M * N], w[N * N], bias[N], out[M * N];

static cl_mem upload(cl_context context, void *from, size_t bytes)
{
    cl_int err;
    cl_mem mem = clCreateBuffer(
        context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, from, &err);
    return err == CL_SUCCESS ? mem : NULL;
}

/* Inputs are small integers over 8, so each sum is exact in f32. */
static void fill(float *x, size_t n, unsigned step)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * step) % 31) / 8.0f - 2.0f;
}

static int is_right(void)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t l = 0; l < K; l++)
                sum += (double)a[i * K + l] * (double)b[l * N + j];
            if (fabs(sum - (double)c[i * N + j]) > 1e-4) {
                printf("C(%zu, %zu) is %g, not %g\n", i, j,
                       (double)c[i * N + j], sum);
                return 0;
            }
        }
    return 1;
}

static int is_layer_right(void)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double y = (double)bias[j];
            for (size_t l = 0; l < N; l++)
                y += (double)x[i * N + l] * (double)w[j * N + l];
            const double want =
                0.5 * y * erfc(-y * sqrt(0.5)) + (double)x[i * N + j];
            if (fabs(want - (double)out[i * N + j]) >
                1e-5 * (1 + fabs(want))) {
                printf("out(%zu, %zu) is %g, not %g\n", i, j,
                       (double)out[i * N + j], want);
                return 0;
            }
        }
    return 1;
}

static int run_layer(xl_lib *lib, cl_context context, cl_command_queue queue)
{
    xl_queue *q = NULL;
    cl_mem mem[] = {upload(context, x, sizeof x), upload(context, w, sizeof w),
                    upload(context, bias, sizeof bias),
                    upload(context, out, sizeof out)};
    const int right =
        mem[0] && mem[1] && mem[2] && mem[3] &&
        xl_queue_wrap(lib, queue, &q) == XL_OK &&
        layer(q, mem[0], mem[1], mem[2], mem[3], M, N) == XL_OK &&
        clEnqueueReadBuffer(queue, mem[3], CL_TRUE, 0, sizeof out, out, 0,
                            NULL, NULL) == CL_SUCCESS &&
        is_layer_right();
    if (q && !right)
        printf("%s\n", xl_error_detail(q));
    xl_queue_destroy(q);
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(mem[i]);
    return right;
}

/* Two steps of N parameters from 0, with gradients of bias[]. */
static int is_adam_right(const float *p)
{
    for (size_t i = 0; i < N; i++) {
        const double g = (double)bias[i];
        double expected = 0, m = 0, v = 0;
        for (int step = 0; step < 2; step++) {
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            expected -= 0.25 * m / (sqrt(v) + 1e-8);
        }
        if (fabs(expected - (double)p[i]) > 1e-4) {
            printf("p(%zu) is %g, not %g\n", i, (double)p[i], expected);
            return 0;
        }
    }
    return 1;
}

static int run_adam(xl_lib *lib, cl_context context, cl_command_queue queue)
{
    static float p[N], zeros[N];
    xl_queue *q = NULL;
    xl_expr *e = NULL;
    cl_mem mem[] = {upload(context, p, sizeof p),
                    upload(context, zeros, sizeof zeros),
                    upload(context, zeros, sizeof zeros),
                    upload(context, bias, sizeof bias)};
    const int right =
        mem[0] && mem[1] && mem[2] && mem[3] &&
        xl_queue_wrap(lib, queue, &q) == XL_OK &&
        adam(q, &e, mem[0], mem[1], mem[2], mem[3], N, 0.25) == XL_OK &&
        adam(q, &e, mem[0], mem[1], mem[2], mem[3], N, 0.25) == XL_OK &&
        clEnqueueReadBuffer(queue, mem[0], CL_TRUE, 0, sizeof p, p, 0, NULL,
                            NULL) == CL_SUCCESS &&
        is_adam_right(p);
    if (q && !right)
        printf("%s\n", xl_error_detail(q));
    xl_expr_destroy(e);
    xl_queue_destroy(q);
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(mem[i]);
    return right;
}

static int run_gemm(xl_lib *lib, cl_context context, cl_command_queue queue)
{
    cl_mem mem_a = upload(context, a, sizeof a);
    cl_mem mem_b = upload(context, b, sizeof b);
    cl_mem mem_c = upload(context, c, sizeof c);
    cl_event done = NULL;
    xl_queue *q = NULL;
    int right = mem_a && mem_b && mem_c &&
                xl_queue_wrap(lib, queue, &q) == XL_OK &&
                multiply(q, mem_a, mem_b, mem_c, M, N, K, &done) == XL_OK &&
                clEnqueueReadBuffer(queue, mem_c, CL_TRUE, 0, sizeof c, c, 1,
                                    &done, NULL) == CL_SUCCESS &&
                is_right();
    if (done)
        clReleaseEvent(done);
    xl_queue_destroy(q);
    clReleaseMemObject(mem_c);
    clReleaseMemObject(mem_b);
    clReleaseMemObject(mem_a);
    return right;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int err = clGetPlatformIDs(1, &platform, NULL);
    if (err == CL_SUCCESS)
        err = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (err != CL_SUCCESS)
        return EXIT_FAILURE;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
    xl_lib *lib = NULL;
    fill(a, M * K, 7);
    fill(b, K * N, 11);
    fill(x, M * N, 7);
    fill(w, N * N, 11);
    fill(bias, N, 3);
    const int right =
        xl_open(NULL, &lib) == XL_OK && run_gemm(lib, context, queue) &&
        run_layer(lib, context, queue) && run_adam(lib, context, queue);
    xl_close(lib);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("crosslane %s from C: %s\n", xl_version(),
           right ? "right" : "wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
