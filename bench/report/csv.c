/* SPDX-License-Identifier: Apache-2.0 */
/* Results as CSV (RFC 4180): one header line, then every row of every file. A
 * column is a field of the row by its path in JSON, "roof.name"; where names
 * differ from row to row, each has a column, "shape.m". Samples and passes are
 * left out, and what is not known is empty. A text that a spreadsheet would
 * take for a formula gets an apostrophe in front of it: results may come from
 * anywhere. */
#include "report/outputs.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "report/outputs.h"
#include "results/fields.h"
#include "results/json.h"
#include "results/result.h"

static const char line_end[] = "\r\n";

/* -- a field -------------------------------------------------------------- */

/* Appends a field, in quotes where RFC 4180 requires them. */
static void add_text(struct xl__str *out, const char *text)
{
    struct xl__str clean = {0};
    if (*text && strchr("=+-@\n", *text))
        xl__str_add(&clean, "'");
    text_escape_lines(&clean, text);
    const char *c = xl__str_text(&clean);
    const bool is_quoted = c[strcspn(c, ",\"\n")] != '\0';
    xl__str_add(out, is_quoted ? "\"" : "");
    for (; *c; c++) {
        xl__str_add_n(out, c, 1);
        xl__str_add(out, *c == '"' ? "\"" : "");
    }
    xl__str_add(out, is_quoted ? "\"" : "");
    out->broken = out->broken || clean.broken;
    xl__str_clear(&clean);
}

/* The fewest digits that read back as the same number; nothing when unknown.
 */
static void add_number(struct xl__str *out, double value)
{
    enum { FEWEST_DIGITS = 15, MOST_DIGITS = 17 };
    char digits[32] = "";
    for (int n = FEWEST_DIGITS; n <= MOST_DIGITS && isfinite(value); n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (!(strtod(digits, NULL) < value || strtod(digits, NULL) > value))
            break;
    }
    xl__str_add(out, digits);
}

/* Numbers, texts, and lists of texts with blanks between them. */
static void add_value(struct xl__str *out, const json_t *value)
{
    struct xl__str text = {0};
    if (json_is_number(value))
        add_number(out, json_number_value(value));
    else if (json_is_boolean(value))
        xl__str_add(out, json_is_true(value) ? "true" : "false");
    else if (json_is_string(value))
        xl__str_add(&text, json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *one = json_string_value(json_array_get(value, i));
        xl__str_printf(&text, "%s%s", i ? " " : "", one ? one : "");
    }
    add_text(out, xl__str_text(&text));
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

/* -- columns -------------------------------------------------------------- */

/* A member of a row: `name` in the object at the path. */
struct csv_column {
    char *path, *name;
};

struct csv_table {
    const struct result_file *files;
    size_t n_files;
    struct csv_column *columns;
    size_t n, cap;
    struct xl__str *out;
};

/* The object of a row at "diagnosis.need_ns"; the row itself at "". */
static const json_t *find_object(const json_t *row, const char *path)
{
    struct xl__str name = {0};
    while (*path) {
        const size_t len = strcspn(path, ".");
        xl__str_reset(&name);
        xl__str_add_n(&name, path, len);
        row = json_object_get(row, xl__str_text(&name));
        path += len + (path[len] == '.');
    }
    xl__str_clear(&name);
    return row;
}

static void add_column(struct csv_table *t, const char *path, size_t len,
                       const char *name)
{
    struct xl__str text = {0};
    xl__str_add_n(&text, path, len);
    xl__str_add(&text, "");
    struct csv_column column = {xl__str_steal(&text), xl__strdup(name)};
    if (column.path && column.name &&
        xl__grow(&t->columns, &t->cap, t->n + 1, sizeof *t->columns)) {
        t->columns[t->n++] = column;
        return;
    }
    free(column.path);
    free(column.name);
    t->out->broken = true;
}

static bool has_column(const struct csv_table *t, size_t first,
                       const char *name)
{
    for (size_t i = first; i < t->n; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return true;
    return false;
}

/* A column for each name that a row has in the object at the path. */
static void add_columns_of_names(struct csv_table *t, const char *path)
{
    const size_t first = t->n;
    for (size_t i = 0; i < t->n_files; i++)
        for (size_t j = 0; j < t->files[i].n_rows; j++) {
            const json_t *row = t->files[i].rows[j].json;
            const char *name = NULL;
            json_t *value = NULL;
            json_object_foreach(
                (json_t *)(uintptr_t)find_object(row, path), name, value)
                if (!has_column(t, first, name))
                    add_column(t, path, strlen(path), name);
        }
}

static void add_field(void *arg, const char *path, const struct field *f)
{
    const char *dot = strrchr(path, '.');
    if (f->type->form == FIELD_MAP)
        add_columns_of_names(arg, path);
    else if (f->type->form == FIELD_SCALAR)
        add_column(arg, path, dot ? (size_t)(dot - path) : 0, f->name);
}

/* -- lines ---------------------------------------------------------------- */

static void add_head(const struct csv_table *t)
{
    struct xl__str name = {0};
    xl__str_add(t->out, "file,device,driver");
    for (size_t i = 0; i < t->n; i++) {
        const struct csv_column *c = &t->columns[i];
        xl__str_reset(&name);
        xl__str_printf(&name, "%s%s%s", c->path, *c->path ? "." : "",
                       c->name);
        xl__str_add(t->out, ",");
        add_text(t->out, xl__str_text(&name));
    }
    xl__str_add(t->out, line_end);
    t->out->broken = t->out->broken || name.broken;
    xl__str_clear(&name);
}

static void add_row(const struct csv_table *t, const struct result_file *file,
                    const struct result_row *row)
{
    add_text(t->out, file->path);
    xl__str_add(t->out, ",");
    add_text(t->out, result_device_name(file, row));
    xl__str_add(t->out, ",");
    add_text(t->out, json_text_at(result_device(file, row), "driver"));
    for (size_t i = 0; i < t->n; i++) {
        const json_t *in = find_object(row->json, t->columns[i].path);
        xl__str_add(t->out, ",");
        add_value(t->out, json_object_get(in, t->columns[i].name));
    }
    xl__str_add(t->out, line_end);
}

static void render_csv_rows(const struct result_file *files, size_t n,
                            struct xl__str *out)
{
    struct csv_table t = {.files = files, .n_files = n, .out = out};
    fields_visit(row_fields, "", add_field, &t);
    add_head(&t);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < files[i].n_rows; j++)
            add_row(&t, &files[i], &files[i].rows[j]);
    for (size_t i = 0; i < t.n; i++) {
        free(t.columns[i].path);
        free(t.columns[i].name);
    }
    free(t.columns);
}

const struct renderer render_csv = {"csv", render_csv_rows};
