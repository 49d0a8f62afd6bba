/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C text for nodes and operands: parameters and arguments, element
 * indices, loads and stores, and nodes as statements.
 *
 * The parameters of a kernel and the arguments of its launch are one list,
 * visited by one function (visit_params) with three visitors: one writes the
 * parameter, one appends the argument, one counts. So their order and number
 * cannot differ.
 *
 * How an operand is accessed follows from its stride along the last loop, its
 * alignment, and whether all elements of the vector exist (enum access). A
 * node's text comes from the templates of opencl_ops.c, with each argument
 * written at the width and type that the operation requires. */
#include "expr/codegen/opencl.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/opencl_ops.h"

static const unsigned slot_of_first_binding = 1;

/* -- lines ---------------------------------------------------------------- */

void xl__emit_indent(struct xl__emit *m)
{
    for (unsigned i = 0; i < m->indent; i++)
        xl__str_add(m->out, "    ");
}

void xl__emit_line(struct xl__emit *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    xl__emit_indent(m);
    xl__str_vprintf(m->out, fmt, args);
    xl__str_add(m->out, "\n");
    va_end(args);
}

void xl__emit_macro(struct xl__emit *m, const char *name,
                    void (*body)(struct xl__emit *m))
{
    struct xl__str text = {0}, *out = m->out;
    const unsigned depth = m->depth;
    m->out = &text;
    body(m);
    m->out = out;
    m->depth = depth;
    xl__str_printf(out, "#define %s", name);
    for (const char *line = xl__str_text(&text); *line;) {
        const char *end = strchr(line, '\n');
        xl__str_add(out, " \\\n    ");
        xl__str_add_n(out, line, (size_t)(end - line));
        line = end + 1;
    }
    xl__str_add(out, "\n");
    out->broken |= text.broken;
    xl__str_clear(&text);
}

const char *xl__emit_type(const struct xl__graph *g, enum xl__vtype type,
                          unsigned width)
{
    static const char *const floats[] = {"float", "float2", "float4", "float8",
                                         "float16"};
    static const char *const ints[] = {"int", "int2", "int4", "int8", "int16"};
    unsigned i = 0;
    while (1u << i < width)
        i++;
    if (type == XL__V_F32)
        return g->is_double ? "double" : floats[i];
    return type == XL__V_I32 && g->is_long ? "long" : ints[i];
}

/* -- the list of parameters ----------------------------------------------- */

enum param_kind {
    MEMORY,
    OFFSET,
    STRIDE,
    GATHER_SIZE,
    GATHER_STRIDE,
    SIZE,
    SCALAR
};

/* One parameter: of operand k, of its stride along loop d, of its axis that is
 * gathered, of the size of loop d, or of the scalar `node`. */
struct param {
    enum param_kind kind;
    unsigned k, d, node;
};

typedef void (*param_visitor)(void *arg, const struct param *p);

/* Does the operand have a parameter for its stride along loop d? */
static bool has_stride(const struct xl__group *group,
                       const struct xl__operand *o, unsigned d)
{
    return o->stride[d] != 0 &&
           !(d == group->n_loops - 1 && o->stride[d] == 1);
}

static void visit_operand_params(const struct xl__group *group, unsigned k,
                                 param_visitor each, void *arg)
{
    const struct xl__operand *o = &group->operand[k];
    struct param p = {.k = k};
    if (o->at != XL__AT_INDEX) {
        p.kind = MEMORY;
        each(arg, &p);
    }
    p.kind = OFFSET;
    each(arg, &p);
    p.kind = STRIDE;
    for (p.d = 0; p.d < group->n_loops; p.d++) {
        if (has_stride(group, o, p.d))
            each(arg, &p);
    }
    for (unsigned i = 0; o->gather_size > 0 && i < 2; i++) {
        p.kind = i == 0 ? GATHER_SIZE : GATHER_STRIDE;
        each(arg, &p);
    }
}

/* Is the scalar an argument of a value of the group, or stored by it? */
static bool is_scalar_used(const struct xl__graph *g,
                           const struct xl__group *group, unsigned scalar)
{
    for (unsigned i = 0; i < group->n_values; i++) {
        const struct xl__node *n = &g->node[group->value[i].node];
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++) {
            if (n->arg[a] == scalar)
                return true;
        }
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (group->operand[k].node == scalar)
            return true;
    }
    return false;
}

/* Visit all parameters in order: operands, sizes of loops, scalars. */
static void visit_params(const struct xl__graph *g,
                         const struct xl__group *group, param_visitor each,
                         void *arg)
{
    struct param p = {.kind = SIZE};
    for (unsigned k = 0; k < group->n_operands; k++)
        visit_operand_params(group, k, each, arg);
    for (p.d = 0; p.d < group->n_loops; p.d++)
        each(arg, &p);
    p.kind = SCALAR;
    for (p.node = 0; p.node < g->n_nodes; p.node++) {
        if (g->node[p.node].op == XL__E_SCALAR &&
            is_scalar_used(g, group, p.node))
            each(arg, &p);
    }
}

/* -- as text -------------------------------------------------------------- */

struct param_text {
    struct xl__emit *m;
    unsigned n;
};

/* The parameters of an operand are on one line, and so are all sizes. */
static bool starts_line(const struct xl__group *group, const struct param *p)
{
    return p->kind == MEMORY || p->kind == SCALAR ||
           (p->kind == SIZE && p->d == 0) ||
           (p->kind == OFFSET && group->operand[p->k].at == XL__AT_INDEX);
}

static void write_param(void *arg, const struct param *p)
{
    struct param_text *w = arg;
    struct xl__emit *m = w->m;
    const struct xl__operand *o = &m->group->operand[p->k];
    const bool is_new = starts_line(m->group, p);
    xl__str_add(m->out, w->n++ == 0 ? "" : is_new ? ",\n" : ", ");
    if (is_new)
        xl__emit_indent(m);
    switch (p->kind) {
    case MEMORY:
        xl__str_printf(m->out, "__global %s%s *m%u",
                       o->is_written ? "" : "const ",
                       xl__opencl_elem_type(o->dtype), p->k);
        break;
    case OFFSET:
        xl__str_printf(m->out, "const ulong o%u", p->k);
        break;
    case STRIDE:
        xl__str_printf(m->out, "const IDX s%u_%u", p->k, p->d);
        break;
    case GATHER_SIZE:
        xl__str_printf(m->out, "const IDX gn%u", p->k);
        break;
    case GATHER_STRIDE:
        xl__str_printf(m->out, "const IDX gs%u", p->k);
        break;
    case SIZE:
        xl__str_printf(m->out, "const IDX n%u", p->d);
        break;
    case SCALAR:
        xl__str_printf(m->out, "const %s v%u",
                       xl__emit_type(m->g, m->g->node[p->node].type, 1),
                       p->node);
        break;
    }
}

void xl__emit_params(struct xl__emit *m)
{
    struct param_text w = {m, 0};
    visit_params(m->g, m->group, write_param, &w);
    xl__str_add(m->out, "\n");
}

/* -- as arguments --------------------------------------------------------- */

struct param_setting {
    const struct xl__emit *m;
    const struct xl__schedule *s;
    struct xl__step *step;
};

static void set_index_arg(struct param_setting *t, size_t value)
{
    if (t->m->group->geo.is_wide)
        xl__arg_u64(t->step, value);
    else
        xl__arg_u32(t->step, value);
}

/* The offset of element 0. That of a binding is added at each call, since it
 * changes from call to call; that of a temporary is fixed by the plan. */
static void set_offset_arg(struct param_setting *t,
                           const struct xl__operand *o)
{
    size_t offset = o->offset;
    if (o->at == XL__AT_BINDING) {
        xl__arg_value_u64(t->step, slot_of_first_binding + o->index);
        t->step->args[t->step->n_args - 1].as.u = offset;
        return;
    }
    if (o->at == XL__AT_TEMP)
        offset += t->s->temp[o->index].offset / xl_dtype_bytes(o->dtype);
    xl__arg_u64(t->step, offset);
}

static void set_scalar_arg(struct param_setting *t, const struct xl__node *n)
{
    const unsigned slot = slot_of_first_binding + n->binding;
    if (n->type == XL__V_F32 && t->m->g->is_double)
        xl__arg_value_f64(t->step, slot);
    else if (n->type == XL__V_F32)
        xl__arg_value_f32(t->step, slot);
    else if (t->m->g->is_long)
        xl__arg_value_i64(t->step, slot);
    else
        xl__arg_value_i32(t->step, slot);
}

static void set_argument(void *arg, const struct param *p)
{
    struct param_setting *t = arg;
    const struct xl__operand *o = &t->m->group->operand[p->k];
    switch (p->kind) {
    case MEMORY:
        xl__arg_mem(t->step, o->at == XL__AT_TEMP
                                 ? (unsigned)XL__MEM_SCRATCH
                                 : slot_of_first_binding + o->index);
        break;
    case OFFSET:
        set_offset_arg(t, o);
        break;
    case STRIDE:
        set_index_arg(t, o->stride[p->d]);
        break;
    case GATHER_SIZE:
        set_index_arg(t, o->gather_size);
        break;
    case GATHER_STRIDE:
        set_index_arg(t, o->gather_stride);
        break;
    case SIZE:
        set_index_arg(t, t->m->group->loop[p->d].size);
        break;
    case SCALAR:
        set_scalar_arg(t, &t->m->g->node[p->node]);
        break;
    }
}

void xl__emit_step(const struct xl__emit *m, const struct xl__schedule *s,
                   struct xl__step *step, const char *kernel, size_t n_groups)
{
    struct param_setting t = {m, s, step};
    step->source = kernel;
    step->kernel = kernel;
    step->text = xl__str_text(m->out);
    step->dims = 1;
    step->local[0] = m->group->geo.wg;
    step->global[0] = n_groups * m->group->geo.wg;
    step->slice_dim = 0;
    visit_params(m->g, m->group, set_argument, &t);
}

void xl__emit_arg_index(const struct xl__group *group, struct xl__step *step,
                        size_t value)
{
    if (group->geo.is_wide)
        xl__arg_u64(step, value);
    else
        xl__arg_u32(step, value);
}

static void count_param(void *arg, const struct param *p)
{
    (void)p;
    ++*(unsigned *)arg;
}

unsigned xl__emit_n_args(const struct xl__graph *g,
                         const struct xl__group *group)
{
    unsigned n = 0;
    visit_params(g, group, count_param, &n);
    return n;
}

/* -- element indices ------------------------------------------------------ */

/* Append the name of operand k's index at a depth: "p3", "p3_2". */
static void add_index(const struct xl__emit *m, unsigned k, unsigned depth)
{
    if (depth <= 1)
        xl__str_printf(m->out, "p%u", k);
    else
        xl__str_printf(m->out, "p%u_%u", k, depth);
}

/* Write the definition of operand k's index over the loops [first, last). */
static void write_index(struct xl__emit *m, unsigned k, unsigned first,
                        unsigned last)
{
    const struct xl__operand *o = &m->group->operand[k];
    const char *plus = "";
    xl__emit_indent(m);
    xl__str_add(m->out, "const IDX ");
    add_index(m, k, m->depth);
    xl__str_add(m->out, " = ");
    if (m->depth > 1) {
        add_index(m, k, m->depth - 1);
        plus = " + ";
    }
    for (unsigned d = first; d < last; d++) {
        if (o->stride[d] == 0)
            continue;
        xl__str_printf(m->out, "%si%u", plus, d);
        if (has_stride(m->group, o, d))
            xl__str_printf(m->out, " * s%u_%u", k, d);
        plus = " + ";
    }
    xl__str_add(m->out, *plus ? ";\n" : "0;\n");
}

void xl__emit_indices(struct xl__emit *m, unsigned first, unsigned last)
{
    m->depth++;
    for (unsigned k = 0; k < m->group->n_operands; k++)
        write_index(m, k, first, last);
}

/* The largest element index into an operand. A double, since it may exceed
 * SIZE_MAX. */
static double max_index(const struct xl__group *group,
                        const struct xl__operand *o)
{
    double far = 0;
    for (unsigned d = 0; d < group->n_loops; d++)
        far += (double)o->stride[d] * (double)(group->loop[d].size - 1);
    if (o->gather_size > 0)
        far += fmax((double)o->gather_stride, 1) * (double)o->gather_size;
    return far;
}

bool xl__emit_is_wide(const struct xl__group *group)
{
    /* 2^31, less the elements by which the last work-group exceeds a loop. */
    static const double most = 2147483648.0 - 65536;
    double count = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        count *= (double)group->loop[d].size;
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (max_index(group, &group->operand[k]) > most)
            return true;
    }
    return count > most;
}

/* -- head ----------------------------------------------------------------- */

/* One line of the comment at the head: the operand's type, node and strides.
 */
static void describe_operand(struct xl__emit *m, unsigned k)
{
    const struct xl__group *group = m->group;
    const struct xl__operand *o = &group->operand[k];
    if (o->at == XL__AT_INDEX)
        xl__str_printf(m->out, " *   place %u: of v%u;", k, o->node);
    else
        xl__str_printf(m->out, " *   m%u: %s, %s v%u;", k,
                       xl_dtype_name(o->dtype),
                       o->is_written ? "takes" : "gives", o->node);
    for (unsigned d = 0; d < group->n_loops; d++) {
        if (has_stride(group, o, d))
            xl__str_printf(m->out, " s%u_%u", k, d);
        else
            xl__str_add(m->out, o->stride[d] ? " 1" : " 0");
    }
    if (o->gather_size > 0)
        xl__str_printf(m->out, " and gs%u by index", k);
    xl__str_add(m->out, "\n");
}

void xl__emit_includes(struct xl__emit *m)
{
    const unsigned uses = xl__opencl_uses(m);
    if (uses & XL__USES_MATH)
        xl__str_printf(m->out, "#define XL_OWN_MATH %d\n",
                       xl__is_vector_cpu(m->l));
    if (m->g->is_double)
        xl__str_add(m->out, "#define XL_USE_F64 1\n#define XL_REAL_F64 1\n");
    if (m->g->is_long)
        xl__str_add(m->out, "#define XL_INTEGER_I64 1\n");
    xl__str_add(m->out,
                "#include \"common/types.clh\"\n#include \"expr/expr.clh\"\n");
    if (uses & XL__USES_MATH)
        xl__str_add(m->out, "#include \"expr/math.clh\"\n");
    if (uses & XL__USES_GATHER)
        xl__str_add(m->out, "#include \"expr/gather.clh\"\n");
    if (uses & XL__USES_RANDOM)
        xl__str_add(m->out, "#include \"expr/random.clh\"\n");
    xl__str_add(m->out, "\n");
}

void xl__emit_header(struct xl__emit *m, const char *what)
{
    const struct xl__group *group = m->group;
    xl__str_printf(m->out, "/* %s\n *\n * Operands, with their strides:\n",
                   what);
    for (unsigned k = 0; k < group->n_operands; k++)
        describe_operand(m, k);
    xl__str_printf(m->out, " */\n#define XL_WIDE %d\n#define XL_VW %u\n",
                   group->geo.is_wide, m->vw);
    xl__emit_includes(m);
}

/* Is the node a row value, one for all elements of a vector? False for
 * constants and scalars, and for all values of the form COLUMNS, in whose
 * vectors each element belongs to another row. */
static bool is_row_value(const struct xl__emit *m, unsigned node)
{
    if (m->group->form == XL__FORM_COLUMNS)
        return false;
    for (unsigned i = 0; i < m->group->n_values; i++) {
        if (m->group->value[i].node == node)
            return m->group->value[i].is_row;
    }
    return false;
}

/* The width of the variable that holds a node. */
static unsigned variable_width(const struct xl__emit *m, unsigned node)
{
    const enum xl__expr_op op = m->g->node[node].op;
    return op == XL__E_SCALAR || is_row_value(m, node) ? 1 : m->vw;
}

/* -- references ----------------------------------------------------------- */

/* Append a node's variable at a width: broadcast to a vector, or element 0 of
 * one. A bool is 0 or 1 in a scalar and 0 or -1 in a vector, so it is negated
 * between the two. */
static void write_variable(struct xl__emit *m, unsigned node, unsigned width)
{
    const enum xl__vtype type = m->g->node[node].type;
    const unsigned own = variable_width(m, node);
    const char *minus =
        type == XL__V_BOOL && own != width && (own == 1 || width == 1) ? "-"
                                                                       : "";
    if (own == width)
        xl__str_printf(m->out, "v%u", node);
    else if (own == 1)
        xl__str_printf(m->out, "(%s)(%sv%u)", xl__emit_type(m->g, type, width),
                       minus, node);
    else
        xl__str_printf(m->out, "(%sv%u.s0)", minus, node);
}

/* Append a variable as a number: a bool vector is negated to 0 and 1. */
static void write_bool_number(struct xl__emit *m, unsigned node,
                              unsigned width)
{
    const bool is_negated = m->g->node[node].type == XL__V_BOOL && width > 1;
    xl__str_add(m->out, is_negated ? "(-" : "");
    write_variable(m, node, width);
    xl__str_add(m->out, is_negated ? ")" : "");
}

void xl__emit_ref_as(struct xl__emit *m, unsigned node, unsigned width,
                     enum xl__vtype type)
{
    const struct xl__node *n = &m->g->node[node];
    if (n->op == XL__E_CONST) {
        const double value = type == XL__V_BOOL ? n->value != 0 : n->value;
        xl__opencl_constant(m, value, type, width);
    } else if (n->type == type) {
        write_variable(m, node, width);
    } else if (type == XL__V_F32) {
        xl__str_printf(m->out, "convert_%s(",
                       xl__emit_type(m->g, type, width));
        write_bool_number(m, node, width);
        xl__str_add(m->out, ")");
    } else if (type == XL__V_I32 && n->type == XL__V_BOOL) {
        xl__str_add(m->out, m->g->is_long ? "(long)" : "");
        write_bool_number(m, node, width);
    } else if (type == XL__V_I32) {
        xl__str_printf(m->out, "xl_int_%u(", width);
        write_variable(m, node, width);
        xl__str_add(m->out, ")");
    } else {
        xl__str_add(m->out, "(");
        write_variable(m, node, width);
        xl__str_add(m->out, n->type == XL__V_F32 ? " != 0.0f)" : " != 0)");
    }
}

/* -- nodes ---------------------------------------------------------------- */

/* Append a template of opencl_ops.c with the node's arguments in place of $a,
 * $b and $c, the type of integers in place of $i and the end of their
 * constants in place of $l. */
static void write_template(struct xl__emit *m, const struct xl__node *n,
                           const char *spelling, unsigned width)
{
    for (const char *c = spelling; *c; c++) {
        if (*c != '$') {
            xl__str_add_n(m->out, c, 1);
            continue;
        }
        c++;
        if (*c == 'i')
            xl__str_add(m->out, m->g->is_long ? "long" : "int");
        else if (*c == 'l')
            xl__str_add(m->out, m->g->is_long ? "L" : "");
        else if (*c == 'n' || (*c == 's' && width > 1))
            xl__str_printf(m->out, "%u", width);
        else if (*c != 's')
            xl__emit_ref_as(
                m, n->arg[*c - 'a'], width,
                xl__opencl_arg_type(m->g, n, (unsigned)(*c - 'a')));
    }
}

/* Append cast(): round to the precision of the dtype in memory, or saturate to
 * its range, and keep the result in a register. */
static void write_cast(struct xl__emit *m, const struct xl__node *n,
                       unsigned width)
{
    static const struct {
        const char *least, *most;
    } range[XL_N_DTYPES] = {[XL_I8] = {"-128", "127"},
                            [XL_U8] = {"0", "255"},
                            [XL_U16] = {"0", "65535"},
                            [XL_I32] = {"-2147483648", "2147483647"},
                            [XL_U32] = {"0", "4294967295"}};
    const bool is_clamped =
        range[n->dtype].least && n->dtype != xl__wide_dtype(m->g, n->type);
    const char *suffix = m->g->is_long ? "L" : "";
    const bool is_short = n->dtype == XL_F16 || n->dtype == XL_BF16;
    if (m->g->is_double && n->dtype == XL_F32)
        xl__str_add(m->out, "(float)");
    if (is_short)
        xl__str_printf(m->out, "xl_round_%s_%u(", xl_dtype_name(n->dtype),
                       width);
    else if (is_clamped)
        xl__str_add(m->out, "clamp(");
    xl__emit_ref_as(m, n->arg[0], width, n->type);
    if (is_clamped)
        xl__str_printf(m->out, ", %s%s, %s%s", range[n->dtype].least, suffix,
                       range[n->dtype].most, suffix);
    xl__str_add(m->out, is_short || is_clamped ? ")" : "");
}

/* On CPUs: is it the quotient of elements by a value of the row that is at
 * least some normal number? Then one reciprocal for the row replaces the
 * divisions; its error and that of the product are within the 2.5 ulp of a
 * quotient. Softmax divides so. */
static bool is_by_reciprocal(const struct xl__emit *m,
                             const struct xl__node *n, unsigned width)
{
    static const double least = 0x1p-100, most = 0x1p100;
    const struct xl__node *by = &m->g->node[n->arg[1]];
    if (n->op != XL__E_DIV || by->op != XL__E_MAX || width == 1 ||
        n->type != XL__V_F32 || !m->l || !xl__is_vector_cpu(m->l) ||
        !is_row_value(m, n->arg[1]))
        return false;
    for (unsigned a = 0; a < 2; a++) {
        const struct xl__node *c = &m->g->node[by->arg[a]];
        if (c->op == XL__E_CONST && c->value >= least && c->value <= most)
            return true;
    }
    return false;
}

void xl__emit_node(struct xl__emit *m, unsigned node, unsigned width)
{
    const struct xl__node *n = &m->g->node[node];
    if (xl__expr_ops[n->op].cls != XL__C_MAP)
        return;
    xl__emit_indent(m);
    xl__str_printf(
        m->out, "const %s v%u = ", xl__emit_type(m->g, n->type, width), node);
    if (n->op == XL__E_CAST)
        write_cast(m, n, width);
    else if (is_by_reciprocal(m, n, width))
        write_template(m, n, "$a * (1.0f / $b)", width);
    else
        write_template(m, n,
                       xl__opencl_op(m, n->op,
                                     n->op == XL__E_WHERE
                                         ? n->type
                                         : xl__opencl_arg_type(m->g, n, 0)),
                       width);
    xl__str_add(m->out, ";\n");
}

enum access {
    ELEMENT,    /* a single element */
    BROADCAST,  /* one element for the whole vector */
    CONTIGUOUS, /* adjacent elements */
    ALIGNED,    /* adjacent elements, at a multiple of the width */
    STRIDED,    /* elements with a stride between them */
    PARTIAL     /* only the first `count` of a vector, with a stride */
};

/* The stride along the last loop: 0, 1, or 2 for any other. */
static unsigned inner_stride(const struct xl__group *group,
                             const struct xl__operand *o)
{
    const size_t stride = o->stride[group->n_loops - 1];
    return stride > 1 ? 2 : (unsigned)stride;
}

/* The kind of access by width, stride, alignment and count. */
static enum access access_of(const struct xl__emit *m,
                             const struct xl__operand *o, unsigned width,
                             const char *count)
{
    const unsigned stride = inner_stride(m->group, o);
    if (width == 1)
        return ELEMENT;
    if (stride == 0 && !o->is_written)
        return BROADCAST;
    if (count)
        return PARTIAL;
    if (stride != 1)
        return STRIDED;
    return o->align >= width ? ALIGNED : CONTIGUOUS;
}

/* Append the address arguments of a load or store: "m3 + o3, p3 + at". */
static void write_address(struct xl__emit *m, unsigned k, const char *at)
{
    const struct xl__operand *o = &m->group->operand[k];
    const unsigned stride = inner_stride(m->group, o);
    const bool is_first = stride == 0 || xl__streq(at, "0");
    xl__str_printf(m->out, "m%u + o%u, ", k, k);
    add_index(m, k, m->depth);
    if (is_first)
        return;
    xl__str_printf(m->out, " + %s%s%s", stride > 1 ? "(" : "", at,
                   stride > 1 ? ")" : "");
    if (stride > 1)
        xl__str_printf(m->out, " * s%u_%u", k, m->group->n_loops - 1);
}

/* Append ", stride" or ", stride, count" if the access has these arguments. */
static void write_access_args(struct xl__emit *m, unsigned k,
                              enum access access, const char *count)
{
    const unsigned stride = inner_stride(m->group, &m->group->operand[k]);
    if (access != STRIDED && access != PARTIAL)
        return;
    if (stride > 1)
        xl__str_printf(m->out, ", s%u_%u", k, m->group->n_loops - 1);
    else
        xl__str_printf(m->out, ", %u", stride);
    if (access == PARTIAL)
        xl__str_printf(m->out, ", %s", count);
}

/* -- random numbers and indices ------------------------------------------- */

/* Append a call that gives random numbers by element index, or the index. Four
 * adjacent elements from a multiple of four on share one evaluation of the
 * generator (cl/expr/random.clh), so aligned contiguous vectors use its block
 * function. */
static void write_from_place(struct xl__emit *m, unsigned k, const char *at,
                             unsigned width)
{
    enum { WORDS = 4 };
    const struct xl__operand *o = &m->group->operand[k];
    const struct xl__node *n = &m->g->node[o->node];
    const unsigned stride = inner_stride(m->group, o);
    const bool is_random = n->op != XL__E_INDEX;
    const bool is_block =
        is_random && width >= WORDS && stride == 1 && o->align >= WORDS;
    xl__str_printf(m->out, "xl_%s%s_%u(", xl__opencl_op(m, n->op, n->type),
                   is_block ? "_block" : "", width);
    if (is_random) {
        xl__emit_ref_as(m, n->arg[0], 1, XL__V_I32);
        xl__str_add(m->out, ", ");
    }
    xl__str_printf(m->out, "o%u + ", k);
    add_index(m, k, m->depth);
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

/* -- loads and stores ----------------------------------------------------- */

static void write_read(struct xl__emit *m, unsigned k, const char *at,
                       const char *count, unsigned width)
{
    static const char *const name[] = {
        [ELEMENT] = "load",  [BROADCAST] = "load", [CONTIGUOUS] = "load",
        [ALIGNED] = "loada", [STRIDED] = "loads",  [PARTIAL] = "loadn"};
    const struct xl__operand *o = &m->group->operand[k];
    const enum access access = access_of(m, o, width, count);
    const char *minus = o->dtype == XL_BOOL ? "-" : "";
    if (access == BROADCAST)
        xl__str_printf(m->out, "(%s)(%s",
                       xl__emit_type(m->g, m->g->node[o->node].type, width),
                       minus);
    xl__str_printf(m->out, "xl_%s_%s_%u(", name[access],
                   xl_dtype_name(o->dtype), access == BROADCAST ? 1 : width);
    write_address(m, k, at);
    write_access_args(m, k, access, count);
    xl__str_add(m->out, access == BROADCAST ? "))" : ")");
}

void xl__emit_load(struct xl__emit *m, unsigned operand, const char *at,
                   const char *count)
{
    const struct xl__operand *o = &m->group->operand[operand];
    const unsigned width = is_row_value(m, o->node) ? 1 : m->vw;
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = ",
                   xl__emit_type(m->g, m->g->node[o->node].type, width),
                   o->node);
    if (o->at == XL__AT_INDEX)
        write_from_place(m, operand, at, width);
    else
        write_read(m, operand, at, count, width);
    xl__str_add(m->out, ";\n");
}

void xl__emit_gather(struct xl__emit *m, unsigned operand, const char *at,
                     const char *count)
{
    const struct xl__operand *o = &m->group->operand[operand];
    const struct xl__node *n = &m->g->node[o->node];
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = %sxl_gather_%s_%u(",
                   xl__emit_type(m->g, n->type, m->vw), o->node,
                   o->dtype == XL_BOOL && m->vw > 1 ? "-" : "",
                   xl_dtype_name(o->dtype), m->vw);
    write_address(m, operand, at);
    if (inner_stride(m->group, o) > 1)
        xl__str_printf(m->out, ", s%u_%u, ", operand, m->group->n_loops - 1);
    else
        xl__str_printf(m->out, ", %u, ", inner_stride(m->group, o));
    xl__emit_ref_as(m, n->arg[XL__GATHER_INDEX], m->vw, XL__V_I32);
    xl__str_printf(m->out, ", gn%u, gs%u, ", operand, operand);
    if (count)
        xl__str_printf(m->out, "%s);\n", count);
    else
        xl__str_printf(m->out, "%u);\n", m->vw);
}

void xl__emit_store(struct xl__emit *m, unsigned operand, const char *at,
                    const char *count)
{
    static const char *const name[] = {[ELEMENT] = "store",
                                       [CONTIGUOUS] = "store",
                                       [ALIGNED] = "storea",
                                       [STRIDED] = "stores",
                                       [PARTIAL] = "storen"};
    const struct xl__operand *o = &m->group->operand[operand];
    const unsigned width =
        is_row_value(m, o->node) && xl__operand_is_of_rows(m->group, o)
            ? 1
            : m->vw;
    const enum access access = access_of(m, o, width, count);
    xl__emit_indent(m);
    const bool is_streamed = access == ALIGNED && m->group->geo.is_streamed;
    xl__str_printf(m->out, "xl_%s_%s_%u(",
                   is_streamed ? "storet" : name[access],
                   xl_dtype_name(o->dtype), width);
    write_address(m, operand, at);
    write_access_args(m, operand, access, count);
    xl__str_add(m->out, ", ");
    xl__emit_ref_as(m, o->node, width, xl__register_type(o->dtype));
    xl__str_add(m->out, ");\n");
}

void xl__emit_prefetch(struct xl__emit *m, unsigned operand, const char *at)
{
    enum { AHEAD_BYTES = 4096 };
    const struct xl__operand *o = &m->group->operand[operand];
    if (inner_stride(m->group, o) != 1)
        return;
    xl__emit_indent(m);
    xl__str_printf(m->out, "XL_AHEAD(m%u + o%u + ", operand, operand);
    add_index(m, operand, m->depth);
    xl__str_printf(m->out, " + %s + %zu);\n", at,
                   AHEAD_BYTES / xl_dtype_bytes(o->dtype));
}

void xl__emit_ahead(struct xl__emit *m, unsigned operand, unsigned n_kept,
                    unsigned part, unsigned parts)
{
    const struct xl__operand *o = &m->group->operand[operand];
    unsigned d = n_kept;
    while (d > 0 && o->stride[d - 1] == 0)
        d--;
    if (d == 0 || inner_stride(m->group, o) != 1)
        return;
    xl__emit_indent(m);
    xl__str_printf(m->out, "XL_AHEAD(m%u + o%u + ", operand, operand);
    add_index(m, operand, m->depth);
    xl__str_printf(m->out, " + s%u_%u + ", operand, d - 1);
    if (parts == 1)
        xl__str_add(m->out, "at);\n");
    else
        xl__str_printf(m->out, "(%u * XL_INNER + at) / %u);\n", part, parts);
}

unsigned xl__emit_operand_of(const struct xl__group *group, unsigned node)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (!group->operand[k].is_written && group->operand[k].node == node)
            return k;
    }
    return XL__EXPR_OPERANDS;
}
