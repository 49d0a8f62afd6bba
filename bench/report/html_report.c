/* SPDX-License-Identifier: Apache-2.0 */
/* Results as one HTML page that holds all it needs: its header, and its
 * sections from top to bottom. The summary and the tables of rows have files
 * of their own; here are devices, pictures, and the environment of each file.
 */
#include <stdint.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "charts/figure.h"
#include "cli/units.h"
#include "report/figure_files.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/section.h"
#include "report/outputs.h"
#include "results/json.h"

/* -- devices -------------------------------------------------------------- */

/* The facts that are shown unfolded. */
static const char *const main_facts[] = {
    "arch",
    "driver",
    "cl_version",
    "compute_units",
    "clock_hz",
    "subgroup_width",
    "max_wg_size",
    "global_mem_bytes",
    "llc_bytes",
    "local_mem_bytes",
    "launch_ns",
    "peak_f32_flop_per_s",
    "uuid",
    "peak_matrix_f16_flop_per_s",
    "read_bytes_per_s",
    "pci",
};

static bool is_main(const char *name)
{
    for (size_t i = 0; i < sizeof main_facts / sizeof *main_facts; i++)
        if (strcmp(main_facts[i], name) == 0)
            return true;
    return false;
}

/* "132 (queried)", with the note of the vendor table. */
static void add_fact(json_t *row, const json_t *fact)
{
    struct xl__str text = {0};
    const char *note = json_text_at(fact, "note");
    results_fact_value(fact, &text);
    if (fact)
        xl__str_printf(&text, " (%s%s%s)", json_text_at(fact, "source"),
                       *note ? ", " : "", note);
    html_cell(row, xl__str_text(&text));
    xl__str_clear(&text);
}

/* A row a fact that any device has, a column a device. */
static void add_facts(struct xl__str *out, const struct html_page *page,
                      const char *caption, bool is_all)
{
    const char *name = NULL, *help = NULL;
    json_t *table = html_table(caption);
    html_column(table, "Fact", LOOK_TEXT);
    for (size_t d = 0; d < page->n_devices; d++)
        html_column(table, page->devices[d].name, LOOK_TEXT);
    html_column(table, "Meaning", LOOK_TEXT);
    for (unsigned i = 0; (name = xl_fact_name(i, &help)) != NULL; i++) {
        bool is_known = false;
        for (size_t d = 0; d < page->n_devices; d++)
            is_known = is_known || html_fact(page, d, name);
        if (!is_known || !(is_all || is_main(name)))
            continue;
        json_t *row = html_row(table, NULL);
        html_cell(row, name);
        for (size_t d = 0; d < page->n_devices; d++)
            add_fact(row, html_fact(page, d, name));
        html_cell(row, help);
    }
    html_table_end(out, table);
}

static void add_devices(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out,
                "<section id=\"devices\" aria-labelledby=\"h-devices\">"
                "\n<h2 id=\"h-devices\">Devices</h2>\n"
                "<p>Behind each value is its source: queried, the "
                "driver's answer; measured, by a probe; known, a vendor's "
                "document, with the note that cites it; assumed; "
                "calibrated, measured earlier.</p>\n");
    add_facts(out, page, "Facts by device", false);
    xl__str_add(out, "<details><summary>Every fact that is known</summary>\n");
    add_facts(out, page, "Every fact by device", true);
    xl__str_add(out, "</details>\n</section>\n");
}

/* -- pictures ------------------------------------------------------------- */

/* Adds a figure of one run; false: the run has no data for it. */
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
                 "<figcaption%m>%s</figcaption></figure>\n",
                 figure->title, xl__str_text(&name), xl__str_text(&svg),
                 page->n_runs == page->n_devices ? " hidden" : "",
                 xl__str_text(&name));
    }
    out->broken = out->broken || svg.broken || name.broken;
    xl__str_clear(&svg);
    xl__str_clear(&name);
    return is_drawn;
}

/* A figure of all runs that have data for it, side by side. */
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

static void add_figures(struct xl__str *out, const struct html_page *page)
{
    struct xl__str all = {0};
    for (const struct figure *const *f = figures; *f; f++)
        if (!page->choice.op || xl__streq(page->choice.op, (*f)->name))
            add_figure(&all, page, *f);
    if (all.len > 0)
        html_add(out,
                 "<section id=\"pictures\" aria-labelledby=\"h-pictures\">\n"
                 "<h2 id=\"h-pictures\">Pictures</h2>\n%m</section>\n",
                 xl__str_text(&all));
    out->broken = out->broken || all.broken;
    xl__str_clear(&all);
}

/* -- the command line ----------------------------------------------------- */

/* Adds an argument as a shell reads it, quoted where necessary. */
static void add_shell_argument(struct xl__str *out, const char *arg)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=:,./@^%";
    xl__str_add(out, " ");
    if (*arg && strspn(arg, plain) == strlen(arg)) {
        xl__str_add(out, arg);
        return;
    }
    xl__str_add(out, "'");
    for (; *arg; arg++)
        xl__str_add_n(out, *arg == '\'' ? "'\\''" : arg, *arg == '\'' ? 4 : 1);
    xl__str_add(out, "'");
}

/* Appends an option that differs from unset: true, a text, a positive number,
 * or each value of a list. */
static void add_option(struct xl__str *out, const char *name,
                       const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_true(value) || (text && *text)) {
        xl__str_printf(out, " --%s", name);
        if (text)
            add_shell_argument(out, text);
    } else if (json_is_number(value) && json_number_value(value) > 0) {
        xl__str_printf(out, " --%s %.17g", name, json_number_value(value));
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        add_option(out, name, json_array_get(value, i));
}

/* The command line that repeats the run, from the arguments and options of the
 * document. */
static void add_command_line(struct xl__str *out, const json_t *document)
{
    const json_t *env = json_object_get(document, "environment");
    const json_t *args = json_object_get(env, "arguments");
    const char *command =
        json_text_at(json_object_get(document, "tool"), "command");
    const char *name = NULL;
    json_t *value = NULL;
    xl__str_add(out, "clbench");
    if (*command && strcmp(command, "suite") != 0)
        add_shell_argument(out, command);
    for (size_t i = 0; i < json_array_size(args); i++) {
        const char *arg = json_string_value(json_array_get(args, i));
        if (arg)
            add_shell_argument(out, arg);
    }
    json_object_foreach((json_t *)(uintptr_t)json_object_get(env, "options"),
                        name, value)
    {
        add_option(out, name, value);
    }
}

/* -- a file --------------------------------------------------------------- */

static void add_entry(json_t *table, const char *name, const char *text)
{
    json_t *row = *text ? html_row(table, NULL) : NULL;
    html_cell(row, name);
    html_cell(row, text);
}

/* The texts and numbers of an object, a row each. */
static void add_members(json_t *table, const json_t *object)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        char text[UNITS_CAP];
        const char *end = strstr(name, "_bytes");
        units_format(text, sizeof text, json_number_value(value),
                     end ? "B" : "1");
        if (json_is_string(value))
            add_entry(table, name, json_string_value(value));
        else if (json_is_number(value))
            add_entry(table, name, text);
    }
}

/* The command line and the environment of one file. */
static void add_file(struct xl__str *out, const struct result_file *file,
                     size_t i_file)
{
    struct xl__str command = {0}, caption = {0};
    const json_t *env = json_object_get(file->document, "environment");
    add_command_line(&command, file->document);
    xl__str_printf(&caption, "Environment of %s", html_file_name(file));
    html_add(out,
             "<article aria-labelledby=\"file-%z\">\n"
             "<h3 id=\"file-%z\">%s</h3>\n<pre class=\"scroll\" "
             "tabindex=\"0\" role=\"region\" "
             "aria-label=\"Command line of %s\"><code>%s</code></pre>\n",
             i_file, i_file, html_file_name(file), html_file_name(file),
             xl__str_text(&command));
    json_t *table = html_table(xl__str_text(&caption));
    html_column(table, "Item", LOOK_TEXT);
    html_column(table, "Value", LOOK_TEXT);
    add_entry(table, "state", results_state(file));
    add_entry(table, "end",
              results_are_interrupted(file)
                  ? "interrupted: rows may be missing"
                  : "");
    add_members(table, json_object_get(file->document, "tool"));
    add_members(table, json_object_get(file->document, "host"));
    add_members(table, env);
    add_members(table, json_object_get(env, "variables"));
    html_table_end(out, table);
    xl__str_add(out, "</article>\n");
    xl__str_clear(&command);
    xl__str_clear(&caption);
}

static void add_environments(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"environment\" "
                     "aria-labelledby=\"h-environment\">\n"
                     "<h2 id=\"h-environment\">Environment, and how to run it "
                     "again</h2>\n");
    for (size_t i = 0; i < page->n_files; i++)
        if (html_page_has(page, &page->files[i]))
            add_file(out, &page->files[i], i);
    xl__str_add(out, "</section>\n");
}

/* -- the page ------------------------------------------------------------- */

/* "NVIDIA H200", and the number of further devices. */
static void add_page_title(struct xl__str *out, const struct html_page *page)
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

/* The command and date of each file; of many files their number. */
static void add_runs(struct xl__str *out, const struct html_page *page)
{
    enum { MOST = 4 };
    size_t n_files = 0;
    xl__str_add(out, "<ul class=\"runs\">\n");
    for (size_t i = 0; i < page->n_files; i++) {
        struct xl__str date = {0};
        if (!html_page_has(page, &page->files[i]) || n_files++ >= MOST)
            continue;
        html_date(&date, &page->files[i]);
        const json_t *tool = json_object_get(page->files[i].document, "tool");
        const char *command = json_text_at(tool, "command");
        html_add(out, "<li>%s%m%s, by clbench %s</li>\n",
                 *command ? command : "results", date.len > 0 ? ", " : "",
                 xl__str_text(&date), json_text_at(tool, "version"));
        xl__str_clear(&date);
    }
    if (n_files > MOST)
        html_add(out, "<li>and %z more files</li>\n", n_files - MOST);
    xl__str_add(out, "</ul>\n");
}

static void add_link(struct xl__str *out, bool is_shown, const char *section,
                     const char *title)
{
    if (is_shown)
        html_add(out, "<li><a href=\"#%m\">%m</a></li>\n", section, title);
}

static void add_header(struct xl__str *out, const struct html_page *page,
                       const struct html_layout *layout, bool has_pictures)
{
    html_add(out,
             "<header>\n<p class=\"name\">clbench results</p>\n"
             "<h1>%m</h1>\n",
             layout->title);
    add_runs(out, page);
    html_add(out, "</header>\n<nav aria-label=\"Sections\"><ul>\n%m",
             layout->links);
    add_link(out, true, "summary", "Summary");
    add_link(out, layout->has_devices, "devices", "Devices");
    add_link(out, has_pictures, "pictures", "Pictures");
    add_link(out, layout->has_rows, "rows", "Every row");
    add_link(out, layout->has_environments, "environment", "Environment");
    xl__str_add(out, "</ul></nav>\n");
}

void html_page_write(struct xl__str *out, const struct html_page *page,
                     const struct html_layout *layout)
{
    struct xl__str pictures = {0};
    if (layout->has_pictures)
        add_figures(&pictures, page);
    html_begin(out, layout->title);
    add_header(out, page, layout, pictures.len > 0);
    html_add(out, "<main id=\"main\">\n%m", layout->intro);
    html_summary(out, page);
    if (layout->has_devices)
        add_devices(out, page);
    xl__str_add(out, xl__str_text(&pictures));
    if (layout->has_rows)
        html_rows(out, page);
    if (layout->has_environments)
        add_environments(out, page);
    xl__str_add(out, "</main>\n");
    html_end(out);
    out->broken = out->broken || pictures.broken;
    xl__str_clear(&pictures);
}

static void render_page(const struct result_file *files, size_t n,
                        struct xl__str *out)
{
    struct html_page page;
    struct xl__str title = {0};
    if (html_page_gather(&page, files, n, (struct html_choice){NULL, NULL})) {
        add_page_title(&title, &page);
        const struct html_layout all = {
            xl__str_text(&title), "", "", true, true, true, true};
        html_page_write(out, &page, &all);
    } else {
        out->broken = true;
    }
    out->broken = out->broken || title.broken;
    html_page_clear(&page);
    xl__str_clear(&title);
}

const struct renderer render_html = {
    .name = "html",
    .render = render_page,
};
