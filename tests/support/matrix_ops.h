/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix instructions for devices without: the emulation of
 * cl/common/matrix.clh. */
#ifndef TESTS_SUPPORT_MATRIX_OPS_H
#define TESTS_SUPPORT_MATRIX_OPS_H

#include <stdio.h>
#include <string.h>

#include "device/facts.h"
#include "targets/targets.h"

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

/* The same of cl/common/intel/dpas.clh. */
#define DPAS(width, in, out, depth)                                           \
    {                                                                         \
        .name = "emulated", .fragments = "dpas", .code = "emulated", .a = in, \
        .b = in, .sum = out, .m = 8, .n = width, .k = depth, .n_most = width, \
        .lanes = width                                                        \
    }
#define DPAS_OF_WIDTH(width)                                                  \
    DPAS(width, XL_F16, XL_F32, 16), DPAS(width, XL_BF16, XL_F32, 16),        \
        DPAS(width, XL_I8, XL_I32, 32),                                       \
    {                                                                         \
        0                                                                     \
    }
static const xl_matrix_op emulated_narrow_dpas[] = {DPAS_OF_WIDTH(8)};
static const xl_matrix_op emulated_wide_dpas[] = {DPAS_OF_WIDTH(16)};
#undef DPAS_OF_WIDTH
#undef DPAS

static const struct xl__dpas_model emulated_dpas_model = {
    .shown = 0.2,
    .load_bytes = 32,
    .begin_clocks = 600,
    .sums_per_clock = 4,
    .bytes_frac = 0.8,
    .locate_clocks = 80,
    .row_clocks = 1.6,
    .registers_option = "-DALL_REGISTERS"};

static inline void emulate_dpas_ops(struct xl__limits *l, unsigned width)
{
    l->matrix_ops = width == 8 ? emulated_narrow_dpas : emulated_wide_dpas;
    l->model.dpas = &emulated_dpas_model;
}

/* Of no device; the tests force variants. */
static const struct xl__mma_model emulated_mma_model = {
    .shown = 0.1,
    .elems_per_clock = 8,
    .begin_clocks = 1000,
    .sums_per_clock = 16,
    .bytes_frac = 0.9,
    .attention_frac = {0.5, 0.5},
    .attention_split_frac = {0.5, 0.5},
    .attention_terms_frac = {0.5, 0.5},
    .attention_bytes_frac = 0.9,
    .attention_load_bytes = 64};

/* With the tiles of NVIDIA's list. */
static inline void emulate_matrix_ops(struct xl__limits *l)
{
    static struct xl__mma_model model;
    enum { SM_80 = 80 };
    struct xl__limits listed = {.matrix_ops = NULL};
    xl__nvidia_matrix_engine(SM_80, &listed);
    model = emulated_mma_model;
    model.tiles = listed.model.mma->tiles;
    l->matrix_ops = emulated_matrix_ops;
    l->model.mma = &model;
}

/* Those of an architecture of AMD, emulated, with its tiles. */
static inline void emulate_amd_ops(struct xl__limits *l, const char *arch)
{
    enum { MOST = 16 };
    static xl_matrix_op ops[MOST];
    size_t n = 0;
    xl__amd_matrix_engine(arch, l);
    for (const xl_matrix_op *op = l->matrix_ops; op->name; op++) {
        ops[n] = *op;
        ops[n++].code = "emulated";
    }
    ops[n] = (xl_matrix_op){.name = NULL};
    l->matrix_ops = ops;
}

/* Those of a driver that states cl_khr_cooperative_matrix: "coop16x8x16x32", the
 * shape for f16, of i8 twice as deep, and the lanes of a sub-group. */
static inline void emulate_cooperative_ops(struct xl__limits *l,
                                           const char *chip)
{
    static xl_matrix_op ops[3];
    unsigned m, n, k, lanes;
    if (sscanf(chip, "coop%ux%ux%ux%u", &m, &n, &k, &lanes) != 4)
        return;
    for (unsigned i = 0; i < 2; i++)
        ops[i] = (xl_matrix_op){.name = "emulated",
                                .fragments = "cooperative",
                                .code = "emulated",
                                .a = i ? XL_I8 : XL_F16,
                                .b = i ? XL_I8 : XL_F16,
                                .sum = i ? XL_I32 : XL_F32,
                                .m = m,
                                .n = n,
                                .k = k << i,
                                .n_most = n,
                                .lanes = lanes};
    struct xl__limits listed = {.matrix_ops = NULL};
    listed.cooperative[0] = ops[0];
    xl__limits_correct(&listed, XL__F_subgroup_width, lanes, XL_KNOWN, "");
    xl__cooperative_engine(&listed);
    l->matrix_ops = ops;
    l->model.mma = listed.model.mma;
}

/* Those of a chip of Intel, dg2 or pvc, of such a driver, or of AMD. */
static inline void emulate_chip(struct xl__limits *l, const char *chip)
{
    enum { NARROW = 8, WIDE = 16 };
    if (strcmp(chip, "dg2") == 0)
        emulate_dpas_ops(l, NARROW);
    else if (strcmp(chip, "pvc") == 0)
        emulate_dpas_ops(l, WIDE);
    else if (strncmp(chip, "coop", 4) == 0)
        emulate_cooperative_ops(l, chip);
    else
        emulate_amd_ops(l, chip);
}

#endif
