/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: recursive descent, with one loop over a table for all binary
 * operators. Whatever nests counts as a level, and levels are few, so no text
 * can exhaust the stack. A node comes after its arguments. */
#include "expr/language/parse.h"

#include "expr/language/functions.h"

#define INTEGERS 2147483648.0 /* i32 ends one before it, and begins at minus
                                 it */

enum { LOWEST = 1, COMPARES = 3, QUOTED = 40 };

/* Binary operators but ^: the higher, the tighter. */
static const struct {
    const char *sign;
    unsigned level;
} operators[] = {
    {"|", LOWEST},   {"&", 2},        {"<", COMPARES},  {"<=", COMPARES},
    {">", COMPARES}, {">=", COMPARES}, {"==", COMPARES}, {"!=", COMPARES},
    {"+", 4},        {"-", 4},        {"*", 5},         {"/", 5},
};

xl_status xl__parse_fail(struct xl__parser *p, const char *what)
{
    const struct xl__token *t = &p->token;
    int len = t->len > QUOTED ? QUOTED : (int)t->len;
    if (t->kind == XL__TOK_END)
        return xl__tree_error(p->tree, t->location, p->lexer.e,
                              XL_BAD_ARGUMENT, "%s, not the end of the text",
                              what);
    if (t->kind == XL__TOK_BREAK)
        return xl__tree_error(p->tree, t->location, p->lexer.e,
                              XL_BAD_ARGUMENT,
                              "%s, not the end of the statement; parentheses "
                              "let it go on in the next line",
                              what);
    return xl__tree_error(p->tree, t->location, p->lexer.e, XL_BAD_ARGUMENT,
                          "%s, not '%.*s'", what, len, t->text);
}

xl_status xl__parse_next(struct xl__parser *p)
{
    return xl__lex(&p->lexer, &p->token);
}

xl_status xl__parse_sign(struct xl__parser *p, const char *sign,
                         const char *what)
{
    if (!xl__is_sign(&p->token, sign))
        return xl__parse_fail(p, what);
    return xl__parse_next(p);
}

static xl_status add(struct xl__parser *p, const struct xl__tree_node *node,
                     unsigned *out)
{
    return xl__tree_add(p->tree, node, out, p->lexer.e);
}

static xl_status call(struct xl__parser *p, const struct xl__token *word,
                      const unsigned *arg, unsigned n_args, unsigned *out)
{
    struct xl__tree_call c = {.name = word->text,
                              .len = word->len,
                              .arg = arg,
                              .n_args = n_args,
                              .location = word->location};
    return xl__tree_call(p->tree, &c, out, p->lexer.e);
}

/* One level further in; left by p->depth--. */
static xl_status enter(struct xl__parser *p)
{
    if (++p->depth <= XL_EXPR_MAX_DEPTH)
        return XL_OK;
    return xl__tree_error(p->tree, p->token.location, p->lexer.e,
                          XL_BAD_ARGUMENT,
                          "nested deeper than %d levels; assign a part to a "
                          "name first",
                          XL_EXPR_MAX_DEPTH);
}

/* -- what stands alone ----------------------------------------------------- */

static xl_status too_large(struct xl__parser *p, const struct xl__token *t)
{
    int len = t->len > QUOTED ? QUOTED : (int)t->len;
    return xl__tree_error(p->tree, t->location, p->lexer.e, XL_BAD_ARGUMENT,
                          "%.*s%s does not fit in an i32; with a point, as "
                          "1e10 or 1.0, it is an f32",
                          len, t->text, t->len > QUOTED ? "..." : "");
}

static xl_status number(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    struct xl__token t = p->token;
    bool is_integer = t.kind == XL__TOK_INTEGER;
    if (is_integer && t.value >= INTEGERS)
        return too_large(p, &t);
    struct xl__tree_node node = {.kind =
                                     is_integer ? XL__T_INTEGER : XL__T_NUMBER,
                                 .value = t.value,
                                 .location = t.location};
    TRY(add(p, &node, out));
    TRY(xl__parse_next(p));
fail:
    return status;
}

/* -2147483648 is the one integer whose magnitude alone is none. */
static xl_status least_integer(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    struct xl__token t = p->token;
    struct xl__tree_node node = {
        .kind = XL__T_INTEGER, .value = -INTEGERS, .location = t.location};
    TRY(xl__parse_next(p));
    if (xl__is_sign(&p->token, "^"))
        return too_large(p, &t);
    TRY(add(p, &node, out));
fail:
    return status;
}

static xl_status group(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    TRY(enter(p));
    TRY(xl__parse_next(p));
    TRY(xl__parse_expression(p, out));
    TRY(xl__parse_sign(p, ")", "an operator or ')' is expected"));
    p->depth--;
fail:
    return status;
}

/* A name: a constant, a call, a view, or what it says. */
static xl_status name(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    struct xl__token word = p->token;
    struct xl__tree_node node;
    TRY(xl__parse_next(p));
    if (xl__is_sign(&p->token, "(")) {
        TRY(enter(p));
        TRY(xl__parse_call(p, &word, out));
        p->depth--;
        return XL_OK;
    }
    if (xl__constant_find(word.text, word.len, &node)) {
        node.location = word.location;
        return add(p, &node, out);
    }
    if (xl__is_reserved(word.text, word.len))
        return xl__tree_error(
            p->tree, word.location, p->lexer.e, XL_BAD_ARGUMENT,
            "%.*s is a function; write %.*s(...)", (int)word.len, word.text,
            (int)word.len, word.text);
    node =
        (struct xl__tree_node){.kind = XL__T_NAME, .location = word.location};
    TRY(xl__tree_name(p->tree, word.text, word.len, word.location, &node.name,
                      p->lexer.e));
    if (xl__is_sign(&p->token, "["))
        TRY(xl__parse_slices(p, &node));
    TRY(add(p, &node, out));
fail:
    return status;
}

static xl_status primary(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    if (p->token.kind == XL__TOK_INTEGER || p->token.kind == XL__TOK_NUMBER)
        TRY(number(p, out));
    else if (p->token.kind == XL__TOK_NAME)
        TRY(name(p, out));
    else if (xl__is_sign(&p->token, "("))
        TRY(group(p, out));
    else
        TRY(xl__parse_fail(p, "a name, a number, a function or '(' is "
                              "expected"));
    if (!xl__is_sign(&p->token, "["))
        return XL_OK;
    return xl__tree_error(p->tree, p->token.location, p->lexer.e,
                          XL_BAD_ARGUMENT,
                          "only a name can be sliced, and once");
fail:
    return status;
}

/* -- operators ------------------------------------------------------------- */

static xl_status unary(struct xl__parser *p, unsigned *out);

/* a ^ b ^ c is a ^ (b ^ c), and a ^ -b needs no parentheses. */
static xl_status power(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    unsigned arg[2];
    TRY(primary(p, &arg[0]));
    *out = arg[0];
    if (!xl__is_sign(&p->token, "^"))
        return XL_OK;
    struct xl__token sign = p->token;
    TRY(enter(p));
    TRY(xl__parse_next(p));
    TRY(unary(p, &arg[1]));
    TRY(call(p, &sign, arg, 2, out));
    p->depth--;
fail:
    return status;
}

static xl_status unary(struct xl__parser *p, unsigned *out)
{
    xl_status status;
    unsigned arg;
    struct xl__token sign = p->token;
    bool is_minus = xl__is_sign(&sign, "-");
    if (!is_minus && !xl__is_sign(&sign, "!"))
        return power(p, out);
    TRY(enter(p));
    TRY(xl__parse_next(p));
    if (is_minus && p->token.kind == XL__TOK_INTEGER &&
        p->token.value >= INTEGERS && p->token.value < INTEGERS + 1) {
        TRY(least_integer(p, out));
    } else {
        TRY(unary(p, &arg));
        TRY(call(p, &sign, &arg, 1, out));
    }
    p->depth--;
fail:
    return status;
}

/* The level of a binary operator; 0: the token is none. */
static unsigned level_of(const struct xl__token *t)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (xl__is_sign(t, operators[i].sign))
            return operators[i].level;
    return 0;
}

/* Operators of `lowest` and tighter, each taking what is left of it. */
static xl_status binary(struct xl__parser *p, unsigned lowest, unsigned *out)
{
    xl_status status;
    unsigned arg[2], level, last = 0;
    TRY(unary(p, out));
    while ((level = level_of(&p->token)) >= lowest) {
        struct xl__token sign = p->token;
        if (level == COMPARES && last == COMPARES)
            return xl__parse_fail(p, "comparisons do not chain; a < b < c is "
                                     "written a < b & b < c");
        arg[0] = *out;
        TRY(xl__parse_next(p));
        TRY(binary(p, level + 1, &arg[1]));
        TRY(call(p, &sign, arg, 2, out));
        last = level;
    }
fail:
    return status;
}

xl_status xl__parse_expression(struct xl__parser *p, unsigned *out)
{
    return binary(p, LOWEST, out);
}
