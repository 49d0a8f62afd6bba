/* SPDX-License-Identifier: Apache-2.0 */
#include "tiling/picture.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "charts/svg.h"
#include "cli/units.h"
#include "tiling/text.h"
#include "tiling/tiles.h"

enum {
    SPLIT_EDGE = 8,
    SPLIT_LEFT = 44,
    SPLIT_RIGHT = 8,
    SPLIT_INNER = SVG_WIDTH - SPLIT_LEFT - SPLIT_RIGHT,
    SPLIT_GAP = 34,     /* between panels */
    SPLIT_LETTERS = 106 /* of a line of small text */
};

static double split_svg_panel(struct xl__str *out, double y, const char *title,
                       const char *note)
{
    svg_heading(out, SPLIT_EDGE, y, title);
    svg_aside(out);
    y = svg_paragraph(out, SPLIT_EDGE, y + 18, svg_small, SPLIT_LETTERS,
                      note) + 2;
    svg_group_end(out);
    return y;
}

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

static double split_svg_curves(struct xl__str *out, const struct split_page *p,
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

static double split_svg_saw(struct xl__str *out, const struct split_page *p, double y)
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

enum {
    MAP_CELLS = 48,     /* along each side */
    MAP_HEIGHT = 360,
    CELL = 44,          /* at most */
    NAMED_HEIGHT = 16,  /* of a cell in which a number fits */
    LANES_HEIGHT = 330,
    LANE = 18,          /* at most */
    MOST_LANES = 330,
    MOST_TIPS = 2048,   /* more pieces are drawn without */
    MOST_PIECES = 16384, /* drawn one by one */
    SHADES = 32         /* of pieces without tips */
};

static void tip_of(const struct split_page *p, size_t piece, char *tip,
                   size_t cap)
{
    const struct split_record *r = split_shown(p);
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

/* What colours stand for: the start, of the last one's; where all begin at
 * about the same time, or nobody knows when, the unit. */
struct shades {
    const struct split_record *r;
    double last; /* start, as a share of the launch; 0: units it is */
};

static struct shades shades_of(const struct split_record *r)
{
    static const double at_once = 0.1;
    struct shades s = {r, 0};
    for (size_t i = 0; r->has_clock && i < r->n; i++)
        s.last = fmax(s.last, r->piece[i].start_ns / r->total_ns);
    s.last = s.last > at_once ? s.last : 0;
    return s;
}

/* On the ramp, 0 to 1. */
static double shade_at(const struct shades *s, size_t piece)
{
    const xl_piece_record *x = &s->r->piece[piece];
    return s->last > 0 ? x->start_ns / s->r->total_ns / s->last
                       : x->unit / fmax(s->r->units - 1.0, 1);
}

/* -- the tiles ------------------------------------------------------------ */

struct cell {
    double width, height;
    bool is_named; /* there is room for any unit's number */
};

static void cell_of(struct xl__str *out, const struct split_page *p,
                    const struct shades *shades, size_t piece,
                    const double at[2], const struct cell *cell)
{
    static const double bright = 0.6;
    const double shade = shade_at(shades, piece);
    char colour[SVG_COLOUR_CAP], tip[128], name[16];
    svg_ramp(shade, colour);
    tip_of(p, piece, tip, sizeof tip);
    svg_rect(out, at[0], at[1], cell->width - 1, cell->height - 1, colour,
             tip);
    if (!cell->is_named)
        return;
    snprintf(name, sizeof name, "%u", shades->r->piece[piece].unit);
    svg_text(out, at[0] + cell->width / 2, at[1] + cell->height / 2 + 4,
             svg_small, "middle", shade > bright ? "#111111" : "#ffffff",
             name);
}

/* Wider than high where there is room: numbers are. */
static struct cell cell_size(const struct split_page *p,
                             const struct split_grid *g)
{
    char name[16];
    struct cell c;
    snprintf(name, sizeof name, "%u", split_shown(p)->units);
    c.width = fmin(CELL, (double)SPLIT_INNER / (double)g->cols);
    c.height = fmin(c.width, (double)MAP_HEIGHT / (double)g->rows);
    c.width = fmin(c.width, 2 * c.height);
    c.is_named = c.height > NAMED_HEIGHT &&
                 c.width > svg_text_width(name, svg_small) + 2;
    return c;
}

static void key(struct xl__str *out, double y, const char *what)
{
    enum { STEPS = 40, STEP = 4 };
    const double x = SVG_WIDTH - SPLIT_RIGHT - STEPS * STEP;
    char colour[SVG_COLOUR_CAP];
    for (unsigned i = 0; i < STEPS; i++) {
        svg_ramp((double)i / (STEPS - 1), colour);
        svg_rect(out, x + i * STEP, y - 10, STEP, 10, colour, NULL);
    }
    svg_text(out, x - 6, y, svg_small, "end", svg_ink, what);
}

static double map(struct xl__str *out, const struct split_page *p, double y)
{
    const struct split_grid g = split_grid(&p->tiling, MAP_CELLS, MAP_CELLS);
    const struct cell cell = cell_size(p, &g);
    const struct shades shades = shades_of(split_shown(p));
    struct xl__str note = {0};
    split_say_source(p, &note);
    if (g.tiles_m > g.rows || g.tiles_n > g.cols)
        xl__str_printf(&note, ". One of each %.3g x %.3g is shown",
                       (double)g.tiles_m / (double)g.rows,
                       (double)g.tiles_n / (double)g.cols);
    key(out, y, shades.last > 0 ? "began: first to last"
                                : "unit: first to last");
    y = split_svg_panel(out, y,
              g.is_map ? "Tiles: the unit that ran each"
                       : "Groups, in order: the unit that ran each",
              xl__str_text(&note));
    xl__str_clear(&note);
    for (size_t i = 0; i < g.rows; i++)
        for (size_t j = 0; j < g.cols; j++) {
            const size_t piece = split_grid_piece(&g, i, j);
            const double at[2] = {SPLIT_LEFT + (double)j * cell.width,
                                  y + (double)i * cell.height};
            if (piece < split_shown(p)->n)
                cell_of(out, p, &shades, piece, at, &cell);
        }
    return y + (double)g.rows * cell.height + SPLIT_GAP;
}

/* -- units over time ------------------------------------------------------ */

static const double thin = 0.4;

static double gap_of(double lane)
{
    return lane > 3 ? 1 : 0.2;
}

static void boxes(struct xl__str *out, const struct split_page *p, double y,
                  double lane)
{
    const struct split_record *r = split_shown(p);
    const struct shades shades = shades_of(r);
    char colour[SVG_COLOUR_CAP], tip[128];
    for (size_t i = 0; i < r->n; i++) {
        const xl_piece_record *x = &r->piece[i];
        const double from = x->start_ns / r->total_ns * SPLIT_INNER;
        const double to = x->end_ns / r->total_ns * SPLIT_INNER;
        svg_ramp(shade_at(&shades, i), colour);
        tip_of(p, i, tip, sizeof tip);
        svg_rect(out, SPLIT_LEFT + from, y + x->unit * lane,
                 fmax(to - from - thin, thin), lane - gap_of(lane), colour,
                 tip);
    }
}

/* Very many, shade by shade, in a few letters each. */
static void strokes(struct xl__str *out, const struct split_record *r,
                    double y, double lane)
{
    const struct shades shades = shades_of(r);
    char colour[SVG_COLOUR_CAP];
    for (unsigned shade = 0; shade < SHADES; shade++) {
        svg_ramp((shade + 0.5) / SHADES, colour);
        svg_strokes_begin(out, colour, lane - gap_of(lane));
        for (size_t i = 0; i < r->n; i++) {
            const xl_piece_record *x = &r->piece[i];
            const double from = x->start_ns / r->total_ns * SPLIT_INNER;
            const double to = x->end_ns / r->total_ns * SPLIT_INNER;
            if ((unsigned)fmin(shade_at(&shades, i) * SHADES, SHADES - 1) ==
                shade)
                svg_stroke(out, SPLIT_LEFT + from, y + (x->unit + 0.5) * lane,
                           fmax(to - from - thin, thin));
        }
        svg_strokes_end(out);
    }
}

static double lanes(struct xl__str *out, const struct split_page *p, double y)
{
    const struct split_record *r = split_shown(p);
    const double lane = fmin(LANE, (double)LANES_HEIGHT / r->units);
    const unsigned beside = p->measured.n > 0 ? p->measured_load.beside
                                              : p->model_load.beside;
    if (!r->has_clock || r->n > MOST_PIECES || r->units > MOST_LANES)
        return y;
    y = split_svg_panel(out, y, "Units over time",
              beside > 1 ? "a line a unit; tiles done beside one another lie "
                           "on top of one another"
                         : "a line a unit, a box a tile");
    if (r->n <= MOST_TIPS)
        boxes(out, p, y, lane);
    else
        strokes(out, r, y, lane);
    svg_aside(out);
    for (unsigned u = 0; u < r->units; u++) {
        char name[16];
        const unsigned each = (unsigned)ceil(14 / lane);
        snprintf(name, sizeof name, "%u", u);
        if (u % each == 0)
            svg_text(out, SPLIT_LEFT - 6, y + (u + 0.5) * lane + 4,
                     svg_small, "end", svg_ink, name);
    }
    svg_group_end(out);
    return y + r->units * lane + SPLIT_GAP;
}

/* The height is known at the end, but stands in front: panels are written
 * apart. */
void split_svg(const struct split_page *p, struct xl__str *out)
{
    struct xl__str body = {0}, title = {0}, waves = {0};
    const xl_tiling *t = &p->tiling;
    double y = svg_large + 2;
    xl__str_printf(&title, "Split of %s", p->title);
    svg_heading(&body, SPLIT_EDGE, y, xl__str_text(&title));
    svg_aside(&body);
    svg_text(&body, SPLIT_EDGE, y + 20, svg_small, "start", svg_ink, p->where);
    if (split_has_map(t))
        xl__str_printf(&waves, "%zu x %zu tiles of %zu x %zu%s%s; waves: ",
                       t->tiles_m, t->tiles_n, t->rows, t->cols,
                       *p->variant ? " by " : "", p->variant);
    else
        xl__str_printf(&waves, "%zu groups%s%s; waves: ", t->groups,
                       *p->variant ? " of " : "", p->variant);
    split_say_waves(p, &waves);
    y = svg_paragraph(&body, SPLIT_EDGE, y + 38, svg_small, SPLIT_LETTERS,
                      xl__str_text(&waves)) + SPLIT_GAP / 2;
    svg_group_end(&body);
    y = map(&body, p, y);
    y = lanes(&body, p, y);
    y = split_svg_curves(&body, p, y);
    y = split_svg_saw(&body, p, y);
    svg_begin(out, SVG_WIDTH, y, xl__str_text(&title), xl__str_text(&waves));
    xl__str_add(out, xl__str_text(&body));
    svg_end(out);
    xl__str_clear(&body);
    xl__str_clear(&title);
    xl__str_clear(&waves);
}
