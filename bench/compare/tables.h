/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons as tables, for a terminal or a Markdown page. */
#ifndef CLBENCH_COMPARE_TABLES_H
#define CLBENCH_COMPARE_TABLES_H

#include "cli/console.h"
#include "cli/table.h"
#include "compare/comparisons.h"
#include "compare/gate.h"

void compare_print(const struct comparisons *s, const struct gate *gate,
                   const struct display *to);

/* "1.075", and "1.05..1.10"; "-" if unknown. */
enum { RATIO_CAP = 72 };
void compare_format_ratio(const struct ratio *r, char *out, size_t cap);
void compare_format_interval(const struct ratio *r, char *out, size_t cap);
/* "SLOWER, gate" */
void compare_format_call(enum call call, bool is_gated, char *out, size_t cap);
/* Changes other than times (verdicts, variants, units), a line each. */
void compare_describe_changes(const struct comparison *c, struct xl__str *out);

#endif
