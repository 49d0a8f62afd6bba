/* SPDX-License-Identifier: Apache-2.0 */
/* The forward pass of a language model on the host in double, without a cache:
 * plain loops over one sequence. */
#ifndef XL_TESTS_HOST_FORWARD_H
#define XL_TESTS_HOST_FORWARD_H

#include "planner/forward/forward.h"

/* The logits of the last of `n` tokens of a sequence. What the device stores
 * between its calls is rounded to `stored`; XL_F64: nothing is rounded. */
void host_forward(struct lm_model *m, const int *ids, size_t n,
                  xl_dtype stored, double *logits);

#endif
