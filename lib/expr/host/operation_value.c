/* SPDX-License-Identifier: Apache-2.0 */
/* The value of one operation by element, in double, with its error bound.
 *
 *     bound = what the arguments' errors become + the operation's own rounding
 *
 * First term: most operations are monotonic in each argument while the
 * others are fixed. So over the box of the arguments' intervals they have
 * their extremes at corners, and the largest deviation of the 2^n corners from
 * the value at the centre bounds the error; no derivative is needed. Poles and
 * the ends of a domain appear as a NaN or an infinity at a corner. Operations
 * that are not monotonic (`slope` in the table) have the error of the argument
 * times their largest slope; those with a discontinuity in the box have an
 * infinite bound.
 *
 * Second term: the ulp of xl__expr_ops (OpenCL C 7.4), relative to what the
 * table states.
 *
 * Random numbers are Philox4x32-10 with Box-Muller for the normal
 * distribution, as in cl/expr/expr.clh. Sources: Salmon, Moraes, Dror, Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Box, Muller, Ann.
 * Math. Stat. 29, 1958. */
#include "expr/host/operation_value.h"

#include <math.h>

#include "expr/host/interval.h"

typedef struct xl__interval num;

/* -- the table of operations ------------------------------------------ */

/* What the operation's own error is relative to. */
enum error_scale {
    SCALE_NONE, /* the operation is exact */
    SCALE_RESULT,
    SCALE_ARGUMENT, /* or the result, if larger: for x times a factor in which
                       terms cancel */
    SCALE_TAIL      /* the result; below 0 with gelu_tail_ulp() */
};

/* One row of the table; one of f1, f2, f3 is set. */
struct operation_rule {
    double (*f1)(double);
    double (*f2)(double, double);
    double (*f3)(double, double, double);
    enum error_scale by;
    double slope; /* largest; 0: the operation is monotonic */
    double range; /* largest magnitude of the result of a non-monotonic one; 0:
                     any */
};

/* -- functions that C does not have ----------------------------------- */

static double negate(double x)
{
    return -x;
}

static double sign(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double relu(double x)
{
    return x < 0 ? 0 : x;
}

static double silu(double x)
{
    return isinf(x) && x < 0 ? 0 : x * sigmoid(x);
}

static double softplus(double x)
{
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double gelu(double x)
{
    return isinf(x) && x < 0 ? 0 : 0.5 * x * erfc(-x * sqrt(0.5));
}

static double gelu_tanh(double x)
{
    static const double pi = 3.14159265358979323846, cubic = 0.044715;
    const double inner = sqrt(2 / pi) * (x + cubic * x * x * x);
    if (isinf(x) && x < 0)
        return 0;
    return x * sigmoid(2 * inner);
}

static double add(double a, double b)
{
    return a + b;
}

static double sub(double a, double b)
{
    return a - b;
}

static double mul(double a, double b)
{
    return a * b;
}

static double quotient(double a, double b)
{
    return a / b;
}

/* a / b rounded down, and what is left, with the sign of b: as NumPy. */
static double floor_quotient(double a, double b)
{
    const double rest = fmod(a, b);
    if (b == 0)
        return a / b;
    const double down =
        rint((a - rest) / b) - (rest != 0 && (rest < 0) != (b < 0));
    return down == 0 ? copysign(0, a / b) : down;
}

static double floor_rest(double a, double b)
{
    const double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static double min_nan(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
}

static double max_nan(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
}

static double muladd(double a, double b, double c)
{
    return a * b + c;
}

static double clamp(double x, double low, double high)
{
    return min_nan(max_nan(x, low), high);
}

/* -- the table -------------------------------------------------------- */

/* Largest slopes: gelu' <= 1.1290, that of its tanh form 1.1299, silu' <=
 * 1.0999. */
static const struct operation_rule rules[XL__N_EXPR_OPS] = {
    [XL__E_NEG] = {.f1 = negate},
    [XL__E_ABS] = {.f1 = fabs, .slope = 1},
    [XL__E_SIGN] = {.f1 = sign},
    [XL__E_CEIL] = {.f1 = ceil},
    [XL__E_FLOOR] = {.f1 = floor},
    [XL__E_ROUND] = {.f1 = rint},
    [XL__E_TRUNC] = {.f1 = trunc},
    [XL__E_RELU] = {.f1 = relu},
    [XL__E_SQRT] = {.f1 = sqrt, .by = SCALE_RESULT},
    [XL__E_RSQRT] = {.f1 = rsqrt, .by = SCALE_RESULT},
    [XL__E_EXP] = {.f1 = exp, .by = SCALE_RESULT},
    [XL__E_EXP2] = {.f1 = exp2, .by = SCALE_RESULT},
    [XL__E_EXPM1] = {.f1 = expm1, .by = SCALE_RESULT},
    [XL__E_LOG] = {.f1 = log, .by = SCALE_RESULT},
    [XL__E_LOG2] = {.f1 = log2, .by = SCALE_RESULT},
    [XL__E_LOG10] = {.f1 = log10, .by = SCALE_RESULT},
    [XL__E_LOG1P] = {.f1 = log1p, .by = SCALE_RESULT},
    [XL__E_SIN] = {.f1 = sin, .by = SCALE_RESULT, .slope = 1, .range = 1},
    [XL__E_COS] = {.f1 = cos, .by = SCALE_RESULT, .slope = 1, .range = 1},
    [XL__E_TAN] = {.f1 = tan, .by = SCALE_RESULT},
    [XL__E_ASIN] = {.f1 = asin, .by = SCALE_RESULT},
    [XL__E_ACOS] = {.f1 = acos, .by = SCALE_RESULT},
    [XL__E_ATAN] = {.f1 = atan, .by = SCALE_RESULT},
    [XL__E_SINH] = {.f1 = sinh, .by = SCALE_RESULT},
    [XL__E_COSH] = {.f1 = cosh, .by = SCALE_RESULT},
    [XL__E_TANH] = {.f1 = tanh, .by = SCALE_RESULT},
    [XL__E_ASINH] = {.f1 = asinh, .by = SCALE_RESULT},
    [XL__E_ACOSH] = {.f1 = acosh, .by = SCALE_RESULT},
    [XL__E_ATANH] = {.f1 = atanh, .by = SCALE_RESULT},
    [XL__E_ERF] = {.f1 = erf, .by = SCALE_RESULT},
    [XL__E_SIGMOID] = {.f1 = sigmoid, .by = SCALE_RESULT},
    [XL__E_SOFTPLUS] = {.f1 = softplus, .by = SCALE_RESULT},
    [XL__E_GELU] = {.f1 = gelu, .by = SCALE_TAIL, .slope = 1.13},
    [XL__E_GELU_TANH] = {.f1 = gelu_tanh, .by = SCALE_ARGUMENT, .slope = 1.13},
    [XL__E_SILU] = {.f1 = silu, .by = SCALE_ARGUMENT, .slope = 1.1},
    [XL__E_ADD] = {.f2 = add, .by = SCALE_RESULT},
    [XL__E_SUB] = {.f2 = sub, .by = SCALE_RESULT},
    [XL__E_MUL] = {.f2 = mul, .by = SCALE_RESULT},
    [XL__E_DIV] = {.f2 = quotient, .by = SCALE_RESULT},
    [XL__E_FLOORDIV] = {.f2 = floor_quotient, .by = SCALE_RESULT},
    [XL__E_MOD] = {.f2 = floor_rest, .by = SCALE_RESULT},
    [XL__E_FMOD] = {.f2 = fmod},
    [XL__E_ATAN2] = {.f2 = atan2, .by = SCALE_RESULT},
    [XL__E_HYPOT] = {.f2 = hypot, .by = SCALE_RESULT, .slope = 1},
    [XL__E_COPYSIGN] = {.f2 = copysign},
    [XL__E_POW] = {.f2 = pow, .by = SCALE_RESULT},
    [XL__E_MIN] = {.f2 = min_nan},
    [XL__E_MAX] = {.f2 = max_nan},
    [XL__E_FMA] = {.f3 = muladd, .by = SCALE_RESULT},
    [XL__E_CLAMP] = {.f3 = clamp},
};

/* -- deviation at corners --------------------------------------------- */

static double apply_rule(const struct operation_rule *r, const double a[])
{
    if (r->f1)
        return r->f1(a[0]);
    return r->f2 ? r->f2(a[0], a[1]) : r->f3(a[0], a[1], a[2]);
}

/* The largest deviation from f at a corner of the arguments' box; *top: the
 * largest magnitude there. */
static double largest_deviation(const struct operation_rule *r, unsigned n,
                                const num *a, double f, double *top)
{
    double deviation = 0;
    *top = fabs(f);
    for (unsigned corner = 0; corner < 1u << n; corner++) {
        double at[XL__EXPR_ARGS] = {0};
        for (unsigned i = 0; i < n; i++)
            at[i] = a[i].x + (corner >> i & 1 ? a[i].err : -a[i].err);
        const double value = apply_rule(r, at);
        deviation = fmax(deviation, xl__value_distance(value, f));
        *top = fmax(*top, fabs(value));
    }
    return deviation;
}

/* -- where corners are not enough ------------------------------------- */

static bool contains_zero(num a)
{
    return !(fabs(a.x) > a.err);
}

/* Has the operation a jump or a pole in the arguments' box? A divisor that is
 * exactly 0 counts, since the sign of a computed zero may differ. */
static bool has_discontinuity(enum xl__expr_op op, const num *a)
{
    static const double pi = 3.14159265358979323846;
    switch (op) {
    case XL__E_DIV:
        return contains_zero(a[1]) && (a[1].err > 0 || a[0].x != 0);
    case XL__E_RSQRT:
        return contains_zero(a[0]);
    case XL__E_FLOORDIV:
        return contains_zero(a[1]);
    case XL__E_ASIN: /* both ends of the box may be out of the domain */
    case XL__E_ACOS:
    case XL__E_ATANH:
        return a[0].err > 0 && !(fabs(fabs(a[0].x) - 1) > a[0].err);
    case XL__E_COPYSIGN:
        return contains_zero(a[1]) && a[1].err > 0;
    case XL__E_ATAN2: /* the cut along the negative axis, and its end */
        return contains_zero(a[0]) && !(a[1].x - a[1].err > 0) &&
               (a[0].err > 0 || a[1].err > 0);
    case XL__E_TAN:
        return floor((a[0].x - a[0].err) / pi + 0.5) !=
               floor((a[0].x + a[0].err) / pi + 0.5);
    case XL__E_POW:
        return (a[0].x - a[0].err <= 0 && a[1].err > 0) ||
               (contains_zero(a[0]) && a[1].x < 0);
    default:
        return false;
    }
}

/* x^n has its minimum inside an interval around 0, not at a corner. */
static double deviation_at_zero(enum xl__expr_op op, const num *a, double f)
{
    return op == XL__E_POW && contains_zero(a[0]) && a[1].x != 0 ? fabs(f) : 0;
}

static bool is_quotient(enum xl__expr_op op)
{
    return op == XL__E_FLOORDIV || op == XL__E_MOD || op == XL__E_FMOD;
}

/* x // y = n and mod(x, y) = x - n y with n = floor(x / y); fmod(x, y) with n
 * = trunc(x / y): the bound is finite only when n is certain. */
static double bound_quotient(enum xl__expr_op op, const num *a)
{
    double (*const whole)(double) = op == XL__E_FMOD ? trunc : floor;
    const struct operation_rule *divide = &rules[XL__E_DIV];
    const double q = a[0].x / a[1].x, n = whole(q);
    double top;
    if (contains_zero(a[1]))
        return xl__unbounded;
    const double deviation = largest_deviation(divide, 2, a, q, &top);
    if (whole(q - deviation) != n || whole(q + deviation) != n)
        return xl__unbounded;
    return op == XL__E_FLOORDIV ? 0 : a[0].err + fabs(n) * a[1].err;
}

/* A sum, difference or product of floats that is itself a float is exact: in
 * any rounding mode, and in a contracted expression. Source: Dekker 1971. */
static bool is_exact_result(const struct xl__precision *p, enum xl__expr_op op,
                            const num *a, double f)
{
    const bool is_double = p->own > 0;
    if ((!is_double && (double)(float)f != f) || a[0].err > 0 || a[1].err > 0)
        return false;
    const double b = op == XL__E_SUB ? -a[1].x : a[1].x;
    if (op == XL__E_ADD || op == XL__E_SUB)
        return f - a[0].x == b && f - b == a[0].x;
    return op == XL__E_MUL && (!is_double || fma(a[0].x, a[1].x, -f) == 0);
}

/* -- values by type --------------------------------------------------- */

static bool are_exact(const num *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (a[i].err > 0)
            return false;
    }
    return true;
}

static bool has_unbounded(const num *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (isinf(a[i].err))
            return true;
    }
    return false;
}

/* Native functions have the accuracy that their vendor gives them; no standard
 * states one. On known devices the error is about 2^-21 of the result's scale,
 * plus the effect of scaling the argument by a rounded constant. */
static double native_error(enum xl__expr_op op, const num *a, double f)
{
    static const double loose = 0x1p-18;
    const bool is_absolute = op == XL__E_SIN || op == XL__E_COS ||
                             op == XL__E_TAN || op == XL__E_LOG ||
                             op == XL__E_LOG2 || op == XL__E_LOG1P;
    const double scale = (1 + fabs(a[0].x)) * fabs(f);
    if (xl__expr_ops[op].ulp == 0)
        return 0;
    return loose * (is_absolute ? 1 + fabs(a[0].x) + scale : scale);
}

/* gelu(x) = max(x, 0) - w 2^P, w = |x|, P near log2 Phi(-w). The error is
 * within 8 ulp at w = 0: 3 of 2^P, the others of rounding P and the product
 * and of P itself. Above 0 that is enough, because w 2^P is the smaller term
 * and vanishes. Below 0, P may be off by an amount that grows as P^2.5, and P
 * grows as w^2: w^5 ulp more. Where 2^P is subnormal a device may return 0. */
static double gelu_tail_ulp(double x)
{
    static const double subnormal = -12.9; /* P(12.9) = -125.06 */
    return x < subnormal ? 0x1p23 : x < 0 ? pow(-x, 5) : 0;
}

/* The operation's own rounding. One ulp is at most 2 u, relative. */
static double own_error(const struct xl__graph *g, enum xl__expr_op op,
                        const num *a, double f)
{
    const enum error_scale by = rules[op].by;
    const double ulp =
        xl__expr_ops[op].ulp + (by == SCALE_TAIL ? gelu_tail_ulp(a[0].x) : 0);
    const struct xl__precision *p = xl__precision_of(g);
    const double u = p->u * ((ulp > 0 ? 2 * ulp : 1) + p->own);
    double of = fabs(f);
    if (by == SCALE_NONE || !isfinite(f) || is_exact_result(p, op, a, f))
        return 0;
    if (by == SCALE_ARGUMENT && isfinite(a[0].x))
        of = fmax(of, fabs(a[0].x));
    return u * of + (g->fast_math ? native_error(op, a, f) : 0);
}

static num eval_floats(const struct xl__graph *g, enum xl__expr_op op,
                       const num *a)
{
    const struct operation_rule *r = &rules[op];
    const struct xl__precision *p = xl__precision_of(g);
    const unsigned n = xl__expr_ops[op].n_args;
    double at[XL__EXPR_ARGS] = {0}, top, err = 0;
    for (unsigned i = 0; i < n; i++)
        at[i] = a[i].x;
    const double f = apply_rule(r, at);
    if (has_unbounded(a, n) || has_discontinuity(op, a))
        return (num){f, xl__unbounded};
    if (are_exact(a, n))
        err = 0;
    else if (is_quotient(op))
        err = bound_quotient(op, a);
    else if (r->slope > 0)
        err = r->slope * (a[0].err + (n > 1 ? a[1].err : 0));
    else
        err = fmax(largest_deviation(r, n, a, f, &top),
                   deviation_at_zero(op, a, f));
    if (r->range > 0)
        err = fmin(err, 2 * r->range);
    return xl__interval_float(p, f, err + own_error(g, op, a, f));
}

/* x^n modulo 2^64; for negative n 1 / x^n, truncated. */
static uint64_t integer_power(int64_t x, int64_t n)
{
    uint64_t out = 1, square = (uint64_t)x;
    if (n < 0)
        return x == 1 ? 1 : x == -1 ? (n % 2 ? UINT64_MAX : 1) : 0;
    for (; n > 0; n >>= 1, square *= square)
        out *= n & 1 ? square : 1;
    return out;
}

/* Near numbers may have quite different bits. */
static bool is_of_bits(enum xl__expr_op op)
{
    return xl__expr_ops[op].result == XL__R_BITS ||
           xl__expr_ops[op].result == XL__R_INT;
}

/* The exact integer of exact arguments. A count outside of a type's bits
 * shifts all of them out. */
static num apply_to_integers(const struct xl__precision *p,
                             enum xl__expr_op op, const double at[])
{
    const int64_t x = xl__to_i64(at[0]), y = xl__to_i64(at[1]);
    const uint64_t a = (uint64_t)x, b = (uint64_t)y;
    const bool is_count = y >= 0 && y < (int64_t)p->bits;
    switch (op) {
    case XL__E_ADD:
        return xl__interval_integer(p, a + b);
    case XL__E_SUB:
        return xl__interval_integer(p, a - b);
    case XL__E_MUL:
        return xl__interval_integer(p, a * b);
    case XL__E_NEG:
        return xl__interval_integer(p, 0 - a);
    case XL__E_ABS:
        return xl__interval_integer(p, x < 0 ? 0 - a : a);
    case XL__E_POW:
        return xl__interval_integer(p, integer_power(x, y));
    case XL__E_FLOORDIV:
        if (y == 0 || y == -1)
            return xl__interval_integer(p, y == 0 ? 0 : 0 - a);
        break;
    case XL__E_MOD:
    case XL__E_FMOD:
        if (y == 0)
            return (num){0, 0};
        break;
    case XL__E_BITNOT:
        return xl__interval_integer(p, ~a);
    case XL__E_AND:
        return xl__interval_integer(p, a & b);
    case XL__E_OR:
        return xl__interval_integer(p, a | b);
    case XL__E_XOR:
        return xl__interval_integer(p, a ^ b);
    case XL__E_SHL:
        return xl__interval_integer(p, is_count ? a << y : 0);
    case XL__E_SHR:
        return (num){
            floor(ldexp(at[0], -(int)(is_count ? y : (int64_t)p->bits - 1))),
            0};
    default:
        break;
    }
    return (num){apply_rule(&rules[op], at) + 0.0, 0};
}

static num eval_integers(const struct xl__precision *p, enum xl__expr_op op,
                         const num *a)
{
    const unsigned n = xl__expr_ops[op].n_args;
    double at[XL__EXPR_ARGS] = {0}, top, err;
    for (unsigned i = 0; i < n; i++)
        at[i] = a[i].x;
    const num exact = apply_to_integers(p, op, at);
    const double f = exact.x;
    if (are_exact(a, n))
        return exact;
    if (has_unbounded(a, n) || is_of_bits(op) || has_discontinuity(op, a))
        return (num){f, xl__unbounded};
    err = is_quotient(op) ? bound_quotient(op, a)
                          : largest_deviation(&rules[op], n, a, f, &top);
    if (op == XL__E_ABS)
        err = a[0].err;
    err = fmax(err, deviation_at_zero(op, a, f));
    return (num){f, fabs(f) + err > p->top ? xl__unbounded : err};
}

static bool compare_numbers(enum xl__expr_op op, double a, double b)
{
    switch (op) {
    case XL__E_LT:
        return a < b;
    case XL__E_LE:
        return a <= b;
    case XL__E_GT:
        return a > b;
    case XL__E_GE:
        return a >= b;
    case XL__E_EQ:
        return a == b;
    default:
        return a != b;
    }
}

static num eval_comparison(enum xl__expr_op op, num a, num b)
{
    const bool is_sure =
        (a.err == 0 && b.err == 0) || (isnan(a.x) && a.err == 0) ||
        (isnan(b.x) && b.err == 0) || fabs(a.x - b.x) > a.err + b.err;
    return (num){compare_numbers(op, a.x, b.x), is_sure ? 0 : xl__unbounded};
}

/* AND (decides = 0) and OR (decides = 1): one certain argument that has the
 * deciding value is enough. */
static num eval_logic(num a, num b, double decides)
{
    if ((a.err == 0 && a.x == decides) || (b.err == 0 && b.x == decides))
        return (num){decides, 0};
    return (num){decides != 0 ? a.x != 0 || b.x != 0 : a.x != 0 && b.x != 0,
                 fmax(a.err, b.err)};
}

/* -- any operation ---------------------------------------------------- */

/* The type to which argument i is converted. */
static enum xl__vtype operand_type(const struct xl__graph *g,
                                   const struct xl__node *n, unsigned i)
{
    const enum xl__vtype own = g->node[n->arg[i]].type;
    switch (xl__expr_ops[n->op].result) {
    case XL__R_FLOAT:
    case XL__R_TEST:
        return XL__V_F32;
    case XL__R_SAME:
    case XL__R_BITS:
    case XL__R_INT:
        return n->type;
    case XL__R_LOGIC:
        return XL__V_BOOL;
    case XL__R_BOOL:
        return g->node[n->arg[0]].type > g->node[n->arg[1]].type
                   ? g->node[n->arg[0]].type
                   : g->node[n->arg[1]].type;
    default:
        break;
    }
    if (n->op == XL__E_WHERE)
        return i == 0 ? XL__V_BOOL : n->type;
    return n->op == XL__E_POW ? n->type : own;
}

/* Is it a number divided by a zero whose sign is certain, that of an input or
 * a constant? The quotient of a number that is certainly not 0 is an infinity,
 * that of 0 or NaN is NaN. The sign of a computed zero may differ. */
static bool is_division_by_zero(const struct xl__graph *g,
                                const struct xl__node *n, const num *a)
{
    return n->op == XL__E_DIV && n->type == XL__V_F32 && !g->fast_math &&
           xl__expr_ops[g->node[n->arg[1]].op].cls == XL__C_LEAF &&
           a[1].x == 0 && a[1].err == 0 &&
           (fabs(a[0].x) > a[0].err || a[0].err == 0);
}

/* isnan, isinf, isfinite: certain unless nothing is known of the number. */
static num eval_test(enum xl__expr_op op, num a)
{
    const bool is = op == XL__E_ISNAN   ? isnan(a.x)
                    : op == XL__E_ISINF ? isinf(a.x)
                                        : isfinite(a.x);
    return (num){is, isfinite(a.err) ? 0 : xl__unbounded};
}

static num eval_by_type(const struct xl__graph *g, const struct xl__node *n,
                        const num *a)
{
    if (n->type == XL__V_BOOL && (n->op == XL__E_AND || n->op == XL__E_OR))
        return eval_logic(a[0], a[1], n->op == XL__E_OR);
    if (xl__expr_ops[n->op].result == XL__R_TEST)
        return eval_test(n->op, a[0]);
    if (is_division_by_zero(g, n, a))
        return (num){a[0].x / a[1].x, 0};
    if (xl__expr_ops[n->op].result == XL__R_BOOL)
        return eval_comparison(n->op, a[0], a[1]);
    return n->type == XL__V_F32 ? eval_floats(g, n->op, a)
                                : eval_integers(xl__precision_of(g), n->op, a);
}

struct xl__interval xl__eval_node(const struct xl__graph *g, unsigned node,
                                  const num *arg)
{
    const struct xl__node *n = &g->node[node];
    const unsigned n_args = xl__expr_ops[n->op].n_args;
    const struct xl__precision *p = xl__precision_of(g);
    num a[XL__EXPR_ARGS] = {{0, 0}};
    for (unsigned i = 0; i < n_args; i++)
        a[i] = xl__interval_convert(p, arg[i], g->node[n->arg[i]].type,
                                    operand_type(g, n, i));
    switch (n->op) {
    case XL__E_COPY:
        return a[0];
    case XL__E_NOT:
        return (num){a[0].x == 0, a[0].err};
    case XL__E_WHERE:
        if (a[0].err == 0)
            return a[0].x != 0 ? a[1] : a[2];
        return (num){a[0].x != 0 ? a[1].x : a[2].x, xl__unbounded};
    case XL__E_CAST:
        return xl__interval_convert(p, xl__interval_round(p, a[0], n->dtype),
                                    n->dtype == xl__wide_dtype(g, n->type)
                                        ? g->node[n->arg[0]].type
                                        : n->type,
                                    n->type);
    default:
        return eval_by_type(g, n, a);
    }
}

/* -- random numbers --------------------------------------------------- */

enum { WORDS = 4, ROUNDS = 10 };

static void philox(uint32_t word[WORDS], uint32_t key)
{
    static const uint64_t mul[2] = {0xD2511F53u, 0xCD9E8D57u};
    static const uint32_t weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
    uint32_t k[2] = {key, 0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t a = mul[0] * word[0], b = mul[1] * word[2];
        const uint32_t next[WORDS] = {
            (uint32_t)(b >> 32) ^ word[1] ^ k[0], (uint32_t)b,
            (uint32_t)(a >> 32) ^ word[3] ^ k[1], (uint32_t)a};
        for (unsigned i = 0; i < WORDS; i++)
            word[i] = next[i];
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
}

/* Uniform in [0, 1): 24 bits, which f32 represents exactly. */
static double to_uniform(uint32_t word)
{
    return (word >> 8) * 0x1p-24;
}

/* Box-Muller: a pair of uniform numbers gives a pair of normal ones, radius *
 * cos(angle) and radius * sin(angle). */
static double to_normal(const uint32_t pair[2], bool is_second)
{
    static const double pi = 3.14159265358979323846;
    const double radius = sqrt(-2 * log(to_uniform(pair[0]) + 0x1p-24));
    const double angle = 2 * pi * to_uniform(pair[1]);
    return radius * (is_second ? sin(angle) : cos(angle));
}

double xl__eval_rand(enum xl__expr_op op, int32_t seed, uint64_t index)
{
    const uint64_t count = index / WORDS;
    const unsigned at = (unsigned)(index % WORDS);
    uint32_t word[WORDS] = {(uint32_t)count, (uint32_t)(count >> 32), 0, 0};
    philox(word, (uint32_t)seed);
    return op == XL__E_RAND ? to_uniform(word[at])
                            : to_normal(&word[at & ~1u], at & 1);
}
