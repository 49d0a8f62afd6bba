/* SPDX-License-Identifier: Apache-2.0 */
/* Charts over svg.h: axes with round numbers on them, points of series with
 * their tooltips, a legend, labels that keep clear of one another, and bars.
 * Pixels grow downwards; the area of a plot is
 *
 *     (left, top) +------------------+
 *                 |                  | height
 *                 +------------------+
 *                        width
 *
 * A point that an axis cannot show is not added, so no coordinate is ever
 * infinite or NaN. */
#ifndef CLBENCH_PLOT_H
#define CLBENCH_PLOT_H

#include "charts/svg.h"

/* Values from..to; none yet: from > to. */
struct plot_axis {
    double from, to;
    unsigned log_base; /* 2 or 10; 0: linear */
    const char *unit;  /* as units_format(); "%": a share */
    const char *label;
};
struct plot_axis plot_axis(unsigned log_base, const char *unit,
                           const char *label);
/* Can it show the value? */
bool plot_can_show(const struct plot_axis *a, double value);
/* Extend to include a value, if it can show it; add a margin at both ends. */
void plot_axis_hold(struct plot_axis *a, double value);
void plot_axis_widen(struct plot_axis *a);
/* Values of ticks, no more than `most`; their number. */
enum { PLOT_MOST_TICKS = 16 };
unsigned plot_ticks(const struct plot_axis *a, unsigned most,
                    double at[PLOT_MOST_TICKS]);
void plot_format(char *out, size_t cap, double value, const char *unit);

/* Left free at both sides of a figure. */
enum { PLOT_EDGE = 8 };
/* The area between the axes. */
struct plot {
    double left, top, width, height;
    struct plot_axis x, y;
};
double plot_x(const struct plot *p, double value);
double plot_y(const struct plot *p, double value);
/* Draw grid, ticks and the labels of the axes; the y below all of it. */
double plot_frame(struct xl__str *out, const struct plot *p);

enum { PLOT_TIP = 224, PLOT_NAME = 64, PLOT_LABEL = 80 };
struct plot_point {
    double x, y, low, high; /* low and high NaN: no interval */
    bool is_hollow;         /* it is not to be relied on */
    char tip[PLOT_TIP];
    char label[PLOT_LABEL]; /* short, for plot_label() */
};
struct plot_series {
    char name[PLOT_NAME];
    unsigned colour, shape, dash;
    bool has_line, has_marks; /* in the legend */
    struct plot_point *at;
    size_t n, cap;
};
/* Add a copy of the point; the axes extend to include it. False: an axis
 * cannot show it, or out of memory. */
bool plot_add(struct plot *p, struct plot_series *s,
              const struct plot_point *point);
/* By x, so that a line can be drawn. */
void plot_sort(struct plot_series *s);
void plot_line(struct xl__str *out, const struct plot *p,
               const struct plot_series *s);
void plot_marks(struct xl__str *out, const struct plot *p,
                const struct plot_series *s);
void plot_series_clear(struct plot_series *s);
/* Names beside their marks and lines, filled from x to x + width; the y below
 * the last line. Series without points are left out. */
double plot_legend(struct xl__str *out, double x, double y, double width,
                   const struct plot_series *s, size_t n);

/* -- labels --------------------------------------------------------------- */

/* The boxes that labels keep clear of. */
struct plot_box {
    double left, top, right, bottom;
};
enum { PLOT_MOST_BOXES = 4096 };
struct plot_labels {
    struct plot_box box[PLOT_MOST_BOXES];
    unsigned n;
};
/* Reserve a box around a point; boxes along a line, `wide` pixels each; boxes
 * around the marks of a series. */
void plot_reserve(struct plot_labels *taken, double x, double y, double width,
                  double height);
void plot_reserve_line(struct plot_labels *taken, double x1, double y1,
                       double x2, double y2, double wide);
void plot_reserve_marks(struct plot_labels *taken, const struct plot *p,
                        const struct plot_series *s);
/* Is a line of this width clear of all boxes, and inside of the plot? */
bool plot_is_clear(const struct plot *p, const struct plot_labels *taken,
                   double x1, double y1, double x2, double y2, double wide);
/* Draw a text beside the point (x, y), wherever there is room inside of the
 * plot, and reserve its box; false: there is none, and nothing is drawn. */
bool plot_label(struct xl__str *out, const struct plot *p,
                struct plot_labels *taken, double x, double y,
                const char *text);

/* -- bars ----------------------------------------------------------------- */

/* Values by name, one below the other: bars from 0 on a linear axis, marks on
 * a logarithmic one, which has no 0 to start from. */
struct plot_bar {
    char name[PLOT_LABEL];
    double value, low, high; /* low and high NaN: no interval */
    unsigned series;
    bool is_hollow; /* it is not to be relied on */
    char tip[PLOT_TIP];
};
struct plot_bars {
    struct plot_bar *at;
    size_t n, cap;
};
/* Add a copy; the axis extends to include it. False: the axis cannot show it,
 * or out of memory. */
bool plot_bars_add(struct plot_bars *bars, struct plot_axis *axis,
                   const struct plot_bar *bar);
void plot_bars_clear(struct plot_bars *bars);
/* Draw from y on; the y below. `line`: a value with a line through all bars;
 * NaN: none. */
double plot_bars_draw(struct xl__str *out, const struct plot_bars *bars,
                      struct plot_axis axis, double line, double y);

#endif
