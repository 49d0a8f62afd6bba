/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of matrix products: one plot of all types; with other libraries
 * beside ours a small one for each type, whose rates begin at 0, since what
 * counts then are small differences. */
#include <math.h>
#include <stdio.h>

#include "charts/figure_gemm.h"
#include "cli/units.h"

enum {
    LEFT = 92,
    RIGHT = 24,
    HEIGHT = 340,
    PANEL_WIDTH = 244,
    PANEL_HEIGHT = 150,
    PANEL_STEP = 364, /* from one to the next */
    PANEL_GAP = 44,
    BELOW = 12
};

/* Types this far apart want a logarithmic axis; others one from 0. */
static const double far = 8;

static double tell(struct xl__str *out, const struct gemm_picture *d)
{
    const struct plot_point *best = NULL;
    char rate[UNITS_CAP], text[160];
    for (unsigned i = 0; i < d->n_series; i++) {
        const struct plot_series *s = &d->series[i].marks;
        for (size_t j = 0; j < s->n && !*d->series[i].who; j++)
            best = !best || s->at[j].y > best->y ? &s->at[j] : best;
    }
    if (!best)
        return figure_headline(out, d->device, "Matrix products");
    units_format(rate, sizeof rate, best->y, "flop/s");
    snprintf(text, sizeof text, "%s at best: %s", rate, best->label);
    return figure_headline(out, d->device, text);
}

static void look_of(struct gemm_series *s, unsigned colour, const char *name)
{
    s->marks.colour = colour;
    s->marks.shape = s->marks.dash = s->who_shape;
    s->marks.has_line = s->marks.has_marks = true;
    xl__strcpy(s->marks.name, sizeof s->marks.name, name);
    s->line.colour = colour;
    s->line.dash = s->who_shape;
}

/* Those of one kind, ours on top. */
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

static void take_series(struct plot_labels *taken, const struct plot *p,
                        const struct gemm_picture *d, unsigned kind)
{
    for (unsigned i = 0; i < d->n_series; i++)
        if (d->series[i].kind == kind)
            plot_take_marks(taken, p, &d->series[i].marks);
}

static void draw_roof(struct xl__str *out, const struct plot *p,
                      const struct gemm_picture *d, unsigned kind)
{
    const double y = plot_y(p, d->roof[kind]);
    if (d->roof[kind] > 0)
        svg_line(out, p->left, y, p->left + p->width, y, 2);
}

/* Named above its line or below it, wherever that is clear. */
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

/* With room for a name above the highest. */
static void hold_roofs(struct plot_axis *axis, const struct gemm_picture *d)
{
    static const double room = 1.25;
    for (unsigned i = 0; i < d->n_kinds; i++)
        if (d->roof[i] > 0)
            plot_axis_hold(axis, d->roof[i] * room);
    if (axis->to < far * axis->from) {
        axis->log_base = 0;
        plot_axis_hold(axis, 0);
    }
}

/* Of those without a name yet, so that names stand in the order of lines. */
static unsigned highest(const struct gemm_picture *d, const bool *is_named)
{
    unsigned best = 0;
    for (unsigned i = 1; i < d->n_kinds; i++)
        if (!is_named[i] && (is_named[best] || d->roof[i] > d->roof[best]))
            best = i;
    return best;
}

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
        take_series(&taken, p, d, i);
        if (d->roof[i] > 0)
            plot_take_line(&taken, p->left, y, p->left + p->width, y, thin);
    }
    for (unsigned n = 0; n < d->n_kinds; n++) {
        const unsigned i = highest(d, is_named);
        is_named[i] = true;
        svg_series(out, i);
        name_roof(out, p, &taken, d, i);
        svg_group_end(out);
    }
}

static double legend(struct xl__str *out, const struct gemm_picture *d,
                     double y)
{
    struct plot_series all[GEMM_SERIES];
    for (unsigned i = 0; i < d->n_series; i++)
        all[i] = d->series[i].marks;
    return plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, all,
                       d->n_series);
}

static double draw_one(struct xl__str *out, struct gemm_picture *d)
{
    struct plot *p = &d->plot;
    for (unsigned i = 0; i < d->n_series; i++)
        look_of(&d->series[i], d->series[i].kind,
                d->kind[d->series[i].kind]);
    hold_roofs(&p->y, d);
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    p->left = LEFT;
    p->width = SVG_WIDTH - LEFT - RIGHT;
    p->height = HEIGHT;
    p->y.label = "Rate";
    p->top = legend(out, d, tell(out, d)) + 26;
    const double bottom = plot_frame(out, p);
    for (unsigned i = d->n_kinds; i-- > 0;)
        draw_series(out, p, d, i);
    draw_roofs(out, d);
    return bottom;
}

/* -- a plot for each type ------------------------------------------------- */

/* The sizes are the same for all, the rates its own. */
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
    take_series(&taken, &p, d, kind);
    name_roof(out, &p, &taken, d, kind);
    return bottom;
}

/* Each library once. */
static double legend_of_libraries(struct xl__str *out,
                                  const struct gemm_picture *d, double y)
{
    struct plot_series all[GEMM_SERIES];
    unsigned n = 0;
    for (unsigned i = 0; i < d->n_series; i++) {
        bool is_new = d->series[i].marks.n > 0;
        for (unsigned j = 0; j < n; j++)
            is_new = is_new && all[j].shape != d->series[i].who_shape;
        if (is_new)
            all[n++] = d->series[i].marks;
    }
    return plot_legend(out, PLOT_EDGE, y, SVG_WIDTH - 2 * PLOT_EDGE, all, n);
}

static double draw_panels(struct xl__str *out, struct gemm_picture *d)
{
    double y;
    for (unsigned i = 0; i < d->n_series; i++) {
        struct gemm_series *s = &d->series[i];
        look_of(s, s->who_shape, *s->who ? s->who : "this library");
    }
    plot_axis_widen(&d->plot.x);
    y = legend_of_libraries(out, d, tell(out, d)) + 26;
    for (unsigned i = 0; i < d->n_kinds; i += 2) {
        double bottom = draw_panel(out, d, i, y);
        if (i + 1 < d->n_kinds)
            bottom = draw_panel(out, d, i + 1, y);
        y = bottom + PANEL_GAP;
    }
    return y - PANEL_GAP;
}

void gemm_draw(struct xl__str *out, struct gemm_picture *d)
{
    struct xl__str body = {0};
    bool has_others = false;
    for (unsigned i = 0; i < d->n_series; i++)
        has_others = has_others || *d->series[i].who;
    const double bottom = has_others && d->n_kinds > 1
                              ? draw_panels(&body, d)
                              : draw_one(&body, d);
    figure_write(out, &figure_gemm, &body, bottom + BELOW);
}
