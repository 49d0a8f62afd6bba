/* SPDX-License-Identifier: Apache-2.0 */
/* Text on a terminal: columns of UTF-8, cutting, wrapping, bytes that a driver
 * should not have sent. */
#ifndef CLBENCH_CLI_CONSOLE_H
#define CLBENCH_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

/* Append `text` with each control byte and each byte that is not UTF-8 written
 * as \xNN. */
void text_escape(struct xl__str *out, const char *text);
/* The same of several lines; an end of line at the very end is dropped. */
void text_escape_lines(struct xl__str *out, const char *text);
/* Columns that `text` takes on a terminal. */
size_t text_columns(const char *text);
/* Append as much of `text` as fits in `columns`, ending in ".." when cut. */
void text_cut(struct xl__str *out, const char *text, size_t columns);
/* Print a line, made clean and cut to the terminal's columns: a heading that
 * has a device's name in it, say, which can be long. */
void text_line(FILE *to, const char *text);
/* Print paragraphs, filled to `width` behind `indent` blanks. An empty line
 * parts paragraphs; a line that begins with a blank is printed as it is. */
void text_wrap(FILE *to, const char *text, unsigned indent, unsigned width);
/* Of the NULL-terminated `names`, the one most like `text`, or NULL when none
 * is near: for "did you mean". */
const char *text_nearest(const char *text, const char *const *names);

/* Columns of the terminal: COLUMNS, else what standard output or error says,
 * else 80. */
unsigned text_terminal_columns(void);
/* Colour on standard output? A terminal, TERM not dumb, and no NO_COLOR; or
 * CLICOLOR_FORCE. */
bool text_wants_colour(void);

/* Where the parts of a report are shown: the terminal, or a page. What is said
 * comes as it is; a display escapes what it must. */

struct table;

struct display {
    void *arg;
    unsigned width; /* columns that a table may take; 0: all it wants */
    void (*title)(void *arg, const char *text);
    void (*text)(void *arg, const char *text); /* as text_wrap() has it */
    void (*table)(void *arg, const struct table *t);
    void (*note)(void *arg, size_t number, const char *text);
    void (*gap)(void *arg); /* between tables, and behind the part */
};

/* Standard output, as wide as it is now; `colour` stays the display's. */
struct display display_terminal(bool *colour);

#endif
