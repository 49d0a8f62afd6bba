/* SPDX-License-Identifier: Apache-2.0 */
/* A node as a line of OpenCL C: the spelling with its arguments in place, each
 * at the width and of the type that is wanted. */
#include "expr/codegen/opencl_ops.h"

/* Of COLUMNS' vectors each element is another row's: all values are wide. */
bool xl__emit_is_row(const struct xl__emit *m, unsigned node)
{
    if (m->group->form == XL__FORM_COLUMNS)
        return false;
    for (unsigned i = 0; i < m->group->n_values; i++) {
        if (m->group->value[i].node == node)
            return m->group->value[i].is_row;
    }
    return false;
}

/* Of the variable that holds the node. */
static unsigned width_of(const struct xl__emit *m, unsigned node)
{
    const enum xl__expr_op op = m->g->node[node].op;
    return op == XL__E_SCALAR || xl__emit_is_row(m, node) ? 1 : m->vw;
}

/* -- references ------------------------------------------------------------ */

/* A bool is 0 or 1 in one element and 0 or -1 in a vector: what is widened or
 * becomes a number has its sign turned where those differ. */
static void variable(struct xl__emit *m, unsigned node, unsigned width)
{
    const enum xl__vtype type = m->g->node[node].type;
    const unsigned own = width_of(m, node);
    const char *minus = type == XL__V_BOOL && own != width &&
                                (own == 1 || width == 1)
                            ? "-"
                            : "";
    if (own == width)
        xl__str_printf(m->out, "v%u", node);
    else if (own == 1)
        xl__str_printf(m->out, "(%s)(%sv%u)", xl__emit_type(type, width),
                       minus, node);
    else
        xl__str_printf(m->out, "(%sv%u.s0)", minus, node);
}

static void number_of(struct xl__emit *m, unsigned node, unsigned width)
{
    const bool is_turned =
        m->g->node[node].type == XL__V_BOOL && width > 1;
    xl__str_add(m->out, is_turned ? "(-" : "");
    variable(m, node, width);
    xl__str_add(m->out, is_turned ? ")" : "");
}

void xl__emit_ref_as(struct xl__emit *m, unsigned node, unsigned width,
                     enum xl__vtype type)
{
    const struct xl__node *n = &m->g->node[node];
    if (n->op == XL__E_CONST) {
        const double value = type == XL__V_BOOL ? n->value != 0 : n->value;
        xl__spell_constant(m->out, value, type, width);
    } else if (n->type == type) {
        variable(m, node, width);
    } else if (type == XL__V_F32) {
        xl__str_printf(m->out, "convert_%s(", xl__emit_type(type, width));
        number_of(m, node, width);
        xl__str_add(m->out, ")");
    } else if (type == XL__V_I32 && n->type == XL__V_BOOL) {
        number_of(m, node, width);
    } else if (type == XL__V_I32) {
        xl__str_printf(m->out, "xl_int_%u(", width);
        variable(m, node, width);
        xl__str_add(m->out, ")");
    } else {
        xl__str_add(m->out, "(");
        variable(m, node, width);
        xl__str_add(m->out, n->type == XL__V_F32 ? " != 0.0f)" : " != 0)");
    }
}

void xl__emit_ref(struct xl__emit *m, unsigned node, unsigned width)
{
    xl__emit_ref_as(m, node, width, m->g->node[node].type);
}

/* -- nodes ----------------------------------------------------------------- */

static void fill_in(struct xl__emit *m, const struct xl__node *n,
                    const char *spelling, unsigned width)
{
    for (const char *c = spelling; *c; c++) {
        if (*c != '$') {
            xl__str_add_n(m->out, c, 1);
            continue;
        }
        c++;
        if (*c == 'n' || (*c == 's' && width > 1))
            xl__str_printf(m->out, "%u", width);
        else if (*c != 's')
            xl__emit_ref_as(m, n->arg[*c - 'a'], width,
                            xl__spell_wanted(m->g, n, (unsigned)(*c - 'a')));
    }
}

/* To memory's precision and back into a register. */
static void cast(struct xl__emit *m, const struct xl__node *n, unsigned width)
{
    static const char *const after[XL_N_DTYPES] = {
        [XL_I8] = ", -128, 127)", [XL_U8] = ", 0, 255)"};
    const bool is_short = n->dtype == XL_F16 || n->dtype == XL_BF16;
    if (is_short)
        xl__str_printf(m->out, "xl_round_%s_%u(", xl_dtype_name(n->dtype),
                       width);
    else if (after[n->dtype])
        xl__str_add(m->out, "clamp(");
    xl__emit_ref_as(m, n->arg[0], width, n->type);
    xl__str_add(m->out, is_short           ? ")"
                        : after[n->dtype] ? after[n->dtype]
                                          : "");
}

void xl__emit_node(struct xl__emit *m, unsigned node, unsigned width)
{
    const struct xl__node *n = &m->g->node[node];
    if (xl__expr_ops[n->op].cls != XL__C_MAP)
        return;
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = ", xl__emit_type(n->type, width),
                   node);
    if (n->op == XL__E_CAST)
        cast(m, n, width);
    else
        fill_in(m, n,
                xl__spell_op(m, n->op,
                             n->op == XL__E_WHERE
                                 ? n->type
                                 : xl__spell_wanted(m->g, n, 0)),
                width);
    xl__str_add(m->out, ";\n");
}
