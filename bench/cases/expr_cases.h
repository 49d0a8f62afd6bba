/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of expressions, in order of length; `clbench verify`, `clbench
 * expr` and the tests read it. */
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
    unsigned samples;    /* elements checked where it is timed; 0: 256. Few,
                            where one takes the whole input */
};

extern const struct expr_case expr_cases[]; /* NULL name last */

/* The case's names with the small or the timed shapes, settled. The table is
 * right: a test reads every row. */
bool expr_case_spec(const struct expr_case *c, bool timed,
                    struct expr_spec *out, char *why);

#endif
