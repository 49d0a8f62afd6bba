/* SPDX-License-Identifier: Apache-2.0 */
/* Every figure of result documents as a file of a folder: "roofline.svg", or
 * "roofline-NAME.svg" where several devices have one. */
#ifndef CLBENCH_FIGURE_FILES_H
#define CLBENCH_FIGURE_FILES_H

#include <crosslane/status.h>

#include "charts/figure.h"

struct session;

/* Make the folder if it is not there. Can files be written to it? Says why
 * not. */
bool figure_files_try(struct session *s, const char *folder);
/* Those that can be drawn; errno kept. */
xl_status figure_files_write(const char *folder,
                             const struct result_file *files, size_t n);

#endif
