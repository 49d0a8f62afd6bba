/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and GEMM on memory that the application provides
 * (CL_MEM_USE_HOST_PTR) at addresses that are multiples of 128, 16 and 4 bytes
 * only: right, whichever variant is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { ROWS = 256, COLS = 256, ELEMS = COLS * COLS, ALIGNED = 128 };

/* Of a sum of COLS products of f32, or of a softmax. */
static const double tolerance = 1e-4;

static struct test_device t;
static const unsigned offs[] = {0, 16, 4};

/* Memory `off` bytes from a multiple of 128, and a buffer over it. */
struct memory {
    char *block;
    float *host;
    cl_mem mem;
};

static struct memory make_memory(unsigned off)
{
    struct memory m = {
        .block = aligned_alloc(ALIGNED, ELEMS * sizeof(float) + ALIGNED)};
    cl_int code;
    assert_non_null(m.block);
    m.host = (float *)(void *)(m.block + off);
    for (unsigned i = 0; i < ELEMS; i++)
        m.host[i] = (float)(i * 37 % 101) / 101 - 0.5F;
    m.mem = clCreateBuffer(xl_queue_context(t.queue),
                           CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                           ELEMS * sizeof(float), m.host, &code);
    assert_int_equal(code, CL_SUCCESS);
    return m;
}

static void free_memory(struct memory *m)
{
    clReleaseMemObject(m->mem);
    free(m->block);
}

static void read_result(const struct memory *m, float *out)
{
    assert_status(xl_queue_finish(t.queue), XL_OK, xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, m->mem, 0, out, ELEMS * sizeof *out),
                  XL_OK, xl_error_detail(t.queue));
}

static void check_softmax(const float *x, const float *y)
{
    for (unsigned i = 0; i < ROWS; i++) {
        double sum = 0;
        for (unsigned j = 0; j < COLS; j++)
            sum += exp((double)x[i * COLS + j]);
        for (unsigned j = 0; j < COLS; j++) {
            const double want = exp((double)x[i * COLS + j]) / sum;
            if (fabs((double)y[i * COLS + j] - want) > tolerance * want)
                fail_msg("row %u, column %u: %g, not %g", i, j,
                         (double)y[i * COLS + j], want);
        }
    }
}

static void softmax(void **state)
{
    static float x[ELEMS], y[ELEMS];
    (void)state;
    for (unsigned i = 0; i < sizeof offs / sizeof *offs; i++) {
        struct memory src = make_memory(offs[i]), dst = make_memory(offs[i]);
        memcpy(x, src.host, sizeof x);
        const xl_softmax s = {XL_SOFTMAX_INIT, .rows = ROWS, .cols = COLS,
                              .src = xl_mat_rows(src.mem, COLS, XL_F32),
                              .dst = xl_mat_rows(dst.mem, COLS, XL_F32)};
        assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                      xl_error_detail(t.queue));
        read_result(&dst, y);
        check_softmax(x, y);
        free_memory(&dst);
        free_memory(&src);
    }
}

static void check_product(const float *a, const float *b, const float *c)
{
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < COLS; j += 7) {
            double sum = 0;
            for (unsigned k = 0; k < COLS; k++)
                sum += (double)a[i * COLS + k] * (double)b[k * COLS + j];
            if (fabs((double)c[i * COLS + j] - sum) > tolerance)
                fail_msg("C[%u][%u] is %g, not %g", i, j,
                         (double)c[i * COLS + j], sum);
        }
    }
}

static void multiply(unsigned off, const char *variant)
{
    static float host[2][ELEMS], result[ELEMS];
    struct memory a = make_memory(off), b = make_memory(off),
                  c = make_memory(off);
    memcpy(host[0], a.host, sizeof host[0]);
    memcpy(host[1], b.host, sizeof host[1]);
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = ROWS,
                       .n = COLS,
                       .k = COLS,
                       .alpha = 1,
                       .a = xl_mat_rows(a.mem, COLS, XL_F32),
                       .b = xl_mat_rows(b.mem, COLS, XL_F32),
                       .c = xl_mat_rows(c.mem, COLS, XL_F32),
                       .variant = variant};
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    read_result(&c, result);
    check_product(host[0], host[1], result);
    free_memory(&c);
    free_memory(&b);
    free_memory(&a);
}

static void gemm(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof offs / sizeof *offs; i++) {
        multiply(offs[i], NULL);
        multiply(offs[i], "gemm_tiled");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(softmax),
                                       cmocka_unit_test(gemm)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_device_close(&t);
    return failed;
}
