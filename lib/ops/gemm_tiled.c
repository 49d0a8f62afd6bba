/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM by tiles, for any device: work-groups that share slices through local
 * memory, or single items with vector registers where an item is a thread.
 * One plan for all four transpose cases: a column-major C is the row-major
 * C^T = B^T A^T, and how A and B lie only changes how they are read. */
#include "base/mem.h"
#include "ops/cost.h"
#include "ops/gemm_sides.h"
#include "ops/gemm_tiles.h"
#include "ops/variants.h"

struct job {
    const xl_gemm *g;
    struct xl__tile t;
    struct xl__gemm_sides s;
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
    if (j->s.col_stride != 1)
        return 1;
    if (j->t.form == XL__FORM_ITEM)
        return j->t.vw;
    return j->s.c_aligned == 0 ? 1 : divide(divide(most, j->s.c_aligned), j->s.n);
}

static void define_all(const struct job *j, struct xl__step *s)
{
    const struct {
        const char *name;
        size_t value;
    } defines[] = {
        {"TM", j->t.tm},        {"TN", j->t.tn},        {"TK", j->t.tk},
        {"RM", j->t.rm},        {"RN", j->t.rn},        {"GR", j->t.band},
        {"TA", j->g->a.dtype},  {"TC", j->g->c.dtype},  {"UA", xl__gemm_side_unit(&j->s.a)},
        {"UB", xl__gemm_side_unit(&j->s.b)}, {"VC", store_width(j)},
    };
    for (size_t i = 0; i < sizeof defines / sizeof *defines; i++)
        xl__define(s, defines[i].name, (long)defines[i].value);
    if (j->t.form == XL__FORM_ITEM) {
        xl__define(s, "VW", (long)j->t.vw);
        return;
    }
    xl__define(s, "ST", (long)j->t.stages);
    xl__define(s, "VA", (long)load_width(j, &j->s.a, j->t.tm));
    xl__define(s, "VB", (long)load_width(j, &j->s.b, j->t.tn));
}

static void add_args(const struct job *j, size_t tiles_m, size_t tiles_n,
                     struct xl__step *s)
{
    xl__gemm_arg_side(s, &j->s.a);
    xl__gemm_arg_side(s, &j->s.b);
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
    xl__arg_u32(s, tiles_m);
    xl__arg_u32(s, tiles_n);
    xl__arg_value_f32(s, XL__GEMM_ALPHA);
    xl__arg_value_f32(s, XL__GEMM_BETA);
}

static void choose(const struct xl__limits *l, const void *desc,
                   struct xl__params *out)
{
    const struct xl__gemm_sides s = xl__gemm_sides(desc);
    xl__tile_choose(l, s.m, s.n, out);
}

enum { THIN = 16 };
static const double thin_frac = 0.3;

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    struct job j = {.g = desc, .s = xl__gemm_sides(desc)};
    struct xl__step *s = &p->step[0];
    size_t tiles_m, tiles_n;
    j.t = xl__tile_of(params);
    if (!xl__tile_fits(l, &j.t) ||
        !xl__tile_grid(&j.t, j.s.m, j.s.n, &tiles_m, &tiles_n))
        return XL_UNSUPPORTED;
    const bool item = j.t.form == XL__FORM_ITEM;
    p->n_steps = 1;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    s->source = item ? "gemm_tiled_item.cl" : "gemm_tiled.cl";
    s->kernel = item ? "gemm_tiled_item" : "gemm_tiled";
    s->dims = 1;
    s->slice_dim = 0;
    s->local[0] = xl__tile_items(&j.t);
    s->global[0] = tiles_m * tiles_n * s->local[0];
    s->local_mem_bytes = xl__tile_local_bytes(&j.t);
    define_all(&j, s);
    add_args(&j, tiles_m, tiles_n, s);
    /* Where most of a tile is not there, little is staged at a time: CP-13. */
    const bool is_thin = xl__min_size(j.s.m, j.s.n) <= THIN;
    struct xl__work work = {.flop = p->flop, .bytes = p->bytes,
                            .bytes_frac = is_thin ? thin_frac : 1,
                            .launches = 1};
    xl__tile_rate(l, &j.t, j.s.m, j.s.n, &work.flop_frac, &work.fill);
    xl__estimate(l, &work, p);
    return XL_OK;
}

/* A turn per step of k and per tile's load, should nothing be unrolled. */
static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const char *other = xl__gemm_plain_alone(desc);
    if (other)
        return other;
    return xl__turns_refused(l, 2.0 * (double)((const xl_gemm *)desc)->k);
}

const struct xl__variant xl__gemm_tiled = {
    .name = "gemm_tiled",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = xl__gemm_tiled_tunables,
    .refuses = refuses,
    .choose = choose,
    .plan = plan,
};
