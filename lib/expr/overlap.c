/* SPDX-License-Identifier: Apache-2.0 */
/* Do strided views meet, each other or themselves? Exact answers would be a
 * knapsack; these are exact for what occurs (nested strides, two that cross,
 * views side by side or interleaved) and say "they meet" when unsure. */
#include "expr/overlap.h"

#include "base/alloc.h"

static size_t gcd(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Dimensions of more than one element, by growing stride. */
struct dims {
    unsigned n;
    size_t size[XL_MAX_DIMS], stride[XL_MAX_DIMS];
};

static struct dims sort_dims(const struct xl__param *b)
{
    struct dims out = {0, {0}, {0}};
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

/* From the first to the last element of the first n dimensions. */
static size_t last_offset(const struct dims *v, unsigned n)
{
    size_t sum = 0;
    for (unsigned d = 0; d < n; d++)
        sum += (v->size[d] - 1) * v->stride[d];
    return sum;
}

/* A stride beyond what all smaller ones reach keeps its lines apart; so it
 * can be left out. Of two that remain, (i, j) and (i + di, j - dj) meet when
 * di s0 = dj s1; the least such step is the strides over their gcd, crossed.
 */
bool xl__view_overlaps_itself(const struct xl__param *b)
{
    struct dims v = sort_dims(b);
    if (v.n > 0 && v.stride[0] == 0)
        return true;
    while (v.n > 0 && v.stride[v.n - 1] > last_offset(&v, v.n - 1))
        v.n--;
    if (v.n != 2)
        return v.n > 0;
    const size_t g = gcd(v.stride[0], v.stride[1]);
    return v.stride[1] / g < v.size[0] && v.stride[0] / g < v.size[1];
}

/* The gcd of the strides from `pitch` on, and what the smaller ones reach. */
static size_t common_pitch(const struct dims *v, size_t least, size_t *inner)
{
    size_t g = 0;
    *inner = 0;
    for (unsigned d = 0; d < v->n; d++) {
        if (v->stride[d] >= least)
            g = gcd(g, v->stride[d]);
        else
            *inner += (v->size[d] - 1) * v->stride[d];
    }
    return g;
}

/* Modulo a common pitch each view is one window: what the smaller strides
 * reach. Views whose windows are apart there are apart everywhere. */
static bool are_windows_disjoint(const struct dims *a, const struct dims *b,
                                 size_t least, size_t gap, size_t elem)
{
    size_t in_a, in_b;
    const size_t pitch = elem * gcd(common_pitch(a, least, &in_a),
                                    common_pitch(b, least, &in_b));
    if (pitch == 0)
        return false;
    const size_t wide_a = elem * (in_a + 1), wide_b = elem * (in_b + 1);
    gap %= pitch;
    return wide_a <= pitch && wide_b <= pitch && gap >= wide_a &&
           pitch - gap >= wide_b;
}

bool xl__views_are_disjoint(const struct xl__param *a,
                            const struct xl__byte_range *at,
                            const struct xl__param *b,
                            const struct xl__byte_range *bt)
{
    if (at->root != bt->root || at->end <= bt->begin || bt->end <= at->begin)
        return true;
    if (at->begin > bt->begin)
        return xl__views_are_disjoint(b, bt, a, at);
    if (at->elem_bytes != bt->elem_bytes)
        return false;
    const struct dims va = sort_dims(a), vb = sort_dims(b);
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
