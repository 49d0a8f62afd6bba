/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of attention on the host, in double, from o and lse as they
 * are in memory. Tolerances are the Accuracy line of xl_attention_run(). */
#ifndef CLBENCH_VERIFY_ATTENTION_GRADIENTS_H
#define CLBENCH_VERIFY_ATTENTION_GRADIENTS_H

#include "cases/attention/attention_cases.h"

/* A weight, and the gradient of scale q . k; with the bounds of a device's
 * errors: floor is that of underflow. */
struct attention_pair {
    double p, p_error, s, s_error, floor;
};

/* A row of a result: ATTENTION_GRAD_Q, ... */
struct attention_line_at {
    enum attention_operand operand;
    size_t b, h, i;
};

/* Pairs of a row: of a query with each key; of a key with each query of the
 * heads that read it, head by head. */
size_t attention_most_pairs(const struct attention_case *c);
void attention_pairs_of(const struct attention_ref *r,
                        const struct attention_line_at *at,
                        struct attention_pair *pair);
/* Its element in column c; *tol: its tolerance. */
double attention_gradient(const struct attention_ref *r,
                          const struct attention_line_at *at,
                          const struct attention_pair *pair, size_t c,
                          double *tol);

#endif
