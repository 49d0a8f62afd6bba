/* SPDX-License-Identifier: Apache-2.0 */
/* An op's epilogue: an expression by element over y and what is bound, as text
 * for the op's own kernels.
 *
 * epilogue.c finds or makes snippets, epilogue_read.c makes the graph,
 * epilogue_text.c the text, epilogue_eval.c a value on the host. Neither graph
 * nor text knows sizes or strides: snippets that differ in these alone share
 * them. */
#ifndef XL_EXPR_EPILOGUE_H
#define XL_EXPR_EPILOGUE_H

#include "expr/language/tree.h"
#include "runtime/epilogue.h"

/* Nodes of one epilogue: the host holds a number for each on its stack. */
enum { XL__EPILOGUE_NODES = 512 };

/* An operand as the expression knows it, without padding. */
struct xl__epilogue_name {
    char name[XL_EXPR_MAX_NAME + 1]; /* filled up with 0 */
    unsigned dtype, is_scalar;
};

struct xl__epilogue {
    unsigned n_users;    /* snippets */
    char *expr;          /* as the caller wrote it */
    xl_dtype dtype;      /* of the result */
    unsigned n;          /* operands, in the caller's order */
    struct xl__epilogue_name operand[XL_EPILOGUE_MAX_BINDINGS];
    struct xl__graph g;  /* binding k is operand k, binding n is y; one output,
                            of the kind that the result's dtype is of */
    double flop;         /* of one element */
    char *text;
};

/* Is the operand one value, or its shape one that broadcasts over the result?
 * Then its strides by the result's dimensions. */
bool xl__epilogue_fits(const xl_binding *b, const size_t size[XL__N_ALONG],
                       size_t stride[XL__N_ALONG]);

/* Expression to graph. `out` has everything but graph, flop and text. All
 * errors of the language. */
xl_status xl__epilogue_read(const struct xl__epilogue_request *want,
                            struct xl__epilogue *out, struct xl__error *e);
/* Graph to text: what cl/common/epilogue.clh defines. Sets flop too.
 * XL_NO_MEMORY. */
xl_status xl__epilogue_write(struct xl__epilogue *ep,
                             const struct xl__limits *l);

#endif
