/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, whatever their form: each form has its geometry and its plan in one
 * table, and the time model is the same for all. */
#include "expr/graph/group.h"

#include <math.h>
#include <stdlib.h>

#include "device/peak_rates.h"

static const struct form {
    void (*geometry)(const struct xl__graph *g, const struct xl__limits *l,
                     struct xl__group *group);
    xl_status (*plan)(const struct xl__graph *g, const struct xl__limits *l,
                      const struct xl__group *group,
                      const struct xl__schedule *s, struct xl__code *code,
                      struct xl__plan *plan);
} forms[] = {
    [XL__FORM_MAP] = {xl__map_geometry, xl__map_plan},
    [XL__FORM_ROWS] = {xl__rows_geometry, xl__rows_plan},
    [XL__FORM_COLUMNS] = {xl__columns_geometry, xl__columns_plan},
    [XL__FORM_PIECES] = {xl__pieces_geometry, xl__pieces_plan},
};

void xl__geometry_choose(const struct xl__graph *g, const struct xl__limits *l,
                         struct xl__group *group)
{
    forms[group->form].geometry(g, l, group);
}

xl_status xl__group_plan(const struct xl__graph *g, const struct xl__limits *l,
                         const struct xl__group *group,
                         const struct xl__schedule *s, struct xl__code *code,
                         struct xl__plan *plan)
{
    return forms[group->form].plan(g, l, group, s, code, plan);
}

double xl__launch_ns(const struct xl__limits *l)
{
    static const double guess_ns = 8e3;
    return xl__num_or(l, XL__F_launch_ns, guess_ns);
}

void xl__group_estimate(const struct xl__limits *l, double fill,
                        unsigned launches, struct xl__group *group)
{
    static const double least_fill = 1e-3, ns_per_s = 1e9;
    const double share = fmax(fill, least_fill);
    const double fma = group->flop / (xl__rate_fma(l) * share) * ns_per_s;
    const double memory =
        group->bytes / (xl__rate_memory(l) * share) * ns_per_s;
    const double launch = launches * xl__launch_ns(l);
    const double work = fmax(fma, memory);
    group->est_ns = work + launch;
    group->bound = launch > work ? "launch" : fma >= memory ? "fma" : "memory";
}

void xl__code_clear(struct xl__code *c)
{
    for (unsigned i = 0; i < XL__MAX_STEPS; i++)
        xl__str_clear(&c->text[i]);
}

void xl__schedule_clear(struct xl__schedule *s)
{
    for (unsigned i = 0; i < s->n_groups; i++) {
        free(s->group[i].value);
        xl__str_clear(&s->group[i].why);
    }
    free(s->group);
    free(s->temp);
    *s = (struct xl__schedule){0};
}
