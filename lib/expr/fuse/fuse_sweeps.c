/* SPDX-License-Identifier: Apache-2.0 */
/* When a value is computed: elements as early as what they depend on allows,
 * rows' values as late as those who use them allow, and what is overwritten
 * when nobody reads it any more. */
#include "expr/fuse/fuse.h"

/* As early as can be. */
static void sweeps_forward(struct xl__maker *m)
{
    struct xl__group *p = m->group;
    p->n_sweeps = 1;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        const struct xl__node *node = &m->f->g->node[n];
        struct xl__mark *mark = &m->f->mark[n];
        mark->sweep = 0;
        if (!xl__is_computed(m, n))
            continue;
        for (unsigned a = 0; a < xl__args(node); a++) {
            const unsigned from = m->f->mark[node->arg[a]].sweep +
                                  xl__is_reduced(m, node->arg[a]);
            if (from > mark->sweep)
                mark->sweep = from;
        }
        if ((xl__is_reduction(node) || !mark->is_row) &&
            mark->sweep >= p->n_sweeps)
            p->n_sweeps = mark->sweep + 1;
    }
}

/* Rows' values as late as can be: a register less, until then. */
static void delay_rows(struct xl__maker *m)
{
    struct xl__mark *mark = m->f->mark;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++)
        if (mark[n].is_needed && mark[n].is_row && !xl__is_reduced(m, n))
            mark[n].sweep = m->group->n_sweeps;
    for (unsigned n = m->f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &m->f->g->node[n];
        if (!xl__is_computed(m, n))
            continue;
        for (unsigned a = 0; a < xl__args(node); a++) {
            struct xl__mark *arg = &mark[node->arg[a]];
            if (arg->is_row && !xl__is_reduced(m, node->arg[a]) &&
                mark[n].sweep < arg->sweep)
                arg->sweep = mark[n].sweep;
        }
    }
}

void xl__make_sweeps(struct xl__maker *m)
{
    sweeps_forward(m);
    delay_rows(m);
}

/* The last sweep in which each value of elements is wanted. */
static void find_last_reads(struct xl__maker *m)
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
        if (!xl__is_computed(m, n))
            continue;
        const unsigned last =
            xl__is_reduction(node) ? mark[n].sweep : mark[n].last_read;
        for (unsigned a = 0; a < xl__args(node); a++)
            if (last > mark[node->arg[a]].last_read)
                mark[node->arg[a]].last_read = last;
    }
}

static bool overwrites(const struct xl__maker *m, const struct xl__operand *p)
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

/* Elements that are changed in place are stored when nobody reads them any
 * more. One that waits reads for longer itself, hence the loop. */
void xl__delay_writes(struct xl__maker *m)
{
    bool changed = true;
    while (changed) {
        changed = false;
        find_last_reads(m);
        for (unsigned i = 0; i < m->group->n_operands; i++) {
            struct xl__operand *p = &m->group->operand[i];
            if (!p->is_written || p->at != XL__AT_BINDING ||
                m->f->mark[p->node].is_row ||
                p->sweep + 1 >= m->group->n_sweeps || !overwrites(m, p))
                continue;
            p->sweep = m->group->n_sweeps - 1;
            changed = true;
        }
    }
}
