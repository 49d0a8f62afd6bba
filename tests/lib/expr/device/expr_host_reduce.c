/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of n elements, which stand in the order of their place, with the
 * bounds of expr.h. */
#include <float.h>
#include <math.h>

#include "lib/expr/device/expr_host.h"

typedef struct xl__interval num;

static const double U = 0x1p-24;      /* of f32 */
static const double SMALL = 0x1p-126; /* what may be flushed */

/* NaN or an infinity decides a sum on its own; what is sure of it. */
static bool special_sum(const num *v, size_t n, num *out)
{
    double sum = 0;
    bool special = false;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i].err < INFINITY)) {
            *out = (num){v[i].x, INFINITY};
            return true;
        }
        special = special || !isfinite(v[i].x);
        sum += isfinite(v[i].x) ? 0 : v[i].x;
    }
    *out = (num){sum, 0};
    return special;
}

static num reduce_sum(const num *v, size_t n)
{
    double sum = 0, low = 0, mag = 0, err = 0;
    num out;
    if (special_sum(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        /* Kahan and Neumaier's: the reference has no error that counts. */
        const double t = sum + v[i].x;
        low += fabs(sum) >= fabs(v[i].x) ? (sum - t) + v[i].x
                                         : (v[i].x - t) + sum;
        sum = t;
        mag += fabs(v[i].x) + v[i].err;
        err += v[i].err;
    }
    /* Beyond the largest float on the way: anything. */
    return (num){sum + low,
                 mag > FLT_MAX ? INFINITY : err + 8 * U * mag + SMALL};
}

/* i32 wraps. */
static num reduce_isum(const num *v, size_t n)
{
    uint32_t sum = 0;
    double err = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (uint32_t)(int64_t)v[i].x;
        err += v[i].err;
    }
    return (num){(double)(int32_t)sum, err > 0 ? INFINITY : 0};
}

static num reduce_mean(const num *v, size_t n)
{
    num s = reduce_sum(v, n);
    s.x /= (double)n;
    s.err = s.err / (double)n + 4 * U * fabs(s.x); /* the division */
    return isfinite(s.x) ? s : (num){s.x, s.err < INFINITY ? 0 : INFINITY};
}

static num reduce_var(const num *v, size_t n)
{
    num mean = reduce_mean(v, n);
    double var = 0, err = 0;
    if (!isfinite(mean.x) || !(mean.err < INFINITY))
        return (num){NAN, mean.err < INFINITY ? 0 : INFINITY};
    for (size_t i = 0; i < n; i++) {
        const double d = v[i].x - mean.x;
        var += d * d;
        err += 2 * fabs(d) * v[i].err + v[i].err * v[i].err;
    }
    var /= (double)n;
    if (var > FLT_MAX / (double)n)
        return (num){var, INFINITY};
    return (num){var, err / (double)n + SMALL +
                          16 * U * (var + U * mean.x * mean.x)};
}

/* NaN wins; a NaN that is not sure makes all unsure. */
static bool has_nan(const num *v, size_t n, num *out)
{
    bool unsure = false, nan = false;
    for (size_t i = 0; i < n; i++) {
        unsure = unsure || !(v[i].err < INFINITY);
        nan = nan || isnan(v[i].x);
    }
    *out = (num){NAN, unsure ? INFINITY : 0};
    return unsure || nan;
}

static num extremum(const num *v, size_t n, double sign)
{
    num out;
    double most = -INFINITY, low = -INFINITY, high = -INFINITY;
    if (has_nan(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        const double x = sign * v[i].x;
        most = fmax(most, x);
        low = fmax(low, x - v[i].err);
        high = fmax(high, x + v[i].err);
    }
    if (!isfinite(most))
        return (num){sign * most, 0};
    return (num){sign * most, fmax(most - low, high - most)};
}

static num reduce_max(const num *v, size_t n) { return extremum(v, n, 1); }
static num reduce_min(const num *v, size_t n) { return extremum(v, n, -1); }

/* The first place of the most; unsure when another may be it. */
static num arg_extremum(const num *v, size_t n, double sign)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(v[i].err < INFINITY))
            return (num){0, INFINITY};
        if (!isnan(v[at].x) &&
            (isnan(v[i].x) || sign * v[i].x > sign * v[at].x))
            at = i;
    }
    for (size_t i = 0; i < n && !isnan(v[at].x); i++) {
        const double gap = sign * (v[at].x - v[i].x);
        const double err = v[i].err + v[at].err;
        if (i != at && err > 0 && !(gap > err))
            return (num){(double)at, INFINITY};
    }
    return (num){(double)at, 0};
}

static num reduce_argmax(const num *v, size_t n)
{
    return arg_extremum(v, n, 1);
}

static num reduce_argmin(const num *v, size_t n)
{
    return arg_extremum(v, n, -1);
}

/* Is there one that is sure to be `which`? Else: may there be? */
static num reduce_logic(const num *v, size_t n, bool which)
{
    bool unsure = false;
    for (size_t i = 0; i < n; i++) {
        const bool sure = v[i].err == 0;
        if (sure && (v[i].x != 0) == which)
            return (num){which, 0};
        unsure = unsure || !sure;
    }
    return (num){!which, unsure ? INFINITY : 0};
}

static num reduce_any(const num *v, size_t n)
{
    return reduce_logic(v, n, true);
}

static num reduce_all(const num *v, size_t n)
{
    return reduce_logic(v, n, false);
}

/* max + log(sum exp(x - max)). The sum's terms have 3 ulp of exp and the
 * rounding of a difference each, twice where a partial sum is scaled to a new
 * maximum; log has 3 ulp; ulp <= 2 u. */
static num reduce_logsumexp(const num *v, size_t n)
{
    num max = reduce_max(v, n);
    double sum = 0, rel = 0, err = 0;
    if (!isfinite(max.x) || !(max.err < INFINITY))
        return max;
    for (size_t i = 0; i < n; i++) {
        const double below = max.x - v[i].x, e = exp(-below);
        sum += e;
        rel += e > 0 ? e * (2 * below + 24 + 8) * U : 0;
        err = fmax(err, v[i].err);
    }
    return (num){max.x + log(sum),
                 err + rel / sum + 6 * U * fabs(log(sum)) + SMALL +
                     2 * U * (fabs(max.x) + fabs(max.x + log(sum)))};
}

/* Half of the sum's bound and its squares' rounding; 3 ulp of sqrt. */
static num reduce_norm2(const num *v, size_t n)
{
    num out;
    double sum = 0, err = 0;
    bool infinite = false;
    if (has_nan(v, n, &out))
        return out;
    for (size_t i = 0; i < n; i++) {
        infinite = infinite || !isfinite(v[i].x);
        sum += v[i].x * v[i].x;
        err += v[i].err * v[i].err;
    }
    if (infinite)
        return (num){INFINITY, 0};
    if (sum > FLT_MAX)
        return (num){sqrt(sum), INFINITY};
    /* Squares below the least normal number may be lost. */
    return (num){sqrt(sum), sqrt(err) + 12 * U * (sqrt(sum) + sqrt(err)) +
                                sqrt((double)n * SMALL)};
}

static host_reduction *const reductions[XL__N_EXPR_OPS] = {
    [XL__E_SUM] = reduce_sum,           [XL__E_MEAN] = reduce_mean,
    [XL__E_VAR] = reduce_var,           [XL__E_RMIN] = reduce_min,
    [XL__E_RMAX] = reduce_max,          [XL__E_ARGMIN] = reduce_argmin,
    [XL__E_ARGMAX] = reduce_argmax,     [XL__E_ANY] = reduce_any,
    [XL__E_ALL] = reduce_all,           [XL__E_LOGSUMEXP] = reduce_logsumexp,
    [XL__E_NORM2] = reduce_norm2,
};

host_reduction *host_reduce(const struct xl__node *node)
{
    return node->op == XL__E_SUM && node->type == XL__V_I32
               ? reduce_isum
               : reductions[node->op];
}
