/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels over columns. An item that owns one vector keeps its states in
 * registers; one that owns several keeps arrays of them, and goes along the
 * row before it goes down. */
#include "expr/codegen/column_reduction.h"

#include <stdio.h>

#include "expr/codegen/reduce_size.h"

static void open_item(struct xl__reducing *r, unsigned side)
{
    if (r->group->geo.wg == 1) {
        xl__emit_line(&r->m, "const uint column = 0, lane = 0;");
        return;
    }
    xl__emit_line(&r->m, "const uint item = get_local_id(0);");
    xl__emit_line(&r->m, "const uint column = item %% %u, lane = item / %u;",
                  side, side);
}

static void open_outer(struct xl__reducing *r)
{
    const unsigned last = r->group->n_loops - 1;
    xl__reduce_indices(r, 0, r->n_kept, "outer");
    xl__emit_places(&r->m, 0, r->n_kept);
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX lines = ");
    xl__reduce_sizes(r, r->n_kept, last);
    xl__str_add(r->m.out, ";\n");
    xl__emit_line(&r->m, "const float n_row = (float)lines;");
}

/* A row of the turn: its loops' indices and the operands' places. */
static void place(struct xl__reducing *r, const char *u, const void *arg)
{
    const unsigned last = r->group->n_loops - 1;
    (void)arg;
    if (xl__streq(u, "0"))
        xl__emit_line(&r->m, "const IDX line = t;");
    else
        xl__emit_line(&r->m, "const IDX line = t + %s * %u;", u,
                      r->group->geo.lanes);
    xl__reduce_indices(r, r->n_kept, last, "line");
    xl__emit_places(&r->m, r->n_kept, last);
}

/* Turns of n rows, by the whole vectors of the item or by its last one, which
 * is cut. */
static void walk(struct xl__reducing *r, unsigned n, const char *count)
{
    const struct xl__geometry *geo = &r->group->geo;
    const struct xl__turn t = {.n = n, .count = count, .into = 'a',
                               .which = geo->held > 1 ? "[c]" : NULL,
                               .number = "line", .is_across = true,
                               .place = place};
    if (n > 1)
        xl__emit_line(&r->m, "for (; t + %u < end; t += %u) {",
                      (n - 1) * geo->lanes, n * geo->lanes);
    else
        xl__emit_line(&r->m, "for (; t < end; t += %u) {", geo->lanes);
    r->m.indent++;
    if (geo->held > 1 && !count) {
        xl__emit_line(&r->m, "for (uint c = 0; c < whole; c++) {");
        r->m.indent++;
    }
    if (geo->held > 1) {
        xl__emit_line(&r->m, "const IDX at = begin + c * %u;", geo->vw);
        r->row_count = count;
        xl__reduce_row_values(r, 0);
    }
    xl__reduce_turn(r, &t);
    if (geo->held > 1 && !count) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

static void sweep(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const bool is_many = geo->held > 1;
    xl__reduce_need(r, 0);
    xl__emit_line(&r->m, "if (whole > 0) {");
    r->m.indent++;
    xl__emit_line(&r->m, "IDX t = first + lane;");
    if (!is_many) {
        xl__emit_line(&r->m, "const IDX at = begin;");
        r->row_count = NULL;
        xl__reduce_row_values(r, 0);
    }
    if (geo->unroll > 1)
        walk(r, geo->unroll, NULL);
    walk(r, 1, NULL);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    if (geo->vw == 1)
        return;
    xl__emit_line(&r->m, "if (rest > 0) {");
    r->m.indent++;
    xl__emit_line(&r->m, "IDX t = first + lane;");
    if (is_many) {
        xl__emit_line(&r->m, "const uint c = whole;");
    } else {
        xl__emit_line(&r->m, "const IDX at = begin;");
        r->row_count = "rest";
        xl__reduce_row_values(r, 0);
    }
    walk(r, 1, "rest");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* Every item comes here; lane 0 has the whole column then. */
static void join(struct xl__reducing *r, unsigned lanes, unsigned side)
{
    char rule[160];
    if (lanes == 1)
        return;
    xl__reduce_each(r, 0, "room$s[item] = a$s;", 1);
    xl__emit_line(&r->m, "barrier(CLK_LOCAL_MEM_FENCE);");
    xl__emit_line(&r->m, "if (lane == 0) {");
    r->m.indent++;
    snprintf(rule, sizeof rule, "a$s = $f_gather_$w(room$s + item, %u, %u);",
             lanes, side);
    xl__reduce_each(r, 0, rule, r->m.vw);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

/* What follows from a column's states, and its outputs. */
static void finish(struct xl__reducing *r)
{
    r->row_count = r->m.vw > 1 ? "count" : NULL;
    xl__reduce_row_values(r, 0);
    xl__reduce_results(r, 0);
    xl__reduce_row_values(r, 1);
    xl__reduce_row_stores(r);
}

static void head(struct xl__reducing *r, const char *what, bool has_lanes)
{
    r->row_at = "at";
    r->row_width = r->m.vw;
    xl__emit_head(&r->m, what);
    xl__emit_line(&r->m, "#include \"expr/reduce.clh\"");
    xl__reduce_kinds(r, "XL_$k($w)", r->m.vw);
    if (has_lanes)
        xl__reduce_kinds(r, "XL_GATHER($k, $w, __local, gather)", r->m.vw);
}

static void local(struct xl__reducing *r)
{
    char rule[80];
    snprintf(rule, sizeof rule, "__local $f_$w room$s[%u];",
             r->group->geo.wg);
    if (r->group->geo.wg > 1)
        xl__reduce_each(r, 0, rule, r->m.vw);
}

static void open_block(struct xl__reducing *r, unsigned side)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned last = r->group->n_loops - 1, vw = geo->vw;
    const unsigned each = side * geo->held * vw;
    xl__emit_line(&r->m, "const IDX blocks = (n%u + %u) / %u;", last, each - 1,
                  each);
    xl__emit_line(&r->m, "IDX outer = (IDX)xl_group_id(0) / blocks;");
    xl__emit_line(&r->m,
                  "const IDX block = (IDX)xl_group_id(0) - outer * blocks;");
    if (geo->chunks > 1) {
        xl__emit_line(&r->m, "const IDX chunk = outer %% chunks;");
        xl__emit_line(&r->m, "outer /= chunks;");
    }
    xl__emit_line(&r->m, "const IDX begin = (block * %u + column) * %u;", side,
                  geo->held * vw);
    xl__emit_line(&r->m,
                  "const IDX columns = begin < n%u ? min(n%u - begin, "
                  "(IDX)%u) : 0;", last, last, geo->held * vw);
    xl__emit_line(&r->m,
                  "const uint whole = columns / %u, rest = columns %% %u;", vw,
                  vw);
}

/* for each vector of the item: states rN, `at`, `count`. */
static void open_vectors(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    xl__emit_line(&r->m, "for (uint c = 0; c < whole + (rest > 0) && "
                         "lane == 0; c++) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const IDX at = begin + c * %u;", geo->vw);
    xl__emit_line(&r->m, "const uint count = c < whole ? %u : rest;", geo->vw);
    xl__reduce_each(r, 0, geo->held > 1 ? "const $f_$w r$s = a$s[c];"
                                        : "const $f_$w r$s = a$s;",
                    geo->vw);
}

/* How chunks lie in scratch: a chunk's columns are neighbours. */
static void counts(struct xl__reducing *r)
{
    const unsigned vw = r->group->geo.vw;
    xl__emit_indent(&r->m);
    xl__str_add(r->m.out, "const IDX outers = ");
    xl__reduce_sizes(r, 0, r->n_kept);
    xl__str_printf(r->m.out, ", vectors = (n%u + %u) / %u;\n",
                   r->group->n_loops - 1, vw - 1, vw);
}

void xl__columns_text(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned side = geo->wg / geo->lanes;
    char rule[120];
    head(r, "Columns", geo->lanes > 1);
    xl__rows_kernel(r, "expr_columns",
                    geo->chunks > 1 ? xl__partial_params : NULL);
    local(r);
    open_item(r, side);
    open_block(r, side);
    open_outer(r);
    xl__emit_line(&r->m, geo->chunks > 1
                             ? "const IDX first = chunk * each, "
                               "end = min(first + each, lines);"
                             : "const IDX first = 0, end = lines;");
    if (geo->held > 1) {
        snprintf(rule, sizeof rule, "$f_$w a$s[%u];", geo->held);
        xl__reduce_each(r, 0, rule, geo->vw);
        xl__emit_line(&r->m, "for (uint c = 0; c < %u; c++) {", geo->held);
        r->m.indent++;
        xl__reduce_each(r, 0, "a$s[c] = $f_none_$w();", geo->vw);
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    } else {
        xl__reduce_each(r, 0, "$f_$w a$s = $f_none_$w();", geo->vw);
    }
    sweep(r);
    join(r, geo->lanes, side);
    open_vectors(r);
    if (geo->chunks > 1) {
        counts(r);
        xl__emit_line(&r->m, "const IDX place = (chunk * outers + outer) * "
                             "vectors + at / %u;", geo->vw);
        xl__reduce_each(r, 0,
                        "((__global $f_$w *)(scratch + q$s))[place] = r$s;",
                        geo->vw);
    } else {
        finish(r);
    }
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

void xl__columns_join_text(struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned lanes = geo->joiners, side = geo->wg / lanes;
    char rule[200];
    head(r, "Columns, from their chunks", lanes > 1);
    xl__reduce_kinds(r, "XL_GATHER($k, $w, __global, collect)", geo->vw);
    xl__rows_kernel(r, "expr_columns_join", xl__partial_params);
    local(r);
    open_item(r, side);
    counts(r);
    xl__emit_line(&r->m, "const IDX blocks = (vectors + %u) / %u;", side - 1,
                  side);
    xl__emit_line(&r->m, "const IDX outer = (IDX)xl_group_id(0) / blocks;");
    xl__emit_line(&r->m, "const IDX own = ((IDX)xl_group_id(0) - outer * "
                         "blocks) * %u + column;", side);
    xl__emit_line(&r->m, "const uint mine = own < vectors ? "
                         "(uint)((chunks + %u - lane) / %u) : 0;",
                  lanes - 1, lanes);
    open_outer(r);
    snprintf(rule, sizeof rule,
             "$f_$w a$s = $f_collect_$w((__global const $f_$w *)(scratch + "
             "q$s) + (lane * outers + outer) * vectors + own, mine, "
             "%u * outers * vectors);", lanes);
    xl__reduce_each(r, 0, rule, geo->vw);
    join(r, lanes, side);
    xl__emit_line(&r->m, "if (lane == 0 && own < vectors) {");
    r->m.indent++;
    xl__emit_line(&r->m, "const IDX at = own * %u;", geo->vw);
    xl__emit_line(&r->m, "const uint count = min(n%u - at, (IDX)%u);",
                  r->group->n_loops - 1, geo->vw);
    xl__reduce_each(r, 0, "const $f_$w r$s = a$s;", geo->vw);
    finish(r);
    r->m.indent--;
    xl__emit_line(&r->m, "}");
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}
