/* SPDX-License-Identifier: Apache-2.0 */
/* Between memory and registers: which of expr/expr.clh's ways an operand is
 * accessed by follows from its stride along the last loop, its alignment and
 * whether all elements are there. */
#include "expr/codegen/opencl_ops.h"

enum way {
    ONE,     /* a single element */
    SAME,    /* one element for the whole vector */
    WHOLE,   /* neighbours */
    ALIGNED, /* neighbours, at a multiple of the width */
    APART,   /* a stride between them */
    PART     /* the first `count`, by a stride */
};

static unsigned inner_stride(const struct xl__group *group,
                             const struct xl__operand *o)
{
    const size_t stride = o->stride[group->n_loops - 1];
    return stride > 1 ? 2 : (unsigned)stride;
}

static enum way way_of(const struct xl__emit *m, const struct xl__operand *o,
                       unsigned width, const char *count)
{
    const unsigned stride = inner_stride(m->group, o);
    if (width == 1)
        return ONE;
    if (stride == 0 && !o->is_written)
        return SAME;
    if (count)
        return PART;
    if (stride != 1)
        return APART;
    return o->align >= width ? ALIGNED : WHOLE;
}

/* "m3 + o3, p3 + at" */
static void address(struct xl__emit *m, unsigned k, const char *at)
{
    const struct xl__operand *o = &m->group->operand[k];
    const unsigned stride = inner_stride(m->group, o);
    const bool is_first = stride == 0 || xl__streq(at, "0");
    xl__str_printf(m->out, "m%u + o%u, ", k, k);
    xl__emit_place(m, k, m->depth);
    if (is_first)
        return;
    xl__str_printf(m->out, " + %s%s%s", stride > 1 ? "(" : "", at,
                   stride > 1 ? ")" : "");
    if (stride > 1)
        xl__str_printf(m->out, " * s%u_%u", k, m->group->n_loops - 1);
}

/* ", stride" and ", stride, count", as the way wants them. */
static void tail(struct xl__emit *m, unsigned k, enum way way,
                 const char *count)
{
    const unsigned stride = inner_stride(m->group, &m->group->operand[k]);
    if (way != APART && way != PART)
        return;
    if (stride > 1)
        xl__str_printf(m->out, ", s%u_%u", k, m->group->n_loops - 1);
    else
        xl__str_printf(m->out, ", %u", stride);
    if (way == PART)
        xl__str_printf(m->out, ", %s", count);
}

/* -- random numbers -------------------------------------------------------- */

/* By place: neighbours from a multiple of four on share draws. */
static void draw(struct xl__emit *m, unsigned k, const char *at,
                 unsigned width)
{
    enum { WORDS = 4 };
    const struct xl__operand *o = &m->group->operand[k];
    const struct xl__node *n = &m->g->node[o->node];
    const unsigned stride = inner_stride(m->group, o);
    const bool is_block =
        width >= WORDS && stride == 1 && o->align >= WORDS;
    xl__str_printf(m->out, "xl_%s%s_%u(",
                   xl__spell_op(m, n->op, XL__V_F32),
                   is_block ? "_block" : "", width);
    xl__emit_ref_as(m, n->arg[0], 1, XL__V_I32);
    xl__str_printf(m->out, ", o%u + ", k);
    xl__emit_place(m, k, m->depth);
    if (stride > 0 && !xl__streq(at, "0"))
        xl__str_printf(m->out, " + (ulong)(%s)", at);
    if (stride > 1)
        xl__str_printf(m->out, " * s%u_%u", k, m->group->n_loops - 1);
    if (is_block)
        xl__str_add(m->out, ")");
    else if (stride > 1)
        xl__str_printf(m->out, ", s%u_%u)", k, m->group->n_loops - 1);
    else
        xl__str_printf(m->out, ", %u)", stride);
}

/* -- loads and stores ------------------------------------------------------ */

static void read(struct xl__emit *m, unsigned k, const char *at,
                 const char *count, unsigned width)
{
    static const char *const name[] = {[ONE] = "load",      [SAME] = "load",
                                       [WHOLE] = "load",    [ALIGNED] = "loada",
                                       [APART] = "loads",   [PART] = "loadn"};
    const struct xl__operand *o = &m->group->operand[k];
    const enum way way = way_of(m, o, width, count);
    const char *minus = o->dtype == XL_BOOL ? "-" : "";
    if (way == SAME)
        xl__str_printf(m->out, "(%s)(%s",
                       xl__emit_type(m->g->node[o->node].type, width), minus);
    xl__str_printf(m->out, "xl_%s_%s_%u(", name[way], xl_dtype_name(o->dtype),
                   way == SAME ? 1 : width);
    address(m, k, at);
    tail(m, k, way, count);
    xl__str_add(m->out, way == SAME ? "))" : ")");
}

void xl__emit_load(struct xl__emit *m, unsigned operand, const char *at,
                   const char *count)
{
    const struct xl__operand *o = &m->group->operand[operand];
    const unsigned width = xl__emit_is_row(m, o->node) ? 1 : m->vw;
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = ",
                   xl__emit_type(m->g->node[o->node].type, width), o->node);
    if (o->at == XL__AT_INDEX)
        draw(m, operand, at, width);
    else
        read(m, operand, at, count, width);
    xl__str_add(m->out, ";\n");
}

/* What a register holds of such an element. */
static enum xl__vtype register_of(xl_dtype dtype)
{
    if (dtype == XL_BOOL)
        return XL__V_BOOL;
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16
               ? XL__V_F32
               : XL__V_I32;
}

/* One element for each row? A row value may also be stored all along. */
static bool is_of_rows(const struct xl__group *group,
                       const struct xl__operand *o)
{
    for (unsigned d = 0; d < group->n_loops; d++) {
        if (group->loop[d].is_reduced && o->stride[d] != 0)
            return false;
    }
    return true;
}

void xl__emit_store(struct xl__emit *m, unsigned operand, const char *at,
                    const char *count)
{
    static const char *const name[] = {[ONE] = "store",    [WHOLE] = "store",
                                       [ALIGNED] = "storea",
                                       [APART] = "stores", [PART] = "storen"};
    const struct xl__operand *o = &m->group->operand[operand];
    const unsigned width =
        xl__emit_is_row(m, o->node) && is_of_rows(m->group, o) ? 1 : m->vw;
    const enum way way = way_of(m, o, width, count);
    xl__emit_indent(m);
    const bool is_streamed = way == ALIGNED && m->group->geo.is_streamed;
    xl__str_printf(m->out, "xl_%s_%s_%u(", is_streamed ? "storet" : name[way],
                   xl_dtype_name(o->dtype), width);
    address(m, operand, at);
    tail(m, operand, way, count);
    xl__str_add(m->out, ", ");
    xl__emit_ref_as(m, o->node, width, register_of(o->dtype));
    xl__str_add(m->out, ");\n");
}

void xl__emit_ahead(struct xl__emit *m, unsigned operand, const char *at)
{
    enum { AHEAD_BYTES = 4096 };
    const struct xl__operand *o = &m->group->operand[operand];
    if (inner_stride(m->group, o) != 1)
        return;
    xl__emit_indent(m);
    xl__str_printf(m->out, "XL_AHEAD(m%u + o%u + ", operand, operand);
    xl__emit_place(m, operand, m->depth);
    xl__str_printf(m->out, " + %s + %zu);\n", at,
                   AHEAD_BYTES / xl_dtype_bytes(o->dtype));
}

unsigned xl__emit_source(const struct xl__group *group, unsigned node)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (!group->operand[k].is_written && group->operand[k].node == node)
            return k;
    }
    return XL__EXPR_OPERANDS;
}
