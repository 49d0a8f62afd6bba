/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all rows, one an op: the columns of the terminal's table
 * (columns.c), the same cases of several runs side by side, and what limits
 * the rows. Points of curves have a table of their own, folded up. */
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "cli/options.h"
#include "cli/table.h"
#include "compare/sides.h"
#include "report/columns.h"
#include "report/figure_files.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/section.h"
#include "results/json.h"
#include "results/result.h"
#include "results/warnings.h"

/* -- side by side --------------------------------------------------------- */

/* The runs as columns; the summary has the letters of devices. */
static void add_side_by_side(struct xl__str *out, const struct html_page *page,
                             const struct html_group *group)
{
    static const struct settings set = {.quiet = true};
    struct side list[SIDES_MOST];
    struct xl__str name[SIDES_MOST] = {{0}};
    struct sides s = {
        .rows = &group->table, .list = list, .first = 'A', .set = &set};
    const struct display to = html_display(out);
    for (; s.n < page->n_runs && s.n < SIDES_MOST; s.n++) {
        html_run_name(&name[s.n], page, s.n);
        list[s.n] = (struct side){
            &page->runs[s.n],
            page->n_runs == page->n_devices ? NULL : xl__str_text(&name[s.n])};
    }
    if (group->rows[0].is_mixed)
        sides_show(&s, &to);
    for (unsigned i = 0; i < s.n; i++)
        xl__str_clear(&name[i]);
}

/* "A" where the summary has the letter of the run's device, else its name. */
static void add_run(json_t *cells, const struct html_page *page, size_t i_run)
{
    struct xl__str name = {0};
    if (page->n_runs == page->n_devices && i_run < SIDES_MOST)
        xl__str_printf(&name, "%c", (char)('A' + i_run));
    else
        html_run_name(&name, page, i_run);
    html_cell(cells, xl__str_text(&name));
    xl__str_clear(&name);
}

/* -- rows ----------------------------------------------------------------- */

static void add_part(struct xl__str *out, const char *text)
{
    if (*text)
        xl__str_printf(out, "%s%s", out->len > 0 ? "; " : "", text);
}

/* What the columns of a row do not have: the evidence for its limiter, the
 * engine that is not used, what the run took of the device, and warnings that
 * this program does not know. */
static void add_details(struct xl__str *out, const struct html_row *row,
                        const xl_row *measured)
{
    const json_t *list = json_object_get(row->row->json, "warnings");
    struct xl__str launch = {0};
    result_describe_launch(measured, &launch);
    add_part(out, report_evidence(&measured->diagnosis));
    add_part(out, measured->diagnosis.engine);
    add_part(out, xl__str_text(&launch));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *code = json_string_value(json_array_get(list, i));
        unsigned bit = 0;
        while (code && bit < XL_N_WARN && strcmp(warn_code(bit), code) != 0)
            bit++;
        add_part(out, code && bit == XL_N_WARN ? code : "");
    }
    xl__str_clear(&launch);
}

/* The table of a group as the terminal has it, and its columns on the page. */
struct group_table {
    const struct html_page *page;
    const struct html_group *group;
    const struct report_column *columns[REPORT_MOST_COLUMNS];
    unsigned n;
    struct table *text; /* NULL: out of memory */
};

/* A cell a column, the run where there are several, and the details. */
static void add_row(json_t *table, const struct group_table *t, size_t i)
{
    const struct html_row *row = &t->group->rows[i];
    struct xl__str details = {0};
    json_t *cells = html_row(table, row->row->id);
    for (unsigned c = 0; c < t->n; c++) {
        if (*t->columns[c]->name)
            html_cell(cells, table_text(t->text, i, c));
        if (c == 0 && row->is_mixed)
            add_run(cells, t->page, row->i_run);
    }
    add_details(&details, row, &t->group->table.list[i].row);
    html_cell(cells, xl__str_text(&details));
    xl__str_clear(&details);
}

/* The points of curves, or all other rows. */
static void add_rows(struct xl__str *out, const struct html_page *page,
                     const struct html_group *group, const char *caption,
                     bool is_point)
{
    static const struct settings set = {.quick = false};
    struct notes notes = {0};
    struct group_table t = {.page = page, .group = group};
    json_t *table = html_table(caption);
    t.n = report_columns(&group->table, true, t.columns);
    t.text = report_device_table(&group->table, &notes, &set, true);
    for (unsigned c = 0; c < t.n; c++) {
        const struct report_column *column = t.columns[c];
        if (*column->name)
            html_column(table, column->name,
                        column->look         ? column->look
                        : column->head.right ? LOOK_NUMBER
                                             : LOOK_TEXT);
        if (c == 0 && group->rows[0].is_mixed)
            html_column(table, "Run", LOOK_TEXT);
    }
    html_column(table, "Details", LOOK_TEXT);
    for (size_t i = 0; i < group->n && t.text; i++)
        if (group->rows[i].is_point == is_point)
            add_row(table, &t, i);
    for (size_t i = 0; i < notes.n; i++)
        html_note(table, notes.text[i]);
    html_table_end(out, table);
    out->broken = out->broken || !t.text;
    table_destroy(t.text);
    notes_clear(&notes);
}

/* What a probe measures, as the library describes it; NULL: no probe. */
static const char *describe_probe(const char *op)
{
    const xl_probe_info *info = NULL;
    for (unsigned i = 0; (info = xl_probe_at(i)) != NULL; i++)
        if (html_op_is_probe(op) &&
            strcmp(strchr(op, '_') + 1, info->name) == 0)
            return info->what;
    return NULL;
}

static const char *find_note(const struct html_page *page,
                             const struct html_row *row)
{
    return json_text_at(result_section(page->runs[row->i_run].file, row->row),
                        "note");
}

/* Adds the notes of the sections that the rows belong to, each text once. */
static void add_notes(struct xl__str *out, const struct html_page *page,
                      const struct html_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        const char *note = find_note(page, &group->rows[i]);
        bool is_new = *note != '\0';
        for (size_t j = 0; j < i && is_new; j++)
            is_new = strcmp(find_note(page, &group->rows[j]), note) != 0;
        if (is_new)
            html_add(out, "<p>%s</p>\n", note);
    }
}

/* The name of the op, and of the kind of rows where the op has another. */
static void add_title(struct xl__str *out, const struct html_page *page,
                      const struct html_group *group)
{
    html_op_title(out, group->op);
    for (size_t i = 0; i < page->n_groups; i++)
        if (&page->groups[i] != group &&
            strcmp(page->groups[i].op, group->op) == 0) {
            xl__str_printf(out, ", %s", rows_kind_name(group->table.kind));
            return;
        }
}

/* "op-gemm" for links; with a number where an earlier section has the same. */
static void add_id(struct xl__str *out, const struct html_page *page,
                   size_t i_group)
{
    char *own = figure_files_label(page->groups[i_group].op);
    size_t earlier = 0;
    for (size_t i = 0; i < i_group; i++) {
        char *other = figure_files_label(page->groups[i].op);
        earlier += xl__streq(own, other);
        free(other);
    }
    xl__str_printf(out, "op-%s", own ? own : "");
    if (earlier > 0)
        xl__str_printf(out, "-n%zu", earlier + 1);
    free(own);
}

/* The section of an op: title, notes, side by side, all rows, and the points
 * of curves in a folded table. */
static void add_group(struct xl__str *out, const struct html_page *page,
                      size_t i_group)
{
    enum { MANY = 100 };
    const struct html_group *group = &page->groups[i_group];
    const struct display to = html_display(out);
    struct xl__str title = {0}, caption = {0}, id = {0};
    const char *about = describe_probe(group->op);
    size_t n_points = 0;
    for (size_t i = 0; i < group->n; i++)
        n_points += group->rows[i].is_point;
    add_title(&title, page, group);
    add_id(&id, page, i_group);
    html_add(out,
             "<section class=\"op%m\" aria-labelledby=\"%s\">\n"
             "<h3 id=\"%s\">%s</h3>\n",
             group->n > MANY ? " long" : "", xl__str_text(&id),
             xl__str_text(&id), xl__str_text(&title));
    if (about && !*find_note(page, &group->rows[0]))
        html_add(out, "<p>%s</p>\n", about);
    add_notes(out, page, group);
    if (*group->common)
        html_add(out, "<p>All rows: %s</p>\n", group->common);
    add_side_by_side(out, page, group);
    xl__str_printf(&caption, "%s, every row", xl__str_text(&title));
    if (n_points < group->n)
        add_rows(out, page, group, xl__str_text(&caption), false);
    if (n_points > 0) {
        xl__str_reset(&caption);
        xl__str_printf(&caption, "%s, points of curves", xl__str_text(&title));
        html_add(out, "<details><summary>%z points of curves</summary>\n",
                 n_points);
        add_rows(out, page, group, xl__str_text(&caption), true);
        xl__str_add(out, "</details>\n");
    }
    report_limits(&group->table, &to);
    xl__str_add(out, "</section>\n");
    xl__str_clear(&title);
    xl__str_clear(&caption);
    xl__str_clear(&id);
}

void html_rows(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"rows\" aria-labelledby=\"h-rows\">\n"
                     "<h2 id=\"h-rows\">Every row</h2>\n");
    for (size_t i = 0; i < page->n_groups; i++)
        add_group(out, page, i);
    if (page->n_groups == 0)
        xl__str_add(out, "<p>There are no rows.</p>\n");
    xl__str_add(out, "</section>\n");
}
