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
#include "expr/codegen/reduction_element.h"

/* -- tables --------------------------------------------------------------- */

static const struct xl__accumulator sumf = {"sumf", XL__V_F32, 2, false},
                                    sumi = {"sumi", XL__V_I32, 1, false},
                                    prodf = {"prodf", XL__V_F32, 1, false},
                                    prodi = {"prodi", XL__V_I32, 1, false},
                                    norm = {"norm", XL__V_F32, 3, false},
                                    var = {"var", XL__V_F32, 6, false},
                                    lse = {"lse", XL__V_F32, 3, false},
                                    any = {"oneof", XL__V_BOOL, 1, false},
                                    all = {"allof", XL__V_BOOL, 1, false},
                                    maxf = {"maxf", XL__V_F32, 1, false},
                                    minf = {"minf", XL__V_F32, 1, false},
                                    maxi = {"maxi", XL__V_I32, 1, false},
                                    mini = {"mini", XL__V_I32, 1, false},
                                    argmaxf = {"argmaxf", XL__V_F32, 2, true},
                                    argminf = {"argminf", XL__V_F32, 2, true},
                                    argmaxi = {"argmaxi", XL__V_I32, 2, true},
                                    argmini = {"argmini", XL__V_I32, 2, true};

/* The state of a reduction by the type of its argument (float or not), and the
 * result's name in cl/expr/states.clh. */
static const struct reduction_rule {
    const struct xl__accumulator *of_float, *of_int;
    const char *result;
} rules[XL__N_EXPR_OPS] = {
    [XL__E_SUM] = {&sumf, &sumi, "XL_RESULT"},
    [XL__E_MEAN] = {&sumf, &sumf, "XL_RESULT_MEAN"},
    [XL__E_VAR] = {&var, &var, "XL_RESULT"},
    [XL__E_PROD] = {&prodf, &prodi, "XL_RESULT"},
    [XL__E_NORM2] = {&norm, &norm, "XL_RESULT"},
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

/* Size of a state of width 1, in 4 bytes. */
static unsigned words_of(const struct xl__graph *g,
                         const struct xl__accumulator *acc)
{
    return acc->words * (xl__has_wide_values(g) ? 2 : 1);
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

/* Fill r->state. The first pass adds variances, so that means of the same
 * argument share their states. */
static void find_states(struct xl__reduction_writer *r)
{
    const struct xl__graph *g = r->m.g;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < r->group->n_values; i++) {
            const struct xl__value *v = &r->group->value[i];
            if (!is_reduction(g, v) || r->use[v->node].is_load)
                continue;
            if ((g->node[v->node].op == XL__E_VAR) == (pass == 0) &&
                find_state(r->state, r->n_states, g, v) == NULL)
                r->state[r->n_states++] = (struct xl__reduction_state){
                    v->node, g->node[v->node].arg[0], v->sweep,
                    acc_of(g, v->node)};
        }
    }
}

static void init_use(struct xl__reduction_writer *r)
{
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__value *v = &r->group->value[i];
        r->use[v->node] = (struct xl__node_use){.is_element = !v->is_row,
                                                .held_from = XL__NOT_HELD};
    }
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        r->use[o->node].is_load |= !o->is_written;
    }
}

/* -- set-up --------------------------------------------------------------- */

xl_status xl__reduction_init(struct xl__reduction_writer *r,
                             const struct xl__graph *g,
                             const struct xl__limits *l,
                             const struct xl__group *group,
                             struct xl__str *out)
{
    *r = (struct xl__reduction_writer){
        .m = {.g = g, .group = group, .l = l, .out = out, .vw = group->geo.vw},
        .group = group};
    r->state = xl__calloc(group->n_values, sizeof *r->state);
    r->use = xl__calloc(g->n_nodes, sizeof *r->use);
    if (!r->state || !r->use)
        return XL_NO_MEMORY;
    init_use(r);
    find_states(r);
    for (unsigned d = 0; d < group->n_loops; d++)
        r->n_reduced += group->loop[d].is_reduced;
    while (r->n_kept < group->n_loops && !group->loop[r->n_kept].is_reduced)
        r->n_kept++;
    return XL_OK;
}

void xl__reduction_clear(struct xl__reduction_writer *r)
{
    free(r->state);
    free(r->use);
    *r = (struct xl__reduction_writer){0};
}

const char *xl__reduction_result(const struct xl__reduction_writer *r,
                                 const struct xl__value *v,
                                 const struct xl__reduction_state **state)
{
    const enum xl__expr_op op = r->m.g->node[v->node].op;
    if (!is_reduction(r->m.g, v) || r->use[v->node].is_load)
        return NULL;
    *state = find_state(r->state, r->n_states, r->m.g, v);
    return (*state)->acc == &var && op == XL__E_MEAN ? "XL_RESULT_CENTER"
                                                     : rules[op].result;
}

/* -- for geometries ------------------------------------------------------- */

unsigned xl__reduction_words(const struct xl__graph *g, unsigned node)
{
    return words_of(g, acc_of(g, node));
}

unsigned xl__state_words(const struct xl__graph *g,
                         const struct xl__group *group)
{
    unsigned words = 0;
    for (unsigned i = 0; i < group->n_values; i++)
        if (is_reduction(g, &group->value[i]) &&
            xl__emit_operand_of(group, group->value[i].node) ==
                XL__EXPR_OPERANDS)
            words += words_of(g, acc_of(g, group->value[i].node));
    return words;
}

/* Cost (flop of an element) from which on a value is held rather than computed
 * again: exp costs more, a division less. */
static const double worth_holding = 8;

static void mark_value(struct xl__reduction_writer *r, unsigned node)
{
    r->use[node].is_needed = r->use[node].is_element;
}

void xl__sweep_mark_needed(struct xl__reduction_writer *r, unsigned s)
{
    const struct xl__group *group = r->group;
    for (unsigned i = 0; i < group->n_values; i++)
        r->use[group->value[i].node].is_needed = false;
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
        const unsigned node = group->value[i].node;
        const struct xl__node *n = &r->m.g->node[node];
        if (!r->use[node].is_needed || r->use[node].is_load ||
            xl__held_from(r, node) < s)
            continue;
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            mark_value(r, n->arg[a]);
    }
}

/* Does a node combine two or more element values? Holding it instead of its
 * arguments saves registers. */
static bool combines_elements(const struct xl__reduction_writer *r,
                              const struct xl__node *n)
{
    unsigned found = 0, last = 0;
    for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++) {
        if (!r->use[n->arg[a]].is_element || (found > 0 && n->arg[a] == last))
            continue;
        found++;
        last = n->arg[a];
    }
    return found > 1;
}

static bool is_costly(const struct xl__reduction_writer *r, unsigned node)
{
    const struct xl__node *n = &r->m.g->node[node];
    return !r->use[node].is_load &&
           (xl__expr_ops[n->op].flop >= worth_holding ||
            (!r->group->geo.is_kept && combines_elements(r, n)));
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
            struct xl__node_use *use = &r->use[node];
            use->held_until = 0;
            if (use->is_needed &&
                (of_loads ? use->is_load : is_costly(r, node)))
                use->held_from = s;
        }
    }
    for (unsigned s = 0; s < group->n_sweeps; s++) {
        xl__sweep_mark_needed(r, s);
        for (unsigned i = 0; i < group->n_values; i++) {
            struct xl__node_use *use = &r->use[group->value[i].node];
            if (use->is_needed && use->held_from < s)
                use->held_until = s;
        }
    }
    for (unsigned i = 0; i < group->n_values; i++) {
        struct xl__node_use *use = &r->use[group->value[i].node];
        if (use->held_until == 0)
            use->held_from = XL__NOT_HELD;
    }
}

void xl__sweep_hold_values(struct xl__reduction_writer *r)
{
    hold_values(r, false);
    if (!r->group->geo.is_kept)
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
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__node_use *use = &r->use[r->group->value[i].node];
        n += use->is_needed && use->is_load;
    }
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
            for (unsigned i = 0; i < group->n_values; i++) {
                const struct xl__node_use *use = &r.use[group->value[i].node];
                n += use->held_from <= s && use->held_until > s;
            }
            most = n > most ? n : most;
        }
    }
    xl__reduction_clear(&r);
    return most;
}

unsigned xl__kept_values(const struct xl__graph *g,
                         const struct xl__group *group)
{
    struct xl__reduction_writer r = {0};
    unsigned n = XL__NOT_HELD;
    if (xl__reduction_init(&r, g, NULL, group, NULL) == XL_OK) {
        xl__sweep_hold_values(&r);
        n = 0;
        for (unsigned i = 0; i < group->n_values; i++)
            n += xl__held_from(&r, group->value[i].node) != XL__NOT_HELD;
    }
    xl__reduction_clear(&r);
    return n;
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
            bytes += section_bytes(words_of(g, r.state[i].acc), n_partials);
    xl__reduction_clear(&r);
    return bytes;
}

static void add_partial_args(const struct xl__reduction_writer *r,
                             struct xl__step *step, size_t n_partials)
{
    size_t at = r->group->partial_offset;
    xl__arg_mem(step, XL__MEM_SCRATCH);
    for (unsigned i = 0; i < r->n_states; i++) {
        xl__arg_u64(step, at);
        at += section_bytes(words_of(r->m.g, r->state[i].acc), n_partials);
    }
}

/* -- launches ------------------------------------------------------------- */

/* The tree of cl/expr/row_sweep.clh: the lanes, an eighth of many lanes, 8. */
size_t xl__lanes_room(const struct xl__geometry *geo)
{
    enum { FEW = 8, MANY = 16 * FEW };
    const size_t n = geo->lanes;
    if (n == 1)
        return 0;
    return geo->wg / n * (n + (n > FEW ? FEW : 0) + (n > MANY ? n / FEW : 0));
}

static size_t local_bytes(const struct xl__reduction_writer *r, size_t n_local)
{
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += words_of(r->m.g, r->state[i].acc);
    return n_local * words * sizeof(float);
}

xl_status xl__reduction_plan(const struct xl__graph *g,
                             const struct xl__limits *l,
                             const struct xl__group *group,
                             const struct xl__schedule *s,
                             struct xl__code *code, struct xl__plan *plan,
                             const struct xl__reduction_launch *how)
{
    struct xl__reduction_writer r = {0};
    struct xl__step *step = &plan->step[plan->n_steps];
    xl_status status;
    TRY(xl__reduction_init(&r, g, l, group, &code->text[plan->n_steps]));
    const unsigned more =
        (how->n_partials > 0 ? 1 + r.n_states : 0) + how->n_index;
    const size_t bytes = local_bytes(&r, how->n_local);
    if (xl__emit_n_args(g, group) + more > XL__MAX_ARGS ||
        (bytes > 0 && bytes > xl__size_or(l, XL__F_local_mem_bytes, 0)))
        TRY(XL_UNSUPPORTED);
    TRY(xl__reduction_write_kernel(&r, how));
    xl__emit_step(&r.m, s, step, how->kernel, how->n_groups);
    step->local_mem_bytes = bytes;
    if (how->n_partials > 0)
        add_partial_args(&r, step, how->n_partials);
    for (unsigned i = 0; i < how->n_index; i++)
        xl__emit_arg_index(group, step, how->index[i]);
    plan->n_steps++;
fail:
    xl__reduction_clear(&r);
    return status;
}
