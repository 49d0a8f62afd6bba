/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver. The compute capability determines the facts that the driver
 * does not return. Sources: vendor-notes/nvidia.md. */
#include "targets/targets.h"

#include <math.h>
#include <stdio.h>

#include "ops/variants.h"

#define KIB 1024.0
#define MIB (KIB * KIB)

enum {
    WARP = 32,            /* NV-02 */
    BANKS = 32,           /* NV-04 */
    SECTOR_BYTES = 32,    /* NV-04 */
    REGISTERS = 65536,    /* NV-04 */
    ITEM_REGISTERS = 255, /* NV-04 */
    HALF_DRIVER = 520,    /* NV-06 */
    HALF_CAPABILITY = 60, /* NV-06 */
    SLOW_HALF = 61,       /* NV-06 */
    DP4A_CAPABILITY = 61, /* NV-47 */
    COPY_CAPABILITY = 80, /* NV-38 */
    LINE_CAPABILITY = 90  /* NV-64 */
};

/* Newest first; the first row that is not newer than the capability applies. 0
 * in a column: no correction. */
static const struct capability {
    unsigned cc;
    double local_kib; /* NV-01 */
    bool measured;    /* that figure */
    double lanes;     /* NV-03 */
    double llc_mib;   /* NV-07 */
} capabilities[] = {
    {120, 98, false, 128, 0}, {100, 226, false, 128, 0},
    {90, 226, true, 128, 50}, {89, 98, false, 128, 0},
    {87, 162, false, 128, 0}, {86, 98, false, 128, 0},
    {80, 162, false, 64, 40}, {75, 63, false, 64, 0},
    {70, 95, false, 64, 6},   {61, 0, false, 128, 0},
    {60, 0, false, 64, 4},    {50, 0, false, 128, 0},
    {30, 0, false, 192, 0},   {0, 0, false, 32, 0},
};

static bool matches_nvidia(const struct xl__limits *l)
{
    return xl__str_contains(xl__text(l, XL__F_platform), "nvidia") &&
           xl__is(l, XL__F_is_gpu);
}

static void correct_half(struct xl__limits *l, unsigned cc)
{
    unsigned driver = 0;
    (void)sscanf(xl__text(l, XL__F_driver), "%u.", &driver);
    if (cc >= HALF_CAPABILITY && cc != SLOW_HALF && driver >= HALF_DRIVER)
        xl__limits_correct(l, XL__F_has_f16_arith, 1, XL_KNOWN, "NV-06");
}

static void correct_by_capability(struct xl__limits *l, unsigned cc)
{
    const struct capability *c = capabilities;
    while (c->cc > cc)
        c++;
    if (c->local_kib * KIB > xl__num_or(l, XL__F_local_mem_bytes, 0))
        xl__limits_correct(l, XL__F_local_mem_bytes, c->local_kib * KIB,
                           c->measured ? XL_KNOWN : XL_ASSUMED, "NV-01");
    xl__limits_correct(l, XL__F_simd_per_cu_f32, c->lanes, XL_KNOWN, "NV-03");
    if (c->llc_mib > 0)
        xl__limits_correct(l, XL__F_llc_bytes, c->llc_mib * MIB, XL_KNOWN,
                           "NV-07");
    if (cc >= DP4A_CAPABILITY)
        xl__limits_correct_text(l, XL__F_dot, "ptx", XL_KNOWN, "NV-47");
    correct_half(l, cc);
    if (cc >= COPY_CAPABILITY)
        xl__limits_correct_text(l, XL__F_async_copy, "ptx", XL_KNOWN, "NV-38");
    if (cc >= LINE_CAPABILITY)
        xl__limits_correct_text(l, XL__F_line_copy, "ptx", XL_KNOWN, "NV-64");
    xl__nvidia_matrix_engine(cc, l);
}

static void correct_facts(struct xl__limits *l)
{
    unsigned cc;
    if (isnan(xl__num(l, XL__F_subgroup_width)))
        xl__limits_correct(l, XL__F_subgroup_width, WARP, XL_KNOWN, "NV-02");
    xl__limits_correct_text(l, XL__F_unit_id, "ptx", XL_KNOWN, "NV-46");
    xl__limits_correct_text(l, XL__F_device_fence, "ptx", XL_KNOWN, "NV-61");
    xl__limits_correct_text(l, XL__F_lane_exchange, "ptx", XL_KNOWN, "NV-35");
    xl__limits_correct(l, XL__F_local_banks, BANKS, XL_KNOWN, "NV-04");
    xl__limits_correct(l, XL__F_transaction_bytes, SECTOR_BYTES, XL_KNOWN,
                       "NV-04");
    xl__limits_correct(l, XL__F_registers_per_cu, REGISTERS, XL_KNOWN,
                       "NV-04");
    xl__limits_correct(l, XL__F_registers_per_item, ITEM_REGISTERS, XL_KNOWN,
                       "NV-04");
    if (sscanf(xl__text(l, XL__F_arch), "sm_%u", &cc) == 1)
        correct_by_capability(l, cc);
}

static const struct xl__variant *const gemm[] = {
    &xl__gemm_wgmma,   &xl__gemm_split_f16,     &xl__gemm_split_bf16,
    &xl__gemm_mma,     &xl__gemm_split_mma_f16, &xl__gemm_split_mma_bf16,
    &xl__gemm_simt,    &xl__gemm_skinny,        &xl__gemm_tiled,
    &xl__gemm_clblast, &xl__gemm_ref,           NULL,
};

static const struct xl__variant *const attention[] = {
    &xl__attention_wgmma,
    &xl__attention_mma,
    &xl__attention_mma_terms,
    &xl__attention_mma_split,
    &xl__attention_split,
    &xl__attention_flash,
    &xl__attention_ref,
    NULL,
};

static const struct xl__variant *const qgemm[] = {
    &xl__qgemm_skinny,     &xl__qgemm_wgmma,
    &xl__qgemm_mma,        &xl__qgemm_gemm_wgmma,
    &xl__qgemm_gemm_mma,   &xl__qgemm_gemm_simt,
    &xl__qgemm_gemm_tiled, &xl__qgemm_gemv,
    &xl__qgemm_ref,        NULL};

static const struct xl__variant *const attention_backward[] = {
    &xl__attention_backward_wgmma,
    &xl__attention_backward_mma,
    &xl__attention_backward_flash,
    &xl__attention_backward_ref,
    NULL,
};

static const struct xl__variant *const conv_data[] = {
    &xl__conv_data_gemm_wgmma,
    &xl__conv_data_gemm_mma,
    &xl__conv_data_wgmma,
    &xl__conv_data_lowered_wgmma,
    &xl__conv_data_mma,
    &xl__conv_data_gemm_simt,
    &xl__conv_data_depthwise,
    &xl__conv_data_direct,
    &xl__conv_data_tiled,
    &xl__conv_data_ref,
    NULL,
};
static const struct xl__variant *const conv_filters[] = {
    &xl__conv_filters_gemm_wgmma,
    &xl__conv_filters_gemm_mma,
    &xl__conv_filters_wgmma,
    &xl__conv_filters_mma,
    &xl__conv_filters_gemm_simt,
    &xl__conv_filters_depthwise,
    &xl__conv_filters_tiled,
    &xl__conv_filters_ref,
    NULL,
};
static const struct xl__variant *const conv[] = {
    &xl__conv_gemm_wgmma, &xl__conv_gemm_mma,  &xl__conv_wgmma,
    &xl__conv_mma,        &xl__conv_gemm_simt, &xl__conv_gemm_skinny,
    &xl__conv_gemm_tiled, &xl__conv_depthwise, &xl__conv_direct,
    &xl__conv_tiled,      &xl__conv_ref,       NULL,
};

const struct xl__vendor xl__vendor_nvidia = {
    .name = "nvidia",
    .matches = matches_nvidia,
    .correct = correct_facts,
    .build_options = "-w -cl-nv-verbose -DXL_EXP2_PTX", /* NV-59, 28, 53 */
    .lane_option = "-DXL_LANE_PTX",                     /* NV-08 */
    .rebuild = &xl__nvidia_rebuild,
    .use = &xl__nvidia_use,
    .variants = {[XL__OP_GEMM] = gemm,
                 [XL__OP_SOFTMAX] = xl__generic_softmax,
                 [XL__OP_CONV] = conv,
                 [XL__OP_CONV_DATA] = conv_data,
                 [XL__OP_CONV_FILTERS] = conv_filters,
                 [XL__OP_ATTENTION] = attention,
                 [XL__OP_NORM] = xl__generic_norm,
                 [XL__OP_SOFTMAX_BACKWARD] = xl__generic_softmax_backward,
                 [XL__OP_NORM_BACKWARD] = xl__generic_norm_backward,
                 [XL__OP_ATTENTION_BACKWARD] = attention_backward,
                 [XL__OP_QGEMM] = qgemm,
                 [XL__OP_ROTARY] = xl__generic_rotary,
                 [XL__OP_QCONVERT] = xl__generic_qconvert},
};
