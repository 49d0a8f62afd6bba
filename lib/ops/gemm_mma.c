/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM on a sub-group's matrix instructions: tiles whose slices pass through
 * local memory, any layout, any alignment. f32 takes part where the caller
 * lets it be rounded to 11 bits. */
#include "ops/gemm_mma.h"

#include "base/mem.h"
#include "ops/gemm_walk.h"
#include "ops/mma.h"
#include "ops/variants.h"

struct job {
    const struct xl__limits *l;
    const xl_gemm *g; /* with its snippet: canonical */
    struct xl__mma_set set;
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

/* Bytes that can be copied at a time; 0: elements go one by one. Bytes are
 * packed by fours along k: across they go one by one, too. */
static size_t copy_bytes(const struct xl__gemm_side *s, xl_dtype in)
{
    enum { MOST = 16, LEAST = 4 };
    const enum xl__gemm_unit unit = xl__gemm_side_unit(s);
    const size_t bytes = xl_dtype_bytes(in);
    if (unit == XL__UNIT_NONE || s->aligned == 0 ||
        (unit == XL__UNIT_ACROSS && bytes == 1))
        return 0;
    const size_t width = divide(MOST, s->aligned * bytes);
    return width < LEAST ? 0 : width;
}

static size_t store_width(const struct job *j)
{
    enum { MOST = 4 };
    if (j->s.col_stride != 1 || j->s.c_aligned == 0)
        return 1;
    return divide(divide(MOST, j->s.c_aligned), j->s.n);
}

static struct xl__step *add_step(const struct job *j, const char *kernel,
                                 struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const xl_dtype in = j->g->a.dtype;
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"TM", j->set.tile.tm},
        {"TN", j->set.tile.tn},
        {"TK", j->set.tile.tk},
        {"SM", j->set.sm},
        {"SN", j->set.sn},
        {"SK", j->set.sk},
        {"ST", j->set.tile.stages},
        {"GR", j->set.tile.band},
        {"CUT", j->grid.is_cut},
        {"STEP", p->n_steps},
        {"UA", xl__gemm_side_unit(&j->s.a)},
        {"UB", xl__gemm_side_unit(&j->s.b)},
        {"VA", copy_bytes(&j->s.a, in)},
        {"VB", copy_bytes(&j->s.b, in)},
        {"VC", store_width(j)},
    };
    s->source = "gemm_mma.cl";
    s->kernel = kernel;
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = xl__mma_items(&j->set);
    xl__mma_define(s, j->l);
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    xl__gemm_define(s, j->g);
    return s;
}

static void add_tiles(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, "gemm_mma", p);
    s->global[0] = xl__walk_groups(&j->grid) * s->local[0];
    s->local_mem_bytes = xl__mma_local_bytes(&j->set, j->g->a.dtype);
    xl__gemm_arg_side(s, &j->s.a);
    xl__gemm_arg_side(s, &j->s.b);
    xl__walk_args(s, j->g, &j->s, &j->grid);
}

static void add_join(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, "gemm_mma_join", p);
    const size_t stripes = j->set.tile.tm / (j->set.sm * XL__MMA_M);
    s->global[0] = j->grid.stream.tiles * stripes * s->local[0];
    xl__walk_args(s, j->g, &j->s, &j->grid);
}

static struct xl__tile_job tile_job(const xl_gemm *g,
                                    const struct xl__gemm_sides *s)
{
    return (struct xl__tile_job){s->m,           s->n,       g->k,
                                 g->batch.count, g->a.dtype, false};
}

static struct xl__work work_of(const xl_gemm *g)
{
    return (struct xl__work){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g)};
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const struct xl__gemm_sides s = xl__gemm_sides(desc);
    const struct xl__tile_job job = tile_job(desc, &s);
    const struct xl__work work = work_of(desc);
    xl__mma_choose(l, &job, &work, out);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct job j = {.l = l,
                    .g = desc,
                    .set = xl__mma_set_of(params),
                    .s = xl__gemm_sides(desc)};
    const struct xl__tile_job job = tile_job(desc, &j.s);
    struct xl__work work = work_of(desc);
    if (!xl__mma_fits(l, &j.set, job.in) ||
        !xl__tile_cut(l, &j.set.tile, &job, &j.grid))
        return XL_UNSUPPORTED;
    p->flop = work.flop;
    p->bytes = work.bytes;
    p->scratch_bytes =
        xl__tile_scratch_bytes(&j.set.tile, job.in, &j.grid);
    add_tiles(&j, p);
    if (j.grid.is_cut)
        add_join(&j, p);
    xl__mma_model(l, &j.set, &job, &j.grid, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F32 && g->accuracy != XL_ACCURACY_FAST)
        return "f32 would be rounded to 11 bits: XL_ACCURACY_FAST allows it";
    if (g->k > INT32_MAX)
        return "slices are counted in 32 bits";
    return xl__mma_refused(l, g->a.dtype);
}

const struct xl__variant xl__gemm_mma = {
    .name = "gemm_mma",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_mma_tunables,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
