/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of cl_khr_cooperative_matrix (GE-37), of any vendor whose table has no
 * matrix instructions of its own. Their rate is not stated, so they are taken to
 * be as fast as FMA units until a device profile says more; tiles and shares are
 * those of other engines, and none was run on a device. */
#include "targets/targets.h"

/* clang-format off */
static const struct xl__mma_tile tiles[] = {
    /* tm  tn bytes sm sn sk st, registers: estimated */
    {128, 128,  64, 2, 4, 1, 2, 0},
    {128,  64,  64, 2, 2, 1, 2, 0},
    { 64, 128,  64, 2, 2, 1, 2, 0},
    { 64,  64, 128, 2, 2, 1, 2, 0},
    { 64,  64,  64, 2, 2, 1, 2, 0},
    { 32,  64, 128, 1, 2, 2, 2, 0},
    { 64,  32, 128, 2, 1, 2, 2, 0},
    { 32,  32, 256, 1, 1, 4, 2, 0},
    { 32,  32,  64, 2, 2, 1, 2, 0},
    { 16,  64, 256, 1, 2, 2, 2, 0},
    { 64,  16, 256, 2, 1, 2, 2, 0},
    { 16,  16, 256, 1, 1, 4, 2, 0},
    {0, 0, 0, 0, 0, 0, 0, 0},
};
/* clang-format on */
static const struct xl__mma_model model = {
    .tiles = tiles,
    .shown = 0.1,
    .elems_per_clock = 8,
    .begin_clocks = 1200,
    .sums_per_clock = 16,
    .bytes_frac = 0.88,
};

void xl__cooperative_engine(struct xl__limits *l)
{
    const size_t lanes = xl__size_or(l, XL__F_subgroup_width, 0);
    if (l->matrix_ops || !l->cooperative[0].name || lanes == 0)
        return;
    for (xl_matrix_op *op = l->cooperative; op->name; op++)
        op->lanes = (unsigned)lanes;
    l->matrix_ops = l->cooperative;
    l->model.mma = &model;
}
