/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all rows, one an op: the columns of the terminal's table
 * (columns.c), the same cases of several runs side by side, and what to do
 * about what limits the rows. A column that no row of the table has anything
 * for is left out; points of curves have a table of their own, folded up. */
#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "cli/options.h"
#include "cli/units.h"
#include "report/columns.h"
#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "results/result.h"
#include "results/warnings.h"

/* -- cells ---------------------------------------------------------------- */

static void add_detail(struct xl__str *out, const char *text)
{
    if (*text)
        html_add(out, " <small>%s</small>", text);
}

/* The share with a bar, and the name of the roof. */
static void add_share(struct xl__str *out, const xl_row *row)
{
    xl__str_add(out, "<span class=\"share\">");
    html_share(out, report_frac(row));
    xl__str_add(out, "</span>");
    add_detail(out, row->roof.name);
}

/* A limiter is a link to its advice. What the run took of the device follows.
 */
static void add_limiter(struct xl__str *out, const xl_row *row)
{
    const xl_diagnosis *d = &row->diagnosis;
    struct xl__str launch = {0};
    if (d->limiter == XL_LIMITER_UNKNOWN)
        xl__str_add(out, "-");
    else
        html_add(out, "<a href=\"#limit-%z\">%s</a>", (size_t)d->limiter,
                 xl_limiter_name(d->limiter));
    add_detail(out, report_evidence(d));
    add_detail(out, d->engine);
    result_describe_launch(row, &launch);
    add_detail(out, xl__str_text(&launch));
    xl__str_clear(&launch);
}

static void add_warning(struct xl__str *out, const char *code)
{
    const unsigned bit = html_warning_of(code);
    if (bit < XL_N_WARN)
        html_add(out, " <a class=\"tag\" href=\"#warn-%m\">%m</a>",
                 warn_code(bit), warn_code(bit));
    else
        html_add(out, " <span class=\"tag\">%s</span>", code);
}

static void add_verdict(struct xl__str *out, const struct html_row *row)
{
    const json_t *list = json_object_get(row->row->json, "warnings");
    html_verdict(out, row->row->verdict);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *code = json_string_value(json_array_get(list, i));
        if (code)
            add_warning(out, code);
    }
    add_detail(out, json_text_at(row->row->json, "reason"));
}

/* -- side by side --------------------------------------------------------- */

/* By the better verdict, then the shorter time. */
static bool is_better(const struct result_row *a, const struct result_row *b)
{
    const unsigned rank_a = html_verdict_rank(a->verdict);
    const unsigned rank_b = html_verdict_rank(b->verdict);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return result_number(a, NULL, "median_ns") <
           result_number(b, NULL, "median_ns");
}

/* The best row of this library for a case in a run; NULL: none. */
static const struct html_row *find_best_row(const struct html_group *group,
                                            size_t i_run, const char *case_id)
{
    const struct html_row *best = NULL;
    for (size_t i = 0; i < group->n; i++) {
        const struct html_row *row = &group->rows[i];
        if (row->i_run == i_run && !row->row->is_other &&
            strcmp(row->row->case_id, case_id) == 0 &&
            (!best || is_better(row->row, best->row)))
            best = row;
    }
    return best;
}

/* Is row `i` the first of its case, and does another run have it? */
static bool is_first_of_case(const struct html_group *group, size_t i)
{
    const struct html_row *row = &group->rows[i];
    bool is_shared = false;
    for (size_t j = 0; j < group->n; j++) {
        const struct html_row *other = &group->rows[j];
        if (strcmp(other->row->case_id, row->row->case_id) != 0)
            continue;
        if (j < i)
            return false;
        is_shared = is_shared || other->i_run != row->i_run;
    }
    return is_shared;
}

static bool has_run_rows(const struct html_group *group, size_t i_run)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->rows[i].i_run == i_run)
            return true;
    return false;
}

/* The speed of a row over that of the first run's; NaN: not comparable. */
static double speed_over(const struct html_row *row,
                         const struct html_row *first)
{
    const char *unit = json_text_at(row->row->json, "unit");
    if (!first || !result_is_timed(row->row) || !result_is_timed(first->row) ||
        strcmp(unit, json_text_at(first->row->json, "unit")) != 0)
        return NAN;
    const double ratio = result_number(row->row, NULL, "value") /
                         result_number(first->row, NULL, "value");
    return strcmp(unit, "s") == 0 || strcmp(unit, "ns") == 0 ? 1 / ratio
                                                             : ratio;
}

/* The cell of a run in the table side by side; a dash without a row. `first`:
 * of the first run, in the others; else NULL. */
static void add_run_cell(struct xl__str *out, const struct html_row *row,
                         const struct html_row *first)
{
    char text[UNITS_CAP];
    if (!row) {
        xl__str_add(out, "<td>-</td>");
        return;
    }
    const double value = result_number(row->row, NULL, "value");
    xl__str_add(out, "<td>");
    if (!isnan(value)) {
        units_format(text, sizeof text, value,
                     json_text_at(row->row->json, "unit"));
        html_add(out, "<b class=\"figure\">%s</b> ", text);
    }
    if (speed_over(row, first) > 0) {
        units_number(text, sizeof text, speed_over(row, first));
        html_add(out, "<b>x %s</b> ", text);
    }
    if (!isnan(row->row->frac)) {
        xl__str_add(out, "<span class=\"share\">");
        html_share(out, row->row->frac);
        xl__str_add(out, "</span> ");
    }
    if (html_verdict_rank(row->row->verdict) != XL_ROW_OK)
        html_verdict(out, row->row->verdict);
    html_add(out, "<small>%s</small></td>", row->row->variant);
}

static void add_side_by_side(struct xl__str *out, const struct html_page *page,
                             const struct html_group *group)
{
    struct xl__str body = {0}, name = {0};
    for (size_t i = 0; i < group->n && group->rows[i].is_mixed; i++) {
        if (!is_first_of_case(group, i))
            continue;
        html_add(&body, "<tr><th scope=\"row\">%s</th>", group->rows[i].label);
        const struct html_row *first = NULL;
        for (size_t r = 0; r < page->n_runs; r++) {
            const struct html_row *best =
                find_best_row(group, r, group->rows[i].row->case_id);
            if (has_run_rows(group, r))
                add_run_cell(&body, best, first);
            first = first ? first : best;
        }
        xl__str_add(&body, "</tr>\n");
    }
    if (body.len > 0) {
        html_table_begin(out, "beside", "Side by side");
        html_column(out, "Case", false);
        for (size_t r = 0; r < page->n_runs; r++) {
            if (!has_run_rows(group, r))
                continue;
            xl__str_reset(&name);
            html_run_name(&name, page, r);
            html_column(out, xl__str_text(&name), false);
        }
        html_table_body(out);
        xl__str_add(out, xl__str_text(&body));
        html_table_end(out);
    }
    out->broken = out->broken || body.broken || name.broken;
    xl__str_clear(&body);
    xl__str_clear(&name);
}

/* -- limits --------------------------------------------------------------- */

/* The number of rows that one limiter limits. */
static size_t count_limited(const struct html_page *page, unsigned limiter)
{
    size_t n = 0;
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++) {
            const json_t *d = json_object_get(
                page->groups[g].rows[i].row->json, "diagnosis");
            n += json_is_object(d) &&
                 html_limiter_of(json_text_at(d, "limiter")) == limiter;
        }
    return n;
}

/* The table that the limiters of rows link to; nothing without a limiter. */
static void add_limit_table(struct xl__str *out, const struct html_page *page)
{
    size_t all = 0;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        all += count_limited(page, i);
    if (all == 0)
        return;
    xl__str_add(out, "<section class=\"op\" aria-labelledby=\"h-limits\">\n"
                     "<h3 id=\"h-limits\">What to do about what limits a row"
                     "</h3>\n");
    html_table_begin(out, "", "Limits and advice");
    html_column(out, "Limited by", false);
    html_column(out, "Rows", true);
    html_column(out, "What to do", false);
    html_table_body(out);
    for (unsigned i = 0; i < XL_N_LIMITERS; i++) {
        const size_t n = count_limited(page, i);
        if (n == 0)
            continue;
        xl__str_printf(out, "<tr id=\"limit-%u\">", i);
        html_add(out,
                 "<th scope=\"row\">%s</th><td class=\"n\">%z</td>"
                 "<td>%s</td></tr>\n",
                 xl_limiter_name((xl_limiter)i), n,
                 xl_limiter_advice((xl_limiter)i));
    }
    html_table_end(out);
    xl__str_add(out, "</section>\n");
}

/* -- tables --------------------------------------------------------------- */

/* The table of a group as the terminal has it, and its columns on the page. */
struct html_table {
    const struct html_page *page;
    const struct html_group *group;
    const struct report_column *columns[REPORT_MOST_COLUMNS];
    unsigned n;
    struct table *text; /* NULL: out of memory */
    bool is_point;      /* of its rows, the points of curves; else the others */
};

static bool is_of_table(const struct html_table *t, size_t i)
{
    return t->group->rows[i].is_point == t->is_point;
}

/* Has a row of the table something for the column? */
static bool is_filled(const struct html_table *t, unsigned c)
{
    for (size_t i = 0; i < t->group->n; i++) {
        const char *text = is_of_table(t, i) ? table_text(t->text, i, c) : "";
        if (*text && strcmp(text, "-") != 0)
            return t->columns[c]->look != LOOK_BAR;
    }
    return false;
}

/* A cell of row `i`, which has the text of the terminal's table, or more. */
static void add_cell(struct xl__str *out, const struct html_table *t, size_t i,
                     unsigned c)
{
    const struct html_row *row = &t->group->rows[i];
    const xl_row *measured = &t->group->table.list[i].row;
    const double key = report_key(t->columns[c], measured);
    xl__str_add(out, t->columns[c]->head.right ? "<td class=\"n\"" : "<td");
    if (!isnan(key))
        xl__str_printf(out, " data-v=\"%.6g\"", key);
    xl__str_add(out, ">");
    switch (t->columns[c]->look) {
    case LOOK_SHARE:
        add_share(out, measured);
        break;
    case LOOK_VERDICT:
        add_verdict(out, row);
        break;
    case LOOK_LIMITER:
        add_limiter(out, measured);
        break;
    case LOOK_TIME:
        html_text(out, table_text(t->text, i, c));
        if (row->row->n > 1)
            html_add(out, " <small>%z runs</small>", row->row->n);
        break;
    case LOOK_TEXT:
    case LOOK_BAR:
        html_text(out, table_text(t->text, i, c));
        break;
    }
    xl__str_add(out, "</td>");
}

/* A line of the table. Its head is the first column. */
static void add_row(struct xl__str *out, const struct html_table *t, size_t i,
                    const bool *is_shown)
{
    const struct html_row *row = &t->group->rows[i];
    html_add(out,
             "<tr data-verdict=\"%s\"><th scope=\"row\" title=\"%s\">%s"
             "</th>",
             row->row->verdict, row->row->id, table_text(t->text, i, 0));
    if (row->is_mixed) {
        struct xl__str name = {0};
        html_run_name(&name, t->page, row->i_run);
        html_add(out, "<td><span class=\"run\" title=\"%s\">%s</span></td>",
                 xl__str_text(&name), xl__str_text(&name));
        xl__str_clear(&name);
    }
    for (unsigned c = 1; c < t->n; c++)
        if (is_shown[c])
            add_cell(out, t, i, c);
    xl__str_add(out, "</tr>\n");
}

/* The points of curves, or all other rows. */
static void add_row_table(struct xl__str *out, const struct html_page *page,
                          const struct html_group *group, const char *caption,
                          bool is_point)
{
    static const struct settings set = {.quiet = true};
    bool is_shown[REPORT_MOST_COLUMNS] = {false};
    struct notes notes = {0};
    struct html_table t = {page, group, .is_point = is_point};
    t.n = report_columns(&group->table, true, t.columns);
    t.text = report_device_table(&group->table, &notes, &set, true);
    html_table_begin(out, "rows", caption);
    html_column(out, t.columns[0]->name, false);
    if (group->rows[0].is_mixed)
        html_column(out, "Run", false);
    for (unsigned c = 1; c < t.n; c++) {
        is_shown[c] = is_filled(&t, c);
        if (is_shown[c])
            html_column(out, t.columns[c]->name, t.columns[c]->head.right);
    }
    html_table_body(out);
    for (size_t i = 0; i < group->n; i++)
        if (is_of_table(&t, i))
            add_row(out, &t, i, is_shown);
    html_table_end(out);
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

/* The section of an op: title, notes, side by side, all rows, and the points
 * of curves in a folded table. */
static void add_group(struct xl__str *out, const struct html_page *page,
                      size_t i_group)
{
    enum { MANY = 100 };
    const struct html_group *group = &page->groups[i_group];
    struct xl__str title = {0}, caption = {0};
    const char *about = describe_probe(group->op);
    size_t n_points = 0;
    for (size_t i = 0; i < group->n; i++)
        n_points += group->rows[i].is_point;
    add_title(&title, page, group);
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
    add_side_by_side(out, page, group);
    xl__str_printf(&caption, "%s, every row", xl__str_text(&title));
    if (n_points < group->n)
        add_row_table(out, page, group, xl__str_text(&caption), false);
    if (n_points > 0) {
        xl__str_reset(&caption);
        xl__str_printf(&caption, "%s, points of curves", xl__str_text(&title));
        html_add(out, "<details><summary>%z points of curves</summary>\n",
                 n_points);
        add_row_table(out, page, group, xl__str_text(&caption), true);
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
        add_group(out, page, i);
    if (page->n_groups == 0)
        xl__str_add(out, "<p>There are no rows.</p>\n");
    add_limit_table(out, page);
    xl__str_add(out, "</section>\n");
}
