/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the parser: parse.c has statements, parse_expr.c
 * operators and what they stand between, parse_args.c the insides of a call's
 * parentheses and a slice's brackets. */
#ifndef XL_EXPR_PARSE_H
#define XL_EXPR_PARSE_H

#include "expr/language/lexer.h"

struct xl__parser {
    struct xl__tree *tree;
    struct xl__lexer lexer;
    struct xl__token token;  /* the next one */
    unsigned depth;
};

/* "WHAT, not 'x'": the next token is not what is expected. */
xl_status xl__parse_fail(struct xl__parser *p, const char *what);
xl_status xl__parse_next(struct xl__parser *p);
/* Go over a sign that must come now; else fail with `what`. */
xl_status xl__parse_sign(struct xl__parser *p, const char *sign,
                         const char *what);

xl_status xl__parse_expression(struct xl__parser *p, unsigned *out);
/* From '(' on; `word` is the function's. */
xl_status xl__parse_call(struct xl__parser *p, const struct xl__token *word,
                         unsigned *out);
/* From '[' on: make a view of the NAME. */
xl_status xl__parse_slices(struct xl__parser *p, struct xl__tree_node *name);

#endif
