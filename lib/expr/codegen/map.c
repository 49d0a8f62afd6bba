/* SPDX-License-Identifier: Apache-2.0 */
/* Each element by itself: how much of it an item does, and the launch.
 *
 * All loops together are one row of vectors, which is dealt out: neighbouring
 * vectors to neighbouring items, or long runs to single items on CPUs. Loops'
 * indices come back by multiplications with reciprocals that the host works
 * out, since a division by what only the launch knows is slow everywhere. */
#include "expr/codegen/map.h"

#include <math.h>

#include "base/alloc.h"
#include "expr/codegen/reduce_size.h"

enum {
    ACCESS_BYTES = 16,    /* of one item at a time on a GPU */
    AHEAD_BYTES = 64,     /* that an item should ask for before it waits */
    MOST_GPU_VW = 8,
    WG = 256,             /* NV-24: no kernel is refused that size */
    MOST_UNROLL = 4,
    GROUPS_PER_UNIT = 64, /* CP-08 */
    GROUP_BYTES = 1 << 17,/* of memory traffic that an item takes in a go */
    BITS = 31             /* of what xl_divide() divides */
};

/* -- geometry -------------------------------------------------------------- */

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

/* Neighbours side by side: no more than one access, aligned, and none that
 * crosses from row to row. A stride between elements is best served one by
 * one. */
static size_t narrow(const struct xl__group *group)
{
    size_t vw = MOST_GPU_VW;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        if (o->at == XL__AT_INDEX)
            continue;
        if (stride > 1)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / xl_dtype_bytes(o->dtype));
        if (stride == 1)
            vw = xl__min_size(vw, o->align);
    }
    while (group->n_loops > 1 && inner_size(group) % vw != 0)
        vw /= 2;
    return xl__min_size(vw, xl__power_down(inner_size(group)));
}

static size_t elements(const struct xl__group *group)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= group->loop[d].size;
    return n;
}

static size_t n_vectors(const struct xl__group *group)
{
    return elements(group) / inner_size(group) *
           xl__ceil_div(inner_size(group), group->geo.vw);
}

size_t xl__map_load_bytes(const struct xl__group *group)
{
    size_t bytes = 0;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (!o->is_written && o->at != XL__AT_INDEX &&
            !xl__map_is_turned(group, o))
            bytes += xl_dtype_bytes(o->dtype) * group->geo.vw;
    }
    return bytes;
}

/* Vectors that an item loads before it uses the first, if that leaves groups
 * for every unit. */
static unsigned unroll_of(const struct xl__limits *l,
                          const struct xl__group *group)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t bytes = xl__map_load_bytes(group);
    size_t unroll = MOST_UNROLL;
    while (unroll > 1 && (bytes * unroll > AHEAD_BYTES || bytes == 0 ||
                          n_vectors(group) < unroll * units * WG))
        unroll /= 2;
    return (unsigned)unroll;
}

/* Results that no cache can hold need not be in one, unless they are where
 * arguments have just been read. */
static bool is_streamed(const struct xl__limits *l,
                        const struct xl__group *group)
{
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        for (unsigned j = 0; j < k; j++) {
            const struct xl__operand *other = &group->operand[j];
            if (o->at == other->at && o->index == other->index &&
                o->is_written != other->is_written)
                return false;
        }
    }
    return group->bytes > xl__num_or(l, XL__F_llc_bytes, INFINITY);
}

size_t xl__map_turns(const struct xl__limits *l, const struct xl__group *group,
                     size_t work)
{
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const double groups = group->bytes / GROUP_BYTES;
    const size_t least = GROUPS_PER_UNIT * units;
    const size_t n = groups > (double)least ? (size_t)groups : least;
    return xl__ceil_div(work, n);
}

static void for_items(const struct xl__limits *l, struct xl__group *group)
{
    const size_t native = xl__size_or(l, XL__F_native_vector_f32, 1);
    struct xl__geometry *geo = &group->geo;
    size_t vw = xl__power_down(xl__min_size(native, XL__EXPR_MAX_VW));
    vw = xl__min_size(vw, xl__power_down(inner_size(group)));
    geo->vw = (unsigned)vw;
    geo->wg = 1;
    geo->unroll = 1;
    geo->is_streamed = is_streamed(l, group);
    geo->per_wg = xl__map_turns(l, group, n_vectors(group));
}

static void for_neighbours(const struct xl__limits *l,
                           struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    geo->vw = (unsigned)narrow(group);
    geo->wg = (unsigned)xl__power_down(
        xl__min_size(WG, xl__size_or(l, XL__F_max_wg_size, 1)));
    geo->unroll = unroll_of(l, group);
    geo->per_wg = 0;
}

static size_t n_groups(const struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    const size_t each = geo->per_wg ? geo->per_wg : geo->wg * geo->unroll;
    if (geo->tile)
        return xl__map_tile_groups(group);
    return xl__ceil_div(n_vectors(group), each);
}

static void say_why(struct xl__group *group)
{
    const struct xl__geometry *geo = &group->geo;
    if (geo->tile)
        xl__str_printf(&group->why, "tiles of %u by %u turned in %s, ",
                       geo->tile, geo->tile,
                       geo->per_wg ? "registers" : "local memory");
    if (geo->per_wg)
        xl__str_printf(&group->why,
                       "vectors of %u, %zu%s a work-group of one item",
                       geo->vw, geo->per_wg, geo->tile ? " tiles" : "");
    else
        xl__str_printf(&group->why,
                       "vectors of %u, %u an item, work-groups of %u",
                       geo->vw, geo->unroll, geo->wg);
}

void xl__map_geometry(const struct xl__graph *g, const struct xl__limits *l,
                      struct xl__group *group)
{
    const double units = xl__num_or(l, XL__F_compute_units, 1);
    group->geo = (struct xl__geometry){.is_wide = xl__emit_is_wide(group)};
    if (xl__by_items(l))
        for_items(l, group);
    else
        for_neighbours(l, group);
    xl__map_tile_geometry(g, l, group);
    const double fill = (double)n_groups(group) / units;
    xl__group_estimate(l, fill < 1 ? fill : 1, 1, group);
    say_why(group);
}

/* -- launch ---------------------------------------------------------------- */

/* n / d = (n mul) >> shift for every n below 2^31.
 * Source: Granlund, Montgomery, "Division by invariant integers using
 * multiplication", PLDI 1994. */
void xl__map_arg_divisor(const struct xl__group *group, struct xl__step *step,
                         size_t d)
{
    const bool is_wide = group->geo.is_wide;
    unsigned shift = BITS;
    while (d > (size_t)1 << (shift - BITS))
        shift++;
    const uint64_t power = (uint64_t)1 << (shift < 63 ? shift : 63);
    xl__arg_u32(step, is_wide ? 0 : (size_t)((power + d - 1) / d));
    xl__arg_u32(step, shift);
}

void xl__map_arg_index(const struct xl__group *group, struct xl__step *step,
                       size_t value)
{
    if (group->geo.is_wide)
        xl__arg_u64(step, value);
    else
        xl__arg_u32(step, value);
}

/* As xl__map_text() names them: vectors, per_row, turns, and of each division
 * its multiplier and shift. */
static void add_own_args(const struct xl__group *group, struct xl__step *step)
{
    const size_t per_row = xl__ceil_div(inner_size(group), group->geo.vw);
    xl__map_arg_index(group, step, n_vectors(group));
    if (group->n_loops > 1) {
        xl__map_arg_index(group, step, per_row);
        xl__map_arg_divisor(group, step, per_row);
    }
    for (unsigned d = 1; d + 1 < group->n_loops; d++)
        xl__map_arg_divisor(group, step, group->loop[d].size);
    if (group->geo.per_wg)
        xl__map_arg_index(group, step, group->geo.per_wg);
}

xl_status xl__map_plan(const struct xl__graph *g, const struct xl__limits *l,
                       const struct xl__group *group,
                       const struct xl__schedule *s, struct xl__code *code,
                       struct xl__plan *plan)
{
    struct xl__str *text = &code->text[plan->n_steps];
    struct xl__step *step = &plan->step[plan->n_steps];
    struct xl__emit m = {.g = g, .group = group, .l = l, .out = text,
                         .vw = group->geo.vw};
    if (xl__emit_n_args(g, group) + XL__MAP_ARGS > XL__MAX_ARGS)
        return XL_UNSUPPORTED;
    xl__map_text(&m);
    if (text->broken)
        return XL_NO_MEMORY;
    step->source = "expr_map";
    step->kernel = "expr_map";
    step->text = xl__str_text(text);
    step->dims = 1;
    step->local[0] = group->geo.wg;
    step->global[0] = n_groups(group) * group->geo.wg;
    step->local_mem_bytes = xl__map_tile_local_bytes(group);
    step->slice_dim = 0;
    xl__emit_args(&m, s, step);
    if (group->geo.tile)
        xl__map_tile_args(group, step);
    else
        add_own_args(group, step);
    plan->n_steps++;
    return XL_OK;
}
