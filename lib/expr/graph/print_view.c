/* SPDX-License-Identifier: Apache-2.0 */
/* A view as the slice that it was written as, read back from offset and
 * strides. Where that cannot be, as in a permuted slice, it is x[...]. */
#include "expr/graph/print.h"

/* Does dimension d of the view walk as dimension `as` of what is bound? */
static bool walks_as(const struct xl__node *n, unsigned d,
                     const struct xl__param *b, unsigned as)
{
    return n->shape.size[d] == b->size[as] &&
           (b->size[as] == 1 || n->stride[d] == b->stride[as]);
}

/* Are the dimensions those of what is bound, in order or in reverse? */
static bool is_whole(const struct xl__node *n, const struct xl__param *b,
                     bool is_reverse)
{
    if (n->offset != 0 || n->shape.n_dims != b->n_dims)
        return false;
    for (unsigned d = 0; d < b->n_dims; d++)
        if (!walks_as(n, d, b, is_reverse ? b->n_dims - 1 - d : d))
            return false;
    return true;
}

/* The index of the view's first element: its offset, beginning with the
 * dimension of the widest stride. */
static bool find_first(const struct xl__node *n, const struct xl__param *b,
                       size_t first[XL_MAX_DIMS])
{
    size_t left = n->offset;
    bool is_done[XL_MAX_DIMS] = {false};
    for (unsigned i = 0; i < b->n_dims; i++) {
        unsigned widest = XL_MAX_DIMS;
        for (unsigned d = 0; d < b->n_dims; d++)
            if (!is_done[d] && (widest == XL_MAX_DIMS ||
                                b->stride[d] > b->stride[widest]))
                widest = d;
        const size_t stride = b->stride[widest];
        is_done[widest] = true;
        first[widest] = stride > 0 ? left / stride : 0;
        if (first[widest] >= b->size[widest])
            return false;
        left -= first[widest] * stride;
    }
    return left == 0;
}

/* Is dimension d of the view a range of `as` that begins there? */
static bool is_range(const struct xl__node *n, unsigned d,
                     const struct xl__param *b, unsigned as, size_t first)
{
    const size_t stride = b->stride[as], count = n->shape.size[d];
    if (count == 1)
        return true;
    return stride > 0 && n->stride[d] >= stride &&
           n->stride[d] % stride == 0 &&
           n->stride[d] / stride <= (b->size[as] - 1 - first) / (count - 1);
}

static void print_range(size_t first, size_t count, size_t step, size_t size,
                        struct xl__str *out)
{
    const size_t last = first + (count - 1) * step + 1;
    if (first > 0)
        xl__str_printf(out, "%zu", first);
    xl__str_add(out, ":");
    if (last + step <= size) /* else there is no next one */
        xl__str_printf(out, "%zu", last);
    if (step > 1)
        xl__str_printf(out, ":%zu", step);
}

/* Bound dimensions that the view does not have are indices. */
static bool print_slices(const struct xl__node *n, const struct xl__param *b,
                         struct xl__str *out)
{
    size_t first[XL_MAX_DIMS];
    unsigned d = 0;
    if (n->shape.n_dims > b->n_dims || !find_first(n, b, first))
        return false;
    for (unsigned as = 0; as < b->n_dims; as++) {
        const unsigned left = n->shape.n_dims - d;
        const bool is_kept = left > 0 && is_range(n, d, b, as, first[as]) &&
                             (left == b->n_dims - as ||
                              n->shape.size[d] > 1 || b->size[as] == 1);
        if (!is_kept && left == b->n_dims - as)
            return false;
        xl__str_add(out, as > 0 ? ", " : "[");
        if (!is_kept) {
            xl__str_printf(out, "%zu", first[as]);
            continue;
        }
        const size_t count = n->shape.size[d];
        print_range(first[as], count,
                    count > 1 ? n->stride[d] / b->stride[as] : 1, b->size[as],
                    out);
        d++;
    }
    xl__str_add(out, "]");
    return true;
}

void xl__print_view(const struct xl__node *n, const struct xl__param *b,
                    struct xl__str *out)
{
    struct xl__str slices = {0};
    if (is_whole(n, b, false))
        xl__str_add(out, b->name);
    else if (is_whole(n, b, true))
        xl__str_printf(out, "transpose(%s)", b->name);
    else
        xl__str_printf(out, "%s%s", b->name,
                       print_slices(n, b, &slices) ? xl__str_text(&slices)
                                                   : "[...]");
    xl__str_clear(&slices);
}
