/* SPDX-License-Identifier: Apache-2.0 */
/* What the infer_*.c share. A mistake is told once and kept in `status`; from
 * then on nodes are XL__NO_NODE and pass through, so that expansions read like
 * formulas. */
#ifndef XL_EXPR_INFER_H
#define XL_EXPR_INFER_H

#include <limits.h>

#include "expr/language/tree.h"

#define XL__NO_NODE UINT_MAX

/* What a name of the tree stands for, statement by statement. */
struct xl__symbol {
    unsigned binding;   /* UINT_MAX: it is not bound */
    unsigned value;     /* the node it now names, or XL__NO_NODE */
    unsigned output;    /* of a whole assignment, or UINT_MAX */
    bool is_sliced;     /* was assigned in part */
    bool is_used;       /* of a binding: is read or assigned */
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
    unsigned location;          /* errors and new nodes are here */
    struct xl__symbol *symbol;  /* by name */
    struct xl__region *part;    /* by output */
    unsigned *value;            /* by tree node: its node, in this statement */
    unsigned char *is_wanted;   /* by tree node */
    bool *is_loose;             /* by graph node: holds a rand() that has no
                                   shape yet */
    unsigned n_known;           /* nodes whose is_loose is known */
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

/* "f32", "i32", "bool" */
const char *xl__vtype_name(enum xl__vtype type);
/* "(4, 5)"; "()" of a single value. `text` has room for any. */
enum { XL__SHAPE_TEXT = XL_MAX_DIMS * 22 + 4 };
const char *xl__shape_text(const struct xl__shape *s,
                           char text[XL__SHAPE_TEXT]);

/* -- infer_node.c: one node ------------------------------------------------ */

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

/* -- infer_shape.c --------------------------------------------------------- */

/* The elements of a shape can be counted and addressed; otherwise told. */
bool xl__infer_fits(struct xl__infer *in, const struct xl__shape *s);
/* NumPy's rule for n nodes; false, and told, when they do not fit. */
bool xl__infer_broadcast(struct xl__infer *in, const unsigned *node,
                         unsigned n, struct xl__shape *out);
/* Axes as written to those of n_dims dimensions, in the same order; false, and
 * told, when one is not there or is named twice. */
bool xl__infer_axes(struct xl__infer *in, const struct xl__tree_node *call,
                    unsigned n_dims, unsigned out[XL_MAX_DIMS]);

/* -- infer_rand.c ---------------------------------------------------------- */

/* Learn which nodes made since hold a rand() without a shape. */
void xl__infer_mark_loose(struct xl__infer *in);
/* Is its shape known? Otherwise told: reductions ask. */
bool xl__infer_has_shape(struct xl__infer *in, unsigned node);
/* The node again, with every such rand() in it of this shape. */
unsigned xl__infer_set_rand_shape(struct xl__infer *in, unsigned node,
                                  const struct xl__shape *shape);

/* -- infer_rows.c ---------------------------------------------------------- */

/* softmax, layer_norm, ... from primitive nodes. */
unsigned xl__infer_row(struct xl__infer *in, const struct xl__tree_node *call,
                       const unsigned *arg);

/* -- infer_view.c ---------------------------------------------------------- */

/* All of a bound tensor, or a scalar. */
unsigned xl__infer_bound(struct xl__infer *in, unsigned binding);
/* A slice or permutation, in place, of an INPUT node; `part` (may be NULL)
 * gets what of it the slice takes. */
bool xl__infer_view(struct xl__infer *in, const struct xl__tree_node *view,
                    struct xl__node *node, struct xl__region *part);

/* -- infer_names.c --------------------------------------------------------- */

/* Before the first statement: which names are bound. */
void xl__infer_bind(struct xl__infer *in);
/* The node that a name is now. */
unsigned xl__infer_name(struct xl__infer *in, unsigned name);
/* After the last: something leaves the expression, and nothing is bound in
 * vain. */
void xl__infer_check_outputs(struct xl__infer *in);
void xl__infer_check_unused(struct xl__infer *in);
/* The value that a name was last given as a whole; otherwise told. */
void xl__infer_assigned(struct xl__infer *in, const char *name,
                        struct xl__node *out);

/* -- infer_output.c -------------------------------------------------------- */

/* Statement by statement: what its value becomes. */
void xl__infer_assign(struct xl__infer *in, const struct xl__statement *s,
                      unsigned value);

#endif
