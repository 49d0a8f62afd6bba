/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM by block reads, for devices whose sub-groups read consecutive elements
 * with one instruction: a sub-group computes its own rows of C from registers,
 * without local memory and without barriers. Lines of the operand that is read
 * along C's rows must be contiguous, so one layout of four is another
 * variant's. */
#include "ops/gemm/gemm.h"
#include "ops/gemm/tile_plan.h"

#include "base/dtype.h"

static void choose_block(const struct xl__limits *l, const void *desc,
                         struct xl__params *out)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    const struct xl__cost work = xl__tile_cost(l, desc);
    xl__tile_choose(l, XL__TILES_GEMM_BLOCKS, &job, &work, out);
}

/* Does each block begin at a multiple of what a block read needs (IN-18)?
 * Tiles at the end of a contiguous size begin there less a tile. */
static bool is_aligned(const struct xl__gemm_operand *s, size_t along)
{
    enum { BLOCK_BYTES = 4 };
    const size_t elems = BLOCK_BYTES / xl_dtype_bytes(s->dtype);
    return s->aligned % elems == 0 && along % elems == 0;
}

static bool supports(xl_dtype dtype)
{
    return dtype == XL_F32 || dtype == XL_F16 || dtype == XL_BF16;
}

static const char *refuse_block(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    const struct xl__gemm_oriented s = xl__gemm_orient(g);
    const enum xl__gemm_unit unit_a = xl__gemm_operand_unit(&s.a);
    if (!*xl__text(l, XL__F_block_read) ||
        !xl__tiles(l)->of[XL__TILES_GEMM_BLOCKS])
        return "the device has no block reads";
    if (!supports(g->a.dtype) || !supports(g->b.dtype))
        return "its operands are f32, f16 or bf16";
    if (xl__gemm_scales_refused(g))
        return xl__gemm_scales_refused(g);
    if (xl__gemm_operand_unit(&s.b) != XL__UNIT_ACROSS)
        return "a block of B is along a row of C: B's rows are not contiguous";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (unit_a == XL__UNIT_NONE)
        return "neither rows nor columns of A are contiguous";
    if (!is_aligned(&s.a, unit_a == XL__UNIT_ALONG_K ? g->k : s.m) ||
        !is_aligned(&s.b, s.n))
        return "blocks begin at multiples of 4 bytes: lines do not";
    return xl__iterations_refused(l, 2.0 * (double)g->k);
}

static xl_status plan_block(const struct xl__limits *l, const void *desc,
                            const struct xl__params *params,
                            struct xl__plan *p)
{
    const struct xl__tile_job job = xl__tile_job(desc);
    struct xl__tile_plan j = {
        .g = desc,
        .t = xl__tile_of(l, XL__TILES_GEMM_BLOCKS, params),
        .s = xl__gemm_orient(desc)};
    if (refuse_block(l, desc) || !xl__tile_fits(l, &j.t, job.in) ||
        j.t.tk != j.t.width || j.t.tn / j.t.rn != j.t.tk ||
        j.t.rm % j.t.tk != 0 || j.t.parts != 1 ||
        !xl__tile_cut(l, &j.t, &job, &j.grid))
        return XL_UNSUPPORTED;
    struct xl__step *s =
        xl__tile_step(&j, "gemm/intel/block_read.cl", "gemm_block_read", p);
    xl__define_choice(s, "XL_BLOCKS", xl__text(l, XL__F_block_read));
    xl__tile_launch(&j, s, p);
    xl__tile_finish(l, &j, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_block_read = {
    .name = "gemm_block_read",
    .repeats = "bit for bit: each element's sum in a fixed order",
    .tunables = xl__gemm_tiled_tunables,
    .refuses = refuse_block,
    .choose = choose_block,
    .plan = plan_block,
};
