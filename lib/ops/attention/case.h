/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the self-check cases of attention and of its gradient: memory of
 * the operands, and the score of a query and a key by the host. */
#ifndef XL_OPS_ATTENTION_CASE_H
#define XL_OPS_ATTENTION_CASE_H

#include "ops/attention/attention.h"
#include "ops/path/selfcheck_data.h"

/* Elements that divide the alignment of each row: where a case's memory has
 * its first element. */
size_t xl__heads_case_grain(const xl_heads *x);
/* Strides of the same class and alignment for small sizes, with a gap between
 * rows; what is_repeatable keeps its strides of 0. */
void xl__heads_case_shrink(xl_heads *x, const size_t size[XL__HEADS_DIMS],
                           bool is_repeatable);
/* An element in the memory of a case. */
size_t xl__heads_case_at(const xl_heads *x, const size_t at[XL__HEADS_DIMS]);

/* Makes all views, the scale and the soft cap; results have guards. */
xl_status
xl__attention_case_init_views(struct xl__selfcheck_case *t,
                              const struct xl__attention_canonical *c);

/* An element of an operand. */
double xl__attention_case_load(const struct xl__selfcheck_case *t,
                               unsigned view, size_t b, size_t h, size_t i,
                               size_t c);

struct xl__attention_score {
    double x, error; /* of a device, at most */
    double slope;    /* the derivative of the soft cap */
};
/* Of sequence b, head h, query i and key j, before a prologue. */
struct xl__attention_score
xl__attention_case_score(const struct xl__selfcheck_case *t, size_t b,
                         size_t h, size_t i, size_t j);

#endif
