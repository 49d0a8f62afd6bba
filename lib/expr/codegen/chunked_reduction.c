/* SPDX-License-Identifier: Apache-2.0 */
/* The form CHUNKS: few long rows, each cut into chunks so that the device is
 * busy. Geometry and launches of the kernels of cl/expr/chunked_reduction.cl.
 */
#include "base/alloc.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/reduction_element.h"

enum {
    CHUNK_WG = 256,
    GROUPS_PER_UNIT = 16,    /* work-groups per compute unit of a GPU: several
                                waves, so that a last wave that is only partly
                                full is a small share of the time */
    CHUNKS_PER_CORE = 8,     /* on a CPU */
    MIN_ITERATIONS = 4,      /* steps of an item: the least for a work-group */
    MAX_CHUNKS = 4096,       /* of a row */
    MAX_ITERATIONS = 1 << 24 /* of an item's loop: the error bound of sums in
                                expr/reduce.clh holds up to this count */
};

/* -- geometry ------------------------------------------------------------- */

/* Chunks of a row: as many as keep the device busy, with at least
 * MIN_ITERATIONS steps each, and as many as keep every item's loop below the
 * device's limit on iterations (GE-24). */
static size_t choose_chunks(const struct xl__limits *l,
                            const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const bool by_items = xl__is_vector_cpu(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t rows = xl__kept_elems(group);
    const size_t n_groups =
        units * (by_items ? CHUNKS_PER_CORE : GROUPS_PER_UNIT);
    const size_t step = geo->lanes * (size_t)geo->unroll;
    const size_t most =
        xl__ceil_div(xl__row_vectors(group), step * MIN_ITERATIONS);
    const double iterations = /* GE-24 */
        xl__num_or(l, XL__F_max_loop_turns, MAX_ITERATIONS);
    const double least = (double)xl__reduced_elems(group) /
                         ((double)geo->lanes * geo->vw) / (iterations / 2);
    size_t n = xl__min_size(xl__ceil_div(n_groups, rows), most);
    n = xl__min_size(xl__max_size(n, (size_t)least + 1), MAX_CHUNKS);
    return xl__max_size(n, 1);
}

void xl__chunks_geometry(const struct xl__graph *g, const struct xl__limits *l,
                         struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    *geo = (struct xl__geometry){.vw = (unsigned)xl__reduction_vw(g, l, group),
                                 .wg = 1,
                                 .is_wide = xl__emit_is_wide(group)};
    geo->unroll = xl__reduction_unroll(g, l, group);
    if (!xl__is_vector_cpu(l))
        geo->wg = (unsigned)xl__min_size(
            CHUNK_WG, xl__max_wg_for_states(l, xl__state_words(g, group)));
    geo->lanes = geo->wg;
    geo->chunks = choose_chunks(l, group);
    group->partial_bytes =
        xl__partial_bytes(g, group, xl__kept_elems(group) * geo->chunks);
    xl__group_estimate(l, 1, 2, group);
}

void xl__chunks_explain(const struct xl__group *group, struct xl__str *out)
{
    const struct xl__geometry *geo = &group->geo;
    xl__str_printf(out,
                   "vectors of %u, %zu chunk%s a row, each by %u item%s, "
                   "joined by a second launch",
                   geo->vw, geo->chunks, geo->chunks > 1 ? "s" : "", geo->wg,
                   geo->wg > 1 ? "s" : "");
}

/* -- launch --------------------------------------------------------------- */

xl_status xl__chunks_plan(const struct xl__graph *g,
                          const struct xl__limits *l,
                          const struct xl__group *group,
                          const struct xl__schedule *s, struct xl__code *code,
                          struct xl__plan *plan)
{
    xl_status status;
    const struct xl__geometry *geo = &group->geo;
    const size_t rows = xl__kept_elems(group), chunks = geo->chunks;
    const size_t inner = group->loop[group->n_loops - 1].size;
    const size_t lines = xl__reduced_elems(group) / inner;
    struct xl__reduction_launch how = {
        .kernel = "expr_chunked_reduction",
        .file = "chunked_reduction",
        .n_groups = rows * chunks,
        .n_local = xl__lanes_room(geo),
        .n_partials = rows * chunks,
        .n_index = 3,
        .index = {chunks, xl__ceil_div(inner / geo->vw * lines, chunks),
                  xl__ceil_div(inner % geo->vw * lines, chunks)}};
    TRY(xl__reduction_plan(g, l, group, s, code, plan, &how));
    how.kernel = "expr_chunked_reduction_join";
    how.is_join = true;
    how.n_groups = rows;
    TRY(xl__reduction_plan(g, l, group, s, code, plan, &how));
fail:
    return status;
}
