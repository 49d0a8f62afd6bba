/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text. Cells are kept until it is printed, since a column is as
 * wide as its widest cell. While the table is too wide for the terminal, its
 * widest column that may be cut (table_column.least) loses one column. */
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

static size_t measure_columns(const struct table *t, size_t *widths)
{
    size_t total = INDENT;
    for (unsigned j = 0; j < t->n_columns; j++) {
        widths[j] = text_columns(t->columns[j].title);
        for (size_t i = j; i < t->n_cells; i += t->n_columns)
            widths[j] =
                xl__max_size(widths[j], text_columns(text_of(&t->cells[i])));
        total += widths[j];
    }
    return total;
}

/* Reduce the widths by `excess` columns in all. */
static void cut_columns(const struct table *t, size_t *widths, size_t excess)
{
    for (; excess > 0; excess--) {
        size_t *widest = NULL;
        for (unsigned j = 0; j < t->n_columns; j++) {
            bool can_cut =
                t->columns[j].least && widths[j] > t->columns[j].least;
            if (can_cut && (!widest || widths[j] > *widest))
                widest = &widths[j];
        }
        if (!widest)
            return;
        --*widest;
    }
}

struct printing {
    FILE *to;
    const struct table *t;
    const size_t *widths;
    bool colour;
    size_t gap;  /* between columns */
    size_t n_pending; /* blanks, printed only if text follows */
};

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

static bool has_titles(const struct table *t)
{
    for (unsigned j = 0; j < t->n_columns; j++)
        if (*t->columns[j].title)
            return true;
    return false;
}

void table_print(FILE *to, const struct table *t, unsigned width, bool colour)
{
    size_t widths[MAX_COLUMNS] = {0};
    if (!t)
        return;
    size_t n_gaps = t->n_columns - 1, total = measure_columns(t, widths);
    size_t gap = total + n_gaps * GAP > width ? NARROW_GAP : GAP;
    total += n_gaps * gap;
    cut_columns(t, widths, total > width ? total - width : 0);
    struct printing p = {to, t, widths, colour, gap, 0};
    for (unsigned j = 0; j < t->n_columns && has_titles(t); j++)
        print_cell(&p, j, t->columns[j].title, TABLE_PLAIN);
    for (size_t i = 0; i < t->n_cells; i++)
        print_cell(&p, (unsigned)(i % t->n_columns), text_of(&t->cells[i]),
                   t->cells[i].colour);
    if (t->n_cells % t->n_columns != 0)
        fputc('\n', to);
}
