/* SPDX-License-Identifier: Apache-2.0 */
/* An application with its own context and queue compiles an expression once
 * and runs it twice, the second time with another scalar. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <crosslane/crosslane.h>

enum { ROWS = 21, COLS = 33 };
static const char text[] = "out = relu(x * a + b)  # b is one row for all";

static float x[ROWS * COLS], b[COLS], out[ROWS * COLS];

/* Small integers over 8, so each result is exact in f32. */
static void fill(float *to, size_t n, unsigned step)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)((i * step) % 31) / 8.0f - 2.0f;
}

static int is_right(double a)
{
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const double sum = (double)x[i] * a + (double)b[i % COLS];
        const double want = sum > 0 ? sum : 0;
        if (fabs(want - (double)out[i]) > 1e-6) {
            printf("element %zu is %g, not %g\n", i, (double)out[i], want);
            return 0;
        }
    }
    return 1;
}

static int run_expression(xl_queue *q)
{
    const size_t full[2] = {ROWS, COLS}, row[1] = {COLS};
    cl_mem mem[3] = {NULL, NULL, NULL};
    xl_expr *e = NULL;
    int right =
        xl_buffer_create(q, sizeof x, &mem[0]) == XL_OK &&
        xl_buffer_create(q, sizeof b, &mem[1]) == XL_OK &&
        xl_buffer_create(q, sizeof out, &mem[2]) == XL_OK &&
        xl_buffer_write(q, mem[0], 0, x, sizeof x) == XL_OK &&
        xl_buffer_write(q, mem[1], 0, b, sizeof b) == XL_OK;
    xl_binding names[4] = {{.name = "x"}, {.name = "b"}, {.name = "out"},
                           {.name = "a", .is_scalar = true, .scalar = 2}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = names,
                               .n_bindings = 4};
    names[0].tensor = xl_tensor_dense(mem[0], XL_F32, 2, full);
    names[1].tensor = xl_tensor_dense(mem[1], XL_F32, 1, row);
    names[2].tensor = xl_tensor_dense(mem[2], XL_F32, 2, full);
    right = right && xl_expr_compile(q, text, &args, &e) == XL_OK;
    for (int i = 0; right && i < 2; i++) {
        names[3].scalar = i ? -0.5 : 2;
        right = xl_expr_run(q, e, &args, NULL) == XL_OK &&
                xl_buffer_read(q, mem[2], 0, out, sizeof out) == XL_OK &&
                is_right(names[3].scalar);
    }
    if (!right)
        printf("%s\n", xl_error_detail(q));
    xl_expr_destroy(e);
    for (int i = 0; i < 3; i++)
        if (mem[i])
            clReleaseMemObject(mem[i]);
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
    cl_command_queue native = clCreateCommandQueue(context, device, 0, &err);
    xl_lib *lib = NULL;
    xl_queue *q = NULL;
    fill(x, ROWS * COLS, 7);
    fill(b, COLS, 11);
    const int right = xl_open(NULL, &lib) == XL_OK &&
                      xl_queue_wrap(lib, native, &q) == XL_OK && run_expression(q);
    xl_queue_destroy(q);
    xl_close(lib);
    clReleaseCommandQueue(native);
    clReleaseContext(context);
    printf("an expression from C: %s\n", right ? "right" : "wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
