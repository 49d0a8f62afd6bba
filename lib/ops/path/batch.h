/* SPDX-License-Identifier: Apache-2.0 */
/* The products of a batch: where the matrices of each are. Shared by ops that
 * take an xl_batch. */
#ifndef XL_OPS_BATCH_H
#define XL_OPS_BATCH_H

#include <crosslane/ops.h>

#include "ops/path/check.h"

/* Where one operand's matrices are: a step, or `at`. */
struct xl__places {
    size_t count, step;
    const cl_ulong *at; /* NULL: steps */
};

size_t xl__batch_count(const xl_batch *b); /* at least 1 */
/* All lists, or none. */
xl_status xl__batch_check(const xl_batch *b, struct xl__error *e);
struct xl__places xl__batch_a(const xl_batch *b);
struct xl__places xl__batch_b(const xl_batch *b);
struct xl__places xl__batch_c(const xl_batch *b);

/* The view of the first of the matrices in memory, and how far the last one is
 * behind it; false on overflow. */
bool xl__places_reach(const struct xl__places *p, const xl_mat *mat,
                      xl_mat *first, size_t *reach);
/* Do no two of the matrices share an element? `x` is the view of one. Lists
 * that do not rise are sorted for that. */
xl_status xl__places_apart(const struct xl__places *p,
                           const struct xl__named *x, struct xl__error *e);
/* xl__mat_align() over all of the matrices. */
unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat);

#endif
