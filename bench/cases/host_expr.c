/* SPDX-License-Identifier: Apache-2.0 */
/* References of the cases that reduce. A point's index along a reduced
 * dimension is set to each element in turn; sums have expr.h's bound. */
#include <math.h>

#include "cases/expr_cases.h"

static const double u = 0x1p-24;

/* What stands at a point before it is reduced. */
typedef struct num term(const struct expr_point *p);

static struct num first_tensor(const struct expr_point *p)
{
    return ref_in(p, 0);
}

static struct num sum_of_two(const struct expr_point *p)
{
    return n_add(ref_in(p, 0), ref_in(p, 1));
}

/* -- one row -------------------------------------------------------------- */

static size_t cols(const struct expr_point *p)
{
    return ref_size(p, 0, 0);
}

static struct num along(const struct expr_point *p, size_t j, term *x)
{
    const struct expr_point q = ref_move(p, 0, j);
    return x(&q);
}

static double row_max(const struct expr_point *p, term *x)
{
    double max = -INFINITY;
    for (size_t j = 0; j < cols(p); j++)
        max = fmax(max, along(p, j, x).x);
    return max;
}

/* Sum of exp(x - max). That max is off by a rounding does not matter: all
 * exponents shift alike. Where pieces are joined, each join rescales: two
 * roundings in each of log2(n) levels and those of a first chunk, held by the
 * 48 + 2 log2 n u of ops.h, xl_softmax_run(). */
static struct num sum_of_exp(const struct expr_point *p, term *x, double max)
{
    static const double fixed_terms = 48;
    const double n = (double)cols(p);
    struct sum s = {0};
    for (size_t j = 0; j < cols(p); j++)
        sum_add(&s, n_exp(n_sub(along(p, j, x), n_exact(max))));
    struct num total = sum_total(&s);
    total.e += (fixed_terms + 2 * log2(n)) * u * total.x;
    return total;
}

static struct num logsumexp(const struct expr_point *p, term *x)
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

struct num expr_ref_softmax(const struct expr_point *p)
{
    const double max = row_max(p, masked_logit);
    const struct num top = n_exp(n_sub(masked_logit(p), n_exact(max)));
    return n_div(top, sum_of_exp(p, masked_logit, max));
}

struct num expr_ref_log_softmax(const struct expr_point *p)
{
    const double max = row_max(p, first_tensor);
    const struct num below = n_sub(ref_in(p, 0), n_exact(max));
    return n_sub(below, n_log(sum_of_exp(p, first_tensor, max)));
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
    sum_add(&picked, along(p, target, first_tensor));
    return n_sub(logsumexp(p, first_tensor), sum_total(&picked));
}

/* -- means and variances -------------------------------------------------- */

/* Terms given one by one, twice: for the mean, then for the variance. */
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

/* 16 u (var + u mean^2), and 2 / n sum |x - mean| e for terms that are off
 * themselves. */
static void var_done(struct moments *m)
{
    static const double var_bound = 16;
    const double n = (double)m->squares.n, mean = m->mean.x;
    const double var = m->squares.x / n;
    m->var.x = var;
    m->var.e = var_bound * u * (var + u * mean * mean) + 2 * m->moved / n +
               0x1p-126;
}

static struct moments row_moments(const struct expr_point *p, term *x)
{
    struct moments m = {.moved = 0};
    for (size_t j = 0; j < cols(p); j++)
        mean_add(&m, along(p, j, x));
    mean_done(&m);
    for (size_t j = 0; j < cols(p); j++)
        var_add(&m, along(p, j, x));
    var_done(&m);
    return m;
}

static struct num normalised(const struct expr_point *p, term *x,
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
    for (size_t j = 0; j < cols(p); j++)
        sum_add(&squares, n_sq(along(p, j, sum_of_two)));
    const struct num r = n_rsqrt(n_add(sum_mean(&squares), n_lit(1e-6)));
    return n_mul(n_mul(sum_of_two(p), r), ref_in(p, G));
}

/* Over dimension 0 of `outer`, and of n dimensions over the last as well. */
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
    for (size_t j = 1; j < cols(p); j++)
        if (along(p, j, first_tensor).x > along(p, best, first_tensor).x)
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
    for (size_t j = 0; j < cols(p); j++)
        least = fmin(least, along(p, j, first_tensor).x);
    const struct num lo = n_exact(least);
    const struct num hi = n_exact(row_max(p, first_tensor));
    return n_div(n_sub(ref_in(p, 0), lo), n_sub(hi, lo));
}

struct num expr_ref_sum_all(const struct expr_point *p)
{
    struct sum s = {0};
    for (size_t j = 0; j < cols(p); j++)
        sum_add(&s, along(p, j, first_tensor));
    return sum_total(&s);
}

/* The root of the sum of squares; the sum's bound holds inside. */
struct num expr_ref_clip_norm(const struct expr_point *p)
{
    enum { X, OUT, C };
    struct sum s = {0};
    for (size_t j = 0; j < cols(p); j++)
        sum_add(&s, n_sq(along(p, j, first_tensor)));
    const struct num ratio = n_div(ref_scalar(p, C), n_sqrt(sum_total(&s)));
    return n_mul(ref_in(p, X), n_min(n_exact(1), ratio));
}

/* Both branches meet smoothly at 1, so which is taken there does not show. */
struct num expr_ref_huber(const struct expr_point *p)
{
    struct sum s = {0};
    const struct num half = n_exact(0.5);
    struct expr_point q = *p;
    q.n_dims = 2;
    for (q.i[0] = 0; q.i[0] < ref_size(p, 0, 1); q.i[0]++)
        for (q.i[1] = 0; q.i[1] < cols(p); q.i[1]++) {
            const struct num d = n_abs(n_sub(ref_in(&q, 0), ref_in(&q, 1)));
            sum_add(&s, d.x <= 1 ? n_mul(half, n_sq(d)) : n_sub(d, half));
        }
    return sum_mean(&s);
}
