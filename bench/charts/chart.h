/* SPDX-License-Identifier: Apache-2.0 */
/* A chart of shares, 0 to 1, in letters: each column stands for a span of
 * them. */
#ifndef CLBENCH_CHART_H
#define CLBENCH_CHART_H

#include "base/str.h"

/* Append line `row` of `rows`, the top one 0: '#' where a column's span
 * reaches into it, and in the lowest line wherever there is a column. */
void chart_line(struct xl__str *out, const double *least, const double *most,
                unsigned columns, unsigned row, unsigned rows);
/* A share as one letter, darker for more: " .:-=+*#%@". */
char chart_shade(double share);

#endif
