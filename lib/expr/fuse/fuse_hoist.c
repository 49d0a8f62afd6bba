/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed once and broadcast, or once for every element that it is
 * broadcast to: whichever the device has done first. A kernel waits for memory
 * or for arithmetic; only what makes it wait longer counts against a launch.
 */
#include "expr/fuse/fuse.h"

#include <math.h>

#include "device/peak_rates.h"
#include "expr/graph/print.h"

enum { MOST_HOISTS = 16 };
static const double ns_per_s = 1e9;

/* is_wanted: somebody larger than the node uses it. */
static void mark_broadcast(struct xl__fuser *f, const struct xl__cluster *c)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_wanted = false;
    for (unsigned i = 0; i < c->n_sinks; i++) {
        const struct xl__sink *s = &c->sink[i];
        struct xl__mark *m = &f->mark[s->node];
        m->is_wanted |= xl__extent_elems(&s->extent) > m->elems;
    }
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed || xl__is_loaded(f, n, f->n_clusters))
            continue;
        for (unsigned a = 0; a < xl__args(node); a++)
            if (f->mark[node->arg[a]].elems < f->mark[n].elems)
                f->mark[node->arg[a]].is_wanted = true;
    }
}

static bool is_candidate(const struct xl__fuser *f, unsigned n)
{
    const struct xl__mark *m = &f->mark[n];
    return m->is_needed && m->is_wanted && !m->is_row && !m->is_mine &&
           !m->is_scalar && !xl__is_loaded(f, n, f->n_clusters);
}

/* Flop per element of what is computed below n. */
static double flop_below(struct xl__fuser *f, unsigned n)
{
    double flop = 0;
    xl__mark_below(f, n, f->n_clusters);
    for (unsigned i = 0; i <= n; i++)
        if (f->mark[i].is_below && !xl__is_loaded(f, i, f->n_clusters))
            flop += xl__expr_ops[f->g->node[i].op].flop;
    return flop;
}

/* Time of a cluster's arithmetic when everything is computed per element, and
 * of its memory. */
static void times(const struct xl__fuser *f, const struct xl__cluster *c,
                  double *fma_ns, double *memory_ns)
{
    const double all = xl__extent_elems(&c->domain.all);
    double flop = 0, bytes = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        const struct xl__mark *m = &f->mark[n];
        if (!m->is_needed)
            continue;
        if (xl__is_loaded(f, n, f->n_clusters))
            bytes += m->elems * (double)xl_dtype_bytes(node->op == XL__E_INPUT
                                                           ? node->dtype
                                                           : XL_F32);
        else if (!m->is_row && !m->is_scalar)
            flop += all * xl__expr_ops[node->op].flop;
    }
    for (unsigned i = 0; i < c->n_sinks; i++) {
        const unsigned o = c->sink[i].output;
        bytes += xl__extent_elems(&c->sink[i].extent) *
                 (double)xl_dtype_bytes(
                     o == XL__NEVER ? XL_F32 : f->g->output[o].dtype);
    }
    *fma_ns = flop / xl__rate_fma(f->l) * ns_per_s;
    *memory_ns = bytes / xl__rate_memory(f->l) * ns_per_s;
}

/* Say what was decided, if it is worth a word. */
static void explain(const struct xl__fuser *f, unsigned n, double often,
                    double extra_ns, bool is_hoisted, struct xl__str *why)
{
    static const double least_ns = 100;
    struct xl__str what = {0};
    if (extra_ns < least_ns && !is_hoisted)
        return;
    xl__graph_print(f->g, f->s, n, &what);
    xl__str_printf(why, "%s %s %.6g times over: %.3g us%s. ",
                   xl__str_text(&what),
                   is_hoisted ? "is computed by itself, not" : "is computed",
                   often, extra_ns * 1e-3,
                   is_hoisted ? ", more than a launch"
                              : ", which a launch or memory hides");
    xl__str_clear(&what);
}

/* The next node that should be computed by itself; XL__NEVER: none. */
static unsigned next(struct xl__fuser *f, struct xl__cluster *c,
                     unsigned *questions)
{
    const double all = xl__extent_elems(&c->domain.all);
    double fma_ns, memory_ns;
    times(f, c, &fma_ns, &memory_ns);
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        if (!is_candidate(f, n) || ++*questions > MOST_HOISTS)
            continue;
        const double often = all / f->mark[n].elems;
        const double extra_ns = flop_below(f, n) * (all - f->mark[n].elems) /
                                xl__rate_fma(f->l) * ns_per_s;
        const bool is_hoisted =
            fmax(fma_ns - extra_ns, memory_ns) + xl__launch_ns(f->l) <
            fmax(fma_ns, memory_ns);
        explain(f, n, often, extra_ns, is_hoisted, &c->why);
        if (is_hoisted)
            return n;
    }
    return XL__NEVER;
}

xl_status xl__hoist(struct xl__fuser *f, struct xl__cluster *c)
{
    xl_status status;
    struct xl__cluster own = {0};
    for (unsigned questions = 0; questions < MOST_HOISTS;) {
        xl__close(f, c, f->n_clusters);
        mark_broadcast(f, c);
        const unsigned n = next(f, c, &questions);
        if (n == XL__NEVER)
            break;
        own.domain.all = f->mark[n].extent;
        TRY(xl__store(f, &own, n));
        TRY(xl__push_fitting(f, &own));
    }
    return XL_OK;
fail:
    xl__cluster_clear(&own);
    return status;
}
