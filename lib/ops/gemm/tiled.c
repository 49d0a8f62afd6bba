/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM by tiles, for any device: the items of a work-group share slices of A
 * and B through local memory.
 *
 * Local memory holds values as they are multiplied: floats, doubles, ints.
 * Packing i8 by fours would read it a quarter as often, but needs instructions
 * that multiply packed bytes, which few drivers offer in OpenCL C. */
#include "ops/gemm/tile_plan.h"
#include "ops/gemm/gemm.h"

static void choose_tiled(const struct xl__limits *l, const void *desc,
                         struct xl__params *out)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    const struct xl__cost work = xl__tile_cost(l, desc);
    xl__tile_choose(l, XL__TILES_GEMM, &job, &work, out);
}

static xl_status plan_tiled(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    struct xl__tile_plan j = {
        .g = desc,
        .t = xl__tile_of(l, XL__TILES_GEMM, params),
        .s = xl__gemm_orient(desc)};
    if (!xl__tile_fits(l, &j.t, job.in) ||
        !xl__tile_cut(l, &j.t, &job, &j.grid))
        return XL_UNSUPPORTED;
    xl__tile_launch(&j, xl__tile_step(&j, "gemm/tiled.cl", "gemm_tiled", p),
                    p);
    if (j.grid.is_cut)
        xl__tile_join(&j, p);
    xl__tile_finish(l, &j, p);
    return XL_OK;
}

/* An iteration per step of k and one per load of a slice, should the compiler
 * unroll nothing. */
static const char *refuse_tiled(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    if (g->a.dtype == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    return xl__iterations_refused(l, 2.0 * (double)g->k);
}

const struct xl__variant xl__gemm_tiled = {
    .name = "gemm_tiled",
    .repeats = "bit for bit: each element's sum, or parts, in a fixed order",
    .tunables = xl__gemm_tiled_tunables,
    .refuses = refuse_tiled,
    .choose = choose_tiled,
    .plan = plan_tiled,
};
