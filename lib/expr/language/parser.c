/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of calls, axes, types, and slices: the parts of the grammar where
 * a word or a whole number stands instead of an expression. */
#include "expr/language/parse.h"

#include <limits.h>
#include <string.h>

#include "expr/language/functions.h"

#define WHOLE_NUMBERS 9007199254740992.0 /* 2^53: doubles are exact */

static xl_status fail_at(struct xl__parser *p, unsigned location,
                         const char *what)
{
    return xl__tree_error(p->tree, location, p->lexer.e, XL_BAD_ARGUMENT, "%s",
                          what);
}

/* A whole number with its sign, below `limit` in magnitude. */
static xl_status whole(struct xl__parser *p, double limit, int64_t *out)
{
    xl_status status;
    bool is_negative = xl__is_sign(&p->token, "-");
    if (is_negative)
        TRY(xl__parse_next(p));
    if (p->token.kind != XL__TOK_INTEGER)
        return xl__parse_fail(p, "a whole number is expected");
    if (p->token.value >= limit)
        return fail_at(p, p->token.location, "the number is too large");
    *out = (int64_t)p->token.value * (is_negative ? -1 : 1);
    TRY(xl__parse_next(p));
fail:
    return status;
}

/* -- axes and orders ------------------------------------------------------- */

static xl_status axis(struct xl__parser *p, int *axes, unsigned *n)
{
    xl_status status;
    int64_t value = 0;
    if (*n >= XL_MAX_DIMS)
        return fail_at(p, p->token.location,
                       "more axes than a tensor has: at most 6");
    TRY(whole(p, INT_MAX, &value));
    axes[(*n)++] = (int)value;
fail:
    return status;
}

/* axis=1, axis=(0, 2); from '=' on. */
static xl_status axes(struct xl__parser *p, struct xl__tree_call *c)
{
    xl_status status;
    TRY(xl__parse_next(p));
    c->has_axes = true;
    if (!xl__is_sign(&p->token, "("))
        return axis(p, c->axes, &c->n_axes);
    TRY(xl__parse_next(p));
    do {
        TRY(axis(p, c->axes, &c->n_axes));
        if (!xl__is_sign(&p->token, ","))
            break;
        TRY(xl__parse_next(p));
    } while (!xl__is_sign(&p->token, ")"));
    TRY(xl__parse_sign(p, ")", "',' or ')' is expected after an axis"));
fail:
    return status;
}

/* -- calls ----------------------------------------------------------------- */

/* Is this name the keyword of `name=`? */
static bool is_keyword(const struct xl__parser *p)
{
    struct xl__lexer ahead = p->lexer;
    struct xl__token next;
    ahead.e = NULL; /* what is wrong there is told when it is reached */
    return p->token.kind == XL__TOK_NAME &&
           xl__lex(&ahead, &next) == XL_OK && xl__is_sign(&next, "=");
}

static xl_status keyword(struct xl__parser *p, struct xl__tree_call *c)
{
    xl_status status;
    struct xl__token word = p->token;
    if (word.len != strlen("axis") ||
        memcmp(word.text, "axis", word.len) != 0)
        return fail_at(p, word.location,
                       "the only argument with a name is axis=; 'is equal' is "
                       "==");
    if (c->has_axes)
        return fail_at(p, word.location,
                       "axis= is there already; several axes "
                       "are written axis=(0, 1)");
    TRY(xl__parse_next(p));
    TRY(axes(p, c));
fail:
    return status;
}

static xl_status argument(struct xl__parser *p, struct xl__tree_call *c,
                          unsigned *arg)
{
    xl_status status;
    unsigned node;
    if (is_keyword(p))
        return keyword(p, c);
    if (c->has_axes)
        return fail_at(p, p->token.location, "axis= comes last");
    TRY(xl__parse_expression(p, &node));
    if (c->n_args < XL__TREE_ARGS)
        arg[c->n_args] = node;
    c->n_args++;
fail:
    return status;
}

static xl_status arguments(struct xl__parser *p, struct xl__tree_call *c,
                           unsigned *arg)
{
    xl_status status;
    while (!xl__is_sign(&p->token, ")")) {
        TRY(argument(p, c, arg));
        if (!xl__is_sign(&p->token, ","))
            break;
        TRY(xl__parse_next(p));
        if (xl__is_sign(&p->token, ")"))
            return xl__parse_fail(p, "an argument is expected");
    }
    TRY(xl__parse_sign(p, ")", "an operator, ',' or ')' is expected"));
fail:
    return status;
}

/* cast(x, f16), from x on. */
static xl_status cast(struct xl__parser *p, struct xl__tree_call *c,
                      unsigned *arg)
{
    xl_status status;
    TRY(xl__parse_expression(p, arg));
    c->n_args = 1;
    TRY(xl__parse_sign(p, ",", "cast takes a value and a type, like "
                               "cast(x, f16); ',' is expected"));
    if (p->token.kind != XL__TOK_NAME ||
        !xl__type_find(p->token.text, p->token.len, &c->dtype))
        return xl__parse_fail(p, "a type is expected: f32, f16, bf16, i32, "
                                 "i8, u8 or bool");
    TRY(xl__parse_next(p));
    TRY(xl__parse_sign(p, ")", "')' is expected after the type"));
fail:
    return status;
}

/* transpose(x) and permute(x, 1, 0), from x on. */
static xl_status permutation(struct xl__parser *p,
                             const struct xl__token *word, unsigned *out)
{
    xl_status status;
    bool has_order = word->len == strlen("permute");
    struct xl__tree_node view = {.kind = XL__T_VIEW,
                                 .is_permutation = true,
                                 .location = word->location};
    struct xl__token name = p->token;
    if (name.kind != XL__TOK_NAME)
        return xl__parse_fail(p, "views are of a name, like transpose(x); a "
                                 "name is expected");
    TRY(xl__tree_name(p->tree, name.text, name.len, name.location, &view.name,
                      p->lexer.e));
    TRY(xl__parse_next(p));
    while (has_order && xl__is_sign(&p->token, ",")) {
        TRY(xl__parse_next(p));
        TRY(axis(p, view.axes, &view.n_axes));
    }
    if (has_order && view.n_axes == 0)
        return xl__parse_fail(p, "permute takes a name and an order, like "
                                 "permute(x, 1, 0); ',' is expected");
    TRY(xl__parse_sign(p, ")", has_order
                                   ? "',' or ')' is expected"
                                   : "transpose takes a name alone; ')' is "
                                     "expected"));
    TRY(xl__tree_add(p->tree, &view, out, p->lexer.e));
fail:
    return status;
}

xl_status xl__parse_call(struct xl__parser *p, const struct xl__token *word,
                         unsigned *out)
{
    xl_status status;
    unsigned arg[XL__TREE_ARGS];
    struct xl__tree_call c = {.name = word->text,
                              .len = word->len,
                              .arg = arg,
                              .location = word->location};
    const struct xl__function *f = xl__function_find(c.name, c.len, 1);
    TRY(xl__parse_next(p));
    if (xl__is_view_function(word->text, word->len))
        return permutation(p, word, out);
    if (f == NULL) /* before mistakes between its parentheses are told */
        return xl__tree_call(p->tree, &c, out, p->lexer.e);
    if (f->op == XL__E_CAST)
        TRY(cast(p, &c, arg));
    else
        TRY(arguments(p, &c, arg));
    TRY(xl__tree_call(p->tree, &c, out, p->lexer.e));
fail:
    return status;
}

/* -- slices ---------------------------------------------------------------- */

/* A bound of a slice, if there is one. */
static xl_status bound(struct xl__parser *p, bool *has, int64_t *out)
{
    *has = p->token.kind == XL__TOK_INTEGER || xl__is_sign(&p->token, "-");
    return *has ? whole(p, WHOLE_NUMBERS, out) : XL_OK;
}

static xl_status step(struct xl__parser *p, struct xl__slice *s)
{
    xl_status status;
    bool has;
    unsigned location;
    TRY(xl__parse_next(p));
    location = p->token.location;
    TRY(bound(p, &has, &s->step));
    if (has && s->step <= 0)
        return fail_at(p, location, "a step is 1 or more");
fail:
    return status;
}

/* 3, 2:10, ::2 or ... */
static xl_status slice(struct xl__parser *p, struct xl__slice *s)
{
    xl_status status;
    *s = (struct xl__slice){.step = 1};
    s->is_rest = xl__is_sign(&p->token, "...");
    if (s->is_rest)
        return xl__parse_next(p);
    TRY(bound(p, &s->has_first, &s->first));
    s->is_index = s->has_first && !xl__is_sign(&p->token, ":");
    if (s->is_index)
        return XL_OK;
    TRY(xl__parse_sign(p, ":", "a slice is whole numbers, like 3, 2:10, ::2 "
                               "or ...; ':' is expected"));
    TRY(bound(p, &s->has_last, &s->last));
    if (xl__is_sign(&p->token, ":"))
        TRY(step(p, s));
fail:
    return status;
}

static xl_status one_slice(struct xl__parser *p, struct xl__tree_node *view)
{
    unsigned location = p->token.location;
    struct xl__slice *s = &view->slice[view->n_slices];
    if (view->n_slices >= XL_MAX_DIMS)
        return fail_at(p, location,
                       "more slices than a tensor has dimensions: "
                       "at most 6");
    xl_status status = slice(p, s);
    for (unsigned i = 0; status == XL_OK && i < view->n_slices; i++)
        if (s->is_rest && view->slice[i].is_rest)
            status = fail_at(p, location,
                             "... stands for what is left, so only "
                             "once");
    view->n_slices++;
    return status;
}

xl_status xl__parse_slices(struct xl__parser *p, struct xl__tree_node *name)
{
    xl_status status;
    name->kind = XL__T_VIEW;
    do {
        TRY(xl__parse_next(p)); /* over '[' or ',' */
        TRY(one_slice(p, name));
    } while (xl__is_sign(&p->token, ","));
    TRY(xl__parse_sign(p, "]", "',' or ']' is expected after a slice"));
fail:
    return status;
}
