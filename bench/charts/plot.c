/* SPDX-License-Identifier: Apache-2.0 */
/* Charts over svg.h: axes and their ticks, series of points, the legend,
 * labels that keep clear of one another, and bars.
 *
 * Linear ticks are 1, 2 or 5 times a power of ten apart, logarithmic ones
 * whole powers of the base; a logarithmic axis too short for these has 1, 2
 * and 5 of each decade, or ticks like a linear one. */
#include "charts/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"
#include "cli/units.h"

/* -- axes ----------------------------------------------------------------- */

/* No measured value is outside of these; one that is would distort the axis.
 */
static const double least_shown = 1e-30, most_shown = 1e30;

struct plot_axis plot_axis(unsigned log_base, const char *unit,
                           const char *label)
{
    return (struct plot_axis){.from = INFINITY,
                              .to = -INFINITY,
                              .log_base = log_base,
                              .unit = unit,
                              .label = label};
}

bool plot_can_show(const struct plot_axis *a, double value)
{
    if (!isfinite(value) || fabs(value) > most_shown)
        return false;
    return a->log_base == 0 || value > least_shown;
}

void plot_axis_hold(struct plot_axis *a, double value)
{
    if (!plot_can_show(a, value))
        return;
    a->from = fmin(a->from, value);
    a->to = fmax(a->to, value);
}

/* An axis of one value is widened around it as well. */
void plot_axis_widen(struct plot_axis *a)
{
    static const double margin = 0.04, single_value_factor = 1.5;
    if (a->from > a->to)
        return;
    if (a->log_base > 0) {
        const double factor = a->to > a->from ? pow(a->to / a->from, margin)
                                              : single_value_factor;
        a->from /= factor;
        a->to *= factor;
        return;
    }
    const double room =
        a->to > a->from ? margin * (a->to - a->from) : fabs(a->to) + 1;
    a->to += room;
    a->from = a->from >= 0 && a->from - room < 0 ? a->from : a->from - room;
}

/* -- ticks ---------------------------------------------------------------- */

/* The least of 1, 2 and 5 times a power of ten that is at least `least`. */
static double nice_step(double least)
{
    static const double steps[] = {1, 2, 5, 10};
    const double decade = pow(10, floor(log10(least)));
    unsigned i = 0;
    /* Rounding may make a step slightly less than a whole one. */
    while (i < 3 && steps[i] * decade * (1 + 1e-9) < least)
        i++;
    return steps[i] * decade;
}

/* Ticks a nice step apart. */
static unsigned linear_ticks(const struct plot_axis *a, unsigned most,
                             double *at)
{
    static const double epsilon = 1e-9;
    const double step = nice_step((a->to - a->from) / (most - 1));
    const double first = ceil(a->from / step - epsilon);
    unsigned n = 0;
    while (n < most && (first + n) * step <= a->to + epsilon * step) {
        at[n] = (first + n) * step;
        n++;
    }
    return n;
}

/* Powers of the base, every n-th where there are many. */
static unsigned power_ticks(const struct plot_axis *a, unsigned most,
                            double *at)
{
    static const double epsilon = 1e-9;
    const double base = a->log_base;
    const double from = log(a->from) / log(base);
    const double to = log(a->to) / log(base);
    const double each = fmax(ceil((to - from) / (most - 1)), 1);
    const double first = ceil(from / each - epsilon) * each;
    unsigned n = 0;
    while (n < most && first + n * each <= to + epsilon) {
        at[n] = pow(base, first + n * each);
        n++;
    }
    return n;
}

/* 1, 2 and 5 of each decade; returns 0 where these are more than `most`. */
static unsigned decade_ticks(const struct plot_axis *a, unsigned most,
                             double *at)
{
    static const double steps[] = {1, 2, 5};
    unsigned n = 0;
    for (double decade = pow(10, floor(log10(a->from))); decade <= a->to;
         decade *= 10)
        for (unsigned i = 0; i < 3; i++) {
            const double value = steps[i] * decade;
            if (value < a->from || value > a->to)
                continue;
            if (n == most)
                return 0;
            at[n++] = value;
        }
    return n;
}

unsigned plot_ticks(const struct plot_axis *a, unsigned most,
                    double at[PLOT_MOST_TICKS])
{
    enum { FEW = 2, DECADES = 3 };
    unsigned n = 0;
    most = most > PLOT_MOST_TICKS ? PLOT_MOST_TICKS : most;
    if (most < FEW || !(a->to > a->from))
        return 0;
    if (a->log_base == 10 && log10(a->to / a->from) < DECADES)
        n = decade_ticks(a, most, at);
    if (n < FEW && a->log_base > 0)
        n = power_ticks(a, most, at);
    return n >= FEW ? n : linear_ticks(a, most, at);
}

void plot_format(char *out, size_t cap, double value, const char *unit)
{
    if (unit && unit[0] == '%')
        units_percent(out, cap, value);
    else
        units_format(out, cap, value, unit);
}

enum {
    TICK_ROOM = 34, /* between ticks of the y axis, at least */
    X_TEXT = 18,    /* from the area down to the ticks' text */
    Y_TEXT = 8,     /* from the area left to it */
    LINE = 18,      /* of text */
    LABEL_LEFT = 84 /* from the area left to the y axis' name */
};

/* -- positions ------------------------------------------------------------ */

/* 0 to 1 along the axis. */
static double axis_frac(const struct plot_axis *a, double value)
{
    if (!(a->to > a->from))
        return 0.5;
    const double at = a->log_base > 0
                          ? log(value / a->from) / log(a->to / a->from)
                          : (value - a->from) / (a->to - a->from);
    return isfinite(at) ? fmin(fmax(at, 0), 1) : 0;
}

double plot_x(const struct plot *p, double value)
{
    return p->left + p->width * axis_frac(&p->x, value);
}

double plot_y(const struct plot *p, double value)
{
    return p->top + p->height * (1 - axis_frac(&p->y, value));
}

/* -- axes ----------------------------------------------------------------- */

/* Grid lines, then the texts left of the area. */
static void draw_y_axis(struct xl__str *out, const struct plot *p)
{
    double at[PLOT_MOST_TICKS];
    const unsigned n =
        plot_ticks(&p->y, (unsigned)(p->height / TICK_ROOM), at);
    char text[UNITS_CAP];
    svg_grid(out);
    for (unsigned i = 0; i < n; i++)
        svg_line(out, p->left, plot_y(p, at[i]), p->left + p->width,
                 plot_y(p, at[i]), 0);
    svg_group_end(out);
    svg_aside(out);
    for (unsigned i = 0; i < n; i++) {
        plot_format(text, sizeof text, at[i], p->y.unit);
        svg_text(out, p->left - Y_TEXT, plot_y(p, at[i]) + 4, svg_small, "end",
                 svg_ink, text);
    }
    svg_group_end(out);
}

/* As many ticks as have room for the longest text. */
static unsigned fit_x_ticks(const struct plot *p, double at[PLOT_MOST_TICKS],
                            char text[PLOT_MOST_TICKS][UNITS_CAP])
{
    static const double least_gap = 14;
    unsigned n = 0;
    for (unsigned most = PLOT_MOST_TICKS; most > 0; most--) {
        double right = -INFINITY;
        bool fits = true;
        n = plot_ticks(&p->x, most, at);
        for (unsigned i = 0; i < n; i++) {
            plot_format(text[i], UNITS_CAP, at[i], p->x.unit);
            const double half = svg_text_width(text[i], svg_small) / 2;
            fits = fits && plot_x(p, at[i]) - half > right + least_gap;
            right = plot_x(p, at[i]) + half;
        }
        if (fits)
            return n;
    }
    return n;
}

/* Grid lines, the base line, then the texts below the area. */
static void draw_x_axis(struct xl__str *out, const struct plot *p)
{
    double at[PLOT_MOST_TICKS];
    char text[PLOT_MOST_TICKS][UNITS_CAP];
    const unsigned n = fit_x_ticks(p, at, text);
    const double bottom = p->top + p->height;
    svg_grid(out);
    for (unsigned i = 0; i < n; i++)
        svg_line(out, plot_x(p, at[i]), p->top, plot_x(p, at[i]), bottom, 0);
    svg_group_end(out);
    svg_aside(out);
    svg_line(out, p->left, bottom, p->left + p->width, bottom, 0);
    for (unsigned i = 0; i < n; i++)
        svg_text(out, plot_x(p, at[i]), bottom + X_TEXT, svg_small, "middle",
                 svg_ink, text[i]);
    svg_group_end(out);
}

double plot_frame(struct xl__str *out, const struct plot *p)
{
    const double bottom = p->top + p->height;
    draw_y_axis(out, p);
    draw_x_axis(out, p);
    if (*p->y.label)
        svg_text(out, fmax(p->left - LABEL_LEFT, PLOT_EDGE), p->top - 12,
                 svg_small, "start", svg_ink, p->y.label);
    svg_text(out, p->left + p->width / 2, bottom + X_TEXT + LINE, svg_small,
             "middle", svg_ink, p->x.label);
    return bottom + X_TEXT + LINE;
}

/* -- series --------------------------------------------------------------- */

bool plot_add(struct plot *p, struct plot_series *s,
              const struct plot_point *point)
{
    if (!plot_can_show(&p->x, point->x) || !plot_can_show(&p->y, point->y) ||
        !xl__grow(&s->at, &s->cap, s->n + 1, sizeof *s->at))
        return false;
    struct plot_point *kept = &s->at[s->n++];
    *kept = *point;
    if (!plot_can_show(&p->y, kept->low) || !plot_can_show(&p->y, kept->high))
        kept->low = kept->high = (double)NAN;
    plot_axis_hold(&p->x, kept->x);
    plot_axis_hold(&p->y, kept->y);
    plot_axis_hold(&p->y, kept->low);
    plot_axis_hold(&p->y, kept->high);
    return true;
}

static int compare_x(const void *a, const void *b)
{
    const double x = ((const struct plot_point *)a)->x;
    const double y = ((const struct plot_point *)b)->x;
    return (x > y) - (x < y);
}

void plot_sort(struct plot_series *s)
{
    if (s->n > 1)
        qsort(s->at, s->n, sizeof *s->at, compare_x);
}

void plot_series_clear(struct plot_series *s)
{
    free(s->at);
    s->at = NULL;
    s->n = s->cap = 0;
}

void plot_line(struct xl__str *out, const struct plot *p,
               const struct plot_series *s)
{
    if (s->n < 2)
        return;
    svg_series(out, s->colour);
    svg_path_begin(out);
    for (size_t i = 0; i < s->n; i++)
        svg_path_point(out, plot_x(p, s->at[i].x), plot_y(p, s->at[i].y));
    svg_path_end(out, s->dash);
    svg_group_end(out);
}

/* An interval that the mark hides is not drawn. */
static void draw_interval(struct xl__str *out, const struct plot *p,
                          const struct plot_point *at)
{
    static const double hidden = 6, half = 3;
    const double x = plot_x(p, at->x);
    const double low = plot_y(p, at->low), high = plot_y(p, at->high);
    if (isnan(at->low) || low - high < hidden)
        return;
    svg_line(out, x, low, x, high, 0);
    svg_line(out, x - half, low, x + half, low, 0);
    svg_line(out, x - half, high, x + half, high, 0);
}

void plot_marks(struct xl__str *out, const struct plot *p,
                const struct plot_series *s)
{
    if (s->n == 0)
        return;
    svg_series(out, s->colour);
    for (size_t i = 0; i < s->n; i++) {
        const struct plot_point *at = &s->at[i];
        draw_interval(out, p, at);
        svg_mark(out, s->shape, plot_x(p, at->x), plot_y(p, at->y),
                 at->is_hollow, at->tip);
    }
    svg_group_end(out);
}

/* -- the legend ----------------------------------------------------------- */

double plot_legend(struct xl__str *out, double x, double y, double width,
                   const struct plot_series *s, size_t n)
{
    enum { SAMPLE = 24, AFTER = 20 };
    double at = x;
    for (size_t i = 0; i < n; i++) {
        const double wide = SAMPLE + 6 + svg_text_width(s[i].name, svg_small);
        if (s[i].n == 0)
            continue;
        if (at > x && at + wide > x + width) {
            at = x;
            y += LINE;
        }
        svg_series(out, s[i].colour);
        if (s[i].has_line)
            svg_line(out, at, y - 4, at + SAMPLE, y - 4, s[i].dash);
        if (s[i].has_marks)
            svg_mark(out, s[i].shape, at + SAMPLE / 2.0, y - 4, false, NULL);
        svg_group_end(out);
        svg_text(out, at + SAMPLE + 6, y, svg_small, "start", svg_ink,
                 s[i].name);
        at += wide + AFTER;
    }
    return at > x ? y + LINE : y;
}

/* -- labels --------------------------------------------------------------- */

/* Whatever is drawn may be noted as boxes, and a label takes the first of a
 * few positions around its point that no box overlaps. */
static struct plot_box box_around(double x, double y, double width,
                                  double height)
{
    return (struct plot_box){x - width / 2, y - height / 2, x + width / 2,
                             y + height / 2};
}

/* Stores a box; when all are in use, is_free() returns false. */
static void add_box(struct plot_labels *labels, struct plot_box box)
{
    if (labels->n < PLOT_MOST_BOXES)
        labels->box[labels->n++] = box;
}

void plot_reserve(struct plot_labels *labels, double x, double y, double width,
                  double height)
{
    add_box(labels, box_around(x, y, width, height));
}

void plot_reserve_marks(struct plot_labels *labels, const struct plot *p,
                        const struct plot_series *s)
{
    static const double side = 12;
    for (size_t i = 0; i < s->n; i++)
        plot_reserve(labels, plot_x(p, s->at[i].x), plot_y(p, s->at[i].y),
                     side, side);
}

/* Is a box inside of the plot and clear of all others? When no more boxes can
 * be stored, none is. */
static bool is_free(const struct plot *p, const struct plot_labels *labels,
                    const struct plot_box *b)
{
    if (b->left < p->left || b->right > p->left + p->width ||
        b->top < p->top || b->bottom > p->top + p->height ||
        labels->n == PLOT_MOST_BOXES)
        return false;
    for (unsigned i = 0; i < labels->n; i++) {
        const struct plot_box *o = &labels->box[i];
        if (b->left < o->right && o->left < b->right && b->top < o->bottom &&
            o->top < b->bottom)
            return false;
    }
    return true;
}

/* Box i of those along a line; false: there are no more. */
static bool box_along_line(double x1, double y1, double x2, double y2,
                           double wide, unsigned i, struct plot_box *out)
{
    const double length = hypot(x2 - x1, y2 - y1);
    const double n = fmax(ceil(length / wide), 1);
    const double at = i / n;
    *out = box_around(x1 + (x2 - x1) * at, y1 + (y2 - y1) * at, wide, wide);
    return i <= n;
}

void plot_reserve_line(struct plot_labels *labels, double x1, double y1,
                       double x2, double y2, double wide)
{
    struct plot_box box;
    for (unsigned i = 0; box_along_line(x1, y1, x2, y2, wide, i, &box); i++)
        add_box(labels, box);
}

bool plot_is_clear(const struct plot *p, const struct plot_labels *labels,
                   double x1, double y1, double x2, double y2, double wide)
{
    struct plot_box box;
    for (unsigned i = 0; box_along_line(x1, y1, x2, y2, wide, i, &box); i++)
        if (!is_free(p, labels, &box))
            return false;
    return true;
}

bool plot_label(struct xl__str *out, const struct plot *p,
                struct plot_labels *labels, double x, double y,
                const char *text)
{
    /* From the point: to the text's left end in its widths and pixels, and to
     * its base line. */
    static const struct {
        double widths, dx, dy;
    } positions[] = {{0, 9, 4},     {-0.5, 0, -10}, {-1, -9, 4},
                     {-0.5, 0, 20}, {0, 7, -8},     {-1, -7, -8},
                     {0, 7, 17},    {-1, -7, 17},   {-0.5, 0, -24},
                     {-0.5, 0, 34}, {-0.5, 0, -38}, {0, 7, -24},
                     {-1, -7, -24}, {0, 7, -40},    {-1, -7, -40}};
    static const double ascent = 10, descent = 3;
    const double width = svg_text_width(text, svg_small);
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        const double left = x + positions[i].widths * width + positions[i].dx;
        const double base = y + positions[i].dy;
        const struct plot_box box = {left, base - ascent, left + width,
                                     base + descent};
        if (!is_free(p, labels, &box))
            continue;
        svg_text(out, left, base, svg_small, "start", svg_ink, text);
        add_box(labels, box);
        return true;
    }
    return false;
}

/* -- bars ----------------------------------------------------------------- */

enum {
    BAR_STEP = 22,
    BAR_HEIGHT = 12, /* a bar */
    BAR_VALUES = 92, /* room for values, right of the area */
    BAR_GAP = 10,    /* of names and values to the area */
    BAR_BASELINE = 4 /* of text below its middle */
};

bool plot_bars_add(struct plot_bars *bars, struct plot_axis *axis,
                   const struct plot_bar *bar)
{
    if (!plot_can_show(axis, bar->value) ||
        !xl__grow(&bars->at, &bars->cap, bars->n + 1, sizeof *bars->at))
        return false;
    struct plot_bar *kept = &bars->at[bars->n++];
    *kept = *bar;
    if (!plot_can_show(axis, kept->low) || !plot_can_show(axis, kept->high))
        kept->low = kept->high = (double)NAN;
    plot_axis_hold(axis, kept->value);
    plot_axis_hold(axis, kept->low);
    plot_axis_hold(axis, kept->high);
    return true;
}

void plot_bars_clear(struct plot_bars *bars)
{
    free(bars->at);
    *bars = (struct plot_bars){.n = 0};
}

static double find_widest_name(const struct plot_bars *bars)
{
    double widest = 0;
    for (size_t i = 0; i < bars->n; i++)
        widest = fmax(widest, svg_text_width(bars->at[i].name, svg_small));
    return widest;
}

/* The interval of a bar, unless it is too short to be seen. */
static void draw_bar_interval(struct xl__str *out, const struct plot *p,
                              const struct plot_bar *bar, double y)
{
    static const double hidden = 3, half = 4;
    const double low = plot_x(p, bar->low), high = plot_x(p, bar->high);
    if (isnan(bar->low) || high - low < hidden)
        return;
    svg_line(out, low, y, high, y, 0);
    svg_line(out, low, y - half, low, y + half, 0);
    svg_line(out, high, y - half, high, y + half, 0);
}

/* A bar from 0 on a linear axis, a mark on a logarithmic one. */
static void draw_bar(struct xl__str *out, const struct plot *p,
                     const struct plot_bar *bar, double y)
{
    const double x = plot_x(p, bar->value);
    svg_series(out, bar->series);
    if (p->x.log_base > 0) {
        svg_line(out, p->left, y, x, y, 2);
        svg_mark(out, bar->series, x, y, bar->is_hollow, bar->tip);
    } else if (bar->is_hollow) {
        svg_outline(out, p->left, y - BAR_HEIGHT / 2.0, x - p->left,
                    BAR_HEIGHT, bar->tip);
    } else {
        svg_rect(out, p->left, y - BAR_HEIGHT / 2.0, x - p->left, BAR_HEIGHT,
                 svg_ink, bar->tip);
    }
    svg_group_end(out);
    draw_bar_interval(out, p, bar, y);
}

/* A bar or mark, and its value. */
static void draw_bar_row(struct xl__str *out, const struct plot *p,
                         const struct plot_bar *bar, double y)
{
    char value[UNITS_CAP];
    const double end =
        isnan(bar->high) ? bar->value : fmax(bar->value, bar->high);
    plot_format(value, sizeof value, bar->value, p->x.unit);
    draw_bar(out, p, bar, y);
    svg_text(out, plot_x(p, end) + BAR_GAP, y + BAR_BASELINE, svg_small,
             "start", svg_ink, value);
}

/* Names stand beside the bars, or above them where they are long. */
double plot_bars_draw(struct xl__str *out, const struct plot_bars *bars,
                      struct plot_axis axis, double line, double y)
{
    static const double widest_beside = 0.4;
    const double widest = find_widest_name(bars);
    const bool is_above = widest > widest_beside * SVG_WIDTH;
    const double step = is_above ? 2 * BAR_STEP - BAR_GAP / 2.0 : BAR_STEP;
    struct plot p = {.top = y,
                     .height = (double)bars->n * step + BAR_STEP / 2.0,
                     .x = axis,
                     .y = plot_axis(0, "1", "")};
    if (axis.log_base == 0)
        plot_axis_hold(&p.x, 0);
    plot_axis_hold(&p.x, line);
    plot_axis_widen(&p.x);
    p.left = PLOT_EDGE + (is_above ? 0 : widest) + BAR_GAP;
    p.width = SVG_WIDTH - p.left - BAR_VALUES;
    const double bottom = plot_frame(out, &p);
    if (plot_can_show(&p.x, line)) {
        svg_aside(out);
        svg_line(out, plot_x(&p, line), p.top, plot_x(&p, line),
                 p.top + p.height, 1);
        svg_group_end(out);
    }
    for (size_t i = 0; i < bars->n; i++) {
        const double middle = y + ((double)i + 1) * step - BAR_STEP / 4.0;
        draw_bar_row(out, &p, &bars->at[i], middle);
        if (is_above)
            svg_text(out, p.left + BAR_BASELINE, middle - BAR_GAP, svg_small,
                     "start", svg_ink, bars->at[i].name);
        else
            svg_text(out, p.left - BAR_GAP, middle + BAR_BASELINE, svg_small,
                     "end", svg_ink, bars->at[i].name);
    }
    return bottom;
}
