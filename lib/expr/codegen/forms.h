/* SPDX-License-Identifier: Apache-2.0 */
/* The entry to code generation. A group (graph/group.h) has one of four forms,
 * and each form has functions:
 *
 *   form      geometry               plan                file
 *   MAP       xl__map_geometry       xl__map_plan        map.c, map_tiles.c
 *   ROWS      xl__rows_geometry      xl__rows_plan       row_reduction.c
 *   COLUMNS   xl__columns_geometry   xl__columns_plan    column_reduction.c
 *   CHUNKS    xl__chunks_geometry    xl__chunks_plan     chunked_reduction.c
 *
 * and a third one, xl__<form>_explain, which states the geometry in words.
 *
 * The geometry (vector width, work-group size, unrolling, chunks) is chosen
 * from the group's sizes and the device's limits, before any text exists. The
 * plan writes one or two kernels with that geometry, and their launches. */
#ifndef XL_EXPR_FORMS_H
#define XL_EXPR_FORMS_H

#include "expr/graph/group.h"
#include "runtime/plan.h"

/* Choose the geometry of a group by its form. Sets geo, partial_bytes, est_ns
 * and bound. The group's operands, loops, values, flop and bytes are set
 * before. */
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

/* Append what the group computes, how, and why. */
void xl__group_explain(const struct xl__group *group, struct xl__str *out);
void xl__map_explain(const struct xl__group *group, struct xl__str *out);
void xl__rows_explain(const struct xl__group *group, struct xl__str *out);
void xl__columns_explain(const struct xl__group *group, struct xl__str *out);
void xl__chunks_explain(const struct xl__group *group, struct xl__str *out);

/* The kernel texts of a plan: text[i] belongs to plan step i. Zero it before
 * use; free it with xl__code_clear(). */
struct xl__code {
    struct xl__str text[XL__MAX_STEPS];
};
void xl__code_clear(struct xl__code *c);

/* Append the kernels of a group to a plan: texts to *code, steps (kernel name,
 * launch size, arguments) to *plan. A text that *code has already is that of
 * the step and is not written again. Steps point into the texts, so *code must
 * live as long as *plan. `s` is the schedule that the group belongs to, for
 * the offsets of temporaries. XL_UNSUPPORTED: the kernel has too many
 * arguments or needs more local memory than the device has; XL_NO_MEMORY. */
xl_status xl__group_plan(const struct xl__graph *g, const struct xl__limits *l,
                         const struct xl__group *group,
                         const struct xl__schedule *s, struct xl__code *code,
                         struct xl__plan *plan);
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
