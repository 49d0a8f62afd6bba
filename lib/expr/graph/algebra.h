/* SPDX-License-Identifier: Apache-2.0 */
/* Algebraic simplification of one node. */
#ifndef XL_EXPR_ALGEBRA_H
#define XL_EXPR_ALGEBRA_H

#include "expr/graph/graph.h"

/* Looks for a simpler node with the value, shape and type of `spec`, which is
 * in no graph yet. With g->fast_math the values may differ by rounding and in
 * special cases (NaN, infinities, the sign of zero). True: *out is the node,
 * or UINT_MAX when out of memory or of nodes, as xl__graph_node() returns it.
 * False: no rule applies. */
bool xl__graph_simplify(struct xl__graph *g, const struct xl__node *spec,
                        unsigned *out);

#endif
