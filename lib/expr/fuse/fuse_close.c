/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: what follows from their sinks, and whether a kernel holds it. */
#include "expr/fuse/fuse.h"
#include "runtime/plan.h"

#include <stdlib.h>

/* Arguments of a step that are not an operand's: sizes of loops, chunks. */
enum { OTHER_ARGS = 20 };

static void need_below(struct xl__fuser *f, unsigned at)
{
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed || xl__is_loaded(f, n, at))
            continue;
        for (unsigned a = 0; a < xl__args(node); a++)
            f->mark[node->arg[a]].is_needed = true;
    }
}

void xl__close(struct xl__fuser *f, const struct xl__cluster *c, unsigned at)
{
    const struct xl__extent rows = xl__domain_rows(&c->domain);
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_needed = false;
    for (unsigned i = 0; i < c->n_sinks; i++)
        f->mark[c->sink[i].node].is_needed = true;
    if (!c->is_copy)
        need_below(f, at);
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->is_mine = m->is_row = false;
        if (!m->is_needed || c->is_copy)
            continue;
        if (!xl__is_loaded(f, n, at)) {
            m->is_mine = xl__is_reduction(node);
            for (unsigned a = 0; a < xl__args(node); a++)
                m->is_mine |= f->mark[node->arg[a]].is_mine;
        }
        m->is_row = c->domain.reduced != 0;
        for (unsigned d = 0; d < XL_MAX_DIMS; d++)
            m->is_row &= m->extent.size[d] == 1 || rows.size[d] != 1;
    }
}

void xl__mark_below(struct xl__fuser *f, unsigned n, unsigned at)
{
    for (unsigned i = 0; i <= n; i++)
        f->mark[i].is_below = false;
    f->mark[n].is_below = true;
    for (unsigned i = n + 1; i-- > 0;) {
        const struct xl__node *node = &f->g->node[i];
        if (!f->mark[i].is_below || xl__is_loaded(f, i, at))
            continue;
        for (unsigned a = 0; a < xl__args(node); a++)
            f->mark[node->arg[a]].is_below = true;
    }
}

/* Pointer, offset and strides. */
static unsigned view_args(const struct xl__view *v)
{
    unsigned n = 2;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        n += v->stride[d] > 1;
    return n;
}

static unsigned load_args(const struct xl__fuser *f, unsigned n)
{
    struct xl__view v = xl__view_dense(&f->mark[n].extent);
    if (f->g->node[n].op == XL__E_INPUT)
        v = xl__view_input(&f->g->node[n]);
    return view_args(&v);
}

static unsigned sink_args(const struct xl__fuser *f, const struct xl__sink *s)
{
    struct xl__view v = xl__view_dense(&s->extent);
    if (s->output != XL__NEVER)
        v = xl__view_output(&f->g->output[s->output]);
    return view_args(&v);
}

/* Values that are alive at once when loads come first and nodes in order. */
static unsigned most_alive(struct xl__fuser *f, unsigned at)
{
    unsigned alive = 0, most;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__mark *m = &f->mark[n];
        f->mark[n].is_below = false;
        alive += m->is_needed && !m->is_row && xl__is_loaded(f, n, at);
    }
    /* Backwards: a value dies at its last use, which is met first. */
    most = alive;
    unsigned now = 0;
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        const struct xl__mark *m = &f->mark[n];
        if (!m->is_needed || m->is_row || xl__is_loaded(f, n, at))
            continue;
        now -= m->is_below;
        for (unsigned a = 0; a < xl__args(node); a++) {
            struct xl__mark *arg = &f->mark[node->arg[a]];
            if (arg->is_below || arg->is_row || arg->is_scalar ||
                xl__is_loaded(f, node->arg[a], at))
                continue;
            arg->is_below = true;
            now++;
        }
        if (now + alive > most)
            most = now + alive;
    }
    return most;
}

bool xl__fits(struct xl__fuser *f, const struct xl__cluster *c, unsigned at)
{
    unsigned operands = c->n_sinks, args = OTHER_ARGS;
    for (unsigned i = 0; i < c->n_sinks; i++)
        args += sink_args(f, &c->sink[i]);
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed)
            continue;
        args += node->op == XL__E_SCALAR;
        if (!xl__is_loaded(f, n, at) && !xl__is_rand(node))
            continue;
        operands++;
        args += load_args(f, n);
    }
    return operands <= XL__EXPR_OPERANDS && args <= XL__MAX_ARGS &&
           most_alive(f, at) <= XL__LIVE_VALUES;
}

xl_status xl__sink_add(struct xl__fuser *f, struct xl__cluster *c,
                       unsigned node, unsigned output)
{
    struct xl__sink sink = {.node = node,
                            .output = output,
                            .is_kept = output == XL__NEVER,
                            .temp = XL__NEVER,
                            .extent = f->mark[node].extent};
    if (output != XL__NEVER)
        sink.extent = xl__extent_of(&f->g->output[output].shape);
    if (!xl__grow(&c->sink, &c->cap_sinks, c->n_sinks + 1, sizeof *c->sink))
        return XL_NO_MEMORY;
    c->sink[c->n_sinks++] = sink;
    return XL_OK;
}

xl_status xl__store(struct xl__fuser *f, struct xl__cluster *c, unsigned node)
{
    for (unsigned i = 0; i < c->n_sinks; i++) {
        struct xl__sink *s = &c->sink[i];
        if (s->node == node &&
            (s->output == XL__NEVER || f->can_read_back[s->output])) {
            s->is_kept = true;
            return XL_OK;
        }
    }
    return xl__sink_add(f, c, node, XL__NEVER);
}

void xl__cluster_clear(struct xl__cluster *c)
{
    free(c->sink);
    xl__str_clear(&c->why);
    *c = (struct xl__cluster){0};
}

xl_status xl__cluster_push(struct xl__fuser *f, struct xl__cluster *c)
{
    const unsigned at = f->n_clusters;
    if (!xl__grow(&f->cluster, &f->cap_clusters, at + 1, sizeof *f->cluster))
        return XL_NO_MEMORY;
    xl__close(f, c, at);
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (f->mark[n].is_needed && xl__is_reduction(&f->g->node[n]) &&
            !xl__is_loaded(f, n, at))
            f->mark[n].reduced_in = at;
    for (unsigned i = 0; i < c->n_sinks; i++) {
        const struct xl__sink *sink = &c->sink[i];
        if (sink->output != XL__NEVER)
            f->output_in[sink->output] = at;
        if (sink->is_kept && !c->is_copy)
            f->mark[sink->node].stored_in = at;
    }
    f->cluster[f->n_clusters++] = *c;
    *c = (struct xl__cluster){0};
    return XL_OK;
}
