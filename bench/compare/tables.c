/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"
#include "compare/differences.h"
#include "results/json.h"

/* -- words ---------------------------------------------------------------- */

/* So many digits behind the point, but three in all of what is large. */
static void number(double value, int digits, char *out, size_t cap)
{
    static const double large = 10;
    if (value < large)
        snprintf(out, cap, "%.*f", digits, value);
    else
        units_number(out, cap, value);
}

void compare_ratio(const struct ratio *r, char *out, size_t cap)
{
    if (isnan(r->ratio))
        snprintf(out, cap, "-");
    else
        number(r->ratio, 3, out, cap);
}

void compare_interval(const struct ratio *r, char *out, size_t cap)
{
    static const double wide = 0.1; /* two digits say enough */
    char lo[UNITS_CAP], hi[UNITS_CAP];
    const int digits = r->hi - r->lo > wide ? 2 : 3;
    number(r->lo, digits, lo, sizeof lo);
    number(r->hi, digits, hi, sizeof hi);
    if (isnan(r->lo))
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%s..%s", lo, hi);
}

void compare_call(enum call call, bool is_gated, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s", call_name(call), is_gated ? ", gate" : "");
}

static enum table_colour compare_colour(enum call call, bool is_gated)
{
    return is_gated || call == CALL_SLOWER ? TABLE_RED
           : call == CALL_FASTER           ? TABLE_GREEN
                                           : TABLE_PLAIN;
}

static bool compare_is_shown(const struct pair *p)
{
    return p->ratio.call != CALL_UNTIMED || result_is_timed(p->a) ||
           result_is_timed(p->b);
}

static void cell_call(struct table *t, enum call call, bool is_gated)
{
    char text[64];
    compare_call(call, is_gated, text, sizeof text);
    table_cell_coloured(t, compare_colour(call, is_gated), text);
}

static void cells_of_ratio(struct table *t, const struct ratio *r)
{
    char text[RATIO_CAP];
    compare_ratio(r, text, sizeof text);
    table_cell(t, "%s", text);
    compare_interval(r, text, sizeof text);
    table_cell(t, "%s", text);
}

/* -- rows ----------------------------------------------------------------- */

static void cell_value(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

/* What b took follows from a and the ratio: a narrow terminal goes without. */
static void show_rows(const struct comparison *c, const struct display *to)
{
    enum { WIDE = 96 };
    static const struct table_column wide[] = {
        {"row", false, 16}, {"a", true, 0},        {"b", true, 0},
        {"b/a", true, 0},   {"interval", true, 0}, {"", false, 0},
    };
    static const struct table_column narrow[] = {
        {"row", false, 16},    {"a", true, 0}, {"b/a", true, 0},
        {"interval", true, 0}, {"", false, 0},
    };
    const bool is_wide = to->width == 0 || to->width >= WIDE;
    struct table *t =
        is_wide ? table_create(wide, sizeof wide / sizeof *wide)
                : table_create(narrow, sizeof narrow / sizeof *narrow);
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        if (!compare_is_shown(p))
            continue;
        table_cell(t, "%s", p->label);
        cell_value(t, p->a_value, p->unit);
        if (is_wide)
            cell_value(t, p->b_value, p->unit);
        cells_of_ratio(t, &p->ratio);
        cell_call(t, p->ratio.call, p->is_gated);
    }
    to->table(to->arg, t);
    table_destroy(t);
}

/* -- ops ------------------------------------------------------------------ */

static void cells_of_op(struct table *t, const char *name,
                        const struct op_mean *op)
{
    table_cell(t, "%s", name);
    for (enum call k = 0; call_has_interval(k); k++)
        table_cell(t, "%zu", op->n_call[k]);
    cells_of_ratio(t, &op->mean);
    cell_call(t, op->mean.call, op->is_gated);
}

static void show_ops(const struct comparison *c, const struct display *to)
{
    static const struct table_column columns[] = {
        {"op", false, 12},     {"slower", true, 0},   {"faster", true, 0},
        {"unclear", true, 0},  {"same", true, 0},     {"mean b/a", true, 0},
        {"interval", true, 0}, {"", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < c->n_ops; i++)
        if (!isnan(c->ops[i].mean.ratio))
            cells_of_op(t, c->ops[i].op, &c->ops[i]);
    if (c->n_compared > 0)
        cells_of_op(t, "all", &c->all);
    to->table(to->arg, t);
    table_destroy(t);
}

/* -- changes -------------------------------------------------------------- */

static void say_measure(const struct result_row *row, struct xl__str *out)
{
    xl__str_printf(out, "unit %s by the %s clock",
                   json_text_at(row->json, "unit"),
                   json_text_at(row->json, "clock"));
}

static void say_change(const struct pair *p, struct xl__str *out)
{
    if (!p->a || !p->b)
        return;
    if (pair_is_rejected(p))
        xl__str_printf(out, "%s: was %s, is %s: %s\n", p->label,
                       p->a->verdict, p->b->verdict,
                       json_text_at(p->b->json, "reason"));
    else if (result_is_timed(p->a) != result_is_timed(p->b))
        xl__str_printf(out, "%s: was %s, is %s\n", p->label, p->a->verdict,
                       p->b->verdict);
    if (pair_is_variant_changed(p))
        xl__str_printf(out, "%s: %s in a, %s in b\n", p->label,
                       p->a->variant, p->b->variant);
    if (p->ratio.call == CALL_UNLIKE) {
        xl__str_printf(out, "%s: not the same measure, ", p->label);
        say_measure(p->a, out);
        xl__str_add(out, " and ");
        say_measure(p->b, out);
        xl__str_add(out, "\n");
    }
}

void compare_say_changes(const struct comparison *c, struct xl__str *out)
{
    for (size_t i = 0; i < c->n; i++)
        say_change(&c->pairs[i], out);
}

/* -- the page ------------------------------------------------------------- */

static void compare_show_lines(const struct xl__str *text, const struct display *to)
{
    struct xl__str line = {0};
    for (const char *at = xl__str_text(text); *at;) {
        const size_t len = strcspn(at, "\n");
        xl__str_reset(&line);
        xl__str_add_n(&line, at, len);
        to->text(to->arg, xl__str_text(&line));
        at += len + (at[len] == '\n');
    }
    xl__str_clear(&line);
}

static void compare_show_side(char letter, const struct side *side,
                       const struct display *to)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%c = ", letter);
    compare_say_side(side, &line);
    to->text(to->arg, xl__str_text(&line));
    xl__str_clear(&line);
}

static void show_head(const struct comparison *c, const struct display *to)
{
    struct xl__str text = {0};
    compare_show_side('a', &c->a, to);
    compare_show_side('b', &c->b, to);
    compare_say_relation(c, &text);
    xl__str_add(&text, " ");
    compare_say_noise(c, &text);
    xl__str_add(&text, " ");
    compare_say_conditions(c, &text);
    xl__str_add(&text, "b/a is of times: above 1, b is slower. Intervals hold "
                       "together with 95 %.");
    to->text(to->arg, xl__str_text(&text));
    to->gap(to->arg);
    xl__str_clear(&text);
}

static void show_two(const struct comparison *c, const struct display *to)
{
    struct xl__str text = {0};
    show_head(c, to);
    show_rows(c, to);
    to->gap(to->arg);
    compare_say_changes(c, &text);
    if (text.len > 0) {
        compare_show_lines(&text, to);
        to->gap(to->arg);
    }
    show_ops(c, to);
    to->gap(to->arg);
    xl__str_reset(&text);
    compare_say_calls(c, &text);
    to->text(to->arg, xl__str_text(&text));
    xl__str_clear(&text);
}

/* -- several result sets ------------------------------------------------------ */

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

static void compare_show_table(const struct sides *s, const struct display *to)
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

void compare_show(const struct sides *s, const struct gate *gate,
                  const struct display *to)
{
    struct xl__str text = {0};
    if (s->is_table)
        compare_show_table(s, to);
    else
        show_two(&s->list[0], to);
    gate_say(gate, &text);
    compare_show_lines(&text, to);
    xl__str_clear(&text);
}
