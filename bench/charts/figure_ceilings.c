/* SPDX-License-Identifier: Apache-2.0 */
#include "charts/figure_ceilings.h"

#include <math.h>
#include <stdlib.h>

#include "results/ceilings.h"
#include "results/json.h"
#include "cli/units.h"

static const char *fact_of(const struct roof_line *line)
{
    const struct ceiling *c = ceilings;
    while (c->name != line->name)
        c++;
    return c->fact;
}

static bool is_measured(const struct figure_ceilings *d, unsigned i)
{
    return figure_is_measured(d->device, fact_of(&d->lines[i]));
}

void figure_ceilings_find(struct figure_ceilings *d)
{
    const struct plot_axis rates = plot_axis(10, "", "");
    for (const struct ceiling *c = ceilings; c->fact; c++) {
        const double rate = figure_fact(d->device, c->fact);
        if (!plot_can_show(&rates, rate) ||
            d->picture.n_lines == FIGURE_CEILINGS)
            continue;
        d->lines[d->picture.n_lines++] =
            (struct roof_line){c->name, rate, c->is_memory};
    }
    d->picture.lines = d->lines;
}

bool figure_ceilings_measured(const struct figure_ceilings *d, bool is_memory)
{
    for (unsigned i = 0; i < d->picture.n_lines; i++)
        if (d->lines[i].is_memory == is_memory && is_measured(d, i))
            return true;
    return false;
}

/* The slowest memory is the roof itself; a ceiling that was not measured says
 * where it is from. */
static unsigned dash_of(const struct figure_ceilings *d, unsigned i)
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
        xl__str_printf(out, " (%s)",
                       json_text_at(result_fact(d->device,
                                                fact_of(&d->lines[i])),
                                    "source"));
}

enum {
    NAME_LINE = 15, /* between names beside the plot */
    LEAD = 12,      /* from the plot to a name's height */
    BEFORE = 16     /* from the plot to the names */
};

double figure_ceilings_room(const struct figure_ceilings *d)
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

static struct rise rise_of(const struct figure_ceilings *d, unsigned i)
{
    const struct plot *p = &d->plot;
    const double rate = d->lines[i].rate;
    const double end = roof_best(&d->picture, false) / rate;
    return (struct rise){p->left, plot_y(p, rate * p->x.from),
                         plot_x(p, end), plot_y(p, rate * end)};
}

/* A name along its line, above or below it, where that is clear of all else;
 * else beside its upper end. */
static void name_memory(struct xl__str *out, struct figure_ceilings *d,
                        unsigned i)
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
static void draw_memories(struct xl__str *out, struct figure_ceilings *d)
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
                 dash_of(d, i));
        plot_take_line(&d->taken, plot_x(p, line->rate / memory), y, right, y,
                       thin);
        name_y = fmax(name_y + NAME_LINE, y);
        svg_line(out, right, y, right + LEAD, name_y, 0);
        svg_text(out, right + BEFORE, name_y + 4, svg_small, "start", svg_ink,
                 xl__str_text(&name));
        xl__str_clear(&name);
    }
}

void figure_ceilings_draw(struct xl__str *out, struct figure_ceilings *d)
{
    qsort(d->lines, d->picture.n_lines, sizeof *d->lines, by_rate);
    draw_peaks(out, d);
    draw_memories(out, d);
}
