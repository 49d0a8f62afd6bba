/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/split_grid.h"

#include "base/alloc.h"

struct split_grid split_grid(const xl_tiling *t, size_t most_rows,
                             size_t most_cols)
{
    struct split_grid g = {.tiling = t,
                           .tiles_m = t->tiles_m,
                           .tiles_n = t->tiles_n,
                           .is_map = split_has_map(t) && t->tiles_n > 1};
    if (!g.is_map) { /* a column of tiles would be a line down the page */
        g.tiles_n = xl__min_size(split_pieces(t), most_cols);
        g.tiles_m = xl__ceil_div(split_pieces(t), g.tiles_n);
    }
    g.rows = xl__min_size(g.tiles_m, most_rows);
    g.cols = xl__min_size(g.tiles_n, most_cols);
    return g;
}

size_t split_grid_piece(const struct split_grid *g, size_t row, size_t col)
{
    const size_t i = row * g->tiles_m / g->rows;
    const size_t j = col * g->tiles_n / g->cols;
    if (g->is_map)
        return split_piece_at(g->tiling, i, j, 0);
    const size_t piece = i * g->tiles_n + j;
    return piece < split_pieces(g->tiling) ? piece : SIZE_MAX;
}
