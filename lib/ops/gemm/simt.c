/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM in f32 on FMA units, for devices with many registers: gemm_tiled's
 * tiles, with values fetched one step ahead of those that are multiplied, so
 * that items wait neither for local memory nor at barriers. The small tiles
 * are for devices that run the kernel without gaining by it. */
#include "ops/gemm/tile_plan.h"
#include "ops/gemm/gemm.h"

const struct xl__tunable xl__gemm_simt_tunables[] = {
    {"TM", "rows of a work-group's tile", {16, 32, 64, 128, 256, 0}},
    {"TN", "columns of it", {16, 32, 64, 128, 256, 0}},
    {"TK", "depth of a slice", {4, 8, 16, 32, 0}},
    {"RM", "rows in an item's registers", {2, 4, 8, 16, 0}},
    {"RN", "columns there", {2, 4, 8, 16, 0}},
    {"VW", "widest vector", {1, 2, 4, 0}},
    {"ST", "slices kept in local memory", {2, 3, 4, 0}},
    {"GR", "tile rows of a band", {1, 2, 4, 8, 16, 0}},
    {"PARTS",
     "1 a tile to a group; more: the slices of the last round are divided "
     "among so many groups on each two compute units",
     {1, 2, 4, 8, 16, 0}},
    {"COPY",
     "slices go to local memory through registers (1), as asynchronous "
     "copies (2)",
     {XL__TILE_BY_REGISTERS, XL__TILE_BY_COPIES, 0}},
    {NULL, NULL, {0}},
};

static void choose_simt(const struct xl__limits *l, const void *desc,
                        struct xl__params *out)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    const struct xl__cost work = xl__tile_cost(l, desc);
    xl__tile_choose(l, XL__TILES_GEMM_AHEAD, &job, &work, out);
    out->value[XL__TILE_COPY] = XL__TILE_BY_REGISTERS;
}

static bool can_copy(const struct xl__limits *l, const xl_gemm *g)
{
    return g->a.dtype == XL_F32 && g->b.dtype == XL_F32 &&
           *xl__text(l, XL__F_async_copy);
}

/* The kernel counts the slices of a tile in 32 bits. */
static bool is_legal(const struct xl__limits *l, const struct xl__tile_plan *j)
{
    return j->grid.units <= UINT32_MAX &&
           (j->t.copies ? can_copy(l, j->g) : j->t.stages == 2);
}

static xl_status plan_simt(const struct xl__limits *l, const void *desc,
                           const struct xl__params *params, struct xl__plan *p)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    struct xl__tile_plan j = {
        .g = desc,
        .t = xl__tile_of(l, XL__TILES_GEMM_AHEAD, params),
        .s = xl__gemm_orient(desc)};
    if (!xl__tile_runs(l, &j.t, job.in) ||
        !xl__tile_cut(l, &j.t, &job, &j.grid) || !is_legal(l, &j))
        return XL_UNSUPPORTED;
    struct xl__step *s = xl__tile_step(&j, "gemm/simt.cl", "gemm_simt", p);
    xl__define(s, "COPY", params->value[XL__TILE_COPY]);
    if (j.t.copies)
        xl__define_choice(s, "XL_COPY", xl__text(l, XL__F_async_copy));
    xl__tile_launch(&j, s, p);
    if (j.grid.is_cut)
        xl__tile_join(&j, p);
    xl__tile_finish(l, &j, p);
    return XL_OK;
}

static bool supports(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

static const char *refuse_simt(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (!supports(g->a.dtype) || !supports(g->b.dtype))
        return "its operands are f32, f16 or bf16";
    if (xl__gemm_scales_refused(g))
        return xl__gemm_scales_refused(g);
    return xl__iterations_refused(l, 2.0 * (double)g->k);
}

const struct xl__variant xl__gemm_simt = {
    .name = "gemm_simt",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_simt_tunables,
    .refuses = refuse_simt,
    .choose = choose_simt,
    .plan = plan_simt,
};
