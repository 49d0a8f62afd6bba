/* SPDX-License-Identifier: Apache-2.0 */
/* Overlap of strided views, with themselves and with each other.
 *
 * An exact answer is a knapsack problem. These tests are exact for what
 * occurs: nested strides, two crossing strides, and views that are adjacent or
 * interleaved. Otherwise they answer that the views overlap.
 *
 * Two views of the same memory are disjoint when, modulo a common pitch, the
 * windows that their small strides cover are disjoint:
 *
 *     a: ##....##....##....     pitch 6, window 2, offset 0
 *     b: ...##....##....##.     pitch 6, window 2, offset 3 */
#include "expr/overlap.h"

#include "base/alloc.h"
#include "base/numbers.h"

/* The dimensions of more than one element, by increasing stride. */
struct sorted_dims {
    unsigned n;
    size_t size[XL_MAX_DIMS], stride[XL_MAX_DIMS];
};

static struct sorted_dims sort_dims(const struct xl__parameter *b)
{
    struct sorted_dims out = {0, {0}, {0}};
    for (unsigned d = 0; d < b->n_dims; d++) {
        unsigned at = out.n;
        if (b->size[d] == 1)
            continue;
        for (; at > 0 && out.stride[at - 1] > b->stride[d]; at--) {
            out.size[at] = out.size[at - 1];
            out.stride[at] = out.stride[at - 1];
        }
        out.size[at] = b->size[d];
        out.stride[at] = b->stride[d];
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
 * s0) / (size_t)xl__gcd(s0, s1). */
bool xl__view_overlaps_itself(const struct xl__parameter *b)
{
    struct sorted_dims v = sort_dims(b);
    if (v.n > 0 && v.stride[0] == 0)
        return true;
    while (v.n > 0 && v.stride[v.n - 1] > last_offset(&v, v.n - 1))
        v.n--;
    if (v.n != 2)
        return v.n > 0;
    const size_t g = (size_t)xl__gcd(v.stride[0], v.stride[1]);
    return v.stride[1] / g < v.size[0] && v.stride[0] / g < v.size[1];
}

/* The gcd of the strides from `least` on; *inner: the last offset of the
 * smaller ones. */
static size_t common_pitch(const struct sorted_dims *v, size_t least,
                           size_t *inner)
{
    size_t g = 0;
    *inner = 0;
    for (unsigned d = 0; d < v->n; d++) {
        if (v->stride[d] >= least)
            g = (size_t)xl__gcd(g, v->stride[d]);
        else
            *inner += (v->size[d] - 1) * v->stride[d];
    }
    return g;
}

/* Are the windows of two views disjoint modulo a common pitch? Strides below
 * `least` belong to the windows; gap: bytes from the first element of a to
 * that of b. */
static bool are_windows_disjoint(const struct sorted_dims *a,
                                 const struct sorted_dims *b, size_t least,
                                 size_t gap, size_t elem)
{
    size_t last_a, last_b;
    const size_t pitch = elem * (size_t)xl__gcd(common_pitch(a, least, &last_a),
                                    common_pitch(b, least, &last_b));
    if (pitch == 0)
        return false;
    const size_t window_a = elem * (last_a + 1),
                 window_b = elem * (last_b + 1);
    gap %= pitch;
    return window_a <= pitch && window_b <= pitch && gap >= window_a &&
           pitch - gap >= window_b;
}

bool xl__views_are_disjoint(const struct xl__parameter *a,
                            const struct xl__byte_range *at,
                            const struct xl__parameter *b,
                            const struct xl__byte_range *bt)
{
    if (at->root != bt->root || at->end <= bt->begin || bt->end <= at->begin)
        return true;
    if (at->begin > bt->begin)
        return xl__views_are_disjoint(b, bt, a, at);
    if (at->elem_bytes != bt->elem_bytes)
        return false;
    const struct sorted_dims va = sort_dims(a), vb = sort_dims(b);
    const size_t gap = bt->begin - at->begin;
    for (unsigned d = 0; d < va.n; d++) {
        if (are_windows_disjoint(&va, &vb, va.stride[d], gap, at->elem_bytes))
            return true;
    }
    for (unsigned d = 0; d < vb.n; d++) {
        if (are_windows_disjoint(&va, &vb, vb.stride[d], gap, at->elem_bytes))
            return true;
    }
    return false;
}
