/* SPDX-License-Identifier: Apache-2.0 */
/* The typed graph of an expression: nodes in topological order, each one
 * operation with its type and shape. infer.c builds it from a tree and a
 * signature; later stages read it.
 *
 * Nodes are hash-consed: an operation on given arguments exists once, so
 * common subexpressions are one node. xl__graph_node() is the only way to add
 * a node; constant folding and algebra (algebra.h) happen in it. */
#ifndef XL_EXPR_GRAPH_H
#define XL_EXPR_GRAPH_H

#include "expr/language/operations.h"

void xl__graph_clear(struct xl__graph *g);

/* The index of the node that computes `spec`, whose type and shape are set: an
 * equal node of the graph, a simpler one, or a new one. UINT_MAX when out of
 * memory or above XL_EXPR_MAX_NODES. */
unsigned xl__graph_node(struct xl__graph *g, const struct xl__node *spec);

/* Removes nodes that no output needs. Indices of nodes change. Errors:
 * XL_NO_MEMORY. */
xl_status xl__graph_prune(struct xl__graph *g);

#endif
