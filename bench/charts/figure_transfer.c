/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to and from the device by their size, from `clbench probe
 * transfer`: what starting one costs, and the link's rate. */
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"

enum { LEFT = 92, HEIGHT = 300, BELOW = 12 };

static const char op[] = "probe_transfer";

enum { PINNED_UP, PAGEABLE_UP, PINNED_DOWN, PAGEABLE_DOWN, N_SERIES };

static double rate_of(const struct result_row *row)
{
    return result_number(row, "shape", "bytes") /
           result_number(row, NULL, "median_ns") * 1e9;
}

static double best(const struct plot_series *a, const struct plot_series *b)
{
    double most = 0;
    for (size_t i = 0; i < a->n; i++)
        most = fmax(most, a->at[i].y);
    for (size_t i = 0; i < b->n; i++)
        most = fmax(most, b->at[i].y);
    return most;
}

static double tell(struct xl__str *out, const json_t *device,
                   const struct plot_series *s)
{
    char up[UNITS_CAP], down[UNITS_CAP], text[128];
    units_format(up, sizeof up, best(&s[PINNED_UP], &s[PAGEABLE_UP]), "B/s");
    units_format(down, sizeof down, best(&s[PINNED_DOWN], &s[PAGEABLE_DOWN]),
                 "B/s");
    snprintf(text, sizeof text, "%s to the device, %s back", up, down);
    return figure_headline(out, device, text);
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    static const struct figure_curve curves[N_SERIES] = {
        [PINNED_UP] = {op, "pinned_up", "shape", "bytes", 1, rate_of},
        [PAGEABLE_UP] = {op, "pageable_up", "shape", "bytes", 1, rate_of},
        [PINNED_DOWN] = {op, "pinned_down", "shape", "bytes", 1, rate_of},
        [PAGEABLE_DOWN] = {op, "pageable_down", "shape", "bytes", 1,
                           rate_of}};
    struct plot_series s[N_SERIES] = {
        [PINNED_UP] = {.name = "up, pinned"},
        [PAGEABLE_UP] = {.name = "up, pageable", .dash = 1},
        [PINNED_DOWN] = {.name = "down, pinned", .colour = 1},
        [PAGEABLE_DOWN] = {.name = "down, pageable", .colour = 1, .dash = 1}};
    struct plot p = {.left = LEFT,
                     .width = SVG_WIDTH - LEFT - 2 * PLOT_EDGE,
                     .height = HEIGHT,
                     .x = plot_axis(2, "B", "bytes of a copy"),
                     .y = plot_axis(10, "B/s", "Bytes per second")};
    struct xl__str body = {0};
    size_t n = 0;
    for (unsigned i = 0; i < N_SERIES; i++) {
        s[i].shape = i;
        s[i].has_line = s[i].has_marks = true;
        figure_collect(file, device, &curves[i], &p, &s[i]);
        n += s[i].n > 1;
    }
    if (n > 0) {
        plot_axis_widen(&p.x);
        plot_axis_widen(&p.y);
        const double legend = tell(&body, device, s);
        p.top = plot_legend(&body, PLOT_EDGE, legend,
                            SVG_WIDTH - 2 * PLOT_EDGE, s, N_SERIES) + 26;
        const double bottom = plot_frame(&body, &p);
        for (unsigned i = 0; i < N_SERIES; i++)
            plot_line(&body, &p, &s[i]);
        for (unsigned i = 0; i < N_SERIES; i++)
            plot_marks(&body, &p, &s[i]);
        figure_write(out, &figure_transfer, &body, bottom + BELOW);
    }
    for (unsigned i = 0; i < N_SERIES; i++)
        plot_series_clear(&s[i]);
    return n > 0;
}

const struct figure figure_transfer = {
    .name = "transfer",
    .title = "Transfers",
    .about =
        "What copies between host and device reach, by their size. Small ones "
        "pay for their start, so the curve rises until the link is the limit; "
        "pinned memory saves the driver a copy of its own.",
    .draw = draw,
};
