/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what figures show from a document, and writes their common frame. */
#include "charts/figure_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "results/json.h"
#include "cli/console.h"
#include "cli/units.h"

const struct result_row *figure_row(const struct result_file *file,
                                    const json_t *device, const char *op,
                                    size_t *at)
{
    const json_t *index = json_object_get(device, "index");
    while (*at < file->n_rows) {
        const struct result_row *row = &file->rows[(*at)++];
        if (result_is_timed(row) && (!op || xl__streq(op, figure_op(row))) &&
            json_equal(json_object_get(row->json, "device"), index))
            return row;
    }
    return NULL;
}

const json_t *figure_entry(const struct result_file *file,
                           const json_t *device, const char *list)
{
    const json_t *entries = json_object_get(file->document, list);
    const json_t *index = json_object_get(device, "index");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const json_t *entry_index = json_object_get(entry, "device");
        if (json_is_integer(entry_index) ? json_equal(entry_index, index)
                                         : file->n_devices == 1)
            return entry;
    }
    return NULL;
}

const char *figure_op(const struct result_row *row)
{
    return json_text_at(row->json, "op");
}

bool figure_is_firm(const struct result_row *row)
{
    return xl__streq(row->verdict, "ok");
}

double figure_value(const struct result_row *row)
{
    return result_number(row, NULL, "value");
}

const struct result_row *figure_find(const struct result_file *file,
                                     const json_t *device, const char *op,
                                     const char *variant)
{
    const struct result_row *row;
    for (size_t i = 0; (row = figure_row(file, device, op, &i));)
        if (xl__streq(row->variant, variant))
            return row;
    return NULL;
}

double figure_found(const struct result_file *file, const json_t *device,
                    const char *op, const char *variant)
{
    const json_t *index = json_object_get(device, "index");
    for (size_t i = 0; i < file->n_rows; i++) {
        const struct result_row *row = &file->rows[i];
        if (xl__streq(figure_op(row), op) &&
            xl__streq(row->variant, variant) && figure_is_firm(row) &&
            json_equal(json_object_get(row->json, "device"), index))
            return figure_value(row);
    }
    return (double)NAN;
}

void figure_collect(const struct result_file *file, const json_t *device,
                    const struct figure_curve *curve, struct plot *p,
                    struct plot_series *s)
{
    const struct result_row *row;
    for (size_t i = 0; (row = figure_row(file, device, curve->op, &i));) {
        struct plot_point point = {.is_hollow = !figure_is_firm(row)};
        double low, high;
        if (!xl__streq(row->variant, curve->variant))
            continue;
        point.x =
            result_number(row, curve->member, curve->name) * curve->factor;
        point.y = curve->y(row);
        figure_interval(row, &low, &high);
        point.low = point.y * low;
        point.high = point.y * high;
        char x[UNITS_CAP], y[UNITS_CAP];
        plot_format(x, sizeof x, point.x, p->x.unit);
        plot_format(y, sizeof y, point.y, p->y.unit);
        snprintf(point.tip, sizeof point.tip, "%s: %s at %s%s%s", s->name, y,
                 x, point.is_hollow ? "; " : "",
                 point.is_hollow ? row->verdict : "");
        (void)plot_add(p, s, &point);
    }
    plot_sort(s);
}

/* -- labels --------------------------------------------------------------- */

/* Are all sizes equal? Then the label has one of them. */
static bool is_cube(const xl_row *row)
{
    for (unsigned i = 1; i < row->n_shape; i++)
        if (row->shape[i].value != row->shape[0].value)
            return false;
    return row->n_shape > 2;
}

/* The text of a parameter; "": none. */
static const char *param_text(const xl_row *row, const char *name)
{
    for (unsigned i = 0; i < row->n_params; i++)
        if (xl__streq(row->params[i].name, name))
            return row->params[i].text;
    return "";
}

void figure_case(const struct result_row *row, char *out, size_t cap)
{
    struct xl__str text = {0};
    char number[UNITS_CAP];
    xl_row identity;
    result_identity(row, &identity);
    const char *named = param_text(&identity, "case");
    const unsigned n = is_cube(&identity) ? 1 : identity.n_shape;
    xl__str_add(&text, named);
    for (unsigned i = 0; i < n && !*named; i++) {
        units_number(number, sizeof number, identity.shape[i].value);
        xl__str_printf(&text, "%s%s", i > 0 ? "x" : "", number);
    }
    if (identity.dtype < XL_N_DTYPES)
        xl__str_printf(&text, "%s%s", text.len > 0 ? " " : "",
                       xl_dtype_name(identity.dtype));
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* Copies the text, cut at the end of a character of UTF-8. */
static void copy_cut(char *out, size_t cap, const struct xl__str *text)
{
    size_t len = text->len < cap ? text->len : cap - 1;
    while (len < text->len && len > 0 &&
           ((unsigned char)text->text[len] & 0xc0) == 0x80)
        len--;
    memcpy(out, xl__str_text(text), len);
    out[len] = '\0';
}

void figure_tip(const struct result_row *row, char *out, size_t cap)
{
    struct xl__str text = {0};
    char of[80], value[UNITS_CAP], frac[UNITS_CAP];
    const char *reason = json_text_at(row->json, "reason");
    figure_case(row, of, sizeof of);
    units_format(value, sizeof value, figure_value(row),
                 json_text_at(row->json, "unit"));
    xl__str_printf(&text, "%s %s", figure_op(row), row->variant);
    xl__str_printf(&text, "%s%s: %s", *of ? ", " : "", of, value);
    if (isfinite(row->frac)) {
        units_percent(frac, sizeof frac, row->frac);
        xl__str_printf(
            &text, ", %s of its roof (%s)", frac,
            json_text_at(json_object_get(row->json, "roof"), "name"));
    }
    if (!figure_is_firm(row))
        xl__str_printf(&text, "; %s%s%s", row->verdict, *reason ? ": " : "",
                       reason);
    copy_cut(out, cap, &text);
    xl__str_clear(&text);
}

void figure_interval(const struct result_row *row, double *low, double *high)
{
    enum {
        FEWEST = 6
    }; /* fewer samples have no 95 % interval by order statistics */
    *low = *high = (double)NAN;
    if (row->n < FEWEST)
        return;
    const struct xl__summary s = xl__summarise(row->ns, row->n);
    *low = s.median / s.hi;
    *high = s.median / s.lo;
}

double figure_fact(const json_t *device, const char *name)
{
    const json_t *value = json_object_get(result_fact(device, name), "value");
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool figure_is_measured(const json_t *device, const char *name)
{
    return xl__streq(json_text_at(result_fact(device, name), "source"),
                     "measured");
}

void figure_write(struct xl__str *out, const struct figure *figure,
                  struct xl__str *body, double height)
{
    svg_begin(out, SVG_WIDTH, height, figure->title, figure->about);
    xl__str_add(out, xl__str_text(body));
    svg_end(out);
    out->broken = out->broken || body->broken;
    xl__str_clear(body);
}

double figure_headline(struct xl__str *out, const json_t *device,
                       const char *headline)
{
    enum { LINE = 20, NEXT = 10 };
    const char *name = json_text_at(device, "name");
    double y = svg_heading(out, PLOT_EDGE, LINE, headline);
    svg_aside(out);
    y = svg_paragraph(out, PLOT_EDGE, y, svg_small, SVG_LETTERS,
                      *name ? name : "unknown device");
    svg_group_end(out);
    return y + NEXT;
}

double figure_plot(struct xl__str *out, struct plot *p, double y,
                   const struct plot_series *s, unsigned n)
{
    static const double label = 26; /* of the y axis, above it */
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    p->width = SVG_WIDTH - p->left - 2 * PLOT_EDGE;
    p->top = plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, s, n) +
             label;
    const double bottom = plot_frame(out, p);
    for (unsigned i = n; i-- > 0;)
        if (s[i].has_line)
            plot_line(out, p, &s[i]);
    for (unsigned i = n; i-- > 0;)
        if (s[i].has_marks)
            plot_marks(out, p, &s[i]);
    return bottom;
}
