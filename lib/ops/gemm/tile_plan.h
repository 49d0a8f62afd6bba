/* SPDX-License-Identifier: Apache-2.0 */
/* Plan steps over tiles of C: the arguments of gemm/tile_order.clh, which
 * every tiled kernel includes, and the steps of gemm_tiled and gemm_simt,
 * whose kernels pass slices of A and B through local memory.
 *
 * One plan serves all transpose cases (orientation.h). The products of a batch
 * are further tiles of the same launch. */
#ifndef XL_OPS_GEMM_TILE_PLAN_H
#define XL_OPS_GEMM_TILE_PLAN_H

#include "ops/gemm/orientation.h"
#include "ops/gemm/tiles.h"

/* Append the arguments of TILE_PARAMS in gemm/tile_order.clh. */
void xl__tile_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_oriented *oriented,
                   const struct xl__tile_grid *grid);
/* Number of work-groups of the step that multiplies. */
size_t xl__tile_groups(const struct xl__tile_grid *grid);
/* Append the -D of gemm/tile_items.clh, and of the sub-group's width. */
void xl__tile_define(struct xl__step *step, const struct xl__tile *tile);
/* The description of a step's tiles for xl_gemm_explain(). The caller sets
 * rows, cols, m, n, band and turned of `tile` as the kernel counts them; the
 * rest comes from `step`, whose sizes are set, and from `grid`. */
xl_tiling xl__tile_describe(const struct xl__step *step,
                            const struct xl__tile_grid *grid, xl_tiling tile);

struct xl__tile_plan {
    const xl_gemm *g; /* member of a struct xl__gemm_canonical */
    struct xl__tile t;
    struct xl__gemm_oriented s;
    struct xl__tile_grid grid;
};

/* The product in the kernel's orientation, and its cost without what depends
 * on the tiles: flop, bytes and bytes_frac. */
struct xl__tile_job xl__tile_job(const xl_gemm *canonical);
struct xl__cost xl__tile_cost(const struct xl__limits *l,
                              const xl_gemm *canonical);

/* Append a step of `kernel` in `source`. Sets all of its defines and the items
 * of a group; the caller sets the global size and arguments. */
struct xl__step *xl__tile_step(const struct xl__tile_plan *plan,
                               const char *source, const char *kernel,
                               struct xl__plan *p);
/* Set the global size for all tiles, local memory and all arguments. */
void xl__tile_launch(const struct xl__tile_plan *plan, struct xl__step *s,
                     struct xl__plan *p);
/* Append gemm_tiled_join, which adds up the partial sums of cut tiles. */
void xl__tile_join(const struct xl__tile_plan *plan, struct xl__plan *p);
/* Set the plan's flop, bytes, scratch size and estimate. Called last. */
void xl__tile_finish(const struct xl__limits *l,
                     const struct xl__tile_plan *plan, struct xl__plan *p);

#endif
