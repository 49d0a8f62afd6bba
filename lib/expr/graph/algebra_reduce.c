/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that need no loop: of one element, and of equal ones. */
#include <math.h>

#include "expr/graph/simplify.h"

/* How many elements one result is made of. */
static size_t extent(const struct xl__graph *g, const struct xl__node *n)
{
    const struct xl__shape *s = &xl__arg(g, n, 0)->shape;
    size_t elems = 1;
    for (unsigned d = 0; d < s->n_dims; d++)
        elems *= n->axes >> d & 1 ? s->size[d] : 1;
    return elems;
}

static double wrapped(uint64_t x)
{
    const int64_t low = (int64_t)(x & UINT32_MAX);
    return (double)(low > INT32_MAX ? low - UINT32_MAX - 1 : low);
}

/* Of n times the number c. */
static double of_equal(const struct xl__node *node, double c, size_t n)
{
    switch (node->op) {
    case XL__E_SUM:
        if (node->type == XL__V_I32)
            return wrapped((uint64_t)(int64_t)c * n);
        return c * (double)n;
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

bool xl__reductions(struct xl__graph *g, const struct xl__node *n,
                    unsigned *out)
{
    const unsigned x = n->arg[0];
    if (xl__expr_ops[n->op].cls != XL__C_REDUCE)
        return false;
    if (xl__arg(g, n, 0)->op == XL__E_CONST) {
        const double c = xl__arg(g, n, 0)->value;
        *out = xl__number_like(g, n, of_equal(n, c, extent(g, n)), true);
        return true;
    }
    if (extent(g, n) != 1)
        return false;
    switch (n->op) {
    case XL__E_ARGMIN:
    case XL__E_ARGMAX:
        *out = xl__number_like(g, n, 0, true);
        return true;
    case XL__E_NORM2:
        *out = xl__make_like(g, n, XL__E_ABS, x, 0);
        return true;
    case XL__E_VAR: /* 0; NaN of an infinity and of NaN */
        *out = xl__make_like(g, n, XL__E_SUB, x, x);
        return true;
    default:
        *out = x;
        return true;
    }
}
