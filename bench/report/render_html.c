/* SPDX-License-Identifier: Apache-2.0 */
/* Results as one HTML page that holds all it needs. */
#include "report/html.h"
#include "report/html_frame.h"
#include "report/html_page.h"
#include "results/json.h"
#include "report/render.h"

/* "NVIDIA H200", or how many devices more. */
static void page_title(struct xl__str *out, const struct html_page *page)
{
    if (page->n_devices == 0) {
        xl__str_add(out, "No device");
        return;
    }
    const struct html_device *d = page->devices;
    html_text(out, d[0].name);
    if (page->n_devices == 2 && !xl__streq(d[0].name, d[1].name))
        html_add(out, " and %s", d[1].name);
    else if (page->n_devices > 1)
        html_add(out, " and %z more", page->n_devices - 1);
}

/* What was run and when, a file a line; of many files how many. */
static void add_runs(struct xl__str *out, const struct html_page *page)
{
    enum { MOST = 4 };
    xl__str_add(out, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < page->n_files && i < MOST; i++) {
        struct xl__str date = {0};
        html_date(&date, &page->files[i]);
        const json_t *tool =
            json_object_get(page->files[i].document, "tool");
        const char *command = json_text_at(tool, "command");
        html_add(out, "<li>%s%m%s, by clbench %s</li>\n",
                 *command ? command : "results", date.len > 0 ? ", " : "",
                 xl__str_text(&date), json_text_at(tool, "version"));
        xl__str_clear(&date);
    }
    if (page->n_files > MOST)
        html_add(out, "<li>and %z more files</li>\n", page->n_files - MOST);
    for (size_t i = 0; i < page->n_devices && i < MOST; i++) {
        const struct html_device *d = &page->devices[i];
        html_add(out, "<li>%s: %s, driver %s</li>\n", d->name,
                 *d->platform ? d->platform : "platform unknown",
                 *d->driver ? d->driver : "unknown");
    }
    xl__str_add(out, "</ul>\n");
}

static void header(struct xl__str *out, const struct html_page *page,
                   const char *title, bool has_pictures)
{
    html_add(out, "<header>\n<p class=\"name\">clbench results</p>\n"
                  "<h1>%m</h1>\n", title);
    add_runs(out, page);
    html_add(out,
             "</header>\n<nav aria-label=\"Sections\"><ul>\n"
             "<li><a href=\"#summary\">Summary</a></li>\n"
             "<li><a href=\"#devices\">Devices</a></li>\n%m"
             "<li><a href=\"#rows\">Every row</a></li>\n"
             "<li><a href=\"#environment\">Environment</a></li>\n"
             "</ul></nav>\n",
             has_pictures ? "<li><a href=\"#pictures\">Pictures</a></li>\n"
                          : "");
}

static void render(const struct result_file *files, size_t n,
                   struct xl__str *out)
{
    struct html_page page;
    struct xl__str title = {0}, pictures = {0};
    if (html_page_gather(&page, files, n)) {
        page_title(&title, &page);
        html_figures(&pictures, &page);
        html_begin(out, xl__str_text(&title));
        header(out, &page, xl__str_text(&title), pictures.len > 0);
        xl__str_add(out, "<main id=\"main\">\n");
        html_summary(out, &page);
        html_devices(out, &page);
        xl__str_add(out, xl__str_text(&pictures));
        html_rows(out, &page);
        html_environment(out, &page);
        xl__str_add(out, "</main>\n");
        html_end(out);
    } else {
        out->broken = true;
    }
    out->broken = out->broken || title.broken || pictures.broken;
    html_page_clear(&page);
    xl__str_clear(&title);
    xl__str_clear(&pictures);
}

const struct renderer render_html = {
    .name = "html",
    .render = render,
};
