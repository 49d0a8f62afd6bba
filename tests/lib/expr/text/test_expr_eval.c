/* SPDX-License-Identifier: Apache-2.0 */
/* Error bounds of the host's evaluation. They hold: for every argument within
 * its error, the result is within the bound of the result. They are
 * check_tight: for exact arguments the bound is the operation's own rounding.
 * And arithmetic of a device, here that of the host in float, stays within
 * them. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "expr/host/reduction_value.h"
#include "support/support.h"

typedef struct xl__interval num;

enum { TURNS = 4000, INSIDE = 8, ARGS = 3 };

/* A graph in which node ARGS is an operation of the inputs before it. */
struct single_operation {
    struct xl__node node[ARGS + 1];
    struct xl__graph g;
};

static void init_graph(struct single_operation *o, enum xl__expr_op op,
                       enum xl__vtype in, enum xl__vtype out)
{
    memset(o, 0, sizeof *o);
    for (unsigned i = 0; i < ARGS; i++) {
        o->node[i].op = XL__E_INPUT;
        o->node[i].type = in;
        o->node[ARGS].arg[i] = i;
    }
    o->node[ARGS].op = op;
    o->node[ARGS].type = out;
    o->g.node = o->node;
    o->g.n_nodes = ARGS + 1;
}

/* A number of either sign from 2^-20 to about 2^20; sometimes a small integer.
 */
static double draw_number(struct xl__rng *rng)
{
    const double x = xl__rng_normal(rng);
    switch (xl__rng_below(rng, 4)) {
    case 0:
        return (double)(float)round(3 * x);
    case 1:
        return (double)(float)(x * exp2((double)xl__rng_below(rng, 40) - 20));
    default:
        return (double)(float)(2 * x);
    }
}

static double scale_of(const struct single_operation *o, const num *a,
                       double f)
{
    double most = fabs(f);
    for (unsigned i = 0; i < xl__expr_ops[o->node[ARGS].op].n_args; i++)
        most = fmax(most, fabs(a[i].x));
    return most;
}

/* -- by element ------------------------------------------------------- */

/* Both values are rounded in double: a few units of that. */
static double rounding_slack(double x)
{
    return isfinite(x) ? 0x1p-48 * fabs(x) : 0;
}

static void check_perturbed(const struct single_operation *o, const num *a,
                            num expected, struct xl__rng *rng)
{
    for (unsigned k = 0; k < INSIDE; k++) {
        num b[ARGS];
        for (unsigned i = 0; i < ARGS; i++) {
            const double at = 2 * xl__rng_uniform(rng) - 1;
            b[i] = (num){a[i].x, 0};
            if (a[i].err > 0) /* an exact -0 keeps its sign */
                b[i].x += at * a[i].err;
        }
        const num got = xl__eval_node(&o->g, ARGS, b);
        if (isinf(got.err) || xl__value_distance(got.x, expected.x) <=
                                  expected.err + rounding_slack(expected.x))
            continue;
        fail_msg("%s: of %.9g +- %.3g, %.9g +- %.3g: %.17g, not %.17g +- "
                 "%.3g",
                 xl__expr_ops[o->node[ARGS].op].name, a[0].x, a[0].err, a[1].x,
                 a[1].err, got.x, expected.x, expected.err);
    }
}

static void check_tight(const struct single_operation *o, const num *a,
                        num got)
{
    const enum xl__expr_op op = o->node[ARGS].op;
    const double ulp = fmax(xl__expr_ops[op].ulp, 0.5);
    const double most = 2 * ulp * 0x1p-24 * scale_of(o, a, got.x);
    const bool has_pole =
        op == XL__E_DIV || op == XL__E_FLOORDIV || op == XL__E_RSQRT;
    if (isinf(got.err) && has_pole && a[op != XL__E_RSQRT].x == 0)
        return;
    if (isinf(got.err) && (op == XL__E_POW && a[0].x == 0))
        return;
    if (!(got.err <= most + 2 * (double)FLT_MIN))
        fail_msg("%s of %.9g, %.9g: %.9g +- %.3g; %.3g is enough",
                 xl__expr_ops[op].name, a[0].x, a[1].x, got.x, got.err, most);
}

static void test_elements(void **state)
{
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 1);
    for (enum xl__expr_op op = XL__E_NEG; op < XL__E_CAST; op++) {
        const enum xl__result r = xl__expr_ops[op].result;
        const bool is_of_bools = r == XL__R_LOGIC || r == XL__R_BITS;
        const bool is_bool = is_of_bools || r == XL__R_BOOL || r == XL__R_TEST;
        struct single_operation o;
        if (r == XL__R_INT)
            continue;
        init_graph(&o, op, is_of_bools ? XL__V_BOOL : XL__V_F32,
                   is_bool ? XL__V_BOOL : XL__V_F32);
        if (op == XL__E_WHERE)
            o.node[0].type = XL__V_BOOL;
        for (unsigned t = 0; t < TURNS; t++) {
            num a[ARGS];
            for (unsigned i = 0; i < ARGS; i++) {
                a[i] = (num){draw_number(&rng), 0};
                if (o.node[i].type == XL__V_BOOL)
                    a[i].x = a[i].x > 0;
            }
            check_tight(&o, a, xl__eval_node(&o.g, ARGS, a));
            for (unsigned i = 0; i < ARGS; i++) {
                if (o.node[i].type == XL__V_F32 && xl__rng_below(&rng, 3))
                    a[i].err = fmax(fabs(draw_number(&rng)) *
                                        exp2(-(double)xl__rng_below(&rng, 30)),
                                    fabs(a[i].x) * 0x1p-30);
            }
            check_perturbed(&o, a, xl__eval_node(&o.g, ARGS, a), &rng);
        }
    }
}

static void test_integers(void **state)
{
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 2);
    for (enum xl__expr_op op = XL__E_NEG; op < XL__E_CAST; op++) {
        const enum xl__result r = xl__expr_ops[op].result;
        struct single_operation o;
        if (r != XL__R_SAME && r != XL__R_BITS && r != XL__R_INT &&
            op != XL__E_POW)
            continue;
        init_graph(&o, op, XL__V_I32, XL__V_I32);
        for (unsigned t = 0; t < TURNS; t++) {
            num a[ARGS], b[ARGS];
            for (unsigned i = 0; i < ARGS; i++) {
                const bool is_wide = xl__rng_below(&rng, 4) == 0;
                a[i].x = b[i].x = (double)(int32_t)(uint32_t)(
                    is_wide ? xl__rng_next(&rng) : xl__rng_below(&rng, 9) - 4);
                a[i].err = (double)xl__rng_below(&rng, 3);
                b[i].err = 0;
            }
            const num expected = xl__eval_node(&o.g, ARGS, a);
            for (unsigned i = 0; i < ARGS; i++) {
                b[i].x += (double)xl__rng_below(&rng, 2 * (uint64_t)a[i].err +
                                                          1) - a[i].err;
                b[i].x = fmin(fmax(b[i].x, INT32_MIN), INT32_MAX);
            }
            const num got = xl__eval_node(&o.g, ARGS, b);
            assert_true(got.err == 0 && got.x == trunc(got.x));
            assert_true(got.x >= INT32_MIN && got.x <= INT32_MAX);
            if (fabs(got.x - expected.x) > expected.err)
                fail_msg("%s of %.0f +- %.0f, %.0f +- %.0f: %.0f, not %.0f +- "
                         "%.0f",
                         xl__expr_ops[op].name, a[0].x, a[0].err, a[1].x,
                         a[1].err, got.x, expected.x, expected.err);
        }
    }
}

/* The values that expr.h states. */
static void test_values(void **state)
{
    static const double inf = (double)INFINITY, nan = (double)NAN;
    static const struct {
        enum xl__expr_op op;
        enum xl__vtype type;
        double a, b, expected;
    } rows[] = {
        {XL__E_MIN, XL__V_F32, 1, nan, nan},
        {XL__E_MAX, XL__V_F32, nan, 1, nan},
        {XL__E_RELU, XL__V_F32, nan, 0, nan},
        {XL__E_ROUND, XL__V_F32, 2.5, 0, 2},
        {XL__E_ROUND, XL__V_F32, 3.5, 0, 4},
        {XL__E_MOD, XL__V_I32, -7, 3, 2},
        {XL__E_MOD, XL__V_I32, 7, -3, -2},
        {XL__E_MOD, XL__V_I32, 7, 0, 0},
        {XL__E_FMOD, XL__V_F32, -7, 3, -1},
        {XL__E_FMOD, XL__V_I32, -7, 3, -1},
        {XL__E_FMOD, XL__V_I32, 7, 0, 0},
        {XL__E_FLOORDIV, XL__V_I32, -7, 3, -3},
        {XL__E_FLOORDIV, XL__V_I32, -2147483648.0, -1, -2147483648.0},
        {XL__E_FLOORDIV, XL__V_I32, 7, 0, 0},
        {XL__E_SHL, XL__V_I32, 3, 31, -2147483648.0},
        {XL__E_SHL, XL__V_I32, 3, 32, 0},
        {XL__E_SHR, XL__V_I32, -5, 1, -3},
        {XL__E_SHR, XL__V_I32, -5, -1, -1},
        {XL__E_ISFINITE, XL__V_F32, inf, 0, 0},
        {XL__E_ISINF, XL__V_F32, -inf, 0, 1},
        {XL__E_ASIN, XL__V_F32, 2, 0, nan},
        {XL__E_ATANH, XL__V_F32, -1, 0, -inf},
        {XL__E_HYPOT, XL__V_F32, nan, inf, inf},
        {XL__E_ADD, XL__V_I32, 2147483647, 1, -2147483648.0},
        {XL__E_MUL, XL__V_I32, 65536, 65536, 0},
        {XL__E_MUL, XL__V_I32, 2147483647, 2147483647, 1},
        {XL__E_NEG, XL__V_I32, -2147483648.0, 0, -2147483648.0},
        {XL__E_POW, XL__V_I32, 3, 4, 81},
        {XL__E_POW, XL__V_I32, 2, -1, 0},
        {XL__E_POW, XL__V_I32, -1, -3, -1},
        {XL__E_EXP, XL__V_F32, 100, 0, inf},
        {XL__E_LOG, XL__V_F32, 0, 0, -inf},
        {XL__E_LOG, XL__V_F32, -1, 0, nan},
        {XL__E_GELU, XL__V_F32, -inf, 0, 0},
        {XL__E_SILU, XL__V_F32, -inf, 0, 0},
        {XL__E_GELU_TANH, XL__V_F32, -inf, 0, 0},
        {XL__E_SUB, XL__V_F32, inf, inf, nan},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const num a[ARGS] = {{rows[i].a, 0}, {rows[i].b, 0}, {0, 0}};
        struct single_operation o;
        init_graph(&o, rows[i].op, rows[i].type, rows[i].type);
        const num got = xl__eval_node(&o.g, ARGS, a);
        if (xl__value_distance(got.x, rows[i].expected) > 0 || got.err > 0)
            fail_msg("%s(%g, %g) is %g +- %g, not %g",
                     xl__expr_ops[rows[i].op].name, rows[i].a, rows[i].b,
                     got.x, got.err, rows[i].expected);
    }
}

/* The same in 64 bits; unbounded where the result is no double. */
static void test_longs(void **state)
{
    static const struct {
        enum xl__expr_op op;
        double a, b, expected;
        bool is_unknown;
    } rows[] = {
        {XL__E_ADD, 2147483647, 1, 0x1p31, false},
        {XL__E_SUB, 1 - 0x1p52, 0x1p52, 1 - 0x1p53, false},
        {XL__E_ADD, 0x1p53, 1, 0, true},
        {XL__E_MUL, 0x1p31 + 1, 0x1p30 + 1, 0, true},
        {XL__E_MUL, 0x1p40, 0x1p24, 0, false}, /* modulo 2^64 */
        {XL__E_NEG, -0x1p31, 0, 0x1p31, false},
        {XL__E_ABS, -0x1p31, 0, 0x1p31, false},
        {XL__E_POW, 3, 33, 5559060566555523, false},
        {XL__E_POW, -1, -3, -1, false},
        {XL__E_SHL, 3, 40, 3 * 0x1p40, false},
        {XL__E_SHL, 1, 63, 0, true},
        {XL__E_SHL, 1, 64, 0, false},
        {XL__E_SHR, -5, 64, -1, false},
        {XL__E_SHR, -0x1p40, 33, -128, false},
        {XL__E_FLOORDIV, -0x1p31, -1, 0x1p31, false},
        {XL__E_FLOORDIV, -0x1p40 - 1, 0x1p20, -0x1p20 - 1, false},
        {XL__E_MOD, -1, 0x1p40, 0x1p40 - 1, false},
        {XL__E_XOR, -1, 0x1p40, -0x1p40 - 1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const num a[ARGS] = {{rows[i].a, 0}, {rows[i].b, 0}, {0, 0}};
        struct single_operation o;
        init_graph(&o, rows[i].op, XL__V_I32, XL__V_I32);
        o.g.is_long = true;
        const num got = xl__eval_node(&o.g, ARGS, a);
        if (rows[i].is_unknown ? got.err <= 0
                               : got.x != rows[i].expected || got.err > 0)
            fail_msg("#%zu: %s(%.17g, %.17g) is %.17g +- %g", i,
                     xl__expr_ops[rows[i].op].name, rows[i].a, rows[i].b,
                     got.x, got.err);
    }
}

static void test_casts(void **state)
{
    static const struct {
        xl_dtype to;
        double x, err, expected, expected_err;
    } rows[] = {
        {XL_I8, 300.7, 0, 127, 0},       {XL_U8, -3, 0, 0, 0},
        {XL_U16, 7e4, 0, 65535, 0},      {XL_U32, 5e9, 0, UINT32_MAX, 0},
        {XL_I32, 3e9, 0, 2147483647, 0}, {XL_I32, (double)NAN, 0, 0, 0},
        {XL_I32, 2.5, 0.4, 2, 0},        {XL_I32, 2.5, 0.6, 2, 1},
        {XL_BOOL, 0.5, 0.4, 1, 0},       {XL_F16, 65520, 0, INFINITY, 0},
        {XL_F16, 1 + 0x1p-12, 0, 1, 0},  {XL_BF16, 1 + 0x1p-9, 0, 1, 0},
        {XL_F16, 1.5, 0x1p-11, 1.5, 0},  {XL_F16, 1.5, 0x1p-10, 1.5, 0x1p-10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const num got = xl__interval_round(
            xl__precision_of(NULL), (num){rows[i].x, rows[i].err}, rows[i].to);
        if (got.x != rows[i].expected || got.err != rows[i].expected_err)
            fail_msg("#%zu: %g +- %g, not %g +- %g", i, got.x, got.err,
                     rows[i].expected, rows[i].expected_err);
    }
    assert_true(isinf(
        xl__interval_round(xl__precision_of(NULL), (num){0.1, 0.2}, XL_BOOL)
            .err));
}

/* -- reductions ------------------------------------------------------- */

enum { MOST = 300 };

/* As a device can: in float, one after the other or in pairs. */
static double in_float(enum xl__expr_op op, const num *a, size_t n)
{
    float sum = 0, squares = 0, top = -INFINITY, exps = 0, product = 1;
    for (size_t i = 0; i < n; i++) {
        sum += (float)a[i].x;
        product *= (float)a[i].x;
        top = fmaxf(top, (float)a[i].x);
    }
    const float mean = sum / (float)n;
    for (size_t i = 0; i < n; i++) {
        const float x = (float)a[i].x, d = x - mean;
        squares += op == XL__E_VAR ? d * d : x * x;
        exps += expf(x - top);
    }
    switch (op) {
    case XL__E_SUM:
        return (double)sum;
    case XL__E_PROD:
        return (double)product;
    case XL__E_MEAN:
        return (double)mean;
    case XL__E_VAR:
        return (double)(squares / (float)n);
    case XL__E_LOGSUMEXP:
        return (double)(top + logf(exps));
    case XL__E_NORM2:
        return (double)sqrtf(squares);
    default:
        return (double)top;
    }
}

static void reduce_once(struct single_operation *o, size_t n,
                        struct xl__rng *rng)
{
    const enum xl__expr_op op = o->node[ARGS].op;
    num a[MOST], b[MOST];
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] = (num){(double)(float)xl__rng_normal(rng), 0};
        if (xl__rng_below(rng, 2))
            a[i].err = exp2(-(double)(1 + xl__rng_below(rng, 25)));
    }
    const num exact = xl__eval_reduce(&o->g, ARGS, b, 1, n);
    /* Few enough that no order of summation exceeds 8 u. */
    if (n <= 8 && op <= XL__E_NORM2 && op != XL__E_RMIN &&
        op != XL__E_ARGMIN && op != XL__E_ARGMAX &&
        fabs(in_float(op, b, n) - exact.x) > exact.err &&
        !(op == XL__E_RMAX && in_float(op, b, n) == exact.x))
        fail_msg("%s of %zu: %.9g, not %.9g +- %.3g", xl__expr_ops[op].name,
                 n, in_float(op, b, n), exact.x, exact.err);
    const num expected = xl__eval_reduce(&o->g, ARGS, a, 1, n);
    for (unsigned k = 0; k < INSIDE; k++) {
        for (size_t i = 0; i < n; i++)
            b[i].x = a[i].x + (2 * xl__rng_uniform(rng) - 1) * a[i].err;
        const num got = xl__eval_reduce(&o->g, ARGS, b, 1, n);
        if (fabs(got.x - expected.x) > expected.err)
            fail_msg("%s of %zu: %.17g, not %.17g +- %.3g",
                     xl__expr_ops[op].name, n, got.x, expected.x,
                     expected.err);
    }
}

static void test_reductions(void **state)
{
    struct xl__rng rng;
    (void)state;
    xl__rng_seed(&rng, 3);
    for (enum xl__expr_op op = XL__E_SUM; op <= XL__E_NORM2; op++) {
        struct single_operation o;
        if (xl__expr_ops[op].result == XL__R_LOGIC)
            continue;
        init_graph(&o, op, XL__V_F32,
                   xl__expr_ops[op].result == XL__R_INDEX ? XL__V_I32
                                                          : XL__V_F32);
        for (unsigned t = 0; t < TURNS / 4; t++)
            reduce_once(&o, 1 + xl__rng_below(&rng, t % 2 ? MOST : 8), &rng);
    }
}

static void test_places(void **state)
{
    static const double inf = (double)INFINITY, nan = (double)NAN;
    struct single_operation max, min, any, all;
    (void)state;
    init_graph(&max, XL__E_ARGMAX, XL__V_F32, XL__V_I32);
    init_graph(&min, XL__E_ARGMIN, XL__V_F32, XL__V_I32);
    const num ties[] = {{1, 0}, {3, 0}, {3, 0}, {2, 0.5}};
    assert_true(xl__eval_reduce(&max.g, ARGS, ties, 1, 4).x == 1);
    assert_true(xl__eval_reduce(&max.g, ARGS, ties, 1, 4).err == 0);
    const num close[] = {{1, 0}, {3, 0.1}, {3, 0}, {2, 0}};
    assert_true(isinf(xl__eval_reduce(&max.g, ARGS, close, 1, 4).err));
    assert_true(xl__eval_reduce(&min.g, ARGS, close, 1, 4).x == 0);
    const num nans[] = {{inf, 0}, {nan, 0}, {-inf, 0}, {nan, 0}};
    assert_true(xl__eval_reduce(&max.g, ARGS, nans, 1, 4).x == 1);
    assert_true(xl__eval_reduce(&min.g, ARGS, nans, 1, 4).x == 1);
    init_graph(&any, XL__E_ANY, XL__V_BOOL, XL__V_BOOL);
    init_graph(&all, XL__E_ALL, XL__V_BOOL, XL__V_BOOL);
    const num bools[] = {{1, 0}, {0, inf}, {0, 0}};
    assert_true(xl__eval_reduce(&any.g, ARGS, bools, 1, 3).x == 1);
    assert_true(xl__eval_reduce(&any.g, ARGS, bools, 1, 3).err == 0);
    assert_true(xl__eval_reduce(&all.g, ARGS, bools, 1, 3).err == 0);
    assert_true(isinf(xl__eval_reduce(&all.g, ARGS, bools, 1, 2).err));
}

/* -- random numbers --------------------------------------------------- */

/* Known answers of Random123: philox4x32, 10 rounds, counter and key 0. */
static void test_random(void **state)
{
    static const uint32_t words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                      0x9b00dbd8};
    enum { MANY = 100000 };
    double sum = 0, squares = 0;
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_true(xl__eval_rand(XL__E_RAND, 0, i) ==
                    (words[i] >> 8) * 0x1p-24);
    for (unsigned i = 0; i < MANY; i++) {
        const double x = xl__eval_rand(XL__E_RANDN, -5, i);
        sum += x;
        squares += x * x;
    }
    /* Five standard deviations of the mean and of the mean square. */
    assert_true(fabs(sum / MANY) < 5 / sqrt((double)MANY));
    assert_true(fabs(squares / MANY - 1) < 5 * sqrt(2.0 / MANY));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_longs),
        cmocka_unit_test(test_casts),    cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_places),   cmocka_unit_test(test_random),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
