/* SPDX-License-Identifier: Apache-2.0 */
/* The element part of kernels of reductions. Each function write_... writes
 * the body of one macro of cl/expr/reduction_element.clh.
 *
 * Vectors are in arrays between the loops of a step (cl/expr/sweep_step.clh):
 * xN is loaded for this step, hN held for later sweeps. A value's variable vN
 * is copied into its array after it is loaded or computed, and back where it
 * is used. */
#include "expr/codegen/reduction_element.h"

#include <stdio.h>

#include "expr/codegen/geometry.h"

enum {
    FOLDED = 4,       /* XL_FOLDED of cl/expr/sweep_step.clh: of a step that
                         does not have all of the held vectors */
    FIRST_WORDS = 64, /* words that an item loads before it uses them, in the
                         first sweep */
    LATER_WORDS = 32  /* and in later sweeps */
};

/* The writer of which m is the first member. */
static struct xl__reduction_writer *writer_of(struct xl__emit *m)
{
    return (struct xl__reduction_writer *)m;
}

/* -- rows ----------------------------------------------------------------- */

static void write_row_results(struct xl__reduction_writer *r, unsigned s)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__value *v = &r->group->value[i];
        const struct xl__reduction_state *state;
        const char *result = xl__reduction_result(r, v, &state);
        if (result && v->sweep == s)
            xl__emit_line(&r->m, "const %s v%u = %s(%s, %u);",
                          xl__emit_type(r->m.g, r->m.g->node[v->node].type,
                                        r->row_width),
                          v->node, result, state->acc->name, state->node);
    }
}

static void write_row_values(struct xl__reduction_writer *r, unsigned s)
{
    const struct xl__group *group = r->group;
    for (unsigned i = 0; i < group->n_values; i++) {
        const struct xl__value *v = &group->value[i];
        const unsigned k = xl__emit_operand_of(group, v->node);
        if (!v->is_row || v->sweep != s)
            continue;
        if (k != XL__EXPR_OPERANDS)
            xl__emit_load(&r->m, k, r->row_at, r->count);
        else
            xl__emit_node(&r->m, v->node, r->row_width);
    }
}

static void write_row(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    if (r->sweep > 0)
        write_row_results(r, r->sweep - 1);
    write_row_values(r, r->sweep);
}

static void write_row_end(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    write_row(m);
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && xl__operand_is_of_rows(r->group, o))
            xl__emit_store(m, k, r->row_at, r->count);
    }
}

/* -- vectors -------------------------------------------------------------- */

static bool is_held(const struct xl__reduction_writer *r, unsigned node)
{
    return xl__held_from(r, node) != XL__NOT_HELD;
}

static const char *type_of(const struct xl__reduction_writer *r, unsigned node)
{
    return xl__emit_type(r->m.g, r->m.g->node[node].type, r->m.vw);
}

/* Copy a value's variable into its array, and back. */
static void write_array_element(struct xl__reduction_writer *r, unsigned node,
                                char text[32])
{
    const bool held = is_held(r, node);
    snprintf(text, 32, "%c%u[%su]", held ? 'h' : 'x', node,
             held && r->group->geo.is_kept ? "t + " : "");
}

static void write_array_store(struct xl__reduction_writer *r, unsigned node)
{
    char element[32];
    write_array_element(r, node, element);
    xl__emit_line(&r->m, "%s = v%u;", element, node);
}

static void write_array_load(struct xl__reduction_writer *r, unsigned node)
{
    char element[32];
    write_array_element(r, node, element);
    xl__emit_line(&r->m, "const %s v%u = %s;", type_of(r, node), node,
                  element);
}

static void write_kept(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (is_held(r, node))
            xl__emit_line(m, "%s h%u[%s];", type_of(r, node), node,
                          r->group->geo.is_kept ? "XL_KEPT_ELEMS / XL_VW"
                                                : "XL_AT_ONCE");
    }
}

static void write_arrays(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        const struct xl__node_use *use = &r->use[node];
        if (use->is_needed && use->is_load && !is_held(r, node))
            xl__emit_line(m, "%s x%u[XL_AT_ONCE];", type_of(r, node), node);
    }
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == r->sweep)
            xl__emit_line(m, "%s b%u[XL_AT_ONCE];",
                          xl__emit_type(r->m.g, r->state[i].acc->type, m->vw),
                          r->state[i].node);
}

/* Does the sweep load this value? Not if an earlier one holds it. */
static bool is_loaded(const struct xl__reduction_writer *r, unsigned node)
{
    return r->use[node].is_needed && r->use[node].is_load &&
           xl__held_from(r, node) >= r->sweep;
}

static void write_loads(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (!is_loaded(r, node))
            continue;
        xl__emit_load(m, xl__emit_operand_of(r->group, node), "at", r->count);
        write_array_store(r, node);
    }
}

/* Prefetches of the next row, on CPUs: in each sweep but the first its part of
 * it, so that memory is read while values are computed and stored. */
static void write_ahead(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    const unsigned parts = r->group->n_sweeps - 1;
    if (!r->group->geo.per_wg || r->n_reduced > 1 || r->sweep == 0)
        return;
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__operand_is_of_rows(r->group, o))
            xl__emit_ahead(m, k, r->n_kept, r->sweep - 1, parts);
    }
}

static void write_vector_loads(struct xl__emit *m)
{
    write_ahead(m);
    write_loads(m);
}

/* What a state folds: b5[u] = v3. */
static void write_folded_value(struct xl__emit *m,
                               const struct xl__reduction_state *a)
{
    xl__str_printf(m->out, "b%u[u] = ", a->node);
    xl__emit_ref_as(m, a->arg, m->vw, a->acc->type);
    xl__str_add(m->out, ";\n");
}

static void write_results(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const unsigned node = r->group->value[i].node;
        if (!r->use[node].is_needed)
            continue;
        if (r->use[node].is_load || xl__held_from(r, node) < r->sweep) {
            write_array_load(r, node);
            continue;
        }
        xl__emit_node(m, node, m->vw);
        if (xl__held_from(r, node) == r->sweep)
            write_array_store(r, node);
    }
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == r->sweep)
            write_folded_value(m, &r->state[i]);
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == r->sweep &&
            !xl__operand_is_of_rows(r->group, o))
            xl__emit_store(m, k, "at", r->count);
    }
}

/* -- macros --------------------------------------------------------------- */

/* Write the macro `XL_<before><sweep>`. */
static void write_sweep_macro(struct xl__reduction_writer *r,
                              const char *before,
                              void (*body)(struct xl__emit *m))
{
    char name[48];
    snprintf(name, sizeof name, "XL_%s%u", before, r->sweep);
    xl__emit_macro(&r->m, name, body);
}

/* Vectors of a step of a held sweep: all of them if nothing is loaded, or if
 * the loads of the first sweep are the held values themselves; otherwise few,
 * since they need registers besides the held ones. */
static unsigned choose_block(const struct xl__reduction_writer *r)
{
    const unsigned held = r->group->geo.held;
    unsigned loads = 0;
    for (unsigned i = 0; i < r->group->n_values; i++)
        loads += is_loaded(r, r->group->value[i].node);
    if (loads == 0 || (r->sweep == 0 && loads == 1))
        return held;
    unsigned n =
        (r->sweep == 0 ? FIRST_WORDS : LATER_WORDS) / (loads * r->m.vw);
    n = n > FOLDED ? FOLDED : n > 0 ? n : 1;
    return n < held ? n : held;
}

/* The macros of sweep r->sweep for whole vectors, for the cut ones of columns,
 * and for the single elements of rows. */
static void write_vector_macros(struct xl__reduction_writer *r)
{
    xl__sweep_mark_needed(r, r->sweep);
    write_sweep_macro(r, "VECTOR_ARRAYS_", write_arrays);
    write_sweep_macro(r, "VECTOR_LOADS_", write_vector_loads);
    if (r->is_row_held && r->group->geo.held)
        xl__emit_line(&r->m, "#define XL_BLOCK_%u %u", r->sweep,
                      choose_block(r));
    write_sweep_macro(r, "VECTOR_RESULTS_", write_results);
}

/* Does the sweep store elements, and not only values of rows? */
static bool stores_elements(const struct xl__reduction_writer *r)
{
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == r->sweep &&
            !xl__operand_is_of_rows(r->group, o))
            return true;
    }
    return false;
}

static void write_part_macros(struct xl__reduction_writer *r)
{
    r->count = "count";
    write_sweep_macro(r, "PART_LOADS_", write_loads);
    if (stores_elements(r))
        write_sweep_macro(r, "PART_RESULTS_", write_results);
    r->count = NULL;
}

static void write_single_macros(struct xl__reduction_writer *r)
{
    r->is_single = true;
    r->m.vw = 1;
    xl__sweep_mark_needed(r, r->sweep);
    write_sweep_macro(r, "SINGLE_ARRAYS_", write_arrays);
    write_sweep_macro(r, "SINGLE_LOADS_", write_loads);
    write_sweep_macro(r, "SINGLE_RESULTS_", write_results);
    r->m.vw = r->group->geo.vw;
    r->is_single = false;
}

/* Write `const IDX iD = ...` for the loops [first, last), from `number`, the
 * linear index over them. */
static void write_loop_indices(struct xl__emit *m, unsigned first,
                               unsigned last, const char *number)
{
    if (first == last)
        return;
    xl__emit_line(m, "IDX rest%u = %s;", first, number);
    for (unsigned d = last - 1; d > first; d--) {
        xl__emit_line(m, "const IDX i%u = rest%u %% n%u;", d, first, d);
        xl__emit_line(m, "rest%u /= n%u;", first, d);
    }
    xl__emit_line(m, "const IDX i%u = rest%u;", first, first);
}

static void write_row_places(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    m->depth = 0;
    write_loop_indices(m, 0, r->n_kept, "row");
    xl__emit_indices(m, 0, r->n_kept);
}

static void write_line_places(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    m->depth = 1;
    write_loop_indices(m, r->n_kept, r->group->n_loops - 1, "line");
    xl__emit_indices(m, r->n_kept, r->group->n_loops - 1);
}

static void write_sweeps(struct xl__emit *m)
{
    struct xl__reduction_writer *r = writer_of(m);
    for (unsigned s = 0; s < r->group->n_sweeps; s++) {
        if (xl__sweep_has_states(r, s))
            xl__emit_line(m, "XL_REDUCE(%u)", s);
        else
            xl__emit_line(
                m, xl__sweep_is_idle(r, s) ? "XL_ROW_%u" : "XL_WRITE(%u)", s);
    }
}

/* `#define NAME(F) F(sumf, 3) ...`: the states of a sweep, or of all. */
static void write_state_list(struct xl__reduction_writer *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s || s == XL__ALL_SWEEPS)
            xl__str_printf(r->m.out, " F(%s, %u)", r->state[i].acc->name,
                           r->state[i].node);
    xl__str_add(r->m.out, "\n");
}

static void write_kind_list(struct xl__reduction_writer *r)
{
    xl__str_add(r->m.out, "#define XL_KINDS(F)");
    for (unsigned i = 0; i < r->n_states; i++) {
        unsigned j = 0;
        while (!xl__streq(r->state[j].acc->name, r->state[i].acc->name))
            j++;
        if (j == i)
            xl__str_printf(r->m.out, " F(%s)", r->state[i].acc->name);
    }
    xl__str_add(r->m.out, "\n");
}

/* `#define NAME n2 * n3`: the product of the sizes of loops. */
static void write_size(struct xl__reduction_writer *r, const char *name,
                       unsigned first, unsigned last)
{
    xl__str_printf(r->m.out, "#define %s (", name);
    xl__str_add(r->m.out, first < last ? "" : "1");
    for (unsigned d = first; d < last; d++)
        xl__str_printf(r->m.out, "%sn%u", d > first ? " * " : "", d);
    xl__str_add(r->m.out, ")\n");
}

static void write_settings(struct xl__reduction_writer *r, bool is_join)
{
    const struct xl__geometry *geo = &r->group->geo;
    const unsigned last = r->group->n_loops - 1;
    const bool is_column = r->group->form == XL__FORM_COLUMNS;
    xl__str_printf(
        r->m.out,
        "#define XL_REDUCTION_ELEMENT_CLH\n#define XL_WG %u\n"
        "#define XL_LANES %u\n#define XL_HELD %u\n#define XL_UNROLL %u\n"
        "#define XL_RUNS %d\n#define XL_JOINS %d\n#define XL_CHUNKED %d\n",
        geo->wg, is_column && is_join ? geo->joiners : geo->lanes,
        is_column && is_join ? 1 : geo->held, geo->unroll, geo->per_wg > 0,
        is_join, geo->chunks > 1);
    xl__str_printf(r->m.out, "#define XL_HAS_LINES %d\n", r->n_reduced > 1);
    if (geo->is_kept)
        xl__str_printf(r->m.out, "#define XL_KEPT_ELEMS %d\n", XL__KEPT_ELEMS);
    write_size(r, "XL_ROWS", 0, r->n_kept);
    write_size(r, "XL_LINES", r->n_kept, last);
    xl__str_printf(r->m.out, "#define XL_INNER n%u\n", last);
}

static void write_lists(struct xl__reduction_writer *r)
{
    write_kind_list(r);
    xl__str_add(r->m.out, "#define XL_STATES(F)");
    write_state_list(r, XL__ALL_SWEEPS);
    for (unsigned s = 0; s < r->group->n_sweeps; s++) {
        xl__str_printf(r->m.out, "#define XL_STATES_%u(F)", s);
        write_state_list(r, s);
    }
    xl__emit_macro(&r->m, "XL_SWEEPS", write_sweeps);
}

/* Values of rows, before each sweep and after the last one. Those of columns
 * are vectors, of which the last one is cut. */
static void write_row_macros(struct xl__reduction_writer *r)
{
    const bool is_column = r->group->form == XL__FORM_COLUMNS;
    xl__emit_macro(&r->m, "XL_ROW_PLACES", write_row_places);
    r->m.depth = 1;
    for (r->sweep = 0; r->sweep < r->group->n_sweeps; r->sweep++)
        write_sweep_macro(r, "ROW_", write_row);
    if (is_column && r->m.vw > 1)
        r->count = "count";
    if (is_column) {
        r->sweep = 0;
        write_sweep_macro(r, "PART_ROW_", write_row);
    }
    r->sweep = r->group->n_sweeps;
    xl__emit_macro(&r->m, "XL_ROW_END", write_row_end);
    r->count = NULL;
}

static void write_element_macros(struct xl__reduction_writer *r)
{
    const bool is_column = r->group->form == XL__FORM_COLUMNS;
    if (is_column || r->n_reduced > 1) {
        xl__emit_macro(&r->m, "XL_LINE_PLACES", write_line_places);
        r->m.depth = 2;
    }
    if (r->is_row_held) {
        xl__sweep_hold_values(r);
        xl__emit_macro(&r->m, "XL_KEPT", write_kept);
    }
    for (r->sweep = 0; r->sweep < r->group->n_sweeps; r->sweep++) {
        write_vector_macros(r);
        if (r->m.vw > 1)
            (is_column ? write_part_macros : write_single_macros)(r);
    }
}

xl_status xl__reduction_write_kernel(struct xl__reduction_writer *r,
                                     const struct xl__reduction_launch *how)
{
    const bool is_column = r->group->form == XL__FORM_COLUMNS;
    if (r->m.out->len > 0)
        return XL_OK;
    r->row_at = is_column ? "at" : "0";
    r->row_width = is_column ? r->m.vw : 1;
    r->is_row_held = r->group->form == XL__FORM_ROWS &&
                     (r->group->geo.held || r->group->geo.is_kept);
    xl__emit_header(&r->m, how->kernel);
    write_settings(r, how->is_join);
    xl__emit_macro(&r->m, "XL_PARAMS", xl__emit_params);
    write_lists(r);
    write_row_macros(r);
    if (!how->is_join)
        write_element_macros(r);
    xl__str_printf(r->m.out, "#include \"expr/%s.cl\"\n", how->file);
    return r->m.out->broken ? XL_NO_MEMORY : XL_OK;
}
