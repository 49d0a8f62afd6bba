/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's rows go. The report sets the sink before the command runs;
 * what measures and what is below it needs no report. */
#ifndef CLBENCH_ROW_SINK_H
#define CLBENCH_ROW_SINK_H

#include <crosslane/crosslane.h>

struct row_sink {
    void *arg;
    /* A new table. Title "GEMM"; note: a line below it, or NULL. */
    void (*section)(void *arg, const char *title, const char *note);
    void (*row)(void *arg, xl_device *dev, const xl_row *row);
    void (*section_end)(void *arg);
    /* A row for the result files alone, outside of any section: the command
     * shows it in a table of its own. */
    void (*record)(void *arg, xl_device *dev, const xl_row *row);
};

#endif
