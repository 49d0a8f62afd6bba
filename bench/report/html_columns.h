/* SPDX-License-Identifier: Apache-2.0 */
/* What a table of rows tells of each: one entry a column. */
#ifndef CLBENCH_HTML_COLUMNS_H
#define CLBENCH_HTML_COLUMNS_H

#include "report/html_page.h"

struct html_row_column {
    const char *title;
    bool is_number;
    /* What rows are sorted by; NaN: the text of the cell. */
    double (*key)(const struct html_page *page, const struct html_row *row);
    /* Is there something for the cell? */
    bool (*has)(const struct html_page *page, const struct html_row *row);
    void (*cell)(struct xl__str *out, const struct html_page *page,
                 const struct html_row *row);
};

enum { HTML_ROW_COLUMNS = 7 };
extern const struct html_row_column html_row_columns[]; /* NULL title last */

#endif
