/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the references with which all results are compared: products
 * computed by hand, algebra that holds for all sizes, and synthetic faults,
 * each of which must be detected. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/gemm/selfcheck.h"
#include "base/dtype.h"
#include "support/support.h"
#include "verify/verify.h"

enum { SEED = 7 };

static void near(double got, double expected, double tol)
{
    if (!(fabs(got - expected) <= tol))
        fail_msg("%.17g is not %.17g within %g", got, expected, tol);
}

/* -- numbers -------------------------------------------------------------- */

/* A value of each type and the bits it is stored as. */
static void stores_with_rounding(void **state)
{
    uint16_t half[4] = {0};
    float single[2] = {0};
    double twice[1] = {0};

    (void)state;
    xl__dtype_store(half, 0, XL_F16, 1);
    xl__dtype_store(half, 1, XL_F16, 1 + 0x1p-11); /* a tie: to even */
    xl__dtype_store(half, 2, XL_F16, -65504);
    xl__dtype_store(half, 3, XL_BF16, 1 + 3 * 0x1p-8); /* a tie: up, to even */
    assert_int_equal(half[0], 0x3c00);
    assert_int_equal(half[1], 0x3c00);
    assert_int_equal(half[2], 0xfbff);
    assert_int_equal(half[3], 0x3f82);
    near(ref_load(half, 2, XL_F16), -65504, 0);
    near(ref_load(half, 3, XL_BF16), 1 + 0x1p-6, 0);
    xl__dtype_store(single, 1, XL_F32, 0.1);
    near(ref_load(single, 1, XL_F32), (double)0.1f, 0);
    xl__dtype_store(twice, 0, XL_F64, 0.1);
    near(ref_load(twice, 0, XL_F64), 0.1, 0);
}

/* Roundoff is half the gap above 1: 1 + u rounds to 1, 1 + 1.01 u does not. */
static void roundoff_is_half_a_gap(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};

    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const double u = ref_roundoff(dtypes[i]);
        float x[1];
        xl__dtype_store(x, 0, dtypes[i], 1 + u);
        near(ref_load(x, 0, dtypes[i]), 1, 0);
        xl__dtype_store(x, 0, dtypes[i], 1 + 1.01 * u);
        near(ref_load(x, 0, dtypes[i]), 1 + 2 * u, 0);
    }
}

/* Mean 0 and deviation 1 within five standard errors, and inside 3.5. */
static void normal_is_normal(void **state)
{
    enum { N = 100000 };
    struct xl__rng rng;
    double sum = 0, squares = 0;

    (void)state;
    xl__rng_seed(&rng, SEED);
    for (int i = 0; i < N; i++) {
        const double x = ref_normal(&rng);
        assert_true(fabs(x) < 3.5);
        sum += x;
        squares += x * x;
    }
    near(sum / N, 0, 5 / sqrt(N));
    near(squares / N, 1, 5 * sqrt(2.0 / N));
}

/* -- GEMM ----------------------------------------------------------------- */

/* [1 2 3; 4 5 6] times [7 -8; 9 10; -11 12]: C and the sums of absolute
 * values by hand, through views that are padded, offset and transposed. */
static void product_by_hand(void **state)
{
    static const float a[] = {0, 1, 2, 3, 99, 4, 5, 6, 99};
    static const float bt[] = {7, 9, -11, -8, 10, 12};
    static const double c[2][2] = {{-8, 48}, {7, 90}};
    static const double mag[2][2] = {{58, 64}, {139, 154}};
    const struct ref_mat va = {a, 1, 4, 1, XL_F32};
    const struct ref_mat vb = {bt, 0, 1, 3, XL_F32};
    double dense_a[6], dense_b[6], sum[2], abs_sum[2];

    (void)state;
    ref_dense(&va, 2, 3, dense_a);
    ref_dense(&vb, 3, 2, dense_b);
    for (size_t i = 0; i < 2; i++) {
        ref_gemm_row(dense_a + 3 * i, dense_b, 2, 3, sum, abs_sum);
        for (size_t j = 0; j < 2; j++) {
            double s, m;
            near(sum[j], c[i][j], 0);
            near(abs_sum[j], mag[i][j], 0);
            ref_gemm_dot(&va, &vb, (size_t[2]){i, j}, 3, &s, &m);
            near(s, c[i][j], 0);
            near(m, mag[i][j], 0);
        }
    }
}

/* A I = A, and (A B)^T = B^T A^T: exactly, since both add in one order. */
static void identity_and_transpose(void **state)
{
    enum { M = 5, K = 7 };
    float a[M * K], b[K * M], one[K * K] = {0};
    const struct ref_mat va = {a, 0, K, 1, XL_F32};
    const struct ref_mat at = {a, 0, 1, K, XL_F32};
    const struct ref_mat vb = {b, 0, M, 1, XL_F32};
    const struct ref_mat bt = {b, 0, 1, M, XL_F32};
    const struct ref_mat unit = {one, 0, K, 1, XL_F32};
    struct xl__rng rng;
    double sum, other, mag;

    (void)state;
    xl__rng_seed(&rng, SEED);
    ref_fill(a, M * K, XL_F32, &rng);
    ref_fill(b, K * M, XL_F32, &rng);
    for (size_t i = 0; i < K; i++)
        one[i * K + i] = 1;
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++) {
            ref_gemm_dot(&va, &unit, (size_t[2]){i, j}, K, &sum, &mag);
            near(sum, ref_at(&va, i, j), 0);
            near(mag, fabs(ref_at(&va, i, j)), 0);
            ref_gemm_dot(&va, &vb, (size_t[2]){i, j}, K, &sum, &mag);
            ref_gemm_dot(&bt, &at, (size_t[2]){j, i}, K, &other, &mag);
            near(sum, other, 0);
        }
    }
}

/* alpha and beta; an old C that is NaN is not read when beta is 0. */
static void scaled_by_hand(void **state)
{
    struct ref_gemm_scale s = {4, -0.5, 2, XL_F32, XL_F32, XL_ACCURACY_FULL};
    double tol;

    (void)state;
    near(ref_gemm_expected(&s, 10, 12, 3, &tol), 1, 0);
    s.beta = 0;
    near(ref_gemm_expected(&s, 10, 12, (double)NAN, &tol), -5, 0);
    assert_true(isfinite(tol) && tol > 0);
}

/* The bound of a bare product of k terms is k u mag, no more than some
 * roundings of f32 beyond; it grows with k and with a narrower result. */
static void gemm_tolerance(void **state)
{
    struct ref_gemm_scale s = {1, 1, 0, XL_F32, XL_F32, XL_ACCURACY_FULL};
    const double u = ref_roundoff(XL_F32);
    double tol, last = 0;

    (void)state;
    for (s.k = 1; s.k < 100000; s.k *= 3) {
        (void)ref_gemm_expected(&s, 1, 1, 0, &tol);
        assert_true(tol > last);
        near(tol, (double)s.k * u, 1e-2 * (double)s.k * u);
        last = tol;
    }
    s.k = 16;
    s.out = XL_F16;
    (void)ref_gemm_expected(&s, 1, 1, 0, &tol);
    near(tol, ref_roundoff(XL_F16), 1e-2 * ref_roundoff(XL_F16));
    s.out = XL_BF16;
    (void)ref_gemm_expected(&s, 1, 1, 0, &tol);
    near(tol, ref_roundoff(XL_BF16), 1e-2 * ref_roundoff(XL_BF16));
}

/* Sums in f32, forwards and backwards, stay inside the bound; what truncates
 * the terms to f16 does not. */
static void right_sums_pass(void **state)
{
    enum { K = 100, ROUNDS = 50 };
    const struct ref_gemm_scale s = {K, 1, 0, XL_F32, XL_F32, XL_ACCURACY_FULL};
    struct xl__rng rng;
    unsigned n_coarse = 0;

    (void)state;
    xl__rng_seed(&rng, SEED);
    for (int round = 0; round < ROUNDS; round++) {
        float a[K], b[K], up = 0, down = 0, coarse = 0;
        double sum = 0, mag = 0, tol;
        ref_fill(a, K, XL_F32, &rng);
        ref_fill(b, K, XL_F32, &rng);
        for (size_t p = 0; p < K; p++) {
            uint16_t h[2];
            xl__dtype_store(h, 0, XL_F16, (double)a[p]);
            xl__dtype_store(h, 1, XL_F16, (double)b[p]);
            up += a[p] * b[p];
            down += a[K - 1 - p] * b[K - 1 - p];
            coarse += (float)(ref_load(h, 0, XL_F16) * ref_load(h, 1, XL_F16));
            sum += (double)a[p] * (double)b[p];
            mag += fabs((double)a[p] * (double)b[p]);
        }
        const double expected = ref_gemm_expected(&s, sum, mag, 0, &tol);
        assert_true(ref_error((double)up, expected, tol, XL_F32) <= 1);
        assert_true(ref_error((double)down, expected, tol, XL_F32) <= 1);
        n_coarse += ref_error((double)coarse, expected, tol, XL_F32) > 1;
    }
    assert_true(n_coarse > ROUNDS / 2);
}

/* -- matrix engines ------------------------------------------------------- */

/* x without the part below `quantum`. */
static double cut(double x, double quantum)
{
    return trunc(x / quantum) * quantum;
}

/* An engine as lib/ops/gemm/selfcheck.c describes it: steps of `step` products;
 * terms cut `below` bits under the largest one's leading bit, sums cut to
 * `kept` bits under their own; after `stay` terms a sum leaves it for an f32,
 * 0: at the end. */
struct engine {
    size_t step;
    int below, kept;
    size_t stay;
};

static double leading(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

static double engine_sum(const struct engine *e, const double *term, size_t k)
{
    double sum = 0;
    for (size_t p = 0; p < k; p += e->step) {
        const size_t end = p + e->step < k ? p + e->step : k;
        double most = fabs(sum);
        for (size_t i = p; i < end; i++)
            most = fmax(most, fabs(term[i]));
        if (most == 0)
            continue;
        const double quantum = ldexp(leading(most), -e->below);
        double next = cut(sum, quantum);
        for (size_t i = p; i < end; i++)
            next += cut(term[i], quantum);
        sum = next == 0 ? 0 : cut(next, ldexp(leading(fabs(next)), -e->kept));
    }
    return sum;
}

/* The same, with the sums that leave the engine. */
static double sum_of_parts(const struct engine *e, const double *term,
                           size_t k)
{
    const size_t stay = e->stay ? e->stay : k;
    float sum = 0;
    if (stay == k)
        return engine_sum(e, term, k);
    for (size_t p = 0; p < k; p += stay)
        sum += (float)engine_sum(e, term + p, k - p < stay ? k - p : stay);
    return (double)sum;
}

/* How often of ROUNDS products the engine is outside the bound: of all signs,
 * and of one sign, where cutting adds up. */
static unsigned outside(const struct engine *e, struct ref_gemm_scale s,
                        double (*operand)(double))
{
    enum { ROUNDS = 200, MOST = 1000 };
    double term[MOST];
    unsigned n = 0;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0, mag = 0, tol;
        s.k = 1 + (size_t)xl__rng_below(&rng, round % 4 ? MOST : 2 * e->step);
        for (size_t p = 0; p < s.k; p++) {
            float pair[2];
            for (int i = 0; i < 2; i++) {
                ref_fill(&pair[i], 1, s.in, &rng);
                pair[i] = (float)ref_load(&pair[i], 0, s.in);
                if (round % 2)
                    pair[i] = fabsf(pair[i]);
            }
            const double product = (double)pair[0] * (double)pair[1];
            term[p] = operand((double)pair[0]) * operand((double)pair[1]);
            sum += product;
            mag += fabs(product);
        }
        const double expected = ref_gemm_expected(&s, sum, mag, 0, &tol);
        n += ref_error(sum_of_parts(e, term, s.k), expected, tol, XL_F32) > 1;
    }
    return n;
}

static double as_it_is(double x)
{
    return x;
}
/* Cut to 11 significant bits, as an engine reads an f32. */
static double as_tf32(double x)
{
    return x == 0 ? 0 : cut(x, ldexp(leading(fabs(x)), -10));
}

/* The engines we know stay inside; one that keeps some bits less does not. */
static void engines_pass(void **state)
{
    static const struct {
        struct engine engine;
        xl_dtype in;
        xl_accuracy accuracy;
        double (*operand)(double);
    } all[] = {
        {{16, 25, 23, 0}, XL_F16, XL_ACCURACY_FULL, as_it_is},
        {{8, 24, 23, 0}, XL_BF16, XL_ACCURACY_FULL, as_it_is},
        {{8, 25, 23, 0}, XL_F32, XL_ACCURACY_FAST, as_tf32},
        {{4, 24, 23, 0}, XL_F32, XL_ACCURACY_FAST, as_tf32},
        {{32, 13, 13, 128}, XL_F8E4M3, XL_ACCURACY_FULL, as_it_is},
        {{32, 13, 13, 128}, XL_F8E5M2, XL_ACCURACY_FULL, as_it_is},
        {{32, 13, 13, 0}, XL_F8E4M3, XL_ACCURACY_FAST, as_it_is},
        {{32, 13, 13, 0}, XL_F8E5M2, XL_ACCURACY_FAST, as_it_is},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct ref_gemm_scale s = {1,         1,      0,
                                         all[i].in, XL_F32, all[i].accuracy};
        struct engine coarse = all[i].engine;
        assert_int_equal(outside(&coarse, s, all[i].operand), 0);
        coarse.below -= all[i].operand == as_tf32 ? 16 : 8;
        coarse.kept -= all[i].operand == as_tf32 ? 16 : 8;
        assert_true(outside(&coarse, s, all[i].operand) > 0);
    }
}

/* The self-check's bound is this one. */
static void bounds_agree(void **state)
{
    static const xl_dtype types[] = {XL_F32, XL_F16, XL_BF16, XL_F8E4M3,
                                     XL_F8E5M2};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (int a = 0; a < XL_N_ACCURACIES; a++) {
            const bool is_traded =
                types[i] == XL_F32 ||
                (types[i] >= XL_F8E4M3 && a == XL_ACCURACY_FAST);
            const struct xl__gemm_canonical c = {
                .g = {.k = 777,
                      .a.dtype = types[i],
                      .b.dtype = types[i],
                      .accuracy =
                          is_traded ? (xl_accuracy)a : XL_ACCURACY_FULL}};
            const struct ref_gemm_scale s = {777,      1,      0,
                                             types[i], XL_F32, (xl_accuracy)a};
            double tol;
            (void)ref_gemm_expected(&s, 1, 2, 0, &tol);
            near(xl__gemm_error_bound(&c, 2), tol, 1e-9 * tol);
        }
    }
}

/* -- softmax -------------------------------------------------------------- */

/* log 1, log 2, log 5 give 1/8, 2/8, 5/8, wherever they are shifted to. */
static void softmax_by_hand(void **state)
{
    static const double shifts[] = {0, 1, -40, 6e4};

    (void)state;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        const double x[] = {shifts[i], shifts[i] + log(2), shifts[i] + log(5)};
        double y[3], max;
        ref_softmax_row(x, 3, y, &max);
        near(y[0], 0.125, 1e-11);
        near(y[1], 0.25, 1e-11);
        near(y[2], 0.625, 1e-11);
        near(max, x[2], 0);
        ref_log_softmax_row(x, 3, y, &max);
        near(y[0], log(0.125), 1e-11);
        near(y[1], log(0.25), 1e-11);
        near(y[2], log(0.625), 1e-11);
    }
}

static void rows_sum_to_one(void **state)
{
    enum { MOST = 5000 };
    double x[MOST], y[MOST], max;
    struct xl__rng rng;

    (void)state;
    xl__rng_seed(&rng, SEED);
    for (size_t cols = 1; cols <= MOST; cols = 3 * cols + 1) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            x[j] = 100 * ref_normal(&rng);
        ref_softmax_row(x, cols, y, &max);
        for (size_t j = 0; j < cols; j++) {
            assert_true(y[j] >= 0 && y[j] <= 1);
            sum += y[j];
        }
        near(sum, 1, (double)cols * DBL_EPSILON);
    }
}

/* As gemm.h and softmax.h document them. */
static void softmax_specials(void **state)
{
    const double lost = (double)NAN, inf = (double)INFINITY;
    const struct {
        double x[3], y[3];
    } rows[] = {
        {{-inf, -inf, -inf}, {0, 0, 0}},
        {{-inf, 3, -inf}, {0, 1, 0}},
        {{-inf, 3, 3}, {0, 0.5, 0.5}},
        {{1, inf, 2}, {lost, lost, lost}},
        {{inf, -inf, -inf}, {lost, lost, lost}},
        {{1, lost, 2}, {lost, lost, lost}},
        {{lost, -inf, -inf}, {lost, lost, lost}},
        {{-6e4, 6e4, -6e4}, {0, 1, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double y[3], max;
        ref_softmax_row(rows[i].x, 3, y, &max);
        for (size_t j = 0; j < 3; j++) {
            if (isnan(rows[i].y[j]))
                assert_true(isnan(y[j]));
            else
                near(y[j], rows[i].y[j], 0);
        }
        /* A logarithm is finite where x is, however small its exp. */
        ref_log_softmax_row(rows[i].x, 3, y, &max);
        for (size_t j = 0; j < 3; j++) {
            if (isnan(rows[i].y[j]))
                assert_true(isnan(y[j]));
            else if (rows[i].x[j] == -inf)
                assert_true(y[j] == -inf);
            else
                near(y[j], rows[i].x[j] - max + log(rows[i].y[1]), 1e-11);
        }
    }
}

/* Relative to the result, growing with depth, length and slack. */
static void softmax_tolerance(void **state)
{
    const double u = ref_roundoff(XL_F32);
    const double base = ref_softmax_tol(0.5, 0, 0, 1, XL_F32);

    (void)state;
    /* The Accuracy line's 48 u, and one rounding to f32. */
    near(base, 0.5 * 49 * u, 1e-3 * u);
    assert_true(ref_softmax_tol(0.5, 10, 0, 1, XL_F32) > base);
    assert_true(ref_softmax_tol(0.5, 0, 0, 1024, XL_F32) > base);
    assert_true(ref_softmax_tol(0.5, 0, 1e-6, 1, XL_F32) > base);
    assert_true(ref_softmax_tol(0.5, 0, 0, 1, XL_F16) > 100 * base);
    /* Of a logarithm: 76 u, 2 u of its size, and one rounding to f32. */
    near(ref_log_softmax_tol(-2, 0, 1, XL_F32), (76 + 2 * 2 + 2) * u,
         1e-3 * u);
    near(ref_log_softmax_tol(-2, 0, 2, XL_F32), (83 + 2 * 2 + 2) * u,
         1e-3 * u);
    near(ref_softmax_tol(1, 0, 0, 1, XL_F32), 2 * base, 1e-3 * u);
    /* What should be 0 may be as small as the smallest number, no more. */
    assert_true(ref_softmax_tol(0, 0, 0, 1024, XL_F32) < 1e-37);
}

/* -- judging -------------------------------------------------------------- */

static void error_over_tolerance(void **state)
{
    const double lost = (double)NAN, inf = (double)INFINITY;

    (void)state;
    near(ref_error(1, 1, 0, XL_F32), 0, 0);
    near(ref_error(1.5, 1, 0.25, XL_F32), 2, 0);
    near(ref_error(lost, lost, 1, XL_F32), 0, 0);
    near(ref_error(inf, inf, 1, XL_F32), 0, 0);
    near(ref_error(-0.0, 0, 1, XL_F32), 0, 0);
    assert_true(isinf(ref_error(lost, 1, 1, XL_F32)));
    assert_true(isinf(ref_error(1, lost, 1, XL_F32)));
    assert_true(isinf(ref_error(inf, 1, 1, XL_F32)));
    assert_true(isinf(ref_error(1, inf, 1, XL_F32)));
    assert_true(isinf(ref_error(inf, -inf, 1, XL_F32)));
    assert_true(isinf(ref_error(0, 1, 0, XL_F32)));
    /* Too large for f16 may be infinite, of the right sign. */
    near(ref_error(inf, 65530, 1, XL_F16), 0, 0);
    near(ref_error(inf, 65500, 40, XL_F16), 0, 0);
    assert_true(isinf(ref_error(inf, 65000, 1, XL_F16)));
    assert_true(isinf(ref_error(-inf, 70000, 1, XL_F16)));
    assert_true(isinf(ref_error(inf, 70000, 1, XL_F32)));
}

/* The first wrong element is reported, the worst error is kept. */
static void first_wrong_element_is_reported(void **state)
{
    struct check_result r;
    struct checked_element e = {.name = "C",
                                .i = 2,
                                .j = 3,
                                .got = 1,
                                .expected = 1,
                                .tol = 0.5,
                                .dtype = XL_F32};

    (void)state;
    check_init(&r);
    check_element(&r, &e);
    e.got = 1.25;
    check_element(&r, &e);
    assert_true(r.right);
    near(r.worst, 0.5, 0);
    e.got = 2;
    check_element(&r, &e);
    e.i = 9;
    e.got = 4;
    check_element(&r, &e);
    assert_false(r.right);
    near(r.worst, 6, 0);
    assert_non_null(strstr(r.why, "C[2][3] is 2, should be 1"));
}

/* A matrix with guards, as it comes back from a device that did nothing. */
static void guarded_open(struct guarded *g, xl_dtype dtype)
{
    const struct guarded_layout at = {5, 7, 3, 2, dtype};
    struct xl__rng rng;
    size_t bytes;

    assert_int_equal(guarded_init(g, &at), XL_OK);
    xl__rng_seed(&rng, SEED);
    guarded_fill(g, &rng);
    bytes = g->elems * xl_dtype_bytes(dtype);
    g->back = malloc(bytes);
    assert_non_null(g->back);
    memcpy(g->back, g->host, bytes);
}

/* One bit flipped anywhere is found, and where it is; a result may differ in
 * its elements and nowhere else. */
static void synthetic_faults_are_detected(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};

    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        const size_t size = xl_dtype_bytes(dtypes[d]);
        struct guarded g;
        size_t n_elements = 0, at = 0;
        guarded_open(&g, dtypes[d]);
        assert_true(guarded_intact(&g, false, &at));
        for (size_t i = 0; i < g.elems; i++) {
            char *byte = (char *)g.back + i * size;
            *byte ^= 1;
            assert_false(guarded_intact(&g, false, &at));
            assert_int_equal(at, i);
            n_elements += guarded_intact(&g, true, &at);
            *byte ^= 1;
        }
        assert_int_equal(n_elements, g.rows * g.cols);
        assert_true(guarded_intact(&g, false, &at));
        guarded_clear(&g);
    }
}

/* The zones are NaN: a kernel that reads one spoils its sum. */
static void guards_are_nan(void **state)
{
    static const xl_dtype dtypes[] = {XL_F32, XL_F16, XL_BF16};

    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        struct guarded g;
        size_t n_finite = 0;
        guarded_open(&g, dtypes[d]);
        for (size_t i = 0; i < g.elems; i++)
            n_finite += isfinite(ref_load(g.host, i, dtypes[d])) != 0;
        assert_int_equal(n_finite, g.rows * g.cols);
        guarded_clear(&g);
    }
}

static void overwritten_guard_is_reported(void **state)
{
    struct check_result r;
    struct guarded g;

    (void)state;
    guarded_open(&g, XL_F32);
    check_init(&r);
    check_guards(&r, &g, "C", true);
    assert_true(r.right);
    ((float *)g.back)[g.first - 1] = 0; /* one before the first */
    check_guards(&r, &g, "C", true);
    assert_false(r.right);
    assert_non_null(
        strstr(r.why, "written outside its elements at element -1"));
    assert_true(isinf(r.worst));
    guarded_clear(&g);
}

/* -- the table ------------------------------------------------------------ */

/* Names are unique, sizes are not 0, and A A^T is square. */
static void table_is_sound(void **state)
{
    (void)state;
    for (const struct gemm_case *c = gemm_cases; c->name; c++) {
        assert_true(c->m > 0 && c->n > 0 && c->k > 0 && c->trans < 4);
        assert_true(c->use & (CASE_VERIFY | CASE_BENCH));
        assert_true(!c->one_buffer || c->m == c->n);
        assert_true(c->batch.count < 100000);
        for (const struct gemm_case *o = gemm_cases; o < c; o++)
            assert_string_not_equal(o->name, c->name);
    }
    for (const struct softmax_case *c = softmax_cases; c->name; c++) {
        assert_true(c->rows > 0 && c->cols > 0);
        assert_true(c->use & (CASE_VERIFY | CASE_BENCH));
        for (const struct softmax_case *o = softmax_cases; o < c; o++)
            assert_string_not_equal(o->name, c->name);
    }
}

/* The everyday cases still meet every type and, for f32, every transpose. */
static void quick_cases_cover(void **state)
{
    const unsigned quick = CASE_VERIFY | CASE_QUICK;
    unsigned gemm_seen[XL_N_DTYPES] = {0}, softmax_seen = 0;

    (void)state;
    for (const struct gemm_case *c = gemm_cases; c->name; c++)
        if ((c->use & quick) == quick)
            gemm_seen[c->in] |= 1u << c->trans;
    for (const struct softmax_case *c = softmax_cases; c->name; c++)
        if ((c->use & quick) == quick)
            softmax_seen |= 1u << c->dtype;
    assert_int_equal(gemm_seen[XL_F32], 15);
    /* TN and NT: both layouts of either operand. */
    assert_int_equal(gemm_seen[XL_F16] & 6, 6);
    assert_int_equal(gemm_seen[XL_BF16] & 6, 6);
    assert_true(gemm_seen[XL_F8E4M3] && gemm_seen[XL_F8E5M2]);
    assert_int_equal(softmax_seen,
                     1u << XL_F32 | 1u << XL_F16 | 1u << XL_BF16);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_with_rounding),
        cmocka_unit_test(roundoff_is_half_a_gap),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(product_by_hand),
        cmocka_unit_test(identity_and_transpose),
        cmocka_unit_test(scaled_by_hand),
        cmocka_unit_test(gemm_tolerance),
        cmocka_unit_test(right_sums_pass),
        cmocka_unit_test(engines_pass),
        cmocka_unit_test(bounds_agree),
        cmocka_unit_test(softmax_by_hand),
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(softmax_specials),
        cmocka_unit_test(softmax_tolerance),
        cmocka_unit_test(error_over_tolerance),
        cmocka_unit_test(first_wrong_element_is_reported),
        cmocka_unit_test(synthetic_faults_are_detected),
        cmocka_unit_test(guards_are_nan),
        cmocka_unit_test(overwritten_guard_is_reported),
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(quick_cases_cover),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
