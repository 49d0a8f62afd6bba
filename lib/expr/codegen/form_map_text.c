/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a MAP group. Its parts are written in two settings: whole
 * vectors, as fast as can be, and the last ones of a row, which may be cut.
 *
 * A GPU's item loads all of its vectors before it uses the first: a load
 * cannot be moved over the store before it, since both may be the same memory
 * of an output that is changed in place. */
#include "expr/codegen/map.h"

/* Is it read straight from memory, where its value is needed? */
static bool is_loaded(const struct xl__group *group,
                      const struct xl__operand *o)
{
    return !o->is_written && o->at != XL__AT_INDEX &&
           !xl__map_is_turned(group, o);
}

/* -- where a vector is ----------------------------------------------------- */

/* From a vector's number f to row, the loops' indices, and c, its number in
 * the row. */
static void write_unravel(struct xl__emit *m)
{
    const unsigned n = m->group->n_loops;
    const char *rest = "row";
    static const char *const rests[XL__EXPR_LOOPS] = {"r0", "r1", "r2", "r3",
                                                      "r4", "r5"};
    if (n == 1)
        return;
    xl__emit_line(m, "const IDX row = xl_divide(f, per_row, mul_0, shift_0);");
    for (unsigned d = n - 2; d > 0; d--) {
        xl__emit_line(m, "const IDX %s = xl_divide(%s, n%u, mul_%u, shift_%u);",
                      rests[d - 1], rest, d, d, d);
        xl__emit_line(m, "const IDX i%u = %s - %s * n%u;", d, rest,
                      rests[d - 1], d);
        rest = rests[d - 1];
    }
    xl__emit_line(m, "const IDX i0 = %s;", rest);
}

static void write_column(struct xl__emit *m)
{
    const char *column = m->group->n_loops > 1 ? "(f - row * per_row)" : "f";
    xl__emit_line(m, "const IDX i%u = %s * %u;", m->group->n_loops - 1, column,
                  m->vw);
}

/* -- what happens to it ---------------------------------------------------- */

/* The index along the last loop. */
static const char *inner_index(const struct xl__emit *m)
{
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5"};
    return names[m->group->n_loops - 1];
}

static void write_loads(struct xl__emit *m, const char *count)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_load(m, k, inner_index(m), count);
    }
}

static void write_results(struct xl__emit *m, const char *count)
{
    const struct xl__group *group = m->group;
    for (unsigned i = 0; i < group->n_values; i++) {
        const unsigned node = group->value[i].node;
        const unsigned from = xl__emit_source(group, node);
        if (from == XL__EXPR_OPERANDS)
            xl__emit_node(m, node, m->vw);
        else if (xl__map_is_turned(group, &group->operand[from]))
            xl__map_take(m, from);
        else if (group->operand[from].at == XL__AT_INDEX)
            xl__emit_load(m, from, inner_index(m), count);
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (group->operand[k].is_written)
            xl__emit_store(m, k, inner_index(m), count);
    }
}

void xl__map_whole(struct xl__emit *m)
{
    write_loads(m, NULL);
    write_results(m, NULL);
}

void xl__map_cut(struct xl__emit *m)
{
    const char *count = m->vw > 1 ? "count" : NULL;
    if (count)
        xl__emit_line(m, "const uint count = (uint)min(n%u - %s, (IDX)%u);",
                      m->group->n_loops - 1, inner_index(m), m->vw);
    write_loads(m, count);
    write_results(m, count);
}

/* -- neighbours side by side ----------------------------------------------- */

static void open_turn(struct xl__emit *m, unsigned unroll)
{
    xl__emit_line(m, "for (uint u = 0; u < %u; u++) {", unroll);
    m->indent++;
}

static void write_where(struct xl__emit *m)
{
    write_unravel(m);
    write_column(m);
    xl__emit_places(m, 0, m->group->n_loops - 1);
}

static void write_number(struct xl__emit *m)
{
    xl__emit_line(m, "const IDX f = first + u * %u;", m->group->geo.wg);
}

static void write_turn(struct xl__emit *m)
{
    write_number(m);
    write_where(m);
}

static void close_turn(struct xl__emit *m)
{
    m->depth = 0;
    m->indent--;
    xl__emit_line(m, "}");
}

/* `const float4 v3 = ...` is kept in, or taken from, the array of operand k. */
static void write_held(struct xl__emit *m, bool is_taken)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (!is_loaded(m->group, o))
            continue;
        if (is_taken)
            xl__emit_line(m, "const %s v%u = a%u[u];",
                          xl__emit_type(m->g->node[o->node].type, m->vw),
                          o->node, k);
        else
            xl__emit_line(m, "a%u[u] = v%u;", k, o->node);
    }
}

void xl__map_ahead(struct xl__emit *m, unsigned unroll,
                   void (*where)(struct xl__emit *m))
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (is_loaded(m->group, o))
            xl__emit_line(m, "%s a%u[%u];",
                          xl__emit_type(m->g->node[o->node].type, m->vw), k,
                          unroll);
    }
    xl__emit_line(m, "#pragma unroll");
    open_turn(m, unroll);
    where(m);
    write_loads(m, NULL);
    write_held(m, false);
    close_turn(m);
    xl__emit_line(m, "#pragma unroll");
    open_turn(m, unroll);
    where(m);
    write_held(m, true);
    write_results(m, NULL);
    close_turn(m);
}

static void write_whole(struct xl__emit *m, unsigned unroll)
{
    if (unroll > 1) {
        xl__map_ahead(m, unroll, write_turn);
        return;
    }
    xl__emit_line(m, "const IDX f = first;");
    write_where(m);
    xl__map_whole(m);
    m->depth = 0;
}

static void write_cut(struct xl__emit *m, unsigned unroll)
{
    xl__emit_line(m, "#pragma unroll 1");
    open_turn(m, unroll);
    write_number(m);
    xl__emit_line(m, "if (f >= vectors)");
    xl__emit_line(m, "    break;");
    write_where(m);
    xl__map_cut(m);
    close_turn(m);
}

/* Has every item of the group nothing but whole vectors? So they are where
 * rows are made of such, and where the group stays within one row's. */
static void write_if_whole(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    const unsigned last = m->group->n_loops - 1, span = geo->wg * geo->unroll;
    if (m->vw == 1)
        xl__emit_line(m, "if (base + %u <= vectors) {", span);
    else if (last == 0)
        xl__emit_line(m, "if ((base + %u) * %u <= n0) {", span, m->vw);
    else {
        xl__emit_line(m, "if (n%u %% %u == 0 ? base + %u <= vectors", last,
                      m->vw, span);
        xl__emit_line(m, "    : (base - xl_divide(base, per_row, mul_0, "
                         "shift_0) * per_row + %u) * %u <= n%u) {", span,
                      m->vw, last);
    }
}

static void write_neighbours(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    xl__emit_line(m, "const IDX base = (IDX)xl_group_id(0) * %u;",
                  geo->wg * geo->unroll);
    xl__emit_line(m, "const IDX first = base + (IDX)get_local_id(0);");
    write_if_whole(m);
    m->indent++;
    write_whole(m, geo->unroll);
    m->indent--;
    xl__emit_line(m, "} else {");
    m->indent++;
    write_cut(m, geo->unroll);
    m->indent--;
    xl__emit_line(m, "}");
}

/* -- runs of single items -------------------------------------------------- */

/* Vectors c ... stop - 1 of a row, of which the last may be cut. */
static void write_run(struct xl__emit *m)
{
    const unsigned last = m->group->n_loops - 1;
    xl__emit_places(m, 0, last);
    xl__emit_line(m, "for (; c < stop && (c + 1) * %u <= n%u; c++) {", m->vw,
                  last);
    m->indent++;
    xl__emit_line(m, "const IDX i%u = c * %u;", last, m->vw);
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        if (is_loaded(m->group, &m->group->operand[k]))
            xl__emit_ahead(m, k, inner_index(m));
    }
    xl__map_whole(m);
    m->indent--;
    xl__emit_line(m, "}");
    if (m->vw > 1) {
        xl__emit_line(m, "if (c < stop) {");
        m->indent++;
        xl__emit_line(m, "const IDX i%u = c * %u;", last, m->vw);
        xl__map_cut(m);
        m->indent--;
        xl__emit_line(m, "}");
    }
    m->depth = 0;
}

static void write_runs(struct xl__emit *m)
{
    xl__emit_line(m, "IDX f = (IDX)xl_group_id(0) * turns;");
    xl__emit_line(m, "const IDX end = min(f + turns, vectors);");
    if (m->group->n_loops == 1) {
        xl__emit_line(m, "const IDX stop = end;");
        xl__emit_line(m, "IDX c = f;");
        write_run(m);
        return;
    }
    xl__emit_line(m, "while (f < end) {");
    m->indent++;
    write_unravel(m);
    xl__emit_line(m, "IDX c = f - row * per_row;");
    xl__emit_line(m, "const IDX stop = min(per_row, c + (end - f));");
    xl__emit_line(m, "f += stop - c;");
    write_run(m);
    m->indent--;
    xl__emit_line(m, "}");
}

/* -- the kernel ------------------------------------------------------------ */

static void write_own_params(struct xl__emit *m)
{
    xl__emit_line(m, ", const IDX vectors");
    if (m->group->n_loops > 1)
        xl__emit_line(m, ", const IDX per_row, const uint mul_0, "
                         "const uint shift_0");
    for (unsigned d = 1; d + 1 < m->group->n_loops; d++)
        xl__emit_line(m, ", const uint mul_%u, const uint shift_%u", d, d);
    if (m->group->geo.per_wg)
        xl__emit_line(m, ", const IDX turns");
}

void xl__map_text(struct xl__emit *m)
{
    xl__emit_head(m, "expr_map: each element by itself");
    if (m->group->geo.tile && m->group->geo.per_wg)
        xl__emit_line(m, "#include \"expr/transpose.clh\"\n");
    xl__emit_line(m, "__kernel "
                     "__attribute__((reqd_work_group_size(%u, 1, 1)))",
                  m->group->geo.wg);
    xl__emit_line(m, "void expr_map(");
    m->indent += 2;
    xl__emit_params(m);
    if (m->group->geo.tile)
        xl__map_tile_params(m);
    else
        write_own_params(m);
    m->indent -= 2;
    xl__emit_line(m, ")");
    xl__emit_line(m, "{");
    m->indent++;
    if (m->group->geo.tile)
        xl__map_tiles(m);
    else if (m->group->geo.per_wg)
        write_runs(m);
    else
        write_neighbours(m);
    m->indent--;
    xl__emit_line(m, "}");
}
