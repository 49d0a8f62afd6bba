/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by element in double, and how their errors behave: one row each.
 */
#ifndef XL_EXPR_EVAL_RULES_H
#define XL_EXPR_EVAL_RULES_H

#include "expr/language/operations.h"

/* What the operation's own error is relative to. */
enum xl__eval_by {
    XL__BY_NOTHING,  /* exact */
    XL__BY_RESULT,
    XL__BY_ARGUMENT, /* or the result, if larger: x times what cancels */
    XL__BY_TAIL      /* the result, more and more loosely below 0 */
};

/* One of f1, f2, f3. steep: the largest slope, of what bends. */
struct xl__eval_rule {
    double (*f1)(double);
    double (*f2)(double, double);
    double (*f3)(double, double, double);
    enum xl__eval_by by;
    double steep;
    double range; /* of the result at most, of what bends; 0: any */
};

extern const struct xl__eval_rule xl__eval_rules[XL__N_EXPR_OPS];

#endif
