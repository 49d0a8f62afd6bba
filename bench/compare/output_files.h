/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons as CSV, Markdown and HTML files, with the options of reports. */
#ifndef CLBENCH_COMPARE_OUTPUT_FILES_H
#define CLBENCH_COMPARE_OUTPUT_FILES_H

#include "base/str.h"
#include "compare/comparisons.h"
#include "compare/gate.h"

struct session;

enum { FOREST_MOST_ROWS = 40 }; /* rows of a forest plot */

/* Append a whole file to *out; out->broken: out of memory. */
void compare_csv(const struct comparisons *s, const struct gate *gate,
                 struct xl__str *out);
void compare_html(const struct comparisons *s, const struct gate *gate,
                  struct xl__str *out);

/* Writes each file that the options name. An exit_code. */
int compare_write_files(struct session *session, const struct comparisons *s,
                        const struct gate *gate);

#endif
