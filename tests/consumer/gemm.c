/* SPDX-License-Identifier: Apache-2.0 */
/* An application with its own context, queue and buffers. multiply() is
 * README's example; the result is compared with sums in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <crosslane/crosslane.h>

int multiply(xl_lib *lib, cl_command_queue native, cl_mem a, cl_mem b,
             cl_mem c, size_t m, size_t n, size_t k, cl_event *done);

enum { M = 33, N = 65, K = 17 };

static float a[M * K], b[K * N], c[M * N];

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

static int run(xl_lib *lib, cl_context context, cl_command_queue queue)
{
    cl_mem mem_a = upload(context, a, sizeof a);
    cl_mem mem_b = upload(context, b, sizeof b);
    cl_mem mem_c = upload(context, c, sizeof c);
    cl_event done = NULL;
    int right = mem_a && mem_b && mem_c &&
                multiply(lib, queue, mem_a, mem_b, mem_c, M, N, K, &done) &&
                clEnqueueReadBuffer(queue, mem_c, CL_TRUE, 0, sizeof c, c, 1,
                                    &done, NULL) == CL_SUCCESS &&
                is_right();
    if (done)
        clReleaseEvent(done);
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
    const int right =
        xl_open(NULL, &lib) == XL_OK && run(lib, context, queue);
    xl_close(lib);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("crosslane %s from C: %s\n", xl_version(),
           right ? "right" : "wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
