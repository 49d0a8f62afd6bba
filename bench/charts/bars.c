/* SPDX-License-Identifier: Apache-2.0 */
#include "charts/bars.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "cli/units.h"

enum {
    ROW = 22,
    THICK = 12,    /* a bar */
    VALUES = 92,   /* room for values, right of the area */
    MOST_NAME = 30 /* letters */
};

bool bars_add(struct bars *bars, struct plot_axis *axis, const struct bar *bar)
{
    if (!plot_can_show(axis, bar->value) ||
        !xl__grow(&bars->at, &bars->cap, bars->n + 1, sizeof *bars->at))
        return false;
    struct bar *kept = &bars->at[bars->n++];
    *kept = *bar;
    if (!plot_can_show(axis, kept->low) || !plot_can_show(axis, kept->high))
        kept->low = kept->high = (double)NAN;
    plot_axis_hold(axis, kept->value);
    plot_axis_hold(axis, kept->low);
    plot_axis_hold(axis, kept->high);
    return true;
}

void bars_clear(struct bars *bars)
{
    free(bars->at);
    *bars = (struct bars){.n = 0};
}

static void cut_name(const struct bar *bar, struct xl__str *out)
{
    text_cut(out, bar->name, MOST_NAME);
}

static double widest_name(const struct bars *bars)
{
    double widest = 0;
    for (size_t i = 0; i < bars->n; i++) {
        struct xl__str name = {0};
        cut_name(&bars->at[i], &name);
        widest = fmax(widest, svg_text_width(xl__str_text(&name), svg_small));
        xl__str_clear(&name);
    }
    return widest;
}

static void interval(struct xl__str *out, const struct plot *p,
                     const struct bar *bar, double y)
{
    static const double hidden = 3, half = 4;
    const double low = plot_x(p, bar->low), high = plot_x(p, bar->high);
    if (isnan(bar->low) || high - low < hidden)
        return;
    svg_line(out, low, y, high, y, 0);
    svg_line(out, low, y - half, low, y + half, 0);
    svg_line(out, high, y - half, high, y + half, 0);
}

static void draw_bar(struct xl__str *out, const struct plot *p,
                     const struct bar *bar, double y)
{
    const double x = plot_x(p, bar->value);
    svg_series(out, bar->series);
    if (p->x.log_base > 0) {
        svg_line(out, p->left, y, x, y, 2);
        svg_mark(out, bar->series, x, y, bar->is_hollow, bar->tip);
    } else if (bar->is_hollow) {
        svg_outline(out, p->left, y - THICK / 2.0, x - p->left, THICK,
                    bar->tip);
    } else {
        svg_rect(out, p->left, y - THICK / 2.0, x - p->left, THICK, svg_ink,
                 bar->tip);
    }
    svg_group_end(out);
    interval(out, p, bar, y);
}

static void draw_row(struct xl__str *out, const struct plot *p,
                     const struct bar *bar, double y)
{
    static const double beside = 10, baseline = 4;
    struct xl__str name = {0};
    char value[UNITS_CAP];
    const double end = isnan(bar->high) ? bar->value
                                        : fmax(bar->value, bar->high);
    cut_name(bar, &name);
    plot_format(value, sizeof value, bar->value, p->x.unit);
    svg_text(out, p->left - beside, y + baseline, svg_small, "end", svg_ink,
             xl__str_text(&name));
    draw_bar(out, p, bar, y);
    svg_text(out, plot_x(p, end) + beside, y + baseline, svg_small, "start",
             svg_ink, value);
    xl__str_clear(&name);
}

double bars_draw(struct xl__str *out, const struct bars *bars,
                 struct plot_axis axis, double line, double y)
{
    static const double beside = 10;
    struct plot p = {.top = y, .height = (double)bars->n * ROW + ROW / 2.0,
                     .x = axis, .y = plot_axis(0, "1", "")};
    if (axis.log_base == 0)
        plot_axis_hold(&p.x, 0);
    plot_axis_hold(&p.x, line);
    plot_axis_widen(&p.x);
    p.left = PLOT_EDGE + widest_name(bars) + beside;
    p.width = SVG_WIDTH - p.left - VALUES;
    const double bottom = plot_frame(out, &p);
    if (plot_can_show(&p.x, line)) {
        svg_aside(out);
        svg_line(out, plot_x(&p, line), p.top, plot_x(&p, line),
                 p.top + p.height, 1);
        svg_group_end(out);
    }
    for (size_t i = 0; i < bars->n; i++)
        draw_row(out, &p, &bars->at[i], y + ((double)i + 0.75) * ROW);
    return bottom;
}
