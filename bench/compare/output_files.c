/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons as one HTML page: what was compared, the ops as a picture, the
 * rows as a picture and a table. */
#include <math.h>
#include <stdio.h>

#include "compare/differences.h"
#include "compare/compare_files.h"
#include "compare/tables.h"
#include "report/html.h"
#include "cli/units.h"

static void paragraph(struct xl__str *out, const struct xl__str *text)
{
    if (text->len > 0)
        html_add(out, "<p>%s</p>\n", text->text);
    out->broken = out->broken || text->broken;
}

/* Each line an item. */
static void items(struct xl__str *out, const struct xl__str *text)
{
    struct xl__str line = {0};
    if (text->len == 0)
        return;
    xl__str_add(out, "<ul>\n");
    for (const char *at = text->text; *at; at++) {
        xl__str_reset(&line);
        for (; *at && *at != '\n'; at++)
            xl__str_add_n(&line, at, 1);
        html_add(out, "<li>%s</li>\n", xl__str_text(&line));
        if (!*at)
            break;
    }
    xl__str_add(out, "</ul>\n");
    out->broken = out->broken || text->broken || line.broken;
    xl__str_clear(&line);
}

static void side(struct xl__str *out, char letter, const struct side *s)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%c = ", letter);
    compare_say_side(s, &text);
    html_add(out, "<li>%s</li>\n", xl__str_text(&text));
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}

static void header(struct xl__str *out, const struct sides *s)
{
    xl__str_add(out, "<header>\n<p class=\"name\">clbench compare</p>\n"
                     "<h1>Comparison</h1>\n<ul class=\"runs\">\n");
    if (s->n > 0)
        side(out, 'a', &s->list[0].a);
    for (size_t e = 0; e < s->n; e++)
        side(out, (char)('b' + (int)e), &s->list[e].b);
    xl__str_add(out, "</ul>\n</header>\n");
}

static void number_cell(struct xl__str *out, double sorted, const char *text)
{
    if (isfinite(sorted))
        xl__str_printf(out, "<td class=\"n\" data-v=\"%.9g\">", sorted);
    else
        xl__str_add(out, "<td class=\"n\">");
    html_add(out, "%s</td>", text);
}

static void value_cell(struct xl__str *out, double value, const char *unit)
{
    char text[UNITS_CAP];
    units_format(text, sizeof text, value, unit);
    number_cell(out, value, text);
}

static void ratio_cells(struct xl__str *out, const struct ratio *r,
                        bool is_gated)
{
    char text[RATIO_CAP], call[64];
    compare_ratio(r, text, sizeof text);
    number_cell(out, r->ratio, text);
    compare_interval(r, text, sizeof text);
    number_cell(out, r->lo, text);
    compare_call(r->call, is_gated, call, sizeof call);
    html_add(out, "<td><span class=\"verdict %m\">%s</span></td></tr>\n",
             is_gated || r->call == CALL_SLOWER ? "rejected"
             : r->call == CALL_FASTER           ? "ok"
                                                : "unsupported",
             call);
}

static void rows_table(struct xl__str *out, const struct comparison *c)
{
    html_table_begin(out, "rows", "Every row, what matters most first");
    html_column(out, "row", false);
    html_column(out, "a", true);
    html_column(out, "b", true);
    html_column(out, "time b/a", true);
    html_column(out, "interval", true);
    html_column(out, "call", false);
    html_table_body(out);
    for (size_t i = 0; i < c->n; i++) {
        const struct pair *p = &c->pairs[i];
        html_add(out, "<tr><th scope=\"row\">%s</th>", p->label);
        value_cell(out, p->a_value, p->unit);
        value_cell(out, p->b_value, p->unit);
        ratio_cells(out, &p->ratio, p->is_gated);
    }
    html_table_end(out);
}

static void ops_table(struct xl__str *out, const struct comparison *c)
{
    html_table_begin(out, "beside", "Geometric means by op");
    html_column(out, "op", false);
    for (enum call k = 0; call_has_interval(k); k++)
        html_column(out, call_name(k), true);
    html_column(out, "time b/a", true);
    html_column(out, "interval", true);
    html_column(out, "call", false);
    html_table_body(out);
    for (size_t i = 0; i <= c->n_ops; i++) {
        const struct op_mean *op = i < c->n_ops ? &c->ops[i] : &c->all;
        if (isnan(op->mean.ratio))
            continue;
        html_add(out, "<tr><th scope=\"row\">%s</th>",
                 op->op ? op->op : "all");
        for (enum call k = 0; call_has_interval(k); k++) {
            char text[UNITS_CAP];
            snprintf(text, sizeof text, "%zu", op->n_call[k]);
            number_cell(out, (double)op->n_call[k], text);
        }
        ratio_cells(out, &op->mean, op->is_gated);
    }
    html_table_end(out);
}

static void picture(struct xl__str *out, const struct comparison *c,
                    double margin, const char *label,
                    void (*draw)(const struct comparison *, double,
                                 struct xl__str *))
{
    struct xl__str svg = {0};
    draw(c, margin, &svg);
    html_add(out,
             "<figure><div class=\"scroll picture\" tabindex=\"0\" "
             "role=\"region\" aria-label=\"%s\">\n%m</div></figure>\n",
             label, xl__str_text(&svg));
    out->broken = out->broken || svg.broken;
    xl__str_clear(&svg);
}

static void section(struct xl__str *out, const struct sides *s, size_t e)
{
    const struct comparison *c = &s->list[e];
    struct xl__str text = {0};
    const char name[] = {(char)('b' + (int)e), '\0'};
    html_add(out, "<section aria-labelledby=\"h-%m\">\n<h2 id=\"h-%m\">"
                  "%m over a</h2>\n<p class=\"lead\">", name, name, name);
    compare_say_calls(c, &text);
    html_add(out, "%s</p>\n", xl__str_text(&text));
    xl__str_reset(&text);
    compare_say_relation(c, &text);
    xl__str_add(&text, " ");
    compare_say_noise(c, &text);
    xl__str_add(&text, " ");
    compare_say_conditions(c, &text);
    paragraph(out, &text);
    xl__str_reset(&text);
    compare_say_changes(c, &text);
    items(out, &text);
    if (c->n_compared > 0) {
        html_add(out, "<h3>By op</h3>\n");
        picture(out, c, s->margin, "Ratios by op", compare_forest_ops);
        ops_table(out, c);
        html_add(out, "<h3>By row</h3>\n");
        picture(out, c, s->margin, "Ratios by row", compare_forest_rows);
    }
    if (c->n_compared > FOREST_MOST_ROWS)
        html_add(out, "<p>The picture has the first %z rows of %z.</p>\n",
                 (size_t)FOREST_MOST_ROWS, c->n_compared);
    rows_table(out, c);
    xl__str_add(out, "</section>\n");
    xl__str_clear(&text);
}

void compare_html(const struct sides *s, const struct gate *gate,
                  struct xl__str *out)
{
    struct xl__str text = {0};
    html_begin(out, "Comparison");
    header(out, s);
    html_add(out,
             "<main id=\"main\">\n<section>\n<p>Ratios are of times, b/a: "
             "above 1, b is slower. All intervals of a comparison hold "
             "together with 95 %%. SLOWER and FASTER lie on one side of 1 "
             "and beyond the margin; SAME lies within the margin; AMBIGUOUS: "
             "the runs cannot tell.</p>\n");
    gate_say(gate, &text);
    items(out, &text);
    xl__str_add(out, "</section>\n");
    for (size_t e = 0; e < s->n; e++)
        section(out, s, e);
    xl__str_add(out, "</main>\n");
    html_end(out);
    out->broken = out->broken || text.broken;
    xl__str_clear(&text);
}
