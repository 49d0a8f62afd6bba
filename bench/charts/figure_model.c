/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a language model that was run: tokens a second of decoding
 * over the context, or over the batch where there is one context, beside the
 * bound of the plan; and the share of each operation of the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "charts/figure_data.h"
#include "charts/plot.h"
#include "cli/units.h"
#include "results/json.h"

enum { LEFT = 76, HEIGHT = 340, BELOW = 12 };

static const char decode_op[] = "model_decode", recorded[] = "recorded";

static double param_of(const struct result_row *row, const char *name)
{
    return json_number_value(
        json_object_get(json_object_get(row->json, "params"), name));
}

static double bound_of(const struct result_row *row)
{
    return json_number_value(
        json_object_get(json_object_get(row->json, "roof"), "value"));
}

/* The next whole pass of decoding. */
static const struct result_row *next_whole(const struct result_file *file,
                                           const json_t *device, size_t *at)
{
    const struct result_row *row;
    while ((row = figure_row(file, device, decode_op, at)) &&
           !xl__streq(row->variant, recorded))
        ;
    return row;
}

/* -- over context and batch ----------------------------------------------- */

enum { MOST_SERIES = SVG_SERIES };
struct drawing {
    struct plot plot;
    struct plot_series s[2 * MOST_SERIES]; /* measured; their bounds */
    double of[MOST_SERIES];                /* batch of each */
    unsigned n;
};

/* The series of a batch; of the only one where the batch is x. */
static unsigned find_series(struct drawing *d, bool is_over_batch,
                            double batch)
{
    unsigned i = 0;
    while (i < d->n && !is_over_batch && d->of[i] != batch)
        i++;
    if (i < d->n || i == MOST_SERIES)
        return i;
    struct plot_series *s = &d->s[i], *bound = &d->s[MOST_SERIES + i];
    d->of[d->n++] = batch;
    s->colour = bound->colour = s->shape = i;
    bound->dash = 1;
    s->has_line = s->has_marks = bound->has_line = true;
    snprintf(s->name, sizeof s->name, "measured");
    snprintf(bound->name, sizeof bound->name, "at most");
    if (!is_over_batch) {
        snprintf(s->name, sizeof s->name, "batch %.0f", batch);
        snprintf(bound->name, sizeof bound->name, "batch %.0f at most", batch);
    }
    return i;
}

static void add_row(struct drawing *d, const struct result_row *row,
                    bool is_over_batch)
{
    struct plot_point point = {.is_hollow = !figure_is_firm(row)};
    const unsigned i = find_series(d, is_over_batch, param_of(row, "batch"));
    double low, high;
    if (i == MOST_SERIES)
        return;
    figure_interval(row, &low, &high);
    point.x = param_of(row, is_over_batch ? "batch" : "context");
    point.y = figure_value(row);
    point.low = point.y * low;
    point.high = point.y * high;
    figure_tip(row, point.tip, sizeof point.tip);
    (void)plot_add(&d->plot, &d->s[i], &point);
    point.y = bound_of(row);
    point.low = point.high = (double)NAN;
    (void)plot_add(&d->plot, &d->s[MOST_SERIES + i], &point);
}

static void draw_points(struct drawing *d, const json_t *device, size_t n,
                        double least, double most, struct xl__str *out)
{
    char low[UNITS_CAP], high[UNITS_CAP], text[128];
    struct xl__str body = {0};
    for (unsigned i = 0; i < d->n; i++) {
        plot_sort(&d->s[i]);
        plot_sort(&d->s[MOST_SERIES + i]);
    }
    units_percent(low, sizeof low, least);
    units_percent(high, sizeof high, most);
    snprintf(text, sizeof text, "%zu points, %s to %s of the plan's bound", n,
             low, high);
    plot_axis_hold(&d->plot.y, 0);
    const double y = figure_headline(&body, device, text);
    const double bottom =
        figure_plot(&body, &d->plot, y, d->s, 2 * MOST_SERIES);
    figure_write(out, &figure_model, &body, bottom + BELOW);
}

static bool draw_model(const struct result_file *file, const json_t *device,
                       struct xl__str *out)
{
    const struct result_row *row, *first = NULL;
    double least = INFINITY, most = 0;
    size_t n = 0;
    bool is_over_batch = true;
    struct drawing *d = xl__calloc(1, sizeof *d);
    out->broken = out->broken || !d;
    for (size_t i = 0; d && (row = next_whole(file, device, &i)); n++) {
        first = first ? first : row;
        is_over_batch = is_over_batch &&
                        param_of(row, "context") == param_of(first, "context");
        least = fmin(least, row->frac);
        most = fmax(most, row->frac);
    }
    if (n > 1) {
        d->plot = (struct plot){
            .left = LEFT,
            .height = HEIGHT,
            .x = plot_axis(2, "1", is_over_batch ? "batch: sequences"
                                                 : "tokens of context"),
            .y = plot_axis(0, "1", "Tokens a second, of all sequences")};
        for (size_t i = 0; (row = next_whole(file, device, &i));)
            add_row(d, row, is_over_batch);
        draw_points(d, device, n, least, most, out);
    }
    for (unsigned i = 0; d && i < 2 * MOST_SERIES; i++)
        plot_series_clear(&d->s[i]);
    free(d);
    return n > 1;
}

/* -- operations ----------------------------------------------------------- */

static double share_of(const struct result_row *row)
{
    return param_of(row, "of_pass");
}

static bool draw_operations(const struct result_file *file,
                            const json_t *device, struct xl__str *out)
{
    static const char *const ops[] = {"model_prompt", "model_decode"},
                      *const names[] = {"prompt", "decoding"};
    enum { N_PHASES = sizeof ops / sizeof *ops };
    const struct result_row *row;
    struct plot_axis axis = plot_axis(0, "%", "share of the time of a pass");
    struct plot_series legend[N_PHASES] = {{.name = ""}};
    struct plot_bars bars = {.n = 0};
    struct xl__str body = {0};
    for (unsigned p = 0; p < N_PHASES; p++) {
        legend[p].colour = p;
        legend[p].shape = 1;
        legend[p].n = 1;
        legend[p].has_marks = true;
        snprintf(legend[p].name, sizeof legend[p].name, "%s", names[p]);
        for (size_t i = 0; (row = figure_row(file, device, ops[p], &i));) {
            struct plot_bar bar = {.value = share_of(row),
                                   .low = (double)NAN,
                                   .high = (double)NAN,
                                   .series = p,
                                   .is_hollow = !figure_is_firm(row)};
            snprintf(bar.name, sizeof bar.name, "%s: %s", names[p],
                     row->variant);
            figure_tip(row, bar.tip, sizeof bar.tip);
            if (bar.value > 0)
                (void)plot_bars_add(&bars, &axis, &bar);
        }
    }
    const bool is_drawn = bars.n > 0;
    if (is_drawn) {
        const double y = plot_legend(
            &body, PLOT_EDGE,
            figure_headline(&body, device,
                            "Each operation's calls in all layers by "
                            "themselves"),
            SVG_WIDTH - 2 * PLOT_EDGE, legend, N_PHASES);
        figure_write(out, &figure_model_operations, &body,
                     plot_bars_draw(&body, &bars, axis, (double)NAN, y - 8) +
                         BELOW);
    }
    plot_bars_clear(&bars);
    return is_drawn;
}

const struct figure figure_model = {
    .name = "model",
    .title = "Decoding over context and batch",
    .about = "Tokens a second of a language model's decoding, replayed from a "
             "record, beside the most that its plan allows (dashed): each "
             "weight is read once for all sequences, each sequence's keys "
             "and values once for each of its tokens. Hollow: suspicious.",
    .draw = draw_model,
};
const struct figure figure_model_operations = {
    .name = "model-operations",
    .title = "Operations of a language model",
    .about = "The time of each operation of a pass by itself, over that of "
             "the whole pass as its calls are made one by one. The shares "
             "add up to more than 100% where calls overlap, to less where "
             "the host sets the speed. Outlined bars are suspicious.",
    .draw = draw_operations,
};
