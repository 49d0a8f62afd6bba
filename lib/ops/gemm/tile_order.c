/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of gemm/tile_order.clh. */
#include "ops/gemm/tile_order.h"

#include <math.h>

void xl__walk_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_sides *sides,
                   const struct xl__tile_grid *grid)
{
    const struct xl__stream *cut = &grid->stream;
    xl__arg_mem(step, XL__GEMM_C);
    xl__arg_value_u64(step, XL__GEMM_OFF_C);
    xl__arg_u64(step, sides->row_stride);
    xl__arg_u64(step, sides->col_stride);
    xl__arg_u64(step, sides->m);
    xl__arg_u64(step, sides->n);
    xl__arg_u64(step, ((const xl_gemm *)canonical)->k);
    xl__arg_u32(step, grid->tiles_m);
    xl__arg_u32(step, grid->tiles_n);
    if (grid->is_cut) {
        xl__arg_mem(step, XL__MEM_SCRATCH);
        xl__arg_u32(step, cut->whole);
        xl__arg_u64(step, cut->units);
        xl__arg_u64(step, cut->each);
        xl__arg_u32(step, cut->extra);
    }
    xl__gemm_arg_last(step, canonical, sides->turned);
}

size_t xl__walk_groups(const struct xl__tile_grid *grid)
{
    return grid->is_cut ? grid->stream.whole + grid->stream.groups
                        : grid->tiles;
}

static void swap(size_t *a, size_t *b)
{
    const size_t kept = *a;
    *a = *b;
    *b = kept;
}

xl_tiling xl__walk_tell(const struct xl__step *step,
                        const struct xl__tile_grid *grid, xl_tiling tile)
{
    tile.tiles_m = grid->tiles_m;
    tile.tiles_n = grid->tiles_n;
    tile.count = grid->tiles / (grid->tiles_m * grid->tiles_n);
    tile.whole = grid->is_cut ? grid->stream.whole : grid->tiles;
    tile.sharers = grid->is_cut ? grid->stream.groups : 0;
    tile.groups = step->global[0] / step->local[0];
    tile.wg_items = step->local[0];
    tile.local_mem_bytes = step->local_mem_bytes;
    if (tile.turned) {
        swap(&tile.rows, &tile.cols);
        swap(&tile.m, &tile.n);
        swap(&tile.tiles_m, &tile.tiles_n);
    }
    return tile;
}

double xl__walk_busiest(const struct xl__tile_grid *grid, double places)
{
    const struct xl__stream *s = &grid->stream;
    if (!grid->is_cut)
        return ceil((double)grid->tiles / places);
    return (double)s->whole / places + ceil((double)s->groups / places) *
                                           (double)(s->each + (s->extra > 0)) /
                                           (double)grid->units;
}
