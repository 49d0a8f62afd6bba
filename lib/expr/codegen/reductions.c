/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms with reductions share.
 *
 * Which state a reduction accumulates, and how its result follows from the
 * state, are in two tables. Then: which values a sweep needs, and which of
 * them are worth registers from one sweep to the next; the text of row values,
 * results and loop indices; the launch; partial results in scratch. */
#include "expr/codegen/reductions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/codegen/geometry.h"

/* -- tables --------------------------------------------------------------- */

static const struct xl__accumulator
    sumf = {"sumf", XL__V_F32, 2, false, false},
    sumi = {"sumi", XL__V_I32, 1, false, false},
    squares = {"sumf", XL__V_F32, 2, false, true},
    var = {"var", XL__V_F32, 6, false, false},
    lse = {"lse", XL__V_F32, 3, false, false},
    any = {"oneof", XL__V_BOOL, 1, false, false},
    all = {"allof", XL__V_BOOL, 1, false, false},
    maxf = {"maxf", XL__V_F32, 1, false, false},
    minf = {"minf", XL__V_F32, 1, false, false},
    maxi = {"maxi", XL__V_I32, 1, false, false},
    mini = {"mini", XL__V_I32, 1, false, false},
    argmaxf = {"argmaxf", XL__V_F32, 2, true, false},
    argminf = {"argminf", XL__V_F32, 2, true, false},
    argmaxi = {"argmaxi", XL__V_I32, 2, true, false},
    argmini = {"argmini", XL__V_I32, 2, true, false};

/* The state of a reduction by the type of its argument (float or not), and the
 * result's name in cl/expr/states.clh. */
static const struct reduction_rule {
    const struct xl__accumulator *of_float, *of_int;
    const char *result;
} rules[XL__N_EXPR_OPS] = {
    [XL__E_SUM] = {&sumf, &sumi, "XL_RESULT"},
    [XL__E_MEAN] = {&sumf, &sumf, "XL_RESULT_MEAN"},
    [XL__E_VAR] = {&var, &var, "XL_RESULT"},
    [XL__E_NORM2] = {&squares, &squares, "XL_RESULT_ROOT"},
    [XL__E_RMIN] = {&minf, &mini, "XL_RESULT"},
    [XL__E_RMAX] = {&maxf, &maxi, "XL_RESULT"},
    [XL__E_ARGMIN] = {&argminf, &argmini, "XL_RESULT"},
    [XL__E_ARGMAX] = {&argmaxf, &argmaxi, "XL_RESULT"},
    [XL__E_ANY] = {&any, &any, "XL_RESULT_TRUTH"},
    [XL__E_ALL] = {&all, &all, "XL_RESULT_TRUTH"},
    [XL__E_LOGSUMEXP] = {&lse, &lse, "XL_RESULT"},
};

static bool is_reduction(const struct xl__graph *g, const struct xl__value *v)
{
    return xl__expr_ops[g->node[v->node].op].cls == XL__C_REDUCE;
}

/* -- states --------------------------------------------------------------- */

/* The kind of state of a reduction, by its argument's type. */
static const struct xl__accumulator *acc_of(const struct xl__graph *g,
                                            unsigned node)
{
    const struct xl__node *n = &g->node[node];
    const struct reduction_rule *rule = &rules[n->op];
    return g->node[n->arg[0]].type == XL__V_F32 ? rule->of_float
                                                : rule->of_int;
}

/* Does the state `have` also give the result of this reduction? The state of a
 * variance contains the mean. */
static bool gives_result(const struct xl__graph *g,
                         const struct xl__reduction_state *have,
                         const struct xl__value *v)
{
    return have->sweep == v->sweep && have->arg == g->node[v->node].arg[0] &&
           (have->acc == acc_of(g, v->node) ||
            (have->acc == &var && g->node[v->node].op == XL__E_MEAN));
}

/* The state that gives the result of a reduction; NULL: none of the n. */
static const struct xl__reduction_state *
find_state(const struct xl__reduction_state *state, unsigned n,
           const struct xl__graph *g, const struct xl__value *v)
{
    for (unsigned i = 0; i < n; i++)
        if (gives_result(g, &state[i], v))
            return &state[i];
    return NULL;
}

/* Fill state[] and return the number of states. The first pass adds variances,
 * so that means of the same argument share their states. */
static unsigned find_states(const struct xl__graph *g,
                            const struct xl__group *group,
                            struct xl__reduction_state *state)
{
    unsigned n = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < group->n_values; i++) {
            const struct xl__value *v = &group->value[i];
            if (!is_reduction(g, v) ||
                xl__emit_operand_of(group, v->node) != XL__EXPR_OPERANDS)
                continue;
            if ((g->node[v->node].op == XL__E_VAR) == (pass == 0) &&
                find_state(state, n, g, v) == NULL)
                state[n++] = (struct xl__reduction_state){
                    v->node, g->node[v->node].arg[0], v->sweep,
                    acc_of(g, v->node)};
        }
    }
    return n;
}

/* -- set-up --------------------------------------------------------------- */

xl_status xl__reduction_init(struct xl__reduction_writer *r,
                             const struct xl__graph *g,
                             const struct xl__limits *l,
                             const struct xl__group *group,
                             struct xl__str *out)
{
    const size_t n = group->n_values + 1u;
    *r = (struct xl__reduction_writer){
        .m = {.g = g, .group = group, .l = l, .out = out, .vw = group->geo.vw},
        .group = group};
    r->state = xl__calloc(n, sizeof *r->state);
    r->is_needed = xl__calloc(n, 1);
    r->held_from = xl__calloc(n, sizeof *r->held_from);
    r->held_until = xl__calloc(n, sizeof *r->held_until);
    if (!r->state || !r->is_needed || !r->held_from || !r->held_until)
        return XL_NO_MEMORY;
    for (unsigned i = 0; i < group->n_values; i++)
        r->held_from[i] = XL__NOT_HELD;
    r->n_states = find_states(g, group, r->state);
    for (unsigned d = 0; d < group->n_loops; d++)
        r->n_reduced += group->loop[d].is_reduced;
    while (r->n_kept < group->n_loops && !group->loop[r->n_kept].is_reduced)
        r->n_kept++;
    return XL_OK;
}

void xl__reduction_clear(struct xl__reduction_writer *r)
{
    free(r->state);
    free(r->is_needed);
    free(r->held_from);
    free(r->held_until);
    *r = (struct xl__reduction_writer){0};
}

const char *xl__reduction_result(const struct xl__reduction_writer *r,
                                 const struct xl__value *v,
                                 const struct xl__reduction_state **state)
{
    const enum xl__expr_op op = r->m.g->node[v->node].op;
    if (!is_reduction(r->m.g, v) ||
        xl__emit_operand_of(r->group, v->node) != XL__EXPR_OPERANDS)
        return NULL;
    *state = find_state(r->state, r->n_states, r->m.g, v);
    return (*state)->acc == &var && op == XL__E_MEAN ? "XL_RESULT_CENTER"
                                                     : rules[op].result;
}

/* -- for geometries ------------------------------------------------------- */

unsigned xl__reduction_words(const struct xl__graph *g, unsigned node)
{
    return acc_of(g, node)->words;
}

unsigned xl__state_words(const struct xl__graph *g,
                         const struct xl__group *group)
{
    unsigned words = 0;
    for (unsigned i = 0; i < group->n_values; i++)
        if (is_reduction(g, &group->value[i]) &&
            xl__emit_operand_of(group, group->value[i].node) ==
                XL__EXPR_OPERANDS)
            words += acc_of(g, group->value[i].node)->words;
    return words;
}

/* Cost (flop of an element) from which on a value is held rather than computed
 * again: exp costs more, a division less. */
static const double worth_holding = 8;

static void mark_value(struct xl__reduction_writer *r, unsigned node)
{
    for (unsigned i = 0; i < r->group->n_values; i++)
        if (r->group->value[i].node == node && !r->group->value[i].is_row)
            r->is_needed[i] = 1;
}

void xl__sweep_mark_needed(struct xl__reduction_writer *r, unsigned s)
{
    const struct xl__group *group = r->group;
    const struct xl__graph *g = r->m.g;
    memset(r->is_needed, 0, group->n_values + 1u);
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s)
            mark_value(r, r->state[i].arg);
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (o->is_written && o->sweep == s &&
            !xl__operand_is_of_rows(group, o))
            mark_value(r, o->node);
    }
    for (unsigned i = group->n_values; i-- > 0;) {
        const struct xl__node *n = &g->node[group->value[i].node];
        const bool is_there =
            xl__held_from(r, i) < s ||
            xl__emit_operand_of(group, group->value[i].node) !=
                XL__EXPR_OPERANDS;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            if (r->is_needed[i] && !is_there)
                mark_value(r, n->arg[a]);
    }
}

/* Does a node combine two or more element values? Holding it instead of its
 * arguments saves registers. */
static bool combines_elements(const struct xl__reduction_writer *r,
                              unsigned node)
{
    const struct xl__node *n = &r->m.g->node[node];
    unsigned found = 0;
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__value *v = &r->group->value[i];
        bool is_arg = false;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            is_arg |= n->arg[a] == v->node;
        found += is_arg && !v->is_row;
    }
    return found > 1;
}

/* Hold values that two sweeps need: loads, or costly values. First, from the
 * last sweep to the first, the sweep that first needs each one (held_from);
 * then the last sweep that uses it (held_until). What only one sweep needs is
 * not held. */
static void hold_values(struct xl__reduction_writer *r, bool of_loads)
{
    const struct xl__group *group = r->group;
    for (unsigned s = group->n_sweeps; s-- > 0;) {
        xl__sweep_mark_needed(r, s);
        for (unsigned i = 0; i < group->n_values; i++) {
            const unsigned node = group->value[i].node;
            const bool is_load =
                xl__emit_operand_of(group, node) != XL__EXPR_OPERANDS;
            const bool is_costly =
                xl__expr_ops[r->m.g->node[node].op].flop >= worth_holding ||
                combines_elements(r, node);
            if (r->is_needed[i] &&
                (of_loads ? is_load : is_costly && !is_load))
                r->held_from[i] = s;
        }
    }
    for (unsigned i = 0; i < group->n_values; i++)
        r->held_until[i] = 0;
    for (unsigned s = 0; s < group->n_sweeps; s++) {
        xl__sweep_mark_needed(r, s);
        for (unsigned i = 0; i < group->n_values; i++)
            if (r->is_needed[i] && r->held_from[i] < s)
                r->held_until[i] = s;
    }
    for (unsigned i = 0; i < group->n_values; i++)
        if (r->held_until[i] == 0)
            r->held_from[i] = XL__NOT_HELD;
}

void xl__sweep_hold_values(struct xl__reduction_writer *r)
{
    hold_values(r, false);
    hold_values(r, true);
}

bool xl__sweep_has_states(const struct xl__reduction_writer *r, unsigned s)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s)
            return true;
    return false;
}

bool xl__sweep_is_idle(const struct xl__reduction_writer *r, unsigned s)
{
    if (xl__sweep_has_states(r, s))
        return false;
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && o->sweep == s &&
            !xl__operand_is_of_rows(r->group, o))
            return false;
    }
    return true;
}

/* Values that the first sweep loads: they are in registers together. */
static unsigned count_first_loads(struct xl__reduction_writer *r)
{
    unsigned n = 0;
    xl__sweep_mark_needed(r, 0);
    for (unsigned i = 0; i < r->group->n_values; i++)
        n += r->is_needed[i] &&
             xl__emit_operand_of(r->group, r->group->value[i].node) !=
                 XL__EXPR_OPERANDS;
    return n;
}

unsigned xl__held_values(const struct xl__graph *g,
                         const struct xl__group *group)
{
    struct xl__reduction_writer r = {0};
    unsigned most = XL__NOT_HELD;
    if (xl__reduction_init(&r, g, NULL, group, NULL) == XL_OK) {
        xl__sweep_hold_values(&r);
        most = count_first_loads(&r);
        for (unsigned s = 0; s < group->n_sweeps; s++) {
            unsigned n = 0;
            for (unsigned i = 0; i < group->n_values; i++)
                n += r.held_from[i] <= s && r.held_until[i] > s;
            most = n > most ? n : most;
        }
    }
    xl__reduction_clear(&r);
    return most;
}

/* -- launches ------------------------------------------------------------- */

xl_status xl__reduction_check(const struct xl__reduction_writer *r,
                              unsigned more, size_t local_bytes)
{
    const struct xl__limits *l = r->m.l;
    if (xl__emit_n_args(r->m.g, r->group) + more > XL__MAX_ARGS)
        return XL_UNSUPPORTED;
    return local_bytes > 0 &&
                   local_bytes > xl__size_or(l, XL__F_local_mem_bytes, 0)
               ? XL_UNSUPPORTED
               : XL_OK;
}

/* The tree of cl/expr/row_sweep.clh: the lanes, an eighth of many lanes, 8. */
size_t xl__lanes_room(const struct xl__geometry *geo)
{
    enum { FEW = 8, MANY = 16 * FEW };
    const size_t n = geo->lanes;
    if (n == 1)
        return 0;
    return geo->wg / n * (n + (n > FEW ? FEW : 0) + (n > MANY ? n / FEW : 0));
}

size_t xl__states_bytes(const struct xl__reduction_writer *r, size_t n)
{
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += r->state[i].acc->words;
    return n * words * sizeof(float);
}

void xl__reduction_set_step(struct xl__reduction_writer *r,
                            const struct xl__schedule *s,
                            struct xl__step *step, const char *kernel,
                            size_t n_groups)
{
    step->source = kernel;
    step->kernel = kernel;
    step->text = xl__str_text(r->m.out);
    step->dims = 1;
    step->local[0] = r->group->geo.wg;
    step->global[0] = n_groups * r->group->geo.wg;
    step->slice_dim = 0;
    xl__emit_args(&r->m, s, step);
}

void xl__reduction_arg_index(const struct xl__reduction_writer *r,
                             struct xl__step *step, size_t value)
{
    if (r->group->geo.is_wide)
        xl__arg_u64(step, value);
    else
        xl__arg_u32(step, value);
}

/* -- partial results in scratch ------------------------------------------- */

/* Alignment of a state's section in scratch. */
enum { SECTION_BYTES = 128 };

/* Bytes of the section of one state in scratch. */
static size_t section_bytes(unsigned words, size_t n_partials)
{
    return xl__round_up(words * sizeof(float) * n_partials, SECTION_BYTES);
}

size_t xl__partial_bytes(const struct xl__graph *g,
                         const struct xl__group *group, size_t n_partials)
{
    struct xl__reduction_writer r = {0};
    size_t bytes = 0;
    if (xl__reduction_init(&r, g, NULL, group, NULL) == XL_OK)
        for (unsigned i = 0; i < r.n_states; i++)
            bytes += section_bytes(r.state[i].acc->words, n_partials);
    xl__reduction_clear(&r);
    return bytes;
}

unsigned xl__partial_n_args(const struct xl__reduction_writer *r)
{
    return r->n_states + 4;
}

void xl__partial_args(const struct xl__reduction_writer *r,
                      struct xl__step *step, size_t n_partials,
                      const size_t cut[3])
{
    size_t at = r->group->partial_offset;
    xl__arg_mem(step, XL__MEM_SCRATCH);
    for (unsigned i = 0; i < r->n_states; i++) {
        xl__arg_u64(step, at);
        at += section_bytes(r->state[i].acc->words, n_partials);
    }
    for (unsigned i = 0; i < 3; i++)
        xl__reduction_arg_index(r, step, cut[i]);
}
