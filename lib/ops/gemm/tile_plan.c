/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles as steps: vector widths by how matrices lie, -D, arguments. */
#include "ops/gemm/tile_plan.h"

#include <math.h>

#include "base/alloc.h"

/* -- the order of tiles ----------------------------------------------------
 */

void xl__tile_args(struct xl__step *step, const void *canonical,
                   const struct xl__gemm_oriented *sides,
                   const struct xl__tile_grid *grid)
{
    const struct xl__stream_k *cut = &grid->stream;
    xl__arg_mem(step, XL__GEMM_C);
    xl__arg_value_u64(step, XL__GEMM_OFF_C);
    xl__arg_u64(step, sides->row_stride);
    xl__arg_u64(step, sides->col_stride);
    xl__arg_u64(step, sides->m);
    xl__arg_u64(step, sides->n);
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
    xl__gemm_arg_last(step, canonical, sides->is_swapped);
}

size_t xl__tile_groups(const struct xl__tile_grid *grid)
{
    return grid->is_cut ? grid->stream.whole + grid->stream.groups
                        : grid->tiles;
}

static void swap(size_t *a, size_t *b)
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
    if (tile.turned) {
        swap(&tile.rows, &tile.cols);
        swap(&tile.m, &tile.n);
        swap(&tile.tiles_m, &tile.tiles_n);
    }
    return tile;
}

double xl__tile_busiest(const struct xl__tile_grid *grid, double places)
{
    const struct xl__stream_k *s = &grid->stream;
    if (!grid->is_cut)
        return ceil((double)grid->tiles / places);
    return (double)s->whole / places + ceil((double)s->groups / places) *
                                           (double)(s->each + (s->extra > 0)) /
                                           (double)grid->units;
}

/* -- steps of gemm_tiled and gemm_simt --------------------------------------
 */

struct xl__tile_job xl__tile_job(const xl_gemm *g)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    return (struct xl__tile_job){s.m,        s.n,  g->k, g->batch.count,
                                 g->a.dtype, false};
}

struct xl__cost xl__tile_cost(const xl_gemm *g)
{
    /* Where most of a tile is not there, little is on its way at a time; of
     * packed panels it is known: CP-13. A batch has tiles enough to make up
     * for all but the thinnest. */
    enum { THIN = 16, THINNEST = 4 };
    static const double thin_frac = 0.3;
    const bool is_thin =
        xl__min_size(g->m, g->n) <= (g->batch.count == 1 ? THIN : THINNEST);
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g),
                             .bytes_frac = is_thin ? thin_frac : 1};
}

/* Halve a width until it divides. */
static size_t divide(size_t width, size_t x)
{
    while (width > 1 && x % width != 0)
        width /= 2;
    return width;
}

/* The widest aligned vector in which a slice of this operand can be loaded:
 * vectors never cross a line's end, and every item makes as many loads. A copy
 * cannot turn one. */
static size_t load_width(const struct xl__tile_plan *j,
                         const struct xl__gemm_operand *s, size_t tile)
{
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
    const size_t items = xl__tile_items(&j->t);
    size_t width = j->t.vw;
    if (unit == XL__UNIT_NONE || s->aligned == 0 ||
        (unit == XL__UNIT_ALONG_K && j->t.copies))
        return 1;
    width = divide(width, s->aligned);
    width = divide(width, unit == XL__UNIT_ALONG_K ? j->g->k : s->extent);
    width = divide(width, unit == XL__UNIT_ALONG_K ? j->t.tk : tile);
    while (width > 1 && tile * j->t.tk % (width * items) != 0)
        width /= 2;
    return width;
}

static size_t store_width(const struct xl__tile_plan *j)
{
    const size_t most = xl__min_size(j->t.vw, j->t.rn);
    if (j->s.col_stride != 1 || j->s.c_aligned == 0)
        return 1;
    return divide(divide(most, j->s.c_aligned), j->s.n);
}

struct xl__step *xl__tile_step(const struct xl__tile_plan *j,
                               const char *source, const char *kernel,
                               struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"TM", j->t.tm},
        {"TN", j->t.tn},
        {"TK", j->t.tk},
        {"RM", j->t.rm},
        {"RN", j->t.rn},
        {"ST", j->t.stages},
        {"GR", j->t.band},
        {"CUT", j->grid.is_cut},
        {"STEP", p->n_steps},
        {"UA", xl__gemm_operand_unit(&j->s.a)},
        {"UB", xl__gemm_operand_unit(&j->s.b)},
        {"VA", load_width(j, &j->s.a, j->t.tm)},
        {"VB", load_width(j, &j->s.b, j->t.tn)},
        {"VC", store_width(j)},
    };
    s->source = source;
    s->kernel = kernel;
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = xl__tile_items(&j->t);
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    xl__gemm_define(s, j->g);
    return s;
}

void xl__tile_launch(const struct xl__tile_plan *j, struct xl__step *s,
                     struct xl__plan *p)
{
    s->global[0] = xl__tile_groups(&j->grid) * s->local[0];
    s->local_mem_bytes = xl__tile_local_bytes(&j->t, j->g->a.dtype);
    xl__gemm_arg_operand(s, &j->s.a);
    xl__gemm_arg_operand(s, &j->s.b);
    xl__tile_args(s, j->g, &j->s, &j->grid);
    p->tiling = xl__tile_describe(s, &j->grid,
                                  (xl_tiling){.rows = j->t.tm,
                                              .cols = j->t.tn,
                                              .m = j->s.m,
                                              .n = j->s.n,
                                              .band = j->t.band,
                                              .turned = j->s.is_swapped});
}

void xl__tile_join(const struct xl__tile_plan *j, struct xl__plan *p)
{
    struct xl__step *s =
        xl__tile_step(j, "gemm/tiled.cl", "gemm_tiled_join", p);
    s->global[0] = j->grid.stream.tiles * j->t.rm * s->local[0];
    xl__tile_args(s, j->g, &j->s, &j->grid);
}

void xl__tile_finish(const struct xl__limits *l, const struct xl__tile_plan *j,
                     struct xl__plan *p)
{
    const struct xl__tile_job job = xl__tile_job(j->g);
    struct xl__cost work = xl__tile_cost(j->g);
    p->flop = work.flop;
    p->bytes = work.bytes;
    p->scratch_bytes = xl__tile_scratch_bytes(&j->t, job.in, &j->grid);
    xl__tile_rate(l, &j->t, &job, &j->grid, &work);
    xl__estimate(l, &work, p);
}
