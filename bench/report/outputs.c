/* SPDX-License-Identifier: Apache-2.0 */
/* A file that cannot be written is told once, and tried again: a disk that was
 * full for a while costs nothing. */
#include "report/outputs.h"

#include <errno.h>

#include "base/str.h"
#include "report/figure_files.h"
#include "cli/output_file.h"
#include "cli/session.h"

/* Every option that may name a file; the first ones are of results. */
static const char *const file_options[] = {"json", "csv",   "markdown",
                                           "html", "trace", NULL};
enum { N_OF_RESULTS = 4 };

static const char *path_of(const struct settings *set, const char *option)
{
    const struct option_row *row = option_find(option);
    const void *field = row ? (const char *)set + row->offset : NULL;
    return field ? *(const char *const *)field : NULL;
}

bool outputs_are_wanted(const struct settings *set)
{
    bool is_wanted = set->svg != NULL;
    for (size_t i = 0; i < N_OF_RESULTS; i++)
        is_wanted = is_wanted || path_of(set, file_options[i]);
    return is_wanted;
}

bool outputs_clash(const struct settings *set, const char **a, const char **b)
{
    for (size_t i = 0; file_options[i]; i++)
        for (size_t j = 0; j < i; j++) {
            const char *path = path_of(set, file_options[j]);
            if (!path || !xl__streq(path, path_of(set, file_options[i])))
                continue;
            *a = file_options[j];
            *b = file_options[i];
            return true;
        }
    return false;
}

bool outputs_take_stdout(const struct settings *set)
{
    for (size_t i = 0; file_options[i]; i++) {
        const char *path = path_of(set, file_options[i]);
        if (path && out_file_is_stdout(path))
            return true;
    }
    return false;
}

void outputs_begin(struct outputs *o, struct session *s)
{
    *o = (struct outputs){.s = s};
}

static void add(struct outputs *o, const char *option, const char *path,
                const struct renderer *format)
{
    if (o->n < OUTPUTS_MOST)
        o->list[o->n++] = (struct output){option, path, format, false};
}

bool outputs_add(struct outputs *o, const struct renderer *format)
{
    const char *path = path_of(&o->s->set, format->name);
    if (path && !out_file_check(o->s, format->name, path))
        return false;
    if (path)
        add(o, format->name, path, format);
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
    if (folder && !figure_files_try(o->s, folder))
        return false;
    if (folder)
        add(o, "svg", folder, NULL);
    return true;
}

static xl_status write_one(const struct output *out,
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

static void settle(struct outputs *o, struct output *out, xl_status status)
{
    if (status != XL_OK && !out->has_failed)
        (void)out_file_report(o->s, out->option, out->path, status);
    out->has_failed = status != XL_OK;
}

void outputs_fail(struct outputs *o, xl_status status)
{
    errno = 0;
    for (size_t i = 0; i < o->n; i++)
        settle(o, &o->list[i], status);
}

void outputs_write(struct outputs *o, const struct result_file *files,
                   size_t n, bool is_end)
{
    for (size_t i = 0; i < o->n; i++)
        settle(o, &o->list[i], write_one(&o->list[i], files, n, is_end));
}

int outputs_code(const struct outputs *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].has_failed)
            return EXIT_FILE;
    return EXIT_FINE;
}
