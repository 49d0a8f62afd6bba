/* SPDX-License-Identifier: Apache-2.0 */
/* What norm.h states, on a real device: each mode of norm_online against the
 * host; values far from 0; rows of equal values; results in the memory of
 * operands; what is refused. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "ops/normalization/norm.h"
#include "support/support.h"

enum { ROWS = 3, MOST_COLS = XL__ROWS_MOST_CACHED + 3 };
enum { ELEMS = ROWS * MOST_COLS, MEMS = 4 };

static struct test_device t;
static cl_mem mem[MEMS];
static float x[ELEMS], bias[MOST_COLS], got[ELEMS];

static void upload(unsigned m, const float *from, size_t n)
{
    assert_status(xl_buffer_write(t.queue, mem[m], 0, from, n * sizeof *from),
                  XL_OK, xl_error_detail(t.queue));
}

static xl_norm describe(size_t cols, const char *variant)
{
    return (xl_norm){XL_NORM_INIT,
                     .rows = ROWS,
                     .cols = cols,
                     .src = xl_mat_rows(mem[0], cols, XL_F32),
                     .dst = xl_mat_rows(mem[1], cols, XL_F32),
                     .variant = variant};
}

static void run_norm(const xl_norm *n, unsigned result)
{
    assert_status(xl_norm_run(t.queue, n, NULL), XL_OK,
                  xl_error_detail(t.queue));
    assert_status(xl_buffer_read(t.queue, mem[result], 0, got,
                                 n->rows * n->cols * sizeof *got),
                  XL_OK, xl_error_detail(t.queue));
}

/* -- each mode --------------------------------------------------------------
 */

static void by_mode(void **state)
{
    static const struct {
        const char *tunables;
        size_t cols;
    } modes[] = {{"MODE=1 WG=16 LANES=8 HELD=2 VW=1 STREAM=1", 13},
                 {"MODE=1 WG=64 LANES=64 HELD=2 VW=4 STREAM=1", 500},
                 {"MODE=3 WG=16 LANES=16 HELD=2 VW=1 STREAM=1", 1001},
                 {"MODE=3 WG=16 LANES=16 HELD=2 VW=4 STREAM=1", 1000},
                 {"MODE=4 WG=1 LANES=1 HELD=1 VW=4 STREAM=1", 99},
                 {"MODE=4 WG=1 LANES=1 HELD=1 VW=8 STREAM=2", 96},
                 {"MODE=5 WG=1 LANES=1 HELD=1 VW=8 STREAM=1", 99},
                 {"MODE=6 WG=1 LANES=1 HELD=1 VW=4 STREAM=1", 9001}};
    enum { N_MODES = sizeof modes / sizeof *modes };
    (void)state;
    for (unsigned i = 0; i < 2 * N_MODES; i++) {
        const size_t cols = modes[i / 2].cols;
        xl_norm n = describe(cols, NULL);
        xl_candidate candidate = {.variant = "norm_online"};
        xl_candidate_result r;
        n.kind = i % 2 ? XL_NORM_RMS : XL_NORM_LAYER;
        n.scale = n.bias = xl_mat_rows(mem[2], cols, XL_F32);
        if (i % 2)
            n.residual = n.sum = xl_mat_rows(mem[3], cols, XL_F32);
        snprintf(candidate.tunables, sizeof candidate.tunables, "%s",
                 modes[i / 2].tunables);
        assert_status(
            xl_tune_candidate(t.queue, xl_problem_norm(&n), &candidate, 0, &r),
            XL_OK, xl_error_detail(t.queue));
        if (r.end != XL_CANDIDATE_RIGHT)
            fail_msg("%s, %zu columns: end %d, %s", candidate.tunables, cols,
                     (int)r.end, r.why);
    }
}

/* -- values -----------------------------------------------------------------
 */

static const size_t lengths[] = {1, 7, 4096, MOST_COLS};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

/* Around 10^6 with a deviation of 1, the error of y is at most 1e-4 |y| where
 * |y| is 1 or more: by norm.h (1 + r^2) (2.5 k + 9) u, k <= 42, r <= 0.6. */
static void check_far(const char *variant, size_t cols)
{
    static const double eps = 1e-5, most = 1e-4;
    struct xl__rng rng;
    xl__rng_seed(&rng, 3);
    for (size_t i = 0; i < ROWS * cols; i++)
        x[i] = (float)(1e6 + xl__rng_normal(&rng));
    upload(0, x, ROWS * cols);
    const xl_norm n = describe(cols, variant);
    run_norm(&n, 1);
    for (size_t i = 0; i < ROWS; i++) {
        double mean = 0, squares = 0;
        for (size_t j = 0; j < cols; j++)
            mean += (double)x[i * cols + j] / (double)cols;
        for (size_t j = 0; j < cols; j++)
            squares += pow((double)x[i * cols + j] - mean, 2);
        for (size_t j = 0; j < cols; j++) {
            const double y = ((double)x[i * cols + j] - mean) /
                             sqrt(squares / (double)cols + eps);
            if (!(fabs((double)got[i * cols + j] - y) <=
                  most * fmax(1, fabs(y))))
                fail_msg("%s, %zu columns: [%zu][%zu] is %.9g, not %.9g",
                         variant, cols, i, j, (double)got[i * cols + j], y);
        }
    }
}

/* Equal values, no power of two among them: exactly bias. */
static void check_equal(const char *variant, size_t cols)
{
    static const float values[ROWS] = {0.1f, -1e6f / 3, 1e-3f / 7};
    for (size_t i = 0; i < ROWS * cols; i++)
        x[i] = values[i / cols];
    for (size_t j = 0; j < cols; j++)
        bias[j] = (float)j / 3;
    upload(0, x, ROWS * cols);
    upload(2, bias, cols);
    xl_norm n = describe(cols, variant);
    n.scale = n.bias = xl_mat_rows(mem[2], cols, XL_F32);
    run_norm(&n, 1);
    for (size_t i = 0; i < ROWS * cols; i++) {
        if (got[i] != bias[i % cols])
            fail_msg("%s, %zu columns of %g: [%zu] is %.9g, not %.9g", variant,
                     cols, (double)values[i / cols], i % cols, (double)got[i],
                     (double)bias[i % cols]);
    }
}

/* The same bits whether results have memory of their own or not. */
static void check_in_place(const char *variant, size_t cols)
{
    static float apart[2][ELEMS];
    struct xl__rng rng;
    xl__rng_seed(&rng, 4);
    for (size_t i = 0; i < ROWS * cols; i++)
        x[i] = (float)xl__rng_normal(&rng);
    upload(0, x, ROWS * cols);
    upload(2, x, ROWS * cols);
    xl_norm n = describe(cols, variant);
    n.residual = xl_mat_rows(mem[2], cols, XL_F32);
    n.sum = xl_mat_rows(mem[3], cols, XL_F32);
    run_norm(&n, 3);
    memcpy(apart[0], got, ROWS * cols * sizeof *got);
    run_norm(&n, 1);
    memcpy(apart[1], got, ROWS * cols * sizeof *got);
    for (size_t i = 0; i < ROWS * cols; i++)
        assert_true(apart[0][i] == x[i] + x[i]);
    n.sum = n.residual;
    n.dst = n.src;
    run_norm(&n, 2);
    assert_memory_equal(got, apart[0], ROWS * cols * sizeof *got);
    assert_status(
        xl_buffer_read(t.queue, mem[0], 0, got, ROWS * cols * sizeof *got),
        XL_OK, xl_error_detail(t.queue));
    assert_memory_equal(got, apart[1], ROWS * cols * sizeof *got);
}

static void each(void (*check)(const char *variant, size_t cols))
{
    const char *variant;
    for (unsigned v = 0; (variant = xl_variant_name(t.device, "norm", v)); v++)
        for (unsigned i = 0; i < N_LENGTHS; i++)
            check(variant, lengths[i]);
}

static void far_from_0(void **state)
{
    (void)state;
    each(check_far);
}

static void equal_values(void **state)
{
    (void)state;
    each(check_equal);
}

static void in_place(void **state)
{
    (void)state;
    each(check_in_place);
}

/* -- what is refused --------------------------------------------------------
 */

static void refused(const xl_norm *n, xl_status want, const char *part)
{
    const xl_status status = xl_norm_run(t.queue, n, NULL);
    assert_status(status, want, xl_error_detail(t.queue));
    if (!strstr(xl_error_detail(t.queue), part))
        fail_msg("\"%s\" is not in: %s", part, xl_error_detail(t.queue));
}

static void bad_descriptors(void **state)
{
    const xl_norm good = describe(99, NULL);
    xl_norm n = good;
    (void)state;
    n.kind = XL_N_NORM_KINDS;
    refused(&n, XL_BAD_ARGUMENT, "kind is 2");
    n = good;
    n.eps = -1;
    refused(&n, XL_BAD_SCALAR, "eps is -1");
    n = good;
    n.dst.dtype = XL_I32;
    refused(&n, XL_UNSUPPORTED, "dst of a norm is of i32");
    n = good;
    n.scale = xl_mat_rows(mem[1], 99, XL_F32);
    refused(&n, XL_OVERLAP, "dst overlaps scale");
    n = good;
    n.sum = good.dst;
    refused(&n, XL_OVERLAP, "both are written");
    n = good;
    n.residual = xl_mat_rows(mem[1], 99, XL_F32);
    n.residual.offset = 1;
    refused(&n, XL_OVERLAP, "the same view");
    n = good;
    n.bias = xl_mat_rows(mem[2], 99, XL_F32);
    n.bias.offset = ELEMS;
    refused(&n, XL_BUFFER_TOO_SMALL, "bias");
    n = good;
    n.rows = 0;
    refused(&n, XL_BAD_SHAPE, "src");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_mode), cmocka_unit_test(far_from_0),
        cmocka_unit_test(equal_values), cmocka_unit_test(in_place),
        cmocka_unit_test(bad_descriptors)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    for (unsigned i = 0; i < MEMS; i++)
        assert_status(
            xl_buffer_create(t.queue, ELEMS * sizeof(float), &mem[i]), XL_OK,
            xl_error_detail(t.queue));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < MEMS; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return failed;
}
