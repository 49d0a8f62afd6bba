/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons as files, by the options that reports have. */
#ifndef CLBENCH_COMPARE_OUTPUT_FILES_H
#define CLBENCH_COMPARE_OUTPUT_FILES_H

#include "base/str.h"
#include "compare/comparisons.h"
#include "compare/gate.h"

struct session;

void compare_csv(const struct sides *s, const struct gate *gate,
                 struct xl__str *out);
void compare_html(const struct sides *s, const struct gate *gate,
                  struct xl__str *out);

enum { FOREST_MOST_ROWS = 40 };

/* Write each that was asked for: an exit_code. */
int compare_write_files(struct session *session, const struct sides *s,
                        const struct gate *gate);

#endif
