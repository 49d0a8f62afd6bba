/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people: on a terminal, and the sentences that its files
 * have as well. */
#ifndef CLBENCH_COMPARE_TEXT_H
#define CLBENCH_COMPARE_TEXT_H

#include "compare.h"
#include "compare_gate.h"
#include "table.h"

/* Two sides, every row and a line an op. */
void compare_print(const struct comparison *c, const struct gate *gate);
/* Several sides over one: a line a case, a column a side. */
void compare_print_table(const struct comparison *list, size_t n,
                         const struct gate *gate);

/* "1.05..1.10"; "-" without an interval. */
void compare_interval(const struct ratio *r, char *out, size_t cap);
/* What changed beside times, a line each: rejected rows, other variants. */
void compare_say_changes(const struct comparison *c, struct xl__str *out);
enum table_colour compare_colour(enum call call);
/* Text of ours with text of files in it, filled to the terminal. */
void compare_print_words(const char *text);

#endif
