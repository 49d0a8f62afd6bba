/* SPDX-License-Identifier: Apache-2.0 */
/* A group with canonical node numbers.
 *
 * The text of a kernel names values by the numbers of their nodes. With the
 * numbers of the whole expression, a group would have another program in every
 * expression and at every position in it. Here nodes are numbered in the order
 * in which the group uses them, so that equal groups, of one expression or of
 * several, have one program, which is built and checked once.
 *
 *     whole graph:  v17 = load x;  v23 = exp v17;  store v23
 *     canonical:    v0  = load x;  v1  = exp v0;   store v1 */
#include "ops/expression/canonical_group.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { UNKNOWN = UINT_MAX };

struct renumbering {
    const struct xl__graph *from;
    struct xl__graph *to;
    unsigned *number; /* new number by old number; UNKNOWN: not used yet */
};

/* The new number of a node; it is copied when it is new. Arguments of a
 * computed node have their numbers already. A node that is loaded becomes an
 * INPUT, whatever computes it elsewhere. */
static unsigned add_node(struct renumbering *r, unsigned node, bool is_loaded)
{
    if (r->number[node] != UNKNOWN)
        return r->number[node];
    const struct xl__node *n = &r->from->node[node];
    struct xl__node *to = &r->to->node[r->to->n_nodes];
    *to = *n;
    memset(to->arg, 0, sizeof to->arg);
    /* A GATHER's source is an operand, not a value. */
    const unsigned n_args =
        n->op == XL__E_GATHER ? 1 : xl__expr_ops[n->op].n_args;
    for (unsigned i = 0; i < n_args && !is_loaded; i++)
        to->arg[i] = r->number[n->arg[i]];
    if (is_loaded)
        to->op = XL__E_INPUT;
    r->number[node] = r->to->n_nodes++;
    return r->number[node];
}

static bool is_free(const struct xl__node *n)
{
    return n->op == XL__E_CONST || n->op == XL__E_SCALAR;
}

/* Copy the constants and scalars that a node uses; they are numbered at their
 * first use. */
static void add_free_nodes(struct renumbering *r, unsigned node)
{
    const struct xl__node *n = &r->from->node[node];
    if (is_free(n))
        add_node(r, node, false);
    for (unsigned i = 0; i < xl__expr_ops[n->op].n_args; i++) {
        if (is_free(&r->from->node[n->arg[i]]))
            add_node(r, n->arg[i], false);
    }
}

static void renumber_group(struct renumbering *r, struct xl__group *group)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        struct xl__operand *o = &group->operand[k];
        if (o->is_written || o->gather_size > 0)
            continue;
        if (o->at == XL__AT_INDEX)
            add_free_nodes(r, o->node);
        o->node = add_node(r, o->node, o->at != XL__AT_INDEX);
    }
    for (unsigned i = 0; i < group->n_values; i++) {
        struct xl__value *v = &group->value[i];
        if (r->number[v->node] == UNKNOWN)
            add_free_nodes(r, v->node);
        v->node = add_node(r, v->node, false);
    }
    for (unsigned k = 0; k < group->n_operands; k++) {
        struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->gather_size == 0)
            continue;
        add_free_nodes(r, o->node);
        o->node = r->number[o->node];
    }
}

xl_status xl__canonical_group_init(const struct xl__graph *g,
                                   const struct xl__group *from,
                                   struct xl__canonical_group *out)
{
    xl_status status = XL_OK;
    struct renumbering r = {g, &out->g, NULL};
    *out = (struct xl__canonical_group){.g = {.fast_math = g->fast_math,
                                              .is_double = g->is_double,
                                              .is_long = g->is_long},
                                        .group = *from};
    out->group.value = xl__calloc(from->n_values, sizeof *from->value);
    out->g.node = xl__calloc(g->n_nodes, sizeof *g->node);
    r.number = xl__calloc(g->n_nodes, sizeof *r.number);
    if (!out->group.value || !out->g.node || !r.number)
        TRY(XL_NO_MEMORY);
    memcpy(out->group.value, from->value,
           from->n_values * sizeof *from->value);
    for (unsigned i = 0; i < g->n_nodes; i++)
        r.number[i] = UNKNOWN;
    renumber_group(&r, &out->group);
fail:
    free(r.number);
    return status;
}

void xl__canonical_group_clear(struct xl__canonical_group *l)
{
    free(l->group.value);
    xl__graph_clear(&l->g);
}
