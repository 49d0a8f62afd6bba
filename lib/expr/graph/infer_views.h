/* SPDX-License-Identifier: Apache-2.0 */
/* Bound tensors, views and pieces of values, and assignments. */
#ifndef XL_EXPR_INFER_VIEWS_H
#define XL_EXPR_INFER_VIEWS_H

#include "expr/graph/infer.h"

/* The node of a bound tensor or scalar. */
unsigned xl__infer_binding(struct xl__infer *in, unsigned binding);
/* The node of a view of node `of`. */
unsigned xl__infer_view(struct xl__infer *in, const struct xl__tree_node *view,
                        unsigned of);

/* The node of gather(source, index, axis=...). */
unsigned xl__infer_gather(struct xl__infer *in,
                          const struct xl__tree_node *call, unsigned source,
                          unsigned index);

/* The node of a call of concat, pad, slice or cumsum (infer_pieces.c); `arg`
 * has the nodes of its arguments. */
unsigned xl__infer_pieces(struct xl__infer *in,
                          const struct xl__tree_node *call,
                          const unsigned *arg);

/* Assign a value to the target of a statement: a temporary name, a bound
 * tensor or a slice of one. */
void xl__infer_assign(struct xl__infer *in, const struct xl__statement *s,
                      unsigned value);

#endif
