/* SPDX-License-Identifier: Apache-2.0 */
/* What the host interpreter's files share: a value with the bound of its
 * error, kept honest at the edges of f32.
 *
 * An infinite bound says that nothing is promised. A value that is infinite
 * or NaN has the bound 0 (the device must have the same) or an infinite one.
 */
#ifndef XL_EXPR_EVAL_NUM_H
#define XL_EXPR_EVAL_NUM_H

#include <float.h>
#include <math.h>

#include "expr/language/operations.h"

struct xl__interval {
    double x, err;
};

/* Unit roundoff of f32. */
static const double xl__unit_roundoff = 0x1p-24;
static const double xl__unbounded = (double)INFINITY;

/* How far apart: 0 for two NaN or the same infinity, infinite for one. */
static inline double xl__value_distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? xl__unbounded : fabs(a - b);
}

/* An f32 result: overflow, and subnormals that a device may flush. */
struct xl__interval xl__interval_f32(double x, double err);
/* As another type of register. */
struct xl__interval xl__interval_convert(struct xl__interval a,
                                         enum xl__vtype from,
                                         enum xl__vtype to);
/* As memory of a dtype keeps it, or cast() gives it. */
struct xl__interval xl__interval_round(struct xl__interval a, xl_dtype dtype);

#endif
