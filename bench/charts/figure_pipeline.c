/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of a pipeline, from `clbench pipeline`: each way of running it,
 * its uploads, kernels and downloads on one time axis, and in text what bounds
 * it. */
#include <math.h>
#include <stdio.h>

#include "charts/figure_data.h"
#include "cli/units.h"
#include "results/json.h"

enum {
    LEFT = 92,
    RIGHT = 84, /* room for a total */
    LANE = 14,
    LANE_GAP = 3,
    MODE_GAP = 14,
    MOST_COMMANDS = 2048, /* of a mode: more are not drawn */
    BELOW = 6
};

static const char *const lanes[] = {"upload", "kernels", "download"};
enum { N_LANES = sizeof lanes / sizeof *lanes };

static double read_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The lane of a command; N_LANES: none of that name. */
static unsigned find_lane(const json_t *command)
{
    unsigned i = 0;
    while (i < N_LANES && !xl__streq(lanes[i], json_text_at(command, "lane")))
        i++;
    return i;
}

/* Can it be drawn on this axis? */
static bool read_span(const json_t *command, const struct plot_axis *axis,
                      double *start, double *end)
{
    *start = read_number(command, "start_ns");
    *end = read_number(command, "end_ns");
    return plot_can_show(axis, *start) && plot_can_show(axis, *end) &&
           *start <= *end && find_lane(command) < N_LANES;
}

/* The number of commands that are drawn of a mode. */
static size_t count_commands(const json_t *mode)
{
    const size_t n = json_array_size(json_object_get(mode, "commands"));
    return n < MOST_COMMANDS ? n : MOST_COMMANDS;
}

/* Extends the axis to each command and each total; the number of commands that
 * can be shown. */
static size_t hold_commands(struct plot_axis *axis, const json_t *modes)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const json_t *mode = json_array_get(modes, i);
        const json_t *commands = json_object_get(mode, "commands");
        plot_axis_hold(axis, read_number(mode, "total_ns"));
        for (size_t j = 0; j < count_commands(mode); j++) {
            double start, end;
            if (!read_span(json_array_get(commands, j), axis, &start, &end))
                continue;
            plot_axis_hold(axis, start);
            plot_axis_hold(axis, end);
            n++;
        }
    }
    return n;
}

/* -- one mode ------------------------------------------------------------- */

/* "gemm: 1 us from 2 us on, 64 B". */
static void add_command_tip(const json_t *command, double start, double end,
                            struct xl__str *out)
{
    char from[UNITS_CAP], took[UNITS_CAP], bytes[UNITS_CAP];
    const double size = read_number(command, "bytes");
    units_time(from, sizeof from, start);
    units_time(took, sizeof took, end - start);
    xl__str_printf(out, "%s: %s from %s on", json_text_at(command, "name"),
                   took, from);
    if (size > 0) {
        units_bytes(bytes, sizeof bytes, size);
        xl__str_printf(out, ", %s", bytes);
    }
}

/* The commands of one lane as boxes. */
static void draw_lane(struct xl__str *out, const struct plot *p,
                      const json_t *mode, unsigned lane, double y)
{
    static const double thin = 0.8, between = 0.4;
    const json_t *commands = json_object_get(mode, "commands");
    svg_series(out, lane);
    for (size_t i = 0; i < count_commands(mode); i++) {
        const json_t *command = json_array_get(commands, i);
        struct xl__str tip = {0};
        double start, end;
        if (find_lane(command) != lane ||
            !read_span(command, &p->x, &start, &end))
            continue;
        const double x = plot_x(p, start);
        add_command_tip(command, start, end, &tip);
        svg_rect(out, x, y, fmax(plot_x(p, end) - x - between, thin), LANE,
                 svg_ink, xl__str_text(&tip));
        xl__str_clear(&tip);
    }
    svg_group_end(out);
}

/* All lanes of a mode over a grey box of its total; returns the y below. */
static double draw_mode(struct xl__str *out, const struct plot *p,
                        const json_t *mode, double y)
{
    static const double height = N_LANES * (LANE + LANE_GAP) - LANE_GAP;
    const double total = read_number(mode, "total_ns");
    char time[UNITS_CAP];
    svg_text(out, p->left - 10, y + height / 2 + 4, svg_small, "end", svg_ink,
             json_text_at(mode, "mode"));
    svg_grid(out);
    for (unsigned lane = 0; lane < N_LANES; lane++)
        svg_rect(out, p->left, y + lane * (LANE + LANE_GAP),
                 plot_x(p, total) - p->left, LANE, svg_ink, NULL);
    svg_group_end(out);
    for (unsigned lane = 0; lane < N_LANES; lane++)
        draw_lane(out, p, mode, lane, y + lane * (LANE + LANE_GAP));
    units_time(time, sizeof time, total);
    svg_text(out, plot_x(p, total) + 8, y + height / 2 + 4, svg_small, "start",
             svg_ink, time);
    return y + height + MODE_GAP;
}

/* -- the figure ----------------------------------------------------------- */

/* Stages and type, and what bounds them. */
static double draw_headline(struct xl__str *out, const json_t *device,
                            const json_t *entry)
{
    const json_t *bound = json_object_get(entry, "bound");
    const char *by = json_text_at(bound, "by");
    struct xl__str text = {0};
    char share[UNITS_CAP];
    units_percent(share, sizeof share, read_number(bound, "share"));
    xl__str_printf(&text, "%s %s", json_text_at(entry, "stages"),
                   json_text_at(entry, "dtype"));
    if (*by)
        xl__str_printf(&text, ": bound by %s, %s of the fastest mode", by,
                       share);
    const double y = figure_headline(out, device, xl__str_text(&text));
    xl__str_clear(&text);
    return y;
}

static double draw_legend(struct xl__str *out, double y)
{
    struct plot_series s[N_LANES];
    for (unsigned i = 0; i < N_LANES; i++) {
        s[i] = (struct plot_series){
            .colour = i, .shape = 1, .has_marks = true, .n = 1};
        xl__strcpy(s[i].name, sizeof s[i].name, lanes[i]);
    }
    return plot_legend(out, PLOT_EDGE, y, SVG_WIDTH, s, N_LANES);
}

/* Appends the time of each first call. */
static void add_first(const json_t *entry, struct xl__str *out)
{
    const json_t *firsts = json_object_get(entry, "first_calls");
    for (size_t i = 0; i < json_array_size(firsts); i++) {
        const json_t *first = json_array_get(firsts, i);
        const double build = read_number(first, "build_ns");
        char whole[UNITS_CAP], built[UNITS_CAP];
        units_time(whole, sizeof whole,
                   read_number(first, "open_ns") + build +
                       read_number(first, "run_ns"));
        units_time(built, sizeof built, build);
        xl__str_printf(out, " First call, kernels %s: %s, %s of it for them.",
                       json_text_at(first, "kernels"), whole, built);
    }
}

/* What bounds the pipeline, and its first calls, as a paragraph; returns the y
 * below. */
static double draw_text(struct xl__str *out, const json_t *entry, double y)
{
    struct xl__str text = {0}, line = {0};
    xl__str_add(&text, json_text_at(json_object_get(entry, "bound"), "words"));
    add_first(entry, &text);
    /* The lines of the terminal become one paragraph. */
    for (const char *c = xl__str_text(&text); *c; c++)
        xl__str_add_n(&line, *c == '\n' ? " " : c, 1);
    svg_aside(out);
    y = svg_paragraph(out, PLOT_EDGE, y, svg_small, SVG_LETTERS,
                      xl__str_text(&line));
    svg_group_end(out);
    xl__str_clear(&text);
    xl__str_clear(&line);
    return y;
}

static bool draw_pipeline(const struct result_file *file, const json_t *device,
                          struct xl__str *out)
{
    const json_t *entry = figure_entry(file, device, "pipeline");
    const json_t *modes = json_object_get(entry, "modes");
    struct plot p = {.left = LEFT,
                     .width = SVG_WIDTH - LEFT - RIGHT,
                     .x = plot_axis(0, "ns", "time from the first call on"),
                     .y = plot_axis(0, "1", "")};
    struct xl__str body = {0};
    if (hold_commands(&p.x, modes) == 0)
        return false;
    plot_axis_hold(&p.x, 0);
    p.top = draw_legend(&body, draw_headline(&body, device, entry));
    double y = p.top + MODE_GAP / 2.0;
    const size_t n = json_array_size(modes);
    p.height = (double)n * (N_LANES * (LANE + LANE_GAP) - LANE_GAP + MODE_GAP);
    const double bottom = plot_frame(&body, &p);
    for (size_t i = 0; i < n; i++)
        y = draw_mode(&body, &p, json_array_get(modes, i), y);
    figure_write(out, &figure_pipeline, &body,
                 draw_text(&body, entry, bottom + 26) + BELOW);
    return true;
}

const struct figure figure_pipeline = {
    .name = "pipeline",
    .title = "Pipeline",
    .about =
        "The commands of the device over time, for each way of running the "
        "chain: a box is a command, grey is waiting. Uploads, kernels and "
        "downloads above one another run at the same time.",
    .draw = draw_pipeline,
};
