/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters grow from a seed, one after another: the first reduction that can
 * be computed, and when there is none left, the first output. A cluster takes
 * in what goes over the same domain and reads the same memory or its results.
 * What is still needed of it afterwards is stored (fuse_keep.c). If it is more
 * than a kernel can hold, it takes in less, and at last is split. */
#include "expr/fuse/fuse.h"
#include "expr/graph/loops.h"

/* Over a row: each computes again what is below it and not held, so a kernel
 * grows by the square of them. */
enum { MOST_SWEEPS = 16 };

struct growth {
    struct xl__cluster *cluster;
    unsigned at;    /* the number it will have */
    unsigned seed;  /* a reduction, or XL__NEVER: an output's */
    unsigned allow; /* what it may still take in */
    unsigned taken;
    uint64_t loads; /* of all that was taken in */
};

/* Memory as a bit of a set. What is small beside the domain does not count:
 * to read it twice costs nothing. */
static uint64_t load_bit(const struct xl__fuser *f,
                         const struct xl__cluster *c, unsigned n)
{
    enum { BINDINGS = 32 };
    static const double worth = 0.125;
    const struct xl__node *node = &f->g->node[n];
    if (f->mark[n].elems < worth * xl__extent_elems(&c->domain.all))
        return 0;
    return node->op == XL__E_INPUT
               ? UINT64_C(1) << f->s->b[node->binding].same_as
               : UINT64_C(1) << (BINDINGS + n % BINDINGS);
}

static bool same_domain(const struct xl__domain *a, const struct xl__domain *b)
{
    return a->reduced == b->reduced && xl__extent_equal(&a->all, &b->all);
}

/* May `state` be below what the cluster stores or reduces? Only ROWS sweep
 * again once a reduction is known. */
static bool is_within_reach(const struct xl__cluster *c, unsigned state)
{
    return state == XL__FREE ||
           (state == XL__MINE && c->form == XL__FORM_ROWS);
}

static bool takes_reduction(const struct xl__fuser *f, struct growth *w,
                            unsigned n)
{
    const struct xl__domain d = xl__domain_of(f, n);
    const struct xl__mark *arg = &f->mark[f->g->node[n].arg[0]];
    if (n == w->seed)
        return true;
    if (w->seed == XL__NEVER || w->allow == w->taken || n < w->seed ||
        !is_within_reach(w->cluster, arg->state) ||
        f->mark[n].sweep >= MOST_SWEEPS ||
        !same_domain(&d, &w->cluster->domain) ||
        (arg->state == XL__FREE && !(arg->loads & w->loads)))
        return false;
    w->taken++;
    return true;
}

/* The sweep in which a node can be computed, by its arguments'. */
static unsigned sweep_of(const struct xl__fuser *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    unsigned sweep = 0;
    for (unsigned a = 0; a < xl__args(node); a++) {
        const struct xl__mark *arg = &f->mark[node->arg[a]];
        const bool is_next = xl__is_reduction(&f->g->node[node->arg[a]]) &&
                             arg->state == XL__MINE;
        if (arg->sweep + is_next > sweep)
            sweep = arg->sweep + is_next;
    }
    return sweep;
}

/* State and loads of every node, while reductions are taken in. */
static void spread(struct xl__fuser *f, struct growth *w)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->state = XL__FREE;
        m->loads = 0;
        m->sweep = 0;
        if (xl__is_loaded(f, n, w->at)) {
            m->loads = load_bit(f, w->cluster, n);
            continue;
        }
        m->sweep = sweep_of(f, n);
        for (unsigned a = 0; a < xl__args(node); a++) {
            const struct xl__mark *arg = &f->mark[node->arg[a]];
            m->loads |= arg->loads;
            if (arg->state > m->state)
                m->state = arg->state;
        }
        if (!xl__is_reduction(node) || m->reduced_in != XL__NEVER)
            continue;
        const bool taken = takes_reduction(f, w, n);
        m->state = taken ? XL__MINE : XL__OTHERS;
        w->loads |= taken ? m->loads : 0;
        m->loads = 0;
    }
}

/* Is the output one of the cluster's elements, or of its rows? */
static bool takes_output(const struct xl__fuser *f, const struct growth *w,
                         unsigned o)
{
    const struct xl__output *out = &f->g->output[o];
    const struct xl__cluster *c = w->cluster;
    const struct xl__mark *m = &f->mark[out->node];
    const struct xl__extent to = xl__extent_of(&out->shape);
    const struct xl__extent rows = xl__domain_rows(&c->domain);
    if (c->domain.reduced == 0)
        return m->state == XL__FREE && xl__extent_equal(&to, &c->domain.all);
    if (m->state == XL__MINE && xl__extent_equal(&m->extent, &rows))
        return xl__extent_equal(&to, &rows);
    if (!is_within_reach(c, m->state) ||
        !xl__extent_equal(&to, &c->domain.all))
        return false;
    /* A row's value in all of its elements is left to a cluster without
     * reductions. */
    bool is_element = false;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        is_element |= m->extent.size[d] != 1 && rows.size[d] == 1;
    return is_element && (m->state == XL__MINE || (m->loads & w->loads));
}

static xl_status take_outputs(struct xl__fuser *f, struct growth *w)
{
    xl_status status;
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        const bool is_first = w->seed == XL__NEVER && w->cluster->n_sinks == 0;
        if (f->output_in[o] != XL__NEVER || !takes_output(f, w, o) ||
            (!is_first && w->taken == w->allow))
            continue;
        TRY(xl__sink_add(f, w->cluster, f->g->output[o].node, o));
        w->taken += !is_first;
    }
    return XL_OK;
fail:
    return status;
}

/* Which way the memory that is read lies: bytes whose closest dimension is a
 * reduced one, less those where it is kept. */
static bool is_reduced_inside(struct xl__fuser *f, const struct xl__domain *d,
                              unsigned seed, unsigned at)
{
    double inside = 0;
    xl__mark_below(f, f->g->node[seed].arg[0], at);
    for (unsigned n = 0; n < seed; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_below || !xl__is_loaded(f, n, at))
            continue;
        const bool is_input = node->op == XL__E_INPUT;
        const struct xl__view v = is_input
                                      ? xl__view_input(node)
                                      : xl__view_dense(&f->mark[n].extent);
        const unsigned inner = xl__view_inner(&v);
        const double bytes =
            f->mark[n].elems *
            (double)xl_dtype_bytes(is_input ? node->dtype : XL_F32);
        if (inner != XL__NEVER)
            inside += d->reduced >> inner & 1 ? bytes : -bytes;
    }
    return inside >= 0;
}

enum xl__form xl__form_of(struct xl__fuser *f, const struct xl__domain *d,
                          unsigned seed)
{
    const struct xl__extent rows = xl__domain_rows(d);
    const double kept = xl__extent_elems(&rows);
    return xl__form_choose(f->l, kept, xl__extent_elems(&d->all) / kept,
                           kept == 1 ||
                               is_reduced_inside(f, d, seed, f->n_clusters));
}

/* The cluster as large as `allow` lets it be. */
static xl_status fill(struct xl__fuser *f, struct growth *w, bool plainly)
{
    xl_status status;
    struct xl__cluster *c = w->cluster;
    c->n_sinks = 0;
    spread(f, w);
    TRY(take_outputs(f, w));
    xl__close(f, c, w->at);
    TRY(xl__keep(f, c, plainly));
    if (c->n_sinks == 0)
        TRY(xl__store(f, c, w->seed)); /* a result that nobody asked for */
    TRY(xl__hoist(f, c));
    return XL_OK;
fail:
    return status;
}

/* One more cluster; it may push others first. */
static xl_status grow(struct xl__fuser *f, unsigned seed,
                      const struct xl__domain *d)
{
    xl_status status;
    struct xl__cluster c = {.domain = *d};
    unsigned allow = XL__NEVER;
    bool plainly = false;
    if (seed != XL__NEVER)
        c.form = xl__form_of(f, d, seed);
    for (;;) {
        struct growth w = {&c, f->n_clusters, seed, allow, 0, 0};
        TRY(fill(f, &w, plainly));
        xl__close(f, &c, f->n_clusters);
        if (xl__fits(f, &c, f->n_clusters))
            break;
        allow = plainly ? XL__NEVER : w.taken / 2;
        if (plainly)
            TRY(xl__split_layout(f, &c));
        plainly = !plainly && w.taken == 0;
    }
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

/* The first one that is still to come: there is no other below it. */
static unsigned first_reduction(const struct xl__fuser *f)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (xl__is_reduction(&f->g->node[n]) &&
            f->mark[n].reduced_in == XL__NEVER)
            return n;
    return XL__NEVER;
}

xl_status xl__grow_clusters(struct xl__fuser *f)
{
    xl_status status;
    for (;;) {
        const unsigned seed = first_reduction(f);
        if (seed == XL__NEVER)
            break;
        const struct xl__domain d = xl__domain_of(f, seed);
        TRY(grow(f, seed, &d));
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        if (f->output_in[o] != XL__NEVER)
            continue;
        const struct xl__domain d = {xl__extent_of(&f->g->output[o].shape), 0};
        TRY(grow(f, XL__NEVER, &d));
    }
    return XL_OK;
fail:
    return status;
}
