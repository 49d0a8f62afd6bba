/* SPDX-License-Identifier: Apache-2.0 */
/* Temporaries: which values of a cluster are stored for later ones, and where
 * they are in scratch.
 *
 * The results of reductions must be stored. Values computed from them are
 * stored instead as long as they have the shape of rows: sqrt(mean(x^2) + eps)
 * rather than mean(x^2). Element values are stored if writing and reading them
 * takes less time than reading again what they are computed from, or computing
 * them again.
 *
 * In scratch, a temporary is alive from the group that writes it to the last
 * one that reads it, and the partial results of chunks within their group.
 * Those alive at the same time do not overlap: each gets the lowest offset
 * that is free of all before it. */
#include <math.h>
#include <stdlib.h>

#include "device/peak_rates.h"
#include "expr/fuse/fuse.h"

/* Estimates for one cluster at most: bounds the time of a compilation. */
enum { MAX_QUESTIONS = 64 };

/* Mark what clusters to come read directly: nodes of outputs that are not
 * stored yet, and arguments of reductions that are not computed yet. */
static void mark_used_later(struct xl__fusion *f, const struct xl__cluster *c)
{
    bool is_here[XL_EXPR_MAX_BINDINGS] = {false};
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].output != XL__NEVER)
            is_here[c->sink[i].output] = true;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_used_later = false;
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (f->output_in[o] == XL__NEVER && !is_here[o])
            f->mark[f->g->output[o].node].is_used_later = true;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (xl__is_reduction(node) && f->mark[n].reduced_in == XL__NEVER &&
            f->mark[n].state == XL__OTHERS)
            f->mark[node->arg[0]].is_used_later = true;
    }
}

static double bytes_of(const struct xl__fusion *f, unsigned n)
{
    const struct xl__node *node = &f->g->node[n];
    const xl_dtype dtype = node->op == XL__E_INPUT
                               ? node->dtype
                               : xl__wide_dtype(f->g, node->type);
    return f->mark[n].elems * (double)xl_dtype_bytes(dtype);
}

/* Does the cluster store node n in an output that can be read back? */
static bool is_written(const struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned n)
{
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].node == n && c->sink[i].output != XL__NEVER &&
            f->can_read_back[c->sink[i].output])
            return true;
    return false;
}

/* Does storing and reading node n take less time than computing it again? */
static bool is_worth_keeping(struct xl__fusion *f, struct xl__cluster *c,
                             unsigned n)
{
    static const double ns_per_s = 1e9;
    const double elems = f->mark[n].elems;
    const bool written = is_written(f, c, n);
    double flop = 0, bytes = 0;
    xl__mark_below(f, n, f->n_clusters);
    for (unsigned i = 0; i <= n; i++) {
        const struct xl__node *node = &f->g->node[i];
        if (!f->mark[i].is_below)
            continue;
        if (!xl__is_loaded(f, i, f->n_clusters))
            flop += f->mark[i].is_row ? 0 : xl__expr_ops[node->op].flop;
        else if (!f->mark[i].is_used_later)
            bytes += bytes_of(f, i);
    }
    const double again = fmax(flop * elems / xl__group_rate(f->l),
                              bytes / xl__rate_memory(f->l)) *
                         ns_per_s;
    const double kept =
        (written ? 1 : 2) * bytes_of(f, n) / xl__rate_memory(f->l) * ns_per_s;
    xl__str_printf(&c->why,
                   "%s values that are needed again are %s: %.3g us to %s "
                   "them, %.3g us to compute them again. ",
                   xl__expr_ops[f->g->node[n].op].name,
                   kept < again ? "stored" : "computed again", kept * 1e-3,
                   written ? "read" : "write and read", again * 1e-3);
    return kept < again;
}

/* Is node n an element value of the whole domain, which can be stored? */
static bool is_element(const struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned n)
{
    const struct xl__mark *m = &f->mark[n];
    return !m->is_row && !m->is_scalar && !xl__is_reduction(&f->g->node[n]) &&
           xl__extent_equal(&m->extent, &c->domain.all);
}

/* Is node n stored? A row value that depends on the cluster's reductions is.
 * An element value is if an estimate says so, or where a chain of reductions
 * is cut: otherwise each later part of the chain would compute all before it.
 */
static bool is_kept(struct xl__fusion *f, struct xl__cluster *c, unsigned n,
                    bool is_cut, unsigned *n_estimates)
{
    const struct xl__extent rows = xl__domain_rows(&c->domain);
    const struct xl__mark *m = &f->mark[n];
    if (m->state == XL__MINE && xl__extent_equal(&m->extent, &rows))
        return true;
    if (!is_element(f, c, n))
        return false;
    if (m->is_viewed && m->is_needed)
        return true;
    if (is_cut && m->state == XL__MINE)
        return true;
    return m->is_needed && (*n_estimates)++ < MAX_QUESTIONS &&
           is_worth_keeping(f, c, n);
}

xl_status xl__cluster_keep(struct xl__fusion *f, struct xl__cluster *c,
                           bool reductions_only, bool is_cut)
{
    xl_status status = XL_OK;
    unsigned n_estimates = 0;
    xl__str_reset(&c->why);
    mark_used_later(f, c);
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        const struct xl__mark *m = &f->mark[n];
        if (!m->is_used_later || xl__is_loaded(f, n, f->n_clusters))
            continue;
        const bool is_view = node->op == XL__E_VIEW; /* keeps its argument */
        if (reductions_only
                ? m->state == XL__MINE && xl__is_reduction(node)
                : !is_view && is_kept(f, c, n, is_cut, &n_estimates)) {
            TRY(xl__cluster_store(f, c, n));
            continue;
        }
        /* also the source of a GATHER */
        const unsigned n_args = xl__expr_ops[node->op].n_args;
        for (unsigned a = 0; !xl__is_reduction(node) && a < n_args; a++)
            f->mark[node->arg[a]].is_used_later = true;
    }
fail:
    return status;
}

enum { ALIGN_BYTES = 256 };

/* Bytes in scratch, and the first and last group in which they are alive. */
struct scratch_span {
    unsigned first, last;
    size_t offset, bytes;
};

xl_status xl__temp_add(struct xl__fusion *f, struct xl__sink *sink)
{
    struct xl__schedule *s = f->out;
    struct xl__temp t = {
        .node = sink->node,
        .dtype = xl__wide_dtype(f->g, f->g->node[sink->node].type)};
    t.bytes = xl_dtype_bytes(t.dtype);
    for (unsigned d = 0; d < XL_MAX_DIMS; d++)
        if (!xl__mul(t.bytes, sink->extent.size[d], &t.bytes))
            return XL_OVERFLOW;
    if (!xl__grow(&s->temp, &s->cap_temps, s->n_temps + 1, sizeof *s->temp))
        return XL_NO_MEMORY;
    sink->temp = s->n_temps;
    s->temp[s->n_temps++] = t;
    return XL_OK;
}

static bool lifetimes_overlap(const struct scratch_span *a,
                              const struct scratch_span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Set the offset of span n: the lowest one that is free of the spans before it
 * that are alive at the same time. It is 0 or the end of one of them, so the
 * span is moved past each overlap until there is none. False: overflow. */
static bool set_span_offset(struct scratch_span *all, unsigned n, size_t *end)
{
    struct scratch_span *s = &all[n];
    bool moved = true;
    size_t after;
    while (moved) {
        moved = false;
        for (unsigned i = 0; i < n; i++) {
            if (!lifetimes_overlap(s, &all[i]) || s->bytes == 0 ||
                s->offset >= all[i].offset + all[i].bytes ||
                all[i].offset >= s->offset + s->bytes)
                continue;
            s->offset = all[i].offset + all[i].bytes;
            moved = true;
        }
    }
    if (!xl__add(s->offset, s->bytes, &after))
        return false;
    *end = xl__max_size(*end, after);
    return true;
}

static bool init_span(struct scratch_span *s, size_t bytes, unsigned first)
{
    if (bytes > SIZE_MAX - ALIGN_BYTES)
        return false;
    *s = (struct scratch_span){first, first, 0,
                               xl__round_up(bytes, ALIGN_BYTES)};
    return true;
}

/* Set the first and last group of each temporary. */
static void find_lifetimes(const struct xl__schedule *s,
                           struct scratch_span *span)
{
    for (unsigned i = 0; i < s->n_groups; i++)
        for (unsigned k = 0; k < s->group[i].n_operands; k++) {
            const struct xl__operand *p = &s->group[i].operand[k];
            if (p->at == XL__AT_TEMP && p->is_written)
                span[p->index].first = i;
            if (p->at == XL__AT_TEMP && span[p->index].last < i)
                span[p->index].last = i;
        }
}

xl_status xl__temps_set_offsets(struct xl__schedule *s, struct xl__error *e)
{
    xl_status status = XL_OK;
    const unsigned n = s->n_temps + s->n_groups;
    bool fits = true;
    struct scratch_span *span = xl__calloc(n, sizeof *span);
    if (!span)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < n && fits; i++)
        fits =
            i < s->n_temps
                ? init_span(&span[i], s->temp[i].bytes, 0)
                : init_span(&span[i], s->group[i - s->n_temps].partial_bytes,
                            i - s->n_temps);
    find_lifetimes(s, span);
    for (unsigned i = 0; i < n && fits; i++)
        fits = set_span_offset(span, i, &s->scratch_bytes);
    if (!fits)
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "the size of the temporaries exceeds the range "
                          "of size_t"));
    for (unsigned i = 0; i < s->n_temps; i++)
        s->temp[i].offset = span[i].offset;
    for (unsigned i = 0; i < s->n_groups; i++)
        s->group[i].partial_offset = span[s->n_temps + i].offset;
fail:
    free(span);
    return status;
}
