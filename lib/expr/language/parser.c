/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of the expression language: text to a tree.
 *
 * Recursive descent with one token of look-ahead:
 *
 *     text       = { statement ( ";" | newline ) }
 *     statement  = [ target "=" ] expression       without target: out =
 *     target     = name [ slices ]
 *     expression = unary { operator unary }        by precedence, below
 *     unary      = ( "-" | "!" | "~" ) unary | power
 *     power      = primary [ ( "^" | "**" ) unary ]
 *     primary    = ( number | name | call | "(" expression ")" ) { slices }
 *     call       = name "(" [ argument { "," argument } ] ")"
 *     slices     = "[" slice { "," slice } "]"
 *     slice      = number | [number] ":" [number] [":" [number]] | "..."
 *                | "None" | expression       an index known at run time
 *
 * All binary operators share one loop over a table of precedences. Everything
 * that nests counts as a level, and the number of levels is limited
 * (XL_EXPR_MAX_DEPTH), so that no text can exhaust the stack. A node is
 * appended to the tree after its arguments. */
#include "expr/language/parser.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/language/functions.h"
#include "expr/language/lexer.h"

enum { LOWEST = 1, COMPARES = 3, QUOTED = 40 };

/* Binary operators except powers; a higher level binds more tightly. */
static const struct {
    const char *sign;
    unsigned level;
} operators[] = {
    {"|", LOWEST},   {"&", 2},         {"<", COMPARES},  {"<=", COMPARES},
    {">", COMPARES}, {">=", COMPARES}, {"==", COMPARES}, {"!=", COMPARES},
    {"<<", 4},       {">>", 4},        {"+", 5},         {"-", 5},
    {"*", 6},        {"/", 6},         {"//", 6},        {"%", 6},
};

/* Words that are operators of other languages, and what to write instead. */
static const struct {
    const char *word, *instead;
} words[] = {
    {"and", "'and' is &"},
    {"or", "'or' is |"},
    {"if", "a choice is where(condition, x, y)"},
};

struct parser {
    struct xl__tree *tree;
    struct xl__lexer lexer;
    struct xl__token token; /* the current one, not yet consumed */
    unsigned depth;
};

/* -- tokens and errors ------------------------------------------------ */

/* What to write instead of a name that is an operator elsewhere; NULL: it is
 * none. */
static const char *instead_of_word(const struct xl__token *t)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (t->kind == XL__TOK_NAME && strlen(words[i].word) == t->len &&
            memcmp(words[i].word, t->text, t->len) == 0)
            return words[i].instead;
    return NULL;
}

static xl_status fail_expected(struct parser *p, const char *what)
{
    const struct xl__token *t = &p->token;
    const char *instead = instead_of_word(t);
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
                          instead ? "%s, not '%.*s'; %s" : "%s, not '%.*s'",
                          what, len, t->text, instead);
}

static xl_status next_token(struct parser *p)
{
    return xl__lex(&p->lexer, &p->token);
}

static xl_status expect_sign(struct parser *p, const char *sign,
                             const char *what)
{
    if (!xl__is_sign(&p->token, sign))
        return fail_expected(p, what);
    return next_token(p);
}

static xl_status add_node(struct parser *p, const struct xl__tree_node *node,
                          unsigned *out)
{
    return xl__tree_add(p->tree, node, out, p->lexer.e);
}

static xl_status add_call(struct parser *p, const struct xl__token *word,
                          const unsigned *arg, unsigned n_args, unsigned *out)
{
    struct xl__tree_call c = {.name = word->text,
                              .len = word->len,
                              .arg = arg,
                              .n_args = n_args,
                              .location = word->location};
    return xl__tree_call(p->tree, &c, out, p->lexer.e);
}

/* Enter one level of nesting; the caller leaves it by p->depth--. */
static xl_status enter_level(struct parser *p)
{
    if (++p->depth <= XL_EXPR_MAX_DEPTH)
        return XL_OK;
    return xl__tree_error(p->tree, p->token.location, p->lexer.e,
                          XL_BAD_ARGUMENT,
                          "nested deeper than %d levels; assign a term to a "
                          "name first",
                          XL_EXPR_MAX_DEPTH);
}

/* Defined below: arguments of calls are expressions. */
static xl_status parse_expression(struct parser *p, unsigned *out);

static xl_status fail_at(struct parser *p, unsigned location, const char *what)
{
    return xl__tree_error(p->tree, location, p->lexer.e, XL_BAD_ARGUMENT, "%s",
                          what);
}

/* Read a whole number with its sign, below `limit` in magnitude. */
static xl_status parse_whole_number(struct parser *p, double limit,
                                    int64_t *out)
{
    xl_status status;
    bool is_negative = xl__is_sign(&p->token, "-");
    if (is_negative)
        TRY(next_token(p));
    if (p->token.kind != XL__TOK_INTEGER)
        return fail_expected(p, "a whole number is expected");
    if (p->token.value >= limit)
        return fail_at(p, p->token.location, "the number is too large");
    *out = (int64_t)p->token.value * (is_negative ? -1 : 1);
    TRY(next_token(p));
fail:
    return status;
}

/* -- axes and orders -------------------------------------------------- */

static xl_status parse_axis(struct parser *p, int *axes, unsigned *n)
{
    xl_status status;
    int64_t value = 0;
    if (*n >= XL_MAX_DIMS)
        return fail_at(p, p->token.location,
                       "more axes than a tensor has: at most 6");
    TRY(parse_whole_number(p, INT_MAX, &value));
    axes[(*n)++] = (int)value;
fail:
    return status;
}

/* Read axis=1 or axis=(0, 2), from '=' on. */
static xl_status parse_axes(struct parser *p, struct xl__tree_call *c)
{
    xl_status status;
    TRY(next_token(p));
    c->has_axes = true;
    if (!xl__is_sign(&p->token, "("))
        return parse_axis(p, c->axes, &c->n_axes);
    TRY(next_token(p));
    do {
        TRY(parse_axis(p, c->axes, &c->n_axes));
        if (!xl__is_sign(&p->token, ","))
            break;
        TRY(next_token(p));
    } while (!xl__is_sign(&p->token, ")"));
    TRY(expect_sign(p, ")", "',' or ')' is expected after an axis"));
fail:
    return status;
}

/* -- calls ------------------------------------------------------------ */

/* Is the current name followed by '='? */
static bool is_keyword(const struct parser *p)
{
    struct xl__lexer ahead = p->lexer;
    struct xl__token next;
    ahead.e = NULL; /* an error there is reported when it is read */
    return p->token.kind == XL__TOK_NAME && xl__lex(&ahead, &next) == XL_OK &&
           xl__is_sign(&next, "=");
}

static xl_status parse_keyword(struct parser *p, struct xl__tree_call *c)
{
    xl_status status;
    struct xl__token word = p->token;
    if (word.len != strlen("axis") || memcmp(word.text, "axis", word.len) != 0)
        return fail_at(p, word.location,
                       "the only argument with a name is axis=; 'is equal' is "
                       "==");
    if (c->has_axes)
        return fail_at(p, word.location,
                       "axis= is there already; several axes "
                       "are written axis=(0, 1)");
    TRY(next_token(p));
    TRY(parse_axes(p, c));
fail:
    return status;
}

static xl_status parse_argument(struct parser *p, struct xl__tree_call *c,
                                unsigned *arg)
{
    xl_status status;
    unsigned node;
    if (is_keyword(p))
        return parse_keyword(p, c);
    if (c->has_axes)
        return fail_at(p, p->token.location, "axis= comes last");
    TRY(parse_expression(p, &node));
    if (c->n_args < XL__TREE_ARGS)
        arg[c->n_args] = node;
    c->n_args++;
fail:
    return status;
}

static xl_status parse_arguments(struct parser *p, struct xl__tree_call *c,
                                 unsigned *arg)
{
    xl_status status;
    while (!xl__is_sign(&p->token, ")")) {
        TRY(parse_argument(p, c, arg));
        if (!xl__is_sign(&p->token, ","))
            break;
        TRY(next_token(p));
        if (xl__is_sign(&p->token, ")"))
            return fail_expected(p, "an argument is expected");
    }
    TRY(expect_sign(p, ")", "an operator, ',' or ')' is expected"));
fail:
    return status;
}

/* Read cast(x, f16), from x on. */
static xl_status parse_cast(struct parser *p, struct xl__tree_call *c,
                            unsigned *arg)
{
    xl_status status;
    TRY(parse_expression(p, arg));
    c->n_args = 1;
    TRY(expect_sign(p, ",",
                    "cast takes a value and a type, like "
                    "cast(x, f16); ',' is expected"));
    if (p->token.kind != XL__TOK_NAME ||
        !xl__type_find(p->token.text, p->token.len, &c->dtype))
        return fail_expected(p,
                             "a type is expected: " XL__EXPR_TYPES " or bool");
    TRY(next_token(p));
    TRY(expect_sign(p, ")", "')' is expected after the type"));
fail:
    return status;
}

/* -- views ------------------------------------------------------------ */

/* Append a view of node `of`. */
static xl_status add_view(struct parser *p, struct xl__tree_node *view,
                          unsigned of, unsigned *out)
{
    view->kind = XL__T_VIEW;
    return xl__tree_add_view(p->tree, view, of, out, p->lexer.e);
}

static xl_status parse_size(struct parser *p, struct xl__tree_node *view)
{
    xl_status status;
    const unsigned location = p->token.location;
    int64_t *size = &view->size[view->n_sizes];
    if (view->n_sizes >= XL_MAX_DIMS)
        return fail_at(p, location,
                       "more sizes than a tensor has dimensions: at most 6");
    TRY(parse_whole_number(p, XL__EXACT_INTEGERS, size));
    if (*size < 1 && *size != -1)
        return fail_at(p, location,
                       "a size is 1 or more, or -1 for what "
                       "remains");
    for (unsigned i = 0; i < view->n_sizes; i++)
        if (*size == -1 && view->size[i] == -1)
            return fail_at(p, location, "-1 occurs only once");
    view->n_sizes++;
fail:
    return status;
}

/* Read the axes of permute or the sizes of reshape: 1, 0 or (1, 0). */
static xl_status parse_view_numbers(struct parser *p,
                                    struct xl__tree_node *view)
{
    xl_status status;
    const bool is_tuple = xl__is_sign(&p->token, "(");
    if (is_tuple)
        TRY(next_token(p));
    for (;;) {
        if (view->view == XL__VIEW_PERMUTE)
            TRY(parse_axis(p, view->axes, &view->n_axes));
        else
            TRY(parse_size(p, view));
        if (!xl__is_sign(&p->token, ","))
            break;
        TRY(next_token(p));
        if (is_tuple && xl__is_sign(&p->token, ")"))
            break;
    }
    if (is_tuple)
        TRY(expect_sign(p, ")", "',' or ')' is expected"));
fail:
    return status;
}

/* Read transpose(x), permute(x, 1, 0) or reshape(x, 2, -1), from x on. */
static xl_status parse_view_function(struct parser *p,
                                     const struct xl__token *word,
                                     unsigned *out)
{
    static const char *const what[] = {
        [XL__VIEW_PERMUTE] = "permute takes a value and an order, like "
                             "permute(x, 1, 0); ',' is expected",
        [XL__VIEW_RESHAPE] = "reshape takes a value and sizes, like "
                             "reshape(x, 2, -1); ',' is expected"};
    xl_status status;
    unsigned of;
    const bool is_transpose = word->len == strlen("transpose");
    struct xl__tree_node view = {.location = word->location};
    view.view = *word->text == 'r' ? XL__VIEW_RESHAPE : XL__VIEW_PERMUTE;
    TRY(parse_expression(p, &of));
    if (!is_transpose) {
        TRY(expect_sign(p, ",", what[view.view]));
        TRY(parse_view_numbers(p, &view));
    }
    TRY(expect_sign(p, ")",
                    is_transpose ? "transpose takes one value and reverses "
                                   "its axes; permute(x, 1, 0) takes an "
                                   "order; ')' is expected"
                                 : "',' or ')' is expected"));
    TRY(add_view(p, &view, of, out));
fail:
    return status;
}

static xl_status parse_call(struct parser *p, const struct xl__token *word,
                            unsigned *out)
{
    xl_status status;
    unsigned arg[XL__TREE_ARGS];
    struct xl__tree_call c = {.name = word->text,
                              .len = word->len,
                              .arg = arg,
                              .location = word->location};
    const struct xl__function *f = xl__function_find(c.name, c.len, 1);
    TRY(next_token(p));
    if (xl__is_view_function(word->text, word->len))
        return parse_view_function(p, word, out);
    if (f == NULL) /* reported before errors in its arguments */
        return xl__tree_call(p->tree, &c, out, p->lexer.e);
    if (f->op == XL__E_CAST)
        TRY(parse_cast(p, &c, arg));
    else
        TRY(parse_arguments(p, &c, arg));
    TRY(xl__tree_call(p->tree, &c, out, p->lexer.e));
fail:
    return status;
}

/* -- slices ----------------------------------------------------------- */

/* Read a bound of a slice, if there is one. */
static xl_status parse_slice_bound(struct parser *p, bool *has, int64_t *out)
{
    *has = p->token.kind == XL__TOK_INTEGER || xl__is_sign(&p->token, "-");
    return *has ? parse_whole_number(p, XL__EXACT_INTEGERS, out) : XL_OK;
}

static xl_status parse_slice_step(struct parser *p, struct xl__slice *s)
{
    xl_status status;
    bool has;
    unsigned location;
    TRY(next_token(p));
    location = p->token.location;
    TRY(parse_slice_bound(p, &has, &s->step));
    if (has && s->step == 0)
        return fail_at(p, location, "a step is not 0");
fail:
    return status;
}

/* Read 3, 2:10, ::-2, ... or None */
static xl_status parse_slice(struct parser *p, struct xl__slice *s)
{
    xl_status status;
    *s = (struct xl__slice){.step = 1};
    s->is_rest = xl__is_sign(&p->token, "...");
    s->is_new = p->token.kind == XL__TOK_NAME &&
                xl__is_none(p->token.text, p->token.len);
    if (s->is_rest || s->is_new)
        return next_token(p);
    TRY(parse_slice_bound(p, &s->has_first, &s->first));
    s->is_index = s->has_first && !xl__is_sign(&p->token, ":");
    if (s->is_index)
        return XL_OK;
    TRY(expect_sign(p, ":",
                    "a slice is whole numbers, like 3, 2:10 or ::-1, or it "
                    "is ... or None; ':' is expected"));
    TRY(parse_slice_bound(p, &s->has_last, &s->last));
    if (xl__is_sign(&p->token, ":"))
        TRY(parse_slice_step(p, s));
fail:
    return status;
}

/* An index that is known at run time, among the slices of a bracket; or the
 * bounds of a range. */
struct run_time_index {
    unsigned node;  /* UINT_MAX: there is none */
    unsigned last;  /* of a range; or UINT_MAX */
    int64_t step;   /* of a range */
    unsigned slice; /* its number, and its place */
    unsigned location;
};

/* Does the slice begin with an expression? */
static bool is_expression(const struct parser *p)
{
    return xl__is_sign(&p->token, "(") ||
           (p->token.kind == XL__TOK_NAME &&
            !xl__is_none(p->token.text, p->token.len));
}

/* Read an index that is an expression: in place of it, the view has all of the
 * axis. */
static xl_status parse_index(struct parser *p, struct xl__tree_node *view,
                             struct run_time_index *index)
{
    xl_status status;
    if (view->n_slices >= XL__TREE_SLICES || index->node != UINT_MAX)
        return fail_at(p, p->token.location,
                       "only one index of a bracket is a value");
    index->slice = view->n_slices;
    index->location = p->token.location;
    TRY(enter_level(p));
    TRY(parse_expression(p, &index->node));
    p->depth--;
    if (xl__is_sign(&p->token, ":")) {
        TRY(next_token(p));
        if (xl__is_sign(&p->token, "]") || xl__is_sign(&p->token, ","))
            return fail_at(p, p->token.location,
                           "a slice from a value on has a last bound, like "
                           "x[i:i + 4]");
        TRY(enter_level(p));
        TRY(parse_expression(p, &index->last));
        p->depth--;
    }
    if (xl__is_sign(&p->token, ":")) {
        struct xl__slice s = {.step = 1};
        const unsigned location = p->token.location;
        TRY(parse_slice_step(p, &s));
        index->step = s.step;
        if (s.step < 0)
            return fail_at(p, location,
                           "a slice whose bounds are values has a step above "
                           "0; reverse it in a bracket of its own, like "
                           "x[i:i + 4][::-1]");
    }
    view->slice[view->n_slices++] = (struct xl__slice){.step = 1};
fail:
    return status;
}

/* Append x[..., ::step, ...] of the value *out. */
static xl_status add_step(struct parser *p, int axis, int64_t step,
                          unsigned location, unsigned *out)
{
    struct xl__tree_node view = {.location = location};
    for (int d = axis < 0 ? -1 : 0; d < (axis < 0 ? 0 : axis); d++)
        view.slice[view.n_slices++] =
            (struct xl__slice){.is_rest = axis < 0, .step = 1};
    view.slice[view.n_slices++] = (struct xl__slice){.step = step};
    for (int d = axis + 1; d < 0; d++)
        view.slice[view.n_slices++] = (struct xl__slice){.step = 1};
    return add_view(p, &view, *out, out);
}

/* Append x[..., index, ...] as gather(x[..., :, ...], index, axis), and a
 * range as slice(x[..., :, ...], first, last, axis), of which every step-th. */
static xl_status add_gather(struct parser *p, struct xl__tree_node *view,
                            const struct run_time_index *index, unsigned *out)
{
    xl_status status;
    const bool is_range = index->last != UINT_MAX;
    const char *name = is_range ? "slice" : "gather";
    bool has_rest = false, is_plain = true;
    int axis = 0;
    for (unsigned i = 0; i < view->n_slices; i++) {
        const struct xl__slice *s = &view->slice[i];
        if (s->is_index)
            return fail_at(p, index->location,
                           "an index that is a value has only slices beside "
                           "it; write the whole number in a bracket of its "
                           "own");
        has_rest = has_rest || (i < index->slice && s->is_rest);
        is_plain = is_plain && !s->is_rest && !s->is_new && !s->has_first &&
                   !s->has_last && s->step == 1;
    }
    axis =
        has_rest ? (int)index->slice - (int)view->n_slices : (int)index->slice;
    if (!is_plain)
        TRY(add_view(p, view, *out, out));
    struct xl__tree_call c = {
        .name = name,
        .len = strlen(name),
        .arg = (const unsigned[]){*out, index->node, index->last},
        .n_args = is_range ? 3 : 2,
        .has_axes = true,
        .axes = {axis},
        .n_axes = 1,
        .location = view->location};
    TRY(xl__tree_call(p->tree, &c, out, p->lexer.e));
    if (index->step != 1)
        TRY(add_step(p, axis, index->step, view->location, out));
fail:
    return status;
}

static xl_status add_slice(struct parser *p, struct xl__tree_node *view,
                           struct run_time_index *index)
{
    if (is_expression(p))
        return parse_index(p, view, index);
    unsigned location = p->token.location;
    struct xl__slice *s = &view->slice[view->n_slices];
    if (view->n_slices >= XL__TREE_SLICES)
        return fail_at(p, location, "more than 12 slices in one bracket");
    xl_status status = parse_slice(p, s);
    for (unsigned i = 0; status == XL_OK && i < view->n_slices; i++)
        if (s->is_rest && view->slice[i].is_rest)
            status = fail_at(p, location,
                             "'...' covers the remaining axes and occurs only "
                             "once");
    view->n_slices++;
    return status;
}

/* Read slices of node *out, which begins at `location`. */
static xl_status parse_slices(struct parser *p, unsigned location,
                              unsigned *out)
{
    xl_status status;
    struct xl__tree_node view = {.location = location};
    struct run_time_index index = {
        .node = UINT_MAX, .last = UINT_MAX, .step = 1};
    do {
        TRY(next_token(p)); /* skip '[' or ',' */
        TRY(add_slice(p, &view, &index));
    } while (xl__is_sign(&p->token, ","));
    TRY(expect_sign(p, "]", "',' or ']' is expected after a slice"));
    if (index.node == UINT_MAX)
        TRY(add_view(p, &view, *out, out));
    else
        TRY(add_gather(p, &view, &index, out));
fail:
    return status;
}

/* -- primary expressions ---------------------------------------------- */

static xl_status fail_too_large(struct parser *p, const struct xl__token *t)
{
    int len = t->len > QUOTED ? QUOTED : (int)t->len;
    return xl__tree_error(p->tree, t->location, p->lexer.e, XL_BAD_ARGUMENT,
                          "%.*s%s: integers of a text end below 2^53; with a "
                          "point, as 1e10 or 1.0, it is a float",
                          len, t->text, t->len > QUOTED ? "..." : "");
}

static xl_status parse_number(struct parser *p, unsigned *out)
{
    xl_status status;
    struct xl__token t = p->token;
    bool is_integer = t.kind == XL__TOK_INTEGER;
    if (is_integer && isinf(t.value))
        return fail_too_large(p, &t);
    struct xl__tree_node node = {.kind =
                                     is_integer ? XL__T_INTEGER : XL__T_NUMBER,
                                 .value = t.value,
                                 .location = t.location};
    TRY(add_node(p, &node, out));
    TRY(next_token(p));
fail:
    return status;
}

static bool is_power(const struct xl__token *t)
{
    return xl__is_sign(t, "^") || xl__is_sign(t, "**");
}

static xl_status parse_parentheses(struct parser *p, unsigned *out)
{
    xl_status status;
    TRY(enter_level(p));
    TRY(next_token(p));
    TRY(parse_expression(p, out));
    TRY(expect_sign(p, ")", "an operator or ')' is expected"));
    p->depth--;
fail:
    return status;
}

/* Read a name: a constant, a call, or a bound or assigned name. */
static xl_status parse_name(struct parser *p, unsigned *out)
{
    xl_status status;
    struct xl__token word = p->token;
    struct xl__tree_node node;
    TRY(next_token(p));
    if (xl__is_sign(&p->token, "(")) {
        TRY(enter_level(p));
        TRY(parse_call(p, &word, out));
        p->depth--;
        return XL_OK;
    }
    if (xl__constant_find(word.text, word.len, &node)) {
        node.location = word.location;
        return add_node(p, &node, out);
    }
    if (xl__is_none(word.text, word.len))
        return fail_at(p, word.location,
                       "None is a new axis of a slice, like x[:, None]");
    if (xl__is_reserved(word.text, word.len))
        return xl__tree_error(
            p->tree, word.location, p->lexer.e, XL_BAD_ARGUMENT,
            "%.*s is a function; write %.*s(...)", (int)word.len, word.text,
            (int)word.len, word.text);
    node =
        (struct xl__tree_node){.kind = XL__T_NAME, .location = word.location};
    TRY(xl__tree_name(p->tree, word.text, word.len, word.location, &node.name,
                      p->lexer.e));
    TRY(add_node(p, &node, out));
fail:
    return status;
}

static xl_status parse_primary(struct parser *p, unsigned *out)
{
    xl_status status;
    const unsigned location = p->token.location;
    if (p->token.kind == XL__TOK_INTEGER || p->token.kind == XL__TOK_NUMBER)
        TRY(parse_number(p, out));
    else if (p->token.kind == XL__TOK_NAME)
        TRY(parse_name(p, out));
    else if (xl__is_sign(&p->token, "("))
        TRY(parse_parentheses(p, out));
    else
        TRY(fail_expected(p, "a name, a number, a function or '(' is "
                             "expected"));
    while (xl__is_sign(&p->token, "["))
        TRY(parse_slices(p, location, out));
fail:
    return status;
}

/* -- operators -------------------------------------------------------- */

static xl_status parse_unary(struct parser *p, unsigned *out);

/* A power is right-associative: a ^ b ^ c is a ^ (b ^ c), and a ^ -b needs no
 * parentheses. */
static xl_status parse_power(struct parser *p, unsigned *out)
{
    xl_status status;
    unsigned arg[2];
    TRY(parse_primary(p, &arg[0]));
    *out = arg[0];
    if (!is_power(&p->token))
        return XL_OK;
    struct xl__token sign = p->token;
    TRY(enter_level(p));
    TRY(next_token(p));
    TRY(parse_unary(p, &arg[1]));
    TRY(add_call(p, &sign, arg, 2, out));
    p->depth--;
fail:
    return status;
}

static xl_status parse_unary(struct parser *p, unsigned *out)
{
    xl_status status;
    unsigned arg;
    struct xl__token sign = p->token;
    if (!xl__is_sign(&sign, "-") && !xl__is_sign(&sign, "!") &&
        !xl__is_sign(&sign, "~"))
        return parse_power(p, out);
    TRY(enter_level(p));
    TRY(next_token(p));
    TRY(parse_unary(p, &arg));
    TRY(add_call(p, &sign, &arg, 1, out));
    p->depth--;
fail:
    return status;
}

/* The level of a binary operator; 0 when the token is none. */
static unsigned level_of(const struct xl__token *t)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (xl__is_sign(t, operators[i].sign))
            return operators[i].level;
    return 0;
}

/* Read operators of level `lowest` and higher; they are left-associative. */
static xl_status parse_binary(struct parser *p, unsigned lowest, unsigned *out)
{
    xl_status status;
    unsigned arg[2], level, last = 0;
    TRY(parse_unary(p, out));
    while ((level = level_of(&p->token)) >= lowest) {
        struct xl__token sign = p->token;
        if (level == COMPARES && last == COMPARES)
            return fail_expected(p, "comparisons do not chain; a < b < c is "
                                    "written a < b & b < c");
        arg[0] = *out;
        TRY(next_token(p));
        TRY(parse_binary(p, level + 1, &arg[1]));
        TRY(add_call(p, &sign, arg, 2, out));
        last = level;
    }
fail:
    return status;
}

static xl_status parse_expression(struct parser *p, unsigned *out)
{
    return parse_binary(p, LOWEST, out);
}

/* -- statements ------------------------------------------------------- */

/* Refuse to assign a reserved name. */
static xl_status check_target(struct parser *p)
{
    struct xl__lexer ahead = p->lexer;
    struct xl__token next;
    const struct xl__token *t = &p->token;
    if (t->kind != XL__TOK_NAME || !xl__is_reserved(t->text, t->len))
        return XL_OK;
    ahead.e = NULL; /* an error there is reported when it is read */
    if (xl__lex(&ahead, &next) != XL_OK || !xl__is_sign(&next, "="))
        return XL_OK;
    return xl__tree_error(p->tree, t->location, p->lexer.e, XL_BAD_ARGUMENT,
                          "'%.*s' is reserved by the language and cannot be "
                          "assigned; take another name",
                          (int)t->len, t->text);
}

/* The left side of '=' has been read as an expression; make it the target. The
 * node of a plain name is removed again. */
static xl_status make_target(struct parser *p, const struct xl__token *first,
                             struct xl__statement *s)
{
    const struct xl__tree *t = p->tree;
    const struct xl__tree_node *node = &t->node[s->value], *name = node;
    if (node->kind == XL__T_VIEW && node->view == XL__VIEW_SLICES)
        name = &t->node[t->arg[node->first_arg]];
    if (first->kind != XL__TOK_NAME || name->kind != XL__T_NAME ||
        name->location != first->location)
        return xl__tree_error(p->tree, first->location, p->lexer.e,
                              XL_BAD_ARGUMENT,
                              "only a name or a slice of one can be assigned; "
                              "'is equal' is ==");
    s->name = name->name;
    if (name != node)
        s->view = s->value;
    else
        p->tree->n_nodes--;
    return XL_OK;
}

static xl_status parse_statement(struct parser *p)
{
    xl_status status;
    struct xl__token first = p->token;
    struct xl__statement s = {.view = UINT_MAX, .location = first.location};
    TRY(check_target(p));
    TRY(parse_expression(p, &s.value));
    if (xl__is_sign(&p->token, "=")) {
        TRY(make_target(p, &first, &s));
        TRY(next_token(p));
        TRY(parse_expression(p, &s.value));
    } else {
        TRY(xl__tree_name(p->tree, "out", strlen("out"), first.location,
                          &s.name, p->lexer.e));
    }
    if (p->token.kind != XL__TOK_BREAK && p->token.kind != XL__TOK_END)
        TRY(fail_expected(p, "an operator or the end of the statement is "
                             "expected"));
    TRY(xl__tree_assign(p->tree, &s, p->lexer.e));
fail:
    return status;
}

static xl_status parse_statements(struct parser *p)
{
    xl_status status;
    TRY(next_token(p));
    while (p->token.kind != XL__TOK_END) {
        if (p->token.kind == XL__TOK_BREAK)
            TRY(next_token(p));
        else
            TRY(parse_statement(p));
    }
    if (p->tree->n_statements == 0)
        TRY(xl__tree_error(p->tree, 0, p->lexer.e, XL_BAD_ARGUMENT,
                           "there is nothing to compute; write an expression "
                           "like y = 2 * x"));
fail:
    return status;
}

/* Copy the text, up to the length that is allowed. */
static xl_status copy_text(const char *text, size_t len, struct xl__tree *t,
                           struct xl__error *e)
{
    size_t kept = len < XL_EXPR_MAX_TEXT ? len : XL_EXPR_MAX_TEXT;
    t->text = malloc(kept + 1);
    if (t->text == NULL)
        return xl__error_set(e, XL_NO_MEMORY,
                             "out of memory for a text of %zu bytes",
                             len);
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
    struct parser p = {.tree = out, .lexer = {.tree = out, .e = e}};
    *out = (struct xl__tree){0};
    TRY(copy_text(text, len, out, e));
    TRY(parse_statements(&p));
    return XL_OK;
fail:
    xl__tree_clear(out);
    return status;
}
