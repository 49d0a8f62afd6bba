/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters of a graph, fused: growing, hoisting and splitting.
 *
 * Growing. A cluster starts from a seed: the first reduction that is not in a
 * cluster yet or, after all reductions, the first output that is not stored. A
 * value that a VIEW reads is stored before what comes after the VIEW, and so
 * is a GATHER below a reduction: only the form MAP computes one.
 * It takes in reductions and outputs that have the same domain and that read
 * the same memory or depend on its results. Then temporaries.c decides which
 * values are stored for later clusters.
 *
 * Hoisting. A value that is broadcast is computed again for each element that
 * it is broadcast to, unless it is computed once by a cluster of its own. A
 * kernel takes the longer of the times of memory and of arithmetic, so a value
 * is hoisted if that time grows by more than a launch costs.
 *
 * Splitting. If a cluster does not fit into a kernel, it first takes in fewer
 * reductions and outputs. If a single result does not fit, the node below it
 * that replaces most loads for the fewest bytes is stored by a cluster of its
 * own. The rest has one node less to compute each time, so this ends. */
#include <math.h>
#include <stdlib.h>

#include "device/time_model.h"
#include "expr/fuse/fuse.h"
#include "expr/graph/loops.h"
#include "expr/graph/print.h"

/* -- splitting ------------------------------------------------------------ */

enum { WORD = 64 };

/* By node of the current cluster: */
struct load_sets {
    uint64_t *bits; /* `words` to a node: what it loads */
    size_t words;
    double *operations; /* that it is computed with; those of a node that two
                           others use count twice */
};

static unsigned count_bits(const uint64_t *bits, size_t words)
{
    unsigned n = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t w = bits[i]; w != 0; w &= w - 1)
            n++;
    return n;
}

/* For each node of the current cluster, find the set of loads it is computed
 * from, and its operations. */
static xl_status find_load_sets(struct xl__fusion *f, struct load_sets *s)
{
    size_t loads = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        loads += f->mark[n].is_needed;
    s->words = loads / WORD + 1;
    s->bits = xl__calloc(s->words * f->g->n_nodes, sizeof *s->bits);
    s->operations = xl__calloc(f->g->n_nodes, sizeof *s->operations);
    if (!s->bits || !s->operations)
        return XL_NO_MEMORY;
    loads = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        uint64_t *own = s->bits + n * s->words;
        if (!f->mark[n].is_needed)
            continue;
        const bool is_loaded = xl__is_loaded(f, n, f->n_clusters);
        if (is_loaded || xl__is_of_place(node->op) || xl__is_gather(node)) {
            own[loads / WORD] |= UINT64_C(1) << loads % WORD;
            loads++;
        }
        s->operations[n] = is_loaded ? 0 : xl__node_operations(node);
        for (unsigned a = 0; !is_loaded && a < xl__n_args(node); a++) {
            s->operations[n] += s->operations[node->arg[a]];
            for (size_t i = 0; i < s->words; i++)
                own[i] |= s->bits[node->arg[a] * s->words + i];
        }
    }
    return XL_OK;
}

static bool is_sink(const struct xl__cluster *c, unsigned n)
{
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].node == n)
            return true;
    return false;
}

/* The node before `end` with the most loads for each stored element; of equals
 * the one with the most operations, and of these the last. XL__NEVER: none. */
static unsigned choose_cut(const struct xl__fusion *f,
                           const struct xl__cluster *c,
                           const struct load_sets *s, unsigned end)
{
    unsigned best = XL__NEVER;
    double best_worth = 0;
    for (unsigned n = 0; n < end; n++) {
        const struct xl__mark *m = &f->mark[n];
        const unsigned loads = count_bits(s->bits + n * s->words, s->words);
        const double worth = loads / m->elems;
        if (!m->is_needed || m->is_mine || m->is_scalar || is_sink(c, n) ||
            xl__is_loaded(f, n, f->n_clusters) || loads == 0 ||
            loads >= XL__EXPR_OPERANDS || worth < best_worth ||
            (worth == best_worth && best != XL__NEVER &&
             s->operations[n] < s->operations[best]))
            continue;
        best = n;
        best_worth = worth;
    }
    return best;
}

/* Make *own a cluster that stores the node of choose_cut(); without sinks if
 * there is none. */
static xl_status cut_before(struct xl__fusion *f, struct xl__cluster *c,
                            const struct load_sets *s, unsigned end,
                            struct xl__cluster *own)
{
    own->n_sinks = 0;
    xl__cluster_close(f, c, f->n_clusters);
    const unsigned n = choose_cut(f, c, s, end);
    if (n == XL__NEVER)
        return XL_OK;
    own->domain.all = f->mark[n].extent;
    return xl__cluster_store(f, own, n);
}

static bool fits_kernel(struct xl__fusion *f, const struct xl__cluster *own)
{
    xl__cluster_close(f, own, f->n_clusters);
    return own->n_sinks > 0 && xl__cluster_fits(f, own, f->n_clusters);
}

/* Make *own a part of *c that fits: the best one, or else the last one in the
 * graph's order that fits, found by bisection, since nodes that come later are
 * computed from more. */
static xl_status split_off(struct xl__fusion *f, struct xl__cluster *c,
                           const struct load_sets *s, struct xl__cluster *own)
{
    xl_status status;
    unsigned low = 0, high = f->g->n_nodes;
    TRY(cut_before(f, c, s, high, own));
    if (fits_kernel(f, own))
        return XL_OK;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        TRY(cut_before(f, c, s, middle, own));
        if (own->n_sinks == 0 || fits_kernel(f, own))
            low = middle; /* nothing to store before it, or it fits */
        else
            high = middle;
    }
    TRY(cut_before(f, c, s, low, own));
    if (own->n_sinks == 0)
        TRY(cut_before(f, c, s, f->g->n_nodes, own));
    if (own->n_sinks == 0)
        return xl__error_set(f->error, XL_UNSUPPORTED,
                             "one operation needs more than the %d operands "
                             "of a kernel",
                             XL__EXPR_OPERANDS);
fail:
    return status;
}

/* Push a cluster that stores a part of *c, the current cluster. */
static xl_status split_cluster(struct xl__fusion *f, struct xl__cluster *c)
{
    xl_status status;
    struct load_sets s = {0};
    struct xl__cluster own = {0};
    TRY(find_load_sets(f, &s));
    TRY(split_off(f, c, &s, &own));
    xl__str_printf(&own.why,
                   "Stored because what it is part of exceeds a kernel: %d "
                   "operands, %d operations, or the registers of an item. ",
                   XL__EXPR_OPERANDS, XL__KERNEL_OPERATIONS);
    TRY(xl__cluster_push(f, &own));
fail:
    xl__cluster_clear(&own);
    free(s.bits);
    free(s.operations);
    return status;
}

/* Push *c, after as many parts of it as are needed for it to fit. */
static xl_status push_split(struct xl__fusion *f, struct xl__cluster *c)
{
    xl_status status;
    for (;;) {
        xl__cluster_close(f, c, f->n_clusters);
        if (xl__cluster_fits(f, c, f->n_clusters))
            break;
        TRY(split_cluster(f, c));
    }
    TRY(xl__cluster_push(f, c));
fail:
    return status;
}

/* -- hoisting ------------------------------------------------------------- */

enum { MAX_HOISTS = 16 };
static const double ns_per_s = 1e9;

/* Set is_broadcast: a node or sink with more elements uses the node. */
static void mark_broadcast(struct xl__fusion *f, const struct xl__cluster *c)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_broadcast = false;
    for (unsigned i = 0; i < c->n_sinks; i++) {
        const struct xl__sink *s = &c->sink[i];
        struct xl__mark *m = &f->mark[s->node];
        m->is_broadcast |= xl__extent_elems(&s->extent) > m->elems;
    }
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed || xl__is_loaded(f, n, f->n_clusters))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++)
            if (f->mark[node->arg[a]].elems < f->mark[n].elems)
                f->mark[node->arg[a]].is_broadcast = true;
    }
}

/* Could a cluster of its own compute the node? Not row values, scalars, and
 * what depends on the cluster's reductions. */
static bool is_hoist_candidate(const struct xl__fusion *f, unsigned n)
{
    const struct xl__mark *m = &f->mark[n];
    return m->is_needed && m->is_broadcast && !m->is_row && !m->is_mine &&
           !m->is_scalar && !xl__is_loaded(f, n, f->n_clusters);
}

/* Flop of one element of node n, with all nodes below it. */
static double flop_below(struct xl__fusion *f, unsigned n)
{
    double flop = 0;
    xl__mark_below(f, n, f->n_clusters);
    for (unsigned i = 0; i <= n; i++)
        if (f->mark[i].is_below && !xl__is_loaded(f, i, f->n_clusters))
            flop += xl__expr_ops[f->g->node[i].op].flop;
    return flop;
}

/* The times of a cluster's arithmetic, if everything is computed for each
 * element of the domain, and of its memory. */
static void estimate_times(const struct xl__fusion *f,
                           const struct xl__cluster *c, double *fma_ns,
                           double *memory_ns)
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
    *fma_ns = flop / xl__group_rate(f->l) * ns_per_s;
    *memory_ns = bytes / xl__rate_memory(f->l) * ns_per_s;
}

/* Append the decision to *why, if it matters: by least_ns. */
static void explain_hoist(const struct xl__fusion *f, unsigned n, double often,
                          double extra_ns, bool is_hoisted,
                          struct xl__str *why)
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

/* The next node that is to be hoisted; XL__NEVER: none. */
static unsigned next_hoist(struct xl__fusion *f, struct xl__cluster *c,
                           unsigned *n_estimates)
{
    const double all = xl__extent_elems(&c->domain.all);
    double fma_ns, memory_ns;
    estimate_times(f, c, &fma_ns, &memory_ns);
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        if (!is_hoist_candidate(f, n) || ++*n_estimates > MAX_HOISTS)
            continue;
        const double often = all / f->mark[n].elems;
        const double extra_ns = flop_below(f, n) * (all - f->mark[n].elems) /
                                xl__rate_fma(f->l) * ns_per_s;
        const bool is_hoisted =
            fmax(fma_ns - extra_ns, memory_ns) + xl__launch_ns(f->l) <
            fmax(fma_ns, memory_ns);
        explain_hoist(f, n, often, extra_ns, is_hoisted, &c->why);
        if (is_hoisted)
            return n;
    }
    return XL__NEVER;
}

/* Push a cluster for each node that is to be hoisted, until no further one is;
 * *c is then the current cluster. */
static xl_status hoist_nodes(struct xl__fusion *f, struct xl__cluster *c)
{
    xl_status status;
    struct xl__cluster own = {0};
    for (unsigned n_estimates = 0;;) {
        xl__cluster_close(f, c, f->n_clusters);
        mark_broadcast(f, c);
        const unsigned n = next_hoist(f, c, &n_estimates);
        if (n == XL__NEVER)
            break;
        own.domain.all = f->mark[n].extent;
        TRY(xl__cluster_store(f, &own, n));
        TRY(push_split(f, &own));
    }
    return XL_OK;
fail:
    xl__cluster_clear(&own);
    return status;
}

/* -- growing -------------------------------------------------------------- */

/* Sweeps over a row at most. Each one computes again the values that are not
 * held, so the size of a kernel grows with the square of their number. */
enum { MAX_SWEEPS = 16 };

struct growth {
    struct xl__cluster *cluster;
    unsigned at;    /* the number that the cluster will have */
    unsigned seed;  /* a reduction; XL__NEVER: an output */
    unsigned allow; /* reductions and outputs that it may take in */
    unsigned taken;
    uint64_t loads; /* of all that was taken in */
};

/* The memory that a node is loaded from, as a bit of a set. Memory that is
 * small compared with the domain has none: reading it twice costs little. */
static uint64_t load_bit(const struct xl__fusion *f,
                         const struct xl__cluster *c, unsigned n)
{
    enum { BINDINGS = 32 };
    static const double worth = 0.125;
    const struct xl__node *node = &f->g->node[n];
    const unsigned memory = node->op == XL__E_VIEW ? node->arg[0] : n;
    if (f->mark[n].elems < worth * xl__extent_elems(&c->domain.all))
        return 0;
    return node->op == XL__E_INPUT
               ? UINT64_C(1) << f->s->b[node->binding].same_as
               : UINT64_C(1) << (BINDINGS + memory % BINDINGS);
}

static bool same_domain(const struct xl__domain *a, const struct xl__domain *b)
{
    return a->reduced == b->reduced && xl__extent_equal(&a->all, &b->all);
}

/* Can the cluster compute something from a node of this state? From its own
 * reductions only in the form ROWS, which sweeps again after a reduction. */
static bool is_within_reach(const struct xl__cluster *c, unsigned state)
{
    return state == XL__FREE ||
           (state == XL__MINE && c->form == XL__FORM_ROWS);
}

/* Does the cluster take in reduction n? It must have the cluster's domain, be
 * computable in one of its sweeps, and read the same memory or depend on its
 * results. */
static bool accepts_reduction(const struct xl__fusion *f, struct growth *w,
                              unsigned n)
{
    const struct xl__domain d = xl__domain_of(f, n);
    const struct xl__mark *arg = &f->mark[f->g->node[n].arg[0]];
    if (n == w->seed)
        return true;
    if (w->seed == XL__NEVER || w->allow == w->taken || n < w->seed ||
        !is_within_reach(w->cluster, arg->state) ||
        f->mark[n].sweep >= MAX_SWEEPS ||
        !same_domain(&d, &w->cluster->domain) ||
        (arg->state == XL__FREE && !(arg->loads & w->loads)))
        return false;
    w->taken++;
    return true;
}

/* The first sweep in which a node can be computed, by its arguments. */
static unsigned sweep_of(const struct xl__fusion *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    unsigned sweep = 0;
    for (unsigned a = 0; a < xl__n_args(node); a++) {
        const struct xl__mark *arg = &f->mark[node->arg[a]];
        const bool is_next = xl__is_reduction(&f->g->node[node->arg[a]]) &&
                             arg->state == XL__MINE;
        if (arg->sweep + is_next > sweep)
            sweep = arg->sweep + is_next;
    }
    return sweep;
}

/* Set state, loads and sweep of every node, in order, and take in reductions
 * on the way. */
static void spread_states(struct xl__fusion *f, struct growth *w)
{
    const bool reduces = w->cluster->domain.reduced != 0;
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
        if (node->op == XL__E_VIEW || (xl__is_gather(node) && reduces))
            m->state = XL__OTHERS; /* stored before this cluster, if below */
        for (unsigned a = 0; a < xl__n_args(node); a++) {
            const struct xl__mark *arg = &f->mark[node->arg[a]];
            m->loads |= arg->loads;
            if (arg->state > m->state)
                m->state = arg->state;
        }
        if (!xl__is_reduction(node) || m->reduced_in != XL__NEVER)
            continue;
        const bool taken = accepts_reduction(f, w, n);
        m->state = taken ? XL__MINE : XL__OTHERS;
        w->loads |= taken ? m->loads : 0;
        m->loads = 0;
    }
}

/* Does the cluster store the output, as elements of its domain or as rows? */
static bool accepts_output(const struct xl__fusion *f, const struct growth *w,
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
    /* A row value that is stored in all elements of the row is left to a
     * cluster without reductions. */
    bool is_element = false;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        is_element |= m->extent.size[d] != 1 && rows.size[d] == 1;
    return is_element && (m->state == XL__MINE || (m->loads & w->loads));
}

/* Add the outputs that the cluster stores as sinks. */
static xl_status add_outputs(struct xl__fusion *f, struct growth *w)
{
    xl_status status = XL_OK;
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        const bool is_first = w->seed == XL__NEVER && w->cluster->n_sinks == 0;
        if (f->output_in[o] != XL__NEVER || !accepts_output(f, w, o) ||
            (!is_first && w->taken == w->allow))
            continue;
        TRY(xl__sink_add(f, w->cluster, f->g->output[o].node, o));
        w->taken += !is_first;
    }
fail:
    return status;
}

/* Is most of the memory that the seed reads contiguous along a reduced
 * dimension? Compares the bytes of which it is with those of which it is not.
 */
static bool is_reduced_inside(struct xl__fusion *f, const struct xl__domain *d,
                              unsigned seed, unsigned at)
{
    double inside = 0;
    xl__mark_below(f, f->g->node[seed].arg[0], at);
    for (unsigned n = 0; n < seed; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_below || !xl__is_loaded(f, n, at))
            continue;
        const bool is_input = node->op == XL__E_INPUT;
        const struct xl__view v = xl__view_loaded(f, n);
        const unsigned inner = xl__view_inner(&v);
        const double bytes =
            f->mark[n].elems *
            (double)xl_dtype_bytes(is_input ? node->dtype : XL_F32);
        if (inner != XL__NEVER)
            inside += d->reduced >> inner & 1 ? bytes : -bytes;
    }
    return inside >= 0;
}

enum xl__form xl__form_of(struct xl__fusion *f, const struct xl__domain *d,
                          unsigned seed)
{
    const struct xl__extent rows = xl__domain_rows(d);
    const double kept = xl__extent_elems(&rows);
    return xl__form_choose(f->l, kept, xl__extent_elems(&d->all) / kept,
                           kept == 1 ||
                               is_reduced_inside(f, d, seed, f->n_clusters));
}

/* Fill the cluster with sinks, as many as w->allow permits. */
static xl_status fill_cluster(struct xl__fusion *f, struct growth *w,
                              bool reductions_only)
{
    xl_status status = XL_OK;
    struct xl__cluster *c = w->cluster;
    c->n_sinks = 0;
    spread_states(f, w);
    TRY(add_outputs(f, w));
    xl__cluster_close(f, c, w->at);
    TRY(xl__cluster_keep(f, c, reductions_only,
                         w->allow != XL__NEVER && c->form == XL__FORM_ROWS));
    if (c->n_sinks == 0)
        TRY(xl__cluster_store(f, c, w->seed)); /* a result without sinks */
    TRY(hoist_nodes(f, c));
fail:
    return status;
}

/* Push one cluster that fits, grown from a seed. Hoisted and split-off
 * clusters are pushed before it. With each attempt that does not fit, it takes
 * in a quarter less, then stores reductions only, then is split. */
static xl_status grow_cluster(struct xl__fusion *f, unsigned seed,
                              const struct xl__domain *d)
{
    xl_status status;
    struct xl__cluster c = {.domain = *d};
    unsigned allow = XL__NEVER;
    bool reductions_only = false;
    if (seed != XL__NEVER)
        c.form = xl__form_of(f, d, seed);
    for (;;) {
        struct growth w = {&c, f->n_clusters, seed, allow, 0, 0};
        TRY(fill_cluster(f, &w, reductions_only));
        if (xl__cluster_fits(f, &c, f->n_clusters))
            break;
        allow = reductions_only ? XL__NEVER : w.taken - (w.taken + 3) / 4;
        if (reductions_only)
            TRY(split_cluster(f, &c));
        reductions_only = !reductions_only && w.taken == 0;
    }
    TRY(xl__cluster_push(f, &c));
    return XL_OK;
fail:
    xl__cluster_clear(&c);
    return status;
}

/* The first reduction that is not in a cluster; none is below it. */
static unsigned first_reduction(const struct xl__fusion *f)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (xl__is_reduction(&f->g->node[n]) &&
            f->mark[n].reduced_in == XL__NEVER)
            return n;
    return XL__NEVER;
}

/* The first node that is to be stored before a reduction (XL__NEVER: before
 * the outputs): what a VIEW reads, or a GATHER below the reduction, which can
 * compute none. */
static unsigned first_stored(struct xl__fusion *f, unsigned reduction)
{
    if (reduction != XL__NEVER)
        xl__mark_below(f, reduction, f->n_clusters);
    for (unsigned n = 0; n < f->g->n_nodes && n < reduction; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (f->mark[n].stored_in != XL__NEVER)
            continue;
        if (node->op == XL__E_VIEW)
            return node->arg[0];
        if (xl__is_gather(node) && reduction != XL__NEVER &&
            f->mark[n].is_below)
            return n;
    }
    return XL__NEVER;
}

/* Store a node, below which no reduction is left. */
static xl_status store_node(struct xl__fusion *f, unsigned n)
{
    xl_status status;
    struct xl__cluster own = {.domain = {.all = f->mark[n].extent}};
    TRY(xl__sinks_add_outputs(f, &own, n));
    TRY(xl__cluster_store(f, &own, n));
    TRY(hoist_nodes(f, &own));
    TRY(push_split(f, &own));
    return XL_OK;
fail:
    xl__cluster_clear(&own);
    return status;
}

xl_status xl__grow_clusters(struct xl__fusion *f)
{
    xl_status status = XL_OK;
    for (;;) {
        const unsigned seed = first_reduction(f);
        const unsigned stored = first_stored(f, seed);
        if (seed == XL__NEVER && stored == XL__NEVER)
            break;
        if (stored != XL__NEVER) {
            TRY(store_node(f, stored));
            continue;
        }
        const struct xl__domain d = xl__domain_of(f, seed);
        TRY(grow_cluster(f, seed, &d));
    }
    for (unsigned o = 0; o < f->g->n_outputs; o++) {
        if (f->output_in[o] != XL__NEVER)
            continue;
        const struct xl__domain d = {xl__extent_of(&f->g->output[o].shape), 0};
        TRY(grow_cluster(f, XL__NEVER, &d));
    }
fail:
    return status;
}
