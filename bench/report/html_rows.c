/* SPDX-License-Identifier: Apache-2.0 */
/* Every row, a table an op. A column that no row of the table has anything for
 * is left out; points of curves stand in a table of their own, folded up. */
#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "report/html.h"
#include "report/html_columns.h"
#include "results/json.h"

/* -- tables --------------------------------------------------------------- */

static void row_line(struct xl__str *out, const struct html_page *page,
                     const struct html_row *row, const bool *is_shown)
{
    html_add(out, "<tr data-verdict=\"%s\"><th scope=\"row\" title=\"%s\">%s"
                  "</th>", row->row->verdict, row->row->id, row->words);
    for (unsigned c = 0; c < HTML_ROW_COLUMNS; c++) {
        const struct html_row_column *column = &html_row_columns[c];
        const double key = column->key(page, row);
        if (!is_shown[c])
            continue;
        xl__str_add(out, column->is_number ? "<td class=\"n\"" : "<td");
        if (!isnan(key))
            xl__str_printf(out, " data-v=\"%.6g\"", key);
        xl__str_add(out, ">");
        if (column->has(page, row))
            column->cell(out, page, row);
        else
            xl__str_add(out, "-");
        xl__str_add(out, "</td>");
    }
    xl__str_add(out, "</tr>\n");
}

/* The points of curves, or all other rows. */
static void row_table(struct xl__str *out, const struct html_page *page,
                      const struct html_group *group, const char *caption,
                      bool is_point)
{
    bool is_shown[HTML_ROW_COLUMNS] = {false};
    for (size_t i = 0; i < group->n; i++)
        for (unsigned c = 0; c < HTML_ROW_COLUMNS; c++)
            is_shown[c] = is_shown[c] ||
                          (group->rows[i].is_point == is_point &&
                           html_row_columns[c].has(page, &group->rows[i]));
    html_table_begin(out, "rows", caption);
    html_column(out, "Case", false);
    for (unsigned c = 0; c < HTML_ROW_COLUMNS; c++)
        if (is_shown[c])
            html_column(out, html_row_columns[c].title,
                        html_row_columns[c].is_number);
    html_table_body(out);
    for (size_t i = 0; i < group->n; i++)
        if (group->rows[i].is_point == is_point)
            row_line(out, page, &group->rows[i], is_shown);
    html_table_end(out);
}

/* What a probe measures, in the library's words; NULL: no probe. */
static const char *about_op(const char *op)
{
    const xl_probe_info *info = NULL;
    for (unsigned i = 0; (info = xl_probe_at(i)) != NULL; i++)
        if (html_op_is_probe(op) &&
            strcmp(strchr(op, '_') + 1, info->name) == 0)
            return info->what;
    return NULL;
}

static const char *note_of(const struct html_page *page,
                           const struct html_row *row)
{
    return json_text_at(result_part(page->runs[row->i_run].file, row->row),
                        "note");
}

/* What the run said of the tables that the rows stood in, each text once. */
static void add_notes(struct xl__str *out, const struct html_page *page,
                      const struct html_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        const char *note = note_of(page, &group->rows[i]);
        bool is_new = *note != '\0';
        for (size_t j = 0; j < i && is_new; j++)
            is_new = strcmp(note_of(page, &group->rows[j]), note) != 0;
        if (is_new)
            html_add(out, "<p>%s</p>\n", note);
    }
}

static void group_section(struct xl__str *out, const struct html_page *page,
                          size_t i_group)
{
    enum { MANY = 100 };
    const struct html_group *group = &page->groups[i_group];
    struct xl__str title = {0}, caption = {0};
    const char *about = about_op(group->op);
    size_t n_points = 0;
    for (size_t i = 0; i < group->n; i++)
        n_points += group->rows[i].is_point;
    html_op_title(&title, group->op);
    html_add(out,
             "<section class=\"op%m\" aria-labelledby=\"op-%z\">\n"
             "<h3 id=\"op-%z\">%s</h3>\n",
             group->n > MANY ? " long" : "", i_group, i_group,
             xl__str_text(&title));
    if (about)
        html_add(out, "<p>%s</p>\n", about);
    add_notes(out, page, group);
    if (*group->common)
        html_add(out, "<p>All rows: %s</p>\n", group->common);
    html_beside(out, page, group);
    xl__str_printf(&caption, "%s, every row", xl__str_text(&title));
    if (n_points < group->n)
        row_table(out, page, group, xl__str_text(&caption), false);
    if (n_points > 0) {
        xl__str_reset(&caption);
        xl__str_printf(&caption, "%s, points of curves", xl__str_text(&title));
        html_add(out, "<details><summary>%z points of curves</summary>\n",
                 n_points);
        row_table(out, page, group, xl__str_text(&caption), true);
        xl__str_add(out, "</details>\n");
    }
    xl__str_add(out, "</section>\n");
    xl__str_clear(&title);
    xl__str_clear(&caption);
}

void html_rows(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"rows\" aria-labelledby=\"h-rows\">\n"
                     "<h2 id=\"h-rows\">Every row</h2>\n");
    for (size_t i = 0; i < page->n_groups; i++)
        group_section(out, page, i);
    if (page->n_groups == 0)
        xl__str_add(out, "<p>There is no row in it.</p>\n");
    html_glossary(out, page);
    xl__str_add(out, "</section>\n");
}
