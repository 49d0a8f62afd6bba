/* SPDX-License-Identifier: Apache-2.0 */
#include "compare_text.h"

#include <math.h>
#include <stdio.h>

#include "compare_about.h"
#include "json_values.h"
#include "text.h"
#include "units.h"

void compare_print_words(const char *text)
{
    struct xl__str clean = {0};
    text_escape(&clean, text);
    if (clean.len > 0)
        text_wrap(stdout, xl__str_text(&clean), 0, text_terminal_columns());
    xl__str_clear(&clean);
}

void compare_interval(const struct ratio *r, char *out, size_t cap)
{
    static const double apart = 0.0095; /* what two digits still show */
    if (isnan(r->lo))
        snprintf(out, cap, "-");
    else if (r->hi - r->lo > apart)
        snprintf(out, cap, "%.2f..%.2f", r->lo, r->hi);
    else
        snprintf(out, cap, "%.3f..%.3f", r->lo, r->hi);
}

enum table_colour compare_colour(enum call call)
{
    return call == CALL_SLOWER   ? TABLE_RED
           : call == CALL_FASTER ? TABLE_GREEN
                                 : TABLE_PLAIN;
}

static void cell_call(struct table *t, enum call call, bool is_gated)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", call_name(call),
             is_gated ? ", gate" : "");
    table_cell_coloured(t, is_gated ? TABLE_RED : compare_colour(call), text);
}

static void cells_of_ratio(struct table *t, const struct ratio *r)
{
    char interval[UNITS_CAP];
    compare_interval(r, interval, sizeof interval);
    if (isnan(r->ratio))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f", r->ratio);
    table_cell(t, "%s", interval);
}

/* -- rows ----------------------------------------------------------------- */

static void print_rows(const struct comparison *c)
{
    static const struct table_column columns[] = {
        {"row", false, 16}, {"a", true, 0},        {"b", true, 0},
        {"b/a", true, 0},   {"interval", true, 0}, {"", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        char a[UNITS_CAP], b[UNITS_CAP];
        units_format(a, sizeof a, p->a_value, p->unit);
        units_format(b, sizeof b, p->b_value, p->unit);
        table_cell(t, "%s", p->label);
        table_cell(t, "%s", a);
        table_cell(t, "%s", b);
        cells_of_ratio(t, &p->ratio);
        cell_call(t, p->ratio.call, p->is_gated);
    }
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
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
    if (isnan(op->mean.ratio))
        table_cell(t, "-");
    else
        cell_call(t, op->mean.call, op->is_gated);
}

static void print_ops(const struct comparison *c)
{
    static const struct table_column columns[] = {
        {"op", false, 12},     {"slower", true, 0},   {"faster", true, 0},
        {"unclear", true, 0},  {"same", true, 0},     {"mean b/a", true, 0},
        {"interval", true, 0}, {"", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < c->n_ops; i++)
        cells_of_op(t, c->ops[i].op, &c->ops[i]);
    cells_of_op(t, "all", &c->all);
    table_print(stdout, t, text_terminal_columns(), text_wants_colour());
    table_destroy(t);
}

/* -- changes -------------------------------------------------------------- */

static void say_change(const struct pair *p, struct xl__str *out)
{
    if (pair_is_rejected(p))
        xl__str_printf(out, "%s: was %s, is %s: %s\n", p->label,
                       p->a->verdict, p->b->verdict,
                       json_text_at(p->b->json, "reason"));
    else if (p->a && p->b && !result_is_timed(p->a) && result_is_timed(p->b))
        xl__str_printf(out, "%s: was %s, is %s\n", p->label, p->a->verdict,
                       p->b->verdict);
    if (pair_is_variant_changed(p))
        xl__str_printf(out, "%s: %s in a, %s in b\n", p->label,
                       p->a->variant, p->b->variant);
    if (p->ratio.call == CALL_UNLIKE)
        xl__str_printf(out,
                       "%s: not the same measure: unit %s by the %s clock, "
                       "and %s by the %s clock\n",
                       p->label, json_text_at(p->a->json, "unit"),
                       json_text_at(p->a->json, "clock"),
                       json_text_at(p->b->json, "unit"),
                       json_text_at(p->b->json, "clock"));
}

void compare_say_changes(const struct comparison *c, struct xl__str *out)
{
    for (size_t i = 0; i < c->n; i++)
        say_change(&c->pairs[i], out);
}

/* -- the page ------------------------------------------------------------- */

static void print_side(char letter, const struct side *side)
{
    struct xl__str line = {0};
    xl__str_printf(&line, "%c = ", letter);
    compare_say_side(side, &line);
    compare_print_words(xl__str_text(&line));
    xl__str_clear(&line);
}

/* Each line by itself, so that none is taken for a paragraph with another. */
static void print_lines(char *text)
{
    while (text && *text) {
        char *end = text;
        while (*end && *end != '\n')
            end++;
        const bool is_last = *end == '\0';
        *end = '\0';
        compare_print_words(text);
        text = is_last ? NULL : end + 1;
    }
}

static void print_head(const struct comparison *c)
{
    struct xl__str text = {0};
    print_side('a', &c->a);
    print_side('b', &c->b);
    compare_say_relation(c, &text);
    xl__str_add(&text, " ");
    compare_say_noise(c, &text);
    xl__str_add(&text, " ");
    compare_say_conditions(c, &text);
    compare_print_words(xl__str_text(&text));
    compare_print_words("b/a is of times, above 1 b is slower; intervals hold "
                        "together with 95 %.");
    printf("\n");
    xl__str_clear(&text);
}

void compare_print(const struct comparison *c, const struct gate *gate)
{
    struct xl__str text = {0};
    print_head(c);
    print_rows(c);
    printf("\n");
    compare_say_changes(c, &text);
    print_lines(text.text);
    if (text.len > 0)
        printf("\n");
    print_ops(c);
    printf("\n");
    xl__str_reset(&text);
    xl__str_printf(&text, "%zu rows compared: ", c->n_compared);
    compare_say_calls(c->all.n_call, &text);
    xl__str_add(&text, "\n");
    gate_say(gate, &text);
    print_lines(text.text);
    xl__str_clear(&text);
}
