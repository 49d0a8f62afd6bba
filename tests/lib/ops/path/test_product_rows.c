/* SPDX-License-Identifier: Apache-2.0 */
/* Products with rows of their own, which are numbers in device memory, against
 * sums in double: 0, 1, odd, all and more than all rows; transposes, C by
 * columns, beta, epilogues, each form of a batch, small tiles;
 * numbers that an earlier command writes; and what is refused. Small integers
 * in f32, so that results are exact. A is NaN in rows that are not computed,
 * and C, compared as a whole, keeps its values there. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/tiles.h"
#include "runtime/launch.h"
#include "support/support.h"

enum { FLOATS = 1 << 16, ROWS_AT = 5, N_NUMBERS = 32 };
enum { M = 70, N = 19, K = 13, COUNT = 6, INNER = 3, GAP = 2 };
enum { SIZE_A = M * K + GAP, SIZE_B = K * N + GAP, SIZE_C = M * N + GAP };
enum { AT_B = COUNT * SIZE_A, AT_C = AT_B + COUNT * SIZE_B };

static const cl_uint numbers[COUNT] = {33, 0, M, 1, M + 5, UINT32_MAX};

static struct test_device t;
static cl_mem mem, rows_mem, bias_mem;
static float host[FLOATS], want[FLOATS], bias[M];
static xl_sizes rows;
static bool is_across;      /* matrices of rows of products lie side by side */
static size_t m = M, n = N; /* of the products; at most these */

/* -- the products --------------------------------------------------------- */

/* Matrices one after another, by columns where a letter says so. */
static xl_gemm product(const char *by_columns)
{
    xl_gemm g = {XL_GEMM_INIT, .m = m, .n = n, .k = K, .alpha = 1};
    g.a = strchr(by_columns, 'A') ? xl_mat_cols(mem, m, XL_F32)
                                  : xl_mat_rows(mem, K, XL_F32);
    g.b = strchr(by_columns, 'B') ? xl_mat_cols(mem, K, XL_F32)
                                  : xl_mat_rows(mem, n, XL_F32);
    g.c = strchr(by_columns, 'C') ? xl_mat_cols(mem, m, XL_F32)
                                  : xl_mat_rows(mem, n, XL_F32);
    g.b.offset = AT_B;
    g.c.offset = AT_C;
    g.batch = (xl_batch){.count = COUNT,
                         .a_step = SIZE_A,
                         .b_step = SIZE_B,
                         .c_step = SIZE_C,
                         .rows = &rows};
    return g;
}

/* The number of product z's matrices. */
static size_t matrix_of(size_t z)
{
    return is_across ? z % INNER * (COUNT / INNER) + z / INNER : z;
}

static size_t used_rows(size_t z)
{
    return numbers[z] < m ? numbers[z] : m;
}

static void write_numbers(void)
{
    cl_uint all[N_NUMBERS];
    memset(all, 0xFF, sizeof all);
    memcpy(all + ROWS_AT, numbers, sizeof numbers);
    assert_status(xl_buffer_write(t.queue, rows_mem, 0, all, sizeof all),
                  XL_OK, "");
}

static void start(const xl_gemm *g)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 1);
    for (size_t i = 0; i < FLOATS; i++)
        host[i] = (float)xl__rng_below(&rng, 9) - 4;
    for (size_t i = 0; i < M; i++)
        bias[i] = (float)xl__rng_below(&rng, 9) - 4;
    for (size_t z = 0; z < COUNT; z++) {
        for (size_t i = used_rows(z); i < m; i++) {
            for (size_t l = 0; l < K; l++)
                host[matrix_of(z) * SIZE_A + i * g->a.row_stride +
                     l * g->a.col_stride] = NAN;
        }
    }
    memcpy(want, host, sizeof host);
    assert_status(xl_buffer_write(t.queue, mem, 0, host, sizeof host), XL_OK,
                  "");
    assert_status(xl_buffer_write(t.queue, bias_mem, 0, bias, sizeof bias),
                  XL_OK, "");
}

/* C of the first `count` products, by the definition. */
static void expect(const xl_gemm *g, size_t count)
{
    for (size_t z = 0; z < count; z++) {
        for (size_t i = 0; i < used_rows(z); i++) {
            for (size_t j = 0; j < n; j++) {
                const size_t c = AT_C + matrix_of(z) * SIZE_C +
                                 i * g->c.row_stride + j * g->c.col_stride;
                double sum = 0;
                for (size_t l = 0; l < K && g->alpha != 0; l++)
                    sum +=
                        (double)
                            host[matrix_of(z) * SIZE_A + i * g->a.row_stride +
                                 l * g->a.col_stride] *
                        (double)
                            host[AT_B + matrix_of(z) * SIZE_B +
                                 l * g->b.row_stride + j * g->b.col_stride];
                sum = g->alpha * sum + g->beta * (double)host[c];
                want[c] =
                    (float)(g->epilogue.expr ? sum + (double)bias[i] : sum);
            }
        }
    }
}

static void compare(const char *name)
{
    test_compare_floats(t.queue, mem, want, FLOATS, name);
}

/* By each variant that supports them, and by the best. gemm_cpu is one of some
 * devices, gemm_skinny needs few rows or columns. */
enum { BEST, REF, TILED, SIMT, SKINNY, CPU, N_VARIANTS };
static const char *const variants[N_VARIANTS] = {
    NULL, "gemm_ref", "gemm_tiled", "gemm_simt", "gemm_skinny", "gemm_cpu"};
static unsigned n_refused; /* by gemm_skinny */

static bool has_variant(const char *name)
{
    const char *found;
    for (unsigned i = 0; (found = xl_variant_name(t.device, "gemm", i)); i++) {
        if (strcmp(found, name) == 0)
            return true;
    }
    return false;
}

static void check_by(xl_gemm *g, unsigned first, unsigned end)
{
    for (unsigned v = first; v < end; v++) {
        start(g);
        write_numbers();
        expect(g, g->batch.count ? g->batch.count : 1);
        g->variant = variants[v];
        const xl_status status = xl_gemm_run(t.queue, g, NULL);
        if (v == CPU ? !has_variant(variants[v])
                     : v == SKINNY && status == XL_UNSUPPORTED) {
            n_refused += v == SKINNY;
            continue;
        }
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        compare(g->variant ? g->variant : "best");
    }
}

static void check(xl_gemm *g)
{
    check_by(g, 0, N_VARIANTS);
}

static void layouts(void **state)
{
    static const char *const by_columns[] = {"", "A", "BC", "AC"};
    (void)state;
    for (unsigned i = 0; i < sizeof by_columns / sizeof *by_columns; i++) {
        xl_gemm g = product(by_columns[i]);
        check(&g);
    }
}

/* Few rows and few columns, along and across: a rest in each block. */
static void thin(void **state)
{
    static const char *const by_columns[] = {"", "AB", "B", "C"};
    static const size_t sizes[][2] = {{13, N}, {M, 11}, {1, N}};
    const unsigned refused = n_refused;
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        m = sizes[i / 4][0];
        n = sizes[i / 4][1];
        xl_gemm g = product(by_columns[i % 4]);
        check_by(&g, BEST, REF);
        check_by(&g, SKINNY, CPU);
    }
    m = M;
    n = N;
    assert_int_equal(n_refused, refused);
}

static void beta_and_epilogue(void **state)
{
    const xl_binding b = {.name = "r",
                          .tensor = {.mem.buf = bias_mem,
                                     .dtype = XL_F32,
                                     .n_dims = 2,
                                     .size = {M, 1},
                                     .stride = {1, 1}}};
    static const char *const by_columns[] = {"B", "C"};
    (void)state;
    for (unsigned i = 0; i < sizeof by_columns / sizeof *by_columns; i++) {
        xl_gemm g = product(by_columns[i]);
        g.alpha = 2;
        g.beta = -3;
        check(&g);
        g.epilogue = (xl_epilogue){"y + r", &b, 1};
        check(&g);
    }
    xl_gemm g = product("");
    g.alpha = 0;
    g.beta = 2;
    check(&g);
}

/* A single product, lists, and two axes that no single step covers. */
static void batches(void **state)
{
    cl_ulong at[3][COUNT];
    (void)state;
    xl_gemm g = product("");
    g.batch.count = 0;
    check(&g);
    g = product("C");
    for (size_t z = 0; z < COUNT; z++) {
        at[0][z] = z * SIZE_A;
        at[1][z] = z * SIZE_B;
        at[2][z] = z * SIZE_C;
    }
    g.batch = (xl_batch){.count = COUNT,
                         .a_at = at[0],
                         .b_at = at[1],
                         .c_at = at[2],
                         .rows = &rows};
    check(&g);
    g = product("");
    g.batch = (xl_batch){.count = COUNT,
                         .inner = INNER,
                         .a_step = SIZE_A,
                         .b_step = SIZE_B,
                         .c_step = SIZE_C,
                         .a_inner = COUNT / INNER * SIZE_A,
                         .b_inner = COUNT / INNER * SIZE_B,
                         .c_inner = COUNT / INNER * SIZE_C,
                         .rows = &rows};
    is_across = true;
    check(&g);
    is_across = false;
}

/* -- small tiles ---------------------------------------------------------- */

/* Many tiles along rows and columns, whole and cut along k. */
static void small_tiles(void **state)
{
    static const char *const by_columns[] = {"", "C", "", "C"};
    const struct xl__variant *const by[] = {&xl__gemm_tiled, &xl__gemm_simt};
    struct xl__params params = {{8, 8, 2, 2, 2, 2, 2, 2, 1, 1}, "model"};
    static struct xl__plan plan;
    (void)state;
    for (unsigned j = 0; j < 8; j++) {
        const unsigned i = j % 4;
        const struct xl__limits *l = &t.queue->ctx->device->limits;
        const xl_gemm g = product(by_columns[i]);
        struct xl__gemm_canonical canonical;
        struct xl__call call = {0};
        start(&g);
        write_numbers();
        expect(&g, COUNT);
        assert_status(xl__op_gemm.check(t.queue, &g, true), XL_OK,
                      xl_error_detail(t.queue));
        assert_int_equal(xl__op_gemm.bind(t.queue, &g, &canonical, &call),
                         XL_OK);
        memset(&plan, 0, sizeof plan);
        params.value[XL__TILE_PARTS] = i / 2 ? 8 : 1;
        assert_int_equal(by[j / 4]->plan(l, &canonical, &params, &plan),
                         XL_OK);
        assert_status(xl__plan_launch(t.queue, &plan, &call, NULL), XL_OK,
                      xl_error_detail(t.queue));
        compare("small tiles");
        assert_int_equal(plan.n_steps, i / 2 ? 2 : 1);
    }
}

/* -- numbers of an earlier command ---------------------------------------- */

/* On a queue without order the call waits for the command of its wait list
 * that writes the numbers. */
static void written_before(void **state)
{
    const size_t bytes = sizeof numbers, at = ROWS_AT * sizeof *numbers;
    cl_uint none[N_NUMBERS] = {0};
    cl_int code;
    xl_queue *q;
    (void)state;
    xl_gemm g = product("");
    cl_command_queue native =
        clCreateCommandQueue(xl_queue_context(t.queue), xl_device_cl(t.device),
                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS)
        skip();
    assert_status(xl_queue_wrap(t.lib, native, &q), XL_OK,
                  xl_lib_error(t.lib));
    start(&g);
    expect(&g, COUNT);
    assert_status(xl_gemm_prepare(q, &g), XL_OK, xl_error_detail(q));
    assert_status(xl_buffer_write(t.queue, rows_mem, 0, none, sizeof none),
                  XL_OK, "");
    cl_event gate = clCreateUserEvent(xl_queue_context(t.queue), &code),
             written, done;
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueWriteBuffer(native, rows_mem, CL_FALSE, at,
                                          bytes, numbers, 1, &gate, &written),
                     CL_SUCCESS);
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = &written,
                          .done = &done};
    assert_status(xl_gemm_run(q, &g, &sync), XL_OK, xl_error_detail(q));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    compare("after a write");
    clReleaseEvent(gate);
    clReleaseEvent(written);
    clReleaseEvent(done);
    xl_queue_destroy(q);
    clReleaseCommandQueue(native);
}

/* -- plans and groups ----------------------------------------------------- */

/* A plan depends on whether there are such numbers, not on where they are. */
static void canonical_form(void **state)
{
    struct xl__gemm_canonical x, y;
    struct xl__call call = {0};
    (void)state;
    xl_gemm g = product("");
    const xl_sizes other = {{.buf = bias_mem}, 0};
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &x, &call), XL_OK);
    g.batch.rows = &other;
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &y, &call), XL_OK);
    assert_memory_equal(&x, &y, sizeof x);
    g.batch.rows = NULL;
    assert_int_equal(xl__op_gemm.bind(t.queue, &g, &y, &call), XL_OK);
    assert_true(memcmp(&x, &y, sizeof x) != 0);
}

/* Single products of a group with one number each do not become one batch. */
static void group(void **state)
{
    xl_gemm g[2] = {product(""), product("")};
    (void)state;
    for (size_t z = 0; z < 2; z++) {
        g[z].a.offset += z * SIZE_A;
        g[z].b.offset += z * SIZE_B;
        g[z].c.offset += z * SIZE_C;
        g[z].batch.count = 1;
    }
    start(g);
    for (size_t i = 0; i < 33; i++) /* both have the number of the first */
        for (size_t l = 0; l < K; l++)
            host[SIZE_A + i * K + l] = 1;
    memcpy(want, host, sizeof host);
    assert_status(xl_buffer_write(t.queue, mem, 0, host, sizeof host), XL_OK,
                  "");
    write_numbers();
    for (size_t z = 0; z < 2; z++) {
        for (size_t i = 0; i < numbers[0]; i++) {
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t l = 0; l < K; l++)
                    sum += (double)host[z * SIZE_A + i * K + l] *
                           (double)host[AT_B + z * SIZE_B + l * N + j];
                want[AT_C + z * SIZE_C + i * N + j] = (float)sum;
            }
        }
    }
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare("group");
}

/* -- wrong input ---------------------------------------------------------- */

static void refused(const xl_gemm *g, xl_status status, const char *part)
{
    assert_status(xl_gemm_run(t.queue, g, NULL), status,
                  xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" does not say \"%s\"", xl_error_detail(t.queue), part);
}

static void wrong(void **state)
{
    xl_sizes s = rows;
    (void)state;
    xl_gemm g = product("");
    g.batch.rows = &s;
    s.mem.buf = NULL;
    refused(&g, XL_BAD_ARGUMENT, "rows");
    assert_status(xl_gemm_prepare(t.queue, &g), XL_OK,
                  xl_error_detail(t.queue));
    s = rows;
    s.offset = N_NUMBERS - COUNT + 1;
    refused(&g, XL_BUFFER_TOO_SMALL, "rows needs");
    s.offset = SIZE_MAX;
    refused(&g, XL_OVERFLOW, "rows");
    s = rows;
    s.mem.bytes = (ROWS_AT + COUNT) * sizeof *numbers - 1;
    refused(&g, XL_BUFFER_TOO_SMALL, "rows needs");
    s = (xl_sizes){{.buf = mem}, AT_C + SIZE_C};
    refused(&g, XL_OVERLAP, "C overlaps rows");
    s = rows;
    g.variant = "gemm_mma";
    assert_true(xl_gemm_run(t.queue, &g, NULL) != XL_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts),
                                       cmocka_unit_test(thin),
                                       cmocka_unit_test(beta_and_epilogue),
                                       cmocka_unit_test(batches),
                                       cmocka_unit_test(small_tiles),
                                       cmocka_unit_test(written_before),
                                       cmocka_unit_test(canonical_form),
                                       cmocka_unit_test(group),
                                       cmocka_unit_test(wrong)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    assert_status(xl_buffer_create(t.queue, sizeof host, &mem), XL_OK, "");
    assert_status(
        xl_buffer_create(t.queue, N_NUMBERS * sizeof *numbers, &rows_mem),
        XL_OK, "");
    assert_status(xl_buffer_create(t.queue, sizeof bias, &bias_mem), XL_OK,
                  "");
    rows = (xl_sizes){{.buf = rows_mem}, ROWS_AT};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseMemObject(mem);
    clReleaseMemObject(rows_mem);
    clReleaseMemObject(bias_mem);
    test_device_close(&t);
    return failed;
}
