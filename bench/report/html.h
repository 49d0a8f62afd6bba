/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the elements of an HTML page. Text of any origin goes through
 * html_text() or the functions below it, which let none of it become markup;
 * what is added otherwise is a literal of this program. */
#ifndef CLBENCH_HTML_H
#define CLBENCH_HTML_H

#include "base/str.h"

/* Text, in an element or between double quotes of an attribute. Control
 * characters, bytes that are not UTF-8 and characters that change the
 * direction of writing are shown as escapes. */
void html_text(struct xl__str *out, const char *text);
/* Markup with text in it: %s is escaped, %m is a literal, %z a size_t; there
 * are no other conversions. */
void html_add(struct xl__str *out, const char *format, ...);

/* A table in a box that scrolls by itself: begin, a call a column, body, rows,
 * end. `kind` is its class or ""; captions and titles are escaped. */
void html_table_begin(struct xl__str *out, const char *kind,
                      const char *caption);
void html_column(struct xl__str *out, const char *title, bool is_number);
void html_table_body(struct xl__str *out);
void html_table_end(struct xl__str *out);

/* A bar and its percentage; beyond 1 the bar is full and its end is marked. A
 * dash for NaN. */
void html_share(struct xl__str *out, double frac);
/* A verdict as a sign and its name. */
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
