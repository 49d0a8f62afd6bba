/* SPDX-License-Identifier: Apache-2.0 */
/* A variance along rows that stay close to their items costs less in two
 * sweeps, the mean first and then the squares about it, than in one that moves
 * the mean along: reading the row again is free, dividing is not. */
#include <limits.h>
#include <stdlib.h>

#include "base/mem.h"
#include "expr/group.h"

enum {
    NEAR_ELEMS = 1 << 15 /* of a row in registers, or in a core's cache */
};

struct spreading {
    const struct xl__graph *from;
    const struct xl__limits *l;
    struct xl__graph *to;
    unsigned *number; /* in `to`, by number in `from` */
};

static bool is_near(const struct spreading *s, const struct xl__node *n)
{
    const struct xl__shape *all = &s->from->node[n->arg[0]].shape;
    const double kept = (double)xl__shape_elems(&n->shape);
    const double reduced = (double)xl__shape_elems(all) / kept;
    unsigned last = all->n_dims;
    while (last > 0 && all->size[last - 1] == 1)
        last--;
    return n->op == XL__E_VAR && reduced <= NEAR_ELEMS && last > 0 &&
           (n->axes >> (last - 1) & 1) &&
           xl__form_choose(s->l, kept, reduced, true) == XL__FORM_ROWS;
}

static unsigned pair(struct spreading *s, enum xl__expr_op op, unsigned a,
                     unsigned b)
{
    struct xl__node n = {.op = op, .type = XL__V_F32, .arg = {a, b}};
    if (a == UINT_MAX || b == UINT_MAX)
        return UINT_MAX;
    n.shape = s->to->node[a].shape;
    n.place = s->to->node[a].place;
    return xl__graph_node(s->to, &n);
}

/* mean((x - mean(x))^2), of which both means are taken over n's axes. */
static unsigned squares_about_mean(struct spreading *s, struct xl__node n)
{
    n.op = XL__E_MEAN;
    const unsigned mean = xl__graph_node(s->to, &n);
    const unsigned off = pair(s, XL__E_SUB, n.arg[0], mean);
    n.arg[0] = pair(s, XL__E_MUL, off, off);
    return n.arg[0] == UINT_MAX ? UINT_MAX : xl__graph_node(s->to, &n);
}

static unsigned copy(struct spreading *s, unsigned i)
{
    const struct xl__node *old = &s->from->node[i];
    struct xl__node n = *old;
    for (unsigned a = 0; a < xl__expr_ops[n.op].n_args; a++)
        n.arg[a] = s->number[n.arg[a]];
    return is_near(s, old) ? squares_about_mean(s, n)
                           : xl__graph_node(s->to, &n);
}

xl_status xl__graph_spread(const struct xl__graph *from,
                           const struct xl__limits *l, struct xl__graph *out)
{
    struct spreading s = {from, l, out, NULL};
    xl_status status = XL_OK;
    s.number = xl__calloc(from->n_nodes + 1, sizeof *s.number);
    if (!s.number)
        return XL_NO_MEMORY;
    out->fast_math = from->fast_math;
    out->is_spread = true;
    for (unsigned i = 0; i < from->n_nodes && status == XL_OK; i++) {
        s.number[i] = copy(&s, i);
        if (s.number[i] == UINT_MAX)
            status = XL_NO_MEMORY;
    }
    for (unsigned i = 0; i < from->n_outputs && status == XL_OK; i++) {
        out->output[i] = from->output[i];
        out->output[i].node = s.number[from->output[i].node];
    }
    out->n_outputs = from->n_outputs;
    free(s.number);
    return status == XL_OK ? xl__graph_prune(out) : status;
}
