/* SPDX-License-Identifier: Apache-2.0 */
/* What verify_gemm.c, verify_softmax.c and the benchmarks share: one place
 * that compares an element and remembers the worst. */
#ifndef CLBENCH_VERIFY_H
#define CLBENCH_VERIFY_H

#include "cases/conv_cases.h"
#include "cases/expr_cases.h"
#include "cases/gemm_cases.h"
#include "verify/guarded_matrix.h"

/* An element and where it stands. */
struct seen {
    const char *name; /* "C" */
    size_t i, j;
    double got, want, tol;
    xl_dtype dtype;
};

void check_init(struct check_result *r);
/* Count one element; the first wrong one is told in why. */
void check_element(struct check_result *r, const struct seen *e);
/* A buffer that came back: guards, gaps and inputs as they were? */
void check_guards(struct check_result *r, const struct guarded *g,
                  const char *name, bool is_result);

/* Run a case on a queue with guard zones around every buffer, and compare the
 * result with the host in double. `variant` NULL: the library's choice.
 * Returns the library's status; XL_WRONG_RESULT with *out filled. */
xl_status verify_gemm(xl_queue *q, const struct gemm_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);
xl_status verify_softmax(xl_queue *q, const struct softmax_case *c,
                         const char *variant, unsigned long long seed,
                         struct check_result *out);
xl_status verify_conv(xl_queue *q, const struct conv_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);
xl_status verify_expr(xl_queue *q, const struct expr_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);

/* A f16 GEMM whose logits reach 6e4, softmax over them in f32: rows sum to 1
 * within the bound and nothing is infinite. */
xl_status verify_precision(xl_queue *q, unsigned long long seed,
                           struct check_result *out);

#endif
