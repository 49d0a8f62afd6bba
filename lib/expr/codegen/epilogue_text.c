/* SPDX-License-Identifier: Apache-2.0 */
/* The text that takes the place of cl/common/epilogue.clh: functions for one
 * element and for each width that XL_VW may be, of which the preprocessor
 * leaves one. Names at the kernel's level begin with ep, those inside are
 * emit.h's. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/codegen/epilogue.h"
#include "expr/codegen/opencl_ops.h"
#include "expr/graph/print.h"

struct writing {
    struct xl__emit m;
    const struct xl__epilogue *ep;
    unsigned leaf[XL_EPILOGUE_MAX_BINDINGS + 1]; /* by binding; UINT_MAX: it
                                                    is not in the graph */
};

static const struct xl__output *output(const struct writing *w)
{
    return &w->ep->g.output[0];
}

/* -- around the functions -------------------------------------------------- */

/* Names alone: each operand is bound as it is read. */
static void name_all(const struct writing *w, struct xl__signature *s)
{
    *s = (struct xl__signature){.n = w->ep->n + 1};
    for (unsigned k = 0; k < s->n; k++) {
        struct xl__param *b = &s->b[k];
        const unsigned leaf = w->leaf[k];
        xl__strcpy(b->name, sizeof b->name,
                   k < w->ep->n ? w->ep->operand[k].name : "y");
        if (leaf == UINT_MAX)
            continue;
        const struct xl__node *n = &w->m.g->node[leaf];
        b->n_dims = n->shape.n_dims;
        memcpy(b->size, n->shape.size, sizeof b->size);
        memcpy(b->stride, n->stride, sizeof b->stride);
    }
}

static void write_comment(struct writing *w)
{
    struct xl__str *out = w->m.out;
    struct xl__signature s;
    name_all(w, &s);
    xl__str_printf(out, "/* Stores %s of ", xl_dtype_name(w->ep->dtype));
    xl__graph_print(w->m.g, &s, output(w)->node, out);
    xl__str_add(out, "\n");
    for (unsigned k = 0; k < w->ep->n; k++)
        xl__str_printf(out, " *   ep%u: %s %s%s\n", k, s.b[k].name,
                       w->ep->operand[k].is_scalar ? "scalar " : "",
                       xl_dtype_name((xl_dtype)w->ep->operand[k].dtype));
    xl__str_add(out, " */\n");
}

/* How an operand lies has a default, so that the text compiles alone. */
static void write_lies(struct writing *w)
{
    for (unsigned k = 0; k < w->ep->n; k++) {
        if (!w->ep->operand[k].is_scalar)
            xl__str_printf(w->m.out,
                           "#ifndef E%u\n#define E%u 2\n#endif\n"
                           "#ifndef EI%u\n#define EI%u 1\n#endif\n",
                           k, k, k, k);
    }
    xl__str_add(w->m.out,
                "#define XL_EP_AT(k) \\\n"
                "    (ep##k + (ep##k##_at + z * ep##k##_z + \\\n"
                "        (EI##k ? i * ep##k##_i : 0) + \\\n"
                "        (E##k == 0 ? 0 : E##k == 1 ? j : j * ep##k##_j)))\n"
                "#define XL_EP_ALIGNED_ 0\n"
                "#define XL_EP_ALIGNED_A 1\n");
}

static void write_params(struct writing *w)
{
    struct xl__str *out = w->m.out;
    xl__str_add(out, "#define XL_EPILOGUE_PARAMS");
    for (unsigned k = 0; k < w->ep->n; k++) {
        const struct xl__epilogue_name *o = &w->ep->operand[k];
        if (o->is_scalar)
            xl__str_printf(out, " \\\n    , const %s ep%u",
                           xl__spell_elem((xl_dtype)o->dtype), k);
        else
            xl__str_printf(out,
                           " \\\n    , __global const %s *ep%u, "
                           "const ulong ep%u_at, const ulong ep%u_z, \\\n"
                           "    const ulong ep%u_i, const ulong ep%u_j",
                           xl__spell_elem((xl_dtype)o->dtype), k, k, k, k, k);
    }
    xl__str_add(out, "\n#define XL_EPILOGUE_ARGS");
    for (unsigned k = 0; k < w->ep->n; k++)
        xl__str_printf(out,
                       w->ep->operand[k].is_scalar
                           ? " \\\n    , ep%u"
                           : " \\\n    , ep%u, ep%u_at, ep%u_z, ep%u_i, "
                             "ep%u_j",
                       k, k, k, k, k);
    xl__str_add(out, "\n\n");
}

static void write_call(struct writing *w)
{
    xl__str_printf(w->m.out,
                   "#define XL_EPILOGUE_OF(N, y, z, i, j) \\\n"
                   "    XL_CAT(xl_epilogue_of_, N)(y, z, i, j "
                   "XL_EPILOGUE_ARGS)\n"
                   "#define XL_EPILOGUE(N, A, T, p, at, y, z, i, j) \\\n"
                   "    XL_CAT(xl_epilogue_, N)((__global %s *)(p) + (at), "
                   "\\\n"
                   "        XL_CAT(XL_EP_ALIGNED, XL_CAT(_, A)), y, z, i, j "
                   "XL_EPILOGUE_ARGS)\n",
                   xl__spell_elem(w->ep->dtype));
}

/* -- a function ------------------------------------------------------------ */

/* A vector's elements are one value, neighbours, or apart. */
static void write_load(struct writing *w, unsigned k)
{
    struct xl__emit *m = &w->m;
    const unsigned node = w->leaf[k];
    const xl_dtype dtype = (xl_dtype)w->ep->operand[k].dtype;
    const char *elem = xl__spell_elem(dtype), *name = xl_dtype_name(dtype);
    const char *type = xl__emit_type(m->g->node[node].type, m->vw);
    if (w->ep->operand[k].is_scalar) {
        xl__emit_line(m, "const %s v%u = ep%u;", elem, node, k);
        return;
    }
    xl__emit_line(m, "__global const %s *m%u = XL_EP_AT(%u);", elem, k, k);
    if (m->vw == 1) {
        xl__emit_line(m, "const %s v%u = xl_load_%s_1(m%u, 0);", type, node,
                      name, k);
        return;
    }
    xl__emit_line(m, "const %s v%u =", type, node);
    xl__emit_line(m, "    E%u == 0 ? (%s)(%sxl_load_%s_1(m%u, 0))", k, type,
                  dtype == XL_BOOL ? "-" : "", name, k);
    xl__emit_line(m, "    : E%u == 1 ? xl_load_%s_%u(m%u, 0)", k, name, m->vw,
                  k);
    xl__emit_line(m, "    : xl_loads_%s_%u(m%u, 0, ep%u_j);", name, m->vw, k,
                  k);
}

/* What an element is as a value. */
static enum xl__vtype kind_of(xl_dtype dtype)
{
    static const enum xl__vtype kind[XL_N_DTYPES] = {
        [XL_F32] = XL__V_F32, [XL_F16] = XL__V_F32, [XL_BF16] = XL__V_F32,
        [XL_I32] = XL__V_I32, [XL_I8] = XL__V_I32,  [XL_U8] = XL__V_I32,
        [XL_BOOL] = XL__V_BOOL};
    return kind[dtype];
}

static void write_return(struct writing *w)
{
    struct xl__emit *m = &w->m;
    xl__emit_indent(m);
    xl__str_add(m->out, "return ");
    xl__emit_ref_as(m, output(w)->node, m->vw, kind_of(w->ep->dtype));
    xl__str_add(m->out, ";\n");
}

static void write_store(struct writing *w)
{
    struct xl__emit *m = &w->m;
    const xl_dtype dtype = w->ep->dtype;
    const char *name = xl_dtype_name(dtype);
    xl__emit_line(m,
                  "const %s x = xl_epilogue_of_%u(y, z, i, j "
                  "XL_EPILOGUE_ARGS);",
                  xl__emit_type(kind_of(dtype), m->vw), m->vw);
    if (m->vw == 1) {
        xl__emit_line(m, "xl_store_%s_1(p, 0, x);", name);
        return;
    }
    xl__emit_line(m, "if (aligned)");
    xl__emit_line(m, "    xl_storea_%s_%u(p, 0, x);", name, m->vw);
    xl__emit_line(m, "else");
    xl__emit_line(m, "    xl_store_%s_%u(p, 0, x);", name, m->vw);
}

/* Functions are forced into the kernel, where `aligned` and how operands lie
 * are known. */
static void write_value(struct writing *w, unsigned width)
{
    struct xl__emit *m = &w->m;
    const unsigned y = w->leaf[w->ep->n];
    m->vw = width;
    xl__str_printf(m->out,
                   "static inline __attribute__((always_inline)) %s "
                   "xl_epilogue_of_%u(\n"
                   "    const %s y, const ulong z, const ulong i, const "
                   "ulong j XL_EPILOGUE_PARAMS)\n{\n",
                   xl__emit_type(kind_of(w->ep->dtype), width), width,
                   xl__emit_type(XL__V_F32, width));
    m->indent = 1;
    if (y != UINT_MAX)
        xl__emit_line(m, "const %s v%u = y;", xl__emit_type(XL__V_F32, width),
                      y);
    for (unsigned k = 0; k < w->ep->n; k++) {
        if (w->leaf[k] != UINT_MAX)
            write_load(w, k);
    }
    for (unsigned i = 0; i < m->g->n_nodes; i++)
        xl__emit_node(m, i, width);
    write_return(w);
    m->indent = 0;
    xl__str_add(m->out, "}\n");
}

static void write_function(struct writing *w, unsigned width)
{
    struct xl__emit *m = &w->m;
    write_value(w, width);
    xl__str_printf(m->out,
                   "static inline __attribute__((always_inline)) void "
                   "xl_epilogue_%u(\n"
                   "    __global %s *p, const int aligned, const %s y,\n"
                   "    const ulong z, const ulong i, const ulong j "
                   "XL_EPILOGUE_PARAMS)\n{\n",
                   width, xl__spell_elem(w->ep->dtype),
                   xl__emit_type(XL__V_F32, width));
    m->indent = 1;
    write_store(w);
    m->indent = 0;
    xl__str_add(m->out, "}\n");
}

static void write_all(struct writing *w)
{
    write_comment(w);
    xl__emit_includes(&w->m);
    write_lies(w);
    write_params(w);
    write_function(w, 1);
    for (unsigned width = 2; width <= XL__EXPR_MAX_VW; width *= 2) {
        xl__str_printf(w->m.out, "#%sif XL_VW == %u\n",
                       width > 2 ? "el" : "", width);
        write_function(w, width);
    }
    xl__str_add(w->m.out, "#endif\n\n");
    write_call(w);
}

/* -------------------------------------------------------------------------- */

static bool is_leaf(const struct xl__node *n)
{
    return n->op == XL__E_INPUT || n->op == XL__E_SCALAR;
}

/* The group that emit.h wants: each operation by element, no loops' operands.
 */
static bool gather(struct writing *w, struct xl__group *group)
{
    const struct xl__graph *g = w->m.g;
    group->form = XL__FORM_MAP;
    group->n_loops = 1;
    group->value = xl__calloc((size_t)g->n_nodes + 1, sizeof *group->value);
    for (unsigned k = 0; k <= w->ep->n; k++)
        w->leaf[k] = UINT_MAX;
    for (unsigned i = 0; i < g->n_nodes && group->value; i++) {
        if (is_leaf(&g->node[i]))
            w->leaf[g->node[i].binding] = i;
        else if (xl__expr_ops[g->node[i].op].cls == XL__C_MAP)
            group->value[group->n_values++].node = i;
    }
    return group->value != NULL;
}

xl_status xl__epilogue_write(struct xl__epilogue *ep,
                             const struct xl__limits *l)
{
    struct xl__str out = {0};
    struct xl__group group = {0};
    struct writing w = {.m = {.g = &ep->g, .group = &group, .l = l,
                              .out = &out},
                        .ep = ep};
    if (gather(&w, &group))
        write_all(&w);
    ep->flop = 0;
    for (unsigned i = 0; i < group.n_values; i++)
        ep->flop += xl__expr_ops[ep->g.node[group.value[i].node].op].flop;
    ep->text = out.len > 0 ? xl__str_steal(&out) : NULL;
    xl__str_clear(&out);
    free(group.value);
    return ep->text ? XL_OK : XL_NO_MEMORY;
}
