/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench site`: result files as pages that link to each other: an index, a
 * page a device, a page an operation. Each is the page of --html with a part
 * of the rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "commands.h"
#include "report/figure_files.h"
#include "report/html.h"
#include "report/html_page.h"

enum { MOST_FILES = 32 };

struct site {
    struct session *s;
    const char *folder;
    struct result_file files[MOST_FILES];
    size_t n_files;
    struct html_page all;
};

/* -- files ---------------------------------------------------------------- */

static bool add_file(struct site *site, const char *name,
                     bool (*read)(const char *name, struct result_file *out,
                                  char *why, size_t cap))
{
    char why[512];
    if (site->n_files == MOST_FILES)
        snprintf(why, sizeof why, "too many result files: at most %d",
                 MOST_FILES);
    else if (read(name, &site->files[site->n_files++], why, sizeof why))
        return true;
    session_message(site->s, "", why);
    return false;
}

/* The files that follow the folder, and those of --with. */
static bool read_files(struct site *site)
{
    const struct settings *set = &site->s->set;
    bool is_fine = true;
    for (size_t i = 1; i < set->n_words; i++)
        is_fine = add_file(site, set->words[i], result_file_read) && is_fine;
    for (size_t i = 0; i < set->with.n; i++)
        is_fine =
            add_file(site, set->with.value[i], result_file_read_reference) &&
            is_fine;
    return is_fine;
}

/* -- names ---------------------------------------------------------------- */

/* "device-1-nvidia-h200.html" */
static void add_device_file(struct xl__str *out, const struct site *site,
                            size_t i)
{
    char *label = figure_files_label(site->all.devices[i].name);
    xl__str_printf(out, "device-%zu-%s.html", i + 1, label ? label : "");
    out->broken = out->broken || !label;
    free(label);
}

/* "op-gemm.html"; empty for a probe, which has no page, and for a further kind
 * of rows of an op. The op of a file may be any text. */
static void add_op_file(struct xl__str *out, const struct site *site, size_t i)
{
    const char *op = site->all.groups[i].op;
    bool has_page = !html_op_is_probe(op);
    for (size_t k = 0; k < i; k++)
        has_page = has_page && !xl__streq(op, site->all.groups[k].op);
    char *label = has_page ? figure_files_label(op) : NULL;
    if (has_page)
        xl__str_printf(out, "op-%s.html", label ? label : "");
    out->broken = out->broken || (has_page && !label);
    free(label);
}

/* -- pages ---------------------------------------------------------------- */

/* After a failed call: a message with errno or the status. False. */
static bool report_unwritten(const struct site *site, const char *path,
                             xl_status status)
{
    struct xl__str text = {0};
    const char *why = errno ? strerror(errno) : xl_status_text(status);
    xl__str_printf(&text, "'%s' cannot be written: %s; give a writable folder",
                   path, why);
    session_message(site->s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return false;
}

static bool write_file(const struct site *site, const char *name,
                       struct xl__str *text)
{
    errno = 0;
    char *path = xl__path_join(site->folder, name);
    const xl_status status =
        !path || text->broken
            ? XL_NO_MEMORY
            : out_file_replace(path, xl__str_text(text), text->len);
    if (status != XL_OK)
        (void)report_unwritten(site, path ? path : name, status);
    free(path);
    xl__str_clear(text);
    return status == XL_OK;
}

/* A page of part of the rows. */
static bool write_part(const struct site *site, const char *name,
                       const char *title, struct html_choice choice)
{
    static const char back[] =
        "<li><a href=\"index.html\">All devices</a></li>\n";
    struct html_page page;
    struct xl__str escaped = {0}, text = {0};
    const bool is_device = choice.device != NULL;
    html_text(&escaped, title);
    if (html_page_gather(&page, site->files, site->n_files, choice))
        html_page_write(&text, &page,
                        &(struct html_layout){xl__str_text(&escaped), back, "",
                                              is_device, true, true,
                                              is_device});
    else
        text.broken = true;
    html_page_clear(&page);
    xl__str_clear(&escaped);
    return write_file(site, name, &text);
}

static bool write_device(const struct site *site, size_t i)
{
    struct xl__str name = {0};
    add_device_file(&name, site, i);
    const bool is_fine =
        write_part(site, xl__str_text(&name), site->all.devices[i].name,
                   (struct html_choice){.device = site->all.devices[i].json});
    xl__str_clear(&name);
    return is_fine;
}

static bool write_op(const struct site *site, size_t i)
{
    struct xl__str name = {0}, title = {0};
    const char *op = site->all.groups[i].op;
    add_op_file(&name, site, i);
    html_op_title(&title, op);
    const bool is_fine =
        name.len == 0 ||
        write_part(site, xl__str_text(&name), xl__str_text(&title),
                   (struct html_choice){.op = op});
    xl__str_clear(&name);
    xl__str_clear(&title);
    return is_fine;
}

/* Links to all other pages, in two lists. */
static void add_contents(struct xl__str *out, const struct site *site)
{
    struct xl__str name = {0}, title = {0};
    xl__str_add(out,
                "<section id=\"pages\" aria-labelledby=\"h-pages\">\n"
                "<h2 id=\"h-pages\">Pages</h2>\n<h3>Devices</h3>\n<ul>\n");
    for (size_t i = 0; i < site->all.n_devices; i++) {
        const struct html_device *d = &site->all.devices[i];
        xl__str_reset(&name);
        add_device_file(&name, site, i);
        html_add(out, "<li><a href=\"%s\">%s</a> <small>%s %s</small></li>\n",
                 xl__str_text(&name), d->name, d->platform, d->driver);
    }
    xl__str_add(out, "</ul>\n<h3>Operations</h3>\n<ul>\n");
    for (size_t i = 0; i < site->all.n_groups; i++) {
        xl__str_reset(&name);
        xl__str_reset(&title);
        add_op_file(&name, site, i);
        html_op_title(&title, site->all.groups[i].op);
        if (name.len > 0)
            html_add(out, "<li><a href=\"%s\">%s</a></li>\n",
                     xl__str_text(&name), xl__str_text(&title));
    }
    xl__str_add(out, "</ul>\n</section>\n");
    out->broken = out->broken || name.broken || title.broken;
    xl__str_clear(&name);
    xl__str_clear(&title);
}

static bool write_index(const struct site *site)
{
    struct xl__str contents = {0}, text = {0};
    add_contents(&contents, site);
    const struct html_layout layout = {
        .title = "Devices compared",
        .links = "<li><a href=\"#pages\">Pages</a></li>\n",
        .intro = xl__str_text(&contents),
    };
    html_page_write(&text, &site->all, &layout);
    text.broken = text.broken || contents.broken;
    xl__str_clear(&contents);
    return write_file(site, "index.html", &text);
}

static bool write_pages(const struct site *site)
{
    errno = 0;
    const xl_status status = xl__dir_create_shared(site->folder);
    if (status != XL_OK)
        return report_unwritten(site, site->folder, status);
    bool is_fine = write_index(site);
    for (size_t i = 0; i < site->all.n_devices && is_fine; i++)
        is_fine = write_device(site, i);
    for (size_t i = 0; i < site->all.n_groups && is_fine; i++)
        is_fine = write_op(site, i);
    return is_fine;
}

/* -- the command ---------------------------------------------------------- */

static int run_site(struct session *s)
{
    int code = EXIT_FILE;
    struct site *site = xl__calloc(1, sizeof *site);
    if (!site)
        return session_fail(s, "writing pages", XL_NO_MEMORY, "");
    site->s = s;
    site->folder = s->set.words[0];
    if (s->set.n_words < 2 && s->set.with.n == 0) {
        session_message(s, "",
                        "site takes a folder and result files, such as "
                        "pages run.json; --with adds runs that come "
                        "with clbench");
        code = EXIT_USAGE;
    } else if (read_files(site)) {
        if (!html_page_gather(&site->all, site->files, site->n_files,
                              (struct html_choice){NULL, NULL}))
            code = session_fail(s, "writing pages", XL_NO_MEMORY, "");
        else if (write_pages(site))
            code = EXIT_FINE;
    }
    html_page_clear(&site->all);
    for (size_t i = 0; i < site->n_files; i++)
        result_file_clear(&site->files[i]);
    free(site);
    return code;
}

static const char *const options[] = {"with", NULL};

const struct command cmd_site = {
    .name = "site",
    .summary = "result files of several devices as pages that link",
    .words = "FOLDER [RUN.json...]",
    .about =
        "Writes a static collection of pages to FOLDER, which is created: "
        "index.html with the best rates of all devices side by side, a page a "
        "device, and a page an operation with its rows on each device. Each "
        "page needs no network, as those of --html. Files that are there are "
        "replaced.\n\n"
        "  clbench site pages gpu.json cpu.json\n"
        "  clbench site pages run.json --with h200",
    .options = options,
    .min_words = 1,
    .max_words = 1 + MOST_FILES,
    .run = run_site,
};
