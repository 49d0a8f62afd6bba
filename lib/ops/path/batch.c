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

size_t xl__batch_rows(const xl_batch *b)
{
    return b->inner ? xl__ceil_div(xl__batch_count(b), b->inner) : 1;
}

size_t xl__batch_row_count(const xl_batch *b)
{
    return b->inner ? b->inner : xl__batch_count(b);
}

static xl_status check_second_axis(const xl_batch *b, struct xl__error *e)
{
    const bool is_set =
        b->a_inner || b->b_inner || b->c_inner || b->a_share || b->b_share;
    if (b->inner == 0 && is_set)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "a batch has steps or shares along a second "
                             "axis, but inner is 0: set inner to the products "
                             "of a row");
    if (b->inner > 0 && b->a_at)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "a batch has listed offsets and a second axis; "
                             "list the offsets of all products, with inner 0");
    if (b->inner > 0 && xl__batch_count(b) % b->inner != 0)
        return xl__error_set(e, XL_BAD_SHAPE,
                             "a batch of %zu products has no whole number of "
                             "rows of %zu: inner must divide count",
                             xl__batch_count(b), b->inner);
    return XL_OK;
}

xl_status xl__batch_check(const xl_batch *b, struct xl__error *e)
{
    if (b->at && (b->a_at || b->b_at || b->c_at || b->inner || b->a_step ||
                  b->b_step || b->c_step))
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "a batch has offsets in device memory and steps, "
                             "listed offsets or a second axis: set only one "
                             "of these");
    if (!b->a_at == !b->b_at && !b->b_at == !b->c_at)
        return check_second_axis(b, e);
    return xl__error_set(e, XL_BAD_ARGUMENT,
                         "a batch has offsets for %s%s%sonly: set a_at, b_at "
                         "and c_at, or none of them",
                         b->a_at ? "A " : "", b->b_at ? "B " : "",
                         b->c_at ? "C " : "");
}

/* -- places --------------------------------------------------------------- */

/* A matrix that a whole row shares has a step of 0 along it. */
static struct xl__places make_places(const xl_batch *b, size_t step,
                                     const cl_ulong *at, size_t inner_step,
                                     size_t share)
{
    struct xl__places p = {xl__batch_count(b), step, at, 1, 0, 1, false};
    if (b->inner > 0)
        p.inner = b->inner;
    if (p.inner > 1 && share < p.inner) {
        p.inner_step = inner_step;
        p.share = xl__max_size(share, 1);
    }
    return p;
}

/* Of A, B or C. Of offsets in device memory only the view itself is known. */
static struct xl__places matrix_places(const xl_batch *b, size_t step,
                                       const cl_ulong *at, size_t inner_step,
                                       size_t share)
{
    if (b->at && !at)
        return (struct xl__places){
            .count = 1, .inner = 1, .share = 1, .is_anywhere = true};
    return make_places(b, step, at, inner_step, share);
}

struct xl__places xl__batch_a(const xl_batch *b)
{
    return matrix_places(b, b->a_step, b->a_at, b->a_inner, b->a_share);
}

struct xl__places xl__batch_b(const xl_batch *b)
{
    return matrix_places(b, b->b_step, b->b_at, b->b_inner, b->b_share);
}

struct xl__places xl__batch_c(const xl_batch *b)
{
    return matrix_places(b, b->c_step, b->c_at, b->c_inner, 1);
}

struct xl__places xl__batch_beside(const xl_batch *b, size_t step,
                                   size_t inner_step, size_t share)
{
    return make_places(b, step, NULL, inner_step, share);
}

/* Rows, and matrices along a row, a last one that is cut counted as whole. */
static size_t n_rows(const struct xl__places *p)
{
    return xl__ceil_div(p->count, p->inner);
}

static size_t n_in_row(const struct xl__places *p)
{
    return xl__ceil_div(p->inner, p->share);
}

size_t xl__places_at(const struct xl__places *p, size_t z)
{
    return p->at ? (size_t)p->at[z]
                 : z / p->inner * p->step +
                       z % p->inner / p->share * p->inner_step;
}

bool xl__places_are_even(const struct xl__places *p, size_t *step)
{
    size_t row;
    *step = p->inner > 1 ? p->inner_step : p->step;
    return !p->at &&
           (p->inner == 1 ||
            (p->share == 1 &&
             (n_rows(p) == 1 ||
              (xl__mul(p->inner, p->inner_step, &row) && row == p->step))));
}

size_t xl__places_matrices(const struct xl__places *p)
{
    if (p->at)
        return p->count;
    return (p->step > 0 ? n_rows(p) : 1) *
           (p->inner_step > 0 ? n_in_row(p) : 1);
}

/* -- disjoint results ----------------------------------------------------- */

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
        fits = xl__region_repeat(r, n_in_row(p), p->inner_step) &&
               xl__region_repeat(r, n_rows(p), p->step);
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
                                : "a step is smaller"));
fail:
    return status;
}

unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat,
                          size_t base)
{
    const size_t elem = xl_dtype_bytes(mat->dtype);
    size_t bits = xl__mat_align(mat, base);
    if (p->is_anywhere)
        bits |= elem;
    if (n_rows(p) > 1 && !p->at)
        bits |= p->step * elem;
    bits |= p->inner_step * elem;
    for (size_t i = 0; p->at && i < p->count; i++)
        bits |= (size_t)p->at[i] * elem;
    return xl__align_of(bits);
}
