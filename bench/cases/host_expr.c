/* SPDX-License-Identifier: Apache-2.0 */
/* References of the expression cases: each is its formula once more, in
 * numbers that carry their error bound (error_number.h). Elementwise cases
 * come first, then those with reductions, where the index along the reduced
 * dimension is set to each element in order; sums have the bound of expr.h. */
#include "cases/host_expr.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cases/expr_names.h"
#include "cases/host_ops.h"

struct expr_point expr_point_at(const struct expr_host *host, unsigned k,
                                size_t at)
{
    struct expr_point p = {.host = host, .n_dims = host->spec->name[k].n_dims};
    for (unsigned i = 0; i < k; i++)
        p.out += host->spec->name[i].is_result;
    expr_index(&host->spec->name[k], at, p.i);
    return p;
}

double expr_tolerance(struct num expected, xl_dtype dtype)
{
    if (dtype != XL_F16 && dtype != XL_BF16)
        return expected.e;
    return expected.e + ref_roundoff(dtype) * (fabs(expected.x) + expected.e) +
           ref_floor(dtype);
}

/* Tensor k at the point, by NumPy's broadcasting. */
static struct num ref_in(const struct expr_point *p, unsigned k)
{
    const struct expr_name *n = &p->host->spec->name[k];
    size_t at = p->host->first[k];
    for (unsigned d = 0; d < n->n_dims; d++) {
        size_t i = p->i[p->n_dims - n->n_dims + d];
        at += (n->size[d] == 1 ? 0 : i) * n->stride[d];
    }
    return n_exact(ref_load(p->host->data[k], at, n->dtype));
}

static struct num ref_scalar(const struct expr_point *p, unsigned k)
{
    return n_lit(p->host->spec->name[k].scalar);
}

/* Size of tensor k along a dimension, counted from the end: 0 is the last. */
static size_t ref_size(const struct expr_point *p, unsigned k,
                       unsigned from_end)
{
    const struct expr_name *n = &p->host->spec->name[k];
    return n->size[n->n_dims - 1 - from_end];
}

/* The point with its index along a dimension, counted from the end, set. */
static struct expr_point ref_move(const struct expr_point *p,
                                  unsigned from_end, size_t i)
{
    struct expr_point q = *p;
    q.i[q.n_dims - 1 - from_end] = i;
    return q;
}

/* -- elementwise cases ------------------------------------------------------
 */

struct num expr_ref_axpy(const struct expr_point *p)
{
    enum { X, Y, A };
    return n_add(n_mul(ref_scalar(p, A), ref_in(p, X)), ref_in(p, Y));
}

struct num expr_ref_linear_relu(const struct expr_point *p)
{
    enum { A, B, C };
    const struct num y =
        n_add(n_mul(ref_in(p, A), ref_in(p, B)), ref_in(p, C));
    return n_max(y, n_exact(0));
}

struct num expr_ref_sin2_cos2(const struct expr_point *p)
{
    const struct num x = ref_in(p, 0);
    return n_add(n_sq(n_sin(x)), n_sq(n_cos(x)));
}

struct num expr_ref_hypotenuse(const struct expr_point *p)
{
    return n_sqrt(n_add(n_sq(ref_in(p, 0)), n_sq(ref_in(p, 1))));
}

struct num expr_ref_gelu(const struct expr_point *p)
{
    return n_gelu(ref_in(p, 0));
}

struct num expr_ref_gelu_tanh(const struct expr_point *p)
{
    return n_gelu_tanh(ref_in(p, 0));
}

struct num expr_ref_silu(const struct expr_point *p)
{
    return n_silu(ref_in(p, 0));
}

struct num expr_ref_mish(const struct expr_point *p)
{
    const struct num x = ref_in(p, 0);
    return n_mul(x, n_tanh(n_softplus(x)));
}

struct num expr_ref_swiglu(const struct expr_point *p)
{
    return n_mul(n_silu(ref_in(p, 0)), ref_in(p, 1));
}

/* Gate and value are the halves of a row of 8192. */
struct num expr_ref_geglu(const struct expr_point *p)
{
    enum { HALF = 4096 };
    const struct expr_point value = ref_move(p, 0, p->i[1] + HALF);
    return n_mul(n_gelu(ref_in(p, 0)), ref_in(&value, 0));
}

struct num expr_ref_bias_gelu(const struct expr_point *p)
{
    enum { X, B, R };
    return n_add(n_gelu(n_add(ref_in(p, X), ref_in(p, B))), ref_in(p, R));
}

/* Pairs (2 j, 2 j + 1) rotated by the angle of (token, j). */
struct num expr_ref_rope(const struct expr_point *p)
{
    enum { X, C, S };
    const size_t j = p->i[2] / 2;
    const struct expr_point even = ref_move(p, 0, 2 * j);
    const struct expr_point odd = ref_move(p, 0, 2 * j + 1);
    const struct expr_point angle = ref_move(p, 0, j);
    const struct num a = ref_in(&even, X), b = ref_in(&odd, X);
    const struct num c = ref_in(&angle, C), s = ref_in(&angle, S);
    if (p->i[2] % 2 == 0)
        return n_sub(n_mul(a, c), n_mul(b, s));
    return n_add(n_mul(a, s), n_mul(b, c));
}

struct num expr_ref_norm_relu(const struct expr_point *p)
{
    enum { X, MU, VAR, G, B };
    const struct num d = n_sub(ref_in(p, X), ref_in(p, MU));
    const struct num r = n_rsqrt(n_add(ref_in(p, VAR), n_lit(1e-5)));
    const struct num y = n_mul(n_mul(d, r), ref_in(p, G));
    return n_max(n_add(y, ref_in(p, B)), n_exact(0));
}

struct num expr_ref_adam(const struct expr_point *p)
{
    enum { P, M, VAR, G, LR, B1, B2, C1, C2, EPS };
    const struct num one = n_exact(1), g = ref_in(p, G);
    const struct num b1 = ref_scalar(p, B1), b2 = ref_scalar(p, B2);
    const struct num m =
        n_add(n_mul(b1, ref_in(p, M)), n_mul(n_sub(one, b1), g));
    const struct num v =
        n_add(n_mul(b2, ref_in(p, VAR)), n_mul(n_sub(one, b2), n_sq(g)));
    const struct num root = n_sqrt(n_div(v, ref_scalar(p, C2)));
    const struct num up =
        n_mul(ref_scalar(p, LR), n_div(m, ref_scalar(p, C1)));
    const struct num step = n_div(up, n_add(root, ref_scalar(p, EPS)));
    return p->out == 1 ? m : p->out == 2 ? v : n_sub(ref_in(p, P), step);
}

struct num expr_ref_momentum(const struct expr_point *p)
{
    enum { P, VEL, G, MU, LR };
    const struct num v =
        n_add(n_mul(ref_scalar(p, MU), ref_in(p, VEL)), ref_in(p, G));
    return p->out == 1 ? v : n_sub(ref_in(p, P), n_mul(ref_scalar(p, LR), v));
}

/* Gates i, f, g, o are the quarters of a row of 2048. */
struct num expr_ref_lstm(const struct expr_point *p)
{
    enum { Z, C, QUARTER = 512 };
    struct num z[4];
    for (size_t k = 0; k < 4; k++) {
        const struct expr_point gate = ref_move(p, 0, p->i[1] + k * QUARTER);
        z[k] = ref_in(&gate, Z);
    }
    const struct num kept = n_mul(n_sigmoid(z[1]), ref_in(p, C));
    const struct num added = n_mul(n_sigmoid(z[0]), n_tanh(z[2]));
    const struct num c = n_add(kept, added);
    return p->out == 0 ? c : n_mul(n_sigmoid(z[3]), n_tanh(c));
}

struct num expr_ref_gru(const struct expr_point *p)
{
    enum { XR, HR, XZ, HZ, XN, HN, H };
    const struct num r = n_sigmoid(n_add(ref_in(p, XR), ref_in(p, HR)));
    const struct num z = n_sigmoid(n_add(ref_in(p, XZ), ref_in(p, HZ)));
    const struct num n = n_tanh(n_add(ref_in(p, XN), n_mul(r, ref_in(p, HN))));
    return n_add(n_mul(n_sub(n_exact(1), z), n), n_mul(z, ref_in(p, H)));
}

/* Philox4x32-10 of counter i / 4 under the seed; word i % 4.
 * Source: Salmon, Moraes, Dror, Shaw, SC 2011. */
static uint32_t philox(uint32_t seed, uint64_t i)
{
    enum { ROUNDS = 10 };
    const uint64_t block = i / 4;
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t key[2] = {seed, 0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t a = (uint64_t)c[0] * 0xD2511F53u;
        const uint64_t b = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ key[0];
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ key[1];
        c[3] = (uint32_t)a;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return c[i % 4];
}

/* The upper 24 bits of a word are a uniform number; the comparison is exact
 * in f32. */
struct num expr_ref_dropout(const struct expr_point *p)
{
    enum { X, OUT, P, SEED = 7 };
    const size_t i = p->i[0] * ref_size(p, X, 0) + p->i[1];
    const double u = (double)(philox(SEED, i) >> 8) * 0x1p-24;
    const struct num rate = ref_scalar(p, P);
    if (u < (double)(float)rate.x)
        return n_exact(0);
    return n_div(ref_in(p, X), n_sub(n_exact(1), rate));
}

struct num expr_ref_quantise(const struct expr_point *p)
{
    const struct num q = n_round(n_div(ref_in(p, 0), ref_in(p, 1)));
    return n_clamp(q, -128, 127);
}

struct num expr_ref_dequantise(const struct expr_point *p)
{
    enum { Q, Z, S };
    const double q = ref_in(p, Q).x - ref_in(p, Z).x; /* of integers */
    return n_mul(n_exact(q), ref_in(p, S));
}

/* cast() cuts off: one less where the sum may be on either side. */
struct num expr_ref_gamma(const struct expr_point *p)
{
    enum { X, OUT, G };
    const struct num top = n_exact(255);
    const struct num power = n_pow(n_div(ref_in(p, X), top), ref_scalar(p, G));
    const struct num y =
        n_clamp(n_add(n_mul(top, power), n_exact(0.5)), 0, 255);
    const double lo = floor(y.x - y.e), hi = floor(y.x + y.e);
    return (struct num){floor(y.x), lo < hi ? 1 : 0};
}

/* The normal distribution function, as in the text of the case. */
static struct num normal_cdf(struct num x)
{
    const struct num half = n_exact(0.5);
    return n_add(half, n_mul(half, n_erf(n_mul(x, n_lit(0.70710678)))));
}

struct num expr_ref_black_scholes(const struct expr_point *p)
{
    enum { S, K, T, CALL, PUT, R, W };
    const struct num s = ref_in(p, S), k = ref_in(p, K), t = ref_in(p, T);
    const struct num r = ref_scalar(p, R), w = ref_scalar(p, W);
    const struct num drift = n_add(r, n_mul(n_exact(0.5), n_sq(w)));
    const struct num width = n_mul(w, n_sqrt(t));
    const struct num d1 =
        n_div(n_add(n_log(n_div(s, k)), n_mul(drift, t)), width);
    const struct num d2 = n_sub(d1, width);
    const struct num discount = n_exp(n_mul(n_neg(r), t));
    const struct num later = n_mul(k, discount);
    const struct num call =
        n_sub(n_mul(s, normal_cdf(d1)), n_mul(later, normal_cdf(d2)));
    return p->out == 0 ? call : n_add(n_sub(call, s), later);
}

struct num expr_ref_horner(const struct expr_point *p)
{
    static const double c[] = {0.1, -0.2, 0.3, -0.4, 0.5, -0.6,
                               0.7, -0.8, 0.9, -1.0, 1.1};
    const struct num x = ref_in(p, 0);
    struct num y = n_lit(c[0]);
    for (size_t i = 1; i < sizeof c / sizeof *c; i++)
        y = n_add(n_mul(y, x), n_lit(c[i]));
    return y;
}

/* x is a list of points (rows), y another (columns). */
struct num expr_ref_distance(const struct expr_point *p)
{
    enum { X, Y };
    struct num sum = n_exact(0);
    for (size_t k = 0; k < 2; k++) {
        const struct expr_point a = ref_move(p, 0, k), b = ref_move(p, 1, k);
        sum = n_add(sum, n_sq(n_sub(ref_in(&a, X), ref_in(&b, Y))));
    }
    return n_sqrt(sum);
}

struct num expr_ref_mandelbrot(const struct expr_point *p)
{
    enum { ZR, ZI, CR, CI };
    const struct num zr = ref_in(p, ZR), zi = ref_in(p, ZI);
    if (p->out == 0)
        return n_add(n_sub(n_sq(zr), n_sq(zi)), ref_in(p, CR));
    return n_add(n_mul(n_mul(n_exact(2), zr), zi), ref_in(p, CI));
}

/* Nothing is rounded: exact. */
struct num expr_ref_masks(const struct expr_point *p)
{
    enum { X, M, OUT, LO, HI };
    const double x = ref_in(p, X).x;
    const bool inside = x >= ref_scalar(p, LO).x && x < ref_scalar(p, HI).x;
    return n_exact(inside || ref_in(p, M).x == 0);
}

struct num expr_ref_add_transposed(const struct expr_point *p)
{
    struct expr_point swapped = *p;
    swapped.i[0] = p->i[1];
    swapped.i[1] = p->i[0];
    return n_add(ref_in(p, 0), ref_in(&swapped, 1));
}

struct num expr_ref_smoothed(const struct expr_point *p)
{
    struct expr_point at = *p;
    struct num sum = n_gelu(ref_in(&at, 0));
    for (unsigned i = 0; i < 2; i++) {
        at.i[0]++;
        sum = n_add(sum, n_gelu(ref_in(&at, 0)));
    }
    return sum;
}

/* -- cases with reductions ---------------------------------------------------
 */

static const double u = 0x1p-24;

/* The value at a point before the reduction. */
typedef struct num term_fn(const struct expr_point *p);

static struct num first_tensor(const struct expr_point *p)
{
    return ref_in(p, 0);
}

static struct num sum_of_two(const struct expr_point *p)
{
    return n_add(ref_in(p, 0), ref_in(p, 1));
}

/* -- one row -------------------------------------------------------------- */

static size_t row_length(const struct expr_point *p)
{
    return ref_size(p, 0, 0);
}

static struct num value_along(const struct expr_point *p, size_t j, term_fn *x)
{
    const struct expr_point q = ref_move(p, 0, j);
    return x(&q);
}

static double row_max(const struct expr_point *p, term_fn *x)
{
    double max = -INFINITY;
    for (size_t j = 0; j < row_length(p); j++)
        max = fmax(max, value_along(p, j, x).x);
    return max;
}

/* Sum of exp(x - max). A rounding error of max has no effect, since it shifts
 * all exponents equally. Where partial sums are combined, each combination
 * rescales: two roundings in each of log2(n) levels, and those of a first
 * chunk, within (48 + 2 log2 n) u of softmax.h. */
static struct num sum_of_exp(const struct expr_point *p, term_fn *x,
                             double max)
{
    static const double fixed_terms = 48;
    const double n = (double)row_length(p);
    struct sum s = {0};
    for (size_t j = 0; j < row_length(p); j++)
        sum_add(&s, n_exp(n_sub(value_along(p, j, x), n_exact(max))));
    struct num total = sum_total(&s);
    total.e += (fixed_terms + 2 * log2(n)) * u * total.x;
    return total;
}

static struct num logsumexp(const struct expr_point *p, term_fn *x)
{
    const double max = row_max(p, x);
    return n_add(n_exact(max), n_log(sum_of_exp(p, x, max)));
}

static struct num masked_logit(const struct expr_point *p)
{
    enum { X, M, OUT, S };
    return ref_in(p, M).x != 0 ? n_mul(ref_in(p, X), ref_scalar(p, S))
                               : n_exact(-INFINITY);
}

/* Masked from column r + 1 on. */
static struct num logit_up_to(const struct expr_point *p)
{
    enum { X, I, R };
    return ref_in(p, I).x <= ref_in(p, R).x ? ref_in(p, X)
                                            : n_exact(-INFINITY);
}

/* 0 in a row that is all -inf. */
static struct num softmax(const struct expr_point *p, term_fn *x)
{
    const double max = row_max(p, x);
    if (max == -INFINITY)
        return n_exact(0);
    const struct num top = n_exp(n_sub(x(p), n_exact(max)));
    return n_div(top, sum_of_exp(p, x, max));
}

/* -inf in a row that is all -inf. */
static struct num log_softmax(const struct expr_point *p, term_fn *x)
{
    const double max = row_max(p, x);
    if (max == -INFINITY)
        return n_exact(max);
    return n_sub(n_sub(x(p), n_exact(max)), n_log(sum_of_exp(p, x, max)));
}

struct num expr_ref_softmax(const struct expr_point *p)
{
    return softmax(p, masked_logit);
}

struct num expr_ref_masked_softmax(const struct expr_point *p)
{
    return softmax(p, logit_up_to);
}

struct num expr_ref_log_softmax(const struct expr_point *p)
{
    return log_softmax(p, first_tensor);
}

struct num expr_ref_masked_log_softmax(const struct expr_point *p)
{
    return log_softmax(p, logit_up_to);
}

struct num expr_ref_logsumexp(const struct expr_point *p)
{
    return logsumexp(p, first_tensor);
}

struct num expr_ref_cross_entropy(const struct expr_point *p)
{
    enum { X, I, T };
    const size_t target = (size_t)ref_in(p, T).x;
    struct sum picked = {0}; /* of zeros and one element */
    sum_add(&picked, value_along(p, target, first_tensor));
    return n_sub(logsumexp(p, first_tensor), sum_total(&picked));
}

/* -- means and variances -------------------------------------------------- */

/* Terms are added one by one, twice: for the mean, then for the variance. */
struct moments {
    struct num mean, var;
    struct sum first, squares;
    double moved; /* sum of |x - mean| e */
};

static void mean_add(struct moments *m, struct num x)
{
    sum_add(&m->first, x);
}

static void mean_done(struct moments *m)
{
    m->mean = sum_mean(&m->first);
}

static void var_add(struct moments *m, struct num x)
{
    const double d = x.x - m->mean.x;
    sum_add(&m->squares, n_exact(d * d));
    m->moved += fabs(d) * x.e;
}

/* 16 u (var + u mean^2), and 2 / n sum |x - mean| e for the errors of the
 * terms. */
static void var_done(struct moments *m)
{
    static const double var_bound = 16;
    const double n = (double)m->squares.n, mean = m->mean.x;
    const double var = m->squares.x / n;
    m->var.x = var;
    m->var.e = var_bound * u * (var + u * mean * mean) + 2 * m->moved / n +
               0x1p-126;
}

static struct moments row_moments(const struct expr_point *p, term_fn *x)
{
    struct moments m = {.moved = 0};
    for (size_t j = 0; j < row_length(p); j++)
        mean_add(&m, value_along(p, j, x));
    mean_done(&m);
    for (size_t j = 0; j < row_length(p); j++)
        var_add(&m, value_along(p, j, x));
    var_done(&m);
    return m;
}

static struct num normalised(const struct expr_point *p, term_fn *x,
                             struct num gain, struct num bias)
{
    const struct moments m = row_moments(p, x);
    const struct num r = n_rsqrt(n_add(m.var, n_lit(1e-5)));
    return n_add(n_mul(n_mul(n_sub(x(p), m.mean), r), gain), bias);
}

struct num expr_ref_layer_norm(const struct expr_point *p)
{
    return normalised(p, first_tensor, ref_in(p, 1), ref_in(p, 2));
}

struct num expr_ref_layer_norm_residual(const struct expr_point *p)
{
    enum { X, R, G, B };
    if (p->out == 0)
        return sum_of_two(p);
    return normalised(p, sum_of_two, ref_in(p, G), ref_in(p, B));
}

struct num expr_ref_rms_norm(const struct expr_point *p)
{
    enum { X, R, G };
    struct sum squares = {0};
    for (size_t j = 0; j < row_length(p); j++)
        sum_add(&squares, n_sq(value_along(p, j, sum_of_two)));
    const struct num r = n_rsqrt(n_add(sum_mean(&squares), n_lit(1e-6)));
    return n_mul(n_mul(sum_of_two(p), r), ref_in(p, G));
}

/* Over the first dimension, and with_last over the last one as well. */
static struct num column_moment(const struct expr_point *p, bool with_last)
{
    struct moments m = {.moved = 0};
    const unsigned top = p->n_dims - 1;
    const size_t rows = ref_size(p, 0, top);
    const size_t last = with_last ? ref_size(p, 0, 0) : 1;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < rows * last; k++) {
            struct expr_point q = ref_move(p, top, k / last);
            if (with_last)
                q = ref_move(&q, 0, k % last);
            (pass == 0 ? mean_add : var_add)(&m, ref_in(&q, 0));
        }
        (pass == 0 ? mean_done : var_done)(&m);
    }
    return p->out == 0 ? m.mean : m.var;
}

struct num expr_ref_column_stats(const struct expr_point *p)
{
    return column_moment(p, false);
}

struct num expr_ref_channel_stats(const struct expr_point *p)
{
    return column_moment(p, true);
}

/* -- the rest ------------------------------------------------------------- */

/* The first of the largest: exact. */
struct num expr_ref_argmax_rows(const struct expr_point *p)
{
    size_t best = 0;
    for (size_t j = 1; j < row_length(p); j++)
        if (value_along(p, j, first_tensor).x >
            value_along(p, best, first_tensor).x)
            best = j;
    return n_exact((double)best);
}

struct num expr_ref_argmin_columns(const struct expr_point *p)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < ref_size(p, 0, 1); i++) {
        const struct expr_point q = ref_move(p, 1, i);
        const double x = ref_in(&q, 0).x;
        best = x < least ? i : best;
        least = fmin(least, x);
    }
    return n_exact((double)best);
}

struct num expr_ref_any_above(const struct expr_point *p)
{
    enum { X, OUT, C };
    const double bound = (double)(float)ref_scalar(p, C).x;
    return n_exact(row_max(p, first_tensor) > bound);
}

struct num expr_ref_min_max(const struct expr_point *p)
{
    double least = INFINITY;
    for (size_t j = 0; j < row_length(p); j++)
        least = fmin(least, value_along(p, j, first_tensor).x);
    const struct num lo = n_exact(least);
    const struct num hi = n_exact(row_max(p, first_tensor));
    return n_div(n_sub(ref_in(p, 0), lo), n_sub(hi, lo));
}

struct num expr_ref_sum_all(const struct expr_point *p)
{
    struct sum s = {0};
    for (size_t j = 0; j < row_length(p); j++)
        sum_add(&s, value_along(p, j, first_tensor));
    return sum_total(&s);
}

/* The root of the sum of squares; the sum's bound holds inside. */
struct num expr_ref_clip_norm(const struct expr_point *p)
{
    enum { X, OUT, C };
    struct sum s = {0};
    for (size_t j = 0; j < row_length(p); j++)
        sum_add(&s, n_sq(value_along(p, j, first_tensor)));
    const struct num ratio = n_div(ref_scalar(p, C), n_sqrt(sum_total(&s)));
    return n_mul(ref_in(p, X), n_min(n_exact(1), ratio));
}

/* Both branches have the same value and slope at 1, so either is right there.
 */
struct num expr_ref_huber(const struct expr_point *p)
{
    struct sum s = {0};
    const struct num half = n_exact(0.5);
    struct expr_point q = *p;
    q.n_dims = 2;
    for (q.i[0] = 0; q.i[0] < ref_size(p, 0, 1); q.i[0]++)
        for (q.i[1] = 0; q.i[1] < row_length(p); q.i[1]++) {
            const struct num d = n_abs(n_sub(ref_in(&q, 0), ref_in(&q, 1)));
            sum_add(&s, d.x <= 1 ? n_mul(half, n_sq(d)) : n_sub(d, half));
        }
    return sum_mean(&s);
}
