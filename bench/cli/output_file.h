/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that an option names: the check that they can be written, and
 * the writing. Messages name the option and the path. */
#ifndef CLBENCH_OUT_FILE_H
#define CLBENCH_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/status.h>

struct session;

/* "-" is standard output. */
bool out_file_is_stdout(const char *path);
/* Is it standard output or a device file? These cannot be checked without a
 * write, and what is written there cannot be replaced. */
bool out_file_is_stream(const char *path);
/* Can the file be written? For a check before a long run; an existing file is
 * left as it is. False: after a message. */
bool out_file_check(struct session *s, const char *option, const char *path);
/* Replace the file by `text`. False: after a message. */
bool out_file_write(struct session *s, const char *option, const char *path,
                    const char *text, size_t len);
/* The same without a message; errno is kept. */
xl_status out_file_replace(const char *path, const char *text, size_t len);
/* Print that the file cannot be written, with errno or the status. Returns
 * false. */
bool out_file_report(struct session *s, const char *option, const char *path,
                     xl_status status);

#endif
