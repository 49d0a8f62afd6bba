/* SPDX-License-Identifier: Apache-2.0 */
/* Reduced loops outside, a kept contiguous one inside: an item owns vectors of
 * neighbouring columns and walks down, so each access is as wide as in a copy.
 *
 *          column 0   1  ..   width - 1
 *   lane 0   |vw|vw|vw|vw|vw|   of a work-group: `lanes` items share a column
 *   lane 1   |vw|vw|vw|vw|vw|   and join their states through local memory
 *
 * A CPU's item owns `held` vectors side by side, whose states stay in its
 * nearest cache while it reads whole lines. Where columns alone do not fill
 * the device, the reduced range is cut into chunks that a second launch
 * joins. */
#include "expr/codegen/column_reduction.h"

#include "base/alloc.h"
#include "expr/codegen/reduce_size.h"

enum {
    WG = 256,
    SIDE_BY_SIDE = 32,    /* items along a row: 512 bytes of it */
    GROUPS_PER_UNIT = 16, /* of a GPU: several rounds, so that the last one,
                             which may be half empty, is short */
    PIECES_PER_CORE = 8,  /* of a CPU */
    LEAST_TURNS = 4,      /* of an item: less is not worth a group */
    MOST_CHUNKS = 4096,
    MOST_TURNS = 1 << 24, /* of an item: the bound of its sums */
    NEAR_BYTES = 16384,   /* of states that stay in a core's nearest cache */
    STATE_WORDS = 12,     /* of an item, in a GPU's registers */
    CHUNKS_EACH = 8,      /* that an item joins, and items that join then */
    MOST_JOINERS = 64
};

/* -- geometry -------------------------------------------------------------- */

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

/* Groups side by side, all outer kept loops together. */
static size_t across(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = geo->wg / geo->lanes * geo->held * geo->vw;
    return xl__kept_elems(group) / inner_size(group) *
           xl__ceil_div(inner_size(group), each);
}

static void choose_items(const struct xl__limits *l, struct xl__group *group,
                         unsigned words)
{
    struct xl__geometry *geo = &group->geo;
    const size_t vectors = xl__ceil_div(inner_size(group), geo->vw);
    if (xl__by_items(l)) {
        const size_t bytes = sizeof(float) * xl__max_size(words, 1) * geo->vw;
        geo->wg = geo->lanes = 1;
        geo->held = (unsigned)xl__min_size(
            vectors, xl__max_size(NEAR_BYTES / bytes, 1));
        return;
    }
    geo->held = 1;
    geo->wg = (unsigned)xl__min_size(WG, xl__most_items(l, words * geo->vw));
    const size_t side =
        xl__min_size(xl__min_size(SIDE_BY_SIDE, xl__power_up(vectors)),
                     geo->wg);
    geo->lanes = geo->wg / (unsigned)side;
}

static size_t cut(const struct xl__limits *l, const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t wanted =
        units * (xl__by_items(l) ? PIECES_PER_CORE : GROUPS_PER_UNIT);
    const size_t rows = xl__reduced_elems(group);
    const size_t turn = geo->lanes * (size_t)geo->unroll;
    const double turns = /* GE-24 */
        xl__num_or(l, XL__F_max_loop_turns, MOST_TURNS);
    const double least = (double)rows * geo->held / geo->lanes / (turns / 2);
    size_t n = xl__min_size(xl__ceil_div(wanted, across(group)),
                            xl__ceil_div(rows, turn * LEAST_TURNS));
    if (across(group) * 2 > wanted)
        n = 1;
    n = xl__max_size(n, (size_t)least + 1);
    return xl__min_size(n, MOST_CHUNKS);
}

/* Reductions of all chunks, whole vectors of them. */
static size_t places(const struct xl__group *group)
{
    return xl__kept_elems(group) / inner_size(group) *
           xl__round_up(inner_size(group), group->geo.vw) * group->geo.chunks;
}

/* Narrow vectors for states of many words: few of them leave too few items
 * resident. */
static unsigned narrower(const struct xl__limits *l, unsigned vw,
                         unsigned words)
{
    while (!xl__by_items(l) && vw > 1 && vw * words > STATE_WORDS)
        vw /= 2;
    return vw;
}

void xl__columns_geometry(const struct xl__graph *g,
                          const struct xl__limits *l, struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const unsigned words = xl__state_words(g, group);
    *geo = (struct xl__geometry){
        .vw = (unsigned)xl__reduce_vector(l, group),
        .is_wide = xl__emit_is_wide(group)};
    geo->vw = narrower(l, geo->vw, words);
    geo->unroll = xl__reduce_unroll(l, group);
    choose_items(l, group, words);
    geo->chunks = cut(l, group);
    geo->joiners = (unsigned)xl__min_size(
        xl__min_size(MOST_JOINERS, geo->wg),
        xl__power_up(xl__ceil_div(geo->chunks, CHUNKS_EACH)));
    group->partial_bytes =
        geo->chunks > 1 ? xl__partial_bytes(g, group, places(group)) : 0;
    const double fill = (double)(across(group) * geo->chunks) /
                        xl__num_or(l, XL__F_compute_units, 1);
    xl__group_estimate(l, fill < 1 ? fill : 1, geo->chunks > 1 ? 2 : 1,
                       group);
    xl__str_printf(&group->why,
                   "vectors of %u columns, %u by %u items down a column, "
                   "%zu chunk%s",
                   geo->vw, geo->held, geo->lanes, geo->chunks,
                   geo->chunks > 1 ? "s, joined by a second launch" : "");
}

/* -- launch ---------------------------------------------------------------- */

static size_t local_bytes(const struct xl__reducing *r)
{
    const struct xl__geometry *geo = &r->group->geo;
    size_t words = 0;
    for (unsigned i = 0; i < r->n_states; i++)
        words += r->state[i].acc->words;
    return geo->wg > 1 ? geo->wg * geo->vw * words * sizeof(float) : 0;
}

static size_t n_groups(const struct xl__group *group, bool is_join)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t inner = inner_size(group);
    if (!is_join)
        return across(group) * geo->chunks;
    return xl__kept_elems(group) / inner *
           xl__ceil_div(xl__ceil_div(inner, geo->vw),
                        geo->wg / geo->joiners);
}

static xl_status add_step(struct xl__reducing *r, const struct xl__schedule *s,
                          struct xl__plan *plan, bool is_join)
{
    const struct xl__group *group = r->group;
    const size_t chunks = group->geo.chunks;
    const size_t cuts[] = {
        chunks, xl__ceil_div(xl__reduced_elems(group), chunks), 0};
    struct xl__step *step = &plan->step[plan->n_steps];
    xl_status status;
    TRY(xl__reduce_fits(r, xl__partial_n_args(r), local_bytes(r)));
    (is_join ? xl__columns_join_text : xl__columns_text)(r);
    TRY(r->m.out->broken ? XL_NO_MEMORY : XL_OK);
    xl__reduce_step(r, s, step,
                    is_join ? "expr_columns_join" : "expr_columns",
                    n_groups(group, is_join));
    step->local_mem_bytes = local_bytes(r);
    if (chunks > 1)
        xl__partial_args(r, step, places(group), cuts);
    plan->n_steps++;
    return XL_OK;
fail:
    return status;
}

xl_status xl__columns_plan(const struct xl__graph *g,
                           const struct xl__limits *l,
                           const struct xl__group *group,
                           const struct xl__schedule *s, struct xl__code *code,
                           struct xl__plan *plan)
{
    xl_status status = XL_OK;
    const unsigned n = group->geo.chunks > 1 ? 2 : 1;
    for (unsigned i = 0; i < n && status == XL_OK; i++) {
        struct xl__reducing r = {0};
        status =
            xl__reducing_init(&r, g, l, group, &code->text[plan->n_steps]);
        if (status == XL_OK)
            status = add_step(&r, s, plan, i == 1);
        xl__reducing_clear(&r);
    }
    return status;
}
