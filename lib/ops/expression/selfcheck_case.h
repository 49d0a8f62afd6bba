/* SPDX-License-Identifier: Apache-2.0 */
/* The case that the self-check of a group runs: a small group of the same
 * program, its data, and the comparison of its results. */
#ifndef XL_OPS_EXPRESSION_SELFCHECK_CASE_H
#define XL_OPS_EXPRESSION_SELFCHECK_CASE_H

#include "expr/graph/group_eval.h"
#include "ops/expression/canonical_group.h"
#include "ops/expression/plan.h"

/* Shrinks a group for its self-check: one of the same structure, thus of the
 * same program, with sizes just above one work-group or tile. Borrows
 * from->value. */
void xl__selfcheck_shrink(const struct xl__group *from, struct xl__group *to);

/* The case. Its memory is by slot of the call: bindings that are one view in
 * the call are one here too; all others are disjoint, with guard elements
 * between them. */
struct xl__selfcheck_case {
    const struct xl__graph *g;
    struct xl__group
        group;             /* the operands' offsets are those in this memory */
    struct xl__schedule s; /* all temporaries begin at offset 0 */
    double scalar[XL_EXPR_MAX_BINDINGS];
    unsigned slot[XL__EXPR_OPERANDS];
    size_t bytes[XL__MAX_MEMS];
    size_t kept[XL__MAX_MEMS]; /* bytes that are compared; what follows is
                                  scratch for chunks' results */
    unsigned char *before[XL__MAX_MEMS], *after[XL__MAX_MEMS];
    unsigned char *first[XL__MAX_MEMS]; /* after the first run */
    struct xl__eval_mem mem[XL__EXPR_OPERANDS];
};

/* The runs of a case. The first two have the same inputs and complementary
 * patterns in all other memory: an element that is equal after both was
 * written, and repeats. In the third, NaN, infinities, -0 and subnormals are
 * among the inputs. */
enum xl__selfcheck_pass {
    XL__PASS_FIRST,
    XL__PASS_REPEATED,
    XL__PASS_SPECIALS,
    XL__N_PASSES
};

/* Makes the case for group l of schedule s. The caller clears *t, whatever the
 * status. Errors: XL_NO_MEMORY. */
xl_status xl__selfcheck_case_init(struct xl__selfcheck_case *t,
                                  const struct xl__canonical_group *l,
                                  const struct xl__schedule *s,
                                  const struct xl__signature *sig);
/* Fills t->before with the memory of a run, random data from a fixed seed, and
 * computes the host's results. Errors: XL_NO_MEMORY. */
xl_status xl__selfcheck_case_fill(struct xl__selfcheck_case *t,
                                  enum xl__selfcheck_pass pass);
/* Compares t->after, the memory after the run, with the host's results, and
 * after the second run with the first; false with the first difference in
 * `why`. Overwrites t->before. */
bool xl__selfcheck_case_compare(struct xl__selfcheck_case *t,
                                enum xl__selfcheck_pass pass,
                                char why[XL__EXPR_WHY]);
void xl__selfcheck_case_clear(struct xl__selfcheck_case *t);

#endif
