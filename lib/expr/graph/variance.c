/* SPDX-License-Identifier: Apache-2.0 */
/* Variances: how each is computed, decided once, when the rows are known.
 *
 * A variance is var(x) or written out: mean((x - mean(x))^2), and sum(...) for
 * that times the number of elements.
 *
 * Rows that remain in registers or in a core's cache are read again from
 * there, so they are swept twice, without a division by element:
 *
 *     mean((x - m)^2),  m = mean(x)
 *     m + log(sum(exp(x - m))),  m = max(x)          of logsumexp(x)
 *
 * Other rows are read once, as VAR (and LOGSUMEXP). That is no less accurate,
 * because its accumulator updates the mean with every element. Source: Chan,
 * Golub, LeVeque 1983. */
#include "expr/graph/variance.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "expr/graph/loops.h"

enum {
    NEAR_ELEMS = 1 << 15 /* of a row: it fits in registers or in a core's cache
                          */
};

struct lowering {
    const struct xl__graph *from;
    const struct xl__limits *l; /* NULL: one sweep */
    struct xl__graph *to;
    unsigned *number; /* index in `to`, by index in `from` */
};

/* -- what is written --------------------------------------------------- */

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

/* Is n the sum or mean of squared deviations of *x? */
static bool is_written_out(const struct xl__graph *g, const struct xl__node *n,
                           unsigned *x)
{
    if (n->op != XL__E_SUM && n->op != XL__E_MEAN)
        return false;
    const struct xl__node *square = &g->node[n->arg[0]];
    return square->op == XL__E_MUL && square->arg[0] == square->arg[1] &&
           is_deviation(g, square->arg[0], n->axes, x);
}

/* -- the choice -------------------------------------------------------- */

/* Is each row that n reduces held, or read again from a cache? */
static bool is_swept_twice(const struct lowering *s, const struct xl__node *n)
{
    const struct xl__shape *all = &s->from->node[n->arg[0]].shape;
    const double kept = (double)xl__shape_elems(&n->shape);
    const double reduced = (double)xl__shape_elems(all) / kept;
    unsigned last = all->n_dims;
    while (last > 0 && all->size[last - 1] == 1)
        last--;
    return s->l && reduced <= NEAR_ELEMS && last > 0 &&
           (n->axes >> (last - 1) & 1) &&
           xl__form_choose(s->l, kept, reduced, true) == XL__FORM_ROWS;
}

/* -- one sweep ---------------------------------------------------------- */

static unsigned add_constant(struct lowering *s, double value)
{
    const struct xl__node n = {
        .op = XL__E_CONST, .type = XL__V_F32, .value = value};
    return xl__graph_node(s->to, &n);
}

/* The sum or mean n of squared deviations of x, as VAR. */
static unsigned join_variance(struct lowering *s, const struct xl__node *n,
                              unsigned x)
{
    const double count = (double)xl__shape_elems(&s->to->node[x].shape) /
                         (double)xl__shape_elems(&n->shape);
    struct xl__node to = *n;
    to.op = XL__E_VAR;
    to.arg[0] = x;
    const unsigned var = xl__graph_node(s->to, &to);
    if (n->op == XL__E_MEAN || var == UINT_MAX)
        return var;
    to.op = XL__E_MUL;
    to.axes = 0;
    to.arg[0] = var;
    to.arg[1] = add_constant(s, count);
    return to.arg[1] == UINT_MAX ? UINT_MAX : xl__graph_node(s->to, &to);
}

/* -- two sweeps --------------------------------------------------------- */

/* Add an operation on up to three nodes, with the shape of the first. */
static unsigned add_operation(struct lowering *s, enum xl__expr_op op,
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

/* Add the reduction n with the operation `op` of x. */
static unsigned add_reduction(struct lowering *s, struct xl__node n,
                              enum xl__expr_op op, unsigned x)
{
    n.op = op;
    n.arg[0] = x;
    return x == UINT_MAX ? UINT_MAX : xl__graph_node(s->to, &n);
}

/* mean((x - mean(x))^2) */
static unsigned expand_variance(struct lowering *s, const struct xl__node *n)
{
    const unsigned mean = add_reduction(s, *n, XL__E_MEAN, n->arg[0]);
    const unsigned off = add_operation(s, XL__E_SUB, n->arg[0], mean, 0);
    return add_reduction(s, *n, XL__E_MEAN,
                         add_operation(s, XL__E_MUL, off, off, 0));
}

/* top + log(sum(exp(x - top))), where top is max(x), or 0 where max(x) is not
 * finite: then an infinity or NaN results from the sum. */
static unsigned expand_logsumexp(struct lowering *s, const struct xl__node *n)
{
    const unsigned most = add_reduction(s, *n, XL__E_RMAX, n->arg[0]);
    const unsigned size = add_operation(s, XL__E_ABS, most, 0, 0);
    const unsigned is_finite = add_operation(
        s, XL__E_LE, size,
        add_constant(s, s->to->is_double ? DBL_MAX : (double)FLT_MAX), 0);
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

/* -- the graph ---------------------------------------------------------- */

/* Is node i replaced by what computes it in another number of sweeps? */
static bool is_lowered(const struct lowering *s, unsigned i)
{
    const struct xl__node *n = &s->from->node[i];
    unsigned x;
    return n->op == XL__E_VAR || n->op == XL__E_LOGSUMEXP
               ? is_swept_twice(s, n)
               : is_written_out(s->from, n, &x) && !is_swept_twice(s, n);
}

static unsigned lower_node(struct lowering *s, unsigned i)
{
    struct xl__node n = s->from->node[i];
    unsigned x = 0;
    for (unsigned a = 0; a < xl__expr_ops[n.op].n_args; a++)
        n.arg[a] = s->number[n.arg[a]];
    if (!is_lowered(s, i))
        return xl__graph_node(s->to, &n);
    if (n.op == XL__E_VAR)
        return expand_variance(s, &n);
    if (n.op == XL__E_LOGSUMEXP)
        return expand_logsumexp(s, &n);
    is_written_out(s->from, &s->from->node[i], &x);
    return join_variance(s, &n, s->number[x]);
}

/* Copy the nodes before the first one that is lowered; returns their number.
 */
static unsigned copy_first(const struct lowering *s)
{
    unsigned n = 0;
    while (n < s->from->n_nodes && !is_lowered(s, n)) {
        s->to->node[n] = s->from->node[n];
        s->number[n] = n;
        n++;
    }
    return s->to->n_nodes = n;
}

xl_status xl__graph_lower_variance(const struct xl__graph *from,
                                   const struct xl__limits *l,
                                   struct xl__graph *out)
{
    struct lowering s = {from, l, out, NULL};
    xl_status status = XL_OK;
    s.number = xl__calloc(from->n_nodes + 1, sizeof *s.number);
    if (!s.number ||
        !xl__grow(&out->node, &out->cap_nodes, from->n_nodes,
                  sizeof *out->node) ||
        !xl__grow(&out->output, &out->cap_outputs, from->n_outputs,
                  sizeof *out->output))
        TRY(XL_NO_MEMORY);
    out->fast_math = from->fast_math;
    out->is_double = from->is_double;
    out->is_long = from->is_long;
    const unsigned same = copy_first(&s);
    for (unsigned i = same; i < from->n_nodes; i++) {
        s.number[i] = lower_node(&s, i);
        if (s.number[i] == UINT_MAX)
            TRY(XL_NO_MEMORY);
    }
    for (unsigned i = 0; i < from->n_outputs; i++) {
        out->output[i] = from->output[i];
        out->output[i].node = s.number[from->output[i].node];
    }
    out->n_outputs = from->n_outputs;
    if (same < from->n_nodes)
        TRY(xl__graph_prune(out));
fail:
    free(s.number);
    return status;
}
