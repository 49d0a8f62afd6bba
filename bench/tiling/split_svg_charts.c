/* SPDX-License-Identifier: Apache-2.0 */
/* The charts of the page's picture, all of shares: of units at work over time,
 * and the sawtooth over sizes. */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tiling/picture.h"
#include "cli/units.h"

enum {
    CURVE_HEIGHT = 110,
    CURVE_SPANS = 320,
    SAW_HEIGHT = 170,
    SAW_COLUMNS = SPLIT_INNER
};
/* The series of model and device. */
enum { OF_DEVICE, OF_MODEL };

static void axes(struct xl__str *out, double y, double height)
{
    static const unsigned marks[] = {0, 25, 50, 75, 100};
    for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++) {
        char name[8];
        const double at = y + height * (1 - marks[i] / 1e2);
        snprintf(name, sizeof name, "%u%%", marks[i]);
        svg_grid(out);
        svg_line(out, SPLIT_LEFT, at, SVG_WIDTH - SPLIT_RIGHT, at, 0);
        svg_group_end(out);
        svg_aside(out);
        svg_text(out, SPLIT_LEFT - 6, at + 4, svg_small, "end", svg_ink, name);
        svg_group_end(out);
    }
}

static void curve(struct xl__str *out, const struct split_record *r, double y,
                  unsigned series)
{
    double share[CURVE_SPANS];
    if (r->n == 0 || !split_curve(r, share, CURVE_SPANS))
        return;
    svg_series(out, series);
    svg_path_begin(out);
    for (unsigned i = 0; i < CURVE_SPANS; i++)
        svg_path_point(out, SPLIT_LEFT + (i + 0.5) * SPLIT_INNER / CURVE_SPANS,
                       y + CURVE_HEIGHT * (1 - share[i]));
    svg_path_end(out, series == OF_MODEL ? 1 : 0);
    svg_group_end(out);
}

static void name_curve(struct xl__str *out, double x, double y,
                       unsigned series, const char *name)
{
    enum { SAMPLE = 24 };
    svg_series(out, series);
    svg_line(out, x, y - 4, x + SAMPLE, y - 4, series == OF_MODEL ? 1 : 0);
    svg_group_end(out);
    svg_text(out, x + SAMPLE + 6, y, svg_small, "start", svg_ink, name);
}

double split_svg_curves(struct xl__str *out, const struct split_page *p,
                        double y)
{
    char tail[UNITS_CAP];
    struct xl__str note = {0};
    units_percent(tail, sizeof tail, p->model_load.tail);
    xl__str_printf(&note, "Tail, from the first unit that was done to the "
                          "end: %s by the model", tail);
    if (p->measured.has_clock) {
        units_percent(tail, sizeof tail, p->measured_load.tail);
        xl__str_printf(&note, ", %s measured", tail);
    }
    xl__str_add(&note, ". What is uneven: ");
    split_say_uneven(p, &note);
    y = split_svg_panel(out, y,
                        "Share of units at work, first start to last end",
                        xl__str_text(&note)) + 8;
    xl__str_clear(&note);
    axes(out, y, CURVE_HEIGHT);
    curve(out, &p->model, y, OF_MODEL);
    curve(out, &p->measured, y, OF_DEVICE);
    y += CURVE_HEIGHT + 18;
    name_curve(out, SPLIT_LEFT, y, OF_MODEL, "model");
    if (p->measured.has_clock)
        name_curve(out, SPLIT_LEFT + 110, y, OF_DEVICE, "measured");
    return y + SPLIT_GAP;
}

/* The saw's teeth: up to each edge, down behind it. A column may have many
 * sizes, so it is drawn from its least share to its most. */
static void teeth(struct xl__str *out, const struct split_page *p, double y)
{
    const size_t sizes = p->range.to - p->range.from + 1;
    const unsigned columns =
        (unsigned)xl__min_size(sizes, SAW_COLUMNS);
    const double each = (double)SPLIT_INNER / columns;
    svg_series(out, OF_MODEL);
    svg_path_begin(out);
    for (unsigned i = 0; i < columns; i++) {
        const struct sawtooth_span s =
            sawtooth_span(&p->saw, p->range, i, columns);
        svg_path_point(out, SPLIT_LEFT + i * each,
                       y + SAW_HEIGHT * (1 - s.least));
        svg_path_point(out, SPLIT_LEFT + (i + 1) * each,
                       y + SAW_HEIGHT * (1 - s.most));
    }
    svg_path_end(out, 0);
    svg_group_end(out);
}

static double x_of_size(const struct split_page *p, size_t size)
{
    const double sizes = (double)(p->range.to - p->range.from + 1);
    const double before = (double)(size - p->range.from) + 0.5;
    return SPLIT_LEFT + before / sizes * SPLIT_INNER;
}

static void mark(struct xl__str *out, const struct split_page *p, size_t size,
                 double y, double label_y)
{
    const struct sawtooth_point at = sawtooth_at(&p->saw, size);
    const double x = x_of_size(p, size);
    char share[UNITS_CAP], text[96];
    units_percent(share, sizeof share, at.share);
    snprintf(text, sizeof text, "%zu: %.0f tiles, %.0f wave%s, %s", size,
             at.tiles, at.waves, at.waves > 1 ? "s" : "", share);
    svg_series(out, OF_DEVICE);
    svg_line(out, x, y, x, y + SAW_HEIGHT, 0);
    svg_mark(out, 1, x, y + SAW_HEIGHT * (1 - at.share), false, text);
    const double half = svg_text_width(text, svg_small) / 2;
    const double right = SVG_WIDTH - SPLIT_RIGHT - half;
    svg_text(out, fmin(fmax(x, SPLIT_LEFT + half), right), label_y, svg_small,
             "middle", svg_ink, text);
    svg_group_end(out);
}

/* Measured sizes: of the best rate among them. */
static void dots(struct xl__str *out, const struct split_page *p, double y)
{
    const double best = split_best_rate(p);
    svg_series(out, OF_DEVICE);
    for (size_t i = 0; i < p->n_rates; i++) {
        const struct split_rate *r = &p->rate[i];
        char rate[UNITS_CAP], tip[96];
        units_format(rate, sizeof rate, r->flop_per_s, "flop/s");
        snprintf(tip, sizeof tip, "%zu: %s, tiles of %zu x %zu", r->size, rate,
                 r->rows, r->cols);
        svg_mark(out, 0, x_of_size(p, r->size),
                 y + SAW_HEIGHT * (1 - r->flop_per_s / best), false, tip);
    }
    svg_group_end(out);
}

double split_svg_saw(struct xl__str *out, const struct split_page *p, double y)
{
    struct xl__str note = {0};
    char name[24];
    if (p->size == 0)
        return y;
    xl__str_printf(&note,
                   "Fill of the waves times useful area of the tiles, %zu x "
                   "%zu on %.0f places, by size (%s). Modelled; the library "
                   "may choose another tile at another size",
                   p->saw.rows, p->saw.cols, p->saw.places,
                   p->saw.grows_m && p->saw.grows_n ? "m = n"
                   : p->saw.grows_m                  ? "m"
                                                     : "n");
    if (p->n_rates > 0) {
        char best[UNITS_CAP];
        units_format(best, sizeof best, split_best_rate(p), "flop/s");
        xl__str_printf(&note, ". Dots: measured, of the best here, %s", best);
    }
    y = split_svg_panel(out, y, "The sawtooth", xl__str_text(&note)) + 8;
    xl__str_clear(&note);
    axes(out, y, SAW_HEIGHT);
    teeth(out, p, y);
    dots(out, p, y);
    mark(out, p, p->size, y, y + SAW_HEIGHT + 34);
    if (p->size < p->range.to)
        mark(out, p, p->size + 1, y, y + SAW_HEIGHT + 52);
    snprintf(name, sizeof name, "%zu", p->range.from);
    svg_text(out, SPLIT_LEFT, y + SAW_HEIGHT + 16, svg_small, "start", svg_ink,
             name);
    snprintf(name, sizeof name, "%zu", p->range.to);
    svg_text(out, SVG_WIDTH - SPLIT_RIGHT, y + SAW_HEIGHT + 16, svg_small,
             "end", svg_ink, name);
    return y + SAW_HEIGHT + SPLIT_GAP + 40;
}
