/* SPDX-License-Identifier: Apache-2.0 */
/* Columns are sides: runs, devices of a run, other libraries in it, each over
 * the own rows of the first one. */
#include <math.h>
#include <stdio.h>

#include "compare_about.h"
#include "compare_text.h"
#include "text.h"
#include "units.h"

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
    char text[UNITS_CAP];
    snprintf(text, sizeof text, "%.3f", r->ratio);
    table_cell_coloured(t, is_gated ? TABLE_RED : compare_colour(r->call),
                        isnan(r->ratio) ? "-" : text);
    compare_interval(r, text, sizeof text);
    if (r->call == CALL_FEW_RUNS)
        table_cell(t, "few runs");
    else
        table_cell(t, "%s", isnan(r->ratio) ? "" : text);
}

static void print_line(struct table *t, const struct comparison *list,
                       size_t n, const struct pair *first)
{
    char time[UNITS_CAP];
    double value = 0;
    const char *unit = NULL;
    (void)result_figure(first->a, &value, &unit);
    units_format(time, sizeof time, value, unit);
    table_cell(t, "%s", first->label);
    table_cell(t, "%s", time);
    for (size_t e = 0; e < n; e++) {
        const struct pair *p = pair_of(&list[e], first->a);
        if (p)
            cells_of(t, &p->ratio, p->is_gated);
    }
}

/* Columns of n sides, `first` the number of the first. */
static void print_block(const struct comparison *list, size_t n, size_t first)
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
        print_line(t, list, n, &list[0].pairs[i]);
    table_cell(t, "geometric mean");
    table_cell_coloured(t, TABLE_PLAIN, "");
    for (size_t e = 0; e < n; e++)
        cells_of(t, &list[e].all.mean, false);
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
    printf("\n");
    table_destroy(t);
}

static void print_sides(const struct comparison *list, size_t n)
{
    struct xl__str text = {0};
    xl__str_add(&text, "a = ");
    compare_say_side(&list[0].a, &text);
    compare_print_words(xl__str_text(&text));
    for (size_t e = 0; e < n; e++) {
        xl__str_reset(&text);
        xl__str_printf(&text, "%c = ", letter(e));
        compare_say_side(&list[e].b, &text);
        xl__str_add(&text, ". ");
        if (!list[e].b.other) {
            compare_say_relation(&list[e], &text);
            xl__str_add(&text, " ");
            compare_say_noise(&list[e], &text);
        }
        compare_print_words(xl__str_text(&text));
    }
    compare_print_words("Times over a's: above 1, a is the faster; intervals "
                        "of a column hold together with 95 %.");
    printf("\n");
    xl__str_clear(&text);
}

void compare_print_table(const struct comparison *list, size_t n,
                         const struct gate *gate)
{
    enum { FIRST_COLUMNS = 32, EACH = 21 };
    struct xl__str text = {0};
    const size_t width = text_terminal_columns();
    size_t each = width > FIRST_COLUMNS + EACH
                      ? (width - FIRST_COLUMNS) / EACH
                      : 1;
    each = each < MOST_SHOWN ? each : MOST_SHOWN;
    print_sides(list, n);
    for (size_t first = 0; first < n; first += each)
        print_block(list + first, first + each < n ? each : n - first, first);
    for (size_t e = 0; e < n; e++) {
        xl__str_printf(&text, "%c: ", letter(e));
        compare_say_calls(list[e].all.n_call, &text);
        compare_print_words(xl__str_text(&text));
        xl__str_reset(&text);
    }
    gate_say(gate, &text);
    printf("%s", xl__str_text(&text));
    xl__str_clear(&text);
}
