/* SPDX-License-Identifier: Apache-2.0 */
/* Views of bound tensors, and assignments to them. */
#ifndef XL_EXPR_INFER_VIEWS_H
#define XL_EXPR_INFER_VIEWS_H

#include "expr/graph/infer.h"

/* -- infer_view.c ----------------------------------------------------- */

/* All of a bound tensor, or a scalar. */
unsigned xl__infer_bound(struct xl__infer *in, unsigned binding);
/* A slice or permutation, in place, of an INPUT node; `part` (may be NULL)
 * gets what of it the slice takes. */
bool xl__infer_view(struct xl__infer *in, const struct xl__tree_node *view,
                    struct xl__node *node, struct xl__region *part);

/* Statement by statement: what its value becomes. */
void xl__infer_assign(struct xl__infer *in, const struct xl__statement *s,
                      unsigned value);

#endif
