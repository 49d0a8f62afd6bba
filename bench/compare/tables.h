/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons for people, on a terminal or a page: two sides with every row
 * and a line an op, or several sides with a column each. */
#ifndef CLBENCH_COMPARE_TABLES_H
#define CLBENCH_COMPARE_TABLES_H

#include "cli/display.h"
#include "cli/table.h"
#include "compare/comparisons.h"
#include "compare/gate.h"

void compare_show(const struct sides *s, const struct gate *gate,
                  const struct display *to);

/* "1.075", and "1.05..1.10"; "-" without one. */
enum { RATIO_CAP = 72 };
void compare_ratio(const struct ratio *r, char *out, size_t cap);
void compare_interval(const struct ratio *r, char *out, size_t cap);
/* "SLOWER, gate" */
void compare_call(enum call call, bool is_gated, char *out, size_t cap);
/* What changed beside times, a line each: verdicts, variants, measures. */
void compare_say_changes(const struct comparison *c, struct xl__str *out);

#endif
