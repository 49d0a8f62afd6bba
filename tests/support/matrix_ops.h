/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix instructions for devices without: the emulation of
 * cl/common/matrix.clh. */
#ifndef TESTS_SUPPORT_MATRIX_OPS_H
#define TESTS_SUPPORT_MATRIX_OPS_H

#include "device/facts.h"

#define EMULATED(in, out, depth)                                              \
    {                                                                         \
        .name = "emulated", .fragments = "mma", .code = "emulated", .a = in,  \
        .b = in, .sum = out, .m = 16, .n = 8, .k = depth, .n_most = 8,        \
        .lanes = 32                                                           \
    }
static const xl_matrix_op emulated_matrix_ops[] = {
    EMULATED(XL_F16, XL_F32, 16),
    EMULATED(XL_BF16, XL_F32, 16),
    EMULATED(XL_F32, XL_F32, 8),
    EMULATED(XL_I8, XL_I32, 32),
    {0}};
#undef EMULATED

/* Of no device; the tests force variants. */
static const struct xl__mma_model emulated_mma_model = {
    .shown = 0.1,
    .elems_per_clock = 8,
    .begin_clocks = 1000,
    .sums_per_clock = 16,
    .bytes_frac = 0.9,
    .attention_frac = {0.5, 0.5},
    .attention_bytes_frac = 0.9,
    .attention_load_bytes = 64};

static inline void emulate_matrix_ops(struct xl__limits *l)
{
    l->matrix_ops = emulated_matrix_ops;
    l->model.mma = &emulated_mma_model;
}

#endif
