/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel may contain: operands, arguments, registers, operations.
 *
 * Registers. An item has at once, in vectors of four elements (one access of
 * 16 bytes; later the geometry may choose fewer),
 *
 *     the element values that are alive, if all loads come first,
 *     the accumulators of one sweep, of each 1 to 6 words an element,
 *     the row values that are alive, one word each.
 *
 * Operations. The time of a compiler grows with the arithmetic in the text,
 * and faster than that. A node counts its flop (a polynomial for exp has as
 * many instructions), in each sweep that computes it. */
#include "expr/codegen/reductions.h"
#include "expr/fuse/fuse.h"
#include "runtime/plan.h"

enum {
    OTHER_ARGS = 20,      /* arguments of a launch that belong to no operand:
                             sizes of loops, chunks */
    OTHER_REGISTERS = 63, /* of an item, for addresses and loop counters */
    VECTOR_WORDS = 4      /* of an element value or accumulator of one word */
};

/* -- operands and arguments ----------------------------------------------- */

/* Arguments of an operand: pointer, offset and strides. */
static unsigned view_args(const struct xl__view *v)
{
    unsigned n = 2;
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        n += v->stride[d] > 1;
    return n;
}

static unsigned load_args(const struct xl__fusion *f, unsigned n)
{
    enum { GATHER_ARGS = 2 };
    const struct xl__view v = xl__view_loaded(f, n);
    return view_args(&v) + (xl__is_gather(&f->g->node[n]) ? GATHER_ARGS : 0);
}

static unsigned sink_args(const struct xl__fusion *f, const struct xl__sink *s)
{
    struct xl__view v = xl__view_dense(&s->extent);
    if (s->output != XL__NEVER)
        v = xl__view_output(&f->g->output[s->output]);
    return view_args(&v);
}

/* -- registers ------------------------------------------------------------ */

static bool is_computed(const struct xl__fusion *f, unsigned n, unsigned at)
{
    return f->mark[n].is_needed && !xl__is_loaded(f, n, at);
}

/* The largest number of values that are alive at once, if nodes are computed
 * in order: element values (all loads come first), or row values. */
static unsigned max_live_values(struct xl__fusion *f, unsigned at,
                                bool of_rows)
{
    unsigned loaded = 0, now = 0, most;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__mark *m = &f->mark[n];
        f->mark[n].is_below = false;
        loaded +=
            m->is_needed && m->is_row == of_rows && xl__is_loaded(f, n, at);
    }
    /* Backwards, the last use of a value comes first: it is alive from there
     * to its own node. */
    most = loaded;
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        const struct xl__mark *m = &f->mark[n];
        if (!is_computed(f, n, at) || (m->is_row && !of_rows))
            continue;
        now -= m->is_below;
        for (unsigned a = 0; a < xl__n_args(node); a++) {
            struct xl__mark *arg = &f->mark[node->arg[a]];
            if (arg->is_below || arg->is_row != of_rows || arg->is_scalar ||
                xl__is_loaded(f, node->arg[a], at))
                continue;
            arg->is_below = true;
            now++;
        }
        if (now + loaded > most)
            most = now + loaded;
    }
    return most;
}

/* Set the sweep of each node that the cluster computes; returns their number.
 */
static unsigned set_sweeps(struct xl__fusion *f, unsigned at)
{
    unsigned n_sweeps = 1;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        struct xl__mark *m = &f->mark[n];
        m->sweep = 0;
        for (unsigned a = 0; is_computed(f, n, at) && a < xl__n_args(node);
             a++) {
            const unsigned arg = node->arg[a];
            const unsigned from =
                f->mark[arg].sweep + (xl__is_reduction(&f->g->node[arg]) &&
                                      !xl__is_loaded(f, arg, at));
            if (from > m->sweep)
                m->sweep = from;
        }
        if (m->sweep >= n_sweeps)
            n_sweeps = m->sweep + 1;
    }
    return n_sweeps;
}

/* Words of the accumulators of a sweep, of one element each. */
static unsigned accumulator_words(const struct xl__fusion *f, unsigned at,
                                  unsigned sweep)
{
    unsigned words = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (is_computed(f, n, at) && f->mark[n].sweep == sweep &&
            xl__is_reduction(&f->g->node[n]))
            words += xl__reduction_words(f->g, n);
    return words;
}

/* -- operations ----------------------------------------------------------- */

/* Set is_below for the element values that a sweep computes: what its
 * reductions and, in the last sweep, the sinks are computed from. */
static void mark_sweep(struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned at, unsigned sweep, bool is_last)
{
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_below = is_computed(f, n, at) &&
                              f->mark[n].sweep == sweep &&
                              xl__is_reduction(&f->g->node[n]);
    for (unsigned i = 0; i < c->n_sinks; i++)
        f->mark[c->sink[i].node].is_below |=
            is_last && !f->mark[c->sink[i].node].is_row;
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_below || xl__is_loaded(f, n, at))
            continue;
        for (unsigned a = 0; a < xl__n_args(node); a++)
            f->mark[node->arg[a]].is_below |= !f->mark[node->arg[a]].is_row;
    }
}

double xl__node_operations(const struct xl__node *n)
{
    const double flop = xl__expr_ops[n->op].flop;
    return flop > 1 ? flop : 1;
}

/* The operations in the text of a cluster: of each sweep, and of row values
 * once. */
static double count_operations(struct xl__fusion *f,
                               const struct xl__cluster *c, unsigned at,
                               unsigned n_sweeps)
{
    double sum = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        if (is_computed(f, n, at) && f->mark[n].is_row &&
            !xl__is_reduction(&f->g->node[n]))
            sum += xl__node_operations(&f->g->node[n]);
    for (unsigned s = 0; s < n_sweeps; s++) {
        mark_sweep(f, c, at, s, s + 1 == n_sweeps);
        for (unsigned n = 0; n < f->g->n_nodes; n++)
            if (f->mark[n].is_below && is_computed(f, n, at) &&
                !f->mark[n].is_scalar)
                sum += xl__node_operations(&f->g->node[n]);
    }
    return sum;
}

/* -- the budget ----------------------------------------------------------- */

static bool fits_registers(struct xl__fusion *f, unsigned at,
                           unsigned n_sweeps)
{
    const double room = xl__num_or(f->l, XL__F_registers_per_item,
                                   xl__model(f->l, XL__M_item_registers)) -
                        OTHER_REGISTERS;
    unsigned accumulators = 0;
    for (unsigned s = 0; s < n_sweeps; s++) {
        const unsigned words = accumulator_words(f, at, s);
        accumulators = words > accumulators ? words : accumulators;
    }
    const unsigned vectors = max_live_values(f, at, false) + accumulators;
    return vectors * VECTOR_WORDS + max_live_values(f, at, true) <= room;
}

static bool fits_arguments(const struct xl__fusion *f,
                           const struct xl__cluster *c, unsigned at)
{
    unsigned operands = c->n_sinks, args = OTHER_ARGS;
    for (unsigned i = 0; i < c->n_sinks; i++)
        args += sink_args(f, &c->sink[i]);
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (!f->mark[n].is_needed)
            continue;
        args += node->op == XL__E_SCALAR;
        if (!xl__is_loaded(f, n, at) && !xl__is_of_place(node->op) &&
            !xl__is_gather(node))
            continue;
        operands++;
        args += load_args(f, n);
    }
    return operands <= XL__EXPR_OPERANDS && args <= XL__MAX_ARGS;
}

bool xl__cluster_fits(struct xl__fusion *f, const struct xl__cluster *c,
                      unsigned at)
{
    const unsigned n_sweeps = set_sweeps(f, at);
    return fits_arguments(f, c, at) && fits_registers(f, at, n_sweeps) &&
           count_operations(f, c, at, n_sweeps) <= XL__KERNEL_OPERATIONS;
}
