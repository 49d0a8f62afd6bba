/* SPDX-License-Identifier: Apache-2.0 */
/* Overlaps of memory, and the detours that they require.
 *
 * Every view of a tensor is made by slices and permutations, so it is a box
 * with steps in the tensor's own index space: along each dimension an
 * arithmetic progression of indices. Two boxes are disjoint if they are
 * disjoint along one dimension.
 *
 * An expression means: everything is read, then everything is written, in
 * order. Where the clusters would do otherwise, because an output overlaps
 * memory that is read later or by another item, or an output before it, the
 * output is detoured: stored in a temporary, and copied after all clusters. */
#include <string.h>

#include "expr/fuse/fuse.h"
#include "base/numbers.h"

/* The indices first, first + step ... along one dimension. */
struct index_range {
    size_t first, count, step;
};
struct index_box {
    struct index_range range[XL_MAX_DIMS];
};

/* Dimensions with more than one element, largest stride first. False if
 * elements of the tensor overlap: then an address does not determine an index.
 */
static bool sorted_dims(const struct xl__parameter *b, unsigned *dim, unsigned *n)
{
    size_t reach =
        0; /* largest offset by the dimensions with smaller strides */
    *n = 0;
    for (unsigned d = 0; d < b->n_dims; d++) {
        unsigned i = *n;
        if (b->size[d] == 1)
            continue;
        for (; i > 0 && b->stride[dim[i - 1]] < b->stride[d]; i--)
            dim[i] = dim[i - 1];
        dim[i] = d;
        ++*n;
    }
    for (unsigned i = *n; i-- > 0;) {
        const size_t stride = b->stride[dim[i]];
        if (stride <= reach)
            return false;
        reach += (b->size[dim[i]] - 1) * stride; /* no overflow: see infer.c */
    }
    return true;
}

/* The same elements with no negative stride. */
static struct xl__view forward_view(const struct xl__view *of)
{
    struct xl__view v = *of;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++) {
        if (xl__stride_length(v.stride[d]) == v.stride[d])
            continue;
        v.offset += (v.extent.size[d] - 1) * v.stride[d];
        v.stride[d] = xl__stride_length(v.stride[d]);
    }
    return v;
}

/* The box of a view; false: the view is not a box, or not certainly. */
static bool find_box(const struct xl__parameter *b, const struct xl__view *of,
                     struct index_box *box)
{
    const struct xl__view forward = forward_view(of), *v = &forward;
    unsigned dim[XL_MAX_DIMS], n;
    size_t rest = v->offset;
    memset(box, 0, sizeof *box);
    if (!sorted_dims(b, dim, &n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const size_t stride = b->stride[dim[i]];
        box->range[dim[i]] = (struct index_range){rest / stride, 1, 1};
        rest %= stride;
    }
    for (unsigned d = 0; d < XL_MAX_DIMS; d++) {
        unsigned i = 0;
        if (v->stride[d] == 0)
            continue; /* broadcast: one index */
        while (i < n && b->stride[dim[i]] > v->stride[d])
            i++;
        if (i == n || v->stride[d] % b->stride[dim[i]] != 0)
            return false;
        struct index_range *s = &box->range[dim[i]];
        if (s->count != 1)
            return false;
        s->count = v->extent.size[d];
        s->step = v->stride[d] / b->stride[dim[i]];
    }
    for (unsigned i = 0; i < n; i++) {
        const struct index_range *s = &box->range[dim[i]];
        if (s->first + (s->count - 1) * s->step >= b->size[dim[i]])
            return false;
    }
    return rest == 0;
}

/* Do two progressions have no common element? Either their ranges are
 * disjoint, or the distance of their starts is not a multiple of the greatest
 * common divisor of their steps. */
static bool are_disjoint(const struct index_range *a,
                         const struct index_range *b)
{
    const size_t last_a = a->first + (a->count - 1) * a->step;
    const size_t last_b = b->first + (b->count - 1) * b->step;
    if (last_a < b->first || last_b < a->first)
        return true;
    const size_t gap =
        a->first < b->first ? b->first - a->first : a->first - b->first;
    /* A single element has no step: the other's decides. */
    const size_t step = a->count == 1   ? b->step
                        : b->count == 1 ? a->step
                                        : (size_t)xl__gcd(a->step, b->step);
    return (a->count > 1 || b->count > 1) && gap % step != 0;
}

/* May two views of a bound tensor have an element in common? False only if
 * they certainly have none. */
static bool views_overlap(const struct xl__parameter *b,
                          const struct xl__view *a, const struct xl__view *c)
{
    struct index_box x, y;
    if (!find_box(b, a, &x) || !find_box(b, c, &y))
        return true;
    for (unsigned d = 0; d < b->n_dims; d++)
        if (b->size[d] > 1 && are_disjoint(&x.range[d], &y.range[d]))
            return false;
    return true;
}

/* Is every index the same element in both views? */
static bool views_equal(const struct xl__view *a, const struct xl__view *c)
{
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (a->stride[d] != c->stride[d])
            return false;
    return a->offset == c->offset && xl__extent_equal(&a->extent, &c->extent);
}

bool xl__outputs_overlap(const struct xl__fusion *f, unsigned a, unsigned b)
{
    const struct xl__output *x = &f->g->output[a], *y = &f->g->output[b];
    const struct xl__parameter *bound = &f->s->b[x->binding];
    if (bound->same_as != f->s->b[y->binding].same_as)
        return false;
    const struct xl__view v = xl__view_output(x), w = xl__view_output(y);
    return views_overlap(bound, &v, &w);
}

/* Is it safe that a cluster reads the input when the output has been written,
 * or is written by the same kernel? */
static bool is_safe_read(const struct xl__fusion *f, unsigned output,
                         const struct xl__node *input, bool is_same_cluster)
{
    const struct xl__output *o = &f->g->output[output];
    const struct xl__parameter *bound = &f->s->b[o->binding];
    if (bound->same_as != f->s->b[input->binding].same_as)
        return true;
    const struct xl__view w = xl__view_output(o), r = xl__view_input(input);
    if (is_same_cluster && views_equal(&w, &r))
        return true; /* an item reads the element before it writes it */
    return !views_overlap(bound, &w, &r);
}

/* Does cluster number `at`, which is the current one, read memory that the
 * output overwrites? */
static bool is_read(const struct xl__fusion *f, unsigned output, unsigned at)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n], *source = node;
        const bool gathers = xl__is_gather(node) && !xl__is_loaded(f, n, at);
        if (gathers) /* by any item */
            source = &f->g->node[node->arg[XL__GATHER_SOURCE]];
        if (f->mark[n].is_needed && source->op == XL__E_INPUT &&
            !is_safe_read(f, output, source,
                          !gathers && f->output_in[output] == at))
            return true;
    }
    return false;
}

/* The sink that stores an output. */
static struct xl__sink *sink_of(struct xl__fusion *f, unsigned output)
{
    struct xl__cluster *c = &f->cluster[f->output_in[output]];
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].output == output)
            return &c->sink[i];
    return NULL;
}

/* Is the output written before an earlier output that it overlaps? */
static bool is_out_of_order(struct xl__fusion *f, unsigned output)
{
    for (unsigned o = 0; o < output; o++)
        if ((sink_of(f, o)->is_detoured ||
             f->output_in[o] >= f->output_in[output]) &&
            xl__outputs_overlap(f, o, output))
            return true;
    return false;
}

/* Push a cluster that copies a detoured output from its temporary. */
static xl_status push_copy(struct xl__fusion *f, unsigned output)
{
    xl_status status;
    struct xl__cluster c = {.is_copy = true, .from = *sink_of(f, output)};
    c.domain.all = c.from.extent;
    TRY(xl__sink_add(f, &c, c.from.node, output));
    xl__str_add(&c.why,
                "Copied at the end because its memory is read until then. ");
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

xl_status xl__detour_outputs(struct xl__fusion *f)
{
    xl_status status = XL_OK;
    const unsigned n_clusters = f->n_clusters;
    for (unsigned at = 0; at < n_clusters; at++) {
        xl__cluster_close(f, &f->cluster[at], at);
        for (unsigned o = 0; o < f->g->n_outputs; o++)
            if (f->output_in[o] <= at && is_read(f, o, at))
                sink_of(f, o)->is_detoured = true;
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        struct xl__sink *sink = sink_of(f, o);
        if (is_out_of_order(f, o))
            sink->is_detoured = true;
        if (sink->is_detoured)
            TRY(xl__temp_add(f, sink));
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (sink_of(f, o)->is_detoured)
            TRY(push_copy(f, o));
fail:
    return status;
}
