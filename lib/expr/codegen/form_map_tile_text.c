/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a MAP group with tiles. bN is where a tile begins along loop
 * N, y an element's place in it across and x along the last loop; tK is the
 * tile of operand K, turned.
 *
 * All of a turned operand's tile is read before any of the tile's results is
 * written, so a result may lie where it was. */
#include "expr/codegen/map.h"
#include "expr/codegen/opencl_ops.h"

static unsigned last_loop(const struct xl__emit *m)
{
    return m->group->n_loops - 1;
}

void xl__tile_close(struct xl__emit *m)
{
    m->depth = 0;
    m->indent--;
    xl__emit_line(m, "}");
}

/* -- where a tile is ------------------------------------------------------- */

static bool has_side(const struct xl__emit *m, unsigned d)
{
    return d == m->group->geo.across || d == last_loop(m);
}

static void write_index(struct xl__emit *m, unsigned d, const char *index)
{
    if (d == last_loop(m) && m->group->geo.per_wg)
        xl__emit_line(m, "const IDX first = %s * %u;", index,
                      m->group->geo.tile * XL__MAP_BLOCKS);
    else if (has_side(m, d))
        xl__emit_line(m, "const IDX b%u = %s * %u;", d, index,
                      m->group->geo.tile);
    else
        xl__emit_line(m, "const IDX i%u = %s;", d, index);
}

/* From a tile's number f to where it begins and the other loops' indices. */
void xl__tile_where(struct xl__emit *m)
{
    static const char *const rests[XL__EXPR_LOOPS] = {"f",  "r1", "r2",
                                                      "r3", "r4", "r5"};
    unsigned order[XL__EXPR_LOOPS];
    xl__map_tile_order(m->group, order);
    for (unsigned i = 0; i < last_loop(m); i++) {
        const unsigned d = order[i];
        const char of = has_side(m, d) ? 'c' : 'n';
        struct xl__str index = {0};
        xl__emit_line(m, "const IDX %s = xl_divide(%s, %c%u, mul_%u, "
                         "shift_%u);",
                      rests[i + 1], rests[i], of, d, d, d);
        xl__str_printf(&index, "(%s - %s * %c%u)", rests[i], rests[i + 1], of,
                       d);
        write_index(m, d, xl__str_text(&index));
        m->out->broken |= index.broken;
        xl__str_clear(&index);
    }
    write_index(m, order[last_loop(m)], rests[last_loop(m)]);
}

/* -- items side by side: tiles in local memory ----------------------------- */

static void declare_local(struct xl__emit *m)
{
    for (unsigned k = 0; k < m->group->n_operands; k++) {
        const struct xl__operand *o = &m->group->operand[k];
        if (xl__map_is_turned(m->group, o))
            xl__emit_line(m, "__local %s t%u[%zu] "
                             "__attribute__((aligned(16)));",
                          xl__spell_elem(o->dtype), k,
                          m->group->geo.tile *
                              xl__map_tile_pitch(m->group, o));
    }
}

/* Past the end of a loop its last element is read once more. */
static void write_reads(struct xl__emit *m)
{
    const struct xl__group *group = m->group;
    const unsigned last = last_loop(m);
    xl__emit_line(m, "const IDX i%u = min(b%u + x + u * %u, n%u - 1);", last,
                  last, group->geo.wg / group->geo.tile, last);
    xl__emit_places(m, 0, last);
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (!xl__map_is_turned(group, &group->operand[k]))
            continue;
        xl__emit_indent(m);
        xl__str_printf(m->out, "a%u[u] = (m%u + o%u)[", k, k, k);
        xl__emit_place(m, k, m->depth);
        xl__str_printf(m->out, " + i%u * s%u_%u];\n", last, k, last);
    }
}

/* Neighbouring items read neighbours across the tile. */
static void write_fill(struct xl__emit *m)
{
    const struct xl__group *group = m->group;
    const unsigned across = group->geo.across, tile = group->geo.tile;
    const unsigned turns = tile * tile / group->geo.wg;
    xl__emit_line(m, "{");
    m->indent++;
    xl__emit_line(m, "const uint y = item %% %u, x = item / %u;", tile, tile);
    xl__emit_line(m, "const IDX i%u = min(b%u + y, n%u - 1);", across, across,
                  across);
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (xl__map_is_turned(group, &group->operand[k]))
            xl__emit_line(m, "%s a%u[%u];",
                          xl__spell_elem(group->operand[k].dtype), k, turns);
    }
    xl__emit_line(m, "#pragma unroll");
    xl__emit_line(m, "for (uint u = 0; u < %u; u++) {", turns);
    m->indent++;
    write_reads(m);
    xl__tile_close(m);
    xl__emit_line(m, "#pragma unroll");
    xl__emit_line(m, "for (uint u = 0; u < %u; u++) {", turns);
    m->indent++;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (xl__map_is_turned(group, o))
            xl__emit_line(m, "t%u[y * %zu + x + u * %u] = a%u[u];", k,
                          xl__map_tile_pitch(group, o),
                          group->geo.wg / tile, k);
    }
    xl__tile_close(m);
    xl__tile_close(m);
}

static void write_item_place(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    const unsigned per_line = geo->tile / geo->vw;
    xl__emit_line(m, "const uint e = item + (r + u) * %u;", geo->wg);
    xl__emit_line(m, "const uint y = e / %u, x = e %% %u * %u;", per_line,
                  per_line, geo->vw);
    xl__emit_line(m, "const IDX i%u = b%u + y;", geo->across, geo->across);
    xl__emit_line(m, "const IDX i%u = b%u + x;", last_loop(m), last_loop(m));
    xl__emit_places(m, 0, last_loop(m));
}

static void write_whole(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    const unsigned vectors = geo->tile * geo->tile / geo->vw / geo->wg;
    xl__emit_line(m, "for (uint r = 0; r < %u; r += %u) {", vectors,
                  geo->unroll);
    m->indent++;
    xl__map_ahead(m, geo->unroll, write_item_place);
    xl__tile_close(m);
}

static void write_cut(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    const unsigned vectors = geo->tile * geo->tile / geo->vw / geo->wg;
    xl__emit_line(m, "const uint u = 0;");
    xl__emit_line(m, "#pragma unroll 1");
    xl__emit_line(m, "for (uint r = 0; r < %u; r++) {", vectors);
    m->indent++;
    write_item_place(m);
    xl__emit_line(m, "if (i%u < n%u && i%u < n%u) {", geo->across,
                  geo->across, last_loop(m), last_loop(m));
    m->indent++;
    xl__map_cut(m);
    xl__tile_close(m);
    xl__tile_close(m);
}

void xl__tile_if_whole(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    xl__emit_line(m, "if (b%u + %u <= n%u && b%u + %u <= n%u) {", geo->across,
                  geo->tile, geo->across, last_loop(m), geo->tile,
                  last_loop(m));
    m->indent++;
}

void xl__tile_else(struct xl__emit *m)
{
    m->indent--;
    xl__emit_line(m, "} else {");
    m->indent++;
}

static void write_group(struct xl__emit *m)
{
    declare_local(m);
    xl__emit_line(m, "const uint item = get_local_id(0);");
    xl__emit_line(m, "const IDX f = (IDX)xl_group_id(0);");
    xl__tile_where(m);
    write_fill(m);
    xl__emit_line(m, "barrier(CLK_LOCAL_MEM_FENCE);");
    xl__tile_if_whole(m);
    write_whole(m);
    xl__tile_else(m);
    write_cut(m);
    xl__tile_close(m);
}

/* -- the kernel ------------------------------------------------------------ */

void xl__map_take(struct xl__emit *m, unsigned operand)
{
    const struct xl__group *group = m->group;
    const struct xl__operand *o = &group->operand[operand];
    const char *elem = xl__spell_elem(o->dtype);
    const size_t pitch = xl__map_tile_pitch(group, o);
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = xl_from_%s_%u(",
                   xl__emit_type(m->g->node[o->node].type, m->vw), o->node,
                   xl_dtype_name(o->dtype), m->vw);
    if (group->geo.per_wg)
        xl__str_printf(m->out, "t%u[y]);\n", operand);
    else if (m->vw == 1)
        xl__str_printf(m->out, "t%u[y * %zu + x]);\n", operand, pitch);
    else
        xl__str_printf(m->out,
                       "*(__local const %s%u *)(t%u + y * %zu + x));\n", elem,
                       m->vw, operand, pitch);
}

void xl__map_tile_params(struct xl__emit *m)
{
    unsigned order[XL__EXPR_LOOPS];
    xl__map_tile_order(m->group, order);
    for (unsigned i = 0; i < last_loop(m); i++) {
        const unsigned d = order[i];
        xl__emit_indent(m);
        if (has_side(m, d))
            xl__str_printf(m->out, ", const IDX c%u", d);
        xl__str_printf(m->out, ", const uint mul_%u, const uint shift_%u\n",
                       d, d);
    }
    if (m->group->geo.per_wg)
        xl__emit_line(m, ", const IDX tiles, const IDX turns");
}

void xl__map_tiles(struct xl__emit *m)
{
    if (m->group->geo.per_wg)
        xl__tile_run(m);
    else
        write_group(m);
}
