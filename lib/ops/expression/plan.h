/* SPDX-License-Identifier: Apache-2.0 */
/* From a call to a plan: the variants, their schedules, their programs, and
 * the self-check. */
#ifndef XL_OPS_EXPRESSION_PLAN_H
#define XL_OPS_EXPRESSION_PLAN_H

#include "expr/graph/group.h"
#include "ops/expression/expression.h"

enum { XL__EXPR_VARIANTS = 2, XL__EXPR_WHY = 512 };

/* One variant with its schedule. */
struct xl__expr_candidate {
    const char *name;
    bool is_refused;
    struct xl__graph g;
    struct xl__schedule s;
    char why[XL__EXPR_WHY]; /* why it is refused or was rejected; "" otherwise
                             */
};

struct xl__expr_candidates {
    struct xl__expr_candidate c[XL__EXPR_VARIANTS]; /* best estimate first,
                                                       refused ones last */
    unsigned n;
    bool is_provisional; /* one failed without a verdict */
};

/* Infers the graph and schedules the variants, or the one that the caller
 * named. The caller clears *out, whatever the status. */
xl_status xl__expr_plan_variants(struct xl__expr_call *c,
                                 struct xl__expr_candidates *out);
void xl__expr_candidates_clear(struct xl__expr_candidates *p);
/* Builds the candidates in order until one builds and passes the self-check;
 * *out: its groups as a chain of plans; *chosen: its index. The caller clears
 * and frees *out. */
xl_status xl__expr_build_first(struct xl__expr_call *c,
                               struct xl__expr_candidates *p,
                               struct xl__cached_plan **out, unsigned *chosen);
/* The plan of a call: the cached one, or a new one, which is cached. Owned by
 * the queue. */
xl_status xl__expr_find_plan(struct xl__expr_call *c,
                             struct xl__cached_plan **out);

#endif
