/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a program, made smaller without a preprocessor: the driver's
 * compiler states which branches of the conditionals it takes and which names
 * it lacks, and what no kernel reaches is left out. All texts are on the heap;
 * `broken` of a text is for the caller. */
#ifndef CLBENCH_BUG_SOURCE_H
#define CLBENCH_BUG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Without comments and blank lines. */
void source_strip(const char *text, struct xl__str *out);

/* With a kernel "bug_taken_I" for each branch that a compiler takes, counted
 * from 0 in the order of the text: #if, #ifdef, #ifndef, #elif, #else. */
void source_mark(const char *text, struct xl__str *out);
/* Without conditionals: with the branches of these names, separated by
 * semicolons, as CL_PROGRAM_KERNEL_NAMES has them. */
void source_take(const char *text, const char *names, struct xl__str *out);

/* A text without conditionals as parts that can be left out: a directive, a
 * function, a declaration. */
struct source_part {
    const char *text; /* of the whole */
    size_t len;
    const char *name; /* that it defines; NULL: not known, as of the call of a
                         macro */
    size_t name_len;
    bool is_wanted; /* stays, with what it names; at first: has no name */
    bool is_out;
};
struct source_parts {
    struct source_part *at;
    size_t n, cap;
};
/* false: out of memory. source_clear() in any case. */
bool source_split(const char *text, struct source_parts *out);
void source_clear(struct source_parts *p);
/* Want the parts that are out and whose names are words of a text, such as the
 * compiler's list of what it lacks; the number of them. */
size_t source_want(struct source_parts *p, const char *text);
/* Leave out all but the parts that are wanted and those that they name,
 * directly or not; names that ## makes are not seen. The text of the rest. */
void source_reach(struct source_parts *p, struct xl__str *out);

#endif
