/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing out tiles and slices. The kernel's arithmetic is in gemm/tiled.cl.
 * Source: Osama, Merrill, Cecka, Garland, Owens 2023, "Stream-K". */
#include "ops/gemm/gemm_stream.h"

#include "base/alloc.h"

/* Groups beyond one a tile that parts may always have, however thin. */
enum { FEW = 7 };

struct xl__stream xl__stream_deal(size_t tiles, size_t units, size_t groups,
                                  size_t least)
{
    struct xl__stream s = {.units = units};
    s.whole = (tiles - 1) / groups * groups;
    s.tiles = tiles - s.whole;
    const size_t slices = s.tiles * units;
    const size_t wanted = xl__max_size(slices / least, s.tiles + FEW);
    /* More than tiles even where these fill a round: nothing is lost by what
     * nobody asks for, and the self-check's few tiles are always cut. */
    groups = xl__max_size(xl__min_size(groups, wanted), s.tiles + 1);
    s.groups = xl__min_size(groups, slices);
    s.each = slices / s.groups;
    s.extra = slices % s.groups;
    return s;
}

size_t xl__stream_parts(const struct xl__stream *s)
{
    return s->groups + s->tiles - 1;
}

/* Where group p begins, in slices. */
static size_t begin_of(const struct xl__stream *s, size_t p)
{
    return p * s->each + xl__min_size(p, s->extra);
}

size_t xl__stream_written(const struct xl__stream *s)
{
    size_t n = 0, last = 0; /* the tile last cut, from 1 on */
    for (size_t p = 1; p < s->groups; p++) {
        const size_t begin = begin_of(s, p);
        if (begin % s->units == 0)
            continue;
        n += begin / s->units + 1 == last ? 1 : 2;
        last = begin / s->units + 1;
    }
    return n;
}
