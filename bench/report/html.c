/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML: escaping, the elements that more than one section of a page
 * has, and the frame of a page. No element carries a style or a handler of its
 * own, so that the page's policy can refuse all of them: bars are pictures of
 * one rectangle. */
#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <crosslane/measure.h>

#include "cli/console.h"
#include "cli/units.h"

/* -- text ----------------------------------------------------------------- */

/* Characters that change the direction of the text after them, in UTF-8. */
static const struct {
    const char *bytes, *shown;
} direction_marks[] = {
    {"\xe2\x80\xaa", "U+202A"}, {"\xe2\x80\xab", "U+202B"},
    {"\xe2\x80\xac", "U+202C"}, {"\xe2\x80\xad", "U+202D"},
    {"\xe2\x80\xae", "U+202E"}, {"\xe2\x81\xa6", "U+2066"},
    {"\xe2\x81\xa7", "U+2067"}, {"\xe2\x81\xa8", "U+2068"},
    {"\xe2\x81\xa9", "U+2069"},
};
enum {
    N_DIRECTION_MARKS = sizeof direction_marks / sizeof *direction_marks,
    DIRECTION_MARK_LEN = 3
};

/* The name of the direction character that `text` starts with; NULL: none. */
static const char *find_direction_mark(const char *text)
{
    for (size_t i = 0; i < N_DIRECTION_MARKS; i++)
        if (strncmp(text, direction_marks[i].bytes, DIRECTION_MARK_LEN) == 0)
            return direction_marks[i].shown;
    return NULL;
}

/* The entity of a character that is markup; NULL: it is none. */
static const char *find_entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(struct xl__str *out, const char *text)
{
    struct xl__str clean = {0};
    text_escape(&clean, text ? text : "");
    for (const char *s = xl__str_text(&clean); *s; s++) {
        const char *name = find_entity(*s), *mark = find_direction_mark(s);
        if (name) {
            xl__str_add(out, name);
        } else if (mark) {
            xl__str_printf(out, "\\%s", mark);
            s += DIRECTION_MARK_LEN - 1;
        } else {
            xl__str_add_n(out, s, 1);
        }
    }
    out->broken = out->broken || clean.broken;
    xl__str_clear(&clean);
}

void html_add(struct xl__str *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *end = NULL; *format; format = end) {
        end = format + strcspn(format, "%");
        xl__str_add_n(out, format, (size_t)(end - format));
        if (!*end)
            break;
        switch (end[1]) {
        case 's':
            html_text(out, va_arg(args, const char *));
            break;
        case 'm':
            xl__str_add(out, va_arg(args, const char *));
            break;
        case 'z':
            xl__str_printf(out, "%zu", va_arg(args, size_t));
            break;
        default: /* "%%" */
            xl__str_add(out, "%");
            break;
        }
        end += 2;
    }
    va_end(args);
}

/* -- elements ------------------------------------------------------------- */

/* A box that scrolls must be in the tab order, and then needs a name. */
void html_table_begin(struct xl__str *out, const char *kind,
                      const char *caption)
{
    html_add(out,
             "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
             "aria-label=\"%s\"><table class=\"%m\">\n<caption>%s</caption>\n"
             "<thead><tr>",
             caption, kind, caption);
}

void html_column(struct xl__str *out, const char *title, bool is_number)
{
    html_add(out, "<th scope=\"col\"%m>%s</th>",
             is_number ? " class=\"n\"" : "", title);
}

void html_table_body(struct xl__str *out)
{
    xl__str_add(out, "</tr></thead>\n<tbody>\n");
}

void html_table_end(struct xl__str *out)
{
    xl__str_add(out, "</tbody></table></div>\n");
}

void html_share(struct xl__str *out, double frac)
{
    static const double whole = 100;
    char text[UNITS_CAP];
    if (!isfinite(frac)) {
        xl__str_add(out, "-");
        return;
    }
    const double percent = fmin(fmax(frac, 0), 1) * whole;
    units_percent(text, sizeof text, frac);
    xl__str_printf(out,
                   "<svg class=\"bar%s\" viewBox=\"0 0 100 8\" "
                   "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                   "<rect width=\"%.3g\" height=\"8\"/></svg>%s",
                   frac > 1 ? " past" : "", percent, text);
}

/* In the order of xl_verdict. */
static const struct {
    const char *sign, *about;
} verdicts[HTML_VERDICTS] = {
    {"\xe2\x9c\x93", "can be quoted"},
    {"\xe2\x96\xb2", "there is evidence against it: not to be quoted"},
    {"\xe2\x9c\x95", "impossible, or a wrong result: it has no rate"},
    {"\xe2\x80\x93", "the device or its driver lacks what it needs"},
    {"\xe2\x96\xa0", "it failed to run"},
};
unsigned html_verdict_rank(const char *verdict)
{
    unsigned rank = 0;
    while (rank < HTML_VERDICTS &&
           !xl__streq(xl_verdict_name((xl_verdict)rank), verdict))
        rank++;
    return rank;
}

const char *html_verdict_about(unsigned rank)
{
    return rank < HTML_VERDICTS ? verdicts[rank].about : "";
}

void html_verdict(struct xl__str *out, const char *verdict)
{
    const unsigned rank = html_verdict_rank(verdict);
    const bool is_known = rank < HTML_VERDICTS;
    html_add(out,
             "<span class=\"verdict %m\"><i aria-hidden=\"true\">%m</i>"
             "%s</span>",
             is_known ? xl_verdict_name((xl_verdict)rank) : "unknown",
             is_known ? verdicts[rank].sign : "?",
             *verdict ? verdict : "no verdict");
}

/* Appends an embedded text as it is. */
static void add_embedded(struct xl__str *out, const char *name)
{
    for (const struct page_text *t = page_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            xl__str_add_n(out, (const char *)t->text, t->len);
}

/* -- the frame of a page -------------------------------------------------- */

/* A page holds all it needs: style sheet, script and pictures. Its policy
 * refuses any request to a network, and every script but the one of this
 * program, named by its digest. SVG elements have styles of their own, so
 * inline styles are allowed. */
void html_begin(struct xl__str *out, const char *title)
{
    html_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                  "<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\""
                  "default-src 'none'; style-src 'unsafe-inline'; "
                  "script-src 'sha256-");
    add_embedded(out, "page.js.digest");
    html_add(out,
             "'; base-uri 'none'; form-action 'none'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta name=\"generator\" content=\"clbench\">\n"
             "<title>%m - clbench</title>\n<style>\n",
             title);
    add_embedded(out, "page.css");
    xl__str_add(out, "</style>\n</head>\n<body>\n"
                     "<a class=\"skip\" href=\"#main\">Skip to the results"
                     "</a>\n");
}

void html_end(struct xl__str *out)
{
    xl__str_add(out, "<script>");
    add_embedded(out, "page.js");
    xl__str_add(out, "</script>\n</body>\n</html>\n");
}
