/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the elements of an HTML page. Text of any origin goes through
 * html_text() or the functions below it, which let none of it become markup;
 * what is added otherwise is a literal of this program. */
#ifndef CLBENCH_HTML_H
#define CLBENCH_HTML_H

#include <jansson.h>

#include "base/str.h"
#include "cli/console.h"
#include "report/columns.h"

/* Text, in an element or between double quotes of an attribute. Control
 * characters, bytes that are not UTF-8 and characters that change the
 * direction of writing are shown as escapes. */
void html_text(struct xl__str *out, const char *text);
/* Markup with text in it: %s is escaped, %m is a literal, %z a size_t; there
 * are no other conversions. */
void html_add(struct xl__str *out, const char *format, ...);

/* A table: JSON that the page's script shows, with a box that scrolls, a
 * search and a sort, and the same as plain text where there is no script. What
 * it has is added from left to right and from top to bottom; texts are
 * escaped. The functions accept NULL, a table that memory was lacking for. */
json_t *html_table(const char *caption);
/* `look`: how the script shows the cells. */
void html_column(json_t *table, const char *title, enum column_look look);
/* A row, borrowed, that html_cell() adds to. `title`: what identifies it,
 * shown beside the pointer; NULL: none. */
json_t *html_row(json_t *table, const char *title);
void html_cell(json_t *row, const char *text);
/* A note below the table; the first one is number 1, "[1]" in a cell. */
void html_note(json_t *table, const char *text);
/* Adds the table, unless it has no rows, and takes over its reference. */
void html_table_end(struct xl__str *out, json_t *table);
/* Sections with tables as part of a page, escaped. */
struct display html_display(struct xl__str *out);

/* A bar of a fraction of its box; beyond 1 it is full and its end is marked.
 * `kind`: further classes. */
void html_bar(struct xl__str *out, double frac, const char *kind);
/* A verdict, whose sign is in the style sheet. */
void html_verdict(struct xl__str *out, const char *verdict);
/* Rank of a verdict, from 0, the best, on; HTML_VERDICTS: not a verdict. */
enum { HTML_VERDICTS = 5 };
unsigned html_verdict_rank(const char *verdict);
/* What the verdict means, of one of the known ranks. */
const char *html_verdict_about(unsigned rank);

/* The frame of a page. html_begin() writes all up to the body, where a header
 * and <main id="main"> belong; `title` is escaped already. html_end() writes
 * what follows </main>. */
void html_begin(struct xl__str *out, const char *title);
void html_end(struct xl__str *out);

/* What is embedded in the program: "page.css", "page.js", and the digest of
 * the latter. */
struct page_text {
    const char *name;
    const unsigned char *text;
    size_t len;
};
extern const struct page_text page_texts[]; /* NULL name last */

#endif
