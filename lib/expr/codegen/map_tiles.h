/* SPDX-License-Identifier: Apache-2.0 */
/* MAP groups in which operands are transposed in square tiles: geometry,
 * launch and kernel body. map.c calls these; the design is in map_tiles.c. */
#ifndef XL_EXPR_MAP_TILES_H
#define XL_EXPR_MAP_TILES_H

#include "expr/codegen/opencl.h"

/* Is the operand transposed: read, contiguous along loop geo.across instead of
 * the last one, in a group with tiles? */
bool xl__map_is_transposed(const struct xl__group *group,
                           const struct xl__operand *o);
/* Replace the geometry of a MAP group by one with tiles, if an operand is to
 * be transposed and tiles fit; otherwise leave it, with geo.tile 0. Called
 * after the geometry without tiles is set. */
void xl__map_tile_geometry(const struct xl__graph *g,
                           const struct xl__limits *l,
                           struct xl__group *group);
/* Work-groups of the launch, and bytes of local memory of each. */
size_t xl__map_tile_groups(const struct xl__group *group);
size_t xl__map_tile_local_bytes(const struct xl__group *group);
/* Row pitch of the operand's tile in local memory, in elements: the tile's
 * size and one word of 4 bytes, so that neither a row nor a column of the tile
 * has two words in one bank. */
size_t xl__map_tile_pitch(const struct xl__group *group,
                          const struct xl__operand *o);

/* Append the arguments of a kernel with tiles. For
 * each loop but the slowest, in tile order: cN, the number of tiles along loop
 * N, if N is one of the two tiled loops, then mul_N and shift_N, which divide
 * by the number of tiles or the loop's size. With geo.per_wg: `tiles`, their
 * number, and `per_wg`, the tiles of a work-group. */
void xl__map_tile_args(const struct xl__group *group, struct xl__step *step);
/* Write the macros of cl/expr/map_element.clh that only tiles need. */
void xl__map_write_tile_element(struct xl__emit *m);
/* Write the variable vN of a transposed operand, read from its tile. */
void xl__map_write_tile_load(struct xl__emit *m, unsigned operand);

#endif
