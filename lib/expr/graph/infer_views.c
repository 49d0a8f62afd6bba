/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: bound tensors, views and assignments.
 *
 * A bound tensor is an INPUT node; a slice or a permutation of it is another
 * INPUT node with other offset and strides, and no element is moved. Slices
 * follow Python's rules with a positive step:
 *
 *     offset' = offset + first * stride,  stride' = step * stride,
 *     size'   = ceil((last - first) / step)
 *
 * An assigned name that is not bound is a temporary. A bound one is an output,
 * whose content is the last value assigned; disjoint slices of one are
 * separate outputs. After an assignment the name is the assigned value in its
 * own shape and type, so binding a name does not change what other statements
 * compute. */
#include "expr/graph/infer_views.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/graph/infer.h"
#include "expr/graph/infer_types.h"

/* -- bound tensors ---------------------------------------------------- */

/* The type of a value of this memory type in a register; false when it is not
 * supported. */
static bool register_type(unsigned dtype, enum xl__vtype *out)
{
    switch (dtype) {
    case XL_F32:
    case XL_F16:
    case XL_BF16:
        *out = XL__V_F32;
        return true;
    case XL_I32:
    case XL_I8:
    case XL_U8:
        *out = XL__V_I32;
        return true;
    case XL_BOOL:
        *out = XL__V_BOOL;
        return true;
    default:
        return false;
    }
}

unsigned xl__infer_binding(struct xl__infer *in, unsigned binding)
{
    const struct xl__parameter *b = &in->s->b[binding];
    struct xl__node spec = {.op = b->is_scalar ? XL__E_SCALAR : XL__E_INPUT,
                            .dtype = (xl_dtype)b->dtype,
                            .binding = binding};
    if (!register_type(b->dtype, &spec.type) ||
        (b->is_scalar && b->dtype != XL_F32 && b->dtype != XL_I32))
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT, "'%s' is bound as %s; %s",
                              b->name, xl_dtype_name((xl_dtype)b->dtype),
                              b->is_scalar
                                  ? "scalars are f32 or i32"
                                  : "tensors are f32, f16, bf16, i32, i8, "
                                    "u8 or bool");
    spec.shape.n_dims = b->is_scalar ? 0 : b->n_dims;
    for (unsigned d = 0; d < spec.shape.n_dims; d++) {
        spec.shape.size[d] = b->size[d];
        spec.stride[d] = b->stride[d];
    }
    if (!xl__infer_fits(in, &spec.shape))
        return XL__NO_NODE;
    return xl__infer_node(in, &spec);
}

/* -- slices ----------------------------------------------------------- */

struct index_range {
    size_t first, step, count;
};

/* An index as written to one from the front, limited to [0, size]. */
static size_t from_front(int64_t at, size_t size)
{
    if (at < 0)
        return (uint64_t) - (at + 1) >= size ? 0 : size - (size_t)-at;
    return (uint64_t)at > size ? size : (size_t)at;
}

static bool read_index(struct xl__infer *in, const struct xl__slice *s,
                       size_t size, unsigned axis, struct index_range *out)
{
    const bool is_there = s->first < 0 ? (uint64_t) - (s->first + 1) < size
                                       : (uint64_t)s->first < size;
    if (!is_there) {
        XL__INFER_FAIL(in, XL_BAD_SHAPE,
                       "index %" PRId64
                       " is outside of axis %u, whose size is %zu",
                       s->first, axis, size);
        return false;
    }
    *out = (struct index_range){from_front(s->first, size), 1, 1};
    return true;
}

static bool read_range(struct xl__infer *in, const struct xl__slice *s,
                       size_t size, unsigned axis, struct index_range *out)
{
    const size_t first = s->has_first ? from_front(s->first, size) : 0;
    const size_t last = s->has_last ? from_front(s->last, size) : size;
    if (s->step < 1) {
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "invalid step %" PRId64 " of a slice: must be 1 or more", s->step);
        return false;
    }
    if (first >= last) {
        XL__INFER_FAIL(
            in, XL_BAD_SHAPE,
            "the slice is empty: from %zu to %zu of axis %u, whose size "
            "is %zu",
            first, last, axis, size);
        return false;
    }
    out->first = first;
    out->count =
        (size_t)(((uint64_t)(last - first) - 1) / (uint64_t)s->step) + 1;
    out->step = out->count > 1 ? (size_t)s->step : 1;
    return true;
}

/* The number of axes that "..." covers. */
static bool count_rest(struct xl__infer *in, const struct xl__tree_node *view,
                       unsigned n_dims, unsigned *rest)
{
    unsigned n_rest = 0, n = 0;
    for (unsigned i = 0; i < view->n_slices; i++)
        *(view->slice[i].is_rest ? &n_rest : &n) += 1;
    if (n_rest > 1)
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "'...' is given twice in one slice");
    else if (n > n_dims)
        XL__INFER_FAIL(in, XL_BAD_SHAPE,
                       "the slice names %u axes and the tensor has %u", n,
                       n_dims);
    else
        *rest = n_dims - n;
    return in->status == XL_OK;
}

/* Read one range for each axis; keeps[d]: axis d remains, since it is not an
 * index. */
static bool read_slices(struct xl__infer *in, const struct xl__tree_node *view,
                        const struct xl__shape *of,
                        struct index_range range[XL_MAX_DIMS],
                        bool keeps[XL_MAX_DIMS])
{
    unsigned rest = 0, axis = 0;
    for (unsigned d = 0; d < of->n_dims; d++) {
        range[d] = (struct index_range){0, 1, of->size[d]};
        keeps[d] = true;
    }
    if (!count_rest(in, view, of->n_dims, &rest))
        return false;
    for (unsigned i = 0; i < view->n_slices; i++) {
        const struct xl__slice *s = &view->slice[i];
        if (s->is_rest) {
            axis += rest;
            continue;
        }
        keeps[axis] = !s->is_index;
        if (!(s->is_index ? read_index : read_range)(in, s, of->size[axis],
                                                     axis, &range[axis]))
            return false;
        axis++;
    }
    return true;
}

static bool apply_slices(struct xl__infer *in,
                         const struct xl__tree_node *view,
                         struct xl__node *node,
                         struct xl__slice_region *region)
{
    const struct xl__node from = *node;
    struct index_range range[XL_MAX_DIMS];
    bool keeps[XL_MAX_DIMS];
    if (!read_slices(in, view, &from.shape, range, keeps))
        return false;
    node->shape.n_dims = 0;
    for (unsigned d = 0; d < from.shape.n_dims; d++) {
        const unsigned to = node->shape.n_dims;
        if (region != NULL) {
            region->first[d] = range[d].first;
            region->step[d] = range[d].step;
            region->count[d] = range[d].count;
        }
        node->offset += range[d].first * from.stride[d];
        node->shape.size[to] = range[d].count;
        node->stride[to] = range[d].step * from.stride[d];
        node->shape.n_dims += keeps[d];
    }
    return true;
}

/* -- permutations ----------------------------------------------------- */

static bool permute_axes(struct xl__infer *in,
                         const struct xl__tree_node *view,
                         struct xl__node *node)
{
    const struct xl__node from = *node;
    const unsigned n = from.shape.n_dims;
    unsigned axis[XL_MAX_DIMS];
    for (unsigned d = 0; d < n; d++)
        axis[d] = n - 1 - d;
    if (view->n_axes > 0 && view->n_axes != n) {
        XL__INFER_FAIL(
            in, XL_BAD_SHAPE,
            "the order names %u axes and the tensor has %u: each is "
            "named once",
            view->n_axes, n);
        return false;
    }
    if (!xl__infer_axes(in, view, n, axis))
        return false;
    for (unsigned d = 0; d < n; d++) {
        node->shape.size[d] = from.shape.size[axis[d]];
        node->stride[d] = from.stride[axis[d]];
    }
    return true;
}

bool xl__infer_view(struct xl__infer *in, const struct xl__tree_node *view,
                    struct xl__node *node, struct xl__slice_region *region)
{
    if (node->op != XL__E_INPUT) {
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            node->op == XL__E_SCALAR
                ? "'%s' is a scalar and has no axes"
                : "'%s' is computed: only bound tensors have views; slice "
                  "those that it is computed from",
            in->t->name[view->name]);
        return false;
    }
    return apply_slices(in, view, node, region) &&
           (!view->is_permutation || permute_axes(in, view, node));
}

/* -- assignments: types and shapes ------------------------------------ */

static enum xl__vtype register_type_of(xl_dtype dtype)
{
    if (dtype == XL_BOOL)
        return XL__V_BOOL;
    return dtype == XL_I32 || dtype == XL_I8 || dtype == XL_U8 ? XL__V_I32
                                                               : XL__V_F32;
}

static bool check_type(struct xl__infer *in, const char *name, xl_dtype dtype,
                       enum xl__vtype type)
{
    if (type <= register_type_of(dtype))
        return true;
    if (register_type_of(dtype) == XL__V_BOOL)
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is bool and its value is %s: write the value != 0", name,
            xl__vtype_name(type));
    else
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "'%s' is %s and its value is %s: write cast(value, %s)",
                       name, xl_dtype_name(dtype), xl__vtype_name(type),
                       xl_dtype_name(dtype));
    return false;
}

static bool can_broadcast(const struct xl__shape *from,
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

/* Insert axes of size 1 where the value has them and the target does not,
 * beginning with the last axis. False when that does not fit. */
static bool drop_unit_axes(const struct xl__shape *value,
                           const struct xl__node *target,
                           struct xl__output *out)
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

/* The axes of the target, after as many axes of size 1 as the value has more.
 */
static void keep_all_axes(const struct xl__shape *value,
                          const struct xl__node *target,
                          struct xl__output *out)
{
    const unsigned n = target->shape.n_dims;
    const unsigned more = value->n_dims > n ? value->n_dims - n : 0;
    out->shape.n_dims = n + more;
    for (unsigned d = 0; d < n + more; d++) {
        out->shape.size[d] = d < more ? 1 : target->shape.size[d - more];
        out->stride[d] = d < more ? 0 : target->stride[d - more];
    }
}

static bool fit_shape(struct xl__infer *in, const char *name,
                      const struct xl__shape *value,
                      const struct xl__node *target, struct xl__output *out)
{
    char a[XL__SHAPE_TEXT], b[XL__SHAPE_TEXT];
    if (can_broadcast(value, &target->shape)) {
        keep_all_axes(value, target, out);
        return true;
    }
    if (value->n_dims > target->shape.n_dims &&
        drop_unit_axes(value, target, out))
        return true;
    XL__INFER_FAIL(
        in, XL_BAD_SHAPE,
        "a value of shape %s does not broadcast to '%s' of shape %s",
        xl__shape_text(value, a), name, xl__shape_text(&target->shape, b));
    return false;
}

/* -- outputs ---------------------------------------------------------- */

/* Set output `at`: `value` is written to the INPUT node `target`. Returns the
 * value, whose rand() has the target's shape. */
static unsigned set_output(struct xl__infer *in, const struct xl__node *target,
                           unsigned value, unsigned at)
{
    const char *name = in->s->b[target->binding].name;
    struct xl__output out = {.binding = target->binding,
                             .offset = target->offset,
                             .dtype = target->dtype};
    value = xl__infer_set_rand_shape(in, value, &target->shape);
    if (in->status != XL_OK ||
        !check_type(in, name, out.dtype, in->g->node[value].type) ||
        !fit_shape(in, name, &in->g->node[value].shape, target, &out))
        return XL__NO_NODE;
    out.node = xl__infer_as(in, value,
                            xl__wide_dtype(register_type_of(out.dtype)));
    in->g->output[at] = out;
    return value;
}

/* The index of one more output. */
static unsigned add_output(struct xl__infer *in)
{
    if (in->g->n_outputs == XL_EXPR_MAX_BINDINGS)
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                              "more than %d assignments to bound tensors; "
                              "split the expression",
                              XL_EXPR_MAX_BINDINGS);
    if (!xl__grow(&in->g->output, &in->g->cap_outputs,
                  in->g->n_outputs + (size_t)1, sizeof *in->g->output))
        return XL__INFER_FAIL(in, XL_NO_MEMORY, "out of memory");
    return in->g->n_outputs++;
}

/* The whole bound tensor as an INPUT node that is in no graph. */
static bool find_target(struct xl__infer *in, const struct xl__symbol *symbol,
                        struct xl__node *out)
{
    const unsigned whole = xl__infer_binding(in, symbol->binding);
    if (whole == XL__NO_NODE)
        return false;
    *out = in->g->node[whole];
    if (out->op == XL__E_SCALAR)
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "'%s' is a scalar and cannot be assigned: bind a "
                       "tensor of one element",
                       in->s->b[symbol->binding].name);
    return in->status == XL_OK;
}

static void assign_whole(struct xl__infer *in, struct xl__symbol *symbol,
                         unsigned value)
{
    struct xl__node target;
    if (!find_target(in, symbol, &target))
        return;
    if (symbol->is_sliced) {
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is assigned as a whole and by slices; do only one of them",
            in->s->b[symbol->binding].name);
        return;
    }
    if (symbol->output == UINT_MAX)
        symbol->output = add_output(in);
    if (in->status == XL_OK)
        symbol->value = set_output(in, &target, value, symbol->output);
}

/* -- slices of one output --------------------------------------------- */

/* Can two regions overlap? Not when along some axis one ends before the other
 * begins, or their indices differ modulo the gcd of the steps. */
static bool can_overlap(const struct xl__slice_region *a,
                        const struct xl__slice_region *b, unsigned n_dims)
{
    for (unsigned d = 0; d < n_dims; d++) {
        const size_t a_last = a->first[d] + (a->count[d] - 1) * a->step[d];
        const size_t b_last = b->first[d] + (b->count[d] - 1) * b->step[d];
        const size_t every = (size_t)xl__gcd(a->step[d], b->step[d]);
        if (a_last < b->first[d] || b_last < a->first[d] ||
            a->first[d] % every != b->first[d] % every)
            return false;
    }
    return true;
}

static bool check_regions(struct xl__infer *in, unsigned binding,
                          const struct xl__slice_region *region)
{
    for (unsigned o = 0; o < in->g->n_outputs; o++) {
        if (in->g->output[o].binding != binding ||
            !can_overlap(&in->region[o], region, in->s->b[binding].n_dims))
            continue;
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "this slice of '%s' overlaps one that is assigned above; "
            "slices are written in no order",
            in->s->b[binding].name);
        return false;
    }
    return true;
}

static void assign_region(struct xl__infer *in, struct xl__symbol *symbol,
                          const struct xl__tree_node *view, unsigned value)
{
    struct xl__node target;
    struct xl__slice_region region;
    if (symbol->binding == UINT_MAX) {
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is not bound: only slices of bound tensors can be assigned",
            in->t->name[view->name]);
        return;
    }
    if (!find_target(in, symbol, &target))
        return;
    if (symbol->output != UINT_MAX) {
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is assigned as a whole and by slices; do only one of them",
            in->s->b[symbol->binding].name);
        return;
    }
    in->location = view->location;
    if (!xl__infer_view(in, view, &target, &region) ||
        !check_regions(in, symbol->binding, &region))
        return;
    const unsigned at = add_output(in);
    if (at == UINT_MAX)
        return;
    in->region[at] = region;
    symbol->is_sliced = true;
    set_output(in, &target, value, at);
}

void xl__infer_assign(struct xl__infer *in, const struct xl__statement *s,
                      unsigned value)
{
    struct xl__symbol *symbol = &in->symbol[s->name];
    in->location = s->location;
    symbol->is_used = true;
    if (s->view != UINT_MAX)
        assign_region(in, symbol, &in->t->node[s->view], value);
    else if (symbol->binding == UINT_MAX)
        symbol->value = value;
    else
        assign_whole(in, symbol, value);
}
