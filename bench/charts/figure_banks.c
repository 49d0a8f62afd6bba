/* SPDX-License-Identifier: Apache-2.0 */
/* Local memory by stride, from `clbench probe local`: how many accesses wait
 * for the same bank, and what banks of the number found would make of it. */
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"

enum { LEFT = 64, HEIGHT = 260, BELOW = 12, MOST_STRIDE = 1 << 20 };

static const char op[] = "probe_local";

enum { SEEN, MODEL, N_SERIES };

static double slowdown_of(const struct result_row *row)
{
    return result_number(row, "params", "slowdown");
}

static unsigned divisor(unsigned a, unsigned b)
{
    while (b > 0) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* As many words share a bank as the greatest common divisor of stride and banks
 * says; twice over is enough to see it. */
static void add_model(struct plot *p, struct plot_series *s, double banks)
{
    if (!(banks >= 1 && banks <= MOST_STRIDE))
        return;
    for (double x = ceil(p->x.from); x <= p->x.to && x <= banks * 2; x++) {
        const struct plot_point point = {
            .x = x,
            .y = divisor((unsigned)x, (unsigned)banks),
            .low = (double)NAN,
            .high = (double)NAN};
        (void)plot_add(p, s, &point);
    }
}

static double tell(struct xl__str *out, const json_t *device, double banks,
                   const struct plot_series *seen)
{
    double worst = 0;
    char text[128];
    for (size_t i = 0; i < seen->n; i++)
        worst = fmax(worst, seen->at[i].y);
    if (banks > 0)
        snprintf(text, sizeof text, "%.0f banks; the worst stride is %.3g "
                                    "times as slow", banks, worst);
    else
        snprintf(text, sizeof text, "The worst stride is %.3g times as slow",
                 worst);
    return figure_headline(out, device, text);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    static const struct figure_curve curve = {op,       "stride", "params",
                                              "stride", 1,        slowdown_of};
    struct plot_series s[N_SERIES] = {
        [SEEN] = {.name = "measured", .has_line = false, .has_marks = true},
        [MODEL] = {.name = "by the number of banks", .colour = 7, .dash = 1,
                   .has_line = true}};
    struct plot p = {.left = LEFT,
                     .width = SVG_WIDTH - LEFT - 2 * PLOT_EDGE,
                     .height = HEIGHT,
                     .x = plot_axis(2, "1", "stride between neighbours, words"),
                     .y = plot_axis(0, "x", "Times as slow as stride 1")};
    const double banks = figure_found(file, device, op, "banks");
    struct xl__str body = {0};
    figure_collect(file, device, &curve, &p, &s[SEEN]);
    const bool is_drawn = s[SEEN].n > 1;
    if (is_drawn) {
        add_model(&p, &s[MODEL], banks);
        plot_axis_hold(&p.y, 0);
        plot_axis_widen(&p.x);
        plot_axis_widen(&p.y);
        const double legend = tell(&body, device, banks, &s[SEEN]);
        p.top = plot_legend(&body, PLOT_EDGE, legend,
                            SVG_WIDTH - 2 * PLOT_EDGE, s, N_SERIES) + 26;
        const double bottom = plot_frame(&body, &p);
        plot_line(&body, &p, &s[MODEL]);
        plot_marks(&body, &p, &s[SEEN]);
        figure_write(out, &figure_banks, &body, bottom + BELOW);
    }
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&s[i]);
    return is_drawn;
}

const struct figure figure_banks = {
    .name = "banks",
    .title = "Local memory",
    .about =
        "How much slower local memory is read when neighbours are a stride "
        "apart: words of one bank wait for one another. A stride that has no "
        "factor in common with the number of banks is free.",
    .draw = draw,
};
