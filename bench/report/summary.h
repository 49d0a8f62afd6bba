/* SPDX-License-Identifier: Apache-2.0 */
/* A device in a screen: its best rates by type, its memory, launches and
 * transfers, the library's operations with their shares of the roof, the
 * gravest doubt, and what to look at next. At most SUMMARY_LINES lines, as
 * wide as the display. It grows row by row, of a run or of a result file. */
#ifndef CLBENCH_SUMMARY_H
#define CLBENCH_SUMMARY_H

#include <crosslane/measure.h>

#include "cli/console.h"

enum { SUMMARY_LINES = 20 };

struct summary_device; /* what is kept of the rows of a device */

struct summary {
    struct summary_device *list;
    size_t n, cap;
};

/* Of the device above its rows; texts may be empty. */
struct summary_head {
    const char *name;   /* "0: NAME" */
    const char *detail; /* "PLATFORM, driver 1.2, 2 units, 2.30 GHz" */
    const char *state;  /* "QUIET (...)" */
    bool is_busy;
    bool is_growing; /* rows follow: what to do next is not known yet */
};

/* Take in a row of device `dev`, which is only compared. */
void summary_add(struct summary *s, const void *dev, const xl_row *row);
void summary_clear(struct summary *s);
/* The best of the rows that a cell is of; `value` is NaN when there are none.
 * Lines and labels are those of the screen. */
struct summary_cell {
    const char *line, *label, *op, *unit;
    xl_verdict verdict;
    double value;
};
/* The i-th cell of all; false: past the last. */
bool summary_cell(const struct summary *s, const void *dev, unsigned i,
                  struct summary_cell *out);
/* Show what is known of the device; nothing when it has no rows. */
void summary_show(const struct summary *s, const void *dev,
                  const struct summary_head *head, const struct display *to);

#endif
