/* SPDX-License-Identifier: Apache-2.0 */
/* Algebraic simplification of one node, by rules that are tried one after
 * another.
 *
 * Without fast_math a rule holds for every value, including NaN, infinities
 * and the sign of zero. For that reason x * 0, x - x and x + 0 remain as they
 * are for floats.
 *
 * The result of a rule has the shape and the type of the node that it
 * replaces. Where an argument has another shape, as in where(true, 1, x), a
 * constant is given that shape; otherwise the rule does not apply.
 *
 *     x * 1, x / 1, x - 0, --x, floor(floor(x))    ->  x
 *     a + -b                                       ->  a - b
 *     x / 4                                        ->  x * 0.25
 *     x^3                                          ->  x * (x * x)
 *     mean of one element                          ->  the element */
#include "expr/graph/algebra.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "expr/host/interval.h"

static const struct xl__node *arg_node(const struct xl__graph *g,
                                       const struct xl__node *n, unsigned i)
{
    return &g->node[n->arg[i]];
}

/* -- building blocks -------------------------------------------------- */

static bool is_same_shape(const struct xl__shape *a, const struct xl__shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, a->n_dims * sizeof *a->size) == 0;
}

static unsigned add_like(struct xl__graph *g, const struct xl__node *n,
                         enum xl__expr_op op, unsigned a, unsigned b)
{
    const struct xl__node spec = {.op = op,
                                  .type = n->type,
                                  .arg = {a, b},
                                  .shape = n->shape,
                                  .location = n->location};
    if (a == UINT_MAX || b == UINT_MAX)
        return UINT_MAX;
    return xl__graph_node(g, &spec);
}

static unsigned add_constant_like(struct xl__graph *g,
                                  const struct xl__node *n, double value,
                                  bool is_shaped)
{
    struct xl__node spec = {.op = XL__E_CONST,
                            .type = n->type,
                            .value = value,
                            .location = n->location};
    if (is_shaped)
        spec.shape = n->shape;
    return xl__graph_node(g, &spec);
}

/* Can `node` replace n? A constant is given the shape of n. */
static bool replace_node(struct xl__graph *g, const struct xl__node *n,
                         unsigned node, unsigned *out)
{
    *out = node;
    if (is_same_shape(&g->node[node].shape, &n->shape))
        return true;
    if (g->node[node].op != XL__E_CONST)
        return false;
    *out = add_constant_like(g, n, g->node[node].value, true);
    return true;
}

/* -- an operation with a constant ------------------------------------- */

enum {
    OF_BOOL = 1 << XL__V_BOOL,
    OF_I32 = 1 << XL__V_I32,
    OF_F32 = 1 << XL__V_F32,
    OF_NUMBER = OF_I32 | OF_F32
};

static const struct {
    enum xl__expr_op op;
    double value; /* second argument, compared by bits: -0 differs from 0 */
    unsigned types;
    bool is_fast;
    enum {
        GIVES_FIRST,
        GIVES_VALUE,
        GIVES_NEGATIVE
    } gives; /* GIVES_FIRST, GIVES_VALUE: the index of the argument that is the
                result */
} with_constant[] = {
    {XL__E_ADD, -0.0, OF_F32, false, GIVES_FIRST},
    {XL__E_ADD, 0, OF_I32, false, GIVES_FIRST},
    {XL__E_ADD, 0, OF_F32, true, GIVES_FIRST},
    {XL__E_SUB, 0, OF_NUMBER, false, GIVES_FIRST},
    {XL__E_MUL, 1, OF_NUMBER, false, GIVES_FIRST},
    {XL__E_MUL, -1, OF_NUMBER, false, GIVES_NEGATIVE},
    {XL__E_MUL, 0, OF_I32, false, GIVES_VALUE},
    {XL__E_MUL, 0, OF_F32, true, GIVES_VALUE},
    {XL__E_DIV, 1, OF_F32, false, GIVES_FIRST},
    {XL__E_DIV, -1, OF_F32, false, GIVES_NEGATIVE},
    {XL__E_AND, 1, OF_BOOL, false, GIVES_FIRST},
    {XL__E_AND, 0, OF_BOOL, false, GIVES_VALUE},
    {XL__E_OR, 0, OF_BOOL, false, GIVES_FIRST},
    {XL__E_OR, 1, OF_BOOL, false, GIVES_VALUE},
    {XL__E_AND, -1, OF_I32, false, GIVES_FIRST},
    {XL__E_AND, 0, OF_I32, false, GIVES_VALUE},
    {XL__E_OR, 0, OF_I32, false, GIVES_FIRST},
    {XL__E_OR, -1, OF_I32, false, GIVES_VALUE},
    {XL__E_XOR, 0, OF_BOOL | OF_I32, false, GIVES_FIRST},
    {XL__E_SHL, 0, OF_I32, false, GIVES_FIRST},
    {XL__E_SHR, 0, OF_I32, false, GIVES_FIRST},
    {XL__E_FLOORDIV, 1, OF_I32, false, GIVES_FIRST},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool rule_neutral_constant(struct xl__graph *g,
                                  const struct xl__node *n, unsigned *out)
{
    if (xl__expr_ops[n->op].n_args != 2 ||
        arg_node(g, n, 1)->op != XL__E_CONST)
        return false;
    const double value = arg_node(g, n, 1)->value;
    for (size_t i = 0; i < COUNT(with_constant); i++) {
        if (with_constant[i].op != n->op ||
            memcmp(&with_constant[i].value, &value, sizeof value) != 0 ||
            (with_constant[i].types >> n->type & 1) == 0 ||
            (with_constant[i].is_fast && !g->fast_math))
            continue;
        if (with_constant[i].gives == GIVES_NEGATIVE)
            *out = add_like(g, n, XL__E_NEG, n->arg[0], 0);
        return with_constant[i].gives == GIVES_NEGATIVE ||
               replace_node(g, n, n->arg[with_constant[i].gives], out);
    }
    return false;
}

/* -- an operation of an operation ------------------------------------- */

static const struct {
    enum xl__expr_op outer, inner;
    enum { GIVES_INNER, GIVES_INNERMOST, GIVES_OUTER } gives;
} nested[] = {
    {XL__E_NEG, XL__E_NEG, GIVES_INNERMOST},
    {XL__E_NOT, XL__E_NOT, GIVES_INNERMOST},
    {XL__E_BITNOT, XL__E_BITNOT, GIVES_INNERMOST},
    {XL__E_ABS, XL__E_ABS, GIVES_INNER},
    {XL__E_ABS, XL__E_NEG, GIVES_OUTER},
    {XL__E_SIGN, XL__E_SIGN, GIVES_INNER},
    {XL__E_RELU, XL__E_RELU, GIVES_INNER},
};

static bool rule_nested(struct xl__graph *g, const struct xl__node *n,
                        unsigned *out)
{
    if (xl__expr_ops[n->op].n_args != 1)
        return false;
    const struct xl__node inner = *arg_node(g, n, 0);
    for (size_t i = 0; i < COUNT(nested); i++) {
        if (nested[i].outer != n->op || nested[i].inner != inner.op)
            continue;
        if (nested[i].gives == GIVES_OUTER)
            *out = add_like(g, n, n->op, inner.arg[0], 0);
        else
            *out = nested[i].gives == GIVES_INNER ? n->arg[0] : inner.arg[0];
        return true;
    }
    return false;
}

static bool is_rounding(enum xl__expr_op op)
{
    return op == XL__E_CEIL || op == XL__E_FLOOR || op == XL__E_ROUND ||
           op == XL__E_TRUNC;
}

/* Rounding of what is a whole number already. */
static bool rule_rounding(struct xl__graph *g, const struct xl__node *n,
                          unsigned *out)
{
    if (!is_rounding(n->op))
        return false;
    const struct xl__node *inner = arg_node(g, n, 0);
    *out = n->arg[0];
    return n->type == XL__V_I32 || is_rounding(inner->op) ||
           (inner->op == XL__E_CAST &&
            arg_node(g, inner, 0)->type != XL__V_F32);
}

/* -- equal arguments, and signs --------------------------------------- */

static bool rule_equal_arguments(struct xl__graph *g, const struct xl__node *n,
                                 unsigned *out)
{
    const bool is_zero = n->type == XL__V_I32 || g->fast_math;
    if (xl__expr_ops[n->op].n_args != 2 || n->arg[0] != n->arg[1])
        return false;
    switch (n->op) {
    case XL__E_MIN:
    case XL__E_MAX:
    case XL__E_AND:
    case XL__E_OR:
        return replace_node(g, n, n->arg[0], out);
    case XL__E_SUB:
        if (is_zero)
            *out = add_constant_like(g, n, 0, true);
        return is_zero;
    default:
        return false;
    }
}

/* a + -b is a - b bit for bit, and so on. */
static bool rule_signs(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (n->op != XL__E_ADD && n->op != XL__E_SUB && n->op != XL__E_MUL)
        return false;
    const struct xl__node a = *arg_node(g, n, 0), b = *arg_node(g, n, 1);
    const bool is_a = a.op == XL__E_NEG, is_b = b.op == XL__E_NEG;
    if (n->op == XL__E_MUL && is_a && is_b)
        *out = add_like(g, n, XL__E_MUL, a.arg[0], b.arg[0]);
    else if (n->op == XL__E_ADD && is_b)
        *out = add_like(g, n, XL__E_SUB, n->arg[0], b.arg[0]);
    else if (n->op == XL__E_ADD && is_a)
        *out = add_like(g, n, XL__E_SUB, n->arg[1], a.arg[0]);
    else if (n->op == XL__E_SUB && is_b)
        *out = add_like(g, n, XL__E_ADD, n->arg[0], b.arg[0]);
    else
        return false;
    return true;
}

static bool rule_where(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (n->op != XL__E_WHERE)
        return false;
    if (n->arg[1] == n->arg[2])
        return replace_node(g, n, n->arg[1], out);
    if (arg_node(g, n, 0)->op != XL__E_CONST)
        return false;
    return replace_node(g, n, n->arg[arg_node(g, n, 0)->value != 0 ? 1 : 2],
                        out);
}

/* -- types ------------------------------------------------------------ */

static bool is_narrow(const struct xl__graph *g, const struct xl__node *n)
{
    return n->dtype != xl__wide_dtype(g, n->type);
}

static bool rule_cast(struct xl__graph *g, const struct xl__node *n,
                      unsigned *out)
{
    if (n->op != XL__E_CAST)
        return false;
    const struct xl__node inner = *arg_node(g, n, 0);
    const bool is_stored = inner.op == XL__E_INPUT || inner.op == XL__E_CAST;
    *out = n->arg[0];
    if (n->type == inner.type &&
        (!is_narrow(g, n) || (is_stored && inner.dtype == n->dtype)))
        return true;
    if (inner.op != XL__E_CAST || arg_node(g, &inner, 0)->type != XL__V_BOOL ||
        is_narrow(g, n))
        return false;
    struct xl__node direct = *n; /* true is 1 in every type */
    direct.arg[0] = inner.arg[0];
    *out = xl__graph_node(g, &direct);
    return true;
}

/* A converted integer is finite. */
static bool rule_finite(struct xl__graph *g, const struct xl__node *n,
                        unsigned *out)
{
    if (xl__expr_ops[n->op].result != XL__R_TEST ||
        arg_node(g, n, 0)->op != XL__E_CAST ||
        arg_node(g, arg_node(g, n, 0), 0)->type == XL__V_F32)
        return false;
    *out = add_constant_like(g, n, n->op == XL__E_ISFINITE, true);
    return true;
}

/* -- division and powers ---------------------------------------------- */

/* Division by a constant and powers with a constant exponent become
 * multiplications: exactly for powers of two, within the error bound of pow()
 * for whole exponents, and with fast_math when only the rounding differs.
 *
 * x^n by multiplication has n - 1 roundings of u; pow() has 16 ulp, which is
 * 32 u. (1 / x)^n adds n times the 2.5 ulp of a division. It overflows or
 * underflows only where the result does, which 1 / (x^n) would not. */
enum { MOST_POWER = 16, MOST_INVERSE = 5 };

/* Is 1 / value a normal f32, and exact unless is_fast? */
static bool has_inverse(double value, bool is_fast)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    return isfinite(value) && exponent > -120 && exponent < 120 &&
           (fabs(fraction) == 0.5 || (is_fast && value != 0));
}

static bool rule_division(struct xl__graph *g, const struct xl__node *n,
                          unsigned *out)
{
    if (n->op != XL__E_DIV)
        return false;
    const struct xl__node *a = arg_node(g, n, 0), b = *arg_node(g, n, 1);
    if (b.op == XL__E_CONST && has_inverse(b.value, g->fast_math)) {
        *out = add_like(g, n, XL__E_MUL, n->arg[0],
                        add_constant_like(g, n, 1 / b.value, false));
        return true;
    }
    if (!g->fast_math || b.op != XL__E_SQRT || a->op != XL__E_CONST ||
        a->value != 1)
        return false;
    *out = add_like(g, n, XL__E_RSQRT, b.arg[0], 0);
    return true;
}

/* x^power for power > 0, by repeated squaring; n gives type and shape. */
static unsigned add_power(struct xl__graph *g, const struct xl__node *n,
                          unsigned x, uint32_t power)
{
    unsigned out = UINT_MAX, square = x;
    for (bool is_first = true; power > 0; power >>= 1) {
        if (power & 1) {
            out = is_first ? square : add_like(g, n, XL__E_MUL, out, square);
            is_first = false;
        }
        if (power > 1)
            square = add_like(g, n, XL__E_MUL, square, square);
    }
    return out;
}

static unsigned add_inverse(struct xl__graph *g, const struct xl__node *n)
{
    const unsigned x = n->arg[0];
    return add_like(g, n, XL__E_DIV, add_constant_like(g, n, 1, false), x);
}

/* A power with a constant exponent. pow(x, 0) is 1 for every x, also for NaN.
 */
static bool rule_power(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (n->op != XL__E_POW || arg_node(g, n, 1)->op != XL__E_CONST)
        return false;
    const double power = arg_node(g, n, 1)->value, size = fabs(power);
    const double most = power > 0 ? MOST_POWER : MOST_INVERSE;
    const bool is_whole =
        size == floor(size) &&
        (n->type == XL__V_I32 ? size <= UINT32_MAX : size <= most);
    if (!is_whole && !(g->fast_math && size == 0.5))
        return false;
    if (!is_whole)
        *out =
            add_like(g, n, power > 0 ? XL__E_SQRT : XL__E_RSQRT, n->arg[0], 0);
    else if (power == 0)
        *out = add_constant_like(g, n, 1, true);
    else if (power > 0)
        *out = add_power(g, n, n->arg[0], (uint32_t)power);
    else
        *out = add_power(g, n, add_inverse(g, n), (uint32_t)size);
    return true;
}

/* -- reductions ------------------------------------------------------- */

/* The number of elements that are reduced to one result. */
static size_t n_reduced(const struct xl__graph *g, const struct xl__node *n)
{
    const struct xl__shape *s = &arg_node(g, n, 0)->shape;
    size_t elems = 1;
    for (unsigned d = 0; d < s->n_dims; d++)
        elems *= n->axes >> d & 1 ? s->size[d] : 1;
    return elems;
}

/* c^n modulo 2^64. */
static uint64_t power_of(uint64_t square, size_t n)
{
    uint64_t out = 1;
    for (; n > 0; n >>= 1, square *= square)
        out *= n & 1 ? square : 1;
    return out;
}

/* The sum or product of n equal integers c. */
static struct xl__interval reduce_integer(const struct xl__graph *g,
                                          const struct xl__node *node,
                                          double c, size_t n)
{
    const uint64_t bits = (uint64_t)xl__to_i64(c);
    return xl__interval_integer(xl__precision_of(g), node->op == XL__E_SUM
                                                         ? bits * n
                                                         : power_of(bits, n));
}

/* The reduction of n equal numbers c. */
static double reduce_constant(const struct xl__node *node, double c, size_t n)
{
    switch (node->op) {
    case XL__E_SUM:
        return c * (double)n;
    case XL__E_PROD:
        return pow(c, (double)n);
    case XL__E_VAR:
        return c - c;
    case XL__E_LOGSUMEXP:
        return c + log((double)n);
    case XL__E_NORM2:
        return fabs(c) * sqrt((double)n);
    case XL__E_ARGMIN:
    case XL__E_ARGMAX:
        return 0;
    default:
        return c;
    }
}

static bool rule_reduction(struct xl__graph *g, const struct xl__node *n,
                           unsigned *out)
{
    const unsigned x = n->arg[0];
    if (xl__expr_ops[n->op].cls != XL__C_REDUCE)
        return false;
    if (arg_node(g, n, 0)->op == XL__E_CONST) {
        const double c = arg_node(g, n, 0)->value;
        const size_t count = n_reduced(g, n);
        struct xl__interval value = {reduce_constant(n, c, count), 0};
        if (n->type == XL__V_I32 &&
            (n->op == XL__E_SUM || n->op == XL__E_PROD))
            value = reduce_integer(g, n, c, count);
        if (value.err > 0)
            return false; /* it is no double */
        *out = add_constant_like(g, n, value.x, true);
        return true;
    }
    if (n_reduced(g, n) != 1)
        return false;
    switch (n->op) {
    case XL__E_ARGMIN:
    case XL__E_ARGMAX:
        *out = add_constant_like(g, n, 0, true);
        return true;
    case XL__E_NORM2:
        *out = add_like(g, n, XL__E_ABS, x, 0);
        return true;
    case XL__E_VAR: /* 0; NaN for an infinity and for NaN */
        *out = add_like(g, n, XL__E_SUB, x, x);
        return true;
    default:
        *out = x;
        return true;
    }
}

/* -- all rules -------------------------------------------------------- */

static bool (*const rules[])(struct xl__graph *, const struct xl__node *,
                             unsigned *) = {
    rule_neutral_constant,
    rule_nested,
    rule_rounding,
    rule_equal_arguments,
    rule_signs,
    rule_where,
    rule_cast,
    rule_finite,
    rule_division,
    rule_power,
    rule_reduction,
};

bool xl__graph_simplify(struct xl__graph *g, const struct xl__node *spec,
                        unsigned *out)
{
    for (size_t i = 0; i < COUNT(rules) && xl__expr_ops[spec->op].n_args; i++)
        if (rules[i](g, spec, out))
            return true;
    return false;
}
