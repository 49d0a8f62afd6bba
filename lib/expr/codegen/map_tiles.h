/* SPDX-License-Identifier: Apache-2.0 */
/* MAP groups with transposed tiles. */
#ifndef XL_EXPR_MAP_TILES_H
#define XL_EXPR_MAP_TILES_H

#include "expr/codegen/opencl.h"

/* Is the operand read along another loop than the last, and turned? */
bool xl__map_is_transposed(const struct xl__group *group,
                       const struct xl__operand *o);
/* Change the geometry to one with tiles, where they suit the group. */
void xl__map_tile_geometry(const struct xl__graph *g,
                           const struct xl__limits *l,
                           struct xl__group *group);
size_t xl__map_tile_groups(const struct xl__group *group);
size_t xl__map_tile_local_bytes(const struct xl__group *group);
/* From one element of a turned operand to the one below it in a tile that lies
 * in local memory, in elements: an odd number of words, so that neither lines
 * nor columns meet in a bank. */
size_t xl__map_tile_pitch(const struct xl__group *group,
                          const struct xl__operand *o);
/* Of all loops but the slowest, in that order: cN, how many tiles lie along
 * loop N, of the two that tiles lie along, and mul_N, shift_N; with geo.turns,
 * tiles and turns. */
void xl__map_tile_args(const struct xl__group *group, struct xl__step *step);
void xl__map_write_tile_params(struct xl__emit *m);
/* The body of the kernel. */
void xl__map_write_tiles(struct xl__emit *m);
/* The variable of a turned operand, out of its tile. */
void xl__map_write_tile_load(struct xl__emit *m, unsigned operand);

#endif
