/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, launches and facts that the forms with reductions share. */
#ifndef XL_EXPR_GEOMETRY_H
#define XL_EXPR_GEOMETRY_H

#include "expr/graph/group.h"

size_t xl__kept_elems(const struct xl__group *group);
size_t xl__reduced_elems(const struct xl__group *group);

/* Do cores run one item at a time, with vectors of their own? */
bool xl__is_vector_cpu(const struct xl__limits *l);
/* Largest work-group, a power of two, at most 1024, whose states, `words` of 4
 * bytes an item and half as many again, fit into local memory. */
size_t xl__max_wg_for_states(const struct xl__limits *l, size_t words);
size_t xl__pow2_up(size_t x);
size_t xl__pow2_down(size_t x);
/* Elements of a vector along the last loop: on CPUs the native width; on GPUs
 * one access of 16 bytes, aligned, such that lines are whole vectors. */
size_t xl__reduction_vw(const struct xl__limits *l,
                         const struct xl__group *group);
/* Vectors of a row, those of each of its lines rounded down, at least 1. */
size_t xl__row_vectors(const struct xl__group *group);
/* Loads under way at a time that an item should have. */
unsigned xl__reduction_unroll(const struct xl__limits *l,
                           const struct xl__group *group);
/* Does an operand have one element for each row? */
bool xl__operand_is_of_rows(const struct xl__group *group,
                            const struct xl__operand *o);

#endif
