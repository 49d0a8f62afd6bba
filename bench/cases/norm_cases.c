/* SPDX-License-Identifier: Apache-2.0 */
/* The case tables of norms and of gradients over rows, and their reference in
 * double. */
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
    CASE("long side by side", VQ, 67, 16387, LAYER, XL_F32,
         .with = WITH_AFFINE),
    CASE("side by side f16", V, 35, 16400, LAYER, XL_F16,
         .with = WITH_AFFINE | WITH_STREAM | NORM_IN_PLACE),
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

/* -- gradients -------------------------------------------------------------
 */

#undef CASE
#define CASE(name, use, kind, rows, cols, dtype, ...)                         \
    {                                                                         \
        name, use, GRADIENT_##kind, rows, cols, dtype, .out = dtype,          \
                                                       __VA_ARGS__            \
    }
#define WITH_SUMS (WITH(GRADIENT_OF_SCALE) | WITH(GRADIENT_OF_BIAS))
#define WITH_ALL (WITH(GRADIENT_SCALE) | WITH_SUMS)

const struct gradient_case gradient_cases[] = {
    CASE("softmax 1 column", V, SOFTMAX, 37, 1, XL_F32, .pad = 0),
    CASE("softmax 7 columns", V, SOFTMAX, 1021, 7, XL_F16, .pad = 0),
    CASE("softmax 127", VQ, SOFTMAX, 129, 127, XL_F32, .scale = 0.125),
    CASE("softmax 255 f16", VQ, SOFTMAX, 65, 255, XL_F16, .pad = 0),
    CASE("softmax 1031 bf16", V, SOFTMAX, 33, 1031, XL_BF16, .scale = -3),
    CASE("softmax 16385", V, SOFTMAX, 3, 16385, XL_F32, .pad = 0),
    CASE("softmax 10^6", V, SOFTMAX, 2, 1000003, XL_F32, .pad = 0),
    CASE("softmax gaps", V, SOFTMAX, 33, 521, XL_F16, .pad = 3, .off = 5),
    CASE("softmax in place", VQ, SOFTMAX, 33, 1024, XL_F32, .place = INTO_SRC),
    CASE("softmax into grad, long", V, SOFTMAX, 3, 65537, XL_F32,
         .place = INTO_GRAD),
    CASE("log 521", VQ, LOG, 33, 521, XL_F32, .pad = 1),
    CASE("log 1024 f16", V, LOG, 33, 1024, XL_F16, .scale = 0.5),
    CASE("log 65537", VQ, LOG, 3, 65537, XL_F32, .pad = 0),
    CASE("log in place", V, LOG, 33, 1031, XL_BF16, .place = INTO_GRAD),

    CASE("norm 1 column", V, LAYER, 37, 1, XL_F32, .with = WITH_ALL),
    CASE("norm 5 columns", V, LAYER, 10007, 5, XL_F16, .with = WITH_ALL),
    CASE("norm 127", VQ, LAYER, 129, 127, XL_F32, .with = WITH_ALL),
    CASE("norm 521 rms", VQ, RMS, 33, 521, XL_F32,
         .with = WITH(GRADIENT_SCALE) | WITH(GRADIENT_OF_SCALE)),
    CASE("norm 1024 f16", VQ, LAYER, 65, 1024, XL_F16, .with = WITH_ALL),
    CASE("norm 1031 bf16", V, RMS, 33, 1031, XL_BF16, .with = WITH_ALL),
    CASE("norm 4099", V, LAYER, 5, 4099, XL_F32, .with = WITH_SUMS),
    CASE("norm 16385", VQ, LAYER, 3, 16385, XL_F32, .with = WITH_ALL),
    CASE("norm 65537 rms f16", V, RMS, 3, 65537, XL_F16, .with = WITH_ALL),
    CASE("norm 10^6", V, LAYER, 2, 1000003, XL_F32, .with = WITH_ALL),
    CASE("norm many long", V, LAYER, 40, 20001, XL_BF16, .with = WITH_ALL),
    CASE("norm many rows", V, RMS, 100003, 5, XL_F32, .with = WITH_ALL),
    CASE("norm, sum of bias only", V, LAYER, 33, 521, XL_F32,
         .with = WITH(GRADIENT_OF_BIAS)),
    CASE("norm, no sums", VQ, LAYER, 33, 521, XL_F32,
         .with = WITH(GRADIENT_SCALE)),
    CASE("norm around 1000", V, LAYER, 33, 1031, XL_F32, .with = WITH_ALL,
         .mean = 1000),
    CASE("norm around 1000 long", V, LAYER, 3, 100003, XL_F32,
         .with = WITH_ALL, .mean = 1000),
    CASE("norm in place", V, LAYER, 33, 521, XL_F32,
         .with = WITH(GRADIENT_SCALE), .place = INTO_SRC, .pad = 3),
    CASE("norm into grad, long", V, RMS, 3, 65537, XL_F32, .with = 0,
         .place = INTO_GRAD),
    CASE("norm gaps", V, LAYER, 33, 512, XL_F16, .with = WITH_ALL, .pad = 5,
         .off = 3),
    {"norm f16 into f32", VQ, GRADIENT_LAYER, 33, 520, XL_F16, .out = XL_F32,
     .with = WITH_ALL},

    CASE("4096x4096 f32", BQ, SOFTMAX, 4096, 4096, XL_F32, .pad = 0),
    CASE("4096x4096 f16", BQ, SOFTMAX, 4096, 4096, XL_F16, .pad = 0),
    CASE("65536x128 f16", B, SOFTMAX, 65536, 128, XL_F16, .pad = 0),
    CASE("64x1000000 f32", B, SOFTMAX, 64, 1000000, XL_F32, .pad = 0),
    CASE("4096x4096 f32", BQ, LAYER, 4096, 4096, XL_F32, .with = WITH_ALL),
    CASE("4096x4096 f16", BQ, LAYER, 4096, 4096, XL_F16, .with = WITH_ALL),
    CASE("65536x128 f32", B, LAYER, 65536, 128, XL_F32, .with = WITH_ALL),
    CASE("16384x1024 f16", B, LAYER, 16384, 1024, XL_F16, .with = WITH_ALL),
    CASE("64x1000000 f32", B, LAYER, 64, 1000000, XL_F32, .with = WITH_ALL),
    {NULL, 0, GRADIENT_SOFTMAX, 0, 0, XL_F32, .pad = 0},
};

const char *const gradient_names[GRADIENT_OPERANDS] = {
    "src", "grad", "dst", "scale", "grad_scale", "grad_bias"};

bool gradient_is_norm(const struct gradient_case *c)
{
    return c->kind >= GRADIENT_LAYER;
}

const char *gradient_op(const struct gradient_case *c)
{
    return gradient_is_norm(c) ? "norm_backward" : "softmax_backward";
}

bool gradient_has(const struct gradient_case *c, enum gradient_operand x)
{
    return x <= GRADIENT_DST || (c->with & WITH(x));
}

bool gradient_is_result(enum gradient_operand x)
{
    return x == GRADIENT_DST || x > GRADIENT_SCALE;
}

bool gradient_is_rows(enum gradient_operand x)
{
    return x <= GRADIENT_DST;
}

xl_dtype gradient_dtype(const struct gradient_case *c, enum gradient_operand x)
{
    return x == GRADIENT_SCALE     ? XL_F32
           : gradient_is_result(x) ? c->out
                                   : c->dtype;
}

xl_softmax gradient_softmax(const struct gradient_case *c, const xl_mat *view,
                            const char *variant)
{
    return (xl_softmax){
        XL_SOFTMAX_INIT,           .rows = c->rows,
        .cols = c->cols,           .src = view[GRADIENT_SRC],
        .dst = view[GRADIENT_DST], .scale = c->scale,
        .variant = variant,        .is_log = c->kind == GRADIENT_LOG,
        .is_backward = true,       .grad = view[GRADIENT_GRAD]};
}

xl_norm gradient_norm(const struct gradient_case *c, const xl_mat *view,
                      const char *variant)
{
    xl_norm n = {XL_NORM_INIT,
                 .rows = c->rows,
                 .cols = c->cols,
                 .src = view[GRADIENT_SRC],
                 .dst = view[GRADIENT_DST],
                 .kind = c->kind == GRADIENT_RMS ? XL_NORM_RMS : XL_NORM_LAYER,
                 .variant = variant,
                 .is_backward = true,
                 .grad = view[GRADIENT_GRAD]};
    if (gradient_has(c, GRADIENT_SCALE))
        n.scale = view[GRADIENT_SCALE];
    if (gradient_has(c, GRADIENT_OF_SCALE))
        n.grad_scale = view[GRADIENT_OF_SCALE];
    if (gradient_has(c, GRADIENT_OF_BIAS))
        n.grad_bias = view[GRADIENT_OF_BIAS];
    return n;
}

xl_status gradient_run(xl_queue *q, const struct gradient_case *c,
                       const xl_mat *view, const char *variant)
{
    const xl_softmax s = gradient_softmax(c, view, variant);
    const xl_norm n = gradient_norm(c, view, variant);
    return gradient_is_norm(c) ? xl_norm_run(q, &n, NULL)
                               : xl_softmax_run(q, &s, NULL);
}

static struct gradient_row softmax_row(const struct gradient_case *c,
                                       const double *x, const double *g)
{
    struct gradient_row row = {.mean = 0};
    for (size_t j = 0; j < c->cols; j++) {
        const double term = c->kind == GRADIENT_LOG ? g[j] : x[j] * g[j];
        row.g += term;
        row.size += fabs(term);
    }
    return row;
}

struct gradient_row gradient_row(const struct gradient_case *c,
                                 const double *x, const double *g)
{
    if (!gradient_is_norm(c))
        return softmax_row(c, x, g);
    const bool is_layer = c->kind == GRADIENT_LAYER;
    const struct norm_case of = {NULL,
                                 0,
                                 c->rows,
                                 c->cols,
                                 is_layer ? XL_NORM_LAYER : XL_NORM_RMS,
                                 c->dtype,
                                 .with = 0};
    const struct norm_row norm = norm_row(&of, x);
    const double n = (double)c->cols;
    struct gradient_row row = {norm.mean, norm.factor, norm.r, 0, 0, 0, 0};
    for (size_t j = 0; j < c->cols; j++) {
        const double y = (x[j] - row.mean) * row.factor;
        row.g += is_layer ? g[j] / n : 0;
        row.gy += g[j] * y / n;
        row.size += fabs(g[j]) / n;
        row.spread += fabs(g[j]) * (1 + fabs(y)) / n;
    }
    return row;
}

static double stored_tol(xl_dtype out, double want, double tol)
{
    return out == XL_F32
               ? tol
               : tol + ref_roundoff(out) * (fabs(want) + tol) + ref_floor(out);
}

/* The Accuracy lines of softmax.h and norm.h. */
double gradient_expected(const struct gradient_case *c,
                         const struct gradient_row *row, double x, double g,
                         double *tol)
{
    const double u = ref_roundoff(XL_F32), log_cols = log2((double)c->cols);
    const double scale = c->scale == 0 ? 1 : c->scale;
    double want;
    if (gradient_is_norm(c)) {
        const double k = 13 + 2 * log_cols;
        const double y = (x - row->mean) * row->factor;
        want = row->factor * (g - row->g - y * row->gy);
        *tol =
            row->factor * (1 + row->r * row->r) * (7 * k + 32) * u *
            (fabs(g) + row->size + (1 + fabs(y)) * (1 + row->r) * row->spread);
    } else {
        const bool is_log = c->kind == GRADIENT_LOG;
        const double p = is_log ? exp(x) : x;
        want = scale * (is_log ? g - p * row->g : p * (g - row->g));
        *tol = fabs(scale) * (25 + 2 * log_cols) * u *
               (is_log ? fabs(g) + p * row->size
                       : fabs(p) * (fabs(g) + row->size));
    }
    *tol = stored_tol(c->out, want, *tol + ref_floor(XL_F32));
    return want;
}

void gradient_column_add(const struct gradient_case *c,
                         enum gradient_operand x, double src, double grad,
                         const struct gradient_row *row, double *sum,
                         double *tol)
{
    const double u = ref_roundoff(XL_F32);
    const double k = 13 + 2 * log2((double)c->cols);
    const bool is_scale = x == GRADIENT_OF_SCALE;
    const double y = is_scale ? (src - row->mean) * row->factor : 1;
    *sum += grad * y;
    *tol += 24 * u * fabs(grad * y);
    if (is_scale)
        *tol += fabs(grad) * (1 + row->r * row->r) *
                ((1.5 * k + 8) * fabs(y) + k + 1) * u;
}

double gradient_column_tol(const struct gradient_case *c, double sum,
                           double tol)
{
    return stored_tol(c->out, sum, tol + ref_floor(XL_F32));
}
