/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline: what the device can do, and every row with flop and bytes
 * among it. Ceilings are facts of the device, so any document has them that
 * measured some. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ceilings.h"
#include "figure_data.h"
#include "json_values.h"
#include "roof_picture.h"
#include "units.h"

enum {
    MOST_LINES = 16,
    LEFT = 92,
    RIGHT = 172, /* names of peaks */
    HEIGHT = 400,
    NAME_LINE = 15,
    BELOW = 12
};

/* A series for each op that is placed, in the order of the legend; what is
 * none of these, and what is another library's. */
static const char *const ops[] = {"gemm", "conv", "softmax", "expr"};
enum { N_OPS = sizeof ops / sizeof *ops, OTHER_OP = N_OPS, PEERS, N_SERIES };

struct drawing {
    struct plot plot;
    struct roof_picture picture;
    struct roof_line lines[MOST_LINES];
    struct roof_mark *marks;
    struct plot_series series[N_SERIES];
    struct plot_labels taken;
    const json_t *device;
};

/* -- what there is -------------------------------------------------------- */

static void find_lines(struct drawing *d)
{
    const struct plot_axis rates = plot_axis(10, "", "");
    for (const struct ceiling *c = ceilings; c->fact; c++) {
        const double rate = figure_fact(d->device, c->fact);
        if (!plot_can_show(&rates, rate) || d->picture.n_lines == MOST_LINES)
            continue;
        d->lines[d->picture.n_lines++] =
            (struct roof_line){c->name, rate, c->is_memory};
    }
    d->picture.lines = d->lines;
}

static unsigned series_of(const struct result_row *row)
{
    unsigned i = 0;
    if (row->is_other)
        return PEERS;
    while (i < N_OPS && strcmp(ops[i], figure_op(row)) != 0)
        i++;
    return i;
}

/* Bytes of a pipeline go to the host, and probes are the ceilings. */
static bool is_placed(const struct result_row *row)
{
    static const char probe[] = "probe_";
    return strncmp(figure_op(row), probe, sizeof probe - 1) != 0 &&
           strcmp(figure_op(row), "pipeline") != 0;
}

static void find_marks(struct drawing *d, const struct result_file *file)
{
    const struct result_row *row;
    d->marks = xl__calloc(file->n_rows ? file->n_rows : 1, sizeof *d->marks);
    for (size_t i = 0;
         d->marks && (row = figure_row(file, d->device, NULL, &i));) {
        struct plot_point point = {.low = (double)NAN, .high = (double)NAN,
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
        if (is_placed(row) &&
            plot_add(&d->plot, &d->series[series_of(row)], &point))
            d->marks[d->picture.n_marks++] =
                (struct roof_mark){point.x, point.y, '\0'};
    }
    d->picture.marks = d->marks;
}

static const char *fact_of(const struct roof_line *line)
{
    const struct ceiling *c = ceilings;
    while (c->name != line->name)
        c++;
    return c->fact;
}

static bool is_measured(const struct drawing *d, unsigned i)
{
    return figure_is_measured(d->device, fact_of(&d->lines[i]));
}

static bool has_measured(const struct drawing *d, bool is_memory)
{
    for (unsigned i = 0; i < d->picture.n_lines; i++)
        if (d->lines[i].is_memory == is_memory && is_measured(d, i))
            return true;
    return false;
}

/* -- ceilings ------------------------------------------------------------- */

/* The slowest memory is the roof itself; a ceiling that was not measured says
 * where it is from. */
static unsigned dash_of(const struct drawing *d, unsigned i)
{
    if (!is_measured(d, i))
        return 2;
    if (!d->lines[i].is_memory)
        return 0;
    return d->lines[i].rate > roof_least(&d->picture, true) ? 1 : 0;
}

static void line_name(const struct drawing *d, unsigned i, struct xl__str *out)
{
    char rate[UNITS_CAP];
    units_format(rate, sizeof rate, d->lines[i].rate,
                 d->lines[i].is_memory ? "B/s" : "flop/s");
    xl__str_printf(out, "%s %s", d->lines[i].name, rate);
    if (!is_measured(d, i))
        xl__str_printf(out, " (%s)",
                       json_text_at(result_fact(d->device,
                                                fact_of(&d->lines[i])),
                                    "source"));
}

static int by_rate(const void *a, const void *b)
{
    const double x = ((const struct roof_line *)a)->rate;
    const double y = ((const struct roof_line *)b)->rate;
    return (x < y) - (x > y);
}

/* The piece of the plane where a memory is the limit, in pixels. */
struct rise {
    double x1, y1, x2, y2;
};

static struct rise rise_of(const struct drawing *d, unsigned i)
{
    const struct plot *p = &d->plot;
    const double rate = d->lines[i].rate;
    const double end = roof_best(&d->picture, false) / rate;
    return (struct rise){p->left, plot_y(p, rate * p->x.from),
                         plot_x(p, end), plot_y(p, rate * end)};
}

/* A name along its line, above or below it, where that is clear of all else;
 * else beside its upper end. */
static void name_memory(struct xl__str *out, struct drawing *d, unsigned i)
{
    static const double sides[] = {10, -10}, step = 12, tall = 9, base = 4;
    static const double to_degrees = 57.29577951308232;
    const struct rise r = rise_of(d, i);
    const double length = hypot(r.x2 - r.x1, r.y2 - r.y1);
    const double dx = (r.x2 - r.x1) / length, dy = (r.y2 - r.y1) / length;
    struct xl__str name = {0};
    line_name(d, i, &name);
    const double wide = svg_text_width(xl__str_text(&name), svg_small);
    bool done = false;
    for (unsigned side = 0; side < 2; side++)
        for (double at = step; !done && at + wide < length; at += step) {
            const double x = r.x1 + at * dx + sides[side] * dy;
            const double y = r.y1 + at * dy - sides[side] * dx;
            done = plot_is_clear(&d->plot, &d->taken, x, y, x + wide * dx,
                                 y + wide * dy, tall);
            if (!done)
                continue;
            plot_take_line(&d->taken, x, y, x + wide * dx, y + wide * dy,
                           tall);
            svg_text_turned(out, x - base * dy, y + base * dx, svg_small,
                            atan2(dy, dx) * to_degrees, xl__str_text(&name));
        }
    if (!done)
        (void)plot_label(out, &d->plot, &d->taken, r.x2, r.y2,
                         xl__str_text(&name));
    xl__str_clear(&name);
}

/* Memories rise to the best peak. All lines are noted before the first name
 * looks for a place. */
static void draw_memories(struct xl__str *out, struct drawing *d)
{
    static const double thin = 3;
    for (unsigned i = 0; i < d->picture.n_lines; i++) {
        const struct rise r = rise_of(d, i);
        if (!d->lines[i].is_memory)
            continue;
        svg_line(out, r.x1, r.y1, r.x2, r.y2, dash_of(d, i));
        plot_take_line(&d->taken, r.x1, r.y1, r.x2, r.y2, thin);
    }
    for (unsigned i = d->picture.n_lines; i-- > 0;)
        if (d->lines[i].is_memory)
            name_memory(out, d, i);
}

/* Names of peaks stand beside the plot, in order, each led to from its
 * line. */
static void draw_peaks(struct xl__str *out, struct drawing *d)
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
                 dash_of(d, i));
        plot_take_line(&d->taken, plot_x(p, line->rate / memory), y, right, y,
                       thin);
        name_y = fmax(name_y + NAME_LINE, y);
        svg_line(out, right, y, right + 12, name_y, 0);
        svg_text(out, right + 16, name_y + 4, svg_small, "start", svg_ink,
                 xl__str_text(&name));
        xl__str_clear(&name);
    }
}

/* -- marks ---------------------------------------------------------------- */

/* Of each op the quickest is named, where there is room. */
static void name_best(struct xl__str *out, struct drawing *d,
                      const struct plot_series *s)
{
    const struct plot_point *best = s->at;
    if (s->n == 0)
        return;
    for (size_t i = 1; i < s->n; i++)
        best = s->at[i].y > best->y ? &s->at[i] : best;
    svg_series(out, s->colour);
    (void)plot_label(out, &d->plot, &d->taken, plot_x(&d->plot, best->x),
                     plot_y(&d->plot, best->y), best->label);
    svg_group_end(out);
}

static void draw_marks(struct xl__str *out, struct drawing *d)
{
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_marks(out, &d->plot, &d->series[i]);
    for (unsigned i = 0; i < N_SERIES; i++)
        name_best(out, d, &d->series[i]);
}

static double tell(struct xl__str *out, const struct drawing *d)
{
    char memory[UNITS_CAP], peak[UNITS_CAP], text[128];
    units_format(memory, sizeof memory, roof_least(&d->picture, true), "B/s");
    units_format(peak, sizeof peak, roof_best(&d->picture, false), "flop/s");
    snprintf(text, sizeof text, "%s from memory, %s at best, %u kernel%s",
             memory, peak, d->picture.n_marks,
             d->picture.n_marks == 1 ? "" : "s");
    return figure_headline(out, d->device, text);
}

static void name_series(struct drawing *d)
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

static void draw_all(struct xl__str *out, struct drawing *d)
{
    struct plot *p = &d->plot;
    struct xl__str body = {0};
    const struct roof_frame f = roof_frame(&d->picture);
    p->x.from = exp2(f.x0);
    p->x.to = exp2(f.x1);
    p->y.from = exp2(f.y0);
    p->y.to = exp2(f.y1);
    const double legend = tell(&body, d);
    p->top = plot_legend(&body, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE,
                         d->series, N_SERIES) + 26;
    const double bottom = plot_frame(&body, p);
    qsort(d->lines, d->picture.n_lines, sizeof *d->lines, by_rate);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_take_marks(&d->taken, p, &d->series[i]);
    draw_peaks(&body, d);
    draw_memories(&body, d);
    draw_marks(&body, d);
    figure_write(out, &figure_roofline, &body, bottom + BELOW);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    struct drawing *d = xl__calloc(1, sizeof *d);
    if (!d)
        return false;
    d->device = device;
    d->plot = (struct plot){.left = LEFT,
                            .width = SVG_WIDTH - LEFT - RIGHT,
                            .height = HEIGHT,
                            .x = plot_axis(2, "1", "flop per byte"),
                            .y = plot_axis(10, "flop/s", "flop per second")};
    find_lines(d);
    find_marks(d, file);
    name_series(d);
    const bool is_roof = d->marks && roof_best(&d->picture, true) > 0 &&
                         roof_best(&d->picture, false) > 0;
    const bool is_worth_it =
        is_roof && (d->picture.n_marks > 0 ||
                    (has_measured(d, true) && has_measured(d, false)));
    if (is_worth_it)
        draw_all(out, d);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&d->series[i]);
    free(d->marks);
    free(d);
    return is_worth_it;
}

const struct figure figure_roofline = {
    .name = "roofline",
    .title = "Roofline",
    .about =
        "What the device can do, and where each kernel lies: rising lines are "
        "bandwidths, level ones peaks of arithmetic, each mark is a row. Below "
        "a rising line memory is the limit, below a level one arithmetic; the "
        "nearer to its line, the better. Hollow marks are in doubt.",
    .draw = draw,
};
