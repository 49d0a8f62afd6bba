/* SPDX-License-Identifier: Apache-2.0 */
#include "results/results_words.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "base/alloc.h"
#include "results/json.h"
#include "report/section.h"

static void add_after(struct xl__str *out, const char *before,
                      const char *text)
{
    if (*text)
        xl__str_printf(out, "%s%s", out->len ? before : "", text);
}

void results_headline(const struct result_file *file, struct xl__str *out)
{
    const json_t *tool = json_object_get(file->document, "tool");
    const json_t *host = json_object_get(file->document, "host");
    const json_t *where = json_object_get(file->document, "environment");
    xl__str_add(out, "clbench");
    add_after(out, " ", json_text_at(tool, "command"));
    add_after(out, ", ", json_text_at(where, "date"));
    add_after(out, ", ", json_text_at(host, "cpu"));
    add_after(out, ", ", json_text_at(host, "os"));
    add_after(out, ", version ", json_text_at(tool, "version"));
}

void results_device_line(const json_t *device, struct xl__str *out)
{
    struct xl__str more = {0};
    const char *name = json_text_at(device, "name");
    const json_t *index = json_object_get(device, "index");
    if (json_is_integer(index))
        xl__str_printf(out, "%lld: ", (long long)json_integer_value(index));
    xl__str_add(out, *name ? name : "?");
    add_after(&more, "", json_text_at(device, "platform"));
    const char *driver = json_text_at(device, "driver");
    if (*driver)
        xl__str_printf(&more, "%sdriver %s", more.len ? ", " : "", driver);
    if (more.len > 0)
        xl__str_printf(out, " (%s)", xl__str_text(&more));
    xl__str_clear(&more);
}

static bool is_usual(const char *member)
{
    static const char *const members[] = {
        "schema", "tool", "host", "devices", "parts", "rows", "environment"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (strcmp(members[i], member) == 0)
            return true;
    return false;
}

/* What a command measured and no row can hold. */
static void add_others(const struct result_file *file, struct xl__str *out)
{
    const char *name = NULL, *before = "; beside them: ";
    json_t *value = NULL;
    json_object_foreach(file->document, name, value)
    {
        if (is_usual(name))
            continue;
        xl__str_printf(out, "%s%s", before, name);
        before = ", ";
    }
}

void results_tally(const struct result_file *file, struct xl__str *out)
{
    xl__str_printf(out, "%zu row%s", file->n_rows,
                   file->n_rows == 1 ? "" : "s");
    const char *before = ": ";
    for (unsigned v = XL_ROW_OK; v <= XL_ROW_ERROR; v++) {
        const char *name = xl_verdict_name((xl_verdict)v);
        size_t n = 0;
        for (size_t i = 0; i < file->n_rows; i++)
            n += strcmp(file->rows[i].verdict, name) == 0;
        if (n > 0) {
            xl__str_printf(out, "%s%zu %s", before, n, name);
            before = ", ";
        }
    }
    add_others(file, out);
}

/* -- parts ---------------------------------------------------------------- */

/* What is the same for all parts of a file. */
struct showing {
    const struct result_file *file;
    struct part_device *devices;
    struct settings set;
    bool is_whole;
    const struct display *to;
};

static bool option_was(const struct result_file *file, const char *name)
{
    const json_t *where = json_object_get(file->document, "environment");
    const json_t *options = json_object_get(where, "options");
    return json_is_true(json_object_get(options, name));
}

static bool same_part(const struct result_file *file, size_t i, size_t j)
{
    const json_t *part = result_part(file, &file->rows[i]);
    if (part != result_part(file, &file->rows[j]))
        return false;
    return part || strcmp(json_text_at(file->rows[i].json, "op"),
                          json_text_at(file->rows[j].json, "op")) == 0;
}

static bool begins_part(const struct result_file *file, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_part(file, i, j))
            return false;
    return true;
}

/* The part whose first row is `first`. */
static void show_part(const struct showing *s, size_t first)
{
    const struct result_file *file = s->file;
    const json_t *json = result_part(file, &file->rows[first]);
    const char *note = json_text_at(json, "note");
    struct part p = {
        .title = json_text_at(json ? json : file->rows[first].json,
                              json ? "title" : "op"),
        .note = *note ? note : NULL,
        .devices = s->devices,
        .n_devices = (unsigned)file->n_devices,
        .set = &s->set,
    };
    xl_row *row = xl__calloc(1, sizeof *row);
    for (size_t i = first; row && i < file->n_rows; i++) {
        if (!same_part(file, first, i))
            continue;
        result_row_read(&file->rows[i], row);
        if (s->is_whole || part_wants(row, &s->set))
            (void)rows_add(&p.rows, result_device(file, &file->rows[i]), row);
    }
    part_show(&p, s->to);
    free(row);
    rows_clear(&p.rows);
    notes_clear(&p.notes);
}

void results_show(const struct result_file *file, bool is_whole, bool is_quiet,
                  const struct display *to)
{
    const json_t *list = json_object_get(file->document, "devices");
    struct showing s = {.file = file, .is_whole = is_whole, .to = to};
    s.set.quick = option_was(file, "quick");
    s.set.full = option_was(file, "full");
    s.set.quiet = is_quiet;
    s.devices = xl__calloc(file->n_devices + 1, sizeof *s.devices);
    for (size_t i = 0; s.devices && i < file->n_devices; i++) {
        const json_t *dev = json_array_get(list, i);
        const char *name = json_text_at(dev, "name");
        const json_t *index = json_object_get(dev, "index");
        s.devices[i] = (struct part_device){
            dev,
            json_is_integer(index) ? (unsigned)json_integer_value(index)
                                   : (unsigned)i,
            *name ? name : "?"};
    }
    for (size_t i = 0; s.devices && i < file->n_rows; i++)
        if (begins_part(file, i))
            show_part(&s, i);
    for (size_t i = 0; file->n_rows == 0 && i < file->n_devices; i++)
        results_facts(json_array_get(list, i), to);
    free(s.devices);
}
