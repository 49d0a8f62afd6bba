/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the self-check cases of attention and of its gradient: memory of
 * the operands, and the score of a query and a key by the host. */
#ifndef XL_OPS_ATTENTION_CASE_H
#define XL_OPS_ATTENTION_CASE_H

#include "ops/attention/attention.h"
#include "ops/path/selfcheck_data.h"

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
