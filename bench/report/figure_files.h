/* SPDX-License-Identifier: Apache-2.0 */
/* The list of figures, and every figure of result documents as a file of a
 * folder: "roofline.svg", or "roofline-NAME.svg" where there are several
 * devices. */
#ifndef CLBENCH_FIGURE_FILES_H
#define CLBENCH_FIGURE_FILES_H

#include <crosslane/status.h>

#include "charts/figure.h"

struct session;

/* Every figure of a report, in the order of the page. */
extern const struct figure *const figures[]; /* NULL-terminated */

/* A device's name in letters, digits and dashes, on the heap; NULL: out of
 * memory. */
char *figure_files_label(const char *name);
/* Make the folder if it does not exist. True when files can be written to it;
 * false after a message on stderr. */
bool figure_files_check(struct session *s, const char *folder);
/* Write the figures that the files have data for, replacing older ones. On
 * failure errno is that of the file. */
xl_status figure_files_write(const char *folder,
                             const struct result_file *files, size_t n);

#endif
