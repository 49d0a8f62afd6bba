/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of xl__graph_node(). */
#ifndef XL_EXPR_SIMPLIFY_H
#define XL_EXPR_SIMPLIFY_H

#include "expr/graph.h"

/* algebra.c: a simpler node that has the very same value, shape and type; with
 * fast_math, the same but for rounding and special values. False: there is
 * none. *out is UINT_MAX as xl__graph_node() gives it. */
bool xl__algebra(struct xl__graph *g, const struct xl__node *want,
                 unsigned *out);

/* moments.c: one of the rules: variances that are written out. */
bool xl__moments(struct xl__graph *g, const struct xl__node *want,
                 unsigned *out);

#endif
