/* SPDX-License-Identifier: Apache-2.0 */
/* A typed expression: nodes in topological order with their shapes. Made by
 * infer.c from a tree and a signature; every later stage only reads it.
 *
 * Nodes are hash-consed: the same operation on the same arguments is one node,
 * so common subexpressions meet by being built. Folding of constants and exact
 * algebra happen in xl__graph_node() (simplify.c), nowhere else. */
#ifndef XL_EXPR_GRAPH_H
#define XL_EXPR_GRAPH_H

#include "expr/language/operations.h"

void xl__graph_clear(struct xl__graph *g);

/* The node that computes `want`: an equal one that is there, a simpler one, or
 * a new one. UINT_MAX when out of memory or over XL_EXPR_MAX_NODES. Type and
 * shape of `want` are set. */
unsigned xl__graph_node(struct xl__graph *g, const struct xl__node *want);

/* Drop what no output needs; numbers of nodes change. */
xl_status xl__graph_prune(struct xl__graph *g);

#endif
