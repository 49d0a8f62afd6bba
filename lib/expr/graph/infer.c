/* SPDX-License-Identifier: Apache-2.0 */
/* A tree and what its names are bound to become a typed graph. Statement by
 * statement the nodes below a value are computed in their order, arguments
 * first, so that no depth of nesting is a depth of calls. */
#include "expr/graph/infer.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "expr/graph/graph.h"

#define I32_MAX 2147483647.0

/* -- numbers --------------------------------------------------------------- */

/* -2147483648 is a number, though its digits alone are none of i32. */
static bool is_negative_integer(const struct xl__tree *t,
                                const struct xl__tree_node *n)
{
    return n->kind == XL__T_CALL && n->row == XL__ROW_NONE &&
           n->op == XL__E_NEG &&
           t->node[t->arg[n->first_arg]].kind == XL__T_INTEGER;
}

static unsigned integer(struct xl__infer *in, double value)
{
    if (value > I32_MAX || value < -I32_MAX - 1)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "%.0f does not fit in i32; with a point, %.0f.0, it "
                         "is f32",
                         value, value);
    return xl__infer_const(in, XL__V_I32, value);
}

static unsigned real(struct xl__infer *in, double value)
{
    if (isfinite(value) && isinf((float)value))
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "%g does not fit in f32; for infinity write inf",
                         value);
    return xl__infer_const(in, XL__V_F32, value);
}

/* -- calls ----------------------------------------------------------------- */

static unsigned reduction(struct xl__infer *in, const struct xl__tree_node *n,
                          unsigned arg)
{
    const unsigned n_dims = in->g->node[arg].shape.n_dims;
    unsigned axis[XL_MAX_DIMS], axes = 0;
    if (!xl__infer_has_shape(in, arg))
        return XL__NO_NODE;
    if (n->has_axes && n->n_axes == 0)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "axis=() names no axis; without axis= it is all");
    if (!xl__infer_axes(in, n, n_dims, axis))
        return XL__NO_NODE;
    for (unsigned i = 0; i < n->n_axes; i++)
        axes |= 1u << axis[i];
    return xl__infer_reduce(in, n->op, arg,
                            n->n_axes > 0 ? axes : (1u << n_dims) - 1);
}

/* It has no shape yet: infer_rand.c. */
static unsigned random_numbers(struct xl__infer *in,
                               const struct xl__tree_node *n, unsigned seed)
{
    const struct xl__node *s = &in->g->node[seed];
    struct xl__node want = {.op = n->op, .type = XL__V_F32, .arg = {seed}};
    if ((s->op != XL__E_CONST && s->op != XL__E_SCALAR) ||
        s->type != XL__V_I32)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "a seed is a whole number or a scalar that is bound "
                         "as i32");
    return xl__infer_node(in, &want);
}

static unsigned call(struct xl__infer *in, const struct xl__tree_node *n)
{
    unsigned arg[XL__TREE_ARGS];
    for (unsigned i = 0; i < n->n_args; i++)
        arg[i] = in->value[in->t->arg[n->first_arg + i]];
    if (n->row != XL__ROW_NONE)
        return xl__infer_row(in, n, arg);
    if (n->op == XL__E_RAND || n->op == XL__E_RANDN)
        return random_numbers(in, n, arg[0]);
    if (n->op == XL__E_CAST)
        return xl__infer_as(in, arg[0], n->dtype);
    if (xl__expr_ops[n->op].cls == XL__C_REDUCE)
        return reduction(in, n, arg[0]);
    return xl__infer_map(in, n->op, arg);
}

static unsigned view(struct xl__infer *in, const struct xl__tree_node *n)
{
    const unsigned of = xl__infer_name(in, n->name);
    if (of == XL__NO_NODE)
        return of;
    struct xl__node want = in->g->node[of];
    if (!xl__infer_view(in, n, &want, NULL))
        return XL__NO_NODE;
    return xl__infer_node(in, &want);
}

/* -- statements ------------------------------------------------------------ */

static unsigned compute(struct xl__infer *in, const struct xl__tree_node *n)
{
    in->location = n->location;
    switch (n->kind) {
    case XL__T_INTEGER:
        return integer(in, n->value);
    case XL__T_NUMBER:
        return real(in, n->value);
    case XL__T_BOOL:
        return xl__infer_const(in, XL__V_BOOL, n->value);
    case XL__T_NAME:
        return xl__infer_name(in, n->name);
    case XL__T_VIEW:
        return view(in, n);
    default:
        break;
    }
    if (is_negative_integer(in->t, n))
        return integer(in, -in->t->node[in->t->arg[n->first_arg]].value);
    return call(in, n);
}

/* Mark what the value needs; the first of these nodes. */
static unsigned want_below(struct xl__infer *in, unsigned value)
{
    unsigned first = value, n_open = 1;
    in->is_wanted[value] = 1;
    for (unsigned i = value + 1; i-- > 0 && n_open > 0;) {
        const struct xl__tree_node *n = &in->t->node[i];
        if (!in->is_wanted[i])
            continue;
        n_open--;
        first = i;
        if (n->kind != XL__T_CALL || is_negative_integer(in->t, n))
            continue;
        for (unsigned a = 0; a < n->n_args; a++) {
            unsigned char *arg = &in->is_wanted[in->t->arg[n->first_arg + a]];
            n_open += !*arg;
            *arg = 1;
        }
    }
    return first;
}

static void statement(struct xl__infer *in, const struct xl__statement *s)
{
    for (unsigned i = want_below(in, s->value); i <= s->value; i++) {
        if (!in->is_wanted[i])
            continue;
        in->is_wanted[i] = 0;
        in->value[i] = compute(in, &in->t->node[i]);
        if (in->status != XL_OK)
            return;
    }
    xl__infer_assign(in, s, in->value[s->value]);
}

/* -------------------------------------------------------------------------- */

static bool set_up(struct xl__infer *in)
{
    const struct xl__tree *t = in->t;
    in->symbol = xl__calloc(t->n_names + (size_t)1, sizeof *in->symbol);
    in->part = xl__calloc(XL_EXPR_MAX_BINDINGS, sizeof *in->part);
    in->value = xl__calloc(t->n_nodes + (size_t)1, sizeof *in->value);
    in->is_wanted = xl__calloc(t->n_nodes + (size_t)1, sizeof *in->is_wanted);
    in->is_loose = xl__calloc(XL_EXPR_MAX_NODES, sizeof *in->is_loose);
    return in->symbol && in->part && in->value && in->is_wanted &&
           in->is_loose;
}

static void clean_up(struct xl__infer *in)
{
    free(in->symbol);
    free(in->part);
    free(in->value);
    free(in->is_wanted);
    free(in->is_loose);
}

/* All statements; what comes of them is in symbols and outputs. */
static void run_statements(struct xl__infer *in)
{
    *in->g = (struct xl__graph){.fast_math = in->s->fast_math != 0};
    if (!set_up(in)) {
        XL__WRONG(in, XL_NO_MEMORY, "out of memory");
        return;
    }
    xl__infer_bind(in);
    for (unsigned i = 0; i < in->t->n_statements && in->status == XL_OK; i++)
        statement(in, &in->t->statement[i]);
}

xl_status xl__infer(const struct xl__tree *t, const struct xl__signature *s,
                    struct xl__graph *out, struct xl__error *e)
{
    struct xl__infer in = {.t = t, .s = s, .g = out, .e = e};
    run_statements(&in);
    if (in.status == XL_OK)
        xl__infer_check_outputs(&in);
    if (in.status == XL_OK)
        xl__infer_check_unused(&in);
    if (in.status == XL_OK && xl__graph_prune(out) != XL_OK)
        XL__WRONG(&in, XL_NO_MEMORY, "out of memory");
    if (in.status != XL_OK)
        xl__graph_clear(out);
    clean_up(&in);
    return in.status;
}

xl_status xl__infer_value(const struct xl__tree *t,
                          const struct xl__signature *s, const char *name,
                          struct xl__node *out, struct xl__error *e)
{
    struct xl__graph g;
    struct xl__infer in = {.t = t, .s = s, .g = &g, .e = e};
    run_statements(&in);
    if (in.status == XL_OK)
        xl__infer_assigned(&in, name, out);
    xl__graph_clear(&g);
    clean_up(&in);
    return in.status;
}
