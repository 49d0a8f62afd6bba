/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference: from a syntax tree and a signature to a typed graph.
 *
 *     infer.c         statements, names, calls, row functions
 *     infer_types.c   types and shapes of single nodes
 *     infer_pieces.c  concat, pad, run-time slices, cumsum
 *     infer_views.c   bound tensors, slices, permutations, assignments
 *
 * The first error is recorded in `status`; from then on every node is
 * XL__NO_NODE, which all functions pass through. So an expansion is written
 * like a formula, without a check after each step. */
#ifndef XL_EXPR_INFER_H
#define XL_EXPR_INFER_H

#include <limits.h>

#include "expr/graph/graph.h"
#include "expr/language/tree.h"

#define XL__NO_NODE UINT_MAX

/* What a name of the tree means after the statements so far. */
struct xl__symbol {
    unsigned binding; /* index into the signature; UINT_MAX: not bound */
    unsigned value;   /* the node of its current value, or XL__NO_NODE */
    unsigned output;  /* index of the output, if it is assigned as a whole; or
                         UINT_MAX */
    bool is_sliced;   /* slices of it are assigned */
    bool is_used;     /* it is read or assigned */
};

/* The region of a bound tensor that an assignment writes, by dimension. */
struct xl__slice_region {
    size_t first[XL_MAX_DIMS], step[XL_MAX_DIMS], count[XL_MAX_DIMS];
};

struct xl__infer {
    const struct xl__tree *t;
    const struct xl__signature *s;
    struct xl__graph *g;
    struct xl__error *e;
    xl_status status;
    unsigned location;         /* of errors and new nodes: byte offset in the
                                  text */
    struct xl__symbol *symbol; /* by name of the tree */
    struct xl__slice_region *region; /* by output of the graph */
    unsigned *value;           /* by tree node: its graph node, in the current
                                  statement */
    unsigned char *is_needed;  /* by tree node: to be computed */
};

/* Record an error at in->location; the value is XL__NO_NODE. */
#define XL__INFER_FAIL(in, code, ...)                                         \
    xl__infer_fail(in, xl__tree_error((in)->t, (in)->location, (in)->e,       \
                                      (code), __VA_ARGS__))
static inline unsigned xl__infer_fail(struct xl__infer *in, xl_status status)
{
    in->status = status;
    return XL__NO_NODE;
}

/* Infers types and shapes: a pruned graph of a tree for the given bindings.
 * All errors about names, types, shapes, axes and slices are found here; the
 * message has line:column, the line and a caret. After an error *out is
 * empty; otherwise the caller clears it with xl__graph_clear(). */
xl_status xl__infer(const struct xl__tree *t, const struct xl__signature *s,
                    struct xl__graph *out, struct xl__error *e);
/* Infers the type and the shape of the value that the name has after the last
 * statement, in dtype that of memory; it must be assigned as a whole. Outputs
 * need not be bound. */
xl_status xl__infer_value(const struct xl__tree *t,
                          const struct xl__signature *s, const char *name,
                          struct xl__node *out, struct xl__error *e);

#endif
