/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check's small case of a group: its shape, and its memory. */
#ifndef XL_EXPR_SELFCHECK_CASE_H
#define XL_EXPR_SELFCHECK_CASE_H

#include "expr/canonical_group.h"
#include "expr/graph/group_eval.h"
#include "expr/plan.h"

/* Shrinks a group for its self-check: one of the same structure, thus of the
 * same program, with sizes just above one work-group or tile. Borrows
 * from->value. */
void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to);

/* Memory of the small case by slot of the call; operands that were one view
 * are one again, all others lie apart with guards between. */
struct xl__selfcheck_case {
    const struct xl__graph *g;
    struct xl__group group; /* operands' offsets: their places here */
    struct xl__schedule s;  /* temporaries all begin at 0 */
    double scalar[XL_EXPR_MAX_BINDINGS];
    unsigned slot[XL__EXPR_OPERANDS];
    size_t bytes[XL__MAX_MEMS];
    size_t kept[XL__MAX_MEMS]; /* of them, what is compared; the rest is for
                                  chunks' results */
    unsigned char *before[XL__MAX_MEMS], *after[XL__MAX_MEMS];
    struct xl__eval_mem mem[XL__EXPR_OPERANDS];
};

/* Random data by a fixed seed and the host's results. */
xl_status xl__selfcheck_case_init(struct xl__selfcheck_case *t,
                                  const struct xl__canonical_group *l,
                                  const struct xl__schedule *s,
                                  const struct xl__signature *sig);
/* Is `after` what it must be? Else a phrase. *n_sure: elements that had a
 * bound. Overwrites `before`. */
bool xl__selfcheck_case_compare(struct xl__selfcheck_case *t, size_t *n_sure,
                                char why[XL__EXPR_WHY]);
void xl__selfcheck_case_clear(struct xl__selfcheck_case *t);

#endif
