/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of the roofline: what the device can do, and every row with flop
 * and bytes among it. Ceilings are facts of the device, so any document has
 * them that measured some.
 *
 *     flop/s    ________ peak: level from the ridge on
 *              /
 *             /  memory: rate = intensity * bandwidth
 *            /
 *     flop/B (intensity), both axes logarithmic */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "charts/figure_data.h"
#include "charts/text_charts.h"
#include "cli/units.h"
#include "results/ceilings.h"
#include "results/json.h"

enum { MOST_CEILINGS = 16 }; /* at most */

struct figure_ceilings {
    const json_t *device;
    struct plot plot;
    struct roof_line lines[MOST_CEILINGS];
    struct roof_picture picture; /* of these lines, and the caller's marks */
    struct plot_labels taken;    /* what names keep clear of */
};

/* -- ceilings ------------------------------------------------------------- */

static const char *find_fact(const struct roof_line *line)
{
    const struct ceiling *c = ceilings;
    while (c->name != line->name)
        c++;
    return c->fact;
}

static bool is_measured(const struct figure_ceilings *d, unsigned i)
{
    return figure_is_measured(d->device, find_fact(&d->lines[i]));
}

static void find_ceilings(struct figure_ceilings *d)
{
    const struct plot_axis rates = plot_axis(10, "", "");
    for (const struct ceiling *c = ceilings; c->fact; c++) {
        const double rate = figure_fact(d->device, c->fact);
        if (!plot_can_show(&rates, rate) ||
            d->picture.n_lines == MOST_CEILINGS)
            continue;
        d->lines[d->picture.n_lines++] =
            (struct roof_line){c->name, rate, c->is_memory};
    }
    d->picture.lines = d->lines;
}

static bool has_measured_ceiling(const struct figure_ceilings *d,
                                 bool is_memory)
{
    for (unsigned i = 0; i < d->picture.n_lines; i++)
        if (d->lines[i].is_memory == is_memory && is_measured(d, i))
            return true;
    return false;
}

/* Solid: a peak, or the slowest memory, which is the roof itself. Dashed:
 * faster memories. Dotted: a ceiling that was not measured. */
static unsigned choose_dash(const struct figure_ceilings *d, unsigned i)
{
    if (!is_measured(d, i))
        return 2;
    if (!d->lines[i].is_memory)
        return 0;
    return d->lines[i].rate > roof_least(&d->picture, true) ? 1 : 0;
}

static void line_name(const struct figure_ceilings *d, unsigned i,
                      struct xl__str *out)
{
    char rate[UNITS_CAP];
    units_format(rate, sizeof rate, d->lines[i].rate,
                 d->lines[i].is_memory ? "B/s" : "flop/s");
    xl__str_printf(out, "%s %s", d->lines[i].name, rate);
    if (!is_measured(d, i))
        xl__str_printf(
            out, " (%s)",
            json_text_at(result_fact(d->device, find_fact(&d->lines[i])),
                         "source"));
}

enum {
    NAME_LINE = 15, /* between names beside the plot */
    LEAD = 12,      /* from the plot to a name's height */
    BEFORE = 16     /* from the plot to the names */
};

static double measure_names(const struct figure_ceilings *d)
{
    double most = 0;
    for (unsigned i = 0; i < d->picture.n_lines; i++) {
        struct xl__str name = {0};
        line_name(d, i, &name);
        if (!d->lines[i].is_memory)
            most = fmax(most, svg_text_width(xl__str_text(&name), svg_small));
        xl__str_clear(&name);
    }
    return BEFORE + most;
}

static int compare_rate(const void *a, const void *b)
{
    const double x = ((const struct roof_line *)a)->rate;
    const double y = ((const struct roof_line *)b)->rate;
    return (x < y) - (x > y);
}

/* The rising line of a memory in pixels, from the left edge to the best peak.
 */
struct rise {
    double x1, y1, x2, y2;
};

static struct rise find_rise(const struct figure_ceilings *d, unsigned i)
{
    const struct plot *p = &d->plot;
    const double rate = d->lines[i].rate;
    const double end = roof_best(&d->picture, false) / rate;
    return (struct rise){p->left, plot_y(p, rate * p->x.from), plot_x(p, end),
                         plot_y(p, rate * end)};
}

/* Names a memory along its line, above or below it, where that is clear of
 * everything; otherwise beside the upper end. */
static void name_memory(struct xl__str *out, struct figure_ceilings *d,
                        unsigned i)
{
    static const double offsets[] = {10, -10}, step = 12, tall = 9, base = 4;
    static const double to_degrees = 57.29577951308232;
    const struct rise r = find_rise(d, i);
    const double length = hypot(r.x2 - r.x1, r.y2 - r.y1);
    const double dx = (r.x2 - r.x1) / length, dy = (r.y2 - r.y1) / length;
    struct xl__str name = {0};
    line_name(d, i, &name);
    const double wide = svg_text_width(xl__str_text(&name), svg_small);
    bool is_named = false;
    for (unsigned i_offset = 0; i_offset < 2; i_offset++)
        for (double at = step; !is_named && at + wide < length; at += step) {
            const double x = r.x1 + at * dx + offsets[i_offset] * dy;
            const double y = r.y1 + at * dy - offsets[i_offset] * dx;
            is_named = plot_is_clear(&d->plot, &d->taken, x, y, x + wide * dx,
                                     y + wide * dy, tall);
            if (!is_named)
                continue;
            plot_reserve_line(&d->taken, x, y, x + wide * dx, y + wide * dy,
                              tall);
            svg_text_rotated(out, x - base * dy, y + base * dx, svg_small,
                             atan2(dy, dx) * to_degrees, xl__str_text(&name));
        }
    if (!is_named)
        (void)plot_label(out, &d->plot, &d->taken, r.x2, r.y2,
                         xl__str_text(&name));
    xl__str_clear(&name);
}

/* Memories rise to the best peak. All lines are reserved before the first name
 * is placed. */
static void draw_memories(struct xl__str *out, struct figure_ceilings *d)
{
    static const double thin = 3;
    for (unsigned i = 0; i < d->picture.n_lines; i++) {
        const struct rise r = find_rise(d, i);
        if (!d->lines[i].is_memory)
            continue;
        svg_line(out, r.x1, r.y1, r.x2, r.y2, choose_dash(d, i));
        plot_reserve_line(&d->taken, r.x1, r.y1, r.x2, r.y2, thin);
    }
    for (unsigned i = d->picture.n_lines; i-- > 0;)
        if (d->lines[i].is_memory)
            name_memory(out, d, i);
}

/* Names of peaks are beside the plot, in order, each joined to its line. */
static void draw_peaks(struct xl__str *out, struct figure_ceilings *d)
{
    static const double thin = 3;
    const struct plot *p = &d->plot;
    const double right = p->left + p->width;
    const double memory = roof_best(&d->picture, true);
    double name_y = p->top - NAME_LINE;
    for (unsigned i = 0; i < d->picture.n_lines; i++) {
        const struct roof_line *line = &d->lines[i];
        struct xl__str name = {0};
        if (line->is_memory)
            continue;
        const double y = plot_y(p, line->rate);
        line_name(d, i, &name);
        svg_line(out, plot_x(p, line->rate / memory), y, right, y,
                 choose_dash(d, i));
        plot_reserve_line(&d->taken, plot_x(p, line->rate / memory), y, right,
                          y, thin);
        name_y = fmax(name_y + NAME_LINE, y);
        svg_line(out, right, y, right + LEAD, name_y, 0);
        svg_text(out, right + BEFORE, name_y + 4, svg_small, "start", svg_ink,
                 xl__str_text(&name));
        xl__str_clear(&name);
    }
}

static void draw_ceilings(struct xl__str *out, struct figure_ceilings *d)
{
    qsort(d->lines, d->picture.n_lines, sizeof *d->lines, compare_rate);
    draw_peaks(out, d);
    draw_memories(out, d);
}

/* -- rows ----------------------------------------------------------------- */

enum { LEFT = 92, HEIGHT = 400, BELOW = 12 };

/* A series for each op, in the order of the legend; then other ops, and other
 * libraries. */
static const char *const ops[] = {"gemm", "conv", "softmax", "expr"};
enum { N_OPS = sizeof ops / sizeof *ops, OTHER_OP = N_OPS, PEERS, N_SERIES };

struct roofline_figure {
    struct figure_ceilings roof;
    struct roof_mark *marks;
    struct plot_series series[N_SERIES];
};

/* -- data ----------------------------------------------------------------- */

static unsigned find_series(const struct result_row *row)
{
    unsigned i = 0;
    if (row->is_other)
        return PEERS;
    while (i < N_OPS && strcmp(ops[i], figure_op(row)) != 0)
        i++;
    return i;
}

/* Is the row shown as a mark? Not the pipeline, whose bytes are those of the
 * link to the host, and not probes, which are the ceilings. */
static bool is_marked(const struct result_row *row)
{
    static const char probe[] = "probe_";
    return strncmp(figure_op(row), probe, sizeof probe - 1) != 0 &&
           strcmp(figure_op(row), "pipeline") != 0;
}

static void find_marks(struct roofline_figure *d,
                       const struct result_file *file)
{
    const struct result_row *row;
    d->marks = xl__calloc(file->n_rows ? file->n_rows : 1, sizeof *d->marks);
    for (size_t i = 0;
         d->marks && (row = figure_row(file, d->roof.device, NULL, &i));) {
        struct plot_point point = {.low = (double)NAN,
                                   .high = (double)NAN,
                                   .is_hollow = !figure_is_firm(row)};
        const double flop = result_number(row, NULL, "flop");
        const double ns = result_number(row, NULL, "median_ns");
        char rate[UNITS_CAP], tip[PLOT_TIP / 2];
        point.x = flop / result_number(row, NULL, "bytes");
        point.y = flop / ns * 1e9;
        units_format(rate, sizeof rate, point.y, "flop/s");
        figure_tip(row, tip, sizeof tip);
        figure_case(row, point.label, sizeof point.label);
        snprintf(point.tip, sizeof point.tip, "%s; %s at %.3g flop/B", tip,
                 rate, point.x);
        if (is_marked(row) &&
            plot_add(&d->roof.plot, &d->series[find_series(row)], &point))
            d->marks[d->roof.picture.n_marks++] =
                (struct roof_mark){point.x, point.y, '\0'};
    }
    d->roof.picture.marks = d->marks;
}

/* -- marks ---------------------------------------------------------------- */

/* Names the fastest row of an op, where there is room. */
static void name_best(struct xl__str *out, struct roofline_figure *d,
                      const struct plot_series *s)
{
    const struct plot *p = &d->roof.plot;
    const struct plot_point *best = s->at;
    if (s->n == 0)
        return;
    for (size_t i = 1; i < s->n; i++)
        best = s->at[i].y > best->y ? &s->at[i] : best;
    svg_series(out, s->colour);
    (void)plot_label(out, p, &d->roof.taken, plot_x(p, best->x),
                     plot_y(p, best->y), best->label);
    svg_group_end(out);
}

static void draw_marks(struct xl__str *out, struct roofline_figure *d)
{
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_marks(out, &d->roof.plot, &d->series[i]);
    for (unsigned i = 0; i < N_SERIES; i++)
        name_best(out, d, &d->series[i]);
}

static double draw_headline(struct xl__str *out,
                            const struct roofline_figure *d)
{
    char memory[UNITS_CAP], peak[UNITS_CAP], text[128];
    const struct roof_picture *p = &d->roof.picture;
    units_format(memory, sizeof memory, roof_least(p, true), "B/s");
    units_format(peak, sizeof peak, roof_best(p, false), "flop/s");
    snprintf(text, sizeof text, "%s from memory, %s at best, %u kernel%s",
             memory, peak, d->roof.picture.n_marks,
             d->roof.picture.n_marks == 1 ? "" : "s");
    return figure_headline(out, d->roof.device, text);
}

static void name_series(struct roofline_figure *d)
{
    for (unsigned i = 0; i < N_SERIES; i++) {
        struct plot_series *s = &d->series[i];
        s->colour = s->shape = i;
        s->has_marks = true;
        xl__strcpy(s->name, sizeof s->name,
                   i < N_OPS       ? ops[i]
                   : i == OTHER_OP ? "other ops"
                                   : "other libraries");
    }
}

static void draw_picture(struct xl__str *out, struct roofline_figure *d)
{
    struct plot *p = &d->roof.plot;
    struct xl__str body = {0};
    const struct roof_frame f = roof_frame(&d->roof.picture);
    p->x.from = exp2(f.x0);
    p->x.to = exp2(f.x1);
    p->y.from = exp2(f.y0);
    p->y.to = exp2(f.y1);
    const double legend = draw_headline(&body, d);
    p->top = plot_legend(&body, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE,
                         d->series, N_SERIES) +
             26;
    const double bottom = plot_frame(&body, p);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_reserve_marks(&d->roof.taken, p, &d->series[i]);
    draw_ceilings(&body, &d->roof);
    draw_marks(&body, d);
    figure_write(out, &figure_roofline, &body, bottom + BELOW);
}

static bool draw_roofline(const struct result_file *file, const json_t *device,
                          struct xl__str *out)
{
    struct roofline_figure *d = xl__calloc(1, sizeof *d);
    if (!d)
        return false;
    d->roof.device = device;
    d->roof.plot =
        (struct plot){.left = LEFT,
                      .height = HEIGHT,
                      .x = plot_axis(2, "1", "flop per byte"),
                      .y = plot_axis(10, "flop/s", "flop per second")};
    find_ceilings(&d->roof);
    d->roof.plot.width = SVG_WIDTH - LEFT - measure_names(&d->roof);
    find_marks(d, file);
    name_series(d);
    const bool is_roof = d->marks && roof_best(&d->roof.picture, true) > 0 &&
                         roof_best(&d->roof.picture, false) > 0;
    const bool is_drawn = is_roof && (d->roof.picture.n_marks > 0 ||
                                      (has_measured_ceiling(&d->roof, true) &&
                                       has_measured_ceiling(&d->roof, false)));
    if (is_drawn)
        draw_picture(out, d);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&d->series[i]);
    free(d->marks);
    free(d);
    return is_drawn;
}

const struct figure figure_roofline = {
    .name = "roofline",
    .title = "Roofline",
    .about =
        "Rising lines are measured bandwidths, level lines measured peaks of "
        "arithmetic, and each mark is a row. Below a rising line memory is "
        "the limit, below a level one arithmetic. Hollow marks are "
        "suspicious.",
    .draw = draw_roofline,
};
