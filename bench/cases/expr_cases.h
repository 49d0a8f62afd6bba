/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of expressions, in order of length, for `clbench verify`,
 * `clbench expr` and the tests. */
#ifndef CLBENCH_EXPR_CASES_H
#define CLBENCH_EXPR_CASES_H

#include "cases/gemm_cases.h"
#include "cases/host_expr.h"

struct expr_case {
    const char *name;
    unsigned use;        /* enum case_use */
    const char *text;
    const char *small;   /* shapes to verify; NULL: not verified */
    const char *timed;   /* shapes to time; NULL: not timed */
    const char *scalars, *ranges;
    expr_ref *ref;
    unsigned samples; /* elements that are checked when it is timed; 0: 256.
                         Few where one element depends on all input */
};

extern const struct expr_case expr_cases[]; /* NULL name last */

/* The case's names with the shapes to be verified or timed, and their strides.
 * Does not fail for a row of the table: a test reads all rows. */
bool expr_case_spec(const struct expr_case *c, bool timed,
                    struct expr_spec *out, char *why);

#endif
