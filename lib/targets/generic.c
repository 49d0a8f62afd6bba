/* SPDX-License-Identifier: Apache-2.0 */
/* Any device: the portable variant lists, and corrections for drivers without
 * a table (Mesa's rusticl, Apple, Qualcomm, Arm). Sources:
 * vendor-notes/generic.md. */
#include "targets/targets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/variants.h"

/* In this order where estimates are equal; the last supports everything. */
const struct xl__variant *const xl__generic_gemm[] = {
    &xl__gemm_mma,   &xl__gemm_simt,    &xl__gemm_skinny,
    &xl__gemm_tiled, &xl__gemm_clblast, &xl__gemm_ref,
    NULL,
};

const struct xl__variant *const xl__generic_softmax[] = {
    &xl__softmax_online,
    &xl__softmax_ref,
    NULL,
};

const struct xl__variant *const xl__generic_conv[] = {
    &xl__conv_gemm_mma,
    &xl__conv_mma,
    &xl__conv_gemm_simt,
    &xl__conv_gemm_skinny,
    &xl__conv_gemm_tiled,
    &xl__conv_depthwise,
    &xl__conv_direct,
    &xl__conv_tiled,
    &xl__conv_ref,
    NULL,
};

const struct xl__variant *const xl__generic_conv_data[] = {
    &xl__conv_data_gemm_mma,  &xl__conv_data_mma,
    &xl__conv_data_gemm_simt, &xl__conv_data_depthwise,
    &xl__conv_data_direct,    &xl__conv_data_tiled,
    &xl__conv_data_ref,       NULL,
};

const struct xl__variant *const xl__generic_conv_filters[] = {
    &xl__conv_filters_gemm_mma,
    &xl__conv_filters_mma,
    &xl__conv_filters_gemm_simt,
    &xl__conv_filters_depthwise,
    &xl__conv_filters_tiled,
    &xl__conv_filters_ref,
    NULL,
};

const struct xl__variant *const xl__generic_attention[] = {
    &xl__attention_split,
    &xl__attention_flash,
    &xl__attention_ref,
    NULL,
};

const struct xl__variant *const xl__generic_softmax_backward[] = {
    &xl__softmax_backward_online, &xl__softmax_backward_ref, NULL};

const struct xl__variant *const xl__generic_norm_backward[] = {
    &xl__norm_backward_online, &xl__norm_backward_ref, NULL};

const struct xl__variant *const xl__generic_attention_backward[] = {
    &xl__attention_backward_flash, &xl__attention_backward_ref, NULL};

const struct xl__variant *const xl__generic_norm[] = {
    &xl__norm_online,
    &xl__norm_ref,
    NULL,
};

const struct xl__variant *const xl__generic_rotary[] = {&xl__rotary_rows,
                                                        &xl__rotary_ref, NULL};

const struct xl__variant *const xl__generic_qconvert[] = {
    &xl__qconvert_units, &xl__qconvert_ref, NULL};

const struct xl__variant *const xl__generic_qgemm[] = {
    &xl__qgemm_gemm_simt, &xl__qgemm_gemm_tiled, &xl__qgemm_gemv,
    &xl__qgemm_ref, NULL};

enum {
    APPLE_WIDTH = 32,       /* GE-14 */
    ADRENO_WIDTH = 64,      /* GE-13 */
    LLVMPIPE_TURNS = 65535, /* GE-24 */
    TRANSACTION_BYTES = 64  /* GE-08 */
};

static bool matches_any(const struct xl__limits *l)
{
    (void)l;
    return true;
}

/* "llvmpipe (LLVM 15.0.6, 256 bits)": its lanes are those of the host's vector
 * unit, not the preferred multiple of the driver; its clock is a constant. */
static void correct_llvmpipe(struct xl__limits *l)
{
    enum { F32_BITS = 32 };
    const char *comma = strchr(xl__text(l, XL__F_name), ',');
    unsigned bits;
    if (comma && sscanf(comma, ", %u bits", &bits) == 1 && bits >= F32_BITS)
        xl__limits_correct(l, XL__F_subgroup_width, bits / F32_BITS, XL_KNOWN,
                           "GE-09");
    l->model.is_software = true; /* GE-33 */
    xl__limits_correct(l, XL__F_clock_hz, NAN, XL_UNKNOWN, "GE-09");
    xl__limits_correct(l, XL__F_has_watchdog, 0, XL_KNOWN, "GE-09");
    xl__limits_correct(l, XL__F_max_loop_turns, LLVMPIPE_TURNS, XL_KNOWN,
                       "GE-24");
}

static void correct_apple(struct xl__limits *l)
{
    xl__limits_correct(l, XL__F_subgroup_width, APPLE_WIDTH, XL_KNOWN,
                       "GE-14");
    xl__limits_correct(l, XL__F_clock_hz, NAN, XL_UNKNOWN, "GE-14");
    xl__limits_correct(l, XL__F_has_watchdog, 1, XL_KNOWN, "GE-14");
}

static void correct_qualcomm(struct xl__limits *l)
{
    if (isnan(xl__num(l, XL__F_subgroup_width)))
        xl__limits_correct(l, XL__F_subgroup_width, ADRENO_WIDTH, XL_KNOWN,
                           "GE-13");
    xl__limits_correct(l, XL__F_has_watchdog, 1, XL_KNOWN, "GE-13");
}

static void correct_facts(struct xl__limits *l)
{
    const char *platform = xl__text(l, XL__F_platform);
    if (strncmp(xl__text(l, XL__F_name), "llvmpipe", 8) == 0)
        correct_llvmpipe(l);
    else if (strcmp(platform, "Apple") == 0)
        correct_apple(l);
    else if (xl__str_contains(platform, "qualcomm"))
        correct_qualcomm(l);
    if (isnan(xl__num(l, XL__F_has_watchdog)) && !xl__is(l, XL__F_is_cpu))
        xl__limits_correct(l, XL__F_has_watchdog, 1, XL_ASSUMED, "GE-11");
    xl__limits_correct(l, XL__F_transaction_bytes, TRANSACTION_BYTES,
                       XL_ASSUMED, "GE-08");
    xl__cooperative_engine(l);
}

const struct xl__vendor xl__vendor_generic = {
    .name = "generic",
    .matches = matches_any,
    .correct = correct_facts,
    .build_options = "",
    .lane_option = NULL,
    .variants = {[XL__OP_GEMM] = xl__generic_gemm,
                 [XL__OP_SOFTMAX] = xl__generic_softmax,
                 [XL__OP_CONV] = xl__generic_conv,
                 [XL__OP_CONV_DATA] = xl__generic_conv_data,
                 [XL__OP_CONV_FILTERS] = xl__generic_conv_filters,
                 [XL__OP_ATTENTION] = xl__generic_attention,
                 [XL__OP_NORM] = xl__generic_norm,
                 [XL__OP_SOFTMAX_BACKWARD] = xl__generic_softmax_backward,
                 [XL__OP_NORM_BACKWARD] = xl__generic_norm_backward,
                 [XL__OP_ATTENTION_BACKWARD] = xl__generic_attention_backward,
                 [XL__OP_QGEMM] = xl__generic_qgemm,
                 [XL__OP_ROTARY] = xl__generic_rotary,
                 [XL__OP_QCONVERT] = xl__generic_qconvert},
};
