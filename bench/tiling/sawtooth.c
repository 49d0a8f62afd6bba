/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/sawtooth.h"

#include <math.h>

#include "base/alloc.h"
#include "tiling/gemm_tiling.h"

struct sawtooth_point sawtooth_at(const struct sawtooth *s, size_t size)
{
    const struct tile_cover cover =
        tile_cover(s->grows_m ? size : s->m, s->grows_n ? size : s->n,
                   s->rows, s->cols);
    const double tiles = cover.tiles * (double)s->count;
    const struct tile_waves waves = tile_waves(tiles, s->places);
    return (struct sawtooth_point){size,       tiles,      waves.waves,
                                   waves.fill, cover.area, waves.fill *
                                                               cover.area};
}

struct sawtooth_range sawtooth_around(size_t size)
{
    const size_t quarter = xl__max_size(size / 4, 1);
    return (struct sawtooth_range){xl__max_size(size - quarter, 1),
                                   size + quarter};
}

/* Shares only grow from one edge of tiles to the next, so what is between
 * needs no look: the last size before each edge is the best, and the first
 * one behind the worst. */
static size_t next_edge(const struct sawtooth *s, size_t size)
{
    size_t edge = SIZE_MAX;
    if (s->grows_m)
        edge = xl__round_up(size, s->rows);
    if (s->grows_n)
        edge = xl__min_size(edge, xl__round_up(size, s->cols));
    return edge;
}

struct sawtooth_point sawtooth_best(const struct sawtooth *s,
                                    struct sawtooth_range r)
{
    struct sawtooth_point best = sawtooth_at(s, r.to);
    for (size_t size = r.from; size <= r.to; size++) {
        size = xl__min_size(next_edge(s, size), r.to);
        const struct sawtooth_point p = sawtooth_at(s, size);
        if (p.share > best.share ||
            (p.share == best.share && size < best.size))
            best = p;
    }
    return best;
}

struct sawtooth_span sawtooth_span(const struct sawtooth *s,
                                   struct sawtooth_range r, unsigned column,
                                   unsigned columns)
{
    const double each = (double)(r.to - r.from + 1) / columns;
    const size_t from = r.from + (size_t)(each * column);
    const size_t to =
        xl__max_size(r.from + (size_t)(each * (column + 1)), from + 1) - 1;
    struct sawtooth_span out = {INFINITY, 0};
    for (size_t size = from; size <= to;) {
        const size_t edge = xl__min_size(next_edge(s, size), to);
        const double first = sawtooth_at(s, size).share;
        out.least = fmin(out.least, first);
        out.most = fmax(out.most, sawtooth_at(s, edge).share);
        size = edge + 1;
    }
    return out;
}
