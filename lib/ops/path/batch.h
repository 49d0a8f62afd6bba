/* SPDX-License-Identifier: Apache-2.0 */
/* The products of a batch: the matrices of each, by constant steps along one
 * axis or two, or by a list of offsets. For ops that take an xl_batch. */
#ifndef XL_OPS_BATCH_H
#define XL_OPS_BATCH_H

#include <crosslane/gemm.h>

#include "ops/path/check.h"

/* The offsets of one operand's matrices: at[z], or z / inner * step + z %
 * inner / share * inner_step. One axis: inner is 1. */
struct xl__places {
    size_t count, step;
    const cl_ulong *at; /* NULL: steps */
    size_t inner, inner_step, share;
    bool is_anywhere; /* at offsets that are in device memory */
};

size_t xl__batch_count(const xl_batch *b); /* at least 1 */
/* Rows of products, 1 without a second axis, and the products of a row. */
size_t xl__batch_rows(const xl_batch *b);
size_t xl__batch_row_count(const xl_batch *b);
/* XL_BAD_ARGUMENT where some of a_at, b_at and c_at are set, but not all, or
 * with a second axis, or `at` with any other form; XL_BAD_SHAPE where its rows are not whole. */
xl_status xl__batch_check(const xl_batch *b, struct xl__error *e);
struct xl__places xl__batch_a(const xl_batch *b);
struct xl__places xl__batch_b(const xl_batch *b);
struct xl__places xl__batch_c(const xl_batch *b);
/* Of what follows the matrices of A or of B with steps of its own: `share` is
 * a_share or b_share. Listed offsets do not apply. */
struct xl__places xl__batch_beside(const xl_batch *b, size_t step,
                                   size_t inner_step, size_t share);

/* Elements from the operand's offset to the matrix of product z. */
size_t xl__places_at(const struct xl__places *p, size_t z);
/* Whether one step leads from each product to the next one, and which. */
bool xl__places_are_even(const struct xl__places *p, size_t *step);
/* The number of different matrices. */
size_t xl__places_matrices(const struct xl__places *p);
/* Extend the region of one matrix to all of them. XL_OVERFLOW; XL_OVERLAP
 * where they are written and two share an element. A list that is not
 * ascending is then copied and sorted. */
xl_status xl__places_apply(const struct xl__places *p, struct xl__region *r,
                           struct xl__error *e);
/* xl__mat_align() over all of the matrices. */
unsigned xl__places_align(const struct xl__places *p, const xl_mat *mat,
                          size_t base);

#endif
