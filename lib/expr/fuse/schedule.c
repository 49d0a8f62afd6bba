/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as a group of the schedule: its operands, loops and sweeps.
 *
 * Loops. Kept dimensions come first, then reduced ones, in an order in which
 * the largest input is contiguous; for the form COLUMNS the contiguous kept
 * dimension is the last loop.
 *
 * Sweeps. Element values are computed in the earliest sweep that their
 * arguments allow, row values before the earliest sweep that uses them. An
 * output that is changed in place is stored in the last sweep, if later sweeps
 * still read what it overwrites. */
#include <string.h>

#include "expr/codegen/forms.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/loops.h"

/* A cluster that is becoming a group. */
struct group_builder {
    struct xl__fusion *f;
    const struct xl__cluster *c;
    unsigned at; /* number of the cluster */
    struct xl__group *group;
    unsigned order[XL__EXPR_LOOPS]; /* the dimension of each loop */
};

/* Is node n computed by the cluster, and not loaded? Is it such a reduction?
 */
static bool is_computed(const struct group_builder *m, unsigned n)
{
    return m->f->mark[n].is_needed && !m->c->is_copy &&
           !xl__is_loaded(m->f, n, m->at);
}
static bool is_reduced(const struct group_builder *m, unsigned n)
{
    return is_computed(m, n) && xl__is_reduction(&m->f->g->node[n]);
}

/* -- memory --------------------------------------------------------------- */

/* The view of a sink in its memory: dense in a temporary, or the output's. */
static struct xl__view sink_view(const struct xl__sink *s,
                                 const struct xl__graph *g)
{
    return s->output == XL__NEVER || s->is_detoured
               ? xl__view_dense(&s->extent)
               : xl__view_output(&g->output[s->output]);
}

/* The memory of a sink as an operand, without strides. */
static struct xl__operand sink_memory(const struct xl__fusion *f,
                                      const struct xl__sink *s)
{
    struct xl__operand p = {.node = s->node};
    if (s->output == XL__NEVER || s->is_detoured) {
        p.at = XL__AT_TEMP;
        p.index = s->temp;
        p.dtype = xl__wide_dtype(f->g, f->g->node[s->node].type);
        return p;
    }
    p.at = XL__AT_BINDING;
    p.index = f->g->output[s->output].binding;
    p.dtype = f->g->output[s->output].dtype;
    return p;
}

/* The view of a node that is in memory, as an input or where an earlier
 * cluster stored it; *p: the memory as an operand. */
static struct xl__view source_of(const struct group_builder *m, unsigned n,
                                 struct xl__operand *p)
{
    const struct xl__fusion *f = m->f;
    const struct xl__node *node = &f->g->node[n];
    const struct xl__sink *from = &m->c->from;
    if (m->c->is_copy) {
        *p = sink_memory(f, from);
        return sink_view(from, f->g);
    }
    if (node->op == XL__E_INPUT) {
        *p = (struct xl__operand){.at = XL__AT_BINDING,
                                  .index = node->binding,
                                  .dtype = node->dtype,
                                  .node = n};
        return xl__view_input(node);
    }
    if (!xl__is_stored(f, n, m->at)) {
        *p = (struct xl__operand){.at = XL__AT_INDEX, .node = n};
        return xl__view_place(f, n);
    }
    const bool is_view = node->op == XL__E_VIEW;
    const unsigned stored = is_view ? node->arg[0] : n;
    from = f->cluster[f->mark[n].stored_in].sink;
    while (from->node != stored || !from->is_kept)
        from++;
    *p = sink_memory(f, from);
    p->node = n;
    const struct xl__view memory = sink_view(from, f->g);
    if (!is_view)
        return memory;
    struct xl__view v = xl__view_input(node);
    v.offset += memory.offset; /* it is dense */
    return v;
}

/* Append an operand with its strides along the group's loops. */
static void add_operand(struct group_builder *m, const struct xl__view *v,
                        struct xl__operand p)
{
    p.offset = v->offset;
    for (unsigned i = 0; i < m->group->n_loops; i++)
        p.stride[i] = m->group->loop[i].size > 1 && m->order[i] < XL_MAX_DIMS
                          ? v->stride[m->order[i]]
                          : 0;
    m->group->operand[m->group->n_operands++] = p;
}

/* Append the source of a GATHER: a stride for each axis of the result that the
 * source has, and its own along the axis of the index. */
static void add_gather(struct group_builder *m, unsigned n)
{
    const struct xl__node *node = &m->f->g->node[n];
    const unsigned from = node->arg[XL__GATHER_SOURCE];
    const struct xl__shape *source = &m->f->g->node[from].shape;
    struct xl__operand p;
    const struct xl__view memory = source_of(m, from, &p);
    struct xl__view v = {memory.offset, m->f->mark[n].extent, {0}};
    const unsigned first = XL_MAX_DIMS - source->n_dims;
    const unsigned to = XL_MAX_DIMS - node->shape.n_dims;
    unsigned axis = 0;
    while (!(node->axes >> axis & 1))
        axis++;
    for (unsigned d = 0; d < axis; d++)
        v.stride[to + d] = memory.stride[first + d];
    for (unsigned d = first + axis + 1; d < XL_MAX_DIMS; d++)
        v.stride[d] = memory.stride[d];
    p.node = n;
    p.gather_size = source->size[axis];
    p.gather_stride = memory.stride[first + axis];
    add_operand(m, &v, p);
}

/* Append the operands of all loads, of values made from their place, and of
 * sinks. */
static xl_status add_operands(struct group_builder *m)
{
    xl_status status = XL_OK;
    struct xl__operand p;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        if (!m->f->mark[n].is_needed)
            continue;
        if (is_computed(m, n) && xl__is_gather(node))
            add_gather(m, n);
        if (!m->c->is_copy && !xl__is_loaded(m->f, n, m->at) &&
            !xl__is_of_place(node->op))
            continue;
        const struct xl__view v = source_of(m, n, &p);
        add_operand(m, &v, p);
    }
    for (unsigned i = 0; i < m->c->n_sinks; i++) {
        struct xl__sink *s = &m->f->cluster[m->at].sink[i];
        if (s->output == XL__NEVER)
            TRY(xl__temp_add(m->f, s));
        const struct xl__view v = sink_view(s, m->f->g);
        p = sink_memory(m->f, s);
        p.is_written = true;
        p.sweep = m->f->mark[s->node].sweep;
        add_operand(m, &v, p);
    }
fail:
    return status;
}

/* -- loops ---------------------------------------------------------------- */

/* The view of the largest memory that is read. Loops are ordered by its
 * strides. */
static struct xl__view largest_input(const struct group_builder *m)
{
    struct xl__operand p;
    struct xl__view best = xl__view_dense(&m->c->domain.all);
    double most = 0;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        if (!m->f->mark[n].is_needed || m->c->is_copy ||
            !xl__is_loaded(m->f, n, m->at) || m->f->mark[n].elems <= most)
            continue;
        most = m->f->mark[n].elems;
        best = source_of(m, n, &p);
    }
    return best;
}

/* Does the group compute argmin or argmax? Their index counts along the loops
 * in the order of dimensions. */
static bool has_element_indices(const struct group_builder *m)
{
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const enum xl__expr_op op = m->f->g->node[n].op;
        if (m->f->mark[n].is_needed &&
            (op == XL__E_ARGMIN || op == XL__E_ARGMAX) &&
            !xl__is_loaded(m->f, n, m->at))
            return true;
    }
    return false;
}

static void add_loop(struct group_builder *m, unsigned d, bool is_reduced)
{
    struct xl__group *p = m->group;
    m->order[p->n_loops] = d;
    p->loop[p->n_loops].size = d < XL_MAX_DIMS ? m->c->domain.all.size[d] : 1;
    p->loop[p->n_loops++].is_reduced = is_reduced;
}

/* Add a loop for each dimension that is reduced (or kept); by_stride: the
 * largest stride first. */
static void add_loops(struct group_builder *m, const struct xl__view *v,
                      bool is_reduced, bool by_stride)
{
    const unsigned first = m->group->n_loops;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++) {
        unsigned i = m->group->n_loops;
        if ((m->c->domain.reduced >> d & 1) != is_reduced ||
            m->c->domain.all.size[d] == 1)
            continue;
        add_loop(m, d, is_reduced);
        for (; by_stride && i > first && v->stride[d] != 0 &&
               xl__stride_length(v->stride[m->order[i - 1]]) <
                   xl__stride_length(v->stride[d]);
             i--) {
            const struct xl__loop loop = m->group->loop[i];
            m->group->loop[i] = m->group->loop[i - 1];
            m->group->loop[i - 1] = loop;
            m->order[i] = m->order[i - 1];
            m->order[i - 1] = d;
        }
    }
}

static void make_loops(struct group_builder *m)
{
    const struct xl__view v = largest_input(m);
    const bool is_columns = m->c->form == XL__FORM_COLUMNS;
    add_loops(m, &v, false, is_columns);
    const unsigned n_kept = m->group->n_loops;
    unsigned last = XL__NEVER;
    if (is_columns) {
        last = m->order[n_kept - 1];
        m->group->n_loops--;
    }
    add_loops(m, &v, true, !has_element_indices(m));
    if (is_columns)
        add_loop(m, last, false);
    if (m->group->n_loops == 0)
        add_loop(m, XL_MAX_DIMS, false);
}

/* -- sweeps --------------------------------------------------------------- */

/* Give each node the earliest sweep, and count the sweeps. */
static void sweeps_forward(struct group_builder *m)
{
    struct xl__group *p = m->group;
    p->n_sweeps = 1;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        struct xl__mark *mark = &m->f->mark[n];
        mark->sweep = 0;
        if (!is_computed(m, n))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++) {
            const unsigned from =
                m->f->mark[node->arg[a]].sweep + is_reduced(m, node->arg[a]);
            if (from > mark->sweep)
                mark->sweep = from;
        }
        if ((xl__is_reduction(node) || !mark->is_row) &&
            mark->sweep >= p->n_sweeps)
            p->n_sweeps = mark->sweep + 1;
    }
}

/* Move row values to the latest sweep, so that they occupy registers for less
 * time. */
static void delay_rows(struct group_builder *m)
{
    struct xl__mark *mark = m->f->mark;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++)
        if (mark[n].is_needed && mark[n].is_row && !is_reduced(m, n))
            mark[n].sweep = m->group->n_sweeps;
    for (unsigned n = m->f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &m->f->g->node[n];
        if (!is_computed(m, n))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++) {
            struct xl__mark *arg = &mark[node->arg[a]];
            if (arg->is_row && !is_reduced(m, node->arg[a]) &&
                mark[n].sweep < arg->sweep)
                arg->sweep = mark[n].sweep;
        }
    }
}

/* Does the cluster store an output where node n is loaded? */
static bool is_overwritten(const struct group_builder *m, unsigned n)
{
    const struct xl__graph *g = m->f->g;
    const struct xl__parameter *b = m->f->s->b;
    for (unsigned i = 0; i < m->c->n_sinks; i++) {
        const unsigned o = m->c->sink[i].output;
        if (g->node[n].op == XL__E_INPUT && o != XL__NEVER &&
            b[g->output[o].binding].same_as == b[g->node[n].binding].same_as)
            return true;
    }
    return false;
}

/* Every item of a row loads row values that a sweep uses, and one item stores
 * those after the last sweep. What is stored is loaded before the first sweep:
 * the items join between the two. */
static void load_rows_first(struct group_builder *m)
{
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        struct xl__mark *mark = &m->f->mark[n];
        if (mark->is_needed && mark->is_row &&
            mark->sweep < m->group->n_sweeps && is_overwritten(m, n))
            mark->sweep = 0;
    }
}

static void make_sweeps(struct group_builder *m)
{
    sweeps_forward(m);
    delay_rows(m);
    load_rows_first(m);
}

/* Set last_read: the last sweep that uses each element value. */
static void find_last_reads(struct group_builder *m)
{
    struct xl__mark *mark = m->f->mark;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++)
        mark[n].last_read = 0;
    for (unsigned i = 0; i < m->group->n_operands; i++) {
        const struct xl__operand *p = &m->group->operand[i];
        if (p->is_written && p->sweep > mark[p->node].last_read)
            mark[p->node].last_read = p->sweep;
    }
    for (unsigned n = m->f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &m->f->g->node[n];
        if (!is_computed(m, n))
            continue;
        const unsigned last =
            xl__is_reduction(node) ? mark[n].sweep : mark[n].last_read;
        for (unsigned a = 0; a < xl__n_args(node); a++)
            if (last > mark[node->arg[a]].last_read)
                mark[node->arg[a]].last_read = last;
    }
}

/* Does the store overwrite memory that a later sweep reads? */
static bool overwrites_later_read(const struct group_builder *m,
                                  const struct xl__operand *p)
{
    for (unsigned i = 0; i < m->group->n_operands; i++) {
        const struct xl__operand *r = &m->group->operand[i];
        if (!r->is_written && r->at == XL__AT_BINDING &&
            m->f->s->b[r->index].same_as == m->f->s->b[p->index].same_as &&
            m->f->mark[r->node].last_read > p->sweep)
            return true;
    }
    return false;
}

/* Store elements that are changed in place after the last sweep that reads
 * what they overwrite. A delayed store extends the reads of its own arguments,
 * hence the loop. */
static void delay_writes(struct group_builder *m)
{
    bool changed = true;
    while (changed) {
        changed = false;
        find_last_reads(m);
        for (unsigned i = 0; i < m->group->n_operands; i++) {
            struct xl__operand *p = &m->group->operand[i];
            if (!p->is_written || p->at != XL__AT_BINDING ||
                m->f->mark[p->node].is_row ||
                p->sweep + 1 >= m->group->n_sweeps ||
                !overwrites_later_read(m, p))
                continue;
            p->sweep = m->group->n_sweeps - 1;
            changed = true;
        }
    }
}

/* -- the group ------------------------------------------------------------ */

static xl_status add_values(struct group_builder *m)
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

/* Sum up operations, flop and bytes: each operand counts once, in its own
 * shape. */
static void count_cost(struct group_builder *m)
{
    struct xl__group *p = m->group;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        const unsigned of = xl__is_reduction(node) ? node->arg[0] : n;
        if (!is_computed(m, n))
            continue;
        p->flop += xl__expr_ops[node->op].flop * m->f->mark[of].elems;
        p->n_operations += xl__n_args(node) > 0;
    }
    for (unsigned i = 0; i < p->n_operands; i++) {
        const struct xl__operand *o = &p->operand[i];
        double elems = 1;
        for (unsigned k = 0; k < p->n_loops; k++)
            elems *= o->stride[k] != 0 || o->gather_size > 0
                         ? (double)p->loop[k].size
                         : 1;
        if (o->at != XL__AT_INDEX)
            p->bytes += elems * (double)xl_dtype_bytes(o->dtype);
    }
}

xl_status xl__group_make(struct xl__fusion *f, unsigned at)
{
    xl_status status;
    struct xl__schedule *s = f->out;
    struct group_builder m = {.f = f, .c = &f->cluster[at], .at = at};
    if (!xl__grow(&s->group, &s->cap_groups, s->n_groups + 1,
                  sizeof *s->group))
        return XL_NO_MEMORY;
    m.group = &s->group[s->n_groups++];
    memset(m.group, 0, sizeof *m.group);
    m.group->form = m.c->form;
    memcpy(m.group->extent, m.c->domain.all.size, sizeof m.group->extent);
    m.group->why = f->cluster[at].why;
    f->cluster[at].why = (struct xl__str){0};
    xl__cluster_close(f, m.c, at);
    make_loops(&m);
    make_sweeps(&m);
    TRY(add_operands(&m));
    delay_writes(&m);
    TRY(add_values(&m));
    count_cost(&m);
    xl__loops_normalize(f->s, m.group);
    xl__geometry_choose(f->g, f->l, m.group);
    s->flop += m.group->flop;
    s->bytes += m.group->bytes;
    s->est_ns += m.group->est_ns;
fail:
    return status;
}
