/* SPDX-License-Identifier: Apache-2.0 */
/* A section of a report: the rows of one table, with the text around them. A
 * run shows its sections as they are measured, `clbench report` those of a
 * file; both are shown by section_show(). */
#ifndef CLBENCH_REPORT_SECTION_H
#define CLBENCH_REPORT_SECTION_H

#include "cli/console.h"
#include "results/result.h"
#include "results/result_file.h"

struct section_device {
    const void *key; /* the rows' `dev` */
    unsigned index;
    const char *name;
};

struct section {
    const char *title, *note; /* NULL: none */
    const struct section_device *devices;
    unsigned n_devices;
    const struct settings *set; /* of the run */
    struct result_table rows;
    struct notes notes; /* made while it is shown */
};

/* Is the row shown in a section? A point of a curve is left to the files,
 * unless --full asks for it or it is wrong. */
bool section_shows(const xl_row *row, const struct settings *set);
/* Only the table or tables, for a section that grows. */
void section_show_rows(struct section *s, const struct display *to);
/* Nothing when there are no rows. */
void section_show(struct section *s, const struct display *to);

/* What limits the rows of a table, below it: each limiter once, with the
 * evidence of the row that took longest and its advice; arithmetic intensity
 * by type; and matrix engines that are not used. */
void report_limits(const struct result_table *rows, const struct display *to);
/* "DRAM"; "latency?" where it is only likely; "-" where nothing is known. */
void report_limiter(const xl_row *row, char *out, size_t cap);
/* The evidence without the limiter's name. */
const char *report_evidence(const xl_diagnosis *d);

/* -- a result file -------------------------------------------------------- */

/* "clbench gemm, 2026-11-22T07:00:00Z, on CPU, Linux" */
void results_headline(const struct result_file *file, struct xl__str *out);
/* "QUIET (...)"; "" when it was not observed. */
const char *results_state(const struct result_file *file);
/* Did the run not come to its end? */
bool results_are_interrupted(const struct result_file *file);
/* "0: NAME (PLATFORM, driver 1.2)" */
void results_device_line(const json_t *device, struct xl__str *out);
/* Append "0: NAME", and "PLATFORM, driver 1.2, 2 units, 2.30 GHz, 19 GiB". */
void results_device_head(const json_t *device, struct xl__str *name,
                         struct xl__str *detail);
/* Append the value of a fact; lists with commas, "-" when unknown. */
void results_fact_value(const json_t *fact, struct xl__str *out);
/* "37 rows: 36 ok, 1 rejected"; and what the file has in addition to rows. */
void results_tally(const struct result_file *file, struct xl__str *out);
/* Every section of the file; rows that belong to none are grouped by op. Of a
 * file of the suite also the summary of each device: first on a page, last on
 * a terminal. `is_whole`: with the points of curves and all notes, which a
 * section leaves out. Of a file without rows, the facts of its devices.
 * `set`: how it is printed; NULL: nothing is given. */
void results_show(const struct result_file *file, bool is_whole,
                  const struct settings *set, const struct display *to);

#endif
