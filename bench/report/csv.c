/* SPDX-License-Identifier: Apache-2.0 */
/* Results as CSV (RFC 4180): one header line, then every row of every file, a
 * column per field that rows have in common. What is not known is empty. A
 * text that a spreadsheet would take for a formula gets an apostrophe in front
 * of it: results may come from anywhere. */
#include "report/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/console.h"
#include "report/outputs.h"
#include "results/json.h"

const char csv_end[] = "\r\n";

/* The row that a line is made of. */
struct csv_line {
    const struct result_file *file;
    const struct result_row *row;
    struct xl__summary times; /* of its samples; NaN: none */
    struct xl__str *out;
};

/* -- a field -------------------------------------------------------------- */

void csv_text(struct xl__str *out, const char *text)
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

void csv_number(struct xl__str *out, double value)
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

/* A member of the row that is text, as it is. */
static void add_member(const struct csv_line *l, const char *member)
{
    csv_text(l->out, json_text_at(l->row->json, member));
}

/* "m=64 n=64 k=64" */
static void add_settings(const struct csv_line *l, const char *member)
{
    struct xl__str text = {0};
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(json_object_get(l->row->json, member), name, value)
    {
        xl__str_printf(&text, "%s%s=", text.len ? " " : "", name);
        if (json_is_number(value))
            csv_number(&text, json_number_value(value));
        else if (json_is_string(value))
            xl__str_add(&text, json_string_value(value));
    }
    csv_text(l->out, xl__str_text(&text));
    l->out->broken = l->out->broken || text.broken;
    xl__str_clear(&text);
}

/* -- columns -------------------------------------------------------------- */

static void add_file(const struct csv_line *l)
{
    csv_text(l->out, l->file->path);
}

static void add_device(const struct csv_line *l)
{
    csv_text(l->out, result_device_name(l->file, l->row));
}

static void add_driver(const struct csv_line *l)
{
    csv_text(l->out, json_text_at(result_device(l->file, l->row), "driver"));
}

static void add_shape(const struct csv_line *l)
{
    add_settings(l, "shape");
}

static void add_params(const struct csv_line *l)
{
    add_settings(l, "params");
}

static void add_median(const struct csv_line *l)
{
    csv_number(l->out, result_number(l->row, NULL, "median_ns"));
}

static void add_mad(const struct csv_line *l)
{
    csv_number(l->out, result_number(l->row, NULL, "mad_ns"));
}

static void add_lo(const struct csv_line *l)
{
    csv_number(l->out, l->times.lo);
}

static void add_hi(const struct csv_line *l)
{
    csv_number(l->out, l->times.hi);
}

static void add_runs(const struct csv_line *l)
{
    csv_number(l->out, result_number(l->row, NULL, "runs"));
}

static void add_value(const struct csv_line *l)
{
    csv_number(l->out, result_number(l->row, NULL, "value"));
}

static void add_roof(const struct csv_line *l)
{
    csv_text(l->out,
             json_text_at(json_object_get(l->row->json, "roof"), "name"));
}

static void add_roof_value(const struct csv_line *l)
{
    csv_number(l->out, result_number(l->row, "roof", "value"));
}

static void add_frac(const struct csv_line *l)
{
    csv_number(l->out, l->row->frac);
}

static void add_limiter(const struct csv_line *l)
{
    const json_t *diagnosis = json_object_get(l->row->json, "diagnosis");
    csv_text(l->out, json_text_at(diagnosis, "limiter"));
}

/* The codes of the warnings, separated by blanks. */
static void add_warnings(const struct csv_line *l)
{
    const json_t *list = json_object_get(l->row->json, "warnings");
    struct xl__str text = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *code = json_string_value(json_array_get(list, i));
        xl__str_printf(&text, "%s%s", text.len ? " " : "", code ? code : "");
    }
    csv_text(l->out, xl__str_text(&text));
    l->out->broken = l->out->broken || text.broken;
    xl__str_clear(&text);
}

/* A column is a function, or the row's member of its name. */
/* clang-format off */
static const struct {
    const char *name;
    void (*add)(const struct csv_line *l);
} columns[] = {
    {"file", add_file},
    {"device", add_device},
    {"driver", add_driver},
    {"id", NULL},
    {"op", NULL},
    {"variant", NULL},
    {"shape", add_shape},
    {"params", add_params},
    {"dtype", NULL},
    {"cache", NULL},
    {"median_ns", add_median},
    {"mad_ns", add_mad},
    {"lo_ns", add_lo},
    {"hi_ns", add_hi},
    {"runs", add_runs},
    {"value", add_value},
    {"unit", NULL},
    {"roof", add_roof},
    {"roof_value", add_roof_value},
    {"frac", add_frac},
    {"limiter", add_limiter},
    {"verdict", NULL},
    {"reason", NULL},
    {"warnings", add_warnings},
};
/* clang-format on */
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

/* A line of the file: a field for each column. */
static void add_row(const struct result_file *from,
                    const struct result_row *row, struct xl__str *out)
{
    struct csv_line l = {from, row, {.lo = NAN, .hi = NAN}, out};
    if (row->n > 0)
        l.times = xl__summarise(row->ns, row->n);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        xl__str_add(out, i > 0 ? "," : "");
        if (columns[i].add)
            columns[i].add(&l);
        else
            add_member(&l, columns[i].name);
    }
    xl__str_add(out, csv_end);
}

static void render_csv_rows(const struct result_file *files, size_t n,
                            struct xl__str *out)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        xl__str_printf(out, "%s%s", i > 0 ? "," : "", columns[i].name);
    xl__str_add(out, csv_end);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < files[i].n_rows; j++)
            add_row(&files[i], &files[i].rows[j], out);
}

const struct renderer render_csv = {"csv", render_csv_rows};
