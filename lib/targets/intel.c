/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's GPU driver (NEO). A compute unit is one execution unit here.
 * Sources: vendor-notes/intel.md. */
#include "targets/targets.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ops/variants.h"

enum {
    TRANSACTION_BYTES = 64, /* GE-08 */
    LANES = 8,              /* IN-03 */
    ITEM_REGISTERS = 128,   /* IN-04 */
    HELD_ELEMS = 16,        /* IN-14 */
    WIDTH = 16              /* IN-02 */
};

/* By the name that identify.c derives from the IP version. */
static const struct generation {
    const char *arch;
    double lanes;     /* IN-03 */
    double registers; /* IN-04 */
    double bytes_per_s;       /* of memory, for each unit; 0: shared (IN-16) */
    const char *build_option; /* IN-12 */
    const struct xl__tile_sets *tiles;
} generations[] = {
    {"gen9", 8, 7168, 0, NULL, &xl__intel_narrow_tiles},
    {"gen11", 8, 7168, 0, NULL, &xl__intel_narrow_tiles},
    {"xe-lp", 8, 7168, 0, NULL, &xl__intel_narrow_tiles},
    {"xe-hpg", 8, 8192, 1.1e9, NULL, &xl__intel_narrow_tiles},
    {"xe-hpc", 16, 16384, 3.2e9, "-DXL_WIDTH=16", &xl__intel_wide_tiles},
    {"xe-lpg", 8, 8192, 0, NULL, &xl__intel_narrow_tiles},
    {"xe-lpg+", 8, 8192, 0, NULL, &xl__intel_narrow_tiles},
    {"xe2", 16, 16384, 2.85e9, "-DXL_WIDTH=16", &xl__intel_wide_tiles},
    {"xe3", 16, 16384, 0, "-DXL_WIDTH=16", &xl__intel_wide_tiles},
};

/* IN-11 */
static const struct xl__large_buffers large_buffers = {
    .above_bytes = UINT32_MAX,
    .flags = 1 << 23, /* CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL */
    .build_option = "-cl-intel-greater-than-4GB-buffer-required"};

static bool matches_intel(const struct xl__limits *l)
{
    return xl__str_contains(xl__text(l, XL__F_platform), "intel(r) opencl") &&
           xl__is(l, XL__F_is_gpu);
}

static const struct generation *find(const char *arch)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (strcmp(arch, generations[i].arch) == 0)
            return &generations[i];
    return NULL;
}

static void correct_facts(struct xl__limits *l)
{
    const struct generation *g = find(xl__text(l, XL__F_arch));
    const double cache = xl__num(l, XL__F_cache_bytes);
    const double memory = xl__num(l, XL__F_global_mem_bytes);
    if (isnan(xl__num(l, XL__F_subgroup_width)))
        xl__limits_correct(l, XL__F_subgroup_width, WIDTH, XL_KNOWN, "IN-02");
    xl__limits_correct(l, XL__F_simd_per_cu_f32, g ? g->lanes : LANES,
                       g ? XL_KNOWN : XL_ASSUMED, "IN-03");
    if (g) {
        xl__limits_correct(l, XL__F_registers_per_cu, g->registers, XL_KNOWN,
                           "IN-04");
        xl__limits_correct(l, XL__F_registers_per_item, ITEM_REGISTERS,
                           XL_KNOWN, "IN-04");
        l->model.value[XL__M_unit_bytes_per_s] = g->bytes_per_s;
        l->model.tiles = g->tiles;
        l->model.build_option = g->build_option;
        xl__intel_matrix_engine(g->arch, l);
    }
    l->model.value[XL__M_held_elems] = HELD_ELEMS;
    if (!isnan(cache))
        xl__limits_correct(l, XL__F_llc_bytes, cache, XL_QUERIED, "IN-06");
    if (!isnan(memory))
        xl__limits_correct(l, XL__F_max_alloc_bytes, memory, XL_KNOWN,
                           "IN-11");
    if (xl__has_extension(l, "cl_intel_subgroups") &&
        xl__has_extension(l, "cl_intel_subgroups_short"))
        xl__limits_correct_text(l, XL__F_block_read, "intel", XL_KNOWN,
                                "IN-18");
    xl__limits_correct_text(l, XL__F_unit_id, "intel", XL_KNOWN, "IN-09");
    xl__limits_correct(l, XL__F_transaction_bytes, TRANSACTION_BYTES,
                       XL_ASSUMED, "GE-08");
    xl__limits_correct(l, XL__F_has_watchdog, 1, XL_ASSUMED, "IN-05");
}

static const struct xl__use_source use = {.registers = 0x425B,
                                          .spill_bytes = 0x4109}; /* IN-13 */

/* In this order where estimates are equal; the last supports everything. */
static const struct xl__variant *const gemm[] = {
    &xl__gemm_dpas,  &xl__gemm_block_read, &xl__gemm_simt, &xl__gemm_skinny,
    &xl__gemm_tiled, &xl__gemm_clblast,    &xl__gemm_ref,  NULL,
};

static const struct xl__variant *const conv[] = {
    &xl__conv_gemm_dpas,  &xl__conv_dpas,
    &xl__conv_gemm_simt,  &xl__conv_gemm_skinny,
    &xl__conv_gemm_tiled, &xl__conv_depthwise,
    &xl__conv_direct,     &xl__conv_tiled,
    &xl__conv_ref,        NULL,
};
static const struct xl__variant *const conv_data[] = {
    &xl__conv_data_gemm_dpas, &xl__conv_data_dpas,
    &xl__conv_data_gemm_simt, &xl__conv_data_depthwise,
    &xl__conv_data_direct,    &xl__conv_data_tiled,
    &xl__conv_data_ref,       NULL,
};
static const struct xl__variant *const conv_filters[] = {
    &xl__conv_filters_gemm_dpas,
    &xl__conv_filters_dpas,
    &xl__conv_filters_gemm_simt,
    &xl__conv_filters_depthwise,
    &xl__conv_filters_tiled,
    &xl__conv_filters_ref,
    NULL,
};

static const struct xl__variant *const attention[] = {
    &xl__attention_dpas,
    &xl__attention_split,
    &xl__attention_flash,
    &xl__attention_ref,
    NULL,
};

static const struct xl__variant *const qgemm[] = {
    &xl__qgemm_gemm_dpas, &xl__qgemm_gemm_simt, &xl__qgemm_gemm_tiled,
    &xl__qgemm_gemv,      &xl__qgemm_ref,       NULL,
};

const struct xl__vendor xl__vendor_intel = {
    .name = "intel",
    .matches = matches_intel,
    .correct = correct_facts,
    .build_options = "",
    .lane_option = "-DXL_LANE_SUBGROUP", /* IN-07 */
    .large_buffers = &large_buffers,
    .use = &use,
    .variants = {[XL__OP_GEMM] = gemm,
                 [XL__OP_SOFTMAX] = xl__generic_softmax,
                 [XL__OP_CONV] = conv,
                 [XL__OP_CONV_DATA] = conv_data,
                 [XL__OP_CONV_FILTERS] = conv_filters,
                 [XL__OP_ATTENTION] = attention,
                 [XL__OP_NORM] = xl__generic_norm,
                 [XL__OP_SOFTMAX_BACKWARD] = xl__generic_softmax_backward,
                 [XL__OP_NORM_BACKWARD] = xl__generic_norm_backward,
                 [XL__OP_ATTENTION_BACKWARD] = xl__generic_attention_backward,
                 [XL__OP_QGEMM] = qgemm,
                 [XL__OP_ROTARY] = xl__generic_rotary,
                 [XL__OP_QCONVERT] = xl__generic_qconvert},
};
