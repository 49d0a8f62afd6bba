/* SPDX-License-Identifier: Apache-2.0 */
/* The staircase of latencies, from `clbench probe cache`: what a dependent
 * load takes by the set walked over, the levels found in it, and beside it
 * what the TLB adds. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"

enum { LEFT = 76, HEIGHT = 340, BELOW = 12, MOST_LEVELS = 8 };

static const char op[] = "probe_cache";

struct level {
    const char *name;
    double bytes, s; /* bytes NaN: the last one has no end */
};

/* From near to far. */
static unsigned find_levels(const struct result_file *file,
                            const json_t *device,
                            struct level level[MOST_LEVELS])
{
    static const char *const names[] = {"l1", "l2", "l3", "l4", "llc", "dram"};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct result_row *row =
            figure_find(file, device, op, names[i]);
        if (row && figure_value(row) > 0)
            level[n++] = (struct level){
                names[i], result_number(row, "params", "size_bytes"),
                figure_value(row)};
    }
    return n;
}

static void name_level(const struct level *v, const char *between,
                       struct xl__str *out)
{
    char bytes[UNITS_CAP], time[UNITS_CAP];
    for (const char *c = v->name; *c; c++)
        xl__str_printf(out, "%c", toupper((unsigned char)*c));
    units_format(bytes, sizeof bytes, v->bytes, "B");
    units_format(time, sizeof time, v->s, "s");
    if (v->bytes > 0)
        xl__str_printf(out, " %s", bytes);
    xl__str_printf(out, "%s%s", between, time);
}

static double tell(struct xl__str *out, const json_t *device,
                   const struct level *level, unsigned n)
{
    struct xl__str text = {0};
    for (unsigned i = 0; i < n; i++) {
        xl__str_add(&text, i > 0 ? ", " : "");
        name_level(&level[i], " in ", &text);
    }
    if (n == 0)
        xl__str_add(&text, "Latency by the size of the set");
    const double y = figure_headline(out, device, xl__str_text(&text));
    xl__str_clear(&text);
    return y;
}

/* Where a level lies in the picture: from the end of the one before to its
 * own. */
struct step {
    double x1, x2, y;
};

static void draw_steps(struct xl__str *out, const struct plot *p,
                       struct plot_labels *taken, const struct step *step,
                       unsigned n)
{
    static const double thin = 3;
    const double bottom = p->top + p->height;
    for (unsigned i = 0; i < n; i++) {
        svg_line(out, step[i].x1, step[i].y, step[i].x2, step[i].y, 1);
        if (i + 1 == n)
            continue;
        svg_line(out, step[i].x2, p->top, step[i].x2, bottom, 2);
        plot_take_line(taken, step[i].x2, p->top, step[i].x2, bottom, thin);
    }
}

static void draw_levels(struct xl__str *out, const struct plot *p,
                        struct plot_labels *taken, const struct level *level,
                        unsigned n)
{
    static const double above = 4;
    struct step step[MOST_LEVELS];
    double from = p->x.from;
    for (unsigned i = 0; i < n; i++) {
        const double end = level[i].bytes > from ? level[i].bytes : INFINITY;
        step[i] = (struct step){plot_x(p, from), plot_x(p, fmin(end, p->x.to)),
                                plot_y(p, level[i].s)};
        from = fmin(end, p->x.to);
    }
    svg_series(out, 1);
    draw_steps(out, p, taken, step, n);
    for (unsigned i = 0; i < n; i++) {
        struct xl__str name = {0};
        name_level(&level[i], ": ", &name);
        const double half =
            svg_text_width(xl__str_text(&name), svg_small) / 2;
        const double middle = (step[i].x1 + step[i].x2) / 2;
        (void)plot_label(out, p, taken,
                         fmin(fmax(middle, p->left + half),
                              p->left + p->width - half),
                         step[i].y - above, xl__str_text(&name));
        xl__str_clear(&name);
    }
    svg_group_end(out);
}

enum { DENSE, SPREAD, N_SERIES };

static void draw_all(struct xl__str *out, const struct result_file *file,
                     const json_t *device, struct plot *p,
                     const struct plot_series *s)
{
    static const double room = 1.4; /* above the last level, for its name */
    struct level level[MOST_LEVELS];
    struct plot_labels taken = {.n = 0};
    struct xl__str body = {0};
    const unsigned n = find_levels(file, device, level);
    for (unsigned i = 0; i < n; i++)
        plot_axis_hold(&p->y, level[i].s);
    plot_axis_hold(&p->y, p->y.to * room);
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    const double legend = tell(&body, device, level, n);
    p->top = plot_legend(&body, PLOT_EDGE, legend, SVG_WIDTH - 2 * PLOT_EDGE,
                         s, N_SERIES) + 26;
    const double bottom = plot_frame(&body, p);
    for (unsigned i = N_SERIES; i-- > 0;) {
        plot_take_marks(&taken, p, &s[i]);
        plot_line(&body, p, &s[i]);
        plot_marks(&body, p, &s[i]);
    }
    draw_levels(&body, p, &taken, level, n);
    figure_write(out, &figure_cache, &body, bottom + BELOW);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    static const struct figure_curve curves[] = {
        [DENSE] = {op, "chase", "shape", "bytes", 1, figure_value},
        [SPREAD] = {"probe_tlb", "chase", "shape", "bytes", 1, figure_value}};
    struct plot_series s[N_SERIES] = {
        [DENSE] = {.name = "every line of the set", .has_line = true,
                   .has_marks = true},
        [SPREAD] = {.name = "a few lines, spread over the set: the TLB alone",
                    .colour = 7, .shape = 3, .dash = 1, .has_line = true,
                    .has_marks = true}};
    struct plot p = {.left = LEFT,
                     .width = SVG_WIDTH - LEFT - 2 * PLOT_EDGE,
                     .height = HEIGHT,
                     .x = plot_axis(2, "B", "set walked over"),
                     .y = plot_axis(10, "s", "Time of a dependent load")};
    for (unsigned i = 0; i < N_SERIES; i++)
        figure_collect(file, device, &curves[i], &p, &s[i]);
    const bool is_drawn = s[DENSE].n + s[SPREAD].n > 1;
    if (is_drawn)
        draw_all(out, file, device, &p, s);
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_cache = {
    .name = "cache",
    .title = "Cache staircase",
    .about =
        "What one load takes that must wait for the one before, by the size "
        "of the set that is walked over. The time climbs a step where the set "
        "outgrows a cache; dashed lines are the levels that were found.",
    .draw = draw,
};
