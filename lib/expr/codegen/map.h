/* SPDX-License-Identifier: Apache-2.0 */
/* Between form_map.c, which lays a MAP group out, and form_map_text.c, which
 * writes its kernel; and form_map_tile.c, form_map_tile_text.c and
 * form_map_block_text.c, which do so where operands are turned in tiles. */
#ifndef XL_EXPR_MAP_H
#define XL_EXPR_MAP_H

#include "expr/codegen/opencl.h"

/* Arguments of expr_map beside those that all forms have, at most. */
enum { XL__MAP_ARGS = 4 + 3 * XL__EXPR_LOOPS };

/* The whole text of expr_map. Behind the parameters that all forms have it
 * takes, unless there are tiles: vectors (of all loops), and of several loops
 * per_row (vectors of the last) with mul_0, shift_0 that divide by it, then
 * mul_d, shift_d for the loops between the first and the last; with geo.turns,
 * turns. */
void xl__map_write_kernel(struct xl__emit *m);

/* -- parts of it ----------------------------------------------------------- */

/* Load, compute and store a vector whose place is known: a whole one, or one
 * that the end of the last loop may cut. */
void xl__map_write_vector(struct xl__emit *m);
void xl__map_write_partial(struct xl__emit *m);
/* The same for vectors u = 0 ... unroll - 1 of an item, which are all loaded
 * before the first is used. `where` writes their indices and places. */
void xl__map_write_unrolled(struct xl__emit *m, unsigned unroll,
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
size_t xl__map_per_group(const struct xl__limits *l, const struct xl__group *group,
                     size_t work);

#endif
