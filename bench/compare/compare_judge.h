/* SPDX-License-Identifier: Apache-2.0 */
/* From what pairs differ by to what is said of them. */
#ifndef CLBENCH_COMPARE_JUDGE_H
#define CLBENCH_COMPARE_JUDGE_H

#include "compare/compare.h"

/* The first n_compared pairs are those that can have an interval. False: out
 * of memory. */
bool compare_judge(struct comparison *c, const struct compare_options *how);

#endif
