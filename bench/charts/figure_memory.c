/* SPDX-License-Identifier: Apache-2.0 */
/* Access patterns, from `clbench probe coalescing`: useful rates by stride,
 * from memory and inside the last-level cache, with the granules found; by
 * offset and by width below. */
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"

enum {
    WORD = 4, /* bytes that are read at a time */
    LEFT = 92,
    HEIGHT = 280,
    BETWEEN = 52,
    PANEL_LEFT = 440, /* of the right one */
    PANEL_HEIGHT = 130,
    BELOW = 12
};

static const char op[] = "probe_coalescing";

/* The useful rate were a granule the only cost: strides cost what they leave
 * unused, until each access has a granule of its own. */
static void add_ideal(struct plot *p, struct plot_series *ideal,
                      const struct plot_series *seen, double granule)
{
    if (seen->n == 0 || !(granule > 0))
        return;
    for (size_t i = 0; i < seen->n; i++) {
        struct plot_point point = {.low = (double)NAN, .high = (double)NAN};
        point.x = seen->at[i].x;
        point.y = seen->at[0].y / fmin(point.x / WORD, granule / WORD);
        (void)plot_add(p, ideal, &point);
    }
}

static double tell(struct xl__str *out, const json_t *device, double far,
                   double near)
{
    char one[UNITS_CAP], other[UNITS_CAP], text[128];
    units_format(one, sizeof one, far, "B");
    units_format(other, sizeof other, near, "B");
    if (far > 0 && near > 0)
        snprintf(text, sizeof text,
                 "Memory gives %s at a time, the last-level cache %s", one,
                 other);
    else if (far > 0 || near > 0)
        snprintf(text, sizeof text, "%s gives %s at a time",
                 far > 0 ? "Memory" : "The last-level cache",
                 far > 0 ? one : other);
    else
        snprintf(text, sizeof text, "What is left of the rate, by pattern");
    return figure_headline(out, device, text);
}

static void draw_granule(struct xl__str *out, const struct plot *p,
                         struct plot_labels *taken, double bytes,
                         unsigned series)
{
    char text[UNITS_CAP];
    if (!(bytes >= p->x.from && bytes <= p->x.to))
        return;
    const double x = plot_x(p, bytes);
    units_format(text, sizeof text, bytes, "B");
    svg_series(out, series);
    svg_line(out, x, p->top, x, p->top + p->height, 2);
    (void)plot_label(out, p, taken, x, p->top + 12, text);
    svg_group_end(out);
}

static void draw_gather(struct xl__str *out, const struct plot *p,
                        struct plot_labels *taken,
                        const struct result_row *row)
{
    const double y = plot_y(p, figure_value(row));
    const double right = p->left + p->width;
    char rate[UNITS_CAP], text[64];
    units_format(rate, sizeof rate, figure_value(row), "B/s");
    snprintf(text, sizeof text, "at random: %s", rate);
    svg_aside(out);
    svg_line(out, p->left, y, right, y, 3);
    svg_group_end(out);
    (void)plot_label(out, p, taken, right - svg_text_width(text, svg_small), y,
                     text);
}

enum { FAR, NEAR, IDEAL, N_SERIES };

static double strides(struct xl__str *out, const struct result_file *file,
                      const json_t *device, struct plot *p,
                      struct plot_series *s)
{
    const double far = figure_found(file, device, op, "granule");
    const double near = figure_found(file, device, op, "granule_llc");
    const struct result_row *gather = figure_find(file, device, op, "gather");
    struct plot_labels taken = {.n = 0};
    add_ideal(p, &s[IDEAL], &s[FAR], far);
    if (gather)
        plot_axis_hold(&p->y, figure_value(gather));
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    const double legend = tell(out, device, far, near);
    p->top = plot_legend(out, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE, s,
                         N_SERIES) + 26;
    const double bottom = plot_frame(out, p);
    for (unsigned i = 0; i < N_SERIES; i++) {
        plot_take_marks(&taken, p, &s[i]);
        plot_line(out, p, &s[i]);
    }
    plot_marks(out, p, &s[FAR]);
    plot_marks(out, p, &s[NEAR]);
    draw_granule(out, p, &taken, far, s[FAR].colour);
    draw_granule(out, p, &taken, near, s[NEAR].colour);
    if (gather && plot_can_show(&p->y, figure_value(gather)))
        draw_gather(out, p, &taken, gather);
    return bottom;
}

/* A small chart of one series, from 0. */
static double panel(struct xl__str *out, const struct result_file *file,
                    const json_t *device, const char *variant, struct plot p)
{
    const struct figure_curve curve = {op,      variant, "params",
                                       variant, 1,       figure_value};
    struct plot_series s = {.has_marks = true};
    double bottom = 0;
    snprintf(s.name, sizeof s.name, "%s", variant);
    figure_collect(file, device, &curve, &p, &s);
    if (s.n > 1) {
        plot_axis_hold(&p.y, 0);
        plot_axis_widen(&p.x);
        plot_axis_widen(&p.y);
        bottom = plot_frame(out, &p);
        plot_line(out, &p, &s);
        plot_marks(out, &p, &s);
    }
    plot_series_clear(&s);
    return bottom;
}

static double panels(struct xl__str *out, const struct result_file *file,
                     const json_t *device, double top)
{
    const double width = PANEL_LEFT - 2 * LEFT - PLOT_EDGE;
    struct plot p = {.left = LEFT,
                     .top = top + BETWEEN,
                     .width = width,
                     .height = PANEL_HEIGHT,
                     .x = plot_axis(0, "1", "words off alignment"),
                     .y = plot_axis(0, "B/s", "Useful rate")};
    const double left = panel(out, file, device, "offset", p);
    if (left > 0) {
        p.left = PANEL_LEFT;
        p.width = SVG_WIDTH - PANEL_LEFT - 2 * PLOT_EDGE;
    }
    p.x = plot_axis(2, "1", "words of a work-item's load");
    return fmax(fmax(left, panel(out, file, device, "vector", p)), top);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    static const struct figure_curve curves[] = {
        [FAR] = {op, "stride", "params", "stride", WORD, figure_value},
        [NEAR] = {op, "stride_llc", "params", "stride", WORD, figure_value}};
    struct plot_series s[N_SERIES] = {
        [FAR] = {.name = "from memory", .colour = 0, .shape = 0,
                 .has_line = true, .has_marks = true},
        [NEAR] = {.name = "last-level cache", .colour = 1, .shape = 1,
                  .dash = 1, .has_line = true, .has_marks = true},
        [IDEAL] = {.name = "memory, if its granule were all that costs",
                   .colour = 7, .dash = 2, .has_line = true}};
    struct plot p = {.left = LEFT,
                     .width = SVG_WIDTH - LEFT - 2 * PLOT_EDGE,
                     .height = HEIGHT,
                     .x = plot_axis(2, "B", "stride between neighbours"),
                     .y = plot_axis(10, "B/s", "Useful rate")};
    struct xl__str body = {0};
    for (unsigned i = 0; i < IDEAL; i++)
        figure_collect(file, device, &curves[i], &p, &s[i]);
    const bool is_drawn = s[FAR].n + s[NEAR].n > 1;
    if (is_drawn) {
        const double bottom = strides(&body, file, device, &p, s);
        figure_write(out, &figure_coalescing, &body,
                     panels(&body, file, device, bottom) + BELOW);
    }
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_coalescing = {
    .name = "coalescing",
    .title = "Access patterns",
    .about =
        "Useful bytes a second when neighbouring work-items read words a "
        "stride apart. Where a curve stops falling each access moves a whole "
        "granule of its own: that stride is the granule. Below: what a start "
        "off alignment costs, and what wider loads gain.",
    .draw = draw,
};
