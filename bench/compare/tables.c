/* SPDX-License-Identifier: Apache-2.0 */
/* Prints comparisons as tables: one comparison with a line for each row and
 * each op, or several result sets with a column each, all relative to the
 * first. */
#include "compare/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/units.h"
#include "compare/differences.h"
#include "compare/sides.h"
#include "results/json.h"

/* -- formats -------------------------------------------------------------- */

enum { RATIO_CAP = 72 };

/* `digits` decimals for values below 10, else three significant digits. */
static void format_number(double value, int digits, char *out, size_t cap)
{
    static const double large = 10;
    if (value < large)
        snprintf(out, cap, "%.*f", digits, value);
    else
        units_number(out, cap, value);
}

/* "1.075", and "1.05..1.10"; "-" if unknown. */
static void format_ratio(const struct ratio *r, char *out, size_t cap)
{
    if (isnan(r->ratio))
        snprintf(out, cap, "-");
    else
        format_number(r->ratio, 3, out, cap);
}

static void format_interval(const struct ratio *r, char *out, size_t cap)
{
    static const double wide = 0.02; /* two decimals are enough */
    char lo[UNITS_CAP], hi[UNITS_CAP];
    const int digits = r->hi - r->lo > wide ? 2 : 3;
    format_number(r->lo, digits, lo, sizeof lo);
    format_number(r->hi, digits, hi, sizeof hi);
    if (isnan(r->lo))
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%s..%s", lo, hi);
}

/* "SLOWER, gate" */
static void format_call(enum call call, bool is_gated, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s", call_name(call), is_gated ? ", gate" : "");
}

static enum table_colour call_colour(enum call call, bool is_gated)
{
    return is_gated || call == CALL_SLOWER ? TABLE_RED
           : call == CALL_FASTER           ? TABLE_GREEN
                                           : TABLE_PLAIN;
}

/* False for rows without a valid time in both files. */
static bool is_pair_shown(const struct pair *p)
{
    return p->ratio.call != CALL_UNTIMED || result_is_timed(p->a) ||
           result_is_timed(p->b);
}

static void add_call_cell(struct table *t, enum call call, bool is_gated)
{
    char text[64];
    format_call(call, is_gated, text, sizeof text);
    table_cell_coloured(t, call_colour(call, is_gated), text);
}

static void add_ratio_cells(struct table *t, const struct ratio *r)
{
    char text[RATIO_CAP];
    format_ratio(r, text, sizeof text);
    table_cell(t, "%s", text);
    format_interval(r, text, sizeof text);
    table_cell(t, "%s", text);
}

/* -- rows ----------------------------------------------------------------- */

static void add_value_cell(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

/* The call; of an ambiguous row with what would decide it. */
static void add_decision_cell(struct table *t, const struct comparison *c,
                              const struct pair *p)
{
    static const double most = 99;
    char text[64];
    const double n = pair_missing_passes(c, p);
    if (p->ratio.call != CALL_AMBIGUOUS) {
        add_call_cell(t, p->ratio.call, p->is_gated);
        return;
    }
    if (n <= most)
        snprintf(text, sizeof text, "%s +%.0f", call_name(p->ratio.call), n);
    else
        snprintf(text, sizeof text, "%s %s", call_name(p->ratio.call),
                 isinf(n) ? "=" : "*");
    table_cell(t, "%s", text);
}

static void print_rows(const struct comparison *c, const struct display *to)
{
    static const struct table_column columns[] = {
        {"row", false, 14}, {"a", true, 0},        {"b", true, 0},
        {"b/a", true, 0},   {"interval", true, 0}, {"", false, 0},
    };
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        if (!is_pair_shown(p))
            continue;
        table_cell(t, "%s", p->label);
        add_value_cell(t, p->a_value, p->unit);
        add_value_cell(t, p->b_value, p->unit);
        add_ratio_cells(t, &p->ratio);
        add_decision_cell(t, c, p);
    }
    to->table(to->arg, t);
    table_destroy(t);
}

/* -- ops ------------------------------------------------------------------ */

static void add_op_cells(struct table *t, const char *name,
                         const struct op_mean *op)
{
    table_cell(t, "%s", name);
    for (enum call k = 0; k < CALL_SAME; k++)
        table_cell(t, "%zu", op->n_call[k]);
    table_cell(t, "%zu", op->n_call[CALL_SAME] + op->n_call[CALL_AS_ALL]);
    add_ratio_cells(t, &op->mean);
    add_call_cell(t, op->mean.call, op->is_gated);
}

static void print_ops(const struct comparison *c, const struct display *to)
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
            add_op_cells(t, c->ops[i].op, &c->ops[i]);
    if (c->n_compared > 0)
        add_op_cells(t, "all", &c->all);
    to->table(to->arg, t);
    table_destroy(t);
}

/* -- changes -------------------------------------------------------------- */

static void describe_unit(const struct result_row *row, struct xl__str *out)
{
    xl__str_printf(out, "unit %s by the %s clock",
                   json_text_at(row->json, "unit"),
                   json_text_at(row->json, "clock"));
}

/* Describes changes of verdict, variant and unit of a pair, a line each. */
static void describe_change(const struct pair *p, struct xl__str *out)
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
        xl__str_printf(out, "%s: not comparable, ", p->label);
        describe_unit(p->a, out);
        xl__str_add(out, " and ");
        describe_unit(p->b, out);
        xl__str_add(out, "\n");
    }
}

void compare_describe_changes(const struct comparison *c, struct xl__str *out)
{
    for (size_t i = 0; i < c->n; i++)
        describe_change(&c->pairs[i], out);
}

/* -- two result sets ------------------------------------------------------ */

/* Prints each line of `text` as a paragraph. */
static void print_lines(const struct xl__str *text, const struct display *to)
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

static void print_set(char letter, const struct result_set *set,
                      const struct display *to)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%c = ", letter);
    compare_describe_set(set, &line);
    to->text(to->arg, xl__str_text(&line));
    xl__str_clear(&line);
}

/* -- devices side by side ------------------------------------------------- */

static bool is_of_op(const struct result_row *row, const char *op)
{
    return xl__streq(json_text_at(row->json, "op"), op);
}

/* Adds the rows of an op of a set as those of the device `set`. */
static void add_set_rows(const struct result_set *set, const char *op,
                         struct result_table *out)
{
    const struct result_file *f = set->files;
    xl_row *row = xl__calloc(1, sizeof *row);
    for (size_t i = 0; row && i < f->n_rows; i++) {
        if (!is_of_op(&f->rows[i], op) || !result_set_has(set, &f->rows[i]))
            continue;
        result_row_read(&f->rows[i], row);
        if (isnan(result_finding(row, "curve")))
            (void)result_table_add(out, set, row);
    }
    free(row);
}

static const struct result_set *side_of(const struct comparisons *s, size_t i)
{
    return i == 0 ? &s->list[0].a : &s->list[i - 1].b;
}

static void print_op_sides(const struct comparisons *s, const char *op,
                           const struct display *to)
{
    struct side list[SIDES_MOST];
    struct result_table rows = {.n = 0};
    struct sides sides = {
        .rows = &rows, .list = list, .first = 'a', .kernel = s->same_kernel};
    for (; sides.n <= s->n && sides.n < SIDES_MOST; sides.n++) {
        const struct result_set *set = side_of(s, sides.n);
        list[sides.n] = (struct side){set, NULL};
        add_set_rows(set, op, &rows);
    }
    to->title(to->arg, op);
    sides_show(&sides, to);
    to->gap(to->arg);
    result_table_clear(&rows);
}

/* Each op of the first set, where other devices or libraries are beside it. */
static void print_sides(const struct comparisons *s, const struct display *to)
{
    const struct result_set *a = &s->list[0].a;
    const struct result_file *f = a->files;
    for (size_t i = 0; i < f->n_rows; i++) {
        const char *op = json_text_at(f->rows[i].json, "op");
        bool is_new = result_set_has(a, &f->rows[i]);
        for (size_t j = 0; j < i && is_new; j++)
            is_new =
                !is_of_op(&f->rows[j], op) || !result_set_has(a, &f->rows[j]);
        if (is_new)
            print_op_sides(s, op, to);
    }
}

static void print_heading(const struct comparison *c, const struct display *to)
{
    struct xl__str text = {0};
    print_set('a', &c->a, to);
    print_set('b', &c->b, to);
    compare_describe_relation(c, &text);
    xl__str_add(&text, " ");
    compare_describe_noise(c, &text);
    xl__str_add(&text, " ");
    compare_describe_conditions(c, &text);
    xl__str_add(&text, "b/a is a ratio of times: above 1, b is slower. Of the "
                       "rows called SLOWER or FASTER, 5 % may be false.");
    to->text(to->arg, xl__str_text(&text));
    xl__str_reset(&text);
    compare_describe_common(c, &text);
    if (text.len > 0) {
        to->gap(to->arg);
        to->text(to->arg, xl__str_text(&text));
    }
    to->gap(to->arg);
    xl__str_clear(&text);
}

/* Prints one comparison: heading, rows, changes, ops, summary. */
static void print_comparison(const struct comparisons *s,
                             const struct display *to)
{
    const struct comparison *c = &s->list[0];
    struct xl__str text = {0};
    print_heading(c, to);
    if (!s->is_paired && !c->is_alike)
        print_sides(s, to);
    print_rows(c, to);
    to->gap(to->arg);
    compare_describe_changes(c, &text);
    if (text.len > 0) {
        print_lines(&text, to);
        to->gap(to->arg);
    }
    print_ops(c, to);
    to->gap(to->arg);
    xl__str_reset(&text);
    compare_describe_calls(c, &text);
    if (c->all.n_call[CALL_AMBIGUOUS] > 0)
        xl__str_add(&text, " What would decide an AMBIGUOUS row: +9, about 9 "
                           "more passes in each file; *, another run when "
                           "the machine is quiet; =, nothing, it is at the "
                           "margin.");
    to->text(to->arg, xl__str_text(&text));
    xl__str_reset(&text);
    compare_describe_common(c, &text);
    xl__str_add(&text, text.len > 0 ? "\n" : "");
    compare_describe_findings(c, &text);
    print_lines(&text, to);
    xl__str_clear(&text);
}

/* -- several result sets -------------------------------------------------- */

enum { MOST_SHOWN = 8 };

static char set_letter(size_t i)
{
    return (char)('b' + (int)i);
}

/* The pair of a row of a. All comparisons have the same rows of a. */
static const struct pair *find_pair(const struct comparison *c,
                                    const struct result_row *a)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pairs[i].a == a)
            return &c->pairs[i];
    return NULL;
}

static void add_interval_cells(struct table *t, const struct ratio *r,
                               bool is_gated)
{
    char text[RATIO_CAP];
    format_ratio(r, text, sizeof text);
    table_cell_coloured(t, call_colour(r->call, is_gated), text);
    format_interval(r, text, sizeof text);
    if (r->call == CALL_FEW_RUNS)
        table_cell(t, "few runs");
    else
        table_cell(t, "%s", isnan(r->ratio) ? "" : text);
}

/* Adds the row of a case: the value of a, then ratio and interval of each
 * result set. */
static void add_case_row(struct table *t, const struct comparison *list,
                         size_t n, const struct pair *first)
{
    char text[UNITS_CAP];
    double value = 0;
    const char *unit = NULL;
    (void)result_metric(first->a, &value, &unit);
    units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", first->label);
    table_cell(t, "%s", text);
    for (size_t e = 0; e < n; e++) {
        const struct pair *p = find_pair(&list[e], first->a);
        if (p)
            add_interval_cells(t, &p->ratio, p->is_gated);
    }
}

/* Prints the columns of n result sets; `first` is the index of the first. */
static void print_columns(const struct comparison *list, size_t n,
                          size_t first, const struct display *to)
{
    struct table_column columns[2 + 2 * MOST_SHOWN] = {{"case", false, 12},
                                                       {"a", true, 0}};
    char title[MOST_SHOWN][8];
    unsigned n_columns = 2;
    for (size_t e = 0; e < n; e++) {
        snprintf(title[e], sizeof title[e], "%c/a", set_letter(first + e));
        columns[n_columns++] = (struct table_column){title[e], true, 0};
        columns[n_columns++] = (struct table_column){"interval", false, 0};
    }
    struct table *t = table_create(columns, n_columns);
    for (size_t i = 0; i < list[0].n; i++)
        add_case_row(t, list, n, &list[0].pairs[i]);
    table_cell(t, "geometric mean");
    table_cell_coloured(t, TABLE_PLAIN, "");
    for (size_t e = 0; e < n; e++)
        add_interval_cells(t, &list[e].all.mean, false);
    to->table(to->arg, t);
    to->gap(to->arg);
    table_destroy(t);
}

static void print_sets(const struct comparisons *s, const struct display *to)
{
    struct xl__str text = {0};
    print_set('a', &s->list[0].a, to);
    for (size_t e = 0; e < s->n; e++) {
        print_set(set_letter(e), &s->list[e].b, to);
        if (s->list[e].b.other)
            continue;
        xl__str_reset(&text);
        compare_describe_relation(&s->list[e], &text);
        xl__str_add(&text, " ");
        compare_describe_noise(&s->list[e], &text);
        to->text(to->arg, xl__str_text(&text));
    }
    to->text(to->arg, "Times divided by those of a: above 1, a is faster. "
                      "Of the rows of a column that differ, 5 % may be "
                      "false.");
    to->gap(to->arg);
    xl__str_clear(&text);
}

/* Prints several comparisons, as many columns at a time as the width
 * permits. */
static void print_set_table(const struct comparisons *s,
                            const struct display *to)
{
    enum { FIRST_COLUMNS = 32, EACH = 21 };
    struct xl__str text = {0};
    size_t each = to->width > FIRST_COLUMNS + EACH
                      ? (to->width - FIRST_COLUMNS) / EACH
                      : 1;
    each = to->width == 0 || each > MOST_SHOWN ? MOST_SHOWN : each;
    print_sets(s, to);
    print_sides(s, to);
    for (size_t first = 0; first < s->n; first += each)
        print_columns(s->list + first,
                      first + each < s->n ? each : s->n - first, first, to);
    for (size_t e = 0; e < s->n; e++) {
        xl__str_reset(&text);
        xl__str_printf(&text, "%c: ", set_letter(e));
        compare_describe_calls(&s->list[e], &text);
        to->text(to->arg, xl__str_text(&text));
    }
    xl__str_reset(&text);
    if (s->n == 1) {
        compare_describe_common(&s->list[0], &text);
        xl__str_add(&text, text.len > 0 ? "\n" : "");
        compare_describe_findings(&s->list[0], &text);
        print_lines(&text, to);
    }
    xl__str_clear(&text);
}

void compare_print(const struct comparisons *s, const struct gate *gate,
                   const struct display *to)
{
    struct xl__str text = {0};
    if (s->is_table)
        print_set_table(s, to);
    else
        print_comparison(s, to);
    gate_report(gate, &text);
    print_lines(&text, to);
    xl__str_clear(&text);
}
