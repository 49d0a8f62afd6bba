/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of the library's operations against the host: a case runs in
 * guarded buffers, and its result is compared with a reference in double
 * precision. The comparison of an element is shared with the timing. */
#ifndef CLBENCH_VERIFY_H
#define CLBENCH_VERIFY_H

#include "cases/attention/rotary_cases.h"
#include "cases/conv_cases.h"
#include "cases/expr_cases.h"
#include "cases/gemm_cases.h"
#include "cases/norm_cases.h"
#include "cases/quantised/qconvert_cases.h"
#include "verify/guarded_matrix.h"

/* An element of a result, with its expected value and tolerance. */
struct checked_element {
    const char *name; /* "C" */
    size_t i, j;
    double got, expected, tol;
    xl_dtype dtype;
    cl_mem mem; /* where it is, and its index there; NULL: not given */
    size_t at;
};

void check_init(struct check_result *r);
/* Set `got`, and where it is: element (i, j) of `view`, the data of g that
 * were read back. */
void check_read(struct checked_element *e, const struct guarded *g,
                const struct ref_mat *view, size_t i, size_t j);
/* Check one element: it updates r->worst, and the first wrong one sets r->why.
 */
void check_element(struct check_result *r, const struct checked_element *e);
/* Check a buffer that was read back: guards and gaps must be unchanged, and
 * the elements as well if it is not the result. */
void check_guards(struct check_result *r, const struct guarded *g,
                  const char *name, bool is_result);

/* Whether a case has no sum, since alpha is 0, and `variant` is not the one
 * that runs then: it would only run `reference` again. */
bool is_other_without_sum(double alpha, const char *variant,
                          const char *reference);

/* An epilogue's text, cast to C's type unless C is of floats. */
enum { EPILOGUE_CAP = 80 };
void epilogue_text(xl_dtype out, const char *text, char to[EPILOGUE_CAP]);

/* Run a case on a queue with guard zones around every buffer, and compare the
 * result with the host in double. `variant` NULL: the library's choice.
 * Returns the library's status; XL_WRONG_RESULT with *out filled. */
xl_status verify_gemm(xl_queue *q, const struct gemm_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);
xl_status verify_softmax(xl_queue *q, const struct softmax_case *c,
                         const char *variant, unsigned long long seed,
                         struct check_result *out);
xl_status verify_norm(xl_queue *q, const struct norm_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);
xl_status verify_gradient(xl_queue *q, const struct gradient_case *c,
                          const char *variant, unsigned long long seed,
                          struct check_result *out);
xl_status verify_conv(xl_queue *q, const struct conv_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);
xl_status verify_qgemm(xl_queue *q, const struct qgemm_case *c,
                       const char *variant, unsigned long long seed,
                       struct check_result *out);
xl_status verify_qconvert(xl_queue *q, const struct qconvert_case *c,
                          const char *variant, unsigned long long seed,
                          struct check_result *out);
xl_status verify_rotary(xl_queue *q, const struct rotary_case *c,
                        const char *variant, unsigned long long seed,
                        struct check_result *out);
xl_status verify_attention(xl_queue *q, const struct attention_case *c,
                           const char *variant, unsigned long long seed,
                           struct check_result *out);
xl_status verify_expr(xl_queue *q, const struct expr_case *c,
                      const char *variant, unsigned long long seed,
                      struct check_result *out);

/* Check GEMM and softmax in sequence: a f16 product whose logits reach 6e4,
 * then softmax over them in f32. The rows must sum to 1 within the bound. */
xl_status verify_precision(xl_queue *q, unsigned long long seed,
                           struct check_result *out);

#endif
