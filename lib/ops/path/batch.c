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

/* -- disjoint results
 * --------------------------------------------------------------- */

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

/* `extent`: of one matrix, in elements. */
static xl_status apply_list(const struct xl__places *p, size_t extent,
                            struct xl__region *r, bool *is_apart, bool *fits,
                            struct xl__error *e)
{
    xl_status status = XL_OK;
    cl_ulong least = p->at[0], most = p->at[0];
    if (r->is_written && p->count > 1)
        TRY(are_lists_disjoint(p, extent, is_apart, e));
    for (size_t i = 1; i < p->count; i++) {
        least = p->at[i] < least ? p->at[i] : least;
        most = p->at[i] > most ? p->at[i] : most;
    }
    *fits =
        most <= SIZE_MAX && xl__region_spread(r, (size_t)least, (size_t)most);
fail:
    return status;
}

xl_status xl__places_apply(const struct xl__places *p, struct xl__region *r,
                           struct xl__error *e)
{
    xl_status status = XL_OK;
    const size_t extent = (r->end - r->begin) / r->elem_bytes;
    bool is_apart = true, fits = true;
    if (p->at) {
        TRY(apply_list(p, extent, r, &is_apart, &fits, e));
    } else {
        fits = xl__region_repeat(r, p->count, p->step);
        is_apart = !fits || !r->is_written || !xl__region_overlaps_itself(r);
    }
    if (!fits)
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "%s: the batch does not fit in 64 bits", r->name));
    if (!is_apart)
        TRY(xl__error_set(e, XL_OVERLAP,
                          "%s of different products overlap: one spans %zu "
                          "elements, but %s",
                          r->name, extent,
                          p->at ? "two offsets are closer"
                                : "the step is smaller"));
fail:
    return status;
}

unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat,
                          size_t base)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    size_t bits = xl__mat_align(mat, base);
    if (p->count > 1 && !p->at)
        bits |= p->step * elem;
    for (size_t i = 0; p->at && i < p->count; i++)
        bits |= (size_t)p->at[i] * elem;
    return xl__align_of(bits);
}
