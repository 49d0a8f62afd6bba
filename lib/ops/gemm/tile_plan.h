/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of plans whose kernels share slices of A and B through local memory:
 * what gemm_tiled and gemm_simt are handed alike. One plan serves all four
 * transpose cases: a column-major C is the row-major C^T = B^T A^T, and how A
 * and B lie only changes how they are read. Products of a batch are further
 * tiles of one launch. */
#ifndef XL_OPS_GEMM_TILE_PLAN_H
#define XL_OPS_GEMM_TILE_PLAN_H

#include "ops/gemm/orientation.h"
#include "ops/gemm/tiles.h"

/* Append TILE_PARAMS. */
void xl__tile_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_oriented *sides,
                   const struct xl__tile_grid *grid);
/* Groups of the step that multiplies. */
size_t xl__tile_groups(const struct xl__tile_grid *grid);
/* What is said of the step that does the tiles: tile.rows, .cols, .m, .n,
 * .band and .turned as the kernel sees them, the rest from step and grid. */
xl_tiling xl__tile_describe(const struct xl__step *step,
                            const struct xl__tile_grid *grid, xl_tiling tile);
/* Tiles, maybe a fraction, that the busiest of so many places works off. */
double xl__tile_busiest(const struct xl__tile_grid *grid, double places);

struct xl__tile_plan {
    const xl_gemm *g; /* with its snippet: canonical */
    struct xl__tile t;
    struct xl__gemm_oriented s;
    struct xl__tile_grid grid;
};

/* What is multiplied, and what it costs but for the tiles' part. */
struct xl__tile_job xl__tile_job(const xl_gemm *canonical);
struct xl__cost xl__tile_cost(const xl_gemm *canonical);

/* Append a step: tiles, layouts and vector widths defined, a group's items
 * set; neither global size nor arguments. */
struct xl__step *xl__tile_step(const struct xl__tile_plan *j,
                               const char *source, const char *kernel,
                               struct xl__plan *p);
/* Set the launch of all tiles, local memory, and all arguments. */
void xl__tile_launch(const struct xl__tile_plan *j, struct xl__step *s,
                     struct xl__plan *p);
/* Where tiles are cut: append gemm_tiled_join, which adds up their parts. */
void xl__tile_join(const struct xl__tile_plan *j, struct xl__plan *p);
/* Counts, scratch and the estimate, at the end. */
void xl__tile_finish(const struct xl__limits *l, const struct xl__tile_plan *j,
                     struct xl__plan *p);

#endif
