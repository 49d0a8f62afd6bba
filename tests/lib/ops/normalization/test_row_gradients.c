/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients over rows: the host reference of bench/cases against finite
 * differences of the forward formulas in double; each mode of the kernels by
 * their self-check; what a call refuses; that the op of a descriptor is that
 * of its is_backward. Other values: `verify` and test_variants.
 *
 * With L = sum of w f(x), (L(x + e) - L(x - e)) / 2 e is the gradient within
 * e^2 / 6 times a third derivative, of the order of L's here, and the rounding
 * of L over e: for e = 1e-4 both are below 1e-7 of the sum of |w|. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "cases/norm_cases.h"
#include "support/support.h"

enum { ROWS = 3, COLS = 7 };
static const double step = 1e-4, eps = 1e-5;
static struct test_device t;

static double gain[COLS], shift[COLS], w[ROWS][COLS];

/* A row of the forward pass. */
static void forward(enum gradient_kind kind, double scale, const double *x,
                    double *y)
{
    double scaled[COLS], max, mean = 0, squares = 0;
    for (size_t j = 0; j < COLS; j++) {
        scaled[j] = scale * x[j];
        mean += kind == GRADIENT_LAYER ? x[j] / COLS : 0;
    }
    if (kind == GRADIENT_SOFTMAX)
        ref_softmax_row(scaled, COLS, y, &max);
    if (kind == GRADIENT_LOG)
        ref_log_softmax_row(scaled, COLS, y, &max);
    if (kind < GRADIENT_LAYER)
        return;
    for (size_t j = 0; j < COLS; j++)
        squares += (x[j] - mean) * (x[j] - mean) / COLS;
    for (size_t j = 0; j < COLS; j++)
        y[j] = (x[j] - mean) / sqrt(squares + eps) * gain[j] + shift[j];
}

static double loss(enum gradient_kind kind, double scale, double x[ROWS][COLS])
{
    double y[COLS], sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        forward(kind, scale, x[i], y);
        for (size_t j = 0; j < COLS; j++)
            sum += w[i][j] * y[j];
    }
    return sum;
}

static double slope(enum gradient_kind kind, double scale,
                    double x[ROWS][COLS], double *at)
{
    const double was = *at;
    *at = was + step;
    const double up = loss(kind, scale, x);
    *at = was - step;
    const double down = loss(kind, scale, x);
    *at = was;
    return (up - down) / (2 * step);
}

static void check_kind(enum gradient_kind kind, double scale)
{
    struct gradient_case c = {
        .kind = kind, .rows = ROWS, .cols = COLS, .scale = scale};
    double x[ROWS][COLS], y[COLS], g[COLS], sum[2][COLS] = {{0}}, size = 0;
    double tol;
    struct xl__rng rng;
    xl__rng_seed(&rng, 1 + (uint64_t)kind);
    for (size_t j = 0; j < COLS; j++) {
        gain[j] = 1 + xl__rng_uniform(&rng);
        shift[j] = xl__rng_normal(&rng);
    }
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLS; j++) {
            x[i][j] = xl__rng_normal(&rng);
            w[i][j] = xl__rng_normal(&rng);
            size += fabs(w[i][j]);
        }
    }
    const double most = 1e-7 * size * (1 + fabs(scale));
    for (size_t i = 0; i < ROWS; i++) {
        const double *src = x[i];
        if (kind < GRADIENT_LAYER) {
            forward(kind, scale, x[i], y);
            src = y;
        }
        for (size_t j = 0; j < COLS; j++)
            g[j] = w[i][j] * (kind < GRADIENT_LAYER ? 1 : gain[j]);
        const struct gradient_row row = gradient_row(&c, src, g);
        for (size_t j = 0; j < COLS; j++) {
            const double want = slope(kind, scale, x, &x[i][j]);
            const double got = gradient_expected(&c, &row, src[j], g[j], &tol);
            if (!(fabs(got - want) <= most))
                fail_msg("kind %d, [%zu][%zu]: %.12g, the difference %.12g",
                         (int)kind, i, j, got, want);
            for (unsigned k = 0; k < 2; k++)
                gradient_column_add(&c, GRADIENT_OF_SCALE + k, src[j], w[i][j],
                                    &row, &sum[k][j], &tol);
        }
    }
    for (size_t j = 0; kind >= GRADIENT_LAYER && j < COLS; j++) {
        if (!(fabs(sum[0][j] - slope(kind, scale, x, &gain[j])) <= most) ||
            !(fabs(sum[1][j] - slope(kind, scale, x, &shift[j])) <= most))
            fail_msg("kind %d, column %zu: a sum is not the difference",
                     (int)kind, j);
    }
}

static void finite_differences(void **state)
{
    (void)state;
    check_kind(GRADIENT_SOFTMAX, 1);
    check_kind(GRADIENT_SOFTMAX, -2.5);
    check_kind(GRADIENT_LOG, 0.5);
    check_kind(GRADIENT_LAYER, 1);
    check_kind(GRADIENT_RMS, 1);
}

/* -- bad input -------------------------------------------------------------
 */

static cl_mem mem;

static xl_mat rows_at(size_t offset)
{
    xl_mat m = xl_mat_rows(mem, COLS, XL_F32);
    m.offset = offset;
    return m;
}

static void refuses_norm(const xl_norm *n, xl_status want, const char *word)
{
    assert_status(xl_norm_run(t.queue, n, NULL), want, word);
    if (!strstr(xl_error_detail(t.queue), word))
        fail_msg("no '%s' in: %s", word, xl_error_detail(t.queue));
}

static void bad_norms(void **state)
{
    const xl_norm fine = {XL_NORM_INIT,        .rows = ROWS,
                          .cols = COLS,        .src = rows_at(0),
                          .dst = rows_at(100), .is_backward = true,
                          .grad = rows_at(200)};
    xl_norm n = fine;
    (void)state;
    assert_status(xl_norm_run(t.queue, &n, NULL), XL_OK,
                  xl_error_detail(t.queue));
    n.residual = rows_at(300);
    refuses_norm(&n, XL_UNSUPPORTED, "residual");
    n = fine;
    n.grad.mem.buf = NULL;
    assert_int_not_equal(xl_norm_run(t.queue, &n, NULL), XL_OK);
    n = fine;
    n.dst = n.src; /* in place */
    assert_status(xl_norm_run(t.queue, &n, NULL), XL_OK,
                  xl_error_detail(t.queue));
    n.grad_scale = rows_at(400);
    assert_status(xl_norm_run(t.queue, &n, NULL), XL_OVERLAP, "dst");
    n = fine;
    n.grad.dtype = XL_F64;
    refuses_norm(&n, XL_UNSUPPORTED, "grad");
    n = fine;
    n.variant = "norm_online";
    assert_int_not_equal(xl_norm_run(t.queue, &n, NULL), XL_OK);
}

static void bad_softmax(void **state)
{
    const xl_softmax fine = {XL_SOFTMAX_INIT,     .rows = ROWS,
                             .cols = COLS,        .src = rows_at(0),
                             .dst = rows_at(100), .is_backward = true,
                             .grad = rows_at(200)};
    xl_softmax s = fine;
    (void)state;
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                  xl_error_detail(t.queue));
    s.mask = rows_at(300);
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_UNSUPPORTED, "mask");
    s = fine;
    s.epilogue.expr = "2 * y";
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_UNSUPPORTED,
                  "epilogue");
    s = fine;
    s.dst = s.grad;
    assert_status(xl_softmax_run(t.queue, &s, NULL), XL_OK,
                  xl_error_detail(t.queue));
}

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
    enum { N_MODES = sizeof modes / sizeof *modes, N_KINDS = 4 };
    (void)state;
    for (unsigned i = 0; i < N_KINDS * N_MODES; i++) {
        const size_t cols = modes[i / N_KINDS].cols;
        const struct gradient_case c = {
            .kind = (enum gradient_kind)(i % N_KINDS),
            .rows = ROWS,
            .cols = cols,
            .with = i % 3 ? WITH(GRADIENT_OF_SCALE)
                          : WITH(GRADIENT_SCALE) | WITH(GRADIENT_OF_BIAS)};
        xl_mat view[GRADIENT_OPERANDS];
        xl_candidate candidate = {.variant = "softmax_backward_online"};
        xl_candidate_result r;
        for (unsigned v = 0; v < GRADIENT_OPERANDS; v++)
            view[v] = xl_mat_rows(NULL, cols, XL_F32);
        const xl_norm n = gradient_norm(&c, view, NULL);
        const xl_softmax s = gradient_softmax(&c, view, NULL);
        if (gradient_is_norm(&c))
            strcpy(candidate.variant, "norm_backward_online");
        snprintf(candidate.tunables, sizeof candidate.tunables, "%s",
                 modes[i / N_KINDS].tunables);
        assert_status(xl_tune_candidate(t.queue,
                                        gradient_is_norm(&c)
                                            ? xl_problem_norm(&n)
                                            : xl_problem_softmax(&s),
                                        &candidate, 0, &r),
                      XL_OK, xl_error_detail(t.queue));
        if (r.end != XL_CANDIDATE_RIGHT)
            fail_msg("kind %d, %s, %zu columns: end %d, %s", (int)c.kind,
                     candidate.tunables, cols, (int)r.end, r.why);
    }
}

/* A problem's op is that of the descriptor; another one is refused. */
static void problems(void **state)
{
    const xl_norm n = {XL_NORM_INIT, .is_backward = true};
    const xl_softmax s = {XL_SOFTMAX_INIT, .is_backward = true};
    const xl_norm forward = {XL_NORM_INIT, .kind = XL_NORM_RMS};
    const xl_softmax plain = {XL_SOFTMAX_INIT, .is_log = true};
    const xl_problem wrong[] = {
        {.op = XL_OP_NORM, .desc.norm = &n},
        {.op = XL_OP_SOFTMAX, .desc.softmax = &s},
        {.op = XL_OP_NORM_BACKWARD, .desc.norm = &forward},
        {.op = XL_OP_SOFTMAX_BACKWARD, .desc.softmax = &plain}};
    const xl_candidate none = {.variant = "norm_ref"};
    xl_candidate_result r;
    (void)state;
    assert_int_equal(xl_problem_norm(&n).op, XL_OP_NORM_BACKWARD);
    assert_int_equal(xl_problem_softmax(&s).op, XL_OP_SOFTMAX_BACKWARD);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(xl_tune_candidate(t.queue, wrong[i], &none, 0, &r),
                      XL_BAD_ARGUMENT, "");
        if (!strstr(xl_error_detail(t.queue), "gradient"))
            fail_msg("%s", xl_error_detail(t.queue));
    }
}

int main(int argc, char **argv)
{
    enum { ELEMS = 512 };
    static float zeros[ELEMS];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences), cmocka_unit_test(bad_norms),
        cmocka_unit_test(bad_softmax), cmocka_unit_test(by_mode),
        cmocka_unit_test(problems)};
    test_args(argc, argv);
    test_device_open(&t, NULL);
    assert_status(xl_buffer_create(t.queue, sizeof zeros, &mem), XL_OK, "");
    assert_status(xl_buffer_write(t.queue, mem, 0, zeros, sizeof zeros), XL_OK,
                  "");
    const int failed =
        cmocka_run_group_tests_name("row_gradients", tests, NULL, NULL);
    clReleaseMemObject(mem);
    test_device_close(&t);
    return failed;
}
