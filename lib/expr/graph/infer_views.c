/* SPDX-License-Identifier: Apache-2.0 */
/* Bound tensors as INPUT nodes, and views of them: a slice or a permutation
 * changes offset and strides, and no element moves. Slices are Python's with a
 * positive step. */
#include <inttypes.h>

#include "base/alloc.h"
#include "expr/graph/infer.h"

/* -- what is bound --------------------------------------------------------- */

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
                            .dtype = (xl_dtype)b->dtype, .binding = binding};
    if (!register_type(b->dtype, &want.type) ||
        (b->is_scalar && b->dtype != XL_F32 && b->dtype != XL_I32))
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "'%s' is bound as %s; %s", b->name,
                         xl_dtype_name((xl_dtype)b->dtype),
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

/* -- slices ---------------------------------------------------------------- */

struct range {
    size_t first, step, count;
};

/* A place as written, to one from the front; what is past an end is the end. */
static size_t from_front(int64_t at, size_t size)
{
    if (at < 0)
        return (uint64_t)-(at + 1) >= size ? 0 : size - (size_t)-at;
    return (uint64_t)at > size ? size : (size_t)at;
}

static bool take_index(struct xl__infer *in, const struct xl__slice *s,
                       size_t size, unsigned axis, struct range *out)
{
    const bool is_there = s->first < 0
                              ? (uint64_t)-(s->first + 1) < size
                              : (uint64_t)s->first < size;
    if (!is_there) {
        XL__WRONG(in, XL_BAD_SHAPE,
                  "index %" PRId64 " is outside of axis %u, whose size is %zu",
                  s->first, axis, size);
        return false;
    }
    *out = (struct range){from_front(s->first, size), 1, 1};
    return true;
}

static bool take_range(struct xl__infer *in, const struct xl__slice *s,
                       size_t size, unsigned axis, struct range *out)
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
    out->count = (size_t)(((uint64_t)(last - first) - 1) / (uint64_t)s->step) +
                 1;
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
                        struct range range[XL_MAX_DIMS],
                        bool keeps[XL_MAX_DIMS])
{
    unsigned rest = 0, axis = 0;
    for (unsigned d = 0; d < of->n_dims; d++) {
        range[d] = (struct range){0, 1, of->size[d]};
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
        if (!(s->is_index ? take_index : take_range)(in, s, of->size[axis],
                                                     axis, &range[axis]))
            return false;
        axis++;
    }
    return true;
}

static bool slice(struct xl__infer *in, const struct xl__tree_node *view,
                  struct xl__node *node, struct xl__region *part)
{
    const struct xl__node from = *node;
    struct range range[XL_MAX_DIMS];
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

/* -- permutations ---------------------------------------------------------- */

static bool permute(struct xl__infer *in, const struct xl__tree_node *view,
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
    return slice(in, view, node, part) &&
           (!view->is_permutation || permute(in, view, node));
}
