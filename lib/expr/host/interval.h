/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with an error bound, for the host's evaluation of expressions.
 *
 * The pair (x, err) states that the result of the device lies in [x - err, x +
 * err], where x is computed in double. An infinite bound states nothing. When
 * x is infinite or NaN, the bound is 0 (the device must return the same) or
 * infinite.
 *
 * Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002,
 * section 3.3 (running error analysis). */
#ifndef XL_EXPR_INTERVAL_H
#define XL_EXPR_INTERVAL_H

#include <float.h>
#include <math.h>

#include "expr/language/operations.h"

struct xl__interval {
    double x, err;
};

/* A type of floats: the relative error u of one rounding, its largest and its
 * least normal number, and roundings of the host that the bounds of an
 * operation include, since x is computed in f64 as well. A type of integers:
 * its bits, and the largest one that x can be. */
struct xl__precision {
    double u, most, least, own;
    unsigned bits;
    double top;
};
/* Those of a graph; NULL: f32 and i32. */
const struct xl__precision *xl__precision_of(const struct xl__graph *g);
/* An integer modulo 2^bits. Above `top` a double may not be the integer, so
 * nothing is stated. */
struct xl__interval xl__interval_integer(const struct xl__precision *p,
                                         uint64_t x);
static const double xl__unbounded = (double)INFINITY;

/* |a - b|; 0 for two NaN and for two equal infinities, infinite when only one
 * is NaN or infinite. */
static inline double xl__value_distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? xl__unbounded : fabs(a - b);
}

/* A float with value x and error err. Adds what happens at the ends of the
 * range: overflow to infinity, and subnormals, which a device may flush to
 * 0. */
struct xl__interval xl__interval_float(const struct xl__precision *p, double x,
                                       double err);
/* Convert between types of values (enum xl__vtype), as implicit conversions
 * do. */
struct xl__interval xl__interval_convert(const struct xl__precision *p,
                                         struct xl__interval a,
                                         enum xl__vtype from,
                                         enum xl__vtype to);
/* Round to a dtype: on storing to memory of this type, and in cast(). */
struct xl__interval xl__interval_round(const struct xl__precision *p,
                                       struct xl__interval a, xl_dtype dtype);

#endif
