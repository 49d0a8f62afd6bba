/* SPDX-License-Identifier: Apache-2.0 */
/* One operation by element, in double, with its bound.
 *
 * Most operations rise or fall along each argument while the others stand
 * still, so the corners of the arguments' intervals hold the extremes: no
 * derivative is needed, and poles and ends of a domain show as a NaN or an
 * infinity at a corner. Those that bend have the largest slope instead. The
 * operation's own rounding comes on top. */
#include "expr/host/interval.h"
#include "expr/host/eval_rules.h"

typedef struct xl__interval num;

/* -- corners -------------------------------------------------------------- */

static double call(const struct xl__eval_rule *r, const double a[])
{
    if (r->f1)
        return r->f1(a[0]);
    return r->f2 ? r->f2(a[0], a[1]) : r->f3(a[0], a[1], a[2]);
}

/* The farthest of the corners from f; *top: the largest magnitude there. */
static double spread(const struct xl__eval_rule *r, unsigned n,
                     const num *a, double f, double *top)
{
    double far = 0;
    *top = fabs(f);
    for (unsigned corner = 0; corner < 1u << n; corner++) {
        double at[XL__EXPR_ARGS] = {0};
        for (unsigned i = 0; i < n; i++)
            at[i] = a[i].x + (corner >> i & 1 ? a[i].err : -a[i].err);
        const double there = call(r, at);
        far = fmax(far, xl__value_distance(there, f));
        *top = fmax(*top, fabs(there));
    }
    return far;
}

/* -- what cannot be told from corners ------------------------------------- */

static bool meets_zero(num a) { return !(fabs(a.x) > a.err); }

/* Does an interval hold a place where the operation jumps or has a pole? An
 * exact zero counts below a fraction bar, since its sign may differ. */
static bool is_wild(enum xl__expr_op op, const num *a)
{
    static const double pi = 3.14159265358979323846;
    switch (op) {
    case XL__E_DIV:
        return meets_zero(a[1]) && (a[1].err > 0 || a[0].x != 0);
    case XL__E_RSQRT:
        return meets_zero(a[0]);
    case XL__E_TAN:
        return floor((a[0].x - a[0].err) / pi + 0.5) !=
               floor((a[0].x + a[0].err) / pi + 0.5);
    case XL__E_POW:
        return (a[0].x - a[0].err <= 0 && a[1].err > 0) ||
               (meets_zero(a[0]) && a[1].x < 0);
    default:
        return false;
    }
}

/* x^n has its least value inside an interval around 0. */
static double around_zero(enum xl__expr_op op, const num *a, double f)
{
    return op == XL__E_POW && meets_zero(a[0]) && a[1].x != 0 ? fabs(f) : 0;
}

/* x - n y with n = trunc(x / y): n must be sure. */
static double mod_error(const num *a)
{
    const double n = trunc(a[0].x / a[1].x);
    double top;
    const struct xl__eval_rule *divide = &xl__eval_rules[XL__E_DIV];
    if (meets_zero(a[1]))
        return xl__unbounded;
    const double q = a[0].x / a[1].x;
    const double far = spread(divide, 2, a, q, &top);
    if (trunc(q - far) != n || trunc(q + far) != n ||
        (n == 0 && fabs(q) + far >= 1))
        return xl__unbounded;
    return a[0].err + fabs(n) * a[1].err;
}

/* A sum, difference or product of floats that is a float is itself, in any
 * rounding and in a contracted expression too. Source: Dekker 1971. */
static bool is_exact(enum xl__expr_op op, const num *a, double f)
{
    if ((double)(float)f != f || a[0].err > 0 || a[1].err > 0)
        return false;
    const double b = op == XL__E_SUB ? -a[1].x : a[1].x;
    if (op == XL__E_ADD || op == XL__E_SUB)
        return f - a[0].x == b && f - b == a[0].x;
    return op == XL__E_MUL;
}

/* -- by type -------------------------------------------------------------- */

static bool all_exact(const num *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (a[i].err > 0)
            return false;
    }
    return true;
}

static bool any_lost(const num *a, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (isinf(a[i].err))
            return true;
    }
    return false;
}

/* Native functions are as good as their vendor says and no standard does:
 * about 2^-21 next to the result's scale on known devices, and through the
 * argument, which they scale themselves. */
static double native(enum xl__expr_op op, const num *a, double f)
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

/* gelu(x) = max(x, 0) - w 2^P, w = |x|, P near log2 Phi(-w). To 8 ulp at w = 0:
 * 3 of 2^P, the others of rounding P and the product and of P itself. Above 0
 * that is enough, for there w 2^P is the lesser part and vanishes. Below, P may
 * be off by what grows as P^2.5, and P does as w^2: w^5 ulp more. Where 2^P is
 * subnormal a device may have 0. */
static double tail_ulp(double x)
{
    static const double subnormal = -12.9; /* P(12.9) = -125.06 */
    return x < subnormal ? 0.5 / xl__unit_roundoff : x < 0 ? pow(-x, 5) : 0;
}

/* The operation's own rounding: an ulp is at most 2 u relative. */
static double rounding(const struct xl__graph *g, enum xl__expr_op op,
                       const num *a, double f)
{
    const enum xl__eval_by by = xl__eval_rules[op].by;
    const double ulp = xl__expr_ops[op].ulp +
                       (by == XL__BY_TAIL ? tail_ulp(a[0].x) : 0);
    const double u = xl__unit_roundoff * (ulp > 0 ? 2 * ulp : 1);
    double of = fabs(f);
    if (by == XL__BY_NOTHING || !isfinite(f) || is_exact(op, a, f))
        return 0;
    if (by == XL__BY_ARGUMENT && isfinite(a[0].x))
        of = fmax(of, fabs(a[0].x));
    return u * of + (g->fast_math ? native(op, a, f) : 0);
}

static num of_floats(const struct xl__graph *g, enum xl__expr_op op,
                     const num *a)
{
    const struct xl__eval_rule *r = &xl__eval_rules[op];
    const unsigned n = xl__expr_ops[op].n_args;
    double at[XL__EXPR_ARGS] = {0}, top, err = 0;
    for (unsigned i = 0; i < n; i++)
        at[i] = a[i].x;
    const double f = call(r, at);
    if (any_lost(a, n) || is_wild(op, a))
        return (num){f, xl__unbounded};
    if (all_exact(a, n))
        err = 0;
    else if (op == XL__E_MOD)
        err = mod_error(a);
    else if (r->steep > 0)
        err = r->steep * a[0].err;
    else
        err = fmax(spread(r, n, a, f, &top), around_zero(op, a, f));
    if (r->range > 0)
        err = fmin(err, 2 * r->range);
    return xl__interval_f32(f, err + rounding(g, op, a, f));
}

static int32_t wrap(uint32_t x)
{
    return x <= INT32_MAX ? (int32_t)x
                          : (int32_t)(x - INT32_MAX - 1) + INT32_MIN;
}

/* x^n in 32 bits; a negative n leaves 1 / x^n, cut off. */
static int32_t whole_power(int32_t x, int32_t n)
{
    uint32_t out = 1, square = (uint32_t)x;
    if (n < 0)
        return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
    for (; n > 0; n >>= 1, square *= square)
        out *= n & 1 ? square : 1;
    return wrap(out);
}

/* Exact integers, wrapping in 32 bits. */
static double whole(enum xl__expr_op op, const double at[])
{
    const uint32_t a = (uint32_t)(int32_t)at[0], b = (uint32_t)(int32_t)at[1];
    switch (op) {
    case XL__E_ADD:
        return wrap(a + b);
    case XL__E_SUB:
        return wrap(a - b);
    case XL__E_MUL:
        return wrap(a * b);
    case XL__E_NEG:
        return wrap(0 - a);
    case XL__E_ABS:
        return at[0] < 0 ? wrap(0 - a) : at[0];
    case XL__E_POW:
        return whole_power((int32_t)at[0], (int32_t)at[1]);
    case XL__E_MOD:
        return at[1] == 0 ? 0 : fmod(at[0], at[1]);
    default:
        return call(&xl__eval_rules[op], at);
    }
}

static num of_integers(enum xl__expr_op op, const num *a)
{
    const unsigned n = xl__expr_ops[op].n_args;
    double at[XL__EXPR_ARGS] = {0}, top, err;
    for (unsigned i = 0; i < n; i++)
        at[i] = a[i].x;
    const double f = whole(op, at);
    if (all_exact(a, n))
        return (num){f, 0};
    if (any_lost(a, n) || is_wild(op, a))
        return (num){f, xl__unbounded};
    err = op == XL__E_MOD ? mod_error(a)
                          : spread(&xl__eval_rules[op], n, a, f, &top);
    if (op == XL__E_ABS)
        err = a[0].err;
    err = fmax(err, around_zero(op, a, f));
    return (num){f, fabs(f) + err > INT32_MAX ? xl__unbounded : err};
}

static bool holds(enum xl__expr_op op, double a, double b)
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

static num compare(enum xl__expr_op op, num a, num b)
{
    const bool is_sure = (a.err == 0 && b.err == 0) ||
                         (isnan(a.x) && a.err == 0) ||
                         (isnan(b.x) && b.err == 0) ||
                         fabs(a.x - b.x) > a.err + b.err;
    return (num){holds(op, a.x, b.x), is_sure ? 0 : xl__unbounded};
}

/* One sure argument that decides is enough. */
static num join(num a, num b, double decides)
{
    if ((a.err == 0 && a.x == decides) || (b.err == 0 && b.x == decides))
        return (num){decides, 0};
    return (num){decides != 0 ? a.x != 0 || b.x != 0 : a.x != 0 && b.x != 0,
                 fmax(a.err, b.err)};
}

/* -- the table's operations ----------------------------------------------- */

/* The type that arguments are brought to. */
static enum xl__vtype wanted(const struct xl__graph *g,
                             const struct xl__node *n, unsigned i)
{
    const enum xl__vtype own = g->node[n->arg[i]].type;
    switch (xl__expr_ops[n->op].result) {
    case XL__R_FLOAT:
        return XL__V_F32;
    case XL__R_SAME:
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

static num by_type(const struct xl__graph *g, const struct xl__node *n,
                   const num *a)
{
    if (xl__expr_ops[n->op].result == XL__R_BOOL)
        return compare(n->op, a[0], a[1]);
    return n->type == XL__V_F32 ? of_floats(g, n->op, a)
                                : of_integers(n->op, a);
}

num xl__eval_node(const struct xl__graph *g, unsigned node, const num *arg)
{
    const struct xl__node *n = &g->node[node];
    const unsigned n_args = xl__expr_ops[n->op].n_args;
    num a[XL__EXPR_ARGS] = {{0, 0}};
    for (unsigned i = 0; i < n_args; i++)
        a[i] = xl__interval_convert(arg[i], g->node[n->arg[i]].type,
                                    wanted(g, n, i));
    switch (n->op) {
    case XL__E_NOT:
        return (num){a[0].x == 0, a[0].err};
    case XL__E_AND:
        return join(a[0], a[1], 0);
    case XL__E_OR:
        return join(a[0], a[1], 1);
    case XL__E_ISNAN:
        return (num){isnan(a[0].x),
                     a[0].err > 0 && !isfinite(a[0].err) ? xl__unbounded : 0};
    case XL__E_WHERE:
        if (a[0].err == 0)
            return a[0].x != 0 ? a[1] : a[2];
        return (num){a[0].x != 0 ? a[1].x : a[2].x, xl__unbounded};
    case XL__E_CAST:
        return xl__interval_convert(
            xl__interval_round(a[0], n->dtype),
            n->dtype == XL_F32 ? g->node[n->arg[0]].type : n->type, n->type);
    default:
        return by_type(g, n, a);
    }
}
