/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions without text: the public xl_term_... calls build the same tree
 * as the parser. The first error is kept; later calls do nothing, and the
 * compiler returns it, so that callers check once. */
#include "expr/language/builder.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/language/functions.h"

struct xl_terms {
    struct xl__tree tree;
    struct xl__error error; /* of the first call that failed */
};

xl_status xl_terms_create(xl_terms **out)
{
    if (out == NULL)
        return XL_BAD_ARGUMENT;
    *out = calloc(1, sizeof **out);
    return *out != NULL ? XL_OK : XL_NO_MEMORY;
}

void xl_terms_destroy(xl_terms *t)
{
    if (t == NULL)
        return;
    xl__tree_clear(&t->tree);
    xl__error_clear(&t->error);
    free(t);
}

const struct xl__tree *xl__terms_tree(const xl_terms *t, struct xl__error *e)
{
    if (t == NULL) {
        xl__error_set(e, XL_BAD_ARGUMENT, "the terms are NULL");
        return NULL;
    }
    if (t->error.status != XL_OK) {
        xl__error_set(e, t->error.status, "%s",
                      xl__str_text(&t->error.detail));
        return NULL;
    }
    if (t->tree.n_statements == 0) {
        xl__error_set(e, XL_BAD_ARGUMENT,
                      "there is nothing to compute; xl_term_assign() names a "
                      "result");
        return NULL;
    }
    return &t->tree;
}

/* -- errors ----------------------------------------------------------- */

static bool has_failed(const xl_terms *t)
{
    return t == NULL || t->error.status != XL_OK;
}

static void record_error(xl_terms *t, const char *function, const char *what)
{
    xl__error_set(&t->error, XL_BAD_ARGUMENT, "%s: %s", function, what);
}

/* Do the terms belong to t? 0, the result of a failed call, does not. */
static bool check_terms(xl_terms *t, const char *function, const xl_term *term,
                        unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (term != NULL && term[i] > 0 && term[i] <= t->tree.n_nodes)
            continue;
        record_error(t, function, "an argument is not a term of these terms");
        return false;
    }
    return true;
}

static xl_term add_leaf(xl_terms *t, enum xl__tree_kind kind, double value)
{
    struct xl__tree_node node = {.kind = kind, .value = value};
    unsigned out;
    if (xl__tree_add(&t->tree, &node, &out, &t->error) != XL_OK)
        return 0;
    return out + 1;
}

/* Append a call; c->arg are terms, which are nodes + 1. */
static xl_term add_call(xl_terms *t, struct xl__tree_call *c)
{
    unsigned arg[XL__TREE_ARGS], out;
    for (unsigned i = 0; i < c->n_args && i < XL__TREE_ARGS; i++)
        arg[i] = c->arg[i] - 1;
    c->arg = arg;
    if (xl__tree_call(&t->tree, c, &out, &t->error) != XL_OK)
        return 0;
    return out + 1;
}

/* -- the public calls ------------------------------------------------- */

xl_term xl_term_name(xl_terms *t, const char *name)
{
    struct xl__tree_node node = {.kind = XL__T_NAME};
    unsigned out;
    if (has_failed(t))
        return 0;
    if (name == NULL)
        name = "";
    if (xl__tree_name(&t->tree, name, strlen(name), 0, &node.name,
                      &t->error) != XL_OK ||
        xl__tree_add(&t->tree, &node, &out, &t->error) != XL_OK)
        return 0;
    return out + 1;
}

xl_term xl_term_number(xl_terms *t, double value)
{
    if (has_failed(t))
        return 0;
    if (isfinite(value) && fabs(value) > (double)FLT_MAX) {
        record_error(t, "xl_term_number",
                     "too large for f32, which ends at "
                     "3.4028235e38; infinity is INFINITY");
        return 0;
    }
    return add_leaf(t, XL__T_NUMBER, value);
}

xl_term xl_term_integer(xl_terms *t, int value)
{
    return has_failed(t) ? 0 : add_leaf(t, XL__T_INTEGER, value);
}

xl_term xl_term_call(xl_terms *t, const char *function, const xl_term *args,
                     unsigned n_args)
{
    if (has_failed(t) || !check_terms(t, "xl_term_call", args, n_args))
        return 0;
    struct xl__tree_call c = {.name = function != NULL ? function : "",
                              .arg = args,
                              .n_args = n_args};
    c.len = strlen(c.name);
    const struct xl__function *f = xl__function_find(c.name, c.len, n_args);
    const char *wrong = f == NULL             ? NULL
                        : f->op == XL__E_CAST ? "xl_term_cast() makes casts"
                        : f->cls == XL__C_REDUCE && f->n_args == n_args
                            ? "xl_term_reduce() makes reductions"
                            : NULL;
    if (wrong != NULL) {
        record_error(t, "xl_term_call", wrong);
        return 0;
    }
    return add_call(t, &c);
}

xl_term xl_term_reduce(xl_terms *t, const char *function, xl_term x,
                       const int *axes, unsigned n_axes)
{
    if (has_failed(t) || !check_terms(t, "xl_term_reduce", &x, 1))
        return 0;
    struct xl__tree_call c = {.name = function != NULL ? function : "",
                              .arg = &x,
                              .n_args = 1,
                              .has_axes = n_axes > 0,
                              .n_axes = n_axes};
    if (n_axes > XL_MAX_DIMS || (n_axes > 0 && axes == NULL)) {
        record_error(t, "xl_term_reduce",
                     "the number of axes is 0 to 6, and axes is not NULL");
        return 0;
    }
    for (unsigned i = 0; i < n_axes; i++)
        c.axes[i] = axes[i];
    c.len = strlen(c.name);
    const struct xl__function *f = xl__function_find(c.name, c.len, 1);
    if (f != NULL && f->cls != XL__C_REDUCE &&
        (n_axes == 0 || !xl__function_has_axes(f))) {
        record_error(t, "xl_term_reduce",
                     "the function does not take axes; "
                     "xl_term_call() makes it");
        return 0;
    }
    return add_call(t, &c);
}

xl_term xl_term_cast(xl_terms *t, xl_term x, xl_dtype dtype)
{
    if (has_failed(t) || !check_terms(t, "xl_term_cast", &x, 1))
        return 0;
    if (!xl__is_expr_type(dtype)) {
        record_error(t, "xl_term_cast",
                     "types are " XL__EXPR_TYPES " and bool");
        return 0;
    }
    struct xl__tree_call c = {.name = "cast",
                              .len = strlen("cast"),
                              .arg = &x,
                              .n_args = 1,
                              .dtype = dtype};
    return add_call(t, &c);
}

void xl_term_assign(xl_terms *t, const char *name, xl_term x)
{
    struct xl__statement s = {.view = UINT_MAX};
    if (has_failed(t) || !check_terms(t, "xl_term_assign", &x, 1))
        return;
    s.value = x - 1;
    if (name == NULL)
        name = "";
    if (xl__tree_name(&t->tree, name, strlen(name), 0, &s.name, &t->error) ==
        XL_OK)
        xl__tree_assign(&t->tree, &s, &t->error);
}
