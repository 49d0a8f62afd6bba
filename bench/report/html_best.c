/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of the summary, a column a device: the best figure of each op by
 * type, and the roofs that were measured. */
#include "report/html_best.h"

#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "report/html.h"
#include "results/json.h"
#include "cli/units.h"

/* -- the best figure of an op --------------------------------------------- */

/* A unit in which more is better. */
static bool is_rate(const char *unit)
{
    const size_t len = strlen(unit);
    return len > 2 && strcmp(unit + len - 2, "/s") == 0;
}

static bool is_better(const struct result_row *a, const struct result_row *b)
{
    const unsigned rank_a = html_verdict_rank(a->verdict);
    const unsigned rank_b = html_verdict_rank(b->verdict);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return result_number(a, NULL, "value") > result_number(b, NULL, "value");
}

const struct html_row *html_best_of(const struct html_page *page,
                                    const struct html_group *group,
                                    size_t i_device, const char *dtype)
{
    const struct html_row *best = NULL;
    for (size_t i = 0; i < group->n; i++) {
        const struct html_row *row = &group->rows[i];
        const json_t *json = row->row->json;
        if (page->runs[row->i_run].i_device != i_device ||
            row->row->is_other ||
            html_verdict_rank(row->row->verdict) > XL_ROW_SUSPICIOUS ||
            isnan(result_number(row->row, NULL, "value")) ||
            !is_rate(json_text_at(json, "unit")) ||
            (dtype && strcmp(dtype, json_text_at(json, "dtype")) != 0))
            continue;
        if (!best || is_better(row->row, best->row))
            best = row;
    }
    return best;
}

static void best_cell(struct xl__str *out, const struct html_row *best)
{
    char value[UNITS_CAP];
    if (!best) {
        xl__str_add(out, "<td>-</td>");
        return;
    }
    const struct result_row *row = best->row;
    units_format(value, sizeof value, result_number(row, NULL, "value"),
                 json_text_at(row->json, "unit"));
    html_add(out, "<td><b class=\"figure\">%s</b> ", value);
    if (!isnan(row->frac)) {
        xl__str_add(out, "<span class=\"share\">");
        html_share(out, row->frac);
        html_add(out, " of %s</span> ",
                 json_text_at(json_object_get(row->json, "roof"), "name"));
    }
    if (html_verdict_rank(row->verdict) != XL_ROW_OK)
        html_verdict(out, row->verdict);
    html_add(out, "<small>%s, %s</small></td>", best->words,
             *row->variant ? row->variant : "-");
}

static void best_line(struct xl__str *out, const struct html_page *page,
                      const struct html_group *group, const char *dtype)
{
    struct xl__str title = {0};
    html_op_title(&title, group->op);
    html_add(out, "<tr><th scope=\"row\">%s <small>%s</small></th>",
             xl__str_text(&title), dtype);
    for (size_t d = 0; d < page->n_devices; d++)
        best_cell(out, html_best_of(page, group, d, dtype));
    xl__str_add(out, "</tr>\n");
    xl__str_clear(&title);
}

/* Is row `i` the first of its type that has a rate on any device? */
static bool leads(const struct html_page *page, const struct html_group *group,
                  size_t i)
{
    const char *dtype = json_text_at(group->rows[i].row->json, "dtype");
    bool has_rate = false;
    for (size_t j = 0; j < i; j++)
        if (strcmp(json_text_at(group->rows[j].row->json, "dtype"), dtype) ==
            0)
            return false;
    for (size_t d = 0; d < page->n_devices; d++)
        has_rate = has_rate || html_best_of(page, group, d, dtype);
    return has_rate;
}

static void best_lines(struct xl__str *out, const struct html_page *page)
{
    for (size_t g = 0; g < page->n_groups; g++) {
        const struct html_group *group = &page->groups[g];
        for (size_t i = 0; i < group->n && !html_op_is_probe(group->op); i++)
            if (leads(page, group, i))
                best_line(out, page, group,
                          json_text_at(group->rows[i].row->json, "dtype"));
    }
}

/* -- measured roofs ------------------------------------------------------- */

static void roof_line(struct xl__str *out, const struct html_page *page,
                      const char *name, const char *help)
{
    bool is_measured = false;
    for (size_t d = 0; d < page->n_devices; d++) {
        const json_t *fact = html_fact(page, d, name);
        is_measured = is_measured ||
                      (fact && is_rate(json_text_at(fact, "unit")) &&
                       xl__streq(json_text_at(fact, "source"),
                                 xl_source_name(XL_MEASURED)));
    }
    if (!is_measured)
        return;
    html_add(out, "<tr><th scope=\"row\">%s</th>", help);
    for (size_t d = 0; d < page->n_devices; d++) {
        struct xl__str value = {0};
        html_fact_value(&value, html_fact(page, d, name));
        html_add(out, "<td>%s</td>", xl__str_text(&value));
        xl__str_clear(&value);
    }
    xl__str_add(out, "</tr>\n");
}

static void roof_lines(struct xl__str *out, const struct html_page *page)
{
    const char *name = NULL, *help = NULL;
    for (unsigned i = 0; (name = xl_fact_name(i, &help)) != NULL; i++)
        roof_line(out, page, name, help);
}

/* A table with a column a device; nothing without a line. */
static void device_table(struct xl__str *out, const struct html_page *page,
                         const char *caption, const char *first,
                         void (*lines)(struct xl__str *out,
                                       const struct html_page *page))
{
    struct xl__str body = {0};
    lines(&body, page);
    if (body.len > 0) {
        html_table_begin(out, "best", caption);
        html_column(out, first, false);
        for (size_t d = 0; d < page->n_devices; d++)
            html_column(out, page->devices[d].name, false);
        html_table_body(out);
        xl__str_add(out, body.text);
        html_table_end(out);
    }
    out->broken = out->broken || body.broken;
    xl__str_clear(&body);
}

void html_best(struct xl__str *out, const struct html_page *page)
{
    device_table(out, page, "Best figure of each op, and its share of the "
                            "measured roof", "Op", best_lines);
    device_table(out, page, "Roofs measured on each device", "Roof",
                 roof_lines);
}
