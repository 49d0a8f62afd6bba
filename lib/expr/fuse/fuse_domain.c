/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes aligned at the end, and memory as seen along them. */
#include "expr/fuse/fuse.h"

struct xl__extent xl__extent_of(const struct xl__shape *shape)
{
    struct xl__extent x;
    const unsigned gap = XL_MAX_DIMS - shape->n_dims;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        x.size[d] = d < gap ? 1 : shape->size[d - gap];
    return x;
}

double xl__extent_elems(const struct xl__extent *x)
{
    double n = 1;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        n *= (double)x->size[d];
    return n;
}

bool xl__extent_equal(const struct xl__extent *a, const struct xl__extent *b)
{
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (a->size[d] != b->size[d])
            return false;
    return true;
}

void xl__extent_print(const struct xl__extent *x, struct xl__str *out)
{
    unsigned first = 0;
    while (first + 1 < XL_MAX_DIMS && x->size[first] == 1)
        first++;
    for (unsigned d = first; d < XL_MAX_DIMS; d++)
        xl__str_printf(out, d == first ? "%zu" : " x %zu", x->size[d]);
}

struct xl__extent xl__domain_rows(const struct xl__domain *d)
{
    struct xl__extent x = d->all;
    for (unsigned i = 0; i < XL_MAX_DIMS; i++)
        if (d->reduced >> i & 1)
            x.size[i] = 1;
    return x;
}

struct xl__domain xl__domain_of(const struct xl__fuser *f, unsigned reduction)
{
    const struct xl__node *n = &f->g->node[reduction];
    const struct xl__node *arg = &f->g->node[n->arg[0]];
    struct xl__domain d = {xl__extent_of(&arg->shape), 0};
    const unsigned gap = XL_MAX_DIMS - arg->shape.n_dims;
    for (unsigned i = gap; i < XL_MAX_DIMS; i++)
        if ((n->axes >> (i - gap) & 1) && d.all.size[i] > 1)
            d.reduced |= 1u << i;
    return d;
}

static struct xl__view view_of(size_t offset, const struct xl__shape *shape,
                               const size_t *stride)
{
    struct xl__view v = {offset, xl__extent_of(shape), {0}};
    const unsigned gap = XL_MAX_DIMS - shape->n_dims;
    for (unsigned d = gap; d < XL_MAX_DIMS; d++)
        v.stride[d] = v.extent.size[d] > 1 ? stride[d - gap] : 0;
    return v;
}

struct xl__view xl__view_input(const struct xl__node *n)
{
    return view_of(n->offset, &n->shape, n->stride);
}

struct xl__view xl__view_output(const struct xl__output *o)
{
    return view_of(o->offset, &o->shape, o->stride);
}

struct xl__view xl__view_dense(const struct xl__extent *x)
{
    struct xl__view v = {0, *x, {0}};
    size_t step = 1;
    for (unsigned d = XL_MAX_DIMS; d-- > 0;) {
        v.stride[d] = x->size[d] > 1 ? step : 0;
        step *= x->size[d];
    }
    return v;
}

unsigned xl__view_inner(const struct xl__view *v)
{
    unsigned inner = XL__NEVER;
    for (unsigned d = XL_MAX_DIMS; d-- > 0;) {
        if (v->stride[d] == 0)
            continue;
        if (inner == XL__NEVER || v->stride[d] < v->stride[inner])
            inner = d;
    }
    return inner;
}
