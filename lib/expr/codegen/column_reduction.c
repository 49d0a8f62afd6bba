/* SPDX-License-Identifier: Apache-2.0 */
/* The form COLUMNS: the reduced loops are outside, a kept contiguous loop is
 * inside. Geometry and launches of the kernels of cl/expr/column_reduction.cl.
 *
 * On a GPU an item owns one vector of columns and keeps its states in
 * registers. On a CPU an item owns `held` adjacent vectors, whose states fit
 * into the core's first-level cache. If the columns are too few to fill the
 * device, the reduced range is cut into chunks, which a second launch joins.
 */
#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/reduction_element.h"

enum {
    WG = 256,
    SIDE_BY_SIDE = 32,    /* items along a row: 512 bytes of it */
    GROUPS_PER_UNIT = 16, /* work-groups per compute unit of a GPU: several
                             waves, so that a last wave that is only partly
                             full is a small share of the time */
    CHUNKS_PER_CORE = 8,  /* on a CPU */
    MIN_ITERATIONS = 4,   /* steps of an item: the least for a work-group */
    MAX_CHUNKS = 4096,
    MAX_ITERATIONS = 1 << 24, /* of an item's loop: the error bound of sums in
                                 expr/reduce.clh holds up to this count */
    NEAR_BYTES = 16384, /* states of an item, in a CPU core's first cache */
    STATE_WORDS = 12,   /* words of an item's states in a GPU's registers */
    CHUNKS_EACH = 8,    /* chunks that an item of the join kernel joins */
    MAX_JOINERS = 64    /* items that join one column */
};

/* -- geometry ------------------------------------------------------------- */

/* Work-groups that cover all columns of all outer kept loops, for one chunk.
 */
static size_t groups_across(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = geo->wg / geo->lanes * geo->held * geo->vw;
    return xl__kept_elems(group) / xl__inner_size(group) *
           xl__ceil_div(xl__inner_size(group), each);
}

/* Set wg, lanes and held. On a CPU: one item with as many vectors as have
 * their states in the first-level cache. On a GPU: up to SIDE_BY_SIDE items
 * along a row, the others are lanes. */
static void choose_items(const struct xl__limits *l, struct xl__group *group,
                         unsigned words)
{
    struct xl__geometry *geo = &group->geo;
    const size_t vectors = xl__ceil_div(xl__inner_size(group), geo->vw);
    if (xl__is_vector_cpu(l)) {
        const size_t bytes = sizeof(float) * xl__max_size(words, 1) * geo->vw;
        geo->wg = geo->lanes = 1;
        geo->held = (unsigned)xl__min_size(
            vectors, xl__max_size(NEAR_BYTES / bytes, 1));
        return;
    }
    geo->held = 1;
    geo->wg =
        (unsigned)xl__min_size(WG, xl__max_wg_for_states(l, words * geo->vw));
    const size_t side = xl__min_size(
        xl__min_size(SIDE_BY_SIDE, (size_t)xl__ceil_power_of_two(vectors)),
        geo->wg);
    geo->lanes = geo->wg / (unsigned)side;
}

/* Chunks of the reduced range: as many as give the device enough work-groups,
 * with at least MIN_ITERATIONS steps each, and as many as keep every item's
 * loop below the device's limit on iterations (GE-24). */
static size_t choose_chunks(const struct xl__limits *l,
                            const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t target =
        units * (xl__is_vector_cpu(l) ? CHUNKS_PER_CORE : GROUPS_PER_UNIT);
    const size_t rows = xl__reduced_elems(group);
    const size_t step = geo->lanes * (size_t)geo->unroll;
    const double iterations = /* GE-24 */
        xl__num_or(l, XL__F_max_loop_turns, MAX_ITERATIONS);
    const double least =
        (double)rows * geo->held / geo->lanes / (iterations / 2);
    size_t n = xl__min_size(xl__ceil_div(target, groups_across(group)),
                            xl__ceil_div(rows, step * MIN_ITERATIONS));
    if (groups_across(group) * 2 > target)
        n = 1;
    n = xl__max_size(n, (size_t)least + 1);
    return xl__min_size(n, MAX_CHUNKS);
}

/* Partial states in scratch: one for each chunk and column, rounded up to
 * whole vectors. */
static size_t n_partials(const struct xl__group *group)
{
    return xl__kept_elems(group) / xl__inner_size(group) *
           xl__round_up(xl__inner_size(group), group->geo.vw) *
           group->geo.chunks;
}

/* Halve the vector width until the states of an item fit into STATE_WORDS
 * words: large states leave too few items resident on a compute unit. */
static unsigned narrow_vector(const struct xl__limits *l, unsigned vw,
                              unsigned words)
{
    while (!xl__is_vector_cpu(l) && vw > 1 && vw * words > STATE_WORDS)
        vw /= 2;
    return vw;
}

void xl__columns_geometry(const struct xl__graph *g,
                          const struct xl__limits *l, struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const unsigned words = xl__state_words(g, group);
    *geo = (struct xl__geometry){.vw = (unsigned)xl__reduction_vw(g, l, group),
                                 .is_wide = xl__emit_is_wide(group)};
    geo->vw = narrow_vector(l, geo->vw, words);
    geo->unroll = xl__reduction_unroll(g, l, group);
    choose_items(l, group, words);
    geo->chunks = choose_chunks(l, group);
    geo->joiners = (unsigned)xl__min_size(
        xl__min_size(MAX_JOINERS, geo->wg),
        (size_t)xl__ceil_power_of_two(xl__ceil_div(geo->chunks, CHUNKS_EACH)));
    group->partial_bytes =
        geo->chunks > 1 ? xl__partial_bytes(g, group, n_partials(group)) : 0;
    const double fill = (double)(groups_across(group) * geo->chunks) /
                        xl__num_or(l, XL__F_compute_units, 1);
    xl__group_estimate(l, fill < 1 ? fill : 1, geo->chunks > 1 ? 2 : 1, group);
}

void xl__columns_explain(const struct xl__group *group, struct xl__str *out)
{
    const struct xl__geometry *geo = &group->geo;
    xl__str_printf(out,
                   "vectors of %u columns, %u by %u items down a column, "
                   "%zu chunk%s",
                   geo->vw, geo->held, geo->lanes, geo->chunks,
                   geo->chunks > 1 ? "s, joined by a second launch" : "");
}

/* -- launch --------------------------------------------------------------- */

/* Work-groups of the join kernel. */
static size_t n_join_groups(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t inner = xl__inner_size(group);
    return xl__kept_elems(group) / inner *
           xl__ceil_div(xl__ceil_div(inner, geo->vw), geo->wg / geo->joiners);
}

xl_status xl__columns_plan(const struct xl__graph *g,
                           const struct xl__limits *l,
                           const struct xl__group *group,
                           const struct xl__schedule *s, struct xl__code *code,
                           struct xl__plan *plan)
{
    xl_status status;
    const struct xl__geometry *geo = &group->geo;
    const size_t chunks = geo->chunks;
    struct xl__reduction_launch how = {
        .kernel = "expr_column_reduction",
        .file = "column_reduction",
        .n_groups = groups_across(group) * chunks,
        .n_local = geo->wg > 1 ? geo->wg * geo->vw : 0,
        .n_partials = chunks > 1 ? n_partials(group) : 0,
        .n_index = chunks > 1 ? 3 : 0,
        .index = {chunks, xl__ceil_div(xl__reduced_elems(group), chunks), 0}};
    TRY(xl__reduction_plan(g, l, group, s, code, plan, &how));
    if (chunks == 1)
        return XL_OK;
    how.kernel = "expr_column_reduction_join";
    how.is_join = true;
    how.n_groups = n_join_groups(group);
    TRY(xl__reduction_plan(g, l, group, s, code, plan, &how));
fail:
    return status;
}
