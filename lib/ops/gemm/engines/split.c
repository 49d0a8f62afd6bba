/* SPDX-License-Identifier: Apache-2.0 */
/* f32 operands as planes of a narrower type: the layout of the workspace and
 * the steps around the product. */
#include "ops/gemm/engines/split.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/tiles.h"
#include "ops/gemm/gemm.h"

/* As in cl/gemm/split.cl. */
enum { WG = 256, COLS = 32, WIDEST = 4 };
enum { CLEAR, LINES, LARGEST, ACROSS }; /* its STEP */
enum { PLANE_BYTES = 2, WORD_BYTES = 4 };

const struct xl__split_scheme xl__split_f16 = {XL_F16, 2},
                              xl__split_bf16 = {XL_BF16, 3};

/* -- supported products --------------------------------------------------- */

const char *xl__split_refused(const struct xl__limits *l,
                              const void *canonical)
{
    /* With fewer terms a sum in f32 has less error. */
    enum { LEAST_K = 512, MOST_K = 1 << 24 };
    const xl_gemm *g = canonical;
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    if (g->accuracy != XL_ACCURACY_SPLIT)
        return "the caller did not allow split products (XL_ACCURACY_SPLIT)";
    if (g->batch.count > 1 || g->batch.at)
        return "split products do not support batches";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (g->k < LEAST_K)
        return "with fewer than 512 terms a sum in f32 has less error";
    if (g->k > MOST_K)
        return "k exceeds 2^24, the limit of split products";
    if (xl__size_or(l, XL__F_max_wg_size, 1) < WG)
        return "split products require work-groups of 256";
    return NULL;
}

/* -- the workspace -------------------------------------------------------- */

static struct xl__split_operand
operand_layout(const struct xl__gemm_operand *from, size_t depth)
{
    struct xl__split_operand s = {.from = *from};
    s.across = xl__gemm_operand_unit(from) == XL__UNIT_ACROSS;
    s.line = s.across ? xl__round_up(from->extent, XL__SPLIT_DEPTH) : depth;
    s.plane = s.line * (s.across ? depth : from->extent);
    return s;
}

/* Planes of A, planes of B, then words. */
bool xl__split_layout_init(const struct xl__limits *l, const void *canonical,
                           enum xl__split_engine engine,
                           const struct xl__split_scheme *scheme,
                           struct xl__split_layout *out)
{
    const xl_gemm *g = canonical;
    const size_t planes = scheme->planes;
    struct xl__split_layout p = {.canonical = canonical,
                                 .engine = engine,
                                 .s = xl__gemm_orient(g),
                                 .scheme = *scheme,
                                 .depth = xl__round_up(g->k, XL__SPLIT_DEPTH)};
    p.a = operand_layout(&p.s.a, p.depth);
    p.b = operand_layout(&p.s.b, p.depth);
    p.b.first = xl__round_up(planes * p.a.plane, p.b.line);
    p.flag = (p.b.first + planes * p.b.plane) * PLANE_BYTES / WORD_BYTES;
    p.a.words = p.flag + 1;
    p.b.words = p.a.words + (p.a.across ? p.s.m : 0);
    p.a.factors = p.b.words + (p.b.across ? p.s.n : 0);
    p.b.factors = p.a.factors + p.s.m;
    p.end_bytes = (p.b.factors + p.s.n) * WORD_BYTES;
    *out = p;
    return (double)p.end_bytes <=
           xl__num_or(l, XL__F_max_alloc_bytes, INFINITY);
}

/* -- steps before the product --------------------------------------------- */

/* Defines that keep the programs of variants separate. */
static void define_variant(const struct xl__split_layout *p,
                           struct xl__step *s)
{
    xl__define(s, "FOR", (long)p->engine);
    xl__define(s, "PLANES", (long)p->scheme.planes);
}

static struct xl__step *add_step(const struct xl__split_layout *p, int which,
                                 const char *kernel, struct xl__plan *plan)
{
    struct xl__step *s = xl__plan_add(plan, "gemm/split.cl", kernel, 0, WG);
    s->is_aid = true;
    xl__define(s, "STEP", which);
    define_variant(p, s);
    xl__define(s, "TP", (long)p->scheme.in);
    return s;
}

/* Clear the flag and the words. */
static void add_clear(const struct xl__split_layout *p, struct xl__plan *plan)
{
    struct xl__step *s = add_step(p, CLEAR, "gemm_split_clear", plan);
    const size_t n = p->a.factors - p->flag;
    s->global[0] = xl__round_up(n, WG);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, p->flag);
    xl__arg_u64(s, n);
}

/* Elements of a vector: aligned, and dividing the contiguous size. */
static size_t vector_width(const struct xl__gemm_operand *s, size_t k)
{
    const enum xl__gemm_unit unit = xl__gemm_operand_unit(s);
    const size_t size = unit == XL__UNIT_ALONG_K ? k : s->extent;
    size_t width = WIDEST;
    if (unit == XL__UNIT_NONE || s->aligned == 0)
        return 1;
    while (s->aligned % width != 0 || size % width != 0)
        width /= 2;
    return width;
}

static void add_plane_step(const struct xl__split_layout *p,
                           const struct xl__split_operand *operand, int which,
                           const char *kernel, struct xl__plan *plan)
{
    const xl_gemm *g = p->canonical;
    struct xl__step *s = add_step(p, which, kernel, plan);
    const size_t width = vector_width(&operand->from, g->k);
    const size_t lines = operand->from.extent;
    s->global[0] =
        WG * (which == LINES ? lines : xl__ceil_div(lines, COLS * width));
    if (which != LINES) {
        s->dims = 2;
        s->local[1] = 1;
        s->global[1] = p->depth / XL__SPLIT_DEPTH;
    }
    s->local_mem_bytes = which == ACROSS ? 0 : WG * WORD_BYTES * width;
    xl__define(s, "VX", (long)width);
    xl__gemm_arg_operand(s, &operand->from);
    xl__arg_u64(s, lines);
    xl__arg_u64(s, g->k);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, p->flag);
    xl__arg_u64(s, operand->words);
    if (which == LARGEST)
        return;
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, operand->factors);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, operand->first);
    xl__arg_u64(s, operand->plane);
    xl__arg_u64(s, operand->line);
    xl__arg_u64(s, p->depth);
}

static void add_operand_planes(const struct xl__split_layout *p,
                               const struct xl__split_operand *operand,
                               struct xl__plan *plan)
{
    if (operand->across) {
        add_plane_step(p, operand, LARGEST, "gemm_split_largest", plan);
        add_plane_step(p, operand, ACROSS, "gemm_split_across", plan);
    } else {
        add_plane_step(p, operand, LINES, "gemm_split_lines", plan);
    }
}

void xl__split_add(const struct xl__split_layout *p, struct xl__plan *plan)
{
    add_clear(p, plan);
    add_operand_planes(p, &p->a, plan);
    add_operand_planes(p, &p->b, plan);
}

/* -- the plain product ---------------------------------------------------- */

void xl__split_guard(const struct xl__split_layout *p, struct xl__step *step,
                     int guard)
{
    xl__define(step, "GUARD", guard);
    xl__arg_mem(step, XL__MEM_SCRATCH);
    xl__arg_u64(step, p->flag);
}

/* The tile that is best for a large product, whatever the size, so that the
 * self-check's case runs the same program. Tiles are not cut, since partial
 * sums would need scratch. */
static void choose_plain(const struct xl__limits *l, struct xl__params *out)
{
    enum { LARGE = 4096 };
    const struct xl__tile_job job = {.m = LARGE,
                                     .n = LARGE,
                                     .k = LARGE,
                                     .count = 1,
                                     .in = XL_F32,
                                     .keeps_whole = true};
    const struct xl__cost work = {.flop = 2.0 * LARGE * LARGE * LARGE,
                                  .bytes = 3.0 * LARGE * LARGE,
                                  .bytes_frac = 1};
    xl__tile_choose(l, XL__TILES_GEMM, &job, &work, out);
}

xl_status xl__split_add_plain(const struct xl__limits *l,
                              const struct xl__split_layout *p,
                              struct xl__plan *plan)
{
    struct xl__params params;
    struct xl__plan *plain = xl__calloc(1, sizeof *plain);
    if (!plain)
        return XL_NO_MEMORY;
    choose_plain(l, &params);
    const xl_status status =
        xl__gemm_tiled.plan(l, p->canonical, &params, plain);
    if (status == XL_OK) {
        struct xl__step *s = &plan->step[plan->n_steps++];
        *s = plain->step[0];
        s->is_aid = true;
        define_variant(p, s);
        xl__split_guard(p, s, 1);
    }
    free(plain);
    return status;
}

/* -- the estimate --------------------------------------------------------- */

double xl__split_flop(const struct xl__split_layout *p)
{
    return xl__gemm_flop(p->canonical) * p->scheme.planes *
           (p->scheme.planes + 1) / 2;
}

/* Bytes read and written before the product. Operands contiguous across are
 * read twice. */
static double moved_bytes(const struct xl__split_layout *p,
                          const struct xl__split_operand *operand)
{
    const double read = operand->across ? 2 * WORD_BYTES : WORD_BYTES;
    return (double)operand->plane * (read + p->scheme.planes * PLANE_BYTES);
}

void xl__split_estimate(const struct xl__limits *l,
                        const struct xl__split_layout *p, double ns,
                        const char *bound, struct xl__plan *plan)
{
    struct xl__cost around = {.bytes = moved_bytes(p, &p->a) +
                                       moved_bytes(p, &p->b),
                              .bytes_frac = 1,
                              .flop_frac = 1,
                              .launches = plan->n_steps - 1};
    const char *unused;
    plan->flop = xl__gemm_flop(p->canonical);
    plan->bytes = xl__gemm_bytes(p->canonical);
    plan->scratch_bytes = xl__max_size(plan->scratch_bytes, p->end_bytes);
    plan->est_ns = ns + xl__work_ns(l, &around, &unused);
    plan->bound = bound;
}
