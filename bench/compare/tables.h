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

/* Changes other than times (verdicts, variants, units), a line each. */
void compare_describe_changes(const struct comparison *c, struct xl__str *out);

#endif
