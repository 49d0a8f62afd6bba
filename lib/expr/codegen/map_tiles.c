/* SPDX-License-Identifier: Apache-2.0 */
/* MAP groups in which operands are transposed. Such an operand is contiguous
 * along another loop (`across`) than the results (the last loop). In either
 * loop order one of them would be accessed one element a cache line. So the
 * kernel, cl/expr/map_tiles.cl, goes through both loops in square tiles, on a
 * GPU in local memory, on a CPU in registers, XL__MAP_BLOCKS adjacent blocks a
 * tile. Here are the choice of the tile, the launch, and what the element part
 * has for tiles; tK is the transposed tile of operand K. */
#include "expr/codegen/map_tiles.h"

#include "base/alloc.h"
#include "base/numbers.h"
#include "expr/codegen/geometry.h"
#include "expr/codegen/map.h"
#include "expr/codegen/opencl_ops.h"

/* Adjacent blocks of a CPU's tile: adjacent cache lines of the results are
 * accessed together. */
enum { XL__MAP_BLOCKS = 2 };

enum {
    MAX_TILE = 64,  /* 256 bytes of f32: two lines of a GPU's cache */
    MIN_TILE = 16,  /* for smaller loops the caches suffice */
    MIN_BLOCK = 4,  /* on a CPU */
    WORD_BYTES = 4, /* of a bank of local memory */
    ACCESS_BYTES = 16,
    AHEAD_BYTES = 64, /* that an item loads before it uses them */
    MAX_AHEAD = 4,    /* vectors of an item if nothing is loaded directly */
    RESIDENT = 2      /* work-groups that share a unit's local memory */
};

/* -- which operands ------------------------------------------------------- */

/* The innermost loop, other than the last, along which an operand that is read
 * is contiguous; n_loops: none, or the operand is not strided along the last
 * loop. The shrunk shape of a self-check keeps this loop. */
static unsigned contiguous_loop(const struct xl__group *group,
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

bool xl__map_is_transposed(const struct xl__group *group,
                           const struct xl__operand *o)
{
    return group->geo.tile > 0 &&
           contiguous_loop(group, o) == group->geo.across;
}

/* The loop along which operands with most bytes an element are contiguous;
 * n_loops: none. */
static unsigned choose_across_loop(const struct xl__group *group)
{
    size_t bytes[XL__EXPR_LOOPS + 1] = {0};
    unsigned best = group->n_loops;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        bytes[contiguous_loop(group, o)] += xl_dtype_bytes(o->dtype);
    }
    bytes[group->n_loops] = 0;
    for (unsigned d = 0; d < group->n_loops; d++) {
        if (bytes[d] > bytes[best])
            best = d;
    }
    return best;
}

/* -- sizes ---------------------------------------------------------------- */

/* The smaller size of the two tiled loops. */
static size_t min_tiled_size(const struct xl__group *group)
{
    return xl__min_size(xl__inner_size(group),
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
        if (xl__map_is_transposed(group, o))
            bytes += group->geo.tile * xl__map_tile_pitch(group, o) *
                     xl_dtype_bytes(o->dtype);
    }
    return bytes;
}

/* Tiles along a loop; of loops that are not tiled, their size. */
static size_t tiles_along(const struct xl__group *group, unsigned d)
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
        n *= tiles_along(group, d);
    return n;
}

size_t xl__map_tile_groups(const struct xl__group *group)
{
    return xl__ceil_div(n_tiles(group), xl__max_size(group->geo.per_wg, 1));
}

/* -- geometry ------------------------------------------------------------- */

/* The vector width on a GPU: one aligned access; of transposed operands one
 * word of 4 bytes, since adjacent items read adjacent words of local memory.
 */
static size_t choose_gpu_vector(const struct xl__group *group)
{
    size_t vw = ACCESS_BYTES;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        const size_t stride = o->stride[group->n_loops - 1];
        const size_t bytes = xl_dtype_bytes(o->dtype);
        if (o->at == XL__AT_INDEX)
            continue;
        if (xl__map_is_transposed(group, o)) {
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

/* Choose the largest tile of which more than half is used, that has at most as
 * many rows as the work-group has items, that leaves local memory for another
 * work-group, and that gives every compute unit a tile. No tile (0) if the
 * smallest one does not fit. */
static void choose_tile(const struct xl__limits *l, struct xl__group *group)
{
    const size_t room = xl__size_or(l, XL__F_local_mem_bytes, 0) / RESIDENT;
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct xl__geometry *geo = &group->geo;
    geo->tile = MAX_TILE;
    while (geo->tile > MIN_TILE &&
           (geo->tile / 2 >= min_tiled_size(group) || geo->tile > geo->wg ||
            xl__map_tile_local_bytes(group) > room || n_tiles(group) < units))
        geo->tile /= 2;
    if (min_tiled_size(group) < MIN_TILE || geo->tile > geo->wg ||
        xl__map_tile_local_bytes(group) > room)
        geo->tile = 0;
}

/* The geometry for GPUs. Vector width, work-group and unrolling follow from
 * the tile. */
static void choose_gpu_tiles(const struct xl__limits *l,
                             struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    choose_tile(l, group);
    if (!geo->tile)
        return;
    geo->vw = (unsigned)choose_gpu_vector(group);
    const size_t vectors = (size_t)geo->tile * geo->tile / geo->vw;
    geo->wg = (unsigned)xl__min_size(geo->wg, vectors);
    const size_t bytes = xl__map_load_bytes(group);
    const size_t ahead =
        bytes > 0 ? xl__max_size(AHEAD_BYTES / bytes, 1) : MAX_AHEAD;
    geo->unroll =
        (unsigned)(size_t)xl__floor_power_of_two(xl__min_size(ahead, vectors / geo->wg));
}

/* The geometry for CPUs: blocks of the vector width in both directions, if
 * both loops are that long. */
static void choose_cpu_tiles(const struct xl__limits *l,
                             struct xl__group *group)
{
    struct xl__geometry *geo = &group->geo;
    if (geo->vw < MIN_BLOCK || min_tiled_size(group) < geo->vw)
        return;
    geo->tile = geo->vw;
    geo->per_wg = xl__map_per_group(l, group, n_tiles(group));
}

static bool has_gather(const struct xl__group *group)
{
    bool has = false;
    for (unsigned k = 0; k < group->n_operands; k++)
        has = has || group->operand[k].gather_size > 0;
    return has;
}

void xl__map_tile_geometry(const struct xl__graph *g,
                           const struct xl__limits *l, struct xl__group *group)
{
    const unsigned across = choose_across_loop(group);
    if (across == group->n_loops || has_gather(group) ||
        xl__has_wide_values(g) ||
        xl__emit_n_args(g, group) + XL__MAP_ARGS > XL__MAX_ARGS)
        return;
    group->geo.across = across;
    if (group->geo.per_wg)
        choose_cpu_tiles(l, group);
    else
        choose_gpu_tiles(l, group);
}

/* -- launch --------------------------------------------------------------- */

/* The order in which tiles are numbered: the fastest loop first. */
static void order_loops(const struct xl__group *group,
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
    order_loops(group, order);
    for (unsigned i = 0; i + 1 < group->n_loops; i++) {
        if (i < 2)
            xl__emit_arg_index(group, step, tiles_along(group, order[i]));
        xl__map_arg_divisor(group, step, tiles_along(group, order[i]));
    }
    if (!group->geo.per_wg)
        return;
    xl__emit_arg_index(group, step, n_tiles(group));
    xl__emit_arg_index(group, step, group->geo.per_wg);
}

static unsigned last_loop(const struct xl__emit *m)
{
    return m->group->n_loops - 1;
}

/* -- the position of a tile ----------------------------------------------- */

/* Is d one of the two loops along which tiles extend? */
static bool is_tiled_loop(const struct xl__emit *m, unsigned d)
{
    return d == m->group->geo.across || d == last_loop(m);
}

/* Write the first index of a tile along a tiled loop, or the index of another
 * loop, from an expression. */
static void write_index(struct xl__emit *m, unsigned d, const char *index)
{
    const struct xl__geometry *geo = &m->group->geo;
    if (d == last_loop(m))
        xl__emit_line(m, "const IDX first_at = %s * %u;", index,
                      geo->tile * (geo->per_wg ? XL__MAP_BLOCKS : 1));
    else if (d == geo->across)
        xl__emit_line(m, "const IDX first_line = %s * %u;", index, geo->tile);
    else
        xl__emit_line(m, "const IDX i%u = %s;", d, index);
}

/* Write, for the tile number f, its first indices along the tiled loops, and
 * the indices of the other loops. */
static void write_tile_start(struct xl__emit *m)
{
    static const char *const rests[XL__EXPR_LOOPS] = {"f",  "r1", "r2",
                                                      "r3", "r4", "r5"};
    unsigned order[XL__EXPR_LOOPS];
    order_loops(m->group, order);
    for (unsigned i = 0; i < last_loop(m); i++) {
        const unsigned d = order[i];
        const char of = is_tiled_loop(m, d) ? 'c' : 'n';
        struct xl__str index = {0};
        xl__emit_line(m,
                      "const IDX %s = xl_divide(%s, %c%u, mul_%u, shift_%u);",
                      rests[i + 1], rests[i], of, d, d, d);
        xl__str_printf(&index, "(%s - %s * %c%u)", rests[i], rests[i + 1], of,
                       d);
        write_index(m, d, xl__str_text(&index));
        m->out->broken |= index.broken;
        xl__str_clear(&index);
    }
    write_index(m, order[last_loop(m)], rests[last_loop(m)]);
}

/* -- the element part ------------------------------------------------------
 * cl/expr/map_element.clh says what each macro is. */

typedef void operand_writer(struct xl__emit *m, unsigned k,
                            const struct xl__operand *o);

/* Write a line for each transposed operand. */
static void write_each(struct xl__emit *m, operand_writer *write)
{
    for (unsigned k = 0; k < m->group->n_operands; k++)
        if (xl__map_is_transposed(m->group, &m->group->operand[k]))
            write(m, k, &m->group->operand[k]);
}

static void write_tile(struct xl__emit *m, unsigned k,
                       const struct xl__operand *o)
{
    const char *elem = xl__opencl_elem_type(o->dtype);
    if (m->group->geo.per_wg)
        xl__emit_line(m, "%s%u t%u[%u];", elem, m->vw, k, m->vw);
    else
        xl__emit_line(m, "__local %s t%u[%zu] __attribute__((aligned(16)));",
                      elem, k,
                      m->group->geo.tile * xl__map_tile_pitch(m->group, o));
}
static void write_tiles(struct xl__emit *m)
{
    write_each(m, write_tile);
}

static void write_tile_array(struct xl__emit *m, unsigned k,
                             const struct xl__operand *o)
{
    xl__emit_line(m, "%s a%u[XL_READS];", xl__opencl_elem_type(o->dtype), k);
}
static void write_tile_arrays(struct xl__emit *m)
{
    write_each(m, write_tile_array);
}

static void write_tile_read(struct xl__emit *m, unsigned k,
                            const struct xl__operand *o)
{
    (void)o;
    xl__emit_line(m, "a%u[u] = (m%u + o%u)[p%u + at * s%u_%u];", k, k, k, k, k,
                  last_loop(m));
}
static void write_tile_reads(struct xl__emit *m)
{
    write_each(m, write_tile_read);
}

static void write_tile_write(struct xl__emit *m, unsigned k,
                             const struct xl__operand *o)
{
    xl__emit_line(m, "t%u[y * %zu + x + u * XL_STEP] = a%u[u];", k,
                  xl__map_tile_pitch(m->group, o), k);
}
static void write_tile_writes(struct xl__emit *m)
{
    write_each(m, write_tile_write);
}

/* The call that reads and transposes a block; `cut`: of a block that the end
 * of a loop cuts, its further arguments. */
static void write_turn_of(struct xl__emit *m, unsigned k,
                          const struct xl__operand *o, const char *cut)
{
    const unsigned last = last_loop(m);
    xl__emit_line(m,
                  "xl_turn%s_%s_%u(t%u, m%u + o%u, p%u + at * s%u_%u, "
                  "s%u_%u%s);",
                  *cut ? "n" : "", xl__opencl_elem_type(o->dtype), m->vw, k, k,
                  k, k, k, last, k, last, cut);
}
static void write_whole_turn(struct xl__emit *m, unsigned k,
                             const struct xl__operand *o)
{
    write_turn_of(m, k, o, "");
}
static void write_turn(struct xl__emit *m)
{
    write_each(m, write_whole_turn);
}
static void write_cut_turn(struct xl__emit *m, unsigned k,
                           const struct xl__operand *o)
{
    write_turn_of(m, k, o, ", lines, count");
}
static void write_turn_part(struct xl__emit *m)
{
    write_each(m, write_cut_turn);
}

/* Prefetch what the next tiles access along the last loop. It is in other
 * cache lines, mostly in other pages, which hardware prefetchers do not
 * follow. */
static void write_prefetch(struct xl__emit *m)
{
    enum { AHEAD_TILES = 2 };
    const struct xl__group *group = m->group;
    for (unsigned k = 0; k < group->n_operands; k++) {
        const struct xl__operand *o = &group->operand[k];
        if (o->at != XL__AT_INDEX && o->stride[last_loop(m)] == 1 &&
            o->stride[group->geo.across] != 0)
            xl__emit_line(m, "XL_AHEAD(m%u + o%u + p%u + at + %u * s%u_%u);",
                          k, k, k, AHEAD_TILES * m->vw, k, group->geo.across);
    }
}

void xl__map_write_tile_load(struct xl__emit *m, unsigned operand)
{
    const struct xl__group *group = m->group;
    const struct xl__operand *o = &group->operand[operand];
    const char *elem = xl__opencl_elem_type(o->dtype);
    const size_t pitch = xl__map_tile_pitch(group, o);
    xl__emit_indent(m);
    xl__str_printf(m->out, "const %s v%u = xl_from_%s_%u(",
                   xl__emit_type(m->g, m->g->node[o->node].type, m->vw),
                   o->node, xl_dtype_name(o->dtype), m->vw);
    if (group->geo.per_wg)
        xl__str_printf(m->out, "t%u[y]);\n", operand);
    else if (m->vw == 1)
        xl__str_printf(m->out, "t%u[y * %zu + x]);\n", operand, pitch);
    else
        xl__str_printf(m->out,
                       "*(__local const %s%u *)(t%u + y * %zu + x));\n", elem,
                       m->vw, operand, pitch);
}

static void write_tile_params(struct xl__emit *m)
{
    unsigned order[XL__EXPR_LOOPS];
    order_loops(m->group, order);
    for (unsigned i = 0; i < last_loop(m); i++) {
        const unsigned d = order[i];
        if (is_tiled_loop(m, d))
            xl__emit_line(m, ", const IDX c%u", d);
        xl__emit_line(m, ", const uint mul_%u, const uint shift_%u", d, d);
    }
}

void xl__map_write_tile_element(struct xl__emit *m)
{
    const struct xl__geometry *geo = &m->group->geo;
    xl__str_printf(m->out,
                   "#define XL_TILE %u\n#define XL_BLOCKS %d\n"
                   "#define XL_ACROSS n%u\n",
                   geo->tile, XL__MAP_BLOCKS, geo->across);
    xl__emit_macro(m, "XL_TILE_PARAMS", write_tile_params);
    xl__emit_macro(m, "XL_TILE_START", write_tile_start);
    xl__emit_macro(m, "XL_TILES", write_tiles);
    if (geo->per_wg) {
        xl__emit_macro(m, "XL_PREFETCH", write_prefetch);
        xl__emit_macro(m, "XL_TURN", write_turn);
        xl__emit_macro(m, "XL_TURN_PART", write_turn_part);
    } else {
        xl__emit_macro(m, "XL_TILE_ARRAYS", write_tile_arrays);
        xl__emit_macro(m, "XL_TILE_READS", write_tile_reads);
        xl__emit_macro(m, "XL_TILE_WRITES", write_tile_writes);
    }
}
