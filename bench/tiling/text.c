/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report to a terminal: tiles and waves, a map of which unit ran
 * which tile, the load of the units, the curve of active units, and the
 * sawtooth; and composes the sentences that text and picture share. The map
 * has a letter for each unit; the colour of a cell shows when its tile began,
 * or, without colours, a second map does. */
#include "tiling/text.h"

#include <math.h>
#include <stdlib.h>

#include "charts/text_charts.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"
#include "tiling/measurement.h"
#include "tiling/tiles.h"

static void add_share_cell(struct table *t, double share)
{
    if (isnan(share))
        table_cell(t, "-");
    else
        table_cell(t, "%.1f%%", share * 1e2);
}

/* least differences that are reported */
static const double least_frac = 0.005, least_ratio = 0.1, least_tail = 0.05;

const struct tiling_record *tiling_shown_record(const struct tiling_report *p)
{
    return p->measured.n > 0 ? &p->measured : &p->model;
}

double tiling_best_rate(const struct tiling_report *p)
{
    double best = 0;
    for (size_t i = 0; i < p->n_rates; i++)
        best = fmax(best, p->rate[i].flop_per_s);
    return best;
}

void tiling_describe_source(const struct tiling_report *p, struct xl__str *out)
{
    char text[UNITS_CAP];
    if (p->measured.n == 0) {
        xl__str_printf(out,
                       "modelled: equal units, %u group%s at a time on each, "
                       "the next one starts when a slot is free",
                       p->concurrent, p->concurrent == 1 ? "" : "s");
        if (*p->why_not)
            xl__str_printf(out, "; not measured: %s", p->why_not);
        return;
    }
    units_time(text, sizeof text, p->watched.total_ns);
    xl__str_printf(out,
                   "measured on a stand-in of %s: the same number of groups, "
                   "work-items and local memory, equal time for each tile, "
                   "but its own registers. ",
                   text);
    xl__str_add(out,
                p->watched.is_thread
                    ? "A unit is a thread of the driver, identified by the "
                      "address of its local memory"
                    : "Units are identified by the number from the hardware");
    const double off = fabs(p->watched.scaling - 1);
    if (off > least_ratio)
        xl__str_printf(out,
                       "; twice its iterations take %.2f times as long, so "
                       "its times include other costs",
                       2 * p->watched.scaling);
    if (!p->watched.has_clock)
        xl__str_add(out, "; they have no common clock, so start times are "
                         "modelled");
}

void tiling_describe_waves(const struct tiling_report *p, struct xl__str *out)
{
    char fill[UNITS_CAP];
    const double slots = (double)p->units * p->concurrent;
    const double pieces = (double)tiling_n_pieces(&p->tiling);
    const struct tile_waves w = tile_waves(pieces, slots);
    units_percent(fill, sizeof fill, w.fill);
    xl__str_printf(out, "%.0f on %u units", w.waves, p->units);
    if (p->concurrent > 1)
        xl__str_printf(out, ", %u groups of the stand-in at a time on each",
                       p->concurrent);
    xl__str_printf(out, "; the last fills %.0f of %.0f slots; fill %s",
                   pieces - (w.waves - 1) * slots, slots, fill);
}

/* The longest piece of a record over their mean. */
static double longest_piece(const struct tiling_record *r)
{
    double most = 0, sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double ns = r->piece[i].end_ns - r->piece[i].start_ns;
        most = fmax(most, ns);
        sum += ns;
    }
    return sum > 0 ? most * (double)r->n / sum : 1;
}

void tiling_describe_imbalance(const struct tiling_report *p,
                               struct xl__str *out)
{
    char text[UNITS_CAP];
    const xl_tiling *t = &p->tiling;
    const struct tiling_load *measured = &p->measured_load,
                             *model = &p->model_load;
    const double fill = tile_waves((double)tiling_n_pieces(t),
                                   (double)p->units * p->concurrent)
                            .fill;
    const size_t start = out->len;
    const double waste = 1 - tiling_useful_area(t);
    units_percent(text, sizeof text, waste);
    if (waste > least_frac)
        xl__str_printf(out,
                       "edge tiles exceed the result (%s of the area of all "
                       "tiles)",
                       text);
    units_percent(text, sizeof text, 1 - fill);
    if (1 - fill > least_frac)
        xl__str_printf(out, "%sthe last wave leaves %s of the slots empty",
                       out->len > start ? "; " : "", text);
    if (t->sharers > 0)
        xl__str_printf(out, "%stiles split by k are shorter than whole ones",
                       out->len > start ? "; " : "");
    if (p->measured.n > 0 && measured->used < model->used)
        xl__str_printf(out, "%sonly %u unit%s used, the model uses %u",
                       out->len > start ? "; " : "", measured->used,
                       measured->used == 1 ? " was" : "s were", model->used);
    units_percent(text, sizeof text, measured->imbalance - 1);
    if (p->measured.n > 0 &&
        measured->imbalance > model->imbalance + least_ratio)
        xl__str_printf(out,
                       "%sthe busiest unit was active %s longer than the "
                       "mean, by the distribution of groups",
                       out->len > start ? "; " : "", text);
    units_percent(text, sizeof text, measured->tail);
    if (p->measured.n > 0 && measured->tail > model->tail + least_tail)
        xl__str_printf(out, "%sthe first unit ended %s before the last",
                       out->len > start ? "; " : "", text);
    const double longest = longest_piece(&p->model);
    if (t->sharers == 0 && longest > 1 + least_ratio) {
        units_percent(text, sizeof text, model->tail);
        xl__str_printf(out,
                       "%sthe longest group takes %.2f times the mean; in the "
                       "model the first unit ends %s before the last",
                       out->len > start ? "; " : "", longest, text);
    }
    if (out->len > start && *p->busy && p->measured.n > 0)
        xl__str_printf(out, "; the machine was %s, which may be the cause",
                       p->busy);
    if (out->len == start)
        xl__str_add(out, "none: equal tiles, all waves full");
}

/* -- sawtooth ------------------------------------------------------------- */

enum { ROWS = 10, COLS = 64 };

static const char *growing_sizes(const struct sawtooth *s)
{
    return s->grows_m && s->grows_n ? "m = n" : s->grows_m ? "m" : "n";
}

static double find_rate(const struct tiling_report *p, size_t size)
{
    for (size_t i = 0; i < p->n_rates; i++)
        if (p->rate[i].size == size)
            return p->rate[i].flop_per_s;
    return (double)NAN;
}

/* Adds a size of the sawtooth to the table. */
static void add_saw_row(struct table *t, const struct tiling_report *p,
                        const struct sawtooth_point *x)
{
    char rate[UNITS_CAP];
    table_cell(t, "%zu", x->size);
    table_cell(t, "%.0f", x->tiles);
    table_cell(t, "%.0f", x->waves);
    add_share_cell(t, x->fill);
    add_share_cell(t, x->area);
    add_share_cell(t, x->share);
    if (p->n_rates == 0)
        return;
    units_format(rate, sizeof rate, find_rate(p, x->size), "flop/s");
    table_cell(t, "%s", rate);
}

static int by_size(const void *a, const void *b)
{
    const struct sawtooth_point *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

/* Prints the size, the next one, the best size below and above, and the size
 * after each of these. */
static void print_saw_table(FILE *to, const struct tiling_report *p,
                            unsigned columns, bool colour)
{
    static const struct table_column titles[] = {
        {"size", true, 0}, {"tiles", true, 0},  {"waves", true, 0},
        {"fill", true, 0}, {"useful", true, 0}, {"of the rate", true, 0},
        {"measured", true, 0}};
    const struct sawtooth_point below = sawtooth_best(
        &p->saw, (struct sawtooth_range){p->range.from, p->size});
    const struct sawtooth_point above = sawtooth_best(
        &p->saw, (struct sawtooth_range){p->size, p->range.to});
    struct sawtooth_point row[] = {below,
                                   sawtooth_at(&p->saw, below.size + 1),
                                   sawtooth_at(&p->saw, p->size),
                                   sawtooth_at(&p->saw, p->size + 1),
                                   above,
                                   sawtooth_at(&p->saw, above.size + 1)};
    const size_t n = sizeof row / sizeof *row;
    const unsigned n_titles =
        sizeof titles / sizeof *titles - (p->n_rates == 0);
    struct table *t = table_create(titles, n_titles);
    qsort(row, n, sizeof *row, by_size);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || row[i].size != row[i - 1].size)
            add_saw_row(t, p, &row[i]);
    table_print(to, t, columns, colour);
    table_destroy(t);
}

/* Columns of a chart: least and largest value of each. */
struct chart_columns {
    double least[COLS], most[COLS];
};

static struct chart_columns model_columns(const struct tiling_report *p)
{
    struct chart_columns c;
    for (unsigned i = 0; i < COLS; i++) {
        const struct sawtooth_span s =
            sawtooth_span(&p->saw, p->range, i, COLS);
        c.least[i] = s.least;
        c.most[i] = s.most;
    }
    return c;
}

static unsigned size_column(const struct tiling_report *p, size_t size)
{
    return (unsigned)((size - p->range.from) * COLS /
                      (p->range.to - p->range.from + 1));
}

/* Measured rates as shares of the best one; a column without a size is
 * empty. */
static struct chart_columns measured_columns(const struct tiling_report *p)
{
    const double best = tiling_best_rate(p);
    struct chart_columns c;
    for (unsigned i = 0; i < COLS; i++) {
        c.least[i] = 1;
        c.most[i] = 0;
    }
    for (size_t i = 0; i < p->n_rates; i++) {
        const unsigned at = size_column(p, p->rate[i].size);
        const double share = p->rate[i].flop_per_s / best;
        c.least[at] = fmin(c.least[at], share);
        c.most[at] = fmax(c.most[at], share);
    }
    return c;
}

/* Prints a chart with a mark at the size of the launch. */
static void print_chart(FILE *to, const struct tiling_report *p,
                        const struct chart_columns *c)
{
    struct xl__str line = {0};
    fputc('\n', to);
    for (unsigned row = 0; row < ROWS; row++) {
        xl__str_reset(&line);
        xl__str_add(&line, row == 0          ? "  100% |"
                           : row == ROWS / 2 ? "   50% |"
                                             : "       |");
        chart_line(&line, c->least, c->most, COLS, row, ROWS);
        fprintf(to, "%s|\n", xl__str_text(&line));
    }
    fprintf(to, "        %*s^ %zu\n\n", (int)size_column(p, p->size), "",
            p->size);
    xl__str_clear(&line);
}

static void print_measured(FILE *to, const struct tiling_report *p,
                           unsigned columns)
{
    struct xl__str text = {0};
    char best[UNITS_CAP];
    if (p->n_rates == 0)
        return;
    const struct chart_columns c = measured_columns(p);
    units_format(best, sizeof best, tiling_best_rate(p), "flop/s");
    xl__str_printf(&text,
                   "Measured: %zu sizes, each with the library's own tile, of "
                   "the best rate among them, %s.",
                   p->n_rates, best);
    text_wrap(to, xl__str_text(&text), 2, columns);
    xl__str_clear(&text);
    print_chart(to, p, &c);
}

static void print_sawtooth(FILE *to, const struct tiling_report *p,
                           unsigned columns, bool colour)
{
    struct xl__str text = {0};
    if (p->size == 0)
        return;
    const struct chart_columns c = model_columns(p);
    xl__str_printf(&text,
                   "The sawtooth: fill times useful area by size, %s from %zu "
                   "to %zu, tiles of %zu x %zu, %.0f slots (modelled; the "
                   "library may choose another tile at another size).",
                   growing_sizes(&p->saw), p->range.from, p->range.to,
                   p->saw.rows, p->saw.cols, p->saw.slots);
    fputc('\n', to);
    text_wrap(to, xl__str_text(&text), 2, columns);
    xl__str_clear(&text);
    print_chart(to, p, &c);
    print_measured(to, p, columns);
    print_saw_table(to, p, columns, colour);
}

enum {
    INDENT = 2,
    MAP_ROWS = 16, /* lines */
    MAP_COLS = 64, /* letters */
    CURVE_ROWS = 6,
    CURVE_COLS = 32
};

/* Colours of the 256-colour palette from early to late starts. */
static const unsigned char warmth[] = {17, 18, 25, 31, 37, 72, 107,
                                       142, 178, 208, 202, 196};
enum { N_WARMTH = sizeof warmth };
enum { DARK_UNTIL = 4 }; /* white letters on these */

static char unit_letter(unsigned unit)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz";
    return letters[unit % (sizeof letters - 1)];
}

/* -- the tiling ----------------------------------------------------------- */

static void print_field(FILE *to, const char *name, const char *text,
                        unsigned columns)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%s: %s", name, text);
    text_wrap(to, xl__str_text(&line), INDENT, columns);
    xl__str_clear(&line);
}

static void print_heading(FILE *to, const struct tiling_report *p,
                          unsigned columns)
{
    struct xl__str line = {0}, cut = {0};
    xl__str_printf(&line, "Split of %s, %s", p->title, p->where);
    text_cut(&cut, xl__str_text(&line), columns);
    fprintf(to, "%s\n\n", xl__str_text(&cut));
    xl__str_clear(&line);
    xl__str_clear(&cut);
}

/* Prints tiles, groups, variant, waves and time. */
static void print_tiles(FILE *to, const struct tiling_report *p,
                        unsigned columns)
{
    const xl_tiling *t = &p->tiling;
    struct xl__str text = {0};
    char amount[UNITS_CAP];
    if (tiling_has_map(t)) {
        xl__str_printf(&text, "%zu x %zu of %zu x %zu", t->tiles_m, t->tiles_n,
                       t->rows, t->cols);
        if (t->count > 1)
            xl__str_printf(&text, " in each of %zu products", t->count);
        xl__str_printf(&text, ", %zu in all; ",
                       t->tiles_m * t->tiles_n * t->count);
        if (t->is_even)
            xl__str_add(&text, "all of equal size");
        else
            xl__str_printf(&text, "useful area %.1f%%",
                           tiling_useful_area(t) * 1e2);
        if (t->sharers > 0)
            xl__str_printf(
                &text, "; the last %zu are split by k over %zu groups",
                t->tiles_m * t->tiles_n * t->count - t->whole, t->sharers);
        print_field(to, "Tiles", xl__str_text(&text), columns);
        xl__str_reset(&text);
    }
    xl__str_printf(&text, "%zu", t->groups);
    if (t->wg_items > 0) {
        units_format(amount, sizeof amount, (double)t->local_mem_bytes, "B");
        xl__str_printf(&text, " of %zu item%s, %s of local memory each",
                       t->wg_items, t->wg_items == 1 ? "" : "s", amount);
    }
    if (t->groups < tiling_n_pieces(t))
        xl__str_printf(&text, "; group g does tiles g, g + %zu, ...",
                       t->groups);
    print_field(to, "Groups", xl__str_text(&text), columns);
    if (*p->variant)
        print_field(to, "Variant", p->variant, columns);
    xl__str_reset(&text);
    tiling_describe_waves(p, &text);
    print_field(to, "Waves", xl__str_text(&text), columns);
    if (!isnan(p->op_ns)) {
        units_time(amount, sizeof amount, p->op_ns);
        print_field(to, "Time", amount, columns);
    }
    xl__str_clear(&text);
}

/* -- map of units --------------------------------------------------------- */

/* Start of a piece as a fraction of the launch. */
static double start_frac(const struct tiling_record *r, size_t piece)
{
    return r->has_clock ? r->piece[piece].start_ns / r->total_ns
                        : (double)NAN;
}

/* Prints one line of the map of units. */
static void print_map_line(FILE *to, const struct tiling_report *p,
                           const struct tiling_grid *g, size_t row,
                           unsigned width, bool colour)
{
    const struct tiling_record *r = tiling_shown_record(p);
    fprintf(to, "%*s", 2 * INDENT - (int)width + 1, "");
    for (size_t col = 0; col < g->cols; col++) {
        const size_t piece = tiling_grid_piece(g, row, col);
        if (piece >= r->n)
            break;
        const double start = start_frac(r, piece);
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

/* Start of a piece in tenths of the launch. */
static unsigned start_tenth(const struct tiling_record *r, size_t piece)
{
    static const double tenths = 10, last = 9;
    return (unsigned)fmin(floor(start_frac(r, piece) * tenths), last);
}

static void print_start_line(FILE *to, const struct tiling_record *r,
                             const struct tiling_grid *g, size_t row,
                             unsigned width)
{
    fprintf(to, "%*s", 2 * INDENT - (int)width + 1, "");
    for (size_t col = 0; col < g->cols; col++) {
        const size_t piece = tiling_grid_piece(g, row, col);
        if (piece < r->n)
            fprintf(to, "%*u", (int)width, start_tenth(r, piece));
    }
    fputc('\n', to);
}

/* True if all pieces start at about the same time: a map of starts shows
 * nothing. */
static bool is_one_start(const struct tiling_record *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (start_tenth(r, i) > 0)
            return false;
    return true;
}

static void describe_map(const struct tiling_report *p,
                         const struct tiling_grid *g, bool colour,
                         struct xl__str *out)
{
    const char *what = g->is_map ? "tile" : "group";
    xl__str_printf(out, "Which unit ran which %s (", what);
    tiling_describe_source(p, out);
    xl__str_add(out, ").");
    if (g->tiles_m > g->rows || g->tiles_n > g->cols)
        xl__str_printf(out, " One %s of each %.3g x %.3g is shown.", what,
                       (double)g->tiles_m / (double)g->rows,
                       (double)g->tiles_n / (double)g->cols);
    if (p->tiling.count > 1 && g->is_map)
        xl__str_add(out, " Of the first product.");
    if (!g->is_map)
        xl__str_add(out, " Groups are in order of their number.");
    if (tiling_shown_record(p)->units > 62)
        xl__str_add(out, " Letters repeat after 62 units.");
    if (colour && tiling_shown_record(p)->has_clock)
        xl__str_add(out, " Colour: when it began, from dark to red.");
}

static void print_map(FILE *to, const struct tiling_report *p,
                      unsigned columns, bool colour)
{
    const struct tiling_record *r = tiling_shown_record(p);
    const struct tiling_grid g = tiling_grid(&p->tiling, MAP_ROWS, MAP_COLS);
    const unsigned width = g.cols * 2 <= MAP_COLS ? 2 : 1;
    struct xl__str text = {0};
    describe_map(p, &g, colour, &text);
    fputc('\n', to);
    text_wrap(to, xl__str_text(&text), INDENT, columns);
    fputc('\n', to);
    xl__str_clear(&text);
    for (size_t row = 0; row < g.rows; row++)
        print_map_line(to, p, &g, row, width, colour);
    if (colour || !r->has_clock || is_one_start(r))
        return;
    fprintf(to, "\n  When each began, in tenths of the launch\n\n");
    for (size_t row = 0; row < g.rows; row++)
        print_start_line(to, r, &g, row, width);
}

/* -- load of the units ---------------------------------------------------- */

/* A row of the load table. */
struct load_row {
    const char *name;
    void (*cell)(struct table *t, const struct tiling_record *r,
                 const struct tiling_load *l);
};

static void cell_used(struct table *t, const struct tiling_record *r,
                      const struct tiling_load *l)
{
    table_cell(t, "%u of %u", l->used, r->units);
}
static void cell_pieces(struct table *t, const struct tiling_record *r,
                        const struct tiling_load *l)
{
    (void)r;
    if (l->least == l->most)
        table_cell(t, "%u", l->least);
    else
        table_cell(t, "%u to %u", l->least, l->most);
}
static void cell_beside(struct table *t, const struct tiling_record *r,
                        const struct tiling_load *l)
{
    if (r->has_clock)
        table_cell(t, "%u", l->concurrent);
    else
        table_cell(t, "-");
}
static void cell_busy(struct table *t, const struct tiling_record *r,
                      const struct tiling_load *l)
{
    (void)r;
    add_share_cell(t, l->busy);
}
static void cell_busy_used(struct table *t, const struct tiling_record *r,
                           const struct tiling_load *l)
{
    if (r->has_clock)
        table_cell(t, "%.1f%% to %.1f%%", l->busy_least * 1e2,
                   l->busy_most * 1e2);
    else
        table_cell(t, "-");
}
static void cell_tail(struct table *t, const struct tiling_record *r,
                      const struct tiling_load *l)
{
    (void)r;
    add_share_cell(t, l->tail);
}
static void cell_imbalance(struct table *t, const struct tiling_record *r,
                           const struct tiling_load *l)
{
    if (r->has_clock)
        table_cell(t, "%.2f", l->imbalance);
    else
        table_cell(t, "-");
}

static const struct load_row load_rows[] = {
    {"units used", cell_used},
    {"tiles of a used unit", cell_pieces},
    {"concurrent, at most", cell_beside},
    {"busy, mean of all units", cell_busy},
    {"busy, used units", cell_busy_used},
    {"tail: first done to end", cell_tail},
    {"busiest over mean", cell_imbalance},
};

/* Prints the load of model and measurement side by side. */
static void print_load(FILE *to, const struct tiling_report *p,
                       unsigned columns, bool colour)
{
    static const struct table_column titles[] = {
        {"load", false, 0}, {"model", true, 0}, {"measured", true, 0}};
    const unsigned n = p->measured.n > 0 ? 3 : 2;
    struct table *t = table_create(titles, n);
    struct xl__str text = {0};
    for (size_t i = 0; i < sizeof load_rows / sizeof *load_rows; i++) {
        table_cell(t, "%s", load_rows[i].name);
        load_rows[i].cell(t, &p->model, &p->model_load);
        if (p->measured.n > 0)
            load_rows[i].cell(t, &p->measured, &p->measured_load);
    }
    fputc('\n', to);
    table_print(to, t, columns, colour);
    table_destroy(t);
    fputc('\n', to);
    xl__str_add(&text, "Imbalance: ");
    tiling_describe_imbalance(p, &text);
    text_wrap(to, xl__str_text(&text), INDENT, columns);
    xl__str_clear(&text);
}

/* -- activity over time --------------------------------------------------- */

/* Prints the curves of active units of model and measurement. */
static void print_curves(FILE *to, const struct tiling_report *p)
{
    double model[CURVE_COLS], measured[CURVE_COLS];
    struct xl__str line = {0};
    const bool has_measured =
        p->measured.n > 0 &&
        tiling_busy_curve(&p->measured, measured, CURVE_COLS);
    if (!tiling_busy_curve(&p->model, model, CURVE_COLS))
        return;
    fprintf(to,
            "\n  Active units, from the start of the launch to its end\n\n");
    for (unsigned row = 0; row < CURVE_ROWS; row++) {
        xl__str_printf(&line, "%s|",
                       row == 0 ? "  100% " : "       ");
        chart_line(&line, NULL, model, CURVE_COLS, row, CURVE_ROWS);
        xl__str_add(&line, "|");
        if (has_measured) {
            xl__str_add(&line, "  |");
            chart_line(&line, NULL, measured, CURVE_COLS, row, CURVE_ROWS);
            xl__str_add(&line, "|");
        }
        fprintf(to, "%s\n", xl__str_text(&line));
        xl__str_reset(&line);
    }
    if (has_measured)
        fprintf(to, "        %-*s%s\n", CURVE_COLS + 4, "model", "measured");
    else
        fprintf(to, "        model\n");
    xl__str_clear(&line);
}

/* Prints the busy share of each unit as a character. */
static void print_units(FILE *to, const struct tiling_report *p)
{
    const struct tiling_record *r = tiling_shown_record(p);
    struct tiling_load load;
    double *busy = calloc(r->units, sizeof *busy);
    if (busy && r->has_clock && tiling_load_of(r, &load, busy)) {
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

void tiling_print(FILE *to, const struct tiling_report *p, unsigned columns,
                  bool colour)
{
    print_heading(to, p, columns);
    print_tiles(to, p, columns);
    print_map(to, p, columns, colour);
    print_load(to, p, columns, colour);
    print_curves(to, p);
    print_units(to, p);
    print_sawtooth(to, p, columns, colour);
    fputc('\n', to);
}
