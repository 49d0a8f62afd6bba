/* SPDX-License-Identifier: Apache-2.0 */
/* Operands whose neighbours lie along another loop than those of the results:
 * whichever way items walk, they touch one of the two an element a line. So
 * both loops are walked together, in square tiles: such an operand is read
 * along its own lines and turned over the tile's diagonal, in local memory by
 * a GPU's work-group, in registers by a CPU's item.
 *
 *     in memory      tile       results
 *     across -->                last -->
 *     a b c d       a e i       a e i
 *     e f g h  -->  b f j  -->  b f j
 *     i j k l       c g k       c g k     */
#include "expr/codegen/map.h"

#include "base/alloc.h"
#include "expr/codegen/reduce_size.h"

enum {
    MOST_TILE = 64,   /* 256 bytes of f32: two lines of a GPU's cache */
    LEAST_TILE = 16,  /* of either loop: less is gathered as well by caches */
    LEAST_BLOCK = 4,  /* a CPU's */
    WORD_BYTES = 4,   /* of a bank of local memory */
    ACCESS_BYTES = 16,
    AHEAD_BYTES = 64, /* that an item should ask for before it waits */
    MOST_AHEAD = 4,   /* vectors, where there is nothing to ask for */
    RESIDENT = 2      /* groups of a unit, at least, that share its memory */
};

/* -- which operands -------------------------------------------------------- */

/* The innermost loop along which elements are neighbours, that the small case
 * of a self-check keeps; n_loops: none, or the results'. */
static unsigned loop_of(const struct xl__group *group,
                        const struct xl__operand *o)
{
    const unsigned last = group->n_loops - 1;
    if (o->is_written || o->at == XL__AT_INDEX || o->stride[last] < 2)
        return group->n_loops;
    for (unsigned d = last; d-- > 0;) {
        if (o->stride[d] == 1)
            return d;
    }
    return group->n_loops;
}

bool xl__map_is_turned(const struct xl__group *group,
                       const struct xl__operand *o)
{
    return group->geo.tile > 0 && loop_of(group, o) == group->geo.across;
}

/* The loop along which most bytes lie; n_loops: none. */
static unsigned best_loop(const struct xl__group *group)
{
    size_t bytes[XL__EXPR_LOOPS + 1] = {0};
    unsigned best = group->n_loops;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        bytes[loop_of(group, o)] += xl_dtype_bytes(o->dtype);
    }
    bytes[group->n_loops] = 0;
    for (unsigned d = 0; d < group->n_loops; d++) {
        if (bytes[d] > bytes[best])
            best = d;
    }
    return best;
}

/* -- sizes ----------------------------------------------------------------- */

static size_t inner_size(const struct xl__group *group)
{
    return group->loop[group->n_loops - 1].size;
}

/* Of the shorter side. */
static size_t side(const struct xl__group *group)
{
    return xl__min_size(inner_size(group),
                        group->loop[group->geo.across].size);
}

size_t xl__map_tile_pitch(const struct xl__group *group,
                          const struct xl__operand *o)
{
    return group->geo.tile + WORD_BYTES / xl_dtype_bytes(o->dtype);
}

size_t xl__map_tile_local_bytes(const struct xl__group *group)
{
    size_t bytes = 0;
    if (group->geo.per_wg)
        return 0;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (xl__map_is_turned(group, o))
            bytes += group->geo.tile * xl__map_tile_pitch(group, o) *
                     xl_dtype_bytes(o->dtype);
    }
    return bytes;
}

static size_t count_along(const struct xl__group *group, unsigned d)
{
    const size_t size = group->loop[d].size, tile = group->geo.tile;
    if (d == group->n_loops - 1)
        return xl__ceil_div(size,
                            group->geo.per_wg ? tile * XL__MAP_BLOCKS : tile);
    return d == group->geo.across ? xl__ceil_div(size, tile) : size;
}

static size_t n_tiles(const struct xl__group *group)
{
    size_t n = 1;
    for (unsigned d = 0; d < group->n_loops; d++)
        n *= count_along(group, d);
    return n;
}

size_t xl__map_tile_groups(const struct xl__group *group)
{
    return xl__ceil_div(n_tiles(group), xl__max_size(group->geo.per_wg, 1));
}

/* -- geometry -------------------------------------------------------------- */

/* One access, aligned; of what is turned a word, since neighbouring items
 * take neighbouring words from local memory. */
static size_t vector(const struct xl__group *group)
{
    size_t vw = ACCESS_BYTES;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        const size_t bytes = xl_dtype_bytes(o->dtype);
        if (o->at == XL__AT_INDEX)
            continue;
        if (xl__map_is_turned(group, o)) {
            vw = xl__min_size(vw, WORD_BYTES / bytes);
            continue;
        }
        if (stride > 1)
            return 1;
        vw = xl__min_size(vw, ACCESS_BYTES / bytes);
        if (stride == 1)
            vw = xl__min_size(vw, o->align);
    }
    return vw;
}

/* The largest tile of which most is used, whose lines a group can take side by
 * side, that leaves room for another group and work for every unit. */
static void choose_tile(const struct xl__limits *l, struct xl__group *group)
{
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0) / RESIDENT;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    geo->tile = MOST_TILE;
    while (geo->tile > LEAST_TILE &&
           (geo->tile / 2 >= side(group) || geo->tile > geo->wg ||
            xl__map_tile_local_bytes(group) > room ||
            n_tiles(group) < units))
        geo->tile /= 2;
    if (side(group) < LEAST_TILE || geo->tile > geo->wg ||
        xl__map_tile_local_bytes(group) > room)
        geo->tile = 0;
}

static void for_neighbours(const struct xl__limits *l,
                           struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    choose_tile(l, group);
    if (!geo->tile)
        return;
    geo->vw = (unsigned)vector(group);
    const size_t vectors = (size_t)geo->tile * geo->tile / geo->vw;
    geo->wg = (unsigned)xl__min_size(geo->wg, vectors);
    const size_t bytes = xl__map_load_bytes(group);
    const size_t ahead = bytes > 0 ? xl__max_size(AHEAD_BYTES / bytes, 1)
                                   : MOST_AHEAD;
    geo->unroll = (unsigned)xl__power_down(
        xl__min_size(ahead, vectors / geo->wg));
}

static void for_items(const struct xl__limits *l, struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    if (geo->vw < LEAST_BLOCK || side(group) < geo->vw)
        return;
    geo->tile = geo->vw;
    geo->per_wg = xl__map_turns(l, group, n_tiles(group));
}

void xl__map_tile_geometry(const struct xl__graph *g,
                           const struct xl__limits *l,
                           struct xl__group *group)
{
    const unsigned across = best_loop(group);
    if (across == group->n_loops ||
        xl__emit_n_args(g, group) + XL__MAP_ARGS > XL__MAX_ARGS)
        return;
    group->geo.across = across;
    if (group->geo.per_wg)
        for_items(l, group);
    else
        for_neighbours(l, group);
}

/* -- launch ---------------------------------------------------------------- */

void xl__map_tile_order(const struct xl__group *group,
                        unsigned order[XL__EXPR_LOOPS])
{
    unsigned n = 0;
    order[n++] = group->geo.across;
    order[n++] = group->n_loops - 1;
    for (unsigned d = group->n_loops - 1; d-- > 0;) {
        if (d != group->geo.across)
            order[n++] = d;
    }
}

void xl__map_tile_args(const struct xl__group *group, struct xl__step *step)
{
    unsigned order[XL__EXPR_LOOPS];
    xl__map_tile_order(group, order);
    for (unsigned i = 0; i + 1 < group->n_loops; i++) {
        if (i < 2)
            xl__map_arg_index(group, step, count_along(group, order[i]));
        xl__map_arg_divisor(group, step, count_along(group, order[i]));
    }
    if (!group->geo.per_wg)
        return;
    xl__map_arg_index(group, step, n_tiles(group));
    xl__map_arg_index(group, step, group->geo.per_wg);
}
