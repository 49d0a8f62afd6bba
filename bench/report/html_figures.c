/* SPDX-License-Identifier: Apache-2.0 */
/* Every picture that the documents can be drawn as, those of several runs
 * beside each other. */
#include "charts/figure.h"
#include "report/html.h"
#include "report/html_page.h"

/* One picture of one run; false: there is nothing to draw it from. */
static bool add_picture(struct xl__str *out, const struct html_page *page,
                        const struct figure *figure, size_t i_run)
{
    const struct html_run *run = &page->runs[i_run];
    struct xl__str svg = {0}, name = {0};
    const bool is_drawn = figure->draw(run->file, run->json, &svg);
    if (is_drawn) {
        html_run_name(&name, page, i_run);
        html_add(out,
                 "<figure><div class=\"scroll picture\" tabindex=\"0\" "
                 "role=\"region\" aria-label=\"%s: %s\">\n%m</div>\n"
                 "<figcaption>%s</figcaption></figure>\n",
                 figure->title, xl__str_text(&name), xl__str_text(&svg),
                 xl__str_text(&name));
    }
    out->broken = out->broken || svg.broken || name.broken;
    xl__str_clear(&svg);
    xl__str_clear(&name);
    return is_drawn;
}

static void add_figure(struct xl__str *out, const struct html_page *page,
                       const struct figure *figure)
{
    struct xl__str pictures = {0};
    size_t n = 0;
    for (size_t i = 0; i < page->n_runs; i++)
        n += add_picture(&pictures, page, figure, i);
    if (n > 0)
        html_add(out,
                 "<section class=\"figure\" aria-labelledby=\"figure-%m\">\n"
                 "<h3 id=\"figure-%m\">%s</h3>\n<p>%s</p>\n"
                 "<div class=\"pictures%m\">\n%m</div>\n</section>\n",
                 figure->name, figure->name, figure->title, figure->about,
                 n > 1 ? " beside" : "", xl__str_text(&pictures));
    out->broken = out->broken || pictures.broken;
    xl__str_clear(&pictures);
}

void html_figures(struct xl__str *out, const struct html_page *page)
{
    struct xl__str all = {0};
    for (const struct figure *const *f = figures; *f; f++)
        add_figure(&all, page, *f);
    if (all.len > 0)
        html_add(out,
                 "<section id=\"pictures\" aria-labelledby=\"h-pictures\">\n"
                 "<h2 id=\"h-pictures\">Pictures</h2>\n%m</section>\n",
                 xl__str_text(&all));
    out->broken = out->broken || all.broken;
    xl__str_clear(&all);
}
