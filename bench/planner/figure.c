/* SPDX-License-Identifier: Apache-2.0 */
/* The bound of decoding over the batch, out of a document's plan: a line a
 * device. Where something else begins to set the time, it is named. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "charts/figure.h"
#include "results/json.h"
#include "planner/plan.h"
#include "charts/plot.h"
#include "cli/units.h"

enum { LEFT = 76, RIGHT = 24, HEIGHT = 340, TITLE = 20, NEXT = 46, BELOW = 12 };

static const char about[] =
    "The most tokens a second that a device's bandwidth and arithmetic allow, "
    "over the sequences that are decoded together. While the weights set the "
    "time, a larger batch costs nothing; where each sequence's cache or the "
    "arithmetic does, the line bends. Hollow: does not fit in the memory.";

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool is_power(double batch)
{
    return batch > 0 && exp2(floor(log2(batch))) >= batch;
}

/* Every batch makes the line, each power of two a mark. */
static void add_step(struct plot *plot, struct plot_series *line,
                     struct plot_series *marks, const json_t *step,
                     const char *before)
{
    struct plot_point point = {.x = number(step, "batch"),
                               .y = number(step, "tokens_per_s"),
                               .low = (double)NAN,
                               .high = (double)NAN};
    char rate[UNITS_CAP], time[UNITS_CAP];
    const char *by = json_text_at(step, "set_by");
    point.is_hollow = json_is_false(json_object_get(step, "fits"));
    units_number(rate, sizeof rate, point.y);
    units_time(time, sizeof time, number(step, "s") * 1e9);
    snprintf(point.tip, sizeof point.tip,
             "batch %.0f: %s tokens/s at most, a step %s, set by %s%s",
             point.x, rate, time, by,
             point.is_hollow ? "; does not fit" : "");
    if (!xl__streq(by, before))
        snprintf(point.label, sizeof point.label, "%s", by);
    (void)plot_add(plot, line, &point);
    if (is_power(point.x) || *point.label)
        (void)plot_add(plot, marks, &point);
}

struct drawing {
    struct plot plot;
    struct plot_series line[SVG_SERIES], marks[SVG_SERIES];
    struct plot_labels taken;
    unsigned n;
};

static void add_device(struct drawing *d, const json_t *device)
{
    const json_t *curve = json_object_get(device, "curve");
    const char *before = "";
    if (d->n == SVG_SERIES || json_array_size(curve) == 0)
        return;
    struct plot_series *line = &d->line[d->n], *marks = &d->marks[d->n];
    xl__strcpy(marks->name, sizeof marks->name,
               json_text_at(device, "name"));
    line->colour = marks->colour = marks->shape = d->n;
    line->dash = marks->dash = d->n % SVG_DASHES;
    marks->has_marks = marks->has_line = true;
    for (size_t i = 0; i < json_array_size(curve); i++) {
        const json_t *step = json_array_get(curve, i);
        add_step(&d->plot, line, marks, step, before);
        before = json_text_at(step, "set_by");
    }
    d->n++;
}

/* Names keep clear of the lines. */
static void take_line(struct drawing *d, const struct plot_series *s)
{
    static const double wide = 3;
    for (size_t i = 0; i + 1 < s->n; i++)
        plot_reserve_line(&d->taken, plot_x(&d->plot, s->at[i].x),
                       plot_y(&d->plot, s->at[i].y),
                       plot_x(&d->plot, s->at[i + 1].x),
                       plot_y(&d->plot, s->at[i + 1].y), wide);
}

static void name_turns(struct xl__str *out, struct drawing *d, unsigned i)
{
    const struct plot_series *s = &d->marks[i];
    svg_series(out, s->colour);
    for (size_t j = 0; j < s->n; j++)
        if (*s->at[j].label)
            (void)plot_label(out, &d->plot, &d->taken,
                             plot_x(&d->plot, s->at[j].x),
                             plot_y(&d->plot, s->at[j].y), s->at[j].label);
    svg_group_end(out);
}

static void tell(struct xl__str *out, const json_t *plan)
{
    const json_t *model = json_object_get(plan, "model");
    const char *name = json_text_at(model, "name");
    struct xl__str line = {0};
    svg_heading(out, PLOT_EDGE, TITLE, "Decoding, tokens a second at most");
    xl__str_printf(&line, "%s%s%.4g G weights of %.4g bit, context %.0f; "
                          "hollow: does not fit in the memory",
                   name, *name ? ": " : "", number(model, "params") / 1e9,
                   number(json_object_get(plan, "weights"), "bits"),
                   number(plan, "context"));
    svg_aside(out);
    svg_text(out, PLOT_EDGE, 2 * TITLE, svg_small, "start", svg_ink,
             xl__str_text(&line));
    svg_group_end(out);
    xl__str_clear(&line);
}

static void draw_all(struct xl__str *out, struct drawing *d,
                     const json_t *plan)
{
    struct xl__str body = {0};
    struct plot *p = &d->plot;
    tell(&body, plan);
    plot_axis_widen(&p->x);
    plot_axis_widen(&p->y);
    p->top = plot_legend(&body, PLOT_EDGE, NEXT + TITLE,
                         SVG_WIDTH - 2 * PLOT_EDGE, d->marks, d->n) + TITLE;
    const double bottom = plot_frame(&body, p);
    for (unsigned i = 0; i < d->n; i++) {
        plot_reserve_marks(&d->taken, p, &d->marks[i]);
        take_line(d, &d->marks[i]);
        plot_line(&body, p, &d->line[i]);
        plot_marks(&body, p, &d->marks[i]);
    }
    for (unsigned i = 0; i < d->n; i++)
        name_turns(&body, d, i);
    svg_begin(out, SVG_WIDTH, bottom + BELOW, figure_plan.title, about);
    xl__str_add(out, xl__str_text(&body));
    svg_end(out);
    out->broken = out->broken || body.broken;
    xl__str_clear(&body);
}

bool plan_picture(const json_t *plan, const json_t *index,
                  struct xl__str *out)
{
    const json_t *devices = json_object_get(plan, "devices");
    struct drawing *d = xl__calloc(1, sizeof *d);
    if (!d) {
        out->broken = true;
        return false;
    }
    d->plot = (struct plot){.left = LEFT,
                            .width = SVG_WIDTH - LEFT - RIGHT,
                            .height = HEIGHT,
                            .x = plot_axis(2, "1", "batch: sequences decoded "
                                                   "together"),
                            .y = plot_axis(10, "1", "tokens per second")};
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *dev = json_array_get(devices, i);
        if (!index || json_equal(json_object_get(dev, "device"), index))
            add_device(d, dev);
    }
    const bool is_drawn = d->n > 0;
    if (is_drawn)
        draw_all(out, d, plan);
    for (unsigned i = 0; i < d->n; i++) {
        plot_series_clear(&d->line[i]);
        plot_series_clear(&d->marks[i]);
    }
    free(d);
    return is_drawn;
}

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    const json_t *index = json_object_get(device, "index");
    return index &&
           plan_picture(json_object_get(file->document, "plan"), index, out);
}

const struct figure figure_plan = {
    .name = "plan",
    .title = "Decoding of a language model",
    .about = about,
    .draw = draw,
};
