/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of an expression's text, one at a time. A newline inside
 * parentheses or brackets is white space. */
#ifndef XL_EXPR_LEXER_H
#define XL_EXPR_LEXER_H

#include "expr/language/tree.h"

enum xl__token_kind {
    XL__TOK_END,   /* end of the text; returned again and again */
    XL__TOK_BREAK, /* ; or a newline */
    XL__TOK_NAME,
    XL__TOK_INTEGER, /* `value` is a whole number */
    XL__TOK_NUMBER,  /* `value` */
    XL__TOK_SIGN     /* an operator or punctuation: `text` and `len` */
};

struct xl__token {
    enum xl__token_kind kind;
    const char *text;
    size_t len;
    double value; /* also of integers: exact below 2^53, infinite above */
    unsigned location;
};

struct xl__lexer {
    const struct xl__tree *tree; /* the text is tree->text, up to the 0 byte */
    struct xl__error *e;
    unsigned at;   /* offset of the next byte */
    unsigned open; /* parentheses and brackets that are open */
};

/* Read the next token. XL_BAD_ARGUMENT when there is none, with the location.
 */
xl_status xl__lex(struct xl__lexer *l, struct xl__token *out);

/* Is the token this operator or punctuation? */
bool xl__is_sign(const struct xl__token *t, const char *sign);

#endif
