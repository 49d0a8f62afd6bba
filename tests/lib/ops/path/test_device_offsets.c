/* SPDX-License-Identifier: Apache-2.0 */
/* Products at offsets that are in device memory (xl_batch.at), against sums in
 * double: blocks of one pool in any order, some shared; every variant,
 * transposes, one product, beta, an epilogue, scales, rows of their own;
 * offsets that an earlier command writes; and what is refused. Small integers
 * in f32, so that results are exact. All other elements of the pool are NaN or
 * keep their values. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/support.h"

enum { M = 33, N = 20, K = 20, COUNT = 5, BLOCK = 800, BLOCKS = 24 };
enum { FLOATS = BLOCK * BLOCKS, NUMBERS_AT = 3, N_NUMBERS = 3 * COUNT };
enum { AT_A, AT_B, AT_C };

/* Blocks of the pool; the first products share A, the last ones B. */
static const size_t block[3][COUNT] = {
    {7, 7, 2, 12, 5}, {9, 22, 1, 4, 4}, {3, 19, 0, 23, 6}};
/* Elements into the block: no matrix is aligned to more than one, while the
 * pool is. */
static const size_t inside[3] = {1, 3, 5};

static struct test_device t;
static cl_mem pool, numbers_mem, rows_mem, bias_mem;
static float host[FLOATS], want[FLOATS], bias[N];
static const cl_uint used[COUNT] = {M, 0, 11, M + 9, 1};
static xl_offsets at;
static xl_sizes rows;

static size_t first_element(unsigned operand, size_t z)
{
    return block[operand][z] * BLOCK + inside[operand];
}

static xl_gemm product(const char *by_columns, size_t m, size_t n)
{
    xl_gemm g = {XL_GEMM_INIT, .m = m, .n = n, .k = K, .alpha = 1};
    g.a = strchr(by_columns, 'A') ? xl_mat_cols(pool, m, XL_F32)
                                  : xl_mat_rows(pool, K, XL_F32);
    g.b = strchr(by_columns, 'B') ? xl_mat_cols(pool, K, XL_F32)
                                  : xl_mat_rows(pool, n, XL_F32);
    g.c = strchr(by_columns, 'C') ? xl_mat_cols(pool, m, XL_F32)
                                  : xl_mat_rows(pool, n, XL_F32);
    g.batch = (xl_batch){.count = COUNT, .at = &at};
    return g;
}

/* From views that begin `first` elements into the pool. */
static void write_numbers(size_t count, size_t first)
{
    cl_ulong all[NUMBERS_AT + N_NUMBERS];
    memset(all, 0xFF, sizeof all);
    for (unsigned operand = 0; operand < 3; operand++)
        for (size_t z = 0; z < count; z++)
            all[NUMBERS_AT + operand * count + z] =
                first_element(operand, z) - first;
    assert_status(xl_buffer_write(t.queue, numbers_mem, 0, all, sizeof all),
                  XL_OK, xl_error_detail(t.queue));
}

static size_t element(const xl_mat *mat, unsigned operand, size_t z, size_t i,
                      size_t j)
{
    return first_element(operand, z) + i * mat->row_stride +
           j * mat->col_stride;
}

/* Fill the matrices, and C where it is not read with NaN. */
static void start(const xl_gemm *g)
{
    struct xl__rng rng;
    xl__rng_seed(&rng, 5);
    for (size_t i = 0; i < FLOATS; i++)
        host[i] = NAN;
    for (size_t z = 0; z < g->batch.count; z++) {
        for (size_t l = 0; l < K; l++) {
            for (size_t i = 0; i < g->m; i++)
                host[element(&g->a, AT_A, z, i, l)] =
                    (float)xl__rng_below(&rng, 9) - 4;
            for (size_t j = 0; j < g->n; j++)
                host[element(&g->b, AT_B, z, l, j)] =
                    (float)xl__rng_below(&rng, 9) - 4;
        }
        for (size_t i = 0; i < g->m && g->beta != 0; i++)
            for (size_t j = 0; j < g->n; j++)
                host[element(&g->c, AT_C, z, i, j)] =
                    (float)xl__rng_below(&rng, 9) - 4;
    }
    for (size_t j = 0; j < N; j++)
        bias[j] = (float)xl__rng_below(&rng, 9) - 4;
    memcpy(want, host, sizeof host);
    assert_status(xl_buffer_write(t.queue, pool, 0, host, sizeof host), XL_OK,
                  "");
    assert_status(xl_buffer_write(t.queue, bias_mem, 0, bias, sizeof bias),
                  XL_OK, "");
}

/* Where A has scales, that of product z is bias[z]. */
static void expect(const xl_gemm *g)
{
    for (size_t z = 0; z < g->batch.count; z++) {
        for (size_t i = 0; i < g->m; i++) {
            if (g->batch.rows && i >= used[z])
                continue;
            for (size_t j = 0; j < g->n; j++) {
                const size_t c = element(&g->c, AT_C, z, i, j);
                double sum = 0;
                for (size_t l = 0; l < K; l++)
                    sum += (double)host[element(&g->a, AT_A, z, i, l)] *
                           (double)host[element(&g->b, AT_B, z, l, j)];
                sum *=
                    g->a_scales.scale ? g->alpha * (double)bias[z] : g->alpha;
                if (g->beta != 0)
                    sum += g->beta * (double)host[c];
                want[c] =
                    (float)(g->epilogue.expr ? sum + (double)bias[j] : sum);
            }
        }
    }
}

static void compare(const char *name)
{
    test_compare_floats(t.queue, pool, want, FLOATS, name);
}

/* By the best variant and by each; returns the number of those that ran. */
static unsigned check(xl_gemm *g)
{
    unsigned n_ran = 0;
    const char *name = "best";
    for (unsigned v = 0; name; name = xl_variant_name(t.device, "gemm", v++)) {
        start(g);
        write_numbers(g->batch.count, g->a.offset);
        expect(g);
        g->variant = v == 0 ? NULL : name;
        const xl_status status = xl_gemm_run(t.queue, g, NULL);
        if (v > 0 && status == XL_UNSUPPORTED)
            continue;
        assert_status(status, XL_OK, xl_error_detail(t.queue));
        compare(name);
        n_ran += v > 0;
    }
    return n_ran;
}

static void layouts(void **state)
{
    static const char *const by_columns[] = {"", "A", "BC", "AC"};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        xl_gemm g = product(by_columns[i], M, N);
        assert_true(check(&g) >= 3);      /* gemm_ref, _tiled, _simt */
        g = product(by_columns[i], 3, N); /* and _skinny */
        assert_true(check(&g) >= 4);
    }
}

static void forms(void **state)
{
    const size_t size = N;
    const xl_binding b = {
        .name = "r", .tensor = xl_tensor_dense(bias_mem, XL_F32, 1, &size)};
    const xl_mat scale = {.mem.buf = bias_mem, .dtype = XL_F32};
    (void)state;
    xl_gemm g = product("", M, N);
    g.batch.count = 1;
    check(&g);
    g = product("B", M, N);
    g.alpha = 2;
    g.beta = -3;
    g.epilogue = (xl_epilogue){"y + r", &b, 1};
    check(&g);
    g = product("A", M, N);
    g.batch.rows = &rows;
    check(&g);
    g = product("BC", M, N);
    g.a_scales = (xl_scales){.scale = &scale, .scale_step = 1};
    assert_true(check(&g) >= 2); /* gemm_ref, _tiled */
}

/* Two products of a group, and a preparation without the numbers' memory. */
static void group(void **state)
{
    xl_gemm g[2] = {product("", M, N), product("", M, N)};
    (void)state;
    start(&g[0]);
    expect(&g[0]);
    write_numbers(COUNT, 0);
    assert_status(xl_gemm_run_group(t.queue, g, 2, NULL), XL_OK,
                  xl_error_detail(t.queue));
    compare("group");
    g[0].batch.at = &(xl_offsets){.offset = NUMBERS_AT};
    assert_status(xl_gemm_prepare(t.queue, &g[0]), XL_OK,
                  xl_error_detail(t.queue));
}

static void bad_input(void **state)
{
    static const cl_ulong list[COUNT];
    const struct {
        xl_batch batch;
        xl_status status;
        const char *why;
    } bad[] = {
        {{.count = COUNT, .at = &at, .a_at = list, .b_at = list, .c_at = list},
         XL_BAD_ARGUMENT,
         "set only one"},
        {{.count = COUNT, .at = &at, .c_step = 1},
         XL_BAD_ARGUMENT,
         "set only one"},
        {{.count = COUNT, .at = &at, .inner = 1},
         XL_BAD_ARGUMENT,
         "set only one"},
        {{.count = COUNT + 1, .at = &at}, XL_BUFFER_TOO_SMALL, "offsets"},
        {{.count = SIZE_MAX / 2, .at = &at}, XL_OVERFLOW, "offsets"},
        {{.count = COUNT, .at = &(xl_offsets){.offset = 0}},
         XL_BAD_ARGUMENT,
         "offsets"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        xl_gemm g = product("", M, N);
        g.batch = bad[i].batch;
        assert_status(xl_gemm_run(t.queue, &g, NULL), bad[i].status,
                      xl_error_detail(t.queue));
        if (!strstr(xl_error_detail(t.queue), bad[i].why))
            fail_msg("%zu: %s", i, xl_error_detail(t.queue));
    }
    xl_gemm g = product("", M, N);
    g.a.offset = FLOATS - M * K + 1; /* a view that does not fit */
    assert_int_equal(xl_gemm_run(t.queue, &g, NULL), XL_BUFFER_TOO_SMALL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts), cmocka_unit_test(forms),
        cmocka_unit_test(group), cmocka_unit_test(bad_input)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    cl_context context = xl_queue_context(t.queue);
    pool = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    bias_mem =
        clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof bias, NULL, NULL);
    numbers_mem = clCreateBuffer(context, CL_MEM_READ_WRITE,
                                 (NUMBERS_AT + N_NUMBERS) * sizeof(cl_ulong),
                                 NULL, NULL);
    rows_mem =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       sizeof used, (void *)used, NULL);
    at = (xl_offsets){{.buf = numbers_mem}, NUMBERS_AT};
    rows = (xl_sizes){{.buf = rows_mem}, 0};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseMemObject(pool);
    clReleaseMemObject(bias_mem);
    clReleaseMemObject(numbers_mem);
    clReleaseMemObject(rows_mem);
    test_device_close(&t);
    return failed;
}
