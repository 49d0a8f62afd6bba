/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline: what the device can do, and every row with flop and bytes
 * among it. Ceilings are facts of the device, so any document has them that
 * measured some. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "charts/figure_ceilings.h"
#include "cli/units.h"

enum {
    LEFT = 92,
    HEIGHT = 400,
    BELOW = 12
};

/* A series for each op that is placed, in the order of the legend; what is
 * none of these, and what is another library's. */
static const char *const ops[] = {"gemm", "conv", "softmax", "expr"};
enum { N_OPS = sizeof ops / sizeof *ops, OTHER_OP = N_OPS, PEERS, N_SERIES };

struct drawing {
    struct figure_ceilings roof;
    struct roof_mark *marks;
    struct plot_series series[N_SERIES];
};

/* -- what there is -------------------------------------------------------- */

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
         d->marks && (row = figure_row(file, d->roof.device, NULL, &i));) {
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
            plot_add(&d->roof.plot, &d->series[series_of(row)], &point))
            d->marks[d->roof.picture.n_marks++] =
                (struct roof_mark){point.x, point.y, '\0'};
    }
    d->roof.picture.marks = d->marks;
}

/* -- marks ---------------------------------------------------------------- */

/* Of each op the quickest is named, where there is room. */
static void name_best(struct xl__str *out, struct drawing *d,
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

static void draw_marks(struct xl__str *out, struct drawing *d)
{
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_marks(out, &d->roof.plot, &d->series[i]);
    for (unsigned i = 0; i < N_SERIES; i++)
        name_best(out, d, &d->series[i]);
}

static double tell(struct xl__str *out, const struct drawing *d)
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
    struct plot *p = &d->roof.plot;
    struct xl__str body = {0};
    const struct roof_frame f = roof_frame(&d->roof.picture);
    p->x.from = exp2(f.x0);
    p->x.to = exp2(f.x1);
    p->y.from = exp2(f.y0);
    p->y.to = exp2(f.y1);
    const double legend = tell(&body, d);
    p->top = plot_legend(&body, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE,
                         d->series, N_SERIES) + 26;
    const double bottom = plot_frame(&body, p);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_take_marks(&d->roof.taken, p, &d->series[i]);
    figure_ceilings_draw(&body, &d->roof);
    draw_marks(&body, d);
    figure_write(out, &figure_roofline, &body, bottom + BELOW);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    struct drawing *d = xl__calloc(1, sizeof *d);
    if (!d)
        return false;
    d->roof.device = device;
    d->roof.plot = (struct plot){
        .left = LEFT,
        .height = HEIGHT,
        .x = plot_axis(2, "1", "flop per byte"),
        .y = plot_axis(10, "flop/s", "flop per second")};
    figure_ceilings_find(&d->roof);
    d->roof.plot.width = SVG_WIDTH - LEFT - figure_ceilings_room(&d->roof);
    find_marks(d, file);
    name_series(d);
    const bool is_roof = d->marks && roof_best(&d->roof.picture, true) > 0 &&
                         roof_best(&d->roof.picture, false) > 0;
    const bool is_worth_it =
        is_roof && (d->roof.picture.n_marks > 0 ||
                    (figure_ceilings_measured(&d->roof, true) &&
                     figure_ceilings_measured(&d->roof, false)));
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
