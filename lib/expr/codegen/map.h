/* SPDX-License-Identifier: Apache-2.0 */
/* Between map.c, which plans and writes kernels of the form MAP, and
 * map_tiles.c, which does so where operands are transposed in tiles: each
 * calls the other's functions. */
#ifndef XL_EXPR_MAP_H
#define XL_EXPR_MAP_H

#include "expr/codegen/opencl.h"

/* At most so many arguments of expr_map follow those that all forms have. */
enum { XL__MAP_ARGS = 4 + 3 * XL__EXPR_LOOPS };

/* Write the whole text of the kernel expr_map: the element part, as macros
 * (cl/expr/map_element.clh), and the include of its skeleton. */
void xl__map_write_kernel(struct xl__emit *m);

/* -- the launch ----------------------------------------------------------- */

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
