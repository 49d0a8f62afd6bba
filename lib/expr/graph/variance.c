/* SPDX-License-Identifier: Apache-2.0 */
/* Variances: recognised when they are written out, and expanded for short
 * rows.
 *
 * One sweep: sum((x - mean(x))^2) and mean((x - mean(x))^2) become VAR, which
 * reads x once and not twice. It is no less accurate, because its accumulator
 * updates the mean with every element. Source: Chan, Golub, LeVeque 1983.
 *
 * Two sweeps: a row that remains in registers or in a core's cache is read
 * again from there, while the update of the mean needs a division by element.
 * There VAR becomes
 *
 *     mean((x - m)^2),  m = mean(x)
 *
 * and LOGSUMEXP, for the same reason,
 *
 *     m + log(sum(exp(x - m))),  m = max(x). */
#include "expr/graph/variance.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "expr/graph/loops.h"

/* -- one sweep: to VAR ------------------------------------------------ */

/* Is d the difference of x and mean(x) over these axes, in either order? Then
 * *x is x. */
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

bool xl__match_variance(struct xl__graph *g, const struct xl__node *spec,
                        unsigned *out)
{
    unsigned x;
    if (g->is_variance_expanded ||
        (spec->op != XL__E_SUM && spec->op != XL__E_MEAN))
        return false;
    const struct xl__node square = g->node[spec->arg[0]];
    if (square.op != XL__E_MUL || square.arg[0] != square.arg[1] ||
        !is_deviation(g, square.arg[0], spec->axes, &x))
        return false;
    struct xl__node n = *spec;
    n.op = XL__E_VAR;
    n.arg[0] = x;
    *out = xl__graph_node(g, &n);
    if (spec->op == XL__E_MEAN || *out == UINT_MAX)
        return true;
    const struct xl__node count = {.op = XL__E_CONST,
                                   .type = XL__V_F32,
                                   .value =
                                       (double)xl__shape_elems(&square.shape) /
                                       (double)xl__shape_elems(&spec->shape),
                                   .location = spec->location};
    n = *spec;
    n.op = XL__E_MUL;
    n.axes = 0;
    n.arg[0] = *out;
    n.arg[1] = xl__graph_node(g, &count);
    *out = n.arg[1] == UINT_MAX ? UINT_MAX : xl__graph_node(g, &n);
    return true;
}

/* -- two sweeps: from VAR and LOGSUMEXP ------------------------------- */

enum {
    NEAR_ELEMS = 1 << 15 /* of a row: it fits in registers or in a core's cache
                          */
};

struct expansion {
    const struct xl__graph *from;
    const struct xl__limits *l;
    struct xl__graph *to;
    unsigned *number; /* index in `to`, by index in `from` */
};

static bool fits_in_cache(const struct expansion *s, const struct xl__node *n)
{
    if (n->op != XL__E_VAR && n->op != XL__E_LOGSUMEXP)
        return false;
    const struct xl__shape *all = &s->from->node[n->arg[0]].shape;
    const double kept = (double)xl__shape_elems(&n->shape);
    const double reduced = (double)xl__shape_elems(all) / kept;
    unsigned last = all->n_dims;
    while (last > 0 && all->size[last - 1] == 1)
        last--;
    return reduced <= NEAR_ELEMS && last > 0 && (n->axes >> (last - 1) & 1) &&
           xl__form_choose(s->l, kept, reduced, true) == XL__FORM_ROWS;
}

/* Add an operation on up to three nodes, with the shape of the first. */
static unsigned add_operation(struct expansion *s, enum xl__expr_op op,
                              unsigned a, unsigned b, unsigned c)
{
    struct xl__node n = {.op = op, .type = XL__V_F32, .arg = {a, b, c}};
    if (a == UINT_MAX || b == UINT_MAX || c == UINT_MAX)
        return UINT_MAX;
    if (op == XL__E_LE)
        n.type = XL__V_BOOL;
    n.shape = s->to->node[a].shape;
    n.location = s->to->node[a].location;
    return xl__graph_node(s->to, &n);
}

static unsigned add_constant(struct expansion *s, double value)
{
    const struct xl__node n = {
        .op = XL__E_CONST, .type = XL__V_F32, .value = value};
    return xl__graph_node(s->to, &n);
}

/* Add the reduction n with the operation `op` of x. */
static unsigned add_reduction(struct expansion *s, struct xl__node n,
                              enum xl__expr_op op, unsigned x)
{
    n.op = op;
    n.arg[0] = x;
    return x == UINT_MAX ? UINT_MAX : xl__graph_node(s->to, &n);
}

/* mean((x - mean(x))^2) */
static unsigned expand_variance(struct expansion *s, const struct xl__node *n)
{
    const unsigned mean = add_reduction(s, *n, XL__E_MEAN, n->arg[0]);
    const unsigned off = add_operation(s, XL__E_SUB, n->arg[0], mean, 0);
    return add_reduction(s, *n, XL__E_MEAN,
                         add_operation(s, XL__E_MUL, off, off, 0));
}

/* top + log(sum(exp(x - top))), where top is max(x), or 0 where max(x) is not
 * finite: then an infinity or NaN results from the sum. */
static unsigned expand_logsumexp(struct expansion *s, const struct xl__node *n)
{
    const unsigned most = add_reduction(s, *n, XL__E_RMAX, n->arg[0]);
    const unsigned size = add_operation(s, XL__E_ABS, most, 0, 0);
    const unsigned is_finite =
        add_operation(s, XL__E_LE, size, add_constant(s, (double)FLT_MAX), 0);
    const unsigned zero = add_constant(s, 0);
    struct xl__node choice = {
        .op = XL__E_WHERE, .type = XL__V_F32, .arg = {is_finite, most, zero}};
    if (is_finite == UINT_MAX || zero == UINT_MAX)
        return UINT_MAX;
    choice.shape = n->shape;
    const unsigned top = xl__graph_node(s->to, &choice);
    const unsigned off = add_operation(s, XL__E_SUB, n->arg[0], top, 0);
    const unsigned sum = add_reduction(s, *n, XL__E_SUM,
                                       add_operation(s, XL__E_EXP, off, 0, 0));
    return add_operation(s, XL__E_ADD, add_operation(s, XL__E_LOG, sum, 0, 0),
                         top, 0);
}

static unsigned copy_node(struct expansion *s, unsigned i)
{
    const struct xl__node *old = &s->from->node[i];
    struct xl__node n = *old;
    for (unsigned a = 0; a < xl__expr_ops[n.op].n_args; a++)
        n.arg[a] = s->number[n.arg[a]];
    if (!fits_in_cache(s, old))
        return xl__graph_node(s->to, &n);
    return old->op == XL__E_VAR ? expand_variance(s, &n)
                                : expand_logsumexp(s, &n);
}

xl_status xl__graph_expand_variance(const struct xl__graph *from,
                                    const struct xl__limits *l,
                                    struct xl__graph *out)
{
    struct expansion s = {from, l, out, NULL};
    xl_status status = XL_OK;
    s.number = xl__calloc(from->n_nodes + 1, sizeof *s.number);
    if (!s.number)
        return XL_NO_MEMORY;
    out->fast_math = from->fast_math;
    out->is_variance_expanded = true;
    for (unsigned i = 0; i < from->n_nodes && status == XL_OK; i++) {
        s.number[i] = copy_node(&s, i);
        if (s.number[i] == UINT_MAX)
            status = XL_NO_MEMORY;
    }
    for (unsigned i = 0; i < from->n_outputs && status == XL_OK; i++) {
        out->output[i] = from->output[i];
        out->output[i].node = s.number[from->output[i].node];
    }
    out->n_outputs = from->n_outputs;
    free(s.number);
    return status == XL_OK ? xl__graph_prune(out) : status;
}
