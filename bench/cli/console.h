/* SPDX-License-Identifier: Apache-2.0 */
/* Text on a terminal: escaping of control bytes, columns of UTF-8, cutting,
 * wrapping; and the display of a report's sections. */
#ifndef CLBENCH_CLI_CONSOLE_H
#define CLBENCH_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

/* Append `text` with each control byte and each byte that is not UTF-8 written
 * as \xNN. */
void text_escape(struct xl__str *out, const char *text);
/* The same for several lines; a newline at the end of the text is dropped. */
void text_escape_lines(struct xl__str *out, const char *text);
/* Columns that `text` takes on a terminal. */
size_t text_columns(const char *text);
/* Append as much of `text` as fits in `columns`, ending in ".." when cut. */
void text_cut(struct xl__str *out, const char *text, size_t columns);
/* Print a line, escaped and cut to the terminal's columns: for a heading that
 * contains a device's name, which can be long. */
void text_line(FILE *to, const char *text);
/* Print paragraphs, filled to `width` columns after `indent` blanks. An empty
 * line separates paragraphs; a line that begins with a blank is not filled. */
void text_wrap(FILE *to, const char *text, unsigned indent, unsigned width);
/* The name with the least edit distance from `text`, for "did you mean"; NULL
 * when none is close. `names` is NULL-terminated. */
const char *text_nearest(const char *text, const char *const *names);

/* Columns of the terminal: the variable COLUMNS, else those of standard output
 * or standard error, else 80. */
unsigned text_terminal_columns(void);
/* The same for a list that other programs search: whole lines in a pipe. */
unsigned text_list_columns(void);
/* Is standard output coloured? It is when it is a terminal, TERM is not
 * "dumb" and NO_COLOR is not set; or when CLICOLOR_FORCE is set. */
bool text_has_colour(void);

/* -- display ---------------------------------------------------------------
 *
 * The destination of a report's sections: the terminal, or a page. Texts are
 * passed as they are; the display escapes them. */

struct table;

struct display {
    void *arg;
    unsigned width; /* columns available to a table; 0: no limit */
    void (*title)(void *arg, const char *text);
    void (*text)(void *arg, const char *text); /* as text_wrap() */
    void (*table)(void *arg, const struct table *t);
    void (*note)(void *arg, size_t number, const char *text);
    void (*gap)(void *arg); /* between tables, and after a section */
};

/* The display of standard output, as wide as it is now. `colour` receives
 * text_has_colour() and must exist as long as the display is used. */
struct display display_terminal(bool *colour);

#endif
