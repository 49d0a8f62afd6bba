/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster written out as a group: its operands and values, what they count,
 * and why they are together. */
#include "expr/codegen/forms.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/loops.h"

#include <string.h>

static const xl_dtype memory_of[XL__N_VTYPES] = {
    [XL__V_BOOL] = XL_BOOL, [XL__V_I32] = XL_I32, [XL__V_F32] = XL_F32};

/* -- memory --------------------------------------------------------------- */

static struct xl__view view_of(const struct xl__sink *s,
                               const struct xl__graph *g)
{
    return s->output == XL__NEVER || s->is_detoured
               ? xl__view_dense(&s->extent)
               : xl__view_output(&g->output[s->output]);
}

static struct xl__operand memory_of_sink(const struct xl__fuser *f,
                                         const struct xl__sink *s)
{
    struct xl__operand p = {.node = s->node};
    if (s->output == XL__NEVER || s->is_detoured) {
        p.at = XL__AT_TEMP;
        p.index = s->temp;
        p.dtype = memory_of[f->g->node[s->node].type];
        return p;
    }
    p.at = XL__AT_BINDING;
    p.index = f->g->output[s->output].binding;
    p.dtype = f->g->output[s->output].dtype;
    return p;
}

struct xl__view xl__source_of(const struct xl__maker *m, unsigned n,
                              struct xl__operand *p)
{
    const struct xl__fuser *f = m->f;
    const struct xl__node *node = &f->g->node[n];
    const struct xl__sink *from = &m->c->from;
    if (m->c->is_copy) {
        *p = memory_of_sink(f, from);
        return view_of(from, f->g);
    }
    if (node->op == XL__E_INPUT) {
        *p = (struct xl__operand){.at = XL__AT_BINDING,
                                  .index = node->binding,
                                  .dtype = node->dtype,
                                  .node = n};
        return xl__view_input(node);
    }
    if (!xl__is_stored(f, n, m->at)) { /* random numbers */
        *p = (struct xl__operand){.at = XL__AT_INDEX, .node = n};
        return xl__view_dense(&f->mark[n].extent);
    }
    from = f->cluster[f->mark[n].stored_in].sink;
    while (from->node != n || !from->is_kept)
        from++;
    *p = memory_of_sink(f, from);
    return view_of(from, f->g);
}

static void add_operand(struct xl__maker *m, const struct xl__view *v,
                        struct xl__operand p)
{
    p.offset = v->offset;
    for (unsigned i = 0; i < m->group->n_loops; i++)
        p.stride[i] = m->group->loop[i].size > 1 && m->order[i] < XL_MAX_DIMS
                          ? v->stride[m->order[i]]
                          : 0;
    m->group->operand[m->group->n_operands++] = p;
}

static xl_status add_operands(struct xl__maker *m)
{
    xl_status status;
    struct xl__operand p;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        if (!m->f->mark[n].is_needed ||
            !(m->c->is_copy || xl__is_loaded(m->f, n, m->at) ||
              xl__is_rand(node)))
            continue;
        const struct xl__view v = xl__source_of(m, n, &p);
        add_operand(m, &v, p);
    }
    for (unsigned i = 0; i < m->c->n_sinks; i++) {
        struct xl__sink *s = &m->f->cluster[m->at].sink[i];
        if (s->output == XL__NEVER)
            TRY(xl__temp_add(m->f, s));
        const struct xl__view v = view_of(s, m->f->g);
        p = memory_of_sink(m->f, s);
        p.is_written = true;
        p.sweep = m->f->mark[s->node].sweep;
        add_operand(m, &v, p);
    }
    return XL_OK;
fail:
    return status;
}

/* -- the group ------------------------------------------------------------ */

static xl_status add_values(struct xl__maker *m)
{
    unsigned n_values = 0;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++)
        n_values += m->f->mark[n].is_needed;
    m->group->value = xl__calloc(n_values, sizeof *m->group->value);
    if (!m->group->value)
        return XL_NO_MEMORY;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__mark *mark = &m->f->mark[n];
        if (mark->is_needed)
            m->group->value[m->group->n_values++] =
                (struct xl__value){n, mark->sweep, mark->is_row};
    }
    return XL_OK;
}

static void count(struct xl__maker *m)
{
    struct xl__group *p = m->group;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        const unsigned of = xl__is_reduction(node) ? node->arg[0] : n;
        if (xl__is_computed(m, n))
            p->flop += xl__expr_ops[node->op].flop * m->f->mark[of].elems;
    }
    for (unsigned i = 0; i < p->n_operands; i++) {
        const struct xl__operand *o = &p->operand[i];
        double elems = 1;
        for (unsigned k = 0; k < p->n_loops; k++)
            elems *= o->stride[k] != 0 ? (double)p->loop[k].size : 1;
        if (o->at != XL__AT_INDEX)
            p->bytes += elems * (double)xl_dtype_bytes(o->dtype);
    }
}

static void explain(struct xl__maker *m)
{
    static const char *const form[] = {
        [XL__FORM_MAP] = "each element by itself",
        [XL__FORM_ROWS] = "rows by the items of one work-group",
        [XL__FORM_COLUMNS] = "columns side by side",
        [XL__FORM_CHUNKS] = "rows in pieces, because they are too few to fill "
                            "the device"};
    struct xl__group *p = m->group;
    unsigned n_operations = 0, n_written = 0;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++)
        n_operations +=
            xl__is_computed(m, n) && xl__args(&m->f->g->node[n]) > 0;
    for (unsigned i = 0; i < p->n_operands; i++)
        n_written += p->operand[i].is_written;
    xl__str_printf(&p->why, "%u operation%s over ", n_operations,
                   n_operations == 1 ? "" : "s");
    xl__extent_print(&m->c->domain.all, &p->why);
    xl__str_printf(&p->why, ", %s", form[p->form]);
    if (p->form == XL__FORM_ROWS)
        xl__str_printf(&p->why, " in %u sweep%s", p->n_sweeps,
                       p->n_sweeps == 1 ? "" : "s");
    xl__str_printf(&p->why, ": %u read, %u written, %.4g MB. ",
                   p->n_operands - n_written, n_written, p->bytes * 1e-6);
    xl__str_add(&p->why, xl__str_text(&m->c->why));
}

xl_status xl__group_make(struct xl__fuser *f, unsigned at)
{
    xl_status status;
    struct xl__schedule *s = f->out;
    struct xl__maker m = {.f = f, .c = &f->cluster[at], .at = at};
    if (!xl__grow(&s->group, &s->cap_groups, s->n_groups + 1,
                  sizeof *s->group))
        return XL_NO_MEMORY;
    m.group = &s->group[s->n_groups++];
    memset(m.group, 0, sizeof *m.group);
    m.group->form = m.c->form;
    xl__close(f, m.c, at);
    xl__make_loops(&m);
    xl__make_sweeps(&m);
    TRY(add_operands(&m));
    xl__delay_writes(&m);
    TRY(add_values(&m));
    count(&m);
    explain(&m);
    xl__loops_normalize(f->s, m.group);
    xl__geometry_choose(f->g, f->l, m.group);
    s->flop += m.group->flop;
    s->bytes += m.group->bytes;
    s->est_ns += m.group->est_ns;
fail:
    return status;
}
