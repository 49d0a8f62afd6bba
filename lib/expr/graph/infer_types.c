/* SPDX-License-Identifier: Apache-2.0 */
/* One typed node: its arguments are brought to the type that the operation
 * works in, and to one shape. */
#include "expr/graph/graph.h"
#include "expr/graph/infer.h"

/* Places along axes are counted in i32. */
#define MOST_PLACES 0x7fffffff

const char *xl__vtype_name(enum xl__vtype type)
{
    static const char *const names[] = {"bool", "i32", "f32"};
    return names[type];
}

unsigned xl__infer_node(struct xl__infer *in, struct xl__node *want)
{
    if (in->status != XL_OK)
        return XL__NO_NODE;
    want->location = in->location;
    const unsigned node = xl__graph_node(in->g, want);
    if (node == XL__NO_NODE && in->g->n_nodes >= XL_EXPR_MAX_NODES)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "more than %d operations; split the expression",
                         XL_EXPR_MAX_NODES);
    if (node == XL__NO_NODE)
        return XL__WRONG(in, XL_NO_MEMORY, "out of memory");
    xl__infer_mark_loose(in);
    return node;
}

unsigned xl__infer_const(struct xl__infer *in, enum xl__vtype type,
                         double value)
{
    struct xl__node want = {.op = XL__E_CONST, .type = type, .value = value};
    return xl__infer_node(in, &want);
}

/* -- conversions ----------------------------------------------------------- */

static unsigned cast(struct xl__infer *in, unsigned node, enum xl__vtype type,
                     xl_dtype dtype)
{
    if (node == XL__NO_NODE)
        return node;
    struct xl__node want = {.op = XL__E_CAST, .type = type, .arg = {node},
                            .shape = in->g->node[node].shape,
                            .dtype = dtype};
    return xl__infer_node(in, &want);
}

static unsigned is_not_zero(struct xl__infer *in, unsigned node)
{
    const enum xl__vtype type = in->g->node[node].type;
    if (type == XL__V_BOOL)
        return node;
    const unsigned zero = xl__infer_const(in, type, 0);
    return xl__infer_map(in, XL__E_NE, (const unsigned[]){node, zero});
}

/* Narrow types are reached from the wide one of their kind, so that a CAST is
 * one step only. */
unsigned xl__infer_as(struct xl__infer *in, unsigned node, xl_dtype dtype)
{
    if (in->status != XL_OK)
        return XL__NO_NODE;
    switch (dtype) {
    case XL_F32:
        return cast(in, node, XL__V_F32, XL_F32);
    case XL_F16:
    case XL_BF16:
        node = cast(in, node, XL__V_F32, XL_F32);
        return cast(in, node, XL__V_F32, dtype);
    case XL_I32:
        return cast(in, node, XL__V_I32, XL_I32);
    case XL_I8:
    case XL_U8:
        node = cast(in, node, XL__V_I32, XL_I32);
        return cast(in, node, XL__V_I32, dtype);
    case XL_BOOL:
        return is_not_zero(in, node);
    default:
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "%s is no type that is computed with; there are f32, "
                         "f16, bf16, i32, i8, u8 and bool",
                         xl_dtype_name(dtype));
    }
}

static unsigned as_type(struct xl__infer *in, unsigned node,
                        enum xl__vtype type)
{
    static const xl_dtype dtypes[] = {XL_BOOL, XL_I32, XL_F32};
    return xl__infer_as(in, node, dtypes[type]);
}

/* -- types ----------------------------------------------------------------- */

/* The highest type of the arguments from `first` on, `least` or more. */
static enum xl__vtype common(const struct xl__infer *in, const unsigned *arg,
                             unsigned n, enum xl__vtype least)
{
    enum xl__vtype type = least;
    for (unsigned i = 0; i < n; i++)
        if (in->g->node[arg[i]].type > type)
            type = in->g->node[arg[i]].type;
    return type;
}

static bool is_whole_power(const struct xl__infer *in, const unsigned *arg)
{
    const struct xl__node *power = &in->g->node[arg[1]];
    return in->g->node[arg[0]].type != XL__V_F32 &&
           power->op == XL__E_CONST && power->type == XL__V_I32 &&
           power->value >= 0;
}

static bool check_bool(struct xl__infer *in, enum xl__expr_op op,
                       unsigned node)
{
    const enum xl__vtype type = in->g->node[node].type;
    if (type == XL__V_BOOL)
        return true;
    XL__WRONG(in, XL_BAD_ARGUMENT,
              "'%s' asks a bool and was given %s; compare, as in x != 0",
              xl__expr_ops[op].name, xl__vtype_name(type));
    return false;
}

/* The type the arguments are brought to, and that of the result. WHERE's first
 * argument is its own. */
static bool types_of(struct xl__infer *in, enum xl__expr_op op,
                     const unsigned *arg, enum xl__vtype *from,
                     enum xl__vtype *to)
{
    const unsigned n = xl__expr_ops[op].n_args;
    switch (xl__expr_ops[op].result) {
    case XL__R_FLOAT:
        *from = *to = XL__V_F32;
        return true;
    case XL__R_SAME:
        *from = *to = common(in, arg, n, XL__V_I32);
        return true;
    case XL__R_INDEX:
    case XL__R_BOOL:
        *from = common(in, arg, n, XL__V_I32);
        *to = xl__expr_ops[op].result == XL__R_BOOL ? XL__V_BOOL : XL__V_I32;
        return true;
    case XL__R_LOGIC:
        *from = *to = XL__V_BOOL;
        for (unsigned i = 0; i < n; i++)
            if (!check_bool(in, op, arg[i]))
                return false;
        return true;
    default:
        break;
    }
    *from = *to = XL__V_F32; /* ISNAN, POW */
    if (op == XL__E_ISNAN)
        *to = XL__V_BOOL;
    else if (op == XL__E_POW && is_whole_power(in, arg))
        *from = *to = XL__V_I32;
    else if (op == XL__E_WHERE)
        *from = *to = common(in, arg + 1, 2, XL__V_BOOL);
    return op != XL__E_WHERE || check_bool(in, op, arg[0]);
}

/* -- operations ------------------------------------------------------------ */

/* Loose ones take the shape that they meet. */
static bool settle_all(struct xl__infer *in, unsigned *arg, unsigned n,
                       const struct xl__shape *shape)
{
    for (unsigned i = 0; i < n && shape->n_dims > 0; i++)
        if (in->status == XL_OK && in->is_loose[arg[i]])
            arg[i] = xl__infer_set_rand_shape(in, arg[i], shape);
    return in->status == XL_OK;
}

unsigned xl__infer_map(struct xl__infer *in, enum xl__expr_op op,
                       const unsigned *arg)
{
    const unsigned n = xl__expr_ops[op].n_args;
    struct xl__node want = {.op = op};
    enum xl__vtype from;
    if (in->status != XL_OK || !types_of(in, op, arg, &from, &want.type) ||
        !xl__infer_broadcast(in, arg, n, &want.shape))
        return XL__NO_NODE;
    for (unsigned i = 0; i < n; i++)
        want.arg[i] = op == XL__E_WHERE && i == 0
                          ? arg[i]
                          : as_type(in, arg[i], from);
    if (in->status != XL_OK || !settle_all(in, want.arg, n, &want.shape))
        return XL__NO_NODE;
    return xl__infer_node(in, &want);
}

/* Elements that one result is made of. */
static size_t extent(const struct xl__shape *s, unsigned axes)
{
    size_t out = 1;
    for (unsigned d = 0; d < s->n_dims; d++)
        out *= axes >> d & 1 ? s->size[d] : 1;
    return out;
}

unsigned xl__infer_reduce(struct xl__infer *in, enum xl__expr_op op,
                          unsigned arg, unsigned axes)
{
    struct xl__node want = {.op = op, .axes = axes};
    enum xl__vtype from;
    if (in->status != XL_OK || !types_of(in, op, &arg, &from, &want.type))
        return XL__NO_NODE;
    want.shape = in->g->node[arg].shape;
    if (xl__expr_ops[op].result == XL__R_INDEX &&
        extent(&want.shape, axes) > MOST_PLACES)
        return XL__WRONG(in, XL_BAD_SHAPE,
                         "%s over %zu elements: places are i32, which ends at "
                         "%d",
                         xl__expr_ops[op].name, extent(&want.shape, axes),
                         MOST_PLACES);
    for (unsigned d = 0; d < want.shape.n_dims; d++)
        want.shape.size[d] = axes >> d & 1 ? 1 : want.shape.size[d];
    want.arg[0] = as_type(in, arg, from);
    return xl__infer_node(in, &want);
}
