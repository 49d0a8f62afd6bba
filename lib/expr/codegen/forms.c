/* SPDX-License-Identifier: Apache-2.0 */
/* The table of forms: for each form of a group the functions that choose its
 * geometry, state it, and write its kernels; and the form in words. */
#include "expr/codegen/forms.h"

static const struct form_functions {
    void (*geometry)(const struct xl__graph *g, const struct xl__limits *l,
                     struct xl__group *group);
    void (*explain)(const struct xl__group *group, struct xl__str *out);
    xl_status (*plan)(const struct xl__graph *g, const struct xl__limits *l,
                      const struct xl__group *group,
                      const struct xl__schedule *s, struct xl__code *code,
                      struct xl__plan *plan);
    const char *words;
} forms[] = {
    [XL__FORM_MAP] = {xl__map_geometry, xl__map_explain, xl__map_plan,
                      "each element by itself"},
    [XL__FORM_ROWS] = {xl__rows_geometry, xl__rows_explain, xl__rows_plan,
                       "rows by the items of one work-group"},
    [XL__FORM_COLUMNS] = {xl__columns_geometry, xl__columns_explain,
                          xl__columns_plan, "columns side by side"},
    [XL__FORM_CHUNKS] = {xl__chunks_geometry, xl__chunks_explain,
                         xl__chunks_plan,
                         "rows in chunks, because they are too few to fill "
                         "the device"},
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

/* "4096 x 1024" */
static void print_extent(const size_t size[XL_MAX_DIMS], struct xl__str *out)
{
    unsigned first = 0;
    while (first + 1 < XL_MAX_DIMS && size[first] == 1)
        first++;
    for (unsigned d = first; d < XL_MAX_DIMS; d++)
        xl__str_printf(out, d == first ? "%zu" : " x %zu", size[d]);
}

void xl__group_explain(const struct xl__group *group, struct xl__str *out)
{
    unsigned n_written = 0;
    for (unsigned i = 0; i < group->n_operands; i++)
        n_written += group->operand[i].is_written;
    xl__str_printf(out, "%u operation%s over ", group->n_operations,
                   group->n_operations == 1 ? "" : "s");
    print_extent(group->extent, out);
    xl__str_printf(out, ", %s", forms[group->form].words);
    if (group->form == XL__FORM_ROWS)
        xl__str_printf(out, " in %u sweep%s", group->n_sweeps,
                       group->n_sweeps == 1 ? "" : "s");
    xl__str_printf(out, ": %u read, %u written, %.4g MB. %s",
                   group->n_operands - n_written, n_written,
                   group->bytes * 1e-6, xl__str_text(&group->why));
    forms[group->form].explain(group, out);
}

void xl__code_clear(struct xl__code *c)
{
    for (unsigned i = 0; i < XL__MAX_STEPS; i++)
        xl__str_clear(&c->text[i]);
}
