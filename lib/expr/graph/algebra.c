/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that make an expression simpler. Without fast_math a rule holds for
 * every value: NaN, infinities and the sign of zero included, which is why
 * x * 0, x - x and x + 0 stay as they are for floats.
 *
 * A rule's result has the shape and the type of what it replaces; where that
 * cannot be, as in where(true, 1, x), the result is a constant of that shape
 * or the rule does not apply. */
#include "expr/graph/simplify.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* -- parts ----------------------------------------------------------------- */

static bool is_same_shape(const struct xl__shape *a, const struct xl__shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, a->n_dims * sizeof *a->size) == 0;
}

unsigned xl__make_like(struct xl__graph *g, const struct xl__node *n,
                       enum xl__expr_op op, unsigned a, unsigned b)
{
    const struct xl__node want = {.op = op,
                                  .type = n->type,
                                  .arg = {a, b},
                                  .shape = n->shape,
                                  .location = n->location};
    if (a == UINT_MAX || b == UINT_MAX)
        return UINT_MAX;
    return xl__graph_node(g, &want);
}

unsigned xl__number_like(struct xl__graph *g, const struct xl__node *n,
                         double value, bool is_shaped)
{
    struct xl__node want = {.op = XL__E_CONST,
                            .type = n->type,
                            .value = value,
                            .location = n->location};
    if (is_shaped)
        want.shape = n->shape;
    return xl__graph_node(g, &want);
}

/* May `node` stand for n? */
static bool replace(struct xl__graph *g, const struct xl__node *n,
                    unsigned node, unsigned *out)
{
    *out = node;
    if (is_same_shape(&g->node[node].shape, &n->shape))
        return true;
    if (g->node[node].op != XL__E_CONST)
        return false;
    *out = xl__number_like(g, n, g->node[node].value, true);
    return true;
}

/* -- an operation with a constant ------------------------------------------ */

enum { OF_BOOL = 1 << XL__V_BOOL, OF_I32 = 1 << XL__V_I32,
       OF_F32 = 1 << XL__V_F32, OF_NUMBER = OF_I32 | OF_F32 };

static const struct {
    enum xl__expr_op op;
    double value; /* second argument, as written: -0 is not 0 */
    unsigned types;
    bool is_fast;
    enum { GIVES_FIRST, GIVES_VALUE, GIVES_NEGATIVE } gives; /* first, value:
                                               the numbers of the arguments */
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
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool rule_constant(struct xl__graph *g, const struct xl__node *n,
                          unsigned *out)
{
    if (xl__expr_ops[n->op].n_args != 2 || xl__arg(g, n, 1)->op != XL__E_CONST)
        return false;
    const double value = xl__arg(g, n, 1)->value;
    for (size_t i = 0; i < COUNT(with_constant); i++) {
        if (with_constant[i].op != n->op ||
            memcmp(&with_constant[i].value, &value, sizeof value) != 0 ||
            (with_constant[i].types >> n->type & 1) == 0 ||
            (with_constant[i].is_fast && !g->fast_math))
            continue;
        if (with_constant[i].gives == GIVES_NEGATIVE)
            *out = xl__make_like(g, n, XL__E_NEG, n->arg[0], 0);
        return with_constant[i].gives == GIVES_NEGATIVE ||
               replace(g, n, n->arg[with_constant[i].gives], out);
    }
    return false;
}

/* -- an operation of an operation ------------------------------------------ */

static const struct {
    enum xl__expr_op outer, inner;
    enum { GIVES_INNER, GIVES_INNERMOST, GIVES_OUTER } gives;
} chains[] = {
    {XL__E_NEG, XL__E_NEG, GIVES_INNERMOST},
    {XL__E_NOT, XL__E_NOT, GIVES_INNERMOST},
    {XL__E_ABS, XL__E_ABS, GIVES_INNER},
    {XL__E_ABS, XL__E_NEG, GIVES_OUTER},
    {XL__E_SIGN, XL__E_SIGN, GIVES_INNER},
    {XL__E_RELU, XL__E_RELU, GIVES_INNER},
};

static bool rule_chain(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (xl__expr_ops[n->op].n_args != 1)
        return false;
    const struct xl__node inner = *xl__arg(g, n, 0);
    for (size_t i = 0; i < COUNT(chains); i++) {
        if (chains[i].outer != n->op || chains[i].inner != inner.op)
            continue;
        if (chains[i].gives == GIVES_OUTER)
            *out = xl__make_like(g, n, n->op, inner.arg[0], 0);
        else
            *out = chains[i].gives == GIVES_INNER ? n->arg[0] : inner.arg[0];
        return true;
    }
    return false;
}

static bool is_rounding(enum xl__expr_op op)
{
    return op == XL__E_CEIL || op == XL__E_FLOOR || op == XL__E_ROUND ||
           op == XL__E_TRUNC;
}

/* What is whole already stays. */
static bool rule_whole(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (!is_rounding(n->op))
        return false;
    const struct xl__node *inner = xl__arg(g, n, 0);
    *out = n->arg[0];
    return n->type == XL__V_I32 || is_rounding(inner->op) ||
           (inner->op == XL__E_CAST &&
            xl__arg(g, inner, 0)->type != XL__V_F32);
}

/* -- the same argument twice, and signs ------------------------------------ */

static bool rule_same(struct xl__graph *g, const struct xl__node *n,
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
        return replace(g, n, n->arg[0], out);
    case XL__E_SUB:
        if (is_zero)
            *out = xl__number_like(g, n, 0, true);
        return is_zero;
    default:
        return false;
    }
}

/* a + -b is a - b, bit for bit, and so on. */
static bool rule_signs(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (n->op != XL__E_ADD && n->op != XL__E_SUB && n->op != XL__E_MUL)
        return false;
    const struct xl__node a = *xl__arg(g, n, 0), b = *xl__arg(g, n, 1);
    const bool is_a = a.op == XL__E_NEG, is_b = b.op == XL__E_NEG;
    if (n->op == XL__E_MUL && is_a && is_b)
        *out = xl__make_like(g, n, XL__E_MUL, a.arg[0], b.arg[0]);
    else if (n->op == XL__E_ADD && is_b)
        *out = xl__make_like(g, n, XL__E_SUB, n->arg[0], b.arg[0]);
    else if (n->op == XL__E_ADD && is_a)
        *out = xl__make_like(g, n, XL__E_SUB, n->arg[1], a.arg[0]);
    else if (n->op == XL__E_SUB && is_b)
        *out = xl__make_like(g, n, XL__E_ADD, n->arg[0], b.arg[0]);
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
        return replace(g, n, n->arg[1], out);
    if (xl__arg(g, n, 0)->op != XL__E_CONST)
        return false;
    return replace(g, n, n->arg[xl__arg(g, n, 0)->value != 0 ? 1 : 2], out);
}

/* -- types ----------------------------------------------------------------- */

static bool is_narrow(xl_dtype dtype)
{
    return dtype == XL_F16 || dtype == XL_BF16 || dtype == XL_I8 ||
           dtype == XL_U8;
}

static bool rule_cast(struct xl__graph *g, const struct xl__node *n,
                      unsigned *out)
{
    if (n->op != XL__E_CAST)
        return false;
    const struct xl__node inner = *xl__arg(g, n, 0);
    const bool is_stored = inner.op == XL__E_INPUT || inner.op == XL__E_CAST;
    *out = n->arg[0];
    if (n->type == inner.type &&
        (!is_narrow(n->dtype) || (is_stored && inner.dtype == n->dtype)))
        return true;
    if (inner.op != XL__E_CAST || xl__arg(g, &inner, 0)->type != XL__V_BOOL ||
        is_narrow(n->dtype))
        return false;
    struct xl__node direct = *n; /* true is 1 in every type */
    direct.arg[0] = inner.arg[0];
    *out = xl__graph_node(g, &direct);
    return true;
}

/* An integer is a number. */
static bool rule_isnan(struct xl__graph *g, const struct xl__node *n,
                       unsigned *out)
{
    if (n->op != XL__E_ISNAN || xl__arg(g, n, 0)->op != XL__E_CAST ||
        xl__arg(g, xl__arg(g, n, 0), 0)->type == XL__V_F32)
        return false;
    *out = xl__number_like(g, n, 0, true);
    return true;
}

/* -------------------------------------------------------------------------- */

static bool (*const rules[])(struct xl__graph *, const struct xl__node *,
                             unsigned *) = {
    rule_constant, rule_chain, rule_whole,     rule_same,
    rule_signs,    rule_where, rule_cast,      rule_isnan,
    xl__divisions, xl__powers, xl__reductions, xl__match_variance,
};

bool xl__algebra(struct xl__graph *g, const struct xl__node *want,
                 unsigned *out)
{
    for (size_t i = 0; i < COUNT(rules); i++)
        if (rules[i](g, want, out))
            return true;
    return false;
}
