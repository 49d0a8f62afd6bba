/* SPDX-License-Identifier: Apache-2.0 */
/* Which dimension becomes which loop: kept ones, then reduced ones, in the
 * order in which the largest memory lies; of COLUMNS the closest kept one
 * last. */
#include "expr/fuse/fuse.h"

/* The largest memory that is read; it says which order of loops is close. */
static struct xl__view heaviest(const struct xl__maker *m)
{
    struct xl__operand p;
    struct xl__view best = xl__view_dense(&m->c->domain.all);
    double most = 0;
    for (unsigned n = 0; n < m->f->g->n_nodes; n++) {
        if (!m->f->mark[n].is_needed || m->c->is_copy ||
            !xl__is_loaded(m->f, n, m->at) || m->f->mark[n].elems <= most)
            continue;
        most = m->f->mark[n].elems;
        best = xl__source_of(m, n, &p);
    }
    return best;
}

/* The place of an argmin counts along the loops. */
static bool has_places(const struct xl__maker *m)
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

static void add_loop(struct xl__maker *m, unsigned d, bool is_reduced)
{
    struct xl__group *p = m->group;
    m->order[p->n_loops] = d;
    p->loop[p->n_loops].size = d < XL_MAX_DIMS ? m->c->domain.all.size[d] : 1;
    p->loop[p->n_loops++].is_reduced = is_reduced;
}

/* Dimensions that are reduced (or kept), the farthest first if `by_stride`. */
static void add_loops(struct xl__maker *m, const struct xl__view *v,
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
               v->stride[m->order[i - 1]] < v->stride[d];
             i--) {
            const struct xl__loop loop = m->group->loop[i];
            m->group->loop[i] = m->group->loop[i - 1];
            m->group->loop[i - 1] = loop;
            m->order[i] = m->order[i - 1];
            m->order[i - 1] = d;
        }
    }
}

void xl__make_loops(struct xl__maker *m)
{
    const struct xl__view v = heaviest(m);
    const bool is_columns = m->c->form == XL__FORM_COLUMNS;
    add_loops(m, &v, false, is_columns);
    const unsigned n_kept = m->group->n_loops;
    unsigned last = XL__NEVER;
    if (is_columns) {
        last = m->order[n_kept - 1];
        m->group->n_loops--;
    }
    add_loops(m, &v, true, !has_places(m));
    if (is_columns)
        add_loop(m, last, false);
    if (m->group->n_loops == 0)
        add_loop(m, XL_MAX_DIMS, false);
}
