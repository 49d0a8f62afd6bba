/* SPDX-License-Identifier: Apache-2.0 */
/* A part of several devices: a line per case, two columns a device; several
 * tables where they do not fit side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "report/section.h"
#include "report/columns.h"
#include "cli/console.h"
#include "cli/units.h"

enum {
    CASE_COLUMNS = 30,
    DEVICE_COLUMNS = 24,
    NAME_COLUMNS = 12,
    MOST_DEVICES = 8
};

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

/* The row of a device in the line of row `i`; NULL: none. */
static const xl_row *row_of(const struct rows *rows, size_t i,
                            const struct part_device *dev)
{
    for (size_t j = 0; j < rows->n; j++)
        if (rows->list[j].dev == dev->key && same_line(rows, i, j))
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
static void cell_variant(struct part *p, struct table *t, size_t i)
{
    struct xl__str note = {0};
    const char *variant = p->rows.list[i].row.variant;
    bool differ = false;
    for (unsigned d = 0; d < p->n_devices; d++) {
        const xl_row *row = row_of(&p->rows, i, &p->devices[d]);
        if (!row)
            continue;
        differ = differ || strcmp(row->variant, variant) != 0;
        xl__str_printf(&note, "%s%u: %s", note.len ? ", " : "",
                       p->devices[d].index,
                       *row->variant ? row->variant : "-");
    }
    if (differ)
        table_cell(t, "differs [%zu]",
                   notes_number(&p->notes, xl__str_text(&note)));
    else
        table_cell(t, "%s", *variant ? variant : "-");
    xl__str_clear(&note);
}

static void cells_of_device(struct part *p, struct table *t, const xl_row *row,
                            bool is_wide)
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
    if (is_wide && row->verdict == XL_ROW_SUSPICIOUS)
        xl__str_printf(&text, ", %s", xl_verdict_name(row->verdict));
    notes_of_row(&p->notes, row, p->set, &marks);
    if (marks.len > 0)
        xl__str_printf(&text, " [%s]", xl__str_text(&marks));
    table_cell_coloured(
        t, is_quotable ? TABLE_PLAIN : report_colour(row->verdict),
        xl__str_text(&text));
    report_cell_percent(t, is_quotable ? report_frac(row) : NAN);
    xl__str_clear(&text);
    xl__str_clear(&marks);
}

/* A table of the devices first .. end - 1. */
static void show_block(struct part *p, const struct display *to,
                       unsigned first, unsigned end)
{
    struct table_column columns[2 + 2 * MOST_DEVICES] = {
        {"case", false, 8}, {"variant", false, 8}};
    char titles[MOST_DEVICES][4 * NAME_COLUMNS + 16];
    for (unsigned d = first; d < end; d++) {
        struct xl__str clean = {0}, cut = {0};
        text_escape(&clean, p->devices[d].name);
        text_cut(&cut, xl__str_text(&clean), NAME_COLUMNS);
        snprintf(titles[d - first], sizeof titles[0], "%u: %s",
                 p->devices[d].index, xl__str_text(&cut));
        xl__str_clear(&clean);
        xl__str_clear(&cut);
        struct table_column *c = &columns[2 + 2 * (d - first)];
        c[0] = (struct table_column){titles[d - first], true, 0};
        c[1] = (struct table_column){"roof", true, 0};
    }
    struct table *t = table_create(columns, 2 + 2 * (end - first));
    for (size_t i = 0; i < p->rows.n; i++) {
        if (!leads(&p->rows, i))
            continue;
        report_cell_case(t, &p->rows, i);
        cell_variant(p, t, i);
        for (unsigned d = first; d < end; d++)
            cells_of_device(p, t, row_of(&p->rows, i, &p->devices[d]),
                            to->width == 0);
    }
    to->table(to->arg, t);
    table_destroy(t);
}

void part_devices(struct part *p, const struct display *to)
{
    unsigned each = to->width == 0 ? MOST_DEVICES : 1;
    if (to->width > CASE_COLUMNS + DEVICE_COLUMNS)
        each = (to->width - CASE_COLUMNS) / DEVICE_COLUMNS;
    each = each > MOST_DEVICES ? MOST_DEVICES : each;
    for (unsigned first = 0; first < p->n_devices; first += each) {
        unsigned end = first + each;
        end = end < p->n_devices ? end : p->n_devices;
        if (first > 0)
            to->gap(to->arg);
        show_block(p, to, first, end);
    }
}
