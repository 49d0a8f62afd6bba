/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cpu: GEMM for devices whose work-items are threads with vector
 * registers and caches of their own. Panels of B are packed by a first launch,
 * by each group, or not at all; blocks of A are packed by each group or read
 * in place; a tile of C is in registers. Source: Goto, van de Geijn 2008. */
#include "ops/gemm/cpu.h"

#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/tile_plan.h"
#include "ops/gemm/gemm.h"

const struct xl__tunable xl__gemm_cpu_tunables[] = {
    {"TM", "rows of A that a group packs", {8, 16, 32, 64, 128, 256, 0}},
    {"RN", "columns in registers", {8, 16, 24, 32, 48, 0}},
    {"TK", "depth of a slice", {64, 128, 256, 512, 1024, 0}},
    {"RM", "rows in registers", {4, 8, 0}},
    {"VW", "values of a vector", {4, 8, 16, 0}},
    {"FORM",
     "B is packed by a first step (1), by each group (2), not (3)",
     {1, 2, 3, 0}},
    {"PLACE", "1 A is packed, 2 read in place", {1, 2, 0}},
    {"GROUPS", "groups to a unit", {1, 2, 4, 6, 8, 12, 0}},
    {NULL, NULL, {0}},
};

static const char *refuse_cpu(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (!xl__is(l, XL__F_is_cpu))
        return "the device's work-items are not threads of a CPU";
    if (xl__cpu_vector(l, g->a.dtype) == 0)
        return "the device has no vectors of floats";
    if (xl__gemm_types_refused(g))
        return xl__gemm_types_refused(g);
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no f64";
    return xl__iterations_refused(l, 2.0 * (double)g->k);
}

/* The first defines are those of both steps, the others of the second. */
static struct xl__step *add_step(const struct xl__cpu_job *j, int which,
                                 const char *kernel, size_t items,
                                 size_t products, const void *canonical,
                                 struct xl__plan *p)
{
    enum { N_COMMON = 5 };
    struct xl__step *s = xl__plan_add(p, "gemm/cpu.cl", kernel, items, 1);
    const struct xl__defined defines[] = {
        {"STEP", (size_t)which},
        {"FORM", j->form},
        {"RN", j->rn},
        {"XL_VW", j->vw},
        {"UB", xl__gemm_operand_unit(&j->s.b)},
        {"RM", j->rm},
        {"TM", j->tm},
        {"TK", j->tk},
        {"UA", xl__gemm_operand_unit(&j->s.a)},
        {"UC", j->s.col_stride == 1},
        {"PLACE", j->in_place},
        {"KEEP", j->keeps},
        {"WIDE", j->wide},
    };
    const size_t n = sizeof defines / sizeof *defines;
    s->dims = 2;
    s->local[1] = 1;
    s->global[1] = products;
    xl__define_all(s, defines, which == 1 ? N_COMMON : n);
    xl__gemm_define(s, canonical, j->s.is_swapped);
    return s;
}

static void add_pack_step(const struct xl__cpu_job *j, const void *canonical,
                          struct xl__plan *p)
{
    enum { SIZES = 7 };
    /* This step applies no epilogue. */
    struct xl__gemm_canonical plain =
        *(const struct xl__gemm_canonical *)canonical;
    plain.snippet = NULL;
    struct xl__step *s =
        add_step(j, 1, "gemm_cpu_pack",
                 xl__ceil_div(j->g->k, XL__CPU_SLAB) * j->pack_blocks,
                 j->shares_b ? 1 : j->g->batch.count, &plain, p);
    s->is_aid = true;
    xl__arg_mem(s, j->s.b.mem);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_words(s, SIZES);
    xl__gemm_arg_layout(s, &j->s.b);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
    xl__arg_u64(s, j->pack_blocks);
    xl__arg_u64(s, j->panel_values);
    xl__gemm_arg_last(s, &plain, j->s.is_swapped);
}

static void add_multiply_step(const struct xl__cpu_job *j,
                              const void *canonical, struct xl__plan *p)
{
    enum { SIZES = 18 };
    const size_t count = j->g->batch.count;
    const size_t packed = j->shares_b ? 1 : count;
    struct xl__step *s = add_step(j, 2, "gemm_cpu", j->groups_m * j->groups_n,
                                  count, canonical, p);
    s->local_mem_bytes = j->local_bytes;
    xl__arg_mem(s, j->s.a.mem);
    xl__arg_mem(s, j->s.b.mem);
    xl__arg_mem(s, XL__MEM_SCRATCH);
    xl__arg_mem(s, XL__GEMM_C);
    xl__arg_words(s, SIZES);
    xl__gemm_arg_layout(s, &j->s.a);
    xl__gemm_arg_layout(s, &j->s.b);
    xl__arg_value_u64(s, XL__GEMM_OFF_C);
    xl__arg_u64(s, j->s.row_stride);
    xl__arg_u64(s, j->s.col_stride);
    xl__arg_u64(s, j->s.m);
    xl__arg_u64(s, j->s.n);
    xl__arg_u64(s, j->g->k);
    xl__arg_u64(s, j->slice);
    xl__arg_u64(s, j->groups_m);
    xl__arg_u64(s, j->groups_n);
    xl__arg_u64(s, j->shares_b ? 0 : j->panel_values);
    xl__arg_u64(s, packed * j->panel_values);
    xl__arg_u64(s, j->ld);
    xl__gemm_arg_last(s, canonical, j->s.is_swapped);
    const struct xl__tile_grid grid = {.tiles_m = j->groups_m,
                                       .tiles_n = j->groups_n,
                                       .tiles = s->global[0] * count};
    p->tiling = xl__tile_describe(
        s, &grid,
        (xl_tiling){.rows = xl__ceil_div(j->s.m, j->groups_m),
                    .cols = xl__ceil_div(j->s.n, j->groups_n),
                    .m = j->s.m,
                    .n = j->s.n,
                    .band = 1,
                    .is_swapped = j->s.is_swapped,
                    .is_even = true});
    p->tiling.groups *= count;
}

static xl_status plan_cpu(const struct xl__limits *l, const void *desc,
                          const struct xl__params *params, struct xl__plan *p)
{
    struct xl__cpu_job j;
    if (!xl__cpu_job_init(l, desc, params, &j))
        return XL_UNSUPPORTED;
    p->flop = xl__gemm_flop(j.g);
    p->bytes = xl__gemm_bytes(j.g);
    p->scratch_bytes =
        ((j.shares_b ? 1 : j.g->batch.count) * j.panel_values + j.sum_values) *
        j.value_bytes;
    if (j.form == XL__CPU_AHEAD)
        add_pack_step(&j, desc, p);
    add_multiply_step(&j, desc, p);
    xl__cpu_estimate(l, &j, p);
    return XL_OK;
}

/* Two panels of B and the rows of a group, of C or of C^T; two slices. */
static void tile_of_cpu(const void *desc, const struct xl__params *params,
                        size_t *sizes)
{
    const bool is_swapped = xl__gemm_orient(desc).is_swapped;
    sizes[is_swapped] = (size_t)params->value[XL__CPU_AT_TM];
    sizes[!is_swapped] = 2 * (size_t)params->value[XL__CPU_AT_RN];
    sizes[2] = (size_t)params->value[XL__CPU_AT_TK];
}

const struct xl__variant xl__gemm_cpu = {
    .name = "gemm_cpu",
    .repeats = "bit for bit: each element is one sum in a fixed order",
    .tunables = xl__gemm_cpu_tunables,
    .refuses = refuse_cpu,
    .choose = xl__cpu_choose,
    .plan = plan_cpu,
    .own = &(const struct xl__gemm_variant){.tile = tile_of_cpu},
};
