/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree of an expression: what is written, without types or shapes.
 * Built by parser.c from text or by builder.c from calls; immutable
 * afterwards. */
#ifndef XL_EXPR_TREE_H
#define XL_EXPR_TREE_H

#include "expr/language/operations.h"

enum xl__tree_kind {
    XL__T_INTEGER,
    XL__T_NUMBER,
    XL__T_BOOL, /* these three have `value` */
    XL__T_NAME,
    XL__T_CALL, /* function, arguments, axes, dtype */
    XL__T_VIEW  /* of its one argument */
};

/* Functions that infer.c expands to several operations. */
enum xl__row_function {
    XL__ROW_NONE,
    XL__ROW_STD, /* a reduction */
    XL__ROW_SOFTMAX,
    XL__ROW_LOG_SOFTMAX,
    XL__ROW_LAYER_NORM,
    XL__ROW_RMS_NORM,
    XL__ROW_CONCAT, /* this one and those below: infer_pieces.c */
    XL__ROW_PAD,
    XL__ROW_SLICE,
    XL__ROW_CUMSUM
};

enum xl__view_kind { XL__VIEW_SLICES, XL__VIEW_PERMUTE, XL__VIEW_RESHAPE };

/* first:last:step with Python's rules; or one index `first`; or "..."; or
 * None. */
struct xl__slice {
    bool has_first, has_last, is_index, is_rest, is_new;
    int64_t first, last, step;
};
enum { XL__TREE_SLICES = 2 * XL_MAX_DIMS };

struct xl__tree_node {
    enum xl__tree_kind kind;
    enum xl__expr_op op; /* CALL, when row is XL__ROW_NONE. MIN and MAX of one
                            argument are RMIN and RMAX already */
    enum xl__row_function row;
    unsigned name;              /* NAME: index into tree->name */
    unsigned n_args, first_arg; /* CALL, VIEW: tree->arg[first_arg ...]; nodes
                                   before this one */
    double value;
    xl_dtype dtype; /* cast: the type to convert to */
    bool has_axes;
    int axes[XL_MAX_DIMS]; /* as written: negative ones count from the end.
                              Also the order of a permutation */
    unsigned n_axes;
    enum xl__view_kind view; /* VIEW; a permutation with n_axes == 0 reverses
                                all axes */
    unsigned n_slices;
    struct xl__slice slice[XL__TREE_SLICES];
    unsigned n_sizes; /* of a reshape; -1: what remains */
    int64_t size[XL_MAX_DIMS];
    unsigned location; /* byte offset in the text */
};

struct xl__statement {
    unsigned name;  /* index into tree->name: what is assigned */
    unsigned view;  /* the VIEW node that is assigned to, or UINT_MAX: the
                       whole */
    unsigned value; /* a node */
    unsigned location;
};

struct xl__tree {
    struct xl__tree_node *node;
    unsigned n_nodes;
    size_t cap_nodes;
    unsigned *arg;
    unsigned n_args;
    size_t cap_args;
    char (*name)[XL_EXPR_MAX_NAME + 1];
    unsigned n_names;
    size_t cap_names;
    struct xl__statement *statement;
    unsigned n_statements;
    size_t cap_statements;
    char *text; /* a copy for messages; NULL when built by calls */
};

void xl__tree_clear(struct xl__tree *t);

/* Record an error at a byte offset of the text, with its line and a caret:
 *
 *     2:7: <message>
 *       the line
 *           ^
 *
 * Returns `status`. Bytes other than printable ASCII are shown as '?'. Without
 * a text the message alone is recorded. */
xl_status xl__tree_error(const struct xl__tree *t, unsigned location,
                         struct xl__error *e, xl_status status,
                         const char *fmt, ...) XL__PRINTF(5, 6);

/* -- building: parser.c and builder.c --------------------------------- */

/* Append a node; an error is reported at its location. */
xl_status xl__tree_add(struct xl__tree *t, const struct xl__tree_node *node,
                       unsigned *out, struct xl__error *e);
/* The index of a name, which is added when it is new. Refuses what is not a
 * name or is reserved by the language (functions.h). */
xl_status xl__tree_name(struct xl__tree *t, const char *name, size_t len,
                        unsigned location, unsigned *out, struct xl__error *e);
xl_status xl__tree_assign(struct xl__tree *t, const struct xl__statement *s,
                          struct xl__error *e);

/* A call as written. */
struct xl__tree_call {
    const char *name; /* of a function or an operator; `len` bytes */
    size_t len;
    const unsigned *arg; /* nodes: the first XL__TREE_ARGS of n_args */
    unsigned n_args;
    bool has_axes;
    int axes[XL_MAX_DIMS];
    unsigned n_axes;
    xl_dtype dtype; /* cast */
    unsigned location;
};
enum { XL__TREE_ARGS = 4 };

/* Append a view of node `of`. */
xl_status xl__tree_add_view(struct xl__tree *t, struct xl__tree_node *view,
                            unsigned of, unsigned *out, struct xl__error *e);

/* Append a call. Checks that the function exists and takes these arguments. */
xl_status xl__tree_call(struct xl__tree *t, const struct xl__tree_call *c,
                        unsigned *out, struct xl__error *e);

/* A to Z of either case, and _. */
bool xl__is_letter(char c);
/* A letter, then letters and digits. */
bool xl__is_name(const char *name, size_t len);

#endif
