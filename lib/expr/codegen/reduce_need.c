/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a sweep needs, and which are worth registers from one sweep to
 * the next. */
#include "expr/codegen/reductions.h"

#include <string.h>

/* Flop from which on a node is held and not computed again: exp, not a
 * division. */
static const double worth_holding = 8;

bool xl__operand_is_of_rows(const struct xl__group *group,
                            const struct xl__operand *o)
{
    for (unsigned d = 0; d < group->n_loops; d++)
        if (group->loop[d].is_reduced && o->stride[d] != 0)
            return false;
    return true;
}

static void mark(struct xl__reducing *r, unsigned node)
{
    for (unsigned i = 0; i < r->group->n_values; i++)
        if (r->group->value[i].node == node && !r->group->value[i].is_row)
            r->is_needed[i] = 1;
}

void xl__reduce_need(struct xl__reducing *r, unsigned s)
{
    const struct xl__group *group = r->group;
    const struct xl__graph *g = r->m.g;
    memset(r->is_needed, 0, group->n_values + 1u);
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s)
            mark(r, r->state[i].arg);
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (o->is_written && o->sweep == s &&
            !xl__operand_is_of_rows(group, o))
            mark(r, o->node);
    }
    for (unsigned i = group->n_values; i-- > 0;) {
        const struct xl__node *n = &g->node[group->value[i].node];
        const bool is_there =
            xl__held_from(r, i) < s ||
            xl__emit_source(group, group->value[i].node) != XL__EXPR_OPERANDS;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            if (r->is_needed[i] && !is_there)
                mark(r, n->arg[a]);
    }
}

/* Does a node bring two or more elements together? It is held in their place.
 */
static bool brings_together(const struct xl__reducing *r, unsigned node)
{
    const struct xl__node *n = &r->m.g->node[node];
    unsigned found = 0;
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__value *v = &r->group->value[i];
        bool is_arg = false;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            is_arg |= n->arg[a] == v->node;
        found += is_arg && !v->is_row;
    }
    return found > 1;
}

/* Hold what two sweeps need, of loads or of costly nodes. */
static void hold(struct xl__reducing *r, bool of_loads)
{
    const struct xl__group *group = r->group;
    for (unsigned s = group->n_sweeps; s-- > 0;) {
        xl__reduce_need(r, s);
        for (unsigned i = 0; i < group->n_values; i++) {
            const unsigned node = group->value[i].node;
            const bool is_load =
                xl__emit_source(group, node) != XL__EXPR_OPERANDS;
            const bool is_costly =
                xl__expr_ops[r->m.g->node[node].op].flop >= worth_holding ||
                brings_together(r, node);
            if (r->is_needed[i] && (of_loads ? is_load : is_costly && !is_load))
                r->held_from[i] = s;
        }
    }
    for (unsigned i = 0; i < group->n_values; i++)
        r->held_until[i] = 0;
    for (unsigned s = 0; s < group->n_sweeps; s++) {
        xl__reduce_need(r, s);
        for (unsigned i = 0; i < group->n_values; i++)
            if (r->is_needed[i] && r->held_from[i] < s)
                r->held_until[i] = s;
    }
    for (unsigned i = 0; i < group->n_values; i++)
        if (r->held_until[i] == 0)
            r->held_from[i] = XL__NOT_HELD;
}

void xl__reduce_hold(struct xl__reducing *r)
{
    hold(r, false);
    hold(r, true);
}

bool xl__reduce_has_states(const struct xl__reducing *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s)
            return true;
    return false;
}

bool xl__reduce_is_idle(const struct xl__reducing *r, unsigned s)
{
    if (xl__reduce_has_states(r, s))
        return false;
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == s &&
            !xl__operand_is_of_rows(r->group, o))
            return false;
    }
    return true;
}

/* Loads of the first sweep are all under way together. */
static unsigned loads_of_first(struct xl__reducing *r)
{
    unsigned n = 0;
    xl__reduce_need(r, 0);
    for (unsigned i = 0; i < r->group->n_values; i++)
        n += r->is_needed[i] &&
             xl__emit_source(r->group, r->group->value[i].node) !=
                 XL__EXPR_OPERANDS;
    return n;
}

unsigned xl__held_values(const struct xl__graph *g,
                         const struct xl__group *group)
{
    struct xl__reducing r = {0};
    unsigned most = XL__NOT_HELD;
    if (xl__reducing_init(&r, g, NULL, group, NULL) == XL_OK) {
        xl__reduce_hold(&r);
        most = loads_of_first(&r);
        for (unsigned s = 0; s < group->n_sweeps; s++) {
            unsigned n = 0;
            for (unsigned i = 0; i < group->n_values; i++)
                n += r.held_from[i] <= s && r.held_until[i] > s;
            most = n > most ? n : most;
        }
    }
    xl__reducing_clear(&r);
    return most;
}
