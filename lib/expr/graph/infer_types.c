/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: types and shapes of single nodes.
 *
 * Types: bool < i32 < f32. The arguments of an operation are converted to the
 * highest type among them, or to the one that the operation requires (enum
 * xl__result).
 *
 * Shapes: NumPy's broadcasting. Shapes are aligned at the last axis; sizes are
 * equal, or one of them is 1.
 *
 * rand() and index() are written without a shape. They take that of the tensor
 * with which they are combined, or to which they are assigned. Until then the
 * nodes that depend on them are `unshaped`: they are single values, and are
 * built again around a rand() with a shape when one is known. */
#include "expr/graph/infer_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "expr/graph/graph.h"
#include "expr/graph/infer.h"
#include "expr/language/functions.h"

/* -- shapes ----------------------------------------------------------- */

/* The bytes of a shape's elements must fit in a size_t for the largest element
 * type. */
enum { MAX_ELEM_BYTES = 8 };

const char *xl__shape_text(const struct xl__shape *s,
                           char text[XL__SHAPE_TEXT])
{
    size_t len = 1;
    text[0] = '(';
    for (unsigned d = 0; d < s->n_dims; d++)
        len += (size_t)snprintf(text + len, XL__SHAPE_TEXT - len, "%s%zu",
                                d > 0 ? ", " : "", s->size[d]);
    snprintf(text + len, XL__SHAPE_TEXT - len, s->n_dims == 1 ? ",)" : ")");
    return text;
}

bool xl__infer_fits(struct xl__infer *in, const struct xl__shape *s)
{
    size_t bytes = MAX_ELEM_BYTES;
    for (unsigned d = 0; d < s->n_dims; d++) {
        char text[XL__SHAPE_TEXT];
        if (xl__mul(bytes, s->size[d], &bytes))
            continue;
        XL__INFER_FAIL(in, XL_OVERFLOW,
                       "shape %s has too many elements to count in 64 bits",
                       xl__shape_text(s, text));
        return false;
    }
    return true;
}

static bool broadcast_shape(struct xl__shape *to, const struct xl__shape *by)
{
    while (to->n_dims < by->n_dims) {
        for (unsigned d = to->n_dims++; d > 0; d--)
            to->size[d] = to->size[d - 1];
        to->size[0] = 1;
    }
    size_t *size = to->size + (to->n_dims - by->n_dims);
    for (unsigned d = 0; d < by->n_dims; d++) {
        if (size[d] != by->size[d] && size[d] != 1 && by->size[d] != 1)
            return false;
        size[d] = size[d] == 1 ? by->size[d] : size[d];
    }
    return true;
}

bool xl__infer_broadcast(struct xl__infer *in, const unsigned *node,
                         unsigned n, struct xl__shape *out)
{
    *out = (struct xl__shape){0};
    for (unsigned i = 0; i < n; i++) {
        const struct xl__shape *s = &in->g->node[node[i]].shape;
        const struct xl__shape before = *out;
        char a[XL__SHAPE_TEXT], b[XL__SHAPE_TEXT];
        if (broadcast_shape(out, s))
            continue;
        XL__INFER_FAIL(
            in, XL_BAD_SHAPE,
            "shapes %s and %s do not broadcast: from the last axis on, "
            "sizes are equal or one of them is 1",
            xl__shape_text(&before, a), xl__shape_text(s, b));
        return false;
    }
    return xl__infer_fits(in, out);
}

/* The index of an axis as written: negative ones count from the end. */
static bool find_axis(struct xl__infer *in, int axis, unsigned n_dims,
                      int *from_first)
{
    *from_first = axis < 0 ? axis + (int)n_dims : axis;
    if (*from_first >= 0 && *from_first < (int)n_dims)
        return true;
    XL__INFER_FAIL(in, XL_BAD_SHAPE,
                   n_dims > 0 ? "axis %d is out of range: axes are 0 to %d, "
                                "or -1 to -%u from the last"
                              : "axis %d is out of range: a single value has "
                                "none",
                   axis, (int)n_dims - 1, n_dims);
    return false;
}

bool xl__infer_axes(struct xl__infer *in, const struct xl__tree_node *call,
                    unsigned n_dims, unsigned out[XL_MAX_DIMS])
{
    unsigned seen = 0;
    for (unsigned i = 0; i < call->n_axes; i++) {
        const int axis = call->axes[i];
        int from_first;
        if (!find_axis(in, axis, n_dims, &from_first))
            return false;
        if (seen >> from_first & 1) {
            XL__INFER_FAIL(in, XL_BAD_ARGUMENT, "axis %d is named twice",
                           axis);
            return false;
        }
        seen |= 1u << from_first;
        out[i] = (unsigned)from_first;
    }
    return true;
}

/* -- nodes ------------------------------------------------------------ */

/* An index along axes is an i32. */
#define MAX_INDEX 0x7fffffff

const char *xl__vtype_name(const struct xl__graph *g, enum xl__vtype type)
{
    return xl_dtype_name(xl__wide_dtype(g, type));
}

unsigned xl__infer_node(struct xl__infer *in, struct xl__node *spec)
{
    if (in->status != XL_OK)
        return XL__NO_NODE;
    spec->location = in->location;
    const unsigned node = xl__graph_node(in->g, spec);
    if (node == XL__NO_NODE && in->g->n_nodes >= XL_EXPR_MAX_NODES)
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                              "more than %d operations; split the expression",
                              XL_EXPR_MAX_NODES);
    if (node == XL__NO_NODE)
        return XL__INFER_FAIL(in, XL_NO_MEMORY, "out of memory");
    return node;
}

unsigned xl__infer_const(struct xl__infer *in, enum xl__vtype type,
                         double value)
{
    struct xl__node spec = {.op = XL__E_CONST, .type = type, .value = value};
    return xl__infer_node(in, &spec);
}

/* -- conversions ------------------------------------------------------ */

static unsigned add_cast(struct xl__infer *in, unsigned node,
                         enum xl__vtype type, xl_dtype dtype)
{
    if (node == XL__NO_NODE || (in->g->node[node].type == type &&
                                dtype == xl__wide_dtype(in->g, type)))
        return node;
    struct xl__node spec = {.op = XL__E_CAST,
                            .type = type,
                            .arg = {node},
                            .shape = in->g->node[node].shape,
                            .dtype = dtype};
    return xl__infer_node(in, &spec);
}

static unsigned compare_with_zero(struct xl__infer *in, unsigned node)
{
    const enum xl__vtype type = in->g->node[node].type;
    if (type == XL__V_BOOL)
        return node;
    const unsigned zero = xl__infer_const(in, type, 0);
    return xl__infer_map(in, XL__E_NE, (const unsigned[]){node, zero});
}

/* A narrow type is reached from the wide one of its kind, so that each CAST is
 * one step. */
unsigned xl__infer_as(struct xl__infer *in, unsigned node, xl_dtype dtype)
{
    if (in->status != XL_OK)
        return XL__NO_NODE;
    if (dtype == XL_BOOL)
        return compare_with_zero(in, node);
    if (!xl__is_expr_type(dtype))
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "type %s is not supported; supported are " XL__EXPR_TYPES
            " and bool",
            xl_dtype_name(dtype));
    const enum xl__vtype type = xl__register_type(dtype);
    node = add_cast(in, node, type, xl__wide_dtype(in->g, type));
    return add_cast(in, node, type, dtype);
}

static unsigned convert_to(struct xl__infer *in, unsigned node,
                           enum xl__vtype type)
{
    return xl__infer_as(in, node, xl__wide_dtype(in->g, type));
}

/* -- types ------------------------------------------------------------ */

/* The highest type of n arguments, at least `least`. */
static enum xl__vtype common_type(const struct xl__infer *in,
                                  const unsigned *arg, unsigned n,
                                  enum xl__vtype least)
{
    enum xl__vtype type = least;
    for (unsigned i = 0; i < n; i++)
        if (in->g->node[arg[i]].type > type)
            type = in->g->node[arg[i]].type;
    return type;
}

static bool is_integer_power(const struct xl__infer *in, const unsigned *arg)
{
    const struct xl__node *power = &in->g->node[arg[1]];
    return in->g->node[arg[0]].type != XL__V_F32 && power->op == XL__E_CONST &&
           power->type == XL__V_I32 && power->value >= 0;
}

static bool check_bool(struct xl__infer *in, enum xl__expr_op op,
                       unsigned node)
{
    const enum xl__vtype type = in->g->node[node].type;
    if (type == XL__V_BOOL)
        return true;
    XL__INFER_FAIL(
        in, XL_BAD_ARGUMENT,
        "'%s' requires bool and was given %s; compare, as in x != 0",
        xl__expr_ops[op].name, xl__vtype_name(in->g, type));
    return false;
}

/* Operations on bits: of bools, or of integers. A bool beside an integer is
 * most often a comparison that was meant to come last: i & 1 == 0. */
static bool find_bits_type(struct xl__infer *in, enum xl__expr_op op,
                           const unsigned *arg, enum xl__vtype *from,
                           enum xl__vtype *to)
{
    const struct xl__expr_op_info *info = &xl__expr_ops[op];
    bool has_bool = false, has_i32 = false;
    for (unsigned i = 0; i < info->n_args; i++) {
        const enum xl__vtype type = in->g->node[arg[i]].type;
        has_bool = has_bool || type == XL__V_BOOL;
        has_i32 = has_i32 || type == XL__V_I32;
        if (type != XL__V_F32)
            continue;
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "'%s' requires %s and was given f32; compare, as in "
                       "x != 0, or convert, as in cast(x, i32)",
                       info->name,
                       info->result == XL__R_BITS ? "bool or integers"
                                                  : "integers");
        return false;
    }
    *from = *to =
        has_i32 || info->result == XL__R_INT ? XL__V_I32 : XL__V_BOOL;
    if (info->result == XL__R_INT || !has_bool || !has_i32)
        return true;
    XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                   "'%s' was given a bool and an i32; comparisons bind more "
                   "tightly: write (i & 1) == 0",
                   info->name);
    return false;
}

/* In other languages m ^ n of bools is an exclusive or. */
static bool check_power(struct xl__infer *in, const unsigned *arg)
{
    if (in->g->node[arg[0]].type != XL__V_BOOL ||
        in->g->node[arg[1]].type != XL__V_BOOL)
        return true;
    XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                   "'^' is a power and was given bools; an exclusive or is "
                   "xor(x, y)");
    return false;
}

/* The type to which the arguments are converted, and that of the result. The
 * condition of WHERE remains bool. */
static bool find_types(struct xl__infer *in, enum xl__expr_op op,
                       const unsigned *arg, enum xl__vtype *from,
                       enum xl__vtype *to)
{
    const unsigned n = xl__expr_ops[op].n_args;
    switch (xl__expr_ops[op].result) {
    case XL__R_FLOAT:
        *from = *to = XL__V_F32;
        return true;
    case XL__R_SAME:
        *from = *to = common_type(in, arg, n, XL__V_I32);
        return true;
    case XL__R_INDEX:
    case XL__R_BOOL:
        *from = common_type(in, arg, n, XL__V_I32);
        *to = xl__expr_ops[op].result == XL__R_BOOL ? XL__V_BOOL : XL__V_I32;
        return true;
    case XL__R_TEST:
        *from = XL__V_F32;
        *to = XL__V_BOOL;
        return true;
    case XL__R_LOGIC:
        *from = *to = XL__V_BOOL;
        for (unsigned i = 0; i < n; i++)
            if (!check_bool(in, op, arg[i]))
                return false;
        return true;
    case XL__R_BITS:
    case XL__R_INT:
        return find_bits_type(in, op, arg, from, to);
    default:
        break;
    }
    *from = *to = XL__V_F32; /* POW */
    if (op == XL__E_POW && !check_power(in, arg))
        return false;
    if (op == XL__E_POW && is_integer_power(in, arg))
        *from = *to = XL__V_I32;
    else if (op == XL__E_WHERE)
        *from = *to = common_type(in, arg + 1, 2, XL__V_BOOL);
    return op != XL__E_WHERE || check_bool(in, op, arg[0]);
}

/* -- operations ------------------------------------------------------- */

/* Give unshaped arguments the shape of the result. */
static bool set_rand_shapes(struct xl__infer *in, unsigned *arg, unsigned n,
                            const struct xl__shape *shape)
{
    for (unsigned i = 0; i < n && shape->n_dims > 0; i++)
        if (in->status == XL_OK && in->g->node[arg[i]].is_unshaped)
            arg[i] = xl__infer_set_rand_shape(in, arg[i], shape);
    return in->status == XL_OK;
}

unsigned xl__infer_map(struct xl__infer *in, enum xl__expr_op op,
                       const unsigned *arg)
{
    const unsigned n = xl__expr_ops[op].n_args;
    enum xl__vtype from;
    if (in->status != XL_OK)
        return XL__NO_NODE;
    if (op == XL__E_BITNOT && in->g->node[arg[0]].type == XL__V_BOOL)
        op = XL__E_NOT;
    struct xl__node spec = {.op = op};
    if (!find_types(in, op, arg, &from, &spec.type) ||
        !xl__infer_broadcast(in, arg, n, &spec.shape))
        return XL__NO_NODE;
    for (unsigned i = 0; i < n; i++)
        spec.arg[i] = op == XL__E_WHERE && i == 0
                          ? arg[i]
                          : convert_to(in, arg[i], from);
    if (in->status != XL_OK || !set_rand_shapes(in, spec.arg, n, &spec.shape))
        return XL__NO_NODE;
    return xl__infer_node(in, &spec);
}

/* The number of elements that are reduced to one result. */
static size_t n_reduced(const struct xl__shape *s, unsigned axes)
{
    size_t out = 1;
    for (unsigned d = 0; d < s->n_dims; d++)
        out *= axes >> d & 1 ? s->size[d] : 1;
    return out;
}

/* The reduction of no elements, of a type and shape; as NumPy's. */
static unsigned reduce_nothing(struct xl__infer *in,
                               const struct xl__node *reduction)
{
    struct xl__node out = {
        .op = XL__E_CONST, .type = reduction->type, .shape = reduction->shape};
    switch (reduction->op) {
    case XL__E_SUM:
    case XL__E_NORM2:
    case XL__E_ANY:
        break;
    case XL__E_PROD:
    case XL__E_ALL:
        out.value = 1;
        break;
    case XL__E_MEAN:
    case XL__E_VAR:
        out.value = NAN;
        break;
    case XL__E_LOGSUMEXP:
        out.value = -INFINITY;
        break;
    default:
        return XL__INFER_FAIL(in, XL_BAD_SHAPE,
                              "%s of no elements has no value",
                              xl__expr_ops[reduction->op].name);
    }
    return xl__infer_node(in, &out);
}

unsigned xl__infer_reduce(struct xl__infer *in, enum xl__expr_op op,
                          unsigned arg, unsigned axes)
{
    struct xl__node spec = {.op = op, .axes = axes};
    enum xl__vtype from;
    if (in->status != XL_OK || !find_types(in, op, &arg, &from, &spec.type))
        return XL__NO_NODE;
    spec.shape = in->g->node[arg].shape;
    if (xl__expr_ops[op].result == XL__R_INDEX &&
        n_reduced(&spec.shape, axes) > MAX_INDEX)
        return XL__INFER_FAIL(
            in, XL_BAD_SHAPE,
            "%s over %zu elements: an index is an i32, which ends at %d",
            xl__expr_ops[op].name, n_reduced(&spec.shape, axes), MAX_INDEX);
    const bool is_empty = n_reduced(&spec.shape, axes) == 0;
    for (unsigned d = 0; d < spec.shape.n_dims; d++)
        spec.shape.size[d] = axes >> d & 1 ? 1 : spec.shape.size[d];
    if (is_empty)
        return reduce_nothing(in, &spec);
    spec.arg[0] = convert_to(in, arg, from);
    return xl__infer_node(in, &spec);
}

/* -- random numbers and indices --------------------------------------- */

bool xl__infer_has_shape(struct xl__infer *in, unsigned node)
{
    if (in->g->node[node].is_unshaped)
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "rand() or index() has no shape here: combine it with a tensor, "
            "or assign it to a bound one");
    return in->status == XL_OK;
}

/* Mark the unshaped nodes that `node` depends on. */
static void mark_held(const struct xl__infer *in, unsigned node, bool *is_held)
{
    is_held[node] = true;
    for (unsigned i = node + 1; i-- > 0;) {
        const struct xl__node *n = &in->g->node[i];
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            if (is_held[i] && in->g->node[n->arg[a]].is_unshaped)
                is_held[n->arg[a]] = true;
    }
}

/* Give an index() its shape: the axis becomes one counted from the first. */
static bool set_index_axis(struct xl__infer *in, struct xl__node *n)
{
    const int axis = (int)in->g->node[n->arg[0]].value;
    int from_first;
    in->location = n->location;
    if (!find_axis(in, axis, n->shape.n_dims, &from_first))
        return false;
    if (n->shape.size[from_first] > (size_t)MAX_INDEX + 1)
        XL__INFER_FAIL(in, XL_BAD_SHAPE,
                       "index over %zu elements: an index is an i32, which "
                       "ends at %d",
                       n->shape.size[from_first], MAX_INDEX);
    else
        n->arg[0] = xl__infer_const(in, XL__V_I32, from_first);
    return in->status == XL_OK;
}

unsigned xl__infer_set_rand_shape(struct xl__infer *in, unsigned node,
                                  const struct xl__shape *shape)
{
    if (in->status != XL_OK || !in->g->node[node].is_unshaped)
        return node;
    bool *is_held = xl__calloc((size_t)node + 1, sizeof *is_held);
    unsigned *again = xl__calloc((size_t)node + 1, sizeof *again);
    unsigned out = XL__NO_NODE;
    if (is_held == NULL || again == NULL) {
        XL__INFER_FAIL(in, XL_NO_MEMORY, "out of memory");
        goto done;
    }
    mark_held(in, node, is_held);
    for (unsigned i = 0; i <= node && in->status == XL_OK; i++) {
        struct xl__node n = in->g->node[i];
        again[i] = i;
        if (!is_held[i])
            continue;
        n.shape = *shape;
        for (unsigned a = 0; a < xl__expr_ops[n.op].n_args; a++)
            n.arg[a] = again[n.arg[a]];
        if (n.op != XL__E_INDEX || set_index_axis(in, &n))
            again[i] = xl__infer_node(in, &n);
    }
    out = in->status == XL_OK ? again[node] : XL__NO_NODE;
done:
    free(is_held);
    free(again);
    return out;
}
