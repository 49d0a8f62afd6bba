/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of single nodes. Functions that return bool return false
 * after they have recorded an error. */
#ifndef XL_EXPR_INFER_TYPES_H
#define XL_EXPR_INFER_TYPES_H

#include "expr/graph/infer.h"

/* "f32", "i32", "bool". */
const char *xl__vtype_name(const struct xl__graph *g, enum xl__vtype type);
/* The shape as text, in `text`: "(4, 5)"; "()" for a single value. */
enum { XL__SHAPE_TEXT = XL_MAX_DIMS * 22 + 4 };
const char *xl__shape_text(const struct xl__shape *s,
                           char text[XL__SHAPE_TEXT]);

/* -- nodes ------------------------------------------------------------ */

/* xl__graph_node() for a node whose type and shape are set; records its errors.
 */
unsigned xl__infer_node(struct xl__infer *in, struct xl__node *spec);
unsigned xl__infer_const(struct xl__infer *in, enum xl__vtype type,
                         double value);
/* The value of a node converted to a type of memory, by explicit CAST nodes;
 * to bool: != 0. */
unsigned xl__infer_as(struct xl__infer *in, unsigned node, xl_dtype dtype);
/* An operation by element, or a reduction over `axes` (a mask of the
 * argument's axes): converts the arguments to the common type and broadcasts
 * their shapes. */
unsigned xl__infer_map(struct xl__infer *in, enum xl__expr_op op,
                       const unsigned *arg);
unsigned xl__infer_reduce(struct xl__infer *in, enum xl__expr_op op,
                          unsigned arg, unsigned axes);

/* -- shapes ----------------------------------------------------------- */

/* Can the elements of the shape be counted and addressed in a size_t? */
bool xl__infer_fits(struct xl__infer *in, const struct xl__shape *s);
/* The common shape of n nodes by NumPy's broadcasting rule. */
bool xl__infer_broadcast(struct xl__infer *in, const unsigned *node,
                         unsigned n, struct xl__shape *out);
/* Convert axes as written to indices of n_dims dimensions, in the same order.
 * Fails when an axis is out of range or is named twice. */
bool xl__infer_axes(struct xl__infer *in, const struct xl__tree_node *call,
                    unsigned n_dims, unsigned out[XL_MAX_DIMS]);

/* -- rand() without a shape ------------------------------------------- */

/* Is the shape of the node known? Reductions require it. */
bool xl__infer_has_shape(struct xl__infer *in, unsigned node);
/* Copies of the node and of those it depends on, with every rand() without a
 * shape given this one. */
unsigned xl__infer_set_rand_shape(struct xl__infer *in, unsigned node,
                                  const struct xl__shape *shape);

#endif
