/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: rate by size, a colour for each type, a shape for each
 * library. Where only some sides grow, all together, they are the size;
 * otherwise it is the side of a cube of as much work, and a line joins what is
 * a cube indeed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "figure_data.h"
#include "json_values.h"
#include "units.h"

enum {
    LEFT = 92,
    RIGHT = 24,
    HEIGHT = 340,
    BELOW = 12,
    MOST_SERIES = 24,
    MOST_KINDS = 8, /* of types */
    KIND_CAP = 24
};

struct drawing {
    struct plot plot;
    const struct result_file *file;
    const json_t *device;
    char kind[MOST_KINDS][KIND_CAP]; /* "f16", "f32 split" */
    double roof[MOST_KINDS];
    unsigned n_kinds;
    struct plot_series marks[MOST_SERIES], line[MOST_SERIES];
    const char *who[MOST_SERIES];    /* "": ours */
    unsigned kind_of[MOST_SERIES];
    unsigned n_series;
    bool grows[3], is_sweep;         /* m, n, k */
    struct plot_labels taken;
};

/* -- sizes ---------------------------------------------------------------- */

static const char *const sides[3] = {"m", "n", "k"};

static void size_of(const struct result_row *row, double mnk[3])
{
    for (unsigned i = 0; i < 3; i++)
        mnk[i] = result_number(row, "shape", sides[i]);
}

static const struct result_row *next(const struct drawing *d, size_t *at)
{
    return figure_row(d->file, d->device, "gemm", at);
}

/* A sweep: the sides that are not the same everywhere are all alike in each
 * row. */
static void find_sweep(struct drawing *d)
{
    const struct result_row *row;
    double first[3], mnk[3];
    bool any = false;
    for (size_t i = 0; (row = next(d, &i));) {
        size_of(row, mnk);
        for (unsigned s = 0; s < 3; s++) {
            d->grows[s] = d->grows[s] || (any && mnk[s] != first[s]);
            first[s] = any ? first[s] : mnk[s];
        }
        any = true;
    }
    d->is_sweep = d->grows[0] || d->grows[1] || d->grows[2];
    for (size_t i = 0; (row = next(d, &i));) {
        double size = (double)NAN;
        size_of(row, mnk);
        for (unsigned s = 0; s < 3; s++) {
            if (!d->grows[s])
                continue;
            d->is_sweep = d->is_sweep && (isnan(size) || size == mnk[s]);
            size = mnk[s];
        }
    }
}

static double x_of(const struct drawing *d, const double mnk[3])
{
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            return mnk[s];
    return cbrt(mnk[0] * mnk[1] * mnk[2]);
}

static bool is_joined(const struct drawing *d, const struct result_row *row,
                      const double mnk[3])
{
    const double batch = result_number(row, "shape", "batch");
    return !(batch > 1) &&
           (d->is_sweep || (mnk[0] == mnk[1] && mnk[1] == mnk[2]));
}

static void name_axis(const struct drawing *d, char *out, size_t cap)
{
    struct xl__str text = {0};
    if (!d->is_sweep)
        xl__str_add(&text, "size: m = n = k, or the side of a cube of as "
                           "much work");
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            xl__str_printf(&text, "%s%s", text.len > 0 ? " = " : "", sides[s]);
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- series --------------------------------------------------------------- */

static unsigned find_kind(struct drawing *d, const struct result_row *row)
{
    const json_t *params = json_object_get(row->json, "params");
    const char *accuracy = json_text_at(params, "accuracy");
    char name[KIND_CAP];
    unsigned i = 0;
    snprintf(name, sizeof name, "%.10s%s%.12s",
             json_text_at(row->json, "dtype"), *accuracy ? " " : "", accuracy);
    while (i < d->n_kinds && strcmp(d->kind[i], name) != 0)
        i++;
    if (i == d->n_kinds && i < MOST_KINDS)
        xl__strcpy(d->kind[d->n_kinds++], KIND_CAP, name);
    return i < MOST_KINDS ? i : MOST_KINDS - 1;
}

static const char *who_of(const struct result_row *row)
{
    static const char *const starts[] = {"peer_", "gemm_"};
    if (!row->is_other)
        return "";
    for (unsigned i = 0; i < 2; i++)
        if (strncmp(row->variant, starts[i], strlen(starts[i])) == 0)
            return row->variant + strlen(starts[i]);
    return row->variant;
}

/* Which library is which shape: in the order they come, ours first. */
static unsigned shape_of(const struct drawing *d, const char *who)
{
    const char *seen[MOST_SERIES];
    unsigned n = 0;
    if (!*who)
        return 0;
    for (unsigned i = 0; i < d->n_series; i++) {
        bool is_new = *d->who[i] != '\0';
        for (unsigned j = 0; j < n; j++)
            is_new = is_new && strcmp(seen[j], d->who[i]) != 0;
        if (is_new)
            seen[n++] = d->who[i];
    }
    for (unsigned j = 0; j < n; j++)
        if (strcmp(seen[j], who) == 0)
            return j + 1;
    return n + 1;
}

static unsigned find_series(struct drawing *d, const struct result_row *row)
{
    const unsigned kind = find_kind(d, row);
    const char *who = who_of(row);
    unsigned i = 0;
    while (i < d->n_series &&
           !(d->kind_of[i] == kind && strcmp(d->who[i], who) == 0))
        i++;
    if (i < d->n_series || i == MOST_SERIES)
        return i < MOST_SERIES ? i : MOST_SERIES - 1;
    struct plot_series *s = &d->marks[i];
    s->colour = kind;
    s->shape = s->dash = shape_of(d, who);
    s->has_line = s->has_marks = true;
    struct xl__str name = {0};
    xl__str_printf(&name, "%s%s%s", d->kind[kind], *who ? " " : "", who);
    xl__strcpy(s->name, sizeof s->name, xl__str_text(&name));
    xl__str_clear(&name);
    d->line[i] = *s;
    d->kind_of[i] = kind;
    d->who[i] = who;
    d->n_series++;
    return i;
}

static void add_row(struct drawing *d, const struct result_row *row)
{
    struct plot_point point = {.is_hollow = !figure_is_firm(row)};
    const json_t *roof = json_object_get(
        json_object_get(row->json, "roof"), "value");
    double mnk[3], low, high;
    const unsigned i = find_series(d, row);
    size_of(row, mnk);
    figure_interval(row, &low, &high);
    point.x = x_of(d, mnk);
    point.y = figure_value(row);
    point.low = point.y * low;
    point.high = point.y * high;
    figure_tip(row, point.tip, sizeof point.tip);
    figure_case(row, point.label, sizeof point.label);
    if (!plot_add(&d->plot, &d->marks[i], &point))
        return;
    if (is_joined(d, row, mnk))
        (void)plot_add(&d->plot, &d->line[i], &point);
    if (json_is_number(roof) &&
        plot_can_show(&d->plot.y, json_number_value(roof)))
        d->roof[d->kind_of[i]] =
            fmax(d->roof[d->kind_of[i]], json_number_value(roof));
}

/* Of each size the best alone; of a sweep every size, else those that lie
 * closer than a picture shows are one. */
static void keep_best(struct plot_series *s, bool is_sweep)
{
    const double apart = is_sweep ? 1 : 1.04;
    size_t n = 0;
    plot_sort(s);
    for (size_t i = 0; i < s->n; i++) {
        if (n > 0 && s->at[i].x <= s->at[n - 1].x * apart) {
            if (s->at[i].y > s->at[n - 1].y)
                s->at[n - 1] = s->at[i];
        } else {
            s->at[n++] = s->at[i];
        }
    }
    s->n = n;
}

/* -- drawing -------------------------------------------------------------- */

static double tell(struct xl__str *out, const struct drawing *d)
{
    const struct plot_point *best = NULL;
    char rate[UNITS_CAP], text[160];
    for (unsigned i = 0; i < d->n_series; i++)
        for (size_t j = 0; j < d->marks[i].n && !*d->who[i]; j++)
            if (!best || d->marks[i].at[j].y > best->y)
                best = &d->marks[i].at[j];
    if (!best)
        return figure_headline(out, d->device, "Matrix products");
    units_format(rate, sizeof rate, best->y, "flop/s");
    snprintf(text, sizeof text, "%s at best: %s", rate, best->label);
    return figure_headline(out, d->device, text);
}

/* Level lines where the best of a type has its roof, named above. */
static void draw_roofs(struct xl__str *out, struct drawing *d)
{
    const struct plot *p = &d->plot;
    for (unsigned i = 0; i < d->n_kinds; i++) {
        char rate[UNITS_CAP], text[96];
        if (!(d->roof[i] > 0))
            continue;
        const double y = plot_y(p, d->roof[i]);
        units_format(rate, sizeof rate, d->roof[i], "flop/s");
        snprintf(text, sizeof text, "roof of %s: %s", d->kind[i], rate);
        svg_series(out, i);
        svg_line(out, p->left, y, p->left + p->width, y, 2);
        (void)plot_label(out, p, &d->taken, p->left, y - 8, text);
        svg_group_end(out);
    }
}

static void draw_all(struct xl__str *out, struct drawing *d)
{
    struct plot *p = &d->plot;
    struct xl__str body = {0};
    const double legend = tell(&body, d);
    p->top = plot_legend(&body, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE,
                         d->marks, d->n_series) + 26;
    const double bottom = plot_frame(&body, p);
    for (unsigned i = 0; i < d->n_series; i++)
        plot_line(&body, p, &d->line[i]);
    for (unsigned i = d->n_series; i-- > 0;) {
        plot_marks(&body, p, &d->marks[i]);
        plot_take_marks(&d->taken, p, &d->marks[i]);
    }
    draw_roofs(&body, d);
    figure_write(out, &figure_gemm, &body, bottom + BELOW);
}

/* Types far apart want a logarithmic axis, like ones one that begins at 0. */
static void choose_axis(struct drawing *d)
{
    static const double far = 8;
    for (unsigned i = 0; i < d->n_kinds; i++)
        plot_axis_hold(&d->plot.y, d->roof[i] > 0 ? d->roof[i] : (double)NAN);
    if (d->plot.y.to < far * d->plot.y.from) {
        d->plot.y.log_base = 0;
        plot_axis_hold(&d->plot.y, 0);
    }
    plot_axis_widen(&d->plot.x);
    plot_axis_widen(&d->plot.y);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    const struct result_row *row;
    struct drawing *d = xl__calloc(1, sizeof *d);
    char axis[80];
    size_t n = 0;
    if (!d)
        return false;
    d->file = file;
    d->device = device;
    find_sweep(d);
    name_axis(d, axis, sizeof axis);
    d->plot = (struct plot){.left = LEFT,
                            .width = SVG_WIDTH - LEFT - RIGHT,
                            .height = HEIGHT,
                            .x = plot_axis(2, "1", axis),
                            .y = plot_axis(10, "flop/s", "Rate")};
    for (size_t i = 0; (row = next(d, &i));)
        add_row(d, row);
    for (unsigned i = 0; i < d->n_series; i++) {
        n += d->marks[i].n;
        keep_best(&d->line[i], d->is_sweep);
    }
    choose_axis(d);
    if (n > 0)
        draw_all(out, d);
    for (unsigned i = 0; i < d->n_series; i++) {
        plot_series_clear(&d->marks[i]);
        plot_series_clear(&d->line[i]);
    }
    free(d);
    return n > 0;
}

const struct figure figure_gemm = {
    .name = "gemm",
    .title = "Matrix products",
    .about =
        "Rate by size, a colour for each type and a shape for each library, "
        "with the roof of each type: what measured memory and arithmetic "
        "allow. Lines join products of cubes, or the sizes of a sweep; hollow "
        "marks are in doubt.",
    .draw = draw,
};
