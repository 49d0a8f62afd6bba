/* SPDX-License-Identifier: Apache-2.0 */
/* Robust statistics of small samples: median, quantiles, MAD, interval of the
 * median, ratio of two medians. stats.c cites the source of each formula. */
#ifndef XL_BASE_STATS_H
#define XL_BASE_STATS_H

#include <stddef.h>

/* These sort `x` in place; n >= 1. */
double xl__median(double *x, size_t n);
double xl__quantile(double *x, size_t n, double p); /* 0 <= p <= 1 */

struct xl__summary {
    double median, mad;   /* mad: median absolute deviation, not scaled */
    double min, max, p05, p95;
    double lo, hi;     /* 95 % interval of the median, by order statistics */
    size_t n_outliers; /* more than 5 deviations and 1 % from the median */
};

/* Does not change `x`; n >= 1. All NaN when out of memory. */
struct xl__summary xl__summarise(const double *x, size_t n);

/* Ratio of the medians of a and b, with its 95 % interval by resampling:
 * *lo <= *ratio <= *hi. The seed is fixed, so the result is reproducible. All
 * NaN when out of memory. */
void xl__ratio_interval(const double *a, size_t n_a, const double *b,
                        size_t n_b, double *ratio, double *lo, double *hi);

#endif
