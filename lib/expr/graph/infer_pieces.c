/* SPDX-License-Identifier: Apache-2.0 */
/* concat, pad, slice and cumsum, written with gather, index and views.
 *
 *     concat(x, y)      where(at < size of x, x[at], y[at - size of x])
 *     pad(x, b, a, v)   where(b <= at < b + size, x[at - b], v)
 *     slice(x, i, i+n)  x[i + at],  at = index(0) of n
 *
 * cumsum(x) is the sum over j of where(j <= i, x[j], 0): n^2 operations, so an
 * axis that is longer than a block is cut into blocks. The sums before each
 * block are the cumulative sums of the blocks' totals, found likewise:
 *
 *     x -> (blocks, BLOCK); inner = sums within a block
 *     before = cumsum(inner[:, -1]), moved by one, 0 first
 *     result = inner + before
 *
 * That is BLOCK + 2 operations an element, in a few kernels, and no sum has
 * more than BLOCK terms. Source: Blelloch, "Prefix sums and their
 * applications", CMU-CS-90-190, 1990. */
#include "expr/graph/infer_types.h"
#include "expr/graph/infer_views.h"

enum {
    BLOCK = 32,
    DIRECT = 2 * BLOCK /* an axis that is not cut */
};

/* -- nodes ------------------------------------------------------------ */

static unsigned of_two(struct xl__infer *in, enum xl__expr_op op, unsigned a,
                       unsigned b)
{
    return xl__infer_map(in, op, (const unsigned[]){a, b});
}

static unsigned choose(struct xl__infer *in, unsigned condition, unsigned a,
                       unsigned b)
{
    return xl__infer_map(in, XL__E_WHERE, (const unsigned[]){condition, a, b});
}

static unsigned whole_number(struct xl__infer *in, size_t value)
{
    return xl__infer_const(in, XL__V_I32, (double)value);
}

/* The index along an axis of a value of this shape. */
static unsigned index_of(struct xl__infer *in, const struct xl__shape *shape,
                         unsigned axis)
{
    const struct xl__node spec = {
        .op = XL__E_INDEX, .type = XL__V_I32, .arg = {whole_number(in, axis)}};
    if (in->status != XL_OK)
        return XL__NO_NODE;
    struct xl__node n = spec;
    return xl__infer_set_rand_shape(in, xl__infer_node(in, &n), shape);
}

/* x at the indices first + 0, 1 ... count - 1 of an axis. */
static unsigned take_range(struct xl__infer *in, unsigned x, unsigned axis,
                           unsigned first, size_t count)
{
    const struct xl__shape line = {1, {count}};
    const struct xl__tree_node call = {
        .has_axes = true, .n_axes = 1, .axes = {(int)axis}};
    const unsigned at = of_two(in, XL__E_ADD, index_of(in, &line, 0), first);
    return xl__infer_gather(in, &call, x, at);
}

/* All of every axis, but the slice `s` of this one. */
static unsigned cut(struct xl__infer *in, unsigned x, unsigned axis,
                    struct xl__slice s)
{
    struct xl__tree_node view = {.kind = XL__T_VIEW, .n_slices = axis + 1};
    for (unsigned d = 0; d < axis; d++)
        view.slice[d] = (struct xl__slice){.step = 1};
    view.slice[axis] = s;
    return xl__infer_view(in, &view, x);
}

static unsigned cut_range(struct xl__infer *in, unsigned x, unsigned axis,
                          size_t first, size_t last)
{
    return cut(in, x, axis,
               (struct xl__slice){.has_first = true,
                                  .has_last = true,
                                  .first = (int64_t)first,
                                  .last = (int64_t)last,
                                  .step = 1});
}

static unsigned reshape(struct xl__infer *in, unsigned x,
                        const struct xl__shape *to)
{
    struct xl__tree_node view = {
        .kind = XL__T_VIEW, .view = XL__VIEW_RESHAPE, .n_sizes = to->n_dims};
    for (unsigned d = 0; d < to->n_dims; d++)
        view.size[d] = (int64_t)to->size[d];
    return xl__infer_view(in, &view, x);
}

static const struct xl__shape *shape_of(const struct xl__infer *in, unsigned x)
{
    return &in->g->node[x].shape;
}

/* -- axes ------------------------------------------------------------- */

/* The one axis of a call: the first, if none is named. */
static bool find_axis(struct xl__infer *in, const struct xl__tree_node *call,
                      unsigned x, unsigned *axis)
{
    unsigned all[XL_MAX_DIMS] = {0};
    if (call->has_axes && call->n_axes != 1)
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT, "one axis is named, as in axis=0");
    else if (shape_of(in, x)->n_dims == 0)
        XL__INFER_FAIL(in, XL_BAD_SHAPE, "a single value has no axis");
    else
        xl__infer_axes(in, call, shape_of(in, x)->n_dims, all);
    *axis = all[0];
    return in->status == XL_OK;
}

/* -- concat ----------------------------------------------------------- */

static bool fits_beside(struct xl__infer *in, unsigned a, unsigned b,
                        unsigned axis)
{
    char left[XL__SHAPE_TEXT], right[XL__SHAPE_TEXT];
    const struct xl__shape *s = shape_of(in, a), *t = shape_of(in, b);
    bool fits = s->n_dims == t->n_dims;
    for (unsigned d = 0; fits && d < s->n_dims; d++)
        fits = d == axis || s->size[d] == t->size[d];
    if (!fits)
        XL__INFER_FAIL(
            in, XL_BAD_SHAPE, "shapes %s and %s differ in more than axis %u",
            xl__shape_text(s, left), xl__shape_text(t, right), axis);
    return fits;
}

static unsigned concat(struct xl__infer *in, const struct xl__tree_node *call,
                       const unsigned *arg)
{
    unsigned axis, out;
    if (!find_axis(in, call, arg[0], &axis))
        return XL__NO_NODE;
    struct xl__shape all = *shape_of(in, arg[0]);
    for (unsigned i = 1; i < call->n_args; i++) {
        if (!fits_beside(in, arg[0], arg[i], axis))
            return XL__NO_NODE;
        all.size[axis] += shape_of(in, arg[i])->size[axis];
    }
    if (!xl__infer_fits(in, &all))
        return XL__NO_NODE;
    const unsigned at = index_of(in, &all, axis);
    size_t before = shape_of(in, arg[0])->size[axis];
    out = take_range(in, arg[0], axis, whole_number(in, 0), all.size[axis]);
    for (unsigned i = 1; i < call->n_args && in->status == XL_OK; i++) {
        const unsigned first = of_two(in, XL__E_SUB, whole_number(in, 0),
                                      whole_number(in, before));
        out = choose(in, of_two(in, XL__E_LT, at, whole_number(in, before)),
                     out, take_range(in, arg[i], axis, first, all.size[axis]));
        before += shape_of(in, arg[i])->size[axis];
    }
    return out;
}

/* -- pad -------------------------------------------------------------- */

/* x with `before` and `after` times `value` at the ends of an axis. */
static unsigned pad_axis(struct xl__infer *in, unsigned x, unsigned axis,
                         size_t before, size_t after, unsigned value)
{
    if (in->status != XL_OK || before + after == 0)
        return x;
    struct xl__shape all = *shape_of(in, x);
    const size_t end = before + all.size[axis];
    all.size[axis] = end + after;
    if (!xl__infer_fits(in, &all))
        return XL__NO_NODE;
    const unsigned first =
        of_two(in, XL__E_SUB, whole_number(in, 0), whole_number(in, before));
    const unsigned at = index_of(in, &all, axis);
    unsigned out = take_range(in, x, axis, first, all.size[axis]);
    if (before > 0)
        out = choose(in, of_two(in, XL__E_GE, at, whole_number(in, before)),
                     out, value);
    if (after > 0)
        out = choose(in, of_two(in, XL__E_LT, at, whole_number(in, end)), out,
                     value);
    return out;
}

/* A number of elements that is written in the text. */
static bool read_count(struct xl__infer *in, unsigned node, size_t *out)
{
    const struct xl__node *n = &in->g->node[node];
    const bool is_count =
        n->op == XL__E_CONST && n->type == XL__V_I32 && n->value >= 0;
    if (!is_count)
        XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                       "pad takes two numbers of elements, 0 or more, like "
                       "pad(x, 1, 2)");
    else
        *out = (size_t)n->value;
    return is_count;
}

static unsigned pad(struct xl__infer *in, const struct xl__tree_node *call,
                    const unsigned *arg)
{
    const unsigned n_dims = shape_of(in, arg[0])->n_dims;
    unsigned axis[XL_MAX_DIMS], out = arg[0];
    size_t before, after;
    if (!read_count(in, arg[1], &before) || !read_count(in, arg[2], &after) ||
        !xl__infer_axes(in, call, n_dims, axis))
        return XL__NO_NODE;
    const unsigned value =
        call->n_args > 3 ? arg[3]
                         : xl__infer_const(in, in->g->node[arg[0]].type, 0);
    if (in->status == XL_OK && shape_of(in, value)->n_dims > 0)
        return XL__INFER_FAIL(in, XL_BAD_SHAPE,
                              "the value of padding is a single number");
    for (unsigned d = 0; d < (call->has_axes ? call->n_axes : n_dims); d++)
        out = pad_axis(in, out, call->has_axes ? axis[d] : d, before, after,
                       value);
    return out;
}

/* -- slice ------------------------------------------------------------ */

/* A bound as base + offset; base is XL__NO_NODE for a number. */
struct bound {
    unsigned base;
    double offset;
};

static struct bound read_bound(const struct xl__infer *in, unsigned node)
{
    struct bound b = {node, 0};
    for (;;) {
        const struct xl__node *n = &in->g->node[b.base];
        if (n->op == XL__E_CONST) {
            b.offset += n->value;
            b.base = XL__NO_NODE;
            return b;
        }
        if ((n->op != XL__E_ADD && n->op != XL__E_SUB) ||
            in->g->node[n->arg[1]].op != XL__E_CONST)
            return b;
        const double step = in->g->node[n->arg[1]].value;
        b.offset += n->op == XL__E_ADD ? step : -step;
        b.base = n->arg[0];
    }
}

static unsigned slice(struct xl__infer *in, const struct xl__tree_node *call,
                      const unsigned *arg)
{
    unsigned axis;
    if (!find_axis(in, call, arg[0], &axis))
        return XL__NO_NODE;
    for (unsigned i = 1; i <= 2; i++) {
        const struct xl__node *n = &in->g->node[arg[i]];
        if (n->type != XL__V_I32 || xl__shape_elems(&n->shape) != 1 ||
            n->shape.n_dims > 1)
            return XL__INFER_FAIL(in, XL_BAD_ARGUMENT,
                                  "a bound of a slice is a single i32");
    }
    const struct bound first = read_bound(in, arg[1]);
    const struct bound last = read_bound(in, arg[2]);
    const double count = last.offset - first.offset;
    if (first.base != last.base)
        return XL__INFER_FAIL(
            in, XL_BAD_ARGUMENT,
            "the size of a slice is known before the run: its bounds differ "
            "by a whole number, as in x[i:i + 4]; for fewer elements take the "
            "most there can be and choose, as in where(index(0) < n, x[i:i + "
            "4], 0)");
    if (first.base == XL__NO_NODE)
        return cut(in, arg[0], axis,
                   (struct xl__slice){.has_first = true,
                                      .has_last = true,
                                      .first = (int64_t)first.offset,
                                      .last = (int64_t)last.offset,
                                      .step = 1});
    return take_range(in, arg[0], axis, arg[1], count > 0 ? (size_t)count : 0);
}

/* -- cumsum ----------------------------------------------------------- */

/* Sums of x[o, 0 ... i, k] for a value of three axes. */
static unsigned sum_directly(struct xl__infer *in, unsigned x)
{
    const struct xl__shape line = *shape_of(in, x);
    const struct xl__shape all = {
        4, {line.size[0], line.size[1], line.size[1], line.size[2]}};
    const unsigned beside =
        cut(in, x, 1, (struct xl__slice){.is_new = true, .step = 1});
    const unsigned is_before =
        of_two(in, XL__E_LE, index_of(in, &all, 2), index_of(in, &all, 1));
    const unsigned zero = xl__infer_const(in, in->g->node[x].type, 0);
    const unsigned sum = xl__infer_reduce(
        in, XL__E_SUM, choose(in, is_before, beside, zero), 1u << 2);
    return reshape(in, sum, &line);
}

static unsigned sum_line(struct xl__infer *in, unsigned x)
{
    const struct xl__shape line = *shape_of(in, x);
    const size_t n = line.size[1], blocks = n / BLOCK + (n % BLOCK > 0);
    if (in->status != XL_OK || n <= DIRECT)
        return in->status == XL_OK ? sum_directly(in, x) : XL__NO_NODE;
    const unsigned zero = xl__infer_const(in, in->g->node[x].type, 0);
    const struct xl__shape cut_up = {
        3, {line.size[0] * blocks, BLOCK, line.size[2]}};
    const struct xl__shape by_block = {
        4, {line.size[0], blocks, BLOCK, line.size[2]}};
    const struct xl__shape totals = {3, {line.size[0], blocks, line.size[2]}};
    const struct xl__shape joined = {
        3, {line.size[0], blocks * BLOCK, line.size[2]}};
    const unsigned full = pad_axis(in, x, 1, 0, blocks * BLOCK - n, zero);
    const unsigned inner =
        reshape(in, sum_directly(in, reshape(in, full, &cut_up)), &by_block);
    const unsigned total =
        reshape(in, cut_range(in, inner, 2, BLOCK - 1, BLOCK), &totals);
    unsigned before = sum_line(in, total);
    if (in->status != XL_OK)
        return XL__NO_NODE;
    const unsigned none = xl__infer_const(in, in->g->node[before].type, 0);
    before =
        pad_axis(in, cut_range(in, before, 1, 0, blocks - 1), 1, 1, 0, none);
    before = cut(in, before, 2, (struct xl__slice){.is_new = true, .step = 1});
    return cut_range(
        in, reshape(in, of_two(in, XL__E_ADD, inner, before), &joined), 1, 0,
        n);
}

static unsigned cumsum(struct xl__infer *in, const struct xl__tree_node *call,
                       unsigned x)
{
    struct xl__shape shape = *shape_of(in, x), line = {3, {1, 1, 1}};
    unsigned axis = 0;
    if (call->has_axes && !find_axis(in, call, x, &axis))
        return XL__NO_NODE;
    if (!call->has_axes)
        shape = (struct xl__shape){1, {xl__shape_elems(&shape)}};
    for (unsigned d = 0; d < shape.n_dims; d++)
        line.size[d < axis ? 0 : d == axis ? 1 : 2] *= shape.size[d];
    if (xl__shape_elems(&shape) == 0)
        return xl__infer_reduce(in, XL__E_SUM, reshape(in, x, &shape), 0);
    return reshape(in, sum_line(in, reshape(in, x, &line)), &shape);
}

/* -- calls ------------------------------------------------------------ */

unsigned xl__infer_pieces(struct xl__infer *in,
                          const struct xl__tree_node *call,
                          const unsigned *arg)
{
    for (unsigned i = 0; i < call->n_args; i++)
        if (!xl__infer_has_shape(in, arg[i]))
            return XL__NO_NODE;
    switch (call->row) {
    case XL__ROW_CONCAT:
        return concat(in, call, arg);
    case XL__ROW_PAD:
        return pad(in, call, arg);
    case XL__ROW_SLICE:
        return slice(in, call, arg);
    default:
        return cumsum(in, call, arg[0]);
    }
}
