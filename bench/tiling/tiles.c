/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/split.h"

#include <math.h>

#include "base/alloc.h"
#include "tiling/gemm_tiling.h"

xl_tiling split_tiling(size_t m, size_t n, size_t rows, size_t cols)
{
    xl_tiling t = {.rows = rows,
                   .cols = cols,
                   .m = m,
                   .n = n,
                   .tiles_m = xl__ceil_div(m, rows),
                   .tiles_n = xl__ceil_div(n, cols),
                   .count = 1,
                   .band = 1};
    if (!xl__mul(t.tiles_m, t.tiles_n, &t.whole))
        t.whole = 0;
    t.groups = t.whole;
    return t;
}

size_t split_pieces(const xl_tiling *t)
{
    return t->whole + t->sharers;
}

double split_area(const xl_tiling *t)
{
    if (!split_has_map(t))
        return (double)NAN;
    return t->is_even ? 1 : tile_cover(t->m, t->n, t->rows, t->cols).area;
}

bool split_has_map(const xl_tiling *t)
{
    return t->rows > 0 && t->tiles_m > 0 && t->tiles_n > 0;
}

static size_t tiles_cut(const xl_tiling *t)
{
    return t->tiles_m * t->tiles_n * t->count - t->whole;
}

double split_piece_frac(const xl_tiling *t, size_t piece)
{
    return piece < t->whole || t->sharers == 0
               ? 1
               : (double)tiles_cut(t) / (double)t->sharers;
}

/* Bands of tile rows, each walked column by column. */
size_t split_piece_at(const xl_tiling *t, size_t i, size_t j, size_t z)
{
    const size_t row = t->turned ? j : i, col = t->turned ? i : j;
    const size_t rows = t->turned ? t->tiles_n : t->tiles_m;
    const size_t cols = t->turned ? t->tiles_m : t->tiles_n;
    const size_t band = row / t->band;
    const size_t height = xl__min_size(t->band, rows - band * t->band);
    const size_t tile = z * rows * cols + band * t->band * cols +
                        col * height + row % t->band;
    if (tile < t->whole)
        return tile;
    return t->whole + (tile - t->whole) * t->sharers / tiles_cut(t);
}
