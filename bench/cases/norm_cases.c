/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of norms, and their reference in double. */
#include "cases/norm_cases.h"

#include <math.h>

enum {
    V = CASE_VERIFY,
    VQ = CASE_VERIFY | CASE_QUICK,
    B = CASE_BENCH,
    BQ = CASE_BENCH | CASE_QUICK,
    BB = CASE_BENCH | CASE_BIG
};

#define CASE(name, use, rows, cols, kind, dtype, ...)                         \
    {                                                                         \
        name, use, rows, cols, XL_NORM_##kind, dtype,                         \
            .out = dtype, .params = XL_F32, __VA_ARGS__                       \
    }

const struct norm_case norm_cases[] = {
    CASE("1 column", V, 37, 1, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("3 columns", V, 1021, 3, LAYER, XL_F32, .with = 0),
    CASE("31", VQ, 1021, 31, LAYER, XL_F16, .with = WITH_AFFINE),
    CASE("64", V, 257, 64, RMS, XL_BF16, .with = WITH(NORM_SCALE)),
    CASE("521", VQ, 33, 521, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("521 rms", VQ, 33, 521, RMS, XL_F32, .with = WITH(NORM_SCALE)),
    CASE("1024 f16", V, 65, 1024, LAYER, XL_F16, .with = WITH_AFFINE),
    CASE("4099", V, 5, 4099, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("16384", V, 3, 16384, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("16385", VQ, 3, 16385, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("65537 rms f16", V, 3, 65537, RMS, XL_F16, .with = WITH(NORM_SCALE)),
    CASE("10^6", V, 2, 1000003, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("many long", V, 40, 20001, LAYER, XL_BF16, .with = WITH(NORM_BIAS)),
    CASE("one row", V, 1, 1009, LAYER, XL_F32, .with = 0),
    CASE("many rows", V, 100003, 5, RMS, XL_F32, .with = 0),

    CASE("around 10^6", VQ, 33, 1031, LAYER, XL_F32, .mean = 1e6),
    CASE("around 10^6 short", V, 65, 8, LAYER, XL_F32, .mean = 1e6),
    CASE("around 10^6 long", V, 3, 100003, LAYER, XL_F32, .mean = 1e6),
    CASE("around -1000 f16", V, 33, 1031, LAYER, XL_F16, .mean = -1000),
    CASE("rms around 10^6", V, 33, 1031, RMS, XL_F32, .mean = 1e6),

    CASE("residual", VQ, 33, 521, LAYER, XL_F32,
         .with = WITH_AFFINE | WITH_STREAM),
    CASE("residual rms f16", VQ, 33, 520, RMS, XL_F16,
         .with = WITH(NORM_SCALE) | WITH_STREAM),
    CASE("residual, no sum", V, 33, 521, RMS, XL_BF16,
         .with = WITH(NORM_RESIDUAL)),
    CASE("sum, no residual", V, 33, 521, LAYER, XL_F32,
         .with = WITH(NORM_SUM)),
    CASE("residual long", V, 3, 65537, LAYER, XL_F16,
         .with = WITH_AFFINE | WITH_STREAM),
    CASE("in place", VQ, 33, 521, LAYER, XL_F32,
         .with = WITH_AFFINE | WITH_STREAM | NORM_IN_PLACE),
    CASE("in place long", V, 3, 65537, RMS, XL_F32,
         .with = WITH_AFFINE | WITH_STREAM | NORM_IN_PLACE, .pad = 3),
    CASE("in place f16", V, 65, 1024, LAYER, XL_F16,
         .with = WITH_STREAM | NORM_IN_PLACE, .off = 5),

#define INTO(name, use, from, to, of)                                         \
    {                                                                         \
        name, use, 33, 521, XL_NORM_LAYER, from,                              \
            .out = to, .params = of, .with = WITH_AFFINE | WITH_STREAM        \
    }
    INTO("f16 into f32", VQ, XL_F16, XL_F32, XL_F16),
    INTO("f32 into bf16", V, XL_F32, XL_BF16, XL_BF16),
    INTO("bf16 into f16", V, XL_BF16, XL_F16, XL_F32),

    CASE("pad 1", VQ, 33, 521, LAYER, XL_F32, .with = WITH_AFFINE, .pad = 1),
    CASE("offset 3 f16", VQ, 33, 512, LAYER, XL_F16,
         .with = WITH_AFFINE | WITH_STREAM, .pad = 5, .off = 3),
    CASE("offset 64", V, 33, 512, RMS, XL_F32, .with = WITH_AFFINE, .off = 64),
    CASE("specials", VQ, 64, 127, LAYER, XL_F32, .with = WITH_AFFINE,
         .data = DATA_SPECIALS),
    CASE("specials f16", V, 64, 127, LAYER, XL_F16, .with = WITH_AFFINE,
         .data = DATA_SPECIALS),
    CASE("specials long", V, 8, 200003, LAYER, XL_F32, .with = 0,
         .data = DATA_SPECIALS),
    CASE("specials rms", V, 64, 127, RMS, XL_F32, .with = 0,
         .data = DATA_SPECIALS),

    CASE("4096x4096 f32", BQ, 4096, 4096, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("4096x4096 f16", BQ, 4096, 4096, LAYER, XL_F16, .with = WITH_AFFINE),
    CASE("65536x128 f32", B, 65536, 128, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("65536x128 f16", B, 65536, 128, LAYER, XL_F16, .with = WITH_AFFINE),
    CASE("16384x1024 f32", B, 16384, 1024, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("64x1000000 f32", B, 64, 1000000, LAYER, XL_F32, .with = WITH_AFFINE),
    CASE("8192x32768 f32", BB, 8192, 32768, LAYER, XL_F32,
         .with = WITH_AFFINE),
    {NULL, 0, 0, 0, XL_NORM_LAYER, XL_F32, .with = 0},
};

bool norm_has(const struct norm_case *c, enum norm_operand x)
{
    return x <= NORM_DST || (c->with & WITH(x));
}

xl_dtype norm_dtype(const struct norm_case *c, enum norm_operand x)
{
    const bool is_param = x == NORM_SCALE || x == NORM_BIAS;
    return is_param                         ? c->params
           : x == NORM_DST || x == NORM_SUM ? c->out
                                            : c->dtype;
}

bool norm_is_rows(enum norm_operand x)
{
    return x < NORM_SCALE;
}

xl_norm norm_call(const struct norm_case *c, const xl_mat *view,
                  const char *variant)
{
    xl_norm n = {XL_NORM_INIT,          .rows = c->rows,       .cols = c->cols,
                 .src = view[NORM_SRC], .dst = view[NORM_DST], .kind = c->kind,
                 .variant = variant};
    if (norm_has(c, NORM_RESIDUAL))
        n.residual = view[NORM_RESIDUAL];
    if (norm_has(c, NORM_SUM))
        n.sum = view[NORM_SUM];
    if (norm_has(c, NORM_SCALE))
        n.scale = view[NORM_SCALE];
    if (norm_has(c, NORM_BIAS))
        n.bias = view[NORM_BIAS];
    return n;
}

/* The tables' values are random, so the mean of some elements is well within
 * a half of the deviation of the row's; and it is rounded. Equal values have
 * no distance from it. */
struct norm_row norm_row(const struct norm_case *c, const double *x)
{
    static const double eps = 1e-5, of_random = 0.5;
    struct norm_row row = {0, 0, 0};
    double squares = 0;
    for (size_t j = 0; c->kind == XL_NORM_LAYER && j < c->cols; j++)
        row.mean += x[j] / (double)c->cols;
    for (size_t j = 0; j < c->cols; j++)
        squares += (x[j] - row.mean) * (x[j] - row.mean);
    row.factor = 1 / sqrt(squares / (double)c->cols + eps);
    if (c->kind == XL_NORM_LAYER)
        row.r = of_random + fabs(row.mean) * ref_roundoff(XL_F32) * row.factor;
    for (size_t j = 0; j < c->cols; j++) /* infinities */
        row.mean = isinf(x[j]) ? (double)NAN : row.mean;
    return row;
}

/* norm.h, Accuracy: |error of y| <= (1 + r^2) ((1.5 k + 8) |y| + k + 1) u,
 * then the product and the sum, then the rounding to the type of dst. */
double norm_expected(const struct norm_case *c, const struct norm_row *row,
                     double x, double scale, double bias, double *tol)
{
    const double u = ref_roundoff(XL_F32);
    const double k = 13 + 2 * log2((double)c->cols);
    const double y = (x - row->mean) * row->factor;
    const double want = y * scale + bias;
    *tol = (1 + row->r * row->r) * ((1.5 * k + 8) * fabs(y) + k + 1) * u *
               fabs(scale) +
           2 * u * fabs(y * scale) + u * fabs(want) + ref_floor(XL_F32);
    if (c->out != XL_F32)
        *tol += ref_roundoff(c->out) * (fabs(want) + *tol) + ref_floor(c->out);
    return want;
}
