/* SPDX-License-Identifier: Apache-2.0 */
/* Between form_map.c, which lays a MAP group out, and form_map_text.c, which
 * writes its kernel; and form_map_tile.c, form_map_tile_text.c and
 * form_map_block_text.c, which do so where operands are turned in tiles. */
#ifndef XL_EXPR_FORM_MAP_H
#define XL_EXPR_FORM_MAP_H

#include "expr/codegen/opencl.h"

/* Arguments of expr_map beside those that all forms have, at most. */
enum { XL__MAP_ARGS = 4 + 3 * XL__EXPR_LOOPS };

/* The whole text of expr_map. Behind the parameters that all forms have it
 * takes, unless there are tiles: vectors (of all loops), and of several loops
 * per_row (vectors of the last) with mul_0, shift_0 that divide by it, then
 * mul_d, shift_d for the loops between the first and the last; with
 * geo.per_wg, turns. */
void xl__map_text(struct xl__emit *m);

/* -- parts of it ----------------------------------------------------------- */

/* Load, compute and store a vector whose place is known: a whole one, or one
 * that the end of the last loop may cut. */
void xl__map_whole(struct xl__emit *m);
void xl__map_cut(struct xl__emit *m);
/* The same for vectors u = 0 ... unroll - 1 of an item, which are all loaded
 * before the first is used. `where` writes their indices and places. */
void xl__map_ahead(struct xl__emit *m, unsigned unroll,
                   void (*where)(struct xl__emit *m));

/* -- the launch ------------------------------------------------------------ */

/* An argument of type IDX. */
void xl__map_arg_index(const struct xl__group *group, struct xl__step *step,
                       size_t value);
/* Two: the multiplier and the shift by which xl_divide() divides by d. */
void xl__map_arg_divisor(const struct xl__group *group, struct xl__step *step,
                         size_t d);
/* Bytes that a vector's loads take from memory, but for turned operands. */
size_t xl__map_load_bytes(const struct xl__group *group);
/* How much of the work a work-group of one item takes, such that there are
 * groups enough and none is too small. */
size_t xl__map_turns(const struct xl__limits *l, const struct xl__group *group,
                     size_t work);

/* -- tiles ----------------------------------------------------------------- */

/* Blocks side by side of which a CPU's tile consists: neighbouring lines of
 * results come from memory together. */
enum { XL__MAP_BLOCKS = 2 };

/* Is the operand read along another loop than the last, and turned? */
bool xl__map_is_turned(const struct xl__group *group,
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
/* Loops in the order in which tiles are counted, the fastest first. */
void xl__map_tile_order(const struct xl__group *group,
                        unsigned order[XL__EXPR_LOOPS]);
/* Of all loops but the slowest, in that order: cN, how many tiles lie along
 * loop N, of the two that tiles lie along, and mul_N, shift_N; with
 * geo.per_wg, tiles and turns. */
void xl__map_tile_args(const struct xl__group *group, struct xl__step *step);
void xl__map_tile_params(struct xl__emit *m);
/* The body of the kernel. */
void xl__map_tiles(struct xl__emit *m);
/* The variable of a turned operand, out of its tile. */
void xl__map_take(struct xl__emit *m, unsigned operand);
/* Parts of the body: from a tile's number f to where it begins and the other
 * loops' indices; `if` it is whole and `else`; the end of a block; and all of
 * it on CPUs. */
void xl__tile_where(struct xl__emit *m);
void xl__tile_if_whole(struct xl__emit *m);
void xl__tile_else(struct xl__emit *m);
void xl__tile_close(struct xl__emit *m);
void xl__tile_run(struct xl__emit *m);

#endif
