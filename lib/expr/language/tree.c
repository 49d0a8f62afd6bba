/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree: memory, limits, and error messages with a location. Text
 * (parser.c) and calls (builder.c) build the tree by the same functions, so
 * the limits and the messages are the same. */
#include "expr/language/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/language/functions.h"

enum {
    SHOWN = 70, /* columns of a source line in a message */
    QUOTED = 40 /* characters of a name in a message */
};

void xl__tree_clear(struct xl__tree *t)
{
    free(t->node);
    free(t->arg);
    free(t->name);
    free(t->statement);
    free(t->text);
    *t = (struct xl__tree){0};
}

/* -- errors ----------------------------------------------------------- */

/* The line of the text that contains byte `location`: its first byte, its
 * length and its number from 1. */
static size_t find_line(const char *text, size_t location, size_t *len,
                        unsigned *number)
{
    size_t first = 0;
    *number = 1;
    for (size_t i = 0; i < location; i++) {
        if (text[i] != '\n')
            continue;
        first = i + 1;
        ++*number;
    }
    *len = strcspn(text + first, "\n");
    return first;
}

/* Append the line, or what is near column `at`, and a caret below it. */
static void print_line(const char *line, size_t len, size_t at,
                       struct xl__str *out)
{
    size_t first = len > SHOWN && at > SHOWN / 2 ? at - SHOWN / 2 : 0;
    size_t last = xl__min_size(len, first + SHOWN);
    xl__str_printf(out, "\n  %s", first > 0 ? "..." : "");
    for (size_t i = first; i < last; i++) {
        char c = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
        xl__str_add_n(out, &c, 1);
    }
    xl__str_printf(out, "%s\n%*s^", last < len ? "..." : "",
                   (int)(at - first + (first > 0 ? 5 : 2)), "");
}

xl_status xl__tree_error(const struct xl__tree *t, unsigned location,
                         struct xl__error *e, xl_status status,
                         const char *fmt, ...)
{
    struct xl__str message = {0}, excerpt = {0};
    if (t->text != NULL) {
        size_t len, at = xl__min_size(location, strlen(t->text));
        unsigned number;
        size_t first = find_line(t->text, at, &len, &number);
        xl__str_printf(&message, "%u:%zu: ", number, at - first + 1);
        print_line(t->text + first, len, at - first, &excerpt);
    }
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&message, fmt, args);
    va_end(args);
    xl__str_add(&message, xl__str_text(&excerpt));
    xl__error_set(e, status, "%s", xl__str_text(&message));
    xl__str_clear(&message);
    xl__str_clear(&excerpt);
    return status;
}

static xl_status fail_memory(struct xl__error *e)
{
    return xl__error_set(e, XL_NO_MEMORY, "out of memory for an expression");
}

/* -- nodes, names, statements ----------------------------------------- */

xl_status xl__tree_add(struct xl__tree *t, const struct xl__tree_node *node,
                       unsigned *out, struct xl__error *e)
{
    if (t->n_nodes >= XL_EXPR_MAX_NODES)
        return xl__tree_error(t, node->location, e, XL_BAD_ARGUMENT,
                              "more than %d operations, names and numbers; "
                              "split the expression",
                              XL_EXPR_MAX_NODES);
    if (!xl__grow(&t->node, &t->cap_nodes, t->n_nodes + (size_t)1,
                  sizeof *t->node))
        return fail_memory(e);
    *out = t->n_nodes;
    t->node[t->n_nodes++] = *node;
    return XL_OK;
}

xl_status xl__tree_add_view(struct xl__tree *t, struct xl__tree_node *view,
                            unsigned of, unsigned *out, struct xl__error *e)
{
    if (!xl__grow(&t->arg, &t->cap_args, t->n_args + (size_t)1,
                  sizeof *t->arg))
        return fail_memory(e);
    view->n_args = 1;
    view->first_arg = t->n_args;
    t->arg[t->n_args++] = of;
    return xl__tree_add(t, view, out, e);
}

bool xl__is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool xl__is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!xl__is_letter(name[i]) &&
            (i == 0 || name[i] < '0' || name[i] > '9'))
            return false;
    return len > 0;
}

static xl_status check_name(const struct xl__tree *t, const char *name,
                            size_t len, unsigned location, struct xl__error *e)
{
    if (!xl__is_name(name, len))
        return xl__tree_error(t, location, e, XL_BAD_ARGUMENT,
                              "a name is a letter or _, then letters, digits "
                              "and _");
    if (len > XL_EXPR_MAX_NAME)
        return xl__tree_error(t, location, e, XL_BAD_ARGUMENT,
                              "a name of %zu letters; at most %d are allowed",
                              len, XL_EXPR_MAX_NAME);
    if (xl__is_reserved(name, len))
        return xl__tree_error(t, location, e, XL_BAD_ARGUMENT,
                              "'%.*s' is reserved by the language; choose "
                              "another name",
                              (int)len, name);
    return XL_OK;
}

xl_status xl__tree_name(struct xl__tree *t, const char *name, size_t len,
                        unsigned location, unsigned *out, struct xl__error *e)
{
    xl_status status = XL_OK;
    TRY(check_name(t, name, len, location, e));
    for (unsigned i = 0; i < t->n_names; i++) {
        if (strlen(t->name[i]) == len && memcmp(t->name[i], name, len) == 0) {
            *out = i;
            return XL_OK;
        }
    }
    if (t->n_names >= XL_EXPR_MAX_BINDINGS)
        return xl__tree_error(t, location, e, XL_BAD_ARGUMENT,
                              "'%.*s' is name %u; at most %d are allowed",
                              (int)len, name, t->n_names + 1,
                              XL_EXPR_MAX_BINDINGS);
    if (!xl__grow(&t->name, &t->cap_names, t->n_names + (size_t)1,
                  sizeof *t->name))
        return fail_memory(e);
    memset(t->name[t->n_names], 0, sizeof *t->name);
    memcpy(t->name[t->n_names], name, len);
    *out = t->n_names++;
fail:
    return status;
}

xl_status xl__tree_assign(struct xl__tree *t, const struct xl__statement *s,
                          struct xl__error *e)
{
    /* Calls can assign again and again without a new node. */
    if (t->n_statements >= XL_EXPR_MAX_NODES)
        return xl__tree_error(t, s->location, e, XL_BAD_ARGUMENT,
                              "more than %d assignments", XL_EXPR_MAX_NODES);
    if (!xl__grow(&t->statement, &t->cap_statements,
                  t->n_statements + (size_t)1, sizeof *t->statement))
        return fail_memory(e);
    t->statement[t->n_statements++] = *s;
    return XL_OK;
}

/* -- calls ------------------------------------------------------------ */

static xl_status fail_unknown_function(const struct xl__tree *t,
                                       const struct xl__tree_call *c,
                                       struct xl__error *e)
{
    const char *instead = xl__function_instead(c->name, c->len);
    const char *nearest = xl__nearest_function(c->name, c->len);
    int len = (int)xl__min_size(c->len, QUOTED);
    return xl__tree_error(t, c->location, e, XL_BAD_ARGUMENT,
                          instead   ? "no function '%.*s'; write %s"
                          : nearest ? "no function '%.*s'; did you mean '%s'?"
                                    : "no function '%.*s'",
                          len, c->name, instead ? instead : nearest);
}

/* "1 argument", "1 or 2 arguments" */
static void print_counts(const struct xl__function *f, struct xl__str *out)
{
    unsigned counts[XL__TREE_ARGS], n = 0;
    for (unsigned i = 1; i <= XL__TREE_ARGS; i++) {
        const struct xl__function *of =
            xl__function_find(f->name, strlen(f->name), i);
        if (of->n_args == i)
            counts[n++] = i;
    }
    for (unsigned i = 0; i < n; i++)
        xl__str_printf(out, "%s%u", i > 0 ? " or " : "", counts[i]);
    xl__str_add(out, n == 1 && counts[0] == 1 ? " argument" : " arguments");
}

static xl_status fail_argument_count(const struct xl__tree *t,
                                     const struct xl__tree_call *c,
                                     const struct xl__function *f,
                                     struct xl__error *e)
{
    struct xl__str counts = {0};
    print_counts(f, &counts);
    xl_status status = xl__tree_error(
        t, c->location, e, XL_BAD_ARGUMENT, "%s takes %s and was given %u%s",
        f->name, xl__str_text(&counts), c->n_args,
        xl__function_has_axes(f) ? "; axes are given as axis=0 or axis=(0, 1)"
                                 : "");
    xl__str_clear(&counts);
    return status;
}

xl_status xl__tree_call(struct xl__tree *t, const struct xl__tree_call *c,
                        unsigned *out, struct xl__error *e)
{
    const struct xl__function *f =
        xl__function_find(c->name, c->len, c->n_args);
    if (f == NULL)
        return fail_unknown_function(t, c, e);
    if (f->n_args != c->n_args)
        return fail_argument_count(t, c, f, e);
    if (c->has_axes && !xl__function_has_axes(f))
        return xl__tree_error(t, c->location, e, XL_BAD_ARGUMENT,
                              "%s of %u argument%s works by element and takes "
                              "no axis",
                              f->name, f->n_args, f->n_args == 1 ? "" : "s");
    if (!xl__grow(&t->arg, &t->cap_args, t->n_args + (size_t)c->n_args,
                  sizeof *t->arg))
        return fail_memory(e);
    struct xl__tree_node node = {.kind = XL__T_CALL,
                                 .op = f->op,
                                 .row = f->row,
                                 .dtype = c->dtype,
                                 .n_args = c->n_args,
                                 .first_arg = t->n_args,
                                 .location = c->location,
                                 .has_axes = c->has_axes,
                                 .n_axes = c->n_axes};
    memcpy(node.axes, c->axes, sizeof node.axes);
    xl_status status = xl__tree_add(t, &node, out, e);
    if (status != XL_OK)
        return status;
    for (unsigned i = 0; i < c->n_args; i++)
        t->arg[t->n_args++] = c->arg[i];
    return XL_OK;
}
