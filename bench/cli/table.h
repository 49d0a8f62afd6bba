/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text. Cells are added row by row; the table is printed as wide as
 * its contents, but not wider than the terminal: there texts are cut. Those of
 * the first column, which say what a row is, become lines of their own. */
#ifndef CLBENCH_TABLE_H
#define CLBENCH_TABLE_H

#include <stdio.h>

#include "base/str.h"

struct table_column {
    const char *title;
    bool right;       /* aligned to the right: numbers */
    unsigned least;   /* 0: never cut; else cut to at least this many columns
                         when the table is too wide, widest column first. Of
                         the first column, which then is a line above the rows
                         that have its text, only whether it is 0 counts */
};

enum table_colour { TABLE_PLAIN, TABLE_GREEN, TABLE_YELLOW, TABLE_RED };

struct table;

/* NULL when out of memory; the functions below accept NULL. */
struct table *table_create(const struct table_column *columns, unsigned n);
void table_destroy(struct table *t);
/* Add the next cell, from left to right; a row has n cells. */
void table_cell(struct table *t, const char *fmt, ...) XL__PRINTF(2, 3);
void table_cell_coloured(struct table *t, enum table_colour colour,
                         const char *text);
/* The contents, for other outputs; NULL is an empty table. */
unsigned table_columns(const struct table *t,
                       const struct table_column **columns);
size_t table_lines(const struct table *t);
const char *table_text(const struct table *t, size_t line, unsigned column);
/* Sort the rows by the text of a column, the last one first; equal rows keep
 * their order. */
void table_sort_down(struct table *t, unsigned column);
/* Print with titles, if any is not empty, indented by 2. `width`: columns of
 * the terminal. */
void table_print(FILE *to, const struct table *t, unsigned width, bool colour);

#endif
