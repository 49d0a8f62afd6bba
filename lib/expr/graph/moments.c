/* SPDX-License-Identifier: Apache-2.0 */
/* sum((x - mean(x))^2) and mean((x - mean(x))^2) are var(x), which takes one
 * sweep over x and not two, and is no less accurate: its accumulator moves the
 * mean along (Chan, Golub, LeVeque 1983). */
#include <limits.h>

#include "expr/graph/simplify.h"

/* Is d the difference of x and mean(x) over these axes, either way round?
 * Then *x is x. */
static bool is_deviation(const struct xl__graph *g, unsigned d, unsigned axes,
                         unsigned *x)
{
    const struct xl__node *n = &g->node[d];
    for (unsigned a = 0; n->op == XL__E_SUB && a < 2; a++) {
        const struct xl__node *mean = &g->node[n->arg[1 - a]];
        *x = n->arg[a];
        if (mean->op == XL__E_MEAN && mean->axes == axes &&
            mean->arg[0] == *x && mean->shape.n_dims == n->shape.n_dims)
            return true;
    }
    return false;
}

bool xl__match_variance(struct xl__graph *g, const struct xl__node *want,
                        unsigned *out)
{
    unsigned x;
    if (g->is_variance_expanded ||
        (want->op != XL__E_SUM && want->op != XL__E_MEAN))
        return false;
    const struct xl__node square = g->node[want->arg[0]];
    if (square.op != XL__E_MUL || square.arg[0] != square.arg[1] ||
        !is_deviation(g, square.arg[0], want->axes, &x))
        return false;
    struct xl__node n = *want;
    n.op = XL__E_VAR;
    n.arg[0] = x;
    *out = xl__graph_node(g, &n);
    if (want->op == XL__E_MEAN || *out == UINT_MAX)
        return true;
    const struct xl__node count = {.op = XL__E_CONST,
                                   .type = XL__V_F32,
                                   .value =
                                       (double)xl__shape_elems(&square.shape) /
                                       (double)xl__shape_elems(&want->shape),
                                   .location = want->location};
    n = *want;
    n.op = XL__E_MUL;
    n.axes = 0;
    n.arg[0] = *out;
    n.arg[1] = xl__graph_node(g, &count);
    *out = n.arg[1] == UINT_MAX ? UINT_MAX : xl__graph_node(g, &n);
    return true;
}
