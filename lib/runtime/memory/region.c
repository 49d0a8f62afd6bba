/* SPDX-License-Identifier: Apache-2.0 */
/* Overlap of strided regions, with themselves and with each other.
 *
 * An exact answer is a knapsack problem. These tests are exact for what
 * occurs: nested strides, two crossing strides, and regions that are adjacent
 * or interleaved. Otherwise they answer that the regions overlap.
 *
 * Two regions of the same memory are disjoint when, modulo a common pitch, the
 * windows that their small strides cover are disjoint:
 *
 *     a: ##....##....##....     pitch 6, window 2, offset 0
 *     b: ...##....##....##.     pitch 6, window 2, offset 3
 *
 * or when, within such a pitch, the bytes of one window are disjoint from
 * those of the other by the same rule.
 *
 * Every warm call makes regions: nothing is allocated, and only a message is
 * formatted. */
#include "runtime/memory/region.h"

#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"

/* -- making --------------------------------------------------------------- */

/* "16 at stride 20, 16 at stride 1", in units of `unit`. */
static void print_dims(struct xl__str *out, unsigned n, const size_t *size,
                       const size_t *stride, size_t unit)
{
    for (unsigned d = 0; d < n; d++)
        xl__str_printf(out, "%s%zu at stride %zu", d > 0 ? ", " : "", size[d],
                       stride[d] / unit);
}

static xl_status fail_overflow(const char *name, const xl_tensor *view,
                               struct xl__error *e)
{
    struct xl__str dims = {0};
    print_dims(&dims, view->n_dims, view->size, view->stride, 1);
    const xl_status status = xl__error_set(
        e, XL_OVERFLOW, "%s: %s from offset %zu does not fit in 64 bits", name,
        view->n_dims > 0 ? xl__str_text(&dims) : "an element", view->offset);
    xl__str_clear(&dims);
    return status;
}

/* The next dimension of the region; the end moves with it. */
static bool add_dim(struct xl__region *r, size_t size, size_t stride)
{
    size_t last;
    if (size == 1)
        return true;
    r->size[r->n_dims] = size;
    if (!xl__mul(stride, r->elem_bytes, &r->stride[r->n_dims]) ||
        !xl__mul(size - 1, r->stride[r->n_dims++], &last))
        return false;
    return xl__add(r->end, last, &r->end);
}

xl_status xl__region_init(struct xl__region *r, const char *name,
                          const xl_tensor *view, struct xl__error *e)
{
    r->name = name;
    r->root = NULL;
    r->base = 0;
    r->dtype = view->dtype;
    r->elem_bytes = xl_dtype_bytes(view->dtype);
    r->is_located = r->is_written = r->may_be_result = r->is_block = false;
    r->n_dims = 0;
    if (r->elem_bytes == 0)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s: invalid dtype %d: must be XL_F32, XL_F16 or "
                             "another of xl_dtype",
                             name, (int)view->dtype);
    if (view->n_dims > XL_MAX_DIMS)
        return xl__error_set(e, XL_BAD_ARGUMENT,
                             "%s has %u dimensions; the maximum is %d", name,
                             view->n_dims, XL_MAX_DIMS);
    bool fits = xl__mul(view->offset, r->elem_bytes, &r->begin) &&
                xl__add(r->begin, r->elem_bytes, &r->end);
    for (unsigned d = 0; d < view->n_dims; d++) {
        if (view->size[d] == 0)
            return xl__error_set(e, XL_BAD_SHAPE,
                                 "%s: dimension %u has size 0; each must have "
                                 "at least 1",
                                 name, d);
        fits = fits && add_dim(r, view->size[d], view->stride[d]);
    }
    return fits ? XL_OK : fail_overflow(name, view, e);
}

bool xl__region_repeat(struct xl__region *r, size_t count, size_t step_elems)
{
    const unsigned n = r->n_dims;
    if (!add_dim(r, count, step_elems))
        return false;
    if (r->n_dims == n)
        return true;
    const size_t step = r->stride[n];
    memmove(r->size + 1, r->size, n * sizeof *r->size);
    memmove(r->stride + 1, r->stride, n * sizeof *r->stride);
    r->size[0] = count;
    r->stride[0] = step;
    return true;
}

bool xl__region_spread(struct xl__region *r, size_t least, size_t most)
{
    r->is_block = most > least;
    return xl__mul(least, r->elem_bytes, &least) &&
           xl__mul(most, r->elem_bytes, &most) &&
           xl__add(r->begin, least, &r->begin) &&
           xl__add(r->end, most, &r->end);
}

/* -- overlap with itself -------------------------------------------------- */

/* The dimensions by increasing stride, and the bytes of what they repeat. */
struct sorted_dims {
    unsigned n;
    size_t elem, size[XL_MAX_DIMS], stride[XL_MAX_DIMS];
};

static struct sorted_dims sort_dims(const struct xl__region *r)
{
    struct sorted_dims out = {.elem = r->elem_bytes};
    if (r->is_block)
        out.elem = r->end - r->begin;
    for (unsigned d = 0; d < r->n_dims && !r->is_block; d++) {
        unsigned at = out.n;
        if (r->stride[d] == 0 && !r->is_written)
            continue;
        for (; at > 0 && out.stride[at - 1] > r->stride[d]; at--) {
            out.size[at] = out.size[at - 1];
            out.stride[at] = out.stride[at - 1];
        }
        out.size[at] = r->size[d];
        out.stride[at] = r->stride[d];
        out.n++;
    }
    return out;
}

/* Offset of the last element of the first n dimensions. */
static size_t last_offset(const struct sorted_dims *v, unsigned n)
{
    size_t sum = 0;
    for (unsigned d = 0; d < n; d++)
        sum += (v->size[d] - 1) * v->stride[d];
    return sum;
}

/* A dimension whose stride exceeds the last offset of all smaller ones cannot
 * cause an overlap, and is left out. Of two that remain, (i, j) and (i + di, j
 * - dj) have one address when di s0 = dj s1; the smallest such step is (s1,
 * s0) / gcd(s0, s1). */
bool xl__region_overlaps_itself(const struct xl__region *r)
{
    struct sorted_dims v = sort_dims(r);
    if (v.n > 0 && v.stride[0] == 0)
        return true;
    while (v.n > 0 && v.stride[v.n - 1] > last_offset(&v, v.n - 1))
        v.n--;
    if (v.n != 2)
        return v.n > 0;
    const size_t g = (size_t)xl__gcd(v.stride[0], v.stride[1]);
    return v.stride[1] / g < v.size[0] && v.stride[0] / g < v.size[1];
}

xl_status xl__region_check_itself(const struct xl__region *r,
                                  struct xl__error *e)
{
    if (!xl__region_overlaps_itself(r))
        return XL_OK;
    struct xl__str dims = {0};
    print_dims(&dims, r->n_dims, r->size, r->stride, r->elem_bytes);
    const xl_status status = xl__error_set(
        e, XL_OVERLAP,
        "%s overlaps itself: %s; a stride must be at least what the smaller "
        "ones span%s",
        r->name, xl__str_text(&dims),
        r->is_written ? "" : ", or 0 to repeat the same elements");
    xl__str_clear(&dims);
    return status;
}

/* -- overlap with each other ---------------------------------------------- */

/* The dimensions of strides below `least`: those of one window. */
static struct sorted_dims inner_dims(const struct sorted_dims *v, size_t least)
{
    struct sorted_dims out = *v;
    while (out.n > 0 && out.stride[out.n - 1] >= least)
        out.n--;
    return out;
}

/* The gcd of the strides from `least` on. */
static size_t common_pitch(const struct sorted_dims *v, size_t least)
{
    size_t g = 0;
    for (unsigned d = v->n; d-- > 0 && v->stride[d] >= least;)
        g = (size_t)xl__gcd(g, v->stride[d]);
    return g;
}

/* Two sets of bytes that are compared; gap: from the first byte of a to that
 * of b, modulo 2^64. */
struct pair {
    struct sorted_dims a, b;
    size_t gap;
    unsigned levels; /* of windows within windows that are tried */
};

static bool is_pair_disjoint(const struct pair *p);

/* Are they disjoint modulo the common pitch of the strides from `least` on? A
 * window of a meets at most two of b: that at the gap modulo the pitch, and
 * the one before it. */
static bool are_windows_disjoint(const struct pair *p, size_t least)
{
    struct pair in = {inner_dims(&p->a, least), inner_dims(&p->b, least), 0,
                      p->levels - 1};
    const size_t pitch = (size_t)xl__gcd(common_pitch(&p->a, least),
                                         common_pitch(&p->b, least));
    if (pitch == 0 || last_offset(&in.a, in.a.n) + in.a.elem > pitch ||
        last_offset(&in.b, in.b.n) + in.b.elem > pitch)
        return false;
    const bool is_negative = p->gap > SIZE_MAX / 2;
    const size_t far = is_negative ? (0 - p->gap) % pitch : p->gap % pitch;
    in.gap = is_negative && far > 0 ? pitch - far : far;
    if (!is_pair_disjoint(&in))
        return false;
    in.gap -= pitch;
    return is_pair_disjoint(&in);
}

static bool is_pair_disjoint(const struct pair *p)
{
    if (p->gap <= SIZE_MAX / 2
            ? p->gap >= last_offset(&p->a, p->a.n) + p->a.elem
            : 0 - p->gap >= last_offset(&p->b, p->b.n) + p->b.elem)
        return true;
    for (unsigned d = 0; p->levels > 0 && d < p->a.n; d++) {
        if (are_windows_disjoint(p, p->a.stride[d]))
            return true;
    }
    for (unsigned d = 0; p->levels > 0 && d < p->b.n; d++) {
        if (are_windows_disjoint(p, p->b.stride[d]))
            return true;
    }
    return false;
}

bool xl__regions_are_disjoint(const struct xl__region *a,
                              const struct xl__region *b)
{
    enum { LEVELS = 2 }; /* rows within products, or products within rows */
    if (a->root != b->root || a->end <= b->begin || b->end <= a->begin)
        return true;
    const struct pair p = {sort_dims(a), sort_dims(b), b->begin - a->begin,
                           LEVELS};
    return is_pair_disjoint(&p);
}

bool xl__regions_are_same_view(const struct xl__region *a,
                               const struct xl__region *b)
{
    return a->is_located && b->is_located && !a->is_block && !b->is_block &&
           a->root == b->root && a->begin == b->begin &&
           a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->size, b->size, a->n_dims * sizeof *a->size) == 0 &&
           memcmp(a->stride, b->stride, a->n_dims * sizeof *a->stride) == 0;
}
