/* SPDX-License-Identifier: Apache-2.0 */
/* What a pair of rows is called: what sets it apart within its op. */
#ifndef CLBENCH_COMPARE_LABEL_H
#define CLBENCH_COMPARE_LABEL_H

#include "compare/compare.h"

/* Fill in every label. False: out of memory. */
bool compare_label(struct comparison *c);

#endif
