/* SPDX-License-Identifier: Apache-2.0 */
/* A part in the order in which it is read: title, what all rows share, the
 * note, the table, its roofs, the devices' conditions, what limits, and the
 * notes of rows. */
#include "report/section.h"

#include <math.h>
#include <string.h>

#include "cli/options.h"
#include "report/report_limits.h"
#include "report/columns.h"
#include "results/telemetry.h"

bool part_wants(const xl_row *row, const struct settings *set)
{
    const bool is_point = !isnan(rows_found(row, "curve"));
    return !is_point || set->full || row->verdict >= XL_ROW_REJECTED;
}

static void show_head(const struct part *p, const struct display *to)
{
    struct xl__str line = {0}, common = {0};
    xl__str_add(&line, p->title ? p->title : "");
    if (p->n_devices == 1)
        xl__str_printf(&line, " on %u: %s", p->devices[0].index,
                       p->devices[0].name);
    to->title(to->arg, xl__str_text(&line));
    rows_common(&p->rows, &common);
    if (common.len > 0)
        to->text(to->arg, xl__str_text(&common));
    if (p->note && !p->set->quiet)
        to->text(to->arg, p->note);
    xl__str_clear(&line);
    xl__str_clear(&common);
}

static void show_one_device(struct part *p, const struct display *to)
{
    struct table *t =
        report_one_device(&p->rows, &p->notes, p->set, to->width == 0);
    to->table(to->arg, t);
    table_destroy(t);
}

/* Which ceilings the shares are of; with its value where it has one. */
static void show_roofs(const struct part *p, const struct display *to)
{
    struct xl__str text = {0}, one = {0};
    for (size_t i = 0; i < p->rows.n; i++) {
        const xl_bound *roof = &p->rows.list[i].row.roof;
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
        to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&one);
}

/* How the devices were meanwhile, where sensors tell. */
static void show_conditions(const struct part *p, const struct display *to)
{
    struct xl__str text = {0}, seen = {0};
    for (unsigned i = 0; i < p->n_devices; i++) {
        xl__str_reset(&seen);
        telemetry_rows(&p->rows, p->devices[i].key, &seen);
        if (seen.len == 0)
            continue;
        xl__str_printf(&text, "%s", text.len ? "; " : "meanwhile: ");
        if (p->n_devices > 1)
            xl__str_printf(&text, "device %u ", p->devices[i].index);
        xl__str_add(&text, xl__str_text(&seen));
    }
    if (text.len > 0)
        to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&seen);
}

void part_show(struct part *p, const struct display *to)
{
    if (p->rows.n == 0)
        return;
    show_head(p, to);
    if (p->n_devices > 1)
        part_devices(p, to);
    else
        show_one_device(p, to);
    show_roofs(p, to);
    show_conditions(p, to);
    if (!p->set->quiet)
        report_limits(&p->rows, to);
    for (size_t i = 0; i < p->notes.n; i++)
        to->note(to->arg, i + 1, p->notes.text[i]);
    to->gap(to->arg);
}
