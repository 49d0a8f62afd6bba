/* SPDX-License-Identifier: Apache-2.0 */
/* Files that an option names: can they be written, and the writing. */
#ifndef CLBENCH_OUT_FILE_H
#define CLBENCH_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/status.h>

struct session;

/* "-" is standard output. */
bool out_file_is_stdout(const char *path);
/* Is it a stream? What is written there cannot be taken back, nor tried. */
bool out_file_is_stream(const char *path);
/* Is it possible to write there? Asked before minutes are spent; an older file
 * of that name stays until there is something to replace it. Says why not. */
bool out_file_try(struct session *s, const char *option, const char *path);
/* Replace it whole. Says why not. */
bool out_file_write(struct session *s, const char *option, const char *path,
                    const char *text, size_t len);
/* The same without a word: errno kept. */
xl_status out_file_replace(const char *path, const char *text, size_t len);
/* Say that it could not be written, from the status and errno. False. */
bool out_file_complain(struct session *s, const char *option, const char *path,
                       xl_status status);

#endif
