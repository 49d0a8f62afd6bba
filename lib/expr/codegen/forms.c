/* SPDX-License-Identifier: Apache-2.0 */
/* The table of forms: for each form of a group the function that chooses its
 * geometry and the one that writes its kernels. */
#include "expr/codegen/forms.h"

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
    [XL__FORM_CHUNKS] = {xl__chunks_geometry, xl__chunks_plan},
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

void xl__code_clear(struct xl__code *c)
{
    for (unsigned i = 0; i < XL__MAX_STEPS; i++)
        xl__str_clear(&c->text[i]);
}
