/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the tables of rows, each a few small functions. */
#include "report/html_columns.h"

#include <math.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "report/html.h"
#include "results/json.h"
#include "cli/units.h"
#include "results/warnings.h"

static const char *text_at(const struct html_row *row, const char *name)
{
    return json_text_at(row->row->json, name);
}

static double number_at(const struct html_row *row, const char *name)
{
    return result_number(row->row, NULL, name);
}

static void add_small(struct xl__str *out, const char *text)
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
    return number_at(row, "median_ns");
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
    const double mad = number_at(row, "mad_ns");
    char text[UNITS_CAP];
    units_time(text, sizeof text, median);
    html_text(out, text);
    if (row->row->n > 1 && median > 0) {
        units_percent(text, sizeof text, mad / median);
        html_add(out, " <small>&#177; %s, %z runs</small>", text,
                 row->row->n);
    }
}

static double key_value(const struct html_page *page,
                        const struct html_row *row)
{
    (void)page;
    return number_at(row, "value");
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
                 text_at(row, "unit"));
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
    add_small(out, json_text_at(json_object_get(row->row->json, "roof"),
                                "name"));
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

/* Evidence begins with the longest need's name, most often the limiter's
 * own. */
static const char *after_name(const char *evidence, const char *name)
{
    const size_t len = strlen(name);
    const bool is_named =
        strncmp(evidence, name, len) == 0 && evidence[len] == ':';
    return evidence + (is_named ? len + 1 : 0);
}

/* A known one leads to what to do about it. */
static void cell_limiter(struct xl__str *out, const struct html_page *page,
                         const struct html_row *row)
{
    const json_t *d = diagnosis_of(row);
    const char *name = json_text_at(d, "limiter");
    const unsigned i = html_limiter_of(name);
    const bool is_likely = json_is_true(json_object_get(d, "is_likely"));
    (void)page;
    if (i < XL_N_LIMITERS)
        xl__str_printf(out, "<a href=\"#limit-%u\">", i);
    html_text(out, *name ? name : "-");
    xl__str_add(out, i < XL_N_LIMITERS ? "</a>" : "");
    xl__str_add(out, *name && is_likely ? ", likely" : "");
    add_small(out, after_name(json_text_at(d, "evidence"), name));
    add_small(out, json_text_at(d, "idle_engine"));
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
    add_small(out, text_at(row, "reason"));
}

const struct html_row_column html_row_columns[] = {
    {"Run", false, no_key, has_run, cell_run},
    {"Variant", false, no_key, has_variant, cell_variant},
    {"Figure", true, key_value, has_value, cell_value},
    {"Of its roof", false, key_share, has_share, cell_share},
    {"Median", true, key_median, has_median, cell_median},
    {"Verdict", false, key_verdict, always, cell_verdict},
    {"Limited by", false, no_key, has_limiter, cell_limiter},
    {NULL, false, NULL, NULL, NULL},
};
