/* SPDX-License-Identifier: Apache-2.0 */
/* The form ROWS, in which a row stays whole: `lanes` items of a work-group
 * share a row and sweep over it as often as its reductions depend on each
 * other. Geometry and launch of the kernel cl/expr/row_reduction.cl.
 *
 * If the row's vectors fit into the registers of its lanes (geo.held vectors
 * an item), they are read from memory once. On CPUs a work-group is one item,
 * which processes geo.per_wg rows. */
#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/reduction_element.h"

enum {
    MAX_HELD_WORDS = 64,
    MIN_WG = 128,          /* with smaller ones too few items are resident */
    SWEEP_LANES = 256,     /* of rows that do not fit into registers */
    SIDE_BY_SIDE = 8,      /* lanes of a row at least, */
    MIN_ELEMS = 4,         /* if each has so many elements */
    GROUP_BYTES = 1 << 17, /* memory traffic of a work-group on a CPU */
    MAX_KEPT = 4           /* values of a row in a CPU's private memory */
};

/* -- geometry ------------------------------------------------------------- */

/* The geometry for CPUs: an item processes several rows, one after another. A
 * row is read from memory once: the next one is prefetched, and later sweeps
 * find it in a cache; what is costly to compute again is kept beside it. */
static void choose_cpu_rows(const struct xl__graph *g,
                            const struct xl__limits *l,
                            struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t rows = xl__kept_elems(group);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = xl__model_size(l, XL__M_core_groups) * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    group->geo.wg = group->geo.lanes = 1;
    group->geo.per_wg = xl__ceil_div(rows, n);
    group->geo.is_streamed = xl__is_streamed(l, group);
    group->geo.is_kept =
        group->n_sweeps > 1 && xl__reduced_elems(group) <= XL__KEPT_ELEMS;
    if (group->geo.is_kept) {
        const unsigned kept = xl__kept_values(g, group);
        group->geo.is_kept = kept > 0 && kept <= MAX_KEPT;
    }
}

/* Bytes of the widest element that is read along rows. */
static size_t widest_bytes(const struct xl__group *group)
{
    size_t bytes = 1;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__operand_is_of_rows(group, o))
            bytes = xl__max_size(bytes, xl_dtype_bytes(o->dtype));
    }
    return bytes;
}

/* Lanes that hold a row of so many words. For narrow types each lane holds
 * fewer words, since the same number of words is fewer bytes in flight; up to
 * MIN_WG lanes are used before a lane holds more than half of that. */
static size_t lanes_to_hold(const struct xl__limits *l,
                            const struct xl__group *group, size_t words)
{
    const size_t each = xl__model_size(
        l, group->n_sweeps > 1 ? XL__M_held_words : XL__M_held_once_words);
    const size_t narrow = xl__model_size(l, XL__M_held_narrow_words);
    if (widest_bytes(group) >= sizeof(float))
        return xl__ceil_div(words, each);
    return xl__max_size(xl__ceil_div(words, narrow),
                        xl__min_size(MIN_WG, xl__ceil_div(words, narrow / 2)));
}

/* The lanes of a row: as few as can hold it, since the cost of a join grows
 * with them, but at least SIDE_BY_SIDE for contiguous reads. A row that does
 * not fit is swept by SWEEP_LANES items, which read it again in each sweep. */
static void choose_gpu_lanes(const struct xl__graph *g,
                             const struct xl__limits *l,
                             struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    const size_t words = xl__max_size(xl__held_values(g, group), 1);
    const size_t most = xl__max_wg_for_states(l, xl__state_words(g, group));
    const size_t vectors = xl__row_vectors(group);
    const size_t lanes = (size_t)xl__ceil_power_of_two(xl__max_size(
        xl__min_size(SIDE_BY_SIDE, xl__ceil_div(vectors * geo->vw, MIN_ELEMS)),
        lanes_to_hold(l, group, vectors * geo->vw * words)));
    geo->lanes = (unsigned)xl__min_size(
        lanes, xl__min_size(xl__model_size(l, XL__M_held_lanes), most));
    const size_t held = xl__ceil_div(vectors, geo->lanes);
    if (held * geo->vw * words <= MAX_HELD_WORDS)
        geo->held = (unsigned)held;
    else
        geo->lanes = (unsigned)xl__min_size(SWEEP_LANES, most);
    geo->wg = (unsigned)xl__max_size(geo->lanes, xl__min_size(MIN_WG, most));
}

static size_t rows_of_group(const struct xl__geometry *geo)
{
    return geo->per_wg ? geo->per_wg : geo->wg / geo->lanes;
}

void xl__rows_geometry(const struct xl__graph *g, const struct xl__limits *l,
                       struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    *geo = (struct xl__geometry){.vw = (unsigned)xl__reduction_vw(g, l, group),
                                 .is_wide = xl__emit_is_wide(group)};
    geo->unroll = xl__reduction_unroll(g, l, group);
    if (xl__is_vector_cpu(l))
        choose_cpu_rows(g, l, group);
    else
        choose_gpu_lanes(g, l, group);
    const double fill =
        (double)xl__ceil_div(xl__kept_elems(group), rows_of_group(geo)) /
        units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
}

void xl__rows_explain(const struct xl__group *group, struct xl__str *out)
{
    const struct xl__geometry *geo = &group->geo;
    if (geo->per_wg)
        xl__str_printf(out, "vectors of %u, %zu rows an item%s%s", geo->vw,
                       geo->per_wg, geo->is_kept ? ", costly values kept" : "",
                       geo->is_streamed ? ", stored past the caches" : "");
    else if (geo->held)
        xl__str_printf(out,
                       "vectors of %u, %u items a row, each holds %u in "
                       "registers: read once",
                       geo->vw, geo->lanes, geo->held);
    else
        xl__str_printf(
            out, "vectors of %u, %u items a row, %u sweep%s over it", geo->vw,
            geo->lanes, group->n_sweeps, group->n_sweeps > 1 ? "s" : "");
}

/* -- launch --------------------------------------------------------------- */

/* Do an item's loops have more iterations than the device executes (GE-24)? */
static bool exceeds_loop_limit(const struct xl__limits *l,
                               const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const double rows = geo->per_wg ? (double)geo->per_wg : 1;
    const double iterations = (double)xl__row_vectors(group) *
                              group->n_sweeps /
                              ((double)geo->lanes * geo->unroll);
    /* No known limit is NaN: the comparison is false. */
    return !geo->held &&
           rows * iterations > xl__num(l, XL__F_max_loop_turns) / 2;
}

xl_status xl__rows_plan(const struct xl__graph *g, const struct xl__limits *l,
                        const struct xl__group *group,
                        const struct xl__schedule *s, struct xl__code *code,
                        struct xl__plan *plan)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = rows_of_group(geo);
    return exceeds_loop_limit(l, group)
               ? XL_UNSUPPORTED
               : xl__reduction_plan(
                     g, l, group, s, code, plan,
                     &(struct xl__reduction_launch){
                         .kernel = "expr_row_reduction",
                         .file = "row_reduction",
                         .n_groups = xl__ceil_div(xl__kept_elems(group), each),
                         .n_local = xl__lanes_room(geo),
                         .n_index = geo->per_wg > 0,
                         .index = {each}});
}
