/* SPDX-License-Identifier: Apache-2.0 */
/* The same cases on several devices or from several files, a column each. A
 * case is an id without its variant, for each device may have chosen another;
 * the best row of ours stands for it. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "cli/units.h"

/* The better verdict, then the shorter time. */
static bool is_better(const struct result_row *a, const struct result_row *b)
{
    const unsigned rank_a = html_verdict_rank(a->verdict);
    const unsigned rank_b = html_verdict_rank(b->verdict);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return result_number(a, NULL, "median_ns") <
           result_number(b, NULL, "median_ns");
}

static const struct html_row *row_of(const struct html_group *group,
                                     size_t i_run, const char *only_case)
{
    const struct html_row *best = NULL;
    for (size_t i = 0; i < group->n; i++) {
        const struct html_row *row = &group->rows[i];
        if (row->i_run == i_run && !row->row->is_other &&
            strcmp(row->row->only_case, only_case) == 0 &&
            (!best || is_better(row->row, best->row)))
            best = row;
    }
    return best;
}

/* Is row `i` the first of its case, and does another run have it? */
static bool leads(const struct html_group *group, size_t i)
{
    const struct html_row *row = &group->rows[i];
    bool is_shared = false;
    for (size_t j = 0; j < group->n; j++) {
        const struct html_row *other = &group->rows[j];
        if (strcmp(other->row->only_case, row->row->only_case) != 0)
            continue;
        if (j < i)
            return false;
        is_shared = is_shared || other->i_run != row->i_run;
    }
    return is_shared;
}

static bool has_rows(const struct html_group *group, size_t i_run)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->rows[i].i_run == i_run)
            return true;
    return false;
}

static void cell(struct xl__str *out, const struct html_row *row)
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

void html_beside(struct xl__str *out, const struct html_page *page,
                 const struct html_group *group)
{
    struct xl__str body = {0}, name = {0};
    for (size_t i = 0; i < group->n && group->rows[i].is_mixed; i++) {
        if (!leads(group, i))
            continue;
        html_add(&body, "<tr><th scope=\"row\">%s</th>",
                 group->rows[i].words);
        for (size_t r = 0; r < page->n_runs; r++)
            if (has_rows(group, r))
                cell(&body, row_of(group, r, group->rows[i].row->only_case));
        xl__str_add(&body, "</tr>\n");
    }
    if (body.len > 0) {
        html_table_begin(out, "beside", "Side by side");
        html_column(out, "Case", false);
        for (size_t r = 0; r < page->n_runs; r++) {
            if (!has_rows(group, r))
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
