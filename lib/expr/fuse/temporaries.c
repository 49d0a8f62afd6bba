/* SPDX-License-Identifier: Apache-2.0 */
/* What of a cluster is stored for those to come. Results of reductions must
 * be, as late as their shape lasts: sqrt(mean(x^2) + eps) and not mean(x^2).
 * Elements are stored if to write and read them takes less time than to read
 * once more what they are made of, or to compute them. */
/* Scratch: every temporary lives from the group that writes it to the last one
 * that reads it, chunks' results within their group. Each takes the first gap
 * that is free of those alive at the same time. */
#include <math.h>
#include <stdlib.h>

#include "device/peak_rates.h"
#include "expr/fuse/fuse.h"

/* Questions to one cluster, so that the time is bounded. */
enum { MAX_QUESTIONS = 64 };

static void mark_used_later(struct xl__fusion *f, const struct xl__cluster *c)
{
    bool is_here[XL_EXPR_MAX_BINDINGS] = {false};
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].output != XL__NEVER)
            is_here[c->sink[i].output] = true;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        f->mark[n].is_wanted = false;
    for (unsigned o = 0; o < f->g->n_outputs; o++)
        if (f->output_in[o] == XL__NEVER && !is_here[o])
            f->mark[f->g->output[o].node].is_wanted = true;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        if (xl__is_reduction(node) && f->mark[n].reduced_in == XL__NEVER &&
            f->mark[n].state == XL__OTHERS)
            f->mark[node->arg[0]].is_wanted = true;
    }
}

static double bytes_of(const struct xl__fusion *f, unsigned n)
{
    static const xl_dtype dtype[] = {
        [XL__V_BOOL] = XL_BOOL, [XL__V_I32] = XL_I32, [XL__V_F32] = XL_F32};
    const struct xl__node *node = &f->g->node[n];
    return f->mark[n].elems * (double)xl_dtype_bytes(node->op == XL__E_INPUT
                                                         ? node->dtype
                                                         : dtype[node->type]);
}

static bool is_written(const struct xl__fusion *f, const struct xl__cluster *c,
                       unsigned n)
{
    for (unsigned i = 0; i < c->n_sinks; i++)
        if (c->sink[i].node == n && c->sink[i].output != XL__NEVER &&
            f->can_read_back[c->sink[i].output])
            return true;
    return false;
}

/* Is it quicker to read n than to make it once more? */
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
        else if (!f->mark[i].is_wanted)
            bytes += bytes_of(f, i);
    }
    const double again = fmax(flop * elems / xl__rate_fma(f->l),
                              bytes / xl__rate_memory(f->l)) *
                         ns_per_s;
    const double kept =
        (written ? 1 : 2) * bytes_of(f, n) / xl__rate_memory(f->l) * ns_per_s;
    xl__str_printf(&c->why,
                   "%s values that are needed again are %s: %.3g us to %s "
                   "them, %.3g us to make them again. ",
                   xl__expr_ops[f->g->node[n].op].name,
                   kept < again ? "stored" : "computed again", kept * 1e-3,
                   written ? "read" : "write and read", again * 1e-3);
    return kept < again;
}

static bool is_keep_candidate(const struct xl__fusion *f, const struct xl__cluster *c,
                     unsigned n)
{
    const struct xl__mark *m = &f->mark[n];
    return m->is_needed && !m->is_row && !m->is_scalar &&
           !xl__is_reduction(&f->g->node[n]) &&
           xl__extent_equal(&m->extent, &c->domain.all);
}

xl_status xl__cluster_keep(struct xl__fusion *f, struct xl__cluster *c, bool reductions_only)
{
    xl_status status;
    const struct xl__extent rows = xl__domain_rows(&c->domain);
    unsigned n_estimates = reductions_only ? MAX_QUESTIONS : 0;
    xl__str_reset(&c->why);
    mark_used_later(f, c);
    for (unsigned n = f->g->n_nodes; n-- > 0;) {
        const struct xl__node *node = &f->g->node[n];
        const struct xl__mark *m = &f->mark[n];
        if (!m->is_wanted || xl__is_loaded(f, n, f->n_clusters))
            continue;
        const bool is_result = m->state == XL__MINE &&
                               (reductions_only ? xl__is_reduction(node)
                                        : xl__extent_equal(&m->extent, &rows));
        if (is_result || (n_estimates < MAX_QUESTIONS && is_keep_candidate(f, c, n) &&
                          ++n_estimates && is_worth_keeping(f, c, n))) {
            TRY(xl__cluster_store(f, c, n));
            continue;
        }
        for (unsigned a = 0; !xl__is_reduction(node) && a < xl__n_args(node);
             a++)
            f->mark[node->arg[a]].is_wanted = true;
    }
    return XL_OK;
fail:
    return status;
}

enum { ALIGN_BYTES = 256 };

/* Something in scratch, and the groups in which it is alive. */
struct scratch_span {
    unsigned first, last;
    size_t offset, bytes;
};

xl_status xl__temp_add(struct xl__fusion *f, struct xl__sink *sink)
{
    static const xl_dtype dtype[XL__N_VTYPES] = {
        [XL__V_BOOL] = XL_BOOL, [XL__V_I32] = XL_I32, [XL__V_F32] = XL_F32};
    struct xl__schedule *s = f->out;
    struct xl__temp t = {.node = sink->node,
                         .dtype = dtype[f->g->node[sink->node].type]};
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

static bool lifetimes_overlap(const struct scratch_span *a, const struct scratch_span *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place of `span` free of those before it: at 0 or after one of
 * them, so each is moved past what it meets until it meets nothing. */
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
    *s = (struct scratch_span){first, first, 0, xl__round_up(bytes, ALIGN_BYTES)};
    return true;
}

static void find_lifetimes(const struct xl__schedule *s, struct scratch_span *span)
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
        fits = i < s->n_temps
                   ? init_span(&span[i], s->temp[i].bytes, 0)
                   : init_span(&span[i], s->group[i - s->n_temps].partial_bytes,
                             i - s->n_temps);
    find_lifetimes(s, span);
    for (unsigned i = 0; i < n && fits; i++)
        fits = set_span_offset(span, i, &s->scratch_bytes);
    if (!fits)
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "temporaries of more bytes than "
                          "there are addresses"));
    for (unsigned i = 0; i < s->n_temps; i++)
        s->temp[i].offset = span[i].offset;
    for (unsigned i = 0; i < s->n_groups; i++)
        s->group[i].partial_offset = span[s->n_temps + i].offset;
fail:
    free(span);
    return status;
}
