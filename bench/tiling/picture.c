/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the report as SVG in one column of panels: tiles coloured by start or
 * unit, units over time, the share of active units, the sawtooth. */
#include "tiling/picture.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "charts/svg.h"
#include "cli/units.h"
#include "tiling/text.h"
#include "tiling/tiles.h"

enum {
    PAGE_EDGE = 8,
    PAGE_LEFT = 44,
    PAGE_RIGHT = 8,
    PAGE_INNER = SVG_WIDTH - PAGE_LEFT - PAGE_RIGHT,
    PANEL_GAP = 34 /* between panels */
};

/* Draws title and note of a panel. Returns the y below. */
static double draw_panel(struct xl__str *out, double y, const char *title,
                         const char *note)
{
    y = svg_heading(out, PAGE_EDGE, y, title);
    svg_aside(out);
    y = svg_paragraph(out, PAGE_EDGE, y - 3, svg_small, SVG_LETTERS, note) + 2;
    svg_group_end(out);
    return y;
}

enum {
    CURVE_HEIGHT = 110,
    CURVE_SPANS = 320,
    SAW_HEIGHT = 170,
    SAW_COLUMNS = PAGE_INNER
};
/* series of the plots */
enum { OF_DEVICE, OF_MODEL };

static void draw_axes(struct xl__str *out, double y, double height)
{
    static const unsigned marks[] = {0, 25, 50, 75, 100};
    for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++) {
        char name[8];
        const double at = y + height * (1 - marks[i] / 1e2);
        snprintf(name, sizeof name, "%u%%", marks[i]);
        svg_grid(out);
        svg_line(out, PAGE_LEFT, at, SVG_WIDTH - PAGE_RIGHT, at, 0);
        svg_group_end(out);
        svg_aside(out);
        svg_text(out, PAGE_LEFT - 6, at + 4, svg_small, "end", svg_ink, name);
        svg_group_end(out);
    }
}

static void draw_curve(struct xl__str *out, const struct tiling_record *r,
                       double y, unsigned series)
{
    double share[CURVE_SPANS];
    if (r->n == 0 || !tiling_busy_curve(r, share, CURVE_SPANS))
        return;
    svg_series(out, series);
    svg_path_begin(out);
    for (unsigned i = 0; i < CURVE_SPANS; i++)
        svg_path_point(out, PAGE_LEFT + (i + 0.5) * PAGE_INNER / CURVE_SPANS,
                       y + CURVE_HEIGHT * (1 - share[i]));
    svg_path_end(out, series == OF_MODEL ? 1 : 0);
    svg_group_end(out);
}

static void draw_curve_key(struct xl__str *out, double x, double y,
                           unsigned series, const char *name)
{
    enum { SAMPLE = 24 };
    svg_series(out, series);
    svg_line(out, x, y - 4, x + SAMPLE, y - 4, series == OF_MODEL ? 1 : 0);
    svg_group_end(out);
    svg_text(out, x + SAMPLE + 6, y, svg_small, "start", svg_ink, name);
}

/* Draws the panel of the share of active units over time. Returns the y
 * below. */
static double draw_curves(struct xl__str *out, const struct tiling_report *p,
                          double y)
{
    char tail[UNITS_CAP];
    struct xl__str note = {0};
    units_percent(tail, sizeof tail, p->model_load.tail);
    xl__str_printf(&note,
                   "Tail, from the first unit that finished to the "
                   "end: %s by the model",
                   tail);
    if (p->measured.has_clock) {
        units_percent(tail, sizeof tail, p->measured_load.tail);
        xl__str_printf(&note, ", %s measured", tail);
    }
    xl__str_add(&note, ". Imbalance: ");
    tiling_describe_imbalance(p, &note);
    y = draw_panel(out, y, "Share of active units, first start to last end",
                   xl__str_text(&note)) +
        8;
    xl__str_clear(&note);
    draw_axes(out, y, CURVE_HEIGHT);
    draw_curve(out, &p->model, y, OF_MODEL);
    draw_curve(out, &p->measured, y, OF_DEVICE);
    y += CURVE_HEIGHT + 18;
    draw_curve_key(out, PAGE_LEFT, y, OF_MODEL, "model");
    if (p->measured.has_clock)
        draw_curve_key(out, PAGE_LEFT + 110, y, OF_DEVICE, "measured");
    return y + PANEL_GAP;
}

/* Draws the sawtooth. A column may contain many sizes, so it is drawn from its
 * least share to its largest. */
static void draw_teeth(struct xl__str *out, const struct tiling_report *p,
                       double y)
{
    const size_t sizes = p->range.to - p->range.from + 1;
    const unsigned columns =
        (unsigned)xl__min_size(sizes, SAW_COLUMNS);
    const double each = (double)PAGE_INNER / columns;
    svg_series(out, OF_MODEL);
    svg_path_begin(out);
    for (unsigned i = 0; i < columns; i++) {
        const struct sawtooth_span s =
            sawtooth_span(&p->saw, p->range, i, columns);
        svg_path_point(out, PAGE_LEFT + i * each,
                       y + SAW_HEIGHT * (1 - s.least));
        svg_path_point(out, PAGE_LEFT + (i + 1) * each,
                       y + SAW_HEIGHT * (1 - s.most));
    }
    svg_path_end(out, 0);
    svg_group_end(out);
}

static double x_of_size(const struct tiling_report *p, size_t size)
{
    const double sizes = (double)(p->range.to - p->range.from + 1);
    const double before = (double)(size - p->range.from) + 0.5;
    return PAGE_LEFT + before / sizes * PAGE_INNER;
}

/* Marks a size on the sawtooth, with a label. */
static void draw_mark(struct xl__str *out, const struct tiling_report *p,
                      size_t size, double y, double label_y)
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
    const double right = SVG_WIDTH - PAGE_RIGHT - half;
    svg_text(out, fmin(fmax(x, PAGE_LEFT + half), right), label_y, svg_small,
             "middle", svg_ink, text);
    svg_group_end(out);
}

/* Draws the measured sizes, relative to the best rate among them. */
static void draw_dots(struct xl__str *out, const struct tiling_report *p,
                      double y)
{
    const double best = tiling_best_rate(p);
    svg_series(out, OF_DEVICE);
    for (size_t i = 0; i < p->n_rates; i++) {
        const struct tiling_rate *r = &p->rate[i];
        char rate[UNITS_CAP], tip[96];
        units_format(rate, sizeof rate, r->flop_per_s, "flop/s");
        snprintf(tip, sizeof tip, "%zu: %s, tiles of %zu x %zu", r->size, rate,
                 r->rows, r->cols);
        svg_mark(out, 0, x_of_size(p, r->size),
                 y + SAW_HEIGHT * (1 - r->flop_per_s / best), false, tip);
    }
    svg_group_end(out);
}

/* Draws the panel of the sawtooth. Returns the y below. */
static double draw_sawtooth(struct xl__str *out, const struct tiling_report *p,
                            double y)
{
    struct xl__str note = {0};
    char name[24];
    if (p->size == 0)
        return y;
    xl__str_printf(&note,
                   "Fill of the waves times useful area of the tiles, %zu x "
                   "%zu on %.0f slots, by size (%s). Modelled; the library "
                   "may choose another tile at another size",
                   p->saw.rows, p->saw.cols, p->saw.slots,
                   p->saw.grows_m && p->saw.grows_n ? "m = n"
                   : p->saw.grows_m                 ? "m"
                                                    : "n");
    if (p->n_rates > 0) {
        char best[UNITS_CAP];
        units_format(best, sizeof best, tiling_best_rate(p), "flop/s");
        xl__str_printf(&note, ". Dots: measured, of the best here, %s", best);
    }
    y = draw_panel(out, y, "The sawtooth", xl__str_text(&note)) + 8;
    xl__str_clear(&note);
    draw_axes(out, y, SAW_HEIGHT);
    draw_teeth(out, p, y);
    draw_dots(out, p, y);
    draw_mark(out, p, p->size, y, y + SAW_HEIGHT + 34);
    if (p->size < p->range.to)
        draw_mark(out, p, p->size + 1, y, y + SAW_HEIGHT + 52);
    snprintf(name, sizeof name, "%zu", p->range.from);
    svg_text(out, PAGE_LEFT, y + SAW_HEIGHT + 16, svg_small, "start", svg_ink,
             name);
    snprintf(name, sizeof name, "%zu", p->range.to);
    svg_text(out, SVG_WIDTH - PAGE_RIGHT, y + SAW_HEIGHT + 16, svg_small,
             "end", svg_ink, name);
    return y + SAW_HEIGHT + PANEL_GAP + 40;
}

enum {
    MAP_CELLS = 48, /* rows, and columns */
    MAP_HEIGHT = 360,
    CELL = 44,         /* at most */
    NAMED_HEIGHT = 16, /* of a cell in which a number fits */
    LANES_HEIGHT = 330,
    LANE = 18, /* at most */
    MOST_LANES = 330,
    MOST_TIPS = 2048,    /* more pieces have no tips */
    MOST_PIECES = 16384, /* drawn one by one */
    SHADES = 32          /* of pieces without tips */
};

/* The tip of a piece: tile, unit, times. */
static void format_tip(const struct tiling_report *p, size_t piece, char *tip,
                       size_t cap)
{
    const struct tiling_record *r = tiling_shown_record(p);
    const xl_piece_record *x = &r->piece[piece];
    char from[UNITS_CAP], to[UNITS_CAP];
    units_time(from, sizeof from, x->start_ns);
    units_time(to, sizeof to, x->end_ns);
    if (!r->has_clock)
        snprintf(tip, cap, "tile %zu, unit %u", piece, x->unit);
    else if (p->measured.n > 0)
        snprintf(tip, cap, "tile %zu, unit %u, %s to %s", piece, x->unit,
                 from, to);
    else
        snprintf(tip, cap, "tile %zu, unit %u, %.1f%% to %.1f%% (model)",
                 piece, x->unit, x->start_ns / r->total_ns * 1e2,
                 x->end_ns / r->total_ns * 1e2);
}

/* The meaning of colours: the start, relative to the last one; if all start at
 * about the same time, or the start is unknown, the unit. */
struct shades {
    const struct tiling_record *r;
    double last; /* the last start as a fraction of the launch; 0: colours are
                    units */
};

static struct shades find_shades(const struct tiling_record *r)
{
    static const double at_once = 0.1;
    struct shades s = {r, 0};
    for (size_t i = 0; r->has_clock && i < r->n; i++)
        s.last = fmax(s.last, r->piece[i].start_ns / r->total_ns);
    s.last = s.last > at_once ? s.last : 0;
    return s;
}

/* Position on the colour ramp, 0 to 1. */
static double piece_shade(const struct shades *s, size_t piece)
{
    const xl_piece_record *x = &s->r->piece[piece];
    return s->last > 0 ? x->start_ns / s->r->total_ns / s->last
                       : x->unit / fmax(s->r->units - 1.0, 1);
}

/* -- the tiles ------------------------------------------------------------ */

struct map_cell {
    double width, height;
    bool is_named; /* a unit number fits */
};

static void draw_cell(struct xl__str *out, const struct tiling_report *p,
                      const struct shades *shades, size_t piece,
                      const double at[2], const struct map_cell *cell)
{
    static const double bright = 0.6;
    const double shade = piece_shade(shades, piece);
    char colour[SVG_COLOUR_CAP], tip[128], name[16];
    svg_ramp(shade, colour);
    format_tip(p, piece, tip, sizeof tip);
    svg_rect(out, at[0], at[1], cell->width - 1, cell->height - 1, colour,
             tip);
    if (!cell->is_named)
        return;
    snprintf(name, sizeof name, "%u", shades->r->piece[piece].unit);
    svg_text(out, at[0] + cell->width / 2, at[1] + cell->height / 2 + 4,
             svg_small, "middle", shade > bright ? "#111111" : "#ffffff",
             name);
}

/* Cells may be twice as wide as high, as numbers are. */
static struct map_cell cell_size(const struct tiling_report *p,
                                 const struct tiling_grid *g)
{
    char name[16];
    struct map_cell c;
    snprintf(name, sizeof name, "%u", tiling_shown_record(p)->units);
    c.width = fmin(CELL, (double)PAGE_INNER / (double)g->cols);
    c.height = fmin(c.width, (double)MAP_HEIGHT / (double)g->rows);
    c.width = fmin(c.width, 2 * c.height);
    c.is_named = c.height > NAMED_HEIGHT &&
                 c.width > svg_text_width(name, svg_small) + 2;
    return c;
}

static void draw_key(struct xl__str *out, double y, const char *what)
{
    enum { STEPS = 40, STEP = 4 };
    const double x = SVG_WIDTH - PAGE_RIGHT - STEPS * STEP;
    char colour[SVG_COLOUR_CAP];
    for (unsigned i = 0; i < STEPS; i++) {
        svg_ramp((double)i / (STEPS - 1), colour);
        svg_rect(out, x + i * STEP, y - 10, STEP, 10, colour, NULL);
    }
    svg_text(out, x - 6, y, svg_small, "end", svg_ink, what);
}

/* Draws the panel of tiles. Returns the y below. */
static double draw_map(struct xl__str *out, const struct tiling_report *p,
                       double y)
{
    const struct tiling_grid g = tiling_grid(&p->tiling, MAP_CELLS, MAP_CELLS);
    const struct map_cell cell = cell_size(p, &g);
    const struct shades shades = find_shades(tiling_shown_record(p));
    struct xl__str note = {0};
    tiling_describe_source(p, &note);
    if (g.tiles_m > g.rows || g.tiles_n > g.cols)
        xl__str_printf(&note, ". One of each %.3g x %.3g is shown",
                       (double)g.tiles_m / (double)g.rows,
                       (double)g.tiles_n / (double)g.cols);
    draw_key(out, y,
             shades.last > 0 ? "began: first to last" : "unit: first to last");
    y = draw_panel(out, y,
                   g.is_map ? "Tiles: the unit that ran each"
                            : "Groups: the unit that ran each",
                   xl__str_text(&note));
    xl__str_clear(&note);
    for (size_t i = 0; i < g.rows; i++)
        for (size_t j = 0; j < g.cols; j++) {
            const size_t piece = tiling_grid_piece(&g, i, j);
            const double at[2] = {PAGE_LEFT + (double)j * cell.width,
                                  y + (double)i * cell.height};
            if (piece < tiling_shown_record(p)->n)
                draw_cell(out, p, &shades, piece, at, &cell);
        }
    return y + (double)g.rows * cell.height + PANEL_GAP;
}

/* -- units over time ------------------------------------------------------ */

static const double thin = 0.4;

static double lane_gap(double lane)
{
    return lane > 3 ? 1 : 0.2;
}

static void draw_boxes(struct xl__str *out, const struct tiling_report *p,
                       double y, double lane)
{
    const struct tiling_record *r = tiling_shown_record(p);
    const struct shades shades = find_shades(r);
    char colour[SVG_COLOUR_CAP], tip[128];
    for (size_t i = 0; i < r->n; i++) {
        const xl_piece_record *x = &r->piece[i];
        const double from = x->start_ns / r->total_ns * PAGE_INNER;
        const double to = x->end_ns / r->total_ns * PAGE_INNER;
        svg_ramp(piece_shade(&shades, i), colour);
        format_tip(p, i, tip, sizeof tip);
        svg_rect(out, PAGE_LEFT + from, y + x->unit * lane,
                 fmax(to - from - thin, thin), lane - lane_gap(lane), colour,
                 tip);
    }
}

/* Draws very many pieces as one path for each shade, which keeps the file
 * small. */
static void draw_strokes(struct xl__str *out, const struct tiling_record *r,
                         double y, double lane)
{
    const struct shades shades = find_shades(r);
    char colour[SVG_COLOUR_CAP];
    for (unsigned shade = 0; shade < SHADES; shade++) {
        svg_ramp((shade + 0.5) / SHADES, colour);
        svg_strokes_begin(out, colour, lane - lane_gap(lane));
        for (size_t i = 0; i < r->n; i++) {
            const xl_piece_record *x = &r->piece[i];
            const double from = x->start_ns / r->total_ns * PAGE_INNER;
            const double to = x->end_ns / r->total_ns * PAGE_INNER;
            if ((unsigned)fmin(piece_shade(&shades, i) * SHADES, SHADES - 1) ==
                shade)
                svg_stroke(out, PAGE_LEFT + from, y + (x->unit + 0.5) * lane,
                           fmax(to - from - thin, thin));
        }
        svg_strokes_end(out);
    }
}

/* Draws the panel of units over time, unless there are too many. Returns the y
 * below. */
static double draw_lanes(struct xl__str *out, const struct tiling_report *p,
                         double y)
{
    const struct tiling_record *r = tiling_shown_record(p);
    const double lane = fmin(LANE, (double)LANES_HEIGHT / r->units);
    const unsigned concurrent = p->measured.n > 0 ? p->measured_load.concurrent
                                                  : p->model_load.concurrent;
    if (!r->has_clock || r->n > MOST_PIECES || r->units > MOST_LANES)
        return y;
    y = draw_panel(out, y, "Units over time",
                   concurrent > 1
                       ? "one line for each unit; concurrent tiles overlap"
                       : "one line for each unit, one box for each tile");
    if (r->n <= MOST_TIPS)
        draw_boxes(out, p, y, lane);
    else
        draw_strokes(out, r, y, lane);
    svg_aside(out);
    for (unsigned u = 0; u < r->units; u++) {
        char name[16];
        const unsigned each = (unsigned)ceil(14 / lane);
        snprintf(name, sizeof name, "%u", u);
        if (u % each == 0)
            svg_text(out, PAGE_LEFT - 6, y + (u + 0.5) * lane + 4, svg_small,
                     "end", svg_ink, name);
    }
    svg_group_end(out);
    return y + r->units * lane + PANEL_GAP;
}

/* Panels are written to a separate string first, since the header of the file
 * needs the total height. */
void tiling_svg(const struct tiling_report *p, struct xl__str *out)
{
    struct xl__str body = {0}, title = {0}, waves = {0};
    const xl_tiling *t = &p->tiling;
    double y = svg_large + 2;
    xl__str_printf(&title, "Split of %s", p->title);
    y = svg_heading(&body, PAGE_EDGE, y, xl__str_text(&title));
    svg_aside(&body);
    y = svg_paragraph(&body, PAGE_EDGE, y, svg_small, SVG_LETTERS, p->where);
    if (tiling_has_map(t))
        xl__str_printf(&waves, "%zu x %zu tiles of %zu x %zu%s%s; waves: ",
                       t->tiles_m, t->tiles_n, t->rows, t->cols,
                       *p->variant ? " by " : "", p->variant);
    else
        xl__str_printf(&waves, "%zu groups%s%s; waves: ", t->groups,
                       *p->variant ? " of " : "", p->variant);
    tiling_describe_waves(p, &waves);
    y = svg_paragraph(&body, PAGE_EDGE, y + 2, svg_small, SVG_LETTERS,
                      xl__str_text(&waves)) +
        PANEL_GAP / 2;
    svg_group_end(&body);
    y = draw_map(&body, p, y);
    y = draw_lanes(&body, p, y);
    y = draw_curves(&body, p, y);
    y = draw_sawtooth(&body, p, y);
    svg_begin(out, SVG_WIDTH, y, xl__str_text(&title), xl__str_text(&waves));
    xl__str_add(out, xl__str_text(&body));
    svg_end(out);
    xl__str_clear(&body);
    xl__str_clear(&title);
    xl__str_clear(&waves);
}
