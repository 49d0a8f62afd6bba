/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses CLBlast's C interface and links libcrosslane-clblast
 * first. Results are those of loops on the host, the codes of errors CLBlast's
 * own. All elements are small integers, so that sums are exact in each type
 * and in any order, and every element of a buffer is compared: also those
 * between rows and around matrices, which keep their values. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <clblast_c.h>

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static int open_device(void **state)
{
    cl_platform_id platform;
    cl_int code;
    (void)state;
    assert_int_equal(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    assert_int_equal(
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
        CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    assert_non_null(context);
    queue = clCreateCommandQueue(context, device, 0, &code);
    assert_non_null(queue);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}

/* -- arrays on the host, and their buffers of floats, doubles or halves ------
 */

enum { CAP = 4096 };
enum type { FLOAT, DOUBLE, HALF };
static const size_t bytes_of[] = {4, 8, 2};

struct array {
    enum type type;
    size_t n;
    double x[CAP];
    cl_mem mem;
};

/* Of an integer up to 2048. */
static cl_half half_of(double x)
{
    int exponent;
    const double fraction = frexp(fabs(x), &exponent);
    const int sign = signbit(x) ? 1 << 15 : 0;
    return (cl_half)(x == 0 ? sign
                            : sign | (exponent + 14) << 10 |
                                  (int)((fraction * 2 - 1) * 1024));
}

static void copy_elements(const struct array *a, void *bytes)
{
    for (size_t i = 0; i < a->n; i++) {
        const double x = a->x[i];
        if (a->type == FLOAT)
            ((float *)bytes)[i] = (float)x;
        else if (a->type == DOUBLE)
            ((double *)bytes)[i] = x;
        else
            ((cl_half *)bytes)[i] = half_of(x);
    }
}

/* n elements from -4 to 4, other ones for each seed. */
static void make_array(struct array *a, enum type type, size_t n,
                       unsigned seed)
{
    unsigned char bytes[CAP * 8];
    cl_int code;
    a->type = type;
    a->n = n;
    for (size_t i = 0; i < n; i++)
        a->x[i] = (double)((i * 7 + seed * 5 + i * i % 11) % 9) - 4;
    copy_elements(a, bytes);
    a->mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, n * bytes_of[type],
                            bytes, &code);
    assert_int_equal(code, CL_SUCCESS);
}

/* The buffer has the array's values: compared as the bytes of its type. */
static void check_array(struct array *a, const char *what)
{
    unsigned char got[CAP * 8], want[CAP * 8];
    const size_t size = bytes_of[a->type];
    assert_int_equal(clEnqueueReadBuffer(queue, a->mem, CL_TRUE, 0,
                                         a->n * size, got, 0, NULL, NULL),
                     CL_SUCCESS);
    copy_elements(a, want);
    for (size_t i = 0; i < a->n; i++) {
        if (memcmp(got + i * size, want + i * size, size) != 0)
            fail_msg("%s: element %zu of %zu is wrong, not %g", what, i, a->n,
                     a->x[i]);
    }
}

static void release(struct array *a)
{
    clReleaseMemObject(a->mem);
}

#define OK(call) assert_int_equal((call), CLBlastSuccess)

/* -- products ---------------------------------------------------------------
 */

enum { M = 7, N = 9, K = 5, OFFSET = 3, LD = 11, MATRIX = 160 };

/* The place of element (i, j) of op(X). */
static size_t at(int layout, int transpose, size_t i, size_t j)
{
    const int by_rows =
        (layout == CLBlastLayoutRowMajor) == (transpose == CLBlastTransposeNo);
    return OFFSET + (by_rows ? i * LD + j : i + j * LD);
}

static void multiply(int layout, int ta, int tb, double alpha, double beta,
                     const double *a, const double *b, double *c)
{
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            double *to = &c[at(layout, CLBlastTransposeNo, i, j)];
            for (size_t k = 0; k < K; k++)
                sum += a[at(layout, ta, i, k)] * b[at(layout, tb, k, j)];
            *to = alpha * sum + beta * *to;
        }
    }
}

/* The arguments of both interfaces that come before and after the scalars. */
#define SHAPE layout, ta, tb, M, N, K
#define OPERAND(x) x.mem, OFFSET, LD

static void check_gemm(enum type type, CLBlastLayout layout,
                       CLBlastTranspose ta, CLBlastTranspose tb)
{
    struct array a, b, c;
    cl_event done = NULL;
    make_array(&a, type, MATRIX, 1);
    make_array(&b, type, MATRIX, 2);
    make_array(&c, type, MATRIX, 3);
    multiply(layout, ta, tb, 2, -1, a.x, b.x, c.x);
    if (type == FLOAT)
        OK(CLBlastSgemm(SHAPE, 2, OPERAND(a), OPERAND(b), -1, OPERAND(c),
                        &queue, &done));
    else if (type == DOUBLE)
        OK(CLBlastDgemm(SHAPE, 2, OPERAND(a), OPERAND(b), -1, OPERAND(c),
                        &queue, &done));
    else
        OK(CLBlastHgemm(SHAPE, half_of(2), OPERAND(a), OPERAND(b), half_of(-1),
                        OPERAND(c), &queue, &done));
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    check_array(&c, "gemm");
    release(&a);
    release(&b);
    release(&c);
}

static void test_gemm(void **state)
{
    (void)state;
    for (int layout = CLBlastLayoutRowMajor; layout <= CLBlastLayoutColMajor;
         layout++)
        for (int ta = CLBlastTransposeNo; ta <= CLBlastTransposeYes; ta++)
            for (int tb = CLBlastTransposeNo; tb <= CLBlastTransposeYes; tb++)
                check_gemm(FLOAT, (CLBlastLayout)layout, (CLBlastTranspose)ta,
                           (CLBlastTranspose)tb);
    cl_device_fp_config of_doubles = 0;
    clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof of_doubles,
                    &of_doubles, NULL);
    if (of_doubles)
        check_gemm(DOUBLE, CLBlastLayoutColMajor, CLBlastTransposeNo,
                   CLBlastTransposeNo);
    check_gemm(HALF, CLBlastLayoutRowMajor, CLBlastTransposeNo,
               CLBlastTransposeNo);
}

/* Products with scalars of their own; then with one pair. */
static void test_batches(void **state)
{
    enum { COUNT = 3 };
    const CLBlastLayout layout = CLBlastLayoutColMajor;
    const CLBlastTranspose ta = CLBlastTransposeYes, tb = CLBlastTransposeNo;
    const float alphas[COUNT] = {1, -2, 1}, betas[COUNT] = {0, 1, 0};
    size_t at_a[COUNT], at_b[COUNT], at_c[COUNT];
    struct array a, b, c;
    (void)state;
    make_array(&a, FLOAT, COUNT * MATRIX, 1);
    make_array(&b, FLOAT, COUNT * MATRIX, 2);
    make_array(&c, FLOAT, COUNT * MATRIX, 3);
    for (size_t i = 0; i < COUNT; i++) {
        at_a[i] = (COUNT - 1 - i) * MATRIX + OFFSET;
        at_b[i] = OFFSET;
        at_c[i] = i * MATRIX + OFFSET;
        multiply(layout, ta, tb, alphas[i], betas[i], a.x + at_a[i] - OFFSET,
                 b.x, c.x + i * MATRIX);
    }
    OK(CLBlastSgemmBatched(SHAPE, alphas, a.mem, at_a, LD, b.mem, at_b, LD,
                           betas, c.mem, at_c, LD, COUNT, &queue, NULL));
    check_array(&c, "batch");
    for (size_t i = 0; i < COUNT; i++)
        multiply(layout, ta, tb, 3, 0, a.x + i * MATRIX, b.x,
                 c.x + i * MATRIX);
    OK(CLBlastSgemmStridedBatched(SHAPE, 3, OPERAND(a), MATRIX, OPERAND(b), 0,
                                  0, OPERAND(c), MATRIX, COUNT, &queue, NULL));
    check_array(&c, "strided batch");
    release(&a);
    release(&b);
    release(&c);
}

static void test_level_2(void **state)
{
    enum { X = 2, Y = 3 };
    (void)state;
    for (int layout = CLBlastLayoutRowMajor; layout <= CLBlastLayoutColMajor;
         layout++) {
        struct array a, x, y;
        make_array(&a, FLOAT, MATRIX, 1);
        make_array(&x, FLOAT, 40, 2);
        make_array(&y, FLOAT, 40, 3);
        /* y = 2 A^T x - y, A of M x N */
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t i = 0; i < M; i++)
                sum += a.x[at(layout, CLBlastTransposeNo, i, j)] * x.x[i * X];
            y.x[1 + j * Y] = 2 * sum - y.x[1 + j * Y];
        }
        OK(CLBlastSgemv((CLBlastLayout)layout, CLBlastTransposeYes, M, N, 2,
                        OPERAND(a), x.mem, 0, X, -1, y.mem, 1, Y, &queue,
                        NULL));
        check_array(&y, "gemv");
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                a.x[at(layout, CLBlastTransposeNo, i, j)] +=
                    -1 * x.x[1 + i * X] * y.x[j * Y];
        OK(CLBlastSger((CLBlastLayout)layout, M, N, -1, x.mem, 1, X, y.mem, 0,
                       Y, OPERAND(a), &queue, NULL));
        check_array(&a, "ger");
        release(&a);
        release(&x);
        release(&y);
    }
}

/* -- vectors ----------------------------------------------------------------
 */

enum { LENGTH = 50, X_INC = 2, Y_INC = 3, VECTOR = 160 };
#define X_OF(i) x.x[1 + (i)*X_INC]
#define Y_OF(i) y.x[2 + (i)*Y_INC]
#define EACH for (size_t i = 0; i < LENGTH; i++)
#define X_VECTOR x.mem, 1, X_INC
#define Y_VECTOR y.mem, 2, Y_INC

static void test_vectors(void **state)
{
    struct array x, y, z;
    (void)state;
    make_array(&x, FLOAT, VECTOR, 1);
    make_array(&y, FLOAT, VECTOR, 2);
    make_array(&z, FLOAT, VECTOR, 3);
    EACH Y_OF(i) += 3 * X_OF(i);
    OK(CLBlastSaxpy(LENGTH, 3, X_VECTOR, Y_VECTOR, &queue, NULL));
    check_array(&y, "axpy");
    EACH X_OF(i) *= -2;
    OK(CLBlastSscal(LENGTH, -2, X_VECTOR, &queue, NULL));
    check_array(&x, "scal");
    EACH
    {
        const double t = X_OF(i);
        X_OF(i) = Y_OF(i);
        Y_OF(i) = t;
    }
    OK(CLBlastSswap(LENGTH, X_VECTOR, Y_VECTOR, &queue, NULL));
    check_array(&x, "swap, x");
    check_array(&y, "swap, y");
    EACH z.x[i] = 2 * X_OF(i) * Y_OF(i) + 3 * z.x[i];
    OK(CLBlastShad(LENGTH, 2, X_VECTOR, Y_VECTOR, 3, z.mem, 0, 1, &queue,
                   NULL));
    check_array(&z, "had");
    EACH Y_OF(i) = X_OF(i);
    OK(CLBlastScopy(LENGTH, X_VECTOR, Y_VECTOR, &queue, NULL));
    check_array(&y, "copy");
    release(&x);
    release(&y);
    release(&z);
}

static int has_doubles(void)
{
    cl_device_fp_config of_doubles = 0;
    clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof of_doubles,
                    &of_doubles, NULL);
    return of_doubles != 0;
}

/* In f64: 2^-40 would be lost in f32. */
static void test_doubles(void **state)
{
    struct array x, y, r;
    double asum = 0;
    (void)state;
    if (!has_doubles())
        return;
    make_array(&x, DOUBLE, VECTOR, 1);
    make_array(&y, DOUBLE, VECTOR, 2);
    make_array(&r, DOUBLE, 8, 3);
    EACH Y_OF(i) += (3 + 0x1p-40) * X_OF(i);
    OK(CLBlastDaxpy(LENGTH, 3 + 0x1p-40, X_VECTOR, Y_VECTOR, &queue, NULL));
    check_array(&y, "axpy");
    EACH X_OF(i) *= -1 - 0x1p-45;
    OK(CLBlastDscal(LENGTH, -1 - 0x1p-45, X_VECTOR, &queue, NULL));
    check_array(&x, "scal");
    EACH asum += fabs(X_OF(i));
    r.x[3] = asum;
    OK(CLBlastDasum(LENGTH, r.mem, 3, X_VECTOR, &queue, NULL));
    check_array(&r, "asum");
    release(&x);
    release(&y);
    release(&r);
}

static void test_reductions(void **state)
{
    struct array x, y, r;
    double dot = 0, asum = 0, sum = 0;
    cl_uint index[4], want[4] = {0};
    (void)state;
    make_array(&x, FLOAT, VECTOR, 1);
    make_array(&y, FLOAT, VECTOR, 2);
    make_array(&r, FLOAT, 8, 3);
    EACH
    {
        dot += X_OF(i) * Y_OF(i);
        asum += fabs(X_OF(i));
        sum += X_OF(i);
        /* The index of the first one. */
        want[0] = fabs(X_OF(i)) > fabs(X_OF(want[0])) ? (cl_uint)i : want[0];
        want[1] = fabs(X_OF(i)) < fabs(X_OF(want[1])) ? (cl_uint)i : want[1];
        want[2] = X_OF(i) > X_OF(want[2]) ? (cl_uint)i : want[2];
        want[3] = X_OF(i) < X_OF(want[3]) ? (cl_uint)i : want[3];
    }
    r.x[1] = dot;
    r.x[2] = asum;
    r.x[3] = sum;
    r.x[4] = 12; /* of 144 ones, one after another */
    struct array ones;
    make_array(&ones, FLOAT, 144, 0);
    OK(CLBlastSscal(144, 0, ones.mem, 0, 1, &queue, NULL));
    for (size_t i = 0; i < 144; i++)
        ones.x[i] *= 0;
    check_array(&ones, "scal by 0");
    const float one = 1;
    clEnqueueFillBuffer(queue, ones.mem, &one, sizeof one, 0, 144 * sizeof one,
                        0, NULL, NULL);
    OK(CLBlastSdot(LENGTH, r.mem, 1, X_VECTOR, Y_VECTOR, &queue, NULL));
    OK(CLBlastSasum(LENGTH, r.mem, 2, X_VECTOR, &queue, NULL));
    OK(CLBlastSsum(LENGTH, r.mem, 3, X_VECTOR, &queue, NULL));
    OK(CLBlastSnrm2(144, r.mem, 4, ones.mem, 0, 1, &queue, NULL));
    check_array(&r, "dot, asum, sum, nrm2");
    OK(CLBlastiSamax(LENGTH, r.mem, 0, X_VECTOR, &queue, NULL));
    OK(CLBlastiSamin(LENGTH, r.mem, 1, X_VECTOR, &queue, NULL));
    OK(CLBlastiSmax(LENGTH, r.mem, 2, X_VECTOR, &queue, NULL));
    OK(CLBlastiSmin(LENGTH, r.mem, 3, X_VECTOR, &queue, NULL));
    clEnqueueReadBuffer(queue, r.mem, CL_TRUE, 0, sizeof index, index, 0, NULL,
                        NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(index[i], want[i]);
    release(&x);
    release(&y);
    release(&r);
    release(&ones);
}

static void test_omatcopy(void **state)
{
    (void)state;
    for (int layout = CLBlastLayoutRowMajor; layout <= CLBlastLayoutColMajor;
         layout++)
        for (int ta = CLBlastTransposeNo; ta <= CLBlastTransposeYes; ta++) {
            const size_t rows = ta == CLBlastTransposeNo ? M : N;
            const size_t cols = ta == CLBlastTransposeNo ? N : M;
            struct array a, b;
            make_array(&a, FLOAT, MATRIX, 1);
            make_array(&b, FLOAT, MATRIX, 2);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++)
                    b.x[at(layout, CLBlastTransposeNo, i, j)] =
                        3 * a.x[at(layout, ta, i, j)];
            OK(CLBlastSomatcopy((CLBlastLayout)layout, (CLBlastTranspose)ta, M,
                                N, 3, OPERAND(a), OPERAND(b), &queue, NULL));
            check_array(&b, "omatcopy");
            release(&a);
            release(&b);
        }
}

/* -- images -----------------------------------------------------------------
 */

/* Two channels of 6 x 7, filters of 3 x 2, dilated by 1 x 2, at every second
 * row; 5 x 7 positions with padding, 2 x 5 without. */
enum {
    C = 2,
    H = 6,
    W = 7,
    R = 3,
    S = 2,
    STRIDE = 2,
    DILATION = 2,
    FILTERS = 4
};

static double pixel(const struct array *im, size_t image, size_t c, long y,
                    long x)
{
    if (y < 0 || y >= H || x < 0 || x >= W)
        return 0;
    return im->x[OFFSET + ((image * C + c) * H + (size_t)y) * W + (size_t)x];
}

static void test_images(void **state)
{
    enum { PAD = 1, P = 3, Q = 7, IMAGES = 2, COL_P = 2, COL_Q = 5 };
    struct array im, filters, out, col;
    (void)state;
    make_array(&im, FLOAT, OFFSET + IMAGES * C * H * W, 1);
    make_array(&filters, FLOAT, FILTERS * C * R * S, 2);
    make_array(&out, FLOAT, IMAGES * FILTERS * P * Q, 3);
    make_array(&col, FLOAT, 1 + C * R * S * COL_P * COL_Q, 4);
    for (size_t z = 0; z < IMAGES * FILTERS * P * Q; z++) {
        const size_t q = z % Q, p = z / Q % P, k = z / Q / P % FILTERS;
        double sum = 0;
        for (size_t t = 0; t < C * R * S; t++) {
            const size_t s = t % S, r = t / S % R, c = t / S / R;
            sum += filters.x[k * C * R * S + t] *
                   pixel(&im, z / Q / P / FILTERS, c,
                         (long)(p * STRIDE + r) - PAD,
                         (long)(q + s * DILATION) - PAD);
        }
        out.x[z] = sum;
    }
    OK(CLBlastSconvgemm(CLBlastKernelModeCrossCorrelation, C, H, W, R, S, PAD,
                        PAD, STRIDE, 1, 1, DILATION, FILTERS, IMAGES, im.mem,
                        OFFSET, filters.mem, 0, out.mem, 0, &queue, NULL));
    check_array(&out, "convgemm");
    for (size_t z = 0; z < C * R * S * COL_P * COL_Q; z++) {
        const size_t q = z % COL_Q, p = z / COL_Q % COL_P,
                     t = z / COL_Q / COL_P;
        col.x[1 + z] = pixel(&im, 0, t / S / R, (long)(p * STRIDE + t / S % R),
                             (long)(q + t % S * DILATION));
    }
    OK(CLBlastSim2col(CLBlastKernelModeCrossCorrelation, C, H, W, R, S, 0, 0,
                      STRIDE, 1, 1, DILATION, im.mem, OFFSET, col.mem, 1,
                      &queue, NULL));
    check_array(&col, "im2col");
    release(&im);
    release(&filters);
    release(&out);
    release(&col);
}

/* -- what is passed on ------------------------------------------------------
 */

static void test_errors(void **state)
{
    struct array x, y;
    cl_event done = NULL;
    (void)state;
    make_array(&x, FLOAT, LENGTH, 1);
    make_array(&y, FLOAT, LENGTH, 2);
#define AXPY(n, x_inc, y_offset)                                              \
    CLBlastSaxpy(n, 1, x.mem, 0, x_inc, y.mem, y_offset, 1, &queue, &done)
    assert_int_equal(AXPY(0, 1, 0), CLBlastInvalidDimension);
    assert_int_equal(AXPY(LENGTH, 0, 0), CLBlastInvalidIncrementX);
    assert_int_equal(AXPY(LENGTH, 2, 0), CLBlastInsufficientMemoryX);
    assert_int_equal(AXPY(LENGTH, 1, 1), CLBlastInsufficientMemoryY);
    assert_int_equal(
        CLBlastSdot(1, y.mem, LENGTH, x.mem, 0, 1, x.mem, 0, 1, &queue, &done),
        CLBlastInsufficientMemoryScalar);
    assert_null(done);
    check_array(&y, "after errors");
    release(&x);
    release(&y);
}

/* CLBlast builds its kernels before it looks at the arguments: minutes. */
static void test_errors_of_products(void **state)
{
    const CLBlastLayout layout = CLBlastLayoutRowMajor;
    const CLBlastTranspose ta = CLBlastTransposeNo, tb = CLBlastTransposeNo;
    struct array a, b, c;
    cl_event done = NULL;
    float first;
    (void)state;
    make_array(&a, FLOAT, MATRIX, 1);
    make_array(&b, FLOAT, MATRIX, 2);
    make_array(&c, FLOAT, MATRIX, 3);
#define GEMM(alpha, m, at_a, lda, ldb, at_c, ldc)                             \
    CLBlastSgemm(layout, ta, tb, m, N, K, alpha, a.mem, at_a, lda, b.mem, 0,  \
                 ldb, 0, c.mem, at_c, ldc, &queue, &done)
    assert_int_equal(GEMM(1, 0, 0, LD, LD, 0, LD), CLBlastInvalidDimension);
    assert_int_equal(GEMM(1, M, 0, K - 1, LD, 0, LD), CLBlastInvalidLeadDimA);
    assert_int_equal(GEMM(1, M, 0, LD, N - 1, 0, LD), CLBlastInvalidLeadDimB);
    assert_int_equal(GEMM(1, M, 0, LD, LD, 0, N - 1), CLBlastInvalidLeadDimC);
    /* One row, whose leading dimension nothing needs. */
    assert_int_equal(GEMM(1, 1, 0, K - 1, LD, 0, LD), CLBlastInvalidLeadDimA);
    assert_int_equal(GEMM(1, M, MATRIX, LD, LD, 0, LD),
                     CLBlastInsufficientMemoryA);
    assert_int_equal(GEMM(1, M, 0, LD, LD, MATRIX, LD),
                     CLBlastInsufficientMemoryC);
    /* A that nothing needs. */
    assert_int_equal(GEMM(0, M, MATRIX, LD, LD, 0, LD),
                     CLBlastInsufficientMemoryA);
    assert_int_equal(CLBlastSgemmStridedBatched(
                         layout, ta, tb, M, N, K, 1, a.mem, 0, LD, 0, b.mem, 0,
                         LD, 0, 0, c.mem, 0, LD, MATRIX, 0, &queue, &done),
                     CLBlastInvalidBatchCount);
    assert_null(done);
    check_array(&c, "after errors");
    /* A scalar that the library refuses. */
    OK(GEMM(NAN, M, 0, LD, LD, 0, LD));
    clReleaseEvent(done);
    clEnqueueReadBuffer(queue, c.mem, CL_TRUE, 0, sizeof first, &first, 0,
                        NULL, NULL);
    assert_true(isnan(first));
    release(&a);
    release(&b);
    release(&c);
}

/* -- queues and threads -----------------------------------------------------
 */

/* The application's queues, one after another: the last one may be kept, and
 * what was computed in each is right. */
static void test_queues_come_and_go(void **state)
{
    cl_uint first = 0, last = 0;
    cl_command_queue_properties possible = 0;
    cl_int code;
    (void)state;
    clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof possible,
                    &possible, NULL);
    for (int turn = 0; turn < 20; turn++) {
        cl_command_queue own = clCreateCommandQueue(
            context, device,
            turn % 2 ? possible & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0,
            &code);
        struct array x;
        cl_event done;
        assert_int_equal(code, CL_SUCCESS);
        make_array(&x, FLOAT, LENGTH, 1);
        OK(CLBlastSscal(LENGTH, 2, x.mem, 0, 1, &own, NULL));
        OK(CLBlastSscal(LENGTH, 2, x.mem, 0, 1, &own, &done));
        EACH x.x[i] *= 4;
        clWaitForEvents(1, &done);
        check_array(&x, "scal on a new queue");
        clReleaseEvent(done);
        release(&x);
        clReleaseCommandQueue(own);
        clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof last,
                         &last, NULL);
        if (turn == 9)
            first = last;
    }
    assert_true(last <= first + 1);
}

static void *compute(void *arg)
{
    struct array *x = arg;
    for (int i = 0; i < 40; i++)
        if (CLBlastSaxpy(LENGTH, i % 2 ? -1 : 1, x[0].mem, 0, 1, x[1].mem, 0,
                         1, &queue, NULL) != CLBlastSuccess ||
            CLBlastSgemv(CLBlastLayoutRowMajor, CLBlastTransposeNo, 1, LENGTH,
                         1, x[0].mem, 0, LENGTH, x[0].mem, 0, 1, 0, x[2].mem,
                         0, 1, &queue, NULL) != CLBlastSuccess)
            return arg;
    return NULL;
}

static void test_threads_share_a_queue(void **state)
{
    enum { THREADS = 4 };
    static struct array x[THREADS][3];
    pthread_t threads[THREADS];
    void *failed;
    (void)state;
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < 3; i++)
            make_array(&x[t][i], FLOAT, LENGTH, t + i);
        x[t][2].x[0] = 0;
        EACH x[t][2].x[0] += x[t][0].x[i] * x[t][0].x[i];
        assert_int_equal(pthread_create(&threads[t], NULL, compute, x[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], &failed);
        assert_null(failed);
        check_array(&x[t][1], "axpy of threads");
        check_array(&x[t][2], "gemv of threads");
        for (unsigned i = 0; i < 3; i++)
            release(&x[t][i]);
    }
}

/* This program's calls come to libcrosslane-clblast, those of C++ too. */
static void test_names(void **state)
{
    static const char *const names[] = {
        "CLBlastSgemm", "CLBlastSgemmWithTempBuffer",
        "_ZN7clblast4GemmIfEENS_10StatusCodeENS_6LayoutENS_9TransposeES3_mmmT_"
        "P7_cl_memmmS6_mmS4_S6_mmPP17_cl_command_queuePP9_cl_eventS6_"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(RTLD_DEFAULT, names[i]);
        Dl_info info;
        assert_non_null(symbol);
        assert_int_not_equal(dladdr(symbol, &info), 0);
        assert_non_null(strstr(info.dli_fname, "crosslane-clblast"));
    }
}

/* The argument is a pattern of tests to leave out. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_level_2),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_omatcopy),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_errors_of_products),
        cmocka_unit_test(test_queues_come_and_go),
        cmocka_unit_test(test_threads_share_a_queue),
    };
    if (argc > 1)
        cmocka_set_skip_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_device, close_device);
}
