/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as CSV: every row of every comparison, then a line an op. */
#include "compare/compare_files.h"
#include "report/csv.h"
#include "results/json.h"

static const char *const columns[] = {
    "side_a",    "side_b",    "row",      "id",       "op",
    "variant_a", "variant_b", "unit",     "a",        "b",
    "time_b_over_a", "low",   "high",     "call",     "verdict_a",
    "verdict_b", "fails_gate"};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void field(struct xl__str *out, const char *text)
{
    xl__str_add(out, ",");
    csv_text(out, text ? text : "");
}

static void number(struct xl__str *out, double value)
{
    xl__str_add(out, ",");
    csv_number(out, value);
}

static void begin_line(const struct comparison *c, struct xl__str *out)
{
    csv_text(out, c->a.files[0].path);
    field(out, c->b.files[0].path);
}

static void add_ratio(const struct ratio *r, struct xl__str *out)
{
    number(out, r->ratio);
    number(out, r->lo);
    number(out, r->hi);
    field(out, call_name(r->call));
}

static void add_pair(const struct comparison *c, const struct pair *p,
                     struct xl__str *out)
{
    const struct result_row *row = p->a ? p->a : p->b;
    begin_line(c, out);
    field(out, p->label);
    field(out, row->id);
    field(out, json_text_at(row->json, "op"));
    field(out, p->a ? p->a->variant : "");
    field(out, p->b ? p->b->variant : "");
    field(out, p->unit);
    number(out, p->a_value);
    number(out, p->b_value);
    add_ratio(&p->ratio, out);
    field(out, p->a ? p->a->verdict : "");
    field(out, p->b ? p->b->verdict : "");
    xl__str_printf(out, ",%d%s", p->is_gated, csv_end);
}

static void add_op(const struct comparison *c, const struct op_mean *op,
                   struct xl__str *out)
{
    begin_line(c, out);
    field(out, "geometric mean");
    field(out, "");
    field(out, op->op ? op->op : "all");
    xl__str_add(out, ",,,,,");
    add_ratio(&op->mean, out);
    xl__str_printf(out, ",,,%d%s", op->is_gated, csv_end);
}

void compare_csv(const struct sides *s, const struct gate *gate,
                 struct xl__str *out)
{
    (void)gate;
    for (int i = 0; i < N_COLUMNS; i++)
        xl__str_printf(out, "%s%s", i > 0 ? "," : "", columns[i]);
    xl__str_add(out, csv_end);
    for (size_t e = 0; e < s->n; e++) {
        const struct comparison *c = &s->list[e];
        for (size_t i = 0; i < c->n; i++)
            add_pair(c, &c->pairs[i], out);
        for (size_t i = 0; i < c->n_ops; i++)
            if (c->ops[i].mean.lo > 0)
                add_op(c, &c->ops[i], out);
        if (c->n_compared > 0)
            add_op(c, &c->all, out);
    }
}
