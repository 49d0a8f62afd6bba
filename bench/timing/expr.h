/* SPDX-License-Identifier: Apache-2.0 */
/* An expression to be timed or explained: a case of the table, or a text of
 * the command line with the shapes and types of its names. */
#ifndef CLBENCH_TIMING_EXPR_H
#define CLBENCH_TIMING_EXPR_H

#include "cases/expr_cases.h"
#include "timing/run_cases.h"

struct expr_job {
    const struct expr_case *c; /* NULL: a text of the command line */
    struct expr_spec spec;
    bool fast_math;
};

#define EXPR_FUSED "expr_fused"
#define EXPR_UNFUSED "expr_unfused"

/* One variant of a job on a device's memory: the state of a case_run. */
struct expr_running {
    const struct expr_job *job;
    xl_expr *e;
    xl_binding bindings[XL_EXPR_MAX_BINDINGS];
    xl_expr_args args;
};

/* Compare a sample of the results; fits bench_op.check. */
xl_status expr_check(xl_queue *q, const struct case_run *w,
                     struct check_result *out);

/* "x=4096x4096:f16 eps=1e-05 out=4096:f32" */
struct xl__str;
void expr_names_text(const struct expr_spec *s, struct xl__str *out);

/* Compile a job for a queue, without memory; the caller destroys *out. After a
 * failure xl_error_detail(q) has the message. */
xl_status expr_job_compile(xl_queue *q, const struct expr_job *job,
                           const char *variant, xl_expr **out);

#endif
