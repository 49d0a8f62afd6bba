/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's text around its arithmetic: head, parameters, places. Parameters
 * and arguments are one list, walked by one function, so that they cannot
 * disagree. */
#include "expr/codegen/opencl.h"

#include <stdio.h>
#include <string.h>

#include "expr/codegen/reduce_size.h"
#include "expr/codegen/opencl_ops.h"

static const unsigned slot_of_first_binding = 1;

/* -- lines ----------------------------------------------------------------- */

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

const char *xl__emit_type(enum xl__vtype type, unsigned width)
{
    static const char *const floats[] = {"float", "float2", "float4", "float8",
                                         "float16"};
    static const char *const ints[] = {"int", "int2", "int4", "int8", "int16"};
    unsigned i = 0;
    while (1u << i < width)
        i++;
    return type == XL__V_F32 ? floats[i] : ints[i];
}

/* -- the list of parameters ------------------------------------------------ */

enum what { MEMORY, OFFSET, STRIDE, SIZE, SCALAR };

/* One parameter: of operand k, loop d or node n. */
struct param {
    enum what what;
    unsigned k, d, node;
};

typedef void (*visit)(void *arg, const struct param *p);

static bool has_stride(const struct xl__group *group,
                       const struct xl__operand *o, unsigned d)
{
    return o->stride[d] != 0 &&
           !(d == group->n_loops - 1 && o->stride[d] == 1);
}

static void each_of_operand(const struct xl__group *group, unsigned k,
                            visit each, void *arg)
{
    const struct xl__operand *o = &group->operand[k];
    struct param p = {.k = k};
    if (o->at != XL__AT_INDEX) {
        p.what = MEMORY;
        each(arg, &p);
    }
    p.what = OFFSET;
    each(arg, &p);
    p.what = STRIDE;
    for (p.d = 0; p.d < group->n_loops; p.d++) {
        if (has_stride(group, o, p.d))
            each(arg, &p);
    }
}

/* Is the scalar an argument of what is computed here, or written? */
static bool is_used(const struct xl__graph *g, const struct xl__group *group,
                    unsigned scalar)
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

static void each_param(const struct xl__graph *g,
                       const struct xl__group *group, visit each, void *arg)
{
    struct param p = {.what = SIZE};
    for (unsigned k = 0; k < group->n_operands; k++)
        each_of_operand(group, k, each, arg);
    for (p.d = 0; p.d < group->n_loops; p.d++)
        each(arg, &p);
    p.what = SCALAR;
    for (p.node = 0; p.node < g->n_nodes; p.node++) {
        if (g->node[p.node].op == XL__E_SCALAR && is_used(g, group, p.node))
            each(arg, &p);
    }
}

/* -- as text --------------------------------------------------------------- */

struct writing {
    struct xl__emit *m;
    unsigned n;
};

/* An operand's parameters are a line, and so are all sizes. */
static bool begins_line(const struct xl__group *group, const struct param *p)
{
    return p->what == MEMORY || p->what == SCALAR ||
           (p->what == SIZE && p->d == 0) ||
           (p->what == OFFSET && group->operand[p->k].at == XL__AT_INDEX);
}

static void write_one(void *arg, const struct param *p)
{
    struct writing *w = arg;
    struct xl__emit *m = w->m;
    const struct xl__operand *o = &m->group->operand[p->k];
    const bool is_new = begins_line(m->group, p);
    xl__str_add(m->out, w->n++ == 0 ? "" : is_new ? ",\n" : ", ");
    if (is_new)
        xl__emit_indent(m);
    switch (p->what) {
    case MEMORY:
        xl__str_printf(m->out, "__global %s%s *m%u",
                       o->is_written ? "" : "const ",
                       xl__spell_elem(o->dtype), p->k);
        break;
    case OFFSET:
        xl__str_printf(m->out, "const ulong o%u", p->k);
        break;
    case STRIDE:
        xl__str_printf(m->out, "const IDX s%u_%u", p->k, p->d);
        break;
    case SIZE:
        xl__str_printf(m->out, "const IDX n%u", p->d);
        break;
    case SCALAR:
        xl__str_printf(m->out, "const %s v%u",
                       xl__emit_type(m->g->node[p->node].type, 1), p->node);
        break;
    }
}

void xl__emit_params(struct xl__emit *m)
{
    struct writing w = {m, 0};
    each_param(m->g, m->group, write_one, &w);
    xl__str_add(m->out, "\n");
}

/* -- as arguments ---------------------------------------------------------- */

struct setting {
    const struct xl__emit *m;
    const struct xl__schedule *s;
    struct xl__step *step;
};

static void set_index(struct setting *t, size_t value)
{
    if (t->m->group->geo.is_wide)
        xl__arg_u64(t->step, value);
    else
        xl__arg_u32(t->step, value);
}

/* Where element 0 lies: the caller's offset changes from call to call, a
 * temporary's does not. */
static void set_offset(struct setting *t, const struct xl__operand *o)
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

static void set_scalar(struct setting *t, const struct xl__node *n)
{
    const unsigned slot = slot_of_first_binding + n->binding;
    if (n->type == XL__V_F32)
        xl__arg_value_f32(t->step, slot);
    else
        xl__arg_value_i32(t->step, slot);
}

static void set_one(void *arg, const struct param *p)
{
    struct setting *t = arg;
    const struct xl__operand *o = &t->m->group->operand[p->k];
    switch (p->what) {
    case MEMORY:
        xl__arg_mem(t->step, o->at == XL__AT_TEMP
                                 ? (unsigned)XL__MEM_SCRATCH
                                 : slot_of_first_binding + o->index);
        break;
    case OFFSET:
        set_offset(t, o);
        break;
    case STRIDE:
        set_index(t, o->stride[p->d]);
        break;
    case SIZE:
        set_index(t, t->m->group->loop[p->d].size);
        break;
    case SCALAR:
        set_scalar(t, &t->m->g->node[p->node]);
        break;
    }
}

void xl__emit_args(const struct xl__emit *m, const struct xl__schedule *s,
                   struct xl__step *step)
{
    struct setting t = {m, s, step};
    each_param(m->g, m->group, set_one, &t);
}

static void count_one(void *arg, const struct param *p)
{
    (void)p;
    ++*(unsigned *)arg;
}

unsigned xl__emit_n_args(const struct xl__graph *g,
                         const struct xl__group *group)
{
    unsigned n = 0;
    each_param(g, group, count_one, &n);
    return n;
}

/* -- places ---------------------------------------------------------------- */

void xl__emit_place(const struct xl__emit *m, unsigned k, unsigned depth)
{
    if (depth <= 1)
        xl__str_printf(m->out, "p%u", k);
    else
        xl__str_printf(m->out, "p%u_%u", k, depth);
}

static void write_place(struct xl__emit *m, unsigned k, unsigned first,
                        unsigned last)
{
    const struct xl__operand *o = &m->group->operand[k];
    const char *plus = "";
    xl__emit_indent(m);
    xl__str_add(m->out, "const IDX ");
    xl__emit_place(m, k, m->depth);
    xl__str_add(m->out, " = ");
    if (m->depth > 1) {
        xl__emit_place(m, k, m->depth - 1);
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

void xl__emit_places(struct xl__emit *m, unsigned first, unsigned last)
{
    m->depth++;
    for (unsigned k = 0; k < m->group->n_operands; k++)
        write_place(m, k, first, last);
}

/* The farthest element of an operand, or one past SIZE_MAX / 2. */
static double reach(const struct xl__group *group,
                    const struct xl__operand *o)
{
    double far = 0;
    for (unsigned d = 0; d < group->n_loops; d++)
        far += (double)o->stride[d] * (double)(group->loop[d].size - 1);
    return far;
}

bool xl__emit_is_wide(const struct xl__group *group)
{
    static const double most = 2147483648.0 - 65536; /* a group may overrun */
    double count = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        count *= (double)group->loop[d].size;
    for (unsigned k = 0; k < group->n_operands; k++) {
        if (reach(group, &group->operand[k]) > most)
            return true;
    }
    return count > most;
}

/* -- head ------------------------------------------------------------------ */

static void describe(struct xl__emit *m, unsigned k)
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
    xl__str_add(m->out, "\n");
}

void xl__emit_includes(struct xl__emit *m)
{
    const unsigned uses = xl__spell_uses(m->g, m->group);
    if (uses & XL__USES_MATH)
        xl__str_printf(m->out, "#define XL_OWN_MATH %d\n%s",
                       xl__by_items(m->l),
                       xl__num_or(m->l, XL__F_has_fma, 1) == 0
                           ? "#define XL_HAS_FMA 0\n"
                           : "");
    xl__str_add(m->out, "#include \"common/types.clh\"\n#include \"expr/expr.clh\"\n");
    if (uses & XL__USES_MATH)
        xl__str_add(m->out, "#include \"expr/math.clh\"\n");
    if (uses & XL__USES_RANDOM)
        xl__str_add(m->out, "#include \"expr/random.clh\"\n");
    xl__str_add(m->out, "\n");
}

void xl__emit_head(struct xl__emit *m, const char *what)
{
    const struct xl__group *group = m->group;
    xl__str_printf(m->out, "/* %s\n *\n * Operands, with their strides:\n",
                   what);
    for (unsigned k = 0; k < group->n_operands; k++)
        describe(m, k);
    xl__str_printf(m->out, " */\n#define XL_WIDE %d\n#define XL_VW %u\n",
                   group->geo.is_wide, m->vw);
    xl__emit_includes(m);
}
