/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for, and what is said when one stands for nothing. */
#include <string.h>

#include "expr/graph/infer.h"
#include "expr/language/functions.h"

/* The bound name, or with `assigned` the temporary too, that is nearest and
 * another one. */
static const char *nearest_name(const struct xl__infer *in, const char *name,
                                bool assigned)
{
    const size_t len = strlen(name);
    size_t best = len / 2 < 2 ? len / 2 + 1 : 3;
    const char *out = NULL;
    const unsigned n = in->s->n + (assigned ? in->t->n_names : 0);
    for (unsigned i = 0; i < n; i++) {
        const unsigned of_tree = i - in->s->n; /* when i is that large */
        const bool is_bound = i < in->s->n;
        if (!is_bound && in->symbol[of_tree].value == XL__NO_NODE)
            continue;
        const char *other = is_bound ? in->s->b[i].name : in->t->name[of_tree];
        const size_t at = xl__edit_distance(other, name, len);
        if (at >= best || at == 0)
            continue;
        best = at;
        out = other;
    }
    return out;
}

static bool is_assigned(const struct xl__tree *t, unsigned name)
{
    for (unsigned i = 0; i < t->n_statements; i++)
        if (t->statement[i].name == name)
            return true;
    return false;
}

static unsigned unknown(struct xl__infer *in, unsigned name)
{
    const char *text = in->t->name[name];
    const char *near = nearest_name(in, text, true);
    if (is_assigned(in->t, name))
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "'%s' is not bound, and is read here before it is "
                         "assigned",
                         text);
    return XL__WRONG(in, XL_BAD_ARGUMENT,
                     near != NULL ? "'%s' is neither bound nor assigned; did "
                                    "you mean '%s'?"
                                  : "'%s' is neither bound nor assigned",
                     text, near);
}

unsigned xl__infer_name(struct xl__infer *in, unsigned name)
{
    struct xl__symbol *symbol = &in->symbol[name];
    if (symbol->is_sliced)
        return XL__WRONG(in, XL_BAD_ARGUMENT,
                         "'%s' is read after parts of it were assigned: read "
                         "it before, or assign to a temporary and read that",
                         in->t->name[name]);
    if (symbol->value == XL__NO_NODE && symbol->binding == UINT_MAX)
        return unknown(in, name);
    symbol->is_used = true;
    if (symbol->value == XL__NO_NODE)
        symbol->value = xl__infer_bound(in, symbol->binding);
    return symbol->value;
}

void xl__infer_bind(struct xl__infer *in)
{
    for (unsigned i = 0; i < in->t->n_names; i++) {
        struct xl__symbol *symbol = &in->symbol[i];
        *symbol = (struct xl__symbol){UINT_MAX, XL__NO_NODE, UINT_MAX, false,
                                      false};
        for (unsigned b = 0; b < in->s->n; b++)
            if (strcmp(in->s->b[b].name, in->t->name[i]) == 0)
                symbol->binding = b;
    }
}

/* -- after the last statement ---------------------------------------------- */

/* Most often a misspelt name: the other half of that mistake is told first. */
void xl__infer_check_unused(struct xl__infer *in)
{
    for (unsigned b = 0; b < in->s->n && in->status == XL_OK; b++) {
        bool is_used = false;
        for (unsigned i = 0; i < in->t->n_names; i++)
            is_used = is_used || (in->symbol[i].binding == b &&
                                  in->symbol[i].is_used);
        in->location = 0;
        if (!is_used)
            XL__WRONG(in, XL_BAD_ARGUMENT,
                      "'%s' is bound, and the expression does not use it",
                      in->s->b[b].name);
    }
}

void xl__infer_check_outputs(struct xl__infer *in)
{
    const struct xl__tree *t = in->t;
    if (in->g->n_outputs > 0 || t->n_statements == 0)
        return;
    const struct xl__statement *last = &t->statement[t->n_statements - 1];
    const char *near = nearest_name(in, t->name[last->name], false);
    in->location = last->location;
    XL__WRONG(in, XL_BAD_ARGUMENT,
              near ? "nothing leaves the expression: '%s' is not bound; "
                     "did you mean '%s'?"
                   : "nothing leaves the expression: '%s' is not bound",
              t->name[last->name], near);
}

void xl__infer_assigned(struct xl__infer *in, const char *name,
                        struct xl__node *out)
{
    for (unsigned i = 0; i < in->t->n_names; i++) {
        const struct xl__symbol *symbol = &in->symbol[i];
        if (strcmp(in->t->name[i], name) != 0 || !is_assigned(in->t, i) ||
            symbol->value == XL__NO_NODE || symbol->is_sliced)
            continue;
        *out = in->g->node[symbol->value];
        return;
    }
    in->location = 0;
    XL__WRONG(in, XL_BAD_ARGUMENT, "'%s' is not assigned as a whole", name);
}
