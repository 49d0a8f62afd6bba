/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM on a sub-group's matrix instructions: tiles whose slices pass through
 * local memory, any layout, any alignment. f32 takes part where the caller
 * lets it be rounded to 11 bits. */
#include "ops/gemm/engines/mma.h"

#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/transpose.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/matrix_engine.h"
#include "ops/gemm/gemm.h"

/* A and B in the order of xl__gemm_orient(). */
enum { SIDES = 2 };

struct job {
    const struct xl__limits *l;
    struct xl__gemm_canonical
        c; /* canonical, with the batch steps of copies */
    struct xl__mma_set set;
    struct xl__gemm_oriented s;
    struct xl__gemm_transpose turn[SIDES]; /* line 0: as the operand lies */
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
static size_t copy_bytes(const struct xl__gemm_operand *s, xl_dtype in)
{
    enum { MOST = 16, LEAST = 4 };
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
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

static struct xl__step *add_step(const struct job *j, bool is_join,
                                 struct xl__plan *p)
{
    struct xl__step *s = &p->step[p->n_steps++];
    const xl_dtype in = j->c.g.a.dtype;
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
        {"STEP", is_join ? 2 : 1},
        {"UA", xl__gemm_operand_unit(&j->s.a)},
        {"UB", xl__gemm_operand_unit(&j->s.b)},
        {"VA", copy_bytes(&j->s.a, in)},
        {"VB", copy_bytes(&j->s.b, in)},
        {"VC", store_width(j)},
    };
    s->source = "gemm/mma.cl";
    s->kernel = is_join ? "gemm_mma_join" : "gemm_mma";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = xl__mma_items(&j->set);
    xl__mma_define(s, j->l);
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    xl__gemm_define(s, &j->c);
    return s;
}

/* Memory, where it begins, strides along x and k. */
static void arg_side(struct xl__step *s, const struct xl__gemm_operand *side,
                     const struct xl__gemm_transpose *turn)
{
    if (turn->line == 0) {
        xl__gemm_arg_operand(s, side);
        return;
    }
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, turn->first);
    xl__arg_u64(s, side->stride_x);
    xl__arg_u64(s, side->stride_k);
}

static void add_tiles(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, false, p);
    s->global[0] = xl__tile_groups(&j->grid) * s->local[0];
    s->local_mem_bytes = xl__mma_local_bytes(&j->set, j->c.g.a.dtype);
    arg_side(s, &j->s.a, &j->turn[0]);
    arg_side(s, &j->s.b, &j->turn[1]);
    xl__tile_args(s, &j->c, &j->s, &j->grid);
    p->tiling = xl__tile_describe(s, &j->grid,
                                  (xl_tiling){.rows = j->set.tile.tm,
                                              .cols = j->set.tile.tn,
                                              .m = j->s.m,
                                              .n = j->s.n,
                                              .band = j->set.tile.band,
                                              .turned = j->s.is_swapped});
}

static void add_join(const struct job *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, true, p);
    const size_t stripes = j->set.tile.tm / (j->set.sm * XL__MMA_M);
    s->global[0] = j->grid.stream.tiles * stripes * s->local[0];
    xl__tile_args(s, &j->c, &j->s, &j->grid);
}

/* -- operands that are written out first ---------------------------------- */

static bool is_slow(const struct xl__gemm_operand *s, xl_dtype in)
{
    return copy_bytes(s, in) == 0;
}

static struct xl__mma_job mma_job(const xl_gemm *g,
                                  const struct xl__gemm_oriented *s)
{
    return (struct xl__mma_job){
        {s->m, s->n, g->k, g->batch.count, g->a.dtype, false},
        is_slow(&s->a, g->a.dtype),
        is_slow(&s->b, g->a.dtype)};
}

/* Write this side out behind what scratch holds already, and go on with the
 * copy. */
static bool transpose_operand(struct job *j, const xl_gemm *g,
                              struct xl__gemm_operand *side,
                              struct xl__gemm_transpose *turn,
                              struct xl__cost *w, struct xl__plan *p)
{
    xl_batch *b = &j->c.g.batch;
    if (!xl__gemm_transpose_layout(j->l, g, side, p->scratch_bytes, turn))
        return false;
    xl__gemm_transpose_add(g, side, turn, p);
    *(side->mem == XL__GEMM_A ? &b->a_step : &b->b_step) = turn->step;
    p->scratch_bytes = turn->end_bytes;
    w->serial_bytes += turn->moved_bytes;
    w->launches++;
    side->stride_x = turn->line;
    side->stride_k = 1;
    side->aligned = XL__TRANSPOSE_ALIGN / xl_dtype_bytes(g->a.dtype);
    return true;
}

static bool transpose_slow(struct job *j, const xl_gemm *g, struct xl__cost *w,
                           struct xl__plan *p)
{
    const struct xl__mma_job as_it_lies = mma_job(g, &j->s);
    if (xl__gemm_transpose_refused(j->l, g))
        return false;
    return (as_it_lies.slow_a || as_it_lies.slow_b) &&
           (!as_it_lies.slow_a ||
            transpose_operand(j, g, &j->s.a, &j->turn[0], w, p)) &&
           (!as_it_lies.slow_b ||
            transpose_operand(j, g, &j->s.b, &j->turn[1], w, p));
}

/* -- the plan ------------------------------------------------------------- */

static struct xl__cost work_of(const xl_gemm *g)
{
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g)};
}

/* The same with what is slow written out first. */
static double choose_transposed(const struct xl__limits *l, const xl_gemm *g,
                                struct xl__mma_job *job,
                                struct xl__params *out)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    struct xl__cost work = work_of(g);
    const struct {
        bool is_slow;
        const struct xl__gemm_operand *side;
    } sides[SIDES] = {{job->slow_a, &s.a}, {job->slow_b, &s.b}};
    for (unsigned i = 0; i < SIDES; i++) {
        struct xl__gemm_transpose turn;
        if (!sides[i].is_slow)
            continue;
        if (!xl__gemm_transpose_layout(l, g, sides[i].side, 0, &turn))
            return INFINITY;
        work.serial_bytes += turn.moved_bytes;
        work.launches++;
    }
    job->slow_a = job->slow_b = false;
    const double ns = xl__mma_choose(l, job, &work, out);
    out->value[XL__MMA_TURN] = XL__MMA_TRANSPOSED;
    return ns;
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(desc);
    struct xl__mma_job job = mma_job(desc, &s);
    const struct xl__cost work = work_of(desc);
    const double ns = xl__mma_choose(l, &job, &work, out);
    struct xl__params transposed;
    if ((job.slow_a || job.slow_b) && !xl__gemm_transpose_refused(l, desc) &&
        choose_transposed(l, desc, &job, &transposed) < ns)
        *out = transposed;
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct job j = {.l = l,
                    .c = *(const struct xl__gemm_canonical *)desc,
                    .set = xl__mma_set_of(params),
                    .s = xl__gemm_orient(desc)};
    const struct xl__tile *t = &j.set.tile;
    struct xl__mma_job job = mma_job(g, &j.s);
    struct xl__cost work = work_of(g);
    p->flop = work.flop;
    p->bytes = work.bytes;
    if (!xl__mma_fits(l, &j.set, job.tiles.in) ||
        !xl__tile_cut(l, t, &job.tiles, &j.grid))
        return XL_UNSUPPORTED;
    p->scratch_bytes = xl__tile_scratch_bytes(t, job.tiles.in, &j.grid);
    if (params->value[XL__MMA_TURN] == XL__MMA_TRANSPOSED &&
        !transpose_slow(&j, g, &work, p))
        return XL_UNSUPPORTED;
    job = mma_job(g, &j.s);
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
    .engine_terms = 1,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
