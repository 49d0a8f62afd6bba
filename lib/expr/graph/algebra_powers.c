/* SPDX-License-Identifier: Apache-2.0 */
/* Division by a constant and powers with a constant exponent become
 * multiplications: exactly by powers of two, within the bound of pow() for
 * whole exponents, and with fast_math where rounding alone differs. */
#include <limits.h>
#include <math.h>

#include "expr/graph/simplify.h"

/* x^n by multiplication is off by n - 1 roundings, u each; pow() may be by 16
 * ulp, which are 32 u. (1 / x)^n is off by n times a division's 2.5 ulp more;
 * it passes the ends of the range only where the result does, as 1 / (x^n)
 * would not. */
enum { MOST_POWER = 16, MOST_INVERSE = 5 };

/* 1 / value is a normal f32, and exact unless `is_fast`. */
static bool has_inverse(double value, bool is_fast)
{
    int exponent;
    const double fraction = frexp(value, &exponent);
    return isfinite(value) && exponent > -120 && exponent < 120 &&
           (fabs(fraction) == 0.5 || (is_fast && value != 0));
}

bool xl__divisions(struct xl__graph *g, const struct xl__node *n,
                   unsigned *out)
{
    if (n->op != XL__E_DIV)
        return false;
    const struct xl__node *a = xl__arg(g, n, 0), b = *xl__arg(g, n, 1);
    if (b.op == XL__E_CONST && has_inverse(b.value, g->fast_math)) {
        *out = xl__make_like(g, n, XL__E_MUL, n->arg[0],
                             xl__number_like(g, n, 1 / b.value, false));
        return true;
    }
    if (!g->fast_math || b.op != XL__E_SQRT || a->op != XL__E_CONST ||
        a->value != 1)
        return false;
    *out = xl__make_like(g, n, XL__E_RSQRT, b.arg[0], 0);
    return true;
}

/* x to a power above 0, by repeated squaring; n says of what type. */
static unsigned multiplied(struct xl__graph *g, const struct xl__node *n,
                           unsigned x, uint32_t power)
{
    unsigned out = UINT_MAX, square = x;
    for (bool is_first = true; power > 0; power >>= 1) {
        if (power & 1) {
            out = is_first ? square
                           : xl__make_like(g, n, XL__E_MUL, out, square);
            is_first = false;
        }
        if (power > 1)
            square = xl__make_like(g, n, XL__E_MUL, square, square);
    }
    return out;
}

static unsigned inverse(struct xl__graph *g, const struct xl__node *n)
{
    const unsigned x = n->arg[0];
    return xl__make_like(g, n, XL__E_DIV, xl__number_like(g, n, 1, false), x);
}

/* The exponent is a constant. pow(x, 0) is 1 for every x, NaN too. */
bool xl__powers(struct xl__graph *g, const struct xl__node *n,
                unsigned *out)
{
    if (n->op != XL__E_POW || xl__arg(g, n, 1)->op != XL__E_CONST)
        return false;
    const double power = xl__arg(g, n, 1)->value, size = fabs(power);
    const double most = power > 0 ? MOST_POWER : MOST_INVERSE;
    const bool is_whole =
        size == floor(size) && (n->type == XL__V_I32 || size <= most);
    if (!is_whole && !(g->fast_math && size == 0.5))
        return false;
    if (!is_whole)
        *out = xl__make_like(g, n, power > 0 ? XL__E_SQRT : XL__E_RSQRT,
                             n->arg[0], 0);
    else if (power == 0)
        *out = xl__number_like(g, n, 1, true);
    else if (power > 0)
        *out = multiplied(g, n, n->arg[0], (uint32_t)power);
    else
        *out = multiplied(g, n, inverse(g, n), (uint32_t)size);
    return true;
}
