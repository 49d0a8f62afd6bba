/* SPDX-License-Identifier: Apache-2.0 */
/* Results as Markdown (CommonMark with GitHub's tables): what the terminal
 * shows, with the verdict of every row and the points of curves. No text
 * becomes markup. */
#include "report/markdown.h"

#include <ctype.h>
#include <string.h>

#include "cli/console.h"
#include "cli/table.h"
#include "report/outputs.h"
#include "report/section.h"

/* -- text ----------------------------------------------------------------- */

static bool is_in_word(const char *text, size_t i)
{
    return i > 0 && isalnum((unsigned char)text[i - 1]) &&
           isalnum((unsigned char)text[i + 1]);
}

/* Puts a backslash before what could be markup anywhere; an underscore within
 * a word cannot. */
static void add_line(struct xl__str *out, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        const bool is_plain = !strchr("\\`*_<>[]|&~$", text[i]) ||
                              (text[i] == '_' && is_in_word(text, i));
        xl__str_add(out, is_plain ? "" : "\\");
        xl__str_add_n(out, &text[i], 1);
    }
}

static void add_text(struct xl__str *out, const char *text)
{
    struct xl__str clean = {0};
    text_escape(&clean, text);
    add_line(out, xl__str_text(&clean));
    out->broken = out->broken || clean.broken;
    xl__str_clear(&clean);
}

/* Index of the character by which the line would begin a heading, a list or a
 * rule; SIZE_MAX: none. */
static size_t find_marker(const char *line)
{
    const size_t digits = strspn(line, "0123456789");
    if (digits > 0)
        return line[digits] && strchr(".)", line[digits]) ? digits : SIZE_MAX;
    return *line && strchr("#+-=", *line) ? 0 : SIZE_MAX;
}

/* Adds the lines of the text, then an empty one, which ends the paragraph. */
static void add_paragraph(struct xl__str *out, const char *text)
{
    struct xl__str line = {0};
    while (*text) {
        text += strspn(text, " ");
        const size_t len = strcspn(text, "\n");
        xl__str_reset(&line);
        xl__str_add_n(&line, text, len);
        const char *at = xl__str_text(&line);
        const size_t before = find_marker(at);
        if (before != SIZE_MAX) {
            xl__str_add_n(out, at, before);
            xl__str_add(out, "\\");
            xl__str_add_n(out, at + before, 1);
            at += before + 1;
        }
        add_text(out, at);
        xl__str_add(out, "\n");
        text += len + (text[len] == '\n');
    }
    xl__str_add(out, "\n");
    out->broken = out->broken || line.broken;
    xl__str_clear(&line);
}

/* -- a section ------------------------------------------------------------ */

static void show_title(void *arg, const char *text)
{
    const struct markdown *p = arg;
    xl__str_add(p->out, p->is_one_of_many ? "### " : "## ");
    add_text(p->out, text);
    xl__str_add(p->out, "\n\n");
}

static void show_paragraph(void *arg, const char *text)
{
    const struct markdown *p = arg;
    add_paragraph(p->out, text);
}

/* A table of GitHub's Markdown; numbers are aligned to the right. */
static void show_table(void *arg, const struct table *t)
{
    const struct markdown *p = arg;
    const struct table_column *columns = NULL;
    const unsigned n = table_columns(t, &columns);
    for (unsigned c = 0; c < n; c++) {
        xl__str_add(p->out, c > 0 ? " | " : "| ");
        add_text(p->out, columns[c].title);
    }
    xl__str_add(p->out, " |\n");
    for (unsigned c = 0; c < n; c++)
        xl__str_add(p->out, columns[c].right ? "|---:" : "|---");
    xl__str_add(p->out, "|\n");
    for (size_t i = 0; i < table_lines(t); i++) {
        for (unsigned c = 0; c < n; c++) {
            xl__str_add(p->out, c > 0 ? " | " : "| ");
            add_line(p->out, table_text(t, i, c));
        }
        xl__str_add(p->out, " |\n");
    }
    xl__str_add(p->out, "\n");
    p->out->broken = p->out->broken || !t;
}

static void show_note(void *arg, size_t number, const char *text)
{
    const struct markdown *p = arg;
    xl__str_printf(p->out, "- \\[%zu\\] ", number);
    add_text(p->out, text);
    xl__str_add(p->out, "\n");
}

static void show_gap(void *arg)
{
    const struct markdown *p = arg;
    xl__str_add(p->out, "\n");
}

/* -- the page ------------------------------------------------------------- */

struct display display_markdown(struct markdown *page)
{
    return (struct display){page,       0,         show_title, show_paragraph,
                            show_table, show_note, show_gap};
}

/* The head of a file: what was run, its devices, and the tally of its rows. */
static void add_file(const struct markdown *p, const struct result_file *file)
{
    const json_t *devices = json_object_get(file->document, "devices");
    struct xl__str text = {0};
    if (p->is_one_of_many) {
        xl__str_add(p->out, "## ");
        add_text(p->out, file->path);
        xl__str_add(p->out, "\n\n");
    }
    results_headline(file, &text);
    add_paragraph(p->out, xl__str_text(&text));
    if (*results_state(file))
        add_paragraph(p->out, results_state(file));
    for (size_t i = 0; i < json_array_size(devices); i++) {
        xl__str_reset(&text);
        results_device_line(json_array_get(devices, i), &text);
        xl__str_add(p->out, "- ");
        add_text(p->out, xl__str_text(&text));
        xl__str_add(p->out, "\n");
    }
    xl__str_add(p->out, json_array_size(devices) > 0 ? "\n" : "");
    xl__str_reset(&text);
    results_tally(file, &text);
    add_paragraph(p->out, xl__str_text(&text));
    p->out->broken = p->out->broken || text.broken;
    xl__str_clear(&text);
}

static void render_files(const struct result_file *files, size_t n,
                         struct xl__str *out)
{
    struct markdown p = {out, n > 1};
    const struct display display = display_markdown(&p);
    xl__str_add(out, "# Results of clbench\n\n");
    for (size_t i = 0; i < n; i++) {
        add_file(&p, &files[i]);
        results_show(&files[i], true, NULL, &display);
    }
}

const struct renderer render_markdown = {"markdown", render_files};
