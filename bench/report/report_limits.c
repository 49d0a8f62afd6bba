/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"

void report_limiter(const xl_row *row, char *out, size_t cap)
{
    const xl_diagnosis *d = &row->diagnosis;
    snprintf(out, cap, "%s%s",
             d->limiter == XL_LIMITER_UNKNOWN ? "-"
                                              : xl_limiter_name(d->limiter),
             d->is_likely ? "?" : "");
}

static bool is_limited(const xl_row *row, xl_limiter by)
{
    return row->diagnosis.limiter == by && *row->diagnosis.evidence;
}

/* The evidence begins with the longest need's name, most often the limiter's
 * own. */
static const char *evidence_after(const xl_diagnosis *d)
{
    const char *name = xl_limiter_name(d->limiter);
    const size_t len = strlen(name);
    const bool is_named =
        strncmp(d->evidence, name, len) == 0 && d->evidence[len] == ':';
    return is_named ? d->evidence + len + 2 : d->evidence;
}

/* The row that took longest of those that one thing limits. */
static size_t longest(const struct rows *rows, xl_limiter by, size_t *count)
{
    size_t at = rows->n;
    *count = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        if (!is_limited(row, by))
            continue;
        ++*count;
        if (at == rows->n || row->samples.median_ns >
                                 rows->list[at].row.samples.median_ns)
            at = i;
    }
    return at;
}

/* "107 GFLOP/s, 1.25 GB/s, busy 98%": three numbers that are not one. */
static void add_rates(struct xl__str *out, const xl_diagnosis *d)
{
    char text[UNITS_CAP];
    const char *before = "; achieved ";
    if (d->flop_per_s > 0) {
        units_format(text, sizeof text, d->flop_per_s, "flop/s");
        xl__str_printf(out, "%s%s", before, text);
        before = ", ";
    }
    if (d->bytes_per_s > 0) {
        units_format(text, sizeof text, d->bytes_per_s, "B/s");
        xl__str_printf(out, "%s%s", before, text);
        before = ", ";
    }
    if (!isnan(d->busy)) {
        units_percent(text, sizeof text, d->busy);
        xl__str_printf(out, "; busy %s of the host's time", text);
    }
}

static void show_limiter(const struct rows *rows, xl_limiter by,
                         const struct display *to)
{
    struct xl__str text = {0}, name = {0};
    size_t count = 0;
    const size_t at = longest(rows, by, &count);
    if (count == 0)
        return;
    const xl_diagnosis *d = &rows->list[at].row.diagnosis;
    xl__str_printf(&text, "limited by %s", xl_limiter_name(by));
    if (count > 1) {
        rows_case(rows, at, &name);
        xl__str_printf(&text, ", %zu of %zu, such as %s", count, rows->n,
                       xl__str_text(&name));
    }
    xl__str_printf(&text, ": %s", evidence_after(d));
    add_rates(&text, d);
    if (by != XL_LIMITER_UNKNOWN)
        xl__str_printf(&text, ". To do: %s", xl_limiter_advice(by));
    to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
    xl__str_clear(&name);
}

/* -- intensity by type ---------------------------------------------------- */

static void add_range(struct xl__str *out, const struct rows *rows,
                      xl_dtype dtype)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const xl_row *row = &rows->list[i].row;
        const double x = row->diagnosis.intensity;
        if (row->dtype != dtype || !(x > 0))
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    if (!(most > 0))
        return;
    xl__str_printf(out, "%s%s %.3g", out->len ? ", " : "",
                   xl_dtype_name(dtype), least);
    if (most > least)
        xl__str_printf(out, " to %.3g", most);
}

static void show_intensity(const struct rows *rows, const struct display *to)
{
    struct xl__str text = {0}, line = {0};
    for (unsigned t = 0; t < XL_N_DTYPES; t++)
        add_range(&text, rows, (xl_dtype)t);
    if (text.len > 0) {
        xl__str_printf(&line, "arithmetic intensity, flop/B: %s",
                       xl__str_text(&text));
        to->text(to->arg, xl__str_text(&line));
    }
    xl__str_clear(&text);
    xl__str_clear(&line);
}

/* -- engines that lie idle ------------------------------------------------ */

static bool was_said(const struct rows *rows, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(rows->list[i].row.diagnosis.engine,
                   rows->list[at].row.diagnosis.engine) == 0)
            return true;
    return false;
}

static void show_engines(const struct rows *rows, const struct display *to)
{
    for (size_t i = 0; i < rows->n; i++) {
        const char *engine = rows->list[i].row.diagnosis.engine;
        if (*engine && !was_said(rows, i))
            to->text(to->arg, engine);
    }
}

void report_limits(const struct rows *rows, const struct display *to)
{
    for (unsigned by = 0; by < XL_N_LIMITERS; by++)
        show_limiter(rows, (xl_limiter)by, to);
    show_intensity(rows, to);
    show_engines(rows, to);
}
