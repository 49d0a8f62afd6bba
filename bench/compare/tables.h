/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons for people, on a terminal or a page: two sides with every row
 * and a line an op, or several sides with a column each. */
#ifndef CLBENCH_COMPARE_SHOW_H
#define CLBENCH_COMPARE_SHOW_H

#include "compare/gate.h"
#include "compare/compare_sides.h"
#include "cli/console.h"
#include "cli/table.h"

void compare_show(const struct sides *s, const struct gate *gate,
                  const struct display *to);
/* compare_table.c: a line a case. */
void compare_show_table(const struct sides *s, const struct display *to);

/* "1.075", and "1.05..1.10"; "-" without one. */
enum { RATIO_CAP = 72 };
void compare_ratio(const struct ratio *r, char *out, size_t cap);
void compare_interval(const struct ratio *r, char *out, size_t cap);
/* "SLOWER, gate" */
void compare_call(enum call call, bool is_gated, char *out, size_t cap);
enum table_colour compare_colour(enum call call, bool is_gated);
/* Is the row worth a line? Not if neither side has a time, as ever. */
bool compare_is_shown(const struct pair *p);
/* What changed beside times, a line each: verdicts, variants, measures. */
void compare_say_changes(const struct comparison *c, struct xl__str *out);
/* Each line of `text` as one of its own. */
void compare_show_lines(const struct xl__str *text, const struct display *to);
/* "a = ...", the letter of the side. */
void compare_show_side(char letter, const struct side *side,
                       const struct display *to);

#endif
