/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a turn: first all loads of its vectors, so that they are under
 * way together, then arithmetic and stores, then one fold of all of them into
 * each state. */
/* The text of a turn's end: what each state takes in, and the folds. */
#include "expr/codegen/sweep_step.h"

#include <stdio.h>

#include "expr/codegen/geometry.h"

/* A single vector, which needs no arrays. */
static bool is_alone(const struct xl__turn *t)
{
    return t->n == 1 && !t->mine;
}

/* The index of arrays that last for the turn, or for a block of it. */
static const char *index_of(const struct xl__turn *t)
{
    return t->block ? "w" : "u";
}

/* -- values ---------------------------------------------------------------- */

static bool is_load(const struct xl__reducing *r, unsigned i)
{
    return xl__emit_source(r->group, r->group->value[i].node) !=
           XL__EXPR_OPERANDS;
}

static const char *type_of(const struct xl__reducing *r, unsigned node)
{
    return xl__emit_type(r->m.g->node[node].type, r->m.vw);
}

static bool is_held(const struct xl__reducing *r, unsigned i)
{
    return xl__held_from(r, i) != XL__NOT_HELD;
}

static unsigned room_of(const struct xl__turn *t)
{
    return t->block ? t->block : t->n;
}

/* "h3[u]" or "x3[w]": where a value of the turn's vectors is kept. */
static void put_array(struct xl__reducing *r, const struct xl__turn *t,
                      unsigned i)
{
    const unsigned node = r->group->value[i].node;
    if (is_held(r, i))
        xl__str_printf(r->m.out, "h%u[u]", node);
    else
        xl__str_printf(r->m.out, "x%u[%s]", node, index_of(t));
}

/* Into it, and out of it. */
static void keep_value(struct xl__reducing *r, const struct xl__turn *t,
                       unsigned i)
{
    xl__emit_indent(&r->m);
    put_array(r, t, i);
    xl__str_printf(r->m.out, " = v%u;\n", r->group->value[i].node);
}

static void take_value(struct xl__reducing *r, const struct xl__turn *t,
                       unsigned i)
{
    const unsigned node = r->group->value[i].node;
    xl__emit_indent(&r->m);
    xl__str_printf(r->m.out, "const %s v%u = ", type_of(r, node), node);
    put_array(r, t, i);
    xl__str_add(r->m.out, ";\n");
}

void xl__reduce_declare_held(struct xl__reducing *r, unsigned n)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (is_held(r, i))
            xl__emit_line(&r->m, "%s h%u[%u];", type_of(r, node), node,
                          (n + XL__FOLDED - 1) / XL__FOLDED * XL__FOLDED);
    }
}

/* The values of one vector: loads alone, or all but those that are there. */
static void load(struct xl__reducing *r, const struct xl__turn *t, bool keep)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (!r->is_needed[i] || !is_load(r, i) ||
            xl__held_from(r, i) < t->sweep)
            continue;
        xl__emit_load(&r->m, xl__emit_source(r->group, node), "at", t->count);
        if (keep)
            keep_value(r, t, i);
    }
}

static void compute(struct xl__reducing *r, const struct xl__turn *t,
                    bool is_loaded)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        const bool is_there = xl__held_from(r, i) < t->sweep;
        if (!r->is_needed[i] || (is_load(r, i) && is_loaded && !is_there))
            continue;
        if (is_there || is_load(r, i)) {
            take_value(r, t, i);
            continue;
        }
        xl__emit_node(&r->m, node, r->m.vw);
        if (xl__held_from(r, i) == t->sweep)
            keep_value(r, t, i);
    }
}

static void store(struct xl__reducing *r, const struct xl__turn *t)
{
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == t->sweep &&
            !xl__operand_is_of_rows(r->group, o))
            xl__emit_store(&r->m, k, "at", t->count);
    }
}

/* -- folds ----------------------------------------------------------------- */

static bool wants_place(const struct xl__reducing *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s && r->state[i].acc->wants_place)
            return true;
    return false;
}

static void put_index(struct xl__reducing *r, const struct xl__turn *t)
{
    if (!is_alone(t))
        xl__str_printf(r->m.out, "[%s]", index_of(t));
}

static void put_place(struct xl__reducing *r, const struct xl__turn *t)
{
    const char *type = xl__emit_type(XL__V_I32, r->m.vw);
    xl__emit_indent(&r->m);
    if (is_alone(t))
        xl__str_printf(r->m.out, "const %s ", type);
    xl__str_add(r->m.out, "k");
    put_index(r, t);
    xl__str_printf(r->m.out, " = (%s)((int)(%s))", type, t->number);
    if (!t->is_across)
        xl__str_printf(r->m.out, " + XL_IOTA_%u", r->m.vw);
    xl__str_add(r->m.out, ";\n");
}

/* What is folded: b5[u] = v3. */
static void put_values(struct xl__reducing *r, const struct xl__turn *t)
{
    for (unsigned i = 0; i < r->n_states; i++) {
        const struct xl__state *a = &r->state[i];
        if (a->sweep != t->sweep)
            continue;
        xl__emit_indent(&r->m);
        if (is_alone(t))
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
    if (wants_place(r, t->sweep))
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
    if (is_alone(t))
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

static void fold(struct xl__reducing *r, const struct xl__turn *t)
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

/* -- turns ----------------------------------------------------------------- */

static void declare(struct xl__reducing *r, const struct xl__turn *t)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (r->is_needed[i] && is_load(r, i) &&
            !is_held(r, i))
            xl__emit_line(&r->m, "%s x%u[%u];", type_of(r, node), node,
                          room_of(t));
    }
    for (unsigned i = 0; i < r->n_states; i++) {
        const struct xl__state *a = &r->state[i];
        if (a->sweep == t->sweep)
            xl__emit_line(&r->m, "%s b%u[%u];",
                          xl__emit_type(a->acc->type, r->m.vw), a->node,
                          room_of(t));
    }
    if (wants_place(r, t->sweep))
        xl__emit_line(&r->m, "%s k[%u];", xl__emit_type(XL__V_I32, r->m.vw),
                      room_of(t));
}

/* for (u ...) { place, and then what: of the turn's vectors that are there. */
static void open_loop(struct xl__reducing *r, const struct xl__turn *t)
{
    const char *i = index_of(t);
    xl__emit_line(&r->m, "#pragma unroll");
    xl__emit_line(&r->m, "for (uint %s = 0; %s < %u; %s++) {", i, i,
                  room_of(t), i);
    r->m.indent++;
    if (t->block)
        xl__emit_line(&r->m, "const uint u = g + w;");
    if (t->mine) {
        xl__emit_line(&r->m, "if (u < %s) {", t->mine);
        r->m.indent++;
    }
    t->place(r, "u", t->arg);
}

static void close_loop(struct xl__reducing *r, const struct xl__turn *t,
                       unsigned depth)
{
    for (unsigned i = t->mine ? 2 : 1; i > 0; i--) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
    r->m.depth = depth;
}

unsigned xl__reduce_loads(const struct xl__reducing *r, unsigned s)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->group->n_values; i++)
        n += r->is_needed[i] && is_load(r, i) && xl__held_from(r, i) >= s;
    return n;
}

static void open_blocks(struct xl__reducing *r, const struct xl__turn *t)
{
    if (!t->block)
        return;
    xl__emit_line(&r->m, "#pragma unroll");
    xl__emit_line(&r->m, "for (uint g = 0; g < %u; g += %u) {", t->n,
                  t->block);
    r->m.indent++;
}

static void close_blocks(struct xl__reducing *r, const struct xl__turn *t)
{
    if (!t->block)
        return;
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

void xl__reduce_turn(struct xl__reducing *r, const struct xl__turn *t)
{
    const unsigned depth = r->m.depth;
    if (is_alone(t)) {
        t->place(r, "0", t->arg);
        load(r, t, false);
        compute(r, t, true);
        put_values(r, t);
        store(r, t);
        fold(r, t);
        r->m.depth = depth;
        return;
    }
    open_blocks(r, t);
    declare(r, t);
    if (xl__reduce_loads(r, t->sweep)) {
        open_loop(r, t);
        load(r, t, true);
        close_loop(r, t, depth);
    }
    open_loop(r, t);
    compute(r, t, false);
    put_values(r, t);
    store(r, t);
    close_loop(r, t, depth);
    fold(r, t);
    close_blocks(r, t);
}
