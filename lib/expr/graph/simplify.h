/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of xl__graph_node(). */
#ifndef XL_EXPR_SIMPLIFY_H
#define XL_EXPR_SIMPLIFY_H

#include "expr/graph/graph.h"

/* algebra.c: a simpler node that has the very same value, shape and type; with
 * fast_math, the same but for rounding and special values. False: there is
 * none. *out is UINT_MAX as xl__graph_node() gives it. */
bool xl__algebra(struct xl__graph *g, const struct xl__node *want,
                 unsigned *out);

/* -- rules, of algebra.c's list; as xl__algebra() --------------------------- */

/* algebra_powers.c */
bool xl__divisions(struct xl__graph *g, const struct xl__node *want,
                   unsigned *out);
bool xl__powers(struct xl__graph *g, const struct xl__node *want,
                unsigned *out);
/* algebra_reduce.c */
bool xl__reductions(struct xl__graph *g, const struct xl__node *want,
                    unsigned *out);
/* moments.c: variances that are written out. */
bool xl__match_variance(struct xl__graph *g, const struct xl__node *want,
                        unsigned *out);

/* -- what rules are made of ------------------------------------------------ */

static inline const struct xl__node *
xl__arg(const struct xl__graph *g, const struct xl__node *n,
                unsigned i)
{
    return &g->node[n->arg[i]];
}

/* An operation of the shape, type and place of n; UINT_MAX when an argument
 * is. */
unsigned xl__make_like(struct xl__graph *g, const struct xl__node *n,
                          enum xl__expr_op op, unsigned a, unsigned b);
/* A constant of n's type, of its shape too or of none. */
unsigned xl__number_like(struct xl__graph *g, const struct xl__node *n,
                            double value, bool is_shaped);

#endif
