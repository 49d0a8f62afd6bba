/* SPDX-License-Identifier: Apache-2.0 */
/* References in double precision, and their tolerances; each bound is with its
 * formula. u is the unit roundoff of f32 throughout, since each operation sums
 * in f32. */
#include "cases/host_ops.h"

#include "cases/gemm_cases.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"

/* Largest finite values, and the first that round beyond them. */
static const double F16_OVERFLOW = 65520.0;
static const double F32_OVERFLOW = 3.4028235677973366e38;
static const double BF16_OVERFLOW = 3.3961775292304957e38;

double ref_load(const void *data, size_t i, xl_dtype dtype)
{
    const double x = xl__dtype_load(data, i, dtype);
    return dtype == XL_BOOL ? x != 0 : x;
}

double ref_at(const struct ref_mat *m, size_t i, size_t j)
{
    return ref_load(m->data, m->offset + i * m->row_stride + j * m->col_stride,
                    m->dtype);
}

double ref_roundoff(xl_dtype dtype)
{
    const bool is_own = dtype == XL_F16 || dtype == XL_BF16 || dtype == XL_F64;
    return xl__dtype_unit_roundoff(is_own ? dtype : XL_F32);
}

double ref_floor(xl_dtype dtype)
{
    /* vstore_half keeps subnormals; f32 and bf16 may be flushed to zero. */
    return dtype == XL_F16 ? 0x1p-25 : dtype == XL_F64 ? 0x1p-1022 : 0x1p-126;
}

double ref_normal(struct xl__rng *rng)
{
    /* Variance of four uniforms over 2^16 steps: 4 (2^32 - 1) / 12. */
    static const double mean = 2.0 * 65535.0;
    static const double scale = 1.0 / 37837.227; /* its root */
    uint64_t x = xl__rng_next(rng);
    uint64_t sum = (x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) +
                   (x >> 48);
    return ((double)sum - mean) * scale;
}

double ref_draw(struct xl__rng *rng, xl_dtype dtype)
{
    static const double bytes = 34;
    const double x = ref_normal(rng);
    return dtype == XL_I8 ? x * bytes : dtype == XL_U8 ? fabs(x) * bytes : x;
}

void ref_fill(void *data, size_t n, xl_dtype dtype, struct xl__rng *rng)
{
    for (size_t i = 0; i < n; i++)
        xl__dtype_store(data, i, dtype, ref_draw(rng, dtype));
}

void ref_dense(const struct ref_mat *m, size_t rows, size_t cols, double *dst)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            dst[i * cols + j] = ref_at(m, i, j);
    }
}

void ref_gemm_row(const double *a, const double *b, size_t n, size_t k,
                  double *sum, double *mag)
{
    memset(sum, 0, n * sizeof *sum);
    memset(mag, 0, n * sizeof *mag);
    for (size_t p = 0; p < k; p++) {
        const double *b_row = b + p * n;
        for (size_t j = 0; j < n; j++) {
            double product = a[p] * b_row[j];
            sum[j] += product;
            mag[j] += fabs(product);
        }
    }
}

void ref_gemm_dot(const struct ref_mat *a, const struct ref_mat *b,
                  const size_t at[2], size_t k, double *sum, double *mag)
{
    *sum = *mag = 0;
    for (size_t p = 0; p < k; p++) {
        double product = ref_at(a, at[0], p) * ref_at(b, p, at[1]);
        *sum += product;
        *mag += fabs(product);
    }
}

/* The error of a product of k terms, relative to |A| |B|: gemm.h, Accuracy.
 * Sums of i8 and u8 are exact, but rounded once to a float. In f64 the host
 * rounds as often as the device. */
static double product_loss(const struct ref_gemm_scale *s)
{
    static const struct {
        double operand, term;
        double block, stay; /* of the terms of one engine sum */
    } losses[XL_N_DTYPES][XL_N_ACCURACIES] = {
        [XL_F32] = {{0, 0x1p-24},
                    {0x1p-21, 0x1p-24, 0x1p-22, 64},
                    {0x1p-10, 0x1p-23}},
        [XL_F16] = {{0, 0x1p-23}, {0, 0x1p-23}, {0, 0x1p-23}},
        [XL_BF16] = {{0, 0x1p-23}, {0, 0x1p-23}, {0, 0x1p-23}},
        [XL_F64] = {{0, 0x1p-52}, {0, 0x1p-52}, {0, 0x1p-52}},
        [XL_F8E4M3] = {{0, 0x1p-23, 0x1p-12, 128},
                       {0, 0x1p-23, 0x1p-12, 128},
                       {0, 0x1p-12}},
        [XL_F8E5M2] = {{0, 0x1p-23, 0x1p-12, 128},
                       {0, 0x1p-23, 0x1p-12, 128},
                       {0, 0x1p-12}},
    };
    const double operand = 1 + losses[s->in][s->accuracy].operand;
    const double sums =
        (double)s->k * losses[s->in][s->accuracy].term +
        fmin((double)s->k, losses[s->in][s->accuracy].stay) *
            losses[s->in][s->accuracy].block;
    return s->in == XL_I8 || s->in == XL_U8
               ? ref_roundoff(XL_F32)
               : operand * operand * (1 + sums) - 1;
}

/* |c^ - c| <= loss |alpha| mag + 3 u (|alpha| mag + |beta c0|) + output
 * rounding; the 3 only with scalars: alpha rounded to f32, its product, the
 * last addition. Rounding to a narrower type adds u_out |c^|; each product may
 * be flushed. Results in i32 are exact. */
double ref_gemm_expected(const struct ref_gemm_scale *s, double sum,
                         double mag, double old, double *tol)
{
    static const double scalar_roundings = 3, exact = 0.25;
    const bool is_scaled = s->alpha != 1 || s->beta != 0;
    const bool is_wide = s->in == XL_F64;
    const double more = is_scaled ? scalar_roundings : 0;
    const double u = (is_wide ? 2 : 1) *
                     ref_roundoff(is_wide ? XL_F64 : XL_F32);
    const double loss = product_loss(s);
    if (s->alpha == 0) /* A and B are not read: they may be NaN */
        sum = mag = 0;
    double added = s->beta == 0 ? 0 : s->beta * old;
    double expected = s->alpha * sum + added;
    double error = (loss + more * u * (1 + loss)) * fabs(s->alpha) * mag +
                   more * u * fabs(added) +
                   ((double)s->k + more) * (1 + fabs(s->alpha)) *
                       ref_floor(is_wide ? XL_F64 : XL_F32);
    if (s->out == XL_I32)
        error = exact;
    else if (s->out != XL_F32 && s->out != XL_F64)
        error += ref_roundoff(s->out) * (fabs(expected) + error) +
                 ref_floor(s->out);
    *tol = error;
    return expected;
}

double ref_qgemm_tol(size_t k, double mag)
{
    static const double roundings = 8, u = 0x1p-23;
    return expm1(((double)k + roundings) * log1p(u)) * mag +
           2 * (double)k * ref_floor(XL_F32);
}

double ref_qgemm_rounding(const double *x, xl_dtype type, size_t k, double mag)
{
    double all = 0;
    for (size_t l = 0; l < k; l++)
        all += fabs(x[l]);
    return ref_roundoff(type) * (mag + ref_qgemm_tol(k, mag)) +
           ref_floor(type) * all;
}

double ref_qgemm_normed_tol(const struct qgemm_case *c, const float *w,
                            double mag)
{
    static const double roundings = 16, u = 0x1p-23, least = 0x1p-108;
    double all = 0;
    for (size_t l = 0; l < c->k; l++)
        all += fabs((double)w[l]);
    const double loss = expm1((1.5 * (double)c->k + roundings) * log1p(u));
    return loss * mag + (double)c->k * least +
           (1 + loss) * (c->in == XL_F32 ? 0 : ref_roundoff(c->in) * mag) +
           ref_floor(c->in) * all;
}

static void norm_row(size_t k, const struct ref_mat *gain, double *x)
{
    double squares = 0;
    for (size_t l = 0; l < k; l++)
        squares += x[l] * x[l];
    for (size_t l = 0; l < k; l++)
        x[l] *=
            ref_at(gain, 0, l) / sqrt(squares / (double)k + QGEMM_CASE_EPS);
}

/* The distance of E4M3's numbers around q, |q| <= 448. */
static double e4m3_step(double q)
{
    double step = 0x1p-9;
    for (double top = 0x1p-5; fabs(q) >= top; top *= 2)
        step *= 2;
    return step;
}

void ref_qgemm_row(const struct qgemm_case *c, const struct ref_mat *a,
                   size_t i, const struct ref_mat *gain, double *x,
                   double *apart)
{
    static const double near = 0x1p-14, least = 0x1p-90, normed_near = 0x1p-10;
    const bool is_f8 = c->activations == XL_ACTIVATIONS_F8;
    const double codes = is_f8 ? 448 : 127;
    const size_t k = c->k, group = qgemm_case_group(c);
    for (size_t l = 0; l < k; l++) {
        x[l] = ref_at(a, i, l);
        apart[l] = 0;
    }
    if (gain)
        norm_row(k, gain, x);
    for (size_t first = 0; group && first < k; first += group) {
        double top = 0;
        for (size_t l = first; l < first + group; l++)
            top = fmax(top, fabs(x[l]));
        for (size_t l = first; l < first + group; l++) {
            const double code = top < least ? 0 : codes * x[l] / top;
            const double step = is_f8 ? e4m3_step(code) : 1, q = code / step;
            const double off = is_f8 ? near * fabs(q) : near;
            if (gain) {
                apart[l] = (0.5 + off + normed_near) * step * top / codes;
                continue;
            }
            if (fabs(q - rint(q)) > 0.5 - off)
                apart[l] = step * top / codes;
            x[l] = rint(q) * step * (top / codes);
        }
    }
}

/* Of these formats a weight is a code's part and another one, in the data of
 * cases each at most twice the largest weight of the row. */
double ref_qgemm_bytes_tol(const struct qgemm_case *c, const double *x,
                           const double *apart, const float *w)
{
    static const double roundings = 24, u = 0x1p-23, least = 0x1p-109,
                        narrow = 0x1p-12, block = 128, few = 8;
    const double k = (double)c->k;
    const bool has_parts = c->format == XL_Q4_0 || c->format == XL_Q4_1 ||
                           c->format == XL_Q5_0 || c->format == XL_Q4_K ||
                           c->format == XL_INT4;
    double top = 0, mag = 0, either = 0;
    for (size_t l = 0; has_parts && l < c->k; l++)
        top = fmax(top, 4 * fabs((double)w[l]));
    for (size_t l = 0; l < c->k; l++) {
        mag += fabs(x[l]) * (fabs((double)w[l]) + top);
        either += apart[l] * fabs((double)w[l]);
    }
    const double of_sum =
        c->activations == XL_ACTIVATIONS_F8
            ? k * (c->accuracy == XL_ACCURACY_FAST ? narrow : u) +
                  fmin(k, block) * narrow + few * u
            : expm1((k / 32 + roundings) * log1p(u));
    return of_sum * mag + either + k * least;
}

double ref_qgemm_product(const struct qgemm_case *c, const double *x,
                         const double *apart, const float *w, double *tol)
{
    const bool is_bytes = qgemm_case_group(c) > 0;
    double sum = 0, mag = 0;
    for (size_t l = 0; l < c->k; l++) {
        sum += x[l] * (double)w[l];
        mag += fabs(x[l] * (double)w[l]);
    }
    *tol = is_bytes ? ref_qgemm_bytes_tol(c, x, apart, w)
                    : ref_qgemm_tol(c->k, mag);
    if (c->gain)
        *tol = ref_qgemm_normed_tol(c, w, mag) + (is_bytes ? *tol : 0);
    if (qgemm_case_rounds(c))
        *tol += ref_qgemm_rounding(x, c->in, c->k, mag);
    return sum;
}

void ref_qgemm_join(const struct qgemm_case *c, const double *x,
                    const double *apart, const float *w, double *y,
                    double *tol)
{
    double of_second;
    const double second = ref_qgemm_product(c, x, apart, w, &of_second);
    const double first = fmax(0, *y);
    *y = first * second;
    *tol = *tol * (fabs(second) + of_second) + of_second * first;
    *tol += ref_roundoff(XL_F32) * (fabs(*y) + *tol) + ref_floor(XL_F32);
}

double ref_epilogue_stored(double x, xl_dtype out, double *tol)
{
    static const double exact = 0.25;
    if (out == XL_F32 || out == XL_F64) {
        return x;
    } else if (out == XL_F16 || out == XL_BF16) {
        *tol += ref_roundoff(out) * fabs(x);
        return x;
    }
    const double low = xl__dtype_round(fmax(0, x - *tol), out);
    const double high = xl__dtype_round(x + *tol, out);
    const double stored = xl__dtype_round(x, out);
    *tol = fmax(high - stored, stored - low) + exact;
    return stored;
}

void ref_softmax_row(const double *x, size_t cols, double *y, double *max)
{
    double top = -INFINITY, sum = 0;
    bool is_bad = false;
    for (size_t j = 0; j < cols; j++) {
        is_bad = is_bad || isnan(x[j]) || x[j] == INFINITY;
        if (x[j] > top)
            top = x[j];
    }
    *max = top;
    for (size_t j = 0; j < cols; j++) {
        y[j] = is_bad ? (double)NAN : top == -INFINITY ? 0 : exp(x[j] - top);
        sum += y[j];
    }
    for (size_t j = 0; j < cols && sum > 0; j++)
        y[j] /= sum;
}

/* Relative: (|x - max| + 48 + 2 log2 cols) u and the slack of x; then one
 * rounding. Source: softmax.h, Accuracy. */
double ref_softmax_tol(double expected, double below, double slack,
                       size_t cols, xl_dtype out)
{
    static const double fixed_terms = 48;
    double u = ref_roundoff(XL_F32);
    double rel = (below + fixed_terms + 2 * log2((double)cols)) * u;
    rel += slack;
    return expected * (rel + ref_roundoff(out) * (1 + rel)) + ref_floor(out) +
           ref_floor(XL_F32);
}

void ref_log_softmax_row(const double *x, size_t cols, double *y, double *max)
{
    double sum = 0;
    ref_softmax_row(x, cols, y, max);
    if (isnan(y[0]))
        return;
    for (size_t j = 0; j < cols; j++)
        sum += exp(x[j] - *max);
    for (size_t j = 0; j < cols; j++)
        y[j] = *max == -INFINITY ? -INFINITY : x[j] - *max - log(sum);
}

/* (2 |result| + 76 + 7 log2 cols) u and the slack of x; then one rounding.
 * Source: softmax.h, Accuracy. */
double ref_log_softmax_tol(double expected, double slack, size_t cols,
                           xl_dtype out)
{
    static const double fixed_terms = 76, of_sum = 7;
    const double size = fabs(expected);
    const double tol = (2 * size + fixed_terms + of_sum * log2((double)cols)) *
                           ref_roundoff(XL_F32) +
                       slack;
    return tol + ref_roundoff(out) * (size + tol) + ref_floor(out);
}

static double overflow_of(xl_dtype dtype)
{
    return dtype == XL_F16    ? F16_OVERFLOW
           : dtype == XL_BF16 ? BF16_OVERFLOW
           : dtype == XL_F32  ? F32_OVERFLOW
                              : DBL_MAX;
}

double ref_error(double got, double expected, double tol, xl_dtype out)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got) ? 0 : INFINITY;
    if (got == expected)
        return 0;
    bool same_sign = signbit(got) == signbit(expected);
    if (isinf(got) && same_sign && fabs(expected) + tol >= overflow_of(out))
        return 0;
    if (isinf(got) || isinf(expected))
        return INFINITY;
    return fabs(got - expected) / tol;
}
