/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of fusion, and what its files share about extents, views and
 * clusters. A graph becomes a schedule in four steps:
 *
 *   1. clusters   grown (clusters.c), or one for each operation if unfused
 *   2. detours    outputs that would overwrite memory too early (views.c)
 *   3. groups     each cluster with loops, operands and sweeps (schedule.c)
 *   4. scratch    offsets of temporaries (temporaries.c) */
#include "expr/fuse/fuse.h"

#include <stdlib.h>

/* -- extents, domains, views ---------------------------------------------- */

struct xl__extent xl__extent_of(const struct xl__shape *shape)
{
    struct xl__extent x;
    const unsigned gap = XL_MAX_DIMS - shape->n_dims;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        x.size[d] = d < gap ? 1 : shape->size[d - gap];
    return x;
}

double xl__extent_elems(const struct xl__extent *x)
{
    double n = 1;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        n *= (double)x->size[d];
    return n;
}

bool xl__extent_equal(const struct xl__extent *a, const struct xl__extent *b)
{
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (a->size[d] != b->size[d])
            return false;
    return true;
}

struct xl__extent xl__domain_rows(const struct xl__domain *d)
{
    struct xl__extent x = d->all;
    for (unsigned i = 0; i < XL_MAX_DIMS; i++)
        if (d->reduced >> i & 1)
            x.size[i] = 1;
    return x;
}

struct xl__domain xl__domain_of(const struct xl__fusion *f, unsigned reduction)
{
    const struct xl__node *n = &f->g->node[reduction];
    const struct xl__node *arg = &f->g->node[n->arg[0]];
    struct xl__domain d = {xl__extent_of(&arg->shape), 0};
    const unsigned gap = XL_MAX_DIMS - arg->shape.n_dims;
    for (unsigned i = gap; i < XL_MAX_DIMS; i++)
        if ((n->axes >> (i - gap) & 1) && d.all.size[i] > 1)
            d.reduced |= 1u << i;
    return d;
}

/* A view with its dimensions aligned at the last one. */
static struct xl__view aligned_view(size_t offset,
                                    const struct xl__shape *shape,
                                    const size_t *stride)
{
    struct xl__view v = {offset, xl__extent_of(shape), {0}};
    const unsigned gap = XL_MAX_DIMS - shape->n_dims;
    for (unsigned d = gap; d < XL_MAX_DIMS; d++)
        v.stride[d] = v.extent.size[d] > 1 ? stride[d - gap] : 0;
    return v;
}

struct xl__view xl__view_input(const struct xl__node *n)
{
    return aligned_view(n->offset, &n->shape, n->stride);
}

struct xl__view xl__view_loaded(const struct xl__fusion *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    return node->op == XL__E_INPUT || node->op == XL__E_VIEW
               ? xl__view_input(node)
               : xl__view_dense(&f->mark[n].extent);
}

struct xl__view xl__view_output(const struct xl__output *o)
{
    return aligned_view(o->offset, &o->shape, o->stride);
}

struct xl__view xl__view_dense(const struct xl__extent *x)
{
    struct xl__view v = {0, *x, {0}};
    size_t step = 1;
    for (unsigned d = XL_MAX_DIMS; d-- > 0;) {
        v.stride[d] = x->size[d] > 1 ? step : 0;
        step *= x->size[d];
    }
    return v;
}

struct xl__view xl__view_place(const struct xl__fusion *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    size_t stride[XL_MAX_DIMS] = {0};
    if (node->op != XL__E_INDEX)
        return xl__view_dense(&f->mark[n].extent);
    stride[(unsigned)f->g->node[node->arg[0]].value] = 1;
    return aligned_view(0, &node->shape, stride);
}

unsigned xl__view_inner(const struct xl__view *v)
{
    unsigned inner = XL__NEVER;
    for (unsigned d = XL_MAX_DIMS; d-- > 0;) {
        if (v->stride[d] == 0)
            continue;
        if (inner == XL__NEVER || xl__stride_length(v->stride[d]) <
                                      xl__stride_length(v->stride[inner]))
            inner = d;
    }
    return inner;
}

/* -- clusters ------------------------------------------------------------- */

/* Extend is_needed from the sinks down to what is loaded. */
static void mark_needed(struct xl__fusion *f, unsigned at)
{
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed || xl__is_loaded(f, n, at))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++)
            f->mark[node->arg[a]].is_needed = true;
    }
}

void xl__cluster_close(struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned at)
{
    const struct xl__extent rows = xl__domain_rows(&c->domain);
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_needed = false;
    for (unsigned i = 0; i < c->n_sinks; i++)
        f->mark[c->sink[i].node].is_needed = true;
    if (!c->is_copy)
        mark_needed(f, at);
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->is_mine = m->is_row = false;
        if (!m->is_needed || c->is_copy)
            continue;
        if (!xl__is_loaded(f, n, at)) {
            m->is_mine = xl__is_reduction(node);
            for (unsigned a = 0; a < xl__n_args(node); a++)
                m->is_mine |= f->mark[node->arg[a]].is_mine;
        }
        m->is_row = c->domain.reduced != 0;
        for (unsigned d = 0; d < XL_MAX_DIMS && m->is_row; d++)
            m->is_row = m->extent.size[d] == 1 || rows.size[d] != 1;
    }
}

void xl__mark_below(struct xl__fusion *f, unsigned n, unsigned at)
{
    for (unsigned i = 0; i <= n; i++)
        f->mark[i].is_below = false;
    f->mark[n].is_below = true;
    for (unsigned i = n + 1; i-- > 0;) {
        const struct xl__node *node = &f->g->node[i];
        if (!f->mark[i].is_below || xl__is_loaded(f, i, at))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++)
            f->mark[node->arg[a]].is_below = true;
    }
}

xl_status xl__sink_add(struct xl__fusion *f, struct xl__cluster *c,
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

xl_status xl__sinks_add_outputs(struct xl__fusion *f, struct xl__cluster *c,
                                unsigned node)
{
    xl_status status = XL_OK;
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        const struct xl__extent to = xl__extent_of(&f->g->output[o].shape);
        if (f->g->output[o].node == node && f->output_in[o] == XL__NEVER &&
            xl__extent_equal(&to, &f->mark[node].extent))
            TRY(xl__sink_add(f, c, node, o));
    }
fail:
    return status;
}

xl_status xl__cluster_store(struct xl__fusion *f, struct xl__cluster *c,
                            unsigned node)
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

/* A node that is stored is in memory, and so are the views of it. */
static void set_stored(struct xl__fusion *f, unsigned node, unsigned at)
{
    f->mark[node].stored_in = at;
    for (unsigned n = node + 1; n < f->g->n_nodes; n++)
        if (f->g->node[n].op == XL__E_VIEW && f->g->node[n].arg[0] == node)
            f->mark[n].stored_in = at;
}

xl_status xl__cluster_push(struct xl__fusion *f, struct xl__cluster *c)
{
    const unsigned at = f->n_clusters;
    if (!xl__grow(&f->cluster, &f->cap_clusters, at + 1, sizeof *f->cluster))
        return XL_NO_MEMORY;
    xl__cluster_close(f, c, at);
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (f->mark[n].is_needed && xl__is_reduction(&f->g->node[n]) &&
            !xl__is_loaded(f, n, at))
            f->mark[n].reduced_in = at;
    for (unsigned i = 0; i < c->n_sinks; i++) {
        const struct xl__sink *sink = &c->sink[i];
        if (sink->output != XL__NEVER)
            f->output_in[sink->output] = at;
        if (sink->is_kept && !c->is_copy)
            set_stored(f, sink->node, at);
    }
    f->cluster[f->n_clusters++] = *c;
    *c = (struct xl__cluster){0};
    return XL_OK;
}

/* -- the start ------------------------------------------------------------ */

static bool is_dense(const struct xl__view *v)
{
    const struct xl__view dense = xl__view_dense(&v->extent);
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (v->stride[d] != dense.stride[d])
            return false;
    return true;
}

/* Can later clusters read the output instead of a temporary? Only if its dtype
 * and shape hold the node exactly, and no other output overlaps it. A view
 * counts elements in their order, so they are dense. */
static bool can_read_back(const struct xl__fusion *f, unsigned o)
{
    const struct xl__output *out = &f->g->output[o];
    const struct xl__extent to = xl__extent_of(&out->shape);
    if (out->dtype != xl__wide_dtype(f->g, f->g->node[out->node].type) ||
        !xl__extent_equal(&to, &f->mark[out->node].extent))
        return false;
    const struct xl__view v = xl__view_output(out);
    if (f->mark[out->node].is_viewed && !is_dense(&v))
        return false;
    for (unsigned i = 0; i < f->g->n_outputs; i++)
        if (i != o && xl__outputs_overlap(f, i, o))
            return false;
    return true;
}

/* Marks of all nodes, before there is any cluster. */
static xl_status init_marks(struct xl__fusion *f)
{
    f->mark = xl__calloc(f->g->n_nodes, sizeof *f->mark);
    if (!f->mark)
        return XL_NO_MEMORY;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->extent = xl__extent_of(&node->shape);
        m->elems = xl__extent_elems(&m->extent);
        m->stored_in = m->reduced_in = XL__NEVER;
        m->is_scalar = node->op != XL__E_INPUT && node->op != XL__E_VIEW &&
                       !xl__is_of_place(node->op) &&
                       !xl__is_reduction(node) && !xl__is_gather(node);
        for (unsigned a = 0; a < xl__n_args(node); a++)
            m->is_scalar &= f->mark[node->arg[a]].is_scalar;
        if (node->op == XL__E_VIEW)
            f->mark[node->arg[0]].is_viewed = true;
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        f->output_in[o] = XL__NEVER;
        f->can_read_back[o] = can_read_back(f, o);
    }
    return XL_OK;
}

/* -- unfused -------------------------------------------------------------- */

/* Is a node computed in the kernels that use it, also if unfused? These are
 * inputs, their conversions, and nodes of numbers and scalars only. */
static bool is_inline(const struct xl__fusion *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    if (f->mark[n].is_viewed)
        return false;
    return node->op == XL__E_INPUT || node->op == XL__E_VIEW ||
           f->mark[n].is_scalar ||
           (node->op == XL__E_CAST &&
            f->g->node[node->arg[0]].op == XL__E_INPUT);
}

static bool has_user(const struct xl__fusion *f, unsigned n)
{
    for (unsigned i = n + 1; i < f->g->n_nodes; i++)
        for (unsigned a = 0; a < xl__n_args(&f->g->node[i]); a++)
            if (f->g->node[i].arg[a] == n)
                return true;
    return false;
}

/* Push a cluster that computes one operation, stored in outputs of its shape
 * or in a temporary. */
static xl_status push_single_node(struct xl__fusion *f, unsigned n)
{
    xl_status status;
    const bool reduces = xl__is_reduction(&f->g->node[n]);
    struct xl__cluster c = {.domain = {.all = f->mark[n].extent}};
    if (reduces) {
        c.domain = xl__domain_of(f, n);
        c.form = xl__form_of(f, &c.domain, n);
    }
    TRY(xl__sinks_add_outputs(f, &c, n));
    if (c.n_sinks == 0 || has_user(f, n))
        TRY(xl__cluster_store(f, &c, n));
    xl__str_add(&c.why, "One operation, because fusion is off. ");
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

/* Push a cluster that stores an output by itself, for broadcast outputs. */
static xl_status push_single_output(struct xl__fusion *f, unsigned o)
{
    xl_status status;
    struct xl__cluster c = {
        .domain = {.all = xl__extent_of(&f->g->output[o].shape)}};
    TRY(xl__sink_add(f, &c, f->g->output[o].node, o));
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

static xl_status push_single_clusters(struct xl__fusion *f)
{
    xl_status status = XL_OK;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (!is_inline(f, n))
            TRY(push_single_node(f, n));
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (f->output_in[o] == XL__NEVER)
            TRY(push_single_output(f, o));
fail:
    return status;
}

/* -- entry ---------------------------------------------------------------- */

xl_status xl__fuse(const struct xl__graph *g, const struct xl__signature *s,
                   const struct xl__limits *l, bool unfused,
                   struct xl__schedule *out, struct xl__error *e)
{
    xl_status status;
    struct xl__fusion f = {.g = g, .s = s, .l = l, .out = out, .error = e};
    *out = (struct xl__schedule){0};
    TRY(init_marks(&f));
    TRY(unfused ? push_single_clusters(&f) : xl__grow_clusters(&f));
    TRY(xl__detour_outputs(&f));
    for (unsigned i = 0; i < f.n_clusters; i++)
        TRY(xl__group_make(&f, i));
    TRY(xl__temps_set_offsets(out, e));
fail:
    for (unsigned i = 0; i < f.n_clusters; i++)
        xl__cluster_clear(&f.cluster[i]);
    free(f.cluster);
    free(f.mark);
    if (status != XL_OK) {
        xl__schedule_clear(out);
        xl__error_set(e, status, "while operations were grouped");
    }
    return status;
}
