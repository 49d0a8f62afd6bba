/* SPDX-License-Identifier: Apache-2.0 */
/* A group on the host, in double, with a running bound of the error that the
 * device may make: each operation adds its own rounding (ulp of xl__expr_ops)
 * to what its arguments' errors become through its derivative. What compares
 * against is this, so tolerances are derived and not guessed.
 * Source: Higham 2002, section 3.3 (running error analysis). */
#ifndef XL_EXPR_EVAL_H
#define XL_EXPR_EVAL_H

#include "expr/graph/group.h"

/* Memory of one operand: its element at the sum of index * stride (offset
 * left out). Reads have error 0 or a bound; writes are filled in. */
struct xl__eval_mem {
    double *value, *error; /* error: NULL is all 0; of writes never NULL */
    size_t elems;
};

/* Run the group's loops. scalar[i]: the value of binding i. Integers and
 * bools are exact; a bool that the error makes uncertain, and all that follows
 * from it, has an infinite bound. */
xl_status xl__eval_group(const struct xl__graph *g,
                         const struct xl__group *group, const double *scalar,
                         struct xl__eval_mem *mem);

#endif
