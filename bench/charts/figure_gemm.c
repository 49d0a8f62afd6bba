/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of matrix products: rate by size, for each type and each library.
 *
 * The size is x. Of a sweep, in which some of m, n and k grow and all that
 * grow are equal in each row, it is that value; otherwise it is the side of a
 * cube of as many operations, cbrt(m n k), and a line joins the rows that are
 * cubes. One plot shows all types; where other libraries are shown beside this
 * one, each type has a small plot of its own, whose rates begin at 0, since
 * small differences count then. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "charts/figure_data.h"
#include "cli/units.h"
#include "results/json.h"

enum {
    GEMM_SERIES = 24, /* at most */
    GEMM_KINDS = 8,   /* of types, at most */
    GEMM_KIND_CAP = 24
};

/* Rows of one kind by one library. */
struct gemm_series {
    unsigned kind;
    unsigned library_shape;   /* 0: this library; others in order */
    const char *library;      /* "": this one */
    struct plot_series marks; /* every row */
    struct plot_series line;  /* of each size the best */
};

struct gemm_picture {
    struct plot plot;
    const struct result_file *file;
    const json_t *device;
    char kind[GEMM_KINDS][GEMM_KIND_CAP]; /* "f16", "f32 split" */
    double roof[GEMM_KINDS];              /* 0: it has none */
    unsigned n_kinds;
    struct gemm_series series[GEMM_SERIES];
    unsigned n_series;
    bool grows[3], is_sweep; /* m, n, k */
};

/* -- sizes ---------------------------------------------------------------- */

static const char *const dims[3] = {"m", "n", "k"};

static void read_sizes(const struct result_row *row, double mnk[3])
{
    for (unsigned i = 0; i < 3; i++)
        mnk[i] = result_number(row, "shape", dims[i]);
}

static const struct result_row *next_row(const struct gemm_picture *d,
                                         size_t *at)
{
    return figure_row(d->file, d->device, "gemm", at);
}

/* Finds whether the rows are a sweep: the dimensions that differ between rows
 * are equal within each row. */
static void find_sweep(struct gemm_picture *d)
{
    const struct result_row *row;
    double first[3], mnk[3];
    bool has_first = false;
    for (size_t i = 0; (row = next_row(d, &i));) {
        read_sizes(row, mnk);
        for (unsigned s = 0; s < 3; s++) {
            d->grows[s] = d->grows[s] || (has_first && mnk[s] != first[s]);
            first[s] = has_first ? first[s] : mnk[s];
        }
        has_first = true;
    }
    d->is_sweep = d->grows[0] || d->grows[1] || d->grows[2];
    for (size_t i = 0; (row = next_row(d, &i));) {
        double size = (double)NAN;
        read_sizes(row, mnk);
        for (unsigned s = 0; s < 3; s++) {
            if (!d->grows[s])
                continue;
            d->is_sweep = d->is_sweep && (isnan(size) || size == mnk[s]);
            size = mnk[s];
        }
    }
}

/* The x of a row: the dimensions of a sweep that grow, or the side of a cube
 * of as many operations. */
static double find_x(const struct gemm_picture *d, const double mnk[3])
{
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            return mnk[s];
    return cbrt(mnk[0] * mnk[1] * mnk[2]);
}

/* Does a line join the row to others? In a sweep, or for a cube; never a
 * batch. */
static bool is_joined(const struct gemm_picture *d,
                      const struct result_row *row, const double mnk[3])
{
    const double batch = result_number(row, "shape", "batch");
    return !(batch > 1) &&
           (d->is_sweep || (mnk[0] == mnk[1] && mnk[1] == mnk[2]));
}

/* "m = n" of a sweep, else "size". */
static void name_x_axis(const struct gemm_picture *d, char *out, size_t cap)
{
    struct xl__str text = {0};
    if (!d->is_sweep)
        xl__str_add(&text, "size");
    for (unsigned s = 0; d->is_sweep && s < 3; s++)
        if (d->grows[s])
            xl__str_printf(&text, "%s%s", text.len > 0 ? " = " : "", dims[s]);
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- series --------------------------------------------------------------- */

/* The index of the type with its accuracy, added if it is new; the last one
 * when there are too many. */
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

/* The library of a row: "" for this one, "clblast" of "peer_clblast". */
static const char *find_library(const struct result_row *row)
{
    static const char *const starts[] = {"peer_", "gemm_"};
    if (!row->is_other)
        return "";
    for (unsigned i = 0; i < 2; i++)
        if (strncmp(row->variant, starts[i], strlen(starts[i])) == 0)
            return row->variant + strlen(starts[i]);
    return row->variant;
}

/* The shape of a library's marks: in the order of the rows, this library
 * first. */
static unsigned find_library_shape(const struct gemm_picture *d,
                                   const char *library)
{
    unsigned most = 0;
    for (unsigned i = 0; i < d->n_series; i++) {
        if (strcmp(d->series[i].library, library) == 0)
            return d->series[i].library_shape;
        most = d->series[i].library_shape > most ? d->series[i].library_shape
                                                 : most;
    }
    return *library ? most + 1 : 0;
}

/* The series of a row's kind and library, added if it is new. */
static struct gemm_series *find_series(struct gemm_picture *d,
                                       const struct result_row *row)
{
    const unsigned kind = find_kind(d, row);
    const char *library = find_library(row);
    unsigned i = 0;
    while (i < d->n_series && !(d->series[i].kind == kind &&
                                strcmp(d->series[i].library, library) == 0))
        i++;
    if (i < d->n_series || i == GEMM_SERIES)
        return &d->series[i < GEMM_SERIES ? i : GEMM_SERIES - 1];
    struct gemm_series *s = &d->series[i];
    s->kind = kind;
    s->library = library;
    s->library_shape = find_library_shape(d, library);
    d->n_series++;
    return s;
}

/* Adds a row to its series, and keeps the highest roof of its kind. */
static void add_row(struct gemm_picture *d, const struct result_row *row)
{
    struct plot_point point = {.is_hollow = !figure_is_firm(row)};
    const json_t *roof =
        json_object_get(json_object_get(row->json, "roof"), "value");
    struct gemm_series *s = find_series(d, row);
    double mnk[3], low, high;
    read_sizes(row, mnk);
    figure_interval(row, &low, &high);
    point.x = find_x(d, mnk);
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

/* Keeps the best point of each size. Sizes of a sweep are distinct; others
 * closer than 4 % are one, since the figure does not show the difference. */
static void keep_best(struct plot_series *s, bool is_sweep)
{
    const double least_ratio = is_sweep ? 1 : 1.04;
    size_t n = 0;
    plot_sort(s);
    for (size_t i = 0; i < s->n; i++) {
        if (n > 0 && s->at[i].x <= s->at[n - 1].x * least_ratio) {
            if (s->at[i].y > s->at[n - 1].y)
                s->at[n - 1] = s->at[i];
        } else {
            s->at[n++] = s->at[i];
        }
    }
    s->n = n;
}

/* -- drawing -------------------------------------------------------------- */

enum {
    LEFT = 92,
    RIGHT = 24,
    HEIGHT = 340,
    PANEL_WIDTH = 164,
    PANEL_HEIGHT = 150,
    PANEL_STEP = 276, /* from one to the next */
    PANEL_GAP = 44,
    BELOW = 12
};

/* Rates that differ by this factor have a logarithmic axis; others one from
 * 0. */
static const double log_axis_ratio = 8;

static double draw_headline(struct xl__str *out, const struct gemm_picture *d)
{
    const struct plot_point *best = NULL;
    char rate[UNITS_CAP], text[160];
    for (unsigned i = 0; i < d->n_series; i++) {
        const struct plot_series *s = &d->series[i].marks;
        for (size_t j = 0; j < s->n && !*d->series[i].library; j++)
            best = !best || s->at[j].y > best->y ? &s->at[j] : best;
    }
    if (!best)
        return figure_headline(out, d->device, "Matrix products");
    units_format(rate, sizeof rate, best->y, "flop/s");
    snprintf(text, sizeof text, "%s at best: %s", rate, best->label);
    return figure_headline(out, d->device, text);
}

/* Sets how marks and line of a series look. */
static void style_series(struct gemm_series *s, unsigned colour,
                         const char *name)
{
    s->marks.colour = colour;
    s->marks.shape = s->marks.dash = s->library_shape;
    s->marks.has_line = s->marks.has_marks = true;
    xl__strcpy(s->marks.name, sizeof s->marks.name, name);
    s->line.colour = colour;
    s->line.dash = s->library_shape;
}

/* The series of one kind, this library's on top. */
static void draw_series(struct xl__str *out, const struct plot *p,
                        const struct gemm_picture *d, unsigned kind)
{
    for (unsigned i = d->n_series; i-- > 0;)
        if (d->series[i].kind == kind)
            plot_line(out, p, &d->series[i].line);
    for (unsigned i = d->n_series; i-- > 0;)
        if (d->series[i].kind == kind)
            plot_marks(out, p, &d->series[i].marks);
}

/* Keeps labels clear of the marks of a kind. */
static void reserve_marks(struct plot_labels *taken, const struct plot *p,
                          const struct gemm_picture *d, unsigned kind)
{
    for (unsigned i = 0; i < d->n_series; i++)
        if (d->series[i].kind == kind)
            plot_reserve_marks(taken, p, &d->series[i].marks);
}

static void draw_roof(struct xl__str *out, const struct plot *p,
                      const struct gemm_picture *d, unsigned kind)
{
    const double y = plot_y(p, d->roof[kind]);
    if (d->roof[kind] > 0)
        svg_line(out, p->left, y, p->left + p->width, y, 2);
}

/* Names a roof above its line or below it, wherever that is clear. */
static void name_roof(struct xl__str *out, const struct plot *p,
                      struct plot_labels *taken, const struct gemm_picture *d,
                      unsigned kind)
{
    static const double above = -10, below = 12, step = 180;
    const double y = plot_y(p, d->roof[kind]);
    char rate[UNITS_CAP], text[96];
    bool done = !(d->roof[kind] > 0);
    units_format(rate, sizeof rate, d->roof[kind], "flop/s");
    snprintf(text, sizeof text, "roof of %s: %s", d->kind[kind], rate);
    for (double x = p->left; !done && x < p->left + p->width; x += step)
        done = plot_label(out, p, taken, x, y + above, text) ||
               plot_label(out, p, taken, x, y + below, text);
}

/* -- one plot ------------------------------------------------------------- */

/* Extends the axis to the roofs, with room for a name above the highest;
 * linear from 0 where the rates differ little. */
static void hold_roofs(struct plot_axis *axis, const struct gemm_picture *d)
{
    static const double room = 1.25;
    for (unsigned i = 0; i < d->n_kinds; i++)
        if (d->roof[i] > 0)
            plot_axis_hold(axis, d->roof[i] * room);
    if (axis->to < log_axis_ratio * axis->from) {
        axis->log_base = 0;
        plot_axis_hold(axis, 0);
    }
}

/* The highest roof without a name, so that names are in the order of lines. */
static unsigned find_highest_roof(const struct gemm_picture *d,
                                  const bool *is_named)
{
    unsigned best = 0;
    for (unsigned i = 1; i < d->n_kinds; i++)
        if (!is_named[i] && (is_named[best] || d->roof[i] > d->roof[best]))
            best = i;
    return best;
}

/* The roofs of all types, then their names. */
static void draw_roofs(struct xl__str *out, const struct gemm_picture *d)
{
    static const double thin = 3;
    const struct plot *p = &d->plot;
    struct plot_labels taken = {.n = 0};
    bool is_named[GEMM_KINDS] = {false};
    for (unsigned i = 0; i < d->n_kinds; i++) {
        const double y = plot_y(p, d->roof[i]);
        svg_series(out, i);
        draw_roof(out, p, d, i);
        svg_group_end(out);
        reserve_marks(&taken, p, d, i);
        if (d->roof[i] > 0)
            plot_reserve_line(&taken, p->left, y, p->left + p->width, y, thin);
    }
    for (unsigned n = 0; n < d->n_kinds; n++) {
        const unsigned i = find_highest_roof(d, is_named);
        is_named[i] = true;
        svg_series(out, i);
        name_roof(out, p, &taken, d, i);
        svg_group_end(out);
    }
}

static double draw_legend(struct xl__str *out, const struct gemm_picture *d,
                          double y)
{
    struct plot_series all[GEMM_SERIES];
    for (unsigned i = 0; i < d->n_series; i++)
        all[i] = d->series[i].marks;
    return plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, all,
                       d->n_series);
}

/* All types in one plot; returns the y below it. */
static double draw_single_plot(struct xl__str *out, struct gemm_picture *d)
{
    struct plot *p = &d->plot;
    for (unsigned i = 0; i < d->n_series; i++)
        style_series(&d->series[i], d->series[i].kind,
                     d->kind[d->series[i].kind]);
    hold_roofs(&p->y, d);
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    p->left = LEFT;
    p->width = SVG_WIDTH - LEFT - RIGHT;
    p->height = HEIGHT;
    p->y.label = "Rate";
    p->top = draw_legend(out, d, draw_headline(out, d)) + 26;
    const double bottom = plot_frame(out, p);
    for (unsigned i = d->n_kinds; i-- > 0;)
        draw_series(out, p, d, i);
    draw_roofs(out, d);
    return bottom;
}

/* -- a plot for each type ------------------------------------------------- */

/* A small plot of one kind. The x axis is common to all, the y axis its own.
 */
static double draw_panel(struct xl__str *out, const struct gemm_picture *d,
                         unsigned kind, double top)
{
    struct plot p = d->plot;
    struct plot_labels taken = {.n = 0};
    p.left = LEFT + kind % 2 * (double)PANEL_STEP;
    p.top = top;
    p.width = PANEL_WIDTH;
    p.height = PANEL_HEIGHT;
    p.y = plot_axis(0, "flop/s", d->kind[kind]);
    plot_axis_hold(&p.y, 0);
    if (d->roof[kind] > 0)
        plot_axis_hold(&p.y, d->roof[kind]);
    for (unsigned i = 0; i < d->n_series; i++) {
        const struct plot_series *s = &d->series[i].marks;
        for (size_t j = 0; j < s->n && d->series[i].kind == kind; j++) {
            plot_axis_hold(&p.y, s->at[j].y);
            plot_axis_hold(&p.y, s->at[j].high);
        }
    }
    plot_axis_widen(&p.y);
    const double bottom = plot_frame(out, &p);
    draw_roof(out, &p, d, kind);
    draw_series(out, &p, d, kind);
    reserve_marks(&taken, &p, d, kind);
    name_roof(out, &p, &taken, d, kind);
    return bottom;
}

/* Each library once. */
static double draw_library_legend(struct xl__str *out,
                                  const struct gemm_picture *d, double y)
{
    struct plot_series all[GEMM_SERIES];
    unsigned n = 0;
    for (unsigned i = 0; i < d->n_series; i++) {
        bool is_new = d->series[i].marks.n > 0;
        for (unsigned j = 0; j < n; j++)
            is_new = is_new && all[j].shape != d->series[i].library_shape;
        if (is_new)
            all[n++] = d->series[i].marks;
    }
    return plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, all, n);
}

/* A plot for each type, two a row; returns the y below them. */
static double draw_panels(struct xl__str *out, struct gemm_picture *d)
{
    double y;
    for (unsigned i = 0; i < d->n_series; i++) {
        struct gemm_series *s = &d->series[i];
        style_series(s, s->library_shape,
                     *s->library ? s->library : "this library");
    }
    plot_axis_widen(&d->plot.x);
    y = draw_library_legend(out, d, draw_headline(out, d)) + 26;
    for (unsigned i = 0; i < d->n_kinds; i += 2) {
        double bottom = draw_panel(out, d, i, y);
        if (i + 1 < d->n_kinds)
            bottom = draw_panel(out, d, i + 1, y);
        y = bottom + PANEL_GAP;
    }
    return y - PANEL_GAP;
}

static void draw_picture(struct xl__str *out, struct gemm_picture *d)
{
    struct xl__str body = {0};
    bool has_others = false;
    for (unsigned i = 0; i < d->n_series; i++)
        has_others = has_others || *d->series[i].library;
    const double bottom = has_others && d->n_kinds > 1
                              ? draw_panels(&body, d)
                              : draw_single_plot(&body, d);
    figure_write(out, &figure_gemm, &body, bottom + BELOW);
}

static bool draw_gemm(const struct result_file *file, const json_t *device,
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
    name_x_axis(d, axis, sizeof axis);
    d->plot.x = plot_axis(2, "1", axis);
    d->plot.y = plot_axis(10, "flop/s", "");
    for (size_t i = 0; (row = next_row(d, &i));)
        add_row(d, row);
    for (unsigned i = 0; i < d->n_series; i++) {
        n += d->series[i].marks.n;
        keep_best(&d->series[i].line, d->is_sweep);
    }
    if (n > 0)
        draw_picture(out, d);
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
        "many operations. Dotted lines are roofs, what measured memory and "
        "arithmetic allow; lines join cubes, or the sizes of a sweep. Hollow "
        "marks are suspicious.",
    .draw = draw_gemm,
};
