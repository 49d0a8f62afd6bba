/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: rate by size, for each type and each library. Where only
 * some sides grow, all together, they are the size; otherwise it is the side
 * of a cube of as much work, and a line joins what is a cube indeed. */
#include "charts/figure_gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "results/json.h"

/* -- sizes ---------------------------------------------------------------- */

static const char *const sides[3] = {"m", "n", "k"};

static void size_of(const struct result_row *row, double mnk[3])
{
    for (unsigned i = 0; i < 3; i++)
        mnk[i] = result_number(row, "shape", sides[i]);
}

static const struct result_row *next(const struct gemm_picture *d, size_t *at)
{
    return figure_row(d->file, d->device, "gemm", at);
}

/* A sweep: the sides that are not the same everywhere are all alike in each
 * row. */
static void find_sweep(struct gemm_picture *d)
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

static double x_of(const struct gemm_picture *d, const double mnk[3])
{
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            return mnk[s];
    return cbrt(mnk[0] * mnk[1] * mnk[2]);
}

static bool is_joined(const struct gemm_picture *d,
                      const struct result_row *row, const double mnk[3])
{
    const double batch = result_number(row, "shape", "batch");
    return !(batch > 1) &&
           (d->is_sweep || (mnk[0] == mnk[1] && mnk[1] == mnk[2]));
}

static void name_axis(const struct gemm_picture *d, char *out, size_t cap)
{
    struct xl__str text = {0};
    if (!d->is_sweep)
        xl__str_add(&text, "size");
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            xl__str_printf(&text, "%s%s", text.len > 0 ? " = " : "", sides[s]);
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- series --------------------------------------------------------------- */

static unsigned find_kind(struct gemm_picture *d, const struct result_row *row)
{
    const json_t *params = json_object_get(row->json, "params");
    const char *accuracy = json_text_at(params, "accuracy");
    char name[GEMM_KIND_CAP];
    unsigned i = 0;
    snprintf(name, sizeof name, "%.10s%s%.12s",
             json_text_at(row->json, "dtype"), *accuracy ? " " : "", accuracy);
    while (i < d->n_kinds && strcmp(d->kind[i], name) != 0)
        i++;
    if (i == d->n_kinds && i < GEMM_KINDS)
        xl__strcpy(d->kind[d->n_kinds++], GEMM_KIND_CAP, name);
    return i < GEMM_KINDS ? i : GEMM_KINDS - 1;
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
static unsigned shape_of(const struct gemm_picture *d, const char *who)
{
    unsigned most = 0;
    for (unsigned i = 0; i < d->n_series; i++) {
        if (strcmp(d->series[i].who, who) == 0)
            return d->series[i].who_shape;
        most = d->series[i].who_shape > most ? d->series[i].who_shape : most;
    }
    return *who ? most + 1 : 0;
}

static struct gemm_series *find_series(struct gemm_picture *d,
                                       const struct result_row *row)
{
    const unsigned kind = find_kind(d, row);
    const char *who = who_of(row);
    unsigned i = 0;
    while (i < d->n_series && !(d->series[i].kind == kind &&
                                strcmp(d->series[i].who, who) == 0))
        i++;
    if (i < d->n_series || i == GEMM_SERIES)
        return &d->series[i < GEMM_SERIES ? i : GEMM_SERIES - 1];
    struct gemm_series *s = &d->series[i];
    s->kind = kind;
    s->who = who;
    s->who_shape = shape_of(d, who);
    d->n_series++;
    return s;
}

static void add_row(struct gemm_picture *d, const struct result_row *row)
{
    struct plot_point point = {.is_hollow = !figure_is_firm(row)};
    const json_t *roof =
        json_object_get(json_object_get(row->json, "roof"), "value");
    struct gemm_series *s = find_series(d, row);
    double mnk[3], low, high;
    size_of(row, mnk);
    figure_interval(row, &low, &high);
    point.x = x_of(d, mnk);
    point.y = figure_value(row);
    point.low = point.y * low;
    point.high = point.y * high;
    figure_tip(row, point.tip, sizeof point.tip);
    figure_case(row, point.label, sizeof point.label);
    if (!plot_add(&d->plot, &s->marks, &point))
        return;
    if (is_joined(d, row, mnk))
        (void)plot_add(&d->plot, &s->line, &point);
    if (json_is_number(roof) &&
        plot_can_show(&d->plot.y, json_number_value(roof)))
        d->roof[s->kind] = fmax(d->roof[s->kind], json_number_value(roof));
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

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    const struct result_row *row;
    struct gemm_picture *d = xl__calloc(1, sizeof *d);
    char axis[32];
    size_t n = 0;
    if (!d)
        return false;
    d->file = file;
    d->device = device;
    find_sweep(d);
    name_axis(d, axis, sizeof axis);
    d->plot.x = plot_axis(2, "1", axis);
    d->plot.y = plot_axis(10, "flop/s", "");
    for (size_t i = 0; (row = next(d, &i));)
        add_row(d, row);
    for (unsigned i = 0; i < d->n_series; i++) {
        n += d->series[i].marks.n;
        keep_best(&d->series[i].line, d->is_sweep);
    }
    if (n > 0)
        gemm_draw(out, d);
    for (unsigned i = 0; i < d->n_series; i++) {
        plot_series_clear(&d->series[i].marks);
        plot_series_clear(&d->series[i].line);
    }
    free(d);
    return n > 0;
}

const struct figure figure_gemm = {
    .name = "gemm",
    .title = "Matrix products",
    .about =
        "Rate by size: m = n = k, or of other shapes the side of a cube of as "
        "much work. Dotted lines are roofs, what measured memory and "
        "arithmetic allow; lines join cubes, or the sizes of a sweep. Hollow "
        "marks are in doubt.",
    .draw = draw,
};
