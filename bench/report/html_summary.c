/* SPDX-License-Identifier: Apache-2.0 */
/* The top of the page, for a reader in a hurry: a sentence a device, and how
 * the rows were judged. */
#include <math.h>
#include <stdio.h>

#include "report/html.h"
#include "report/html_best.h"
#include "report/html_page.h"
#include "results/json.h"
#include "cli/units.h"

/* -- a sentence a device -------------------------------------------------- */

static void add_best(struct xl__str *out, const struct html_page *page,
                     size_t i_device)
{
    enum { MOST = 3 };
    unsigned told = 0;
    for (size_t i = 0; i < page->n_groups && told < MOST; i++) {
        struct xl__str title = {0};
        const struct html_group *group = &page->groups[i];
        const struct html_row *best =
            html_op_is_probe(group->op)
                ? NULL
                : html_best_of(page, group, i_device, NULL);
        char value[UNITS_CAP], share[UNITS_CAP];
        if (!best)
            continue;
        units_format(value, sizeof value,
                     result_number(best->row, NULL, "value"),
                     json_text_at(best->row->json, "unit"));
        units_percent(share, sizeof share, best->row->frac);
        html_op_title(&title, group->op);
        html_add(out, "%m%s reached <b>%s</b> %s", told > 0 ? ", " : ": ",
                 xl__str_text(&title), value,
                 json_text_at(best->row->json, "dtype"));
        if (!isnan(best->row->frac))
            html_add(out, " (%s of its measured roof)", share);
        xl__str_clear(&title);
        told++;
    }
}

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

static void device_sentence(struct xl__str *out, const struct html_page *page,
                            size_t i_device)
{
    const struct html_device *d = &page->devices[i_device];
    const size_t n_ok = d->n_verdict[XL_ROW_OK];
    html_add(out, "<p class=\"lead\"><b>%s</b>", d->name);
    add_best(out, page, i_device);
    add_peaks(out, page, i_device);
    if (d->n_rows == 0)
        xl__str_add(out, "; nothing was measured on it");
    else if (n_ok == d->n_rows)
        html_add(out, "; all of its %z rows can be quoted", d->n_rows);
    else
        html_add(out, "; %z of its %z rows can be quoted", n_ok, d->n_rows);
    xl__str_add(out, ".</p>\n");
}

/* -- how the rows were judged --------------------------------------------- */

static size_t count_of(const struct html_page *page, unsigned rank)
{
    size_t n = 0;
    for (size_t i = 0; i < page->n_devices; i++)
        n += page->devices[i].n_verdict[rank];
    return n;
}

/* Verdicts side by side, as long as there are rows of each. */
static void tally_bar(struct xl__str *out, const struct html_page *page)
{
    static const double whole = 1000;
    double at = 0;
    xl__str_add(out, "<svg class=\"tally-bar\" viewBox=\"0 0 1000 10\" "
                     "preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (unsigned rank = 0; rank < HTML_VERDICTS; rank++) {
        const double width =
            whole * (double)count_of(page, rank) / (double)page->n_rows;
        if (width > 0)
            xl__str_printf(out,
                           "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" "
                           "height=\"10\"/>",
                           xl_verdict_name((xl_verdict)rank), at, width);
        at += width;
    }
    xl__str_add(out, "</svg>\n");
}

static void tally(struct xl__str *out, const struct html_page *page)
{
    if (page->n_rows == 0) {
        xl__str_add(out, "<p>There is no row in it.</p>\n");
        return;
    }
    xl__str_add(out, "<ul class=\"tally\">\n");
    for (unsigned rank = 0; rank < HTML_VERDICTS; rank++) {
        const size_t n = count_of(page, rank);
        if (n == 0 && rank != XL_ROW_OK && rank != XL_ROW_REJECTED)
            continue;
        html_add(out, "<li><b>%z</b> ", n);
        html_verdict(out, xl_verdict_name((xl_verdict)rank));
        html_add(out, "<small>%m</small></li>\n", html_verdict_about(rank));
    }
    xl__str_add(out, "</ul>\n");
    tally_bar(out, page);
}

void html_summary(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"summary\" aria-labelledby=\"h-summary\">"
                     "\n<h2 id=\"h-summary\">Summary</h2>\n");
    for (size_t i = 0; i < page->n_devices; i++)
        device_sentence(out, page, i);
    tally(out, page);
    html_best(out, page);
    html_reasons(out, page);
    xl__str_add(out, "</section>\n");
}
