/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices as regions, and checks that every op makes. */
#ifndef XL_OPS_CHECK_H
#define XL_OPS_CHECK_H

#include "runtime/context.h"

/* Elements from the first to one past the last; false on overflow. */
bool xl__mat_extent(const xl_mat *mat, size_t rows, size_t cols,
                    size_t *elems);
/* Add a matrix to the operands of a call on q: see xl__region_init(). */
xl_status xl__operand_add_mat(xl_queue *q, const char *name, const xl_mat *mat,
                              size_t rows, size_t cols,
                              struct xl__region **out);
/* XL_BAD_SCALAR unless `type`, the type in which y is computed, can have the
 * value, and it is finite. */
xl_status xl__check_scalar(const char *name, double value, xl_dtype type,
                           struct xl__error *e);
/* XL_BAD_ARGUMENT unless there is such an accuracy; op: for the message. */
xl_status xl__check_accuracy(const char *op, xl_accuracy accuracy,
                             struct xl__error *e);
/* How a shape class names it: "" of the full one. */
const char *xl__accuracy_class(size_t accuracy);

/* Address of the memory of operand i, as far as it decides alignments; 0
 * without a queue or memory. */
static inline size_t xl__operand_base(const xl_queue *q, unsigned i)
{
    return q ? q->memory.operand[i].base : 0;
}
/* Largest power of two, at most 128, that divides `bits`. */
unsigned xl__align_of(size_t bits);
/* The same for the byte address of every row's (or column's) start: `base`,
 * offset and the stride that is not 1. */
unsigned xl__mat_align(const xl_mat *mat, size_t base);

#endif
