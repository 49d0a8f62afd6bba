/* SPDX-License-Identifier: Apache-2.0 */
/* The sawtooth for a terminal: the modelled teeth, the measured ones where a
 * sweep was timed, and the sizes that matter. */
#include <math.h>
#include <stdlib.h>

#include "charts/text_charts.h"
#include "tiling/text.h"
#include "cli/console.h"
#include "cli/units.h"

enum { ROWS = 10, COLS = 64 };

static const char *growing(const struct sawtooth *s)
{
    return s->grows_m && s->grows_n ? "m = n" : s->grows_m ? "m" : "n";
}

static double rate_at(const struct split_page *p, size_t size)
{
    for (size_t i = 0; i < p->n_rates; i++)
        if (p->rate[i].size == size)
            return p->rate[i].flop_per_s;
    return (double)NAN;
}

static void saw_row(struct table *t, const struct split_page *p,
                    const struct sawtooth_point *x)
{
    char rate[UNITS_CAP];
    table_cell(t, "%zu", x->size);
    table_cell(t, "%.0f", x->tiles);
    table_cell(t, "%.0f", x->waves);
    split_cell_share(t, x->fill);
    split_cell_share(t, x->area);
    split_cell_share(t, x->share);
    if (p->n_rates == 0)
        return;
    units_format(rate, sizeof rate, rate_at(p, x->size), "flop/s");
    table_cell(t, "%s", rate);
}

static int by_size(const void *a, const void *b)
{
    const struct sawtooth_point *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

/* The size, the one behind it, the best below and above, and where each of
 * these falls. */
static void print_saw_table(FILE *to, const struct split_page *p,
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
            saw_row(t, p, &row[i]);
    table_print(to, t, columns, colour);
    table_destroy(t);
}

/* Columns of a chart, the least and the most of each. */
struct columns {
    double least[COLS], most[COLS];
};

static struct columns modelled(const struct split_page *p)
{
    struct columns c;
    for (unsigned i = 0; i < COLS; i++) {
        const struct sawtooth_span s =
            sawtooth_span(&p->saw, p->range, i, COLS);
        c.least[i] = s.least;
        c.most[i] = s.most;
    }
    return c;
}

static unsigned column_of(const struct split_page *p, size_t size)
{
    return (unsigned)((size - p->range.from) * COLS /
                      (p->range.to - p->range.from + 1));
}

/* Shares of the best rate; a column without a size is empty. */
static struct columns measured(const struct split_page *p)
{
    const double best = split_best_rate(p);
    struct columns c;
    for (unsigned i = 0; i < COLS; i++) {
        c.least[i] = 1;
        c.most[i] = 0;
    }
    for (size_t i = 0; i < p->n_rates; i++) {
        const unsigned at = column_of(p, p->rate[i].size);
        const double share = p->rate[i].flop_per_s / best;
        c.least[at] = fmin(c.least[at], share);
        c.most[at] = fmax(c.most[at], share);
    }
    return c;
}

static void print_chart(FILE *to, const struct split_page *p,
                        const struct columns *c)
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
    fprintf(to, "        %*s^ %zu\n\n", (int)column_of(p, p->size), "",
            p->size);
    xl__str_clear(&line);
}

static void print_measured(FILE *to, const struct split_page *p,
                           unsigned columns)
{
    struct xl__str text = {0};
    char best[UNITS_CAP];
    if (p->n_rates == 0)
        return;
    const struct columns c = measured(p);
    units_format(best, sizeof best, split_best_rate(p), "flop/s");
    xl__str_printf(&text,
                   "Measured: %zu sizes, each with the library's own tile, of "
                   "the best rate among them, %s.",
                   p->n_rates, best);
    text_wrap(to, xl__str_text(&text), 2, columns);
    xl__str_clear(&text);
    print_chart(to, p, &c);
}

void split_text_saw(FILE *to, const struct split_page *p, unsigned columns,
                    bool colour)
{
    struct xl__str text = {0};
    if (p->size == 0)
        return;
    const struct columns c = modelled(p);
    xl__str_printf(&text,
                   "The sawtooth: fill times useful area by size, %s from %zu "
                   "to %zu, tiles of %zu x %zu, %.0f places (modelled; the "
                   "library may choose another tile at another size).",
                   growing(&p->saw), p->range.from, p->range.to, p->saw.rows,
                   p->saw.cols, p->saw.places);
    fputc('\n', to);
    text_wrap(to, xl__str_text(&text), 2, columns);
    xl__str_clear(&text);
    print_chart(to, p, &c);
    print_measured(to, p, columns);
    print_saw_table(to, p, columns, colour);
}
