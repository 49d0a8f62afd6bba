/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by the form of a group: the geometry of each form, its text and its
 * launches. */
#ifndef XL_EXPR_FORMS_H
#define XL_EXPR_FORMS_H

#include "expr/graph/group.h"
#include "runtime/plan.h"

/* Set geo, partial_bytes, est_ns and bound, and say why; by form. */
void xl__geometry_choose(const struct xl__graph *g, const struct xl__limits *l,
                         struct xl__group *group);
void xl__map_geometry(const struct xl__graph *g, const struct xl__limits *l,
                      struct xl__group *group);
void xl__rows_geometry(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group);
void xl__columns_geometry(const struct xl__graph *g,
                          const struct xl__limits *l, struct xl__group *group);
void xl__chunks_geometry(const struct xl__graph *g, const struct xl__limits *l,
                         struct xl__group *group);

/* Kernel texts of one group, by step; free with xl__code_clear(). */
struct xl__code {
    struct xl__str text[XL__MAX_STEPS];
};
void xl__code_clear(struct xl__code *c);

/* The group's texts and steps, by its form. Steps borrow the
 * texts. XL_UNSUPPORTED when it does not fit the device; XL_NO_MEMORY. */
xl_status xl__group_plan(const struct xl__graph *g, const struct xl__limits *l,
                         const struct xl__group *group,
                         const struct xl__schedule *s, struct xl__code *code,
                         struct xl__plan *plan);

/* The same by form; each appends to plan and code. */
xl_status xl__map_plan(const struct xl__graph *g, const struct xl__limits *l,
                       const struct xl__group *group,
                       const struct xl__schedule *s, struct xl__code *code,
                       struct xl__plan *plan);
xl_status xl__rows_plan(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__group *group,
                        const struct xl__schedule *s, struct xl__code *code,
                        struct xl__plan *plan);
xl_status xl__columns_plan(const struct xl__graph *g,
                           const struct xl__limits *l,
                           const struct xl__group *group,
                           const struct xl__schedule *s, struct xl__code *code,
                           struct xl__plan *plan);
xl_status xl__chunks_plan(const struct xl__graph *g,
                          const struct xl__limits *l,
                          const struct xl__group *group,
                          const struct xl__schedule *s, struct xl__code *code,
                          struct xl__plan *plan);

#endif
