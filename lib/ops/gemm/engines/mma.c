/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma: GEMM on a sub-group's matrix instructions. Slices pass through
 * local memory, so that any layout and any alignment is supported. f32 is
 * supported if the caller allows it to be rounded to 11 bits. */
#include "ops/gemm/engines/mma.h"

#include <math.h>

#include "base/numbers.h"
#include "ops/gemm/transpose.h"
#include "ops/gemm/engines/windows.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/matrix_engine.h"
#include "ops/gemm/gemm.h"

/* A and B in the order of xl__gemm_orient(). */
enum { OPERANDS = 2 };

struct mma_plan {
    const struct xl__limits *l;
    const xl_matrix_op *op;
    struct xl__gemm_canonical
        c; /* canonical, with the batch steps of copies */
    struct xl__mma_set set;
    struct xl__gemm_oriented s;
    struct xl__gemm_transpose copy[OPERANDS]; /* line 0: the operand is read
                                              directly */
    struct xl__tile_grid grid;
};

/* Bytes of a copy to local memory; 0: elements are copied one by one, which i8
 * contiguous across always is, since the instructions need it packed by fours
 * along k. */
static size_t copy_bytes(const struct xl__gemm_operand *s, xl_dtype in)
{
    enum { MOST = 16, LEAST = 4 };
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
    const size_t bytes = xl_dtype_bytes(in);
    if (unit == XL__UNIT_NONE || s->aligned == 0 ||
        (unit == XL__UNIT_ACROSS && bytes == 1))
        return 0;
    const size_t width = xl__shrink_to_divisor(MOST, s->aligned * bytes);
    return width < LEAST ? 0 : width;
}

static size_t store_width(const struct mma_plan *j)
{
    enum { MOST = 4 };
    if (j->s.col_stride != 1 || j->s.c_aligned == 0)
        return 1;
    return xl__shrink_to_divisor(xl__shrink_to_divisor(MOST, j->s.c_aligned),
                                 j->s.n);
}

static struct xl__step *add_step(const struct mma_plan *j, bool is_join,
                                 struct xl__plan *p)
{
    struct xl__step *s =
        xl__plan_add(p, "gemm/mma.cl", is_join ? "gemm_mma_join" : "gemm_mma",
                     0, xl__mma_items(j->op, &j->set));
    const xl_dtype in = j->c.g.a.dtype;
    const struct xl__defined defines[] = {
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
    xl__mma_define(s, j->l, j->op);
    xl__define_all(s, defines, sizeof defines / sizeof *defines);
    if (j->c.windows)
        xl__windows_define(s, j->c.windows);
    xl__gemm_define(s, &j->c, j->s.is_swapped);
    return s;
}

/* Append memory, offset, stride along x, stride along k. */
static void arg_operand(struct xl__step *s,
                        const struct xl__gemm_operand *operand,
                        const struct xl__gemm_transpose *copy)
{
    if (copy->line == 0) {
        xl__gemm_arg_operand(s, operand);
        return;
    }
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, copy->first);
    xl__arg_u64(s, operand->stride_x);
    xl__arg_u64(s, operand->stride_k);
}

/* Append memory, offset, and the windows of its images. */
static void arg_windows(struct xl__step *s, const struct mma_plan *j,
                        const struct xl__gemm_operand *operand,
                        const struct xl__gemm_transpose *copy)
{
    const struct xl__windows *w = j->c.windows;
    if (w->images.n > 0) {
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u64(s, copy->first);
    } else {
        xl__arg_mem(s, operand->mem);
        xl__arg_value_u64(s, operand->offset);
    }
    xl__arg_windows(s, w, j->set.tile.tk);
}

static void add_tiles(const struct mma_plan *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, false, p);
    s->global[0] = xl__tile_groups(&j->grid) * s->local[0];
    s->local_mem_bytes = xl__mma_local_bytes(j->op, &j->set);
    for (unsigned i = 0; i < OPERANDS; i++) {
        const struct xl__gemm_operand *operand = i ? &j->s.b : &j->s.a;
        if (j->c.windows && j->c.windows->of_b == i)
            arg_windows(s, j, operand, &j->copy[i]);
        else
            arg_operand(s, operand, &j->copy[i]);
    }
    xl__tile_args(s, &j->c, &j->s, &j->grid);
    p->tiling = xl__tile_describe(s, &j->grid,
                                  (xl_tiling){.rows = j->set.tile.tm,
                                              .cols = j->set.tile.tn,
                                              .m = j->s.m,
                                              .n = j->s.n,
                                              .band = j->set.tile.band,
                                              .is_swapped = j->s.is_swapped});
}

static void add_join(const struct mma_plan *j, struct xl__plan *p)
{
    struct xl__step *s = add_step(j, true, p);
    s->is_aid = true;
    const size_t stripes = j->set.tile.tm / (j->set.sm * j->op->m);
    s->global[0] = j->grid.stream.tiles * stripes * s->local[0];
    xl__tile_args(s, &j->c, &j->s, &j->grid);
}

/* -- transposed operands -------------------------------------------------- */

static bool is_slow(const struct xl__gemm_operand *s, xl_dtype in)
{
    return copy_bytes(s, in) == 0;
}

static struct xl__mma_job mma_job(const struct xl__limits *l, const xl_gemm *g,
                                  const struct xl__gemm_oriented *s)
{
    return (struct xl__mma_job){
        xl__mma_op(l, g->a.dtype),
        {.m = s->m,
         .n = s->n,
         .k = g->k,
         .count = g->batch.count,
         .in = g->a.dtype},
        is_slow(&s->a, g->a.dtype),
        is_slow(&s->b, g->a.dtype)};
}

/* Append the step that transposes this operand into the workspace behind what
 * is in use, and continue with the copy. */
static bool transpose_operand(struct mma_plan *j, const xl_gemm *g,
                              struct xl__gemm_operand *operand,
                              struct xl__gemm_transpose *copy,
                              struct xl__cost *w, struct xl__plan *p)
{
    xl_batch *b = &j->c.g.batch;
    if (!xl__gemm_transpose_layout(j->l, g, operand, p->scratch_bytes, copy))
        return false;
    xl__gemm_transpose_add(g, operand, copy, p);
    *(operand->mem == XL__GEMM_A ? &b->a_step : &b->b_step) = copy->step;
    p->scratch_bytes = copy->end_bytes;
    w->serial_bytes += copy->moved_bytes;
    w->launches++;
    operand->stride_x = copy->line;
    operand->stride_k = 1;
    operand->aligned = XL__TRANSPOSE_ALIGN / xl_dtype_bytes(g->a.dtype);
    return true;
}

static bool transpose_slow(struct mma_plan *j, const xl_gemm *g,
                           struct xl__cost *w, struct xl__plan *p)
{
    const struct xl__mma_job direct = mma_job(j->l, g, &j->s);
    if (xl__gemm_transpose_refused(j->l, g))
        return false;
    return (direct.slow_a || direct.slow_b) &&
           (!direct.slow_a ||
            transpose_operand(j, g, &j->s.a, &j->copy[0], w, p)) &&
           (!direct.slow_b ||
            transpose_operand(j, g, &j->s.b, &j->copy[1], w, p));
}

/* Append the steps that copy images and filters whose windows are gathered. */
static void copy_windows(struct mma_plan *j, struct xl__cost *w,
                         struct xl__plan *p)
{
    const struct xl__windows *v = j->c.windows;
    const struct xl__window_copies at = xl__windows_place(v, p->scratch_bytes);
    xl__windows_copy(j->l, v, &at, p);
    j->copy[v->of_b].first = at.images;
    if (v->filters.n > 0)
        j->copy[!v->of_b] =
            (struct xl__gemm_transpose){.line = j->c.g.k, .first = at.filters};
    p->scratch_bytes = at.end_bytes;
    w->serial_bytes += at.moved_bytes;
    w->launches += at.launches;
}

/* -- the plan ------------------------------------------------------------- */

static struct xl__cost product_cost(const xl_gemm *g)
{
    return (struct xl__cost){.flop = xl__gemm_flop(g),
                             .bytes = xl__gemm_bytes(g)};
}

/* Choose the tunables with the slow operands transposed first. */
static double choose_transposed(const struct xl__limits *l, const xl_gemm *g,
                                struct xl__mma_job *job,
                                struct xl__params *out)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    struct xl__cost work = product_cost(g);
    const struct {
        bool is_slow;
        const struct xl__gemm_operand *operand;
    } operands[OPERANDS] = {{job->slow_a, &s.a}, {job->slow_b, &s.b}};
    for (unsigned i = 0; i < OPERANDS; i++) {
        struct xl__gemm_transpose copy;
        if (!operands[i].is_slow)
            continue;
        if (!xl__gemm_transpose_layout(l, g, operands[i].operand, 0, &copy))
            return INFINITY;
        work.serial_bytes += copy.moved_bytes;
        work.launches++;
    }
    job->slow_a = job->slow_b = false;
    const double ns = xl__mma_choose(l, job, &work, out);
    out->value[XL__MMA_TURN] = XL__MMA_TRANSPOSED;
    return ns;
}

static void choose_mma(const struct xl__limits *l, const void *desc,
                       struct xl__params *out)
{
    const struct xl__gemm_oriented s = xl__gemm_orient(desc);
    struct xl__mma_job job = mma_job(l, desc, &s);
    const struct xl__cost work = product_cost(desc);
    const double ns = xl__mma_choose(l, &job, &work, out);
    struct xl__params transposed;
    if ((job.slow_a || job.slow_b) && !xl__gemm_transpose_refused(l, desc) &&
        choose_transposed(l, desc, &job, &transposed) < ns)
        *out = transposed;
}

static xl_status plan_mma(const struct xl__limits *l, const void *desc,
                          const struct xl__params *params, struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct mma_plan j = {.l = l,
                         .op = xl__mma_op(l, g->a.dtype),
                         .c = *(const struct xl__gemm_canonical *)desc,
                         .set = xl__mma_set_of(params),
                         .s = xl__gemm_orient(desc)};
    const struct xl__tile *t = &j.set.tile;
    struct xl__mma_job job = mma_job(l, g, &j.s);
    struct xl__cost work = product_cost(g);
    p->flop = work.flop;
    p->bytes = work.bytes;
    if (!xl__mma_fits(l, j.op, &j.set) ||
        !xl__tile_cut(l, t, &job.tiles, &j.grid))
        return XL_UNSUPPORTED;
    p->scratch_bytes = xl__tile_scratch_bytes(t, job.tiles.in, &j.grid);
    if (params->value[XL__MMA_TURN] == XL__MMA_TRANSPOSED &&
        !transpose_slow(&j, g, &work, p))
        return XL_UNSUPPORTED;
    job = mma_job(l, g, &j.s);
    if (j.c.windows)
        copy_windows(&j, &work, p);
    add_tiles(&j, p);
    if (j.grid.is_cut)
        add_join(&j, p);
    xl__mma_model(l, &j.set, &job, &j.grid, &work);
    xl__estimate(l, &work, p);
    return XL_OK;
}

static const char *refuse_mma(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F32 && g->accuracy != XL_ACCURACY_FAST)
        return "f32 would be rounded to 11 bits: XL_ACCURACY_FAST allows it";
    if (g->k > INT32_MAX)
        return "slices are counted in 32 bits";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    return xl__mma_refused(l, g->a.dtype);
}

const struct xl__variant xl__gemm_mma = {
    .name = "gemm_mma",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_mma_tunables,
    .on = {.engine = XL_ENGINE_MATRIX, .terms = 1},
    .refuses = refuse_mma,
    .choose = choose_mma,
    .plan = plan_mma,
};
