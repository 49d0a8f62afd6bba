/* SPDX-License-Identifier: Apache-2.0 */
/* Results as tables for people, one a part. One device: report_one.c.
 * Several: the same cases with the devices side by side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report.h"
#include "report_limits.h"
#include "report_one.h"
#include "rows.h"
#include "session.h"
#include "table.h"
#include "text.h"
#include "units.h"

struct writer {
    struct session *s;
    struct rows rows;
    struct notes notes;
    char *title, *note;
    unsigned width;
    bool colour;
};

/* -- several devices ------------------------------------------------------ */

enum { CASE_COLUMNS = 30, DEVICE_COLUMNS = 24, MOST_DEVICES = 8 };

/* Do they belong in one line? By kernel; or, when each device chose its own
 * kernel for a case, by case. */
static bool same_line(const struct rows *rows, size_t i, size_t j)
{
    bool by_case = rows->n_repeats == 0;
    const struct kept_row *list = rows->list;
    const struct row_key *a = by_case ? &list[i].only_case : &list[i].kernel;
    const struct row_key *b = by_case ? &list[j].only_case : &list[j].kernel;
    return a->turn == b->turn && strcmp(a->id, b->id) == 0;
}

/* The row of `dev` in the line of row `i`; NULL: none. */
static const xl_row *row_of(const struct rows *rows, size_t i,
                            const xl_device *dev)
{
    for (size_t j = 0; j < rows->n; j++)
        if (rows->list[j].dev == dev && same_line(rows, i, j))
            return &rows->list[j].row;
    return NULL;
}

/* Is row `i` the first of its line? */
static bool leads(const struct rows *rows, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_line(rows, i, j))
            return false;
    return true;
}

/* The variant of a line; a note when the devices differ. */
static void cell_variant(struct writer *w, struct table *t, size_t i)
{
    struct xl__str note = {0};
    const char *variant = w->rows.list[i].row.variant;
    bool differ = false;
    for (unsigned d = 0; d < w->s->n_devices; d++) {
        const xl_row *row = row_of(&w->rows, i, w->s->devices[d]);
        if (!row)
            continue;
        differ = differ || strcmp(row->variant, variant) != 0;
        xl__str_printf(&note, "%s%u: %s", note.len ? ", " : "",
                       xl_device_index(w->s->devices[d]),
                       *row->variant ? row->variant : "-");
    }
    if (differ)
        table_cell(t, "differs [%zu]",
                   notes_number(&w->notes, xl__str_text(&note)));
    else
        table_cell(t, "%s", *variant ? variant : "-");
    xl__str_clear(&note);
}

static void cells_of_device(struct writer *w, struct table *t,
                            const xl_row *row)
{
    char number[UNITS_CAP];
    struct xl__str text = {0}, marks = {0};
    if (!row) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    bool is_quotable =
        row->verdict == XL_ROW_OK || row->verdict == XL_ROW_SUSPICIOUS;
    if (is_quotable && rows_found(row, "size_bytes") > 0) {
        units_format(number, sizeof number, rows_found(row, "size_bytes"),
                     "B");
        xl__str_printf(&text, "%s: ", number);
    }
    units_format(number, sizeof number, row->value, row->unit);
    xl__str_add(&text, is_quotable ? number : xl_verdict_name(row->verdict));
    notes_of_row(&w->notes, row, &w->s->set, &marks);
    if (marks.len > 0)
        xl__str_printf(&text, " [%s]", xl__str_text(&marks));
    table_cell_coloured(t, is_quotable ? TABLE_PLAIN : report_colour(row->verdict),
                        xl__str_text(&text));
    report_cell_percent(t, is_quotable ? report_frac(row) : NAN);
    xl__str_clear(&text);
    xl__str_clear(&marks);
}

/* A table of the devices first .. end - 1. */
static void print_block(struct writer *w, unsigned first, unsigned end)
{
    struct table_column columns[2 + 2 * MOST_DEVICES] = {
        {"case", false, 8}, {"variant", false, 8}};
    char titles[MOST_DEVICES][48];
    xl_device **devices = w->s->devices;
    for (unsigned d = first; d < end; d++) {
        struct xl__str cut = {0};
        text_cut(&cut, report_fact_text(devices[d], "name", "?"), 12);
        snprintf(titles[d - first], sizeof titles[0], "%u: %s",
                 xl_device_index(devices[d]), xl__str_text(&cut));
        xl__str_clear(&cut);
        struct table_column *c = &columns[2 + 2 * (d - first)];
        c[0] = (struct table_column){titles[d - first], true, 0};
        c[1] = (struct table_column){"roof", true, 0};
    }
    struct table *t = table_create(columns, 2 + 2 * (end - first));
    for (size_t i = 0; i < w->rows.n; i++) {
        if (!leads(&w->rows, i))
            continue;
        report_cell_case(t, &w->rows, i);
        cell_variant(w, t, i);
        for (unsigned d = first; d < end; d++)
            cells_of_device(w, t, row_of(&w->rows, i, devices[d]));
    }
    table_print(stdout, t, w->width, w->colour);
    table_destroy(t);
}

static void print_devices(struct writer *w)
{
    unsigned each = 1;
    if (w->width > CASE_COLUMNS + DEVICE_COLUMNS)
        each = (w->width - CASE_COLUMNS) / DEVICE_COLUMNS;
    each = each > MOST_DEVICES ? MOST_DEVICES : each;
    for (unsigned first = 0; first < w->s->n_devices; first += each) {
        unsigned end = first + each;
        end = end < w->s->n_devices ? end : w->s->n_devices;
        if (first > 0)
            fputc('\n', stdout);
        print_block(w, first, end);
    }
}

/* -- around the table ----------------------------------------------------- */

static void print_head(const struct writer *w)
{
    struct xl__str line = {0}, cut = {0}, common = {0};
    const struct session *s = w->s;
    xl__str_add(&line, w->title ? w->title : "");
    if (s->n_devices == 1)
        xl__str_printf(&line, " on %u: %s", xl_device_index(s->devices[0]),
                       report_fact_text(s->devices[0], "name", "?"));
    text_cut(&cut, xl__str_text(&line), w->width);
    xl__str_reset(&line);
    text_escape(&line, xl__str_text(&cut));
    fprintf(stdout, "%s\n", xl__str_text(&line));
    rows_common(&w->rows, &common);
    if (common.len > 0)
        text_wrap(stdout, xl__str_text(&common), 2, w->width - 2);
    if (w->note && !s->set.quiet)
        text_wrap(stdout, w->note, 2, w->width - 2);
    xl__str_clear(&line);
    xl__str_clear(&cut);
    xl__str_clear(&common);
}

/* Which ceilings the shares are of; with its value where it has one. */
static void print_roofs(const struct writer *w)
{
    struct xl__str text = {0}, one = {0};
    for (size_t i = 0; i < w->rows.n; i++) {
        const xl_bound *roof = &w->rows.list[i].row.roof;
        if (isnan(roof->value) || !roof->name || !*roof->name)
            continue;
        xl__str_reset(&one);
        xl__str_printf(&one, "%s (%s)", roof->name,
                       xl_source_name(roof->source));
        if (strstr(xl__str_text(&text), xl__str_text(&one)))
            continue;
        xl__str_add(&text, text.len ? ", " : "roof: ");
        xl__str_add(&text, xl__str_text(&one));
    }
    if (text.len > 0)
        text_wrap(stdout, xl__str_text(&text), 2, w->width - 2);
    xl__str_clear(&text);
    xl__str_clear(&one);
}

static void print_notes(const struct writer *w)
{
    for (size_t i = 0; i < w->notes.n; i++) {
        struct xl__str line = {0}, clean = {0};
        xl__str_printf(&line, "[%zu] %s", i + 1, w->notes.text[i]);
        text_escape(&clean, xl__str_text(&line));
        text_wrap(stdout, xl__str_text(&clean), 2, w->width - 2);
        xl__str_clear(&line);
        xl__str_clear(&clean);
    }
}

static void forget(struct writer *w)
{
    rows_clear(&w->rows);
    notes_clear(&w->notes);
    free(w->title);
    free(w->note);
    w->title = w->note = NULL;
}

static void *open_writer(struct session *s)
{
    struct writer *w = xl__calloc(1, sizeof *w);
    if (w)
        w->s = s;
    return w;
}

static void part(void *writer, const char *title, const char *note)
{
    struct writer *w = writer;
    forget(w);
    w->title = xl__strdup(title);
    w->note = xl__strdup(note);
}

/* Points of a curve are for files and for who asks for all, unless one is
 * wrong. */
static void add_row(void *writer, xl_device *dev, const xl_row *row)
{
    struct writer *w = writer;
    const bool is_point = !isnan(rows_found(row, "curve"));
    if (!is_point || w->s->set.full || row->verdict >= XL_ROW_REJECTED)
        (void)rows_add(&w->rows, dev, row);
}

static void part_end(void *writer)
{
    struct writer *w = writer;
    progress_hide(w->s);
    if (w->rows.n > 0) {
        w->width = text_terminal_columns();
        w->colour = text_wants_colour();
        print_head(w);
        if (w->s->n_devices > 1)
            print_devices(w);
        else
            report_one_device(&w->rows, &w->notes, &w->s->set, w->width,
                              w->colour);
        print_roofs(w);
        if (!w->s->set.quiet)
            report_limits(&w->rows, w->width);
        print_notes(w);
        fputc('\n', stdout);
        fflush(stdout);
    }
    forget(w);
}

static int close_writer(void *writer)
{
    struct writer *w = writer;
    forget(w);
    free(w);
    return ferror(stdout) ? EXIT_FILE : EXIT_FINE;
}

const struct report_writer report_table = {
    .name = "table",
    .open = open_writer,
    .part = part,
    .row = add_row,
    .part_end = part_end,
    .close = close_writer,
};
