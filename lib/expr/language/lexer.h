/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and signs of an expression's text, one at a time. A newline
 * between parentheses or brackets is white space. */
#ifndef XL_EXPR_LEX_H
#define XL_EXPR_LEX_H

#include "expr/language/tree.h"

enum xl__token_kind {
    XL__TOK_END,   /* of the text; stays */
    XL__TOK_BREAK, /* ; or a newline */
    XL__TOK_NAME,
    XL__TOK_INTEGER, /* value, whole */
    XL__TOK_NUMBER,  /* value */
    XL__TOK_SIGN     /* an operator or punctuation: `text` and `len` */
};

struct xl__token {
    enum xl__token_kind kind;
    const char *text;
    size_t len;
    double value; /* of integers too: exact below 2^53, infinite above */
    unsigned location;
};

struct xl__lexer {
    const struct xl__tree *tree; /* its text is read, to the 0 byte */
    struct xl__error *e;
    unsigned at;   /* the next byte */
    unsigned open; /* parentheses and brackets */
};

/* The next token. XL_BAD_ARGUMENT for what is none. */
xl_status xl__lex(struct xl__lexer *l, struct xl__token *out);

/* Is the token this sign? */
bool xl__is_sign(const struct xl__token *t, const char *sign);

#endif
