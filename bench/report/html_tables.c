/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all rows, one an op: its columns, the same cases of several
 * runs side by side, and what to do about what limits the rows. A column that
 * no row of the table has anything for is left out; points of curves have a
 * table of their own, folded up. */
#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "cli/units.h"
#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "results/warnings.h"

/* What a table of rows shows of each row: one entry a column. */
struct html_row_column {
    const char *title;
    bool is_number;
    /* What rows are sorted by; NaN: the text of the cell. */
    double (*key)(const struct html_page *page, const struct html_row *row);
    /* Is there something for the cell? */
    bool (*has)(const struct html_page *page, const struct html_row *row);
    void (*cell)(struct xl__str *out, const struct html_page *page,
                 const struct html_row *row);
};

/* -- columns -------------------------------------------------------------- */

static const char *row_text(const struct html_row *row, const char *name)
{
    return json_text_at(row->row->json, name);
}

static double row_number(const struct html_row *row, const char *name)
{
    return result_number(row->row, NULL, name);
}

static void add_detail(struct xl__str *out, const char *text)
{
    if (*text)
        html_add(out, " <small>%s</small>", text);
}

/* -- columns -------------------------------------------------------------- */

static bool always(const struct html_page *page, const struct html_row *row)
{
    (void)page;
    (void)row;
    return true;
}

static double no_key(const struct html_page *page, const struct html_row *row)
{
    (void)page;
    (void)row;
    return NAN;
}

static bool has_run(const struct html_page *page, const struct html_row *row)
{
    (void)page;
    return row->is_mixed;
}

static void cell_run(struct xl__str *out, const struct html_page *page,
                     const struct html_row *row)
{
    struct xl__str name = {0};
    html_run_name(&name, page, row->i_run);
    html_add(out, "<span class=\"run\" title=\"%s\">%s</span>",
             xl__str_text(&name), xl__str_text(&name));
    xl__str_clear(&name);
}

static bool has_variant(const struct html_page *page,
                        const struct html_row *row)
{
    (void)page;
    return *row->row->variant != '\0';
}

static void cell_variant(struct xl__str *out, const struct html_page *page,
                         const struct html_row *row)
{
    (void)page;
    html_text(out, row->row->variant);
}

static double key_median(const struct html_page *page,
                         const struct html_row *row)
{
    (void)page;
    return row_number(row, "median_ns");
}

static bool has_median(const struct html_page *page,
                       const struct html_row *row)
{
    return !isnan(key_median(page, row));
}

static void cell_median(struct xl__str *out, const struct html_page *page,
                        const struct html_row *row)
{
    const double median = key_median(page, row);
    const double mad = row_number(row, "mad_ns");
    char text[UNITS_CAP];
    units_time(text, sizeof text, median);
    html_text(out, text);
    if (row->row->n > 1 && median > 0) {
        units_percent(text, sizeof text, mad / median);
        html_add(out, " <small>&#177; %s, %z runs</small>", text, row->row->n);
    }
}

static double key_value(const struct html_page *page,
                        const struct html_row *row)
{
    (void)page;
    return row_number(row, "value");
}

static bool has_value(const struct html_page *page, const struct html_row *row)
{
    return !isnan(key_value(page, row));
}

static void cell_value(struct xl__str *out, const struct html_page *page,
                       const struct html_row *row)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, key_value(page, row),
                 row_text(row, "unit"));
    html_text(out, text);
}

static double key_share(const struct html_page *page,
                        const struct html_row *row)
{
    (void)page;
    return row->row->frac;
}

static bool has_share(const struct html_page *page, const struct html_row *row)
{
    return !isnan(key_share(page, row));
}

static void cell_share(struct xl__str *out, const struct html_page *page,
                       const struct html_row *row)
{
    xl__str_add(out, "<span class=\"share\">");
    html_share(out, key_share(page, row));
    xl__str_add(out, "</span>");
    add_detail(out,
               json_text_at(json_object_get(row->row->json, "roof"), "name"));
}

static const json_t *diagnosis_of(const struct html_row *row)
{
    return json_object_get(row->row->json, "diagnosis");
}

static bool has_limiter(const struct html_page *page,
                        const struct html_row *row)
{
    (void)page;
    return json_is_object(diagnosis_of(row));
}

/* The evidence without the limiter's name. It begins with the name of the
 * longest need, which is most often the limiter. */
static const char *skip_limiter_name(const char *evidence, const char *name)
{
    const size_t len = strlen(name);
    const bool is_named =
        strncmp(evidence, name, len) == 0 && evidence[len] == ':';
    return evidence + (is_named ? len + 1 : 0);
}

/* A known limiter is a link to its advice. */
static void cell_limiter(struct xl__str *out, const struct html_page *page,
                         const struct html_row *row)
{
    const json_t *d = diagnosis_of(row);
    const char *name = json_text_at(d, "limiter");
    const unsigned i = html_limiter_of(name);
    (void)page;
    if (i < XL_N_LIMITERS)
        xl__str_printf(out, "<a href=\"#limit-%u\">", i);
    html_text(out, *name ? name : "-");
    xl__str_add(out, i < XL_N_LIMITERS ? "</a>" : "");
    add_detail(out, skip_limiter_name(json_text_at(d, "evidence"), name));
    add_detail(out, json_text_at(d, "idle_engine"));
}

static double key_verdict(const struct html_page *page,
                          const struct html_row *row)
{
    (void)page;
    return html_verdict_rank(row->row->verdict);
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

static void cell_verdict(struct xl__str *out, const struct html_page *page,
                         const struct html_row *row)
{
    const json_t *list = json_object_get(row->row->json, "warnings");
    (void)page;
    html_verdict(out, row->row->verdict);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *code = json_string_value(json_array_get(list, i));
        if (code)
            add_warning(out, code);
    }
    add_detail(out, row_text(row, "reason"));
}

static const struct html_row_column columns[] = {
    {"Run", false, no_key, has_run, cell_run},
    {"Variant", false, no_key, has_variant, cell_variant},
    {"Figure", true, key_value, has_value, cell_value},
    {"Of its roof", false, key_share, has_share, cell_share},
    {"Median", true, key_median, has_median, cell_median},
    {"Verdict", false, key_verdict, always, cell_verdict},
    {"Limited by", false, no_key, has_limiter, cell_limiter},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

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

/* The cell of a run in the table side by side; a dash without a row. */
static void add_run_cell(struct xl__str *out, const struct html_row *row)
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
        for (size_t r = 0; r < page->n_runs; r++)
            if (has_run_rows(group, r))
                add_run_cell(
                    &body,
                    find_best_row(group, r, group->rows[i].row->case_id));
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

/* A line of the table; is_shown[c]: column c is in it. */
static void add_row(struct xl__str *out, const struct html_page *page,
                    const struct html_row *row, const bool *is_shown)
{
    html_add(out,
             "<tr data-verdict=\"%s\"><th scope=\"row\" title=\"%s\">%s"
             "</th>",
             row->row->verdict, row->row->id, row->label);
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        const struct html_row_column *column = &columns[c];
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
static void add_row_table(struct xl__str *out, const struct html_page *page,
                          const struct html_group *group, const char *caption,
                          bool is_point)
{
    bool is_shown[N_COLUMNS] = {false};
    for (size_t i = 0; i < group->n; i++)
        for (unsigned c = 0; c < N_COLUMNS; c++)
            is_shown[c] =
                is_shown[c] || (group->rows[i].is_point == is_point &&
                                columns[c].has(page, &group->rows[i]));
    html_table_begin(out, "rows", caption);
    html_column(out, "Case", false);
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (is_shown[c])
            html_column(out, columns[c].title, columns[c].is_number);
    html_table_body(out);
    for (size_t i = 0; i < group->n; i++)
        if (group->rows[i].is_point == is_point)
            add_row(out, page, &group->rows[i], is_shown);
    html_table_end(out);
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
