/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a group's loop nest, and the choices of a kernel's geometry that
 * several forms share: vector width, unrolling, largest work-group. All
 * functions are pure: they depend on the group and the device's limits only.
 */
#ifndef XL_EXPR_GEOMETRY_H
#define XL_EXPR_GEOMETRY_H

#include "expr/graph/group.h"

/* The product of the sizes of kept loops (the number of rows that a reduction
 * produces), and of reduced loops (the elements of one row). */
size_t xl__kept_elems(const struct xl__group *group);
size_t xl__reduced_elems(const struct xl__group *group);

/* Is the device a CPU with vector instructions (at least 4 floats)? Its cores
 * then run one work-item at a time, and kernels use work-groups of one item
 * and explicit vectors. Otherwise the kernels for GPUs are used. */
bool xl__is_vector_cpu(const struct xl__limits *l);

/* On CPUs: are results stored past the caches? Only if the group's memory
 * exceeds the last-level cache, and no result is stored where an argument was
 * read, whose line is in the cache already. */
bool xl__is_streamed(const struct xl__limits *l,
                     const struct xl__group *group);

/* The largest work-group, a power of two and at most 1024, whose reduction
 * states fit into local memory: 1.5 times `words` words of 4 bytes an item
 * (half as much again for the partial results of the join). */
size_t xl__max_wg_for_states(const struct xl__limits *l, size_t words);

/* Vector width, in elements along the last loop. On CPUs: the native width,
 * of rows twice that, at most 16. On GPUs: one aligned access of at most 16
 * bytes, and a divisor of the loop's size. 1 where an operand is strided along
 * that loop. */
size_t xl__reduction_vw(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__group *group);
/* The size of the last loop. */
size_t xl__inner_size(const struct xl__group *group);
/* Whole vectors of one row; at least 1. The last loop's size is rounded down
 * to vectors, and multiplied by the other reduced loops. Needs geo.vw. */
size_t xl__row_vectors(const struct xl__group *group);
/* Vectors that an item loads before it uses the first one. Needs geo.vw. */
unsigned xl__reduction_unroll(const struct xl__graph *g,
                              const struct xl__limits *l,
                              const struct xl__group *group);

/* Does the operand have one element a row, that is, stride 0 along every
 * reduced loop? */
bool xl__operand_is_of_rows(const struct xl__group *group,
                            const struct xl__operand *o);

#endif
