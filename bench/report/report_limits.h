/* SPDX-License-Identifier: Apache-2.0 */
/* What limits the rows of a table, below it: each limiter once, with the
 * evidence of the row that took longest and one thing to do; arithmetic
 * intensity by type; and matrix engines that are not used. */
#ifndef CLBENCH_REPORT_LIMITS_H
#define CLBENCH_REPORT_LIMITS_H

#include "cli/console.h"
#include "results/result.h"

void report_limits(const struct rows *rows, const struct display *to);

/* "DRAM"; "latency?" where it is only likely; "-" where nothing is known. */
void report_limiter(const xl_row *row, char *out, size_t cap);

#endif
