/* SPDX-License-Identifier: Apache-2.0 */
/* A single result that needs more than a kernel can hold: the part of it that
 * takes in most memory for the fewest bytes is stored first. What is left has
 * one node less in any case, so repeating this ends. */
#include "expr/fuse/fuse.h"

#include <stdlib.h>

enum { WORD = 64 };

struct sets {
    uint64_t *bits; /* words to a node: what it loads */
    size_t words;
};

static unsigned count(const uint64_t *bits, size_t words)
{
    unsigned n = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t w = bits[i]; w != 0; w &= w - 1)
            n++;
    return n;
}

/* The set of memory that every node of the closed cluster is made of. */
static xl_status sets_make(struct xl__fuser *f, struct sets *s)
{
    size_t loads = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++)
        loads += f->mark[n].is_needed;
    s->words = loads / WORD + 1;
    s->bits = xl__calloc(s->words * f->g->n_nodes, sizeof *s->bits);
    if (!s->bits)
        return XL_NO_MEMORY;
    loads = 0;
    for (unsigned n = 0; n < f->g->n_nodes; n++) {
        const struct xl__node *node = &f->g->node[n];
        uint64_t *own = s->bits + n * s->words;
        if (!f->mark[n].is_needed)
            continue;
        const bool is_loaded = xl__is_loaded(f, n, f->n_clusters);
        if (is_loaded || xl__is_rand(node)) {
            own[loads / WORD] |= UINT64_C(1) << loads % WORD;
            loads++;
        }
        for (unsigned a = 0; !is_loaded && a < xl__args(node); a++)
            for (size_t i = 0; i < s->words; i++)
                own[i] |= s->bits[node->arg[a] * s->words + i];
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

/* Of the nodes before `end` the cheapest to store, the last of equal ones.
 * XL__NEVER: none. */
static unsigned cut(const struct xl__fuser *f, const struct xl__cluster *c,
                    const struct sets *s, unsigned end)
{
    unsigned best = XL__NEVER;
    double best_worth = 0;
    for (unsigned n = 0; n < end; n++) {
        const struct xl__mark *m = &f->mark[n];
        const unsigned loads = count(s->bits + n * s->words, s->words);
        const double worth = loads / m->elems;
        if (!m->is_needed || m->is_mine || m->is_scalar || is_sink(c, n) ||
            xl__is_loaded(f, n, f->n_clusters) || loads == 0 ||
            loads >= XL__EXPR_OPERANDS || worth < best_worth)
            continue;
        best = n;
        best_worth = worth;
    }
    return best;
}

/* A cluster of its own for the cut before `end`. */
static xl_status try_cut(struct xl__fuser *f, struct xl__cluster *c,
                         const struct sets *s, unsigned end,
                         struct xl__cluster *own)
{
    own->n_sinks = 0;
    xl__close(f, c, f->n_clusters);
    const unsigned n = cut(f, c, s, end);
    if (n == XL__NEVER)
        return XL_OK;
    own->domain.all = f->mark[n].extent;
    return xl__store(f, own, n);
}

static bool fits(struct xl__fuser *f, const struct xl__cluster *own)
{
    xl__close(f, own, f->n_clusters);
    return own->n_sinks > 0 && xl__fits(f, own, f->n_clusters);
}

/* The best part of *c; if that does not fit either, the last one that does:
 * what comes later in the graph is made of more. */
static xl_status part(struct xl__fuser *f, struct xl__cluster *c,
                      const struct sets *s, struct xl__cluster *own)
{
    xl_status status;
    unsigned low = 0, high = f->g->n_nodes;
    TRY(try_cut(f, c, s, high, own));
    if (fits(f, own))
        return XL_OK;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        TRY(try_cut(f, c, s, middle, own));
        if (fits(f, own))
            low = middle;
        else
            high = middle;
    }
    TRY(try_cut(f, c, s, low > 0 ? low : f->g->n_nodes, own));
    if (own->n_sinks == 0)
        return xl__error_set(f->error, XL_UNSUPPORTED,
                             "one operation needs more than the %d operands "
                             "of a kernel",
                             XL__EXPR_OPERANDS);
fail:
    return status;
}

xl_status xl__split_layout(struct xl__fuser *f, struct xl__cluster *c)
{
    xl_status status;
    struct sets s = {0};
    struct xl__cluster own = {0};
    TRY(sets_make(f, &s));
    TRY(part(f, c, &s, &own));
    xl__str_printf(&own.why,
                   "Stored because what it is part of needs more than the %d "
                   "operands or %d live values of a kernel. ",
                   XL__EXPR_OPERANDS, XL__LIVE_VALUES);
    TRY(xl__cluster_push(f, &own));
fail:
    xl__cluster_clear(&own);
    free(s.bits);
    return status;
}

xl_status xl__push_fitting(struct xl__fuser *f, struct xl__cluster *c)
{
    xl_status status;
    for (;;) {
        xl__close(f, c, f->n_clusters);
        if (xl__fits(f, c, f->n_clusters))
            break;
        TRY(xl__split_layout(f, c));
    }
    TRY(xl__cluster_push(f, c));
fail:
    return status;
}
