/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments. A name that is not bound is a temporary; one that is bound is
 * an output, of its last value; parts of one that do not meet are outputs each.
 * From then on a name is the value that was assigned, in its own shape and
 * type: binding a name changes nothing of what the others compute. */
#include "expr/graph/infer.h"

/* -- types and shapes ------------------------------------------------------ */

static enum xl__vtype kind_of(xl_dtype dtype)
{
    if (dtype == XL_BOOL)
        return XL__V_BOOL;
    return dtype == XL_I32 || dtype == XL_I8 || dtype == XL_U8 ? XL__V_I32
                                                               : XL__V_F32;
}

static bool check_kind(struct xl__infer *in, const char *name, xl_dtype dtype,
                       enum xl__vtype type)
{
    if (type <= kind_of(dtype))
        return true;
    if (kind_of(dtype) == XL__V_BOOL)
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is bool and its value %s: write the value != 0", name,
                  xl__vtype_name(type));
    else
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is %s and its value %s: write cast(value, %s)", name,
                  xl_dtype_name(dtype), xl__vtype_name(type),
                  xl_dtype_name(dtype));
    return false;
}

static bool broadcasts(const struct xl__shape *from,
                       const struct xl__shape *to)
{
    for (unsigned d = 0; d < from->n_dims; d++) {
        const size_t size = from->size[from->n_dims - 1 - d];
        const bool is_there = d < to->n_dims;
        if (size != 1 && (!is_there || size != to->size[to->n_dims - 1 - d]))
            return false;
    }
    return true;
}

/* Put axes of size 1 where the value has them and the output does not: into
 * `out` from its `n` dimensions on, beginning with the last. */
static bool leave_out(const struct xl__shape *value,
                      const struct xl__node *target, struct xl__output *out)
{
    unsigned left = target->shape.n_dims;
    out->shape.n_dims = value->n_dims;
    for (unsigned d = value->n_dims; d-- > 0;) {
        const bool is_next =
            left > 0 && value->size[d] == target->shape.size[left - 1];
        if (!is_next && value->size[d] != 1)
            return false;
        left -= is_next;
        out->shape.size[d] = value->size[d];
        out->stride[d] = is_next ? target->stride[left] : 0;
    }
    return left == 0;
}

/* The target as it is, behind as many axes of size 1 as the value has more. */
static void keep_all(const struct xl__shape *value,
                     const struct xl__node *target, struct xl__output *out)
{
    const unsigned n = target->shape.n_dims;
    const unsigned more = value->n_dims > n ? value->n_dims - n : 0;
    out->shape.n_dims = n + more;
    for (unsigned d = 0; d < n + more; d++) {
        out->shape.size[d] = d < more ? 1 : target->shape.size[d - more];
        out->stride[d] = d < more ? 0 : target->stride[d - more];
    }
}

static bool fit(struct xl__infer *in, const char *name,
                const struct xl__shape *value, const struct xl__node *target,
                struct xl__output *out)
{
    char a[XL__SHAPE_TEXT], b[XL__SHAPE_TEXT];
    if (broadcasts(value, &target->shape)) {
        keep_all(value, target, out);
        return true;
    }
    if (value->n_dims > target->shape.n_dims && leave_out(value, target, out))
        return true;
    XL__WRONG(in, XL_BAD_SHAPE,
              "a value of shape %s does not go into '%s' of shape %s",
              xl__shape_text(value, a), name,
              xl__shape_text(&target->shape, b));
    return false;
}

/* -- outputs --------------------------------------------------------------- */

/* `target`: what is written, as an INPUT node. Replaces output `at`. The
 * value, with its rand() in the target's shape. */
static unsigned write(struct xl__infer *in, const struct xl__node *target,
                      unsigned value, unsigned at)
{
    const char *name = in->s->b[target->binding].name;
    struct xl__output out = {.binding = target->binding,
                             .offset = target->offset,
                             .dtype = target->dtype};
    value = xl__infer_set_rand_shape(in, value, &target->shape);
    if (in->status != XL_OK ||
        !check_kind(in, name, out.dtype, in->g->node[value].type) ||
        !fit(in, name, &in->g->node[value].shape, target, &out))
        return XL__NO_NODE;
    static const xl_dtype wide[] = {XL_BOOL, XL_I32, XL_F32};
    out.node = xl__infer_as(in, value, wide[kind_of(out.dtype)]);
    in->g->output[at] = out;
    return value;
}

/* A number for one more output. */
static unsigned add_output(struct xl__infer *in)
{
    if (in->g->n_outputs == XL_EXPR_MAX_BINDINGS)
        return XL__WRONG(in, XL_BAD_ARGUMENT, "more than %d assignments that "
                         "leave the expression; split it",
                         XL_EXPR_MAX_BINDINGS);
    return in->g->n_outputs++;
}

/* All of what is bound, as a node that stands in no graph. */
static bool target_of(struct xl__infer *in, const struct xl__symbol *symbol,
                      struct xl__node *out)
{
    const unsigned whole = xl__infer_bound(in, symbol->binding);
    if (whole == XL__NO_NODE)
        return false;
    *out = in->g->node[whole];
    if (out->op == XL__E_SCALAR)
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is a scalar, and only tensors are written: bind a "
                  "tensor of one element",
                  in->s->b[symbol->binding].name);
    return in->status == XL_OK;
}

static void assign_whole(struct xl__infer *in, struct xl__symbol *symbol,
                         unsigned value)
{
    struct xl__node target;
    if (!target_of(in, symbol, &target))
        return;
    if (symbol->is_sliced) {
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is assigned as a whole and in parts; do either",
                  in->s->b[symbol->binding].name);
        return;
    }
    if (symbol->output == UINT_MAX)
        symbol->output = add_output(in);
    if (in->status == XL_OK)
        symbol->value = write(in, &target, value, symbol->output);
}

/* -- parts of one output --------------------------------------------------- */

static size_t divisor(size_t a, size_t b)
{
    while (b != 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Can two parts meet? Not when along some axis one ends before the other
 * begins, or their steps never fall together. */
static bool can_meet(const struct xl__region *a, const struct xl__region *b,
                     unsigned n_dims)
{
    for (unsigned d = 0; d < n_dims; d++) {
        const size_t a_last = a->first[d] + (a->count[d] - 1) * a->step[d];
        const size_t b_last = b->first[d] + (b->count[d] - 1) * b->step[d];
        const size_t every = divisor(a->step[d], b->step[d]);
        if (a_last < b->first[d] || b_last < a->first[d] ||
            a->first[d] % every != b->first[d] % every)
            return false;
    }
    return true;
}

static bool check_parts(struct xl__infer *in, unsigned binding,
                        const struct xl__region *part)
{
    for (unsigned o = 0; o < in->g->n_outputs; o++) {
        if (in->g->output[o].binding != binding ||
            !can_meet(&in->part[o], part, in->s->b[binding].n_dims))
            continue;
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "this part of '%s' meets one that is assigned above; parts "
                  "are written in no order",
                  in->s->b[binding].name);
        return false;
    }
    return true;
}

static void assign_part(struct xl__infer *in, struct xl__symbol *symbol,
                        const struct xl__tree_node *view, unsigned value)
{
    struct xl__node target;
    struct xl__region part;
    if (symbol->binding == UINT_MAX) {
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is not bound: parts are written of bound tensors only",
                  in->t->name[view->name]);
        return;
    }
    if (!target_of(in, symbol, &target))
        return;
    if (symbol->output != UINT_MAX) {
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is assigned as a whole and in parts; do either",
                  in->s->b[symbol->binding].name);
        return;
    }
    in->location = view->location;
    if (!xl__infer_view(in, view, &target, &part) ||
        !check_parts(in, symbol->binding, &part))
        return;
    const unsigned at = add_output(in);
    if (at == UINT_MAX)
        return;
    in->part[at] = part;
    symbol->is_sliced = true;
    write(in, &target, value, at);
}

void xl__infer_assign(struct xl__infer *in, const struct xl__statement *s,
                      unsigned value)
{
    struct xl__symbol *symbol = &in->symbol[s->name];
    in->location = s->location;
    symbol->is_used = true;
    if (s->view != UINT_MAX)
        assign_part(in, symbol, &in->t->node[s->view], value);
    else if (symbol->binding == UINT_MAX)
        symbol->value = value;
    else
        assign_whole(in, symbol, value);
}
