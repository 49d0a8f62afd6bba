/* SPDX-License-Identifier: Apache-2.0 */
/* The products of a batch: the matrices of each, by a constant step or by a
 * list of offsets. For ops that take an xl_batch. */
#ifndef XL_OPS_BATCH_H
#define XL_OPS_BATCH_H

#include <crosslane/ops.h>

#include "ops/path/check.h"

/* The offsets of one operand's matrices: i * step, or at[i]. */
struct xl__places {
    size_t count, step;
    const cl_ulong *at; /* NULL: steps */
};

size_t xl__batch_count(const xl_batch *b); /* at least 1 */
/* XL_BAD_ARGUMENT where some of a_at, b_at and c_at are set, but not all. */
xl_status xl__batch_check(const xl_batch *b, struct xl__error *e);
struct xl__places xl__batch_a(const xl_batch *b);
struct xl__places xl__batch_b(const xl_batch *b);
struct xl__places xl__batch_c(const xl_batch *b);

/* The view of the matrix with the lowest address, and the distance to the one
 * with the highest; false on overflow. */
bool xl__places_reach(const struct xl__places *p, const xl_mat *mat,
                      xl_mat *first, size_t *reach);
/* XL_OVERLAP where two of the matrices share an element. `x` is the view of
 * one. A list that is not ascending is copied and sorted. */
xl_status xl__places_apart(const struct xl__places *p,
                           const struct xl__named *x, struct xl__error *e);
/* xl__mat_align() over all of the matrices. */
unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat);

#endif
