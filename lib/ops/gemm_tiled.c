/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM by tiles, for any device: work-groups that share slices through local
 * memory. One plan for all four transpose cases: a column-major C is the
 * row-major C^T = B^T A^T, and how A and B lie only changes how they are read.
 * Products of a batch are further tiles of one launch.
 *
 * Local memory holds what is multiplied: floats, doubles, ints. Bytes packed
 * by fours would need it a quarter as often, but pay off only with
 * instructions that multiply them so, which few drivers offer in OpenCL C. */
#include "base/mem.h"
#include "ops/gemm_sides.h"
#include "ops/gemm_tiles.h"
#include "ops/variants.h"

struct job {
    const xl_gemm *g; /* with its snippet: canonical */
    struct xl__tile t;
    struct xl__gemm_sides s;
    struct xl__tile_grid grid;
};

/* Halve a width until it divides. */
static size_t divide(size_t width, size_t x)
{
    while (width > 1 && x % width != 0)
        width /= 2;
    return width;
}

/* The widest aligned vector in which a slice of this operand can be loaded:
 * vectors never cross a line's end, and every item makes as many loads. */
static size_t load_width(const struct job *j, const struct xl__gemm_side *s,
                         size_t tile)
{
    const enum xl__gemm_unit unit = xl__gemm_side_unit(s);
    const size_t items = xl__tile_items(&j->t);
    size_t width = j->t.vw;
    if (unit == XL__UNIT_NONE || s->aligned == 0)
        return 1;
    width = divide(width, s->aligned);
    width = divide(width, unit == XL__UNIT_ALONG_K ? j->g->k : s->extent);
    width = divide(width, unit == XL__UNIT_ALONG_K ? j->t.tk : tile);
    while (width > 1 && tile * j->t.tk % (width * items) != 0)
        width /= 2;
    return width;
}

static size_t store_width(const struct job *j)
{
    const size_t most = xl__min_size(j->t.vw, j->t.rn);
    if (j->s.col_stride != 1 || j->s.c_aligned == 0)
        return 1;
    return divide(divide(most, j->s.c_aligned), j->s.n);
}

/* STEP 1 multiplies, 2 joins. */
static struct xl__step *add_step(const struct job *j, const char *kernel,
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
        {"UA", xl__gemm_side_unit(&j->s.a)},
        {"UB", xl__gemm_side_unit(&j->s.b)},
        {"VA", load_width(j, &j->s.a, j->t.tm)},
        {"VB", load_width(j, &j->s.b, j->t.tn)},
        {"VC", store_width(j)},
    };
    s->source = "gemm_tiled.cl";
    s->kernel = kernel;
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = xl__tile_items(&j->t);
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    xl__gemm_define(s, j->g);
    return s;
}

/* TILE_PARAMS. */
static void arg_tile(const struct job *j, struct xl__step *s)
{
    const struct xl__stream *cut = &j->grid.stream;
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
    xl__arg_u32(s, j->grid.tiles_m);
    xl__arg_u32(s, j->grid.tiles_n);
    if (j->grid.is_cut) {
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u32(s, cut->whole);
        xl__arg_u64(s, cut->units);
        xl__arg_u64(s, cut->each);
        xl__arg_u32(s, cut->extra);
    }
    xl__gemm_arg_last(s, j->g, j->s.turned);
}

static void add_tiles(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, "gemm_tiled", p);
    const size_t groups = j->grid.is_cut
                              ? j->grid.stream.whole + j->grid.stream.groups
                              : j->grid.tiles;
    s->global[0] = groups * s->local[0];
    s->local_mem_bytes = xl__tile_local_bytes(&j->t, j->g->a.dtype);
    xl__gemm_arg_side(s, &j->s.a);
    xl__gemm_arg_side(s, &j->s.b);
    arg_tile(j, s);
}

static void add_join(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, "gemm_tiled_join", p);
    s->global[0] = j->grid.stream.tiles * j->t.rm * s->local[0];
    arg_tile(j, s);
}

static struct xl__tile_job tile_job(const xl_gemm *g,
                                    const struct xl__gemm_sides *s)
{
    return (struct xl__tile_job){s->m,           s->n,       g->k,
                                 g->batch.count, g->a.dtype, false};
}

static struct xl__work work_of(const xl_gemm *g)
{
    /* Where most of a tile is not there, little is on its way at a time; of
     * packed panels it is known: CP-13. A batch has tiles enough to make up
     * for all but the thinnest. */
    enum { THIN = 16, THINNEST = 4 };
    static const double thin_frac = 0.3;
    const bool is_thin = xl__min_size(g->m, g->n) <=
                         (g->batch.count == 1 ? THIN : THINNEST);
    return (struct xl__work){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g),
                             .bytes_frac = is_thin ? thin_frac : 1};
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const struct xl__gemm_sides s = xl__gemm_sides(desc);
    const struct xl__tile_job job = tile_job(desc, &s);
    const struct xl__work work = work_of(desc);
    xl__tile_choose(l, &job, &work, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct job j = {
        .g = desc, .t = xl__tile_of(params), .s = xl__gemm_sides(desc)};
    const struct xl__tile_job job = tile_job(desc, &j.s);
    struct xl__work work = work_of(desc);
    if (!xl__tile_fits(l, &j.t, job.in) ||
        !xl__tile_cut(l, &j.t, &job, &j.grid))
        return XL_UNSUPPORTED;
    p->flop = work.flop;
    p->bytes = work.bytes;
    p->scratch_bytes = xl__tile_scratch_bytes(&j.t, job.in, &j.grid);
    add_tiles(&j, p);
    if (j.grid.is_cut)
        add_join(&j, p);
    xl__tile_rate(l, &j.t, &job, &j.grid, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* A turn per step of k and per tile's load, should nothing be unrolled. */
static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    return xl__turns_refused(l, 2.0 * (double)g->k);
}

const struct xl__variant xl__gemm_tiled = {
    .name = "gemm_tiled",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_tiled_tunables,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
