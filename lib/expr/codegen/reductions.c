/* SPDX-License-Identifier: Apache-2.0 */
/* Which states a group's reductions keep, and their text: two tables. */
#include "expr/codegen/reductions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* -- tables ---------------------------------------------------------------- */

static const struct xl__acc
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

/* A reduction's state by the type of its argument (float or not), and its
 * result, in write_line()'s words. */
static const struct rule {
    const struct xl__acc *of_float, *of_int;
    const char *result;
} rules[XL__N_EXPR_OPS] = {
    [XL__E_SUM] = {&sumf, &sumi, "$f_of_$w(r$s)"},
    [XL__E_MEAN] = {&sumf, &sumf, "$f_of_$w(r$s) / $n"},
    [XL__E_VAR] = {&var, &var, "$f_of_$w(r$s)"},
    [XL__E_NORM2] = {&squares, &squares, "sqrt($f_of_$w(r$s))"},
    [XL__E_RMIN] = {&minf, &mini, "$f_of_$w(r$s)"},
    [XL__E_RMAX] = {&maxf, &maxi, "$f_of_$w(r$s)"},
    [XL__E_ARGMIN] = {&argminf, &argmini, "$f_of_$w(r$s)"},
    [XL__E_ARGMAX] = {&argmaxf, &argmaxi, "$f_of_$w(r$s)"},
    [XL__E_ANY] = {&any, &any, "($f_of_$w(r$s) != 0)"},
    [XL__E_ALL] = {&all, &all, "($f_of_$w(r$s) != 0)"},
    [XL__E_LOGSUMEXP] = {&lse, &lse, "$f_of_$w(r$s)"},
};
static const char mean_of_var[] = "xl_var_mean_$w(r$s)";

static bool is_reduction(const struct xl__graph *g, const struct xl__value *v)
{
    return xl__expr_ops[g->node[v->node].op].cls == XL__C_REDUCE;
}

/* -- states ---------------------------------------------------------------- */

static const struct xl__acc *acc_of(const struct xl__graph *g, unsigned node)
{
    const struct xl__node *n = &g->node[node];
    const struct rule *rule = &rules[n->op];
    return g->node[n->arg[0]].type == XL__V_F32 ? rule->of_float
                                                : rule->of_int;
}

/* Does the state `have` give this reduction's result as well? The mean comes
 * with the variance. */
static bool serves(const struct xl__graph *g, const struct xl__state *have,
                   const struct xl__value *v)
{
    return have->sweep == v->sweep && have->arg == g->node[v->node].arg[0] &&
           (have->acc == acc_of(g, v->node) ||
            (have->acc == &var && g->node[v->node].op == XL__E_MEAN));
}

static const struct xl__state *state_of(const struct xl__state *state,
                                        unsigned n,
                                        const struct xl__graph *g,
                                        const struct xl__value *v)
{
    for (unsigned i = 0; i < n; i++)
        if (serves(g, &state[i], v))
            return &state[i];
    return NULL;
}

/* Variances first, so that means find them. */
static unsigned find_states(const struct xl__graph *g,
                            const struct xl__group *group,
                            struct xl__state *state)
{
    unsigned n = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < group->n_values; i++) {
            const struct xl__value *v = &group->value[i];
            if (!is_reduction(g, v) || xl__emit_source(group, v->node) !=
                                           XL__EXPR_OPERANDS)
                continue;
            if ((g->node[v->node].op == XL__E_VAR) == (pass == 0) &&
                state_of(state, n, g, v) == NULL)
                state[n++] = (struct xl__state){
                    v->node, g->node[v->node].arg[0], v->sweep,
                    acc_of(g, v->node)};
        }
    }
    return n;
}

/* -- life ------------------------------------------------------------------ */

xl_status xl__reducing_init(struct xl__reducing *r, const struct xl__graph *g,
                            const struct xl__limits *l,
                            const struct xl__group *group,
                            struct xl__str *out)
{
    const size_t n = group->n_values + 1u;
    *r = (struct xl__reducing){
        .m = {.g = g, .group = group, .l = l, .out = out,
              .vw = group->geo.vw},
        .group = group,
        .row_at = "0",
        .row_width = 1};
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

void xl__reducing_clear(struct xl__reducing *r)
{
    free(r->state);
    free(r->is_needed);
    free(r->held_from);
    free(r->held_until);
    *r = (struct xl__reducing){0};
}

/* -- text ------------------------------------------------------------------ */

static void fill_in(struct xl__reducing *r, const char *rule,
                    const struct xl__state *state, unsigned width)
{
    for (const char *c = rule; *c; c++) {
        if (*c != '$') {
            xl__str_add_n(r->m.out, c, 1);
            continue;
        }
        c++;
        if (*c == 's')
            xl__str_printf(r->m.out, "%u", state->node);
        else if (*c == 'f')
            xl__str_printf(r->m.out, "xl_%s", state->acc->name);
        else if (*c == 'k')
            xl__str_add(r->m.out, state->acc->name);
        else if (*c == 'w')
            xl__str_printf(r->m.out, "%u", width);
        else
            xl__str_add(r->m.out, "n_row");
    }
}

static void write_line(struct xl__reducing *r, const char *rule,
                       const struct xl__state *state, unsigned width)
{
    xl__emit_indent(&r->m);
    fill_in(r, rule, state, width);
    xl__str_add(r->m.out, "\n");
}

void xl__reduce_kinds(struct xl__reducing *r, const char *rule, unsigned width)
{
    for (unsigned i = 0; i < r->n_states; i++) {
        unsigned j = 0;
        while (strcmp(r->state[j].acc->name, r->state[i].acc->name) != 0)
            j++;
        if (j == i)
            write_line(r, rule, &r->state[i], width);
    }
}

void xl__reduce_each(struct xl__reducing *r, unsigned s, const char *rule,
                     unsigned width)
{
    for (unsigned i = 0; i < r->n_states; i++)
        if (r->state[i].sweep == s || s == XL__ALL_SWEEPS)
            write_line(r, rule, &r->state[i], width);
}

void xl__reduce_results(struct xl__reducing *r, unsigned s)
{
    const struct xl__graph *g = r->m.g;
    const unsigned width = r->row_width;
    for (unsigned i = 0; i < r->group->n_values; i++) {
        const struct xl__value *v = &r->group->value[i];
        if (!is_reduction(g, v) || v->sweep != s ||
            xl__emit_source(r->group, v->node) != XL__EXPR_OPERANDS)
            continue;
        const struct xl__state *state =
            state_of(r->state, r->n_states, g, v);
        const struct xl__node *n = &g->node[v->node];
        xl__emit_indent(&r->m);
        xl__str_printf(r->m.out, "const %s v%u = ",
                       xl__emit_type(n->type, width), v->node);
        fill_in(r,
                state->acc == &var && n->op == XL__E_MEAN
                    ? mean_of_var
                    : rules[n->op].result,
                state, width);
        xl__str_add(r->m.out, ";\n");
    }
}

void xl__reduce_row_values(struct xl__reducing *r, unsigned s)
{
    const struct xl__group *group = r->group;
    for (unsigned i = 0; i < group->n_values; i++) {
        const struct xl__value *v = &group->value[i];
        const unsigned k = xl__emit_source(group, v->node);
        if (!v->is_row || v->sweep != s)
            continue;
        if (k != XL__EXPR_OPERANDS)
            xl__emit_load(&r->m, k, r->row_at, r->row_count);
        else if (!is_reduction(r->m.g, v))
            xl__emit_node(&r->m, v->node, r->row_width);
    }
}

bool xl__reduce_has_row_stores(const struct xl__reducing *r)
{
    for (unsigned k = 0; k < r->group->n_operands; k++)
        if (r->group->operand[k].is_written &&
            xl__operand_is_of_rows(r->group, &r->group->operand[k]))
            return true;
    return false;
}

void xl__reduce_row_stores(struct xl__reducing *r)
{
    for (unsigned k = 0; k < r->group->n_operands; k++) {
        const struct xl__operand *o = &r->group->operand[k];
        if (o->is_written && xl__operand_is_of_rows(r->group, o))
            xl__emit_store(&r->m, k, r->row_at, r->row_count);
    }
}

/* -- for geometries -------------------------------------------------------- */

unsigned xl__state_words(const struct xl__graph *g,
                         const struct xl__group *group)
{
    unsigned words = 0;
    for (unsigned i = 0; i < group->n_values; i++)
        if (is_reduction(g, &group->value[i]) &&
            xl__emit_source(group, group->value[i].node) ==
                XL__EXPR_OPERANDS)
            words += acc_of(g, group->value[i].node)->words;
    return words;
}
