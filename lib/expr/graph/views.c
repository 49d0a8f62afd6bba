/* SPDX-License-Identifier: Apache-2.0 */
/* Views of computed values.
 *
 * A view made by slices, permutations and new axes gives each dimension of the
 * value a range of indices (a box). Such a view of an operation by element is
 * the operation on views of its arguments, down to inputs, whose views cost
 * nothing:
 *
 *     exp(x + b)[2:, ::-1]  ->  exp(x[2:, ::-1] + b[::-1])
 *
 * Reductions, random numbers and values that are stored for other views have
 * views in memory. So has a value that is reshaped, or whose views would take
 * longer to compute than the value takes to be written and read. */
#include "expr/graph/views.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "device/peak_rates.h"
#include "device/time_model.h"
#include "expr/graph/group.h"
#include "expr/graph/print.h"

/* The box of a view in the indices of its value. */
struct box {
    struct xl__shape shape;    /* of the view */
    struct xl__shape of;       /* of the value */
    size_t first[XL_MAX_DIMS]; /* by dimension of the value */
    unsigned dim[XL_MAX_DIMS]; /* by dimension of the view: of the value; or
                                  XL_MAX_DIMS: one element */
    size_t step[XL_MAX_DIMS];  /* by dimension of the view, modulo 2^64 */
};

struct view_lowering {
    const struct xl__graph *from;
    const struct xl__signature *s;
    const struct xl__limits *l;
    struct xl__graph *to;
    unsigned *number; /* in `to`, by node of `from` */
    unsigned *again;  /* of one view: by node of `to` */
    bool *is_below;   /* likewise */
    bool *is_kept;    /* by node of `from`: VIEWs of it stay */
    struct xl__str *why;
};

/* -- boxes ------------------------------------------------------------ */

static void dense_strides(const struct xl__shape *s, size_t *stride)
{
    size_t step = 1;
    for (unsigned d = s->n_dims; d-- > 0;) {
        stride[d] = step;
        step *= s->size[d];
    }
}

/* Does a range of `count` indices from `first` on stay within the size? */
static bool is_within(size_t first, size_t step, size_t count, size_t size)
{
    const size_t length = xl__stride_length(step);
    const size_t room = length == step ? size - 1 - first : first;
    return (count - 1) <= room / length;
}

/* The dimension of the value along which dimension d of the view goes. */
static bool find_dim(const struct xl__node *view, unsigned d,
                     const size_t *stride, struct box *out)
{
    const size_t length = xl__stride_length(view->stride[d]);
    for (unsigned k = 0; k < out->of.n_dims; k++) {
        if (out->of.size[k] == 1 || stride[k] > length)
            continue;
        if (length % stride[k] != 0)
            return false;
        out->dim[d] = k;
        out->step[d] = length / stride[k];
        if (length != view->stride[d])
            out->step[d] = 0 - out->step[d];
        for (unsigned e = 0; e < d; e++)
            if (out->dim[e] == k)
                return false;
        return is_within(out->first[k], out->step[d], view->shape.size[d],
                         out->of.size[k]);
    }
    return false;
}

/* False: the view is not a box. */
static bool find_box(const struct xl__node *view, const struct xl__shape *of,
                     struct box *out)
{
    size_t stride[XL_MAX_DIMS], rest = view->offset;
    *out = (struct box){.shape = view->shape, .of = *of};
    dense_strides(of, stride);
    for (unsigned k = 0; k < of->n_dims; k++) {
        out->first[k] = rest / stride[k];
        rest %= stride[k];
    }
    for (unsigned d = 0; d < view->shape.n_dims; d++) {
        out->dim[d] = XL_MAX_DIMS;
        if (view->shape.size[d] > 1 && !find_dim(view, d, stride, out))
            return false;
    }
    return true;
}

/* Apply a box to a node that broadcasts to the box's value: its shape, and its
 * offset and strides in memory. */
static void apply_box(const struct box *b, struct xl__node *n)
{
    const struct xl__node from = *n;
    const unsigned gap = b->of.n_dims - from.shape.n_dims;
    n->shape = b->shape;
    for (unsigned k = gap; k < b->of.n_dims; k++)
        if (from.shape.size[k - gap] > 1)
            n->offset += b->first[k] * from.stride[k - gap];
    for (unsigned d = 0; d < b->shape.n_dims; d++) {
        const unsigned k = b->dim[d];
        const bool varies =
            k < XL_MAX_DIMS && k >= gap && from.shape.size[k - gap] > 1;
        n->shape.size[d] = varies ? b->shape.size[d] : 1;
        n->stride[d] = varies ? b->step[d] * from.stride[k - gap] : 0;
    }
}

/* -- one value, computed again ---------------------------------------- */

/* Is a view of the node one of its arguments? */
static bool is_passed_on(const struct xl__graph *g, unsigned n)
{
    return xl__expr_ops[g->node[n].op].cls == XL__C_MAP;
}

/* Set is_below for node n of `to` and what views of it are passed on to. */
static void mark_below(struct view_lowering *w, unsigned n)
{
    for (unsigned i = 0; i <= n; i++)
        w->is_below[i] = i == n;
    for (unsigned i = n + 1; i-- > 0;) {
        const struct xl__node *node = &w->to->node[i];
        if (!w->is_below[i] || !is_passed_on(w->to, i))
            continue;
        for (unsigned a = 0; a < xl__expr_ops[node->op].n_args; a++)
            w->is_below[node->arg[a]] = true;
    }
}

/* The box of node n of `to`, whose arguments have theirs. */
static unsigned view_node(struct view_lowering *w, unsigned n,
                          const struct box *b, bool is_top)
{
    struct xl__node node = w->to->node[n];
    if (node.shape.n_dims == 0 && !is_top)
        return n; /* a single value broadcasts to every shape */
    for (unsigned a = 0;
         is_passed_on(w->to, n) && a < xl__expr_ops[node.op].n_args; a++)
        node.arg[a] = w->again[node.arg[a]];
    if (node.op != XL__E_INPUT && node.op != XL__E_VIEW &&
        node.op != XL__E_CONST && node.op != XL__E_SCALAR &&
        !is_passed_on(w->to, n)) {
        node = (struct xl__node){.op = XL__E_VIEW,
                                 .type = node.type,
                                 .shape = node.shape,
                                 .arg = {n},
                                 .location = node.location};
        dense_strides(&node.shape, node.stride);
    }
    apply_box(b, &node);
    return xl__graph_node(w->to, &node);
}

/* The operations of node n of `to` on views of their arguments; UINT_MAX: too
 * many nodes. */
static unsigned view_again(struct view_lowering *w, unsigned n,
                           const struct box *b)
{
    mark_below(w, n);
    for (unsigned i = 0; i <= n; i++) {
        if (!w->is_below[i])
            continue;
        w->again[i] = view_node(w, i, b, i == n);
        if (w->again[i] == UINT_MAX)
            return UINT_MAX;
    }
    return w->again[n];
}

/* -- the decision ----------------------------------------------------- */

/* The views of one value. */
struct viewed {
    unsigned n;
    double elems; /* of all views */
    bool are_boxes;
};

static struct viewed find_views(const struct view_lowering *w, unsigned value)
{
    struct viewed v = {0, 0, true};
    struct box b;
    for (unsigned i = value + 1; i < w->from->n_nodes; i++) {
        const struct xl__node *node = &w->from->node[i];
        if (node->op != XL__E_VIEW || node->arg[0] != value)
            continue;
        v.n++;
        v.elems += (double)xl__shape_elems(&node->shape);
        v.are_boxes =
            v.are_boxes && find_box(node, &w->from->node[value].shape, &b);
    }
    return v;
}

/* Flop of one element of node n of `to`, and the number of its loads. */
static double flop_below(struct view_lowering *w, unsigned n, double *loads)
{
    double flop = 0;
    *loads = 0;
    mark_below(w, n);
    for (unsigned i = 0; i <= n; i++) {
        const struct xl__node *node = &w->to->node[i];
        if (!w->is_below[i])
            continue;
        if (is_passed_on(w->to, i))
            flop += xl__expr_ops[node->op].flop;
        else
            *loads += node->shape.n_dims > 0;
    }
    return flop;
}

/* Is the value of `from`, number n in `to`, stored for its views? */
static bool is_stored(struct view_lowering *w, unsigned value, unsigned n,
                      const struct viewed *v)
{
    static const double ns_per_s = 1e9, bytes = sizeof(float), most_loads = 8;
    const double elems = (double)xl__shape_elems(&w->from->node[value].shape);
    double loads;
    const double flop = flop_below(w, n, &loads);
    const double again =
        fmax(flop * v->elems / xl__group_rate(w->l),
             loads * v->elems * bytes / xl__rate_memory(w->l)) *
        ns_per_s;
    const double kept = xl__launch_ns(w->l) + (elems + v->elems) * bytes /
                                                  xl__rate_memory(w->l) *
                                                  ns_per_s;
    const bool is = !v->are_boxes || loads > most_loads || kept < again;
    struct xl__str what = {0};
    xl__graph_print(w->from, w->s, value, &what);
    xl__str_printf(w->why, "%s is %s for its %u view%s", xl__str_text(&what),
                   is ? "stored" : "computed again", v->n,
                   v->n == 1 ? "" : "s");
    if (!v->are_boxes)
        xl__str_add(w->why, ", which a slice of its axes does not give. ");
    else
        xl__str_printf(w->why,
                       ": %.3g us to write and read it, %.3g us to compute "
                       "it from %.0f loads. ",
                       kept * 1e-3, again * 1e-3, loads);
    xl__str_clear(&what);
    return is;
}

/* Decide for the value of a node of `from` that is in `to`. */
static void decide(struct view_lowering *w, unsigned value)
{
    const unsigned n = w->number[value];
    const struct viewed v = find_views(w, value);
    w->is_kept[value] = v.n > 0 && is_passed_on(w->to, n) &&
                        (w->l == NULL || is_stored(w, value, n, &v));
}

/* -- the graph -------------------------------------------------------- */

/* The view in `to` of node n of `to`. */
static unsigned lower_view(struct view_lowering *w,
                           const struct xl__node *view, unsigned n)
{
    struct xl__node node = *view;
    struct box b;
    if (!w->is_kept[view->arg[0]] &&
        find_box(view, &w->from->node[view->arg[0]].shape, &b)) {
        const unsigned again = view_again(w, n, &b);
        if (again != UINT_MAX)
            return again;
    }
    node.arg[0] = n;
    return xl__graph_node(w->to, &node);
}

/* Memory for a GATHER: an INPUT, or a VIEW of what is stored. */
static unsigned as_memory(struct view_lowering *w, unsigned n)
{
    const struct xl__node *node = &w->to->node[n];
    struct xl__node view = {.op = XL__E_VIEW,
                            .type = node->type,
                            .shape = node->shape,
                            .arg = {n},
                            .location = node->location};
    if (node->op == XL__E_INPUT || node->op == XL__E_VIEW)
        return n;
    dense_strides(&view.shape, view.stride);
    return xl__graph_node(w->to, &view);
}

static unsigned lower_node(struct view_lowering *w, unsigned i)
{
    struct xl__node node = w->from->node[i];
    if (node.op == XL__E_VIEW)
        return lower_view(w, &node, w->number[node.arg[0]]);
    for (unsigned a = 0; a < xl__expr_ops[node.op].n_args; a++)
        node.arg[a] = w->number[node.arg[a]];
    if (node.op == XL__E_GATHER)
        node.arg[XL__GATHER_SOURCE] =
            as_memory(w, node.arg[XL__GATHER_SOURCE]);
    if (node.op == XL__E_GATHER && node.arg[XL__GATHER_SOURCE] == UINT_MAX)
        return UINT_MAX;
    return xl__graph_node(w->to, &node);
}

static bool allocate(struct view_lowering *w)
{
    const size_t n = (size_t)w->from->n_nodes + 1, most = XL_EXPR_MAX_NODES;
    w->number = xl__calloc(n, sizeof *w->number);
    w->is_kept = xl__calloc(n, sizeof *w->is_kept);
    w->again = xl__calloc(most, sizeof *w->again);
    w->is_below = xl__calloc(most, sizeof *w->is_below);
    return w->number && w->is_kept && w->again && w->is_below &&
           xl__grow(&w->to->output, &w->to->cap_outputs, w->from->n_outputs,
                    sizeof *w->to->output);
}

bool xl__graph_has_views(const struct xl__graph *g)
{
    for (unsigned i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == XL__E_VIEW)
            return true;
    return false;
}

xl_status xl__graph_lower_views(const struct xl__graph *from,
                                const struct xl__signature *s,
                                const struct xl__limits *l,
                                struct xl__graph *out, struct xl__str *why)
{
    xl_status status = XL_OK;
    struct view_lowering w = {
        .from = from, .s = s, .l = l, .to = out, .why = why};
    out->fast_math = from->fast_math;
    out->is_double = from->is_double;
    out->is_long = from->is_long;
    if (!allocate(&w))
        TRY(XL_NO_MEMORY);
    for (unsigned i = 0; i < from->n_nodes; i++) {
        w.number[i] = lower_node(&w, i);
        if (w.number[i] == UINT_MAX)
            TRY(XL_NO_MEMORY);
        decide(&w, i);
    }
    for (unsigned i = 0; i < from->n_outputs; i++) {
        out->output[i] = from->output[i];
        out->output[i].node = w.number[from->output[i].node];
    }
    out->n_outputs = from->n_outputs;
    TRY(xl__graph_prune(out));
fail:
    free(w.number);
    free(w.is_kept);
    free(w.again);
    free(w.is_below);
    return status;
}
