/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check of a group's programs. */
#ifndef XL_OPS_EXPRESSION_SELFCHECK_H
#define XL_OPS_EXPRESSION_SELFCHECK_H

#include "ops/expression/canonical_group.h"
#include "ops/expression/plan.h"

/* Shrinks a group for its self-check: one of the same structure, thus of the
 * same program, with sizes just above one work-group or tile. Borrows
 * from->value. */
void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to);

/* *trusted: the programs of `ready`, built for the group l of the schedule s,
 * give correct results on this driver. Runs a self-check case of the same
 * structure unless the result is known from an earlier call. When false, `why`
 * says what is wrong. Errors: those of the run itself. */
xl_status xl__expr_selfcheck(struct xl__expr_call *c,
                             const struct xl__canonical_group *l,
                             const struct xl__schedule *s,
                             const struct xl__cached_plan *ready,
                             bool *trusted, char why[XL__EXPR_WHY]);

#endif
