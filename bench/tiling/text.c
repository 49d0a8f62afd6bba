/* SPDX-License-Identifier: Apache-2.0 */
/* The page for a terminal. The map has a unit's letter in each cell; when a
 * tile was begun is its colour, or, where there are no colours, a second
 * map. */
#include <math.h>
#include <stdlib.h>

#include "charts/text_charts.h"
#include "tiling/split_grid.h"
#include "tiling/text.h"
#include "cli/console.h"
#include "cli/units.h"

enum {
    INDENT = 2,
    MAP_ROWS = 16, /* lines */
    MAP_COLS = 64, /* letters */
    CURVE_ROWS = 6,
    CURVE_COLS = 32
};

/* Cells, and lines, that start later are warmer: of the 256 colours. */
static const unsigned char warmth[] = {17, 18, 25, 31, 37, 72, 107,
                                       142, 178, 208, 202, 196};
enum { N_WARMTH = sizeof warmth };
enum { DARK_UNTIL = 4 }; /* white letters on the first */

static char unit_letter(unsigned unit)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz";
    return letters[unit % (sizeof letters - 1)];
}

/* -- what it is ----------------------------------------------------------- */

static void field(FILE *to, const char *name, const char *text,
                  unsigned columns)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s: %s", name, text);
    text_wrap(to, xl__str_text(&line), INDENT, columns);
    xl__str_clear(&line);
}

static void head(FILE *to, const struct split_page *p, unsigned columns)
{
    struct xl__str line = {0}, cut = {0};
    xl__str_printf(&line, "Split of %s, %s", p->title, p->where);
    text_cut(&cut, xl__str_text(&line), columns);
    fprintf(to, "%s\n\n", xl__str_text(&cut));
    xl__str_clear(&line);
    xl__str_clear(&cut);
}

static void print_tiles(FILE *to, const struct split_page *p,
                        unsigned columns)
{
    const xl_tiling *t = &p->tiling;
    struct xl__str text = {0};
    char part[UNITS_CAP];
    if (split_has_map(t)) {
        xl__str_printf(&text, "%zu x %zu of %zu x %zu", t->tiles_m, t->tiles_n,
                       t->rows, t->cols);
        if (t->count > 1)
            xl__str_printf(&text, " in each of %zu products", t->count);
        xl__str_printf(&text, ", %zu in all; ",
                       t->tiles_m * t->tiles_n * t->count);
        if (t->is_even)
            xl__str_add(&text, "all alike, by their size");
        else
            xl__str_printf(&text, "useful area %.1f%%", split_area(t) * 1e2);
        if (t->sharers > 0)
            xl__str_printf(&text, "; the last %zu are cut by k, dealt out to "
                                  "%zu groups",
                           t->tiles_m * t->tiles_n * t->count - t->whole,
                           t->sharers);
        field(to, "Tiles", xl__str_text(&text), columns);
        xl__str_reset(&text);
    }
    xl__str_printf(&text, "%zu", t->groups);
    if (t->wg_items > 0) {
        units_format(part, sizeof part, (double)t->local_mem_bytes, "B");
        xl__str_printf(&text, " of %zu item%s, %s of local memory each",
                       t->wg_items, t->wg_items == 1 ? "" : "s", part);
    }
    if (t->groups < split_pieces(t))
        xl__str_printf(&text, "; group g does tiles g, g + %zu, ...",
                       t->groups);
    field(to, "Groups", xl__str_text(&text), columns);
    if (*p->variant)
        field(to, "Variant", p->variant, columns);
    xl__str_reset(&text);
    split_say_waves(p, &text);
    field(to, "Waves", xl__str_text(&text), columns);
    if (!isnan(p->op_ns)) {
        units_time(part, sizeof part, p->op_ns);
        field(to, "Time", part, columns);
    }
    xl__str_clear(&text);
}

/* -- who did which tile --------------------------------------------------- */

/* How much of the launch is over when a piece begins. */
static double start_of(const struct split_record *r, size_t piece)
{
    return r->has_clock ? r->piece[piece].start_ns / r->total_ns
                        : (double)NAN;
}

static void map_line(FILE *to, const struct split_page *p,
                     const struct split_grid *g, size_t row, unsigned width,
                     bool colour)
{
    const struct split_record *r = split_shown(p);
    fprintf(to, "%*s", 2 * INDENT - (int)width + 1, "");
    for (size_t col = 0; col < g->cols; col++) {
        const size_t piece = split_grid_piece(g, row, col);
        if (piece >= r->n)
            break;
        const double start = start_of(r, piece);
        const char letter = unit_letter(r->piece[piece].unit);
        if (colour && !isnan(start)) {
            const unsigned at = (unsigned)fmin(start * N_WARMTH, N_WARMTH - 1);
            fprintf(to, "\033[%d;48;5;%dm%*c\033[0m",
                    at < DARK_UNTIL ? 97 : 30, warmth[at], (int)width, letter);
        } else {
            fprintf(to, "%*c", (int)width, letter);
        }
    }
    fputc('\n', to);
}

/* In tenths of the launch. */
static unsigned tenth_of(const struct split_record *r, size_t piece)
{
    static const double tenths = 10, last = 9;
    return (unsigned)fmin(floor(start_of(r, piece) * tenths), last);
}

static void when_line(FILE *to, const struct split_record *r,
                      const struct split_grid *g, size_t row, unsigned width)
{
    fprintf(to, "%*s", 2 * INDENT - (int)width + 1, "");
    for (size_t col = 0; col < g->cols; col++) {
        const size_t piece = split_grid_piece(g, row, col);
        if (piece < r->n)
            fprintf(to, "%*u", (int)width, tenth_of(r, piece));
    }
    fputc('\n', to);
}

/* Did all begin together? Then a map of when says nothing. */
static bool is_one_start(const struct split_record *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (tenth_of(r, i) > 0)
            return false;
    return true;
}

static void say_map(const struct split_page *p, const struct split_grid *g,
                    bool colour, struct xl__str *out)
{
    const char *what = g->is_map ? "tile" : "group";
    xl__str_printf(out, "Which unit ran which %s (", what);
    split_say_source(p, out);
    xl__str_add(out, ").");
    if (g->tiles_m > g->rows || g->tiles_n > g->cols)
        xl__str_printf(out, " One %s of each %.3g x %.3g is shown.", what,
                       (double)g->tiles_m / (double)g->rows,
                       (double)g->tiles_n / (double)g->cols);
    if (p->tiling.count > 1 && g->is_map)
        xl__str_add(out, " Of the first product.");
    if (!g->is_map)
        xl__str_add(out, " Groups stand in order.");
    if (split_shown(p)->units > 62)
        xl__str_add(out, " Letters repeat after 62 units.");
    if (colour && split_shown(p)->has_clock)
        xl__str_add(out, " Colour: when it began, from dark to red.");
}

static void print_map(FILE *to, const struct split_page *p, unsigned columns,
                      bool colour)
{
    const struct split_record *r = split_shown(p);
    const struct split_grid g = split_grid(&p->tiling, MAP_ROWS, MAP_COLS);
    const unsigned width = g.cols * 2 <= MAP_COLS ? 2 : 1;
    struct xl__str text = {0};
    say_map(p, &g, colour, &text);
    fputc('\n', to);
    text_wrap(to, xl__str_text(&text), INDENT, columns);
    fputc('\n', to);
    xl__str_clear(&text);
    for (size_t row = 0; row < g.rows; row++)
        map_line(to, p, &g, row, width, colour);
    if (colour || !r->has_clock || is_one_start(r))
        return;
    fprintf(to, "\n  When each began, in tenths of the launch\n\n");
    for (size_t row = 0; row < g.rows; row++)
        when_line(to, r, &g, row, width);
}

/* -- how much each unit had ----------------------------------------------- */

void split_cell_share(struct table *t, double share)
{
    if (isnan(share))
        table_cell(t, "-");
    else
        table_cell(t, "%.1f%%", share * 1e2);
}

/* One figure of a load: its cell. */
struct figure {
    const char *name;
    void (*cell)(struct table *t, const struct split_record *r,
                 const struct split_load *l);
};

static void cell_used(struct table *t, const struct split_record *r,
                      const struct split_load *l)
{
    table_cell(t, "%u of %u", l->used, r->units);
}
static void cell_pieces(struct table *t, const struct split_record *r,
                        const struct split_load *l)
{
    (void)r;
    if (l->least == l->most)
        table_cell(t, "%u", l->least);
    else
        table_cell(t, "%u to %u", l->least, l->most);
}
static void cell_beside(struct table *t, const struct split_record *r,
                        const struct split_load *l)
{
    if (r->has_clock)
        table_cell(t, "%u", l->beside);
    else
        table_cell(t, "-");
}
static void cell_busy(struct table *t, const struct split_record *r,
                      const struct split_load *l)
{
    (void)r;
    split_cell_share(t, l->busy);
}
static void cell_busy_used(struct table *t, const struct split_record *r,
                           const struct split_load *l)
{
    if (r->has_clock)
        table_cell(t, "%.1f%% to %.1f%%", l->busy_least * 1e2,
                   l->busy_most * 1e2);
    else
        table_cell(t, "-");
}
static void cell_tail(struct table *t, const struct split_record *r,
                      const struct split_load *l)
{
    (void)r;
    split_cell_share(t, l->tail);
}
static void cell_imbalance(struct table *t, const struct split_record *r,
                           const struct split_load *l)
{
    if (r->has_clock)
        table_cell(t, "%.2f", l->imbalance);
    else
        table_cell(t, "-");
}

static const struct figure figures[] = {
    {"units that worked", cell_used},
    {"tiles of such a unit", cell_pieces},
    {"at one time, at most", cell_beside},
    {"busy, mean of all units", cell_busy},
    {"busy, of those that worked", cell_busy_used},
    {"tail: first done to end", cell_tail},
    {"busiest over mean", cell_imbalance},
};

static void print_load(FILE *to, const struct split_page *p, unsigned columns,
                       bool colour)
{
    static const struct table_column titles[] = {
        {"load", false, 0}, {"model", true, 0}, {"measured", true, 0}};
    const unsigned n = p->measured.n > 0 ? 3 : 2;
    struct table *t = table_create(titles, n);
    struct xl__str text = {0};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        table_cell(t, "%s", figures[i].name);
        figures[i].cell(t, &p->model, &p->model_load);
        if (p->measured.n > 0)
            figures[i].cell(t, &p->measured, &p->measured_load);
    }
    fputc('\n', to);
    table_print(to, t, columns, colour);
    table_destroy(t);
    fputc('\n', to);
    xl__str_add(&text, "What is uneven: ");
    split_say_uneven(p, &text);
    text_wrap(to, xl__str_text(&text), INDENT, columns);
    xl__str_clear(&text);
}

/* -- when units worked ---------------------------------------------------- */

static void print_curves(FILE *to, const struct split_page *p)
{
    double model[CURVE_COLS], seen[CURVE_COLS];
    struct xl__str line = {0};
    const bool has_seen = p->measured.n > 0 &&
                          split_curve(&p->measured, seen, CURVE_COLS);
    if (!split_curve(&p->model, model, CURVE_COLS))
        return;
    fprintf(to, "\n  Units at work, from the launch's start to its end\n\n");
    for (unsigned row = 0; row < CURVE_ROWS; row++) {
        xl__str_printf(&line, "%s|",
                       row == 0 ? "  100% " : "       ");
        chart_line(&line, NULL, model, CURVE_COLS, row, CURVE_ROWS);
        xl__str_add(&line, "|");
        if (has_seen) {
            xl__str_add(&line, "  |");
            chart_line(&line, NULL, seen, CURVE_COLS, row, CURVE_ROWS);
            xl__str_add(&line, "|");
        }
        fprintf(to, "%s\n", xl__str_text(&line));
        xl__str_reset(&line);
    }
    if (has_seen)
        fprintf(to, "        %-*s%s\n", CURVE_COLS + 4, "model", "measured");
    else
        fprintf(to, "        model\n");
    xl__str_clear(&line);
}

static void print_units(FILE *to, const struct split_page *p)
{
    const struct split_record *r = split_shown(p);
    struct split_load load;
    double *busy = calloc(r->units, sizeof *busy);
    if (busy && r->has_clock && split_load_of(r, &load, busy)) {
        fprintf(to, "\n  Busy share of each unit, a letter each: blank 0%%, "
                    "'.' to 11%%, '@' to 100%%\n");
        for (unsigned i = 0; i < r->units; i++) {
            if (i % MAP_COLS == 0)
                fprintf(to, "\n%*s|", 2 * INDENT, "");
            fputc(chart_shade(busy[i]), to);
            if (i % MAP_COLS == MAP_COLS - 1 || i + 1 == r->units)
                fputc('|', to);
        }
        fputc('\n', to);
    }
    free(busy);
}

void split_text(FILE *to, const struct split_page *p, unsigned columns,
                bool colour)
{
    head(to, p, columns);
    print_tiles(to, p, columns);
    print_map(to, p, columns, colour);
    print_load(to, p, columns, colour);
    print_curves(to, p);
    print_units(to, p);
    split_text_saw(to, p, columns, colour);
    fputc('\n', to);
}
