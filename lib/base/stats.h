/* SPDX-License-Identifier: Apache-2.0 */
/* Robust statistics of small samples. Sources at each function in stats.c. */
#ifndef XL_BASE_STATS_H
#define XL_BASE_STATS_H

#include <stddef.h>

/* These sort `x` in place; n >= 1. */
double xl__median(double *x, size_t n);
double xl__quantile(double *x, size_t n, double p); /* 0 <= p <= 1 */

struct xl__summary {
    double median, mad;   /* mad: median absolute deviation, not scaled */
    double min, max, p05, p95;
    double lo, hi;       /* 95 % interval of the median, by order statistics */
    size_t n_outliers;    /* beyond 5 scaled MAD of the median, and 1 % */
};

/* Leaves `x` as it is; n >= 1. Returns all NaN when out of memory. */
struct xl__summary xl__summarise(const double *x, size_t n);

/* Interval of the ratio of two medians a / b, 95 %, by resampling with a fixed
 * seed: *lo <= *ratio <= *hi. */
void xl__ratio_interval(const double *a, size_t n_a, const double *b,
                        size_t n_b, double *ratio, double *lo, double *hi);

#endif
