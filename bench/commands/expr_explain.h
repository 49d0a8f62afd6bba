/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench expr --explain`: every kernel that would run, and why. */
#ifndef CLBENCH_EXPR_EXPLAIN_H
#define CLBENCH_EXPR_EXPLAIN_H

#include "timing/expr.h"

/* Print it for each chosen device; an exit_code. */
int expr_explain(struct session *s, const struct expr_job *job);

#endif
