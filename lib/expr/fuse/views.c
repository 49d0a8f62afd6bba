/* SPDX-License-Identifier: Apache-2.0 */
/* Which views of a tensor have elements in common. Every view is made of
 * slices and permutations, so it is a box with steps in the tensor's own
 * index space; boxes that part in one dimension part. */
#include "expr/fuse/fuse.h"

#include <string.h>

struct side {
    size_t first, count, step;
};
struct box {
    struct side side[XL_MAX_DIMS];
};

/* Dimensions with more than one element, largest stride first. False if the
 * tensor meets itself: then a place has no index of its own. */
static bool sorted_dims(const struct xl__param *b, unsigned *dim, unsigned *n)
{
    size_t reach = 0; /* of the dimensions further in */
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
        reach += (b->size[dim[i]] - 1) * stride; /* infer.c: it fits */
    }
    return true;
}

static bool box_of(const struct xl__param *b, const struct xl__view *v,
                   struct box *box)
{
    unsigned dim[XL_MAX_DIMS], n;
    size_t rest = v->offset;
    memset(box, 0, sizeof *box);
    if (!sorted_dims(b, dim, &n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const size_t stride = b->stride[dim[i]];
        box->side[dim[i]] = (struct side){rest / stride, 1, 1};
        rest %= stride;
    }
    for (unsigned d = 0; d < XL_MAX_DIMS; d++) {
        unsigned i = 0;
        if (v->stride[d] == 0)
            continue; /* one place, again and again */
        while (i < n && b->stride[dim[i]] > v->stride[d])
            i++;
        if (i == n || v->stride[d] % b->stride[dim[i]] != 0)
            return false;
        struct side *s = &box->side[dim[i]];
        if (s->count != 1)
            return false;
        s->count = v->extent.size[d];
        s->step = v->stride[d] / b->stride[dim[i]];
    }
    for (unsigned i = 0; i < n; i++) {
        const struct side *s = &box->side[dim[i]];
        if (s->first + (s->count - 1) * s->step >= b->size[dim[i]])
            return false;
    }
    return rest == 0;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b != 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool sides_part(const struct side *a, const struct side *b)
{
    const size_t last_a = a->first + (a->count - 1) * a->step;
    const size_t last_b = b->first + (b->count - 1) * b->step;
    if (last_a < b->first || last_b < a->first)
        return true;
    const size_t gap =
        a->first < b->first ? b->first - a->first : a->first - b->first;
    /* One element has no step; its place is met or not by the other's. */
    const size_t step = a->count == 1   ? b->step
                        : b->count == 1 ? a->step
                                        : common_divisor(a->step, b->step);
    return (a->count > 1 || b->count > 1) && gap % step != 0;
}

bool xl__views_meet(const struct xl__param *b, const struct xl__view *a,
                    const struct xl__view *c)
{
    struct box x, y;
    if (!box_of(b, a, &x) || !box_of(b, c, &y))
        return true;
    for (unsigned d = 0; d < b->n_dims; d++)
        if (b->size[d] > 1 && sides_part(&x.side[d], &y.side[d]))
            return false;
    return true;
}

bool xl__views_same(const struct xl__view *a, const struct xl__view *c)
{
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (a->stride[d] != c->stride[d])
            return false;
    return a->offset == c->offset && xl__extent_equal(&a->extent, &c->extent);
}

bool xl__outputs_meet(const struct xl__fuser *f, unsigned a, unsigned b)
{
    const struct xl__output *x = &f->g->output[a], *y = &f->g->output[b];
    const struct xl__param *bound = &f->s->b[x->binding];
    const struct xl__view v = xl__view_output(x), w = xl__view_output(y);
    return bound->same_as == f->s->b[y->binding].same_as &&
           xl__views_meet(bound, &v, &w);
}
