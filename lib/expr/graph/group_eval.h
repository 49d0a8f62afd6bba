/* SPDX-License-Identifier: Apache-2.0 */
/* A group computed on the host, in double, with a bound of the error that the
 * device may make (host/interval.h). Results of a device are compared with it,
 * so tolerances are derived and not guessed. Source: Higham 2002, section 3.3
 * (running error analysis). */
#ifndef XL_EXPR_GROUP_EVAL_H
#define XL_EXPR_GROUP_EVAL_H

#include "expr/graph/group.h"

/* The elements of one operand; an element's index is the sum of loop index *
 * stride, without the operand's offset, plus xl__operand_before(). */
struct xl__eval_mem {
    double *value, *error; /* error bounds: NULL means all 0; never NULL of a
                              written operand */
    size_t elems;
};

/* Computes the group: reads mem[k] of the operands that are read, and fills in
 * value and error of those that are written. scalar[i]: the value of binding
 * i. Integers and bools are exact; a bool that the error makes uncertain, and
 * all that depends on it, has an infinite bound. Errors: XL_NO_MEMORY;
 * XL_UNSUPPORTED when the group's values are not in topological order. */
xl_status xl__eval_group(const struct xl__graph *g,
                         const struct xl__group *group, const double *scalar,
                         struct xl__eval_mem *mem);

#endif
