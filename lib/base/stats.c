/* SPDX-License-Identifier: Apache-2.0 */
/* Robust statistics by order statistics. Run times have a skewed distribution
 * with outliers, which a mean follows and a median does not. */
#include "base/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

/* Ascending, NaN last, so that the order is total. */
static int compare_doubles(const void *pa, const void *pb)
{
    double a, b;
    memcpy(&a, pa, sizeof(a));
    memcpy(&b, pb, sizeof(b));
    if (a != a || b != b)
        return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static void sort_doubles(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), compare_doubles);
}

/* A sorted copy; NULL when out of memory. */
static double *copy_sorted(const double *x, size_t n)
{
    double *copy = xl__calloc(n, sizeof(*copy));
    if (copy == NULL)
        return NULL;
    memcpy(copy, x, n * sizeof(*x));
    sort_doubles(copy, n);
    return copy;
}

/* Linear between the two nearest order statistics: type 7 of Hyndman and Fan,
 * "Sample quantiles in statistical packages", The American Statistician
 * 50(4), 1996. For p = 1/2 it is the usual median. */
static double quantile_of_sorted(const double *x, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n)
        return x[n - 1];
    double weight = at - (double)below;
    return weight > 0 ? x[below] + weight * (x[below + 1] - x[below])
                      : x[below];
}

double xl__quantile(double *x, size_t n, double p)
{
    sort_doubles(x, n);
    return quantile_of_sorted(x, n, p);
}

double xl__median(double *x, size_t n)
{
    return xl__quantile(x, n, 0.5);
}

/* The 0-based rank r for which [x_(r), x_(n-1-r)] contains the median with a
 * probability of at least 95 %, for any distribution of x: the largest r with
 * P(B < r + 1) <= 2.5 %, B binomial with n and 1/2. With fewer than 6 samples
 * the whole range has a lower probability; then r is 0. Terms are computed as
 * logarithms because 2^-n underflows. Source: David and Nagaraja, "Order
 * Statistics", 3rd edition, 2003, section 7.1. */
static size_t find_median_rank(size_t n)
{
    static const double TAIL = 0.025;
    double log_term = -(double)n * log(2.0), below = exp(log_term);
    size_t rank = 0;
    for (size_t i = 1; i <= n / 2; i++) {
        log_term += log((double)(n - i + 1) / (double)i);
        below += exp(log_term);
        if (below > TAIL)
            break;
        rank = i;
    }
    return rank;
}

/* Counts the samples that are more than 5 standard deviations and more than 1
 * % from the median; the second condition avoids outliers among samples that
 * agree to a thousandth. The standard deviation is estimated as 1.4826 MAD,
 * which is exact for a normal distribution, or, where the MAD is 0 (a coarse
 * clock, more than half of the samples equal), as 1.2533 mean deviations, as
 * in Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993, chapter
 * 3. */
static size_t count_outliers(const double *deviations, size_t n, double mad,
                             double median)
{
    static const double LIMIT = 5, PER_MAD = 1.4826, PER_MEAN = 1.2533;
    static const double LEAST_SHARE = 0.01;
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += deviations[i] / (double)n;
    double scale = mad > 0 ? PER_MAD * mad : PER_MEAN * mean;
    const double most = fmax(LIMIT * scale, LEAST_SHARE * fabs(median));
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += deviations[i] > most;
    return count;
}

struct xl__summary xl__summarise(const double *x, size_t n)
{
    double *sorted = copy_sorted(x, n);
    if (sorted == NULL)
        return (struct xl__summary){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};
    size_t rank = find_median_rank(n);
    struct xl__summary s = {
        .median = quantile_of_sorted(sorted, n, 0.5),
        .min = sorted[0],
        .max = sorted[n - 1],
        .p05 = quantile_of_sorted(sorted, n, 0.05),
        .p95 = quantile_of_sorted(sorted, n, 0.95),
        .lo = sorted[rank],
        .hi = sorted[n - 1 - rank],
    };
    for (size_t i = 0; i < n; i++)
        sorted[i] = fabs(sorted[i] - s.median);
    s.mad = xl__median(sorted, n);
    s.n_outliers = count_outliers(sorted, n, s.mad, s.median);
    free(sorted);
    return s;
}

/* The median of n draws with replacement from sorted `x`. `drawn` counts the
 * draws of each element, which makes sorting the draws unnecessary. */
static double draw_median(const double *x, size_t n, uint32_t *drawn,
                          struct xl__rng *rng)
{
    memset(drawn, 0, n * sizeof(*drawn));
    for (size_t i = 0; i < n; i++)
        drawn[xl__rng_below(rng, n)]++;
    size_t seen = 0, at = 0;
    while (seen + drawn[at] < (n + 1) / 2)
        seen += drawn[at++];
    double lower = x[at];
    if (n % 2 == 1 || seen + drawn[at] > n / 2)
        return lower;
    do
        at++;
    while (drawn[at] == 0);
    return (lower + x[at]) / 2;
}

/* Percentile bootstrap: Efron and Tibshirani, "An Introduction to the
 * Bootstrap", 1993, section 13.3. The seed is fixed, so that two
 * comparisons of the same files have the same result. */
void xl__ratio_interval(const double *a, size_t n_a, const double *b,
                        size_t n_b, double *ratio, double *lo, double *hi)
{
    enum { ROUNDS = 2000, SEED = 1993 };
    *ratio = *lo = *hi = NAN;
    double *sorted_a = copy_sorted(a, n_a), *sorted_b = copy_sorted(b, n_b);
    double *ratios = xl__calloc(ROUNDS, sizeof(*ratios));
    uint32_t *drawn = xl__calloc(xl__max_size(n_a, n_b), sizeof(*drawn));
    if (sorted_a == NULL || sorted_b == NULL || ratios == NULL ||
        drawn == NULL)
        goto end;
    struct xl__rng rng;
    xl__rng_seed(&rng, SEED);
    for (size_t i = 0; i < ROUNDS; i++) {
        double top = draw_median(sorted_a, n_a, drawn, &rng);
        ratios[i] = top / draw_median(sorted_b, n_b, drawn, &rng);
    }
    sort_doubles(ratios, ROUNDS);
    *ratio = quantile_of_sorted(sorted_a, n_a, 0.5) /
             quantile_of_sorted(sorted_b, n_b, 0.5);
    *lo = fmin(*ratio, quantile_of_sorted(ratios, ROUNDS, 0.025));
    *hi = fmax(*ratio, quantile_of_sorted(ratios, ROUNDS, 0.975));
end:
    free(drawn);
    free(ratios);
    free(sorted_b);
    free(sorted_a);
}
