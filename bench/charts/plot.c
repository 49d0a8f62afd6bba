/* SPDX-License-Identifier: Apache-2.0 */
#include "charts/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/units.h"

enum {
    TICK_ROOM = 34, /* between ticks of the y axis, at least */
    X_TEXT = 18,    /* from the area down to the ticks' text */
    Y_TEXT = 8,     /* from the area left to it */
    LINE = 18,      /* of text */
    LABEL_LEFT = 84 /* from the area left to the y axis' name */
};

/* -- places --------------------------------------------------------------- */

/* 0 to 1 along the axis. */
static double along(const struct plot_axis *a, double value)
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
    return p->left + p->width * along(&p->x, value);
}

double plot_y(const struct plot *p, double value)
{
    return p->top + p->height * (1 - along(&p->y, value));
}

/* -- axes ----------------------------------------------------------------- */

static void frame_y(struct xl__str *out, const struct plot *p)
{
    double at[PLOT_MOST_TICKS];
    const unsigned n = plot_ticks(&p->y, (unsigned)(p->height / TICK_ROOM), at);
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

/* As many ticks as have room for the longest text, each of which stays within
 * the picture. */
static unsigned x_ticks(const struct plot *p, double at[PLOT_MOST_TICKS],
                        char text[PLOT_MOST_TICKS][UNITS_CAP])
{
    static const double apart = 14;
    unsigned n = 0;
    for (unsigned most = PLOT_MOST_TICKS; most > 0; most--) {
        double right = -INFINITY;
        bool fits = true;
        n = plot_ticks(&p->x, most, at);
        for (unsigned i = 0; i < n; i++) {
            plot_format(text[i], UNITS_CAP, at[i], p->x.unit);
            const double half = svg_text_width(text[i], svg_small) / 2;
            fits = fits && plot_x(p, at[i]) - half > right + apart;
            right = plot_x(p, at[i]) + half;
        }
        if (fits)
            return n;
    }
    return n;
}

static void frame_x(struct xl__str *out, const struct plot *p)
{
    double at[PLOT_MOST_TICKS];
    char text[PLOT_MOST_TICKS][UNITS_CAP];
    const unsigned n = x_ticks(p, at, text);
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
    frame_y(out, p);
    frame_x(out, p);
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

static int by_x(const void *a, const void *b)
{
    const double x = ((const struct plot_point *)a)->x;
    const double y = ((const struct plot_point *)b)->x;
    return (x > y) - (x < y);
}

void plot_sort(struct plot_series *s)
{
    if (s->n > 1)
        qsort(s->at, s->n, sizeof *s->at, by_x);
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

/* An interval that a mark would hide is none to look at. */
static void interval(struct xl__str *out, const struct plot *p,
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
        interval(out, p, at);
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
        const double wide =
            SAMPLE + 6 + svg_text_width(s[i].name, svg_small);
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
