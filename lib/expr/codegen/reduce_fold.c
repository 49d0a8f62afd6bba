/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a turn's end: what each state takes in, and the folds. */
#include <stdio.h>

#include "expr/codegen/reduce_turn.h"

bool xl__reduce_wants_place(const struct xl__reducing *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s && r->state[i].acc->wants_place)
            return true;
    return false;
}

static void put_index(struct xl__reducing *r, const struct xl__turn *t)
{
    if (!xl__turn_is_alone(t))
        xl__str_printf(r->m.out, "[%s]", xl__turn_index(t));
}

static void put_place(struct xl__reducing *r, const struct xl__turn *t)
{
    const char *type = xl__emit_type(XL__V_I32, r->m.vw);
    xl__emit_indent(&r->m);
    if (xl__turn_is_alone(t))
        xl__str_printf(r->m.out, "const %s ", type);
    xl__str_add(r->m.out, "k");
    put_index(r, t);
    xl__str_printf(r->m.out, " = (%s)((int)(%s))", type, t->number);
    if (!t->is_across)
        xl__str_printf(r->m.out, " + XL_IOTA_%u", r->m.vw);
    xl__str_add(r->m.out, ";\n");
}

/* What is folded: b5[u] = v3. */
void xl__reduce_put(struct xl__reducing *r, const struct xl__turn *t)
{
    for (unsigned i = 0; i < r->n_states; i++) {
        const struct xl__state *a = &r->state[i];
        if (a->sweep != t->sweep)
            continue;
        xl__emit_indent(&r->m);
        if (xl__turn_is_alone(t))
            xl__str_printf(r->m.out, "const %s ",
                           xl__emit_type(a->acc->type, r->m.vw));
        xl__str_printf(r->m.out, "b%u", a->node);
        put_index(r, t);
        xl__str_add(r->m.out, " = ");
        xl__emit_ref_as(&r->m, a->arg, r->m.vw, a->acc->type);
        if (a->acc->is_squared) {
            xl__str_add(r->m.out, " * ");
            xl__emit_ref_as(&r->m, a->arg, r->m.vw, a->acc->type);
        }
        xl__str_add(r->m.out, ";\n");
    }
    if (xl__reduce_wants_place(r, t->sweep))
        put_place(r, t);
}

/* Vectors from `first` (text; its array's, `from`) on, at most n. */
struct four {
    const char *first;
    unsigned from, n;
};

static void fold_one(struct xl__reducing *r, const struct xl__turn *t,
                     const struct xl__state *a, const struct four *f)
{
    xl__emit_indent(&r->m);
    if (t->mine)
        xl__str_printf(r->m.out, "if (%s > %s) ", t->mine, f->first);
    xl__str_printf(r->m.out, "xl_%s_fold_%u(&%c%u%s, ", a->acc->name,
                   r->m.vw, t->into, a->node, t->which ? t->which : "");
    if (xl__turn_is_alone(t))
        xl__str_printf(r->m.out, "&b%u, %s", a->node,
                       a->acc->wants_place ? "&k" : "0");
    else if (a->acc->wants_place)
        xl__str_printf(r->m.out, "b%u + %u, k + %u", a->node, f->from,
                       f->from);
    else
        xl__str_printf(r->m.out, "b%u + %u, 0", a->node, f->from);
    if (t->mine)
        xl__str_printf(r->m.out, ", min(%s - %s, %uu));\n", t->mine, f->first,
                       f->n);
    else
        xl__str_printf(r->m.out, ", %u);\n", f->n);
}

static void fold_four(struct xl__reducing *r, const struct xl__turn *t,
                      const struct four *f)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == t->sweep)
            fold_one(r, t, &r->state[i], f);
}

void xl__reduce_fold(struct xl__reducing *r, const struct xl__turn *t)
{
    char first[16];
    if (t->block) {
        fold_four(r, t, &(struct four){"g", 0, t->block});
        return;
    }
    for (unsigned k = 0; k < t->n; k += XL__FOLDED) {
        snprintf(first, sizeof first, "%u", k);
        const unsigned left = t->n - k;
        fold_four(r, t,
                  &(struct four){first, k,
                                 left < XL__FOLDED ? left : XL__FOLDED});
    }
}
