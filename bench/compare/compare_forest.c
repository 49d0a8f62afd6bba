/* SPDX-License-Identifier: Apache-2.0 */
/* A forest plot: an axis of ratios, logarithmic, and a line with a mark for
 * each interval. What goes beyond the axis ends in an arrow. */
#include <math.h>
#include <stdio.h>

#include "compare/compare_files.h"
#include "compare/tables.h"
#include "charts/svg.h"

struct line {
    const char *label;
    const struct ratio *ratio;
    bool is_mean;
};

static const double widest = 4, narrowest = 1.05; /* of the axis */
enum {
    LABEL_WIDTH = 270, RIGHT = 116, LINE = 20, TOP = 12, BOTTOM = 56,
    SERIES_SLOWER = 1, SERIES_FASTER = 2, SERIES_OTHER = 0
};

struct forest {
    struct xl__str *out;
    double reach; /* the axis goes from 1 / reach to reach */
    size_t n;
};

static double x_of(const struct forest *f, double ratio)
{
    static const double width = SVG_WIDTH - LABEL_WIDTH - RIGHT;
    const double at = log(ratio) / log(f->reach);
    return LABEL_WIDTH + width * (fmin(fmax(at, -1), 1) + 1) / 2;
}

static double y_of(size_t i)
{
    return TOP + LINE * ((double)i + 0.5);
}

/* As far as the longest interval, within reason. */
static double reach_of(const struct line *lines, size_t n)
{
    static const double air = 1.1;
    double far = log(narrowest);
    for (size_t i = 0; i < n; i++)
        if (lines[i].ratio->lo > 0)
            far = fmax(far, fmax(fabs(log(lines[i].ratio->lo)),
                                 fabs(log(lines[i].ratio->hi))));
    return exp(fmin(far * air, log(widest)));
}

static void draw_axis(const struct forest *f, double margin)
{
    static const double ticks[] = {0.25, 0.5,  0.7, 0.8, 0.9, 0.95, 0.98, 1,
                                   1.02, 1.05, 1.1, 1.2, 1.4, 2,    4};
    static const double apart = 34, below = 16, caption = 38;
    const double top = TOP, bottom = TOP + LINE * (double)f->n;
    double free_from = 0;
    char text[32];
    svg_grid(f->out);
    svg_rect(f->out, x_of(f, 1 / (1 + margin)), top,
             x_of(f, 1 + margin) - x_of(f, 1 / (1 + margin)), bottom - top,
             svg_ink, "within the margin");
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        if (fabs(log(ticks[i])) <= log(f->reach))
            svg_line(f->out, x_of(f, ticks[i]), top, x_of(f, ticks[i]),
                     bottom, 0);
    svg_group_end(f->out);
    svg_line(f->out, x_of(f, 1), top, x_of(f, 1), bottom, 0);
    svg_aside(f->out);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        const double x = x_of(f, ticks[i]);
        const bool is_one = fabs(ticks[i] - 1) < 1e-9;
        if (fabs(log(ticks[i])) > log(f->reach) ||
            (!is_one && (x < free_from || fabs(x - x_of(f, 1)) < apart)))
            continue;
        snprintf(text, sizeof text, "%g", ticks[i]);
        svg_text(f->out, x, bottom + below, svg_small, "middle", svg_ink,
                 text);
        free_from = x + apart;
    }
    svg_text(f->out, x_of(f, 1 / f->reach), bottom + caption, svg_small,
             "start", svg_ink, "b faster");
    svg_text(f->out, x_of(f, f->reach), bottom + caption, svg_small, "end",
             svg_ink, "b slower");
    svg_text(f->out, x_of(f, 1), bottom + caption, svg_small, "middle",
             svg_ink, "time, b/a");
    svg_group_end(f->out);
}

static void draw_end(const struct forest *f, double at, double y)
{
    static const double tall = 4;
    const double x = x_of(f, at);
    const double side = at > 1 ? -1 : 1;
    if (fabs(log(at)) <= log(f->reach)) {
        svg_line(f->out, x, y - tall, x, y + tall, 0);
        return;
    }
    svg_line(f->out, x, y, x + side * tall, y - tall, 0);
    svg_line(f->out, x, y, x + side * tall, y + tall, 0);
}

static void draw_line(const struct forest *f, const struct line *line,
                      size_t i)
{
    enum { LETTERS = 40, ROUND = 0, SQUARE = 1 };
    const struct ratio *r = line->ratio;
    const double y = y_of(i), base = y + 4;
    struct xl__str label = {0}, tip = {0};
    char ratio[RATIO_CAP], interval[RATIO_CAP], text[2 * RATIO_CAP + 2];
    compare_ratio(r, ratio, sizeof ratio);
    compare_interval(r, interval, sizeof interval);
    snprintf(text, sizeof text, "%s  %s", ratio, interval);
    xl__str_printf(&tip, "%s: %s, %s", line->label, text, call_name(r->call));
    size_t n = 0;
    while (line->label[n] && n < LETTERS)
        n++;
    while (n == LETTERS && n > 0 && ((unsigned char)line->label[n] & 0xc0) ==
                                        0x80)
        n--;
    xl__str_add_n(&label, line->label, n);
    svg_text(f->out, LABEL_WIDTH - 12, base, svg_small, "end", svg_ink,
             xl__str_text(&label));
    svg_text(f->out, SVG_WIDTH - 4, base, svg_small, "end", svg_ink, text);
    svg_series(f->out, r->call == CALL_SLOWER   ? SERIES_SLOWER
                       : r->call == CALL_FASTER ? SERIES_FASTER
                                                : SERIES_OTHER);
    svg_line(f->out, x_of(f, r->lo), y, x_of(f, r->hi), y, 0);
    draw_end(f, r->lo, y);
    draw_end(f, r->hi, y);
    if (fabs(log(r->ratio)) <= log(f->reach))
        svg_mark(f->out, line->is_mean ? SQUARE : ROUND, x_of(f, r->ratio), y,
                 r->call == CALL_AMBIGUOUS, xl__str_text(&tip));
    svg_group_end(f->out);
    f->out->broken = f->out->broken || label.broken || tip.broken;
    xl__str_clear(&label);
    xl__str_clear(&tip);
}

static void draw(const struct line *lines, size_t n, double margin,
                 const char *title, struct xl__str *out)
{
    const struct forest f = {out, reach_of(lines, n), n};
    svg_begin(out, SVG_WIDTH, TOP + LINE * (double)n + BOTTOM, title,
              "Each line is the interval of a ratio of times, b over a; the "
              "band is the margin. Right of it b is slower, left faster. A "
              "hollow mark is ambiguous, an arrow goes on beyond the axis.");
    draw_axis(&f, margin / 100);
    for (size_t i = 0; i < n; i++)
        draw_line(&f, &lines[i], i);
    svg_end(out);
}

void compare_forest_rows(const struct comparison *c, double margin,
                         struct xl__str *out)
{
    struct line lines[FOREST_MOST_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < c->n_compared && n < FOREST_MOST_ROWS; i++)
        lines[n++] =
            (struct line){c->pairs[i].label, &c->pairs[i].ratio, false};
    draw(lines, n, margin, "Rows", out);
}

void compare_forest_ops(const struct comparison *c, double margin,
                        struct xl__str *out)
{
    struct line lines[NOISE_MOST_OPS + 1];
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops; i++)
        if (c->ops[i].mean.lo > 0)
            lines[n++] = (struct line){c->ops[i].op, &c->ops[i].mean, true};
    if (c->n_compared > 0)
        lines[n++] = (struct line){"all", &c->all.mean, true};
    draw(lines, n, margin, "Ops", out);
}
