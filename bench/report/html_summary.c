/* SPDX-License-Identifier: Apache-2.0 */
/* The summary at the top of a page: a sentence a device, how many rows have
 * each verdict, the best figure of each op by type, the roofs that were
 * measured, why rows are not ok (alike reasons as one), and the warnings with
 * what to do about them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "base/alloc.h"
#include "cli/units.h"
#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "results/warnings.h"

/* -- best figures and roofs ----------------------------------------------- */

/* The rate of the best row, its share of the roof, its case and variant. */
static void add_best_cell(struct xl__str *out, const struct html_row *best)
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
    html_add(out, "<small>%s, %s</small></td>", best->label,
             *row->variant ? row->variant : "-");
}

static void add_best_row(struct xl__str *out, const struct html_page *page,
                         const struct html_group *group, const char *dtype)
{
    struct xl__str title = {0};
    html_op_title(&title, group->op);
    html_add(out, "<tr><th scope=\"row\">%s <small>%s</small></th>",
             xl__str_text(&title), dtype);
    for (size_t d = 0; d < page->n_devices; d++)
        add_best_cell(out, html_best_row(page, group, d, dtype));
    xl__str_add(out, "</tr>\n");
    xl__str_clear(&title);
}

/* Is row `i` the first of its type that has a rate on any device? */
static bool is_first_of_dtype(const struct html_page *page,
                              const struct html_group *group, size_t i)
{
    const char *dtype = json_text_at(group->rows[i].row->json, "dtype");
    bool has_rate = false;
    for (size_t j = 0; j < i; j++)
        if (strcmp(json_text_at(group->rows[j].row->json, "dtype"), dtype) ==
            0)
            return false;
    for (size_t d = 0; d < page->n_devices; d++)
        has_rate = has_rate || html_best_row(page, group, d, dtype);
    return has_rate;
}

static void add_best_rows(struct xl__str *out, const struct html_page *page)
{
    for (size_t g = 0; g < page->n_groups; g++) {
        const struct html_group *group = &page->groups[g];
        for (size_t i = 0; i < group->n && !html_op_is_probe(group->op); i++)
            if (is_first_of_dtype(page, group, i))
                add_best_row(out, page, group,
                             json_text_at(group->rows[i].row->json, "dtype"));
    }
}

/* -- measured roofs ------------------------------------------------------- */

/* A row of the table of roofs; none if no device measured the fact. */
static void add_roof_row(struct xl__str *out, const struct html_page *page,
                         const char *name, const char *help)
{
    bool is_measured = false;
    for (size_t d = 0; d < page->n_devices; d++) {
        const json_t *fact = html_fact(page, d, name);
        is_measured =
            is_measured || (fact && html_is_rate(json_text_at(fact, "unit")) &&
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

static void add_roof_rows(struct xl__str *out, const struct html_page *page)
{
    const char *name = NULL, *help = NULL;
    for (unsigned i = 0; (name = xl_fact_name(i, &help)) != NULL; i++)
        add_roof_row(out, page, name, help);
}

/* Adds a table with a column a device; nothing when it has no rows. */
static void add_device_table(struct xl__str *out, const struct html_page *page,
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

static void add_best_tables(struct xl__str *out, const struct html_page *page)
{
    add_device_table(out, page,
                     "Best figure of each op, and its share of the "
                     "measured roof",
                     "Op", add_best_rows);
    add_device_table(out, page, "Roofs measured on each device", "Roof",
                     add_roof_rows);
}

/* -- reasons -------------------------------------------------------------- */

struct reason {
    unsigned rank;                  /* of the verdict */
    const char *text;               /* of the first row that has it */
    const struct html_group *group; /* of that row */
    size_t n, n_groups;
};

struct reasons {
    struct reason *list;
    size_t n, cap;
};

/* Do the texts differ only in their numbers? */
static bool is_alike(const char *a, const char *b)
{
    while (*a && *b) {
        const bool is_number =
            isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
        if (is_number) {
            a += strspn(a, "0123456789.e+");
            b += strspn(b, "0123456789.e+");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* Counts the reason of a row that is not ok, or adds it to the list. */
static void add_reason(struct reasons *r, const struct html_group *group,
                       const struct result_row *row)
{
    const unsigned rank = html_verdict_rank(row->verdict);
    const char *text = json_text_at(row->json, "reason");
    if (rank == XL_ROW_OK)
        return;
    for (size_t i = 0; i < r->n; i++) {
        struct reason *known = &r->list[i];
        if (known->rank != rank || !is_alike(known->text, text))
            continue;
        known->n++;
        known->n_groups += known->group != group;
        known->group = group;
        return;
    }
    if (xl__grow(&r->list, &r->cap, r->n + 1, sizeof *r->list))
        r->list[r->n++] = (struct reason){rank, text, group, 1, 1};
}

/* Wrong results first, unsupported ones last. */
static unsigned severity_of(unsigned rank)
{
    return rank == XL_ROW_UNSUPPORTED ? 0 : rank + 1;
}

/* The worst verdict first, then the most frequent reason. */
static int compare_reasons(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    if (x->rank != y->rank)
        return severity_of(x->rank) < severity_of(y->rank) ? 1 : -1;
    return x->n < y->n ? 1 : x->n > y->n ? -1 : strcmp(x->text, y->text);
}

static void add_reason_row(struct xl__str *out, const struct reason *r)
{
    struct xl__str title = {0};
    html_op_title(&title, r->group->op);
    xl__str_add(out, "<tr><th scope=\"row\">");
    html_verdict(out, r->rank < HTML_VERDICTS
                          ? xl_verdict_name((xl_verdict)r->rank)
                          : "unknown");
    html_add(out, "</th><td class=\"n\">%z</td><td>%s</td><td>%s</td></tr>\n",
             r->n, *r->text ? r->text : "no reason is given",
             r->n_groups > 1 ? "several ops" : xl__str_text(&title));
    xl__str_clear(&title);
}

static void add_reason_table(struct xl__str *out, const struct html_page *page)
{
    enum { MOST = 20 };
    struct reasons r = {0};
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++)
            add_reason(&r, &page->groups[g], page->groups[g].rows[i].row);
    if (r.n > 0) {
        qsort(r.list, r.n, sizeof *r.list, compare_reasons);
        html_table_begin(out, "", "Why rows are not ok");
        html_column(out, "Verdict", false);
        html_column(out, "Rows", true);
        html_column(out, "Reason", false);
        html_column(out, "Of", false);
        html_table_body(out);
        for (size_t i = 0; i < r.n && i < MOST; i++)
            add_reason_row(out, &r.list[i]);
        html_table_end(out);
        if (r.n > MOST)
            html_add(out,
                     "<p><small>%z more reasons are in the tables of "
                     "all rows.</small></p>\n",
                     r.n - MOST);
    }
    free(r.list);
}

/* -- warnings ------------------------------------------------------------- */

/* The options of the runs that advice depends on: --quick in any file. */
static void read_settings(const struct html_page *page, struct settings *set)
{
    *set = (struct settings){.quick = false};
    for (size_t i = 0; i < page->n_files; i++) {
        const json_t *env =
            json_object_get(page->files[i].document, "environment");
        const json_t *options = json_object_get(env, "options");
        set->quick =
            set->quick || json_is_true(json_object_get(options, "quick"));
    }
}

/* Counts the rows of each warning. */
static void count_warnings(const struct html_page *page,
                           size_t count[XL_N_WARN])
{
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++) {
            const json_t *list =
                json_object_get(page->groups[g].rows[i].row->json, "warnings");
            for (size_t w = 0; w < json_array_size(list); w++) {
                const char *code = json_string_value(json_array_get(list, w));
                const unsigned bit = html_warning_of(code ? code : "");
                if (bit < XL_N_WARN)
                    count[bit]++;
            }
        }
}

static void add_warning_row(struct xl__str *out, unsigned bit, size_t n,
                            const struct settings *set)
{
    const char *advice = warn_advice(bit, set);
    html_add(out,
             "<tr id=\"warn-%m\"><th scope=\"row\">%m</th>"
             "<td class=\"n\">%z</td><td>%m</td><td>%m</td></tr>\n",
             warn_code(bit), warn_code(bit), n, warn_text(bit),
             advice ? advice : "-");
}

static void add_warning_table(struct xl__str *out,
                              const struct html_page *page)
{
    size_t count[XL_N_WARN] = {0}, all = 0;
    struct settings set;
    read_settings(page, &set);
    count_warnings(page, count);
    for (unsigned bit = 0; bit < XL_N_WARN; bit++)
        all += count[bit];
    if (all == 0)
        return;
    html_table_begin(out, "", "Warnings");
    html_column(out, "Warning", false);
    html_column(out, "Rows", true);
    html_column(out, "Observed", false);
    html_column(out, "What to do", false);
    html_table_body(out);
    for (unsigned bit = 0; bit < XL_N_WARN; bit++)
        if (count[bit] > 0)
            add_warning_row(out, bit, count[bit], &set);
    html_table_end(out);
}

static void add_reasons(struct xl__str *out, const struct html_page *page)
{
    add_reason_table(out, page);
    add_warning_table(out, page);
}

/* -- a sentence a device -------------------------------------------------- */

/* Appends the best rates of up to three ops to the sentence of a device. */
static void add_best_rates(struct xl__str *out, const struct html_page *page,
                           size_t i_device)
{
    enum { MOST = 3 };
    unsigned n_shown = 0;
    for (size_t i = 0; i < page->n_groups && n_shown < MOST; i++) {
        struct xl__str title = {0};
        const struct html_group *group = &page->groups[i];
        const struct html_row *best =
            html_op_is_probe(group->op)
                ? NULL
                : html_best_row(page, group, i_device, NULL);
        char value[UNITS_CAP], share[UNITS_CAP];
        if (!best)
            continue;
        units_format(value, sizeof value,
                     result_number(best->row, NULL, "value"),
                     json_text_at(best->row->json, "unit"));
        units_percent(share, sizeof share, best->row->frac);
        html_op_title(&title, group->op);
        html_add(out, "%m%s reached <b>%s</b> %s", n_shown > 0 ? ", " : ": ",
                 xl__str_text(&title), value,
                 json_text_at(best->row->json, "dtype"));
        if (!isnan(best->row->frac))
            html_add(out, " (%s of its measured roof)", share);
        xl__str_clear(&title);
        n_shown++;
    }
}

/* Appends the measured peaks to the sentence of a device. */
static void add_peaks(struct xl__str *out, const struct html_page *page,
                      size_t i_device)
{
    static const struct {
        const char *fact, *what;
    } peaks[] = {{"peak_f32_flop_per_s", "f32 FMA"},
                 {"peak_matrix_f16_flop_per_s", "f16 on its matrix engine"},
                 {"read_bytes_per_s", "reading memory"}};
    const char *before = "; measured peaks are ";
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        struct xl__str value = {0};
        const json_t *fact = html_fact(page, i_device, peaks[i].fact);
        if (!fact || !xl__streq(json_text_at(fact, "source"),
                                xl_source_name(XL_MEASURED)))
            continue;
        html_fact_value(&value, fact);
        html_add(out, "%m<b>%s</b> %m", before, xl__str_text(&value),
                 peaks[i].what);
        before = ", ";
        xl__str_clear(&value);
    }
}

/* The sentence of a device: best rates, peaks, and how many rows are ok. */
static void add_device_sentence(struct xl__str *out,
                                const struct html_page *page, size_t i_device)
{
    const struct html_device *d = &page->devices[i_device];
    const size_t n_ok = d->n_verdict[XL_ROW_OK];
    html_add(out, "<p class=\"lead\"><b>%s</b>", d->name);
    add_best_rates(out, page, i_device);
    add_peaks(out, page, i_device);
    if (d->n_rows == 0)
        xl__str_add(out, "; nothing was measured on it");
    else if (n_ok == d->n_rows)
        html_add(out, "; all of its %z rows can be quoted", d->n_rows);
    else
        html_add(out, "; %z of its %z rows can be quoted", n_ok, d->n_rows);
    xl__str_add(out, ".</p>\n");
}

/* -- verdicts ------------------------------------------------------------- */

static size_t count_verdict(const struct html_page *page, unsigned rank)
{
    size_t n = 0;
    for (size_t i = 0; i < page->n_devices; i++)
        n += page->devices[i].n_verdict[rank];
    return n;
}

/* A bar of the verdicts, each as long as its share of the rows. */
static void add_verdict_bar(struct xl__str *out, const struct html_page *page)
{
    static const double whole = 1000;
    double at = 0;
    xl__str_add(out, "<svg class=\"tally-bar\" viewBox=\"0 0 1000 10\" "
                     "preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (unsigned rank = 0; rank < HTML_VERDICTS; rank++) {
        const double width =
            whole * (double)count_verdict(page, rank) / (double)page->n_rows;
        if (width > 0)
            xl__str_printf(out,
                           "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" "
                           "height=\"10\"/>",
                           xl_verdict_name((xl_verdict)rank), at, width);
        at += width;
    }
    xl__str_add(out, "</svg>\n");
}

/* The number of rows of each verdict with its meaning; ok and rejected also
 * when there are none. */
static void add_verdict_counts(struct xl__str *out,
                               const struct html_page *page)
{
    if (page->n_rows == 0) {
        xl__str_add(out, "<p>There are no rows.</p>\n");
        return;
    }
    xl__str_add(out, "<ul class=\"tally\">\n");
    for (unsigned rank = 0; rank < HTML_VERDICTS; rank++) {
        const size_t n = count_verdict(page, rank);
        if (n == 0 && rank != XL_ROW_OK && rank != XL_ROW_REJECTED)
            continue;
        html_add(out, "<li><b>%z</b> ", n);
        html_verdict(out, xl_verdict_name((xl_verdict)rank));
        html_add(out, "<small>%m</small></li>\n", html_verdict_about(rank));
    }
    xl__str_add(out, "</ul>\n");
    add_verdict_bar(out, page);
}

void html_summary(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"summary\" aria-labelledby=\"h-summary\">"
                     "\n<h2 id=\"h-summary\">Summary</h2>\n");
    for (size_t i = 0; i < page->n_devices; i++)
        add_device_sentence(out, page, i);
    add_verdict_counts(out, page);
    add_best_tables(out, page);
    add_reasons(out, page);
    xl__str_add(out, "</section>\n");
}
