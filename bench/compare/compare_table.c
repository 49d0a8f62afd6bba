/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are sides: runs, devices of a run, other libraries in it, each over
 * the own rows of the first one. */
#include <math.h>
#include <stdio.h>

#include "compare/differences.h"
#include "compare/tables.h"
#include "cli/units.h"

enum { MOST_SHOWN = 8 };

static char letter(size_t i)
{
    return (char)('b' + (int)i);
}

/* The pair of a row of a; all comparisons have the same rows of a. */
static const struct pair *pair_of(const struct comparison *c,
                                  const struct result_row *a)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pairs[i].a == a)
            return &c->pairs[i];
    return NULL;
}

static void cells_of(struct table *t, const struct ratio *r, bool is_gated)
{
    char text[RATIO_CAP];
    compare_ratio(r, text, sizeof text);
    table_cell_coloured(t, compare_colour(r->call, is_gated), text);
    compare_interval(r, text, sizeof text);
    if (r->call == CALL_FEW_RUNS)
        table_cell(t, "few runs");
    else
        table_cell(t, "%s", isnan(r->ratio) ? "" : text);
}

static void add_line(struct table *t, const struct comparison *list, size_t n,
                     const struct pair *first)
{
    char text[UNITS_CAP];
    double value = 0;
    const char *unit = NULL;
    (void)result_figure(first->a, &value, &unit);
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", first->label);
    table_cell(t, "%s", text);
    for (size_t e = 0; e < n; e++) {
        const struct pair *p = pair_of(&list[e], first->a);
        if (p)
            cells_of(t, &p->ratio, p->is_gated);
    }
}

/* Columns of n sides, `first` the number of the first. */
static void show_block(const struct comparison *list, size_t n, size_t first,
                       const struct display *to)
{
    struct table_column columns[2 + 2 * MOST_SHOWN] = {{"case", false, 12},
                                                       {"a", true, 0}};
    char title[MOST_SHOWN][8];
    unsigned n_columns = 2;
    for (size_t e = 0; e < n; e++) {
        snprintf(title[e], sizeof title[e], "%c/a", letter(first + e));
        columns[n_columns++] = (struct table_column){title[e], true, 0};
        columns[n_columns++] = (struct table_column){"interval", false, 0};
    }
    struct table *t = table_create(columns, n_columns);
    for (size_t i = 0; i < list[0].n; i++)
        add_line(t, list, n, &list[0].pairs[i]);
    table_cell(t, "geometric mean");
    table_cell_coloured(t, TABLE_PLAIN, "");
    for (size_t e = 0; e < n; e++)
        cells_of(t, &list[e].all.mean, false);
    to->table(to->arg, t);
    to->gap(to->arg);
    table_destroy(t);
}

static void show_sides(const struct sides *s, const struct display *to)
{
    struct xl__str text = {0};
    compare_show_side('a', &s->list[0].a, to);
    for (size_t e = 0; e < s->n; e++) {
        compare_show_side(letter(e), &s->list[e].b, to);
        if (s->list[e].b.other)
            continue;
        xl__str_reset(&text);
        compare_say_relation(&s->list[e], &text);
        xl__str_add(&text, " ");
        compare_say_noise(&s->list[e], &text);
        to->text(to->arg, xl__str_text(&text));
    }
    to->text(to->arg, "Times over a's: above 1, a is the faster. The "
                      "intervals of a column hold together with 95 %.");
    to->gap(to->arg);
    xl__str_clear(&text);
}

void compare_show_table(const struct sides *s, const struct display *to)
{
    enum { FIRST_COLUMNS = 32, EACH = 21 };
    struct xl__str text = {0};
    size_t each = to->width > FIRST_COLUMNS + EACH
                      ? (to->width - FIRST_COLUMNS) / EACH
                      : 1;
    each = to->width == 0 || each > MOST_SHOWN ? MOST_SHOWN : each;
    show_sides(s, to);
    for (size_t first = 0; first < s->n; first += each)
        show_block(s->list + first,
                   first + each < s->n ? each : s->n - first, first, to);
    for (size_t e = 0; e < s->n; e++) {
        xl__str_reset(&text);
        xl__str_printf(&text, "%c: ", letter(e));
        compare_say_calls(&s->list[e], &text);
        to->text(to->arg, xl__str_text(&text));
    }
    xl__str_clear(&text);
}
