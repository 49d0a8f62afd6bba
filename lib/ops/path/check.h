/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the matrices that every op makes. */
#ifndef XL_OPS_CHECK_H
#define XL_OPS_CHECK_H

#include <crosslane/tensor.h>

#include "base/error.h"

/* A matrix named for messages: "A". */
struct xl__named {
    const char *name;
    const xl_mat *mat;
    size_t rows, cols;
    size_t reach; /* elements from the first of several such matrices to the
                     last; 0: there is one */
};

/* Elements from the first to one past the last; false on overflow. */
bool xl__mat_extent(const xl_mat *mat, size_t rows, size_t cols,
                    size_t *elems);
/* dtype known, strides legal, extent in bytes fits in 64 bits. */
xl_status xl__check_view(const struct xl__named *x, struct xl__error *e);
/* XL_OVERLAP where two elements have the same address. */
xl_status xl__check_writable(const struct xl__named *x, struct xl__error *e);
/* Exactly one of buf and svm is set, and it is large enough; one driver query.
 */
xl_status xl__check_memory(const struct xl__named *x, struct xl__error *e);
/* XL_OVERLAP where two views share bytes. A sub-buffer is resolved to its
 * parent. Interleaved views that share no element are disjoint if both have
 * the same row pitch; with different pitches their byte ranges decide. */
xl_status xl__check_apart(const struct xl__named *x, const struct xl__named *y,
                          struct xl__error *e);
/* XL_BAD_SCALAR unless `type`, the type in which y is computed, can have the
 * value, and it is finite. */
xl_status xl__check_scalar(const char *name, double value, xl_dtype type,
                           struct xl__error *e);
/* If it is set: at least `bytes` long. */
xl_status xl__check_workspace(xl_mem mem, size_t bytes, struct xl__error *e);
/* XL_OVERLAP where the workspace shares bytes with a matrix. */
xl_status xl__check_scratch_apart(const struct xl__named *x, xl_mem workspace,
                                  struct xl__error *e);

/* Largest power of two, at most 64, that divides the byte address of every
 * row's (or column's) start: offset and the stride that is not 1. */
unsigned xl__mat_align(const xl_mat *mat);

#endif
