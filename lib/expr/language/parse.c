/* SPDX-License-Identifier: Apache-2.0 */
/* The parser, from the outside: the text is copied, split into statements, and
 * what is left of `=` becomes a target. Expressions: parse_expr.c. */
#include "expr/language/parse.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "expr/language/functions.h"

/* -- statements ------------------------------------------------------------ */

/* A word of the language in front of '='. */
static xl_status check_target(struct xl__parser *p)
{
    struct xl__lexer ahead = p->lexer;
    struct xl__token next;
    const struct xl__token *t = &p->token;
    if (t->kind != XL__TOK_NAME || !xl__is_reserved(t->text, t->len))
        return XL_OK;
    ahead.e = NULL; /* what is wrong there is told when it is reached */
    if (xl__lex(&ahead, &next) != XL_OK || !xl__is_sign(&next, "="))
        return XL_OK;
    return xl__tree_error(p->tree, t->location, p->lexer.e, XL_BAD_ARGUMENT,
                          "'%.*s' is a word of the language and cannot be "
                          "assigned; take another name",
                          (int)t->len, t->text);
}

/* What stands left of '=' was read as an expression: make a target of it. The
 * node of a plain name is taken back. */
static xl_status target(struct xl__parser *p, const struct xl__token *first,
                        struct xl__statement *s)
{
    const struct xl__tree_node *node = &p->tree->node[s->value];
    bool is_name =
        first->kind == XL__TOK_NAME && node->location == first->location;
    if (!is_name || (node->kind != XL__T_NAME &&
                     (node->kind != XL__T_VIEW || node->is_permutation)))
        return xl__tree_error(p->tree, first->location, p->lexer.e,
                              XL_BAD_ARGUMENT,
                              "only a name or a slice of one can be assigned; "
                              "'is equal' is ==");
    s->name = node->name;
    if (node->kind == XL__T_VIEW)
        s->view = s->value;
    else
        p->tree->n_nodes--;
    return XL_OK;
}

static xl_status statement(struct xl__parser *p)
{
    xl_status status;
    struct xl__token first = p->token;
    struct xl__statement s = {.view = UINT_MAX, .location = first.location};
    TRY(check_target(p));
    TRY(xl__parse_expression(p, &s.value));
    if (xl__is_sign(&p->token, "=")) {
        TRY(target(p, &first, &s));
        TRY(xl__parse_next(p));
        TRY(xl__parse_expression(p, &s.value));
    } else {
        TRY(xl__tree_name(p->tree, "out", strlen("out"), first.location,
                          &s.name, p->lexer.e));
    }
    if (p->token.kind != XL__TOK_BREAK && p->token.kind != XL__TOK_END)
        TRY(xl__parse_fail(p, "an operator or the end of the statement is "
                              "expected"));
    TRY(xl__tree_assign(p->tree, &s, p->lexer.e));
fail:
    return status;
}

static xl_status statements(struct xl__parser *p)
{
    xl_status status;
    TRY(xl__parse_next(p));
    while (p->token.kind != XL__TOK_END) {
        if (p->token.kind == XL__TOK_BREAK)
            TRY(xl__parse_next(p));
        else
            TRY(statement(p));
    }
    if (p->tree->n_statements == 0)
        TRY(xl__tree_error(p->tree, 0, p->lexer.e, XL_BAD_ARGUMENT,
                           "there is nothing to compute; write an expression "
                           "like y = 2 * x"));
fail:
    return status;
}

/* Keep a copy of the text, as much as is allowed of it. */
static xl_status keep(const char *text, size_t len, struct xl__tree *t,
                      struct xl__error *e)
{
    size_t kept = len < XL_EXPR_MAX_TEXT ? len : XL_EXPR_MAX_TEXT;
    t->text = malloc(kept + 1);
    if (t->text == NULL)
        return xl__error_set(e, XL_NO_MEMORY, "out of memory for a text of "
                                              "%zu bytes", len);
    memcpy(t->text, text, kept);
    t->text[kept] = 0;
    const char *zero = memchr(t->text, 0, kept);
    if (zero != NULL)
        return xl__tree_error(t, (unsigned)(zero - t->text), e,
                              XL_BAD_ARGUMENT, "a byte 0 inside the text");
    if (kept < len)
        return xl__tree_error(t, (unsigned)kept, e, XL_BAD_ARGUMENT,
                              "the text has %zu bytes; at most %d are allowed",
                              len, XL_EXPR_MAX_TEXT);
    return XL_OK;
}

xl_status xl__parse(const char *text, size_t len, struct xl__tree *out,
                    struct xl__error *e)
{
    xl_status status;
    struct xl__parser p = {.tree = out, .lexer = {.tree = out, .e = e}};
    *out = (struct xl__tree){0};
    TRY(keep(text, len, out, e));
    TRY(statements(&p));
    return XL_OK;
fail:
    xl__tree_clear(out);
    return status;
}
