/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a section of one device, and the cells that any table of
 * results has. */
#ifndef CLBENCH_REPORT_COLUMNS_H
#define CLBENCH_REPORT_COLUMNS_H

#include "cli/console.h"
#include "cli/table.h"
#include "report/section.h"
#include "results/result.h"

/* How a page shows the cells of a column. */
enum column_look {
    LOOK_TEXT,
    LOOK_NUMBER,
    LOOK_SHARE /* with a bar */,
    LOOK_VERDICT
};

struct table_line; /* the row that a line is filled from */

struct report_column {
    struct table_column head; /* on the terminal and in Markdown */
    const char *name;         /* the title on a page; "": not there */
    void (*cell)(const struct table_line *l);
    const char *finding, *unit; /* or what the run found, as plot_format();
                                   "x": a factor */
    enum column_look look;
    bool (*is_shown)(const struct result_table *rows); /* NULL: always */
    bool is_optional; /* shown only where a row has the finding */
    bool is_wide; /* only where there is room */
};
enum { REPORT_MOST_COLUMNS = 12 };

/* The columns of a table; their number. */
unsigned report_columns(const struct result_table *rows, bool is_wide,
                        const struct report_column **out);

/* The rows of one device, a line a case: time, rate, share of the roof and
 * verdict, and what else rows of their kind have. `is_wide`: there is room. The caller calls table_destroy(); NULL: out of
 * memory. Reasons and warnings are added to `notes`. */
struct table *report_device_table(const struct result_table *rows,
                                  struct notes *notes,
                                  const struct settings *set, bool is_wide);
/* Is it known of a row that its variant is the library's choice? */
bool report_has_default(const struct result_table *rows);

enum table_colour report_colour(xl_verdict verdict);
/* Add a cell: a fraction as a percentage. */
void report_cell_percent(struct table *t, double frac);

#endif
