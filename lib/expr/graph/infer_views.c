/* SPDX-License-Identifier: Apache-2.0 */
/* Views. */
#include "expr/graph/infer_views.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "expr/graph/infer.h"
#include "expr/graph/infer_types.h"

/* -- bound tensors ---------------------------------------------------- */

/* What a type of memory is in a register; false: it is not computed with. */
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

unsigned xl__infer_bound(struct xl__infer *in, unsigned binding)
{
    const struct xl__param *b = &in->s->b[binding];
    struct xl__node want = {.op = b->is_scalar ? XL__E_SCALAR : XL__E_INPUT,
                            .dtype = (xl_dtype)b->dtype,
                            .binding = binding};
    if (!register_type(b->dtype, &want.type) ||
        (b->is_scalar && b->dtype != XL_F32 && b->dtype != XL_I32))
        return XL__WRONG(in, XL_BAD_ARGUMENT, "'%s' is bound as %s; %s",
                         b->name, xl_dtype_name((xl_dtype)b->dtype),
                         b->is_scalar ? "scalars are f32 or i32"
                                      : "tensors are f32, f16, bf16, i32, i8, "
                                        "u8 or bool");
    want.shape.n_dims = b->is_scalar ? 0 : b->n_dims;
    for (unsigned d = 0; d < want.shape.n_dims; d++) {
        want.shape.size[d] = b->size[d];
        want.stride[d] = b->stride[d];
    }
    if (!xl__infer_fits(in, &want.shape))
        return XL__NO_NODE;
    return xl__infer_node(in, &want);
}

/* -- slices ----------------------------------------------------------- */

struct index_range {
    size_t first, step, count;
};

/* A place as written, to one from the front; what is past an end is the end.
 */
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
        XL__WRONG(in, XL_BAD_SHAPE,
                  "index %" PRId64 " is outside of axis %u, whose size is %zu",
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
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "a step of %" PRId64 ": slices go forward, by 1 or more",
                  s->step);
        return false;
    }
    if (first >= last) {
        XL__WRONG(in, XL_BAD_SHAPE,
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

/* How many axes "..." stands for; false, and told, when that cannot be. */
static bool count_rest(struct xl__infer *in, const struct xl__tree_node *view,
                       unsigned n_dims, unsigned *rest)
{
    unsigned n_rest = 0, n = 0;
    for (unsigned i = 0; i < view->n_slices; i++)
        *(view->slice[i].is_rest ? &n_rest : &n) += 1;
    if (n_rest > 1)
        XL__WRONG(in, XL_BAD_ARGUMENT, "'...' stands twice in one slice");
    else if (n > n_dims)
        XL__WRONG(in, XL_BAD_SHAPE,
                  "the slice names %u axes and the tensor has %u", n, n_dims);
    else
        *rest = n_dims - n;
    return in->status == XL_OK;
}

/* One range an axis; `keeps` says which axes stay. */
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
                         struct xl__node *node, struct xl__region *part)
{
    const struct xl__node from = *node;
    struct index_range range[XL_MAX_DIMS];
    bool keeps[XL_MAX_DIMS];
    if (!read_slices(in, view, &from.shape, range, keeps))
        return false;
    node->shape.n_dims = 0;
    for (unsigned d = 0; d < from.shape.n_dims; d++) {
        const unsigned to = node->shape.n_dims;
        if (part != NULL) {
            part->first[d] = range[d].first;
            part->step[d] = range[d].step;
            part->count[d] = range[d].count;
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
        XL__WRONG(in, XL_BAD_SHAPE,
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
                    struct xl__node *node, struct xl__region *part)
{
    if (node->op != XL__E_INPUT) {
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  node->op == XL__E_SCALAR
                      ? "'%s' is a scalar and has no axes"
                      : "'%s' is computed: views are of what is bound, slice "
                        "that before",
                  in->t->name[view->name]);
        return false;
    }
    return apply_slices(in, view, node, part) &&
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

/* Put axes of size 1 where the value has them and the output does not: into
 * `out` from its `n` dimensions on, beginning with the last. */
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

/* The target as it is, behind as many axes of size 1 as the value has more. */
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
    XL__WRONG(in, XL_BAD_SHAPE,
              "a value of shape %s does not go into '%s' of shape %s",
              xl__shape_text(value, a), name,
              xl__shape_text(&target->shape, b));
    return false;
}

/* -- outputs ---------------------------------------------------------- */

/* `target`: what is written, as an INPUT node. Replaces output `at`. The
 * value, with its rand() in the target's shape. */
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
    static const xl_dtype wide[] = {XL_BOOL, XL_I32, XL_F32};
    out.node = xl__infer_as(in, value, wide[register_type_of(out.dtype)]);
    in->g->output[at] = out;
    return value;
}

/* A number for one more output. */
static unsigned add_output(struct xl__infer *in)
{
    if (in->g->n_outputs == XL_EXPR_MAX_BINDINGS)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "more than %d assignments that "
                         "leave the expression; split it",
                         XL_EXPR_MAX_BINDINGS);
    return in->g->n_outputs++;
}

/* All of what is bound, as a node that stands in no graph. */
static bool find_target(struct xl__infer *in, const struct xl__symbol *symbol,
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
    if (!find_target(in, symbol, &target))
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
        symbol->value = set_output(in, &target, value, symbol->output);
}

/* -- parts of one output ---------------------------------------------- */

static size_t gcd(size_t a, size_t b)
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
static bool can_overlap(const struct xl__region *a, const struct xl__region *b,
                        unsigned n_dims)
{
    for (unsigned d = 0; d < n_dims; d++) {
        const size_t a_last = a->first[d] + (a->count[d] - 1) * a->step[d];
        const size_t b_last = b->first[d] + (b->count[d] - 1) * b->step[d];
        const size_t every = gcd(a->step[d], b->step[d]);
        if (a_last < b->first[d] || b_last < a->first[d] ||
            a->first[d] % every != b->first[d] % every)
            return false;
    }
    return true;
}

static bool check_regions(struct xl__infer *in, unsigned binding,
                          const struct xl__region *part)
{
    for (unsigned o = 0; o < in->g->n_outputs; o++) {
        if (in->g->output[o].binding != binding ||
            !can_overlap(&in->part[o], part, in->s->b[binding].n_dims))
            continue;
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "this part of '%s' meets one that is assigned above; parts "
                  "are written in no order",
                  in->s->b[binding].name);
        return false;
    }
    return true;
}

static void assign_region(struct xl__infer *in, struct xl__symbol *symbol,
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
    if (!find_target(in, symbol, &target))
        return;
    if (symbol->output != UINT_MAX) {
        XL__WRONG(in, XL_BAD_ARGUMENT,
                  "'%s' is assigned as a whole and in parts; do either",
                  in->s->b[symbol->binding].name);
        return;
    }
    in->location = view->location;
    if (!xl__infer_view(in, view, &target, &part) ||
        !check_regions(in, symbol->binding, &part))
        return;
    const unsigned at = add_output(in);
    if (at == UINT_MAX)
        return;
    in->part[at] = part;
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
