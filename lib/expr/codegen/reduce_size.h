/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, launches and facts that the forms with reductions share. */
#ifndef XL_EXPR_REDUCE_SIZE_H
#define XL_EXPR_REDUCE_SIZE_H

#include "expr/codegen/reductions.h"

size_t xl__kept_elems(const struct xl__group *group);
size_t xl__reduced_elems(const struct xl__group *group);

/* Do cores run one item at a time, with vectors of their own? */
bool xl__by_items(const struct xl__limits *l);
/* Largest work-group, a power of two, at most 1024, whose states, `words` of 4
 * bytes an item and half as many again, fit into local memory. */
size_t xl__most_items(const struct xl__limits *l, size_t words);
size_t xl__power_up(size_t x);
size_t xl__power_down(size_t x);
/* Elements of a vector along the last loop: on CPUs the native width; on GPUs
 * one access of 16 bytes, aligned, such that lines are whole vectors. */
size_t xl__reduce_vector(const struct xl__limits *l,
                         const struct xl__group *group);
/* Vectors of a row, those of each of its lines rounded down, at least 1. */
size_t xl__row_vectors(const struct xl__group *group);
/* Loads under way at a time that an item should have. */
unsigned xl__reduce_unroll(const struct xl__limits *l,
                           const struct xl__group *group);

/* XL_OK, or XL_UNSUPPORTED: with `more` arguments beside the operands' and so
 * much local memory it does not fit. */
xl_status xl__reduce_fits(const struct xl__reducing *r, unsigned more,
                          size_t local_bytes);
/* All of a step but what is special: text, kernel, size, operands. */
void xl__reduce_step(struct xl__reducing *r, const struct xl__schedule *s,
                     struct xl__step *step, const char *kernel,
                     size_t n_groups);
/* A parameter of type IDX. */
void xl__reduce_arg_index(const struct xl__reducing *r, struct xl__step *step,
                          size_t value);

/* -- states of chunks in scratch: a section for each state ----------------- */

/* Bytes for so many reductions in all, padding of vectors included. */
size_t xl__partial_bytes(const struct xl__graph *g,
                         const struct xl__group *group, size_t places);
/* Parameters: scratch, qN (where state N's section begins), and how the
 * reduced range is cut: chunks, each, each_one. */
void xl__partial_params(struct xl__reducing *r);
void xl__partial_args(const struct xl__reducing *r, struct xl__step *step,
                      size_t places, const size_t cut[3]);
unsigned xl__partial_n_args(const struct xl__reducing *r);

#endif
