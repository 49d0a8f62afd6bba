/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs: PoCL, Intel's CPU runtime and others that compile a work-group to
 * loops. Facts: vendor-notes/cpu.md. */
#include "targets/targets.h"

#include <math.h>

#include "ops/variants.h"

enum {
    WIDTH = 1,      /* CP-04 */
    FMA_PIPES = 2,  /* CP-05 */
    LINE_BYTES = 64, /* CP-06 */
    NARROW = 4 /* CP-21 */
};

/* Mesa's llvmpipe is a CPU device too, but executes work-items in lock-step:
 * the generic table matches it (GE-09). */
static bool matches_cpu(const struct xl__limits *l)
{
    return xl__is(l, XL__F_is_cpu) && !xl__is(l, XL__F_is_gpu) &&
           !xl__str_contains(xl__text(l, XL__F_platform), "rusticl");
}

/* PoCL 3.0 as built for Python: its compiler ends the process (CP-21). */
static bool matches_narrow_cpu(const struct xl__limits *l)
{
    return matches_cpu(l) &&
           xl__str_contains(xl__text(l, XL__F_platform_version), "PoCL 3.0");
}

static void correct_facts(struct xl__limits *l)
{
    double vector = xl__num(l, XL__F_native_vector_f32);
    double cache = xl__num(l, XL__F_cache_bytes);
    double line = xl__num(l, XL__F_cache_line_bytes);
    xl__limits_correct(l, XL__F_has_local_mem, 0, XL_KNOWN, "CP-02");
    xl__limits_correct(l, XL__F_subgroup_width, WIDTH, XL_KNOWN, "CP-04");
    if (!isnan(vector))
        xl__limits_correct(l, XL__F_simd_per_cu_f32, FMA_PIPES * vector,
                           XL_ASSUMED, "CP-05");
    if (!isnan(cache))
        xl__limits_correct(l, XL__F_llc_bytes, cache, XL_QUERIED, "CP-06");
    if (isnan(line)) {
        line = LINE_BYTES;
        xl__limits_correct(l, XL__F_cache_line_bytes, line, XL_ASSUMED,
                           "CP-06");
    }
    xl__limits_correct(l, XL__F_transaction_bytes, line, XL_KNOWN, "CP-06");
    xl__limits_correct_text(l, XL__F_unit_id, "local_address", XL_KNOWN,
                            "CP-20");
    xl__limits_correct(l, XL__F_has_watchdog, 0, XL_KNOWN, "CP-07");
}

static void correct_narrow_facts(struct xl__limits *l)
{
    xl__limits_correct(l, XL__F_native_vector_f32, NARROW, XL_KNOWN,
                       "CP-21");
    correct_facts(l);
}

static const struct xl__variant *const gemm[] = {
    &xl__gemm_cpu,  &xl__gemm_skinny,  &xl__gemm_tiled,
    &xl__gemm_simt, &xl__gemm_clblast, &xl__gemm_ref,
    NULL,
};

/* Without gemm_cpu. */
static const struct xl__variant *const narrow_conv[] = {
    &xl__conv_cpu,
    &xl__conv_gemm_skinny,
    &xl__conv_gemm_tiled,
    &xl__conv_gemm_simt,
    &xl__conv_winograd_4,
    &xl__conv_winograd_2,
    &xl__conv_direct,
    &xl__conv_depthwise,
    &xl__conv_tiled,
    &xl__conv_ref,
    NULL,
};

static const struct xl__variant *const conv[] = {
    &xl__conv_gemm_cpu,
    &xl__conv_cpu,
    &xl__conv_gemm_skinny,
    &xl__conv_gemm_tiled,
    &xl__conv_gemm_simt,
    &xl__conv_winograd_4,
    &xl__conv_winograd_2,
    &xl__conv_direct,
    &xl__conv_depthwise,
    &xl__conv_tiled,
    &xl__conv_ref,
    NULL,
};

static const struct xl__variant *const conv_data[] = {
    &xl__conv_data_gemm_cpu,
    &xl__conv_data_cpu,
    &xl__conv_data_depthwise,
    &xl__conv_data_direct,
    &xl__conv_data_tiled,
    &xl__conv_data_ref,
    NULL,
};

static const struct xl__variant *const conv_filters[] = {
    &xl__conv_filters_gemm_cpu,  &xl__conv_filters_cpu,
    &xl__conv_filters_depthwise, &xl__conv_filters_tiled,
    &xl__conv_filters_ref,       NULL,
};

static const struct xl__variant *const attention[] = {
    &xl__attention_cpu,
    &xl__attention_split,
    &xl__attention_flash,
    &xl__attention_ref,
    NULL,
};

static const struct xl__variant *const qgemm[] = {
    &xl__qgemm_cpu, &xl__qgemm_gemm_cpu, &xl__qgemm_gemv, &xl__qgemm_ref, NULL,
};

static const struct xl__variant *const qconvert[] = {
    &xl__qconvert_cpu, &xl__qconvert_units, &xl__qconvert_ref, NULL};

static const struct xl__variant *const narrow_gemm[] = {
    &xl__gemm_skinny,  &xl__gemm_tiled, &xl__gemm_simt,
    &xl__gemm_clblast, &xl__gemm_ref,   NULL,
};

const struct xl__vendor xl__vendor_narrow_cpu = {
    .name = "cpu, narrow vectors",
    .matches = matches_narrow_cpu,
    .correct = correct_narrow_facts,
    .build_options = "-w", /* CP-22 */
    .lane_option = NULL,   /* CP-04 */
    .variants = {[XL__OP_GEMM] = narrow_gemm,
                 [XL__OP_SOFTMAX] = xl__generic_softmax,
                 [XL__OP_CONV] = narrow_conv,
                 [XL__OP_CONV_DATA] = conv_data,
                 [XL__OP_CONV_FILTERS] = conv_filters,
                 [XL__OP_ATTENTION] = attention,
                 [XL__OP_NORM] = xl__generic_norm,
                 [XL__OP_SOFTMAX_BACKWARD] = xl__generic_softmax_backward,
                 [XL__OP_NORM_BACKWARD] = xl__generic_norm_backward,
                 [XL__OP_ATTENTION_BACKWARD] = xl__generic_attention_backward,
                 [XL__OP_QGEMM] = qgemm,
                 [XL__OP_ROTARY] = xl__generic_rotary,
                 [XL__OP_QCONVERT] = qconvert},
};

const struct xl__vendor xl__vendor_cpu = {
    .name = "cpu",
    .matches = matches_cpu,
    .correct = correct_facts,
    .build_options = "-w", /* CP-22 */
    .lane_option = NULL,   /* CP-04 */
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
                 [XL__OP_QCONVERT] = qconvert},
};
