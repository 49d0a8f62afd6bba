/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of single nodes. */
#ifndef XL_EXPR_INFER_TYPES_H
#define XL_EXPR_INFER_TYPES_H

#include "expr/graph/infer.h"

/* "f32", "i32", "bool" */
const char *xl__vtype_name(enum xl__vtype type);
/* "(4, 5)"; "()" of a single value. `text` has room for any. */
enum { XL__SHAPE_TEXT = XL_MAX_DIMS * 22 + 4 };
const char *xl__shape_text(const struct xl__shape *s,
                           char text[XL__SHAPE_TEXT]);

/* -- infer_node.c: one node ------------------------------------------- */

/* xl__graph_node(), with its failures told and loose nodes marked. */
unsigned xl__infer_node(struct xl__infer *in, struct xl__node *want);
unsigned xl__infer_const(struct xl__infer *in, enum xl__vtype type,
                         double value);
/* A node's value as another type, by explicit CAST; to bool: is it not 0. */
unsigned xl__infer_as(struct xl__infer *in, unsigned node, xl_dtype dtype);
/* An operation by element, or with `axes` (a mask of its argument's) a
 * reduction: types are brought together, shapes broadcast. */
unsigned xl__infer_map(struct xl__infer *in, enum xl__expr_op op,
                       const unsigned *arg);
unsigned xl__infer_reduce(struct xl__infer *in, enum xl__expr_op op,
                          unsigned arg, unsigned axes);

/* -- infer_shape.c ---------------------------------------------------- */

/* The elements of a shape can be counted and addressed; otherwise told. */
bool xl__infer_fits(struct xl__infer *in, const struct xl__shape *s);
/* NumPy's rule for n nodes; false, and told, when they do not fit. */
bool xl__infer_broadcast(struct xl__infer *in, const unsigned *node,
                         unsigned n, struct xl__shape *out);
/* Axes as written to those of n_dims dimensions, in the same order; false, and
 * told, when one is not there or is named twice. */
bool xl__infer_axes(struct xl__infer *in, const struct xl__tree_node *call,
                    unsigned n_dims, unsigned out[XL_MAX_DIMS]);

/* -- infer_rand.c ----------------------------------------------------- */

/* Learn which nodes made since hold a rand() without a shape. */
void xl__infer_mark_loose(struct xl__infer *in);
/* Is its shape known? Otherwise told: reductions ask. */
bool xl__infer_has_shape(struct xl__infer *in, unsigned node);
/* The node again, with every such rand() in it of this shape. */
unsigned xl__infer_set_rand_shape(struct xl__infer *in, unsigned node,
                                  const struct xl__shape *shape);

#endif
