/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the noise between runs and computes intervals: quantiles, variance
 * inside a run, variance between runs, intervals of rows and of means. noise.h
 * has the model. */
#include "compare/noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"

static const double confidence = 0.95;

double noise_normal_quantile(double p)
{
    enum { STEPS = 60 };
    double lo = 0, hi = 40;
    for (int i = 0; i < STEPS; i++) {
        const double mid = (lo + hi) / 2;
        if (erfc(mid / sqrt(2)) / 2 > 1 - p)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Closed form for 4 degrees of freedom. Source: Shaw, "Sampling Student's T
 * distribution", Journal of Computational Finance 9(4), 2006. */
double noise_student_quantile(double p)
{
    const double a = sqrt(4 * p * (1 - p));
    return a < 1 ? 2 * sqrt(cos(acos(a) / 3) / a - 1) : 0;
}

static double square(double x)
{
    return x * x;
}

static double source_quantile(enum noise_source source, double p)
{
    return source == NOISE_FROM_ROWS ? noise_student_quantile(p)
                                     : noise_normal_quantile(p);
}

/* Half width of intervals that hold for n rows simultaneously with
 * `confidence` (Bonferroni's inequality). The estimate from samples (`within`)
 * is taken as normal, whatever the distribution of the noise between runs. */
static double half_width(enum noise_source source, size_t n, double within,
                         double between)
{
    const double p = 1 - (1 - confidence) / 2 / (double)(n ? n : 1);
    return sqrt(square(noise_normal_quantile(p)) * within +
                square(source_quantile(source, p)) * between);
}

/* -- inside a run --------------------------------------------------------- */

/* The order statistics lo..hi contain the median with 95 %, and minimum and
 * maximum of n < 6 samples contain it with 1 - 2^(1-n). The width divided by
 * as many normal deviations is a standard deviation that is robust against
 * outliers. Samples of one process share its disturbances: they count as at
 * most MAX_INDEPENDENT independent samples. */
double noise_within(const double *ns, size_t n)
{
    enum { FEW = 6, MAX_INDEPENDENT = 8 };
    if (n < 2)
        return (double)NAN;
    const struct xl__summary s = xl__summarise(ns, n);
    const double deviates = n < FEW
                                ? noise_normal_quantile(1 - ldexp(1, -(int)n))
                                : noise_normal_quantile((1 + confidence) / 2);
    const double shared =
        n > MAX_INDEPENDENT ? (double)n / MAX_INDEPENDENT : 1;
    return square(log(s.hi / s.lo) / 2 / deviates) * shared;
}

/* -- between runs --------------------------------------------------------- */

/* The quantile of the differences from which the noise is estimated. One third
 * of the rows may have changed, or have large noise, without effect on it. */
static const double share = 2.0 / 3;

/* The `share` quantile of the squared differences over their expected
 * variance. */
static double normalised_quantile(const struct shift *list, size_t n,
                                  double noise, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = square(list[i].log_ratio) / (list[i].within + noise);
    return xl__quantile(scratch, n, share);
}

/* Solves for the variance between runs as Paule and Mandel do for the variance
 * between laboratories (J. Res. NBS 87(5), 1982), with a quantile in place of
 * the sum. Bisection on the logarithm. */
double noise_estimate(const struct shift *list, size_t n,
                      enum noise_source source)
{
    enum { STEPS = 60 };
    static const double least = 1e-12, most = 1e4;
    const double target = square(source_quantile(source, (1 + share) / 2));
    double lo = least, hi = most;
    double *scratch = n ? xl__calloc(n, sizeof *scratch) : NULL;
    if (!scratch)
        return n ? (double)NAN : 0;
    if (normalised_quantile(list, n, least, scratch) <= target)
        hi = lo = 0;
    for (int i = 0; i < STEPS && hi > 0; i++) {
        const double mid = sqrt(lo * hi);
        if (normalised_quantile(list, n, mid, scratch) > target)
            lo = mid;
        else
            hi = mid;
    }
    free(scratch);
    return hi;
}

/* Copies the rows of one op (NOISE_MOST_OPS: of all) with noise between runs.
 * `copy` has room for n. */
static size_t select_rows(const struct shift *list, size_t n, unsigned op,
                          struct shift *copy)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].runs > 0 && (op == NOISE_MOST_OPS || list[i].op == op))
            copy[k++] = list[i];
    return k;
}

static bool centre_differences(struct shift *list, size_t n)
{
    double *scratch = n ? xl__calloc(n, sizeof *scratch) : NULL;
    for (size_t i = 0; scratch && i < n; i++)
        scratch[i] = list[i].log_ratio;
    const double middle = scratch ? xl__median(scratch, n) : 0;
    for (size_t i = 0; i < n; i++)
        list[i].log_ratio -= middle;
    const bool fine = scratch || n == 0;
    free(scratch);
    return fine;
}

/* Estimates the noise of all rows, and of each op with enough rows: transfers
 * may vary where products do not. */
static bool estimate_by_op(struct noise *noise, const struct shift *list,
                           size_t n)
{
    enum { FEWEST_OF_OP = 5 };
    struct shift *copy = xl__calloc(n ? n : 1, sizeof *copy);
    bool fine = copy != NULL;
    for (unsigned op = 0; op <= NOISE_MOST_OPS && fine; op++) {
        const bool is_all = op == NOISE_MOST_OPS;
        const size_t k = select_rows(list, n, op, copy);
        double found = 0;
        if (k >= (is_all ? 1 : FEWEST_OF_OP)) {
            fine = noise->source == NOISE_FROM_REPEATS ||
                   centre_differences(copy, k);
            found = noise_estimate(copy, k, noise->source);
        }
        fine = fine && !isnan(found);
        *(is_all ? &noise->all : &noise->op[op]) = found;
    }
    free(copy);
    return fine;
}

bool noise_from_repeats(struct noise *noise, const struct shift *list,
                        size_t n)
{
    *noise = (struct noise){.source = NOISE_FROM_REPEATS};
    return estimate_by_op(noise, list, n);
}

/* The scatter about the median of all rows, and of the rows of each op about
 * their own median: a change of a whole op is not noise. The idea of taking
 * the null distribution from the bulk: Efron, JASA 99(465), 2004. */
bool noise_from_rows(struct noise *noise, const struct shift *rows, size_t n)
{
    *noise = (struct noise){.source = NOISE_FROM_ROWS};
    return estimate_by_op(noise, rows, n);
}

void noise_assume(struct noise *noise, double percent)
{
    *noise = (struct noise){.source = NOISE_ASSUMED,
                            .all = square(log1p(percent / 100))};
}

/* -- intervals ------------------------------------------------------------ */

static double row_noise(const struct noise *noise, const struct shift *row)
{
    return fmax(noise->all, noise->op[row->op]);
}

void noise_intervals(const struct noise *noise, struct shift *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct shift *row = &rows[i];
        const double between = fmax(row_noise(noise, row), row->own);
        const double half =
            half_width(noise->source, n, row->within, row->runs * between);
        row->lo = row->log_ratio - half;
        row->hi = row->log_ratio + half;
    }
}

/* Half of the noise variance is independent for each row and averages out;
 * half is common to the op and does not. */
struct shift noise_mean(const struct noise *noise, const struct shift *rows,
                        size_t n, unsigned op, unsigned n_ops)
{
    struct shift mean = {.op = op};
    double within = 0, independent = 0, common = 0, k = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_ops > 0 && rows[i].op != op)
            continue;
        const double at = row_noise(noise, &rows[i]);
        mean.log_ratio += rows[i].log_ratio;
        within += rows[i].within;
        independent += rows[i].runs * fmax(at, rows[i].own) / 2;
        common += rows[i].runs * (n_ops > 0 ? at : noise->all) / 2;
        k++;
    }
    mean.log_ratio /= k;
    const double between = independent / (k * k) + common / k;
    mean.within = within / (k * k) + between;
    const double half =
        half_width(noise->source, n_ops, within / (k * k), between);
    mean.lo = mean.log_ratio - half;
    mean.hi = mean.log_ratio + half;
    return mean;
}
