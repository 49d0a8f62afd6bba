/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: statements, names, calls and row functions.
 *
 * Statement by statement, the tree nodes that the value depends on are marked,
 * and then computed in the order of the tree, arguments first. Since this is a
 * loop and not a recursion, the depth of an expression does not use the stack.
 *
 * Row functions (softmax, layer_norm, ...) become primitive nodes. Fusion
 * makes one kernel of them without a special case. */
#include "expr/graph/infer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "expr/graph/graph.h"
#include "expr/graph/infer_types.h"
#include "expr/graph/infer_views.h"
#include "expr/language/functions.h"

/* -- names ------------------------------------------------------------ */

/* The nearest other name that is bound, or with `assigned` also one that is
 * assigned; NULL when none is near. */
static const char *nearest_name(const struct xl__infer *in, const char *name,
                                bool assigned)
{
    const size_t len = strlen(name);
    size_t best = len / 2 < 2 ? len / 2 + 1 : 3;
    const char *out = NULL;
    const unsigned n = in->s->n + (assigned ? in->t->n_names : 0);
    for (unsigned i = 0; i < n; i++) {
        const unsigned of_tree = i - in->s->n; /* valid for i >= in->s->n */
        const bool is_bound = i < in->s->n;
        if (!is_bound && in->symbol[of_tree].value == XL__NO_NODE)
            continue;
        const char *other = is_bound ? in->s->b[i].name : in->t->name[of_tree];
        const size_t at = xl__edit_distance(other, strlen(other), name, len);
        if (at >= best || at == 0)
            continue;
        best = at;
        out = other;
    }
    return out;
}

static bool is_assigned(const struct xl__tree *t, unsigned name)
{
    for (unsigned i = 0; i < t->n_statements; i++)
        if (t->statement[i].name == name)
            return true;
    return false;
}

static unsigned fail_unknown_name(struct xl__infer *in, unsigned name)
{
    const char *text = in->t->name[name];
    const char *near = nearest_name(in, text, true);
    if (is_assigned(in->t, name))
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is not bound, and is read here before it is assigned",
            text);
    return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                          near != NULL
                              ? "'%s' is neither bound nor assigned; did "
                                "you mean '%s'?"
                              : "'%s' is neither bound nor assigned",
                          text, near);
}

static unsigned read_name(struct xl__infer *in, unsigned name)
{
    struct xl__symbol *symbol = &in->symbol[name];
    if (symbol->is_sliced)
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is read after slices of it were assigned: read "
            "it before, or assign to a temporary and read that",
            in->t->name[name]);
    if (symbol->value == XL__NO_NODE && symbol->binding == UINT_MAX)
        return fail_unknown_name(in, name);
    symbol->is_used = true;
    if (symbol->value == XL__NO_NODE)
        symbol->value = xl__infer_binding(in, symbol->binding);
    return symbol->value;
}

static void bind_names(struct xl__infer *in)
{
    for (unsigned i = 0; i < in->t->n_names; i++) {
        struct xl__symbol *symbol = &in->symbol[i];
        *symbol =
            (struct xl__symbol){UINT_MAX, XL__NO_NODE, UINT_MAX, false, false};
        for (unsigned b = 0; b < in->s->n; b++)
            if (strcmp(in->s->b[b].name, in->t->name[i]) == 0)
                symbol->binding = b;
    }
}

/* -- checks after the last statement ---------------------------------- */

/* Every binding is used. An unused one is most often misspelt; the other half
 * of that error, an unknown name, is reported first. */
static void check_unused(struct xl__infer *in)
{
    for (unsigned b = 0; b < in->s->n && in->status == XL_OK; b++) {
        bool is_used = false;
        for (unsigned i = 0; i < in->t->n_names; i++)
            is_used = is_used ||
                      (in->symbol[i].binding == b && in->symbol[i].is_used);
        in->location = 0;
        if (!is_used)
            XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                           "'%s' is bound, and the expression does not use it",
                           in->s->b[b].name);
    }
}

static void check_outputs(struct xl__infer *in)
{
    const struct xl__tree *t = in->t;
    if (in->g->n_outputs > 0 || t->n_statements == 0)
        return;
    const struct xl__statement *last = &t->statement[t->n_statements - 1];
    const char *near = nearest_name(in, t->name[last->name], false);
    in->location = last->location;
    XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                   near ? "the expression has no output: '%s' is not bound; "
                          "did you mean '%s'?"
                        : "the expression has no output: '%s' is not bound",
                   t->name[last->name], near);
}

static void find_assigned(struct xl__infer *in, const char *name,
                          struct xl__node *out)
{
    for (unsigned i = 0; i < in->t->n_names; i++) {
        const struct xl__symbol *symbol = &in->symbol[i];
        if (strcmp(in->t->name[i], name) != 0 || !is_assigned(in->t, i) ||
            symbol->value == XL__NO_NODE || symbol->is_sliced)
            continue;
        *out = in->g->node[symbol->value];
        out->dtype = xl__wide_dtype(in->g, out->type);
        return;
    }
    in->location = 0;
    XL__INFER_FAIL(in, XL_BAD_ARGUMENT, "'%s' is not assigned as a whole",
                   name);
}

/* -- row functions ---------------------------------------------------- */

static unsigned add_map2(struct xl__infer *in, enum xl__expr_op op, unsigned a,
                         unsigned b)
{
    return xl__infer_map(in, op, (const unsigned[]){a, b});
}

static unsigned add_map1(struct xl__infer *in, enum xl__expr_op op, unsigned a)
{
    return xl__infer_map(in, op, &a);
}

/* At least `least`; integers, which are finite, remain as they are. */
static unsigned add_least(struct xl__infer *in, unsigned x, double least)
{
    if (x == XL__NO_NODE || in->g->node[x].type != XL__V_F32)
        return x;
    return add_map2(in, XL__E_MAX, x, xl__infer_const(in, XL__V_F32, least));
}

/* x - max(x) keeps exp() in range, and the sum is at least 1. Where a row is
 * all -inf, x is -inf below a finite maximum, the sum is 0, and 0 or -inf
 * results. */
static unsigned expand_softmax(struct xl__infer *in, unsigned x, unsigned axes,
                               bool is_log)
{
    static const double below_any_sum = 0.5;
    const unsigned top =
        add_least(in, xl__infer_reduce(in, XL__E_RMAX, x, axes),
                  in->g->is_double ? -DBL_MAX : -(double)FLT_MAX);
    const unsigned below = add_map2(in, XL__E_SUB, x, top);
    const unsigned e = add_map1(in, XL__E_EXP, below);
    const unsigned sum =
        add_least(in, xl__infer_reduce(in, XL__E_SUM, e, axes), below_any_sum);
    if (is_log)
        return add_map2(in, XL__E_SUB, below, add_map1(in, XL__E_LOG, sum));
    return add_map2(in, XL__E_DIV, e, sum);
}

/* (x - mean) / sqrt(var + eps) * gain + bias */
static unsigned expand_layer_norm(struct xl__infer *in, const unsigned *arg,
                                  unsigned axes)
{
    const unsigned x = arg[0], gain = arg[1], bias = arg[2], eps = arg[3];
    const unsigned mean = xl__infer_reduce(in, XL__E_MEAN, x, axes);
    const unsigned var = xl__infer_reduce(in, XL__E_VAR, x, axes);
    const unsigned scale =
        add_map1(in, XL__E_RSQRT, add_map2(in, XL__E_ADD, var, eps));
    const unsigned unit =
        add_map2(in, XL__E_MUL, add_map2(in, XL__E_SUB, x, mean), scale);
    return add_map2(in, XL__E_ADD, add_map2(in, XL__E_MUL, unit, gain), bias);
}

/* x / sqrt(mean(x^2) + eps) * gain */
static unsigned expand_rms_norm(struct xl__infer *in, const unsigned *arg,
                                unsigned axes)
{
    const unsigned x = xl__infer_as(in, arg[0], XL_F32);
    const unsigned gain = arg[1], eps = arg[2];
    const unsigned mean =
        xl__infer_reduce(in, XL__E_MEAN, add_map2(in, XL__E_MUL, x, x), axes);
    const unsigned scale =
        add_map1(in, XL__E_RSQRT, add_map2(in, XL__E_ADD, mean, eps));
    return add_map2(in, XL__E_MUL, add_map2(in, XL__E_MUL, x, scale), gain);
}

static bool is_softmax(enum xl__row_function row)
{
    return row == XL__ROW_SOFTMAX || row == XL__ROW_LOG_SOFTMAX;
}

/* Check layer_norm and rms_norm: eps is a single number; gain and bias do not
 * broadcast x to a larger shape. */
static bool check_norm(struct xl__infer *in, const struct xl__tree_node *call,
                       const unsigned *arg)
{
    const struct xl__node *node = in->g->node;
    const unsigned eps = call->n_args - 1;
    const unsigned *place = &in->t->arg[call->first_arg];
    struct xl__shape s;
    for (unsigned i = 1; i <= eps && in->status == XL_OK; i++) {
        char a[XL__SHAPE_TEXT], b[XL__SHAPE_TEXT];
        const struct xl__shape *own = &node[arg[i]].shape;
        in->location = in->t->node[place[i]].location;
        if (i == eps && own->n_dims > 0)
            XL__INFER_FAIL(in, XL_BAD_SHAPE,
                           "eps is a single number and has shape %s here",
                           xl__shape_text(own, a));
        else if (xl__infer_broadcast(in, (const unsigned[]){arg[0], arg[i]}, 2,
                                     &s) &&
                 xl__shape_elems(&s) != xl__shape_elems(&node[arg[0]].shape))
            XL__INFER_FAIL(in, XL_BAD_SHAPE,
                           "shape %s does not fit rows of shape %s",
                           xl__shape_text(own, a),
                           xl__shape_text(&node[arg[0]].shape, b));
    }
    in->location = call->location;
    return in->status == XL_OK;
}

static unsigned expand_row_function(struct xl__infer *in,
                                    const struct xl__tree_node *call,
                                    const unsigned *arg)
{
    const unsigned n_dims = in->g->node[arg[0]].shape.n_dims;
    unsigned axis[XL_MAX_DIMS], axes = 0;
    if (!xl__infer_has_shape(in, arg[0]))
        return XL__NO_NODE;
    if (n_dims == 0)
        return XL__INFER_FAIL(in, XL_BAD_SHAPE,
                              "a row function requires at least one axis; "
                              "this is a single value");
    if (!xl__infer_axes(in, call, n_dims, axis) ||
        (!is_softmax(call->row) && !check_norm(in, call, arg)))
        return XL__NO_NODE;
    for (unsigned i = 0; i < call->n_axes; i++)
        axes |= 1u << axis[i];
    if (!call->has_axes)
        axes = 1u << (n_dims - 1);
    if (call->row == XL__ROW_LAYER_NORM)
        return expand_layer_norm(in, arg, axes);
    if (call->row == XL__ROW_RMS_NORM)
        return expand_rms_norm(in, arg, axes);
    return expand_softmax(in, arg[0], axes, call->row == XL__ROW_LOG_SOFTMAX);
}

#define I32_MAX 2147483647.0

/* -- numbers ---------------------------------------------------------- */

/* -2147483648 is an i32, although 2147483648 is not. */
static bool is_negative_integer(const struct xl__tree *t,
                                const struct xl__tree_node *n)
{
    return n->kind == XL__T_CALL && n->row == XL__ROW_NONE &&
           n->op == XL__E_NEG &&
           t->node[t->arg[n->first_arg]].kind == XL__T_INTEGER;
}

static unsigned add_integer(struct xl__infer *in, double value)
{
    if (!in->g->is_long && (value > I32_MAX || value < -I32_MAX - 1))
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "%.0f does not fit in i32: write %.0f.0 for f32, or bind or cast "
            "to i64",
            value, value);
    return xl__infer_const(in, XL__V_I32, value);
}

static unsigned add_f32(struct xl__infer *in, double value)
{
    if (!in->g->is_double && isfinite(value) && isinf((float)value))
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                              "%g does not fit in f32; for infinity write inf",
                              value);
    return xl__infer_const(in, XL__V_F32, value);
}

/* -- calls ------------------------------------------------------------ */

static unsigned infer_reduction(struct xl__infer *in,
                                const struct xl__tree_node *n,
                                enum xl__expr_op op, unsigned arg)
{
    const unsigned n_dims = in->g->node[arg].shape.n_dims;
    unsigned axis[XL_MAX_DIMS], axes = 0;
    if (!xl__infer_has_shape(in, arg))
        return XL__NO_NODE;
    if (n->has_axes && n->n_axes == 0)
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "axis=() names no axis; without axis= it is all");
    if (!xl__infer_axes(in, n, n_dims, axis))
        return XL__NO_NODE;
    for (unsigned i = 0; i < n->n_axes; i++)
        axes |= 1u << axis[i];
    return xl__infer_reduce(in, op, arg,
                            n->n_axes > 0 ? axes : (1u << n_dims) - 1);
}

/* A rand() has no shape yet: see infer_types.c. */
static unsigned infer_random(struct xl__infer *in,
                             const struct xl__tree_node *n, unsigned seed)
{
    const struct xl__node *s = &in->g->node[seed];
    struct xl__node spec = {.op = n->op, .type = XL__V_F32, .arg = {seed}};
    if ((s->op != XL__E_CONST && s->op != XL__E_SCALAR) ||
        s->type != XL__V_I32)
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "a seed is a whole number or a scalar that is bound as i32");
    return xl__infer_node(in, &spec);
}

/* As rand(), it has no shape yet; the axis may be negative until it has. */
static unsigned infer_index(struct xl__infer *in, unsigned axis)
{
    const struct xl__node *a = &in->g->node[axis];
    struct xl__node spec = {
        .op = XL__E_INDEX, .type = XL__V_I32, .arg = {axis}};
    if (a->op != XL__E_CONST || a->type != XL__V_I32)
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                              "index takes an axis, a whole number: index(0), "
                              "or index(-1) for the last one");
    return xl__infer_node(in, &spec);
}

static unsigned infer_call(struct xl__infer *in, const struct xl__tree_node *n)
{
    unsigned arg[XL__TREE_ARGS];
    for (unsigned i = 0; i < n->n_args; i++)
        arg[i] = in->value[in->t->arg[n->first_arg + i]];
    if (n->row == XL__ROW_STD)
        return add_map1(in, XL__E_SQRT,
                        infer_reduction(in, n, XL__E_VAR, arg[0]));
    if (n->row >= XL__ROW_CONCAT)
        return xl__infer_pieces(in, n, arg);
    if (n->row != XL__ROW_NONE)
        return expand_row_function(in, n, arg);
    if (n->op == XL__E_RAND || n->op == XL__E_RANDN)
        return infer_random(in, n, arg[0]);
    if (n->op == XL__E_INDEX)
        return infer_index(in, arg[0]);
    if (n->op == XL__E_CAST)
        return xl__infer_as(in, arg[0], n->dtype);
    if (n->op == XL__E_GATHER)
        return xl__infer_gather(in, n, arg[0], arg[1]);
    if (xl__expr_ops[n->op].cls == XL__C_REDUCE)
        return infer_reduction(in, n, n->op, arg[0]);
    return xl__infer_map(in, n->op, arg);
}

/* -- statements ------------------------------------------------------- */

static unsigned infer_tree_node(struct xl__infer *in,
                                const struct xl__tree_node *n)
{
    in->location = n->location;
    switch (n->kind) {
    case XL__T_INTEGER:
        return add_integer(in, n->value);
    case XL__T_NUMBER:
        return add_f32(in, n->value);
    case XL__T_BOOL:
        return xl__infer_const(in, XL__V_BOOL, n->value);
    case XL__T_NAME:
        return read_name(in, n->name);
    case XL__T_VIEW:
        return xl__infer_view(in, n, in->value[in->t->arg[n->first_arg]]);
    default:
        break;
    }
    if (is_negative_integer(in->t, n))
        return add_integer(in, -in->t->node[in->t->arg[n->first_arg]].value);
    return infer_call(in, n);
}

/* Mark the tree nodes that the value depends on; returns the first of them. */
static unsigned mark_needed(struct xl__infer *in, unsigned value)
{
    unsigned first = value, n_open = 1;
    in->is_needed[value] = 1;
    for (unsigned i = value + 1; i-- > 0 && n_open > 0;) {
        const struct xl__tree_node *n = &in->t->node[i];
        if (!in->is_needed[i])
            continue;
        n_open--;
        first = i;
        if (is_negative_integer(in->t, n))
            continue; /* other leaves have no arguments */
        for (unsigned a = 0; a < n->n_args; a++) {
            unsigned char *arg = &in->is_needed[in->t->arg[n->first_arg + a]];
            n_open += !*arg;
            *arg = 1;
        }
    }
    return first;
}

static void infer_statement(struct xl__infer *in,
                            const struct xl__statement *s)
{
    for (unsigned i = mark_needed(in, s->value); i <= s->value; i++) {
        if (!in->is_needed[i])
            continue;
        in->is_needed[i] = 0;
        in->value[i] = infer_tree_node(in, &in->t->node[i]);
        if (in->status != XL_OK)
            return;
    }
    xl__infer_assign(in, s, in->value[s->value]);
}

static bool allocate_state(struct xl__infer *in)
{
    const struct xl__tree *t = in->t;
    in->symbol = xl__calloc(t->n_names + (size_t)1, sizeof *in->symbol);
    in->region = xl__calloc(t->n_statements + (size_t)1, sizeof *in->region);
    in->value = xl__calloc(t->n_nodes + (size_t)1, sizeof *in->value);
    in->is_needed = xl__calloc(t->n_nodes + (size_t)1, sizeof *in->is_needed);
    return in->symbol && in->region && in->value && in->is_needed;
}

static void free_state(struct xl__infer *in)
{
    free(in->symbol);
    free(in->region);
    free(in->value);
    free(in->is_needed);
}

/* Is a bound name or a cast of this type? */
static bool has_type(const struct xl__infer *in, xl_dtype dtype)
{
    bool has = false;
    for (unsigned i = 0; i < in->s->n; i++)
        has = has || in->s->b[i].dtype == dtype;
    for (unsigned i = 0; i < in->t->n_nodes; i++)
        has = has || (in->t->node[i].kind == XL__T_CALL &&
                      in->t->node[i].op == XL__E_CAST &&
                      in->t->node[i].dtype == dtype);
    return has;
}

/* Infer all statements; the results are in symbols and outputs. */
static void infer_statements(struct xl__infer *in)
{
    *in->g = (struct xl__graph){.fast_math = in->s->fast_math != 0,
                                .is_double = has_type(in, XL_F64),
                                .is_long = has_type(in, XL_I64) ||
                                           has_type(in, XL_U32)};
    if (!allocate_state(in)) {
        XL__INFER_FAIL(in, XL_NO_MEMORY, "out of memory");
        return;
    }
    bind_names(in);
    for (unsigned i = 0; i < in->t->n_statements && in->status == XL_OK; i++)
        infer_statement(in, &in->t->statement[i]);
}

/* Nothing is computed for an output without elements; and what has elements
 * depends on no value that has none. */
static void drop_empty_outputs(struct xl__graph *g)
{
    unsigned n = 0;
    for (unsigned o = 0; o < g->n_outputs; o++)
        if (xl__shape_elems(&g->output[o].shape) > 0)
            g->output[n++] = g->output[o];
    g->n_outputs = n;
}

xl_status xl__infer(const struct xl__tree *t, const struct xl__signature *s,
                    struct xl__graph *out, struct xl__error *e)
{
    struct xl__infer in = {.t = t, .s = s, .g = out, .e = e};
    infer_statements(&in);
    if (in.status == XL_OK)
        check_outputs(&in);
    if (in.status == XL_OK)
        check_unused(&in);
    if (in.status == XL_OK)
        drop_empty_outputs(out);
    if (in.status == XL_OK && xl__graph_prune(out) != XL_OK)
        XL__INFER_FAIL(&in, XL_NO_MEMORY, "out of memory");
    if (in.status != XL_OK)
        xl__graph_clear(out);
    free_state(&in);
    return in.status;
}

xl_status xl__infer_value(const struct xl__tree *t,
                          const struct xl__signature *s, const char *name,
                          struct xl__node *out, struct xl__error *e)
{
    struct xl__graph g;
    struct xl__infer in = {.t = t, .s = s, .g = &g, .e = e};
    infer_statements(&in);
    if (in.status == XL_OK)
        find_assigned(&in, name, out);
    xl__graph_clear(&g);
    free_state(&in);
    return in.status;
}
