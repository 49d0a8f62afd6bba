/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML: escaping, tables, the elements that more than one section of a
 * page has, and the frame of a page. No element carries a style or a handler
 * of its own, so that the page's policy can refuse all of them: bars are
 * pictures of one rectangle. */
#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/measure.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "cli/table.h"
#include "results/json.h"

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

/* Without control characters, bytes that are not UTF-8, and characters that
 * change the direction of writing. */
static void add_clean(struct xl__str *out, const char *text)
{
    struct xl__str clean = {0};
    text_escape(&clean, text ? text : "");
    for (const char *s = xl__str_text(&clean); *s; s++) {
        const char *mark = find_direction_mark(s);
        if (mark)
            xl__str_printf(out, "\\%s", mark);
        else
            xl__str_add_n(out, s, 1);
        s += mark ? DIRECTION_MARK_LEN - 1 : 0;
    }
    out->broken = out->broken || clean.broken;
    xl__str_clear(&clean);
}

void html_text(struct xl__str *out, const char *text)
{
    struct xl__str clean = {0};
    add_clean(&clean, text);
    for (const char *s = xl__str_text(&clean); *s; s++)
        if (find_entity(*s))
            xl__str_add(out, find_entity(*s));
        else
            xl__str_add_n(out, s, 1);
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

/* -- tables --------------------------------------------------------------- */

/* {"caption": "", "columns": [["Case", 0]], "rows": [["a"]], "titles": [null],
 * "notes": []}; a column has its look. */
json_t *html_table(const char *caption)
{
    json_t *table = json_object();
    static const char *const lists[] = {"columns", "rows", "titles", "notes"};
    struct xl__str clean = {0};
    add_clean(&clean, caption);
    json_put(table, "caption", json_text(xl__str_text(&clean)));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_put(table, lists[i], json_array());
    xl__str_clear(&clean);
    return table;
}

void html_cell(json_t *row, const char *text)
{
    struct xl__str clean = {0};
    add_clean(&clean, text);
    json_add(row, json_text(xl__str_text(&clean)));
    xl__str_clear(&clean);
}

void html_column(json_t *table, const char *title, enum column_look look)
{
    json_t *column = json_array();
    html_cell(column, title);
    json_add(column, json_integer(look));
    json_add(json_object_get(table, "columns"), column);
}

json_t *html_row(json_t *table, const char *title)
{
    json_t *row = json_array();
    html_cell(json_object_get(table, "titles"), title);
    json_add(json_object_get(table, "rows"), row);
    return row;
}

void html_note(json_t *table, const char *text)
{
    html_cell(json_object_get(table, "notes"), text);
}

/* The text of cell `c` of a row or of the heads, which have a list each. */
static const char *cell_text(const json_t *row, size_t c)
{
    const json_t *cell = json_array_get(row, c);
    const char *text = json_string_value(
        json_is_array(cell) ? json_array_get(cell, 0) : cell);
    return text ? text : "";
}

static size_t measure_column(const json_t *table, size_t c)
{
    const json_t *rows = json_object_get(table, "rows");
    size_t width =
        text_columns(cell_text(json_object_get(table, "columns"), c));
    for (size_t i = 0; i < json_array_size(rows); i++)
        width = xl__max_size(
            width, text_columns(cell_text(json_array_get(rows, i), c)));
    return width;
}

/* Appends a line of the text, of which `widths` are the columns. */
static void add_line(struct xl__str *out, const json_t *columns,
                     const json_t *row, const size_t *widths)
{
    const size_t n = json_array_size(columns);
    for (size_t c = 0; c < n; c++) {
        const json_t *look = json_array_get(json_array_get(columns, c), 1);
        const char *text = cell_text(row, c);
        const int gap = (int)(widths[c] - text_columns(text));
        const bool is_right = json_integer_value(look) != LOOK_TEXT &&
                              json_integer_value(look) != LOOK_VERDICT;
        xl__str_printf(out, "%*s", is_right ? gap : 0, "");
        html_text(out, text);
        xl__str_printf(out, "%*s", is_right || c + 1 == n ? 0 : gap, "");
        xl__str_add(out, c + 1 < n ? "  " : "\n");
    }
}

static void add_text_table(struct xl__str *out, const json_t *table)
{
    const json_t *columns = json_object_get(table, "columns");
    const json_t *rows = json_object_get(table, "rows");
    const json_t *notes = json_object_get(table, "notes");
    size_t *widths = xl__calloc(json_array_size(columns) + 1, sizeof *widths);
    out->broken = out->broken || !widths;
    for (size_t c = 0; widths && c < json_array_size(columns); c++)
        widths[c] = measure_column(table, c);
    if (widths)
        add_line(out, columns, columns, widths);
    for (size_t i = 0; widths && i < json_array_size(rows); i++)
        add_line(out, columns, json_array_get(rows, i), widths);
    for (size_t i = 0; i < json_array_size(notes); i++)
        html_add(out, "[%z] %s\n", i + 1, cell_text(notes, i));
    free(widths);
}

/* Appends JSON that no text of it can end the element of: "<" stands in
 * strings only, where it is written as an escape. */
static void add_json(struct xl__str *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII);
    out->broken = out->broken || !text;
    for (const char *s = text; s && *s; s++)
        if (*s == '<')
            xl__str_add(out, "\\u003c");
        else
            xl__str_add_n(out, s, 1);
    free(text);
}

/* The text scrolls by itself: such a box is in the tab order, and has a name.
 */
void html_table_end(struct xl__str *out, json_t *table)
{
    const char *caption = json_text_at(table, "caption");
    out->broken = out->broken || !table;
    if (json_array_size(json_object_get(table, "rows")) > 0) {
        xl__str_add(out, "<div class=\"data\"><script "
                         "type=\"application/json\">");
        add_json(out, table);
        html_add(out,
                 "</script>\n<noscript><p>%s</p><pre class=\"scroll\" "
                 "tabindex=\"0\" role=\"region\" aria-label=\"%s\">",
                 caption, *caption ? caption : "Table");
        add_text_table(out, table);
        xl__str_add(out, "</pre></noscript></div>\n");
    }
    json_decref(table);
}

/* -- display -------------------------------------------------------------- */

static void show_text(void *arg, const char *text)
{
    html_add(arg, "<p>%s</p>\n", text);
}

static void show_table(void *arg, const struct table *t)
{
    const struct table_column *columns = NULL;
    const unsigned n = table_columns(t, &columns);
    json_t *table = html_table("");
    for (unsigned c = 0; c < n; c++)
        html_column(table, columns[c].title,
                    columns[c].right ? LOOK_NUMBER : LOOK_TEXT);
    for (size_t i = 0; i < table_lines(t); i++) {
        json_t *row = html_row(table, NULL);
        for (unsigned c = 0; c < n; c++)
            html_cell(row, table_text(t, i, c));
    }
    html_table_end(arg, table);
}

static void show_note(void *arg, size_t number, const char *text)
{
    html_add(arg, "<p>[%z] %s</p>\n", number, text);
}

static void show_gap(void *arg)
{
    (void)arg;
}

struct display html_display(struct xl__str *out)
{
    return (struct display){out,        0,         show_text, show_text,
                            show_table, show_note, show_gap};
}

/* -- elements ------------------------------------------------------------- */

void html_bar(struct xl__str *out, double frac, const char *kind)
{
    static const double whole = 100;
    html_add(out,
             "<svg class=\"bar%m%m\" viewBox=\"0 0 100 8\" "
             "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
             kind, frac > 1 ? " past" : "");
    xl__str_printf(out, "<rect width=\"%.3g\" height=\"8\"/></svg>",
                   isfinite(frac) ? fmin(fmax(frac, 0), 1) * whole : 0);
}

/* In the order of xl_verdict. */
static const char *const verdicts[HTML_VERDICTS] = {
    "can be quoted",
    "there is evidence against it: not to be quoted",
    "impossible, or a wrong result: it has no rate",
    "the device or its driver lacks what it needs",
    "it failed to run",
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
    return rank < HTML_VERDICTS ? verdicts[rank] : "";
}

void html_verdict(struct xl__str *out, const char *verdict)
{
    const bool is_known = html_verdict_rank(verdict) < HTML_VERDICTS;
    html_add(out, "<span class=\"verdict %m\">%s</span>",
             is_known ? verdict : "unknown",
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
