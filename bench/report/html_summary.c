/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen of a page: banners, the devices, how many rows have each
 * verdict, and the best figures as bars, device against device; then why rows
 * are not ok (alike reasons as one), and the warnings with what to do about
 * them. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "base/alloc.h"
#include "charts/svg.h"
#include "cli/units.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/section.h"
#include "report/summary.h"
#include "results/json.h"
#include "results/warnings.h"

/* -- banners -------------------------------------------------------------- */

/* What makes all figures of a file doubtful. */
static void add_banner(struct xl__str *out, const struct result_file *file)
{
    const json_t *state = json_object_get(file->document, "state");
    if (json_is_true(json_object_get(state, "is_busy")))
        html_add(out,
                 "<p class=\"banner\" role=\"note\"><b>The machine was "
                 "busy:</b> %s, in %s. Rates may be too low, and are not to "
                 "be quoted: close other programs, and run again.</p>\n",
                 results_state(file), html_file_name(file));
    if (results_are_interrupted(file))
        html_add(out,
                 "<p class=\"banner\" role=\"note\"><b>%s:</b> "
                 "interrupted: rows may be missing.</p>\n",
                 html_file_name(file));
}

/* -- devices -------------------------------------------------------------- */

/* The letter and colour that a device has in the bars. */
static void add_letter(struct xl__str *out, const struct html_page *page,
                       size_t i_device, const char *element)
{
    const char letter[] = {(char)('A' + i_device % 26), '\0'};
    if (page->n_devices < 2)
        return;
    html_add(out, "<%m class=\"letter s%z\">%s</%m>", element,
             i_device % SVG_SERIES, letter, element);
}

static void add_device(struct xl__str *out, const struct html_page *page,
                       size_t i_device)
{
    const struct html_device *d = &page->devices[i_device];
    struct xl__str name = {0}, detail = {0};
    results_device_head(d->json, &name, &detail);
    xl__str_add(out, "<li>");
    add_letter(out, page, i_device, "b");
    html_add(out,
             " <b>%s</b> <small>%s</small> <small>%z of %z rows ok</small>"
             "</li>\n",
             d->name, xl__str_text(&detail), d->n_verdict[XL_ROW_OK],
             d->n_rows);
    xl__str_clear(&name);
    xl__str_clear(&detail);
}

static void add_devices(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<ul class=\"sides\">\n");
    for (size_t i = 0; i < page->n_devices; i++)
        add_device(out, page, i);
    xl__str_add(out, "</ul>\n");
}

/* -- bars ----------------------------------------------------------------- */

/* A figure of a device. */
struct bar {
    const char *label, *unit;
    double value, frac; /* of its roof; NaN: none */
    xl_verdict verdict;
};

/* Lines of a bar a device, under a title. */
struct bars {
    const struct html_page *page;
    struct xl__str *out;
    struct bar *list; /* n_devices of each line */
    size_t n, cap;
};

static void add_bar(struct bars *b, const struct bar *bar)
{
    if (xl__grow(&b->list, &b->cap, b->n + 1, sizeof *b->list))
        b->list[b->n++] = *bar;
    else
        b->out->broken = true;
}

static bool is_shown(const struct bar *bar)
{
    return bar->value > 0 && bar->verdict <= XL_ROW_SUSPICIOUS;
}

static double speed_of(const struct bar *bar)
{
    return xl__streq(bar->unit, "s") ? 1 / bar->value : bar->value;
}

/* What a bar is as long as: one device's share of the roof, else its speed
 * over the best with that unit; of several devices those of a line. */
static double length_of(const struct bars *b, size_t i)
{
    const size_t n = b->page->n_devices, line = i / n * n;
    const struct bar *bar = &b->list[i];
    double most = 0;
    if (n == 1 && !isnan(bar->frac))
        return bar->frac;
    for (size_t j = n > 1 ? line : 0; j < (n > 1 ? line + n : b->n); j++)
        if (is_shown(&b->list[j]) && xl__streq(b->list[j].unit, bar->unit))
            most = fmax(most, speed_of(&b->list[j]));
    return speed_of(bar) / most;
}

/* The speed over that of the first device, and the share of the roof. */
static void add_relation(const struct bars *b, size_t i)
{
    const size_t n = b->page->n_devices;
    const struct bar *bar = &b->list[i], *first = &b->list[i / n * n];
    char text[UNITS_CAP];
    xl__str_add(b->out, "<td class=\"n\"><small>");
    if (bar != first && is_shown(first) && xl__streq(bar->unit, first->unit)) {
        const double ratio = speed_of(bar) / speed_of(first);
        xl__str_printf(b->out, ratio < 0.1 ? "x %.2g" : "x %.3g", ratio);
    }
    if (n == 1 && !isnan(bar->frac)) {
        units_percent(text, sizeof text, bar->frac);
        xl__str_add(b->out, text);
    }
    xl__str_add(b->out, "</small></td>");
}

/* The cells of a device. What was not measured has no bar. */
static void show_bar(const struct bars *b, size_t i)
{
    const struct bar *bar = &b->list[i];
    const size_t n = b->page->n_devices;
    const bool is_doubtful = bar->verdict == XL_ROW_SUSPICIOUS;
    char kind[32], value[UNITS_CAP];
    add_letter(b->out, b->page, i % n, "td");
    if (!is_shown(bar)) {
        xl__str_add(b->out, "<td></td><td class=\"n\">-</td><td></td>");
        return;
    }
    xl__strfmt(kind, sizeof kind, " s%zu%s", i % n % SVG_SERIES,
               is_doubtful ? " doubt" : "");
    units_format(value, sizeof value, bar->value, bar->unit);
    xl__str_add(b->out, "<td>");
    html_bar(b->out, length_of(b, i), kind);
    html_add(b->out, "</td><td class=\"n\"%m>%s%m</td>",
             is_doubtful ? " title=\"suspicious\"" : "", value,
             is_doubtful ? "?" : "");
    add_relation(b, i);
}

/* Writes the lines under their title, and empties the list. */
static void show_bars(struct bars *b, const char *title)
{
    const size_t n = b->page->n_devices;
    bool is_any = false;
    for (size_t i = 0; i < b->n; i++)
        is_any = is_any || is_shown(&b->list[i]);
    is_any = is_any && !b->out->broken; /* of whole lines */
    if (is_any)
        html_add(b->out, "<table class=\"bars\"><caption>%s</caption>\n",
                 title);
    for (size_t i = 0; i < b->n && is_any; i++) {
        xl__str_add(b->out, i % n ? "<tr>" : "<tr class=\"first\">");
        if (i % n == 0)
            html_add(b->out, "<th scope=\"row\" rowspan=\"%z\">%s</th>", n,
                     b->list[i].label);
        show_bar(b, i);
        xl__str_add(b->out, "</tr>\n");
    }
    xl__str_add(b->out, is_any ? "</table>\n" : "");
    b->n = 0;
}

/* Is row `i` the first of its type? */
static bool is_first_of_dtype(const struct html_group *group, size_t i)
{
    const char *dtype = json_text_at(group->rows[i].row->json, "dtype");
    for (size_t j = 0; j < i; j++)
        if (xl__streq(json_text_at(group->rows[j].row->json, "dtype"), dtype))
            return false;
    return true;
}

/* The best rows of an op, a line a type that has any. */
static void add_op(struct bars *b, const struct html_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        const char *dtype = json_text_at(group->rows[i].row->json, "dtype");
        const size_t before = b->n;
        bool is_any = false;
        if (!is_first_of_dtype(group, i))
            continue;
        for (size_t d = 0; d < b->page->n_devices; d++) {
            const struct html_row *best =
                html_best_row(b->page, group, d, dtype);
            struct bar bar = {dtype, "", NAN, NAN, XL_ROW_OK};
            if (best) {
                bar.unit = json_text_at(best->row->json, "unit");
                bar.value = result_number(best->row, NULL, "value");
                bar.frac = best->row->frac;
                bar.verdict =
                    (xl_verdict)html_verdict_rank(best->row->verdict);
            }
            is_any = is_any || best;
            add_bar(b, &bar);
        }
        b->n = is_any ? b->n : before;
    }
}

/* What the summary of the terminal has of the probes, a title a line of it. */
static void show_probes(struct bars *b, const struct summary *summary)
{
    const struct html_device *devices = b->page->devices;
    struct summary_cell cell, next;
    for (unsigned i = 0; summary_cell(summary, devices, i, &cell); i++) {
        const size_t before = b->n;
        bool is_any = false;
        if (!html_op_is_probe(cell.op))
            continue;
        for (size_t d = 0; d < b->page->n_devices; d++) {
            (void)summary_cell(summary, &devices[d], i, &cell);
            const struct bar bar = {cell.label, cell.unit, cell.value, NAN,
                                    cell.verdict};
            add_bar(b, &bar);
            is_any = is_any || is_shown(&bar);
        }
        b->n = is_any ? b->n : before;
        if (!summary_cell(summary, devices, i + 1, &next) ||
            strcmp(next.line, cell.line) != 0)
            show_bars(b, cell.line);
    }
}

static void add_bars(struct xl__str *out, const struct html_page *page)
{
    struct bars b = {.page = page, .out = out};
    struct summary summary = {NULL, 0, 0};
    if (page->n_devices == 0 || page->n_rows == 0)
        return;
    html_add(out,
             "<p class=\"aside\">The longer, the better: %m. ? is "
             "suspicious.</p>\n<div class=\"bars-of-all\">\n",
             page->n_devices > 1
                 ? "each bar is relative to the best device of its line, x is "
                   "the speed over that of A"
                 : "a bar is the share of the measured roof, or relative to "
                   "the best of its table");
    for (size_t g = 0; g < page->n_groups; g++) {
        const struct html_group *group = &page->groups[g];
        struct xl__str title = {0};
        for (size_t i = 0; i < group->n; i++)
            if (!group->rows[i].row->is_other)
                summary_add(
                    &summary,
                    &page->devices[page->runs[group->rows[i].i_run].i_device],
                    &group->table.list[i].row);
        if (html_op_is_probe(group->op))
            continue;
        add_op(&b, group);
        html_op_title(&title, group->op);
        show_bars(&b, xl__str_text(&title));
        xl__str_clear(&title);
    }
    show_probes(&b, &summary);
    xl__str_add(out, "</div>\n");
    summary_clear(&summary);
    free(b.list);
}

static void add_count(json_t *row, size_t n)
{
    char text[UNITS_CAP];
    units_number(text, sizeof text, (double)n);
    html_cell(row, text);
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

static void add_reason_table(struct xl__str *out, const struct html_page *page)
{
    struct reasons r = {0};
    json_t *table = html_table("Why rows are not ok");
    html_column(table, "Verdict", LOOK_VERDICT);
    html_column(table, "Rows", LOOK_NUMBER);
    html_column(table, "Reason", LOOK_TEXT);
    html_column(table, "Of", LOOK_TEXT);
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++)
            add_reason(&r, &page->groups[g], page->groups[g].rows[i].row);
    if (r.n > 0)
        qsort(r.list, r.n, sizeof *r.list, compare_reasons);
    for (size_t i = 0; i < r.n; i++) {
        const struct reason *reason = &r.list[i];
        struct xl__str title = {0};
        json_t *row = html_row(table, NULL);
        html_op_title(&title, reason->group->op);
        html_cell(row, reason->rank < HTML_VERDICTS
                           ? xl_verdict_name((xl_verdict)reason->rank)
                           : "unknown");
        add_count(row, reason->n);
        html_cell(row, *reason->text ? reason->text : "no reason is given");
        html_cell(row,
                  reason->n_groups > 1 ? "several ops" : xl__str_text(&title));
        xl__str_clear(&title);
    }
    html_table_end(out, table);
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

static void add_warning_table(struct xl__str *out,
                              const struct html_page *page)
{
    struct settings set;
    json_t *table = html_table("Warnings");
    read_settings(page, &set);
    html_column(table, "Warning", LOOK_TEXT);
    html_column(table, "Rows", LOOK_NUMBER);
    html_column(table, "Observed", LOOK_TEXT);
    html_column(table, "What to do", LOOK_TEXT);
    for (unsigned bit = 0; bit < XL_N_WARN; bit++) {
        const char *advice = warn_advice(bit, &set);
        size_t n = 0;
        for (size_t g = 0; g < page->n_groups; g++)
            for (size_t i = 0; i < page->groups[g].n; i++)
                n += page->groups[g].table.list[i].row.warnings >> bit & 1;
        if (n == 0)
            continue;
        json_t *row = html_row(table, NULL);
        html_cell(row, warn_code(bit));
        add_count(row, n);
        html_cell(row, warn_text(bit));
        html_cell(row, advice ? advice : "-");
    }
    html_table_end(out, table);
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
    for (size_t i = 0; i < page->n_files; i++)
        if (html_page_has(page, &page->files[i]))
            add_banner(out, &page->files[i]);
    add_devices(out, page);
    add_bars(out, page);
    add_verdict_counts(out, page);
    add_reason_table(out, page);
    add_warning_table(out, page);
    xl__str_add(out, "</section>\n");
}
