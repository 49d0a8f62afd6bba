/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of convolution, and its reference on the host. Sizes to be
 * verified are odd or prime, so that edges occur, and small, so that the
 * reference in double precision takes little time. */
#include "cases/conv_cases.h"

#include <math.h>
#include <string.h>

#define V CASE_VERIFY
#define VQ (CASE_VERIFY | CASE_QUICK)
#define B CASE_BENCH
#define BQ (CASE_BENCH | CASE_QUICK)

#define CASE(called, used, order_, type, ...)                                 \
    {.name = called, .use = used, .order = order_, .in = type, .out = type,   \
     .alpha = 1, __VA_ARGS__}
#define IN(n_, c_, h_, w_) .n = n_, .c = c_, .h = h_, .w = w_
#define FILTERS(k_, r_, s_) .k = k_, .r = r_, .s = s_
#define PAD(x) .pad = {x, x, x, x}
#define STRIDE(x) .stride = {x, x}
/* A small one from one type into another. */
#define INTO(called, order_, from, to, ...)                                   \
    {                                                                         \
        .name = called, .use = V, .order = order_, .in = from, .out = to,     \
        IN(2, 24, 11, 9), FILTERS(17, 3, 2), PAD(1), __VA_ARGS__              \
    }
#define NCHW CONV_NCHW
#define NHWC CONV_NHWC

const struct conv_case conv_cases[] = {
    /* Both layouts and every type, edges in every direction. */
    CASE("3x3", VQ, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1)),
    CASE("3x3 nhwc", VQ, NHWC, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1)),
    CASE("3x3 f16", V, NCHW, XL_F16, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1)),
    CASE("3x3 f16 nhwc", VQ, NHWC, XL_F16, IN(2, 40, 13, 17),
         FILTERS(48, 3, 3), PAD(1)),
    CASE("3x3 bf16", VQ, NCHW, XL_BF16, IN(3, 16, 14, 16), FILTERS(64, 3, 3),
         PAD(1)),
    CASE("3x3 bf16 nhwc", V, NHWC, XL_BF16, IN(3, 16, 14, 16),
         FILTERS(64, 3, 3), PAD(1)),
    CASE("to nchw", V, CONV_TO_NCHW, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), PAD(1)),
    CASE("to nhwc", V, CONV_TO_NHWC, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), PAD(1)),
    CASE("krsc", V, CONV_FILTERS_KRSC, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), PAD(1)),
    CASE("kcrs nhwc", V, CONV_IN_NHWC | CONV_OUT_NHWC, XL_F32,
         IN(2, 19, 9, 11), FILTERS(23, 3, 3), PAD(1)),
    CASE("krsc to nchw", V, CONV_IN_NHWC | CONV_FILTERS_KRSC, XL_F32,
         IN(2, 19, 9, 11), FILTERS(23, 3, 3), PAD(1)),
    CASE("kcrs to nhwc", V, CONV_OUT_NHWC, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), PAD(1)),
    CASE("to nchw, whole", V, CONV_TO_NCHW, XL_F16, IN(2, 32, 8, 8),
         FILTERS(32, 3, 3), PAD(1)),
    CASE("to nhwc, whole", V, CONV_TO_NHWC, XL_F16, IN(2, 32, 8, 8),
         FILTERS(32, 3, 3), PAD(1)),
    CASE("whole", V, NCHW, XL_F32, IN(2, 64, 16, 16), FILTERS(128, 3, 3),
         PAD(1)),
    CASE("whole nhwc", V, NHWC, XL_F32, IN(2, 64, 16, 16), FILTERS(128, 3, 3),
         PAD(1)),
    INTO("f16 to f32", NHWC, XL_F16, XL_F32, .alpha = 1),
    INTO("f32 to f16", NCHW, XL_F32, XL_F16, .alpha = 1),
    INTO("f32 to bf16", NHWC, XL_F32, XL_BF16, .alpha = 1),
    INTO("f16 to bf16", NCHW, XL_F16, XL_BF16, .alpha = 1),
    INTO("bf16 to f32", NCHW, XL_BF16, XL_F32, .alpha = 1),
    INTO("bf16 to f16", NHWC, XL_BF16, XL_F16, .alpha = 1),
    INTO("i8 to i32", NCHW, XL_I8, XL_I32, .alpha = 1),
    INTO("i8 to f32", NHWC, XL_I8, XL_F32, .alpha = 0.5),
    INTO("i8 to f16", NCHW, XL_I8, XL_F16, .alpha = 1. / 64),
    INTO("i8 to bf16", NHWC, XL_I8, XL_BF16, .alpha = 0.1),
    CASE("f64", V, NCHW, XL_F64, IN(1, 5, 7, 6), FILTERS(4, 3, 3), PAD(1)),

    /* Filters, strides, padding, dilation. */
    CASE("1x1", VQ, NCHW, XL_F32, IN(2, 61, 7, 9), FILTERS(67, 1, 1)),
    CASE("1x1 nhwc", VQ, NHWC, XL_F32, IN(2, 64, 7, 9), FILTERS(67, 1, 1)),
    CASE("1x1 one image", V, NCHW, XL_F32, IN(1, 64, 8, 8), FILTERS(32, 1, 1)),
    CASE("1x1 stride 2", V, NCHW, XL_F32, IN(2, 33, 15, 13), FILTERS(35, 1, 1),
         STRIDE(2)),
    CASE("1x1 stride 2 nhwc", V, NHWC, XL_F16, IN(2, 32, 15, 13),
         FILTERS(64, 1, 1), STRIDE(2)),
    CASE("1x1 f16 nhwc", VQ, NHWC, XL_F16, IN(3, 64, 7, 9), FILTERS(72, 1, 1)),
    CASE("1x1 to nchw", V, CONV_TO_NCHW, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 1, 1)),
    CASE("1x1 to nhwc", V, CONV_TO_NHWC, XL_BF16, IN(2, 19, 9, 11),
         FILTERS(23, 1, 1)),
    CASE("1x1 every other", V, NHWC, XL_F32, IN(2, 16, 7, 10),
         FILTERS(24, 1, 1), .stride = {1, 2}),
    CASE("1x1 few filters", V, NCHW, XL_F32, IN(3, 40, 9, 8),
         FILTERS(5, 1, 1)),
    CASE("1x1 few filters nhwc", VQ, NHWC, XL_F32, IN(3, 40, 9, 8),
         FILTERS(5, 1, 1)),
    CASE("1x1 f64", V, NHWC, XL_F64, IN(1, 15, 7, 6), FILTERS(14, 1, 1)),
    {.name = "1x1 i8 to i32", .use = V, .order = NHWC, .in = XL_I8,
     .out = XL_I32, .alpha = 1, IN(2, 24, 11, 9), FILTERS(17, 1, 1)},
    CASE("7x7 stride 2", VQ, NCHW, XL_F32, IN(2, 3, 31, 29), FILTERS(33, 7, 7),
         PAD(3), STRIDE(2)),
    CASE("7x7 stride 2 nhwc", V, NHWC, XL_F32, IN(2, 3, 31, 29),
         FILTERS(33, 7, 7), PAD(3), STRIDE(2)),
    CASE("3x3 stride 2", V, NCHW, XL_F32, IN(2, 17, 15, 14), FILTERS(19, 3, 3),
         PAD(1), STRIDE(2)),
    CASE("3x3 stride 2 nhwc", V, NHWC, XL_F32, IN(2, 16, 15, 14),
         FILTERS(32, 3, 3), PAD(1), STRIDE(2)),
    CASE("stride 3 by 2", V, NCHW, XL_F32, IN(2, 7, 19, 20), FILTERS(9, 3, 3),
         .stride = {3, 2}, PAD(2)),
    CASE("pad 0 1 2 3", VQ, NCHW, XL_F32, IN(2, 11, 10, 9), FILTERS(13, 3, 3),
         .pad = {0, 1, 2, 3}),
    CASE("pad 3 0 0 1 nhwc", V, NHWC, XL_F32, IN(2, 12, 10, 9),
         FILTERS(13, 3, 3), .pad = {3, 0, 0, 1}),
    CASE("wide padding", V, NCHW, XL_F32, IN(1, 5, 4, 3), FILTERS(6, 3, 3),
         PAD(6)),
    CASE("dilation 2", VQ, NCHW, XL_F32, IN(2, 13, 15, 14), FILTERS(17, 3, 3),
         PAD(2), .dilation = {2, 2}),
    CASE("dilation 2 nhwc", V, NHWC, XL_F32, IN(2, 16, 15, 14),
         FILTERS(17, 3, 3), PAD(2), .dilation = {2, 2}),
    CASE("dilation 3 by 1", V, NCHW, XL_F32, IN(1, 8, 15, 14),
         FILTERS(10, 2, 4), .dilation = {3, 1}, STRIDE(2)),
    CASE("row filter", V, NCHW, XL_F32, IN(2, 9, 6, 31), FILTERS(11, 1, 5),
         .pad = {0, 0, 2, 2}),
    CASE("column filter", V, NHWC, XL_F32, IN(2, 9, 31, 6), FILTERS(11, 5, 1),
         .pad = {2, 2, 0, 0}),
    CASE("whole image", V, NCHW, XL_F32, IN(3, 15, 6, 5), FILTERS(21, 6, 5)),
    CASE("one pixel", V, NCHW, XL_F32, IN(1, 1, 1, 1), FILTERS(1, 1, 1)),
    CASE("one pixel padded", V, NHWC, XL_F32, IN(1, 3, 1, 1), FILTERS(2, 3, 3),
         PAD(1)),
    CASE("line", V, NCHW, XL_F32, IN(1, 4, 1, 1009), FILTERS(6, 1, 9),
         .pad = {0, 0, 4, 4}),
    CASE("narrow", V, NCHW, XL_F32, IN(2, 6, 101, 1), FILTERS(7, 3, 1),
         .pad = {1, 1, 0, 0}),
    CASE("one column padded", VQ, NCHW, XL_F32, IN(2, 6, 9, 1),
         FILTERS(7, 3, 3), PAD(1)),
    CASE("one column padded nhwc", V, NHWC, XL_F32, IN(2, 6, 9, 1),
         FILTERS(7, 3, 3), PAD(1)),
    CASE("one column depthwise", V, NCHW, XL_F32, IN(2, 6, 9, 1),
         FILTERS(6, 3, 3), PAD(1), .groups = 6),
    CASE("one row padded", V, NCHW, XL_F32, IN(2, 6, 1, 9), FILTERS(7, 3, 3),
         PAD(1), STRIDE(2)),
    CASE("deep", V, NCHW, XL_F32, IN(1, 300, 5, 7), FILTERS(20, 3, 3), PAD(1)),
    CASE("deep nhwc", V, NHWC, XL_F32, IN(1, 300, 5, 7), FILTERS(20, 3, 3),
         PAD(1)),

    /* Of pixels by 16 bytes: more and less channels than a slice holds. */
    CASE("deep f16 nhwc", V, NHWC, XL_F16, IN(1, 304, 5, 7),
         FILTERS(24, 3, 3), PAD(1)),
    CASE("3x3 stride 2 f16 nhwc", VQ, NHWC, XL_F16, IN(3, 72, 15, 14),
         FILTERS(40, 3, 3), .pad = {0, 1, 1, 0}, STRIDE(2)),
    CASE("dilation 2 by 1 bf16 nhwc", V, NHWC, XL_BF16, IN(2, 24, 15, 14),
         FILTERS(17, 3, 5), .pad = {2, 1, 0, 3}, .dilation = {2, 1}),
    CASE("7x7 stride 2 f16 nhwc", V, NHWC, XL_F16, IN(2, 8, 31, 29),
         FILTERS(33, 7, 7), PAD(3), STRIDE(2)),
    CASE("groups 2 bf16 nhwc", V, NHWC, XL_BF16, IN(2, 48, 9, 8),
         FILTERS(80, 3, 3), PAD(1), .groups = 2),
    CASE("one column f16 nhwc", V, NHWC, XL_F16, IN(2, 16, 9, 1),
         FILTERS(8, 3, 3), PAD(1)),
    CASE("first f16 nhwc", VQ, NHWC, XL_F16, IN(2, 3, 31, 29),
         FILTERS(32, 7, 7), PAD(3), STRIDE(2)),
    CASE("first 3x3 bf16 nhwc", V, NHWC, XL_BF16, IN(3, 3, 12, 11),
         FILTERS(24, 3, 3), .pad = {1, 1, 1, 2}, .has_norm = true),
    CASE("first stride 4 f16 nhwc", V, NHWC, XL_F16, IN(2, 1, 15, 30),
         FILTERS(17, 3, 9), .pad = {0, 1, 5, 2}, .stride = {1, 4}),
    CASE("dilation 2 f16 odd nhwc", V, NHWC, XL_F16, IN(2, 5, 12, 11),
         FILTERS(16, 3, 3), .stride = {1, 2}, .dilation = {1, 2}, .gap = 3,
         .off = 5),
    CASE("kcrs f16 nhwc", V, CONV_IN_NHWC | CONV_OUT_NHWC, XL_F16,
         IN(2, 24, 9, 11), FILTERS(40, 3, 2), PAD(1)),
    CASE("kcrs groups f16 nhwc", V, CONV_IN_NHWC | CONV_OUT_NHWC, XL_F16,
         IN(2, 32, 9, 11), FILTERS(48, 3, 3), PAD(1), .groups = 2),
    CASE("1x1 stride 2 f16 deep nhwc", VQ, NHWC, XL_F16, IN(3, 24, 9, 7),
         FILTERS(136, 1, 1), STRIDE(2)),
    CASE("2x3 stride 2 bf16 padded nhwc", V, NHWC, XL_BF16, IN(2, 16, 8, 9),
         FILTERS(72, 2, 3), .pad = {5, 3, 4, 1}, STRIDE(2), .beta = -0.5,
         .gap = 8, .off = 8),
    CASE("stride 1 by 4 f16 dilated nhwc", V, NHWC, XL_F16, IN(2, 8, 7, 18),
         FILTERS(80, 3, 2), .pad = {2, 0, 1, 3}, .stride = {1, 4},
         .dilation = {2, 2}),
    CASE("3x3 f16 gap nhwc", V, NHWC, XL_F16, IN(2, 136, 7, 9),
         FILTERS(72, 3, 3), .pad = {0, 1, 2, 1}, .gap = 8),
    CASE("misaligned bf16 nhwc", V, NHWC, XL_BF16, IN(2, 24, 9, 11),
         FILTERS(40, 3, 3), PAD(1), .off = 3),

    /* Groups. */
    CASE("groups 2", VQ, NCHW, XL_F32, IN(2, 22, 9, 8), FILTERS(38, 3, 3),
         PAD(1), .groups = 2),
    CASE("groups 2 nhwc", VQ, NHWC, XL_F32, IN(2, 24, 9, 8), FILTERS(38, 3, 3),
         PAD(1), .groups = 2),
    CASE("1x1 groups 2", V, NCHW, XL_F32, IN(3, 22, 9, 8), FILTERS(38, 1, 1),
         .groups = 2),
    CASE("1x1 groups 2 nhwc", V, NHWC, XL_F32, IN(3, 24, 9, 8),
         FILTERS(38, 1, 1), .groups = 2),
    CASE("groups 8 f16", V, NHWC, XL_F16, IN(2, 64, 7, 7), FILTERS(64, 3, 3),
         PAD(1), .groups = 8),
    CASE("depthwise", VQ, NCHW, XL_F32, IN(2, 19, 14, 13), FILTERS(19, 3, 3),
         PAD(1), .groups = 19),
    CASE("depthwise nhwc", VQ, NHWC, XL_F32, IN(2, 19, 14, 13),
         FILTERS(19, 3, 3), PAD(1), .groups = 19),
    CASE("depthwise stride 2 f16", V, NHWC, XL_F16, IN(2, 32, 14, 13),
         FILTERS(32, 3, 3), PAD(1), STRIDE(2), .groups = 32),
    CASE("depthwise stride 2 nhwc", VQ, NHWC, XL_F32, IN(3, 48, 15, 18),
         FILTERS(48, 3, 3), .pad = {0, 1, 1, 0}, STRIDE(2), .groups = 48),
    CASE("depthwise stride 2", VQ, NCHW, XL_F32, IN(3, 21, 29, 35),
         FILTERS(21, 3, 3), .pad = {0, 1, 0, 2}, STRIDE(2), .groups = 21),
    CASE("depthwise stride 3 by 1", V, NCHW, XL_F32, IN(2, 18, 16, 37),
         FILTERS(18, 5, 3), PAD(2), .stride = {3, 1}, .groups = 18),
    CASE("depthwise stride 1 by 3", V, NCHW, XL_BF16, IN(2, 18, 16, 37),
         FILTERS(18, 3, 5), PAD(2), .stride = {1, 3}, .groups = 18),
    CASE("depthwise dilation", V, NCHW, XL_F32, IN(2, 9, 17, 15),
         FILTERS(9, 3, 3), PAD(3), .dilation = {3, 2}, STRIDE(2), .groups = 9),
    CASE("depthwise dilation nhwc", V, NHWC, XL_F16, IN(2, 32, 17, 15),
         FILTERS(32, 3, 3), PAD(3), .dilation = {2, 3}, .groups = 32),
    CASE("depthwise 7x7 bf16", V, NHWC, XL_BF16, IN(1, 24, 13, 12),
         FILTERS(24, 7, 7), PAD(3), .groups = 24),
    CASE("depthwise short rows", VQ, NCHW, XL_F32, IN(3, 18, 7, 7),
         FILTERS(18, 3, 3), PAD(1), .groups = 18),
    CASE("depthwise short rows f16", V, NCHW, XL_F16, IN(2, 33, 13, 3),
         FILTERS(33, 5, 3), PAD(1), .groups = 33),
    CASE("depthwise overlap", V, NCHW, XL_F32, IN(2, 13, 28, 28),
         FILTERS(13, 3, 3), PAD(1), .groups = 13, .gap = 5, .off = 3),
    CASE("depthwise few planes", V, NCHW, XL_F32, IN(1, 2, 53, 30),
         FILTERS(2, 3, 3), PAD(1), STRIDE(2), .groups = 2),
    CASE("depthwise f64 planes", V, NCHW, XL_F64, IN(2, 5, 9, 6),
         FILTERS(5, 3, 3), PAD(1), .groups = 5),
    CASE("depthwise wide", V, NCHW, XL_F32, IN(1, 3, 4, 4099),
         FILTERS(3, 3, 3), PAD(1), .groups = 3),
    CASE("depthwise f64", V, NHWC, XL_F64, IN(2, 12, 9, 8), FILTERS(12, 3, 3),
         PAD(1), .groups = 12),
    CASE("depthwise blocks nhwc", V, NHWC, XL_F16, IN(2, 276, 9, 7),
         FILTERS(276, 3, 3), PAD(1), .groups = 276),
    CASE("depthwise blocks stride 2 nhwc", V, NHWC, XL_BF16, IN(2, 136, 21, 18),
         FILTERS(136, 5, 3), .pad = {4, 0, 5, 3}, STRIDE(2), .groups = 136,
         .beta = -0.5, .gap = 8, .off = 8),
    CASE("depthwise parts nhwc", V, NHWC, XL_F16, IN(6, 24, 43, 41),
         FILTERS(24, 3, 3), PAD(1), STRIDE(2), .groups = 24),
    CASE("depthwise stride 3 nhwc", V, NHWC, XL_F32, IN(2, 12, 20, 17),
         FILTERS(12, 2, 3), .pad = {1, 2, 0, 1}, STRIDE(3), .groups = 12),
    CASE("depthwise to nhwc", V, CONV_TO_NHWC, XL_F16, IN(2, 24, 19, 11),
         FILTERS(24, 3, 3), PAD(1), .groups = 24, .beta = 1),
    CASE("depthwise planes stride 2 pad 6", V, NCHW, XL_F16, IN(3, 7, 27, 33),
         FILTERS(7, 5, 5), .pad = {6, 1, 7, 0}, STRIDE(2), .groups = 7,
         .beta = 0.5),
    {.name = "depthwise i8 to i32",
     .use = V,
     .order = NHWC,
     .in = XL_I8,
     .out = XL_I32,
     .alpha = 1,
     IN(2, 24, 11, 9),
     FILTERS(24, 3, 3),
     PAD(1),
     .groups = 24},
    {.name = "depthwise i8 planes", .use = V, .order = NCHW, .in = XL_I8,
     .out = XL_I32, .alpha = 1, IN(2, 11, 9, 19), FILTERS(11, 3, 3), PAD(1),
     .groups = 11},
    CASE("depthwise times 3 nhwc", V, NHWC, XL_F32, IN(2, 7, 9, 8),
         FILTERS(21, 3, 3), PAD(1), .groups = 7),
    CASE("depthwise times 16 nhwc", V, NHWC, XL_F32, IN(2, 3, 9, 8),
         FILTERS(48, 3, 3), PAD(1), .groups = 3),
    CASE("groups of 4 nhwc", VQ, NHWC, XL_F32, IN(2, 64, 9, 8),
         FILTERS(64, 3, 3), PAD(1), .groups = 16),
    CASE("groups 2 to 6", V, NCHW, XL_F32, IN(3, 10, 9, 8), FILTERS(30, 3, 3),
         PAD(1), .groups = 5),
    CASE("groups 2 to 1 nhwc", V, NHWC, XL_F32, IN(2, 32, 9, 8),
         FILTERS(16, 3, 3), PAD(1), .groups = 16),
    CASE("depthwise beta nhwc", V, NHWC, XL_F16, IN(2, 32, 14, 13),
         FILTERS(32, 3, 3), PAD(1), .groups = 32, .beta = -0.5,
         .has_norm = true, .gap = 8, .off = 24),
    CASE("depthwise beta", V, NCHW, XL_F32, IN(2, 19, 14, 13),
         FILTERS(19, 3, 3), PAD(1), .groups = 19, .beta = 1, .has_norm = true,
         .gap = 3, .off = 5),
    CASE("depthwise times 2", V, NCHW, XL_F32, IN(2, 5, 9, 8),
         FILTERS(10, 5, 5), PAD(2), .groups = 5),

    /* Winograd's transforms: whole and cut tiles, all layouts and types. */
    CASE("fast", VQ, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("fast nhwc", VQ, NHWC, XL_F32, IN(2, 37, 14, 19), FILTERS(41, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("split", V, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(70, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_SPLIT),
    CASE("split nhwc", V, NHWC, XL_F32, IN(3, 16, 16, 12), FILTERS(64, 3, 3),
         .accuracy = XL_ACCURACY_SPLIT),
    CASE("fast whole", V, NCHW, XL_F32, IN(2, 64, 16, 16), FILTERS(128, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("fast to nchw", V, CONV_TO_NCHW, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("fast to nhwc", V, CONV_TO_NHWC, XL_F32, IN(2, 19, 9, 11),
         FILTERS(23, 3, 3), .pad = {0, 1, 2, 5},
         .accuracy = XL_ACCURACY_FAST),
    CASE("fast f16", V, NCHW, XL_F16, IN(2, 24, 9, 8), FILTERS(32, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("fast bf16 nhwc", V, NHWC, XL_BF16, IN(1, 33, 12, 9),
         FILTERS(17, 3, 3), PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("fast gaps", VQ, NCHW, XL_F32, IN(2, 17, 9, 8), FILTERS(19, 3, 3),
         PAD(1), .gap = 3, .off = 5, .beta = -0.5,
         .accuracy = XL_ACCURACY_FAST),
    CASE("fast norm", V, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1), .has_norm = true, .accuracy = XL_ACCURACY_FAST),
    CASE("split norm nhwc", V, NHWC, XL_F32, IN(2, 37, 13, 17),
         FILTERS(41, 3, 3), PAD(1), .has_norm = true, .beta = 1,
         .accuracy = XL_ACCURACY_SPLIT),
    CASE("fast one pixel", V, NHWC, XL_F32, IN(1, 3, 1, 1), FILTERS(2, 3, 3),
         PAD(1), .accuracy = XL_ACCURACY_FAST),

    /* Scalars, gaps, epilogues. */
    CASE("beta 1", VQ, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1), .beta = 1),
    CASE("beta -0.5 deep", V, NHWC, XL_F32, IN(1, 300, 5, 7),
         FILTERS(20, 3, 3), PAD(1), .beta = -0.5, .has_norm = true),
    CASE("gaps", VQ, NCHW, XL_F32, IN(2, 17, 9, 8), FILTERS(19, 3, 3), PAD(1),
         .gap = 3, .off = 5),
    CASE("gaps nhwc", V, NHWC, XL_F32, IN(2, 17, 9, 8), FILTERS(19, 3, 3),
         PAD(1), .gap = 3, .off = 5),
    CASE("gaps f16", V, NHWC, XL_F16, IN(2, 32, 9, 8), FILTERS(32, 3, 3),
         PAD(1), .gap = 8, .off = 24, .beta = 1),
    CASE("batch norm", VQ, NCHW, XL_F32, IN(2, 37, 13, 17), FILTERS(41, 3, 3),
         PAD(1), .has_norm = true),
    CASE("batch norm nhwc", VQ, NHWC, XL_F32, IN(2, 37, 13, 17),
         FILTERS(41, 3, 3), PAD(1), .has_norm = true),
    CASE("batch norm f16", V, NHWC, XL_F16, IN(2, 32, 13, 17),
         FILTERS(48, 3, 3), PAD(1), .has_norm = true),
    CASE("batch norm bf16", V, NCHW, XL_BF16, IN(2, 32, 12, 16),
         FILTERS(48, 3, 3), PAD(1), STRIDE(2), .has_norm = true),
    CASE("batch norm 1x1", V, NCHW, XL_F32, IN(2, 61, 7, 9), FILTERS(67, 1, 1),
         .has_norm = true),
    CASE("batch norm 1x1 nhwc", VQ, NHWC, XL_F16, IN(2, 64, 7, 9),
         FILTERS(72, 1, 1), .has_norm = true, .beta = 1, .gap = 8, .off = 24),
    CASE("gaps 1x1", V, NCHW, XL_F32, IN(2, 17, 9, 8), FILTERS(19, 1, 1),
         .gap = 3, .off = 5, .beta = -0.5),
    INTO("batch norm i8-bool", NCHW, XL_I8, XL_BOOL, .alpha = 0.01,
         .has_norm = true),
    INTO("batch norm f16-i8", NHWC, XL_F16, XL_I8, .alpha = 1,
         .has_norm = true),
    INTO("batch norm bf16-u8", NCHW, XL_BF16, XL_U8, .alpha = 1,
         .has_norm = true),
    INTO("batch norm f32-i32", NHWC, XL_F32, XL_I32, .alpha = 1,
         .has_norm = true),
    INTO("alpha 0", NCHW, XL_F32, XL_F32, .alpha = 0, .beta = 2),
    INTO("alpha 0 norm", NHWC, XL_F16, XL_F16, .alpha = 0, .beta = 1,
         .has_norm = true),
    CASE("batch norm groups", V, NHWC, XL_F32, IN(2, 24, 9, 8),
         FILTERS(36, 3, 3), PAD(1), .groups = 2, .has_norm = true),
    CASE("batch norm depthwise", V, NCHW, XL_F32, IN(2, 19, 14, 13),
         FILTERS(19, 3, 3), PAD(1), .groups = 19, .has_norm = true),

    /* Timed: layers of ResNet-50 and MobileNet, few images. */
    CASE("first", BQ, NCHW, XL_F32, IN(8, 3, 224, 224), FILTERS(64, 7, 7),
         PAD(3), STRIDE(2)),
    CASE("conv2 3x3", BQ, NCHW, XL_F32, IN(8, 64, 56, 56), FILTERS(64, 3, 3),
         PAD(1)),
    CASE("conv2 3x3", BQ, NHWC, XL_F32, IN(8, 64, 56, 56), FILTERS(64, 3, 3),
         PAD(1)),
    CASE("conv2 3x3", B, NHWC, XL_F16, IN(8, 64, 56, 56), FILTERS(64, 3, 3),
         PAD(1)),
    CASE("conv3 3x3", B, NCHW, XL_F32, IN(8, 128, 28, 28), FILTERS(128, 3, 3),
         PAD(1)),
    CASE("conv3 3x3", B, NHWC, XL_F32, IN(8, 128, 28, 28), FILTERS(128, 3, 3),
         PAD(1)),
    CASE("conv4 3x3", BQ, NCHW, XL_F32, IN(8, 256, 14, 14), FILTERS(256, 3, 3),
         PAD(1)),
    CASE("conv4 3x3", B, NHWC, XL_F32, IN(8, 256, 14, 14), FILTERS(256, 3, 3),
         PAD(1)),
    CASE("conv5 3x3", B, NCHW, XL_F32, IN(8, 512, 7, 7), FILTERS(512, 3, 3),
         PAD(1)),
    CASE("conv5 3x3", B, NHWC, XL_F32, IN(8, 512, 7, 7), FILTERS(512, 3, 3),
         PAD(1)),
    CASE("conv4 up", B, NCHW, XL_F32, IN(8, 256, 14, 14), FILTERS(1024, 1, 1)),
    CASE("conv4 up", B, NHWC, XL_F32, IN(8, 256, 14, 14), FILTERS(1024, 1, 1)),
    CASE("conv4 norm", B, NCHW, XL_F32, IN(8, 256, 14, 14), FILTERS(256, 3, 3),
         PAD(1), .has_norm = true),
    CASE("conv2 3x3 fast", B, NCHW, XL_F32, IN(8, 64, 56, 56),
         FILTERS(64, 3, 3), PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("conv4 3x3 fast", B, NHWC, XL_F32, IN(8, 256, 14, 14),
         FILTERS(256, 3, 3), PAD(1), .accuracy = XL_ACCURACY_FAST),
    CASE("depthwise 128", B, NCHW, XL_F32, IN(8, 128, 56, 56),
         FILTERS(128, 3, 3), PAD(1), .groups = 128),
    CASE("depthwise 128", B, NHWC, XL_F32, IN(8, 128, 56, 56),
         FILTERS(128, 3, 3), PAD(1), .groups = 128),
    {.name = NULL},
};

/* -- the reference -----------------------------------------------------------
 *
 * A convolution on the host, in double precision. Images are matrices whose
 * rows are planes (NCHW) or pixels (NHWC). */

enum { AT_N, AT_C, AT_H, AT_W };

const char conv_norm_text[] = "relu((y + bias - mu) * rstd * gamma + beta)";
const char *const conv_norm_names[CONV_N_NORM] = {"bias", "mu", "rstd",
                                                  "gamma", "beta"};

static xl_layout layout_in(const struct conv_case *c)
{
    return c->order & CONV_IN_NHWC ? XL_NHWC : XL_NCHW;
}
static xl_layout layout_out(const struct conv_case *c)
{
    return c->order & CONV_OUT_NHWC ? XL_NHWC : XL_NCHW;
}
static xl_filter_layout layout_filters(const struct conv_case *c)
{
    return c->order & CONV_FILTERS_KRSC ? XL_KRSC : XL_KCRS;
}

bool conv_case_of_pass(unsigned i, xl_conv_pass pass, struct conv_case *out,
                       bool *is_there)
{
    *out = conv_cases[i];
    out->pass = pass;
    *is_there =
        pass == XL_CONV_FORWARD || (!out->has_norm && out->in != XL_I8);
    return out->name != NULL;
}

static xl_dtype dtype_of(const struct conv_case *c, xl_conv_pass writes)
{
    return c->pass == writes ? c->out : c->in;
}

xl_conv conv_descriptor(const struct conv_case *c)
{
    return (xl_conv){
        XL_CONV_INIT,
        .n = c->n,
        .c = c->c,
        .h = c->h,
        .w = c->w,
        .k = c->k,
        .r = c->r,
        .s = c->s,
        .groups = c->groups,
        .stride_h = c->stride[0],
        .stride_w = c->stride[1],
        .dilation_h = c->dilation[0],
        .dilation_w = c->dilation[1],
        .pad_top = c->pad[0],
        .pad_bottom = c->pad[1],
        .pad_left = c->pad[2],
        .pad_right = c->pad[3],
        .in = {.layout = layout_in(c),
               .dtype = dtype_of(c, XL_CONV_BACKWARD_DATA)},
        .filters = {.layout = layout_filters(c),
                    .dtype = dtype_of(c, XL_CONV_BACKWARD_FILTERS)},
        .out = {.layout = layout_out(c),
                .dtype = dtype_of(c, XL_CONV_FORWARD)},
        .pass = c->pass,
        .alpha = c->alpha,
        .beta = c->beta,
        .accuracy = c->accuracy};
}

struct conv_lines conv_lines(xl_layout layout, const size_t size[4])
{
    const struct conv_lines planes = {size[AT_N] * size[AT_C],
                                      size[AT_H] * size[AT_W]};
    const struct conv_lines pixels = {size[AT_N] * size[AT_H] * size[AT_W],
                                      size[AT_C]};
    return layout == XL_NCHW ? planes : pixels;
}

void conv_in_size(const struct conv_case *c, size_t size[4])
{
    size[AT_N] = c->n;
    size[AT_C] = c->c;
    size[AT_H] = c->h;
    size[AT_W] = c->w;
}

void conv_out_size(const struct conv_case *c, size_t size[4])
{
    const xl_conv d = conv_descriptor(c);
    size[AT_N] = c->n;
    size[AT_C] = c->k;
    (void)xl_conv_out_size(&d, &size[AT_H], &size[AT_W]);
}

xl_images conv_images(cl_mem mem, size_t offset, size_t ld, xl_layout layout,
                      const size_t size[4], xl_dtype dtype)
{
    xl_images x = {.mem = {.buf = mem},
                   .offset = offset,
                   .layout = layout,
                   .dtype = dtype};
    if (layout == XL_NCHW) {
        x.stride[AT_W] = 1;
        x.stride[AT_H] = size[AT_W];
        x.stride[AT_C] = ld;
        x.stride[AT_N] = ld * size[AT_C];
    } else {
        x.stride[AT_C] = 1;
        x.stride[AT_W] = ld;
        x.stride[AT_H] = ld * size[AT_W];
        x.stride[AT_N] = x.stride[AT_H] * size[AT_H];
    }
    return x;
}

void conv_norm_bind(const xl_conv *d, const cl_mem mem[CONV_N_NORM],
                    xl_binding out[CONV_N_NORM])
{
    const size_t size[] = {d->k, 1};
    const unsigned n_dims = d->out.layout == XL_NCHW ? 2 : 1;
    for (unsigned i = 0; i < CONV_N_NORM; i++)
        out[i] = (xl_binding){
            .name = conv_norm_names[i],
            .tensor = xl_tensor_dense(mem[i], XL_F32, n_dims, size)};
}

/* The place of an element in a matrix of lines. */
struct line_place {
    size_t i, j;
};

static struct line_place image_place(xl_layout layout, const size_t size[4],
                                     const size_t at[4])
{
    if (layout == XL_NCHW)
        return (struct line_place){at[AT_N] * size[AT_C] + at[AT_C],
                                   at[AT_H] * size[AT_W] + at[AT_W]};
    return (struct line_place){
        (at[AT_N] * size[AT_H] + at[AT_H]) * size[AT_W] + at[AT_W], at[AT_C]};
}

static size_t one_if_zero(size_t x)
{
    return x ? x : 1;
}

static size_t group_channels(const struct conv_case *c)
{
    return c->c / one_if_zero(c->groups);
}

static size_t group_filters(const struct conv_case *c)
{
    return c->k / one_if_zero(c->groups);
}

void conv_result_size(const struct conv_case *c, size_t size[4])
{
    const size_t taps[] = {c->k, group_channels(c), c->r, c->s};
    if (c->pass == XL_CONV_BACKWARD_DATA)
        conv_in_size(c, size);
    else if (c->pass == XL_CONV_BACKWARD_FILTERS)
        memcpy(size, taps, sizeof taps);
    else
        conv_out_size(c, size);
}

struct conv_lines conv_filter_lines(const struct conv_case *c)
{
    return (struct conv_lines){c->k, group_channels(c) * c->r * c->s};
}

/* Of an element of a filter, of indices k, c within the group, r, s. */
static struct line_place filter_place(const struct conv_case *c,
                                      const size_t at[4])
{
    const size_t cg = group_channels(c);
    return (struct line_place){at[0],
                               layout_filters(c) == XL_KRSC
                                   ? (at[2] * c->s + at[3]) * cg + at[1]
                                   : (at[1] * c->r + at[2]) * c->s + at[3]};
}

static struct line_place in_place(const struct conv_case *c,
                                  const size_t at[4])
{
    size_t size[4];
    conv_in_size(c, size);
    return image_place(layout_in(c), size, at);
}

static struct line_place out_place(const struct conv_case *c,
                                   const size_t at[4])
{
    size_t size[4];
    conv_out_size(c, size);
    return image_place(layout_out(c), size, at);
}

static double load_at(const struct ref_mat *lines, struct line_place p)
{
    return ref_at(lines, p.i, p.j);
}

void conv_result_place(const struct conv_case *c, const size_t at[4],
                       size_t *i, size_t *j)
{
    const struct line_place p =
        c->pass == XL_CONV_BACKWARD_DATA      ? in_place(c, at)
        : c->pass == XL_CONV_BACKWARD_FILTERS ? filter_place(c, at)
                                              : out_place(c, at);
    *i = p.i;
    *j = p.j;
}

double conv_result_at(const struct conv_case *c, const struct ref_mat *lines,
                      const size_t at[4])
{
    struct line_place p;
    conv_result_place(c, at, &p.i, &p.j);
    return load_at(lines, p);
}

void conv_indices(const struct conv_case *c, size_t i, size_t at[4])
{
    size_t size[4];
    conv_result_size(c, size);
    for (unsigned d = 4; d-- > 0; i /= size[d])
        at[d] = i % size[d];
}

/* The index in the image of element `tap` of the filter at output index
 * `place`; false in the padding. */
static bool image_index(const struct conv_case *c, unsigned along,
                        size_t i_out, size_t tap, size_t *at)
{
    const size_t before = c->pad[2 * along], length = along ? c->w : c->h;
    const size_t y = i_out * one_if_zero(c->stride[along]) +
                     tap * one_if_zero(c->dilation[along]);
    *at = y - before;
    return y >= before && *at < length;
}

static void add_product(double product, double *sum, double *mag)
{
    *sum += product;
    *mag += fabs(product);
}

static void sum_forward(const struct conv_ref *r, const size_t at[4],
                        double *sum, double *mag)
{
    const struct conv_case *c = r->c;
    const size_t first = at[AT_C] / group_filters(c) * group_channels(c);
    size_t from[4] = {at[AT_N], 0, 0, 0}, tap[4] = {at[AT_C], 0, 0, 0};
    for (tap[2] = 0; tap[2] < c->r; tap[2]++) {
        for (tap[3] = 0; tap[3] < c->s; tap[3]++) {
            if (!image_index(c, 0, at[AT_H], tap[2], &from[AT_H]) ||
                !image_index(c, 1, at[AT_W], tap[3], &from[AT_W]))
                continue;
            for (tap[1] = 0; tap[1] < group_channels(c); tap[1]++) {
                from[AT_C] = first + tap[1];
                add_product(load_at(&r->in, in_place(c, from)) *
                                load_at(&r->filters, filter_place(c, tap)),
                            sum, mag);
            }
        }
    }
}

/* All positions of out whose filter reaches the pixel: found by trying each
 * one along both sides. */
static void sum_data(const struct conv_ref *r, const size_t at[4], double *sum,
                     double *mag)
{
    const struct conv_case *c = r->c;
    const size_t kg = group_filters(c), cg = group_channels(c);
    const size_t group = at[AT_C] / cg;
    size_t size[4], y, x;
    size_t from[4] = {at[AT_N], 0, 0, 0}, tap[4] = {0, at[AT_C] % cg, 0, 0};
    conv_out_size(c, size);
    for (tap[2] = 0; tap[2] < c->r; tap[2]++) {
        for (from[AT_H] = 0; from[AT_H] < size[AT_H]; from[AT_H]++) {
            if (!image_index(c, 0, from[AT_H], tap[2], &y) || y != at[AT_H])
                continue;
            for (tap[3] = 0; tap[3] < c->s; tap[3]++) {
                for (from[AT_W] = 0; from[AT_W] < size[AT_W]; from[AT_W]++) {
                    if (!image_index(c, 1, from[AT_W], tap[3], &x) ||
                        x != at[AT_W])
                        continue;
                    for (size_t k = group * kg; k < (group + 1) * kg; k++) {
                        from[AT_C] = tap[0] = k;
                        add_product(
                            load_at(&r->out, out_place(c, from)) *
                                load_at(&r->filters, filter_place(c, tap)),
                            sum, mag);
                    }
                }
            }
        }
    }
}

static void sum_filters(const struct conv_ref *r, const size_t at[4],
                        double *sum, double *mag)
{
    const struct conv_case *c = r->c;
    const size_t first = at[0] / group_filters(c) * group_channels(c);
    size_t size[4], from[4] = {0, first + at[1], 0, 0};
    size_t place[4] = {0, at[0], 0, 0};
    conv_out_size(c, size);
    for (size_t n = 0; n < c->n; n++) {
        from[AT_N] = place[AT_N] = n;
        for (size_t p = 0; p < size[AT_H]; p++) {
            place[AT_H] = p;
            if (!image_index(c, 0, p, at[2], &from[AT_H]))
                continue;
            for (size_t q = 0; q < size[AT_W]; q++) {
                place[AT_W] = q;
                if (image_index(c, 1, q, at[3], &from[AT_W]))
                    add_product(load_at(&r->out, out_place(c, place)) *
                                    load_at(&r->in, in_place(c, from)),
                                sum, mag);
            }
        }
    }
}

static void sum_products(const struct conv_ref *r, const size_t at[4],
                         double *sum, double *mag)
{
    *sum = *mag = 0;
    (r->c->pass == XL_CONV_BACKWARD_DATA      ? sum_data
     : r->c->pass == XL_CONV_BACKWARD_FILTERS ? sum_filters
                                              : sum_forward)(r, at, sum, mag);
}

/* Products of an element of the result. */
static size_t count_products(const struct conv_case *c)
{
    size_t size[4];
    conv_out_size(c, size);
    return c->pass == XL_CONV_BACKWARD_DATA ? group_filters(c) * c->r * c->s
           : c->pass == XL_CONV_BACKWARD_FILTERS
               ? c->n * size[AT_H] * size[AT_W]
               : group_channels(c) * c->r * c->s;
}

static const struct ref_mat *old_result(const struct conv_ref *r)
{
    return r->c->pass == XL_CONV_BACKWARD_DATA      ? &r->in
           : r->c->pass == XL_CONV_BACKWARD_FILTERS ? &r->filters
                                                    : &r->out;
}

/* The sum over channels of the largest magnitudes of the filter and of the
 * window that a tile of `side` x `side` results needs: the bound of
 * xl_conv_run() for another accuracy is in these. */
static double window_magnitude(const struct conv_ref *r, const size_t at[4],
                               size_t side)
{
    const struct conv_case *c = r->c;
    const bool last = layout_filters(c) == XL_KRSC;
    size_t from[4] = {at[AT_N], 0, 0, 0};
    double sum = 0;
    for (; from[AT_C] < c->c; from[AT_C]++) {
        double filter = 0, window = 0;
        for (size_t i = 0; i < c->r * c->s; i++) {
            const size_t tap =
                last ? i * c->c + from[AT_C] : from[AT_C] * c->r * c->s + i;
            filter = fmax(filter, fabs(ref_at(&r->filters, at[AT_C], tap)));
        }
        for (size_t i = 0; i < side + 2; i++) {
            for (size_t j = 0; j < side + 2; j++) {
                if (image_index(c, 0, at[AT_H] / side * side, i,
                                &from[AT_H]) &&
                    image_index(c, 1, at[AT_W] / side * side, j,
                                &from[AT_W]))
                    window =
                        fmax(window, fabs(load_at(&r->in, in_place(c, from))));
            }
        }
        sum += filter * window;
    }
    return sum;
}

/* Whether xl_conv.accuracy has an effect. */
static bool is_traded(const struct conv_case *c)
{
    return c->pass == XL_CONV_FORWARD &&
           c->accuracy != XL_ACCURACY_FULL && c->r == 3 && c->s == 3 &&
           one_if_zero(c->groups) == 1 && c->in != XL_F64 && c->in != XL_I8 &&
           one_if_zero(c->stride[0]) * one_if_zero(c->stride[1]) == 1 &&
           one_if_zero(c->dilation[0]) * one_if_zero(c->dilation[1]) == 1;
}

/* The chain of conv_norm_text: each operation propagates the error and adds
 * one rounding. */
static double normalise(const struct conv_ref *r, size_t k, double y,
                        double *error)
{
    const double u = ref_roundoff(XL_F32);
    double e = *error;
#define ADD(x) (y += (x), e += u * (fabs(y) + e))
#define TIMES(x) (e *= fabs(x), y *= (x), e += u * (fabs(y) + e))
    ADD((double)r->norm[CONV_BIAS][k]);
    ADD(-(double)r->norm[CONV_MU][k]);
    TIMES((double)r->norm[CONV_RSTD][k]);
    TIMES((double)r->norm[CONV_GAMMA][k]);
    ADD((double)r->norm[CONV_BETA][k]);
#undef ADD
#undef TIMES
    *error = e;
    return fmax(y, 0);
}

/* As ref_gemm_expected(), with the products of the sum as terms. */
double conv_expected(const struct conv_ref *r, const size_t at[4], double *tol)
{
    const struct conv_case *c = r->c;
    const xl_dtype y = c->out == XL_F64 ? XL_F64 : XL_F32;
    const double terms = (double)count_products(c) + 3;
    double sum = 0, mag = 0;
    if (c->alpha != 0) /* else what is read may be NaN */
        sum_products(r, at, &sum, &mag);
    double roundings = terms, traded = mag;
    if (is_traded(c) && c->alpha != 0) {
        static const double two = 64, four = 2304, turned = 24;
        const bool is_fast = c->accuracy == XL_ACCURACY_FAST;
        roundings = (double)c->c + turned + 3;
        traded = is_fast ? four * window_magnitude(r, at, 4)
                         : two * window_magnitude(r, at, 2);
    }
    const double old =
        c->beta == 0 ? 0 : c->beta * conv_result_at(c, old_result(r), at);
    /* In f64 the host rounds as often as the device. */
    const double ru = roundings * ref_roundoff(y) * (y == XL_F64 ? 2 : 1);
    double expected = c->alpha * sum + old;
    double error = ru / (1 - ru) * (fabs(c->alpha) * traded + fabs(old)) +
                   terms * (1 + fabs(c->alpha)) * ref_floor(y);
    if (c->has_norm)
        expected = ref_epilogue_stored(
            normalise(r, at[AT_C], expected, &error), c->out, &error);
    else if (c->out != y)
        error += ref_roundoff(c->out) * (fabs(expected) + error) +
                 ref_floor(c->out);
    *tol = error;
    return expected;
}
