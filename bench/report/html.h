/* SPDX-License-Identifier: Apache-2.0 */
/* The few pieces of HTML that a page is made of. Text of any origin goes
 * through html_text() or the functions below it, which let none of it become
 * markup; what is added otherwise is a literal of ours. */
#ifndef CLBENCH_HTML_H
#define CLBENCH_HTML_H

#include "base/str.h"

/* Text, in an element or between double quotes of an attribute: control
 * characters, bytes that are not UTF-8 and marks that turn the direction of
 * writing are spelled out. */
void html_text(struct xl__str *out, const char *text);
/* Markup with text in it: %s is escaped, %m is a literal of ours, %z a size_t;
 * there are no others. */
void html_add(struct xl__str *out, const char *format, ...);

/* A table in a box that scrolls by itself: begin, a call a column, body, rows,
 * end. `kind` is its class or ""; captions and titles are escaped. */
void html_table_begin(struct xl__str *out, const char *kind,
                      const char *caption);
void html_column(struct xl__str *out, const char *title, bool is_number);
void html_table_body(struct xl__str *out);
void html_table_end(struct xl__str *out);

/* A bar and its percentage; past 1 the bar is full and its end is marked. A
 * dash where there is none (NaN). */
void html_share(struct xl__str *out, double frac);
/* A verdict as a sign and its word. */
void html_verdict(struct xl__str *out, const char *verdict);
/* Its place from best, 0, to worst; HTML_VERDICTS: a word that is none. */
enum { HTML_VERDICTS = 5 };
unsigned html_verdict_rank(const char *verdict);
/* What the verdict means, of one of the known ranks. */
const char *html_verdict_about(unsigned rank);

/* What is embedded with the program: "page.css", "page.js", and the digest of
 * the latter. */
struct page_text {
    const char *name;
    const unsigned char *text;
    size_t len;
};
extern const struct page_text page_texts[]; /* NULL name last */
/* Append one of them as it is. */
void html_embedded(struct xl__str *out, const char *name);

#endif
