/* SPDX-License-Identifier: Apache-2.0 */
/* Charts in letters: a roofline, and the lines of a chart of shares. */
#include "charts/text_charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"

enum { ROWS = 19, MOST_COLUMNS = 100, AXIS = 12, LEAST_COLUMNS = 40 };

/* A plot of letters, the first row at the top. */
struct letter_plot {
    struct roof_frame at;
    unsigned columns;
    char cell[ROWS][MOST_COLUMNS];
};

static double column_to_x(const struct letter_plot *p, unsigned column)
{
    return p->at.x0 + (p->at.x1 - p->at.x0) * (column + 0.5) / p->columns;
}

/* The row of a y, from the top; outside of 0..ROWS-1: not in the plot. */
static int find_row(const struct letter_plot *p, double y)
{
    return (int)floor((p->at.y1 - y) / (p->at.y1 - p->at.y0) * ROWS);
}

static int find_column(const struct letter_plot *p, double x)
{
    return (int)floor((x - p->at.x0) / (p->at.x1 - p->at.x0) * p->columns);
}

static void put_letter(struct letter_plot *p, int row, int column, char letter)
{
    if (row >= 0 && row < ROWS && column >= 0 && column < (int)p->columns)
        p->cell[row][column] = letter;
}

/* Writes over lines, never over a kernel or another name; false where it does
 * not fit. */
static bool put_text(struct letter_plot *p, int row, int column,
                     const char *text)
{
    const int len = (int)strlen(text);
    if (row < 0 || row >= ROWS || column < 0 || column + len > (int)p->columns)
        return false;
    for (int i = 0; i < len; i++)
        if (!strchr(" -=/.", p->cell[row][column + i]))
            return false;
    memcpy(&p->cell[row][column], text, (size_t)len);
    return true;
}

/* -- the range ------------------------------------------------------------ */

double roof_best(const struct roof_picture *p, bool is_memory)
{
    double most = 0;
    for (unsigned i = 0; i < p->n_lines; i++)
        if (p->lines[i].is_memory == is_memory)
            most = fmax(most, p->lines[i].rate);
    return most;
}

double roof_least(const struct roof_picture *p, bool is_memory)
{
    double least = INFINITY;
    for (unsigned i = 0; i < p->n_lines; i++)
        if (p->lines[i].is_memory == is_memory)
            least = fmin(least, p->lines[i].rate);
    return least;
}

struct roof_frame roof_frame(const struct roof_picture *p)
{
    static const double margin = 1;
    struct roof_frame f;
    double first = roof_least(p, false) / roof_best(p, true);
    double last = roof_best(p, false) / roof_least(p, true);
    double low = INFINITY;
    for (unsigned i = 0; i < p->n_marks; i++) {
        first = fmin(first, p->marks[i].intensity);
        last = fmax(last, p->marks[i].intensity);
        low = fmin(low, p->marks[i].rate);
    }
    f.x0 = floor(log2(first)) - margin;
    f.x1 = ceil(log2(last)) + margin;
    low = fmin(low, roof_least(p, true) * exp2(f.x0));
    f.y0 = log2(low) - margin / 2;
    f.y1 = log2(roof_best(p, false)) + margin;
    return f;
}

/* -- ceilings ------------------------------------------------------------- */

/* The slowest memory is the roof itself; caches are dotted. */
static void draw_memory(struct letter_plot *p,
                        const struct roof_picture *picture,
                        const struct roof_line *line)
{
    const double peak = log2(roof_best(picture, false));
    const char letter = line->rate > roof_least(picture, true) ? '.' : '/';
    for (unsigned c = 0; c < p->columns; c++) {
        const double y = column_to_x(p, c) + log2(line->rate);
        if (y <= peak)
            put_letter(p, find_row(p, y), (int)c, letter);
    }
}

static void draw_peak(struct letter_plot *p,
                      const struct roof_picture *picture,
                      const struct roof_line *line)
{
    const double y = log2(line->rate), memory = log2(roof_best(picture, true));
    const char letter = line->rate < roof_best(picture, false) ? '-' : '=';
    for (unsigned c = 0; c < p->columns; c++)
        if (column_to_x(p, c) >= y - memory)
            put_letter(p, find_row(p, y), (int)c, letter);
}

/* The name of a peak is at the end of its line, that of a bandwidth beside its
 * line, as low as there is room. */
static void name_line(struct letter_plot *p, const struct roof_line *line)
{
    const double y = log2(line->rate);
    char text[MOST_COLUMNS];
    if (!line->is_memory) {
        const int len = snprintf(text, sizeof text, " %s", line->name);
        (void)put_text(p, find_row(p, y), (int)p->columns - len, text);
        return;
    }
    for (int row = ROWS - 1; row >= 0; row--) {
        const double at =
            p->at.y1 - (p->at.y1 - p->at.y0) * (row + 0.5) / ROWS - y;
        const int column = find_column(p, at) + 2;
        if (column >= 2 && put_text(p, row, column, line->name))
            return;
    }
}

/* -- text ----------------------------------------------------------------- */

static void add_row(struct xl__str *out, const struct letter_plot *p, int row)
{
    enum { EVERY = 3 };
    char label[UNITS_CAP] = "", line[MOST_COLUMNS + 1];
    const double y = p->at.y1 - (p->at.y1 - p->at.y0) * (row + 0.5) / ROWS;
    if (row % EVERY == 0)
        units_format(label, sizeof label, exp2(y), "flop/s");
    memcpy(line, p->cell[row], p->columns);
    unsigned end = p->columns;
    while (end > 0 && line[end - 1] == ' ')
        end--;
    line[end] = '\0';
    xl__str_printf(out, "%*s |%s\n", AXIS, label, line);
}

/* Powers of 4 below the axis. */
static void add_axis(struct xl__str *out, const struct letter_plot *p)
{
    enum { STEP = 2 };
    char line[MOST_COLUMNS + 1], ticks[MOST_COLUMNS + 1];
    memset(ticks, '-', p->columns);
    memset(line, ' ', p->columns);
    line[p->columns] = ticks[p->columns] = '\0';
    for (int power = (int)p->at.x0 + 1; power < p->at.x1; power += STEP) {
        char text[UNITS_CAP];
        const int at = find_column(p, power);
        units_number(text, sizeof text, exp2(power));
        const int len = (int)strlen(text);
        if (at < 0 || at + len > (int)p->columns)
            continue;
        ticks[at] = '+';
        memcpy(&line[at], text, (size_t)len);
    }
    xl__str_printf(out, "%*s +%s\n", AXIS, "", ticks);
    unsigned end = p->columns;
    while (end > 0 && line[end - 1] == ' ')
        end--;
    line[end] = '\0';
    xl__str_printf(out, "%*s  %s\n", AXIS, "flop/B", line);
}

void roof_draw(struct xl__str *out, const struct roof_picture *picture,
               unsigned columns)
{
    struct letter_plot p;
    if (!(roof_best(picture, true) > 0) || !(roof_best(picture, false) > 0))
        return;
    columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
    p.columns = columns - AXIS - 2;
    p.columns = p.columns > MOST_COLUMNS ? MOST_COLUMNS : p.columns;
    memset(p.cell, ' ', sizeof p.cell);
    p.at = roof_frame(picture);
    for (unsigned i = 0; i < picture->n_lines; i++)
        if (picture->lines[i].is_memory)
            draw_memory(&p, picture, &picture->lines[i]);
    for (unsigned i = 0; i < picture->n_lines; i++)
        if (!picture->lines[i].is_memory)
            draw_peak(&p, picture, &picture->lines[i]);
    for (unsigned i = 0; i < picture->n_marks; i++) {
        const struct roof_mark *m = &picture->marks[i];
        put_letter(&p, find_row(&p, log2(m->rate)),
                   find_column(&p, log2(m->intensity)), m->letter);
    }
    for (unsigned i = 0; i < picture->n_lines; i++)
        name_line(&p, &picture->lines[i]);
    for (int row = 0; row < ROWS; row++)
        add_row(out, &p, row);
    add_axis(out, &p);
}

/* -- shares --------------------------------------------------------------- */

void chart_line(struct xl__str *out, const double *least, const double *most,
                unsigned columns, unsigned row, unsigned rows)
{
    /* A line covers the shares around its middle. */
    const double low = (double)(rows - 1 - row) / rows;
    const double high = (double)(rows - row) / rows;
    for (unsigned i = 0; i < columns; i++) {
        const double from = least ? least[i] : 0;
        const bool is_in = most[i] > low && (from < high || row == 0);
        xl__str_add(out, is_in ? "#" : " ");
    }
}

char chart_shade(double share)
{
    static const char shades[] = " .:-=+*#%@";
    enum { N = sizeof shades - 1 };
    const double at = ceil(fmin(fmax(share, 0), 1) * (N - 1));
    return shades[(unsigned)at];
}
