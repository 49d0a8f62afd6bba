/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a command line asks for, and their formats. A file that
 * cannot be written is reported once, and written again after the next
 * section: a disk that was full for a while loses nothing. */
#include "report/outputs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "report/figure_files.h"
#include "report/html_page.h"
#include "report/markdown.h"

/* -- formats -------------------------------------------------------------- */

/* The document as JSON, of the first file. */
static void render_document(const struct result_file *files, size_t n,
                            struct xl__str *out)
{
    char *text = n > 0 ? json_dumps(files[0].document, JSON_INDENT(1)) : NULL;
    if (text) {
        xl__str_add(out, text);
        xl__str_add(out, "\n");
    } else {
        out->broken = true;
    }
    free(text);
}

const struct renderer render_json = {"json", render_document};

/* In the order of the help. Adding one: its file, an option of its name, a
 * line here. */
/* clang-format off */
const struct renderer *const renderers[] = {
    &render_csv,
    &render_markdown,
    &render_html,
    NULL,
};
/* clang-format on */

/* -- files ---------------------------------------------------------------- */

/* Every option that may name a file; the first N_OF_RESULTS are of results. */
static const char *const file_options[] = {"json", "csv",   "markdown",
                                           "html", "trace", NULL};
enum { N_OF_RESULTS = 4 };

/* The path that an option was given; NULL: none. */
static const char *find_path(const struct settings *set, const char *option)
{
    const struct option_row *row = option_find(option);
    const void *field = row ? (const char *)set + row->offset : NULL;
    return field ? *(const char *const *)field : NULL;
}

bool outputs_requested(const struct settings *set)
{
    bool is_requested = set->svg != NULL;
    for (size_t i = 0; i < N_OF_RESULTS; i++)
        is_requested = is_requested || find_path(set, file_options[i]);
    return is_requested;
}

bool outputs_clash(const struct settings *set, const char **a, const char **b)
{
    for (size_t i = 0; file_options[i]; i++)
        for (size_t j = 0; j < i; j++) {
            const char *path = find_path(set, file_options[j]);
            if (!path || !xl__streq(path, find_path(set, file_options[i])))
                continue;
            *a = file_options[j];
            *b = file_options[i];
            return true;
        }
    return false;
}

bool outputs_use_stdout(const struct settings *set)
{
    for (size_t i = 0; file_options[i]; i++) {
        const char *path = find_path(set, file_options[i]);
        if (path && out_file_is_stdout(path))
            return true;
    }
    return false;
}

void outputs_begin(struct outputs *o, struct session *s)
{
    *o = (struct outputs){.s = s};
}

static void add_output(struct outputs *o, const char *option, const char *path,
                       const struct renderer *format)
{
    if (o->n < OUTPUTS_MOST)
        o->list[o->n++] = (struct output){option, path, format, false};
}

bool outputs_add(struct outputs *o, const struct renderer *format)
{
    const char *path = find_path(&o->s->set, format->name);
    if (path && !out_file_check(o->s, format->name, path))
        return false;
    if (path)
        add_output(o, format->name, path, format);
    return true;
}

bool outputs_add_all(struct outputs *o, const struct renderer *const *formats)
{
    for (; *formats; formats++)
        if (!outputs_add(o, *formats))
            return false;
    return true;
}

bool outputs_add_figures(struct outputs *o)
{
    const char *folder = o->s->set.svg;
    if (folder && !figure_files_check(o->s, folder))
        return false;
    if (folder)
        add_output(o, "svg", folder, NULL);
    return true;
}

/* Writes one file. Keeps errno of a failure. */
static xl_status write_output(const struct output *out,
                              const struct result_file *files, size_t n,
                              bool is_end)
{
    struct xl__str text = {0};
    if (!out->format)
        return figure_files_write(out->path, files, n);
    if (out_file_is_stream(out->path) && !is_end)
        return XL_OK;
    out->format->render(files, n, &text);
    errno = 0;
    const xl_status status =
        text.broken
            ? XL_NO_MEMORY
            : out_file_replace(out->path, xl__str_text(&text), text.len);
    const int kept = errno;
    xl__str_clear(&text);
    errno = kept;
    return status;
}

/* Reports a failure unless the last writing failed as well. */
static void set_failure(struct outputs *o, struct output *out,
                        xl_status status)
{
    if (status != XL_OK && !out->has_failed)
        (void)out_file_report(o->s, out->option, out->path, status);
    out->has_failed = status != XL_OK;
}

void outputs_fail(struct outputs *o, xl_status status)
{
    errno = 0;
    for (size_t i = 0; i < o->n; i++)
        set_failure(o, &o->list[i], status);
}

void outputs_write(struct outputs *o, const struct result_file *files,
                   size_t n, bool is_end)
{
    for (size_t i = 0; i < o->n; i++)
        set_failure(o, &o->list[i],
                    write_output(&o->list[i], files, n, is_end));
}

int outputs_code(const struct outputs *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].has_failed)
            return EXIT_FILE;
    return EXIT_FINE;
}
