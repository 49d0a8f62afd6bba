/* SPDX-License-Identifier: Apache-2.0 */
/* Running error bounds; the formula of each function is in error_number.h. */
#include "cases/error_number.h"

#include <math.h>

#include "cases/host_ops.h"

static const double u = 0x1p-24;
static const double least = 0x1p-126; /* below, f32 may be flushed to zero */

/* x with a propagated error e, rounded to within `ulp` of f32. A result with
 * error e is rounded at |x| + e. */
static struct num round_result(double x, double e, double ulp)
{
    if (isinf(x))
        return n_exact(x); /* minus infinity under a mask: no rounding */
    return (struct num){x, e + 2 * ulp * u * (fabs(x) + e) + least};
}

static const double half_ulp = 0.5; /* rounded correctly */

struct num n_exact(double x)
{
    return (struct num){x, 0};
}

struct num n_lit(double x)
{
    return (struct num){x, fabs(x - (double)(float)x)};
}

struct num n_neg(struct num a)
{
    return (struct num){-a.x, a.e};
}

struct num n_abs(struct num a)
{
    return (struct num){fabs(a.x), a.e};
}

struct num n_add(struct num a, struct num b)
{
    return round_result(a.x + b.x, a.e + b.e, half_ulp);
}

struct num n_sub(struct num a, struct num b)
{
    return n_add(a, n_neg(b));
}

struct num n_mul(struct num a, struct num b)
{
    return round_result(
        a.x * b.x, fabs(a.x) * b.e + fabs(b.x) * a.e + a.e * b.e, half_ulp);
}

struct num n_sq(struct num a)
{
    /* The square may be a product or pow(x, 2), which has 16 ulp. */
    static const double pow_ulp = 16;
    return round_result(a.x * a.x, (2 * fabs(a.x) + a.e) * a.e, pow_ulp);
}

struct num n_div(struct num a, struct num b)
{
    static const double div_ulp = 2.5;
    const double x = a.x / b.x, room = fabs(b.x) - b.e;
    if (a.e == 0 && b.e == 0)
        return round_result(x, 0, div_ulp);
    return round_result(x, room > 0 ? (a.e + fabs(x) * b.e) / room : INFINITY,
                        div_ulp);
}

struct num n_min(struct num a, struct num b)
{
    return (struct num){a.x < b.x ? a.x : b.x, fmax(a.e, b.e)};
}

struct num n_max(struct num a, struct num b)
{
    return (struct num){a.x > b.x ? a.x : b.x, fmax(a.e, b.e)};
}

struct num n_clamp(struct num a, double lo, double hi)
{
    return n_min(n_max(a, n_exact(lo)), n_exact(hi));
}

static struct num apply_function(double (*f)(double), struct num a, double ulp)
{
    const double y = f(a.x);
    double e = 0;
    if (a.e > 0)
        e = fmax(fabs(f(a.x + a.e) - y), fabs(f(a.x - a.e) - y));
    return round_result(y, isnan(e) ? (double)INFINITY : e, ulp);
}

static double one_over_root(double x)
{
    return 1 / sqrt(x);
}

struct num n_sqrt(struct num a)
{
    return apply_function(sqrt, a, 3);
}
struct num n_rsqrt(struct num a)
{
    return apply_function(one_over_root, a, 2);
}
struct num n_exp(struct num a)
{
    return apply_function(exp, a, 3);
}
struct num n_log(struct num a)
{
    return apply_function(log, a, 3);
}
struct num n_log1p(struct num a)
{
    return apply_function(log1p, a, 2);
}
struct num n_sin(struct num a)
{
    return apply_function(sin, a, 4);
}
struct num n_cos(struct num a)
{
    return apply_function(cos, a, 4);
}
struct num n_tanh(struct num a)
{
    return apply_function(tanh, a, 5);
}
struct num n_erf(struct num a)
{
    return apply_function(erf, a, 16);
}

struct num n_pow(struct num a, struct num b)
{
    static const double pow_ulp = 16;
    const double y = pow(a.x, b.x);
    /* Both derivatives, to first order. */
    const double e = fabs(y) * (fabs(b.x / a.x) * a.e +
                                fabs(log(fabs(a.x))) * b.e);
    return round_result(y, a.e > 0 || b.e > 0 ? e : 0, pow_ulp);
}

struct num n_sigmoid(struct num a)
{
    return n_div(n_exact(1), n_add(n_exact(1), n_exp(n_neg(a))));
}

struct num n_silu(struct num a)
{
    return n_mul(a, n_sigmoid(a));
}

struct num n_softplus(struct num a)
{
    return n_add(n_max(a, n_exact(0)), n_log1p(n_exp(n_neg(n_abs(a)))));
}

/* Within 8 ulp of the result, and w^5 ulp more at x = -w, where w^5 |gelu(-w)|
 * is at most 0.16 w: 10 ulp of x bound both that and the textbook's form. */
struct num n_gelu(struct num a)
{
    static const double steepest = 1.13, ulp = 10;
    const double y = 0.5 * a.x * erfc(-a.x * sqrt(0.5));
    const double size = fabs(a.x) + a.e;
    return (struct num){y, steepest * a.e + 2 * ulp * u * size + least};
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
struct num n_gelu_tanh(struct num a)
{
    static const double root_2_over_pi = 0.79788456080286535588;
    static const double cubic = 0.044715;
    const struct num cube = n_mul(n_mul(a, a), n_mul(a, n_lit(cubic)));
    const struct num inner = n_mul(n_lit(root_2_over_pi), n_add(a, cube));
    return n_mul(n_mul(n_exact(0.5), a), n_add(n_exact(1), n_tanh(inner)));
}

struct num n_round(struct num a)
{
    const double lo = nearbyint(a.x - a.e), hi = nearbyint(a.x + a.e);
    return (struct num){nearbyint(a.x), lo < hi ? hi - lo : 0};
}

void sum_add(struct sum *s, struct num a)
{
    s->x += a.x;
    s->abs += fabs(a.x) + a.e;
    s->e += a.e;
    s->n++;
}

struct num sum_total(const struct sum *s)
{
    static const double sum_bound = 8; /* expr.h, xl_expr_compile() */
    const double n = (double)s->n;
    return (struct num){s->x, s->e + sum_bound * u * s->abs + n * least};
}

struct num sum_mean(const struct sum *s)
{
    return n_div(sum_total(s), n_exact((double)s->n));
}
