/* SPDX-License-Identifier: Apache-2.0 */
/* A part's rows of one device as a table, and the cells that any table of rows
 * has. */
#ifndef CLBENCH_REPORT_ONE_H
#define CLBENCH_REPORT_ONE_H

#include "results/result.h"
#include "cli/table.h"

/* A line per case: time, rate, share of the roof and verdict, and whatever
 * else the rows have; where there is room (`is_wide`) always with the verdict.
 * table_destroy() it; NULL: out of memory. */
struct table *report_one_device(const struct rows *rows, struct notes *notes,
                                const struct settings *set, bool is_wide);

double report_frac(const xl_row *row); /* of the roof; NaN: none */
enum table_colour report_colour(xl_verdict verdict);
void report_cell_case(struct table *t, const struct rows *rows, size_t i);
void report_cell_percent(struct table *t, double frac);

#endif
