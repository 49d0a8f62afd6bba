/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text. Cells are kept until it is printed, since a column is as
 * wide as its widest cell. A table that is too wide for the terminal has its
 * first column, if that may be cut (table_column.least), as lines:
 *
 *       variant           median
 *     1x14x14x16:32x3x3
 *       conv_cpu         28.7 us
 *       conv_direct      30.1 us
 *
 * While it is still too wide, the widest column that may be cut loses one
 * column. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/console.h"

struct cell {
    char *text; /* NULL: out of memory when it was made */
    enum table_colour colour;
};

enum { MAX_COLUMNS = 24, INDENT = 2, GAP = 2, NARROW_GAP = 1 };

struct table {
    struct table_column columns[MAX_COLUMNS];
    unsigned n_columns;
    struct cell *cells;
    size_t n_cells, cap;
};

static const char *const colour_codes[] = {"", "\033[32m", "\033[33m",
                                           "\033[31m"};
static const char colour_end[] = "\033[0m";

struct table *table_create(const struct table_column *columns, unsigned n)
{
    struct table *t = n <= MAX_COLUMNS ? xl__calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    memcpy(t->columns, columns, n * sizeof *columns);
    t->n_columns = n;
    return t;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t);
}

static void add_cell(struct table *t, enum table_colour colour, char *text)
{
    if (!t ||
        !xl__grow(&t->cells, &t->cap, t->n_cells + 1, sizeof *t->cells)) {
        free(text);
        return;
    }
    t->cells[t->n_cells++] = (struct cell){text, colour};
}

void table_cell(struct table *t, const char *fmt, ...)
{
    struct xl__str raw = {0}, clean = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&raw, fmt, args);
    va_end(args);
    text_escape(&clean, xl__str_text(&raw));
    xl__str_clear(&raw);
    add_cell(t, TABLE_PLAIN, xl__str_steal(&clean));
}

void table_cell_coloured(struct table *t, enum table_colour colour,
                         const char *text)
{
    struct xl__str clean = {0};
    text_escape(&clean, text);
    add_cell(t, colour, xl__str_steal(&clean));
}

static const char *text_of(const struct cell *c)
{
    return c->text ? c->text : "";
}

unsigned table_columns(const struct table *t,
                       const struct table_column **columns)
{
    *columns = t ? t->columns : NULL;
    return t ? t->n_columns : 0;
}

size_t table_lines(const struct table *t)
{
    return t ? (t->n_cells + t->n_columns - 1) / t->n_columns : 0;
}

const char *table_text(const struct table *t, size_t line, unsigned column)
{
    const size_t i = line * t->n_columns + column;
    return i < t->n_cells ? text_of(&t->cells[i]) : "";
}

static void swap_rows(struct table *t, size_t a, size_t b)
{
    for (unsigned j = 0; j < t->n_columns; j++) {
        const struct cell kept = t->cells[a * t->n_columns + j];
        t->cells[a * t->n_columns + j] = t->cells[b * t->n_columns + j];
        t->cells[b * t->n_columns + j] = kept;
    }
}

void table_sort_down(struct table *t, unsigned column)
{
    for (size_t i = 1; t && i < t->n_cells / t->n_columns; i++)
        for (size_t k = i; k > 0 && strcmp(table_text(t, k, column),
                                           table_text(t, k - 1, column)) > 0;
             k--)
            swap_rows(t, k, k - 1);
}

static size_t measure_column(const struct table *t, unsigned j)
{
    size_t width = text_columns(t->columns[j].title);
    for (size_t i = j; i < t->n_cells; i += t->n_columns)
        width = xl__max_size(width, text_columns(text_of(&t->cells[i])));
    return width;
}

struct printing {
    FILE *to;
    const struct table *t;
    size_t width, widths[MAX_COLUMNS]; /* of the terminal, of columns */
    bool colour;
    unsigned first;   /* 1: column 0 has lines of its own */
    size_t gap;       /* between columns */
    size_t n_pending; /* blanks, printed only if text follows */
};

/* Reduce the widths by `excess` columns in all. */
static void cut_columns(struct printing *p, size_t excess)
{
    for (; excess > 0; excess--) {
        size_t *widest = NULL;
        for (unsigned j = p->first; j < p->t->n_columns; j++) {
            const size_t least = p->t->columns[j].least;
            bool can_cut = least && p->widths[j] > least;
            if (can_cut && (!widest || p->widths[j] > *widest))
                widest = &p->widths[j];
        }
        if (!widest)
            return;
        --*widest;
    }
}

static void fit_columns(struct printing *p)
{
    const size_t n_gaps = p->t->n_columns - 1;
    size_t total = INDENT;
    for (unsigned j = 0; j < p->t->n_columns; j++) {
        p->widths[j] = measure_column(p->t, j);
        total += p->widths[j];
    }
    p->first =
        total + n_gaps * NARROW_GAP > p->width && p->t->columns[0].least;
    total -= p->first ? p->widths[0] : 0;
    p->gap = total + n_gaps * GAP > p->width ? NARROW_GAP : GAP;
    total += n_gaps * p->gap;
    cut_columns(p, total > p->width ? total - p->width : 0);
}

static void print_cell(struct printing *p, unsigned j, const char *text,
                       enum table_colour colour)
{
    struct xl__str cut = {0};
    text_cut(&cut, text, p->widths[j]);
    const char *shown = xl__str_text(&cut);
    size_t fill = p->widths[j] - text_columns(shown);
    bool right = p->t->columns[j].right;
    bool paint = p->colour && colour != TABLE_PLAIN;
    p->n_pending += (j > 0 ? p->gap : INDENT) + (right ? fill : 0);
    if (*shown) {
        fprintf(p->to, "%*s%s%s%s", (int)p->n_pending, "",
                paint ? colour_codes[colour] : "", shown,
                paint ? colour_end : "");
        p->n_pending = 0;
    }
    p->n_pending += right ? 0 : fill;
    if (j + 1 == p->t->n_columns) {
        fputc('\n', p->to);
        p->n_pending = 0;
    }
    xl__str_clear(&cut);
}

/* The line above row `i`, unless the row before has the same. */
static void print_heading(struct printing *p, size_t i)
{
    const char *text = table_text(p->t, i, 0);
    struct xl__str cut = {0};
    text_cut(&cut, text, p->width - INDENT);
    if (i == 0 || strcmp(text, table_text(p->t, i - 1, 0)) != 0)
        fprintf(p->to, "%*s%s\n", INDENT, "", xl__str_text(&cut));
    p->n_pending = INDENT;
    xl__str_clear(&cut);
}

static bool has_titles(const struct table *t)
{
    for (unsigned j = 0; j < t->n_columns; j++)
        if (*t->columns[j].title)
            return true;
    return false;
}

void table_print(FILE *to, const struct table *t, unsigned width, bool colour)
{
    struct printing p = {.to = to, .t = t, .width = width, .colour = colour};
    if (!t)
        return;
    fit_columns(&p);
    p.n_pending = p.first * INDENT;
    for (unsigned j = p.first; j < t->n_columns && has_titles(t); j++)
        print_cell(&p, j, t->columns[j].title, TABLE_PLAIN);
    for (size_t i = 0; i < t->n_cells; i++) {
        const unsigned j = (unsigned)(i % t->n_columns);
        if (j < p.first)
            print_heading(&p, i / t->n_columns);
        else
            print_cell(&p, j, text_of(&t->cells[i]), t->cells[i].colour);
    }
    if (t->n_cells % t->n_columns != 0)
        fputc('\n', to);
}
