/* SPDX-License-Identifier: Apache-2.0 */
/* Batches along two axes against sums in double: operands in records, shared
 * along an axis and shared by groups, with operands of an epilogue along each
 * axis; which of them are one axis to the variants; and what is refused. Small
 * integers in f32, so that results are exact. test_variants has the same for
 * every variant. */
#include <string.h>

#include "base/rng.h"
#include "ops/gemm/gemm.h"
#include "support/support.h"

enum { FLOATS = 1 << 15 };
enum { M = 9, N = 11, K = 13, ROWS = 3, INNER = 5, SHARE = 2 };
enum { SIZE_A = M * K, SIZE_B = K * N, SIZE_C = M * N, GAP = 3 };

static struct test_device t;
static cl_mem mem, extra_mem;
static float host[FLOATS], want[FLOATS], extra[FLOATS];

static void start(void)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 1);
    for (size_t i = 0; i < FLOATS; i++) {
        want[i] = host[i] = (float)xl__rng_below(&rng, 9) - 4;
        extra[i] = (float)xl__rng_below(&rng, 9) - 4;
    }
    assert_status(xl_buffer_write(t.queue, mem, 0, host, sizeof host), XL_OK,
                  "");
    assert_status(xl_buffer_write(t.queue, extra_mem, 0, extra, sizeof extra),
                  XL_OK, "");
}

/* Records [A, B, C] one after another, and a gap at the end of each row, so
 * that no step is a multiple of another one. */
static xl_gemm in_records(void)
{
    const size_t record = SIZE_A + SIZE_B + SIZE_C + GAP;
    const size_t row = INNER * record + GAP;
    xl_gemm g = {XL_GEMM_INIT, .m = M,
                 .n = N,
                 .k = K,
                 .alpha = 1,
                 .a = xl_mat_rows(mem, K, XL_F32),
                 .b = xl_mat_rows(mem, N, XL_F32),
                 .c = xl_mat_rows(mem, N, XL_F32),
                 .batch = {.count = ROWS * INNER,
                           .inner = INNER,
                           .a_step = row,
                           .b_step = row,
                           .c_step = row,
                           .a_inner = record,
                           .b_inner = record,
                           .c_inner = record}};
    g.b.offset = SIZE_A;
    g.c.offset = SIZE_A + SIZE_B;
    return g;
}

/* The same as dense buffers beside each other: one step for each operand. */
static xl_gemm in_blocks(void)
{
    xl_gemm g = in_records();
    g.b.offset = ROWS * INNER * SIZE_A;
    g.c.offset = g.b.offset + ROWS * INNER * SIZE_B;
    g.batch = (xl_batch){.count = ROWS * INNER,
                         .inner = INNER,
                         .a_step = INNER * SIZE_A,
                         .a_inner = SIZE_A,
                         .b_step = INNER * SIZE_B,
                         .b_inner = SIZE_B,
                         .c_step = INNER * SIZE_C,
                         .c_inner = SIZE_C};
    return g;
}

static size_t share_of(size_t share)
{
    return share ? share : 1;
}

/* C with `plus` of the epilogue, by the definition. */
static void expect(const xl_gemm *g, float (*plus)(size_t row, size_t i_inner,
                                                   size_t i, size_t j))
{
    const xl_batch *b = &g->batch;
    for (size_t z = 0; z < ROWS * INNER; z++) {
        const size_t row = z / INNER, x = z % INNER;
        const float *pa = host + g->a.offset + row * b->a_step +
                          x / share_of(b->a_share) * b->a_inner;
        const float *pb = host + g->b.offset + row * b->b_step +
                          x / share_of(b->b_share) * b->b_inner;
        float *pc = want + g->c.offset + row * b->c_step + x * b->c_inner;
        for (size_t i = 0; i < M; i++) {
            for (size_t j = 0; j < N; j++) {
                double sum = plus ? (double)plus(row, x, i, j) : 0;
                for (size_t l = 0; l < K; l++)
                    sum +=
                        (double)pa[i * K + l] *
                        (double)pb[l * g->b.row_stride + j * g->b.col_stride];
                pc[i * N + j] = (float)sum;
            }
        }
    }
}

/* g computes what is expected of `by_rows`, by the reference, by tiles and by
 * the best variant. Memory that no C covers keeps its values. */
static void check(xl_gemm *g, const xl_gemm *by_rows,
                  float (*plus)(size_t, size_t, size_t, size_t))
{
    static const char *const variants[] = {"gemm_ref", "gemm_tiled", NULL};
    static float got[FLOATS];
    for (unsigned v = 0; v < sizeof variants / sizeof *variants; v++) {
        start();
        expect(by_rows, plus);
        g->variant = variants[v];
        assert_status(xl_gemm_run(t.queue, g, NULL), XL_OK,
                      xl_error_detail(t.queue));
        assert_status(xl_buffer_read(t.queue, mem, 0, got, sizeof got), XL_OK,
                      xl_error_detail(t.queue));
        for (size_t i = 0; i < FLOATS; i++) {
            if (!(got[i] == want[i]))
                fail_msg("%s: element %zu is %g, not %g",
                         g->variant ? g->variant : "best", i, (double)got[i],
                         (double)want[i]);
        }
    }
}

static void records(void **state)
{
    (void)state;
    xl_gemm g = in_records();
    check(&g, &g, NULL);
}

/* B of one matrix for SHARE products of a row, the last one of fewer. A of one
 * matrix for a row, and C along rows first. */
static void grouped(void **state)
{
    (void)state;
    xl_gemm g = in_blocks();
    g.batch.b_share = SHARE;
    check(&g, &g, NULL);
    g = in_blocks();
    g.batch.a_share = INNER;
    g.batch.c_step = SIZE_C;
    g.batch.c_inner = ROWS * SIZE_C;
    check(&g, &g, NULL);
}

/* C^T = B^T A^T into the memory of C by rows: kernels take B for A. */
static void swapped(void **state)
{
    (void)state;
    xl_gemm g = in_blocks();
    g.batch.b_share = SHARE;
    g.batch.c_step = SIZE_C;
    g.batch.c_inner = ROWS * SIZE_C;
    xl_gemm turned = g;
    turned.m = N;
    turned.n = M;
    turned.a = xl_mat_transposed(g.b);
    turned.b = xl_mat_transposed(g.a);
    turned.c = xl_mat_transposed(g.c);
    turned.batch.a_step = g.batch.b_step;
    turned.batch.a_inner = g.batch.b_inner;
    turned.batch.a_share = SHARE;
    turned.batch.b_step = g.batch.a_step;
    turned.batch.b_inner = g.batch.a_inner;
    turned.batch.b_share = 0;
    check(&turned, &g, NULL);
}

/* -- epilogues -------------------------------------------------------------
 */

enum {
    AT_R = 5,
    AT_H = 1000,
    AT_F = 2000,
    H_ROW = 2 * N,
    F_ROW = 1200,
    F_INNER = 110
};

static float plus_all(size_t row, size_t x, size_t i, size_t j)
{
    return extra[AT_R + row * 7] + extra[AT_H + x * H_ROW + 2 * j] +
           extra[AT_F + row * F_ROW + x * F_INNER + i * N + j];
}

/* Operands along the rows, along a row, and along all. */
static void epilogue(void **state)
{
    (void)state;
    xl_binding all[] = {{.name = "r",
                         .tensor = {.mem.buf = extra_mem,
                                    .dtype = XL_F32,
                                    .offset = AT_R,
                                    .n_dims = 4,
                                    .size = {ROWS, 1, 1, 1},
                                    .stride = {7, 1, 1, 1}}},
                        {.name = "h",
                         .tensor = {.mem.buf = extra_mem,
                                    .dtype = XL_F32,
                                    .offset = AT_H,
                                    .n_dims = 3,
                                    .size = {INNER, 1, N},
                                    .stride = {H_ROW, 1, 2}}},
                        {.name = "f",
                         .tensor = {.mem.buf = extra_mem,
                                    .dtype = XL_F32,
                                    .offset = AT_F,
                                    .n_dims = 4,
                                    .size = {ROWS, INNER, M, N},
                                    .stride = {F_ROW, F_INNER, N, 1}}}};
    xl_gemm g = in_blocks();
    g.epilogue = (xl_epilogue){"y + r + h + f", all, 3};
    check(&g, &g, plus_all);
    g = in_records();
    g.epilogue = (xl_epilogue){"y + r + h + f", all, 3};
    check(&g, &g, plus_all);
    all[1].tensor.size[0] = ROWS;
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_BAD_SHAPE,
                  xl_error_detail(t.queue));
    assert_non_null(strstr(xl_error_detail(t.queue), "'h'"));
}

/* -- the canonical form ----------------------------------------------------
 */

static struct xl__gemm_canonical bind(const xl_gemm *g)
{
    struct xl__gemm_canonical out;
    struct xl__call call = {0};
    assert_status(xl__op_gemm.check(t.queue, g, true), XL_OK,
                  xl_error_detail(t.queue));
    assert_int_equal(xl__op_gemm.bind(t.queue, g, &out, &call), XL_OK);
    return out;
}

static bool is_like(const xl_gemm *g, const xl_gemm *one_axis)
{
    const struct xl__gemm_canonical x = bind(g), y = bind(one_axis);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* Two axes that one step covers are one axis, whose plans all variants have,
 * unless an operand of the epilogue needs both. */
static void one_axis(void **state)
{
    (void)state;
    xl_gemm g = in_blocks(), flat = g;
    flat.batch = (xl_batch){.count = ROWS * INNER,
                            .a_step = SIZE_A,
                            .b_step = SIZE_B,
                            .c_step = SIZE_C};
    assert_true(is_like(&g, &flat));
    xl_gemm x = g;
    x.batch.c_step++; /* a gap after each row */
    assert_false(is_like(&x, &flat));
    assert_int_equal(bind(&x).g.batch.inner, INNER);
    x = g;
    x.batch.count = INNER; /* a single row */
    x.batch.c_step++;
    flat.batch.count = INNER;
    assert_true(is_like(&x, &flat));
    x = g;
    x.batch.inner = ROWS * INNER; /* the same */
    flat.batch.count = ROWS * INNER;
    assert_true(is_like(&x, &flat));
    x.batch.inner = 1;
    x.batch.a_step = SIZE_A;
    x.batch.b_step = SIZE_B;
    x.batch.c_step = SIZE_C;
    assert_true(is_like(&x, &flat));
    x = g;
    x.batch.b_share = INNER; /* one B a row */
    assert_int_equal(bind(&x).g.batch.b_inner, 0);
    x.batch.b_step = 0; /* one B */
    flat.batch.b_step = 0;
    assert_true(is_like(&x, &flat));
    xl_binding r = {.name = "r",
                    .tensor = {.mem.buf = extra_mem,
                               .dtype = XL_F32,
                               .n_dims = 4,
                               .size = {ROWS, INNER, 1, N},
                               .stride = {INNER * N, N, N, 1}}};
    g.epilogue = (xl_epilogue){"y + r", &r, 1};
    assert_int_equal(bind(&g).g.batch.inner, 0);
    r.tensor.size[1] = 1;
    assert_int_equal(bind(&g).g.batch.inner, INNER);
}

/* -- wrong input -----------------------------------------------------------
 */

static void refused(const xl_gemm *g, xl_status status, const char *part)
{
    assert_status(xl_gemm_run(t.queue, g, NULL), status,
                  xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" does not say \"%s\"", xl_error_detail(t.queue), part);
}

static void wrong(void **state)
{
    static const cl_ulong list[ROWS * INNER];
    (void)state;
    xl_gemm g = in_records();
    g.batch.inner = 4;
    refused(&g, XL_BAD_SHAPE, "rows of 4");
    g.batch.inner = 0;
    refused(&g, XL_BAD_ARGUMENT, "inner is 0");
    g = in_records();
    g.batch.a_at = g.batch.b_at = g.batch.c_at = list;
    refused(&g, XL_BAD_ARGUMENT, "listed offsets");
    g = in_records();
    g.batch.c_inner = 0;
    refused(&g, XL_OVERLAP, "C of different products");
    g = in_blocks();
    g.batch.c_step--;
    refused(&g, XL_OVERLAP, "C of different products");
    g = in_records();
    g.c.offset--;
    refused(&g, XL_OVERLAP, "C overlaps B");
    g = in_records();
    g.batch.b_inner = FLOATS / (INNER - 1);
    refused(&g, XL_BUFFER_TOO_SMALL, "B needs");
    g.batch.b_share = SHARE; /* three matrices a row: two steps less */
    g.batch.a_inner = SIZE_MAX / 8;
    refused(&g, XL_OVERFLOW, "A");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records),  cmocka_unit_test(grouped),
        cmocka_unit_test(swapped),  cmocka_unit_test(epilogue),
        cmocka_unit_test(one_axis), cmocka_unit_test(wrong)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    assert_status(xl_buffer_create(t.queue, sizeof host, &mem), XL_OK, "");
    assert_status(xl_buffer_create(t.queue, sizeof extra, &extra_mem), XL_OK,
                  "");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseMemObject(mem);
    clReleaseMemObject(extra_mem);
    test_device_close(&t);
    return failed;
}
