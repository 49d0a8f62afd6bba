/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: bound tensors, views and assignments.
 *
 * A bound tensor is an INPUT node; a view of it is another INPUT node with
 * other offset and strides, and no element is moved. A view of a computed
 * value is a VIEW node, whose offset and strides count in the value's elements
 * in order; graph/views.c decides whether the value is stored for it. Slices
 * follow Python's rules:
 *
 *     offset' = offset + first * stride,  stride' = step * stride,
 *     size'   = ceil((last - first) / step)
 *
 * A negative stride is modulo 2^64, like every index. A reshape that strides
 * cannot express is one of a copy.
 *
 * An assigned name that is not bound is a temporary. A bound one is an output,
 * whose content is the last value assigned; disjoint slices of one are
 * separate outputs. After an assignment the name is the assigned value in its
 * own shape and type, so binding a name does not change what other statements
 * compute. */
#include "expr/graph/infer_views.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/graph/infer.h"
#include "expr/graph/infer_types.h"
#include "expr/language/functions.h"

/* -- bound tensors ---------------------------------------------------- */

unsigned xl__infer_binding(struct xl__infer *in, unsigned binding)
{
    const struct xl__parameter *b = &in->s->b[binding];
    struct xl__node spec = {.op = b->is_scalar ? XL__E_SCALAR : XL__E_INPUT,
                            .dtype = (xl_dtype)b->dtype,
                            .binding = binding};
    spec.type = xl__register_type(spec.dtype);
    if (b->is_scalar ? !xl__is_scalar_type(spec.dtype)
                     : !xl__is_expr_type(spec.dtype))
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT, "'%s' is bound as %s; %s",
                              b->name, xl_dtype_name((xl_dtype)b->dtype),
                              b->is_scalar ? "scalars are " XL__SCALAR_TYPES
                                           : "tensors are " XL__EXPR_TYPES
                                             " or bool");
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

/* first, first + step ...; a negative step is modulo 2^64, as strides are. */
struct index_range {
    size_t first, step, count;
};

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
    *out = (struct index_range){
        s->first < 0 ? size - (size_t)-s->first : (size_t)s->first, 1, 1};
    return true;
}

/* An index as written, from the front and limited to the range of a slice.
 * Forward that is 0 to size; backward -1 to size - 1, and 1 is added. */
static size_t limit_index(int64_t at, size_t size, bool is_backward)
{
    if (at < 0)
        return (uint64_t) - (at + 1) >= size
                   ? 0
                   : size - (size_t)-at + is_backward;
    return (uint64_t)at >= size ? size : (size_t)at + is_backward;
}

/* The indices of a slice; there may be none. */
static struct index_range read_range(const struct xl__slice *s, size_t size)
{
    const bool is_backward = s->step < 0;
    const size_t first = s->has_first
                             ? limit_index(s->first, size, is_backward)
                             : (is_backward ? size : 0);
    const size_t last = s->has_last ? limit_index(s->last, size, is_backward)
                                    : (is_backward ? 0 : size);
    const uint64_t step = is_backward ? -(uint64_t)s->step : (uint64_t)s->step;
    if (is_backward ? first <= last : first >= last)
        return (struct index_range){0, 1, 0};
    const size_t length = is_backward ? first - last : last - first;
    const size_t count = (size_t)((length - (uint64_t)1) / step) + 1;
    return (struct index_range){first - is_backward,
                                count > 1 ? (size_t)s->step : 1, count};
}

/* The number of axes that "..." covers: without it, those after the slices. */
static bool count_rest(struct xl__infer *in, const struct xl__tree_node *view,
                       unsigned n_dims, unsigned *rest)
{
    unsigned n = 0, n_new = 0;
    for (unsigned i = 0; i < view->n_slices; i++) {
        n_new += view->slice[i].is_new;
        n += !view->slice[i].is_new && !view->slice[i].is_rest;
    }
    if (n > n_dims)
        XL__INFER_FAIL(in, XL_BAD_SHAPE,
                       "the slice names %u axes and the tensor has %u", n,
                       n_dims);
    *rest = n > n_dims ? 0 : n_dims - n;
    return in->status == XL_OK;
}

/* A view that is being made: from the next axis of `from` to one more
 * dimension of `to`, unless `range` is a single index. */
struct view_builder {
    struct xl__infer *in;
    const struct xl__node *from;
    struct xl__node *to;
    struct xl__slice_region *region;
    unsigned axis;
};

static bool add_dim(struct view_builder *v, size_t size, size_t stride)
{
    struct xl__shape *s = &v->to->shape;
    if (s->n_dims == XL_MAX_DIMS) {
        XL__INFER_FAIL(v->in, XL_BAD_SHAPE, "the view has more than %d axes",
                       XL_MAX_DIMS);
        return false;
    }
    v->to->stride[s->n_dims] = stride;
    s->size[s->n_dims++] = size;
    return true;
}

static bool add_range(struct view_builder *v, struct index_range range,
                      bool is_index)
{
    const unsigned d = v->axis++;
    const size_t stride = v->from->stride[d];
    if (v->region != NULL) {
        v->region->first[d] = range.first;
        v->region->step[d] = range.step;
        v->region->count[d] = range.count;
    }
    v->to->offset += range.first * stride;
    return is_index || add_dim(v, range.count, range.step * stride);
}

static bool add_whole(struct view_builder *v, unsigned n)
{
    bool is_right = true;
    while (n-- > 0 && is_right)
        is_right = add_range(
            v, (struct index_range){0, 1, v->from->shape.size[v->axis]},
            false);
    return is_right;
}

static bool add_slice(struct view_builder *v, const struct xl__slice *s)
{
    if (s->is_new)
        return add_dim(v, 1, 0);
    const size_t size = v->from->shape.size[v->axis];
    struct index_range range = read_range(s, size);
    return (!s->is_index || read_index(v->in, s, size, v->axis, &range)) &&
           add_range(v, range, s->is_index);
}

static bool apply_slices(struct xl__infer *in,
                         const struct xl__tree_node *view,
                         struct xl__node *node,
                         struct xl__slice_region *region)
{
    const struct xl__node from = *node;
    struct view_builder v = {in, &from, node, region, 0};
    unsigned rest;
    bool is_right = count_rest(in, view, from.shape.n_dims, &rest);
    node->shape.n_dims = 0;
    for (unsigned i = 0; i < view->n_slices && is_right; i++)
        is_right = view->slice[i].is_rest ? add_whole(&v, rest)
                                          : add_slice(&v, &view->slice[i]);
    return is_right && add_whole(&v, from.shape.n_dims - v.axis);
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

/* -- reshapes --------------------------------------------------------- */

/* The sizes of a reshape, with -1 replaced by what remains. */
static bool read_sizes(struct xl__infer *in, const struct xl__tree_node *view,
                       const struct xl__shape *from, struct xl__shape *to)
{
    char a[XL__SHAPE_TEXT];
    const size_t n = xl__shape_elems(from);
    size_t given = 1;
    unsigned open = XL_MAX_DIMS;
    bool fits = true;
    to->n_dims = view->n_sizes;
    for (unsigned d = 0; d < view->n_sizes; d++) {
        to->size[d] = (size_t)view->size[d];
        if (view->size[d] == -1)
            open = d;
        else
            fits = fits && xl__mul(given, to->size[d], &given);
    }
    fits = fits && (open < XL_MAX_DIMS ? n % given == 0 : n == given);
    if (!fits) {
        XL__INFER_FAIL(in, XL_BAD_SHAPE,
                       "%zu elements, of shape %s, do not have the shape of "
                       "this reshape",
                       n, xl__shape_text(from, a));
        return false;
    }
    if (open < XL_MAX_DIMS)
        to->size[open] = n / given;
    return true;
}

/* Elements at equal distances, made of one axis or of several. */
struct run {
    size_t size, stride;
};

/* The axes with more than one element as runs, each as long as possible. */
static unsigned find_runs(const struct xl__node *from,
                          struct run run[XL_MAX_DIMS])
{
    unsigned n = 0;
    for (unsigned d = 0; d < from->shape.n_dims; d++) {
        const size_t size = from->shape.size[d], stride = from->stride[d];
        if (size == 1)
            continue;
        if (n > 0 && run[n - 1].stride == size * stride)
            run[n - 1] = (struct run){run[n - 1].size * size, stride};
        else
            run[n++] = (struct run){size, stride};
    }
    return n;
}

/* Give the node another shape with as many elements; false: no strides can
 * express it. */
static bool set_shape(const struct xl__shape *shape, struct xl__node *node)
{
    struct run run[XL_MAX_DIMS];
    unsigned at = find_runs(node, run);
    struct xl__node to = *node;
    to.shape = *shape;
    const bool is_empty = xl__shape_elems(shape) == 0;
    for (unsigned d = shape->n_dims; d-- > 0;) {
        const size_t size = shape->size[d];
        to.stride[d] = 0;
        if (size == 1 || is_empty)
            continue;
        if (run[at - 1].size % size != 0)
            return false;
        to.stride[d] = run[at - 1].stride;
        run[at - 1].stride *= size;
        run[at - 1].size /= size;
        at -= run[at - 1].size == 1;
    }
    *node = to;
    return true;
}

/* -- views ------------------------------------------------------------ */

static void set_dense(struct xl__node *node)
{
    size_t step = 1;
    node->offset = 0;
    for (unsigned d = node->shape.n_dims; d-- > 0;) {
        node->stride[d] = node->shape.size[d] > 1 ? step : 0;
        step *= node->shape.size[d];
    }
}

/* Node `of` as a view that is in no graph: an INPUT, or a VIEW of a computed
 * value in the order of its elements. */
static struct xl__node whole_view(struct xl__infer *in, unsigned of)
{
    struct xl__node v = in->g->node[of];
    if (v.op == XL__E_INPUT || v.op == XL__E_VIEW)
        return v;
    v = (struct xl__node){
        .op = XL__E_VIEW, .type = v.type, .shape = v.shape, .arg = {of}};
    set_dense(&v);
    return v;
}

static unsigned add_copy(struct xl__infer *in, unsigned of)
{
    struct xl__node copy = {.op = XL__E_COPY,
                            .type = in->g->node[of].type,
                            .shape = in->g->node[of].shape,
                            .arg = {of}};
    return xl__infer_node(in, &copy);
}

/* Reshape *node, which is the value `of`; of a copy if it has to be. */
static bool reshape(struct xl__infer *in, const struct xl__tree_node *view,
                    unsigned of, struct xl__node *node)
{
    struct xl__shape shape;
    if (!read_sizes(in, view, &node->shape, &shape))
        return false;
    if (set_shape(&shape, node))
        return true;
    const unsigned copy = add_copy(in, of);
    if (copy == XL__NO_NODE)
        return false;
    *node = whole_view(in, copy);
    return set_shape(&shape, node);
}

static bool has_shape(const struct xl__shape *a, const struct xl__shape *b)
{
    bool is = a->n_dims == b->n_dims;
    for (unsigned d = 0; is && d < a->n_dims; d++)
        is = a->size[d] == b->size[d];
    return is;
}

static bool is_same_view(const struct xl__node *a, const struct xl__node *b)
{
    bool is = a->offset == b->offset && has_shape(&a->shape, &b->shape);
    for (unsigned d = 0; is && d < a->shape.n_dims; d++)
        is = a->shape.size[d] == 1 || a->stride[d] == b->stride[d];
    return is;
}

/* Is the view its argument itself? */
static bool is_whole(struct xl__infer *in, const struct xl__node *view)
{
    struct xl__node whole = {.shape = in->g->node[view->arg[0]].shape};
    set_dense(&whole);
    return is_same_view(view, &whole);
}

unsigned xl__infer_view(struct xl__infer *in, const struct xl__tree_node *view,
                        unsigned of)
{
    if (in->status != XL_OK || !xl__infer_has_shape(in, of))
        return XL__NO_NODE;
    const struct xl__node value = in->g->node[of];
    struct xl__node node = whole_view(in, of);
    const bool is_right =
        view->view == XL__VIEW_RESHAPE   ? reshape(in, view, of, &node)
        : view->view == XL__VIEW_PERMUTE ? permute_axes(in, view, &node)
                                         : apply_slices(in, view, &node, NULL);
    if (!is_right)
        return XL__NO_NODE;
    if (node.op == XL__E_VIEW && is_whole(in, &node))
        return node.arg[0];
    if (value.op == XL__E_CONST || value.op == XL__E_SCALAR) {
        const struct xl__shape shape = node.shape;
        node = value; /* one value for all elements */
        node.shape = shape;
    }
    return xl__infer_node(in, &node);
}

/* -- gather ----------------------------------------------------------- */

/* The index with axes of size 1 for those of the source behind the axis. */
static unsigned align_index(struct xl__infer *in, unsigned index, unsigned n)
{
    if (n == 0 || in->g->node[index].shape.n_dims == 0)
        return index;
    struct xl__tree_node view = {.kind = XL__T_VIEW,
                                 .n_slices = n + 1,
                                 .slice = {{.is_rest = true, .step = 1}}};
    for (unsigned i = 1; i <= n; i++)
        view.slice[i] = (struct xl__slice){.is_new = true, .step = 1};
    return xl__infer_view(in, &view, index);
}

/* Memory that can be gathered from: the node itself if it has strides. */
static unsigned as_memory(struct xl__infer *in, unsigned source)
{
    struct xl__node view = whole_view(in, source);
    return in->g->node[source].op == view.op ? source
                                             : xl__infer_node(in, &view);
}

/* The shape of a gather; false after an error. */
static bool gather_shape(struct xl__infer *in, const struct xl__shape *source,
                         unsigned axis, const struct xl__shape *index,
                         struct xl__shape *out)
{
    out->n_dims = source->n_dims + index->n_dims - 1;
    if (out->n_dims > XL_MAX_DIMS) {
        XL__INFER_FAIL(in, XL_BAD_SHAPE, "the result has %u axes; at most %d",
                       out->n_dims, XL_MAX_DIMS);
        return false;
    }
    for (unsigned d = 0; d < out->n_dims; d++) {
        const unsigned behind = axis + index->n_dims;
        out->size[d] = d < axis     ? source->size[d]
                       : d < behind ? index->size[d - axis]
                                    : source->size[d - index->n_dims + 1];
    }
    return xl__infer_fits(in, out);
}

unsigned xl__infer_gather(struct xl__infer *in,
                          const struct xl__tree_node *call, unsigned source,
                          unsigned index)
{
    struct xl__node spec = {.op = XL__E_GATHER};
    unsigned axis[XL_MAX_DIMS] = {0};
    if (in->status != XL_OK || !xl__infer_has_shape(in, source) ||
        !xl__infer_has_shape(in, index))
        return XL__NO_NODE;
    const struct xl__shape from = in->g->node[source].shape;
    const struct xl__shape at = in->g->node[index].shape;
    if (in->g->node[index].type != XL__V_I32)
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "an index is an integer and is %s here: write cast(index, i32)",
            xl__vtype_name(in->g, in->g->node[index].type));
    if (from.n_dims == 0)
        return XL__INFER_FAIL(in, XL_BAD_SHAPE,
                              "a single value has no axis to be indexed");
    if (call->has_axes && call->n_axes != 1)
        return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                              "gather takes one axis, as in axis=0");
    if (!xl__infer_axes(in, call, from.n_dims, axis) ||
        !gather_shape(in, &from, axis[0], &at, &spec.shape))
        return XL__NO_NODE;
    spec.type = in->g->node[source].type;
    if (xl__shape_elems(&from) == 0) { /* no index is in the axis */
        spec.op = XL__E_CONST;
        spec.value = spec.type == XL__V_F32 ? (double)NAN : 0;
        return xl__infer_node(in, &spec);
    }
    spec.axes = 1u << axis[0];
    spec.arg[XL__GATHER_INDEX] =
        align_index(in, index, from.n_dims - 1 - axis[0]);
    spec.arg[XL__GATHER_SOURCE] = as_memory(in, source);
    return xl__infer_node(in, &spec);
}

/* -- assignments: types and shapes ------------------------------------ */

static bool check_type(struct xl__infer *in, const char *name, xl_dtype dtype,
                       enum xl__vtype type)
{
    if (type <= xl__register_type(dtype))
        return true;
    if (xl__register_type(dtype) == XL__V_BOOL)
        XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "'%s' is bool and its value is %s: write the value != 0", name,
            xl__vtype_name(in->g, type));
    else
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "'%s' is %s and its value is %s: write cast(value, %s)",
                       name, xl_dtype_name(dtype), xl__vtype_name(in->g, type),
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

/* A value that is another one reshaped is that one, in a target of its shape.
 */
static unsigned undo_reshape(struct xl__infer *in, struct xl__node *target,
                             unsigned value)
{
    const struct xl__node *n = &in->g->node[value];
    struct xl__node dense = {.shape = n->shape};
    set_dense(&dense);
    const unsigned arg = n->arg[0];
    const bool is_reshape = n->op == XL__E_VIEW && is_same_view(n, &dense) &&
                            xl__shape_elems(&n->shape) ==
                                xl__shape_elems(&in->g->node[arg].shape) &&
                            has_shape(&target->shape, &n->shape) &&
                            set_shape(&in->g->node[arg].shape, target);
    return is_reshape ? arg : value;
}

/* Set output `at`: `value` is written to the INPUT node `to`. Returns the
 * value, whose rand() has the target's shape. */
static unsigned set_output(struct xl__infer *in, const struct xl__node *to,
                           unsigned value, unsigned at)
{
    struct xl__node reshaped = *to, *target = &reshaped;
    const char *name = in->s->b[target->binding].name;
    struct xl__output out = {.binding = target->binding,
                             .offset = target->offset,
                             .dtype = target->dtype};
    value = xl__infer_set_rand_shape(in, value, &target->shape);
    if (in->status != XL_OK)
        return XL__NO_NODE;
    const unsigned written = undo_reshape(in, target, value);
    if (!check_type(in, name, out.dtype, in->g->node[value].type) ||
        !fit_shape(in, name, &in->g->node[written].shape, target, &out))
        return XL__NO_NODE;
    out.node = xl__infer_as(
        in, written, xl__wide_dtype(in->g, xl__register_type(out.dtype)));
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
        if (a->count[d] == 0 || b->count[d] == 0)
            return false;
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

static bool check_forward(struct xl__infer *in,
                          const struct xl__tree_node *view)
{
    for (unsigned i = 0; i < view->n_slices; i++)
        if (view->slice[i].step < 0) {
            XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                           "a slice that is assigned has a positive step; "
                           "reverse the value instead, like value[::-1]");
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
            in->t->name[symbol - in->symbol]);
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
    if (!apply_slices(in, view, &target, &region) ||
        !check_forward(in, view) ||
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
