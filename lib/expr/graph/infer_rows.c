/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions, written out in primitive nodes: fusion makes one kernel of
 * them without knowing their names. */
#include "expr/graph/infer.h"

static unsigned map2(struct xl__infer *in, enum xl__expr_op op, unsigned a,
                     unsigned b)
{
    return xl__infer_map(in, op, (const unsigned[]){a, b});
}

static unsigned map1(struct xl__infer *in, enum xl__expr_op op, unsigned a)
{
    return xl__infer_map(in, op, &a);
}

/* Subtracting the largest keeps exp() within range; the sum is 1 or more. */
static unsigned softmax(struct xl__infer *in, unsigned x, unsigned axes,
                        bool is_log)
{
    const unsigned top = xl__infer_reduce(in, XL__E_RMAX, x, axes);
    const unsigned below = map2(in, XL__E_SUB, x, top);
    const unsigned e = map1(in, XL__E_EXP, below);
    const unsigned sum = xl__infer_reduce(in, XL__E_SUM, e, axes);
    if (is_log)
        return map2(in, XL__E_SUB, below, map1(in, XL__E_LOG, sum));
    return map2(in, XL__E_DIV, e, sum);
}

/* (x - mean) / sqrt(var + eps) * gain + bias */
static unsigned layer_norm(struct xl__infer *in, const unsigned *arg,
                           unsigned axes)
{
    const unsigned x = arg[0], gain = arg[1], bias = arg[2], eps = arg[3];
    const unsigned mean = xl__infer_reduce(in, XL__E_MEAN, x, axes);
    const unsigned var = xl__infer_reduce(in, XL__E_VAR, x, axes);
    const unsigned scale =
        map1(in, XL__E_RSQRT, map2(in, XL__E_ADD, var, eps));
    const unsigned unit =
        map2(in, XL__E_MUL, map2(in, XL__E_SUB, x, mean), scale);
    return map2(in, XL__E_ADD, map2(in, XL__E_MUL, unit, gain), bias);
}

/* x / sqrt(mean(x^2) + eps) * gain */
static unsigned rms_norm(struct xl__infer *in, const unsigned *arg,
                         unsigned axes)
{
    const unsigned x = xl__infer_as(in, arg[0], XL_F32);
    const unsigned gain = arg[1], eps = arg[2];
    const unsigned mean = xl__infer_reduce(
        in, XL__E_MEAN, map2(in, XL__E_MUL, x, x), axes);
    const unsigned scale =
        map1(in, XL__E_RSQRT, map2(in, XL__E_ADD, mean, eps));
    return map2(in, XL__E_MUL, map2(in, XL__E_MUL, x, scale), gain);
}

static bool is_softmax(enum xl__row_function row)
{
    return row == XL__ROW_SOFTMAX || row == XL__ROW_LOG_SOFTMAX;
}

/* eps is one number; gain and bias do not make x larger. */
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
            XL__WRONG(in, XL_BAD_SHAPE,
                      "eps is a single number and has shape %s here",
                      xl__shape_text(own, a));
        else if (xl__infer_broadcast(in, (const unsigned[]){arg[0], arg[i]},
                                     2, &s) &&
                 xl__shape_elems(&s) != xl__shape_elems(&node[arg[0]].shape))
            XL__WRONG(in, XL_BAD_SHAPE,
                      "shape %s does not fit rows of shape %s",
                      xl__shape_text(own, a),
                      xl__shape_text(&node[arg[0]].shape, b));
    }
    in->location = call->location;
    return in->status == XL_OK;
}

unsigned xl__infer_row(struct xl__infer *in, const struct xl__tree_node *call,
                       const unsigned *arg)
{
    const unsigned n_dims = in->g->node[arg[0]].shape.n_dims;
    unsigned axis[XL_MAX_DIMS], axes = 0;
    if (!xl__infer_has_shape(in, arg[0]))
        return XL__NO_NODE;
    if (n_dims == 0)
        return XL__WRONG(in, XL_BAD_SHAPE,
                         "a row is needed, and this is a single value");
    if (!xl__infer_axes(in, call, n_dims, axis) ||
        (!is_softmax(call->row) && !check_norm(in, call, arg)))
        return XL__NO_NODE;
    for (unsigned i = 0; i < call->n_axes; i++)
        axes |= 1u << axis[i];
    if (!call->has_axes)
        axes = 1u << (n_dims - 1);
    if (call->row == XL__ROW_LAYER_NORM)
        return layer_norm(in, arg, axes);
    if (call->row == XL__ROW_RMS_NORM)
        return rms_norm(in, arg, axes);
    return softmax(in, arg[0], axes, call->row == XL__ROW_LOG_SOFTMAX);
}
