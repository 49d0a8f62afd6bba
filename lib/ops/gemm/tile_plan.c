/* SPDX-License-Identifier: Apache-2.0 */
/* Plan steps over tiles: arguments, defines and the vector widths that the
 * layouts of the matrices allow. */
#include "ops/gemm/tile_plan.h"

#include <math.h>

#include "base/alloc.h"
#include "base/numbers.h"

/* -- the order of tiles --------------------------------------------------- */

void xl__tile_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_oriented *oriented,
                   const struct xl__tile_grid *grid)
{
    const struct xl__stream_k *cut = &grid->stream;
    xl__arg_mem(step, XL__GEMM_C);
    xl__arg_value_u64(step, XL__GEMM_OFF_C);
    xl__arg_u64(step, oriented->row_stride);
    xl__arg_u64(step, oriented->col_stride);
    xl__arg_u64(step, oriented->m);
    xl__arg_u64(step, oriented->n);
    xl__arg_u64(step, ((const xl_gemm *)canonical)->k);
    xl__arg_u32(step, grid->tiles_m);
    xl__arg_u32(step, grid->tiles_n);
    if (grid->is_cut) {
        xl__arg_mem(step, XL__MEM_SCRATCH);
        xl__arg_u32(step, cut->whole);
        xl__arg_u64(step, cut->units);
        xl__arg_u64(step, cut->each);
        xl__arg_u32(step, cut->extra);
    }
    xl__gemm_arg_last(step, canonical, oriented->is_swapped);
}

size_t xl__tile_groups(const struct xl__tile_grid *grid)
{
    return grid->is_cut ? grid->stream.whole + grid->stream.groups
                        : grid->tiles;
}

static void swap_sizes(size_t *a, size_t *b)
{
    const size_t kept = *a;
    *a = *b;
    *b = kept;
}

xl_tiling xl__tile_describe(const struct xl__step *step,
                            const struct xl__tile_grid *grid, xl_tiling tile)
{
    tile.tiles_m = grid->tiles_m;
    tile.tiles_n = grid->tiles_n;
    tile.count = grid->tiles / (grid->tiles_m * grid->tiles_n);
    tile.whole = grid->is_cut ? grid->stream.whole : grid->tiles;
    tile.sharers = grid->is_cut ? grid->stream.groups : 0;
    tile.groups = step->global[0] / step->local[0];
    tile.wg_items = step->local[0];
    tile.local_mem_bytes = step->local_mem_bytes;
    if (tile.is_swapped) {
        swap_sizes(&tile.rows, &tile.cols);
        swap_sizes(&tile.m, &tile.n);
        swap_sizes(&tile.tiles_m, &tile.tiles_n);
    }
    return tile;
}

/* -- steps of gemm_tiled and gemm_simt ------------------------------------ */

struct xl__tile_job xl__tile_job(const xl_gemm *g)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    return (struct xl__tile_job){.m = s.m,
                                 .n = s.n,
                                 .k = g->k,
                                 .count = g->batch.count,
                                 .in = xl__gemm_in(g)};
}

struct xl__cost xl__tile_cost(const struct xl__limits *l, const xl_gemm *g)
{
    /* A product much thinner than a tile has few loads in flight at a time. A
     * batch has enough tiles to make up for that unless it is of the thinnest
     * products. */
    enum { THIN = 16, THINNEST = 4 };
    const bool is_thin =
        xl__min_size(g->m, g->n) <= (g->batch.count == 1 ? THIN : THINNEST);
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g),
                             .bytes_frac = is_thin ? xl__model(l, XL__M_thin_bytes_frac)
                                           : 1};
}

/* The widest aligned vector with which items can load a slice of this operand:
 * vectors do not cross the end of a row (column), and every item makes the
 * same number of loads. An asynchronous copy cannot transpose, so it moves
 * single elements of an operand that is contiguous along k. */
static size_t load_width(const struct xl__tile_plan *plan,
                         const struct xl__gemm_operand *s, size_t tile)
{
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
    const size_t items = xl__tile_items(&plan->t);
    size_t width = plan->t.vw;
    if (unit == XL__UNIT_NONE || s->aligned == 0 ||
        (unit == XL__UNIT_ALONG_K && plan->t.copies))
        return 1;
    width = xl__shrink_to_divisor(width, s->aligned);
    width = xl__shrink_to_divisor(width, unit == XL__UNIT_ALONG_K ? plan->g->k
                                                                  : s->extent);
    width = xl__shrink_to_divisor(width, unit == XL__UNIT_ALONG_K ? plan->t.tk
                                                                  : tile);
    while (width > 1 && tile * plan->t.tk % (width * items) != 0)
        width /= 2;
    return width;
}

/* A product's own rows, where they are the kernel's columns, may end anywhere
 * in a vector. */
static size_t store_width(const struct xl__tile_plan *plan)
{
    const size_t most = xl__min_size(plan->t.vw, plan->t.rn);
    if (plan->s.col_stride != 1 || plan->s.c_aligned == 0 ||
        (plan->g->batch.rows && plan->s.is_swapped))
        return 1;
    return xl__shrink_to_divisor(
        xl__shrink_to_divisor(most, plan->s.c_aligned), plan->s.n);
}

void xl__tile_define(struct xl__step *s, const struct xl__tile *t)
{
    const struct xl__defined defines[] = {
        {"TM", t->tm}, {"TN", t->tn},     {"TK", t->tk},   {"RM", t->rm},
        {"RN", t->rn}, {"ST", t->stages}, {"GR", t->band},
    };
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (t->width)
        xl__define(s, "XL_WIDTH", (long)t->width);
}

/* `which`: STEP of gemm/tiled.cl. */
static struct xl__step *add_step(const struct xl__tile_plan *plan,
                                 const char *source, const char *kernel,
                                 unsigned which, struct xl__plan *p)
{
    struct xl__step *s =
        xl__plan_add(p, source, kernel, 0, xl__tile_items(&plan->t));
    const struct xl__defined defines[] = {
        {"CUT", plan->grid.is_cut},
        {"STEP", which},
        {"UA", xl__gemm_operand_unit(&plan->s.a)},
        {"UB", xl__gemm_operand_unit(&plan->s.b)},
        {"VA", load_width(plan, &plan->s.a, plan->t.tm)},
        {"VB", load_width(plan, &plan->s.b, plan->t.tn)},
        {"VC", store_width(plan)},
    };
    xl__tile_define(s, &plan->t);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    xl__gemm_define(s, plan->g, plan->s.is_swapped);
    return s;
}

struct xl__step *xl__tile_step(const struct xl__tile_plan *plan,
                               const char *source, const char *kernel,
                               struct xl__plan *p)
{
    return add_step(plan, source, kernel, 1, p);
}

void xl__tile_launch(const struct xl__tile_plan *plan, struct xl__step *s,
                     struct xl__plan *p)
{
    s->global[0] = xl__tile_groups(&plan->grid) * s->local[0];
    s->local_mem_bytes = xl__tile_local_bytes(&plan->t, xl__gemm_in(plan->g));
    xl__gemm_arg_operand(s, &plan->s.a);
    xl__gemm_arg_operand(s, &plan->s.b);
    xl__tile_args(s, plan->g, &plan->s, &plan->grid);
    p->tiling = xl__tile_describe(s, &plan->grid,
                                  (xl_tiling){.rows = plan->t.tm,
                                              .cols = plan->t.tn,
                                              .m = plan->s.m,
                                              .n = plan->s.n,
                                              .band = plan->t.band,
                                              .is_swapped = plan->s.is_swapped});
}

void xl__tile_join(const struct xl__tile_plan *plan, struct xl__plan *p)
{
    struct xl__step *s =
        add_step(plan, "gemm/tiled.cl", "gemm_tiled_join", 2, p);
    s->is_aid = true;
    s->global[0] = plan->grid.stream.tiles * plan->t.rm * s->local[0];
    xl__tile_args(s, plan->g, &plan->s, &plan->grid);
}

void xl__tile_finish(const struct xl__limits *l,
                     const struct xl__tile_plan *plan, struct xl__plan *p)
{
    const struct xl__tile_job job = xl__tile_job(plan->g);
    struct xl__cost work = xl__tile_cost(l, plan->g);
    p->flop = work.flop;
    p->bytes = work.bytes;
    p->scratch_bytes = xl__tile_scratch_bytes(&plan->t, job.in, &plan->grid);
    xl__tile_rate(l, &plan->t, &job, &plan->grid, &work);
    xl__estimate(l, &work, p);
}
