/* SPDX-License-Identifier: Apache-2.0 */
/* A result file for people: what it is of, and its parts as the run showed
 * them. */
#ifndef CLBENCH_RESULTS_WORDS_H
#define CLBENCH_RESULTS_WORDS_H

#include "base/str.h"
#include "cli/console.h"
#include "results/result_file.h"

/* "clbench gemm, 2026-11-22T07:00:00Z, on CPU, Linux" */
void results_headline(const struct result_file *file, struct xl__str *out);
/* "0: NAME (PLATFORM, driver 1.2)" */
void results_device_line(const json_t *device, struct xl__str *out);
/* "37 rows: 36 ok, 1 rejected"; and what the file holds beside rows. */
void results_tally(const struct result_file *file, struct xl__str *out);

/* Every fact of an entry of "devices"; nothing when it has none. */
void results_facts(const json_t *device, const struct display *to);

/* Every part of the file; rows that stood in none are parted by op. `is_whole`:
 * with the points of curves, which a table leaves out. A file without rows
 * shows the facts of its devices. */
void results_show(const struct result_file *file, bool is_whole, bool is_quiet,
                  const struct display *to);

#endif
