/* SPDX-License-Identifier: Apache-2.0 */
/* How groups walk a product's tiles, for kernels that include gemm/tile_order.clh:
 * their arguments and launch. */
#ifndef XL_OPS_GEMM_WALK_H
#define XL_OPS_GEMM_WALK_H

#include "ops/gemm/orientation.h"
#include "ops/gemm/tiles.h"

/* Append TILE_PARAMS. */
void xl__walk_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_sides *sides,
                   const struct xl__tile_grid *grid);
/* Groups of the step that multiplies. */
size_t xl__walk_groups(const struct xl__tile_grid *grid);
/* What is said of the step that does the tiles: tile.rows, .cols, .m, .n,
 * .band and .turned as the kernel sees them, the rest from step and grid. */
xl_tiling xl__walk_tell(const struct xl__step *step,
                        const struct xl__tile_grid *grid, xl_tiling tile);
/* Tiles, maybe a fraction, that the busiest of so many places works off. */
double xl__walk_busiest(const struct xl__tile_grid *grid, double places);

#endif
