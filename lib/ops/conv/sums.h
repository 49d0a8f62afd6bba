/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a convolution and of its gradients on the host, in double, for
 * self-checks: from the definition, without an idea of any kernel. */
#ifndef XL_OPS_CONV_SUMS_H
#define XL_OPS_CONV_SUMS_H

#include "ops/conv/conv.h"

/* The elements of the operands, from the first one on. */
struct xl__conv_values {
    const double *in, *filters, *out;
};

/* The sum for element `at` of the pass's result, and that of the absolute
 * values of its terms. */
void xl__conv_sum(const struct xl__conv_canonical *c,
                  const struct xl__conv_values *v, const size_t at[XL__N_AT],
                  double *sum, double *size);

#endif
