/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a section: of one device, or of several side by side; and the
 * cells that any table of results has. */
#ifndef CLBENCH_REPORT_COLUMNS_H
#define CLBENCH_REPORT_COLUMNS_H

#include "cli/display.h"
#include "cli/table.h"
#include "report/section.h"
#include "results/result.h"

/* The rows of one device, a line a case: time, rate, share of the roof and
 * verdict, and whatever else the rows have. `is_wide`: there is room, so the
 * verdict is always there. The caller calls table_destroy(); NULL: out of
 * memory. Reasons and warnings are added to `notes`. */
struct table *report_device_table(const struct result_table *rows,
                                  struct notes *notes,
                                  const struct settings *set, bool is_wide);
/* The same cases of several devices, two columns a device. */
void report_devices_tables(struct section *s, const struct display *to);

double report_frac(const xl_row *row); /* of the roof; NaN: none */
enum table_colour report_colour(xl_verdict verdict);
/* Add a cell: what distinguishes row `i`; a fraction as a percentage. */
void report_cell_case(struct table *t, const struct result_table *rows,
                      size_t i);
void report_cell_percent(struct table *t, double frac);

#endif
