/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a CPU's item: blocks of one vector by as many, turned in registers,
 * a few side by side. tK holds the lines of such a block, bN, y and the rest
 * are as in form_map_tile_text.c. */
#include "expr/codegen/map.h"
#include "expr/codegen/opencl_ops.h"

static void write_turns(struct xl__emit *m, bool is_cut)
{
    const struct xl__group *group = m->group;
    const unsigned last = m->group->n_loops - 1, across = group->geo.across;
    xl__emit_line(m, "{");
    m->indent++;
    xl__emit_line(m, "const IDX i%u = b%u;", across, across);
    xl__emit_places(m, 0, last);
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!xl__map_is_turned(group, o))
            continue;
        xl__emit_indent(m);
        xl__str_printf(m->out, "xl_turn%s_%s_%u(t%u, m%u + o%u, ",
                       is_cut ? "n" : "", xl__spell_elem(o->dtype), m->vw, k,
                       k, k);
        xl__emit_place(m, k, m->depth);
        xl__str_printf(m->out, " + b%u * s%u_%u, s%u_%u%s);\n", last, k, last,
                       k, last, is_cut ? ", lines, count" : "");
    }
    xl__tile_close(m);
}

/* What the tiles that follow touch along the last loop lies in other lines,
 * mostly in other pages: it is announced, as no hardware foresees it. */
static void write_next_lines(struct xl__emit *m)
{
    enum { AHEAD_TILES = 2 };
    const struct xl__group *group = m->group;
    const unsigned last = group->n_loops - 1;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (o->at == XL__AT_INDEX || o->stride[last] != 1 ||
            o->stride[group->geo.across] == 0)
            continue;
        xl__emit_indent(m);
        xl__str_printf(m->out, "XL_AHEAD(m%u + o%u + ", k, k);
        xl__emit_place(m, k, m->depth);
        xl__str_printf(m->out, " + i%u + %u * s%u_%u);\n", last,
                       AHEAD_TILES * m->vw, k, group->geo.across);
    }
}

static void write_lines(struct xl__emit *m, const char *lines, bool is_cut)
{
    const unsigned last = m->group->n_loops - 1;
    const unsigned across = m->group->geo.across;
    xl__emit_line(m, "for (uint y = 0; y < %s; y++) {", lines);
    m->indent++;
    xl__emit_line(m, "const IDX i%u = b%u + y, i%u = b%u;", across, across,
                  last, last);
    xl__emit_places(m, 0, last);
    if (is_cut) {
        xl__map_cut(m);
    } else {
        write_next_lines(m);
        xl__map_whole(m);
    }
    xl__tile_close(m);
}

static void write_block(struct xl__emit *m)
{
    const unsigned last = m->group->n_loops - 1, across = m->group->geo.across;
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (xl__map_is_turned(m->group, o))
            xl__emit_line(m, "%s%u t%u[%u];", xl__spell_elem(o->dtype), m->vw,
                          k, m->vw);
    }
    xl__tile_if_whole(m);
    write_turns(m, false);
    write_lines(m, "XL_VW", false);
    xl__tile_else(m);
    xl__emit_line(m, "const uint lines = (uint)min(n%u - b%u, (IDX)%u);",
                  across, across, m->vw);
    xl__emit_line(m, "const uint count = (uint)min(n%u - b%u, (IDX)%u);",
                  last, last, m->vw);
    write_turns(m, true);
    write_lines(m, "lines", true);
    xl__tile_close(m);
}

void xl__tile_run(struct xl__emit *m)
{
    const unsigned last = m->group->n_loops - 1;
    xl__emit_line(m, "const IDX begin = (IDX)xl_group_id(0) * turns;");
    xl__emit_line(m, "const IDX end = min(begin + turns, tiles);");
    xl__emit_line(m, "for (IDX f = begin; f < end; f++) {");
    m->indent++;
    xl__tile_where(m);
    xl__emit_line(m, "for (IDX b%u = first; b%u < min(first + %u, n%u); "
                     "b%u += %u) {",
                  last, last, m->vw * XL__MAP_BLOCKS, last, last, m->vw);
    m->indent++;
    write_block(m);
    xl__tile_close(m);
    xl__tile_close(m);
}
