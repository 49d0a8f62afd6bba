/* SPDX-License-Identifier: Apache-2.0 */
/* An op's epilogue: an expression that is applied to each element y of the
 * op's result, with bound operands, as text for the op's own kernels.
 *
 * The interface for ops is in runtime/epilogue.h: xl__epilogue_text_get() and
 * xl__epilogue_text_eval(), defined in epilogue.c. This header has the two
 * stages of making a text, for tests.
 *
 * A text belongs to one expression over operands of certain types, sizes
 * and strides. Graph and text do not depend on sizes and strides, so texts
 * that differ only in these share one struct xl__epilogue_graph. */
#ifndef XL_EXPR_EPILOGUE_H
#define XL_EXPR_EPILOGUE_H

#include "expr/language/tree.h"
#include "runtime/epilogue.h"

/* Nodes of one epilogue at most: xl__epilogue_text_eval() has an array of them
 * on the stack. */
enum { XL__EPILOGUE_NODES = 512 };

/* An operand as the text depends on it. Compared with memcmp(): no padding. */
struct xl__epilogue_binding {
    char name[XL_EXPR_MAX_NAME + 1]; /* the rest is 0 */
    unsigned dtype, is_scalar;
};

/* Graph and text of an epilogue; owns expr, g and text. */
struct xl__epilogue_graph {
    unsigned n_users; /* texts that point to it */
    char *expr;       /* as the caller wrote it */
    xl_dtype dtype;   /* of the result */
    enum xl__hook hook;
    uint64_t value;   /* hash of the name of y (x) */
    unsigned n;       /* operands, in the caller's order */
    struct xl__epilogue_binding operand[XL__EPILOGUE_OPERANDS];
    struct xl__graph
        g; /* binding k is operand k, binding n is y (x); one output,
              of the type in which the result is computed */
    double flop;        /* of one element */
    char *text;
};

/* Make the graph, out->g, from out->expr. The fields before g are set. Errors
 * of the language, with position and message in *e. */
xl_status xl__epilogue_read(const struct xl__epilogue_request *want,
                            struct xl__epilogue_graph *out, struct xl__error *e);
/* Make the text, ep->text, and ep->flop from ep->g. The text defines what
 * cl/common/epilogue.clh defines, and takes its place. XL_NO_MEMORY. */
xl_status xl__epilogue_write(struct xl__epilogue_graph *ep,
                             const struct xl__limits *l);

#endif
