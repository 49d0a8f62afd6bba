/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: the offset of each matrix, and the check that results are disjoint.
 */
#include "ops/path/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

size_t xl__batch_count(const xl_batch *b)
{
    return b->count ? b->count : 1;
}

xl_status xl__batch_check(const xl_batch *b, struct xl__error *e)
{
    if (!b->a_at == !b->b_at && !b->b_at == !b->c_at)
        return XL_OK;
    return xl__error_set(e, XL_BAD_ARGUMENT,
                         "a batch has offsets for %s%s%sonly: set a_at, b_at "
                         "and c_at, or none of them",
                         b->a_at ? "A " : "", b->b_at ? "B " : "",
                         b->c_at ? "C " : "");
}

struct xl__places xl__batch_a(const xl_batch *b)
{
    return (struct xl__places){xl__batch_count(b), b->a_step, b->a_at};
}

struct xl__places xl__batch_b(const xl_batch *b)
{
    return (struct xl__places){xl__batch_count(b), b->b_step, b->b_at};
}

struct xl__places xl__batch_c(const xl_batch *b)
{
    return (struct xl__places){xl__batch_count(b), b->c_step, b->c_at};
}

bool xl__places_reach(const struct xl__places *p, const xl_mat *mat,
                      xl_mat *first, size_t *reach)
{
    uint64_t least = 0, most = 0;
    *first = *mat;
    *reach = 0;
    if (!p->at)
        return xl__mul(p->count - 1, p->step, reach);
    least = most = p->at[0];
    for (size_t i = 1; i < p->count; i++) {
        least = p->at[i] < least ? p->at[i] : least;
        most = p->at[i] > most ? p->at[i] : most;
    }
    *reach = (size_t)(most - least);
    return most <= SIZE_MAX &&
           xl__add(first->offset, (size_t)least, &first->offset);
}

/* -- disjoint results
 * --------------------------------------------------------------- */

struct axis {
    size_t size, stride;
};

static int compare_strides(const void *a, const void *b)
{
    const struct axis *x = a, *y = b;
    return (x->stride > y->stride) - (x->stride < y->stride);
}

/* The stride of each axis is at least the extent of the axes with smaller
 * strides: then no two elements have the same address. */
static bool advance_over(const struct xl__places *p, const struct xl__named *x)
{
    struct axis axes[] = {{p->count, p->step},
                          {x->rows, x->mat->row_stride},
                          {x->cols, x->mat->col_stride}};
    size_t reach = 0;
    qsort(axes, 3, sizeof *axes, compare_strides);
    for (unsigned i = 0; i < 3; i++) {
        if (axes[i].size == 1)
            continue;
        if (axes[i].stride <= reach)
            return false;
        reach += (axes[i].size - 1) * axes[i].stride;
    }
    return true;
}

static int compare_addresses(const void *a, const void *b)
{
    const cl_ulong x = *(const cl_ulong *)a, y = *(const cl_ulong *)b;
    return (x > y) - (x < y);
}

static bool is_ascending(const cl_ulong *at, size_t n, size_t gap)
{
    for (size_t i = 1; i < n; i++) {
        if (at[i] < at[i - 1] || at[i] - at[i - 1] < gap)
            return false;
    }
    return true;
}

static xl_status are_lists_disjoint(const struct xl__places *p, size_t extent,
                                    bool *is_apart, struct xl__error *e)
{
    *is_apart = is_ascending(p->at, p->count, extent);
    if (*is_apart)
        return XL_OK;
    cl_ulong *sorted = xl__calloc(p->count, sizeof *sorted);
    if (!sorted)
        return xl__error_set(e, XL_NO_MEMORY, "offsets of a batch");
    memcpy(sorted, p->at, p->count * sizeof *sorted);
    qsort(sorted, p->count, sizeof *sorted, compare_addresses);
    *is_apart = is_ascending(sorted, p->count, extent);
    free(sorted);
    return XL_OK;
}

xl_status xl__places_apart(const struct xl__places *p,
                           const struct xl__named *x, struct xl__error *e)
{
    xl_status status = XL_OK;
    size_t extent = 0;
    bool is_apart = true;
    if (p->count == 1)
        return XL_OK;
    xl__mat_extent(x->mat, x->rows, x->cols, &extent);
    if (p->at)
        TRY(are_lists_disjoint(p, extent, &is_apart, e));
    else
        is_apart = advance_over(p, x);
    if (!is_apart)
        status = xl__error_set(
            e, XL_OVERLAP,
            "%s of different products overlap: one spans %zu "
            "elements, but %s",
            x->name, extent,
            p->at ? "two offsets are closer" : "the step is smaller");
fail:
    return status;
}

unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    size_t bits = xl__mat_align(mat);
    if (p->count > 1 && !p->at)
        bits |= p->step * elem;
    for (size_t i = 0; p->at && i < p->count; i++)
        bits |= (size_t)p->at[i] * elem;
    return (unsigned)(bits & (~bits + 1));
}
