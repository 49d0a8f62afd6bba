/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables of the summary: why rows are not ok, alike reasons as one, and
 * which warnings were given, with what to do about them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"
#include "results/warnings.h"

/* -- reasons -------------------------------------------------------------- */

struct reason {
    unsigned rank;    /* of the verdict */
    const char *text; /* of the first row that has it */
    const struct html_group *group; /* of that row */
    size_t n, n_groups;
};

struct reasons {
    struct reason *list;
    size_t n, cap;
};

/* Alike but for their numbers. */
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

/* What was wrong first, what was not there last. */
static unsigned weight(unsigned rank)
{
    return rank == XL_ROW_UNSUPPORTED ? 0 : rank + 1;
}

/* The worst verdict first, then the most frequent reason. */
static int by_weight(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    if (x->rank != y->rank)
        return weight(x->rank) < weight(y->rank) ? 1 : -1;
    return x->n < y->n ? 1 : x->n > y->n ? -1 : strcmp(x->text, y->text);
}

static void reason_line(struct xl__str *out, const struct reason *r)
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

static void reasons(struct xl__str *out, const struct html_page *page)
{
    enum { MOST = 20 };
    struct reasons r = {0};
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++)
            add_reason(&r, &page->groups[g], page->groups[g].rows[i].row);
    if (r.n > 0) {
        qsort(r.list, r.n, sizeof *r.list, by_weight);
        html_table_begin(out, "", "Why rows are not ok");
        html_column(out, "Verdict", false);
        html_column(out, "Rows", true);
        html_column(out, "Reason", false);
        html_column(out, "Of", false);
        html_table_body(out);
        for (size_t i = 0; i < r.n && i < MOST; i++)
            reason_line(out, &r.list[i]);
        html_table_end(out);
        if (r.n > MOST)
            html_add(out, "<p><small>%z more reasons stand in the tables of "
                          "all rows.</small></p>\n", r.n - MOST);
    }
    free(r.list);
}

/* -- warnings ------------------------------------------------------------- */

/* Advice depends on the options of the run: quick in any file counts. */
static void read_settings(const struct html_page *page, struct settings *set)
{
    *set = (struct settings){.quick = false};
    for (size_t i = 0; i < page->n_files; i++) {
        const json_t *env =
            json_object_get(page->files[i].document, "environment");
        const json_t *options = json_object_get(env, "options");
        set->quick = set->quick ||
                     json_is_true(json_object_get(options, "quick"));
    }
}

static void count_warnings(const struct html_page *page,
                           size_t count[XL_N_WARN])
{
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++) {
            const json_t *list = json_object_get(
                page->groups[g].rows[i].row->json, "warnings");
            for (size_t w = 0; w < json_array_size(list); w++) {
                const char *code = json_string_value(json_array_get(list, w));
                const unsigned bit = html_warning_of(code ? code : "");
                if (bit < XL_N_WARN)
                    count[bit]++;
            }
        }
}

static void warning_line(struct xl__str *out, unsigned bit, size_t n,
                         const struct settings *set)
{
    const char *advice = warn_advice(bit, set);
    html_add(out,
             "<tr id=\"warn-%m\"><th scope=\"row\">%m</th>"
             "<td class=\"n\">%z</td><td>%m</td><td>%m</td></tr>\n",
             warn_code(bit), warn_code(bit), n, warn_text(bit),
             advice ? advice : "-");
}

static void warnings(struct xl__str *out, const struct html_page *page)
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
    html_column(out, "What was seen", false);
    html_column(out, "What to do", false);
    html_table_body(out);
    for (unsigned bit = 0; bit < XL_N_WARN; bit++)
        if (count[bit] > 0)
            warning_line(out, bit, count[bit], &set);
    html_table_end(out);
}

void html_reasons(struct xl__str *out, const struct html_page *page)
{
    reasons(out, page);
    warnings(out, page);
}
