/* SPDX-License-Identifier: Apache-2.0 */
/* Files that an option names: can they be written, and the writing. */
#ifndef CLBENCH_OUT_FILE_H
#define CLBENCH_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct session;

/* Is it possible to write there? Asked before minutes are spent; an older file
 * of that name stays until there is something to replace it. Says why not. */
bool out_file_try(struct session *s, const char *option, const char *path);
/* Replace it whole. Says why not. */
bool out_file_write(struct session *s, const char *option, const char *path,
                    const char *text, size_t len);

#endif
