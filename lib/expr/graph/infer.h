/* SPDX-License-Identifier: Apache-2.0 */
/* What the infer_*.c share. A mistake is told once and kept in `status`; from
 * then on nodes are XL__NO_NODE and pass through, so that expansions read like
 * formulas. */
#ifndef XL_EXPR_INFER_H
#define XL_EXPR_INFER_H

#include <limits.h>

#include "expr/graph/graph.h"
#include "expr/language/tree.h"

#define XL__NO_NODE UINT_MAX

/* What a name of the tree stands for, statement by statement. */
struct xl__symbol {
    unsigned binding; /* UINT_MAX: it is not bound */
    unsigned value;   /* the node it now names, or XL__NO_NODE */
    unsigned output;  /* of a whole assignment, or UINT_MAX */
    bool is_sliced;   /* was assigned in part */
    bool is_used;     /* of a binding: is read or assigned */
};

/* The part of a bound tensor that an assignment writes, by dimension. */
struct xl__region {
    size_t first[XL_MAX_DIMS], step[XL_MAX_DIMS], count[XL_MAX_DIMS];
};

struct xl__infer {
    const struct xl__tree *t;
    const struct xl__signature *s;
    struct xl__graph *g;
    struct xl__error *e;
    xl_status status;
    unsigned location;         /* errors and new nodes are here */
    struct xl__symbol *symbol; /* by name */
    struct xl__region *part;   /* by output */
    unsigned *value;           /* by tree node: its node, in this statement */
    unsigned char *is_needed;  /* by tree node */
    bool *is_loose;            /* by graph node: holds a rand() that has no
                                  shape yet */
    unsigned n_known;          /* nodes whose is_loose is known */
};

/* Record a mistake at the place that is worked on; is XL__NO_NODE. */
#define XL__WRONG(in, code, ...)                                              \
    xl__infer_wrong(in, xl__tree_error((in)->t, (in)->location, (in)->e,      \
                                       (code), __VA_ARGS__))
static inline unsigned xl__infer_wrong(struct xl__infer *in, xl_status status)
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
 * statement; it must be assigned as a whole. Outputs need not be bound. */
xl_status xl__infer_value(const struct xl__tree *t,
                          const struct xl__signature *s, const char *name,
                          struct xl__node *out, struct xl__error *e);

#endif
