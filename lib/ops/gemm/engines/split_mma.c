/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_split_mma: f32 products as products of narrower planes (split.h) on
 * matrix instructions of a sub-group, or on their emulation, which any device
 * runs.
 *
 * Error: with r and c the largest magnitudes of the row and the column, and T
 * = 3 or 6 products of planes,
 *
 *   |C' - A B| <= (T 2^-18 + ceil(k / 64) 2^-24 + 2^-20) |A| |B|
 *                 + 2^-37 k r c
 *
 * element by element. The planes and the products that are left out: 2^-21
 * and, of f16, the second line. T 64 terms within 64 of k, each of which adds
 * no more than 2^-24: an engine that cuts 17 numbers 25 bits below the
 * largest, and their sum at 24, loses 21 2^-25 in an instruction of 16, 4 T of
 * them (GE-28). Sums that leave the engine are rounded to nearest, k / 64
 * times. */
#include <math.h>

#include "base/alloc.h"
#include "ops/gemm/engines/split.h"
#include "ops/gemm/tile_plan.h"
#include "ops/path/matrix_engine.h"
#include "ops/gemm/gemm.h"

enum { AT_TEAMS_M = XL__GEMM_TK + 1, AT_TEAMS_N, AT_ST, AT_GR, N_TUNABLES };
enum { ELEM_BYTES = 2 };

static const struct xl__tunable tunables[] = {
    {"TM", "rows of a work-group's tile", {32, 64, 128, 0}},
    {"TN", "columns of it", {32, 64, 128, 0}},
    {"TK", "depth of a slice", {32, 64, 0}},
    {"TEAMS_M", "sub-groups along its rows", {1, 2, 4, 0}},
    {"TEAMS_N", "and along its columns", {1, 2, 4, 0}},
    {"ST", "slices kept in local memory", {2, 3, 4, 0}},
    {"GR", "tile rows of a band", {1, 2, 4, 8, 16, 0}},
    {NULL, NULL, {0}},
};

/* Fractions of the matrix engine's rate are estimates; their order is what
 * matters. */
static const struct {
    int tm, tn, tk, teams_m, teams_n, stages;
    double frac;
} split_sets[] = {
    {128, 128, 32, 2, 4, 3, 0.60}, {128, 128, 32, 2, 4, 2, 0.55},
    {128, 64, 32, 2, 2, 3, 0.50},  {64, 64, 32, 2, 2, 3, 0.40},
    {64, 64, 32, 2, 2, 2, 0.35},   {32, 32, 32, 2, 1, 2, 0.15},
};

struct split_mma_plan {
    const xl_matrix_op *op;
    struct xl__split_layout p;
    const int *v; /* the tunables */
    size_t tm, tn, items;
    struct xl__tile_grid grid;
};

static bool read_params(const struct xl__limits *l, const void *desc,
                        const struct xl__split_scheme *scheme,
                        const struct xl__params *params,
                        struct split_mma_plan *out)
{
    const int *v = params->value;
    const xl_matrix_op *op = xl__mma_op(l, scheme->in);
    struct split_mma_plan j = {
        .op = op,
        .v = v,
        .tm = (size_t)v[XL__GEMM_TM],
        .tn = (size_t)v[XL__GEMM_TN],
        .items = (size_t)(v[AT_TEAMS_M] * v[AT_TEAMS_N]) * op->lanes};
    if (j.tm == 0 ||
        !xl__split_layout_init(l, desc, XL__SPLIT_BY_ONE, scheme, &j.p))
        return false;
    j.grid.tiles_m = xl__ceil_div(j.p.s.m, j.tm);
    j.grid.tiles_n = xl__ceil_div(j.p.s.n, j.tn);
    *out = j;
    return xl__mul(j.grid.tiles_m, j.grid.tiles_n, &out->grid.tiles) &&
           out->grid.tiles <= (size_t)(INT32_MAX / v[AT_GR]);
}

static size_t local_bytes(const struct split_mma_plan *j)
{
    return ELEM_BYTES * j->p.scheme.planes * (size_t)j->v[AT_ST] *
           (size_t)j->v[XL__GEMM_TK] * (j->tm + j->tn);
}

/* A sub-group's share is whole instructions, in pairs along n, and its
 * sums, kept twice, fit into registers; every item copies the same number
 * of chunks. */
static bool fits_device(const struct xl__limits *l,
                        const struct split_mma_plan *j)
{
    enum { CHUNK = 16 / ELEM_BYTES, EMULATION = 24, MOST_SUMS = 64 };
    const size_t tk = (size_t)j->v[XL__GEMM_TK];
    const size_t emulated = EMULATION * j->items;
    return j->tm % (j->op->m * (size_t)j->v[AT_TEAMS_M]) == 0 &&
           j->tn % (2 * j->op->n * (size_t)j->v[AT_TEAMS_N]) == 0 &&
           j->tm * j->tn <= MOST_SUMS * j->items &&
           j->tm * tk % (CHUNK * j->items) == 0 &&
           j->tn * tk % (CHUNK * j->items) == 0 &&
           j->items <= xl__size_or(l, XL__F_max_wg_size, 1) &&
           local_bytes(j) + emulated <=
               xl__size_or(l, XL__F_local_mem_bytes, 0);
}

/* -- the model ------------------------------------------------------------ */

static double tile_frac(const struct split_mma_plan *j)
{
    static const double unlisted = 0.3;
    for (size_t i = 0; i < sizeof split_sets / sizeof *split_sets; i++) {
        if (split_sets[i].tm == j->v[XL__GEMM_TM] &&
            split_sets[i].tn == j->v[XL__GEMM_TN] &&
            split_sets[i].stages == j->v[AT_ST])
            return split_sets[i].frac;
    }
    return unlisted;
}

/* Time of the product: rounds of tiles, each as long as the engine takes for a
 * tile. */
static double product_ns(const struct xl__limits *l,
                         const struct split_mma_plan *j)
{
    static const double ns_per_s = 1e9;
    const double units = (double)xl__n_units(l);
    const double rate = xl__mma_rate(l, j->op);
    const double tiles = (double)j->grid.tiles;
    const double tile = xl__split_flop(&j->p) /
                        ((double)j->p.s.m * (double)j->p.s.n) *
                        (double)(j->tm * j->tn);
    return ceil(tiles / units) * tile / (rate / units * tile_frac(j)) *
           ns_per_s;
}

static void choose(const struct xl__limits *l, const void *desc,
                   const struct xl__split_scheme *scheme,
                   struct xl__params *out)
{
    double best = INFINITY;
    *out = (struct xl__params){.source = "model"};
    for (size_t i = 0; i < sizeof split_sets / sizeof *split_sets; i++) {
        const struct xl__params params = {
            .source = "model",
            .value = {split_sets[i].tm, split_sets[i].tn, split_sets[i].tk,
                      split_sets[i].teams_m, split_sets[i].teams_n,
                      split_sets[i].stages,
                      (int)xl__model_size(l, XL__M_band)}};
        struct split_mma_plan j;
        if (!read_params(l, desc, scheme, &params, &j) ||
            !fits_device(l, &j) || product_ns(l, &j) >= best)
            continue;
        best = product_ns(l, &j);
        *out = params;
    }
}

/* -- the plan ------------------------------------------------------------- */

static void add_product(const struct xl__limits *l,
                        const struct split_mma_plan *j, struct xl__plan *plan)
{
    const xl_gemm *g = j->p.canonical;
    const struct xl__gemm_oriented *c = &j->p.s;
    const struct xl__split_operand *operands[] = {&j->p.a, &j->p.b};
    struct xl__step *s =
        xl__plan_add(plan, "gemm/split_mma.cl", "gemm_split_mma",
                     j->items * j->grid.tiles, j->items);
    s->local_mem_bytes = local_bytes(j);
    for (size_t i = 0; i < N_TUNABLES; i++)
        xl__define(s, tunables[i].name, j->v[i]);
    xl__define(s, "PLANES", (long)j->p.scheme.planes);
    xl__define(s, "MMA_T", (long)j->p.scheme.in);
    xl__define(s, "UA", j->p.a.across);
    xl__define(s, "UB", j->p.b.across);
    xl__define(s, "VC",
               c->col_stride == 1 && c->c_aligned % 2 == 0 &&
                       c->c_aligned > 0 && c->n % 2 == 0
                   ? 2
                   : 1);
    xl__mma_define(s, l, j->op);
    xl__gemm_define(s, g, c->is_swapped);
    for (size_t i = 0; i < 2; i++) {
        xl__arg_mem(s, XL__MEM_SCRATCH);
        xl__arg_u64(s, operands[i]->first);
        xl__arg_u64(s, operands[i]->plane);
        xl__arg_u64(s, operands[i]->line);
    }
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_u64(s, j->p.a.factors);
    xl__arg_u64(s, j->p.b.factors);
    xl__tile_args(s, g, c, &j->grid);
    xl__split_guard(&j->p, s, 2);
    plan->tiling = xl__tile_describe(s, &j->grid,
                                     (xl_tiling){.rows = j->tm,
                                                 .cols = j->tn,
                                                 .m = c->m,
                                                 .n = c->n,
                                                 .band = (size_t)j->v[AT_GR],
                                                 .is_swapped = c->is_swapped});
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__split_scheme *scheme,
                      const struct xl__params *params, struct xl__plan *p)
{
    xl_status status = XL_OK;
    struct split_mma_plan j;
    if (!read_params(l, desc, scheme, params, &j) || !fits_device(l, &j))
        return XL_UNSUPPORTED;
    xl__split_add(&j.p, p);
    add_product(l, &j, p);
    status = xl__split_add_plain(l, &j.p, p);
    xl__split_estimate(l, &j.p, product_ns(l, &j), "matrix", p);
    return status;
}

static const char *refuses(const struct xl__limits *l, const void *desc,
                           const struct xl__split_scheme *scheme)
{
    const char *why = xl__mma_rows_refused(l, scheme->in);
    return why ? why : xl__split_refused(l, desc);
}

/* -- the variants, a scheme each ------------------------------------------ */

XL__SPLIT_VARIANT(xl__gemm_split_mma_f16, f16, "gemm_split_mma", tunables);
XL__SPLIT_VARIANT(xl__gemm_split_mma_bf16, bf16, "gemm_split_mma_bf16",
                  tunables);
