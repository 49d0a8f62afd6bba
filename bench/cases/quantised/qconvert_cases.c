/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/quantised/qconvert_cases.h"

const char *const qconvert_names[QCONVERT_OPERANDS] = {"x", "w", "scales",
                                                       "zeros"};

#define CASE(called, used, inverse, rows, cols, format_, type, ...)           \
    {                                                                         \
        .of = {.name = called,                                                \
               .use = used,                                                   \
               .m = 1,                                                        \
               .n = rows,                                                     \
               .k = cols,                                                     \
               .format = format_,                                             \
               .in = type,                                                    \
               .out = type,                                                   \
               __VA_ARGS__},                                                  \
        .is_dequantise = inverse                                              \
    }
#define BOTH(called, used, ...)                                               \
    CASE(called, used, false, __VA_ARGS__),                                   \
        CASE(called " inverse", used, true, __VA_ARGS__)
/* Timed: a layer of Llama 3.1 8B. */
#define LAYER(format_, ...)                                                   \
    BOTH("layer", CASE_BENCH, 4096, 14336, format_, XL_F16, __VA_ARGS__)

const struct qconvert_case qconvert_cases[] = {
    BOTH("q4_0", CASE_VERIFY | CASE_QUICK, 37, 2240, XL_Q4_0, XL_F32, .pad = 3,
         .off = 2),
    BOTH("q4_0 one", CASE_VERIFY, 1, 32, XL_Q4_0, XL_F32, .off = 2),
    BOTH("q4_0 aligned", CASE_VERIFY | CASE_QUICK, 67, 416, XL_Q4_0, XL_F16,
         .pad = 8, .off = 16),
    BOTH("q4_1", CASE_VERIFY, 19, 2208, XL_Q4_1, XL_F16, .pad = 1, .off = 2),
    BOTH("q5_0", CASE_VERIFY, 19, 2176, XL_Q5_0, XL_BF16, .pad = 4, .off = 4),
    BOTH("q8_0", CASE_VERIFY | CASE_QUICK, 19, 2144, XL_Q8_0, XL_F32, .pad = 2,
         .off = 2),
    BOTH("q4_k", CASE_VERIFY | CASE_QUICK, 13, 2816, XL_Q4_K, XL_F32, .pad = 1,
         .off = 2),
    BOTH("q6_k", CASE_VERIFY, 13, 2816, XL_Q6_K, XL_F16, .pad = 1, .off = 2),
    BOTH("iq4_nl", CASE_VERIFY, 19, 2080, XL_IQ4_NL, XL_BF16, .pad = 8),
    BOTH("mxfp4", CASE_VERIFY | CASE_QUICK, 19, 2080, XL_MXFP4, XL_BF16,
         .pad = 1, .off = 2),
    BOTH("int4/32", CASE_VERIFY, 19, 2144, XL_INT4, XL_F32, .group = 32,
         .pad = 1, .off = 2),
    BOTH("int4/96 zeros", CASE_VERIFY | CASE_QUICK, 19, 2208, XL_INT4, XL_F16,
         .group = 96, .has_zeros = true, .off = 6),
    BOTH("int4/128 zeros", CASE_VERIFY, 5, 4096, XL_INT4, XL_BF16,
         .group = 128, .has_zeros = true),
    BOTH("int8", CASE_VERIFY, 19, 2144, XL_INT8, XL_F16, .pad = 1, .off = 2),
    BOTH("fp8/96x5", CASE_VERIFY | CASE_QUICK, 19, 2208, XL_FP8, XL_F32,
         .group = 96, .group_rows = 5, .pad = 1, .off = 4),
    BOTH("fp8/128x128", CASE_VERIFY, 133, 384, XL_FP8, XL_BF16, .group = 128,
         .group_rows = 128),
    BOTH("fp8 rows", CASE_VERIFY, 19, 2144, XL_FP8, XL_F16, .group_rows = 1,
         .off = 8, .pad = 8),
    BOTH("fp8 one scale", CASE_VERIFY, 7, 2144, XL_FP8, XL_F32, .pad = 3),

    CASE("layer", CASE_BENCH | CASE_QUICK, false, 4096, 14336, XL_Q4_0, XL_F16,
         .pad = 0),
    CASE("layer", CASE_BENCH | CASE_QUICK, true, 4096, 14336, XL_Q4_0, XL_F16,
         .pad = 0),
    LAYER(XL_Q8_0, .pad = 0),
    LAYER(XL_Q4_K, .pad = 0),
    LAYER(XL_Q6_K, .pad = 0),
    LAYER(XL_MXFP4, .pad = 0),
    LAYER(XL_INT4, .group = 128, .has_zeros = true),
    LAYER(XL_INT8, .pad = 0),
    LAYER(XL_FP8, .group = 128, .group_rows = 128),
    LAYER(XL_FP8, .group_rows = 1),
    {.of = {.name = NULL}}};

size_t qconvert_bytes(const struct qconvert_case *c, unsigned part)
{
    const xl_qbytes bytes = qgemm_case_bytes(&c->of);
    return part == QCONVERT_BLOCKS   ? bytes.blocks
           : part == QCONVERT_SCALES ? bytes.scales
                                     : bytes.zeros;
}

bool qconvert_is_result(const struct qconvert_case *c, unsigned operand)
{
    return c->is_dequantise == (operand == QCONVERT_X);
}

xl_qconvert qconvert_call(const struct qconvert_case *c,
                          const cl_mem mem[QCONVERT_OPERANDS],
                          const size_t first[QCONVERT_OPERANDS], size_t ld,
                          const char *variant)
{
    xl_qconvert call = {
        XL_QCONVERT_INIT,
        .direction = c->is_dequantise ? XL_DEQUANTISE : XL_QUANTISE,
        .x = xl_mat_rows(mem[QCONVERT_X], ld, c->of.in), .variant = variant};
    call.x.offset = first[QCONVERT_X] / xl_dtype_bytes(c->of.in);
    call.w = (xl_qmat){.shape = qgemm_case_shape(&c->of),
                       .blocks = {.buf = mem[QCONVERT_BLOCKS]},
                       .scales = {.buf = mem[QCONVERT_SCALES]},
                       .zeros = {.buf = mem[QCONVERT_ZEROS]},
                       .has_zeros = c->of.has_zeros,
                       .offset = first[QCONVERT_BLOCKS],
                       .scales_offset =
                           first[QCONVERT_SCALES] /
                           xl_dtype_bytes(
                               xl_qformat_layout(c->of.format)->scale_dtype),
                       .zeros_offset = first[QCONVERT_ZEROS]};
    return call;
}
