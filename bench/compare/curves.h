/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of probes in a comparison. */
#ifndef CLBENCH_COMPARE_CURVES_H
#define CLBENCH_COMPARE_CURVES_H

#include "compare/compare.h"

/* Makes each curve of a probe one pair, so that its points do not count as
 * many equal rows beside one product. Pairs are measured and labelled. False:
 * out of memory. */
bool compare_fold_curves(struct comparison *c);
void compare_clear_pair(struct pair *p);

#endif
