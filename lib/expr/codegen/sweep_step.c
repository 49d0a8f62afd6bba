/* SPDX-License-Identifier: Apache-2.0 */
/* The text of one step of a sweep. A step of n vectors is written as
 *
 *   for u in 0 .. n:  load          all loads are in flight together
 *   for u in 0 .. n:  compute, and store what is written
 *   fold the n vectors into each state
 *
 * with the vectors in arrays that the compiler keeps in registers, since the
 * loops are unrolled. If few registers are left, the loads are done in blocks
 * of t->block vectors. A step of one vector needs neither loops nor arrays. */
#include "expr/codegen/sweep_step.h"

#include <stdio.h>

#include "expr/codegen/geometry.h"

/* Is the step one vector, without loops and arrays? */
static bool is_single_vector(const struct xl__sweep_step *t)
{
    return t->n == 1 && !t->limit;
}

/* The index into the arrays of a step, or of a block of it. */
static const char *index_name(const struct xl__sweep_step *t)
{
    return t->block ? "w" : "u";
}

/* -- values ----------------------------------------------------------------
 */

static bool is_load(const struct xl__reduction_writer *r, unsigned i)
{
    return xl__emit_operand_of(r->group, r->group->value[i].node) !=
           XL__EXPR_OPERANDS;
}

static const char *type_of(const struct xl__reduction_writer *r, unsigned node)
{
    return xl__emit_type(r->m.g->node[node].type, r->m.vw);
}

static bool is_held(const struct xl__reduction_writer *r, unsigned i)
{
    return xl__held_from(r, i) != XL__NOT_HELD;
}

static unsigned array_size(const struct xl__sweep_step *t)
{
    return t->block ? t->block : t->n;
}

/* Append the array element that holds a value of vector u: "h3[u]" if it is
 * held for later sweeps, "x3[u]" or "x3[w]" if it is loaded for this step. */
static void write_array_ref(struct xl__reduction_writer *r,
                            const struct xl__sweep_step *t, unsigned i)
{
    const unsigned node = r->group->value[i].node;
    if (is_held(r, i))
        xl__str_printf(r->m.out, "h%u[u]", node);
    else
        xl__str_printf(r->m.out, "x%u[%s]", node, index_name(t));
}

/* Copy the value's variable into that array element, and back. */
static void write_array_store(struct xl__reduction_writer *r,
                              const struct xl__sweep_step *t, unsigned i)
{
    xl__emit_indent(&r->m);
    write_array_ref(r, t, i);
    xl__str_printf(r->m.out, " = v%u;\n", r->group->value[i].node);
}

static void write_array_load(struct xl__reduction_writer *r,
                             const struct xl__sweep_step *t, unsigned i)
{
    const unsigned node = r->group->value[i].node;
    xl__emit_indent(&r->m);
    xl__str_printf(r->m.out, "const %s v%u = ", type_of(r, node), node);
    write_array_ref(r, t, i);
    xl__str_add(r->m.out, ";\n");
}

void xl__sweep_declare_held(struct xl__reduction_writer *r, unsigned n)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (is_held(r, i))
            xl__emit_line(&r->m, "%s h%u[%u];", type_of(r, node), node,
                          (n + XL__FOLDED - 1) / XL__FOLDED * XL__FOLDED);
    }
}

/* Write the loads of one vector that this sweep needs and no earlier one
 * holds. keep: also copy them into their arrays. */
static void write_loads(struct xl__reduction_writer *r,
                        const struct xl__sweep_step *t, bool keep)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (!r->is_needed[i] || !is_load(r, i) ||
            xl__held_from(r, i) < t->sweep)
            continue;
        xl__emit_load(&r->m, xl__emit_operand_of(r->group, node), "at",
                      t->count);
        if (keep)
            write_array_store(r, t, i);
    }
}

/* Write the arithmetic of one vector. Values that are held or loaded into
 * arrays are copied out of them; is_loaded: the loads are in variables
 * already. */
static void write_arithmetic(struct xl__reduction_writer *r,
                             const struct xl__sweep_step *t, bool is_loaded)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        const bool is_there = xl__held_from(r, i) < t->sweep;
        if (!r->is_needed[i] || (is_load(r, i) && is_loaded && !is_there))
            continue;
        if (is_there || is_load(r, i)) {
            write_array_load(r, t, i);
            continue;
        }
        xl__emit_node(&r->m, node, r->m.vw);
        if (xl__held_from(r, i) == t->sweep)
            write_array_store(r, t, i);
    }
}

static void write_stores(struct xl__reduction_writer *r,
                         const struct xl__sweep_step *t)
{
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == t->sweep &&
            !xl__operand_is_of_rows(r->group, o))
            xl__emit_store(&r->m, k, "at", t->count);
    }
}

/* -- folds -----------------------------------------------------------------
 */

static bool needs_index(const struct xl__reduction_writer *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s && r->state[i].acc->needs_index)
            return true;
    return false;
}

static void write_array_index(struct xl__reduction_writer *r,
                              const struct xl__sweep_step *t)
{
    if (!is_single_vector(t))
        xl__str_printf(r->m.out, "[%s]", index_name(t));
}

static void write_element_index(struct xl__reduction_writer *r,
                                const struct xl__sweep_step *t)
{
    const char *type = xl__emit_type(XL__V_I32, r->m.vw);
    xl__emit_indent(&r->m);
    if (is_single_vector(t))
        xl__str_printf(r->m.out, "const %s ", type);
    xl__str_add(r->m.out, "k");
    write_array_index(r, t);
    xl__str_printf(r->m.out, " = (%s)((int)(%s))", type, t->first_index);
    if (!t->is_column)
        xl__str_printf(r->m.out, " + XL_IOTA_%u", r->m.vw);
    xl__str_add(r->m.out, ";\n");
}

/* Write what each state of the sweep folds: b5[u] = v3. */
static void write_folded_values(struct xl__reduction_writer *r,
                                const struct xl__sweep_step *t)
{
    for (unsigned i = 0; i < r->n_states; i++) {
        const struct xl__reduction_state *a = &r->state[i];
        if (a->sweep != t->sweep)
            continue;
        xl__emit_indent(&r->m);
        if (is_single_vector(t))
            xl__str_printf(r->m.out, "const %s ",
                           xl__emit_type(a->acc->type, r->m.vw));
        xl__str_printf(r->m.out, "b%u", a->node);
        write_array_index(r, t);
        xl__str_add(r->m.out, " = ");
        xl__emit_ref_as(&r->m, a->arg, r->m.vw, a->acc->type);
        if (a->acc->is_squared) {
            xl__str_add(r->m.out, " * ");
            xl__emit_ref_as(&r->m, a->arg, r->m.vw, a->acc->type);
        }
        xl__str_add(r->m.out, ";\n");
    }
    if (needs_index(r, t->sweep))
        write_element_index(r, t);
}

/* A range of vectors that one call folds: at most n of them, from number
 * `first` (text) of the step on, at index `from` of the arrays. */
struct fold_range {
    const char *first;
    unsigned from, n;
};

static void write_state_fold(struct xl__reduction_writer *r,
                             const struct xl__sweep_step *t,
                             const struct xl__reduction_state *a,
                             const struct fold_range *f)
{
    xl__emit_indent(&r->m);
    if (t->limit)
        xl__str_printf(r->m.out, "if (%s > %s) ", t->limit, f->first);
    xl__str_printf(r->m.out, "xl_%s_fold_%u(&%c%u%s, ", a->acc->name, r->m.vw,
                   t->state_prefix, a->node, t->subscript ? t->subscript : "");
    if (is_single_vector(t))
        xl__str_printf(r->m.out, "&b%u, %s", a->node,
                       a->acc->needs_index ? "&k" : "0");
    else if (a->acc->needs_index)
        xl__str_printf(r->m.out, "b%u + %u, k + %u", a->node, f->from,
                       f->from);
    else
        xl__str_printf(r->m.out, "b%u + %u, 0", a->node, f->from);
    if (t->limit)
        xl__str_printf(r->m.out, ", min(%s - %s, %uu));\n", t->limit, f->first,
                       f->n);
    else
        xl__str_printf(r->m.out, ", %u);\n", f->n);
}

static void write_range_folds(struct xl__reduction_writer *r,
                              const struct xl__sweep_step *t,
                              const struct fold_range *f)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == t->sweep)
            write_state_fold(r, t, &r->state[i], f);
}

static void write_step_folds(struct xl__reduction_writer *r,
                             const struct xl__sweep_step *t)
{
    char first[16];
    if (t->block) {
        write_range_folds(r, t, &(struct fold_range){"g", 0, t->block});
        return;
    }
    for (unsigned k = 0; k < t->n; k += XL__FOLDED) {
        snprintf(first, sizeof first, "%u", k);
        const unsigned left = t->n - k;
        write_range_folds(
            r, t,
            &(struct fold_range){first, k,
                                 left < XL__FOLDED ? left : XL__FOLDED});
    }
}

/* -- steps -----------------------------------------------------------------
 */

static void declare_arrays(struct xl__reduction_writer *r,
                           const struct xl__sweep_step *t)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (r->is_needed[i] && is_load(r, i) && !is_held(r, i))
            xl__emit_line(&r->m, "%s x%u[%u];", type_of(r, node), node,
                          array_size(t));
    }
    for (unsigned i = 0; i < r->n_states; i++) {
        const struct xl__reduction_state *a = &r->state[i];
        if (a->sweep == t->sweep)
            xl__emit_line(&r->m, "%s b%u[%u];",
                          xl__emit_type(a->acc->type, r->m.vw), a->node,
                          array_size(t));
    }
    if (needs_index(r, t->sweep))
        xl__emit_line(&r->m, "%s k[%u];", xl__emit_type(XL__V_I32, r->m.vw),
                      array_size(t));
}

/* Open the loop over the vectors u of the step that exist, and write the
 * indices of vector u. */
static void open_vector_loop(struct xl__reduction_writer *r,
                             const struct xl__sweep_step *t)
{
    const char *i = index_name(t);
    xl__emit_line(&r->m, "#pragma unroll");
    xl__emit_line(&r->m, "for (uint %s = 0; %s < %u; %s++) {", i, i,
                  array_size(t), i);
    r->m.indent++;
    if (t->block)
        xl__emit_line(&r->m, "const uint u = g + w;");
    if (t->limit) {
        xl__emit_line(&r->m, "if (u < %s) {", t->limit);
        r->m.indent++;
    }
    t->write_position(r, "u", t->arg);
}

static void close_vector_loop(struct xl__reduction_writer *r,
                              const struct xl__sweep_step *t, unsigned depth)
{
    for (unsigned i = t->limit ? 2 : 1; i > 0; i--) {
        r->m.indent--;
        xl__emit_line(&r->m, "}");
    }
    r->m.depth = depth;
}

unsigned xl__sweep_n_loads(const struct xl__reduction_writer *r, unsigned s)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->group->n_values; i++)
        n += r->is_needed[i] && is_load(r, i) && xl__held_from(r, i) >= s;
    return n;
}

static void open_blocks(struct xl__reduction_writer *r,
                        const struct xl__sweep_step *t)
{
    if (!t->block)
        return;
    xl__emit_line(&r->m, "#pragma unroll");
    xl__emit_line(&r->m, "for (uint g = 0; g < %u; g += %u) {", t->n,
                  t->block);
    r->m.indent++;
}

static void close_blocks(struct xl__reduction_writer *r,
                         const struct xl__sweep_step *t)
{
    if (!t->block)
        return;
    r->m.indent--;
    xl__emit_line(&r->m, "}");
}

void xl__sweep_write_step(struct xl__reduction_writer *r,
                          const struct xl__sweep_step *t)
{
    const unsigned depth = r->m.depth;
    if (is_single_vector(t)) {
        t->write_position(r, "0", t->arg);
        write_loads(r, t, false);
        write_arithmetic(r, t, true);
        write_folded_values(r, t);
        write_stores(r, t);
        write_step_folds(r, t);
        r->m.depth = depth;
        return;
    }
    open_blocks(r, t);
    declare_arrays(r, t);
    if (xl__sweep_n_loads(r, t->sweep)) {
        open_vector_loop(r, t);
        write_loads(r, t, true);
        close_vector_loop(r, t, depth);
    }
    open_vector_loop(r, t);
    write_arithmetic(r, t, false);
    write_folded_values(r, t);
    write_stores(r, t);
    close_vector_loop(r, t, depth);
    write_step_folds(r, t);
    close_blocks(r, t);
}
