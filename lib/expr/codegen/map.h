/* SPDX-License-Identifier: Apache-2.0 */
/* Between map.c, which plans and writes kernels of the form MAP, and
 * map_tiles.c, which does so where operands are transposed in tiles: each
 * calls the other's functions. */
#ifndef XL_EXPR_MAP_H
#define XL_EXPR_MAP_H

#include "expr/codegen/opencl.h"

/* At most so many arguments of expr_map follow those that all forms have. */
enum { XL__MAP_ARGS = 4 + 3 * XL__EXPR_LOOPS };

/* Write the whole text of the kernel expr_map. Its parameters are those of
 * xl__emit_params(), then, without tiles:
 *
 *   vectors                    vectors of all loops together
 *   per_row, mul_0, shift_0    with several loops: vectors of the last loop,
 *                              and the divisor constants for it
 *   mul_d, shift_d             divisor constants of loop d, for the loops
 *                              between the first and the last
 *   per_wg                      with geo.per_wg: vectors of a work-group
 *
 * With tiles: see xl__map_tile_args(). */
void xl__map_write_kernel(struct xl__emit *m);

/* -- statements of the kernel --------------------------------------------- */

/* Write the loads, arithmetic and stores of one vector whose indices have been
 * written: of a whole vector, or of one that the end of the last loop may cut
 * (then only the first `count` elements exist). */
void xl__map_write_vector(struct xl__emit *m);
void xl__map_write_partial(struct xl__emit *m);
/* The same for whole vectors u = 0 ... unroll - 1 of an item, in two loops:
 * the first loads all vectors, the second computes and stores.
 * `write_position` writes the indices of vector u. */
void xl__map_write_unrolled(struct xl__emit *m, unsigned unroll,
                            void (*write_position)(struct xl__emit *m));

/* -- the launch ----------------------------------------------------------- */

/* Append an argument of type IDX: 64 bits if geo.is_wide, otherwise 32. */
void xl__map_arg_index(const struct xl__group *group, struct xl__step *step,
                       size_t value);
/* Append two arguments: the multiplier and the shift with which xl_divide() of
 * cl/expr/expr.clh divides by d. */
void xl__map_arg_divisor(const struct xl__group *group, struct xl__step *step,
                         size_t d);
/* Bytes that the loads of one vector read from memory; transposed operands are
 * not counted, they come from local memory or registers. */
size_t xl__map_load_bytes(const struct xl__group *group);
/* How many of n_units (vectors or tiles) a work-group of one item processes on
 * a CPU, so that there are at least 64 groups a core, each of them with 128
 * KiB of memory traffic if the group is large enough. */
size_t xl__map_per_group(const struct xl__limits *l,
                         const struct xl__group *group, size_t n_units);

#endif
