/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a result: at most so many cells, each of which shows a tile.
 * Where nobody knows which tile is where, groups stand in order, line by
 * line. */
#ifndef CLBENCH_SPLIT_GRID_H
#define CLBENCH_SPLIT_GRID_H

#include "tiling/split.h"

struct split_grid {
    const xl_tiling *tiling;
    size_t rows, cols;         /* cells */
    size_t tiles_m, tiles_n;   /* behind them; of groups in order: lines */
    bool is_map;
};

struct split_grid split_grid(const xl_tiling *t, size_t most_rows,
                             size_t most_cols);
/* The piece that a cell shows; SIZE_MAX: none (the last line's end). */
size_t split_grid_piece(const struct split_grid *g, size_t row, size_t col);

#endif
